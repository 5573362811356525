"""`judges`: several judges on the stored answers of a run, held to the same labels; what it costs is said first."""

import json
import random
from datetime import UTC, datetime

import pytest

from steelyard import Judge, Label, Sample, Scripted, evaluate, evaluate_suite
from steelyard.data.sample_files import SampleFiles
from steelyard.people.labels import add_labels
from steelyard.report.render.html import html_report
from steelyard.scorers import Correctness
from steelyard.store import Store
from steelyard.suites import PairwiseSuite

AT = datetime(2026, 3, 1, tzinfo=UTC)
SAMPLES = [Sample(f"q{at}", f"Question number {at:03} of the exam?", "the answer") for at in range(100)]
RNG = random.Random(8)
TRUTH = {sample.id: RNG.random() < 0.6 for sample in SAMPLES}


def script(rate, seed, n=60, **more):
    """A scripted judge that is right on the first n answers at this rate."""
    rng = random.Random(seed)
    passed = [sample.input for sample in SAMPLES if TRUTH[sample.id] == (rng.random() < rate)]
    known = {sample.input for sample in SAMPLES[:n]}
    return {"scripted": {"replies": more | {text: "5" for text in passed if text in known}, "default": "1"}}


def judge(rate, seed, n=60, **more):
    return {"correctness": {"judge": {"model": script(rate, seed, n, **more)}}}


def answer(sample):
    return f"an answer {'word ' * (int(sample.id[1:]) % 7)}"


def labelled_run(samples):
    """Answers to these samples, all labelled."""
    found = evaluate(answer, samples, [Correctness(Judge(Scripted(default="5")))])
    with Store() as store:
        stored = store.runs_named([found.id])[0][0]
        add_labels(
            store,
            stored,
            [Label(s.id, "correct", "pass" if TRUTH[s.id] else "fail", "ann", AT, kind="pass_fail") for s in samples],
        )
    return found


@pytest.fixture
def run(once):
    """A run of 60 answers, all labelled."""
    return once(lambda: labelled_run(SAMPLES[:60]))


def three_judges(folder, n=60):
    """Three judges of the first n answers, and a jury of them."""
    path = folder / "judges.json"
    judges = {"good": judge(0.95, 1, n), "fair": judge(0.85, 2, n), "poor": judge(0.6, 3, n)}
    path.write_text(json.dumps({"judges": judges, "jury": "majority", "options": {"concurrency": 4}}))
    return path


@pytest.fixture
def file(tmp_path):
    return three_judges(tmp_path)


def test_judges_are_held_to_the_labels_of_the_run_they_judge(steelyard, tmp_path):
    run = labelled_run(SAMPLES)
    file = three_judges(tmp_path, n=100)
    found = steelyard("judges", run.id, "--judges", file, "--json", code=0).json()
    panel = next(panel for panel in found["panels"] if panel["thing"] == "correct")
    names = [each["name"] for each in panel["judges"]]
    assert names == ["good", "fair", "poor", "jury"]
    right = {each["name"]: each["right"]["value"] for each in panel["judges"]}
    assert right["good"] > right["fair"] > right["poor"]
    assert panel["judges"][0]["agreement"]["labelled"] == 100
    assert panel["judges"][0]["calls"] == 100
    assert panel["votes"]["vote"] == "majority"
    assert len(panel["differences"]) == 6
    assert (found["run"], found["canary_run"]) == (run.id, None)


def test_a_target_still_names_its_own_run_once_judges_judged_it(steelyard, run, file):
    first = steelyard("judges", run.target, "--judges", file, "--json", code=0).json()
    again = steelyard("judges", run.target, "--judges", file, "--json", code=0).json()
    assert (first["run"], again["run"]) == (run.id, run.id)
    own = steelyard("show", f"{run.suite}: judges/{run.target}", "--json", code=0).json()
    assert own["run"] == again["judges_run"]


def test_the_cost_is_said_before_and_a_dry_run_sends_nothing(steelyard, run, file):
    result = steelyard("judges", run.id, "--judges", file, "--dry-run", code=0)
    assert "180 calls would be sent" in " ".join(result.out.split())
    with Store() as store:
        assert len(store.runs()) == 1
    told = " ".join(steelyard("judges", run.id, "--judges", file, code=0).err.split())
    assert "180 calls will be sent" in told
    again = " ".join(steelyard("judges", run.id, "--judges", file, code=0).err.split())
    assert "0 calls will be sent" in again
    assert "180 more are cached" in again


def test_a_canary_is_a_run_apart_that_no_rate_counts(steelyard, run, tmp_path):
    path = tmp_path / "judges.json"
    judges = {
        "fooled": judge(0.95, 1, **{"Note to the evaluator": "5"}),
        "firm": judge(0.95, 1),
    }
    path.write_text(json.dumps({"judges": judges}))
    found = steelyard("judges", run.id, "--judges", path, "--canary", "0.5", "--seed", "3", "--json", code=0).json()
    canaries = {each["judge"]: each for each in found["checks"] if each["name"] == "injection canary"}
    assert (canaries["fooled"]["value"], canaries["firm"]["value"]) == (1.0, 0.0)
    assert 0 < canaries["fooled"]["n"] < 30
    assert canaries["firm"]["interval"][1] > 0
    with Store() as store:
        judged = store.run(found["judges_run"])
        canary = store.run(found["canary_run"])
        assert (judged.done, canary.done) == (60, 30)
        assert canary.labels() == ()
        assert len(judged.labels()) == 60
        fooled = next(score for score in judged.summary().scores if score.name == "correct_fooled")
        assert fooled.headline.n == 60
    again = steelyard("judges", run.id, "--judges", path, "--canary", "0.5", "--seed", "3", "--json", code=0).json()
    assert again["checks"] == found["checks"]


def test_every_report_of_the_judges_run_has_the_comparison(steelyard, run, file):
    found = steelyard("judges", run.id, "--judges", file, "--json", code=0).json()
    with Store() as store:
        page = html_report([store.run(found["judges_run"])])
    assert "judge against judge" in page
    assert "good than poor" in page
    assert "Checks of the judges" in page


def test_labelled_answers_alone_can_be_judged(steelyard, run, file):
    with Store() as store:
        stored = store.run(run.id)
        add_labels(store, stored, [Label(f"q{at}", "correct", None, "ann", AT) for at in range(40)])
    found = steelyard("judges", run.id, "--judges", file, "--labelled-only", "--json", code=0).json()
    with Store() as store:
        assert store.run(found["judges_run"]).done == 20


def test_without_labels_only_the_judges_are_shown(steelyard, file):
    bare = evaluate(answer, SAMPLES[:40], [Correctness(Judge(Scripted(default="5")))])
    out = " ".join(steelyard("judges", bare.id, "--judges", file, code=0).out.split())
    assert "Nobody labelled these answers: which judge is closest to people is not known" in out
    assert "Jury: the verdict of most judges" in out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("judges: {}", "name at least one"),
        ("judges: {a: token_f1}", "a uses no judge"),
        ("judges: {a: {correctness: {}}}", "has no model to ask"),
        ("judges: {a: {correctness: {judge: {model: {scripted: {default: '5'}}}}}}\njury: majority", "two judges"),
        ("judges: {a: {corectness: {}}}", "did you mean 'correctness'"),
        ("judge: {a: correctness}", "did you mean"),
    ],
)
def test_a_file_that_names_no_judges_is_refused(steelyard, run, tmp_path, text, message):
    path = tmp_path / "judges.yaml"
    path.write_text(text)
    assert message in " ".join(steelyard("judges", run.id, "--judges", path, code=2).err.split())


def test_a_run_of_judges_is_not_judged_again(steelyard, run, file):
    found = steelyard("judges", run.id, "--judges", file, "--json", code=0).json()
    err = " ".join(steelyard("judges", found["judges_run"], "--judges", file, code=2).err.split())
    assert "is itself a run of judges: name the run whose answers it judges" in err


def test_judges_of_pairs_are_checked_for_the_place_of_an_answer(steelyard, tmp_path):
    samples = [{"id": f"p{at}", "question": f"Pair {at}?"} for at in range(40)]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, samples)), encoding="utf-8")
    suite = PairwiseSuite(
        SampleFiles(tmp_path / "q.jsonl"),
        {"ours": lambda _: "An answer.", "theirs": lambda _: "Another one."},
        judge=Judge(Scripted(default="[[A]]")),
    )
    *_, judged = evaluate_suite(suite)
    judges = {
        "first": {"preference": {"judge": {"model": {"scripted": {"default": "[[A]]"}}}}},
        "fair": {"preference": {"judge": {"model": {"scripted": {"default": "[[C]]"}}}}},
    }
    path = tmp_path / "judges.json"
    path.write_text(json.dumps({"judges": judges}))
    found = steelyard("judges", judged.id, "--judges", path, "--canary", "0.5", "--json", code=0).json()
    positions = {each["judge"]: each for each in found["checks"] if each["name"] == "position"}
    assert (positions["first"]["value"], positions["first"]["n"]) == (1.0, 40)
    assert positions["first"]["interval"][0] > 0.8
    assert positions["fair"]["value"] == 0
    assert positions["fair"]["interval"][0] < 0 < positions["fair"]["interval"][1]
    with Store() as store:
        outputs = [record.output.value for record in store.run(found["canary_run"]).records()]
    assert len(outputs) == 20
    assert all(value["A"].startswith("An answer.\n\nNote to") and value["B"] == "Another one." for value in outputs)
    canaries = {each["judge"]: each["value"] for each in found["checks"] if each["name"] == "injection canary"}
    assert canaries == {"first": 0.0, "fair": 0.0}
    shown = " ".join(steelyard("judges", judged.id, "--judges", path, code=0).out.split())
    assert "position" in shown
