"""Several judges held to the same labels: who is closer, by how much, and which is the cheapest that is not worse."""

import json
import math
import random
from datetime import UTC, datetime

import pytest

from steelyard import Label
from steelyard.analysis.judges.judge_panel import JudgeCost, judge_panel
from steelyard.analysis.judges.judged_score import JudgedScore
from steelyard.analysis.run_data import LabelDraw
from steelyard.plain_json import json_value
from steelyard.report.sections.judge_panel import panel_parts
from steelyard.stats import newcombe_paired
from steelyard.types import ScoreInfo

AT = datetime(2026, 3, 1, tzinfo=UTC)
PASSES = ScoreInfo("right", (0, 1), threshold=1)
RATES = ScoreInfo("rating", (1, 5), threshold=4)


def score(name, verdicts, info=PASSES, clusters=None):
    places = [(f"q{at}", 0) for at in range(len(verdicts))]
    named = {place: place[0] if clusters is None else f"c{clusters[at]}" for at, place in enumerate(places)}
    return JudgedScore(name, info, dict(zip(places, verdicts, strict=True)), dict.fromkeys(places, ""), named)


def labels(values, name="right", author="ann"):
    return [Label(f"q{at}", name, value, author, AT) for at, value in enumerate(values) if value is not None]


def judged(truth, rate, seed):
    rng = random.Random(seed)
    return [value if rng.random() < rate else 1 - value for value in truth]


def truth_of(n, seed=1):
    rng = random.Random(seed)
    return [float(rng.random() < 0.6) for _ in range(n)]


def costs(**tokens):
    return {name: JudgeCost(1, count) for name, count in tokens.items()}


def panel(verdicts, truth, **options):
    scores = {name: score(name, values, options.get("info", PASSES)) for name, values in verdicts.items()}
    options.pop("info", None)
    return judge_panel(scores, "right", labels(truth), **options)


def test_the_difference_of_two_judges_is_newcombes_on_the_same_records():
    truth = truth_of(200)
    good, poor = judged(truth, 0.95, 2), judged(truth, 0.7, 3)
    found = panel({"good": good, "poor": poor}, truth[:120])
    (pair,) = found.differences
    hits = [(a == t, b == t) for a, b, t in zip(good[:120], poor[:120], truth[:120], strict=True)]
    table = [hits.count(each) for each in ((True, True), (True, False), (False, True), (False, False))]
    assert pair.interval == newcombe_paired(*table)
    assert (pair.first, pair.second, pair.n) == ("good", "poor", 120)
    assert pair.value == pytest.approx((table[1] - table[2]) / 120)
    assert found.judges[0].right.value == pytest.approx((table[0] + table[1]) / 120)


def test_intervals_of_all_pairs_hold_together():
    truth = truth_of(300)
    verdicts = {f"j{at}": judged(truth, 0.8, at) for at in range(4)}
    found = panel(verdicts, truth)
    assert len(found.differences) == 6
    alone = panel({name: verdicts[name] for name in ("j0", "j1")}, truth).differences[0].interval
    together = found.differences[0].interval
    assert together.low < alone.low
    assert together.high > alone.high


def test_the_cheapest_judge_that_is_not_worse_is_chosen():
    truth = truth_of(600)
    large = judged(truth, 0.95, 2)
    small = [1 - value if at in {3, 77, 200} else value for at, value in enumerate(large)]
    found = panel(
        {"large": large, "small": small, "poor": judged(truth, 0.6, 9)}, truth, costs=costs(large=900, small=90, poor=9)
    )
    assert (found.chosen, found.reason) == ("small", "")


def test_few_labels_choose_nobody_and_say_so():
    truth = truth_of(40)
    found = panel({"a": judged(truth, 0.8, 2), "b": judged(truth, 0.8, 3)}, truth, costs=costs(a=1, b=2))
    assert found.chosen == ""
    assert found.reason.startswith("40 labelled records do not show of any judge that it is at most")
    fewer = panel({"a": judged(truth, 0.8, 2), "b": judged(truth, 0.8, 3)}, truth[:29])
    assert (fewer.differences, fewer.chosen) == ((), "")
    assert fewer.reason == "29 labelled records; a comparison of judges needs 30"


def test_a_record_without_a_verdict_counts_as_no_agreement():
    truth = truth_of(100)
    silent = [None if at < 20 else value for at, value in enumerate(truth)]
    found = panel({"all": truth, "silent": silent}, truth)
    assert [judge.right.value for judge in found.judges] == [1.0, 0.8]
    assert found.differences[0].value == pytest.approx(0.2)


def test_ratings_are_compared_by_their_distance_to_people():
    rng = random.Random(5)
    people = [float(rng.randint(1, 5)) for _ in range(90)]
    near = [min(5.0, value + 1) for value in people]
    found = panel({"same": people, "near": near}, people, info=RATES)
    assert found.judges[0].right.value == 1
    above = sum(value < 5 for value in people) / 90
    assert found.judges[1].right.value == pytest.approx(1 - above / 4)
    assert found.differences[0].interval.low > 0


def test_clusters_widen_the_interval_and_weights_move_the_value():
    truth = truth_of(200)
    good = [value if (at // 10) % 5 else 1 - value for at, value in enumerate(truth)]
    scores = {"good": score("good", good), "all": score("all", truth)}
    alone = judge_panel(scores, "right", labels(truth)).differences[0].interval
    clusters = [at // 10 for at in range(200)]
    grouped = {"good": score("good", good, clusters=clusters), "all": score("all", truth, clusters=clusters)}
    by_cluster = judge_panel(grouped, "right", labels(truth)).differences[0].interval
    assert by_cluster.high - by_cluster.low > 1.5 * (alone.high - alone.low)
    draw = LabelDraw({(f"q{at}", 0): 5.0 if not (at // 10) % 5 else 1.0 for at in range(200)})
    weighted = judge_panel(scores, "right", labels(truth), draw=draw).differences[0]
    assert weighted.value == pytest.approx(-40 * 5 / (40 * 5 + 160))


def test_a_jury_is_held_to_people_like_its_members_and_costs_what_they_cost():
    truth = truth_of(300)
    verdicts = {f"j{at}": judged(truth, 0.8, at + 20) for at in range(3)}
    found = panel(verdicts, truth, vote="majority", costs=costs(j0=5, j1=7, j2=9))
    jury = found.judges[-1]
    assert (jury.name, jury.is_jury, jury.tokens, found.votes.vote) == ("jury", True, 21, "majority")
    assert jury.right.value > max(judge.right.value for judge in found.judges[:-1])
    assert all(0.7 < judge.with_jury.value <= 1 for judge in found.judges[:-1])
    assert len(found.differences) == 6


def test_a_jury_has_the_groups_of_records_that_its_first_member_was_not_asked_about():
    truth = truth_of(80)
    full = {name: score(name, judged(truth, 0.9, seed)) for name, seed in {"a": 1, "b": 2, "c": 3}.items()}
    groups = dict.fromkeys(full["a"].groups, "tax")
    members = {name: member._replace(groups=groups) for name, member in full.items()}
    unasked = next(record for record in groups if members["b"].verdicts[record] == members["c"].verdicts[record])
    verdicts = {record: verdict for record, verdict in members["a"].verdicts.items() if record != unasked}
    members["a"] = members["a"]._replace(verdicts=verdicts, groups=dict.fromkeys(verdicts, "tax"))
    jury = judge_panel(members, "right", labels(truth), vote="majority").jury
    assert [(group.group, group.n) for group in jury.agreement.groups] == [("tax", 80)]


def test_a_jury_needs_two_judges_on_one_scale():
    truth = truth_of(60)
    alone = panel({"a": truth}, truth, vote="majority")
    assert (len(alone.judges), alone.votes.vote, alone.votes.why) == (1, "", "a jury has two judges or more")
    mixed = judge_panel({"a": score("a", truth), "b": score("b", truth, RATES)}, "right", [], vote="majority")
    assert "have different ones" in mixed.votes.why


def test_a_thin_jury_says_on_how_many_records_too_few_gave_a_verdict():
    found = panel({"a": [1.0] * 9, "b": [1.0] * 6 + [None] * 3, "c": [0.0] * 5 + [None] * 4}, [], vote="majority")
    assert [found.votes.verdicts[f"q{at}", 0] for at in range(9)] == [1.0] * 6 + [None] * 3
    assert (found.votes.few_votes, json_value(found)["votes"]["few_votes"]) == (3, 3)
    (section,) = panel_parts(found)
    assert [note.text for note in section.notes if note.kind == "warning"] == [
        "on 3 of 9 records fewer than two of the jury's 3 members, or fewer than half of them, gave a verdict"
    ]
    whole = panel({"a": [1.0] * 9, "b": [0.0] * 9, "c": [0.0] * 9}, [], vote="majority")
    assert (whole.votes.few_votes, whole.votes.missing) == (0, ())


def test_an_even_jury_says_on_how_many_records_nothing_had_the_most_votes():
    found = panel({"a": [1.0] * 9, "b": [1.0] * 5 + [0.0] * 3 + [None]}, [], vote="majority")
    assert (found.votes.divided, json_value(found)["votes"]["divided"], found.votes.few_votes) == (3, 3, 1)
    (section,) = panel_parts(found)
    told = [note.text for note in section.notes if note.kind == "warning"]
    assert told[1] == "on 3 of 9 records no verdict had the most votes, so that the jury has none"


def test_without_labels_there_are_the_judges_and_their_jury():
    truth = truth_of(150)
    scores = {name: score(name, judged(truth, 0.9, at)) for at, name in enumerate("abc")}
    found = judge_panel(scores, "right", [], vote="majority")
    assert [judge.name for judge in found.judges] == ["a", "b", "c", "jury"]
    assert all(judge.right is None for judge in found.judges)
    texts = [note.text for part in panel_parts(found) for note in part.notes]
    assert "Nobody labelled these answers: which judge is closest to people is not known" in texts


@pytest.mark.parametrize("alike", [1.0, 0.0])
def test_labels_that_are_all_alike_and_scales_that_differ_give_no_nan(alike):
    verdicts = {"a": [1.0] * 60, "b": [0.0] * 60, "c": [None] * 60}
    found = panel(verdicts, [alike] * 50, vote="majority", costs=costs(a=1, b=1, c=1))
    text = json.dumps(json_value(found))
    assert "NaN" not in text
    shown = [cell.text for part in panel_parts(found) if part.table for row in part.table.rows for cell in row]
    assert not any("nan" in cell.casefold() for cell in shown)
    other = judge_panel({"a": score("a", [3.0] * 60, ScoreInfo("loose", (1, 5)))}, "right", labels(["pass"] * 50))
    assert other.reason.endswith("has no threshold that says which of its values pass")


def test_labels_of_unknown_samples_and_of_models_do_not_count():
    truth = truth_of(60)
    strangers = [Label(f"x{at}", "right", 1.0, "ann", AT) for at in range(60)]
    found = judge_panel({"a": score("a", truth), "b": score("b", truth)}, "right", strangers)
    assert found.reason == "0 labelled records; a comparison of judges needs 30"
    assert [judge.agreement.counts.elsewhere for judge in found.judges] == [60, 60]
    assert not any(math.isnan(judge.mean) for judge in found.judges)
