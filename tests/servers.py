"""The database server of the tests: where it is, whether it answers, and what to do where it does not.

`python -m tests.servers` stands before `make test`, as what is skipped is otherwise read after the tests.
"""

import os
import sys

SERVER = os.environ.get("STEELYARD_TEST_POSTGRES", "postgresql://postgres@127.0.0.1:5432/postgres")
REQUIRED = os.environ.get("STEELYARD_TEST_SERVERS") == "required"
"""Whether a server that does not answer fails the test instead of skipping it."""


def connected():
    """A plain connection to the server of the tests, or the reason why there is none."""
    import psycopg

    try:
        return psycopg.connect(SERVER, connect_timeout=3, autocommit=True)
    except psycopg.OperationalError as error:
        return " ".join(str(error).split())


def missing(found):
    """What a person who starts the tests should know of a connection that `connected` gave or not."""
    if not isinstance(found, str):
        return ""
    what = "FAIL" if REQUIRED else "be SKIPPED"
    return (
        f"No PostgreSQL answers: {found}\nThe tests of stores on PostgreSQL will {what}.\n"
        "To run them: `sh tools/servers.sh` installs and starts a server here (it needs root), or set\n"
        "STEELYARD_TEST_POSTGRES to the address of one, such as postgresql://user:password@host:5432/database."
    )


if __name__ == "__main__":
    said = missing(connected())
    if said:
        print(said, file=sys.stderr)  # noqa: T201
