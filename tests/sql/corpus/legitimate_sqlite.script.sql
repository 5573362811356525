-- A database of an ordinary dataset; semicolons in comments; and 'quotes' too
PRAGMA foreign_keys = ON;
BEGIN TRANSACTION;
CREATE TABLE dept(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, city TEXT DEFAULT 'Paris; France');
CREATE TABLE emp(
  id INTEGER PRIMARY KEY AUTOINCREMENT, -- the key; of the table
  name TEXT COLLATE NOCASE, pay REAL CHECK (pay >= 0), boss INTEGER REFERENCES emp(id),
  dept INTEGER REFERENCES dept(id), since TEXT, info TEXT
);
INSERT INTO dept VALUES (1, 'Sales', 'Rome'), (2, 'R&D; "lab"', 'Oslo'), (3, 'Empty', NULL);
INSERT INTO emp VALUES
  (1, 'Ada', 5000, NULL, 1, '2015-03-01', '{"skills":["sql","c"],"age":36}'),
  (2, 'Bob', 3000.5, 1, 1, '2018-07-15', '{"skills":[],"age":null}'),
  (3, 'Çelik', 4000, 1, 2, '2020-02-29', '{"skills":["go"],"age":50}'),
  (4, 'O''Brien', NULL, 3, 2, '2021-12-31', NULL),
  (5, '李雷', 4000, 3, NULL, '2022-01-01', '{"name":"李雷","n":1.5}');
CREATE TABLE "order"("select" INTEGER, "from" TEXT, [group by] TEXT, `delete` BLOB);
INSERT INTO "order" VALUES (1, 'a;b', 'x', x'00ff'), (2, 'DROP TABLE emp', 'y', NULL), (3, NULL, 'x', x'');
CREATE TABLE 员工(编号 INTEGER PRIMARY KEY, 姓名 TEXT, 工资 NUMERIC);
INSERT INTO 员工 VALUES (1, '王伟', 8000), (2, '刘洋', 9500.5);
CREATE TABLE pairs(a TEXT, b INT, PRIMARY KEY (a, b)) WITHOUT ROWID;
INSERT INTO pairs VALUES ('x', 1), ('x', 2), ('y', 1);
CREATE TABLE typed(a INT, b TEXT, c ANY) STRICT;
INSERT INTO typed VALUES (1, 'one', 1.5), (2, 'two', x'ab');
CREATE TABLE boxed(w REAL, h REAL, area REAL AS (w * h) STORED, twice REAL GENERATED ALWAYS AS (w * 2) VIRTUAL);
INSERT INTO boxed(w, h) VALUES (2, 3), (4, 5);
CREATE TABLE log(what TEXT, at INTEGER);
CREATE TRIGGER raised AFTER UPDATE OF pay ON emp WHEN new.pay > CASE WHEN old.pay IS NULL THEN 0 ELSE old.pay END
BEGIN
  INSERT INTO log VALUES ('raise; ' || new.name, 1);
  UPDATE log SET at = CASE at WHEN 1 THEN 2 ELSE 3 END WHERE what LIKE 'raise%';
END;
UPDATE emp SET pay = pay + 0.5 WHERE id = 2;
INSERT INTO pairs VALUES ('x', 1) ON CONFLICT (a, b) DO UPDATE SET b = excluded.b + 10;
INSERT OR IGNORE INTO dept VALUES (1, 'Sales', 'again');
CREATE INDEX by_pay ON emp(pay DESC) WHERE pay IS NOT NULL;
CREATE INDEX by_upper ON emp(upper(name));
CREATE VIEW rich AS SELECT id, name FROM emp WHERE pay > 3500;
CREATE VIEW "two words" AS SELECT count(*) AS "how many; really" FROM emp;
CREATE VIRTUAL TABLE docs USING fts5(title, body);
INSERT INTO docs VALUES ('The cat', 'a cat sat on the mat'), ('Dogs', 'dogs chase cats; often'), ('Fish', 'fish swim');
CREATE VIEW found AS SELECT title, snippet(docs, 1, '[', ']', '...', 4) AS s FROM docs WHERE docs MATCH 'cat';
CREATE VIRTUAL TABLE old USING fts4(body);
INSERT INTO old VALUES ('hello world'), ('good night world');
CREATE VIRTUAL TABLE boxes USING rtree(id, minx, maxx, miny, maxy);
INSERT INTO boxes VALUES (1, 0, 1, 0, 1), (2, 5, 6, 5, 6), (3, 0.5, 5.5, 0.5, 5.5);
CREATE VIRTUAL TABLE labelled USING rtree(id, low, high, +label, +colour);
INSERT INTO labelled VALUES (1, 0, 5, 'a; b', 'red'), (2, 7, 9, NULL, 'blue');
CREATE TABLE sales(day TEXT, shop TEXT, n INTEGER);
INSERT INTO sales WITH RECURSIVE d(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM d WHERE i < 59)
  SELECT date('2023-01-01', '+' || i || ' days'), char(65 + i % 3), (i * 37) % 11 FROM d;
CREATE TABLE gone(a);
DROP TABLE gone;
ALTER TABLE log ADD COLUMN note TEXT DEFAULT 'none';
SAVEPOINT s; DELETE FROM dept WHERE id = 3; ROLLBACK TO s; RELEASE s;
COMMIT;
ANALYZE;
