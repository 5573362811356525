-- Rows of (order, table, position, kind, name, type or text, comment); kind is T, V, C or K.
SELECT 1, t.table_name, 0, IF(t.table_type LIKE '%VIEW', 'V', 'T'), CONCAT('`', REPLACE(t.table_name, '`', '``'), '`'),
    '', IF(t.table_type LIKE '%VIEW', '', t.table_comment)
FROM information_schema.tables AS t WHERE t.table_schema = DATABASE() AND t.table_type <> 'SEQUENCE'
UNION ALL
SELECT 1, c.table_name, c.ordinal_position, 'C', CONCAT('`', REPLACE(c.column_name, '`', '``'), '`'),
    CONCAT(c.column_type, IF(c.is_nullable = 'NO', ' NOT NULL', '')), c.column_comment
FROM information_schema.columns AS c WHERE c.table_schema = DATABASE()
UNION ALL
SELECT 1, k.table_name, 100000, 'K', k.constraint_name, CONCAT(IF(k.constraint_name = 'PRIMARY', 'PRIMARY KEY (',
    IF(MAX(k.referenced_table_name) IS NULL, 'UNIQUE (', 'FOREIGN KEY (')),
    GROUP_CONCAT(CONCAT('`', k.column_name, '`') ORDER BY k.ordinal_position SEPARATOR ', '), ')',
    IF(MAX(k.referenced_table_name) IS NULL, '', CONCAT(' REFERENCES `', MAX(k.referenced_table_name), '` (',
    GROUP_CONCAT(CONCAT('`', k.referenced_column_name, '`') ORDER BY k.ordinal_position SEPARATOR ', '), ')'))), ''
FROM information_schema.key_column_usage AS k WHERE k.table_schema = DATABASE()
GROUP BY k.table_name, k.constraint_name
ORDER BY 1, 2, 3, 5
