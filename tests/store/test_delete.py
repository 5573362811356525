"""Deleting runs takes all that is theirs alone and nothing else, in one step, at whatever moment it is killed."""

import os
import signal
import subprocess
import sys
import time

import pytest
from tests.store.outside import execute
from tests.store.test_repair import REPLIES, SAMPLES, length
from tests.thorough import times

from steelyard import Options, Prompt, Store, Suite, evaluate
from steelyard.errors import StoreError
from steelyard.evaluation import RunConfig, evaluate_suite
from steelyard.evaluation.rescore import rescore
from steelyard.models.budget import Budget
from steelyard.models.scripted import Scripted
from steelyard.plain_json import json_value
from steelyard.store.database import schema
from steelyard.store.delete import delete_runs, preview_deletion
from steelyard.store.repair import verify

OF_RUNS = ("run", "record", "score", "scoring_version", "stage", "checksum", "event", "stopping")


def run_over(samples, where, **more):
    return evaluate(Prompt(Scripted(REPLIES), "{{question}}"), samples, [length], store=where, **more)


def count(where, table):
    return execute(where, f"SELECT count(*) FROM {table}")[0][0]


def test_what_others_use_stays_and_what_nobody_uses_goes(where):
    first = run_over(SAMPLES[:60], where)
    second = run_over(SAMPLES[40:100], where)
    with Store(where) as store:
        before = [list(store.run(second.id).records()), store.run(second.id).summary()]
        told = preview_deletion(store, [first])
        assert json_value(told) == {
            "runs": 1, "records": 60, "scores": 60, "samples": 40, "replies": 40, "notes": 0, "labels": 0
        }  # fmt: skip
        gone = delete_runs(store, [store.run(first.id)])
        assert (gone.samples, gone.replies) == (40, 0)
        assert [run.id for run in store.runs()] == [second.id]
        assert [list(store.run(second.id).records()), store.run(second.id).summary()] == before
        assert verify(store).damages == []
    assert count(where, "reply") == 100, "replies stay for whoever asks the same again"
    assert run_over(SAMPLES[:60], where).from_journal == 60


def test_replies_go_where_that_is_asked_for(where):
    first = run_over(SAMPLES[:60], where)
    run_over(SAMPLES[40:100], where)
    with Store(where) as store:
        assert delete_runs(store, [first], replies=True).replies == 40
        assert verify(store).is_sound
    assert count(where, "reply") == 60
    assert run_over(SAMPLES[:60], where).from_journal == 20


def test_nothing_of_all_runs_is_left_but_what_was_spent(where):
    budget = Options(budget=Budget(calls=100))
    suite = Suite("s", "custom", SAMPLES[:30], {"t": Prompt(Scripted(REPLIES), "{{question}}")}, (length,), budget)
    [run] = evaluate_suite(suite, how=RunConfig(store=where))
    with Store(where) as store:
        rescore(store, run, [length])
        spent = store.spending(run.evaluation)[:2]
        delete_runs(store, store.runs(), replies=True)
        assert store.spending(run.evaluation)[:2] == spent
        assert spent[0] == 30
        assert verify(store).is_sound
    assert {table: count(where, table) for table in (*OF_RUNS, "sample", "reply")} == dict.fromkeys(
        [*OF_RUNS, "sample", "reply"], 0
    )


def test_every_table_with_rows_of_runs_is_known():
    assert {table.name for table in schema.RUN_TABLES} == {
        "record", "score", "scoring_version", "stage", "stopping", "checksum", "event", "running_score",
        "drawn", "reservation", "computed",
    }  # fmt: skip


def test_a_run_that_is_being_written_is_not_deleted(where):
    first = run_over(SAMPLES[:5], where)
    with Store(where) as store, Store(where) as other:
        from tests.store.test_store import new

        writer = store.begin_evaluation([new()])[1][0]
        with pytest.raises(StoreError, match="is being written by another process"):
            delete_runs(other, [writer.run])
        with pytest.raises(StoreError, match=rf"run {writer.run.id} is being written and may use these replies"):
            delete_runs(other, [first], replies=True)
        assert len(other.runs()) == 2
        assert delete_runs(other, [first]).runs == 1, "a refusal does not end the store"
        writer.abandon()
        assert delete_runs(other, [writer.run], replies=True).runs == 1


DELETE = """
import sys
from steelyard.store import Store
from steelyard.store import delete
with Store(sys.argv[1]) as store:
    store.writer
    print("ready", flush=True)
    sys.stdin.readline()
    delete.delete_runs(store, store.runs()[:1], replies=True)
    print("done", flush=True)
"""


@pytest.mark.slow
def test_killed_at_any_moment_a_run_is_there_or_gone(where):
    kept = run_over(SAMPLES[:20], where)
    for wait in (*times((0.01,), (0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)), "until it is done"):
        run = run_over(SAMPLES[10:], where, fresh=True, repeats=2)
        process = subprocess.Popen(
            [sys.executable, "-c", DELETE, str(where)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdout.readline() == b"ready\n"
        process.stdin.write(b"\n")
        process.stdin.flush()
        if isinstance(wait, str):
            assert process.stdout.readline() == b"done\n"
        else:
            time.sleep(wait)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        with Store(where) as store:
            there = {run.id for run in store.runs()}
            assert kept.id in there
            assert verify(store).damages == []
            if run.id in there:
                assert wait != "until it is done"
                assert len(list(store.run(run.id).records())) == 220
                delete_runs(store, [run], replies=True)
            assert {run.id for run in store.runs()} == {kept.id}
