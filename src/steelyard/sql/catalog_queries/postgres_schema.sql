-- Rows of (order, table, position, kind, name, type or text, comment); kind is T, V, C, K or E.
WITH readable AS (
    SELECT c.oid, c.relname, c.relkind
    FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND pg_catalog.pg_table_is_visible(c.oid) AND NOT c.relispartition
    AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND has_any_column_privilege(c.oid, 'SELECT')
)
SELECT 1, c.relname, 0, CASE WHEN c.relkind IN ('v', 'm') THEN 'V' ELSE 'T' END, quote_ident(c.relname), '',
    coalesce(obj_description(c.oid, 'pg_class'), '')
FROM readable AS c
UNION ALL
SELECT 1, c.relname, a.attnum, 'C', quote_ident(a.attname), format_type(a.atttypid, a.atttypmod)
    || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END, coalesce(col_description(c.oid, a.attnum), '')
FROM readable AS c JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE has_column_privilege(c.oid, a.attnum, 'SELECT')
UNION ALL
SELECT 1, c.relname, 100000 + k.oid::bigint, 'K', '', pg_get_constraintdef(k.oid), ''
FROM readable AS c JOIN pg_catalog.pg_constraint AS k ON k.conrelid = c.oid AND k.contype IN ('p', 'u', 'f')
UNION ALL
SELECT 0, t.typname, 0, 'E', format_type(t.oid, NULL), (SELECT string_agg(quote_literal(e.enumlabel), ', '
    ORDER BY e.enumsortorder) FROM pg_catalog.pg_enum AS e WHERE e.enumtypid = t.oid), ''
FROM pg_catalog.pg_type AS t WHERE t.typtype = 'e' AND pg_catalog.pg_type_is_visible(t.oid)
ORDER BY 1, 2, 3
