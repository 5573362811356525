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
SELECT name AS `update`, pay AS `insert` FROM staff
SELECT NTILE(2) OVER (ORDER BY pay), FIRST_VALUE(name) OVER (ORDER BY pay) FROM staff
SELECT SUM(CASE WHEN note IS NULL THEN 1 ELSE 0 END) FROM staff
SELECT RANDOM_WORD.name FROM staff AS RANDOM_WORD
SELECT id FROM staff WHERE (team_id, pay) IN (SELECT team_id, MAX(pay) FROM staff GROUP BY team_id)
SELECT `name` FROM `staff` ORDER BY `pay` DESC LIMIT 1, 2
SELECT GROUP_CONCAT(name ORDER BY name SEPARATOR '; ') FROM staff
SELECT IF(pay > 100, 'high', 'low'), IFNULL(note, '') FROM staff
SELECT YEAR(born), MONTH(born), DAYNAME(born), DATE_FORMAT(born, '%Y-%m') FROM staff
SELECT DATEDIFF('2024-01-01', born), DATE_ADD(born, INTERVAL 1 MONTH), TIMESTAMPDIFF(YEAR, born, NOW()) FROM staff
SELECT CONCAT(name, ' ', pay), CONCAT_WS('-', 'a', 'b') FROM staff
SELECT name FROM staff WHERE name REGEXP '^a' OR name RLIKE 'b$' OR name SOUNDS LIKE 'ann'
SELECT JSON_EXTRACT(facts, '$.city'), JSON_UNQUOTE(JSON_EXTRACT(facts, '$.city')) FROM staff
SELECT FIND_IN_SET('a', 'b,a'), FIELD('a', 'b', 'a'), ELT(1, 'x')
SELECT team_id, SUM(pay) FROM staff GROUP BY team_id WITH ROLLUP
SELECT 5 DIV 2, 5 % 2, 5 MOD 2, 1 <=> NULL
SELECT @rank := 0
SELECT @n := @n + 1 AS number, name FROM staff, (SELECT @n := 0) AS start
SELECT "a text", 'it''s', 'a\'b'
SELECT 1--1
SELECT 1 # a comment
SELECT BINARY name FROM staff ORDER BY name COLLATE utf8mb4_bin
SELECT NOW(), CURDATE(), RAND(), UUID(), UNIX_TIMESTAMP(), UTC_TIMESTAMP()
SELECT STR_TO_DATE('2024-01-01', '%Y-%m-%d'), LAST_DAY('2024-02-01'), MAKEDATE(2024, 60)
SELECT SUBSTRING_INDEX(name, ' ', 1), LEFT(name, 2), LPAD(name, 5, '*'), INSTR(name, 'n') FROM staff
SELECT CAST(pay AS SIGNED), CAST(pay AS DECIMAL(10, 2)), CONVERT(pay, CHAR) FROM staff
SELECT flags, flags + 0, b'101', x'4142', raw FROM staff
SELECT nothing, small, mood FROM staff
SELECT straight.name FROM staff AS straight FORCE INDEX (PRIMARY)
SELECT SQL_NO_CACHE name FROM staff
SELECT /*+ NO_RANGE_OPTIMIZATION(staff) */ name FROM staff
SELECT ANY_NAME.name FROM staff ANY_NAME STRAIGHT_JOIN teams
SELECT name FROM staff USE INDEX (PRIMARY) WHERE id = 1
SELECT BIT_COUNT(7), BIT_AND(id), HEX(255), CRC32('a'), MD5('a'), SHA2('a', 256) FROM staff
SELECT TRUNCATE(2.567, 1), FORMAT(1234.5, 2), GREATEST(1, 2), LEAST(1, 2)
SELECT VERSION(), DATABASE(), USER(), CONNECTION_ID()
SHOW TABLES
SHOW COLUMNS FROM staff
DESCRIBE staff
SHOW CREATE TABLE staff
EXPLAIN SELECT * FROM staff
SELECT name FROM staff WHERE MATCH (name) AGAINST ('Ann' IN BOOLEAN MODE)
SELECT t.title, (SELECT COUNT(*) FROM staff s WHERE s.team_id = t.id) AS n FROM teams t
SELECT name, pay FROM staff HAVING pay > 100
SELECT team_id, name FROM staff GROUP BY team_id
SELECT COUNT(*) FROM staff WHERE born > '2000-01-01' AND born < NOW() - INTERVAL 1 DAY
SELECT STD(pay), VARIANCE(pay), VAR_SAMP(pay) FROM staff
SELECT QUARTER(born), WEEK(born), DAYOFWEEK(born), WEEKDAY(born), TO_DAYS(born) FROM staff
SELECT PERIOD_DIFF(202402, 202401), SEC_TO_TIME(3600), TIME('10:00:00'), TIMEDIFF('10:00', '09:00')
SELECT JSON_OBJECT('a', 1), JSON_ARRAY(1, 2), JSON_LENGTH('[1, 2]'), JSON_CONTAINS('[1]', '1')
SELECT INET_ATON('10.0.0.1'), REVERSE('abc'), SPACE(2), ASCII('a'), CHAR(65), ORD('a')
SELECT CASE WHEN TRUE THEN 1 END, NOT FALSE, TRUE XOR FALSE, 1 IN (1, 2), 5 BETWEEN 1 AND 9
SELECT name FROM staff INTERSECT SELECT name FROM staff
SELECT id FROM staff EXCEPT SELECT id FROM teams
SELECT LOCATE('a', 'banana', 3), INSERT('abc', 1, 1, 'x'), REPEAT('a', 3), STRCMP('a', 'b')
SELECT 'a /*! b'
SELECT 'a /*+ SET_VAR(x=1) */' AS t /* c */
SELECT "/*M! x" FROM staff
WITH sleep (day, hours) AS (SELECT 1, 2) SELECT hours FROM sleep
WITH RECURSIVE benchmark (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM benchmark WHERE i < 3) SELECT i FROM benchmark
SELECT 1.5, 1e3, 1.e-1, .5, 0x4142
WITH a AS (SELECT 1 AS x), sleep(y) AS (SELECT 2) SELECT x, y FROM a, sleep
