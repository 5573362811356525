#!/bin/sh
# See that there is what the tests of the pages need, and install what is not: a browser, npm for the accessibility
# checker, nginx to stand in front of the viewer.
set -eu
missing=""
chromium=""
for program in chromium chromium-browser google-chrome; do  # the names that tests/browser/chromium.py looks for
    if command -v "$program" >/dev/null 2>&1; then
        chromium=$program
    fi
done
[ -n "$chromium" ] || missing="chromium"
command -v npm >/dev/null 2>&1 || missing="$missing npm"
command -v nginx >/dev/null 2>&1 || [ -x /usr/sbin/nginx ] || missing="$missing nginx-light"
[ -n "$missing" ] || exit 0
echo "installing for the tests of the pages: $missing" >&2
# shellcheck disable=SC2086  # a list of words
install() { DEBIAN_FRONTEND=noninteractive apt-get install -y -q $missing >/dev/null; }
install || { apt-get update -q >/dev/null && install; }
