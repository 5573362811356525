#!/bin/sh
# Run the steps of the Dockerfile without Docker: its files, its commands, an empty environment, a user without keys.
#
#   PYTHON=python3.13 sh tools/container_steps.sh
set -eu
cd "$(dirname "$0")/.."
python=$(command -v "${PYTHON:-python3}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT INT TERM
mkdir "$folder/src" "$folder/work" "$folder/home"
# What .dockerignore lets in, and COPY takes.
cp -R pyproject.toml README.md LICENSE src "$folder/src/"
find "$folder/src" -name __pycache__ -prune -exec rm -rf {} +
plain() { (cd "$1" && shift && env -i HOME="$folder/home" PATH="$folder/steelyard/bin:/usr/bin:/bin" "$@"); }
install=$(sed -n "s|.*/opt/steelyard/bin/pip install .*'\(\.\[[a-z0-9,]*\]\)'.*|\1|p" Dockerfile)
[ -n "$install" ] || { echo "the Dockerfile installs nothing that this script knows" >&2; exit 1; }
plain "$folder/src" "$python" -m venv "$folder/steelyard"
(cd "$folder/src" && "$folder/steelyard/bin/pip" install --quiet --disable-pip-version-check "$install")
plain "$folder/work" steelyard --version
plain "$folder/work" steelyard --help >/dev/null
printf 'question,answer\nCapital of France?,Paris\n' >"$folder/work/q.csv"
cat >"$folder/work/offline.yaml" <<'YAML'
samples: {file: q.csv}
targets: {t: {prompt: {template: "{{question}}", model: {scripted: {default: Paris}}}}}
scorers: [exact_match]
YAML
plain "$folder/work" steelyard run offline.yaml
plain "$folder/work" steelyard runs
