"""A run: time limits, repeats, error limits, what ends it, and that nothing hangs."""

import asyncio
import subprocess
import sys
import time
import tracemalloc

import pytest
from tests.loopback import http, peer, said

from steelyard import ExactMatch, OpenAICompatible, Prompt, Sample, Scripted, aevaluate, evaluate
from steelyard.errors import DataError
from steelyard.models import Retry
from steelyard.runner import Progress, Runner, RunPlan, Task
from steelyard.session.secrets import Secrets
from steelyard.session.session import Session
from steelyard.store import NewRun, Store
from steelyard.targets.adapters import Function
from steelyard.types import Usage


def samples(n=3):
    return [Sample(f"q{k}", f"question {k}", "A") for k in range(n)]


def outcome(target, scorers=(), n=1, **options):
    return list(evaluate(target, samples(n), list(scorers) or [ExactMatch()], max_errors=1.0, **options).records())


def plain(sample):
    return "A"


BLOCKED = """
import threading, time
from steelyard import ExactMatch, Sample, evaluate

def blocks(sample):
    threading.Event().wait()

async def sleeps(sample):
    await __import__("asyncio").Event().wait()

for target in (blocks, sleeps):
    run = evaluate(target, [Sample("1", "q", "A"), Sample("2", "q", "A")], [ExactMatch()],
                   sample_timeout_s=0.2, max_errors=1.0, concurrency=2)
    print([(one.failure.stage, one.failure.kind, one.failure.message) for one in run.records()])
"""


def test_a_sample_has_a_time_limit_and_a_function_that_blocks_for_ever_keeps_no_process_alive():
    out = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, text=True, timeout=30, check=True)
    assert out.stdout.splitlines() == [str([("target", "timeout", "not done within 0.2 s")] * 2)] * 2
    assert not out.stderr


def test_the_time_limit_covers_scorers_and_keeps_what_there_was():
    async def endless(sample, output):
        await asyncio.Event().wait()

    (record,) = outcome(plain, [ExactMatch(), endless], sample_timeout_s=0.2)
    assert record.output.value == "A"
    assert [score.name for score in record.scores] == ["exact_match"]
    assert (record.failure.stage, record.failure.kind) == ("endless", "timeout")


def test_a_target_may_ask_several_times_and_every_reply_is_recorded_by_stage():
    model = Scripted(function=lambda messages: messages[0]["content"].upper())

    async def target(sample, ask):
        first = await ask(model, "draft")
        again = await ask(model, "draft")
        return (await ask(model, f"{first.text} {again.text} final")).text

    async def judge(sample, output, ask):
        return float(len((await ask(model, output.value)).text))

    (record,) = outcome(target, [judge])
    assert record.output.value == "DRAFT DRAFT FINAL"
    assert {stage: [entry.text for entry in replies] for stage, replies in record.replies.items()} == {
        "target": ["DRAFT", "DRAFT", "DRAFT DRAFT FINAL"],
        "judge": ["DRAFT DRAFT FINAL"],
    }


def test_repeats_ask_anew_and_are_recorded_in_order():
    calls = []

    def target(sample):
        calls.append(sample.id)
        return "A"

    run = evaluate(target, samples(3), [ExactMatch()], repeats=4, concurrency=5)
    assert [(record.sample.id, record.repeat) for record in run.records()] == [
        (f"q{n}", k) for n in range(3) for k in range(4)
    ]
    assert len(calls) == run.done == run.planned == 12


def test_every_repeat_is_a_call_of_its_own():
    async def run():
        async with peer(lambda n, _: said(f"{n}")) as server:
            result = await aevaluate(Prompt(OpenAICompatible("m", server.url)), samples(2), [ExactMatch()], repeats=3)
            return len(server.asked), {record.output.value for record in result.records()}

    assert asyncio.run(run()) == (6, {"0", "1", "2", "3", "4", "5"})


def test_results_are_equal_whatever_the_concurrency():
    def target(sample):
        time.sleep(int(sample.id[1:]) % 3 * 0.001)
        if sample.id == "q7":
            raise ValueError("seven")
        return "AB"[int(sample.id[1:]) % 2]

    result = []
    for concurrency in (1, 32):
        run = evaluate(target, samples(40), [ExactMatch()], concurrency=concurrency, max_errors=1.0)
        result.append([(record.sample, record.output, record.scores, record.failure) for record in run.records()])
    assert result[0] == result[1]


def failing_in(n):
    def target(sample):
        if int(sample.id[1:]) < n:
            raise ValueError("no")
        return "A"

    return target


@pytest.mark.parametrize(
    ("n", "errors", "options", "state"),
    [
        (20, 4, {}, "finished"),
        (20, 5, {}, "broken"),
        (5, 2, {}, "finished"),
        (5, 3, {}, "broken"),
        (2, 2, {}, "broken"),
        (100, 2, {"max_errors": 0.01}, "finished"),
        (100, 3, {"max_errors": 0.01}, "broken"),
        (300, 3, {"max_errors": 0.01}, "finished"),
        (300, 4, {"max_errors": 0.01}, "broken"),
        (100, 1, {"max_errors": 0.0}, "broken"),
        (3, 3, {"max_errors": 1.0}, "finished"),
    ],
)
def test_a_run_is_broken_by_more_than_two_errors_and_more_than_the_share(n, errors, options, state):
    run = evaluate(failing_in(errors), samples(n), [ExactMatch()], on_broken="return", **options)
    assert run.state == state
    assert run.done == n


def test_a_run_is_given_up_with_the_error_that_decides_it():
    run = evaluate(failing_in(500), samples(500), [ExactMatch()], on_broken="return", concurrency=1)
    assert (run.state, run.done, run.errors) == ("broken", 101, 101)
    assert run.reason == "101 errors; the last: target: ValueError: no"


def test_the_reason_counts_the_errors_of_samples_that_were_in_flight():
    """16 are in flight when the 101st fails, and they fail too: sentence and table show one number."""

    async def fails(sample):
        await asyncio.sleep(0)
        raise ValueError("no")

    run = evaluate(fails, samples(500), [ExactMatch()], on_broken="return", concurrency=16)
    assert run.errors > 101
    assert run.reason == f"{run.errors} errors; the last: target: ValueError: no"


def test_a_small_run_is_asked_to_its_end_though_it_is_broken():
    run = evaluate(failing_in(9), samples(12), [ExactMatch()], on_broken="return", concurrency=1)
    assert (run.state, run.done, run.errors) == ("broken", 12, 9)
    assert run.reason.startswith("9 of 12 records failed (75.0%; limit 20.0%)")


def test_an_endpoint_may_fail_in_one_of_a_hundred_and_code_in_one_of_five():
    targets = [Prompt(Scripted(default="A")), answers_a, Function("tests.runner.test_runner:answers_a")]
    runs = [evaluate(entry, samples(3), [ExactMatch()]) for entry in targets]
    assert [run.manifest["options"]["max_errors"] for run in runs] == [0.01, 0.2, 0.2]


def answers_a(sample):
    return "A"


def test_a_resume_past_many_errors_asks_every_failed_sample_again():
    broken = True

    def target(sample):
        if broken:
            raise ValueError("no")
        return "A"

    run = evaluate(target, samples(40), [ExactMatch()], max_errors=1.0, concurrency=4)
    assert (run.errors, run.done) == (40, 40)
    assert run.state == "finished"
    first = evaluate(target, samples(40), [ExactMatch()], on_broken="return", max_errors=0.3, concurrency=4)
    assert first.state == "broken"
    broken = False
    again = evaluate(target, samples(40), [ExactMatch()], max_errors=0.0, concurrency=4, resume=first.id)
    assert (again.id, again.state, again.done, again.errors) == (first.id, "finished", 40, 0)


def test_a_wrong_key_ends_the_run_though_the_target_catches_every_error():
    async def careless(sample, ask):
        try:
            return (await ask(model, sample.input)).text
        except Exception:  # noqa: BLE001  # what users write
            return "A"

    async def run():
        nonlocal model
        async with peer(lambda n, _: http(401, {"error": {"message": "bad key"}})) as server:
            model = OpenAICompatible("m", server.url)
            return await aevaluate(careless, samples(50), [ExactMatch()], on_broken="return", concurrency=4), len(
                server.asked
            )

    model = None
    run, requests = asyncio.run(run())
    assert (run.state, run.done) == ("broken", 0)
    assert "bad key" in run.reason
    assert requests <= 4


def test_whoever_waits_for_a_retry_wakes_when_the_run_ends():
    def answer(n, asked):
        return http(401, b"{}") if asked.prompt == "question 3" else http(503, b"{}", "Retry-After: 500")

    async def run():
        async with peer(answer) as server:
            target = Prompt(OpenAICompatible("m", server.url))
            async with asyncio.timeout(120):  # of the 500 s that it was told to wait
                return await aevaluate(
                    target, samples(4), [ExactMatch()], on_broken="return", concurrency=4, retry=Retry(base_s=30.0)
                )

    assert asyncio.run(run()).state == "broken"


def test_a_dataset_that_gives_fewer_samples_the_second_time_is_no_finished_run():
    class Shrinking:
        passes = 0

        def __iter__(self):
            self.passes += 1
            yield from samples(5 if self.passes == 1 else 3)

    run = evaluate(plain, Shrinking(), [ExactMatch()], on_broken="return")
    assert (run.state, run.done, run.planned) == ("broken", 3, 5)
    assert "the samples gave 3 of 5 records" in run.reason


def test_a_dataset_that_fails_the_second_time_is_told_as_one():
    class Failing:
        passes = 0

        def __iter__(self):
            self.passes += 1
            yield from samples(2)
            if self.passes > 1:
                raise OSError("the file is gone")

    with pytest.raises(DataError, match="the samples cannot be read again: OSError: the file is gone"):
        evaluate(plain, Failing(), [ExactMatch()])


def test_progress_counts_what_is_done_and_what_failed():
    run = evaluate(Prompt(Scripted({"question 1": "A"}, default="no")), samples(20), [ExactMatch()])
    summary = run.summary()
    assert (run.done, run.errors, run.replies, run.from_journal) == (20, 0, 20, 0)
    assert summary.counts.output_tokens == sum(
        Usage(0, len(record.output.value) // 4).output_tokens for record in run.records()
    )
    again = evaluate(Prompt(Scripted({"question 1": "A"}, default="no")), samples(20), [ExactMatch()])
    assert again.from_journal == 20


class Many:
    """Samples that are made as they are read."""

    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return (Sample(f"q{k}", "q", "A") for k in range(self.n))


def test_memory_stays_flat_however_many_samples_there_are():
    peaks = []
    for n in (300, 300, 1300):
        tracemalloc.start()
        evaluate(Prompt(Scripted(default="A")), Many(n), [ExactMatch()], store=f"{n}.db", concurrency=32)
        peaks.append(tracemalloc.get_traced_memory()[1] / 2**20)
        tracemalloc.stop()
    assert peaks[2] - peaks[1] < 0.65


def test_stdout_of_a_run_is_the_users_own():
    code = "from steelyard import *; evaluate(lambda s: 'A', [Sample('1', 'q', 'A')], [ExactMatch()])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (out.stdout, out.stderr) == ("", "")


class CountedFeed:
    """Gives samples one at a time, and counts those that are in flight."""

    def __init__(self, n):
        self.left, self.now, self.most = n, 0, 0
        self.hold = asyncio.Event()

    def __call__(self, records):
        if not self.left:
            return ()
        self.left -= 1
        return (Task(self.left, 0, Sample(f"q{self.left}", "?", "A")),)

    async def more(self):
        return self.left > 0

    def record_stored(self, task, record):
        pass

    async def target(self, sample):
        self.now += 1
        self.most = max(self.most, self.now)
        await self.hold.wait()
        for _ in range(10):
            await asyncio.sleep(0)
        self.now -= 1
        return "A"


def test_how_many_samples_are_in_flight_may_change_while_a_run_runs(tmp_path):
    async def run():
        feed = CountedFeed(40)
        plan = RunPlan(feed.target, {}, feed, 4, 60.0, 99, "", "run")
        with Store(tmp_path / "s.db", create_missing=True) as store:
            evaluation, (writer,) = store.begin_evaluation([NewRun("s", "custom", "t", 40, {"stages": ["target"]})])
            async with Session(store.journal(evaluation), Secrets((), {})) as session:
                runner = Runner(plan, session, writer, Progress("t", 40))
                running = asyncio.create_task(runner.run())
                seen = []
                for allowed in (4, 7, 2):
                    runner.allow(allowed)
                    while feed.now < allowed:  # noqa: ASYNC110  # a turn of the loop, no time
                        await asyncio.sleep(0)
                    seen.append(feed.now)
                feed.most = 0
                feed.hold.set()
                await running
                assert 0 < feed.most <= 2
                runner.allow(5)  # after its end
            writer.finish("finished", "", 0.0)
            return seen, writer.run.refresh().done

    # The seven that are in flight when two are allowed stay; then never more than two at once.
    assert asyncio.run(run()) == ([4, 7, 7], 40)
