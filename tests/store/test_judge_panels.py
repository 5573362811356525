"""Panels of stored runs: several named judges of one thing, with a jury or labels, and labels of a judged run."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import cycle

import pytest

from steelyard import Judge, Label, Options, Prompt, Sample, Scripted, Store, compare, evaluate
from steelyard.analysis.comparison.baseline import baseline_text
from steelyard.analysis.judges.jury import with_jury
from steelyard.analysis.summary.run_summary import with_juries
from steelyard.errors import ConfigError
from steelyard.evaluation import Suite, evaluate_suite
from steelyard.evaluation.judge_panel import JudgesFile, answered_samples, canary_suite, judges_suite
from steelyard.people.labels import add_labels
from steelyard.plain_json import json_value
from steelyard.report.page import ReportContent, report_sections
from steelyard.report.page_runs import PageRuns
from steelyard.report.render.markdown import markdown_report
from steelyard.report.sections.gate import gate_of
from steelyard.report.sections.judge_panel import checks_section, panel_parts
from steelyard.scorers import Correctness, PerTurn, Preference
from steelyard.scorers.judges.judge import with_judges
from steelyard.store.delete import delete_runs
from steelyard.targets.replay import Pair

AT = datetime(2026, 3, 1, tzinfo=UTC)
SAMPLES = [Sample(f"q{at}", f"Question {at:02}?", "the answer") for at in range(40)]


def scripted(every):
    """A judge that fails each answer of so many."""
    return Judge(Scripted({f"Question {at:02}?": "1" for at in range(0, 40, every)}, default="5"))


def answer(_):
    return "an answer"


FILE = JudgesFile({"four": Correctness(scripted(4)), "five": Correctness(scripted(5))}, jury="majority")


@pytest.fixture
def where(request, on_file):
    """A file, as a panel does not depend on the database; `ON_EACH` is for what is read of two runs."""
    return request.getfixturevalue(request.param) if hasattr(request, "param") else on_file


ON_EACH = pytest.mark.parametrize("where", ["on_file", "on_server"], indirect=True)


def label_answers(where):
    (run,) = evaluate_suite(
        Suite("exam", "custom", SAMPLES, {"ours": answer}, (Correctness(scripted(3)),)), store=where
    )
    said = [Label(f"q{at}", "correct", "fail" if at % 4 == 0 else "pass", "ann", AT) for at in range(35)]
    with Store(where) as store:
        add_labels(store, store.run(run.id), said)


@pytest.fixture
def judged(filled):
    """A run without a judge, of which 35 answers are labelled; its store."""
    where = filled(label_answers)
    with Store(where) as store:
        yield store, store.runs()[0], where


def judge_answers(where):
    label_answers(where)
    with Store(where) as store:
        (run,) = store.runs()
        evaluate_suite(judges_suite(run, FILE, answered_samples(run)), store=where)


@pytest.fixture
def judged_again(filled):
    """The same, with a run of judges of its answers: (store, the run, that of the judges, address)."""
    where = filled(judge_answers)
    with Store(where) as store:
        judges, run = store.runs()
        yield store, run, judges, where


def hold_juries(where):
    jury_run(where, (5, 10, 40))
    jury_run(where, (5, 5, 5), target="theirs")


@pytest.fixture
def juries(filled):
    """Two runs with three judges each: two of 5, 10 and 40 divide 4 of 40 numbers; two of 5, 5 and 5 divide 8."""
    with Store(filled(hold_juries)) as store:
        return tuple(reversed(store.runs()))


@ON_EACH
def test_the_labels_of_a_judges_run_are_those_of_the_answers_that_it_judges(judged_again):
    store, run, judges, where = judged_again
    (canary,) = evaluate_suite(canary_suite(run, FILE, answered_samples(run), share=0.25, seed=1), store=where)
    stored = store.run(judges.id)
    assert stored.labels() == run.labels()
    assert store.run(canary.id).labels() == ()
    panel = next(each for each in stored.summary().raters.panels if each.thing == "correct")
    heads = [section.table.columns[0].title for section in panel_parts(panel)]
    assert heads == ["judge", "agrees with people more often"]
    (part,) = checks_section(PageRuns([stored.summary()], [""])).parts
    assert (part.title, part.table.columns[0].title) == ("correct", "check")
    assert [judge.name for judge in panel.judges] == ["four", "five", "jury"]
    assert panel.judges[0].right.value == 1.0
    assert panel.judges[0].agreement.counts.labelled == 35
    assert {judge.calls for judge in panel.judges} == {40, 80}
    add_labels(store, run, [Label("q39", "correct", "pass", "ann", AT)])
    later = next(each for each in store.run(judges.id).summary().raters.panels if each.thing == "correct")
    assert later.judges[0].agreement.counts.labelled == 36


def test_a_comment_on_a_run_of_judges_begins_with_their_panel(judged_again):
    store, run, judges, _ = judged_again
    told = markdown_report([store.run(judges.id)])
    assert all(text in told for text in ("correct: judges", "correct: judge against judge", "four than five"))
    order = [section.key for section in report_sections(ReportContent.of([store.run(judges.id)]), "markdown")]
    assert order[:3] == ["panels", "judge_checks", "held_to_people"]
    of_answers = [section.key for section in report_sections(ReportContent.of([run]), "markdown")]
    assert of_answers.index("targets") < of_answers.index("agreement") < of_answers.index("held_to_people")


@ON_EACH
def test_every_summary_of_judges_has_their_checks_and_those_of_their_own_canary(judged):
    store, run, where = judged
    other = JudgesFile({"four": Correctness(scripted(4)), "six": Correctness(scripted(6))})
    fooled = Judge(Scripted({"Note to the evaluator": "5", "Question": "1"}), name="")
    firm = Judge(Scripted({"Question": "1"}))
    file = JudgesFile({"fooled": Correctness(fooled), "firm": Correctness(firm)})
    answers = answered_samples(run)
    (judges,) = evaluate_suite(judges_suite(run, file, answers), store=where)
    assert "--canary" in checks(store, judges, "injection canary")["fooled"].reason
    evaluate_suite(canary_suite(run, file, answers, share=0.5, seed=1), store=where)
    evaluate_suite(canary_suite(run, other, answers, share=0.25, seed=1), store=where)
    judge_checks = checks(store, judges, "injection canary")
    assert {name: (check.value, check.n) for name, check in judge_checks.items()} == {
        "fooled": (1.0, 20),
        "firm": (0.0, 20),
    }
    assert checks(store, judges, "scale use")["firm"].value == 1.0
    mean = next(score for score in store.run(judges.id).summary().scores if score.name == "correct_fooled")
    assert (mean.headline.value, mean.headline.n) == (0.0, 40)


def checks(store, run, name):
    """Judge -> the check of that name."""
    return {check.judge: check for check in store.run(run.id).summary().raters.checks if check.name == name}


def test_a_run_with_one_judge_and_labels_has_its_checks(judged):
    store, run, _ = judged
    (length,) = checks(store, run, "length").values()
    assert (length.judge, length.n, length.reason) == (
        "correct",
        35,
        "no two answers with the same label differ in length",
    )
    scale = checks(store, run, "scale use")["correct"]
    assert (scale.n, scale.thing, json_value(scale)["thing"]) == (40, "correct", "correct")


@dataclass(frozen=True)
class Named(Scripted):
    """A model with a name."""

    name: str = ""


def test_the_family_of_a_judge_without_a_name_is_that_of_its_model(where):
    judge, target = (Named(default="5", name=name) for name in ("gpt-4.1", "gpt-target"))
    suite = Suite("exam", "custom", SAMPLES, {"ours": Prompt(target)}, (Correctness(Judge(judge)),))
    (run,) = evaluate_suite(suite, store=where)
    with Store(where) as store:
        add_labels(store, store.run(run.id), [Label(f"q{at}", "correct", "pass", "ann", AT) for at in range(35)])
        (check,) = checks(store, run, "self-preference").values()
    assert check.reason == "no judge is of another family than the target's (gpt)"


def test_a_judge_of_pairs_that_is_asked_several_times_has_its_repeat_consistency(where):
    replies = cycle(["[[A]]", "[[A]]", "[[B]]", "[[B]]", "[[B]]", "[[B]]"])
    judge = Judge(Scripted(function=lambda _: next(replies)), repeats=3)
    sides = {"long": answer, "short": lambda _: "yes", "pair": Pair("long", "short")}
    of_pairs = {"pair": (Preference(judge),)}
    suite = Suite("pairs", "pairwise", SAMPLES, sides, (), Options(concurrency=1), scorers_of=of_pairs)
    run = evaluate_suite(suite, store=where)[-1]
    with Store(where) as store:
        add_labels(
            store,
            store.run(run.id),
            [Label(f"q{at}", "preference", "A", "ann", AT, kind="preference") for at in range(35)],
        )
        (check,) = checks(store, run, "repeat consistency").values()
    # Of the six verdicts on a pair one is not the most frequent one of its order.
    assert (check.value, check.n) == (pytest.approx(1 / 6), 40)


def test_counting_labels_in_place_of_verdicts_leaves_what_is_said_of_the_judge(judged):
    store, run, _ = judged
    counted = store.run(run.id).with_labels().summary()
    assert counted.score("correct").headline.value != run.summary().score("correct").headline.value
    (held,) = counted.raters.held_to_people
    assert held.rates.tnr.value == pytest.approx(3 / 9), "not that of the labels with themselves"
    assert counted.raters.checks == run.summary().raters.checks


@ON_EACH
def test_a_judges_run_outlives_the_run_that_it_judged(judged_again):
    store, run, judges, _ = judged_again
    delete_runs(store, [run])
    stored = store.run(judges.id)
    assert stored.labels() == ()
    panel = next(each for each in stored.summary().raters.panels if each.thing == "correct")
    assert (panel.against, panel.differences) == ("", ())


def test_each_scorer_is_asked_of_each_named_judge(where):
    scorers = with_judges([Correctness(), Correctness(scripted(9))], {"a": scripted(2), "b": scripted(3)})
    assert [scorer.judge.name for scorer in scorers] == ["a", "b", ""]
    suite = Suite("exam", "custom", SAMPLES, {"ours": answer}, scorers[:2], jury={"vote": "majority"})
    (run,) = evaluate_suite(suite, store=where)
    panel = next(each for each in run.summary().raters.panels if each.thing == "correct")
    assert (panel.votes.vote, [judge.name for judge in panel.judges]) == ("majority", ["a", "b", "jury"])
    again = evaluate(answer, SAMPLES, scorers[:2], store=where, jury="mean")
    assert again.manifest["jury"] == {"vote": "mean"}
    with pytest.raises(ConfigError, match="expected majority, mean, not 'most'"):
        evaluate(answer, SAMPLES, scorers[:2], store=where, jury="most")
    alone = evaluate(answer, SAMPLES, [Correctness(scripted(2))], store=where)
    assert alone.summary().raters.panels == ()


def test_a_gate_holds_the_jury_and_what_people_would_say_to_a_limit(where):
    gate = {"correct_jury": ">= 0.5", "correct_jury.corrected": ">= 0.7", "correct_a.corrected": ">=! 0.5"}
    gate |= {"correct_jury[odd]": "< 0.5"}
    scorers = with_judges([Correctness()], {"a": scripted(2), "b": scripted(4), "c": scripted(5)})
    samples = [replace(sample, group="odd" if at % 2 else "even") for at, sample in enumerate(SAMPLES)]
    suite = Suite("exam", "custom", samples, {"ours": answer}, scorers, jury={"vote": "majority"}, gate=gate)
    (run,) = evaluate_suite(suite, store=where)
    with Store(where) as store:
        stored = store.run(run.id)
        before = {result.rule: result for result in gate_of([stored], [stored.summary()]).results}
        # 4 divides 10 of the 40 numbers, as does 2 then; 2 and 5 divide two others, and none of these is odd.
        assert before["correct_jury >= 0.5"].value == pytest.approx(28 / 40)
        assert (before["correct_jury[odd] < 0.5"].state, before["correct_jury[odd] < 0.5"].value) == ("fails", 1.0)
        missing = before["correct_jury.corrected >= 0.7"]
        assert (missing.state, missing.value) == ("unlabelled", None)
        assert "nobody labelled it" in before["correct_a.corrected >=! 0.5"].sentence
        for rule in ("correct_jury.corrected >= 0.7", "correct_a.corrected >=! 0.5"):
            assert f"(steelyard queue create {run.id} --score correct --draw 100" in before[rule].sentence
        add_labels(store, stored, [Label(f"q{at}", "correct", "pass", "ann", AT) for at in range(29)])
        few = gate_of([stored], [store.run(run.id).summary()])
        assert few.exit_code == 4
        assert "29 labelled records; a corrected value needs 30" in few.results[1].sentence
        add_labels(
            store,
            stored,
            [Label(f"q{at}", "correct", "fail" if at % 4 == 0 else "pass", "ann", AT) for at in range(40)],
        )
        summary = store.run(run.id).summary()
        verdict = {result.rule: result for result in gate_of([stored], [summary]).results}
    corrected = verdict["correct_jury.corrected >= 0.7"]
    assert (corrected.state, corrected.value) == ("holds", pytest.approx(30 / 40))
    assert "the judge says 70.0 %)" in corrected.sentence
    assert verdict["correct_a.corrected >=! 0.5"].state == "holds"
    assert json_value(summary)["jury_scores"][0]["name"] == "correct_jury"


def jury_run(where, wrong, *, target="ours", **options):
    """A run whose three judges fail every so many answers."""
    judges = {name: scripted(every) for name, every in zip("abc", wrong, strict=True)}
    scorers = with_judges([Correctness()], judges)
    suite = Suite("exam", "custom", SAMPLES, {target: answer}, scorers, jury={"vote": "majority"}, **options)
    return evaluate_suite(suite, store=where)[0]


@pytest.mark.parametrize("kept", [False, True])
def test_a_jury_is_held_against_a_baseline_sample_by_sample(juries, where, tmp_path, kept):
    first, _ = juries
    file = tmp_path / "baseline.json"
    file.write_text(baseline_text(first.data()), encoding="utf-8")
    gate = {"no_regression": {"correct_jury": 0.1, "correct_a": 0.1}, "baseline": str(file) if kept else first.id}
    second = jury_run(where, (5, 5, 5), gate=gate)
    results = {result.rule: result for result in gate_of([second], [second.summary()], may_open=lambda _: True).results}
    jury = results["no_regression correct_jury 0.1"]
    # Two of 5, 10 and 40 divide 4 of 40 numbers; two of 5, 5 and 5 divide 8.
    assert (jury.state, jury.value) == ("undecided", pytest.approx(-4 / 40))
    assert "40 pairs" in jury.sentence
    assert results["no_regression correct_a 0.1"].value == 0
    assert with_juries(second.summary()).score("correct_jury") in second.summary().raters.jury_scores


def test_runs_are_compared_by_the_verdicts_of_their_juries(juries):
    first, second = juries
    comparison = compare(first, second, score="correct_jury")
    headline = comparison.pairs[0].headline
    assert (comparison.score, headline.n, headline.difference) == ("correct_jury", 40, pytest.approx(-4 / 40))
    with_verdicts = [with_jury(run.data()) for run in (first, second)]
    assert headline.interval == compare(*with_verdicts, score="correct_jury").pairs[0].headline.interval
    assert comparison.pairs[0].further.costs == compare(first, second, score="correct_a").pairs[0].further.costs
    beside = {difference.score for difference in comparison.pairs[0].further.scores}
    assert {"correctness_jury", "correct_a", "correct_b", "correct_c"} <= beside
    with pytest.raises(ConfigError, match="did you mean 'correct_jury'"):
        compare(first, second, score="correct_juri")


def test_labels_do_not_count_in_place_of_a_jurys_verdicts(juries):
    with pytest.raises(ConfigError, match="compare it without labels"):
        compare(*(run.with_labels() for run in juries), score="correct_jury")


def test_a_baseline_without_a_jury_leaves_a_margin_on_one_undecided(where):
    alone = evaluate(answer, SAMPLES, [Correctness(scripted(2))], store=where)
    gate = {"no_regression": {"correct_jury": 0.1}, "baseline": alone.id}
    (result,) = gate_of([run := jury_run(where, (2, 3, 5), gate=gate)], [run.summary()]).results
    assert result.state == "undecided"
    assert f"run {alone.id} (answer) has no score 'correct_jury'" in result.sentence


def test_a_limit_on_a_rating_says_nothing_of_labels_of_pass_and_fail(where):
    gate = {"correctness.corrected": "<= 4"}
    suite = Suite("exam", "custom", SAMPLES, {"ours": answer}, (Correctness(scripted(2)),), gate=gate)
    (run,) = evaluate_suite(suite, store=where)
    with Store(where) as store:
        said = [Label(f"q{at}", "correctness", "pass", "ann", AT, kind="pass_fail") for at in range(40)]
        add_labels(store, store.run(run.id), said)
        (result,) = gate_of([run], [store.run(run.id).summary()]).results
    assert (result.state, "its labels are values from 0 to 1" in result.sentence) == ("undecided", True)


def test_a_jury_that_could_not_vote_as_asked_for_says_so_at_the_gate(where):
    scorers = with_judges([Correctness()], {"a": scripted(2), "b": scripted(4), "c": scripted(5)})
    gate = {"correct_jury": ">= 0.5"}
    suite = Suite("exam", "custom", SAMPLES, {"ours": answer}, scorers, jury={"vote": "mean"}, gate=gate)
    (run,) = evaluate_suite(suite, store=where)
    (result,) = gate_of([run], [run.summary()]).results
    assert result.state == "holds"
    assert "made by majority, because of: the verdicts are pass or fail" in result.notes[0]


def test_a_record_without_a_majority_is_unparsed_in_the_jurys_mean_and_an_error_stays_one(where):
    def fails(sample):
        if sample.id == "q7":
            raise ValueError("no")
        return "an answer"

    scorers = with_judges([Correctness()], {"a": scripted(2), "b": scripted(3)})
    suite = Suite(
        "exam", "custom", SAMPLES, {"ours": fails}, scorers, Options(max_errors=1.0), jury={"vote": "majority"}
    )
    (run,) = evaluate_suite(suite, store=where)
    score = run.summary().score("correct_jury")
    differ = sum((at % 2 == 0) != (at % 3 == 0) for at in range(40) if at != 7)
    assert (score.scored, score.unparsed, score.errors) == (39 - differ, differ, 1)
    assert score.missing_bounds is not None


def test_judges_of_single_turns_are_a_panel_as_well(where):
    scorers = with_judges([PerTurn(Correctness())], {"a": scripted(2), "b": scripted(3)})
    samples = [replace(sample, metadata={"turn_references": ["the answer"]}) for sample in SAMPLES]
    run = evaluate(answer, samples, scorers, store=where, jury="majority")
    panel = next(each for each in run.summary().raters.panels if each.thing == "correct_per_turn")
    assert [judge.calls for judge in panel.judges] == [40, 40, 80]


def test_one_member_of_three_is_not_a_jury_and_the_gate_says_how_few_voted(where):
    silent = Judge(Scripted({f"Question {at:02}?": "5" for at in range(10)}, default="no idea"))
    scorers = with_judges([Correctness()], {"a": scripted(40), "b": silent, "c": silent})
    gate = {"correct_jury": ">=! 0.8"}
    suite = Suite("exam", "custom", SAMPLES, {"ours": answer}, scorers, jury={"vote": "majority"}, gate=gate)
    (run,) = evaluate_suite(suite, store=where)
    score = run.summary().score("correct_jury")
    assert (score.scored, score.unparsed) == (10, 30)
    (result,) = gate_of([run], [run.summary()]).results
    assert result.state != "holds"
    assert "on 30 of 40 records fewer than two of the jury's 3 members" in result.notes[0]
