"""Columns keep every row, and number what they name by first appearance."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from steelyard.analysis.scores.score_columns import CODES, ROW_OUTCOMES, ScoreColumns, ScoreRow, by_appearance
from steelyard.analysis.scores.score_summary import summarize

ROWS = st.lists(
    st.builds(
        lambda sample, group, cluster, repeat, name, outcome, value: ScoreRow(
            sample,
            group,
            cluster,
            repeat,
            name,
            outcome if name else "error",
            value if name and outcome == "scored" else None,
        ),
        st.sampled_from(["", "a", "b", "ü"]),
        st.sampled_from(["", "x", "y"]),
        st.sampled_from(["", "k"]),
        st.integers(0, 2),
        st.sampled_from(["", "one", "two"]),
        st.sampled_from(ROW_OUTCOMES),
        st.floats(-2, 2),
    )
)


def rows_of(columns):
    texts = (
        (columns.samples[number] for number in columns.sample),
        (columns.groups.names[code] for code in columns.groups.codes),
        (columns.clusters.names[code] for code in columns.clusters.codes),
        columns.repeat.tolist(),
        (columns.names[code] for code in columns.name),
        (ROW_OUTCOMES[code] for code in columns.outcome),
        (None if np.isnan(value) else value for value in columns.value.tolist()),
    )
    return [ScoreRow(*fields) for fields in zip(*texts, strict=True)]


@given(ROWS)
def test_columns_hold_the_rows_in_their_order(rows):
    columns = ScoreColumns.of(rows)
    assert rows_of(columns) == rows
    assert columns.scores == tuple(dict.fromkeys(row.name for row in rows if row.name))
    assert rows_of(columns.only(columns.outcome == CODES["error"])) == [row for row in rows if row.outcome == "error"]


@given(ROWS)
def test_a_score_has_its_own_rows_and_then_those_without_a_name(rows):
    columns = ScoreColumns.of(rows)
    chosen = [rows[place] for place in columns.rows_of("one")]
    assert chosen == [row for row in rows if row.name == "one"] + [row for row in rows if not row.name]


@given(ROWS)
def test_groups_of_a_summary_come_in_order_of_first_appearance_and_add_up(rows):
    scores, groups = summarize(rows)
    for score in scores:
        mine = [row for row in rows if row.name == score.name] + [row for row in rows if not row.name]
        counts = [sum(row.outcome == outcome for row in mine) for outcome in ROW_OUTCOMES]
        assert [score.scored, score.not_applicable, score.unparsed, score.refused, score.errors] == counts
        named = list(dict.fromkeys(row.group for row in mine))
        assert [group.group for group in groups.get(score.name, ())] == (
            [name or "(no group)" for name in named] if any(named) else []
        )


@given(st.lists(st.integers(0, 20)))
def test_numbers_by_first_appearance_are_those_of_a_dictionary(codes):
    known = {}
    wanted = [known.setdefault(code, len(known)) for code in codes]
    numbers, order = by_appearance(np.array(codes, dtype=int), 21)
    assert (numbers.tolist(), order.tolist()) == (wanted, list(known))
