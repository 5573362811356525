from __future__ import annotations

import json
import math
from dataclasses import fields
from itertools import combinations, count

import numpy as np
import pytest

from steelyard.analysis.judging_manifest import sides_of
from steelyard.analysis.preferences.standings import Standing, Standings, standings
from steelyard.analysis.run_data import RunData
from steelyard.analysis.scores.score_columns import ScoreRow
from steelyard.analysis.stopping import Stopping
from steelyard.errors import ConfigError
from steelyard.plain_json import json_value
from steelyard.stats.intervals import Interval

VALUES = {"A": 1.0, "B": 0.0, "tie": 0.5, "inconsistent": 0.5}


def pair_of(ident, first, second, rows, *, stopping=None, scores=("preference",)):
    """A judging run made by hand."""
    manifest = {"target": {"pair": {"first": first, "second": second}}, "scores": list(scores)}
    renamed = [row._replace(name=scores[0]) for row in rows]
    return RunData.of(renamed, f"{first} vs {second}", id=ident, manifest=manifest, stopping=stopping)


def rows_of(run):
    return tuple(run.scores.rows())


def row(sample, label, **more):
    """A verdict by its label, or a row without one by its outcome; `no A` where that side gave no answer."""
    place = (sample, "", more.pop("cluster", ""), more.pop("repeat", 0), "preference")
    if label.startswith("no "):
        return ScoreRow(*place, "not_applicable", None, {"side": label[3:], "why": "error"})
    if label in VALUES:
        return ScoreRow(*place, "scored", VALUES[label], {"label": label, "by": "judge"})
    return ScoreRow(*place, label, None, {})


def judged(first, second, *labels, name="", start=0):
    rows = tuple(row(f"s{at}", label) for at, label in enumerate(labels, start))
    return pair_of(name or f"{first}-{second}", first, second, rows)


def split(first, second, won, lost, tied=0, **more):
    return judged(first, second, *["A"] * won, *["B"] * lost, *["tie"] * tied, **more)


TOY = (split("a", "b", 6, 2, 2), split("b", "c", 5, 3, 2), split("a", "c", 7, 1, 2))


def panel(strengths, samples, seed):
    """Every pair judged on every sample, by qualities that the targets have there."""
    rng = np.random.default_rng(seed)
    quality = {name: strength + rng.gumbel(size=samples) for name, strength in strengths.items()}
    return [
        judged(a, b, *("A" if quality[a][at] > quality[b][at] else "B" for at in range(samples)))
        for a, b in combinations(strengths, 2)
    ]


def test_ratings_of_the_toy_with_ties_as_half_wins():
    ranking = standings(TOY)
    assert ranking.targets == ("a", "b", "c")
    assert [standing.rating for standing in ranking.standings] == pytest.approx([0.7406, -0.1491, -0.5915], abs=5e-5)
    assert [standing.elo for standing in ranking.standings] == pytest.approx(
        [1000 + 400 / math.log(10) * rating for rating in (0.7406, -0.1491, -0.5915)], abs=0.01
    )
    assert ranking.converged
    assert ranking.connected
    assert ranking.prior == 0.0
    assert ranking.runs == ("a-b", "b-c", "a-c")


def test_each_target_has_its_counts():
    a, b, c = standings(TOY).standings
    assert (a.battles, a.wins, a.losses, a.ties, a.inconsistent) == (20, 13, 3, 4, 0)
    assert (b.battles, b.wins, b.losses, b.ties, b.inconsistent) == (20, 7, 9, 4, 0)
    assert a.win_rate == pytest.approx(15 / 20)
    assert (a.win_rate + b.win_rate + c.win_rate) / 3 == pytest.approx(0.5)


def test_the_win_matrix_has_the_share_that_the_row_won_of_the_column():
    ranking = standings(TOY)
    assert ranking.win_matrix[0] == (None, pytest.approx(0.7), pytest.approx(0.8))
    assert ranking.win_matrix[2] == (pytest.approx(0.2), pytest.approx(0.4), None)
    assert ranking.battle_matrix == ((0, 10, 10), (10, 0, 10), (10, 10, 0))


def test_sides_and_the_order_of_runs_do_not_matter():
    flipped = {"A": "B", "B": "A"}
    turned = [
        pair_of(
            run.id,
            *sides_of(run.manifest)[::-1],
            tuple(row(r.sample, flipped.get(r.detail["label"], r.detail["label"])) for r in rows_of(run)),
        )
        for run in reversed(TOY)
    ]
    ranking, again = standings(TOY), standings(turned)
    assert again.targets == ranking.targets
    assert again.win_matrix == ranking.win_matrix
    assert [standing.rating for standing in again.standings] == pytest.approx(
        [standing.rating for standing in ranking.standings]
    )
    assert [standing.wins for standing in again.standings] == [standing.wins for standing in ranking.standings]


def test_disagreements_between_orders_count_half_and_stand_apart_from_ties():
    ranking = standings([judged("a", "b", "A", "B", "tie", "inconsistent", "inconsistent")])
    assert (ranking.ties, ranking.inconsistent, ranking.battles) == (1, 2, 5)
    assert ranking.win_matrix[0][1] == pytest.approx(0.5)
    assert all((standing.ties, standing.inconsistent) == (1, 2) for standing in ranking.standings)
    assert "1 tie and 2 disagreements between the two orders count half a win for either side." in ranking.notes


def test_rows_without_a_verdict_are_left_out_and_counted():
    labels = ["A", "B", "A", "unparsed", "refused", "error", "not_applicable", "no A", "no both", "no B", "no B"]
    ranking = standings([judged("a", "b", *labels)])
    assert ranking.battles == 3
    assert ranking.left_out == {"no_answer": 4, "unparsed": 1, "refused": 1, "not_applicable": 1, "errors": 1}
    assert {standing.target: standing.unanswered for standing in ranking.standings} == {"a": 2, "b": 3}
    assert ranking.standings[0].win_rate == pytest.approx(2 / 3)
    note = next(note for note in ranking.notes if "left out" in note)
    assert note == (
        "8 pairs of answers without a verdict left out: a target gave no answer (4), the verdict is unreadable "
        "(1), the judge refused (1), there was nothing to judge (1), the record failed (1)."
    )


def test_a_leader_who_is_told_apart_from_all_leads():
    ranking = standings(panel({"new": 2.5, "old": 0.0, "base": -0.2}, 200, 1))
    assert ranking.targets[0] == "new"
    first = ranking.standings[0]
    assert (first.rank_best, first.rank_worst) == (1, 1)
    assert ranking.sentence.startswith("new leads: it is told apart from each of the other 2 at 95 % (Elo ")
    assert ranking.sentence.endswith("600 verdicts on 200 independent samples).")
    assert {("new", "old"), ("new", "base")} <= set(ranking.above)
    assert ranking.sets[0] == ("new",)


def test_two_targets_that_are_told_apart_have_the_other():
    assert "it is told apart from the other at 95 %" in standings([split("a", "b", 30, 5)]).sentence


def test_targets_that_are_alike_cannot_be_told_apart():
    ranking = standings(panel({"a": 0.0, "b": 0.0, "c": 0.0}, 40, 3))
    assert ranking.above == ()
    assert ranking.sets == (ranking.targets,)
    assert all((standing.rank_best, standing.rank_worst) == (1, 3) for standing in ranking.standings)
    assert "cannot be told apart: no difference between any two of these 3 targets holds at 95 %" in ranking.sentence
    assert "leads" not in ranking.sentence


def test_a_shared_lead_names_who_may_be_first_and_who_may_not():
    ranking = standings(panel({"x": 1.0, "y": 1.0, "z": -3.0}, 80, 2))
    assert set(ranking.sets[0]) == {"x", "y"}
    assert ranking.sentence.startswith(f"Any of {ranking.targets[0]} and {ranking.targets[1]} can be the first of 3:")
    assert ranking.sentence.endswith("; z cannot.")
    assert ranking.standings[2].rank_best == 3


def test_three_wins_of_three_do_not_make_a_leader():
    ranking = standings([split("a", "b", 3, 0)])
    assert ranking.targets == ("a", "b")
    assert "cannot be told apart" in ranking.sentence
    assert "There are only 3 independent samples: intervals and ranks are rough." in ranking.notes


def test_all_wins_have_finite_ratings_and_the_prior_is_said():
    ranking = standings([split("a", "b", 20, 0), split("b", "c", 20, 0)])
    assert ranking.targets == ("a", "b", "c")
    assert all(math.isfinite(limit) for standing in ranking.standings for limit in standing.interval)
    assert ranking.prior == 0.5
    assert ranking.separable == ("a", "b", "c")
    assert any("0.5 virtual ties per compared pair keep them finite" in note for note in ranking.notes)
    assert ranking.standings[0].rating - ranking.standings[1].rating == pytest.approx(math.log(20.25 / 0.25), abs=1e-6)


def test_pairs_that_were_never_judged_are_said():
    ranking = standings([split("a", "b", 12, 8), split("b", "c", 12, 8)])
    assert ranking.win_matrix[0][2] is None
    assert ranking.battle_matrix[0][2] == 0
    assert "1 of 3 pairs of targets were never judged: they are rated through others." in ranking.notes


def test_groups_that_never_met_have_no_common_ranking():
    ranking = standings([split("a", "b", 30, 2), split("d", "c", 20, 20)])
    assert not ranking.connected
    assert ranking.components == (("a", "b"), ("c", "d"))
    assert ranking.targets == ("a", "b", "c", "d")
    assert ranking.sentence == (
        "There is no common ranking: no battles link 2 groups of targets (a and b; c and d), so ratings say nothing "
        "across them."
    )
    assert ranking.above == (("a", "b"),)
    assert ranking.sets == (("a",), ("b",), ("c", "d"))


def test_the_largest_group_stands_first():
    runs = [split("y", "z", 5, 5), split("a", "b", 5, 5), split("b", "c", 5, 5)]
    assert standings(runs).components == (("a", "b", "c"), ("y", "z"))


def test_no_verdict_is_no_ranking():
    ranking = standings([judged("a", "b", "unparsed", "no A")])
    assert ranking.sentence == "No pair of answers has a verdict, so nothing can be ranked."
    assert [standing.win_rate for standing in ranking.standings] == [None, None]
    assert [standing.interval for standing in ranking.standings] == [None, None]
    assert ranking.win_matrix == ((None, None), (None, None))


def test_one_sample_id_is_one_cluster_in_all_runs_and_repeats():
    runs = panel({"a": 0.5, "b": 0.0, "c": -0.5}, 30, 5)
    assert standings(runs).clusters == 30
    numbers = count()
    apart = [
        pair_of(run.id, *sides_of(run.manifest), tuple(r._replace(sample=f"t{next(numbers)}") for r in rows_of(run)))
        for run in runs
    ]
    assert standings(apart).clusters == 90
    width = [
        sum(standing.interval.high - standing.interval.low for standing in ranking.standings)
        for ranking in map(standings, (runs, apart))
    ]
    assert width[0] > 1.1 * width[1]


def test_repeats_are_no_independent_samples():
    once = split("a", "b", 12, 8)
    rows = tuple(r._replace(repeat=repeat) for r in rows_of(once) for repeat in range(4))
    ranking, alone = standings([pair_of("r", "a", "b", rows)]), standings([once])
    assert (ranking.battles, ranking.clusters) == (80, 20)
    for standing, other in zip(ranking.standings, alone.standings, strict=True):
        assert standing.interval == pytest.approx(other.interval, abs=0.1)


def test_a_cluster_holds_its_samples_together_and_is_no_sample_of_that_name():
    rows = tuple(row(f"s{at}", "AB"[at % 3 == 0], cluster=f"s{at // 3}") for at in range(12))
    assert standings([pair_of("r", "a", "b", (*rows, row("s0", "A")))]).clusters == 5


def test_a_pair_that_was_judged_twice_counts_twice_and_is_said():
    ranking = standings([split("a", "b", 6, 4), split("b", "a", 3, 7, name="again")])
    assert ranking.battles == 20
    assert ranking.standings[0].wins == 13
    assert ranking.repeated == (("a", "b"),)
    assert "More than one run judged a and b; all their verdicts count." in ranking.notes


def test_a_run_that_was_stopped_early_is_said():
    rule = Stopping("full", "preference", 0.5, 0.95, "", 100, 10, 0, "above", Interval(0.55, 1.0))
    stopped = pair_of("r", "a", "b", rows_of(split("a", "b", 9, 1)), stopping=rule)
    assert any(note.startswith("1 run stopped as soon as the pair was decided") for note in standings([stopped]).notes)
    assert not any("stopped" in note for note in standings(TOY).notes)


def test_a_preference_of_another_name_is_read():
    run = pair_of("r", "a", "b", rows_of(split("a", "b", 3, 1)), scores=("style",))
    assert standings([run]).battles == 4
    assert standings([run], score="style").battles == 4


def test_the_level_is_said_and_widens():
    narrow, wide = standings(TOY, level=0.8), standings(TOY, level=0.99)
    assert "99 %" in wide.sentence
    for small, large in zip(narrow.standings, wide.standings, strict=True):
        assert large.interval.low < small.interval.low < small.interval.high < large.interval.high
        assert large.elo_interval.low == pytest.approx(1000 + 400 / math.log(10) * large.interval.low)


def test_equal_seeds_give_equal_standings():
    assert standings(TOY) == standings(TOY)
    assert standings(TOY, seed=1) != standings(TOY)


def test_json_holds_every_field_and_only_plain_values():
    plain = json.loads(json.dumps(json_value(standings(TOY))))
    assert set(plain) == {"connected", *(field_of_class.name for field_of_class in fields(Standings))}
    assert set(plain["standings"][0]) == {field_of_class.name for field_of_class in fields(Standing)}
    assert plain["win_matrix"][0] == [None, 0.7, 0.8]
    assert plain["left_out"]["unparsed"] == 0
    assert plain["standings"][0]["interval"][0] < plain["standings"][0]["rating"]


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ([], "one judging run or more"),
        ([TOY[0], TOY[0]], "named twice"),
        ([pair_of("r", "a", "a", ())], "against itself"),
    ],
)
def test_what_cannot_be_ranked_is_refused(runs, message):
    with pytest.raises(ConfigError, match=message):
        standings(runs)


def test_a_run_that_judges_no_pair_is_refused():
    answers = RunData.of((), manifest={"target": {"prompt": {}}, "scores": ["solve_rate"]})
    with pytest.raises(ConfigError, match="judges no pairs"):
        standings([answers])
