"""How uncertain judges are of a record: near the threshold, at odds with each other, or without a verdict."""

import pytest

from steelyard import ConfigError
from steelyard.analysis.judges.judged_score import judge_uncertainty
from steelyard.analysis.scores.score_columns import ScoreColumns, ScoreRow
from steelyard.types import ScoreInfo

RATING = ScoreInfo("rating", (1, 5), threshold=4)
PASS = ScoreInfo("pass", (0, 1), threshold=1, rates="passes")


def columns(**scores):
    return ScoreColumns.of(
        ScoreRow(f"q{at}", "", "", 0, name, "unparsed" if value is None else "scored", value)
        for name, values in scores.items()
        for at, value in enumerate(values)
    )


def test_ratings_next_to_the_threshold_are_the_most_uncertain():
    name, found = judge_uncertainty(columns(rating=[3, 4, 5, 1, None]), {"rating": RATING}, ("rating",))
    values = [found[f"q{at}", 0] for at in range(5)]
    # The border is 3.5, the end that is further from it 1.
    assert (name, values) == ("rating", pytest.approx([0.8, 0.8, 0.4, 0, 1]))


def test_judges_at_odds_are_uncertain():
    infos = {name: ScoreInfo(name, (0, 1), threshold=1, rates="passes") for name in ("one", "other")}
    _, found = judge_uncertainty(columns(one=[1, 1, 0], other=[1, 0, 0]), infos, ("one",))
    assert [found[f"q{at}", 0] for at in range(3)] == [0, 1, 0]


def test_a_verdict_of_one_judge_tells_nothing_and_the_next_score_is_asked():
    both = columns(**{"pass": [1, 0], "rating": [4, 1]})
    infos = {"pass": PASS, "rating": RATING}
    assert judge_uncertainty(both, infos, ("pass", "rating"))[0] == "rating"
    with pytest.raises(ConfigError, match="the uncertainty of the judge of pass is not known"):
        judge_uncertainty(both, infos, ("pass",))
    with pytest.raises(ConfigError, match="there is no score 'ratng'"):
        judge_uncertainty(both, infos, ("", "ratng"))
