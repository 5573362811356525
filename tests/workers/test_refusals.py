"""What several processes cannot run is refused before anything is asked, with what to do."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import time
from urllib.parse import urlsplit

import pytest
from tests.command_here import command_here
from tests.running_server import ledger_server
from tests.workers.exam import Exam

from steelyard import ExactMatch, Sample, evaluate
from steelyard.errors import ConfigError, SteelyardError, StoreError
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


def yes(sample):  # what a target takes
    return "yes"


def deadly(sample):
    if sample.id != "q0":
        time.sleep(0.5)  # the first record is stored meanwhile
        os._exit(11)
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


def test_what_is_no_executor_is_refused():
    with pytest.raises(ConfigError, match=r"expected an executor such as .*ProcessWorkers\(8\), got 5"):
        evaluate(yes, SAMPLES, [ExactMatch()], executor=5)


@pytest.mark.parametrize("n", [0, -1, 1.5, "two", "0", True, float("nan"), [], b"2", object()])
def test_a_number_of_workers_is_a_whole_one(on_server, n):
    with pytest.raises(ConfigError, match="workers"):
        evaluate(yes, SAMPLES, [ExactMatch()], store=on_server, workers=n)


def test_a_target_that_cannot_be_loaded_in_a_worker_is_named_before_a_call_and_a_huge_error_shortened(
    run_where_workers, on_server
):
    said = run_where_workers("raise ImportError('no licence ' * 40_000)", on_server, hook_of="unlicensed")
    assert "cannot begin: the suite cannot be loaded there: ImportError: no licence" in said
    assert len(said) < 20_000


def test_functions_of_a_module_run_in_workers_and_a_run_says_the_same(on_server):
    run = evaluate(yes, SAMPLES, [ExactMatch()], store=on_server, workers=2)
    assert (run.state, run.done) == ("finished", 10)
    assert [record.output.value for record in run.records()] == ["yes"] * 10
    assert run.summary().scores[0].headline.value == 1.0


def test_a_wrong_key_ends_the_runs_after_few_calls(tmp_path, on_server):
    with ledger_server(tmp_path / "server", "--fault-rate", "1", "--max-faults", "99", "--faults", "401") as server:
        Exam.write(tmp_path, on_server, server.url, questions=200, targets=("first",))
        said = command_here(tmp_path, "run", "exam.json", "--quiet", "--workers", "2", "--store", on_server, code=4)
        assert len(server.requests()) <= 8
    assert "401" in said.out + said.err


IN_WORKERS = """
import sys
if "steelyard.workers.process" in sys.orig_argv:
    {}
"""


@pytest.fixture
def run_where_workers(tmp_path, monkeypatch):
    """What a run says whose workers run `hook` before anything else, or where they import the target's module."""

    def run(hook, store, *, hook_of="sitecustomize"):
        (tmp_path / "unlicensed.py").write_text("def answer(sample):\n    return 'yes'\n", encoding="utf-8")
        with (tmp_path / f"{hook_of}.py").open("a", encoding="utf-8") as module:
            module.write(IN_WORKERS.format(hook))
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "unlicensed", raising=False)
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        answer = importlib.import_module("unlicensed").answer
        with pytest.raises(SteelyardError) as caught:
            evaluate(answer, [Sample("a", "?", "yes")], [ExactMatch()], store=store, workers=1)
        return f"{type(caught.value).__name__}: {caught.value}"

    return run


def test_the_target_that_needs_a_missing_module_is_named(run_where_workers, on_server):
    said = run_where_workers("sys.modules['unlicensed'] = None", on_server)
    assert "the suite cannot be loaded there: ModuleNotFoundError: import of unlicensed" in said
    assert "(target answer)" in said


OTHER_VERSIONS = {
    "it has Steelyard 0.0.7, ": "import steelyard; steelyard.__version__ = '0.0.7'",
    ", Python 3.99, ": """from types import SimpleNamespace
    from steelyard.workers import task
    task.sys = SimpleNamespace(version_info=SimpleNamespace(major=3, minor=99), modules=sys.modules)""",
    ", tables of version 99, and the run was started by": "from steelyard.workers import task; task.VERSION = 99",
}


@pytest.mark.parametrize("sentence", OTHER_VERSIONS)
def test_a_worker_of_another_version_is_refused_before_it_reads_the_suite(run_where_workers, on_server, sentence):
    said = run_where_workers(OTHER_VERSIONS[sentence], on_server)
    assert "cannot begin: it" in said
    assert sentence in said


def test_a_store_that_a_worker_cannot_reach_is_named_before_a_call(run_where_workers, on_server, monkeypatch):
    host = urlsplit(on_server).hostname
    store = on_server.replace(host, "${STORE_HOST}", 1)
    hook = "import os; os.environ['STORE_HOST'] = 'store.invalid'"
    monkeypatch.setenv("STORE_HOST", host)
    said = run_where_workers(hook, store)
    assert re.search(r"ConfigError: worker \d cannot begin: .*store\.invalid", said)
    with Store(on_server) as opened:
        assert [(run.state, run.done) for run in opened.runs()] == [("interrupted", 0)]


def test_samples_that_kill_their_worker_end_the_run(on_server):
    """A first record of any worker counted for all later deaths: workers were started again for ever."""
    with pytest.raises(StoreError, match=r"worker \d died 6 times without a record"):
        evaluate(deadly, [Sample(f"q{n}", "?", "yes") for n in range(40)], [ExactMatch()], store=on_server, workers=1)
    with Store(on_server) as store:
        (run,) = store.runs()
        assert (run.state, run.done, run.errors) == ("interrupted", 1, 0)
