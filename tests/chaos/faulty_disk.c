/* A disk that fails: preloaded into a process, it lets one change of a file fail, or all from that one on.
 *
 * FAULTY_DISK=PROCESS:NUMBER:ERRNO:FOLDER:FLAG
 * PROCESS is a word of the command line of the process that is meant. Changes of files below FOLDER are counted: writes,
 * flushes, and whatever makes or renames a file. The change with this number fails with ERRNO, and FLAG is created,
 * which says what it was. With a negative number all changes by all processes of Headway fail as long as FLAG exists.
 * With NUMBER 0 nothing fails, and FLAG lists the changes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int is_meant, is_ours, number, error_number, count, owner;
static char process[64], folder[PATH_MAX], flag[PATH_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin(void) {
    char *plan = getenv("FAULTY_DISK"), words[4096] = "";
    if (plan == NULL || sscanf(plan, "%63[^:]:%d:%d:%4095[^:]:%4095s", process, &number, &error_number, folder, flag) != 5)
        return;
    int file = syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY, 0);
    ssize_t length = syscall(SYS_read, file, words, sizeof words - 1);
    syscall(SYS_close, file);
    size_t size = strlen(process);
    for (char *word = words, at = 0; word < words + length && at < 6; word += strlen(word) + 1, at++) {
        size_t rest = strlen(word);
        is_meant |= rest >= size && !strcmp(word + rest - size, process);
        is_ours |= !strncmp(word, "headway", 7) || (rest >= 10 && !strcmp(word + rest - 10, "spawner.py"));
    }
    owner = getpid();
}

static void note(const char *what, const char *path, int flags) {
    char line[2 * PATH_MAX];
    int length = snprintf(line, sizeof line, "%d %s %s\n", count, what, path);
    int file = syscall(SYS_openat, AT_FDCWD, flag, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
    syscall(SYS_write, file, line, length);
    syscall(SYS_close, file);
}

/* Whether this change has to fail. */
static int fails(const char *what, const char *path) {
    if (!is_ours || getpid() != owner || strncmp(path, folder, strlen(folder)))
        return 0;
    int failing = 0;
    pthread_mutex_lock(&lock);
    if (number < 0 && syscall(SYS_faccessat, AT_FDCWD, flag, F_OK) == 0) {
        failing = 1;
    } else if (is_meant) {
        count++;
        if (number == 0)
            note(what, path, O_APPEND);
        else if (count == abs(number) && syscall(SYS_faccessat, AT_FDCWD, flag, F_OK) != 0) {
            note(what, path, O_EXCL);
            failing = 1;
        }
    }
    pthread_mutex_unlock(&lock);
    if (failing)
        errno = error_number;
    return failing;
}

static int fails_by_fd(const char *what, int fd) {
    char link[64], path[PATH_MAX];
    if (!is_ours)
        return 0;
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    errno = before;
    if (length < 0)
        return 0;
    path[length] = 0;
    return fails(what, path);
}

static int fails_by_path(const char *what, int at, const char *path) {
    char whole[2 * PATH_MAX], link[64];
    if (!is_ours || path == NULL)
        return 0;
    if (path[0] == '/')
        return fails(what, path);
    snprintf(link, sizeof link, at == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", at);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, whole, PATH_MAX - 1);
    if (length < 0)
        return 0;
    snprintf(whole + length, PATH_MAX, "/%s", path);
    return fails(what, whole);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define BY_FD(type, name, parameters, arguments)                        \
    type name parameters {                                              \
        return fails_by_fd(#name, fd) ? -1 : REAL(name) arguments;      \
    }
#define BY_PATH(name, at, path, parameters, arguments)                  \
    int name parameters {                                               \
        return fails_by_path(#name, at, path) ? -1 : REAL(name) arguments; \
    }
#define OPEN(name, at, parameters, arguments)                           \
    int name parameters {                                               \
        mode_t mode = 0;                                                \
        if (flags & (O_CREAT | __O_TMPFILE)) {                          \
            va_list rest;                                               \
            va_start(rest, flags);                                      \
            mode = va_arg(rest, mode_t);                                \
            va_end(rest);                                               \
        }                                                               \
        struct stat found;                                              \
        int makes = (flags & O_CREAT) && fstatat(at, path, &found, AT_SYMLINK_NOFOLLOW); \
        return makes && fails_by_path(#name, at, path) ? -1 : REAL(name) arguments; \
    }

BY_FD(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
BY_FD(ssize_t, writev, (int fd, const struct iovec *data, int parts), (fd, data, parts))
BY_FD(ssize_t, pwrite, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))
BY_FD(ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at))
BY_FD(int, fsync, (int fd), (fd))
BY_FD(int, fdatasync, (int fd), (fd))
BY_FD(int, ftruncate, (int fd, off_t size), (fd, size))
BY_FD(int, ftruncate64, (int fd, off64_t size), (fd, size))
BY_PATH(mkdir, AT_FDCWD, path, (const char *path, mode_t mode), (path, mode))
BY_PATH(mkdirat, at, path, (int at, const char *path, mode_t mode), (at, path, mode))
BY_PATH(rename, AT_FDCWD, path, (const char *from, const char *path), (from, path))
BY_PATH(renameat, at, path, (int from_at, const char *from, int at, const char *path), (from_at, from, at, path))
BY_PATH(symlink, AT_FDCWD, path, (const char *to, const char *path), (to, path))
BY_PATH(symlinkat, at, path, (const char *to, int at, const char *path), (to, at, path))
BY_PATH(link, AT_FDCWD, path, (const char *to, const char *path), (to, path))
OPEN(open, AT_FDCWD, (const char *path, int flags, ...), (path, flags, mode))
OPEN(open64, AT_FDCWD, (const char *path, int flags, ...), (path, flags, mode))
OPEN(openat, at, (int at, const char *path, int flags, ...), (at, path, flags, mode))
OPEN(openat64, at, (int at, const char *path, int flags, ...), (at, path, flags, mode))
