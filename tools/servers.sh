#!/bin/sh
# See that PostgreSQL and MariaDB answer for the tests: install what is missing, and start it without a password on this
# machine's loopback. Nothing is done where STEELYARD_TEST_POSTGRES and STEELYARD_TEST_MYSQL name servers.
set -eu
mysql_answers() { (exec 3<>/dev/tcp/127.0.0.1/3306) 2>/dev/null || mariadb-admin -h 127.0.0.1 -u root ping >/dev/null 2>&1; }
if [ -z "${STEELYARD_TEST_MYSQL:-}" ] && ! mysql_answers; then
    if ! command -v mariadbd >/dev/null 2>&1; then
        echo "no MariaDB here: installing it for the tests" >&2
        DEBIAN_FRONTEND=noninteractive apt-get install -y -q mariadb-server >/dev/null
    fi
    if ! mysql_answers; then
        mysql_data=$(mktemp -d)
        chown mysql "$mysql_data"
        mariadb-install-db --user=mysql --datadir="$mysql_data/db" --auth-root-authentication-method=normal >/dev/null
        mariadbd --user=mysql --datadir="$mysql_data/db" --bind-address=127.0.0.1 --socket="$mysql_data/socket" \
            >"$mysql_data/log" 2>&1 &
        for _ in 1 2 3 4 5 6 7 8 9 10; do mysql_answers && break || sleep 1; done
        mysql_answers
    fi
fi
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
