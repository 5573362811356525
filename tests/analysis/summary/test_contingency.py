"""Two scores against each other: each record stands in exactly one cell, or is left out."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from steelyard.analysis.scores.score_columns import ScoreColumns, ScoreRow
from steelyard.analysis.summary.contingency import ContingencyTable, contingency_table
from steelyard.plain_json import json_value

WORDS = {"correct": ("right", "wrong"), "faithfulness": ("supported", "unsupported")}


def rows_of(sample, repeat=0, **values):
    """A row per score; None is a score that was not read."""
    return [
        ScoreRow(str(sample), "", "", repeat, name, "unparsed" if value is None else "scored", value)
        for name, value in values.items()
    ]


def crossed(rows, words=WORDS):
    return contingency_table(ScoreColumns.of(rows), "correct", "faithfulness", words)


def test_the_four_cells_are_named_by_and_where_the_scores_agree_and_by_but_where_they_do_not():
    rows = [
        *rows_of(1, correct=1.0, faithfulness=1.0),
        *rows_of(2, correct=1.0, faithfulness=0.0),
        *rows_of(3, correct=1.0, faithfulness=0.0),
        *rows_of(4, correct=0.0, faithfulness=1.0),
        *rows_of(5, correct=0.0, faithfulness=0.0),
    ]
    table = crossed(rows)
    assert table.cells == (
        ("right and supported", 1),
        ("right but unsupported", 2),
        ("wrong but supported", 1),
        ("wrong and unsupported", 1),
    )
    assert table.counts == ((1, 2), (1, 1))
    assert (table.n, table.left_out) == (5, 0)
    assert json_value(table)["cells"]["right but unsupported"] == 2


def test_a_record_is_left_out_where_one_score_is_missing_unread_or_neither_0_nor_1():
    rows = [
        *rows_of(1, correct=1.0, faithfulness=None),
        *rows_of(2, correct=1.0, another=1.0),
        *rows_of(3, correct=0.5, faithfulness=1.0),
        ScoreRow("4", "", "", 0, "", "error", None),
        *rows_of(5, correct=1.0, faithfulness=1.0),
    ]
    assert (crossed(rows).n, crossed(rows).left_out) == (1, 4)


def test_repeats_of_a_sample_are_records_of_their_own():
    rows = rows_of(1, 0, correct=1.0, faithfulness=1.0) + rows_of(1, 1, correct=0.0, faithfulness=1.0)
    assert crossed(rows).counts == ((1, 0), (1, 0))


def test_a_score_without_words_is_called_by_its_name():
    assert [name for name, _ in crossed([], {}).cells] == [
        "correct and faithfulness",
        "correct but not faithfulness",
        "not correct but faithfulness",
        "not correct and not faithfulness",
    ]


@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0, 0.5, None]), st.sampled_from([0.0, 1.0, None]))))
def test_every_record_is_counted_once(drawn):
    table = crossed([row for no, (a, b) in enumerate(drawn) for row in rows_of(no, correct=a, faithfulness=b)])
    wanted = Counter(drawn)
    assert table.counts == ((wanted[1.0, 1.0], wanted[1.0, 0.0]), (wanted[0.0, 1.0], wanted[0.0, 0.0]))
    assert table.n + table.left_out == len(drawn)
    assert isinstance(table, ContingencyTable)
