"""What a manifest says of scores, of this version and of version 0.1."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.analysis.scores.score_infos import names_where, plain_infos, range_of, score_infos
from steelyard.types import ScoreInfo

NUMBERS = st.floats(-1e6, 1e6)
INFOS = st.builds(
    ScoreInfo,
    st.text(min_size=1, max_size=5),
    st.none() | st.tuples(NUMBERS, NUMBERS),
    lower_is_better=st.booleans(),
    threshold=st.none() | NUMBERS,
    labels=st.none() | st.tuples(st.text(max_size=3), st.text(max_size=3)),
    denominator=st.sampled_from(["all", "answered"]),
    **{name: st.booleans() for name in ("histogram", "headline", "named_verdicts", "exam", "also_scored")},
)


@given(st.lists(INFOS, unique_by=lambda info: info.name, max_size=4))
def test_what_is_written_is_read_again_in_the_order_of_the_scores(infos):
    stored = {"scores": [info.name for info in infos], "score_infos": plain_infos(infos)}
    read = score_infos(json.loads(json.dumps(stored, sort_keys=True)))
    assert list(read.values()) == infos


def test_a_field_of_a_later_version_is_passed_over():
    read = score_infos({"scores": ["a"], "score_infos": {"a": {"range": [0, 2], "unit": "seconds"}}})
    assert read == {"a": ScoreInfo("a", (0.0, 2.0))}


@pytest.mark.parametrize(
    ("info", "ends"), [(None, (0, 1)), (ScoreInfo("a"), (0, 1)), (ScoreInfo("a", (-1, 1)), (-1, 1))]
)
def test_a_score_of_unknown_range_is_taken_to_lie_between_0_and_1(info, ends):
    assert range_of(info) == ends


def test_names_are_found_by_what_is_declared():
    infos = {name: ScoreInfo(name, also_scored=name == "last_letter") for name in ("solve_rate", "last_letter")}
    assert names_where(infos, lambda info: info.also_scored) == ("last_letter",)
