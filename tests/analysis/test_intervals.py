"""A suite may ask for another interval of rates than the usual one, and a summary says which it shows."""

import pytest

from steelyard import ConfigError, Sample, evaluate
from steelyard.analysis.intervals import Intervals
from steelyard.analysis.scores.score_columns import ScoreRow
from steelyard.analysis.scores.score_summary import summarize
from steelyard.constraints import check_options
from steelyard.stats.binomial import clopper_pearson
from steelyard.stats.intervals import wilson, wilson_clustered
from steelyard.types import Score, ScoreInfo


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
    [("wilson", wilson, ""), ("clopper_pearson", clopper_pearson, "Clopper-Pearson")],
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


@pytest.mark.parametrize("wanted", [{"rates": "wald"}, {"rates": "jeffreys"}])
def test_an_interval_that_there_is_not_is_refused(wanted):
    with pytest.raises(ConfigError, match=r"rates: expected .*, but got"):
        check_options(Intervals(**wanted))


def test_a_run_shows_what_its_options_ask_for():
    samples = [Sample(f"s{no}", "?", "yes") for no in range(10)]

    def right(sample, output):
        return Score("right", float(sample.id < "s7"))

    run = evaluate(lambda _: "yes", samples, [right], intervals=Intervals(rates="clopper_pearson"))
    assert run.summary().score().headline.interval == clopper_pearson(7, 10)
