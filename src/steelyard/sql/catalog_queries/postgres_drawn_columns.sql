-- The columns of a schema that take numbers of a sequence, and those that refer to such a column.
WITH own AS (
    SELECT d.refobjid AS sequence, f.adrelid AS relation, f.adnum AS number
    FROM pg_catalog.pg_attrdef AS f JOIN pg_catalog.pg_depend AS d ON d.objid = f.oid
        AND d.classid = 'pg_catalog.pg_attrdef'::regclass AND d.refclassid = 'pg_catalog.pg_class'::regclass
    JOIN pg_catalog.pg_class AS s ON s.oid = d.refobjid AND s.relkind = 'S'
    UNION SELECT d.objid, d.refobjid, d.refobjsubid FROM pg_catalog.pg_depend AS d -- of an identity
    WHERE d.deptype = 'i' AND d.classid = 'pg_catalog.pg_class'::regclass AND d.refobjsubid > 0
), columns AS (
    SELECT sequence, relation, number, true AS is_own FROM own
    UNION SELECT own.sequence, k.conrelid, k.conkey[1], false FROM own
    JOIN pg_catalog.pg_constraint AS k ON k.contype = 'f' AND k.confrelid = own.relation
        AND k.confkey = ARRAY[own.number::smallint]
)
SELECT t.relname, (SELECT count(*) FROM pg_catalog.pg_attribute AS a WHERE a.attrelid = t.oid AND a.attnum > 0
        AND a.attnum < c.number AND NOT a.attisdropped),
    pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(s.relname), c.is_own
FROM columns AS c JOIN pg_catalog.pg_class AS t ON t.oid = c.relation JOIN pg_catalog.pg_class AS s ON s.oid = c.sequence
JOIN pg_catalog.pg_namespace AS n ON n.oid = s.relnamespace AND n.nspname = %(schema)s
WHERE t.relnamespace = n.oid ORDER BY 1, 2
