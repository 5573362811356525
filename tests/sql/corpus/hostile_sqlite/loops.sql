SELECT instr(zeroblob(19000000), zeroblob(9000000) || x'01')
SELECT instr(zeroblob(19000000), zeroblob(5000000) || x'01') + instr(zeroblob(19000000), zeroblob(6000000) || x'01')
SELECT replace(hex(zeroblob(9000000)), hex(zeroblob(4000000)) || '1', 'x')
SELECT replace(hex(zeroblob(5000000)), '0', 'aaa')
SELECT length(replace(hex(zeroblob(2500000)), '00', 'abc'))
SELECT hex(zeroblob(9000000)) LIKE '%0%0%0%0%0%0%0%0%0%0%0%1'
SELECT hex(zeroblob(9000000)) GLOB '*0*0*0*0*0*0*0*0*0*0*1'
SELECT trim(hex(zeroblob(9000000)), hex(zeroblob(900)) || '1')
SELECT count(*) FROM json_tree('[' || replace(hex(zeroblob(4000000)), '0', '1,') || '1]') a, json_tree('[1,2]') b
SELECT json_group_array(value) FROM json_each('[' || replace(hex(zeroblob(4000000)), '0', '1,') || '1]')
SELECT json_patch('[' || replace(hex(zeroblob(2000000)), '0', '1,') || '1]', '{"a":1}')
SELECT json_valid(replace(hex(zeroblob(9000000)), '0', '['))
SELECT printf('%.*c', 19000000, 'x') LIKE printf('%%%.*c%%', 40000, 'y')
SELECT soundex(hex(zeroblob(9000000)))
SELECT sum(length(randomblob(19000000))) FROM emp a, emp b, emp c
WITH RECURSIVE a(x, y) AS (SELECT 1, zeroblob(9000000) UNION ALL SELECT x + 1, zeroblob(9000000) FROM a LIMIT 100000) SELECT sum(instr(y, x'01')) FROM a
