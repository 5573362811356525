ATTACH '{watched}/a.db' AS x
ATTACH DATABASE '{watched}/a.db' AS x
attach database 'file:{watched}/a.db?mode=rwc' as x
/* c */ ATTACH '{watched}/a.db' AS x
-- c⏎ATTACH '{watched}/a.db' AS x
ATTACH '{watched}/' || 'a.db' AS x
ATTACH (SELECT '{watched}/a.db') AS x
ATTACH '' AS x
ATTACH ':memory:' AS x
VACUUM
VACUUM INTO '{watched}/v.db'
VACUUM main INTO '{watched}/v.db'
VACUUM INTO (SELECT '{watched}/v.db')
EXPLAIN VACUUM INTO '{watched}/v.db'
EXPLAIN ATTACH '{watched}/a.db' AS x
ATTACH '{watched}/a.db' AS x ||| SELECT 1
CREATE TABLE x.t AS SELECT 1 ||| SELECT 1
CREATE TABLE t(a); ATTACH '{watched}/a.db' AS x; CREATE TABLE x.t(a) ||| SELECT 1
VACUUM INTO '{watched}/v.db' ||| SELECT 1
PRAGMA temp_store_directory = '{watched}'
PRAGMA data_store_directory = '{watched}'
PRAGMA journal_mode = DELETE
PRAGMA journal_mode = WAL
PRAGMA main.journal_mode = PERSIST
PRAGMA temp_store = FILE
PRAGMA wal_checkpoint(TRUNCATE)
PRAGMA locking_mode = EXCLUSIVE
PRAGMA mmap_size = 268435456
PRAGMA journal_mode = WAL ||| SELECT 1
PRAGMA temp_store_directory = '{watched}' ||| CREATE TABLE a(b)
SELECT writefile('{watched}/w', 'x')
SELECT edit('x', 'touch {watched}/e')
CREATE VIRTUAL TABLE z USING zipfile('{watched}/z.zip') ||| SELECT * FROM z
CREATE VIRTUAL TABLE z USING csv_wr(filename='{watched}/z.csv') ||| SELECT * FROM z
WITH a AS (SELECT 1) ATTACH '{watched}/a.db' AS x
.output {watched}/o⏎SELECT 1
.backup {watched}/b.db
.save {watched}/b.db
