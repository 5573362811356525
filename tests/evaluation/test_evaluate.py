"""evaluate: from everywhere the same, resumable, and honest about what it took from the journal."""

from __future__ import annotations

import asyncio
import gc
import os
import pty
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from tests.loopback import http, peer, said, until
from tests.running_server import ledger_server

from steelyard import (
    Baseline,
    Budget,
    ConfigError,
    ExactMatch,
    OpenAICompatible,
    Options,
    Prompt,
    Sample,
    ScoreInfo,
    Scripted,
    Store,
    Suite,
    aevaluate,
    aevaluate_suite,
    evaluate,
    evaluate_suite,
)
from steelyard.data import SampleFiles
from steelyard.errors import RunError, StoreError
from steelyard.evaluation import RunConfig, RunHandle
from steelyard.evaluation.evaluate import progress_text
from steelyard.evaluation.rescore import rescore
from steelyard.models import Retry
from steelyard.runner import Progress
from steelyard.store.database.sqlite import RunLock
from steelyard.suites import ChoiceSuite

SCRIPT = """
import sys, time
from steelyard import ExactMatch, Sample, evaluate

def slow(sample):
    time.sleep(0.12)
    if sample.id == "q3":
        raise ValueError("no")
    return "A"

samples = [Sample(f"q{n}", "Which?", "A") for n in range(12)]
run = evaluate(slow, samples, [ExactMatch()], store=sys.argv[1], concurrency=1, max_errors=0.5, **eval(sys.argv[2]))
print(run.state)
"""


def samples(n=20):
    return [Sample(f"q{k}", f"question {k}", "A" if k % 2 else "B") for k in range(n)]


def plain(sample):
    return "A"


def test_it_is_called_the_same_inside_a_running_event_loop():
    async def notebook():
        return evaluate(plain, samples(), [ExactMatch()]), await aevaluate(plain, samples(), [ExactMatch()])

    result = [evaluate(plain, samples(), [ExactMatch()]), *asyncio.run(notebook())]
    assert [(run.state, run.done, run.summary().scores[0].answered.value) for run in result] == [
        ("finished", 20, 0.5)
    ] * 3


def test_an_error_inside_a_running_event_loop_is_raised_where_it_is_called():
    async def notebook():
        evaluate(plain, [], [ExactMatch()])

    with pytest.raises(Exception, match="there are no samples to run"):
        asyncio.run(notebook())


NOTEBOOK = """
import asyncio, sys
from steelyard import *
target = Prompt(OpenAICompatible("m", sys.argv[1]))
async def cell():
    try:
        evaluate(target, [Sample(f"q{n}", f"{n}", "A") for n in range(5000)], [ExactMatch()], concurrency=4)
    except KeyboardInterrupt:
        print("stopped", flush=True)
loop = asyncio.new_event_loop()
loop.run_until_complete(cell())
sys.stdin.read()
"""


@pytest.mark.slow
def test_a_notebook_that_is_stopped_sends_nothing_more(tmp_path):
    with (
        ledger_server(tmp_path, "--latency-ms", "20") as server,
        subprocess.Popen(
            [sys.executable, "-c", NOTEBOOK, server.url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process,
    ):
        # Not while it imports: Python drops a KeyboardInterrupt that comes as a lock of its import system is let go.
        while not server.ledger.exists() or server.ledger.read_bytes().count(b"\n") < 20:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "stopped\n"
        stopped_at = time.time()
        time.sleep(0.3)
        late = [entry for entry in server.requests() if entry["came"] > stopped_at]
        process.stdin.close()
        assert process.wait(10) == 0
        assert 0 < len(server.requests()) < 5000, "the run went on to its end"
        assert not late


def test_the_collector_runs_less_often_while_a_run_runs_and_as_before_when_it_is_over():
    before, during = gc.get_threshold(), []

    def answer(sample):
        during.append(gc.get_threshold()[0])
        return "A"

    evaluate(answer, [Sample("q", "Which?", "A")], [ExactMatch()])

    assert during[0] > before[0]
    assert gc.get_threshold() == before


def test_an_unknown_option_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match=r"evaluate\(\) has no option 'concurency': did you mean 'concurrency'"):
        evaluate(plain, samples(), [ExactMatch()], concurency=3)


def test_samples_that_can_be_read_once_are_kept():
    assert evaluate(plain, iter(samples(5)), [ExactMatch()]).done == 5


def test_each_target_is_a_run_of_its_own_in_order():
    suite = Suite("s", "custom", samples(4), {"b": plain, "a": plain}, (ExactMatch(),))
    runs = evaluate_suite(suite)
    assert [(run.target, run.state) for run in runs] == [("b", "finished"), ("a", "finished")]
    assert runs[0].evaluation == runs[1].evaluation


def test_a_suite_takes_the_options_that_evaluate_takes(tmp_path):
    suite = Suite("s", "custom", samples(4), {"a": plain}, (ExactMatch(),), Options(concurrency=3, seed=5))
    [run] = evaluate_suite(suite, store=tmp_path / "here.db", repeats=2, fresh=True)
    assert run.done == 8
    assert (tmp_path / "here.db").exists()
    assert run.manifest["options"]["repeats"] == 2
    assert run.manifest["options"]["seed"] == 5, "options that are not named stay those of the suite"
    with pytest.raises(ConfigError, match=r"evaluate_suite\(\) has no option 'repeat': did you mean 'repeats'"):
        evaluate_suite(suite, repeat=2)
    with pytest.raises(ConfigError, match="from `how` or from `store`"):
        evaluate_suite(suite, store=tmp_path / "here.db", how=RunConfig())


def test_what_describes_a_suite_is_built_with_the_options_that_are_named(tmp_path):
    table = tmp_path / "exam.csv"
    rows = "\n".join(f"question {n},one,two,three,A" for n in range(12))
    table.write_text(f"question,A,B,C,answer\n{rows}\n", encoding="utf-8")
    columns = {"question": "question", "options": "A:C", "answer": "answer"}
    suite = ChoiceSuite(SampleFiles(table, columns=columns), {"guess": Baseline("random")}, orders="shuffled")
    [one] = evaluate_suite(suite, seed=1)
    [same] = evaluate_suite(replace(suite, options=Options(seed=1)).build())
    [other] = evaluate_suite(suite, seed=2)
    assert (one.data().hashes == same.data().hashes).all()
    assert (one.data().hashes != other.data().hashes).any()


def talk(answer, work):
    async def run():
        async with peer(answer) as server:
            return await work(Prompt(OpenAICompatible("m", server.url)), server), server

    return asyncio.run(run())


def test_a_second_run_of_the_same_is_answered_by_the_journal_and_says_so():
    async def work(target, server):
        first = await aevaluate(target, samples(), [ExactMatch()])
        again = await aevaluate(target, samples(), [ExactMatch()])
        fresh = await aevaluate(target, samples(), [ExactMatch()], fresh=True)
        return [(run.replies, run.from_journal) for run in (first, again, fresh)], list(again.records())

    (counts, records), server = talk(lambda n, _: said("A"), work)
    assert counts == [(20, 0), (20, 20), (20, 0)]
    assert all(record.replies["target"][0].cached for record in records)
    assert len(server.asked) == 40


def test_a_stop_finishes_what_is_in_flight_and_a_resume_asks_the_rest():
    async def answer(n, asked):
        await asyncio.sleep(0.02)
        return said("A")

    async def work(target, server):
        control = RunHandle()
        suite = Suite("s", "custom", samples(40), {"t": target, "u": target}, (ExactMatch(),), Options(concurrency=4))
        running = asyncio.create_task(aevaluate_suite(suite, control=control))
        await until(lambda: len(server.asked) >= 10)
        control.stop("enough")
        runs = await running
        sent = len(server.asked)
        counts = (
            [(run.state, run.reason, run.done) for run in runs],
            [progress.in_flight for progress in control.progress],
        )
        resumed = await aevaluate_suite(suite, how=RunConfig(resume=runs[1].id))
        return sent, counts, [(run.state, run.done, run.from_journal) for run in resumed]

    (sent, (states, in_flight), resumed), server = talk(answer, work)
    assert states == [("interrupted", "enough", sent), ("interrupted", "enough", 0)]
    assert 10 <= sent <= 18
    assert in_flight == [0, 0]
    assert [entry[:2] for entry in resumed] == [("finished", 40)] * 2
    assert len(server.asked) == 40, "the second target asks the same, so the journal answers"


def test_a_resume_replaces_failed_records_and_its_counters_are_those_of_the_store():
    async def work(target, server):
        run = await aevaluate(
            target, samples(30), [ExactMatch()], max_errors=0.0, retry=Retry(attempts=1), on_broken="return"
        )
        before = run.done, run.errors, run.replies, run.state
        run = await aevaluate(target, samples(30), [ExactMatch()], resume=run.id)
        records = list(run.records())
        return (
            before,
            (run.done, run.errors, run.replies, run.state),
            [record.failure for record in records],
            run.summary(),
        )

    def answer(n, asked):
        broken = asked.prompt in {"question 3", "question 7"} and n < 30
        return http(500, b"{}") if broken else said("A")

    (before, after, failures, summary), server = talk(answer, work)
    assert before == (30, 2, 28, "broken")
    assert after == (30, 0, 30, "finished")
    assert set(failures) == {None}
    assert (summary.counts.input_tokens, summary.counts.output_tokens) == (600, 30)
    assert len(server.asked) == 32


def test_a_resume_refuses_changed_inputs_by_name_unless_told_otherwise():
    run = evaluate(Prompt(Scripted(default="A")), samples(), [ExactMatch()], budget=Budget(calls=3))
    assert run.state == "interrupted"
    for change in (
        {"target": Prompt(Scripted(default="B"))},
        {"samples": samples(19)},
        {"scorers": [ExactMatch(ignore_case=True)]},
        {"repeats": 2},
    ):
        requests = {"target": Prompt(Scripted(default="A")), "samples": samples(), "scorers": [ExactMatch()], **change}
        with pytest.raises(
            ConfigError, match=r"cannot be resumed: changed since it was started: (target|samples|scorers|options)\."
        ):
            evaluate(**requests, resume=run.id)
    assert Store().run(run.id).state == "interrupted"
    changed = evaluate(Prompt(Scripted(default="B")), samples(), [ExactMatch()], resume=run.id, allow_changed=True)
    assert (changed.id, changed.state, changed.done) == (run.id, "finished", 20)
    assert [record.output.value for record in changed.records()] == ["A"] * 3 + ["B"] * 17


def test_a_finished_run_is_not_resumed():
    run = evaluate(plain, samples(), [ExactMatch()])
    with pytest.raises(ConfigError, match=f"run {run.id} is finished: there is nothing to resume"):
        evaluate(plain, samples(), [ExactMatch()], resume=run.id)


def test_a_run_that_another_process_writes_is_not_resumed_and_nothing_is_left_locked():
    suite = Suite(
        "s",
        "custom",
        samples(),
        {"a": Prompt(Scripted()), "b": Prompt(Scripted())},
        (),
        Options(budget=Budget(calls=1)),
    )
    runs = evaluate_suite(suite)
    lock = RunLock(Store().path, runs[1].id)
    with pytest.raises(StoreError, match=rf"run {runs[1].id} is being written by another process \(pid \d+\)"):
        evaluate_suite(suite, how=RunConfig(resume=runs[0].id))
    lock.release()
    assert [run.state for run in Store().runs()] == ["interrupted"] * 2
    resumed = evaluate_suite(
        Suite("s", "custom", samples(), suite.targets, (), Options(budget=Budget(calls=100))),
        how=RunConfig(resume=runs[0].id),
    )
    assert [run.state for run in resumed] == ["finished"] * 2


def test_a_budget_ends_all_runs_of_an_evaluation_and_a_raised_one_goes_on():
    async def work(target, server):
        def suite(calls):
            options = Options(concurrency=4, budget=Budget(calls=calls))
            other = Prompt(target.model, "other: {{question}}")
            return Suite("s", "custom", samples(), {"a": target, "b": other}, (ExactMatch(),), options)

        first = await aevaluate_suite(suite(25))
        requests = len(server.asked)
        again = await aevaluate_suite(suite(25), how=RunConfig(resume=first[0].id))
        same = len(server.asked) - requests
        last = await aevaluate_suite(suite(40), how=RunConfig(resume=first[0].id))
        return [[(run.state, run.done) for run in runs] for runs in (first, again, last)], requests, same

    (states, requests, same), server = talk(lambda n, _: said("A"), work)
    assert states == [
        [("finished", 20), ("interrupted", 5)],
        [("finished", 20), ("interrupted", 5)],
        [("finished", 20), ("finished", 20)],
    ]
    assert (requests, same, len(server.asked)) == (25, 0, 40)


def test_a_wrong_key_ends_one_target_and_the_next_still_runs():
    def answer(n, asked):
        return http(401, b"{}") if asked.headers["authorization"] == "Bearer wrong-key" else said("A")

    async def run():
        async with peer(answer) as server:
            targets = {name: Prompt(OpenAICompatible("m", server.url, f"${{{name}}}")) for name in ("BAD", "GOOD")}
            suite = Suite("s", "custom", samples(), targets, (ExactMatch(),))
            return await aevaluate_suite(
                suite, how=RunConfig(environment={"BAD": "wrong-key", "GOOD": "right-key"}), on_broken="return"
            )

    bad, good = asyncio.run(run())
    assert (bad.state, bad.done) == ("broken", 0)
    assert (good.state, good.done, good.errors) == ("finished", 20, 0)


def test_progress_shows_what_earlier_processes_had_done():
    run = evaluate(Prompt(Scripted(default="A")), samples(), [ExactMatch()], budget=Budget(calls=3))
    suite = Suite("evaluation", "custom", samples(), {run.target: Prompt(Scripted(default="A"))}, (ExactMatch(),))
    control = RunHandle()
    asyncio.run(aevaluate_suite(suite, how=RunConfig(resume=run.id), control=control))
    (progress,) = control.progress
    assert (progress.before, progress.done, progress.planned, progress.errors, progress.in_flight) == (3, 20, 20, 0, 0)


class Prepared:
    """A scorer that looks at its engine first."""

    score_infos = (ScoreInfo("prepared"),)

    def __init__(self, problem=""):
        self.problem = problem
        self.calls = []

    def prepare(self, sandbox):
        self.calls.append(("prepare", type(sandbox).__name__))
        if self.problem:
            raise ConfigError(self.problem)

    def __call__(self, sample, output):
        self.calls.append(("score", sample.id))
        return 1.0


def test_what_runs_sql_is_prepared_once_before_anything_is_asked():
    scorer = Prepared()
    evaluate(plain, samples(2), [scorer])
    assert scorer.calls[0] == ("prepare", "Sandbox")
    assert sorted(scorer.calls[1:]) == [("score", "q0"), ("score", "q1")]


def test_an_engine_that_is_refused_ends_it_before_a_run_is_made():
    scorer = Prepared("duckdb cannot be held here")
    with pytest.raises(ConfigError, match="cannot be held"):
        evaluate(plain, samples(2), [scorer], store="s.db")
    with Store("s.db") as store:
        assert list(store.runs()) == []
    assert scorer.calls == [("prepare", "Sandbox")]


@pytest.mark.parametrize("unsafe", [False, True])
def test_engines_that_cannot_be_held_are_taken_only_where_it_is_said(unsafe):
    seen = []

    class Looking(Prepared):
        def prepare(self, sandbox):
            seen.append(sandbox._unsafe)

    run = evaluate(plain, samples(1), [Looking()], store="s.db", unsafe_sql=unsafe)
    with Store("s.db") as store:
        rescore(store, store.run(run.id), [Looking()], unsafe_sql=unsafe)
    assert seen == [unsafe, unsafe]


def fails(sample):
    raise ValueError("the file is gone")


def test_a_run_that_ends_as_broken_raises_with_the_run_on_the_error(tmp_path):
    with pytest.raises(RunError, match=r"run \w+ of fails is broken: .*the file is gone.*on_broken='return'") as caught:
        evaluate(fails, samples(), [ExactMatch()], store=tmp_path / "s.db")
    run = caught.value.run
    assert (run.state, run.done, run.target) == ("broken", 20, "fails")
    assert [record.failure.stage for record in run.records()] == ["target"] * 20
    returned = evaluate(fails, samples(), [ExactMatch()], store=tmp_path / "s.db", on_broken="return")
    assert (returned.state, returned.id != run.id) == ("broken", True)


def test_of_several_targets_all_are_run_before_the_broken_one_raises(tmp_path):
    suite = Suite("two", "custom", samples(), {"bad": fails, "good": plain}, (ExactMatch(),))
    with pytest.raises(RunError, match="of bad is broken") as caught:
        evaluate_suite(suite, store=tmp_path / "s.db")
    assert [(run.target, run.state) for run in caught.value.runs] == [("bad", "broken"), ("good", "finished")]
    with pytest.raises(ConfigError, match="on_broken is 'raise' or 'return', not 'never'"):
        evaluate_suite(suite, store=tmp_path / "s.db", on_broken="never")


def printed(tmp_path, options):
    """What a terminal of 60 columns gets of the script, its standard error."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "s.db"), options],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "COLUMNS": "60"},
    )
    os.close(theirs)
    text = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # Linux's way to say that the other side was closed
            break
        if not piece:
            break
        text += piece
    os.close(ours)
    assert process.communicate()[0].decode().strip() == "finished"
    return text.decode()


def test_a_terminal_shows_one_line_that_is_redrawn_and_ends_with_the_whole(tmp_path):
    lines = printed(tmp_path, "{}").split("\r")
    assert len(lines) > 3
    assert all(line.startswith("slow: ") and len(line.rstrip("\n")) < 60 for line in lines if line.strip())
    last = next(line for line in reversed(lines) if line.strip())
    assert last.startswith("slow: 12 of 12 (100 %), 1 error")


def test_progress_can_be_turned_off(tmp_path):
    assert printed(tmp_path, "{'progress': False}") == ""


def test_what_is_no_terminal_gets_no_progress(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "s.db"), "{}"], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("targets", "line"),
    [
        ([Progress("a", 0)], "a: 0 of 0 (0 %), 10 s"),
        ([Progress("a", 40)], "a: 0 of 40 (0 %), 10 s"),
        ([Progress("a", 40, 20, before=10)], "a: 20 of 40 (50 %), 20 s left"),
        ([Progress("a", 40, 40), Progress("b", 40, 10, errors=2)], "2 targets: 50 of 80 (62 %), 2 errors, 6 s left"),
        ([Progress("a", 40, 20, ended_early=True)], "a: 20 of 40 (50 %), 10 s"),
        ([Progress("a\x1b[2J", 1, 1)], "a\\x1b[2J: 1 of 1 (100 %), 10 s"),
    ],
)
def test_the_line_says_what_is_done_and_what_is_left(targets, line):
    assert progress_text(targets, 10.0) == line


@pytest.mark.parametrize("gate", [{"right": {"min": 0.9}}, {"right": "about 0.9"}, {"no_regression": {"right": 0.1}}])
def test_a_gate_that_cannot_be_read_is_refused_before_anything_is_asked(tmp_path, gate):
    with pytest.raises(ConfigError):
        Suite("S", "general", [Sample("a", "?", "!")], {"t": str}, (ExactMatch(),), gate=gate)
