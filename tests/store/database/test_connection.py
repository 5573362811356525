"""The connections of both databases behave alike: lists of values, rows, transactions, errors, and any texts."""

import numpy as np
import pytest

from steelyard import Store
from steelyard.errors import StoreError
from steelyard.store.database import schema
from steelyard.store.database.connection import MOST_IN_QUERY, DatabaseError, select_in
from steelyard.store.database.sqlite import _expanded
from steelyard.store.open_store import open_backend


@pytest.fixture
def backend(where):
    Store(where, create_missing=True).close()
    opened = open_backend(where)
    yield opened
    opened.close()


@pytest.fixture
def connection(backend):
    with backend.connect("writing") as opened, opened.begin():
        yield opened


def words(connection):
    return dict(connection.execute("SELECT text, num FROM word ORDER BY num").tuples())


def add_words(connection, *texts):
    connection.insert_rows(schema.insert_into(schema.word, ("text",)), [{"text": text} for text in texts])


@pytest.mark.parametrize("n", [0, 1, 2, 3, 8, 9, MOST_IN_QUERY, MOST_IN_QUERY + 1])
def test_a_list_may_have_any_number_of_values(connection, n):
    add_words(connection, *(f"w{number}" for number in range(n)), "other")
    wanted = [f"w{number}" for number in range(n)]
    assert {
        row.text for row in select_in(connection, "SELECT text FROM word WHERE text IN :texts", "texts", wanted)
    } == {*wanted}
    if n <= MOST_IN_QUERY:
        rest = connection.execute("SELECT text FROM word WHERE text NOT IN :texts", {"texts": wanted})
        assert list(rest.scalars()) == ["other"]


def test_rows_beyond_those_of_one_statement_and_any_text_are_inserted_as_they_are(connection):
    texts = ["", "NULL", "null", "{a,b}", '"', "\\", "a\0b", "a,b", " x ", *(f"w{n}" for n in range(1000))]
    add_words(connection, *texts)
    assert list(words(connection)) == texts


def test_numbers_of_different_types_go_into_one_column(connection):
    numbers = [1, 0.5, True, np.float64(0.25), 2**40, None, -0.0, 1e308]
    score = {"run": 1, "scoring_version": 0, "repeat": 0, "name": 1, "outcome": 0, "passed": None, "body": None}
    rows = [{**score, "no": n, "value": number} for n, number in enumerate(numbers)]
    connection.insert_rows(schema.insert_into(schema.score), rows)
    lows = connection.execute("SELECT value FROM score ORDER BY no").scalars()
    assert list(lows) == [1.0, 0.5, 1.0, 0.25, 2.0**40, None, 0.0, 1e308]


def test_lists_of_numbers_bytes_and_several_in_one_statement(connection):
    add_words(connection, "a", "b", "c")
    numbers = words(connection)
    query = "SELECT text FROM word WHERE num IN :nums AND text NOT IN :texts AND num < :most ORDER BY text"
    values = {"nums": tuple(numbers.values()), "texts": ["b"], "most": 2**40}
    assert list(connection.execute(query, values).scalars()) == ["a", "c"]
    replies = [{"key": bytes([n]) * 10, "body": b"%d" % n} for n in range(5)]
    connection.insert_rows(schema.insert_into(schema.reply, ("key", "body")), replies)
    keys = [reply["key"] for reply in replies[:3]]
    bodies = connection.execute("SELECT body FROM reply WHERE key IN :keys ORDER BY key", {"keys": keys}).scalars()
    assert list(map(bytes, bodies)) == [b"0", b"1", b"2"]


def test_rows_have_named_fields_and_come_as_tuples_and_mappings(connection):
    add_words(connection, "a", "b")
    query = "SELECT text, num AS number, count(*) FROM word GROUP BY text, num ORDER BY text"
    assert [(row.text, row.number > 0) for row in connection.execute(query)] == [("a", True), ("b", True)]
    assert [text for text, _, _ in connection.execute(query).tuples()] == ["a", "b"]
    assert [row["text"] for row in connection.execute(query).mappings()] == ["a", "b"]
    assert [row.text for row in connection.stream(query)] == ["a", "b"]
    assert connection.execute(query).first().text == "a"
    assert connection.execute("SELECT text FROM word WHERE num < 0").first() is None
    assert connection.execute("SELECT text FROM word WHERE num < 0").scalar() is None
    assert connection.execute("UPDATE word SET text = text").changed == 2


def test_the_database_numbers_a_row_that_is_inserted(connection):
    first, second = (connection.insert(schema.dictionary, {"kind": "k", "data": b"x"}) for _ in range(2))
    assert second == first + 1


def test_two_streams_are_read_in_turn_and_one_that_is_left_early_hurts_nobody(connection):
    add_words(connection, "a", "b", "c")
    query = "SELECT text FROM word ORDER BY text"
    first, second = connection.stream(query).scalars(), connection.stream(query).scalars()
    assert [next(first), next(second), next(second)] == ["a", "a", "b"]
    add_words(connection, "d")
    assert len(words(connection)) == 4


def test_a_transaction_that_an_error_leaves_is_rolled_back_and_the_next_one_works(backend):
    def fail(connection):
        with connection.begin():
            add_words(connection, "lost")
            raise ZeroDivisionError

    with backend.connect("writing") as connection:
        with pytest.raises(ZeroDivisionError):
            fail(connection)
        with connection.begin():
            add_words(connection, "kept")
        with pytest.raises(DatabaseError), connection.begin():
            connection.execute("SELECT nothing FROM nowhere")
        with backend.connect("latest") as reader:
            assert list(words(reader)) == ["kept"]


def test_a_snapshot_sees_one_moment_and_the_latest_reader_every_commit(backend):
    with (
        backend.connect("writing") as writer,
        backend.connect("snapshot") as snapshot,
        backend.connect("latest") as latest,
        snapshot.begin(),
    ):
        assert words(snapshot) == {}
        with writer.begin():
            add_words(writer, "new")
        assert (list(words(snapshot)), list(words(latest))) == ([], ["new"])


@pytest.mark.parametrize(
    "statement",
    ["SELEC 1", "SELECT * FROM nowhere", "INSERT INTO word (num, text) VALUES (1, NULL)", "SELECT :a FROM word WHERE"],
)
def test_what_the_driver_raises_is_one_kind_of_error(connection, statement):
    with pytest.raises(DatabaseError) as caught:
        connection.execute(statement, {"a": 1})
    assert str(caught.value)
    assert len(caught.value.code) == (5 if connection.dialect == "postgresql" else 0)


def test_a_percent_sign_and_a_colon_are_text(connection):
    add_words(connection, "100%", ":name", "%(name)s")
    assert len(words(connection)) == 3
    assert (
        connection.execute(
            "SELECT count(*) FROM word WHERE text LIKE '100%' OR text = :name", {"name": ":name"}
        ).scalar()
        == 2
    )


def test_a_table_that_is_there_is_known(connection):
    assert connection.has_table("word")
    assert not connection.has_table("nowhere")
    assert not connection.has_table("pg_class")
    connection.execute("DROP TABLE event")
    assert not connection.has_table("event")


def test_a_statement_is_not_prepared_anew_for_each_length_of_its_list():
    texts = {_expanded("SELECT 1 WHERE 1 IN :n", ("n",), {"n": [0] * length})[0] for length in range(MOST_IN_QUERY)}
    assert len(texts) == 11


def test_a_connection_that_reads_cannot_write(where):
    with Store(where, create_missing=True) as store:
        for statement in ("DELETE FROM about", "INSERT INTO word (text) VALUES ('x')", "DROP TABLE reply"):
            with pytest.raises(StoreError, match=r"read.?only"), store.reading() as connection:
                connection.execute(statement)
