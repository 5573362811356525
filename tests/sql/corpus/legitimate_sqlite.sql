SELECT 1
SELECT 1;
SELECT 1 ;;  ; 
﻿SELECT 1
   SELECT 1 -- done
SELECT 1 -- done; really
SELECT 1; -- a comment after; with semicolons
SELECT 1; /* and this; too */
/* first; a comment */ SELECT 1
-- one⏎-- two;⏎SELECT 1⏎-- three
/**/SELECT/**/1/**/
SELECT 1 /* never closed
select 'DROP TABLE emp' AS "delete"
SELECT 'it''s; fine', "name", [pay], `boss` FROM emp
SELECT 'a--b', 'a/*b', "from" FROM "order"
SELECT "select", "from", "group by", "delete" FROM "order" ORDER BY 1
SELECT * FROM "order" WHERE "from" = 'DROP TABLE emp'
SELECT ';', ';;', '; DELETE FROM emp'
SELECT 'ATTACH DATABASE', 'PRAGMA writable_schema = ON', 'load_extension(1)'
SELECT name AS "update", id AS "insert" FROM emp
SELECT 姓名, 工资 FROM 员工 ORDER BY 工资 DESC
SELECT 员工.姓名 AS 名字 FROM 员工 WHERE 姓名 LIKE '王%'
SELECT '你好' || '世界', length('你好'), upper('é'), '😀'
SELECT name FROM emp WHERE name = 'ada'
SELECT name FROM emp WHERE name = 'O''Brien'
SELECT name FROM emp ORDER BY name COLLATE BINARY DESC
SELECT DISTINCT dept FROM emp ORDER BY 1 NULLS LAST
SELECT pay FROM emp ORDER BY pay DESC NULLS FIRST, id
SELECT count(*), count(pay), sum(pay), avg(pay), min(pay), max(pay), total(pay) FROM emp
SELECT count(DISTINCT pay) FROM emp
SELECT dept, count(*) FROM emp GROUP BY dept HAVING count(*) > 1 ORDER BY dept
SELECT dept, group_concat(name, '; ') FROM emp GROUP BY dept ORDER BY dept
SELECT dept, count(*) FILTER (WHERE pay > 3500) AS n FROM emp GROUP BY 1 ORDER BY 1
SELECT e.name, b.name FROM emp e LEFT JOIN emp b ON b.id = e.boss ORDER BY e.id
SELECT d.name, e.name FROM dept d LEFT JOIN emp e ON e.dept = d.id ORDER BY d.id, e.id
SELECT d.name FROM dept d WHERE NOT EXISTS (SELECT 1 FROM emp e WHERE e.dept = d.id)
SELECT d.name FROM dept d WHERE EXISTS (SELECT 1 FROM emp e WHERE e.dept = d.id) ORDER BY 1
SELECT name FROM emp WHERE pay > (SELECT avg(pay) FROM emp) ORDER BY name
SELECT name FROM emp WHERE (dept, boss) IN (SELECT dept, boss FROM emp WHERE id = 3)
SELECT name FROM emp WHERE dept IN (SELECT id FROM dept WHERE city = 'Oslo')
SELECT * FROM emp NATURAL JOIN (SELECT 1 AS id)
SELECT * FROM emp JOIN dept USING (name)
SELECT a.id, b.id FROM emp a CROSS JOIN emp b WHERE a.id < b.id ORDER BY 1, 2
SELECT * FROM emp RIGHT JOIN dept ON emp.dept = dept.id ORDER BY dept.id, emp.id
SELECT * FROM emp FULL OUTER JOIN dept ON emp.dept = dept.id ORDER BY dept.id, emp.id
SELECT name FROM emp UNION SELECT name FROM dept ORDER BY 1
SELECT dept FROM emp UNION ALL SELECT id FROM dept ORDER BY 1
SELECT id FROM dept EXCEPT SELECT dept FROM emp
SELECT id FROM dept INTERSECT SELECT dept FROM emp ORDER BY 1
SELECT id FROM emp LIMIT 2 OFFSET 1
SELECT id FROM emp LIMIT -1
SELECT CASE WHEN pay > 4000 THEN 'high' WHEN pay IS NULL THEN NULL ELSE 'low' END AS level FROM emp ORDER BY id
SELECT CASE dept WHEN 1 THEN 'one' ELSE 'other' END FROM emp ORDER BY id
SELECT iif(pay > 3500, 'yes', 'no'), ifnull(pay, 0), coalesce(NULL, NULL, name), nullif(1, 1) FROM emp ORDER BY id
SELECT name FROM emp WHERE name LIKE '%B%' ESCAPE '!' ORDER BY 1
SELECT name FROM emp WHERE name GLOB 'A*'
SELECT name FROM emp WHERE pay BETWEEN 3000 AND 4000 ORDER BY 1
SELECT name FROM emp WHERE pay IS NOT DISTINCT FROM 4000 ORDER BY 1
SELECT CAST('12.5abc' AS REAL), CAST(3.9 AS INTEGER), CAST(x'616263' AS TEXT), CAST('x' AS BLOB), CAST(1 AS NUMERIC)
SELECT x'00ff', x'', hex('abc'), typeof(x'00'), quote(x'01'), zeroblob(3)
SELECT 9223372036854775807, -9223372036854775808, 9223372036854775807 + 1, 1e308 * 10, -1e308 * 10, 0.1 + 0.2
SELECT 7 / 2, 7 % 3, -7 / 2, 7.0 / 2, 1 / 0, 1 << 3, 5 & 3, 5 | 3, ~5, NOT 1
SELECT round(2.567, 2), abs(-3), sign(-2), max(1, 2, 3), min('a', 'b')
SELECT sqrt(16), pow(2, 10), exp(0), ln(1), log10(100), log(2, 8), ceil(1.2), floor(1.8), trunc(-1.5), mod(7, 3), pi()
SELECT sin(0), cos(0), tan(0), asin(0), acos(1), atan(0), atan2(0, 1), degrees(pi()), radians(180)
SELECT substr('hello', 2, 3), substring('hello', -3), instr('hello', 'l'), replace('a-b', '-', '+'), trim('  x '), ltrim('xxa', 'x'), rtrim('axx', 'x')
SELECT upper('abc'), lower('ABC'), length('abc'), unicode('A'), char(72, 105), soundex('Robert'), hex(255)
SELECT printf('%05.2f|%-5s|%x|%,d|%%', 3.14159, 'ab', 255, 1234567), format('%s', 'x')
SELECT date('2024-02-28', '+1 day'), date('2023-12-31', 'start of month'), date('2024-01-31', '+1 month')
SELECT time('12:34:56', '+90 minutes'), datetime('2024-01-01 10:00', '-1 hour'), julianday('2000-01-01'), unixepoch('1970-01-02')
SELECT strftime('%Y-%m', since) AS month, count(*) FROM emp GROUP BY 1 ORDER BY 1
SELECT strftime('%w %j %W %s', '2024-03-10'), date('2024-01-01', 'weekday 0')
SELECT date('now') > '2020-01-01', datetime('now', 'localtime') > '2020', CURRENT_DATE > '2020', CURRENT_TIMESTAMP > '2020', CURRENT_TIME IS NOT NULL
SELECT julianday('2024-03-01') - julianday('2024-02-01')
WITH a AS (SELECT 1 AS x) SELECT x FROM a
WITH a(x) AS (VALUES (1), (2)), b AS (SELECT x * 10 AS y FROM a) SELECT sum(y) FROM b
WITH a AS MATERIALIZED (SELECT id FROM emp), b AS NOT MATERIALIZED (SELECT id FROM dept) SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b)
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) SELECT sum(i), count(*) FROM n
WITH RECURSIVE f(a, b) AS (VALUES (0, 1) UNION ALL SELECT b, a + b FROM f LIMIT 20) SELECT a FROM f
WITH RECURSIVE under(id, depth) AS (SELECT id, 0 FROM emp WHERE boss IS NULL UNION ALL SELECT e.id, u.depth + 1 FROM emp e JOIN under u ON e.boss = u.id) SELECT * FROM under ORDER BY 1
WITH RECURSIVE p(id, path) AS (SELECT id, name FROM emp WHERE boss IS NULL UNION ALL SELECT e.id, p.path || '/' || e.name FROM emp e, p WHERE e.boss = p.id ORDER BY 2 DESC) SELECT path FROM p
WITH RECURSIVE x(a) AS (SELECT 1 UNION SELECT (a * 2) % 7 FROM x) SELECT group_concat(a) FROM (SELECT a FROM x ORDER BY a)
WITH "delete" AS (SELECT 1 AS a) SELECT * FROM "delete"
WITH replace(a) AS (SELECT 1) SELECT a FROM replace
WITH t AS (SELECT ')' AS x) SELECT x FROM t
WITH a AS (SELECT 1) VALUES (2)
WITH a AS (WITH b AS (SELECT 5 AS x) SELECT x FROM b) SELECT * FROM a
SELECT * FROM (WITH a AS (SELECT 1 AS x) SELECT * FROM a)
VALUES (1, 'a'), (2, 'b')
SELECT column1, column2 FROM (VALUES (1, 'a'), (2, 'b'))
SELECT name, rank() OVER (ORDER BY pay DESC) AS r FROM emp WHERE pay IS NOT NULL ORDER BY r, name
SELECT day, n, sum(n) OVER (ORDER BY day ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) FROM sales ORDER BY day
SELECT shop, day, row_number() OVER (PARTITION BY shop ORDER BY n DESC, day) AS k FROM sales ORDER BY shop, k LIMIT 9
SELECT day, n - lag(n, 1, 0) OVER w, lead(n) OVER w, first_value(n) OVER w, last_value(n) OVER w, nth_value(n, 2) OVER w FROM sales WINDOW w AS (PARTITION BY shop ORDER BY day) ORDER BY day
SELECT ntile(4) OVER (ORDER BY n, day), percent_rank() OVER (ORDER BY n), cume_dist() OVER (ORDER BY n), dense_rank() OVER (ORDER BY n) FROM sales ORDER BY day
SELECT day, avg(n) OVER (ORDER BY day GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW) FROM sales ORDER BY day
SELECT shop, sum(n) AS s, sum(sum(n)) OVER (), 100.0 * sum(n) / sum(sum(n)) OVER () FROM sales GROUP BY shop ORDER BY shop
SELECT count(*) FILTER (WHERE n > 5) OVER (PARTITION BY shop) FROM sales ORDER BY day LIMIT 5
SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY dept ORDER BY pay DESC) AS k FROM emp) WHERE k = 1 ORDER BY id
SELECT json_extract(info, '$.age') FROM emp ORDER BY id
SELECT info ->> '$.skills[0]', info -> 'age' FROM emp ORDER BY id
SELECT e.name, j.value FROM emp e, json_each(e.info, '$.skills') j ORDER BY e.id, j.key
SELECT key, value, type FROM json_each('{"a":1,"b":[2,3]}')
SELECT fullkey, atom FROM json_tree('{"a":[1,{"b":2}]}') WHERE atom IS NOT NULL
SELECT json_array(1, 'a', NULL), json_object('k', 1), json_array_length('[1,2]'), json_type('[1]'), json_valid('{'), json_quote('x')
SELECT json_group_array(name), json_group_object(id, name) FROM (SELECT id, name FROM emp ORDER BY id)
SELECT json_set('{"a":1}', '$.b', 2), json_insert('{}', '$.a', 1), json_remove('[1,2]', '$[0]'), json_replace('{"a":1}', '$.a', 9), json_patch('{"a":1}', '{"b":2}')
SELECT '{"a":1, ":x":2}', ':1', '?', '@y', '$z'
SELECT json('{"a" : 1}'), '{"a":1}' -> '$.a'
SELECT title FROM docs WHERE docs MATCH 'cat' ORDER BY rank
SELECT title, bm25(docs) < 0, highlight(docs, 1, '<b>', '</b>') FROM docs WHERE docs MATCH 'ca*' ORDER BY title
SELECT snippet(docs, 1, '[', ']', '…', 3) FROM docs WHERE docs MATCH 'body: dogs OR cat' ORDER BY 1
SELECT title FROM docs('fish')
SELECT * FROM found
SELECT count(*) FROM docs
SELECT body FROM old WHERE body MATCH 'world NOT night'
SELECT snippet(old), offsets(old) FROM old WHERE old MATCH 'hello'
SELECT id FROM boxes WHERE minx >= 0 AND maxx <= 6 AND miny < 2 ORDER BY id
SELECT * FROM boxes ORDER BY id
SELECT label, colour FROM labelled WHERE low < 6
SELECT * FROM labelled, boxes WHERE labelled.id = boxes.id ORDER BY 1
SELECT rtreecheck('labelled'), rtreecheck('boxes')
SELECT * FROM rich ORDER BY id
SELECT "how many; really" FROM "two words"
SELECT * FROM pairs ORDER BY a, b
SELECT * FROM typed ORDER BY a
SELECT w, h, area, twice FROM boxed ORDER BY w
SELECT what, at, note FROM log
SELECT name, type FROM sqlite_master ORDER BY name
SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name
SELECT sql FROM sqlite_master WHERE name = 'emp'
SELECT name, seq FROM sqlite_sequence
SELECT count(*) FROM sqlite_stat1
SELECT rowid, oid, _rowid_, name FROM emp ORDER BY rowid
SELECT * FROM pragma_table_info('emp')
SELECT m.name, p.name FROM sqlite_master m, pragma_table_info(m.name) p WHERE m.type = 'table' AND m.name IN ('emp', 'dept') ORDER BY 1, p.cid
SELECT * FROM pragma_foreign_key_list('emp') ORDER BY id
SELECT name FROM pragma_index_list('emp') ORDER BY 1
SELECT * FROM pragma_index_info('by_pay')
SELECT name FROM pragma_table_list WHERE schema = 'main' ORDER BY 1
SELECT count(*) > 50 FROM pragma_function_list
SELECT name FROM pragma_collation_list ORDER BY 1
PRAGMA table_info(emp)
PRAGMA table_info('emp');
PRAGMA main.table_xinfo(boxed)
PRAGMA foreign_key_list(emp)
PRAGMA index_list(emp)
PRAGMA index_xinfo(by_pay)
PRAGMA table_list
PRAGMA user_version
PRAGMA encoding
PRAGMA page_size
PRAGMA integrity_check
PRAGMA quick_check
PRAGMA foreign_key_check
PRAGMA collation_list
PRAGMA compile_options
EXPLAIN QUERY PLAN SELECT * FROM emp WHERE pay > 1
EXPLAIN SELECT 1
EXPLAIN QUERY PLAN WITH a AS (SELECT 1) SELECT * FROM a
SELECT count(*) FROM dbstat WHERE name = 'emp'
SELECT typeof(1), typeof(1.0), typeof('a'), typeof(NULL), typeof(x'00')
SELECT TRUE, FALSE, TRUE IS TRUE, 5 IS NOT NULL, NULL ISNULL, 1 NOTNULL
SELECT 'a' < 'B', 'a' < 'B' COLLATE NOCASE, 'a ' = 'a' COLLATE RTRIM, '10' < 9, 1 = '1'
SELECT likely(1), unlikely(0), likelihood(1, 0.5)
SELECT 1 AS a, 2 AS a, 3 AS "A"
SELECT * FROM emp WHERE 0
SELECT max(pay), name FROM emp
SELECT 0x1F, 1e3, .5, 1_000
SELECT - - 1, + 1, 'a' || 1 || NULL
SELECT total_changes() >= 0, changes() >= 0, last_insert_rowid() >= 0, sqlite_version() > '3'
SELECT abs(random()) >= 0, length(randomblob(4))
SELECT sqlite_compileoption_used('ENABLE_FTS5'), length(sqlite_source_id()) > 10
SELECT name FROM emp INDEXED BY by_pay WHERE pay > 4500
SELECT name FROM emp NOT INDEXED WHERE id = 1
SELECT e.* FROM (emp e JOIN dept d ON d.id = e.dept) ORDER BY e.id
SELECT (SELECT name FROM emp b WHERE b.id = a.boss) AS boss, count(*) FROM emp a GROUP BY boss ORDER BY 1, 2
SELECT strftime('%Y', day) AS y, CASE WHEN CAST(strftime('%m', day) AS INT) <= 1 THEN 'jan' ELSE 'later' END AS p, sum(n) FROM sales GROUP BY y, p ORDER BY 1, 2
SELECT a.shop, a.n FROM sales a WHERE a.n = (SELECT max(b.n) FROM sales b WHERE b.shop = a.shop) ORDER BY a.day
SELECT 1 AS "a;b", 2 AS 'c--d', 3 AS [e/*f]
SELECT name FROM emp WHERE name REGEXP 'x'
CREATE TABLE t AS SELECT name, pay FROM emp ||| SELECT * FROM t ORDER BY name
CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT DEFAULT 'x;y'); ||| SELECT * FROM t
CREATE TABLE IF NOT EXISTS emp(a) ||| SELECT count(*) FROM emp
CREATE TEMP TABLE t AS SELECT 1 AS a ||| SELECT * FROM t
CREATE TEMPORARY VIEW w AS SELECT name FROM emp WHERE pay > 4000 ||| SELECT * FROM w
CREATE VIEW w AS SELECT dept, avg(pay) AS p FROM emp GROUP BY dept ||| SELECT * FROM w ORDER BY 1
CREATE VIEW w(a, b) AS WITH c AS (SELECT 1 AS x) SELECT x, x + 1 FROM c ||| SELECT * FROM w
CREATE INDEX i ON emp(name, pay) ||| SELECT name FROM emp ORDER BY name
CREATE UNIQUE INDEX i ON dept(name) ||| SELECT count(*) FROM dept
CREATE VIRTUAL TABLE f USING fts5(x) ||| SELECT * FROM f WHERE f MATCH 'x'
CREATE VIRTUAL TABLE r USING rtree(id, a, b) ||| SELECT * FROM r
CREATE VIEW j AS SELECT e.id, s.value FROM emp e, json_each(e.info, '$.skills') s ||| SELECT * FROM j ORDER BY 1, 2
CREATE VIEW m AS SELECT title FROM docs WHERE docs MATCH 'cat' ||| SELECT * FROM m
/* c */ CREATE TABLE t(a) -- end ||| SELECT * FROM t
CREATE TABLE "delete"("drop table" INT) ||| SELECT * FROM "delete"
CREATE TABLE 表(列 TEXT CHECK (length(列) > 0)) ||| SELECT * FROM 表
CREATE TABLE g(a INT, b INT GENERATED ALWAYS AS (a * 2) STORED, c TEXT AS (a || '') VIRTUAL) STRICT ||| SELECT * FROM g
CREATE TABLE k(a, b REFERENCES emp(id) ON DELETE CASCADE, UNIQUE (a, b), FOREIGN KEY (a) REFERENCES dept(id)) WITHOUT ROWID ||| SELECT 1
CREATE TABLE k(a PRIMARY KEY, b) WITHOUT ROWID ||| SELECT * FROM k
