"""A judge compared with people's labels: what counts as a label, what is compared, and what cannot be."""

import random
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard import Label
from steelyard.analysis.judges.judge_agreement import judge_agreements
from steelyard.analysis.numbers import interval_text
from steelyard.analysis.run_data import LabelDraw
from steelyard.analysis.scores.score_columns import ScoreColumns, ScoreRow
from steelyard.report.sections.judge_agreement import held_to_people_parts
from steelyard.stats import cohen_kappa, corrected_mean, krippendorff_alpha, wilson
from steelyard.stats.judged import JudgedLabels
from steelyard.types import ScoreInfo

AT = datetime(2026, 3, 1, tzinfo=UTC)
INFOS = {
    "correct": ScoreInfo("correct", (0, 1), threshold=1),
    "rating": ScoreInfo("rating", (1, 5), threshold=4),
    "loose": ScoreInfo("loose", (1, 5)),
    "kept": ScoreInfo("kept", (0, 1), threshold=1),
    "recall": ScoreInfo("recall", (0, 1)),
}


def columns(values, *, score="correct", group="", cluster=""):
    """Columns of one score; None is a reply that was not parsed."""
    return ScoreColumns.of(
        ScoreRow(
            f"q{at}",
            group and f"{group} {at % 2}",
            cluster and f"{cluster} {at // 5}",
            0,
            score,
            "unparsed" if value is None else "scored",
            value,
        )
        for at, value in enumerate(values)
    )


def labels(values, author="ann", *, name="correct", scale=None):
    """A label per value, none for None."""
    return [
        Label(f"q{at}", name, value, author, AT, kind="scale" if scale else "pass_fail", scale=scale)
        for at, value in enumerate(values)
        if value is not None
    ]


def run_of(n, seed=1, right=0.85):
    rng = random.Random(seed)
    truth = [float(rng.random() < 0.6) for _ in range(n)]
    return truth, [value if rng.random() < right else 1 - value for value in truth]


def held(values, said, **options):
    (found,) = judge_agreements(options.pop("columns", None) or columns(values), INFOS, said, **options)
    return found


def test_people_together_are_compared_with_the_judge():
    truth, judged = run_of(200)
    found = held(judged, labels(["pass" if value else "fail" for value in truth[:80]]))
    assert (found.counts.records, found.counts.labelled, found.counts.both, found.counts.raters) == (
        200,
        80,
        80,
        ("ann",),
    )
    (pair,) = found.judged.pairs
    assert pair.coefficients[0].value == cohen_kappa(judged[:80], truth[:80]).value
    assert found.judged.alpha.value == krippendorff_alpha([judged[:80], truth[:80]]).value
    same = sum(value == verdict for value, verdict in zip(truth[:80], judged[:80], strict=True))
    assert (found.equal.value, found.equal.interval) == (pair.equal, wilson(same, 80))
    right = [value for value, verdict in zip(truth[:80], judged[:80], strict=True) if verdict == 1 and value == 1]
    assert found.rates.tpr.value == len(right) / sum(truth[:80])
    expected = corrected_mean(JudgedLabels(truth[:80] + [None] * 120, judged))
    assert (found.corrected.value, found.corrected.interval) == (expected.value, expected.interval)
    assert sum(count.n for count in found.table) == 80


def test_below_thirty_labelled_records_only_the_count_is_told():
    truth, judged = run_of(100)
    found = held(judged, labels(truth[:29]))
    assert (found.judged, found.rates, found.people, found.corrected.value) == (None, None, None, None)
    assert found.corrected.reason == "29 labelled records; a corrected value needs 30"
    assert found.counts.both == 29


def test_a_pass_is_held_against_the_threshold_of_a_rating():
    ratings = [5, 4, 3, 1, 2] * 20
    found = held(
        ratings, labels(["pass", "pass", "fail", "fail", "pass"] * 10), columns=columns(ratings, score="rating"),
        score="rating", against="correct",
    )  # fmt: skip
    assert {(count.label, count.verdict): count.n for count in found.table} == {
        (1.0, 1.0): 20, (1.0, 0.0): 10, (0.0, 0.0): 20,
    }  # fmt: skip
    assert found.table[1].records[0] == ("q4", 0)
    assert found.rates.tnr.value == 1


def test_a_pass_is_held_against_the_threshold_of_a_share_and_not_against_the_share_itself():
    shares = [1.0, 0.75, 0.5, 0.25] * 25
    said = labels(["pass", "fail", "fail", "fail"] * 15, name="kept")
    found = held([], said, columns=columns(shares, score="kept"))
    assert {(count.label, count.verdict): count.n for count in found.table} == {(1.0, 1.0): 15, (0.0, 0.0): 45}
    assert (found.corrected.raw, found.scale) == (0.25, (0.0, 1.0))
    undecided = held([], labels(["pass", "fail"] * 20, name="recall"), columns=columns(shares, score="recall"))
    assert undecided.problem.endswith("recall has no threshold that says which of its values pass")


def test_ratings_from_0_to_1_stay_numbers():
    found = held([], labels([0, 1] * 20, name="kept", scale=(0, 1)), columns=columns([0.5, 1.0] * 30, score="kept"))
    assert (found.problem, found.scale) == ("", (0.0, 1.0))
    assert {count.verdict for count in found.table} == {0.5, 1.0}


def test_a_pass_has_nothing_to_be_held_against_without_a_threshold():
    found = held([5, 1] * 30, labels(["pass", "fail"] * 20, name="loose"), columns=columns([5, 1] * 30, score="loose"))
    assert found.problem == "the labels are pass or fail, and loose has no threshold that says which of its values pass"
    assert found.corrected is None


def test_labels_on_another_scale_are_refused():
    found = held(
        [], labels([7, 9] * 20, name="rating", scale=(1, 10)), columns=columns([3, 4] * 30, score="rating"),
    )  # fmt: skip
    assert found.problem.startswith("the labels go from 1 to 10, and rating goes from 1 to 5")
    mixed = labels([3, 4] * 20, name="loose", scale=(1, 5)) + labels([3], "bob", name="loose", scale=(1, 7))
    assert "1 to 7" in held([], mixed, columns=columns([3, 4] * 30, score="loose")).problem


def test_a_label_beyond_the_scale_of_the_score_is_refused():
    found = held([], labels([3, 4, 100] * 20, name="rating"), columns=columns([3, 4] * 30, score="rating"))
    assert found.problem == "a label is 100, and rating goes from 1 to 5: label on the scale of the score"
    assert found.corrected is None


@pytest.mark.parametrize("value", [1e308, -1e308, 10**400, float("inf"), float("nan")])
def test_a_number_that_rates_nothing_is_counted_and_left_out(value):
    found = held([1, 0] * 50, [*labels(["pass", "fail"] * 20), *labels([value], "bob")])
    assert found.counts.labelled == 40
    assert found.counts.raters == ("ann",)
    assert "1 label is not counted: it is neither a number nor a pass or a fail." in found.warnings


def test_people_who_are_divided_on_every_record_are_told_so():
    found = held([1, 0] * 50, labels(["pass"] * 40) + labels(["fail"] * 40, "bob"))
    assert (found.counts.labelled, found.counts.tied, found.corrected) == (0, 40, None)
    assert found.warnings == ("People are evenly divided on 40 records: these are left out.",)


@pytest.mark.parametrize("seed", range(4))
def test_exchanging_pass_and_fail_of_people_and_judge_exchanges_their_rates(seed):
    truth, verdicts = run_of(100, seed)
    said = [
        Label(f"q{at}", "correct", "pass" if truth[at] else "fail", rater, AT)
        for rater, every in (("ann", 2), ("bob", 3), ("cho", 5))
        for at in range(0, 100, every)
    ]
    exchanged = [replace(label, value={"pass": "fail", "fail": "pass"}[label.value]) for label in said]
    plain, other = held(verdicts, said), held([1 - verdict for verdict in verdicts], exchanged)
    assert (other.rates.tpr, other.rates.tnr) == (plain.rates.tnr, plain.rates.tpr)
    assert other.corrected.value == pytest.approx(1 - plain.corrected.value)
    assert other.corrected.interval.low == pytest.approx(1 - plain.corrected.interval.high)
    assert other.judged.alpha.value == pytest.approx(plain.judged.alpha.value)


def test_words_are_no_ratings():
    said = [Label(f"q{at}", "correct", f"remark {at}", "ann", AT) for at in range(40)]
    assert "are neither numbers" in held([1, 0] * 50, said).problem


def test_ratings_are_corrected_on_their_own_scale():
    rng = random.Random(2)
    truth = [rng.randint(1, 5) for _ in range(300)]
    judged = [min(5, value + rng.randint(0, 1)) for value in truth]
    found = held([], labels(truth[:90], name="rating", scale=(1, 5)), columns=columns(judged, score="rating"))
    assert found.corrected.method == "ppi++"
    assert found.corrected.interval.low < sum(truth) / 300 < found.corrected.interval.high
    assert found.corrected.raw > found.corrected.interval.high
    assert (found.half_width, found.rates) == (0.2, None)
    names = [coefficient.name for coefficient in found.judged.pairs[0].coefficients]
    assert names == ["cohen_kappa", "spearman", "pearson"]


def test_labels_that_are_all_alike_give_a_reason_and_no_nan():
    found = held([1.0, 0.0] * 100, labels(["pass"] * 60))
    (pair,) = found.judged.pairs
    assert (pair.coefficients[0].value, found.rates.tnr.value) == (0, None)
    assert found.corrected.interval.high == 1
    both = held([1.0] * 100, labels(["pass"] * 60))
    assert both.judged.alpha.reason == "all ratings are equal, so no disagreement is expected by chance"
    assert both.corrected.why == "the judge gives all records the same verdict"


def test_people_among_themselves_are_the_ceiling():
    truth, judged = run_of(200)
    said = labels(truth[:60]) + labels([1 - truth[0], *truth[1:40]], "bob")
    found = held(judged, said)
    assert (found.counts.several, found.counts.tied, found.counts.labelled) == (40, 1, 59)
    assert found.people.pairs[0].equal == 39 / 40
    assert any("evenly divided on 1 record" in warning for warning in found.warnings)


def test_a_third_rater_decides():
    said = labels([1, 1]) + labels([0, 1], "bob") + labels([0, 1], "eve")
    found = held([0.0, 1.0] * 20, said)
    assert {(count.label, count.verdict): count.n for count in found.table} == {(1.0, 1.0): 1, (0.0, 0.0): 1}


def test_labels_by_models_and_of_other_records_do_not_count():
    truth, judged = run_of(60)
    said = labels(truth[:40]) + labels(truth, "model:large") + labels([None] * 60 + [1.0])
    found = held(judged, said)
    assert (found.counts.raters, found.counts.labelled, found.counts.elsewhere) == (("ann",), 40, 1)
    assert any(warning.startswith("1 label on records without this score") for warning in found.warnings)


def test_examples_of_a_prompt_are_held_out_and_named():
    truth, judged = run_of(100)
    draw = LabelDraw({(f"q{at}", 0): 2.5 for at in range(40)}, (), frozenset({("q3", 0), ("q7", 0)}))
    found = held(judged, labels(truth[:40]), draw=draw)
    assert (found.counts.labelled, found.counts.examples) == (38, (("q3", 0), ("q7", 0)))
    assert found.warnings[0].startswith("Labels of 2 records are not counted")
    assert not any("not drawn at random" in warning for warning in found.warnings)


def test_a_warning_says_that_labels_were_picked_by_hand():
    truth, judged = run_of(100)
    drawn = LabelDraw({(f"q{at}", 0): 2.5 for at in range(30)}, ("wrong",))
    found = held(judged, labels(truth[:40]), draw=drawn)
    assert found.warnings[0].startswith("10 of 40 labelled records were not drawn at random by a queue")
    assert "under the condition 'wrong'" in found.warnings[1]
    assert held(judged, labels(truth[:1])).warnings[0].startswith("1 of 1 labelled record was not drawn at random")


def test_a_group_has_figures_from_thirty_records_on():
    truth, judged = run_of(200)
    found = held(judged, labels(truth[:100]), columns=columns(judged, group="part"))
    assert [(group.group, group.n) for group in found.groups] == [("part 0", 50), ("part 1", 50)]
    assert found.groups[0].equal.interval.low < found.groups[0].equal.value
    tables = [part.table for part in held_to_people_parts(found, "r1") if part.table]
    (by_group,) = (table for table in tables if table.columns[0].title == "group")
    assert by_group.rows[0][-1].more == (interval_text(found.groups[0].kappa.interval, share=False),)
    assert tables[1].rows[0][2].text == interval_text(found.equal.interval, share=True), "of equal verdicts"
    few = held(judged, labels(truth[:40]), columns=columns(judged, group="part"))
    assert [group.equal for group in few.groups] == [None, None]


def test_few_clusters_have_no_corrected_figure():
    truth, judged = run_of(200)
    found = held(judged, labels(truth[:100]), columns=columns(judged, cluster="talk"))
    assert found.corrected.reason == "labels in 20 clusters; a corrected value needs 30"


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 1.0, None])), min_size=35, max_size=60))
def test_neither_the_order_nor_the_names_of_raters_matter(said):
    first, second = labels([pair[0] for pair in said]), labels([pair[1] for pair in said], "bob")
    judged = [float(at % 3 > 0) for at in range(120)]
    found = held(judged, first + second)
    renamed = [
        Label(label.sample, label.name, label.value, {"ann": "zoe", "bob": "ada"}[label.author], AT, kind=label.kind)
        for label in second + first
    ]
    again = held(judged, renamed)
    assert (again.counts.labelled, again.counts.tied) == (found.counts.labelled, found.counts.tied)
    counts = [{(count.label, count.verdict): count.n for count in each.table} for each in (found, again)]
    assert counts[0] == counts[1]
    assert again.corrected.interval == found.corrected.interval
