#!/bin/sh
# Install Steelyard, editable, and the dependency groups named after the folder of the virtual environment.
# uv where it is there, else pip. The groups stand in pyproject.toml.
set -eu
venv=$1
shift
python=${PYTHON:-python3}

if ! "$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))'; then
    echo "Steelyard needs Python 3.11, 3.12 or 3.13; $python is $("$python" -V 2>&1). Try: make PYTHON=python3.12 ..." >&2
    exit 1
fi
if command -v uv >/dev/null 2>&1; then
    [ -x "$venv/bin/python" ] || uv venv --quiet --python "$python" "$venv"
    set -- $(for group in "$@"; do printf ' --group %s' "$group"; done)
    VIRTUAL_ENV="$PWD/$venv" uv pip install --quiet --editable . "$@"
else
    [ -x "$venv/bin/pip" ] || "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
    set -- $(for group in "$@"; do printf ' --group %s' "$group"; done)
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable . "$@"
fi
