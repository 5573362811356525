SELECT load_extension('evil')
SELECT load_extension('evil', 'init')
SELECT LOAD_EXTENSION('evil')
SELECT "load_extension"('evil')
SELECT [load_extension]('evil')
SELECT `load_extension`('evil')
SELECT 1 WHERE load_extension('evil') IS NULL
SELECT (SELECT load_extension('evil'))
WITH a AS (SELECT load_extension('evil') AS x) SELECT x FROM a
VALUES (load_extension('evil'))
SELECT 1 ORDER BY load_extension('evil')
SELECT count(*) FILTER (WHERE load_extension('evil')) FROM emp
CREATE VIEW w AS SELECT load_extension('evil') AS x ||| SELECT * FROM w
CREATE TABLE w AS SELECT load_extension('evil') AS x ||| SELECT * FROM w
CREATE INDEX w ON emp(load_extension('evil')) ||| SELECT * FROM emp
CREATE TABLE w(a CHECK (load_extension('evil'))) ||| SELECT load_extension('evil') FROM w
SELECT fts3_tokenizer('simple')
SELECT fts3_tokenizer('simple', x'4141414141414141')
SELECT eval('DROP TABLE emp')
SELECT system('id')
SELECT shell('id')
SELECT exec('id')
SELECT sqlite_log(1, 'x')
SELECT getenv('HOME')
SELECT http_get('http://127.0.0.1:{port}/')
SELECT * FROM pragma_load_extension('x')
SELECT dblink('127.0.0.1')
SELECT sleep(10)
SELECT pg_sleep(10)
SELECT benchmark(100000000, 1)
