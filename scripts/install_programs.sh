#!/bin/sh
# Install the programs of the system that tests use, where that can be done: as root, from Debian's packages. The shells
# that completion is tested in, and a pooler that stands between memctl and a database.
set -eu
PATH=$PATH:/usr/sbin
missing=
for program in bash zsh fish pgbouncer; do
    command -v "$program" >/dev/null || missing="$missing $program"
done
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
    echo "missing and not installed here (that takes root and apt-get):$missing" >&2
    exit 0
fi
apt-get update -qq
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
