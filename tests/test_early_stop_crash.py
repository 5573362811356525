"""A judged evaluation that ends early, killed for real and resumed: the same decision, and nothing paid for twice."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter

import pytest
from tests.command_here import command_here
from tests.running_server import ledger_server, started, write_duel
from tests.thorough import times

from steelyard.errors import ConfigError
from steelyard.store import Store

QUESTIONS = 150
KILLS = times(1, 4)


def begun_or_resumed(folder):
    resumed = runs_in(folder / ".steelyard/steelyard.db")
    return ("resume",) if resumed else ("run", "duel.json", "--stop-when-decided", "full")


def verdicts_of(folder):
    with Store(folder / ".steelyard/steelyard.db") as store:
        runs = {run.target: run for run in store.runs()}
        assert {run.state for run in runs.values()} == {"finished"}
        judged = runs["first vs second"]
        decided = judged.stopping
        rows = [row[:7] for row in judged.data().scores.judged_rows("preference")]
        return (decided.used, decided.side, decided.interval, decided.path), rows, decided


def killed_and_resumed(folder, server, draw):
    """Run it, kill it when some more questions have been answered, resume it each time; how often it was killed."""
    kills = 0
    while kills < KILLS:
        process = started(folder, *begun_or_resumed(folder), "--quiet")
        answered = len(server.answered()) + draw.randint(5, 25)
        while process.poll() is None and len(server.answered()) < answered:
            time.sleep(0.05)
        if process.poll() is not None:
            out, err = process.communicate()
            assert process.returncode == 0, (out, err)
            return kills
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        kills += 1
    command_here(folder, *begun_or_resumed(folder), "--quiet")
    return kills


def asked_again(server):
    """Questions that were answered before, in the same words."""
    paid = Counter(one["prompt"] for one in server.answered())
    return sum(paid.values()) - len(paid)


def runs_in(path):
    try:
        with Store(path) as store:
            return len(store.runs())
    except ConfigError:  # killed before there was a store
        return 0


@pytest.mark.slow
def test_killed_and_resumed_it_comes_to_the_same_decision_at_any_concurrency(tmp_path):
    draw, found = random.Random(5), []
    for concurrency in (1, 32):
        with ledger_server(tmp_path / f"calm{concurrency}", "--judge") as server:
            calm = tmp_path / f"calm{concurrency}"
            write_duel(calm / "duel.json", server.url, QUESTIONS, concurrency=concurrency)
            command_here(calm, *begun_or_resumed(calm), "--quiet")
            found.append(verdicts_of(calm))
            alike = asked_again(server)  # two equal answers make the same request in both orders
        latency_ms = 20 * concurrency**0.7
        with ledger_server(tmp_path / f"killed{concurrency}", "--judge", "--latency-ms", str(latency_ms)) as server:
            killed = tmp_path / f"killed{concurrency}"
            write_duel(killed / "duel.json", server.url, QUESTIONS, concurrency=concurrency)
            kills = killed_and_resumed(killed, server, draw)
            assert kills >= 1, "it ended before it could be killed"
            in_flight = 3 * 2 * concurrency  # three runs side by side, the judging one asks in both orders
            assert asked_again(server) - alike <= kills * in_flight
            found.append(verdicts_of(killed))
    decisions, rows, (first, *_) = zip(*found, strict=True)
    assert len({json.dumps(one) for one in decisions}) == 1
    assert all(one == rows[0] for one in rows)
    assert first.side == "above"
    assert 10 < first.used < QUESTIONS
