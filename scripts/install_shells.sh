#!/bin/sh
# Install the shells that completion is tested in, where that can be done: as root, from Debian's packages.
set -eu
missing=
for shell in bash zsh fish; do
    command -v "$shell" >/dev/null || missing="$missing $shell"
done
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
    echo "missing and not installed here (that takes root and apt-get):$missing" >&2
    exit 0
fi
apt-get update -qq
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
