INSERT INTO emp(id) VALUES (100) RETURNING (SELECT 1)
WITH x(a) AS (SELECT 1) INSERT OR REPLACE INTO emp(id) SELECT a FROM x RETURNING *
EXPLAIN QUERY PLAN WITH x AS (SELECT 1) DELETE FROM emp
/*+*/WITH x AS (SELECT ')') , y(a,b) AS (VALUES(1,2)) UPDATE emp SET pay=0
WITH "x)"(a) AS (SELECT 1) UPDATE emp SET pay=1
WITH [a]("b)") AS (SELECT 1) DELETE FROM emp
WITH recursive as (select 1) delete from emp
WITH RECURSIVE recursive(x) AS (SELECT 1) DELETE FROM emp
WITH a AS (SELECT 1)DELETE FROM emp
WITH a AS(SELECT 1)-- x⏎DELETE FROM emp
WITH a AS (SELECT 1), b AS (SELECT 2)﻿DELETE FROM emp
﻿﻿DELETE FROM emp
 DELETE FROM emp
　DELETE FROM emp
EXPLAIN   DELETE FROM emp
EXPLAIN EXPLAIN DELETE FROM emp
QUERY PLAN DELETE FROM emp
EXPLAIN QUERY DELETE FROM emp
SELECT 1; DROP TABLE emp
SELECT '\'; DROP TABLE emp; --'
SELECT $a(;) ; DROP TABLE emp
SELECT /*/ 1; DROP TABLE emp; /*/
SELECT `a``;` ; DROP TABLE emp
SELECT [a]];] ; DROP TABLE emp
SELECT x'27'; DROP TABLE emp
SELECT 1e; DROP TABLE emp
SELECT N';'; DROP TABLE emp
SELECT 1 # ; ⏎DROP TABLE emp
CREATE TEMP TRIGGER a BEFORE INSERT ON emp BEGIN SELECT 1; END; DROP TABLE emp
SELECT CASE WHEN 1 THEN 2 END END; DROP TABLE emp
PRAGMA table_info(emp); PRAGMA writable_schema=1
PRAGMA temp.journal_mode=MEMORY
PRAGMA journal_mode=OFF
SELECT * FROM pragma_journal_mode('wal')
SELECT * FROM pragma_query_only(0)
SELECT * FROM pragma_writable_schema(1)
SELECT * FROM pragma_temp_store_directory('/tmp')
SELECT * FROM pragma_user_version WHERE arg=5
SELECT * FROM pragma_cache_size(1)
SELECT * FROM pragma_foreign_keys(1)
SELECT * FROM pragma_optimize
SELECT * FROM pragma_wal_checkpoint
SELECT * FROM pragma_incremental_vacuum(1)
SELECT * FROM pragma_shrink_memory
SELECT * FROM pragma_case_sensitive_like(1)
SELECT * FROM pragma_locking_mode('exclusive')
SELECT * FROM pragma_mmap_size(1000000)
SELECT * FROM pragma_page_size(512)
SELECT * FROM pragma_encoding('utf-16')
PRAGMA "query_only"=0
PRAGMA[writable_schema]=1
pragma/**/query_only/**/=/**/0
PRAGMA query_only(OFF)
PRAGMA main . query_only = 0
PRAGMA trusted_schema=1
PRAGMA foreign_key_check(emp); DROP TABLE emp
ATTACH 'file::memory:?cache=shared' AS m
ATTACH '/dev/shm/x' AS m
VACUUM INTO 'file:///{watched}/v.db'
vacuum into '{watched}/v.db'
VACUUM/**/INTO/**/'{watched}/v.db'
EXPLAIN VACUUM
DETACH main
ATTACH x'2f746d702f61' AS b
ATTACH DATABASE char(47,116,109,112) AS z
CREATE VIRTUAL TABLE t USING fts4(tokenize=icu) ||| SELECT 1
CREATE VIRTUAL TABLE sqlite_evil USING fts5(a) ||| SELECT 1
CREATE VIRTUAL TABLE t USING pragma_query_only ||| SELECT * FROM t
CREATE VIRTUAL TABLE t USING spellfix1 ||| SELECT 1
CREATE TABLE main.sqlite_sequence(a) ||| SELECT 1
CREATE TABLE attach.t(a) ||| SELECT 1
CREATE TABLE t(a);  ||| INSERT INTO t VALUES(1)
CREATE TRIGGER q INSTEAD OF INSERT ON rich BEGIN SELECT 1; END ||| SELECT 1
CREATE/**/TEMP/**/TRIGGER q AFTER INSERT ON emp BEGIN DELETE FROM emp; END ||| SELECT 1
CREATE TABLE t AS SELECT * FROM pragma_query_only(0) ||| SELECT 1
CREATE TABLE t AS PRAGMA query_only=0 ||| SELECT 1
CREATE TABLE t(a) ; --x ||| DELETE FROM t
CREATE TABLE t AS WITH x AS (SELECT 1) SELECT * FROM x; ||| WITH q AS (SELECT 1) INSERT INTO t SELECT * FROM q
PRAGMA/**/user_version/**/=/* a */''
PRAGMA [user_version]=''
PRAGMA `user_version` = ``
PRAGMA "user_version" = []
EXPLAIN PRAGMA user_version=''
PRAGMA user_version(NULL)
pragma⏎MAIN . "USER_VERSION"⏎=⏎''
