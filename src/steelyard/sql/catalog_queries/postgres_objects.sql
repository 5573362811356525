-- The columns, constraints, indexes, views and sequences of a schema, with their definitions.
SELECT 'column', c.relname, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull::text,
    coalesce(pg_catalog.pg_get_expr(d.adbin, d.adrelid), '') || a.attgenerated::text || a.attidentity::text
        || coalesce((SELECT ' ' || l.collname FROM pg_catalog.pg_collation AS l JOIN pg_catalog.pg_type AS t
            ON t.oid = a.atttypid WHERE l.oid = a.attcollation AND a.attcollation <> t.typcollation), ''),
    (pg_catalog.row_number() OVER (PARTITION BY a.attrelid ORDER BY a.attnum))::text
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace AND n.nspname = %(schema)s
JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_catalog.pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum WHERE c.relkind IN ('r', 'p')
UNION ALL SELECT 'constraint', c.relname, pg_catalog.pg_get_constraintdef(k.oid), '', '', '', ''
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace AND n.nspname = %(schema)s
JOIN pg_catalog.pg_constraint AS k ON k.conrelid = c.oid
UNION ALL SELECT 'index', tablename, indexdef, '', '', '', '' FROM pg_catalog.pg_indexes WHERE schemaname = %(schema)s
UNION ALL SELECT 'view', viewname, definition, '', '', '', '' FROM pg_catalog.pg_views WHERE schemaname = %(schema)s
UNION ALL SELECT 'sequence', sequencename, '', '', '', '', '' FROM pg_catalog.pg_sequences WHERE schemaname = %(schema)s
ORDER BY 1, 2, 3
