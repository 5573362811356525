"""Trials and proposals on both databases: of several runs and repeats, with answers that were refused."""

from datetime import UTC, datetime

import pytest

from steelyard import ConfigError, ExactMatch, Output, Sample, Scripted, Store, evaluate
from steelyard.evaluation import evaluate_suite
from steelyard.generate import Reviewer, ReviewPlan, TrialPlan, make_scorer, try_code
from steelyard.generate.review import review
from steelyard.people.codings import codings, draw_coding, edit_code, find_code, new_code, read_coding, write_note
from steelyard.report import CodingPage
from steelyard.report.coding_page import trial_verdicts
from steelyard.scorers.judges.judge import Judge

SAMPLES = [Sample(f"q{at}", f"How far is town {at}?", f"{at} km") for at in range(8)]
PATTERN = {"error_pattern": {"name": "miles", "pattern": "miles"}}
JUDGED = {"error_code": {"name": "miles", "definition": "Gives miles.", "examples": []}}


def in_miles(sample):
    """Miles for every second sample; one answer was stopped by a filter."""
    if sample.id == "q7":
        return Output("", metadata={"finish": "content_filter"})
    number = int(sample.id[1:])
    return f"{number} miles" if number % 2 == 0 else f"{number} km"


def note_everything(where):
    evaluate(in_miles, SAMPLES, [ExactMatch()], store=where)
    evaluate(in_miles, SAMPLES, [ExactMatch()], store=where, repeats=2)
    with Store(where) as store:
        note(store)


def note(store):
    coding = draw_coding(store, store.runs(), n=24, seed=1, author="ann")
    wrong = [item.num for item in coding.items if int(item.sample[1:]) % 2 == 0]
    for item in coding.items:
        write_note(store, coding, item.num, "miles" if item.num in wrong else "", author="ann")
    code = new_code(store, coding, "miles", author="ann", items=wrong)
    edit_code(store, coding, code, "miles", definition="Gives miles.", author="ann")


@pytest.fixture
def store(filled):
    """Two runs of the same suite, the second with two repeats of each sample."""
    with Store(filled(note_everything)) as opened:
        yield opened


@pytest.fixture
def coding(store):
    """All 24 records, noted; those in miles under one code."""
    return codings(store)[0]


def judge(**more):
    """A judge that finds miles."""
    replies = {" miles\n</answer": "Verdict: YES"}
    return Judge(Scripted(replies, default="Verdict: NO"), **more)


def test_each_record_of_each_run_and_repeat_is_tried_once(store, where, coding):
    drawn = sum(len({item.num for item in coding.items if item.run == run.num}) for run in store.runs())
    assert drawn == len(coding.items) >= 16
    make_scorer(store, "miles", PATTERN, author="ann")
    trial = try_code(where, TrialPlan("miles"))
    assert (trial.state, trial.records, trial.errors) == ("finished", len(coding.items), 0)
    assert set(trial_verdicts(store.run(trial.run))) == {item.num for item in coding.items}
    result = CodingPage.of(store, coding).trials[trial.code]
    wrong = [item for item in coding.items if int(item.sample[1:]) % 2 == 0]
    stopped = [item for item in coding.items if item.sample == "q7"]
    assert (result.tpr.hits, result.tpr.n) == (len(wrong), len(wrong))
    assert (result.tnr.n, result.unparsed) == (len(coding.items) - len(wrong) - len(stopped), len(stopped))


def test_a_new_scorer_is_kept_once_it_is_tried_and_named_after_its_maker(store, where, coding):
    example = next(item.num for item in coding.items if item.sample == "q2")
    plan = TrialPlan("miles", judge(), config=JUDGED, examples=(example,))
    with pytest.raises(ConfigError, match="your name is missing"):
        try_code(where, plan)
    trial = try_code(where, plan, author="bob")
    assert trial.records == len(coding.items) - 1
    scorer = find_code(store, "miles").code.scorer
    assert (scorer.author, scorer.run, scorer.examples) == ("bob", trial.run, (example,))
    result = CodingPage.of(store, coding).trials[trial.code]
    assert (result.tpr.hits, result.missed, result.false_alarms) == (result.tpr.n, (), ())


def test_a_trial_again_takes_the_same_run_and_a_note_more_asks_once(store, where):
    coding = draw_coding(store, store.runs()[:1], n=8, seed=1, author="ann")
    *first, last = (item.num for item in coding.items if item.sample != "q7")
    for item in first:
        write_note(store, coding, item, "miles", author="ann")
    code = new_code(store, coding, "miles", author="ann", items=first)
    plan = TrialPlan(f"{coding.id}/{code}", judge(), config=JUDGED)
    trial = try_code(where, plan, author="ann")
    assert try_code(where, plan, author="ann").run == trial.run
    write_note(store, coding, last, "", author="ann")
    again = try_code(where, plan, author="ann")
    assert (again.records, again.from_journal) == (trial.records + 1, trial.records)


def test_a_scorer_that_changes_while_it_is_tried_takes_no_rates_over(store, where, coding):
    make_scorer(store, "miles", PATTERN, author="ann")

    def meanwhile(suite, *, how):
        changed = {"error_pattern": {"name": "miles", "pattern": "km"}}
        make_scorer(store, "miles", changed, author="bob")
        return evaluate_suite(suite, how=how)

    with pytest.raises(ConfigError, match="changed while it was tried"):
        try_code(where, TrialPlan("miles"), evaluate=meanwhile)
    assert find_code(store, "miles").code.scorer.run == ""


def test_proposals_name_the_notes_that_are_under_no_code(store, where, coding):
    code = find_code(store, "miles")
    free = [item.num for item in coding.items if int(item.sample[1:]) % 2][:3]
    for item in free:
        write_note(store, coding, item, f"too short {item}", author="ann")
    reviewer = Reviewer(Scripted(default="too short: 1-2\nmiles: 3"))
    reviewed = review(where, ReviewPlan(coding.id), reviewer, at=datetime.now(UTC))
    [proposed] = reviewed.codes
    assert (proposed.name, proposed.proposed_items) == ("too short", tuple(sorted(free)[:2]))
    assert proposed.definition.startswith("Such as: too short")
    assert (reviewed.asked, reviewed.unplaced, reviewed.causes) == (3, 0, {"too short": 2, "miles": 1})
    state = read_coding(store, coding)
    assert (len(state.uncoded), state.codes[code.code.id].state) == (3, "adopted")
