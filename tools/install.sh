#!/bin/sh
# Install Steelyard, editable, and the dependency groups named after the folder of the virtual environment.
#
#   install.sh FOLDER [GROUP ...]           Steelyard and the groups
#   install.sh --alone FOLDER [GROUP ...]   the groups without Steelyard
#
# uv where it is there, else pip. The groups stand in pyproject.toml.
set -eu
editable="--editable ."
if [ "$1" = "--alone" ]; then
    editable=""
    shift
fi
venv=$1
shift
python=${PYTHON:-python3}

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "Steelyard needs Python 3.11 or later; $python is $("$python" -V 2>&1). Try: make PYTHON=python3.12 ..." >&2
    exit 1
fi
groups=$(for group in "$@"; do printf ' --group %s' "$group"; done)
# shellcheck disable=SC2086  # both are lists of words
if command -v uv >/dev/null 2>&1; then
    [ -x "$venv/bin/python" ] || uv venv --quiet --python "$python" "$venv"
    VIRTUAL_ENV="$PWD/$venv" uv pip install --quiet --compile-bytecode $editable $groups
else
    [ -x "$venv/bin/pip" ] || "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check $editable $groups
fi
