"""A run that is killed at random moments and resumed ends like one that nobody disturbed."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sqlite3
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.command_here import command_here
from tests.ledger_server import FAULTS
from tests.running_server import EACH_TARGET, ledger_server, started, write_exam
from tests.thorough import times
from tests.wires import WIRES

from steelyard.store import Store

CONCURRENCY = 8
TWO = {"text": "Question number {}?", "template": EACH_TARGET, "targets": ("first", "second")}
QUESTIONS = times(100, 300)
KILLS = times(5, 20)


def scores_of(folder):
    with Store(folder / ".steelyard/steelyard.db") as store:
        return {
            run.target: [(one.sample.id, one.repeat, one.output.value, one.scores) for one in run.records()]
            for run in store.runs()
        }


def stages_of(folder):
    """What each run's stages asked; whether the journal or the endpoint answered depends on the kills."""
    with Store(folder / ".steelyard/steelyard.db") as store:
        found = {run.target: run.summary().calls.stages for run in store.runs()}
    return {
        target: [(one.stage, one.calls, one.input_tokens, one.output_tokens) for one in stages]
        for target, stages in found.items()
    }


def count(folder, table):
    path = folder / ".steelyard/steelyard.db"
    if not path.exists():
        return 0
    with contextlib.closing(sqlite3.connect(path, timeout=5)) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", [table]).fetchone():
            return 0  # killed before the tables were made
        return connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def journal_size(folder):
    return count(folder, "reply")


def held_up(process):
    """Seconds that its threads waited for a processor, and anybody for a disk: what keeps a reply from the store."""
    waited = 0
    for thread in Path("/proc", str(process.pid), "task").glob("*/schedstat"):  # nothing where the system does not tell
        with contextlib.suppress(OSError):  # the thread has ended
            waited += int(thread.read_text().split()[1])
    with contextlib.suppress(OSError):  # the system does not tell
        waited += 1000 * int(Path("/proc/pressure/io").read_text().partition("total=")[2].split()[0])
    return waited / 1e9


def runs_begun(folder):
    begun = count(folder, "run")
    assert begun in {0, 2}, "the runs of one evaluation are begun together or not at all"
    return begun


def begun_or_resumed(folder):
    return ("resume", "--quiet") if runs_begun(folder) else ("run", "exam.json", "--quiet")


@pytest.mark.slow
def test_killed_at_random_moments_a_run_pays_only_for_what_was_in_flight(tmp_path):
    draw = random.Random(11)
    with ledger_server(tmp_path / "undisturbed", "--latency-ms", "5") as server:
        calm = tmp_path / "undisturbed"
        write_exam(calm, server.url, QUESTIONS, **TWO)
        command_here(calm, "run", "exam.json", "--quiet")
    with ledger_server(tmp_path / "killed", "--latency-ms", "120") as server:
        folder = tmp_path / "killed"
        write_exam(folder, server.url, QUESTIONS, **TWO)
        kills, last_kill, kept = 0, 0.0, 0
        for _ in range(KILLS):
            process = started(folder, *begun_or_resumed(folder))
            moment = time.monotonic() + draw.uniform(0.1, 1.6)
            watched_from = 0.0
            while process.poll() is None and time.monotonic() < moment:
                if time.monotonic() < moment - 0.3:
                    watched_from = held_up(process)
                time.sleep(0.02)
            if process.poll() is not None:
                break
            margin = 0.15 + max(0, held_up(process) - watched_from)
            killed_at = time.time()
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
            kills += 1
            arrived = [one for one in server.answered() if one["came"] > last_kill and one["sent"] < killed_at - margin]
            before, kept = kept, journal_size(folder)
            assert kept - before >= len(arrived), "a reply that arrived 150 ms before the kill was lost"
            last_kill = killed_at
        command_here(folder, *begun_or_resumed(folder))
        paid = Counter(one["prompt"] for one in server.answered())
        assert kills == KILLS, "the run was too short to be killed so often"
        assert sum(paid.values()) - len(paid) <= kills * CONCURRENCY
        assert max(paid.values()) <= kills + 1
        assert len(paid) == 2 * QUESTIONS
    assert scores_of(folder) == scores_of(calm)
    assert all(stages_of(calm).values())
    assert stages_of(folder) == stages_of(calm)


@pytest.mark.slow
def test_every_passing_fault_at_forty_percent_ends_without_an_error_or_an_early_retry(tmp_path):
    with ledger_server(
        tmp_path, "--fault-rate", "0.4", "--latency-ms", "5", "--max-faults", "6", "--retry-after", "0.2"
    ) as server:
        write_exam(tmp_path, server.url, QUESTIONS, **TWO)
        config = json.loads((tmp_path / "exam.json").read_text())
        config["targets"].pop("second")
        config["targets"]["first"]["prompt"]["model"]["openai_compatible"]["timeout_s"] = 0.5
        config["options"] |= {"retry": {"base_s": 0.2, "cap_s": 2}, "concurrency": 32}
        (tmp_path / "exam.json").write_text(json.dumps(config))
        out = json.loads(command_here(tmp_path, "run", "exam.json", "--quiet", "--json").out)
        assert out["runs"][0]["errors"] == 0
        assert out["runs"][0]["done"] == QUESTIONS
        requests = server.requests()
        assert {one["fault"] for one in requests} == {"", *FAULTS}
        assert not [one for one in requests if one["early"]]
        assert len(server.answered()) == QUESTIONS
    with Store(tmp_path / ".steelyard/steelyard.db") as store:
        tried = [reply.attempts for record in store.runs()[0].records() for reply in record.replies["target"]]
    # On a busy machine an attempt may time out before the server has read it.
    assert sum(len(one) for one in tried) >= len(requests), "every attempt is recorded"


@pytest.mark.slow
@pytest.mark.parametrize("wire", WIRES)
def test_a_providers_own_api_survives_every_passing_fault_and_a_kill(tmp_path, wire):
    """One of two targets is answered in streams; with this seed each of them meets every fault."""
    faults = ("--fault-rate", "0.4", "--latency-ms", "20", "--retry-after", "0.2", "--seed", "10")
    with ledger_server(tmp_path, "--wire", wire, *faults) as server:
        write_exam(tmp_path, server.url, QUESTIONS, **TWO)
        config = json.loads((tmp_path / "exam.json").read_text())
        config["samples"]["first"] = QUESTIONS // 2
        url = server.url.replace("/v1", "/api") if wire == "ollama" else server.url
        # Anthropic's replies are streamed where they may be long.
        streams = {"parameters": {"max_tokens": 30_000}} if wire == "anthropic" else {"stream": True}
        for name, more in (("first", {}), ("second", streams)):
            model = {"name": "ledger", "base_url": url, "timeout_s": 0.5, **more}
            config["targets"][name]["prompt"]["model"] = {wire: model}
        config["options"] = {"retry": {"base_s": 0.2, "cap_s": 1}, "concurrency": CONCURRENCY}
        (tmp_path / "exam.json").write_text(json.dumps(config))
        process = started(tmp_path, "run", "exam.json", "--quiet")
        while journal_size(tmp_path) < QUESTIONS // 4:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        time.sleep(0.2)  # what the killed process was told to wait, the next one cannot know
        out = json.loads(command_here(tmp_path, "resume", "--quiet", "--json").out)
        assert [(run["errors"], run["done"]) for run in out["runs"]] == [(0, QUESTIONS // 2)] * 2
        seen = {(one["prompt"].partition(":")[0], one["fault"]) for one in server.requests()}
        assert seen == {(name, fault) for name in ("first", "second") for fault in ("", *FAULTS)}
        streamed = {(one["prompt"].partition(":")[0], one["streams"]) for one in server.answered()}
        assert streamed == {("first", False), ("second", True)}
        assert not [one for one in server.requests() if one["early"]]
        assert len(server.answered()) <= QUESTIONS + CONCURRENCY
    n = QUESTIONS // 2
    assert stages_of(tmp_path) == {name: [("target", n, 20 * n, n)] for name in ("first", "second")}


@pytest.mark.slow
def test_first_interrupt_finishes_what_is_in_flight_and_resume_completes(tmp_path):
    with ledger_server(tmp_path, "--latency-ms", "40") as server:
        write_exam(tmp_path, server.url, QUESTIONS, **TWO)
        process = started(tmp_path, "run", "exam.json", "--quiet")
        while not server.ledger.exists() or len(server.answered()) < 30:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 130, (out, err)
        assert "resume" in out
        assert journal_size(tmp_path) == len(server.answered())
        command_here(tmp_path, "resume", "--quiet")
        assert len(server.answered()) == 2 * QUESTIONS, "nothing was asked twice"
