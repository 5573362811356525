"""A gate against a baseline on the command line: a file, an earlier run, another target; every exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

N = 200
MARGIN = {"no_regression": {"solve_rate": 0.02}}


@pytest.fixture
def exam(tmp_path):
    """Writes 200 questions of which a model that always says A solves the first so many; returns the configuration."""

    def write(right=160, gate=None, targets=("model",), rows=N, name="exam.json", prefix="Question"):
        lines = ["question,A,B,C,D,answer,category"]
        lines += [f"{prefix} {at}?,one,two,three,four,A,{'odd' if at % 2 else 'even'}" for at in range(rows)]
        (tmp_path / "exam.csv").write_text("\n".join(lines), encoding="utf-8")
        whole = {
            "suite": "choice",
            "samples": {"file": "exam.csv"},
            "targets": {target: answers(right if at == 0 else right - 40) for at, target in enumerate(targets)},
            "options": {"concurrency": 4},
            **({"gate": gate} if gate else {}),
        }
        path = tmp_path / name
        path.write_text(json.dumps(whole), encoding="utf-8")
        return path

    def answers(right):
        """A scripted model that knows the first `right` answers."""
        wrong = {f"{prefix} {at}?": "B" for at in range(right, N) for prefix in ("Question", "Riddle")}
        return {"prompt": {"template": "{{question}}", "model": {"scripted": {"replies": wrong, "default": "A"}}}}

    return write


@pytest.fixture
def based(steelyard, exam, once):
    """A run that solves 160 of the 200 questions, and its baseline.json."""

    def make():
        steelyard("run", exam(160), code=0)
        steelyard("baseline", "latest", code=0)

    once(make)


def test_a_baseline_file_decides_the_exit_code(steelyard, exam, tmp_path):
    steelyard("run", exam(160), code=0)
    written = steelyard("baseline", "latest", "--to", tmp_path / "ci" / "baseline.json", code=0)
    assert "200 samples of model (run " in written.out
    gate = {**MARGIN, "baseline": "ci/baseline.json"}
    held = steelyard("run", exam(160, gate), code=0)
    assert "gate: model: no_regression solve_rate 0.02 holds against model (" in held.out
    lost = steelyard("run", exam(140, gate), code=1)
    assert "does not hold against model (" in lost.out
    assert "difference -10 points, 95 % CI -14.4" in lost.out
    assert "200 pairs" in lost.out
    tolerated = steelyard("run", exam(140, {**gate, "no_regression": {"solve_rate": 0.2}}), code=0)
    assert "there is a loss, and it is within the margin" in " ".join(tolerated.out.split())
    assert steelyard("run", exam(158, gate), code=3).out.count("cannot be decided") == 1


def test_a_file_is_found_from_wherever_its_run_is_looked_at(steelyard, exam, based, tmp_path, monkeypatch):
    steelyard("run", exam(140, {**MARGIN, "baseline": "baseline.json"}), code=1)
    store = tmp_path / ".steelyard" / "steelyard.db"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert "does not hold against" in steelyard("show", "latest", "--store", store, code=0).out
    (tmp_path / "baseline.json").unlink()
    gone = steelyard("show", "latest", "--store", store, code=0).out
    assert "cannot be decided: the baseline" in " ".join(gone.split())


def test_the_latest_earlier_run_is_a_baseline_and_the_first_has_none(steelyard, exam):
    gate = {**MARGIN, "baseline": "latest"}
    first = steelyard("run", exam(160, gate), code=3)
    assert "no run of model in 'exam' was finished before this one" in " ".join(first.out.split())
    assert steelyard("run", exam(140, gate), code=1).out
    again = steelyard("run", exam(140, gate), "--fresh", code=0)
    assert "holds against model (" in again.out


def test_a_target_beside_it_is_the_baseline_of_the_others(steelyard, exam):
    gate = {**MARGIN, "baseline": "old"}
    path = exam(160, gate, targets=("old", "new"))
    found = steelyard("run", path, "--json", code=1).json()["gate"]
    assert [(one["target"], one["state"]) for one in found["results"]] == [("new", "fails")]
    assert found["results"][0]["value"] == -0.2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"prefix": "Riddle"}, "changed content between"),
        ({"rows": 40}, "compatible with a loss of 2 points"),
    ],
)
def test_another_dataset_is_undecided(steelyard, exam, based, changes, words):
    found = steelyard("run", exam(160, {**MARGIN, "baseline": "baseline.json"}, **changes), code=3)
    assert words in " ".join(found.out.split())


def test_a_score_that_the_baseline_lacks_is_undecided(steelyard, exam, based, tmp_path):
    path = tmp_path / "baseline.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"solve_rate"', '"accuracy"'), encoding="utf-8")
    found = steelyard("run", exam(160, {**MARGIN, "baseline": "baseline.json"}), code=3)
    assert "has no score 'solve_rate'" in " ".join(found.out.split())


def test_a_baseline_that_is_nowhere_is_found_before_anything_is_asked(steelyard, exam, tmp_path):
    for _ in range(2):
        missing = steelyard("run", exam(160, {**MARGIN, "baseline": "modle"}), code=2)
        assert "gate: baseline: there is no run 'modle': did you mean 'model'?" in missing.err
        assert not (tmp_path / ".steelyard").exists()
    steelyard("run", exam(160), code=0)
    steelyard("run", exam(160, {**MARGIN, "baseline": "modle"}), code=2)
    assert len(steelyard("runs", "--json", code=0).json()) == 1


@pytest.mark.parametrize(
    ("gate", "place", "words"),
    [
        ("{no_regression: {solve_rate: 0.02}}", "4:7", "no_regression needs a baseline"),
        ("{baseline: latest}", "4:7", "nothing is compared with the baseline"),
        ("{no_regression: {solv_rate: 0.02}, baseline: latest}", "4:24", "no score 'solv_rate': did you mean"),
        ("{no_regression: {solve_rate: -0.02}, baseline: latest}", "4:36", "0 or more"),
        ("{no_regression: {solve_rate: high}, baseline: latest}", "4:36", "expected a number"),
        ('{no_regression: {"solve_rate[evn]": 0.1}, baseline: latest}', "4:24", "no sample is of group 'evn'"),
        ("{no_regression: 0.02, baseline: latest}", "4:23", "expected a mapping of score to margin"),
        ("{no_regression: {solve_rate: 0.02}, baseline: gone.json}", "4:53", "there is no file"),
        ("{no_regression: {solve_rate: 0.02}, baseline: exam.json}", "4:53", "is not a baseline"),
        ("{no_regression: {solve_rate: 0.02}, baseline: {a: 1}}", "4:53", "expected a run, a target or a file"),
        ("{solve_rate: {low: 0.02}}", "4:20", "only no_regression takes a mapping"),
        ("{min_scored: 90}", "4:20", "the least share of the records that have the score, from 0 to 1, not 90"),
        ("{min_scored: most}", "4:20", "the least share of the records"),
        ("{solve_rate: 0.6}", "4:20", "0.6 is not a rule; write an operator"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_gate_is_told_with_its_place(steelyard, exam, tmp_path, gate, place, words):
    exam()
    path = tmp_path / "gated.yaml"
    lines = ["suite: choice", "samples: {file: exam.csv}", "targets: {a: {baseline: random}}", f"gate: {gate}", ""]
    path.write_text("\n".join(lines), encoding="utf-8")
    found = steelyard("check", path, code=2)
    assert f"gated.yaml:{place}" in found.err
    assert words in found.err


def test_what_is_no_baseline_is_never_written_over(steelyard, based, tmp_path):
    steelyard("baseline", "model", "--to", "exam.json", code=2)
    assert json.loads((tmp_path / "exam.json").read_text(encoding="utf-8"))["suite"] == "choice"
    assert "must end in .json" in steelyard("baseline", "model", "--to", "baseline.txt", code=2).err
    steelyard("baseline", "model", code=0)
    assert "wrote baseline.json" in steelyard("baseline", "model", code=0).out


def test_json_and_pages_carry_the_verdict(steelyard, exam, based, tmp_path):
    path = exam(140, {**MARGIN, "solve_rate": ">= 0.5", "baseline": "baseline.json"})
    found = steelyard("run", path, "--json", "--markdown", "r.md", "--html", "r.html", code=1).json()["gate"]
    assert [one["state"] for one in found["results"]] == ["holds", "fails"]
    margin = found["results"][1]
    assert margin["rule"] == "no_regression solve_rate 0.02"
    assert margin["value"] == pytest.approx(-0.1)
    assert margin["interval"][1] < 0
    for page in ("r.md", "r.html"):
        assert "does not hold against model (" in Path(page).read_text(encoding="utf-8")
