SELECT * FROM staff
SELECT name, pay FROM staff WHERE pay > 100 ORDER BY pay DESC LIMIT 3
SELECT COUNT(*) FROM staff;
SELECT DISTINCT team_id FROM staff
SELECT t.title, COUNT(*) AS n FROM staff AS s JOIN teams AS t ON t.id = s.team_id GROUP BY t.title HAVING COUNT(*) > 1
SELECT s.name, t.title FROM staff s LEFT JOIN teams t ON s.team_id = t.id
SELECT name FROM staff WHERE team_id IN (SELECT id FROM teams WHERE title LIKE 'S%')
SELECT name FROM staff s WHERE EXISTS (SELECT 1 FROM teams t WHERE t.id = s.team_id)
SELECT name FROM staff WHERE pay > (SELECT AVG(pay) FROM staff)
(SELECT name FROM staff) UNION (SELECT title FROM teams) ORDER BY 1
SELECT name FROM staff UNION ALL SELECT title FROM teams
WITH rich AS (SELECT * FROM staff WHERE pay > 100) SELECT COUNT(*) FROM rich
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT SUM(i) FROM n
SELECT name, RANK() OVER (ORDER BY pay DESC) AS r FROM staff
SELECT name, ROW_NUMBER() OVER (PARTITION BY team_id ORDER BY pay, id) AS r FROM staff
SELECT name, pay - LAG(pay) OVER (ORDER BY id) AS d FROM staff
SELECT SUM(pay) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM staff
SELECT CASE WHEN pay > 100 THEN 'high' ELSE 'low' END AS band, COUNT(*) FROM staff GROUP BY 1
SELECT COALESCE(note, 'none'), NULLIF(pay, 0) FROM staff
SELECT UPPER(name), LENGTH(name), SUBSTRING(name, 1, 2), TRIM(name), REPLACE(name, 'a', 'b') FROM staff
SELECT name FROM staff WHERE name LIKE '%pg_sleep(%' OR name = 'sleep(5)' OR note = 'DROP TABLE staff;'
SELECT 'it''s; DELETE FROM staff' AS text
SELECT 1 -- a comment; DROP TABLE staff
SELECT /* FOR UPDATE ; INTO */ id FROM staff
SELECT EXTRACT(YEAR FROM born), COUNT(*) FROM staff GROUP BY EXTRACT(YEAR FROM born)
SELECT name FROM staff WHERE born BETWEEN '1980-01-01' AND '1999-12-31'
SELECT CURRENT_DATE, CURRENT_TIMESTAMP
SELECT ROUND(AVG(pay), 2), MIN(pay), MAX(pay), STDDEV(pay) FROM staff
SELECT 100.0 * COUNT(note) / COUNT(*) AS share FROM staff
SELECT CAST(pay AS CHAR(10)) FROM staff
SELECT a.name, b.name FROM staff a JOIN staff b ON a.team_id = b.team_id AND a.id < b.id
SELECT name FROM staff ORDER BY pay DESC, name ASC LIMIT 2 OFFSET 1
SELECT * FROM paid
SELECT table_name FROM information_schema.tables WHERE table_type = 'VIEW'
SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'staff' ORDER BY ordinal_position
SELECT MOD(id, 2), ABS(-3), FLOOR(2.5), CEIL(2.5), POWER(2, 10), SQRT(16) FROM staff
SELECT name FROM staff WHERE NOT (pay < 100 OR note IS NULL)
SELECT team_id, SUM(pay) FROM staff GROUP BY team_id ORDER BY SUM(pay) DESC
SELECT COUNT(DISTINCT team_id) FROM staff
VALUES (1, 'a'), (2, 'b')
SELECT * FROM (SELECT team_id, AVG(pay) AS p FROM staff GROUP BY team_id) AS g WHERE g.p > 100
SELECT name FROM staff CROSS JOIN teams
SELECT title FROM teams t WHERE NOT EXISTS (SELECT 1 FROM staff s WHERE s.team_id = t.id)
SELECT MAX(pay) - MIN(pay) AS spread FROM staff
SELECT s.* FROM staff s ORDER BY s.id
SELECT name AS "update", pay AS "insert" FROM staff
SELECT NTILE(2) OVER (ORDER BY pay), FIRST_VALUE(name) OVER (ORDER BY pay) FROM staff
SELECT SUM(CASE WHEN note IS NULL THEN 1 ELSE 0 END) FROM staff
SELECT RANDOM_WORD.name FROM staff AS RANDOM_WORD
SELECT id FROM staff WHERE (team_id, pay) IN (SELECT team_id, MAX(pay) FROM staff GROUP BY team_id)
TABLE staff
SELECT name FROM staff ORDER BY pay DESC NULLS LAST FETCH FIRST 2 ROWS ONLY
SELECT DISTINCT ON (team_id) team_id, name FROM staff ORDER BY team_id, pay DESC
SELECT name FROM staff WHERE name ILIKE 'a%' AND name ~* '^a' AND name NOT SIMILAR TO 'z%'
SELECT string_agg(name, ', ' ORDER BY name), array_agg(id ORDER BY id) FROM staff
SELECT count(*) FILTER (WHERE pay > 100) FROM staff
SELECT date_trunc('month', born), date_part('year', born), to_char(born, 'YYYY-MM') FROM staff
SELECT age(timestamp '2024-01-01', born), born + interval '1 month' FROM staff
SELECT facts->>'city', facts->'tags'->0, facts #>> '{tags,0}' FROM staff
SELECT jsonb_array_elements_text(facts->'tags') FROM staff
SELECT * FROM staff s, LATERAL (SELECT title FROM teams t WHERE t.id = s.team_id) AS x
SELECT generate_series(1, 5), unnest(ARRAY[1, 2, 3, 4, 5])
SELECT d::date FROM generate_series('2024-01-01'::date, '2024-01-31', '1 day') AS d
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY pay) FROM staff
SELECT mode() WITHIN GROUP (ORDER BY team_id) FROM staff
SELECT team_id, grouping(team_id), sum(pay) FROM staff GROUP BY ROLLUP (team_id)
SELECT sum(pay) FROM staff GROUP BY GROUPING SETS ((team_id), ())
SELECT name || ' ' || pay::text FROM staff
SELECT (pay * 1.1)::numeric(10, 2), pay::int, 5 / 2, 5 % 2, 2 ^ 3 FROM staff
SELECT $$a 'quoted' text$$, $q$ pg_sleep(1) $q$
SELECT E'a\nb', 'a\nb'
SELECT now(), random(), gen_random_uuid(), clock_timestamp()
SELECT to_tsvector('english', name) @@ to_tsquery('english', 'ann') FROM staff
SELECT split_part(name, ' ', 1), regexp_replace(name, 'a', 'b', 'g'), left(name, 2), initcap(name) FROM staff
SELECT * FROM staff TABLESAMPLE SYSTEM (100)
SELECT width_bucket(pay, 0, 200, 4), greatest(1, 2), least(1, 2) FROM staff
SELECT array_length(ARRAY[1, 2], 1), 1 = ANY(ARRAY[1, 2]), ARRAY[1, 2] @> ARRAY[1]
SELECT row_to_json(s), json_build_object('a', 1), jsonb_agg(name) FROM staff s GROUP BY s.*
SELECT mood, mood > 'sad'::mood, enum_range(NULL::mood) FROM staff
SELECT code, code = 'a', length(code) FROM staff
SELECT hired, hired AT TIME ZONE 'Europe/Paris' FROM staff
SELECT raw, encode(raw, 'hex'), flags, single FROM staff
SELECT int4range(1, 5) @> 3, '10.0.0.1'::inet, '1 month'::interval, 'infinity'::date
SELECT relname FROM pg_class WHERE relname = 'staff'
SELECT conname FROM pg_constraint WHERE conrelid = 'staff'::regclass
SELECT pg_size_pretty(pg_total_relation_size('staff')), pg_typeof(pay) FROM staff
SELECT current_user, current_database(), version()
SHOW server_version
EXPLAIN SELECT * FROM staff
WITH a AS MATERIALIZED (SELECT * FROM staff) SELECT count(*) FROM a
SELECT * FROM staff NATURAL JOIN (SELECT 1 AS id) AS one
SELECT corr(pay, id), regr_slope(pay, id), var_pop(pay) FROM staff
SELECT bool_and(pay > 0), bool_or(pay > 100), every(pay > 0) FROM staff
SELECT name COLLATE "C" FROM staff ORDER BY name COLLATE "C"
SELECT overlay('abc' placing 'x' from 2), position('b' in 'abc'), substring('abc' from 2 for 1)
SELECT CASE team_id WHEN 1 THEN 'one' END, num_nulls(note, team_id) FROM staff
SELECT cume_dist() OVER w, percent_rank() OVER w FROM staff WINDOW w AS (ORDER BY pay)
SELECT make_date(2024, 2, 29), extract(dow from date '2024-01-01'), justify_days(interval '35 days')
SELECT xmlelement(name x, 1), md5('a'), format('%s-%I', 'a', 'b'), quote_ident('A b')
SELECT id FROM staff WHERE note IS DISTINCT FROM 'x' AND name BETWEEN SYMMETRIC 'z' AND 'a'
SELECT 'see /* x /* y'
SELECT 'a /* b' /* c */, '/* d'
SELECT substring(name FOR key) FROM (SELECT name, 2 AS key FROM staff) AS t
SELECT u&1 FROM (SELECT 3 AS u) AS t
SELECT overlay(name placing 'x' FROM 1 FOR share) FROM (SELECT name, 1 AS share FROM staff) AS t
SELECT lock FROM (SELECT 'a' AS lock) AS t WHERE lock IN ('a', 'b')
WITH loread (id) AS (SELECT 1) SELECT id FROM loread
WITH a AS (SELECT 1 AS x), pg_sleep(y) AS (SELECT 2) SELECT x, y FROM a, pg_sleep
WITH RECURSIVE a AS (SELECT 1 AS x), pg_sleep(n) AS MATERIALIZED (SELECT 1 UNION SELECT n + 1 FROM pg_sleep WHERE n < 3) SELECT max(n) FROM pg_sleep
SELECT U&'d\0061ta', U&'it''s' UESCAPE '!', t.setval FROM (SELECT 1 AS setval) AS t
