"""Checks of judges: what moves a verdict beside the answer, each a figure with an interval or a reason."""

import random
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from steelyard import Label
from steelyard.analysis.judges.judge_agreement import agreement_with_people
from steelyard.analysis.judges.judge_checks import CheckedJudge, canary_check, judge_checks, model_family
from steelyard.analysis.judges.judged_score import JudgedScore
from steelyard.analysis.judges.rater_findings_values import RaterFindings
from steelyard.analysis.run_data import LabelDraw
from steelyard.report.page_runs import PageRuns
from steelyard.report.sections.judge_panel import checks_section
from steelyard.stats import wilson
from steelyard.types import ScoreInfo

AT = datetime(2026, 3, 1, tzinfo=UTC)
PASSES = ScoreInfo("right", (0, 1))
RATES = ScoreInfo("rating", (1, 5), threshold=4)


def place(at):
    return f"q{at}", 0


def checked(name, verdicts, labels, **more):
    places = [place(at) for at in range(len(verdicts))]
    score = JudgedScore(
        "rating", RATES, dict(zip(places, verdicts, strict=True)), dict.fromkeys(places, ""), {p: p[0] for p in places}
    )
    said = [Label(f"q{at}", "rating", value, "ann", AT) for at, value in enumerate(labels) if value is not None]
    return CheckedJudge(name, score, agreement_with_people(score, said, LabelDraw()), **more)


def named(checks, name):
    return next(check for check in checks if check.name == name)


def test_a_judge_that_likes_length_shows_it_among_answers_of_equal_label():
    rng = random.Random(2)
    labels = [float(rng.choice((2, 4))) for _ in range(200)]
    lengths = {place(at): rng.randint(10, 900) for at in range(200)}
    longs = [value + (lengths[place(at)] > 450) for at, value in enumerate(labels)]
    found = named(judge_checks([checked("j", longs, labels)], lengths), "length")
    assert found.interval.low > 0.3
    # Of two answers the longer wins where only it is above the middle, and never loses.
    assert 0.4 < found.value < 0.6
    fair = named(judge_checks([checked("j", labels, labels)], lengths), "length")
    assert fair.value == 0


def test_length_is_not_blamed_for_what_people_see_as_well():
    rng = random.Random(3)
    lengths = {place(at): rng.randint(10, 900) for at in range(300)}
    labels = [5.0 if lengths[place(at)] > 450 else 2.0 for at in range(300)]
    noisy = [min(5.0, max(1.0, value + rng.choice((-1, 0, 1)))) for value in labels]
    found = named(judge_checks([checked("j", noisy, labels)], lengths), "length")
    assert found.interval.low < 0 < found.interval.high


def test_too_few_labels_or_equal_lengths_have_a_reason_and_no_figure():
    few = named(judge_checks([checked("j", [3.0] * 29, [3.0] * 29)], {place(at): at for at in range(29)}), "length")
    assert (few.value, few.reason) == (None, "29 labelled answers with a verdict; it needs 30")
    alike = named(judge_checks([checked("j", [3.0] * 40, [3.0] * 40)], {place(at): 7 for at in range(40)}), "length")
    assert alike.reason == "no two answers with the same label differ in length"


def test_repeats_and_scale_have_figures():
    flips = {place(at): 1 / 3 if at < 30 else 0.0 for at in range(60)}
    checks = judge_checks([checked("j", [4.0] * 45 + [2.0] * 15, [], flips=flips)], {})
    repeats, scale = named(checks, "repeat consistency"), named(checks, "scale use")
    assert repeats.value == pytest.approx(1 / 6)
    assert repeats.interval.low < 1 / 6 < repeats.interval.high
    assert (scale.value, scale.interval) == (0.75, wilson(45, 60))
    assert scale.about == "are 4; 2 values used"
    once = named(judge_checks([checked("j", [4.0] * 40, [])], {}), "repeat consistency")
    assert (once.value, once.n) == (None, 0)
    silent = named(judge_checks([checked("j", [None] * 40, [])], {}), "scale use")
    assert silent.reason == "it gave no verdict"


def test_a_judge_of_the_targets_family_is_held_against_the_others():
    rng = random.Random(4)
    base = [float(rng.randint(1, 4)) for _ in range(80)]
    own = checked("own", [value + 1 for value in base], [], model="openai/gpt-4.1")
    other = checked("other", base, [], model="claude-sonnet-4")
    found = named(judge_checks([own, other], {}, target_model="gpt-4o-mini"), "self-preference")
    assert (found.judge, found.value, found.n) == ("own", 1.0, 80)
    assert found.interval.low > 0
    assert "not known" in named(judge_checks([own, other], {}), "self-preference").reason
    assert (
        "no judge is of the target's family (glm)"
        in named(judge_checks([own, other], {}, target_model="chatglm3-6b"), "self-preference").reason
    )
    alone = named(judge_checks([own], {}, target_model="gpt-5"), "self-preference")
    assert "no judge is of another family" in alone.reason


@pytest.mark.parametrize(
    ("name", "family"),
    [("Mixtral-8x7B", "mistral"), ("meta-llama/Llama-3-70b", "meta"), ("glm-4", "glm"), ("o3", "gpt"), ("4", "")],
)
def test_families_by_the_name_of_a_model(name, family):
    assert model_family(name) == (family if family != "meta" else "llama")


def canary(name, clean, injected, info=PASSES):
    """The check of verdicts on answers as they are, and on those with an instruction."""
    return canary_check(name, *(JudgedScore("right", info, verdicts, {}, {}) for verdicts in (clean, injected)))


def test_a_canary_counts_answers_that_could_be_rated_higher():
    clean = {place(0): 1.0, place(1): 1.0, place(2): 0.0, place(3): 0.0, place(4): None, place(5): 0.0}
    injected = {place(at): 1.0 for at in range(4)} | {place(4): 1.0, place(5): None}
    found = canary("j", clean, injected)
    assert (found.value, found.n) == (pytest.approx(2 / 3), 3)
    assert found.interval == wilson(2, 3)
    nothing = canary("j", {place(0): 1.0}, {place(0): 1.0})
    assert nothing.reason == "no answer with an instruction could be rated higher"
    fewer = canary("j", {place(0): 3.0}, {place(0): 1.0}, ScoreInfo("errors", (0, 9), lower_is_better=True))
    assert fewer.value == 1.0


def test_a_judge_alone_is_told_of_its_family_only_where_it_is_the_targets():
    alone = [checked("j", [4.0] * 40, [], model="claude-sonnet-4")]
    assert [check.name for check in judge_checks(alone, {}, target_model="gpt-5")] == [
        "length", "repeat consistency", "scale use",
    ]  # fmt: skip


@dataclass
class Checked:
    """As much of a summary as the section reads."""

    raters: RaterFindings


def test_every_figure_is_a_row_and_every_other_check_has_its_reason():
    checks = judge_checks([checked("a", [4.0] * 40, []), checked("b", [None] * 40, [])], {})
    (part,) = checks_section(PageRuns([Checked(RaterFindings(checks=checks))], [""])).parts
    assert [[cell.text for cell in row] for row in part.table.rows] == [
        ["scale use", "a", "100.0 %", "91.2 to 100.0", "40"]
    ]
    assert [note.with_term for note in part.notes] == [
        "scale use: of all verdicts, the most frequent one",
        "Not measured: length: 0 labelled answers with a verdict; it needs 30",
        "Not measured: repeat consistency: it has no two verdicts on one answer; judge: {repeats: 3} asks three times",
        "Not measured: scale use of b: it gave no verdict",
        "Not measured: self-preference: the target's model is not known",
    ]


def test_checks_of_several_runs_stand_apart_and_without_a_figure_there_is_no_section():
    some = judge_checks([checked("a", [4.0] * 40, [])], {})
    none = judge_checks([checked("b", [None] * 40, [])], {})
    with_figures, without = (Checked(RaterFindings(checks=checks)) for checks in (some, none))
    section = checks_section(PageRuns([with_figures, without, with_figures], ["first", "second", "third"]))
    assert [part.title for part in section.parts] == ["first", "third"]
    assert not checks_section(PageRuns([without], [""]))


def of_pairs(ways, clusters=None, verdicts=None):
    """A judge of pairs that favours these places."""
    places = [place(at) for at in range(len(ways))]
    info = ScoreInfo("preference_j", (0, 1), rates="preference")
    units = dict(zip(places, clusters or [ident for ident, _ in places], strict=True))
    verdicts = dict(zip(places, verdicts or [0.5] * len(ways), strict=True))
    score = JudgedScore("preference_j", info, verdicts, dict.fromkeys(places, ""), units)
    agreement = agreement_with_people(score, [], LabelDraw())
    return CheckedJudge("j", score, agreement, places=dict(zip(places, ways, strict=True)))


@pytest.mark.parametrize(
    ("consistent", "first", "second", "bias", "shown"),
    [(389, 20, 10, 0.024, False), (276, 133, 10, 0.294, True), (174, 238, 7, 0.551, True)],
    ids=["GPT-4", "ChatGPT", "Falcon"],
)
def test_position_of_published_judges_of_llmbar(consistent, first, second, bias, shown):
    """419 pairs, both orders stored (Z. Zeng et al. 2023): disagreements for the first place, and for the second."""
    found = named(judge_checks([of_pairs([0] * consistent + [1] * first + [-1] * second)], {}), "position")
    assert (round(found.value, 3), found.n) == (bias, 419)
    assert (found.interval.low > 0) is shown
    assert found.interval.low < found.value < found.interval.high


def test_position_of_pairs_that_depend_on_each_other_is_known_less_well():
    ways = [1, 1, 1, 0, 0, 0, 0, 0, -1, 0] * 12
    alone = named(judge_checks([of_pairs(ways)], {}), "position")
    together = named(judge_checks([of_pairs(sorted(ways), [str(at // 4) for at in range(120)])], {}), "position")
    assert alone.value == together.value == pytest.approx(0.2)
    assert together.interval.high - together.interval.low > 1.3 * (alone.interval.high - alone.interval.low)


def test_a_judge_of_single_answers_has_no_position_and_one_of_pairs_may_lack_verdicts():
    assert "position" not in {check.name for check in judge_checks([checked("j", [3.0] * 30, [3.0] * 30)], {})}
    assert named(judge_checks([of_pairs([])], {}), "position").reason == "no pair has a verdict"
