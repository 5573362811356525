"""A target or scorer as the runner calls it: plain or async, with or without Ask and Sandbox, in a thread or not."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Real
from typing import Any, Final

from steelyard.errors import ConfigError
from steelyard.plain_json import stored_json
from steelyard.runner.declared import bound_by_name, judge_name, score_infos, stage_info
from steelyard.session.replies import plain_output
from steelyard.session.session import Ask
from steelyard.sql.sandbox import Sandbox
from steelyard.types import CALLS, Asks, Output, Reply, Sample, Score, ScoreInfo, StageInfo

_NOT_AWAITABLE: Final = frozenset({str, int, float, bool, list, tuple, dict, Score, Output})
_MOST_STEPS: Final = 100
_STORED_VALUES: Final = frozenset({float, type(None)})
_STORED_VERDICTS: Final = frozenset({bool, type(None)})


@dataclass(frozen=True, slots=True)
class Step:
    """A target or scorer and how to call it, determined once and not for each sample.

    Attributes:
        stage: its name.
        function: what is called.
        asks: whether it takes `ask`.
        threaded: whether it runs in a thread of its own.
        given: further arguments that it is called with, by name.
        info: how it is run, as it declares it.
        infos: what it declares of its scores, by name; empty for a target.
        number: the score that a returned number or truth value becomes: its only one, else one named after its stage.
        judge: the name of its judge, in which its scores end; "" where there is none.
        given_as: the target or scorer as it was given.
    """

    stage: str
    function: Callable[..., Any]
    asks: bool
    threaded: bool
    given: Mapping[str, Any]
    info: StageInfo = StageInfo()
    infos: Mapping[str, ScoreInfo] = field(default_factory=dict)
    number: ScoreInfo = ScoreInfo("")
    judge: str = ""
    given_as: Any = None

    @classmethod
    def of(cls, stage: str, given: Any, sandbox: Sandbox | None = None) -> Step:
        """Determine how to call `given`.

        Args:
            stage: its name.
            given: the target or scorer; one that declares `sandbox` gets it.
            sandbox: where it may run SQL.

        Raises:
            ConfigError: it is not a function, takes `ask` without being async, or its declaration is malformed.
        """
        function = given.unwrap() if hasattr(given, "unwrap") else given
        if not callable(function) or isinstance(function, type):
            raise ConfigError(f"{stage} is {_described(function)}, not a function")
        body = function
        while isinstance(body, partial):
            body = body.func
        is_async = inspect.iscoroutinefunction(body if inspect.isroutine(body) else type(body).__call__)
        declared = _parameters(function)
        asks = "ask" in declared
        if asks and not is_async:
            raise ConfigError(f"{stage} takes `ask`, so it must be an `async def`")
        info = stage_info(function)
        extra: dict[str, Any] = {"sandbox": sandbox} if "sandbox" in declared else {}
        if "call_target" in declared:
            extra["call_target"] = TargetCaller(sandbox)
        if "call_scorer" in declared:
            extra["call_scorer"] = ScorerCaller(sandbox)
        infos = {} if stage == "target" else {entry.name: entry for entry in score_infos(function, stage)}
        number = next(iter(infos.values())) if len(infos) == 1 else ScoreInfo(stage)
        threaded = not (is_async or info.inline)
        if stage != "target":
            function = bound_by_name(stage, function)
        return cls(stage, function, asks, threaded, extra, info, infos, number, judge_name(function), given)

    async def __call__(self, ask: Asks | None, *values: Any) -> Any:
        """Call it with `values`; a user's plain function runs in a thread of its own."""
        try:
            if self.asks:
                return await self.function(*values, ask=ask, **self.given)
            function = partial(self.function, **self.given) if self.given else self.function
            result = await in_thread(function, *values) if self.threaded else function(*values)
            if type(result) in _NOT_AWAITABLE:  # `isawaitable` checks an abstract class: ten times as slow
                return result
            return await result if inspect.isawaitable(result) else result
        except SystemExit as error:
            raise _raisable(error) from error
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise RuntimeError("it was cancelled from inside") from error

    def scores(self, value: Any) -> list[Score]:
        """Convert what the scorer returned to scores; a threshold decides `passed` where the scorer left it open.

        Raises:
            TypeError: it is not a score, or is one that cannot be stored.
            ValueError: likewise.
        """
        scores = as_scores(self.number, value)
        if self.judge:
            # A bare number has its declared name already, which ends in the judge's.
            scores = [score if score.name in self.infos else _of_judge(score, self.judge) for score in scores]
        return [self.with_verdict(score) for score in scores]

    def with_verdict(self, score: Score) -> Score:
        """The score with `passed` as its declared threshold decides, where the scorer left it open."""
        info = self.infos.get(score.name)
        if info is None or info.threshold is None or score.value is None or score.passed is not None:
            return score
        return replace(score, passed=info.passes(score.value))


def with_calls(output: Output, replies: Sequence[Reply]) -> Output:
    """The output as scorers see it that ask for the target's calls; unchanged where it made none through `ask`."""
    if not replies:
        return output
    costs = [reply.metadata.get("cost") for reply in replies]
    known = [cost for cost in costs if isinstance(cost, float)]
    calls = {
        "seconds": sum(reply.latency for reply in replies),
        "cost": sum(known) if len(known) == len(costs) else None,
        "finish": replies[-1].finish,
    }
    return replace(output, metadata={**output.metadata, CALLS: calls})


class TargetCaller:
    """Calls a target on behalf of another one, such as a simulated user, in the way that the runner would.

    Args:
        sandbox: given to a target that declares it.
    """

    def __init__(self, sandbox: Sandbox | None) -> None:
        self._sandbox = sandbox
        self._step: Step | None = None

    async def __call__(self, target: Any, sample: Sample, ask: Asks, nth: int) -> Output:
        """Call the target for one turn.

        Args:
            target: always the same one.
            sample: the turn, with the conversation so far as its input.
            ask: of the sample. Without a session (in a dry run) a user's code is not run, and its answer is a
                placeholder.
            nth: 0-based, of the turn.
        """
        if not isinstance(ask, Ask) and hasattr(target, "unwrap") and not getattr(target, "may_ask", False):
            return Output("...")
        step = self._step = self._step or Step.of("target", target, self._sandbox)

        async def answer() -> Output:
            return plain_output(await step(ask if step.asks else None, sample), sample.input)

        if step.asks or step.info.inline:
            return await answer()
        return await ask.kept_output(nth, answer) if isinstance(ask, Ask) else Output("...")


class ScorerCaller:
    """Calls a scorer on behalf of another one, such as one of turns, in the way that the runner would.

    Args:
        sandbox: given to a scorer that declares it.
    """

    def __init__(self, sandbox: Sandbox | None) -> None:
        self._sandbox = sandbox
        self._steps: dict[int, Step] = {}

    async def __call__(self, scorer: Any, name: str, sample: Sample, output: Output, ask: Asks) -> list[Score]:
        """Score one output.

        Args:
            scorer: what scores; one that was made for this sample may be given as well.
            name: of the score where it returns a bare number.
            sample: the sample to score.
            output: what is scored.
            ask: of the sample. In a dry run scorers that call no model are not run.
        """
        step = self._steps.get(id(scorer))
        if step is None or step.given_as is not scorer:
            step = Step.of(name, scorer, self._sandbox)
            if len(self._steps) >= _MOST_STEPS:
                self._steps.clear()
            self._steps[id(scorer)] = step
        is_dry_run = getattr(ask, "is_dry_run", False)
        if not step.asks and is_dry_run:
            return []
        given = await step(ask if step.asks else None, sample, output)
        if is_dry_run and given == []:  # it scores by scorers that call no model
            return []
        scores = as_scores(ScoreInfo(name), given)
        return [step.with_verdict(score) for score in scores]


def _of_judge(score: Score, judge: str) -> Score:
    """Add the judge's name to the names of the score and of the columns that it adds to exports."""
    columns = score.detail.get("columns")
    if not isinstance(columns, Mapping):
        return replace(score, name=f"{score.name}_{judge}")
    renamed = {f"{key}_{judge}": value for key, value in columns.items()}
    return replace(score, name=f"{score.name}_{judge}", detail={**score.detail, "columns": renamed})


def as_scores(info: ScoreInfo, value: Any) -> list[Score]:
    """Convert what a scorer returned to a list of scores.

    Args:
        info: of a number or truth value. A truth value without a threshold passes where it is true, or where it is
            false if lower is better.
        value: a Score, several, or a number or truth value.

    Raises:
        TypeError: it is none of these, or is a score that cannot be stored.
        ValueError: likewise.
    """
    if type(value) is Score:  # checked first: it is the most frequent, and the checks below are slow
        return [_storable(value)]
    if getattr(value, "shape", None) == ():  # a scalar of numpy or torch
        value = value.item()
    if isinstance(value, bool):  # first, as Python counts a bool among the numbers
        passed = None if info.threshold is not None else value is not info.lower_is_better
        return [Score(info.name, float(value), passed=passed)]
    if isinstance(value, Real):
        return [Score(info.name, float(value))]
    several = [value] if isinstance(value, Score) else value
    if not isinstance(several, Sequence) or not several or not all(isinstance(score, Score) for score in several):
        raise TypeError(f"a scorer returns a Score, several, or a number; this one returned {_described(value)}")
    return [_storable(score) for score in several]


def distinct(scores: list[Score], before: Sequence[Score]) -> list[Score]:
    """Return `scores` after checking that no name occurs twice, also among earlier scores.

    Raises:
        ValueError: two scores have the same name.
    """
    if len(scores) == 1 and not before:
        return scores
    names = [score.name for score in (*before, *scores)]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"there are two scores named {twice!r}")
    return scores


def _storable(score: Score) -> Score:
    """Convert a score to plain numbers and refuse what the store cannot hold, since there it would end the run."""
    if not isinstance(score.name, str) or not score.name:
        raise TypeError(f"a score's name is a text, not {score.name!r}")
    score.name.encode()
    if score.reason or score.detail:
        stored_json([score.reason, score.detail])
    if type(score.value) in _STORED_VALUES and type(score.passed) in _STORED_VERDICTS:
        return score
    value = None if score.value is None else float(score.value)
    return replace(score, value=value, passed=None if score.passed is None else bool(score.passed))


def _parameters(function: Callable[..., Any]) -> Sequence[str]:
    try:
        return tuple(inspect.signature(function).parameters)
    except ValueError:
        return ()  # some functions written in C have no signature


def _described(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"


def _raisable(error: BaseException) -> Exception:
    """Wrap SystemExit and StopIteration, which a future cannot carry or which would end the run."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):  # which a future refuses with a TypeError
        return error
    raised = RuntimeError(f"{type(error).__name__}: {error}")
    raised.__cause__ = error
    return raised


async def in_thread(function: Callable[..., Any], *values: Any) -> Any:
    """Run a plain function in a daemon thread of its own.

    Not in a pool: Python waits for the threads of a pool when it exits, so a function that never returns would keep the
    process alive after its sample's time limit.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)

    def work() -> None:
        try:
            outcome: tuple[Any, BaseException | None] = (function(*values), None)
        except BaseException as error:  # noqa: BLE001  # it is raised where the result is awaited
            outcome = (None, _raisable(error))
        with suppress(RuntimeError):  # the loop has been closed: the sample's time was up, and nobody waits any more
            loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=work, daemon=True, name="steelyard-call").start()
    return await future
