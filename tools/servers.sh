#!/bin/sh
# See that a PostgreSQL server answers for the tests: install one if there is none, and start it without a password on
# this machine's loopback. Nothing is done where STEELYARD_TEST_POSTGRES names a server.
set -eu
if [ -n "${STEELYARD_TEST_POSTGRES:-}" ]; then
    exit 0
fi
answers() { command -v pg_isready >/dev/null 2>&1 && pg_isready -q -h 127.0.0.1 -p 5432; }
if answers; then
    exit 0
fi
if ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
    echo "no PostgreSQL here: installing it for the tests" >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q postgresql >/dev/null
fi
if answers; then
    exit 0
fi
bin=$(dirname "$(ls /usr/lib/postgresql/*/bin/initdb | tail -1)")
data=$(mktemp -d)
chown postgres "$data"
as_postgres() { (cd / && runuser -u postgres -- "$@"); }
as_postgres "$bin/initdb" -D "$data/db" -A trust -U postgres >/dev/null
as_postgres "$bin/pg_ctl" -D "$data/db" -l "$data/log" -w -o "-p 5432 -h 127.0.0.1 -k $data" start >/dev/null
answers
