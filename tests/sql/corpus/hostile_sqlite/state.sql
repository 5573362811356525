PRAGMA hard_heap_limit = 1
PRAGMA soft_heap_limit = 1
PRAGMA hard_heap_limit(1)
SELECT * FROM pragma_hard_heap_limit(1)
SELECT * FROM pragma_soft_heap_limit(1)
PRAGMA case_sensitive_like = ON
PRAGMA case_sensitive_like(1)
PRAGMA reverse_unordered_selects = ON
PRAGMA full_column_names = ON
PRAGMA short_column_names = OFF
PRAGMA empty_result_callbacks = ON
PRAGMA count_changes = ON
PRAGMA automatic_index = OFF
PRAGMA cache_size = 0
PRAGMA cell_size_check = OFF
PRAGMA trusted_schema = OFF
PRAGMA threads = 64
PRAGMA shrink_memory
PRAGMA parser_trace = ON
PRAGMA vdbe_trace = ON
PRAGMA lock_proxy_file = '{watched}/l'
PRAGMA busy_timeout = 100000
PRAGMA analysis_limit = 5
PRAGMA max_page_count = 1
PRAGMA recursive_triggers = ON
PRAGMA legacy_file_format = ON
PRAGMA key = 'x'
PRAGMA rekey = 'x'
CREATE TEMP TABLE emp(id, name, pay, boss) ||| SELECT count(*) FROM temp.emp
CREATE TEMP VIEW emp AS SELECT 666 AS id, 'evil' AS name ||| SELECT name FROM emp
CREATE VIEW sqlite_master AS SELECT 1 ||| SELECT 1
CREATE TABLE pragma_table_info(a) ||| SELECT * FROM pragma_table_info
CREATE TEMP VIEW json_each AS SELECT 1 AS value ||| SELECT * FROM json_each
CREATE TABLE sqlite_sequence(name, seq) ||| SELECT 1
CREATE TABLE sqlite_stat1(tbl, idx, stat) ||| SELECT 1
SELECT random(), randomblob(8), last_insert_rowid(), changes(), total_changes()
SELECT likely(1), likelihood(0.5, 0.5)
