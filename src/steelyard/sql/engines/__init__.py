"""SQLite and DuckDB inside a worker: opened, guarded, and read within limits. Imported in workers only.

engine       what an engine is to the worker that runs it, and a result within its limits of rows and bytes
sqlite_*     the engine, the preparation of a private copy, and its guard (authorizer)
duckdb_*     the same: settings and statement rules for its guard
"""
