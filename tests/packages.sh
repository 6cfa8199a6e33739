#!/bin/sh
# The Debian packages that the tests need beyond a bare system; nothing is done where the commands exist.
set -eu
missing=""
for pair in bc:bc make:make dot:graphviz; do
    command -v "${pair%%:*}" >/dev/null 2>&1 || missing="$missing ${pair##*:}"
done
[ -z "$missing" ] && exit 0
if [ "$(id -u)" != 0 ]; then
    echo "the tests need these Debian packages:$missing (as root: apt-get install$missing)" >&2
    exit 1
fi
apt-get update -qq
# shellcheck disable=SC2086 # a list of names
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $missing >/dev/null
