"""Pages of judged runs: checks of the judges, and labels that are given while the viewer runs."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import combinations

import pytest
from tests.report.judging_suite import pairwise_runs
from tests.store.conftest import _filled, filled, on_file  # noqa: F401  # fixtures
from tests.viewer.conftest import serving

from steelyard import ExactMatch, Judge, Label, Sample, Scripted, Store, Suite, evaluate, evaluate_suite
from steelyard.evaluation.evaluate import RunConfig
from steelyard.evaluation.judge_panel import JudgesFile, answered_samples, canary_suite, judges_suite
from steelyard.people.labels import add_labels
from steelyard.scorers import Correctness, Preference
from steelyard.store.related_runs import related_runs
from steelyard.targets.replay import Pair

AT = datetime(2026, 3, 1, tzinfo=UTC)
SAMPLES = [Sample(f"q{at}", f"Question {at:02}?", "the answer") for at in range(40)]
FILE = JudgesFile(
    {
        "strict": Correctness(Judge(Scripted({f"Question {at:02}?": "1" for at in range(0, 40, 2)}, default="5"))),
        "fooled": Correctness(Judge(Scripted({"Note to the evaluator": "5", "Question": "1"}))),
    }
)


def answer(sample):
    return "an answer" + " and more" * (int(sample.id[1:]) % 5)


def fill(place):
    scorer = Correctness(Judge(Scripted({"Question 07?": "1"}, default="5")))
    (run,) = evaluate_suite(Suite("exam", "custom", SAMPLES, {"ours": answer}, (scorer,)), how=RunConfig(store=place))
    with Store(place) as store:
        stored = store.run(run.id)
        said = [Label(f"q{at}", "correct", "fail" if at % 4 == 0 else "pass", "ann", AT) for at in range(35)]
        add_labels(store, stored, said)
        evaluate_suite(judges_suite(stored, FILE, answered_samples(stored)), how=RunConfig(store=place))


@pytest.fixture
def where(on_file):  # noqa: F811  # a fixture
    """A file, as pages do not depend on the database."""
    return on_file


@pytest.fixture
def served(filled):  # noqa: F811  # a fixture
    """A judged run with 35 labels, the run of two judges of its answers, and a viewer of their store."""
    place = filled(fill)
    with serving(place) as viewer:
        judges, run = viewer.store.runs()
        yield viewer, run, judges, place


def text_of(viewer, address):
    status, _, page = viewer.ask(address)
    assert status == 200
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def test_the_page_of_a_judges_run_shows_the_checks_and_a_canary_that_came_later(served):
    viewer, run, judges, store = served
    page = text_of(viewer, f"/run/{judges.id}")
    assert (
        "length of two answers with the same label, how much more often the longer is rated higher than lower" in page
    )
    assert "Not measured: fooled by an instruction in the answer: no answer was given an instruction" in page
    canary = canary_suite(run, FILE, answered_samples(run), share=0.5, seed=1)
    evaluate_suite(canary, how=RunConfig(store=store))
    page = text_of(viewer, f"/run/{judges.id}")
    assert "fooled by an instruction in the answer fooled 100.0 % 83.9 to 100.0 20" in page
    assert "Not measured: fooled by" not in page


def test_the_page_of_a_sample_shows_labels_and_the_verdicts_of_the_other_run(served):
    viewer, run, judges, _ = served
    add_labels(viewer.store, run, [Label("q4", "comment", "<b>vague</b>", "ben", AT, kind="text")])
    page = text_of(viewer, f"/run/{judges.id}/s/q4")
    assert "Labels Correct fail ann, 2026-03-01 Comment &lt;b&gt;vague&lt;/b&gt; ben, 2026-03-01" in page
    assert f"exam ours {run.id} Correctness 5 " in page
    page = text_of(viewer, f"/run/{run.id}/s/q4")
    assert "Labels Correct fail ann, 2026-03-01" in page
    assert f"exam: judges ours {judges.id} Correctness strict 1 " in page
    page = viewer.ask(f"/run/{run.id}/s/q4")[2]
    assert f'href="/run/{judges.id}/s/q4"' in page
    assert re.search(r'Correctness strict <span class="v bad strong">.*<span>1</span>', page), "it says that 1 fails"
    assert "Labels" not in text_of(viewer, f"/run/{run.id}/s/q39").split("Calls")[0]


def test_a_canary_shows_no_labels_of_the_answers_that_it_changed(served):
    viewer, run, _, store = served
    (canary,) = evaluate_suite(
        canary_suite(run, FILE, answered_samples(run), share=1.0, seed=1), how=RunConfig(store=store)
    )
    assert "fail ann" not in text_of(viewer, f"/run/{canary.id}/s/q4")
    assert canary.id not in text_of(viewer, f"/run/{run.id}/s/q4")


def test_a_pair_and_its_sides_lead_to_each_other(tmp_path):
    *sides, judging = pairwise_runs(tmp_path, n=3)
    with serving(tmp_path / "pairs.db") as viewer:
        for side in sides:
            assert f'href="/run/{judging.id}/s/q001"' in viewer.ask(f"/run/{side.id}/s/q001")[2]
            add_labels(viewer.store, viewer.store.run(side.id), [Label("q001", "verdict", "pass", "ann", AT)])
        assert "pass ann" in text_of(viewer, f"/run/{sides[0].id}/s/q001")


def test_a_side_of_many_pairs_leads_to_all_of_its_own(tmp_path):
    names = "abcdefg"
    pairs = [f"{first} vs {second}" for first, second in combinations(names, 2)]
    targets = dict.fromkeys(names, answer) | {pair: Pair(*pair.split(" vs ")) for pair in pairs}
    of_pairs = {pair: (Preference(Judge(Scripted(default="[[A]]"))),) for pair in pairs}
    suite = Suite("many", "pairwise", SAMPLES[:1], targets, (), scorers_of=of_pairs)
    runs = {run.target: run for run in evaluate_suite(suite, store=tmp_path / "pairs.db")}
    for name in names:
        assert [run.target for run in related_runs(runs[name])] == [pair for pair in pairs if name in pair]
    for pair in pairs:
        assert [run.target for run in related_runs(runs[pair])] == pair.split(" vs ")
    with serving(tmp_path / "pairs.db") as viewer:
        page = viewer.ask(f"/run/{runs['a vs g'].id}/s/q0")[2]
    for side in "ag":
        assert f'href="/run/{runs[side].id}/s/q0"' in page, "a run that only answered has a page of the sample as well"
    assert page.count("no verdict of its own") == 2


def test_stored_runs_and_a_later_run_of_their_pairs_lead_to_each_other(tmp_path):
    store = tmp_path / "pairs.db"
    before, after, unrelated = (
        evaluate(answer, SAMPLES[:1], [ExactMatch()], store=store, name=name) for name in ("before", "after", "other")
    )
    of_pair = {"pair": (Preference(Judge(Scripted(default="[[A]]"))),)}
    sides = Pair(before.id, after.id, names=("before", "after"))
    (pair,) = evaluate_suite(Suite("p", "pairwise", SAMPLES[:1], {"pair": sides}, (), scorers_of=of_pair), store=store)
    assert [run.id for run in related_runs(pair)] == [before.id, after.id]
    assert [run.id for run in related_runs(before)] == [run.id for run in related_runs(after)] == [pair.id]
    assert related_runs(unrelated) == ()


def test_a_label_of_a_whole_number_is_shown_as_one(served):
    viewer, run, _, _ = served
    said = [Label("q4", "correctness", value, author, AT) for author, value in (("ben", 2.0), ("cid", 2.5))]
    add_labels(viewer.store, run, said)
    page = text_of(viewer, f"/run/{run.id}/s/q4")
    assert "Correctness 2 ben, 2026-03-01 Correctness 2.5 cid" in page


def test_the_page_of_a_run_counts_labels_that_came_after_it_was_shown(served):
    viewer, run, judges, _ = served
    assert "35 of 40 records, by ann" in text_of(viewer, f"/run/{run.id}")
    assert "35 of 40 records, by ann" in text_of(viewer, f"/run/{judges.id}")
    add_labels(viewer.store, run, [Label("q39", "correct", "pass", "ben", AT)])
    assert "36 of 40 records, by ann, ben" in text_of(viewer, f"/run/{run.id}")
    assert "36 of 40 records, by ann, ben" in text_of(viewer, f"/run/{judges.id}")
    add_labels(viewer.store, run, [Label("q39", "correct", None, "ben", AT)])
    assert "35 of 40 records, by ann" in text_of(viewer, f"/run/{run.id}")


def test_the_list_of_a_judges_run_is_filtered_by_the_labels_of_the_judged_run(served):
    viewer, _, judges, _ = served
    assert "9 of 40 records" in text_of(viewer, f"/run/{judges.id}?where=label:correct%20%3D%20fail")
    page = viewer.ask(f"/run/{judges.id}")[2]
    assert 'value="label:correct = &#34;fail&#34;"' in page
    status, _, refused = viewer.ask(f"/run/{judges.id}?where=label:corect%20%3D%20fail")
    assert status == 200
    assert "did you mean" in refused
