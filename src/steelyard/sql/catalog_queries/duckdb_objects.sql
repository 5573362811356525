-- The tables, views, indexes, sequences, types and schemas of a database, with their definitions.
SELECT 'table', schema_name, table_name, sql FROM duckdb_tables() WHERE NOT internal AND NOT temporary
UNION ALL SELECT 'view', schema_name, view_name, sql FROM duckdb_views() WHERE NOT internal AND NOT temporary
UNION ALL SELECT 'index', schema_name, index_name, sql FROM duckdb_indexes()
UNION ALL SELECT 'sequence', schema_name, sequence_name, '' FROM duckdb_sequences() WHERE NOT temporary
UNION ALL SELECT 'type', schema_name, type_name, labels::VARCHAR FROM duckdb_types() WHERE NOT internal
UNION ALL SELECT 'schema', schema_name, '', '' FROM duckdb_schemas() WHERE NOT internal
ORDER BY ALL
