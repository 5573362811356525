"""What scorers and a suite declare of their scores reaches the manifest, and is checked before anything is sent."""

import pytest

from steelyard import ConfigError, ExactMatch, Prompt, Sample, ScoreInfo, Scripted, Suite
from steelyard.evaluation.scorer_infos import headline_of, scorer_stages
from steelyard.evaluation.survey import check_suite, manifests, survey
from steelyard.types import StageInfo

FINE = ScoreInfo("fine", (0, 1), labels=("fine", "not fine"))


class Rated:
    """Gives `rating` and `fine`, as described by `more`."""

    stage_info = StageInfo(name="rated")

    def __init__(self, ends=(1, 5), fine=FINE, **more):
        self.score_infos = (ScoreInfo("rating", ends, **more), fine)

    def __call__(self, sample, output):
        return []


def suite(*scorers, **more):
    return Suite("s", "custom", [Sample("a", "q")], {"t": Prompt(Scripted())}, scorers, **more)


def manifest(made):
    ((_, result),) = manifests(made, survey(made.samples), draw="", config=None)
    return result


def test_the_manifest_holds_what_every_score_is():
    built = suite(
        Rated(lower_is_better=True, threshold=2, histogram=True, exam=True, denominator="all"),
        ExactMatch(),
        crossed=(("fine", "exact_match"),),
        breakdowns=("document",),
    )
    check_suite(built)
    result = manifest(built)
    assert result["scores"] == ["rating", "fine", "exact_match"]
    assert result["score_infos"] == {
        "rating": {
            "range": [1.0, 5.0],
            "lower_is_better": True,
            "threshold": 2.0,
            "denominator": "all",
            "histogram": True,
            "exam": True,
        },
        "fine": {
            "range": [0.0, 1.0],
            "lower_is_better": False,
            "labels": ["fine", "not fine"],
            "denominator": "answered",
        },
        "exact_match": {
            "range": [0.0, 1.0],
            "lower_is_better": False,
            "threshold": 1.0,
            "denominator": "all",
        },
    }
    assert (result["crossed"], result["breakdowns"]) == ([["fine", "exact_match"]], ["document"])


def test_a_plain_function_has_one_score_of_its_name_where_higher_is_better_and_no_range_is_known():
    def words(sample, output):
        return 1.0

    result = manifest(suite(words))
    assert result["score_infos"] == {"words": {"range": None, "lower_is_better": False, "denominator": "answered"}}
    assert not result.keys() & {"crossed", "breakdowns"}


def test_a_function_declares_its_scores_by_the_same_attribute():
    def mistakes(sample, output):
        return 1.0

    mistakes.score_infos = (ScoreInfo("mistakes", (0, 50), lower_is_better=True),)
    result = manifest(suite(mistakes))
    assert (result["stages"], result["scores"]) == (["target", "mistakes"], ["mistakes"])
    assert result["score_infos"]["mistakes"]["lower_is_better"] is True


@pytest.mark.parametrize(
    ("scorers", "primary", "headline"),
    [
        ((Rated(),), "", "rating"),
        ((Rated(fine=ScoreInfo("fine", headline=True)),), "", "fine"),
        ((ExactMatch(), Rated(fine=ScoreInfo("fine", headline=True))), "", "exact_match"),
        ((ExactMatch(), Rated()), "fine", "fine"),
        ((), "", ""),
    ],
)
def test_the_headline_is_the_suites_else_the_first_scorers(scorers, primary, headline):
    assert headline_of(suite(primary=primary), scorer_stages(scorers)) == headline


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (
            suite(Rated((5, 1))),
            r"score 'rating': range must be its lowest and highest value, such as \(1, 5\), not \(5",
        ),
        (suite(Rated((1, 1))), "range must be"),
        (suite(Rated(("1", 5))), "range must be"),
        (suite(Rated((1, float("inf")))), "range must be"),
        (suite(Rated((1, 3, 5))), "range must be"),
        (suite(Rated((False, True))), "range must be"),
        (suite(Rated(5)), "range must be"),
        (suite(Rated(unbounded=True)), r"score 'rating': a score that is unbounded has no range, but got \(1, 5\)"),
        (suite(Rated(None, unbounded=1)), "unbounded must be True or False, not 1"),
        (suite(Rated(threshold=6)), "score 'rating': the threshold 6 is outside the range 1 to 5"),
        (suite(Rated(threshold="4")), "threshold must be a number, not '4'"),
        (suite(Rated(None, threshold=float("nan"))), "threshold must be a number, not nan"),
        (
            suite(Rated(labels="fine")),
            r"labels must be the names of 1 and 0, such as \('right', 'wrong'\), not 'fine'",
        ),
        (suite(Rated(labels=("yes", 0))), "labels must be"),
        (suite(Rated(denominator="scored")), "denominator must be 'all' or 'answered', not 'scored'"),
        (suite(Rated(lower_is_better="no")), "lower_is_better must be True or False, not 'no'"),
        (suite(Rated(fine=ScoreInfo(""))), "a score has a name, not ''"),
        (suite(Rated(fine=ScoreInfo("rating"))), "two scores named 'rating'"),
        (suite(Rated(fine=ScoreInfo("exact_match")), ExactMatch()), "two scores named 'exact_match'"),
        (suite(Rated(), crossed=(("fine", "rateing"),)), "no scorer gives 'rateing': did you mean 'rating'"),
        (suite(Rated(), crossed=(("fine", "fine"),)), "crossed takes pairs of two different scores"),
        (suite(Rated(), crossed=("fine",)), "crossed takes pairs of two different scores, not 'fine'"),
        (suite(Rated(), primary="rateing"), "primary: there is no score 'rateing': did you mean 'rating'"),
        (suite(Rated(), breakdowns="document"), "breakdowns takes a list of keys of the samples' metadata"),
        (suite(Rated(), breakdowns=("",)), "breakdowns takes a list of keys"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_sent(made, message):
    with pytest.raises(ConfigError, match=message):
        check_suite(made)


def test_scorers_that_single_targets_have_in_place_of_the_others_are_checked_too():
    with pytest.raises(ConfigError, match="range must be"):
        check_suite(suite(ExactMatch(), scorers_of={"t": (Rated((5, 1)),)}))
