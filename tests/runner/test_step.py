"""What users write as targets and scorers, and that whatever it does is a failure of its record alone."""

import asyncio
import functools

import numpy as np
import pytest

from steelyard import ConfigError, ExactMatch, Output, Prompt, Sample, Score, Scripted, Store, evaluate, plain_json
from steelyard.errors import DataError, ModelError, StoreError
from steelyard.session import replies
from steelyard.sql.sandbox import Sandbox


def samples(n=3):
    return [Sample(f"q{k}", f"question {k}", "A") for k in range(n)]


def outcome(target, scorers=(), n=1):
    return list(evaluate(target, samples(n), list(scorers) or [ExactMatch()], max_errors=1.0).records())


def failure_of(target):
    (record,) = outcome(target)
    return record.failure.stage, record.failure.kind, record.failure.message


def plain(sample):
    return "A"


async def awaited(sample):
    await asyncio.sleep(0)
    return "A"


class PlainCallable:
    def __call__(self, sample):
        return "A"


class AsyncCallable:
    async def __call__(self, sample):
        return "A"

    async def method(self, sample):
        return "A"


def with_option(sample, letter="B"):
    return letter


async def asks(sample, ask, model=None):
    return (await ask(model or Scripted(default="A"), sample.input)).text


@pytest.mark.parametrize(
    "target",
    [
        plain,
        awaited,
        lambda sample: "A",
        lambda sample: awaited(sample),  # noqa: PLW0108  # a function that is not async and returns a coroutine
        PlainCallable(),
        AsyncCallable(),
        AsyncCallable().method,
        functools.partial(with_option, letter="A"),
        functools.partial(asks, model=Scripted(default="A")),
        asks,
        Prompt(Scripted(default="A")),
        lambda sample: Output("A"),
    ],
)
def test_a_target_may_be_any_function_plain_or_async(target):
    (record,) = outcome(target)
    assert record.failure is None
    assert record.output.value == "A"
    assert [score.value for score in record.scores] == [1.0]


ERRORS = [
    (ValueError("no"), "ValueError"),
    (StopIteration(3), "RuntimeError"),
    (StopAsyncIteration(), "StopAsyncIteration"),
    (SystemExit(2), "RuntimeError"),
    (TimeoutError("its own"), "TimeoutError"),
    (asyncio.CancelledError(), "RuntimeError"),
    (StoreError("a store of its own"), "StoreError"),
    (DataError("bad"), "DataError"),
    (ConfigError("bad"), "ConfigError"),
    (ModelError("bad", kind="server"), "server"),
    (RecursionError("deep"), "RecursionError"),
    (ExceptionGroup("several", [ValueError("a"), KeyError("b")]), "ExceptionGroup"),
    (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "why"), "UnicodeDecodeError"),
]


@pytest.mark.parametrize("how", ["plain", "async"])
@pytest.mark.parametrize("stage", ["target", "scorer"])
def test_whatever_a_users_function_raises_is_a_failure_of_its_record(how, stage):
    def raising(*values):
        raise ERRORS[int(values[0].id[1:]) // 2][0]

    async def raising_async(*values):
        raise ERRORS[int(values[0].id[1:]) // 2][0]

    broken, n = raising if how == "plain" else raising_async, 2 * len(ERRORS)
    records = outcome(broken, n=n) if stage == "target" else outcome(plain, [broken, ExactMatch()], n=n)
    for (_, kind), first, second in zip(ERRORS, records[::2], records[1::2], strict=True):
        assert first.failure.kind in {kind, "TargetError", "ScorerError"}
        assert first.failure.stage == ("target" if stage == "target" else broken.__name__), kind
        assert second.failure.kind == first.failure.kind
        assert len(first.scores) == (0 if stage == "target" else 1), kind


def test_a_plain_function_that_is_interrupted_by_itself_fails_alone():
    def interrupting(sample):
        raise KeyboardInterrupt

    assert failure_of(interrupting)[1] == "RuntimeError"


RETURNED = [
    (Output(None), None),
    (float("nan"), float("nan")),
    (np.float32(0.5), 0.5),
    (["A", ("B",)], ["A", ["B"]]),
    ({"a": {1}}, {"a": [1]}),
    (Output({"x": 1}, ("p",), {"n": np.int64(3)}), {"x": 1}),
    ("\ud800", "\ud800"),
    ("x" * 3_000_000, "x" * 3_000_000),
]


def test_what_a_target_returns_is_kept_as_plain_json():
    records = outcome(lambda sample: RETURNED[int(sample.id[1:])][0], [lambda sample, output: 1.0], n=len(RETURNED))
    for record, (_, stored) in zip(records, RETURNED, strict=True):
        assert record.failure is None
        assert repr(record.output.value) == repr(stored)


def circle():
    value = []
    value.append(value)
    return value


UNKEPT = {
    "circular": circle(),
    "tuple as key": {(1, 2): 3},
    "3 MiB text": "x" * (3 << 20),
    "3 MiB list": ["y" * (1 << 20)] * 3,
}


@pytest.mark.parametrize("value", UNKEPT.values(), ids=UNKEPT)
def test_what_cannot_be_kept_is_a_failure_of_its_record(value, monkeypatch):
    assert replies._MOST_BYTES == 32 << 20
    monkeypatch.setattr(replies, "_MOST_BYTES", 2 << 20)
    stage, kind, _ = failure_of(lambda sample: value)
    assert (stage, kind in {"ValueError", "TypeError", "RecursionError"}) == ("target", True)


SCORED = [
    (True, (1.0, True)),
    (0, (0.0, None)),
    (0.25, (0.25, None)),
    (np.bool_(False), (0.0, False)),
    (np.float32(0.5), (0.5, None)),
    (np.int64(1), (1.0, None)),
    (Score("scorer", np.float64(0.5), passed=np.bool_(True)), (0.5, True)),
    ([Score("scorer", 1), Score("other", 0.0)], (1.0, None)),
]


def test_a_scorer_may_return_a_score_a_number_or_a_truth_value():
    def scorer(sample, output):
        return SCORED[int(sample.id[1:])][0]

    for record, (_, score) in zip(outcome(plain, [scorer], n=len(SCORED)), SCORED, strict=True):
        assert record.failure is None, score
        result = {entry.name: (entry.value, entry.passed) for entry in record.scores}
        assert result["scorer"] == score
        assert all(type(entry.value) is float for entry in record.scores)


NO_SCORES = [
    None, "1", [], {}, float("nan"), float("inf"), 10**400, [1, 2], Output("A"), Score, ["A"], object(),
    [Score("a", 1.0), Score("a", 0.0)], Score("", 1.0), Score("\ud800", 1.0), Score(3, 1.0),
    Score("a", 1.0, detail={"a": circle()}), Score("a", 1.0, detail={(1, 2): 3}),
]  # fmt: skip


def test_anything_else_is_a_failure_of_the_scorer_and_no_score():
    records = outcome(
        plain, [lambda sample, output: NO_SCORES[int(sample.id[1:]) // 2], ExactMatch()], n=2 * len(NO_SCORES)
    )
    for at, record in enumerate(records):
        found = record.failure and record.failure.stage, [score.name for score in record.scores]
        assert found == ("<lambda>", ["exact_match"]), at // 2


def test_two_scorers_that_give_the_same_name_do_not_end_the_run():
    def one(sample, output):
        return Score("same", 1.0)

    def two(sample, output):
        return Score("same", 0.0)

    (record,) = outcome(plain, [one, two])
    assert [(score.name, score.value) for score in record.scores] == [("same", 1.0)]
    assert (record.failure.stage, record.failure.kind) == ("two", "ValueError")
    assert "two scores named 'same'" in record.failure.message


@pytest.mark.parametrize(
    ("target", "said_so"),
    [
        ("not a function", "a prompt needs a model that answers it"),
        (PlainCallable, "target is the class PlainCallable, not a function"),
        (lambda sample, ask: "A", "takes `ask`, so it must be an `async def`"),
    ],
)
def test_what_cannot_be_called_is_refused_before_anything_is_stored(target, said_so):
    with pytest.raises(ConfigError, match=said_so):
        evaluate(target, samples(), [ExactMatch()], store="none.db")
    with pytest.raises(ConfigError, match="there is no store"):
        Store("none.db")


def test_a_function_that_says_nothing_of_its_parameters_can_be_called():
    (record,) = outcome(lambda sample: "ab", [lambda sample, output: max([1.0, 0.5])])
    assert record.scores[0].value == 1.0
    assert outcome(vars)[0].failure.kind == "TypeError"


def test_whatever_declares_a_sandbox_is_given_the_one_of_the_session():
    seen = []

    def target(sample, sandbox):
        seen.append(sandbox)
        return "A"

    async def waiting(sample, output, sandbox):
        seen.append(sandbox)
        return 1.0

    async def asking(sample, output, ask, sandbox):
        seen.append(sandbox)
        return (await ask(Scripted({}, default="yes"), "?")).text == "yes"

    def plain_scorer(sample, output, *, sandbox):
        seen.append(sandbox)
        return True

    (record,) = outcome(target, [waiting, asking, plain_scorer])
    assert [score.value for score in record.scores] == [1.0, 1.0, 1.0]
    assert len(seen) == 4
    assert all(isinstance(entry, Sandbox) and entry is seen[0] for entry in seen)


def test_a_score_that_could_not_be_read_back_is_an_error_of_its_scorer(monkeypatch):
    monkeypatch.setattr(plain_json, "_MOST_PARTS", 1_000)
    (record,) = outcome(lambda sample: "A", [lambda sample, output: Score("s", 1.0, detail={"many": [0] * 1_000})])
    assert (record.failure.kind, record.failure.message) == (
        "ValueError",
        "ValueError: it holds more than 1,000 values",
    )
