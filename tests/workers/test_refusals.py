"""What several processes cannot run is refused before anything is asked, with what to do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from urllib.parse import urlsplit

import pytest
from tests.running_server import ledger_server
from tests.workers.exam import Exam, finish

from steelyard import ExactMatch, Sample, evaluate
from steelyard.errors import ConfigError
from steelyard.store import Store

SAMPLES = [Sample(f"q{n}", f"Question {n}?", "yes") for n in range(10)]
SCRIPT = """
import sys
from steelyard import ExactMatch, Sample, evaluate
def answer(sample):
    return "yes"
if __name__ == "__main__":
    evaluate(answer, [Sample("a", "?", "yes")], [ExactMatch()], store=sys.argv[1], workers=2)
"""
MODULE = """
import sys
if "steelyard.workers.process" in sys.orig_argv:
    raise ImportError("no licence for a second process")
def answer(sample):
    return "yes"
"""


def yes(sample):  # what a target takes
    return "yes"


def test_a_file_is_no_store_for_several_processes(tmp_path):
    with pytest.raises(ConfigError, match=r"store on a server.*postgresql://"):
        evaluate(yes, SAMPLES, [ExactMatch()], store=tmp_path / "s.db", workers=2)
    assert not (tmp_path / "s.db").exists()


def test_a_function_that_cannot_be_handed_on_is_named(on_server):
    with pytest.raises(ConfigError, match=r"lambda.*top of a module"):
        evaluate(lambda sample: "yes", SAMPLES, [ExactMatch()], store=on_server, workers=2)


def test_a_function_of_the_script_itself_is_named(tmp_path, on_server):
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "script.py", on_server], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "answer is defined in the script that was started" in done.stderr


@pytest.mark.parametrize("n", [0, -1, 1.5, "two", "0", True, float("nan"), [], b"2", object()])
def test_a_number_of_workers_is_a_whole_one(on_server, n):
    with pytest.raises(ConfigError, match="workers"):
        evaluate(yes, SAMPLES, [ExactMatch()], store=on_server, workers=n)


def test_a_target_that_cannot_be_loaded_in_a_worker_is_named_before_a_call(tmp_path, on_server):
    (tmp_path / "licensed.py").write_text(MODULE, encoding="utf-8")
    script = "import sys; from licensed import answer; from steelyard import ExactMatch, Sample, evaluate; "
    script += "evaluate(answer, [Sample('a', '?', 'yes')], [ExactMatch()], store=sys.argv[1], workers=2)"
    done = subprocess.run(
        [sys.executable, "-c", script, on_server], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "cannot begin: the suite cannot be loaded there: ImportError: no licence" in done.stderr


def test_a_huge_error_of_a_worker_is_shortened_and_does_not_hold_the_run_up(tmp_path, on_server):
    said = run_where_workers("raise ImportError('no licence ' * 40_000)", tmp_path, on_server, hook_of="unlicensed")
    assert "cannot begin: the suite cannot be loaded there: ImportError: no licence" in said
    assert len(said) < 20_000


def test_functions_of_a_module_run_in_workers_and_a_run_says_the_same(on_server):
    run = evaluate(yes, SAMPLES, [ExactMatch()], store=on_server, workers=2)
    assert (run.state, run.done) == ("finished", 10)
    assert [record.output.value for record in run.records()] == ["yes"] * 10
    assert run.summary().scores[0].headline.value == 1.0


def test_a_wrong_key_ends_the_runs_after_few_calls(tmp_path, on_server):
    with ledger_server(tmp_path / "server", "--fault-rate", "1", "--max-faults", "99", "--faults", "401") as server:
        exam = Exam.write(tmp_path, on_server, server.url, questions=200, targets=("first",))
        said = finish(exam.start("run", "exam.json", "--quiet", "--workers", "2"), 4)
        assert len(server.requests()) <= 8
    assert "401" in said


IN_WORKERS = """
import sys
if "steelyard.workers.process" in sys.orig_argv:
    {}
"""


def run_where_workers(hook, folder, store, *, hook_of="sitecustomize", **variables):
    """What a run says whose workers run `hook` before anything else, or where they import the target's module."""
    (folder / "unlicensed.py").write_text("def answer(sample):\n    return 'yes'\n", encoding="utf-8")
    with (folder / f"{hook_of}.py").open("a", encoding="utf-8") as module:
        module.write(IN_WORKERS.format(hook))
    script = "import sys; from unlicensed import answer; from steelyard import ExactMatch, Sample, evaluate; "
    script += "evaluate(answer, [Sample('a', '?', 'yes')], [ExactMatch()], store=sys.argv[1], workers=2)"
    environment = {**os.environ, **variables, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", script, store], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    return done.stderr


def test_the_target_that_needs_a_missing_module_is_named(tmp_path, on_server):
    said = run_where_workers("sys.modules['unlicensed'] = None", tmp_path, on_server)
    assert "the suite cannot be loaded there: ModuleNotFoundError: import of unlicensed" in said
    assert "(target answer)" in said


OTHER_VERSIONS = {
    "it has Steelyard 0.0.7, and the run was started by": "import steelyard; steelyard.__version__ = '0.0.7'",
    "it has Python 3.99, and the run was started by Python 3.": """from types import SimpleNamespace
    from steelyard.workers import versions
    versions.sys = SimpleNamespace(version_info=SimpleNamespace(major=3, minor=99), modules=sys.modules)""",
    "has the tables of migration 4, and": """from steelyard.workers import versions
    versions.MIGRATIONS = versions.MIGRATIONS[:3]""",
}


@pytest.mark.parametrize("sentence", OTHER_VERSIONS)
def test_a_worker_of_another_version_is_refused_before_it_reads_the_suite(tmp_path, on_server, sentence):
    said = run_where_workers(OTHER_VERSIONS[sentence], tmp_path, on_server)
    assert "cannot begin: it" in said
    assert sentence in said


def test_a_store_that_a_worker_cannot_reach_is_named_before_a_call(tmp_path, on_server):
    host = urlsplit(on_server).hostname
    store = on_server.replace(host, "${STORE_HOST}", 1)
    hook = "import os; os.environ['STORE_HOST'] = 'store.invalid'"
    said = run_where_workers(hook, tmp_path, store, STORE_HOST=host)
    assert re.search(r"ConfigError: worker \d cannot begin: .*store\.invalid", said)
    with Store(on_server) as opened:
        assert [(run.state, run.done) for run in opened.runs()] == [("interrupted", 0)]
