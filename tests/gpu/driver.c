/* Stands for NVIDIA's library NVML: it answers from files in the folder $FAKE_GPUS.
 *
 * "devices": a line for each GPU: its memory in bytes, and "ok", "lost" or "divided" (into two instances).
 * "processes": a line for each process on a GPU: GPU, process, bytes, utilisation in percent.
 * "hangs", if it exists: no call returns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT = 7, LOST = 15 };
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned pid; unsigned long long bytes; unsigned gpu, instance; } Process;
typedef struct { unsigned pid; unsigned long long at; unsigned sm, mem, enc, dec; } Utilisation;
typedef struct { unsigned long long bytes; char state[16]; } Gpu;

static FILE *file(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", getenv("FAKE_GPUS"), name);
    return fopen(path, "r");
}

/* Leaves a trace: tests wait until somebody has looked. */
static void looked(void) {
    char path[4096];
    snprintf(path, sizeof path, "%s/looked", getenv("FAKE_GPUS"));
    FILE *trace = fopen(path, "w");
    if (trace) fclose(trace);
}

static int gpus(Gpu *found) {
    FILE *hangs = file("hangs"), *list = file("devices");
    int number = 0;
    if (hangs) for (;;) pause();
    while (list && number < 16 && fscanf(list, "%llu %15s", &found[number].bytes, found[number].state) == 2) number++;
    if (list) fclose(list);
    return number;
}

/* A handle is 1 + the GPU's number, and 100 * (1 + the instance's number) for an instance. */
static Gpu gpu(long handle) {
    Gpu found[16] = {0};
    gpus(found);
    return found[handle % 100 - 1];
}

static int status(long handle) { return strcmp(gpu(handle).state, "lost") ? SUCCESS : LOST; }

int nvmlInitWithFlags(unsigned flags) { Gpu found[16]; gpus(found); return SUCCESS; }
int nvmlShutdown(void) { return SUCCESS; }
const char *nvmlErrorString(int error) { return error == LOST ? "GPU is lost" : "Another error"; }
int nvmlDeviceGetCount_v2(unsigned *count) { Gpu found[16]; *count = gpus(found); return SUCCESS; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, long *handle) { *handle = 1 + index; return SUCCESS; }

int nvmlDeviceGetUUID(long handle, char *text, unsigned size) {
    snprintf(text, size, handle >= 100 ? "MIG-%ld-%ld" : "GPU-%ld", handle % 100 - 1, handle / 100 - 1);
    return status(handle);
}

int nvmlDeviceGetName(long handle, char *text, unsigned size) {
    snprintf(text, size, "Fake");
    return status(handle);
}

int nvmlDeviceGetMemoryInfo(long handle, Memory *memory) {
    memory->total = gpu(handle).bytes / (handle >= 100 ? 2 : 1);
    return status(handle);
}

int nvmlDeviceGetMigMode(long handle, unsigned *now, unsigned *next) {
    *now = *next = !strcmp(gpu(handle).state, "divided");
    return *now ? SUCCESS : NOT_SUPPORTED;
}

int nvmlDeviceGetMaxMigDeviceCount(long handle, unsigned *count) { *count = 7; return SUCCESS; }

int nvmlDeviceGetMigDeviceHandleByIndex(long handle, unsigned index, long *instance) {
    *instance = handle + 100 * (1 + index);
    return index < 2 ? SUCCESS : NOT_FOUND;
}

int nvmlDeviceGetComputeRunningProcesses_v3(long handle, unsigned *count, Process *processes) {
    unsigned on, pid, percent, number = 0, room = *count;
    unsigned long long bytes;
    FILE *list = file("processes");
    while (list && fscanf(list, "%u %u %llu %u", &on, &pid, &bytes, &percent) == 4)
        if (on == handle - 1) {
            if (number < room) processes[number] = (Process){pid, bytes, 0, 0};
            number++;
        }
    if (list) fclose(list);
    *count = number;
    return status(handle) ? LOST : number > room ? INSUFFICIENT : SUCCESS;
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(long handle, unsigned *count, Process *processes) {
    looked();
    *count = 0;
    return status(handle);
}

int nvmlDeviceGetProcessUtilization(long handle, Utilisation *samples, unsigned *count, unsigned long long since) {
    unsigned on, pid, percent, number = 0, room = *count;
    unsigned long long bytes;
    FILE *list = file("processes");
    while (list && fscanf(list, "%u %u %llu %u", &on, &pid, &bytes, &percent) == 4)
        if (on == handle - 1) {
            if (number < room) samples[number] = (Utilisation){pid, since + 1, percent, 0, 0, 0};
            number++;
        }
    if (list) fclose(list);
    *count = number;
    return status(handle) ? LOST : !number ? NOT_FOUND : number > room ? INSUFFICIENT : SUCCESS;
}
