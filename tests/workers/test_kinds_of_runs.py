"""Whatever one process can run, several run with the same result: rotations, repeats, judging runs, later scorings."""

from __future__ import annotations

import signal

import pytest
from tests.running_server import ledger_server, write_duel
from tests.workers.exam import Exam, counted, finish, kill

from steelyard.store import Store

pytestmark = pytest.mark.scale

ALONE: tuple[str, ...] = ()
TOGETHER = ("--workers", "3")
THINGS = 120
FULL = {"question": "full"}


def exam_of_duel(folder, store, url, **options):
    """A judging run over the answers of two targets."""
    write_duel(folder / "exam.json", url, THINGS, **options)
    return Exam(folder, store, THINGS)


def test_rotations_repeats_a_later_scoring_and_a_choice_of_samples_are_those_of_one_process(tmp_path, on_server):
    seen = {}
    for workers, store in ((ALONE, str(tmp_path / "s.db")), (TOGETHER, on_server)):
        with ledger_server(tmp_path / f"server{len(workers)}") as server:
            keys = {"orders": "rotations"}
            exam = Exam.write(tmp_path, store, server.url, questions=12, targets=("first",), keys=keys, repeats=2)
            finish(exam.start("run", "exam.json", "--quiet", *workers))
            states = [exam.scores()]
            finish(exam.start("rescore", "first", "--rule", "strict_only_letter"))
            states.append(exam.scores())
            finish(exam.start("run", "exam.json", "--quiet", "--only", "wrong", "--from", "first", *workers))
            states.append(exam.scores())
            seen[workers] = states
            assert len(states[0]["first"]) == 12 * 4 * 2
            assert 0 < len(states[2]["first"]) < 12 * 4 * 2
            assert exam.is_sound()[0]
    assert seen[ALONE] == seen[TOGETHER]


def test_a_judging_run_reads_the_answers_that_all_workers_gave(tmp_path, on_server):
    seen = {}
    for workers, store in ((ALONE, str(tmp_path / "s.db")), (TOGETHER, on_server)):
        with ledger_server(tmp_path / f"server{len(workers)}", "--judge") as server:
            duel = exam_of_duel(tmp_path, store, server.url)
            finish(duel.start("run", "exam.json", "--quiet", *workers))
            assert duel.states() == dict.fromkeys(("first", "second", "first vs second"), ("finished", THINGS, 0))
            seen[workers] = verdicts(duel), counted(server)
            assert duel.is_sound()[0]
    assert seen[ALONE] == seen[TOGETHER]


@pytest.fixture(scope="module")
def decided(tmp_path_factory):
    """What one process decides of the duel."""
    folder = tmp_path_factory.mktemp("alone")
    with ledger_server(folder / "server", "--judge") as server:
        duel = exam_of_duel(folder, str(folder / "s.db"), server.url, stop_when_decided=FULL)
        finish(duel.start("run", "exam.json", "--quiet"))
        return decision(duel)


def decision(duel):
    """What ended the runs, and the verdicts that it rests on."""
    with Store(duel.store) as store:
        runs = {run.target: run for run in store.runs()}
        assert {run.state for run in runs.values()} == {"finished"}
        stopping = runs["first vs second"].stopping
    return (stopping.side, stopping.used, stopping.interval, stopping.path), verdicts(duel)


def test_an_early_stop_is_decided_on_the_same_samples_as_in_one_process(tmp_path, on_server, decided):
    with ledger_server(tmp_path / "server", "--judge", "--latency-ms", "20") as server:
        duel = exam_of_duel(tmp_path, on_server, server.url, stop_when_decided=FULL)
        finish(duel.start("run", "exam.json", "--quiet", "--workers", "3"))
        assert decision(duel) == decided
        assert 10 < decided[0][1] < THINGS
        assert len(server.answered()) < THINGS * 4
        assert duel.is_sound()[0]


def test_workers_decide_by_themselves_when_their_leader_and_one_of_them_are_killed(tmp_path, on_server, decided):
    with ledger_server(tmp_path / "server", "--judge", "--latency-ms", "150") as server:
        duel = exam_of_duel(tmp_path, on_server, server.url, stop_when_decided=FULL)
        run = duel.start("run", "exam.json", "--quiet", "--workers", "3")
        duel.until(lambda: duel.done() > 20)
        (unlucky, *_) = duel.until(duel.pids)
        run.kill()
        kill(unlucky)
        duel.until(lambda: {state for state, *_ in duel.states().values()} == {"finished"}, 90)
        run.communicate()
        assert decision(duel) == decided
        assert duel.is_sound()[0]


def test_workers_name_the_budget_that_ends_an_early_stop_without_its_leader(tmp_path, on_server):
    with ledger_server(tmp_path / "server", "--judge", "--latency-ms", "1500") as server:
        duel = exam_of_duel(tmp_path, on_server, server.url, stop_when_decided=FULL, budget={"minutes": 0.4})
        run = duel.start("run", "exam.json", "--quiet", "--workers", "3")
        duel.until(lambda: duel.done() > 2)
        run.kill()
        run.communicate()
        with Store(on_server) as store:
            ends = {(ended.state, ended.reason) for ended in store.runs()}
        assert ends == {("interrupted", "the budget of 0.4 minutes is used up")}


def test_an_early_stop_that_was_interrupted_is_resumed_to_the_same_decision(tmp_path, on_server, decided):
    with ledger_server(tmp_path / "server", "--judge", "--latency-ms", "150") as server:
        duel = exam_of_duel(tmp_path, on_server, server.url, stop_when_decided=FULL)
        run = duel.start("run", "exam.json", "--quiet", "--workers", "3")
        duel.until(lambda: duel.done() > 20)
        run.send_signal(signal.SIGINT)
        finish(run, 130)
        assert {state for state, *_ in duel.states().values()} == {"interrupted"}
        finish(duel.start("resume", "--quiet", "--workers", "2"))
        assert decision(duel) == decided


def verdicts(duel):
    """(sample, outcome, value) of each judged record."""
    with Store(duel.store) as store:
        (judged,) = [run for run in store.runs() if run.target == "first vs second"]
        return [
            (row.sample, row.repeat, row.outcome, row.value) for row in judged.data().scores.judged_rows("preference")
        ]
