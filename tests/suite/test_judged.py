"""What scorers and a suite say of their scores reaches the manifest, and is looked at before anything is sent."""

import pytest

from steelyard import ConfigError, ExactMatch, Prompt, Sample, Scripted, Suite
from steelyard.suite.survey import check_suite, manifests, survey


class Rated:
    score_name = "rating"
    score_names = ("rating", "fine")
    over = "scored"
    spread = ("rating",)
    words = {"fine": ("fine", "not fine")}  # noqa: RUF012  # a mapping that nobody changes

    def __init__(self, low=1, high=5, **more):
        self.scales = {"rating": (low, high)}
        for name, value in more.items():
            setattr(self, name, value)

    def __call__(self, sample, output):
        return []


def suite(*scorers, **more):
    return Suite("s", "custom", [Sample("a", "q")], {"t": Prompt(Scripted())}, scorers, **more)


def manifest(made):
    ((_, found),) = manifests(made, survey(made.samples), draw="", config=None)
    return found


KEYS = {"scales", "spreads", "words", "exam", "beside", "crossed", "breakdowns"}


def test_the_manifest_says_how_scores_are_to_be_shown():
    made = suite(
        Rated(exam=("rating",), beside=("fine",)),
        ExactMatch(),
        crossed=(("fine", "exact_match"),),
        breakdowns=("document",),
    )
    check_suite(made)
    found = manifest(made)
    assert {key: found[key] for key in KEYS} == {
        "scales": {"rating": [1.0, 5.0]},
        "spreads": ["rating"],
        "words": {"fine": ["fine", "not fine"]},
        "exam": ["rating"],
        "beside": ["fine"],
        "crossed": [["fine", "exact_match"]],
        "breakdowns": ["document"],
    }


def test_what_has_nothing_to_say_is_not_in_the_manifest():
    assert KEYS & manifest(suite(lambda sample, output: 1.0)).keys() == set()


@pytest.mark.parametrize(
    ("made", "said_so"),
    [
        (
            suite(Rated(5, 1)),
            r"the scale of rating must be its lowest and its highest value, such as \(1, 5\), not \(5",
        ),
        (suite(Rated("1", 5)), "the scale of rating must be"),
        (suite(Rated(1, float("inf"))), "the scale of rating must be"),
        (suite(Rated(words={"fine": "fine"})), "the words of fine must be what its 1 and its 0 are called, not 'fine'"),
        (suite(Rated(words={"fine": ("yes", 0)})), "the words of fine must be"),
        (suite(Rated(spread="rating")), r"spread takes a tuple of scores, such as \('rating',\), not 'rating'"),
        (suite(Rated(spread=("ratings",))), "spread: no scorer gives 'ratings': did you mean 'rating'"),
        (suite(Rated(exam="rating")), r"exam takes a tuple of scores, such as \('rating',\), not 'rating'"),
        (suite(Rated(beside=("ratings",))), "beside: no scorer gives 'ratings': did you mean 'rating'"),
        (suite(Rated(), crossed=(("fine", "rateing"),)), "no scorer gives 'rateing': did you mean 'rating'"),
        (suite(Rated(), crossed=(("fine", "fine"),)), "crossed takes pairs of two different scores"),
        (suite(Rated(), crossed=("fine",)), "crossed takes pairs of two different scores, not 'fine'"),
        (suite(Rated(), breakdowns="document"), "breakdowns takes a list of keys of the samples' metadata"),
        (suite(Rated(), breakdowns=("",)), "breakdowns takes a list of keys"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_sent(made, said_so):
    with pytest.raises(ConfigError, match=said_so):
        check_suite(made)
