"""Dumps of MySQL, PostgreSQL and SQL Server as the schema of a sample: what SQLite and DuckDB hold of them."""

from __future__ import annotations

import asyncio
import time

import pytest

from steelyard.scorers.reference_checks import ERRORS
from steelyard.scorers.sql import SqlResult
from steelyard.sql.results import Database
from steelyard.sql.vendor_dumps import split_dump, vendor_of
from steelyard.sql.vendor_tables import translate_dump
from steelyard.types import Output, Sample

MYSQL = r"""-- MySQL dump 10.13  Distrib 8.0.36
/*!40101 SET NAMES utf8mb4 */;
DROP TABLE IF EXISTS `club member`;
CREATE TABLE `club member` (
  `id` int(10) unsigned NOT NULL AUTO_INCREMENT COMMENT 'it''s a key; really',
  `name` varchar(40) CHARACTER SET utf8 COLLATE utf8_bin DEFAULT NULL,
  `kind` enum('a','b') NOT NULL DEFAULT 'a',
  `fee` decimal(10,2) unsigned DEFAULT '0.00',
  `data` blob,
  `ok` bit(1) DEFAULT b'1',
  `at` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  `shout` varchar(50) GENERATED ALWAYS AS (upper(`name`)) VIRTUAL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `u` (`name`(10)),
  KEY `n` (`name`) USING BTREE,
  CONSTRAINT `fk` FOREIGN KEY (`id`) REFERENCES `elsewhere` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB AUTO_INCREMENT=5 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='members';
LOCK TABLES `club member` WRITE;
INSERT INTO `club member` (`id`, `name`, `kind`, `fee`, `data`, `ok`, `at`) VALUES
 (1,'O\'Neil; \"x\"\\','a',1.50,0x4142,b'1','2024-02-01 10:00:00'),
 (2,'Bo\n','b',NULL,_binary 'z',b'0','2023-01-01 00:00:00');
INSERT INTO `club member` (`name`) VALUES ('Cy');
UNLOCK TABLES;
CREATE TABLE `copy` LIKE `club member`;
DELIMITER ;;
CREATE TRIGGER t BEFORE INSERT ON `club member` FOR EACH ROW BEGIN SET NEW.name = 'x'; END ;;
DELIMITER ;
/*!50001 CREATE ALGORITHM=UNDEFINED */
/*!50013 DEFINER=`root`@`localhost` SQL SECURITY DEFINER */
/*!50001 VIEW `rich` AS
 select `m`.`id` AS `id`,ifnull(`m`.`fee`,0) AS `fee` from `shop`.`club member` `m` where `m`.`fee` > 1 */;
"""

POSTGRES = r"""SET statement_timeout = 0;
SELECT pg_catalog.set_config('search_path', '', false);
CREATE TYPE public.mood AS ENUM ('sad', 'ok');
CREATE FUNCTION public.f() RETURNS trigger LANGUAGE plpgsql AS $_$ BEGIN NEW.x := 'a;b'; RETURN NEW; END; $_$;
CREATE TABLE public.orders (
    id integer NOT NULL,
    name character varying(50) COLLATE "C",
    at timestamp with time zone DEFAULT now(),
    n numeric(10,2) DEFAULT 0.0,
    tags text[],
    j jsonb DEFAULT '{}'::jsonb,
    st public.mood DEFAULT 'ok'::public.mood,
    done boolean DEFAULT true NOT NULL,
    b bytea,
    CONSTRAINT c CHECK ((n > (0)::numeric))
);
CREATE SEQUENCE public.orders_id_seq AS integer START WITH 1;
ALTER SEQUENCE public.orders_id_seq OWNED BY public.orders.id;
ALTER TABLE ONLY public.orders ALTER COLUMN id SET DEFAULT nextval('public.orders_id_seq'::regclass);
CREATE TABLE sales.regions (id serial PRIMARY KEY, name text UNIQUE);
CREATE TABLE public.odd (id integer) PARTITION BY;
CREATE VIEW public.big AS
 SELECT o.id, (o.n)::text AS t FROM public.orders o WHERE ((o.name)::text ~~ 'A%'::text);
COPY public.orders (id, name, at, n, tags, j, st, done, b) FROM stdin;
1	Ada\tB\\	2024-01-02 00:00:00+00	1.50	{x,y}	{"a": 1}	sad	t	\\x4142
2	\N	\N	2	\N	{}	ok	f	\N
\.

INSERT INTO sales.regions (name) VALUES (E'a\nb'), ('O''N'), ($$x'y$$);
ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (id);
CREATE INDEX i ON public.orders USING btree (name);
"""

TSQL = """USE [shop]
GO
SET ANSI_NULLS ON
GO
CREATE TABLE [dbo].[Cust Order](
\t[Id] [int] IDENTITY(1,1) NOT NULL,
\t[Name] [nvarchar](max) COLLATE Latin1_General_CI_AS NULL,
\t[At] [datetime2](7) NOT NULL CONSTRAINT [DF] DEFAULT (getdate()),
\t[Price] [money] NULL,
\t[Paid] [bit] NOT NULL DEFAULT ((0)),
\t[Twice]  AS ([Price]*(2)) PERSISTED,
\t[Guid] [uniqueidentifier] ROWGUIDCOL NULL,
\t[Version] [timestamp] NOT NULL,
 CONSTRAINT [PK_C] PRIMARY KEY CLUSTERED \n(
\t[Id] ASC
)WITH (PAD_INDEX = OFF, STATISTICS_NORECOMPUTE = OFF, IGNORE_DUP_KEY = OFF) ON [PRIMARY]
) ON [PRIMARY] TEXTIMAGE_ON [PRIMARY]
GO
CREATE TABLE [dbo].[Old]([Id] [int] NOT NULL, [At] [datetime] NULL)
GO
SET IDENTITY_INSERT [dbo].[Cust Order] ON \nINSERT [dbo].[Cust Order] ([Id], [Name], [At], [Price], [Paid])
 VALUES (1, N'O''Neil; GO', CAST(N'2024-01-02T03:04:05.0000000' AS DateTime2), 12.5000, 1)
INSERT [dbo].[Cust Order] ([Id], [Name], [At], [Price])
 VALUES (2, N'é', CAST(N'2024-01-03T00:00:00' AS DateTime2), CAST(3.50 AS Decimal(10, 2)))
INSERT [dbo].[Old] ([Id], [At]) VALUES (1, CAST(0x0000A2A500000000 AS DateTime))
GO
CREATE PROCEDURE [dbo].[p] AS
BEGIN
INSERT [dbo].[Cust Order] ([Name]) VALUES (N'never')
END
GO
CREATE VIEW [dbo].[Top] AS SELECT TOP 1 [Id], ISNULL([Price], 0) AS P FROM [dbo].[Cust Order] ORDER BY [Id] DESC
GO
"""

ENGINES = ("sqlite", "duckdb")


def rows(sandbox, engine, script, query):
    done = sandbox.run(Database(engine, script=script), query)
    return done.failure.message if done.failure else [tuple(map(str, row)) for row in done.table.rows]


def sandbox_left_out(sandbox, script):
    database = Database("sqlite", script=script)
    sandbox.run(database, "SELECT 1")
    return sandbox.left_out(database)


def scores(scorer, sample, reply, sandbox):
    return {score.name: score for score in asyncio.run(scorer(sample, Output(reply), sandbox))}


@pytest.mark.parametrize(("script", "vendor"), [(MYSQL, "mysql"), (POSTGRES, "postgres"), (TSQL, "tsql")])
def test_a_dump_is_recognised_by_its_marks(script, vendor):
    assert vendor_of(script) == vendor


@pytest.mark.parametrize("engine", ENGINES)
def test_a_dump_of_mysql_is_built(sandbox, engine):
    assert rows(sandbox, engine, MYSQL, 'SELECT id, name, kind, fee, ok, shout FROM "club member" ORDER BY id') == [
        ("1", 'O\'Neil; "x"\\', "a", "1.5" if engine == "sqlite" else "1.50", "1", 'O\'NEIL; "X"\\'),
        ("2", "Bo\n", "b", "None", "0", "BO\n"),
        ("3", "Cy", "a", "0" if engine == "sqlite" else "0.00", "1", "CY"),
    ]
    assert rows(sandbox, engine, MYSQL, "SELECT id FROM rich") == [("1",)]


@pytest.mark.parametrize("engine", ENGINES)
def test_partitioned_tables_and_geometries_of_mysql_are_built(sandbox, engine):
    script = r"""CREATE TABLE `sites` (`id` int NOT NULL, `made` date, `at` point NOT NULL /*!80003 SRID 4326 */,
  `area` multipolygon DEFAULT NULL COMMENT 'not: a point, PARTITION BY HASH', KEY `point` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4
/*!50100 PARTITION BY RANGE (year(`made`))
(PARTITION p0 VALUES LESS THAN (2000) ENGINE = InnoDB,
 PARTITION p1 VALUES LESS THAN MAXVALUE ENGINE = InnoDB) */;
INSERT INTO `sites` VALUES (1,'1999-01-01',0x0000000001010000000000000000,NULL),(2,'2001-02-03',0x01,NULL);
"""
    made = [("1", "1999-01-01"), ("2", "2001-02-03")]
    assert rows(sandbox, engine, script, "SELECT id, made FROM sites ORDER BY id") == made


@pytest.mark.parametrize("engine", ENGINES)
def test_columns_of_a_domain_of_postgres_have_its_type(sandbox, engine):
    script = """CREATE DOMAIN public.year AS integer CONSTRAINT c CHECK (((VALUE >= 1901) AND (VALUE <= 2155)));
CREATE DOMAIN public."Short name" AS character varying(9) NOT NULL;
CREATE TABLE public.films (made public.year, name public."Short name", n integer);
COPY public.films (made, name, n) FROM stdin;
999\tb\t1
2006\ta\t2
\\.
ALTER TABLE ONLY public.films ADD CONSTRAINT p PRIMARY KEY (n);
"""
    assert rows(sandbox, engine, script, "SELECT made, name FROM films ORDER BY made") == [("999", "b"), ("2006", "a")]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_dump_of_postgres_is_built(sandbox, engine):
    assert rows(sandbox, engine, POSTGRES, "SELECT id, name, n, tags, st, done FROM orders ORDER BY id") == [
        (
            "1",
            "Ada\tB\\",
            "1.5" if engine == "sqlite" else "1.50",
            "{x,y}",
            "sad",
            "1" if engine == "sqlite" else "True",
        ),
        ("2", "None", "2" if engine == "sqlite" else "2.00", "None", "ok", "0" if engine == "sqlite" else "False"),
    ]
    assert rows(sandbox, engine, POSTGRES, "SELECT b FROM orders WHERE id = 1") == [("b'AB'",)]
    regions = "regions" if engine == "sqlite" else "sales.regions"
    assert rows(sandbox, engine, POSTGRES, f"SELECT id, name FROM {regions} ORDER BY id") == [
        ("1", "a\nb"),
        ("2", "O'N"),
        ("3", "x'y"),
    ]
    assert rows(sandbox, engine, POSTGRES, "SELECT id FROM big") == [("1",)]


VIEWS_OF_MYSQL = """
CREATE TABLE `t` (`a` int DEFAULT NULL) ENGINE=InnoDB;
/*!50001 CREATE VIEW `early` AS SELECT
 NULL AS `a` */;
/*!50001 CREATE TABLE `old` (
  `a` tinyint NOT NULL
) ENGINE=MyISAM */;
INSERT INTO `t` VALUES (1),(2);
/*!50001 DROP VIEW IF EXISTS `early`*/;
/*!50001 CREATE ALGORITHM=UNDEFINED */
/*!50013 DEFINER=`root`@`localhost` SQL SECURITY DEFINER */
/*!50001 VIEW `early` AS select `old`.`a` AS `a` from `old` */;
/*!50001 DROP TABLE IF EXISTS `old`*/;
/*!50001 CREATE ALGORITHM=UNDEFINED DEFINER=`root`@`localhost` VIEW `old` AS select `a` from `t` */;
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_placeholder_of_a_view_gives_way_to_the_view(sandbox, engine):
    for view in ("early", "old"):
        assert rows(sandbox, engine, VIEWS_OF_MYSQL, f"SELECT a FROM {view} ORDER BY a") == [("1",), ("2",)]


VIEWS_OF_POSTGRES = """
CREATE TABLE public.staff (key integer NOT NULL, pay integer, PRIMARY KEY (key));
CREATE VIEW public.paid AS
SELECT
    NULL::integer AS key,
    NULL::integer AS pay;
CREATE VIEW public.best AS
 SELECT staff.key FROM public.staff ORDER BY staff.pay FETCH FIRST 1 ROWS WITH TIES;
CREATE VIEW public.drawn AS
 SELECT staff.key FROM public.staff TABLESAMPLE system (50);
COPY public.staff (key, pay) FROM stdin;
1	5
2	5
\\.
CREATE OR REPLACE VIEW public.paid AS
 SELECT staff.key,
    sum(staff.pay) AS pay
   FROM public.staff
  GROUP BY staff.key;
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_view_of_postgres_is_the_last_one_or_none(sandbox, engine):
    assert rows(sandbox, engine, VIEWS_OF_POSTGRES, "SELECT key, pay FROM paid ORDER BY key") == [
        ("1", "5"),
        ("2", "5"),
    ]
    for view in ("best", "drawn"):
        assert "it draws rows at random" in rows(sandbox, engine, VIEWS_OF_POSTGRES, f"SELECT key FROM {view}")


def test_a_dump_that_is_too_long_is_told(sandbox):
    script = f"{VIEWS_OF_POSTGRES}-- {'x' * 5_000_000}"
    assert rows(sandbox, "sqlite", script, "SELECT 1") == (
        "no table of the dump: all tables: it has more than 5,000,000 characters"
    )


INSERTS_OF_POSTGRES = """
CREATE TABLE public.orders (id bigint NOT NULL, total numeric(12,2), paid money,
    tax numeric GENERATED ALWAYS AS ((total * 2)) STORED);
ALTER TABLE public.orders ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME public.orders_id_seq);
CREATE TABLE public.ev (id integer, at date) PARTITION BY RANGE (at);
CREATE TABLE public.ev_2024 (id integer, at date);
ALTER TABLE ONLY public.ev ATTACH PARTITION public.ev_2024 FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
CREATE MATERIALIZED VIEW public.sums AS
 SELECT sum(orders.total) AS s FROM public.orders WITH NO DATA;
INSERT INTO public.orders OVERRIDING SYSTEM VALUE VALUES (1, 10.00, '-$1,013.50', DEFAULT);
INSERT INTO public.orders (id, total, paid, tax) OVERRIDING SYSTEM VALUE VALUES (2, 0.50, '$0.25', DEFAULT);
INSERT INTO public.ev_2024 VALUES (7, '2024-05-05');
COPY public.ev_2024 (id, at) FROM stdin;
8	2024-06-06
\\.
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_inserts_partitions_and_materialized_views_of_postgres_are_built(sandbox, engine):
    query = "SELECT id, CAST(tax AS INT), CAST(paid * 100 AS INT) FROM orders ORDER BY id"
    assert rows(sandbox, engine, INSERTS_OF_POSTGRES, query) == [("1", "20", "-101350"), ("2", "1", "25")]
    assert rows(sandbox, engine, INSERTS_OF_POSTGRES, "SELECT id FROM ev ORDER BY id") == [("7",), ("8",)]
    assert rows(sandbox, engine, INSERTS_OF_POSTGRES, "SELECT count(*) FROM ev_2024") == [("2",)]
    assert rows(sandbox, engine, INSERTS_OF_POSTGRES, "SELECT CAST(s * 10 AS INT) FROM sums") == [("105",)]


def test_table_is_left_out_with_its_partition(sandbox):
    script = INSERTS_OF_POSTGRES.replace("8\t2024-06-06", "8")
    assert set(sandbox_left_out(sandbox, script)) == {"ev", "ev_2024"}


PARTITIONED = """
CREATE TABLE public.ev (id integer NOT NULL, at date) PARTITION BY RANGE (at);
CREATE TABLE public.ev_2024 PARTITION OF public.ev FOR VALUES FROM ('2024-01-01') TO ('2025-01-01')
    PARTITION BY HASH (id);
CREATE TABLE public.ev_2024_a PARTITION OF public.ev_2024 FOR VALUES WITH (MODULUS 1, REMAINDER 0);
CREATE TABLE public.ev_old (at date, id integer NOT NULL);
INSERT INTO public.ev_2024_a VALUES (7, '2024-05-05');
INSERT INTO public.ev_old VALUES ('1999-05-05', 8);
ALTER TABLE ONLY public.ev ATTACH PARTITION public.ev_old DEFAULT;
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_of_every_kind_of_partition_are_rows_of_its_tables(sandbox, engine):
    assert rows(sandbox, engine, PARTITIONED, "SELECT id FROM ev ORDER BY id") == [("7",), ("8",)]
    for table, ids in (("ev_2024", [("7",)]), ("ev_2024_a", [("7",)]), ("ev_old", [("8",)])):
        assert rows(sandbox, engine, PARTITIONED, f"SELECT id FROM {table}") == ids


def test_tables_whose_rows_are_not_known_are_named(sandbox):
    loaded_by_root = PARTITIONED.replace("INTO public.ev_2024_a", "INTO public.ev")
    assert set(sandbox_left_out(sandbox, loaded_by_root)) == {"ev_2024", "ev_2024_a"}
    inherited = """
CREATE TABLE public.city (name text, pop integer);
CREATE TABLE public.capital (state text) INHERITS (public.city);
CREATE TABLE public.town (name text, pop integer, mayor text);
ALTER TABLE public.town INHERIT public.city;
INSERT INTO public.town VALUES ('Melk', 5000, 'Ann');
"""
    left_out = sandbox_left_out(sandbox, inherited)
    assert set(left_out) == {"city", "capital"}
    assert "inherits from it" in left_out["city"]


def test_rows_with_default_get_the_numbers_of_their_order(sandbox):
    script = """
CREATE TABLE `t` (`id` int NOT NULL AUTO_INCREMENT, `n` varchar(9) DEFAULT 'q', PRIMARY KEY (`id`)) ENGINE=InnoDB;
INSERT INTO `t` VALUES (DEFAULT, 'a'), (5, 'b'), (DEFAULT, DEFAULT), (9, 'c'), (DEFAULT, 'd');
"""
    assert rows(sandbox, "sqlite", script, "SELECT id, n FROM t ORDER BY id") == [
        ("1", "a"),
        ("5", "b"),
        ("6", "q"),
        ("9", "c"),
        ("10", "d"),
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_dump_of_sql_server_is_built(sandbox, engine):
    assert rows(sandbox, engine, TSQL, 'SELECT Id, Name, Paid, Twice + 0 FROM "Cust Order" ORDER BY Id') == [
        ("1", "O'Neil; GO", "1" if engine == "sqlite" else "True", "25.0" if engine == "sqlite" else "25.0000"),
        ("2", "é", "0" if engine == "sqlite" else "False", "7.0" if engine == "sqlite" else "7.0000"),
    ]
    assert rows(sandbox, engine, TSQL, 'SELECT Id FROM "Top"') == [("2",)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("script", "table", "why"),
    [
        (MYSQL, "copy", "it has no columns of its own"),
        (POSTGRES, "odd", ""),
        (TSQL, "Old", "its rows hold CAST(0x0000A2A500000000 AS DATETIME), which is no plain value"),
    ],
)
def test_a_table_that_cannot_be_built_is_named_and_spoils_no_other(sandbox, engine, script, table, why):
    done = sandbox.run(Database(engine, script=script), f'SELECT * FROM "{table}"')
    assert done.failure.part == "script"
    title = {"sqlite": "SQLite", "duckdb": "DuckDB"}[engine]
    assert done.failure.message.startswith(f"{table} cannot be built on {title}: ")
    assert why in done.failure.message
    assert set(sandbox.left_out(Database(engine, script=script))) == {table}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_table_that_lacks_a_bracket_takes_nothing_behind_it_along(sandbox, engine):
    lost = "CREATE TABLE `bad` (`x` int(3;\n"
    script = f"{lost}CREATE TABLE `good` (`x` int unsigned) ENGINE=InnoDB;\nINSERT INTO `good` VALUES (1);"
    assert rows(sandbox, engine, script, "SELECT * FROM good") == [("1",)]
    assert rows(sandbox, engine, script, "SELECT * FROM bad").startswith("bad cannot be built on")


def test_statements_in_the_body_of_a_rule_are_not_run(sandbox):
    rule = "CREATE RULE r AS ON INSERT TO t DO ALSO (UPDATE t SET a = 2; DELETE FROM t;);"
    script = f"CREATE TABLE t (a integer, b jsonb);\nINSERT INTO t VALUES (1, NULL);\n{rule}\n"
    assert rows(sandbox, "sqlite", script, "SELECT a FROM t") == [("1",)]


def test_a_view_of_mysql_over_partitions_of_rows_is_built(sandbox):
    view = "CREATE VIEW v AS select id, row_number() over (partition by list order by id) AS n from t;"
    script = f"CREATE TABLE `t` (`id` int unsigned, `list` int) ENGINE=InnoDB;\nINSERT INTO `t` VALUES (1, 2);\n{view}"
    assert rows(sandbox, "sqlite", script, "SELECT n FROM v") == [("1",)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_script_of_no_vendor_is_built_without_its_bad_table(sandbox, engine):
    script = "CREATE TABLE a(x INT); INSERT INTO a VALUES (1); CREATE TABLE b(x INT,; CREATE VIEW v AS SELECT * FROM a"
    assert rows(sandbox, engine, script, "SELECT * FROM v") == [("1",)]
    assert rows(sandbox, engine, script, "SELECT * FROM b").startswith("b cannot be built on")


def test_a_table_of_a_schema_with_a_blank_that_cannot_be_built_is_named(sandbox):
    script = 'CREATE TABLE "a b"."Odd" (n numeric(4,2), k jsonb);\nINSERT INTO "a b"."Odd" VALUES (\'NaN\', NULL);'
    script += "\nCREATE TABLE t (k jsonb);"
    assert rows(sandbox, "duckdb", script, 'SELECT * FROM "a b"."Odd"').startswith("Odd cannot be built on DuckDB: ")


@pytest.mark.parametrize(
    "statement", ["INSER INTO a VALUES (2)", "INSERT INTO nowhere VALUES (2)", "UPDATE nowhere SET x = 1", "oh; no"]
)
@pytest.mark.parametrize("bad", ["", "CREATE TABLE b(x INT,;"])
def test_a_statement_that_fails_and_is_of_no_table_fails_the_script(sandbox, statement, bad):
    script = f"CREATE TABLE a(x INT); INSERT INTO a VALUES (1); {bad} {statement}"
    done = sandbox.run(Database(script=script), "SELECT * FROM a")
    assert (done.failure.part, done.failure.message[:10]) == ("script", "statement ")


def test_a_table_whose_change_fails_is_left_out(sandbox):
    script = "CREATE TABLE a(x INT); CREATE TABLE c(x INT); INSERT INTO c VALUES (1); UPDATE a SET y = 1"
    assert rows(sandbox, "sqlite", script, "SELECT * FROM a") == "a cannot be built on SQLite: no such column: y"
    assert rows(sandbox, "sqlite", script, "SELECT * FROM c") == [("1",)]


def test_a_query_that_is_wrong_is_still_wrong_on_a_translated_dump(sandbox):
    done = sandbox.run(Database(script=MYSQL), 'SELECT missing FROM "club member"')
    assert (done.failure.part, done.failure.message) == ("query", "no such column: missing")
    done = sandbox.run(Database(script=MYSQL), 'SELECT copy FROM "club member"')
    assert (done.failure.part, done.failure.message) == ("query", "no such column: copy")


def test_a_table_is_left_out_whole_where_one_row_fails(sandbox):
    script = (
        "CREATE TABLE `t` (`d` date NOT NULL) ENGINE=InnoDB; CREATE TABLE `u` (`a` int) ENGINE=InnoDB;"
        "INSERT INTO `t` VALUES ('2024-01-01'); INSERT INTO `t` VALUES ('0000-00-00'); INSERT INTO `u` VALUES (1);"
    )
    assert "0000-00-00" in rows(sandbox, "duckdb", script, "SELECT * FROM t")
    assert rows(sandbox, "duckdb", script, "SELECT * FROM u") == [("1",)]
    assert rows(sandbox, "sqlite", script, "SELECT d FROM t") == [("2024-01-01",), ("0000-00-00",)]


def test_a_statement_for_rows_that_cannot_be_read_leaves_its_table_out(sandbox, capfd):
    script = (
        "CREATE TABLE `t` (`a` int unsigned) ENGINE=InnoDB; INSERT INTO `t` VALUES (1);"
        "INSERT INTO `t` VALUES (2) BLA BLA; CREATE TABLE `u` (`a` int unsigned) ENGINE=InnoDB;"
        "INSERT INTO `u` SET `a` = 5; REPLACE INTO `u` VALUES (6); ALTER TABLE `u` DISABLE KEYS"
    )
    assert rows(sandbox, "sqlite", script, "SELECT * FROM t").startswith("t cannot be built on SQLite: ")
    assert rows(sandbox, "sqlite", script, "SELECT * FROM u") == [("5",), ("6",)]
    assert capfd.readouterr() == ("", "")


def test_a_script_that_is_denied_stays_denied(sandbox):
    done = sandbox.run(Database(script="CREATE TABLE a(x INT); ATTACH '/tmp/x.db' AS y"), "SELECT * FROM a")
    assert done.failure.kind == "denied"


def test_a_script_that_builds_as_it_is_stays_as_it_is(sandbox):
    script = "CREATE TABLE t(a STRING, b INT AUTO_INCREMENT); INSERT INTO t VALUES ('1', 2)"
    assert sandbox.run(Database(script=script), "SELECT a, typeof(a) FROM t").table.rows == [(1, "integer")]
    assert sandbox.left_out(Database(script=script)) == {}


def test_backslashes_of_mysql_are_read_as_mysql_does_even_where_the_script_would_build(sandbox):
    script = r"CREATE TABLE t(a varchar(9) CHARACTER SET utf8); INSERT INTO t VALUES ('a\nb')"
    assert rows(sandbox, "sqlite", script, "SELECT a FROM t") == [("a\nb",)]


@pytest.mark.parametrize(
    "text",
    [
        "(" * 20_000,
        "'" * 20_001,
        "CREATE TABLE `t` (`a` int " + "(" * 2_000 + ") ENGINE=InnoDB;",
        "/*!50001 " * 3_000,
        "CREATE TABLE [dbo].[t] ([a] int)\nGO\n" + "INSERT " * 3_000,
        "COPY t FROM stdin;\n" + "\t" * 40_000,
        "$a$" * 3_000,
        "".join(f"$t{at}$ " for at in range(3_000)),
        "\n" * 80_000,
        "E'" + "\\" * 20_001,
        "DELIMITER ;;\n" * 2_000,
        "[" * 80_000,
        "CREATE TABLE t (a int);\nCOPY t (" + "a" * 100,
        "CREATE TABLE t (a int, UNIQUE (a) WITH (b=" + "bbbbbb=" * 20,
    ],
)
@pytest.mark.parametrize("vendor", ["mysql", "postgres", "tsql"])
def test_hostile_texts_are_cut_and_read_in_little_time(text, vendor):
    started = time.process_time()
    vendor_of(text)
    for _ in split_dump(text, vendor):
        pass
    translate_dump(text, vendor, "sqlite")
    assert time.process_time() - started < 1  # a fifth of it where the time grows with the length alone


@pytest.mark.parametrize(
    ("column", "value"),
    [("blob", "'\ud800'"), ("bit(1)", "x''"), ("decimal(²)", "1")],
    ids=["half a character", "no bits", "a size that is no number"],
)
def test_values_that_no_dump_should_hold_raise_nothing(column, value):
    script = f"CREATE TABLE `t` (`a` {column});\nINSERT INTO `t` VALUES ({value});"
    assert list(translate_dump(script, "mysql", "duckdb").tables) == ["t"]


def test_a_fault_of_the_dump_is_no_fault_of_the_target(sandbox):
    sample = Sample("a", "?", "SELECT count(*) FROM `club member`", metadata={"schema": MYSQL})
    scorer = SqlResult()
    right = scores(scorer, sample, "SELECT count(id) FROM `club member`", sandbox)
    assert right["result"].passed
    other = scores(scorer, sample, "SELECT * FROM copy", sandbox)
    assert other["execution"].outcome == "not_applicable"
    assert "copy cannot be built on SQLite" in other["execution"].reason


def test_check_names_the_tables_that_are_left_out():
    samples = [
        ("", Sample("a", "?", "SELECT count(*) FROM `club member`", metadata={"schema": MYSQL})),
        ("", Sample("b", "?", "SELECT * FROM copy", metadata={"schema": MYSQL})),
    ]
    found = {finding.sample: finding for finding in SqlResult().check_references(samples)}
    assert (found["a"].kind, found["a"].message) == ("tables_left_out", "copy: it has no columns of its own")
    assert found["b"].kind in ERRORS
    assert "copy cannot be built on SQLite" in found["b"].message


@pytest.mark.parametrize("engine", ENGINES)
def test_names_of_postgres_with_quotes_and_brackets_keep_their_rows(sandbox, engine):
    script = (
        'CREATE TABLE public."q""t" (id integer, "a""b, c) d" text, x2 integer GENERATED ALWAYS AS (id * 2) STORED);\n'
        'COPY public."q""t" ("a""b, c) d", id) FROM stdin;\nx\t1\n\\.\n'
    )
    opened = Database(engine, script=script)
    assert sandbox.run(opened, 'SELECT * FROM "q""t"').table.rows == [(1, "x", 2)]
    assert not sandbox.left_out(opened)


@pytest.mark.parametrize("engine", ENGINES)
def test_padding_and_bits_of_postgres_are_not_values(sandbox, engine):
    script = "CREATE TABLE public.t (c character(5), b bit(4), m bit varying(8));\n"
    script += "COPY public.t (c, b, m) FROM stdin;\nab   \t0101\t\n\\.\n"
    query = "SELECT c, b, m FROM t WHERE c = 'ab'"
    assert sandbox.run(Database(engine, script=script), query).table.rows == [("ab", "0101", "")]


@pytest.mark.parametrize("engine", ENGINES)
def test_bits_and_bytes_of_mysql_come_in_every_form_of_a_dump(sandbox, engine):
    script = "CREATE TABLE `t` (`ok` bit(1), `data` varbinary(9), `at` point) ENGINE=InnoDB;\n"
    script += (
        r"INSERT INTO `t` VALUES ('\0', _binary '\0a\\x41', _binary '\0\0\0\0'), (0x01, 0x00, NULL), (b'1', '', NULL);"
    )
    rows = [(0, b"\0a\\x41", b"\0\0\0\0"), (1, b"\0", None), (1, b"", None)]
    assert sandbox.run(Database(engine, script=script), "SELECT * FROM t").table.rows == rows


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("verb", ["REPLACE", "INSERT IGNORE"])
def test_tables_of_mysql_without_a_key_and_with_values_of_generated_columns_are_filled(sandbox, engine, verb):
    script = "CREATE TABLE `t` (`a` int, `b` int GENERATED ALWAYS AS (`a` + 1) VIRTUAL, `c` int) ENGINE=InnoDB"
    script += (
        f" WITH SYSTEM VERSIONING;\n{verb} INTO `t` VALUES (1,2,3),(4,5,6);\n{verb} INTO `t` (`a`, `b`) VALUES (7,8);"
    )
    rows = [(1, 2, 3), (4, 5, 6), (7, 8, None)]
    assert sandbox.run(Database(engine, script=script), "SELECT * FROM t").table.rows == rows


@pytest.mark.parametrize("engine", ENGINES)
def test_names_of_mysql_in_double_quotes_are_names(sandbox, engine):
    script = """CREATE TABLE "Order `Items" (
  "id" int NOT NULL AUTO_INCREMENT,
  "a""b" varchar(9) DEFAULT '"',
  PRIMARY KEY ("id")
);
INSERT INTO "Order `Items" ("a""b") VALUES ('x"y'), ('"');
"""
    found = sandbox.run(Database(engine, script=script), 'SELECT "a""b" FROM "Order `Items" WHERE "id" = 1')
    assert found.table.rows == [('x"y',)]


@pytest.mark.parametrize("engine", ENGINES)
def test_what_sql_server_writes_beside_keys_and_leaves_out_of_rows_is_read(sandbox, engine):
    script = """CREATE TABLE [dbo].[Cust]]omers](
    [id] [int] IDENTITY(1,1) NOT NULL,
    [code] [nchar](6) NULL, [at] [datetime] NULL, [raw] [varbinary](max) NULL,
 CONSTRAINT [PK] PRIMARY KEY CLUSTERED ([id] ASC) WITH (PAD_INDEX = OFF, FILLFACTOR = 80) ON [PRIMARY],
 CONSTRAINT [UQ] UNIQUE NONCLUSTERED ([code] DESC) WITH (IGNORE_DUP_KEY = OFF) ON [PRIMARY]
) ON [PRIMARY]
GO
INSERT [dbo].[Cust]]omers] VALUES (N'AB    ', '20240131', 0x)
INSERT [dbo].[Cust]]omers] VALUES (NULL, N'2024-02-29T10:00:00', 0xDE)
GO
CREATE VIEW [dbo].[v] AS SELECT ISNULL([code], N'none') AS c FROM [dbo].[Cust]]omers]
GO
"""
    opened = Database(engine, script=script)
    query = 'SELECT id, code, raw, CAST("at" AS VARCHAR(19)) FROM "Cust]omers" ORDER BY id'
    rows = sandbox.run(opened, query).table.rows
    first = "2024-01-31" if engine == "sqlite" else "2024-01-31 00:00:00"
    assert rows == [(1, "AB", b"", first), (2, None, b"\xde", "2024-02-29 10:00:00")]
    assert sandbox.run(opened, "SELECT c FROM v ORDER BY c").table.rows == [("AB",), ("none",)]
