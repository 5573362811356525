"""Generated SQL: run where it can hurt nothing, and compare what it returns.

results      databases, limits, result tables, failures
sandbox      the only way in which SQL of others is run
workers      its processes
engines      SQLite and DuckDB inside them
statements   a text cut into statements
schema       tables, columns and keys, read from CREATE statements (definitions, ddl_tokens)
verdict      is one result what the other is, and if not, why: cells, columns (fingerprints), order (order_keys,
             layout), ties, alignment, in words (wording, showing)
accuracy     the same after published evaluators
"""
