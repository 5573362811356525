import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.thorough import times

from steelyard.errors import DataError
from steelyard.sql.catalog import ddl_of
from steelyard.sql.results import Database
from steelyard.sql.sandbox import Sandbox
from steelyard.sql.schema import MAX_SKIPPED, ForeignKey, describe, parse_schema, table_statements

MYSQL = """
-- a dump
/*!40101 SET NAMES utf8 */;
CREATE TABLE `order items` (
  `id` int(11) unsigned NOT NULL AUTO_INCREMENT COMMENT 'it\\'s; no end',
  `kind` enum('a','b;') DEFAULT 'a',   # a note; with a mark
  `price` decimal(10,2) NOT NULL,
  `order_id` int,
  PRIMARY KEY (`id`), KEY `by_kind` (`kind`(4)), UNIQUE KEY `once` (`order_id`, `kind`),
  CONSTRAINT `fk` FOREIGN KEY (`order_id`) REFERENCES `shop`.`orders` (`number`) ON DELETE CASCADE
) ENGINE=InnoDB AUTO_INCREMENT=7 DEFAULT CHARSET=utf8;
INSERT INTO `order items` VALUES (1, 'CREATE TABLE no (x INT);\\'', 2.5, 3);
"""


def columns(table):
    return [(column.name, column.type) for column in table.columns]


def only(ddl, **options):
    schema = parse_schema(ddl, **options)
    assert schema.skipped == ()
    (table,) = schema.tables
    return table


def test_names_of_public_sets_are_read_with_and_without_quotes():
    table = only('CREATE TABLE table_name_12 (home_team VARCHAR, "the crowd" INTEGER)')
    assert (table.name, columns(table)) == ("table_name_12", [("home_team", "VARCHAR"), ("the crowd", "INTEGER")])


def test_a_mysql_dump_gives_columns_and_keys_only():
    table = only(MYSQL, dialect="mysql")
    assert table.name == "order items"
    assert columns(table) == [
        ("id", "int(11) unsigned"),
        ("kind", "enum('a','b;')"),
        ("price", "decimal(10,2)"),
        ("order_id", "int"),
    ]
    assert [column.nullable for column in table.columns] == [False, True, False, True]
    assert table.primary_key == ("id",)
    assert table.foreign_keys == (ForeignKey(("order_id",), "orders", ("number",)),)


def test_keywords_and_numbers_may_be_names():
    ddl = (
        "CREATE TABLE [dbo].[Order] ([key] TEXT, order INT, index INT, key VARCHAR(20), 2008 TEXT, check TEXT NOT NULL)"
    )
    assert [name for name, _ in columns(only(ddl.replace("key VARCHAR", "unique VARCHAR")))] == [
        "key", "order", "index", "unique", "2008", "check",
    ]  # fmt: skip


def test_keys_of_several_columns_and_keys_beside_their_column_are_read():
    schema = parse_schema(
        "CREATE TABLE a (x INT, y INT, z TEXT REFERENCES b, PRIMARY KEY (x, y DESC), "
        "FOREIGN KEY (x, y) REFERENCES c (p, q));"
        "CREATE TABLE b (id INT PRIMARY KEY)"
    )
    assert schema.table("A").primary_key == ("x", "y")
    assert schema.table("a").foreign_keys == (ForeignKey(("z",), "b"), ForeignKey(("x", "y"), "c", ("p", "q")))
    assert schema.table("b").primary_key == ("id",)
    assert schema.table("c") is None


def test_views_have_the_columns_that_they_select():
    schema = parse_schema(
        "CREATE VIEW v AS SELECT DISTINCT a, t.b, count(*) AS n FROM t; CREATE VIEW w (x, y) AS SELECT * FROM t;"
        "CREATE TABLE m AS SELECT p q FROM t; CREATE VIEW z AS SELECT * FROM t;"
    )
    assert [(table.name, [name for name, _ in columns(table)]) for table in schema.tables] == [
        ("v", ["a", "b", "n"]), ("w", ["x", "y"]), ("m", ["q"]),
    ]  # fmt: skip
    assert schema.skipped == ("statement 4 (CREATE VIEW z AS SELECT * FROM t): its columns are not known",)


def test_statements_that_cannot_be_read_are_named_and_the_others_are_kept():
    schema = parse_schema(
        "Here is it; CREATE TABLE a (x INT); CREATE TABLE; CREATE TABLE q (); CREATE INDEX i ON a (x)"
    )
    assert [table.name for table in schema.tables] == ["a"]
    assert schema.skipped == (
        "statement 1 (Here is it): an unknown kind of statement",
        "statement 3 (CREATE TABLE): no name",
        "statement 4 (CREATE TABLE q ()): it has no columns",
    )
    assert len(parse_schema("what; " * 50).skipped) == MAX_SKIPPED


def test_a_second_create_needs_no_semicolon_in_front():
    assert [table.name for table in parse_schema("CREATE TABLE a (x) CREATE TABLE b (y)").tables] == ["a", "b"]


def test_a_table_that_is_created_again_keeps_its_first_definition():
    assert columns(only("CREATE TABLE a (x INT); CREATE TABLE IF NOT EXISTS A (y INT)")) == [("x", "INT")]


LONG = times(30_000, 150_000)


@pytest.mark.parametrize("dialect", ["sqlite", "mysql"])
@pytest.mark.parametrize(
    "hostile",
    [
        "CREATE TABLE t " + "(" * 2 * LONG,
        "CREATE TABLE t (" + "[" * 2 * LONG,
        "CREATE TABLE t (" + "'\"" * LONG,
        "'\\" * LONG,
        "CREATE " * (LONG // 4),
        "/*" * LONG,
        "/*" + "*" * 2 * LONG,
        "CREATE TABLE " + "a." * LONG,
        "CREATE TABLE t(" + "a," * LONG,
        "CREATE TABLE t(a REFERENCES b" + "(x" * LONG,
        "CREATE TABLE t (" + '"' * (2 * LONG - 1),
    ],
    ids=range(11),
)
def test_hostile_text_is_read_to_its_end(hostile, dialect):
    # The quadratic versions of these took minutes at 150,000, so seconds at the fewer.
    assert len(parse_schema(hostile, dialect=dialect).tables) <= 1


@given(st.text(st.sampled_from("CREATE TABLEabx_(),;'\"`[]-/*#.\\1\n ")), st.sampled_from(["sqlite", "mysql"]))
def test_any_text_gives_a_schema(text, dialect):
    schema = parse_schema("CREATE TABLE t (" + text, dialect=dialect)
    assert all(table.columns and all(column.name is not None for column in table.columns) for table in schema.tables)
    describe(schema)


def test_a_description_has_a_line_per_table_with_its_keys():
    schema = parse_schema("CREATE TABLE a (id INT PRIMARY KEY, b_id INT REFERENCES b, x); CREATE TABLE b (id INT)")
    assert describe(schema) == "a(id INT *, b_id INT -> b, x)\nb(id INT)"


def test_ddl_of_a_file_is_its_tables_and_views_in_order(tmp_path):
    file = tmp_path / "d.sqlite"
    database = sqlite3.connect(file)
    database.executescript(
        "CREATE TABLE z (id INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO z DEFAULT VALUES;"
        "CREATE INDEX i ON z (id); CREATE TABLE a (x TEXT); CREATE VIEW v AS SELECT x FROM a;"
    )
    database.close()
    with Sandbox(workers=1) as sandbox:
        assert ddl_of(sandbox, Database(file=file)) == (
            "CREATE TABLE z (id INTEGER PRIMARY KEY AUTOINCREMENT);\nCREATE TABLE a (x TEXT);\n"
            "CREATE VIEW v AS SELECT x FROM a;"
        )
        assert ddl_of(sandbox, Database()) == ""
        with pytest.raises(DataError, match="cannot read the tables of the database's script"):
            ddl_of(sandbox, Database(script="CREATE TABEL t (x)"))


def test_ddl_of_a_duckdb_script_is_its_tables():
    with Sandbox(workers=1) as sandbox:
        script = "CREATE TABLE b (id INTEGER PRIMARY KEY); CREATE TABLE a (b_id INTEGER REFERENCES b (id), x TEXT)"
        schema = parse_schema(ddl_of(sandbox, Database("duckdb", script=script)))
    assert [table.name for table in schema.tables] == ["b", "a"]
    assert schema.table("a").foreign_keys == (ForeignKey(("b_id",), "b", ("id",)),)


@pytest.mark.parametrize(
    ("ddl", "dialect"),
    [
        ("CREATE TABLE t (\n  a INT, -- in euro\n  b TEXT -- its */ name\n); -- all that was sold", "sqlite"),
        ("CREATE TABLE t (a INT COMMENT 'in euro', b TEXT COMMENT 'its */ name') COMMENT='all that was sold'", "mysql"),
        (
            """CREATE TABLE public.t (a INT, b TEXT); COMMENT ON TABLE public.t IS 'all that was sold';
            COMMENT ON COLUMN t.a IS 'in euro'; COMMENT ON COLUMN public.t.b IS 'its */
            name'; COMMENT ON SCHEMA t IS 'no'""",
            "postgres",
        ),
    ],
)
def test_comments_of_tables_and_columns_are_read_in_each_notation(ddl, dialect):
    [table] = parse_schema(ddl, dialect=dialect).tables
    assert describe(parse_schema(ddl, dialect=dialect)) == (
        "t(a INT /* in euro */, b TEXT /* its * / name */) -- all that was sold"
    )
    assert table_statements(ddl, dialect=dialect)[0][0] == table


def test_a_comment_on_a_line_of_its_own_is_about_nothing():
    schema = parse_schema("CREATE TABLE t ( -- opens\n-- above a\na INT,\n-- above b\nb INT)\n;\n-- below")
    assert describe(schema) == "t(a INT, b INT)"


def test_statements_are_given_with_the_comments_on_them():
    ddl = "DROP TABLE u; CREATE TABLE t (a INT); -- one\nCREATE TABLE t (b INT); COMMENT ON TABLE t IS 'it''s';"
    [(table, text)] = table_statements(ddl)
    assert (table.comment, [column.name for column in table.columns]) == ("it's", ["a"])
    assert text == "CREATE TABLE t (a INT); -- one\nCOMMENT ON TABLE t IS 'it''s';"


def test_comments_in_the_catalogue_of_duckdb_are_read():
    script = """CREATE TABLE "a b" ("x.y" INT); CREATE VIEW v AS SELECT 1 AS one;
    COMMENT ON TABLE "a b" IS 'it''s; all'; COMMENT ON COLUMN "a b"."x.y" IS 'net'; COMMENT ON VIEW v IS 'seen'"""
    with Sandbox(workers=1) as sandbox:
        ddl = ddl_of(sandbox, Database("duckdb", script=script))
    assert describe(parse_schema(ddl)) == "a b(x.y INTEGER /* net */) -- it's; all\nv(one) -- seen"


KEYS_OF_POSTGRES = """
ALTER TABLE ONLY public.a
    ADD CONSTRAINT a_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.a
    ADD CONSTRAINT a_fkey FOREIGN KEY (b_id) REFERENCES public.b(id) ON DELETE CASCADE;
"""
KEYS_OF_MYSQL = """
ALTER TABLE `a`
  ADD PRIMARY KEY (`id`),
  ADD KEY `b_id` (`b_id`);
ALTER TABLE `a`
  MODIFY `id` int(11);
ALTER TABLE `a`
  ADD CONSTRAINT `a_1` FOREIGN KEY (`b_id`) REFERENCES `b` (`id`);
"""
KEYS_OF_SQL_SERVER = """
GO
ALTER TABLE [dbo].[a] ADD CONSTRAINT [PK_a] PRIMARY KEY CLUSTERED ([id] ASC)
GO
ALTER TABLE [dbo].[a] WITH CHECK ADD CONSTRAINT [FK_a] FOREIGN KEY([b_id])
REFERENCES [dbo].[b] ([id])
GO
ALTER TABLE [dbo].[a] CHECK CONSTRAINT [FK_a]
GO
"""


@pytest.mark.parametrize("keys", [KEYS_OF_POSTGRES, KEYS_OF_MYSQL, KEYS_OF_SQL_SERVER])
def test_keys_that_are_added_behind_the_tables_are_those_of_the_tables(keys):
    script = f"CREATE TABLE a (id int NOT NULL, b_id int);\nCREATE TABLE b (id int);\n{keys}"
    schema = parse_schema(script)
    a, b = schema.tables
    assert (a.primary_key, b.primary_key) == (("id",), ())
    assert a.foreign_keys == (ForeignKey(("b_id",), "b", ("id",)),)
    assert not schema.skipped
    (table, text), _ = table_statements(script)
    assert table == a
    assert "FOREIGN KEY" in text


def test_a_table_that_is_altered_otherwise_stays_as_it_is():
    made = "CREATE TABLE a (id int PRIMARY KEY);"
    assert parse_schema(f"{made} ALTER TABLE a ADD CHECK (id > 0); ALTER TABLE c ADD PRIMARY KEY (x); ALTER") == (
        parse_schema(made)
    )
