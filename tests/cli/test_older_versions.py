"""A store and configurations that an older version wrote are read, resumed and compared by this one.

`older_versions/0.1.0` was written by that version: its starter configurations of all five suites, an exam (`exam.json`,
two scripted models, two repeats) and judged questions (`judged.toml`, interrupted by its budget of 12 calls), run one
after the other into `store.db`, with `runs.json` the scores that it showed then.
"""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from steelyard.prompts.template import load_template
from steelyard.store import Store
from steelyard.types import ScoreInfo

WRITTEN = Path(__file__).parent / "older_versions" / "0.1.0"
RUNS = json.loads((WRITTEN / "runs.json").read_text(encoding="utf-8"))
CONFIGURATIONS = sorted([*WRITTEN.glob("*.yaml"), *WRITTEN.glob("*.toml"), WRITTEN / "exam.json"])


@pytest.fixture
def written(tmp_path):
    """A copy of what was written, with its store unpacked; returns the store's path."""
    shutil.copytree(WRITTEN, tmp_path, dirs_exist_ok=True)
    store = tmp_path / "store.db"
    store.write_bytes(gzip.decompress((WRITTEN / "store.db.gz").read_bytes()))
    return store


def headlines(shown):
    """Score -> [value, scored, unparsed], of a run as `show --json` prints it."""
    return {
        score["name"]: [(score["headline"] or {}).get("value"), score["scored"], score["unparsed"]]
        for score in shown["scores"]
    }


def test_every_run_is_listed(steelyard, written):
    listed = steelyard("runs", "--store", written, "--json", code=0).json()
    kept = {run["id"]: [run["target"], run["state"], run["done"]] for run in listed}
    assert kept == {run: [of["target"], of["state"], of["done"]] for run, of in RUNS.items()}


@pytest.mark.parametrize("run", RUNS)
def test_every_score_is_what_it_was(steelyard, written, run):
    shown = headlines(steelyard("show", run, "--store", written, "--json", code=0).json())
    for name, (value, scored, unparsed) in RUNS[run]["scores"].items():
        assert shown[name] == [pytest.approx(value), scored, unparsed], name


def test_the_store_is_found_sound(steelyard, written):
    steelyard("verify", "--store", written, code=0)


def test_two_of_its_runs_are_compared(steelyard, written):
    compared = steelyard("compare", "zzysa9", "fgcgxr", "--store", written, code=0).out
    assert "20 pairs" in compared
    assert "p = 0.063" in compared


def test_pages_are_made_of_its_runs(steelyard, written, tmp_path):
    for run in RUNS:
        page = tmp_path / f"{run}.html"
        steelyard("report", run, "--html", page, "--store", written, code=0)
        assert RUNS[run]["target"] in page.read_text(encoding="utf-8")


def test_an_interrupted_run_is_resumed_and_pays_for_nothing_twice(steelyard, written, tmp_path):
    config = tmp_path / "judged.toml"
    config.write_text(config.read_text(encoding="utf-8").replace("calls = 12", "calls = 20"), encoding="utf-8")
    steelyard("resume", "qmk4uw", "--config", config, "--store", written, "-q", "--allow-changed", code=0)
    shown = steelyard("show", "qmk4uw", "--store", written, "--json").json()
    assert [shown["state"], shown["done"]] == ["finished", 10]
    assert headlines(shown)["correctness"] == [4.0, 10, 0]


def test_what_scorers_declared_is_read_of_its_manifests(written):
    with Store(written) as store:
        infos = {
            run.target: list(run.score_infos.values()) for run in store.runs() if run.target in {"scripted", "notes"}
        }
    assert infos["scripted"] == [
        ScoreInfo("correctness", (1.0, 5.0), histogram=True),
        ScoreInfo("correct", labels=("right", "wrong")),
        ScoreInfo("token_f1", denominator="all"),
    ]
    assert infos["notes"] == [ScoreInfo("solve_rate", denominator="all", exam=True)]


def test_one_of_its_runs_is_scored_again_by_what_scorers_declare_now(steelyard, written, tmp_path):
    before = headlines(steelyard("show", "fgcgxr", "--store", written, "--json").json())
    steelyard("rescore", "fgcgxr", "--config", tmp_path / "exam.json", "--store", written, code=0)
    again = steelyard("show", "fgcgxr", "--store", written, "--json").json()
    assert headlines(again) == before
    assert again["manifest"]["score_infos"]["solve_rate"]["threshold"] == 1.0


def test_equal_questions_are_answered_from_its_journal(steelyard, written, tmp_path):
    steelyard("run", tmp_path / "exam.json", "--store", written, "-q", code=1)
    newest = steelyard("runs", "--store", written, "--json").json()[:2]
    assert [run["from_journal"] for run in newest] == [40, 40]


@pytest.mark.parametrize("config", CONFIGURATIONS, ids=lambda path: path.name)
def test_every_configuration_is_accepted(steelyard, written, tmp_path, config):
    steelyard("check", tmp_path / config.name, code=0)


def test_a_run_begun_under_former_names_of_keys_is_resumed_as_unchanged(steelyard, written, tmp_path):
    """Its manifest has the scorer's key `beside`, which is called `also_scored` now."""
    with sqlite3.connect(written) as database:
        manifests = [str(row) for row in database.execute("SELECT manifest FROM run WHERE id = 'zzysa9'")]
    assert "beside" in manifests[0]
    steelyard("resume", "zzysa9", "--config", tmp_path / "exam.json", "--store", written, "-q", code=1)
    with Store(written) as store:
        scorers = json.dumps(store.run("zzysa9").manifest["scorers"])
    assert '"also_scored": []' in scorers
    assert '"beside"' not in scorers


def test_a_judged_run_is_resumed_and_scored_again_with_the_prompts_that_it_was_begun_with(steelyard, written, tmp_path):
    config = tmp_path / "judged.toml"
    config.write_text(config.read_text(encoding="utf-8").replace("calls = 12", "calls = 20"), encoding="utf-8")
    begun = prompt_of(steelyard("show", "qmk4uw", "--store", written, "--json").json())
    assert begun["text"] != load_template("en/judge_correctness"), "this version has another text"
    steelyard("resume", "qmk4uw", "--config", config, "--store", written, "-q", "--allow-changed", code=0)
    resumed = steelyard("show", "qmk4uw", "--store", written, "--json").json()
    assert prompt_of(resumed) == begun
    steelyard("rescore", "qmk4uw", "--config", config, "--store", written, code=0)
    again = steelyard("show", "qmk4uw", "--store", written, "--json").json()
    assert headlines(again) == headlines(resumed)
    assert prompt_of(again) == begun


def prompt_of(shown):
    return shown["manifest"]["scorers"]["correctness"]["correctness"]["prompts"]["correctness"]["en"]
