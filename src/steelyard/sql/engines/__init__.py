"""SQLite and DuckDB inside a worker: opened, guarded, and read within limits. Imported in workers only.

engine       what an engine is to the worker that runs it
fetching     a result within its limits of rows and bytes
sqlite_*     the engine, its guard (authorizer), a private copy made ready
duckdb_*     the same: settings and statement rules for its guard
"""
