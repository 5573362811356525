-- CREATE statements of tables and views, each followed by COMMENT statements for what is noted on it.
WITH noted AS (
    SELECT table_oid AS made, 1 AS part, 'TABLE' AS kind, [table_name] AS names, comment FROM duckdb_tables()
        WHERE NOT internal
    UNION ALL SELECT view_oid, 1, 'VIEW', [view_name], comment FROM duckdb_views() WHERE NOT internal
    UNION ALL SELECT table_oid, 1 + column_index, 'COLUMN', [table_name, column_name], comment FROM duckdb_columns()
        WHERE NOT internal
)
SELECT sql FROM (
    SELECT sql, table_oid AS made, 0 AS part FROM duckdb_tables() WHERE NOT internal
    UNION ALL SELECT sql, view_oid, 0 FROM duckdb_views() WHERE NOT internal
    UNION ALL SELECT 'COMMENT ON ' || kind || ' '
        || array_to_string([ '"' || replace(name, '"', '""') || '"' FOR name IN names ], '.')
        || ' IS ''' || replace(comment, '''', '''''') || '''', made, part FROM noted WHERE comment IS NOT NULL
) ORDER BY made, part
