"""Scorers of what an agent did: the tools that it called, its steps, what it repeated, what it recovered from.

They read the trajectory stored in an output and call no model. An output without one (a plain text, or messages in an
unknown shape) is not applicable, with the reason. The ways to compare calls with the expected ones are those of the
field (LangChain's agentevals: strict, unordered, superset), under names that state the rule.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple

from steelyard.constraints import Amount, ScoreName, TextList, Within
from steelyard.data.headers import is_called
from steelyard.data.table import list_in
from steelyard.errors import ConfigError, DataError, did_you_mean
from steelyard.models.prices import Price, PriceTable, units
from steelyard.prompts.agent_messages import USAGE, tokens_in
from steelyard.prompts.conversation import printed_value
from steelyard.prompts.trajectory import ToolUse, Trajectory, read_trajectory
from steelyard.scorers.json_validation import CheckSteps, check_schema, first_error
from steelyard.scorers.patterns import PatternTime, compile_pattern
from steelyard.types import INLINE, LACKS, Output, Sample, Score, ScoreInfo, StageInfo, Usage

Match = Literal["contains", "in_order", "same", "exact"]
Arguments = Literal["equal", "contain"]
_KEYS: Final = ("name", "arguments", "schema")
_OF_OTHERS: Final = {"args": "arguments", "input_parameters": "arguments", "inputParameters": "arguments"}
"""What Ragas and DeepEval call the arguments of a call; files of DeepEval 4 have the last."""
_ABOUT: Final = frozenset({"description", "reasoning", "output", "type"})
"""What DeepEval stores of a call beside these; it is not compared."""
_TOOLS: Final = "tools"
_MOST_CALLS: Final = 500
"""Limit of calls to match: a trajectory with more would take seconds, and is not applicable."""


class ExpectedCall(NamedTuple):
    """A call that is expected: its tool, and the arguments or the schema that they follow; None: any arguments."""

    name: str
    arguments: Mapping[str, Any] | None = None
    schema: Mapping[str, Any] | None = None

    @property
    def shown(self) -> str:
        """The call as a line for a person."""
        arguments = {} if self.arguments is None else self.arguments
        return f"{self.name}({json.dumps(arguments, ensure_ascii=False, default=str)})" if arguments else self.name


def expected_calls(given: Any, where: str) -> tuple[ExpectedCall, ...]:
    """Read expected calls: each a tool's name, or a mapping with `name` and `arguments` or `schema`.

    Args:
        given: a list of them, or the text of one in JSON or as pandas prints it, as a table's cell holds it; a text
            that opens no list or object is one name.
        where: for messages.

    Raises:
        DataError: it is something else, or a schema is invalid.

    >>> expected_calls(["search", {"name": "add", "arguments": {"a": 1}}], "tools")[1].arguments
    {'a': 1}
    """
    if isinstance(given, str):
        text = given.strip()
        read = printed_value(text) if (listed := list_in(text)) is None else listed
        if read is None and text != "null":
            read = text if text.startswith(("[", "{")) else [text] * bool(text)
        given = read
    if isinstance(given, Mapping):
        given = [given]
    if not isinstance(given, list | tuple):
        raise DataError(f"{where}: expected a list of tool calls, but got {given!r:.80}")
    return tuple(_expected_call(call, f"{where}: call {no}") for no, call in enumerate(given, start=1))


def _expected_call(call: Any, where: str) -> ExpectedCall:
    if isinstance(call, str) and call.strip():
        return ExpectedCall(call.strip())
    if not isinstance(call, Mapping) or not isinstance(call.get("name"), str) or not call["name"].strip():
        raise DataError(f"{where}: expected a tool's name, or {{name: ..., arguments: {{...}}}}, but got {call!r:.80}")
    call = {_OF_OTHERS.get(key, key): value for key, value in call.items() if key not in _ABOUT}
    if unknown := [key for key in call if key not in _KEYS]:
        raise DataError(f"{where}: there is no key {unknown[0]!r}{did_you_mean(str(unknown[0]), _KEYS)}")
    arguments, schema = call.get("arguments"), call.get("schema")
    _check_arguments(arguments, schema, where)
    return ExpectedCall(call["name"].strip(), arguments, schema)


def _check_arguments(arguments: Any, schema: Any, where: str) -> None:
    if arguments is not None and schema is not None:
        raise DataError(f"{where}: give arguments or a schema, not both")
    for key, value in (("arguments", arguments), ("schema", schema)):
        if value is not None and not isinstance(value, Mapping):
            raise DataError(f"{where}: {key}: expected a mapping, but got {value!r:.80}")
    if schema is not None:
        try:
            _check_schema_text(json.dumps(schema, default=str))
        except ConfigError as error:
            raise DataError(f"{where}: {error.message}") from error


@lru_cache(maxsize=256)
def _check_schema_text(text: str) -> None:
    """Check a schema once: it takes 3 to 9 ms, and calls that a scorer expects are read for every sample."""
    check_schema(json.loads(text))


def _not_applicable(names: Sequence[str], reason: str, *, lacks: str = "") -> list[Score]:
    detail = {LACKS: lacks} if lacks else {}
    return [Score(name, None, outcome="not_applicable", reason=reason, detail=detail) for name in names]


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """Whether an agent called the tools that it should: as a verdict, and as recall and precision of its calls.

    Each expected call is matched with at most one call and the other way round, as many pairs as possible.

    - `tool_calls`: 1 if the calls match by `match`.
    - `tool_recall`: matched calls / expected calls; not applicable where none is expected.
    - `tool_precision`: matched calls / calls that were made; not applicable where none was made.

    Args:
        expected: calls for every sample: names of tools, or `{name: search, arguments: {query: ...}}`, or
            `{name: search, schema: {...}}` with the JSON schema of the arguments. Empty: each sample has its own.
        key: of the samples' metadata with their calls, as a list or its JSON text; a sample without it is not
            applicable, an empty list expects that no tool is called. `tools` may also be called as in Ragas and
            DeepEval: `reference_tool_calls`, `expected_tools`.
        match: `contains`: each expected call was made, others may be; `in_order`: likewise, in that order; `same`:
            these calls and no others, in any order; `exact`: these calls and no others, in that order.
        arguments: `equal`: the arguments are equal to those expected; `contain`: those expected are among them.

    >>> score = ToolCalls(expected=("search",))
    >>> call = {"role": "assistant", "content": "", "tool_calls": [{"name": "search", "arguments": {}}]}
    >>> [result.value for result in score(Sample("1", "?"), Output("x", metadata={"messages": [call, call]}))]
    [1.0, 1.0, 0.5]
    """

    score_infos: ClassVar[tuple[ScoreInfo, ...]] = (
        ScoreInfo("tool_calls", (0.0, 1.0), threshold=1.0, labels=("as expected", "not as expected"), headline=True),
        ScoreInfo("tool_recall", (0.0, 1.0)),
        ScoreInfo("tool_precision", (0.0, 1.0)),
    )
    stage_info: ClassVar[StageInfo] = StageInfo(name="tool_calls")

    expected: tuple[str | Mapping[str, Any], ...] = ()
    key: str = _TOOLS
    match: Match = "contains"
    arguments: Arguments = "equal"

    def check(self) -> None:
        """Check the settings.

        Raises:
            ConfigError: an expected call that cannot be read.
        """
        expected: Any = self.expected  # a single text would be taken for a list of letters
        if isinstance(expected, str):
            raise ConfigError(f"expected: a list of tools, as [{expected}]")
        try:
            expected_calls(self.expected, "expected")
        except DataError as error:
            raise ConfigError(str(error)) from error

    def __call__(self, sample: Sample, output: Output) -> list[Score]:
        """Compare the calls of one output with those expected."""
        names = [info.name for info in self.score_infos]
        expected = self.expected_of(sample)
        if expected is None:
            return _not_applicable(names, f"the sample's metadata have no {self.key!r}")
        trajectory = read_trajectory(output)
        if isinstance(trajectory, str):
            return _not_applicable(names, trajectory, lacks="a trajectory")
        calls = trajectory.calls
        if any(call.was_cut for call in calls) and any(call[1:] != (None, None) for call in expected):
            reason = "arguments of a call were too long to be stored and are not compared"
            return _not_applicable(names, reason, lacks="whole calls")
        if len(calls) > _MOST_CALLS or len(expected) > _MOST_CALLS:
            return _not_applicable(names, f"more than {_MOST_CALLS:,} calls are not compared", lacks="whole calls")
        try:
            return self._scores(expected, calls)
        except TimeoutError as error:
            return [
                Score(name, None, outcome="unparsed", reason=str(error), detail={"kind": "timeout"}) for name in names
            ]

    def expected_of(self, sample: Sample) -> tuple[ExpectedCall, ...] | None:
        """The calls that are expected for a sample; None where nothing says so.

        Raises:
            DataError: those of the sample cannot be read.
        """
        if self.expected:
            return expected_calls(self.expected, "expected")
        named = (self.key, *(name for name in sample.metadata if self.key == _TOOLS and is_called(name, _TOOLS)))
        value = next((sample.metadata[name] for name in named if sample.metadata.get(name) is not None), None)
        if value is None or (isinstance(value, str) and not value.strip()):
            return None
        return expected_calls(value, f"sample {sample.id!r}: {self.key}")

    def _scores(self, expected: Sequence[ExpectedCall], calls: Sequence[ToolUse]) -> list[Score]:
        steps = CheckSteps()
        fits = [
            [at for at, call in enumerate(calls) if self._fits(expected_call, call, steps)]
            for expected_call in expected
        ]
        in_order = self.match in {"in_order", "exact"}
        pairs = longest_in_order(fits) if in_order else largest_matching(fits)
        matched = set(pairs.values())
        others_made = [call for at, call in enumerate(calls) if at not in matched]
        missing = [
            _missing(expected_call, others_made, steps) for no, expected_call in enumerate(expected) if no not in pairs
        ]
        others = Counter(call.shown_name for call in others_made)
        no_json = dict.fromkeys(call.shown_name for call in calls if isinstance(call.arguments, str))
        passed = not missing and (self.match in {"contains", "in_order"} or not others)
        reason = "; ".join(
            part
            for part in (
                f"not called{' in that order' if in_order else ''}: {', '.join(missing)}" if missing else "",
                f"also called: {_counted(others)}" if others else "",
                f"arguments that are not a JSON object: {', '.join(no_json)}" if no_json else "",
            )
            if part
        )[:500]
        detail = {"match": self.match, "expected": len(expected), "made": len(calls), "matched": len(pairs)}
        verdict = Score("tool_calls", float(passed), passed=passed, reason=reason, detail=detail)
        return [
            verdict,
            _ratio("tool_recall", len(pairs), len(expected), "no call is expected"),
            _ratio("tool_precision", len(pairs), len(calls), "no tool was called"),
        ]

    def _fits(self, expected: ExpectedCall, call: ToolUse, steps: CheckSteps) -> bool:
        if expected.name != call.name:
            return False
        if expected.schema is not None:
            return _follows(expected.schema, call.arguments, steps)
        if expected.arguments is None:
            return True
        if self.arguments == "equal":
            return _is_equal(call.arguments, expected.arguments)
        return isinstance(call.arguments, Mapping) and all(
            name in call.arguments and _is_equal(call.arguments[name], value)
            for name, value in expected.arguments.items()
        )


def _is_equal(first: Any, second: Any) -> bool:
    """Whether two JSON values are equal: unlike in Python, `true` is not 1."""
    pairs = [(first, second)]  # a list, as recursion would end at values nested too deep
    while pairs:
        left, right = pairs.pop()
        if isinstance(left, Mapping) and isinstance(right, Mapping):
            if left.keys() != right.keys():
                return False
            pairs += [(value, right[name]) for name, value in left.items()]
        elif isinstance(left, list | tuple) and isinstance(right, list | tuple):
            if len(left) != len(right):
                return False
            pairs += zip(left, right, strict=True)
        elif left != right or isinstance(left, bool) != isinstance(right, bool):
            return False
    return True


def _follows(schema: Mapping[str, Any], arguments: Any, steps: CheckSteps) -> bool:
    try:
        return first_error(schema, arguments, steps) == ""
    except (RecursionError, OverflowError):  # nested too deep, or a number too large for a rule of fractions
        return False


def _missing(expected: ExpectedCall, others_made: Sequence[ToolUse], steps: CheckSteps) -> str:
    """What was not called, with what the first other call of that tool violates of the schema."""
    call = next((call for call in others_made if call.name == expected.name), None)
    if call is None or expected.schema is None:
        return expected.shown
    try:
        violation = first_error(expected.schema, call.arguments, steps)
    except (RecursionError, OverflowError, TimeoutError):
        violation = ""
    return f"{expected.shown} ({violation})" if violation else expected.shown


def _counted(calls: Counter[str]) -> str:
    return ", ".join(f"{name} {count} times" if count > 1 else name for name, count in calls.items())


def _ratio(name: str, part: int, whole: int, otherwise: str) -> Score:
    if not whole:
        return Score(name, None, outcome="not_applicable", reason=otherwise)
    return Score(name, part / whole, reason=f"{part} of {whole}")


def largest_matching(fits: Sequence[Sequence[int]]) -> dict[int, int]:
    """Match expected calls with calls, as many pairs as possible, by augmenting paths (H. W. Kuhn 1955).

    Returns:
        Index of an expected call -> index of its call.

    >>> largest_matching([[0, 1], [0]])
    {1: 0, 0: 1}
    """
    taken: dict[int, int] = {}
    for start in range(len(fits)):
        # Breadth first, as a path through a thousand equal calls would be too deep for recursion.
        came_from: dict[int, tuple[int, int | None]] = {}
        queue: list[tuple[int, int | None]] = [(start, None)]
        for expected, before in queue:
            for at in fits[expected]:
                if at in came_from:
                    continue
                came_from[at] = (expected, before)
                if at in taken:
                    queue.append((taken[at], at))
                    continue
                call: int | None = at
                while call is not None:
                    taken[call], call = came_from[call]
                break
            else:
                continue
            break
    return {expected: at for at, expected in taken.items()}


def longest_in_order(fits: Sequence[Sequence[int]]) -> dict[int, int]:
    """Match expected calls with calls in order: the longest common subsequence of both lists.

    Returns:
        Index of an expected call -> index of its call.

    >>> longest_in_order([[1], [0, 2]])
    {0: 1, 1: 2}
    """
    # ends[k]: where a chain of k + 1 pairs ends at the earliest (J. W. Hunt and T. G. Szymanski 1977).
    ends: list[int] = []
    chains: list[tuple[int, int, Any]] = []
    for expected, fitting in enumerate(fits):
        for at in sorted(fitting, reverse=True):
            length = bisect_left(ends, at)
            chain = (expected, at, chains[length - 1] if length else None)
            ends[length : length + 1], chains[length : length + 1] = [at], [chain]
    pairs: dict[int, int] = {}
    link: Any = chains[-1] if chains else None
    while link is not None:
        pairs[link[0]], link = link[1], link[2]
    return dict(sorted(pairs.items()))


@dataclass(frozen=True, slots=True)
class ForbiddenTools:
    """How many calls an agent made of tools that it must not use; it passes with none.

    Args:
        tools: their names; `delete_*` matches all that begin with `delete_`.
        name: of the score.
    """

    stage_info: ClassVar[StageInfo] = INLINE

    tools: Annotated[tuple[str, ...], TextList(1, of="names of tools")] = ()
    name: ScoreName = "forbidden_tools"

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """A count; none passes."""
        return (ScoreInfo(self.name, lower_is_better=True, threshold=0.0, unbounded=True),)

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Count the forbidden calls of one output."""
        del sample
        trajectory = read_trajectory(output)
        if isinstance(trajectory, str):
            return _not_applicable([self.name], trajectory, lacks="a trajectory")[0]
        patterns = [re.compile(".*".join(map(re.escape, tool.split("*"))), re.DOTALL) for tool in self.tools]
        calls = Counter(
            call.name for call in trajectory.calls if any(pattern.fullmatch(call.name) for pattern in patterns)
        )
        return Score(self.name, float(calls.total()), reason=f"called {_counted(calls)}"[:500] if calls else "")


_ERROR: Final = r"(?i)^\s*(?:error\b|traceback \(most recent call last\)|exception:)"


@dataclass(frozen=True, slots=True)
class AgentSteps:
    """How an agent got to its answer: its steps, calls of tools, repeated calls, errors, and tokens.

    - `agent_steps`: replies of the model. `agent_calls`: calls of tools.
    - `repeated_calls`: calls of a tool with arguments with which it was called before.
    - `errors_recovered`: of the calls that failed, the share after which a later call of the same tool succeeded; not
      applicable where none failed.
    - `agent_tokens`: tokens in and out, as the output reports them; not applicable where they are not known.
    - `agent_cost`: their cost, where prices are given, or a model that the run has a price for.

    Args:
        most_steps: the most steps that pass; null: no number passes or fails.
        most_repeated: likewise for repeated calls.
        error_pattern: a tool's result is an error where the framework says so, or where this regular expression is
            found in it; empty: only where the framework says so.
        input_price: of a million tokens that the agent's models read, in any currency; null: costs are not computed.
        output_price: of a million tokens that they wrote.
        model: the agent's model, as the prices of the run (`options.prices`) name it; in place of both prices.
        cached_price: of a million tokens that were read from the endpoint's cache; null is as `input_price`.
    """

    stage_info: ClassVar[StageInfo] = StageInfo(name="agent_steps")

    most_steps: Annotated[int | None, Within(0)] = None
    most_repeated: Annotated[int | None, Within(0)] = None
    error_pattern: str = _ERROR
    input_price: Amount | None = None
    output_price: Amount | None = None
    model: str = ""
    cached_price: Amount | None = None

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """Counts, for which less is better, and the share of errors that were recovered from."""
        cost = (ScoreInfo("agent_cost", lower_is_better=True, unbounded=True),) if self._has_cost else ()
        return (
            ScoreInfo("agent_steps", lower_is_better=True, threshold=_limit(self.most_steps), unbounded=True),
            ScoreInfo("agent_calls", lower_is_better=True, unbounded=True),
            ScoreInfo("repeated_calls", lower_is_better=True, threshold=_limit(self.most_repeated), unbounded=True),
            ScoreInfo("errors_recovered", (0.0, 1.0)),
            ScoreInfo("agent_tokens", lower_is_better=True, unbounded=True),
            *cost,
        )

    def check(self) -> None:
        """Check the settings.

        Raises:
            ConfigError: one price without the other, or a pattern that cannot be read.
        """
        if (self.input_price is None) != (self.output_price is None):
            raise ConfigError("input_price and output_price: give both or none")
        if self.cached_price is not None and self.input_price is None:
            raise ConfigError("cached_price: give input_price and output_price too")
        if self.error_pattern:
            compile_pattern(self.error_pattern)

    @property
    def _has_cost(self) -> bool:
        return self.input_price is not None or bool(self.model)

    def with_prices(self, prices: PriceTable | None) -> AgentSteps:
        """Return a copy with the prices of its model; unchanged where it names no model or has prices of its own.

        Args:
            prices: of the run; None where it has none.

        Raises:
            ConfigError: it names a model, and the run has no prices, or none for it.
        """
        if not self.model or self.input_price is not None:
            return self
        if prices is None:
            raise ConfigError(f"agent_steps: model: {self.model} has no price, as options.prices is not set")
        price = prices.named(self.model)
        if price is None:
            near = did_you_mean(self.model, list(prices.models))
            raise ConfigError(f"agent_steps: model: options.prices has no price of {self.model!r}{near}")
        return replace(self, input_price=price.input, output_price=price.output, cached_price=price.cached)

    def __call__(self, sample: Sample, output: Output) -> list[Score]:
        """Count the steps, calls, errors and tokens of one output."""
        del sample
        trajectory = read_trajectory(output)
        if isinstance(trajectory, str):
            names = ["agent_steps", "agent_calls", "repeated_calls", "errors_recovered"]
            counts = _not_applicable(names, trajectory, lacks="a trajectory")
        else:
            seen = Counter(call.key for call in trajectory.calls)
            tools = Counter(call.shown_name for call in trajectory.calls)
            repeated = len(trajectory.calls) - len(seen)
            counts = [
                Score("agent_steps", float(trajectory.steps)),
                Score(
                    "agent_calls",
                    float(len(trajectory.calls)),
                    reason=", ".join(f"{name} {count}" for name, count in tools.items())[:500],
                ),
                Score("repeated_calls", float(repeated)),
                self._recovered(trajectory),
            ]
        return [*counts, *self._tokens(output)]

    def _recovered(self, trajectory: Trajectory) -> Score:
        name = "errors_recovered"
        try:
            time = PatternTime()
            failed = [(at, call) for at, call in enumerate(trajectory.calls) if self._failed(call, time)]
        except TimeoutError:
            return Score(name, None, outcome="unparsed", reason="error_pattern was not decided in time")
        if not failed:
            return Score(name, None, outcome="not_applicable", reason="no call of a tool failed")
        failed_positions = {at for at, _ in failed}
        last = {
            call.name: at
            for at, call in enumerate(trajectory.calls)
            if at not in failed_positions and call.result is not None
        }
        recovered = sum(last.get(call.name, -1) > at for at, call in failed)
        shown = Counter(call.name for _, call in failed)
        reason = f"{recovered} of {len(failed)} failed calls: " + ", ".join(f"{name} {n}" for name, n in shown.items())
        return Score(name, recovered / len(failed), reason=reason[:500])

    def _failed(self, call: ToolUse, time: PatternTime) -> bool:
        if call.is_error or call.result is None or not self.error_pattern:
            return call.is_error
        return time.occurs(self.error_pattern, call.result)

    def _tokens(self, output: Output) -> list[Score]:
        names = ["agent_tokens", *(["agent_cost"] if self._has_cost else [])]
        tokens = tokens_in(output.metadata.get(USAGE))
        if tokens is None:
            return _not_applicable(names, "the output reports no tokens", lacks="tokens")
        if silent := tokens.get("calls_without_tokens", 0):
            reason = f"{silent} of {tokens['calls']} calls of models reported no tokens"
            return _not_applicable(names, reason, lacks="tokens")
        read, written = tokens["input_tokens"], tokens["output_tokens"]
        scores = [Score("agent_tokens", float(read + written), reason=f"{read:,} in, {written:,} out")]
        if self.input_price is not None and self.output_price is not None:
            price = Price(self.input_price, self.output_price, self.cached_price)
            usage = Usage(read, written, cache_read=min(read, tokens.get("cached_input_tokens", 0)))
            scores.append(Score("agent_cost", units(price.cost(usage))))
        elif self.model:
            scores += _not_applicable(["agent_cost"], f"there is no price of {self.model}: set options.prices")
        return scores


def _limit(most: int | None) -> float | None:
    return None if most is None else float(most)
