"""SQL in lines: a break before each clause, no word changed; and the words that two queries do not share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.sql.formatting import sql_diff

QUERIES = [
    (
        "SELECT a, count(*) FROM t LEFT JOIN u ON t.a = u.a WHERE x BETWEEN 1 AND 2 AND y = 'a OR b' GROUP BY a",
        "SELECT a, count(*)\nFROM t\nLEFT JOIN u ON t.a = u.a\nWHERE x BETWEEN 1 AND 2\n  AND y = 'a OR b'\nGROUP BY a",
    ),
    (
        "SELECT a FROM t WHERE a > (SELECT avg(a) FROM t) UNION SELECT b FROM u",
        "SELECT a\nFROM t\nWHERE a > (\n    SELECT avg(a)\n    FROM t)\nUNION\nSELECT b\nFROM u",
    ),
    (
        "SELECT rank() OVER (PARTITION BY a ORDER BY b), left(c, 2) FROM t",
        "SELECT rank() OVER (PARTITION BY a ORDER BY b), left(c, 2)\nFROM t",
    ),
    ("SELECT a -- the name\nFROM t", "SELECT a\nFROM t"),
    ("SELECT IFNULL(a, 'x\ny') FROM t", "SELECT IFNULL(a, 'x\ny')\nFROM t"),
    ("", ""),
]


def lines_of(query):
    return "\n".join("".join(word.text for word in line) for line in sql_diff(query, query)[0])


@pytest.mark.parametrize(("query", "lines"), QUERIES)
def test_each_clause_begins_a_line(query, lines):
    assert lines_of(query) == lines


WORDS = st.sampled_from(
    [
        "SELECT",
        "FROM",
        "t",
        "a",
        ",",
        "(",
        ")",
        "WHERE",
        "AND",
        "=",
        "'x y'",
        "JOIN",
        "LEFT",
        "BETWEEN",
        "1",
        "ORDER BY",
    ]
)


@given(st.lists(WORDS, max_size=25).map(" ".join))
def test_no_word_is_changed_lost_or_added(query):
    assert lines_of(query).split() == query.split()
    expected, predicted = sql_diff(query, query)
    assert expected == predicted
    assert not any(word.changed for line in expected for word in line)


@given(st.lists(WORDS, max_size=15).map(" ".join), st.lists(WORDS, max_size=15).map(" ".join))
def test_without_the_marked_words_two_queries_are_the_same(first, second):
    sides = sql_diff(first, second)
    left, right = ("".join(w.text for line in side for w in line if not w.changed).upper().split() for side in sides)
    assert "".join(left) == "".join(right)


def test_the_case_of_keywords_is_no_difference_and_that_of_texts_is():
    _, predicted = sql_diff("SELECT a FROM t WHERE b = 'X'", "select a from t where b = 'x'")
    assert [word.text for line in predicted for word in line if word.changed] == [" 'x'"]
