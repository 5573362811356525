WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a) SELECT count(*) FROM a
WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a) SELECT max(x) FROM a
WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x FROM a) SELECT x FROM a WHERE x > 1
WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT 1 - x FROM a) SELECT sum(x) FROM a
WITH RECURSIVE a(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM a), b AS (SELECT count(*) AS n FROM a) SELECT n FROM b
SELECT count(*) FROM emp a, emp b, emp c, emp d, emp e, emp f, emp g, emp h, emp i, emp j, emp k, emp l, emp m, emp n, emp o, emp p
SELECT (SELECT count(*) FROM json_each('[1,2,3,4,5,6,7,8,9]') a, json_each('[1,2,3,4,5,6,7,8,9]') b, json_each('[1,2,3,4,5,6,7,8,9]') c, json_each('[1,2,3,4,5,6,7,8,9]') d, json_each('[1,2,3,4,5,6,7,8,9]') e, json_each('[1,2,3,4,5,6,7,8,9]') f, json_each('[1,2,3,4,5,6,7,8,9]') g, json_each('[1,2,3,4,5,6,7,8,9]') h, json_each('[1,2,3,4,5,6,7,8,9]') i)
CREATE TABLE t AS WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT 1 - x FROM a) SELECT sum(x) AS s FROM a ||| SELECT * FROM t
CREATE VIEW w AS WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a) SELECT count(*) AS n FROM a ||| SELECT n FROM w
SELECT * FROM emp WHERE (WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a) SELECT count(*) FROM a) > 0
EXPLAIN QUERY PLAN SELECT 1 UNION ALL SELECT * FROM nothing
WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a) SELECT EXISTS (SELECT 1 FROM a WHERE x < 0)
WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a) SELECT group_concat('') FROM a
WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a) SELECT avg(x) OVER () FROM a
WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a LIMIT 3000000) SELECT count(*) FROM a b, a c WHERE b.x + c.x < 0
SELECT count(*) FROM pragma_function_list a, pragma_function_list b, pragma_function_list c, pragma_function_list d
