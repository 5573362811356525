"""A suite may ask for other intervals than the usual ones, and a summary says which it shows."""

import pytest

from steelyard import ConfigError, Sample, evaluate
from steelyard.analysis.intervals import Intervals
from steelyard.analysis.scores.score_columns import ScoreRow
from steelyard.analysis.scores.score_summary import summarize
from steelyard.stats.binomial import clopper_pearson, jeffreys
from steelyard.stats.bootstrap import bca_bootstrap, percentile_bootstrap
from steelyard.stats.intervals import mean_interval, wilson, wilson_clustered
from steelyard.types import Score, ScoreInfo

VALUES = [0.1, 0.2, 0.2, 0.9, 0.4, 0.3, 0.25, 0.1]


def rows(values, clusters=None):
    names = clusters or [""] * len(values)
    return [
        ScoreRow(f"s{no}", "", cluster, 0, "score", "scored", float(value))
        for no, (value, cluster) in enumerate(zip(values, names, strict=True))
    ]


def summary(values, clusters=None, **wanted):
    ((score,), _) = summarize(
        rows(values, clusters), infos={"score": ScoreInfo("score")}, intervals=Intervals(**wanted)
    )
    return score


@pytest.mark.parametrize(
    ("rates", "make_interval", "note"),
    [
        ("wilson", wilson, ""),
        ("clopper_pearson", clopper_pearson, "Clopper-Pearson"),
        ("jeffreys", jeffreys, "Jeffreys"),
    ],
)
def test_a_rate_has_the_interval_that_was_asked_for(rates, make_interval, note):
    run_figures = summary([1] * 7 + [0] * 3, rates=rates)
    assert run_figures.headline.interval == make_interval(7, 10)
    assert run_figures.note.startswith(note)
    assert bool(run_figures.note) == bool(note)


def test_a_rate_in_clusters_keeps_the_interval_that_knows_them():
    values, clusters = [1, 1, 0, 1, 0, 0], ["a", "a", "b", "b", "c", "c"]
    run_figures = summary(values, clusters, rates="clopper_pearson")
    assert run_figures.headline.interval == wilson_clustered(values, clusters=[0, 0, 1, 1, 2, 2])


@pytest.mark.parametrize(
    ("means", "make_interval"), [("t", mean_interval), ("bootstrap", percentile_bootstrap), ("bca", bca_bootstrap)]
)
def test_a_mean_has_the_interval_that_was_asked_for(means, make_interval):
    run_figures = summary(VALUES, means=means)
    assert run_figures.headline.interval == pytest.approx(tuple(make_interval(VALUES, clusters=list(range(8)))))
    assert run_figures.note == {"t": "t", "bootstrap": "percentile bootstrap", "bca": "BCa bootstrap"}[means] + (
        " interval over 8 samples"
    )


def test_resampled_equal_values_fall_back_on_their_scale():
    assert summary([0.5] * 6, means="bca").headline.interval == summary([0.5] * 6).headline.interval


@pytest.mark.parametrize("wanted", [{"rates": "wald"}, {"means": "clopper_pearson"}])
def test_an_interval_that_there_is_not_is_refused(wanted):
    with pytest.raises(ConfigError, match=r"intervals: (rates|means) is one of"):
        Intervals(**wanted).check()


def test_a_run_shows_what_its_options_ask_for():
    samples = [Sample(f"s{no}", "?", "yes") for no in range(10)]

    def right(sample, output):
        return Score("right", float(sample.id < "s7"))

    run = evaluate(lambda _: "yes", samples, [right], intervals=Intervals(rates="clopper_pearson"))
    assert run.summary().score().headline.interval == clopper_pearson(7, 10)
