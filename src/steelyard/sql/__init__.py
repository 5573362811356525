"""Generated SQL: run where it can hurt nothing, and compare what it returns.

results        the values: databases, limits, result tables, failures
engine         what an engine is to the worker that runs it
sandbox        warm worker processes under limits; the only way in which SQL of others is run
schema         tables, columns and keys, read from CREATE statements
"""
