INSERT INTO staff VALUES (9, 'X', 1)
UPDATE staff SET pay = 0
DELETE FROM staff
TRUNCATE staff
DROP TABLE staff
ALTER TABLE staff ADD COLUMN x int
CREATE TABLE mine (a int)
CREATE TABLE mine AS SELECT * FROM staff
SELECT * INTO mine FROM staff
CREATE TEMP TABLE mine AS SELECT 1
CREATE VIEW mine AS SELECT 1
CREATE INDEX ON staff (pay)
CREATE SCHEMA mine
CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'
CREATE EXTENSION dblink
CREATE ROLE mine
ALTER ROLE CURRENT_USER SET statement_timeout = 0
GRANT ALL ON staff TO PUBLIC
REVOKE ALL ON staff FROM PUBLIC
COMMENT ON TABLE staff IS 'x'
VACUUM staff
ANALYZE staff
REINDEX TABLE staff
CLUSTER staff
MERGE INTO staff AS s USING staff AS t ON s.id = t.id WHEN MATCHED THEN DELETE
WITH gone AS (DELETE FROM staff RETURNING *) SELECT * FROM gone
WITH new AS (INSERT INTO staff VALUES (9, 'X', 1) RETURNING id) SELECT * FROM new
WITH a AS (SELECT 1), b AS (UPDATE staff SET pay = 0 RETURNING 1) SELECT * FROM a, b
EXPLAIN ANALYZE DELETE FROM staff
EXPLAIN ANALYZE CREATE TABLE mine AS SELECT 1
SELECT nextval('staff_numbers')
SELECT setval('staff_numbers', 1)
SELECT lo_create(4711)
SELECT lo_creat(-1)
SELECT lo_from_bytea(4712, 'x')
SELECT lo_import('/etc/passwd')
SELECT lo_export(4711, '/tmp/steelyard-x')
SELECT lo_put(4711, 0, 'x')
SELECT pg_sleep(30)
SELECT pg_catalog.pg_sleep(30)
SELECT "pg_sleep"(30)
SELECT pg_catalog . "pg_sleep" ( 30 )
SELECT PG_SLEEP(30)
SELECT pg_sleep/**/(30)
SELECT pg_sleep -- x⏎(30)
SELECT U&"pg\005fsleep"(30)
SELECT pg_sleep_for('30 s')
SELECT pg_sleep_until(now() + interval '30 s')
SELECT * FROM ROWS FROM (pg_sleep(30)) AS t
SELECT id FROM staff WHERE pg_sleep(30) IS NULL
SELECT id FROM staff ORDER BY (SELECT pg_sleep(30))
SELECT $–$ ' $–$, pg_sleep(30) -- '
SELECT /* /* */ ' */ pg_sleep(30) -- '
SELECT E'\' , pg_sleep(30), E'\''
SELECT E'a'⏎'\'', pg_advisory_lock(1), E'\''
SELECT E'a'␍'\'', pg_advisory_lock(1), E'\''
SELECT E'a'  ⏎ 	 '\'', pg_advisory_lock(1), E'\''
SELECT E'a' -- x⏎'\'', pg_advisory_lock(1), E'\''
SELECT E'a'⏎-- x⏎  -- y⏎'\'', pg_advisory_lock(1), E'\''
SELECT e'a'⏎'b'⏎'\'', pg_advisory_lock(1), e'\''
SELECT substring('a' FROM (SELECT 1 FROM staff FOR UPDATE) FOR 1)
SELECT substring('a' FOR (SELECT id FROM staff LIMIT 1 FOR SHARE))
SELECT '/* ' /* /* */ ' */, pg_advisory_lock(1) -- '
SELECT 1E'a\'' , pg_sleep(30) -- '
SELECT 'a' || $$'$$ , pg_sleep(30), $$'$$
SELECT pg_advisory_lock(1)
SELECT pg_advisory_lock_shared(1)
SELECT pg_try_advisory_lock(1)
SELECT pg_advisory_xact_lock(1)
SELECT pg_advisory_unlock_all()
SELECT * FROM staff FOR UPDATE
SELECT * FROM staff FOR NO KEY UPDATE
SELECT * FROM staff FOR SHARE
SELECT * FROM staff FOR KEY SHARE
SELECT * FROM (SELECT * FROM staff FOR UPDATE) AS s
LOCK TABLE staff
SELECT pg_cancel_backend(pid) FROM pg_stat_activity
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
SELECT pg_reload_conf()
SELECT pg_rotate_logfile()
SELECT pg_log_backend_memory_contexts(pg_backend_pid())
SELECT pg_notify('c', 'x')
NOTIFY c, 'x'
LISTEN c
SELECT pg_export_snapshot()
SELECT pg_logical_emit_message(false, 'x', 'y')
SELECT pg_switch_wal()
SELECT pg_create_restore_point('x')
SELECT txid_current()
SELECT set_config('statement_timeout', '0', false)
SELECT set_config('transaction_read_only', 'off', true)
SELECT pg_catalog.set_config('search_path', 'x', false)
SELECT setseed(0.5)
SET statement_timeout = 0
SET SESSION AUTHORIZATION postgres
SET ROLE postgres
RESET ALL
DISCARD ALL
SET TRANSACTION READ WRITE
BEGIN
COMMIT
ROLLBACK
PREPARE p AS SELECT 1
EXECUTE p
DEALLOCATE ALL
DECLARE c CURSOR FOR SELECT 1
FETCH ALL FROM steelyard
DO $$ BEGIN PERFORM pg_sleep(30); END $$
CALL f()
COPY staff TO '/tmp/steelyard-x'
COPY staff FROM '/etc/passwd'
COPY staff TO PROGRAM 'touch /tmp/steelyard-x'
COPY (SELECT 1) TO STDOUT
LOAD 'auto_explain'
SELECT pg_read_file('/etc/passwd')
SELECT pg_read_binary_file('/etc/passwd')
SELECT pg_ls_dir('/')
SELECT pg_stat_file('/etc/passwd')
SELECT * FROM pg_ls_logdir()
SELECT query_to_xml('SELECT pg_sleep(30)', true, true, '')
SELECT database_to_xml(true, true, '')
SELECT ts_stat('SELECT pg_sleep(30)')
SELECT ts_rewrite('a'::tsquery, 'SELECT pg_sleep(30)')
SELECT pg_stat_reset()
SELECT 1; DELETE FROM staff
SELECT 1; SELECT pg_sleep(30)
SELECT 1;;SELECT 2
SELECT repeat('x', 400000000)
SELECT count(*) FROM generate_series(1, 100000000000)
SELECT * FROM generate_series(1, 100000000)
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT count(*) FROM n
SELECT count(*) FROM staff a, staff b, generate_series(1, 100000) c, generate_series(1, 1000000) d
SECURITY LABEL ON TABLE staff IS 'x'
IMPORT FOREIGN SCHEMA x FROM SERVER y INTO z
SELECT 1 AS  $$, pg_sleep(30) AS b $$
SELECT 1 AS ﻿$x$, pg_advisory_lock(1) AS b﻿$x$
SELECT 1 AS  $$, pg_advisory_lock(1) AS b $$
SELECT * FROM json_to_record('{}') WITH ORDINALITY AS (a int), pg_sleep(30) AS (x int)
WITH a AS (SELECT 1), pg_sleep(x) AS (SELECT 1) SELECT x FROM pg_sleep(30) AS t(x)
WITH a AS (SELECT 1), b(x) AS (SELECT pg_sleep(30)) SELECT * FROM b
SELECT (WITH a AS (SELECT 1), pg_sleep(x) AS (SELECT 1) SELECT x FROM pg_sleep), pg_sleep(30)
WITH a AS (SELECT 1), pg_sleep(pg_sleep(30)) AS (SELECT 1) SELECT 1
SELECT (30).pg_sleep
SELECT x.pg_advisory_lock FROM generate_series(1::bigint, 2) AS x
SELECT ('SELECT to_tsvector(pg_sleep(30)::text)'::text) . /* */ "ts_stat"
SELECT n[1].PG_TERMINATE_BACKEND FROM (SELECT ARRAY[1] AS n) AS t
