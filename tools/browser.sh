#!/bin/sh
# See that a browser is there for the tests of the pages: install Chromium if there is none.
set -eu
for program in chromium chromium-browser google-chrome; do  # the names that tests/report/conftest.py looks for
    if command -v "$program" >/dev/null 2>&1; then
        exit 0
    fi
done
echo "no Chromium here: installing it for the tests" >&2
install() { DEBIAN_FRONTEND=noninteractive apt-get install -y -q chromium >/dev/null; }
install || { apt-get update -q >/dev/null && install; }
chromium --version >/dev/null
