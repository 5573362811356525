"""The nouns are frozen, and a score that says two things at once cannot be built."""

import dataclasses
import math

import pytest

from steelyard import Label, Output, Record, Reply, Sample, Score
from steelyard.types import OUTCOMES, Failure


@pytest.mark.parametrize("kind", [Sample, Output, Reply, Score, Failure, Label, Record])
def test_every_noun_is_frozen_and_slotted(kind):
    assert kind.__dataclass_params__.frozen
    assert not hasattr(kind, "__dict__") or "__slots__" in vars(kind)
    made = Sample("1", "q")
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.id = "2"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_score_is_a_finite_number(value):
    with pytest.raises(ValueError, match=r"score 's': .* is not a finite number"):
        Score("s", value)


def test_a_value_goes_with_scored_and_with_nothing_else():
    for outcome in OUTCOMES:
        value, other = (1.0, None) if outcome == "scored" else (None, 1.0)
        assert Score("s", value, outcome=outcome).outcome == outcome
        with pytest.raises(ValueError, match="only outcome 'scored' has a value"):
            Score("s", other, outcome=outcome)


def test_an_error_is_no_outcome():
    with pytest.raises(ValueError, match="'error' is not one of scored, not_applicable, unparsed, refused"):
        Score("s", None, outcome="error")
    assert OUTCOMES == ("scored", "not_applicable", "unparsed", "refused")


def test_metadata_of_one_sample_is_not_that_of_another():
    assert Sample("1", "q").metadata is not Sample("2", "q").metadata
