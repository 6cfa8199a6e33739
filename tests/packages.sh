#!/bin/sh
# The Debian packages that the tests need beyond a bare system; nothing is done where the commands exist.
set -eu
PATH="$PATH:/usr/sbin:/sbin"
missing=""
for pair in bc:bc make:make gcc:gcc man:man-db dot:graphviz chromium:chromium chromedriver:chromium-driver \
    sbatch:slurm-wlm slurmctld:slurm-wlm slurmd:slurm-wlm munged:munge faketime:faketime \
    java:default-jre-headless mvn:maven \
    slurmdbd:slurmdbd mariadbd:mariadb-server \
    podman:podman runc:runc catatonit:catatonit busybox:busybox-static envml:environment-modules; do
    command -v "${pair%%:*}" >/dev/null 2>&1 || missing="$missing ${pair##*:}"
done
# PostgreSQL's own commands lie in a folder for each version.
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing="$missing postgresql"
# A library that stands for the driver of GPUs is compiled.
[ -e /usr/include/stdio.h ] || missing="$missing libc6-dev"
[ -z "$missing" ] && exit 0
if [ "$(id -u)" != 0 ]; then
    echo "the tests need these Debian packages:$missing (as root: apt-get install$missing)" >&2
    exit 1
fi
# Tests start servers of their own: the ones of the machine, which some packages would start, stay down.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
    trap 'rm -f "$policy"' EXIT
fi
wait_for_others="-o DPkg::Lock::Timeout=300"
# shellcheck disable=SC2086 # lists of words
apt-get $wait_for_others update -qq
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive apt-get $wait_for_others install -y -qq --no-install-recommends $missing >/dev/null
