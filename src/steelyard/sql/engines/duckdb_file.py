"""Making a private copy of a DuckDB file ready: its write-ahead log folded in. Runs in a worker."""

from __future__ import annotations


def prepare(file: str) -> str:
    """Open the file as DuckDB opens what was left by a crash, and let it write what the log holds.

    Args:
        file: the private copy, alone in its folder but for its own log.

    Returns:
        Why it cannot be used; "" where it can.
    """
    import duckdb

    settings = {"enable_external_access": "false", "autoinstall_known_extensions": "false", "threads": "1"}
    try:
        connection = duckdb.connect(file, config={**settings, "autoload_known_extensions": "false"})
        try:
            connection.execute("CHECKPOINT")
        finally:
            connection.close()
    except duckdb.Error as error:
        return str(error)
    return ""
