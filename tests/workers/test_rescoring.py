"""Stored outputs are scored again in several processes: the same scores, whatever happens to the processes."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from tests.workers.exam import Exam, finish, kill

from steelyard import ConfigError, ExactMatch, Prompt, Sample, Score, Scripted, evaluate
from steelyard.errors import DataError, ScorerError
from steelyard.evaluation.rescore import rescore
from steelyard.store import Store
from steelyard.workers import ProcessWorkers

pytestmark = pytest.mark.scale

SAMPLES = [Sample(f"q{n}", f"question {n}", "YES") for n in range(250)]
JUDGE = Scripted({"question 1": "2"}, default="4")
PAGES = {"question 1": "yes ", "question 2": "YES"}


def shouted(sample, output):
    return output.value == sample.reference


async def judged(sample, output, ask):
    return float((await ask(JUDGE, f"Rate {sample.input}")).text)


def kills_its_process_once(sample, output):
    """At every hundredth question; the next process that is given it goes on."""
    mark = Path(f"{sample.id}.mark")
    if sample.id.endswith("00") and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return output.value == sample.reference


def kills_its_process(sample, output):
    if sample.id == "q120":
        os._exit(7)
    return 1.0


def fails(sample, output):
    if sample.id == "q120":
        raise ValueError(f"no mark for {sample.id}")
    sys.stdout.write("scoring")  # standard output is the leader's
    return 1.0


def which_cpus(sample, output):
    return len(os.sched_getaffinity(0))


def in_processes(store, run, *scorers, n=2):
    return rescore(store, store.run(run.id), scorers, elsewhere=partial(ProcessWorkers(n).score, "s.db", {}))


@pytest.fixture
def run():
    return evaluate(Prompt(Scripted(PAGES, default="YES")), SAMPLES, [ExactMatch(), judged], store="s.db", repeats=2)


def stored_scores(layer):
    with closing(sqlite3.connect("s.db")) as connection:
        query = "SELECT no, repeat, name, value, passed, body FROM score WHERE layer = ? ORDER BY no, repeat, name"
        return connection.execute(query, [layer]).fetchall()


def test_several_processes_give_the_scores_of_one_also_where_each_dies_once(run):
    with Store("s.db") as store:
        rescore(store, store.run(run.id), [shouted, judged])
        again, damaged = in_processes(store, run, shouted, judged)
        alone, together = stored_scores(1), stored_scores(2)
        assert (again.scoring_version, damaged, len(together)) == (2, 0, 2 * 2 * len(SAMPLES))
        assert together == alone
        in_processes(store, run, kills_its_process_once)
        assert [row[3] for row in stored_scores(3)] == [row[3] for row in alone if row[3] < 2]
        assert len(list(Path().glob("*.mark"))) == 2


def test_damage_and_judges_that_were_never_asked_are_counted_over_all_processes(run):
    with closing(sqlite3.connect("s.db")) as connection, connection:
        connection.execute("UPDATE reply SET body = x'01ff00ff' WHERE num IN (7, 300)")
    with Store("s.db") as store:
        alone = rescore(store, store.run(run.id), [shouted, judged])[1]
        assert in_processes(store, run, shouted, judged)[1] == alone > 0
        with pytest.raises(ConfigError, match=r"asked by scorer 'unasked' for (\d+) of 500 records") as told:
            in_processes(store, run, unasked)
        with pytest.raises(ConfigError) as told_alone:
            rescore(store, store.run(run.id), [unasked])
        assert str(told.value) == str(told_alone.value)


async def unasked(sample, output, ask):
    return float((await ask(JUDGE, f"Do you like {sample.input}?")).text)


@pytest.mark.parametrize(
    ("scorer", "why"), [(fails, "no mark for q120"), (kills_its_process, "places 100 to 199 .* with exit code 7")]
)
def test_a_scorer_that_fails_ends_the_scoring_and_nothing_is_stored(run, scorer, why, capfd):
    with Store("s.db") as store:
        with pytest.raises(ScorerError, match=why):
            in_processes(store, run, scorer)
        assert store.run(run.id).scoring_version == 0
    assert capfd.readouterr().out == ""


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system has no CPUs to keep to")
@pytest.mark.parametrize("more", [0, -1])
def test_each_process_keeps_to_one_cpu_where_there_are_as_many_as_cpus(more):
    cpus = len(os.sched_getaffinity(0))
    run = evaluate(Prompt(Scripted(default="YES")), SAMPLES, [ExactMatch()], store="s.db")
    if cpus + more < 1:
        pytest.skip("one CPU alone")
    with Store("s.db") as store:
        again, _ = in_processes(store, run, which_cpus, n=cpus + more)
    assert {row.value for row in again.data().scores.judged_rows("which_cpus")} == {1 if not more else cpus}


def wait_for(holds):
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def children_of(pid):
    """Folders in /proc of the processes that its threads have started."""
    files = Path(f"/proc/{pid}/task").glob("*/children")
    return [Path("/proc", child) for file in files for child in file.read_text("ascii").split()]


def test_the_command_prints_the_same_with_processes(tmp_path):
    exam = Exam.write(tmp_path, "s.db", "http://127.0.0.1:9", targets=("first",))
    config = json.loads((tmp_path / "exam.json").read_text("utf-8"))
    config["targets"]["first"]["prompt"]["model"] = {"scripted": {"default": "A or B, so B"}}
    (tmp_path / "exam.json").write_text(json.dumps(config), "utf-8")
    finish(exam.start("run", "exam.json", "--quiet"))
    _, alone, _, together = (
        finish(exam.start("rescore", "first", "--rule", rule, *more))
        for more in ((), ("--workers", "2"))
        for rule in ("first_option", "last_letter")
    )
    assert together == alone
    assert "120" in alone


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_command_that_is_stopped_takes_its_processes_with_it_and_changes_nothing(tmp_path, signum):
    (tmp_path / "stuck.py").write_text(STUCK, "utf-8")
    command = [sys.executable, "-c", "import stuck; stuck.score_again()"]
    with subprocess.Popen(command, cwd=tmp_path) as leader:
        wait_for((tmp_path / "scoring").exists)
        processes = children_of(leader.pid)
        kill(leader.pid, signum)
    assert processes
    wait_for(lambda: not any(process.exists() for process in processes))
    with Store(tmp_path / "s.db") as store:
        assert store.runs()[0].scoring_version == 0


STUCK = """
import time
from functools import partial
from pathlib import Path

from steelyard import Sample, evaluate
from steelyard.store import Store
from steelyard.evaluation.rescore import rescore
from steelyard.workers import ProcessWorkers


def stuck(sample, output):
    Path("scoring").touch()
    time.sleep(600)


def score_again():
    samples = [Sample(f"q{n}", "?", "YES") for n in range(150)]
    run = evaluate(lambda sample: "YES", samples, [lambda sample, output: 1.0], store="s.db")
    with Store("s.db") as store:
        rescore(store, run, [stuck], elsewhere=partial(ProcessWorkers(2).score, "s.db", {}))
"""


def forks_and_dies(sample, output):
    if sample.id == "q120" and os.fork():
        os.kill(os.getpid(), signal.SIGKILL)
    return 1.0 if sample.id != "q120" else time.sleep(5) or os._exit(0)


def hands_over_what_it_cannot(sample, output):
    return Score("x", 1.0, detail={"f": lambda: 1})


def reads_a_bad_document(sample, output):
    raise DataError(f"the document of {sample.id} is bad")


@pytest.mark.parametrize(
    ("scorer", "error", "why"),
    [
        (forks_and_dies, ScorerError, "places 100 to 199 .* with exit code -9"),
        (hands_over_what_it_cannot, ScorerError, "scores cannot be handed over"),
        (reads_a_bad_document, DataError, "the document of q"),
    ],
)
def test_what_a_process_meets_is_said_as_by_one(run, scorer, error, why):
    with Store("s.db") as store, pytest.raises(error, match=why):
        in_processes(store, run, scorer)
