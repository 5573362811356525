"""What several processes cannot run is refused before anything is asked, with what to do."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.running_server import ledger_server
from tests.workers.exam import Exam, finish

from steelyard import ExactMatch, Sample, evaluate
from steelyard.errors import ConfigError

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
if sys.argv[0].endswith("process.py"):
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


def test_early_stopping_needs_one_process(on_server):
    from steelyard import Suite
    from steelyard.suite.objects import Options, StopWhen
    from steelyard.workers.processes import ProcessWorkers

    stop = Options(stop_when_decided=StopWhen("full", threshold=0.5))
    suite = Suite("s", "custom", SAMPLES, {"a": yes}, (ExactMatch(),), stop)
    with pytest.raises(ConfigError, match="stop_when_decided needs one process"):
        ProcessWorkers(2).check(suite, on_server)


def test_a_function_that_cannot_be_handed_on_is_named(on_server):
    with pytest.raises(ConfigError, match=r"lambda.*top of a module"):
        evaluate(lambda sample: "yes", SAMPLES, [ExactMatch()], store=on_server, workers=2)


def test_a_function_of_the_script_itself_is_named(tmp_path, on_server):
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "script.py", on_server], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "answer is defined in the script that was started" in done.stderr


@pytest.mark.parametrize("n", [0, -1, 1.5, "2"])
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


def test_functions_of_a_module_run_in_workers_and_a_run_says_the_same(on_server):
    run = evaluate(yes, SAMPLES, [ExactMatch()], store=on_server, workers=2)
    assert (run.state, run.done) == ("finished", 10)
    assert [record.output.value for record in run.records()] == ["yes"] * 10
    assert run.summary().scores[0].headline.value == 1.0


def test_a_wrong_key_ends_the_runs_after_few_calls(tmp_path, on_server):
    with ledger_server(tmp_path / "server", "--fault-rate", "1", "--max-faults", "99", "--faults", "401") as server:
        exam = Exam.write(tmp_path, on_server, server.url, questions=200, targets=("first",))
        said = finish(exam.start("run", "exam.json", "--quiet", "--workers", "4"), 4)
        assert len(server.requests()) <= 8
    assert "401" in said
