SELECT zeroblob(2000000000)
SELECT randomblob(2000000000)
SELECT hex(zeroblob(1000000000))
SELECT printf('%900000000s', 'x')
SELECT printf('%.*c', 900000000, 'x')
SELECT format('%2000000000d', 1)
SELECT quote(zeroblob(19000000))
SELECT replace(hex(zeroblob(9000000)), '0', 'xxxxxxxxxxxxxxxxxxxx')
SELECT group_concat(hex(randomblob(4000000))) FROM emp a, emp b, emp c
SELECT json_group_array(hex(randomblob(4000000))) FROM emp a, emp b, emp c
WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a) SELECT x FROM a
WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a) SELECT x, randomblob(1000000) FROM a
WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a) SELECT x, zeroblob(19000000) FROM a
WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a) SELECT hex(randomblob(1000)) FROM a ORDER BY 1
WITH RECURSIVE a(x) AS (SELECT hex(randomblob(1000)) UNION SELECT hex(randomblob(1000)) FROM a) SELECT count(*) FROM a
WITH RECURSIVE a(x) AS (SELECT 'x' UNION ALL SELECT x || x FROM a) SELECT max(length(x)) FROM a
SELECT randomblob(19000000), randomblob(19000000), randomblob(19000000), randomblob(19000000), randomblob(19000000), randomblob(19000000), randomblob(19000000), randomblob(19000000), randomblob(19000000), randomblob(19000000), randomblob(19000000), randomblob(19000000), randomblob(19000000), randomblob(19000000), randomblob(19000000), randomblob(19000000)
CREATE TABLE t AS WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a) SELECT x, randomblob(100000) AS b FROM a ||| SELECT count(*) FROM t
CREATE TABLE t AS SELECT zeroblob(1000000000) AS z ||| SELECT length(z) FROM t
CREATE TABLE t AS WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a) SELECT zeroblob(15000000) AS z FROM a ||| SELECT count(*) FROM t
SELECT a.*, b.*, c.*, d.*, e.*, f.* FROM json_each('[1,2,3,4,5,6,7,8,9]') a, json_each('[1,2,3,4,5,6,7,8,9]') b, json_each('[1,2,3,4,5,6,7,8,9]') c, json_each('[1,2,3,4,5,6,7,8,9]') d, json_each('[1,2,3,4,5,6,7,8,9]') e, json_each('[1,2,3,4,5,6,7,8,9]') f, json_each('[1,2,3,4,5,6,7,8,9]') g
SELECT DISTINCT hex(randomblob(2000)) FROM json_each('[1,2,3,4,5,6,7,8,9]') a, json_each('[1,2,3,4,5,6,7,8,9]') b, json_each('[1,2,3,4,5,6,7,8,9]') c, json_each('[1,2,3,4,5,6,7,8,9]') d, json_each('[1,2,3,4,5,6,7,8,9]') e, json_each('[1,2,3,4,5,6,7,8,9]') f
WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a LIMIT 100000) SELECT row_number() OVER (ORDER BY r), r FROM (SELECT hex(randomblob(2000)) AS r FROM a)
SELECT char(0) || zeroblob(19999999) || 'x'
