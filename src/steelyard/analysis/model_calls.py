"""Calls, tokens and costs of each stage of a run, and whether an endpoint read less than it was sent.

Servers with a fixed context (Ollama's `num_ctx`, vLLM's `truncate_prompt_tokens`) drop what is too long and answer all
the same; only the count of input tokens tells. Every call has that count beside an estimate from its characters, which
is right up to a factor of the language and the tokenizer. So the calls below the highest count calibrate the estimate,
and a highest count that several inputs of different length share is a limit. A call whose script no shorter one has is
judged by such a limit alone: a Thai text may have half of the estimated tokens, and nothing is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final, NamedTuple

from steelyard.analysis.numbers import count_text, money_text
from steelyard.plain_json import grouped


@dataclass(frozen=True, slots=True)
class StageCost:
    """Calls, tokens and money of one stage.

    Args:
        stage: `target`, or the scorer's name.
        calls: replies that its records hold, including those from the journal; failed requests are not counted.
        from_journal: of these, how many were taken from the journal instead of a new call.
        input_tokens: of all its replies; likewise `output_tokens`.
        estimated: replies whose tokens were estimated, as the endpoint did not report them.
        money: cost of all its replies at the prices when they were requested, including those from the journal; None
            where one of them has no cost.
        currency: of the money.
        cached_tokens: of the input tokens, those that endpoints report as cached; they may have a lower price.
            0 also where an endpoint does not report them.
        cache_written: of the input tokens, those that endpoints report as written to their caches.
        reasoning_tokens: of the output tokens, those that models thought and did not say, as endpoints report them.
        saved: money that the endpoints' caches saved, writing to them included; None where `money` is.
        read_again: of the replies from the journal, those that were kept and read again under another response mapping.
    """

    stage: str
    calls: int
    from_journal: int
    input_tokens: int
    output_tokens: int
    estimated: int = 0
    money: float | None = None
    currency: str = ""
    cached_tokens: int = 0
    read_again: int = 0
    cache_written: int = 0
    reasoning_tokens: int = 0
    saved: float | None = None

    @property
    def cost(self) -> str:
        """The money as text: `0.0123 USD`; "" where it is not known.

        >>> StageCost("target", 2, 0, 10, 2, money=0.00044, currency="USD").cost
        '0.00044 USD'
        """
        return "" if self.money is None else money_text(self.money, self.currency)


@dataclass(frozen=True, slots=True)
class FrameworkUsage:
    """Tokens of models that a target called itself, as its framework reports them.

    Args:
        records: whose outputs report tokens; of the others they are unknown.
        in_part: of these, how many report them for some of their calls only.
        input_tokens: of all of them; likewise `output_tokens`.
    """

    records: int
    in_part: int
    input_tokens: int
    output_tokens: int

    def sentence(self, done: int) -> str:
        """The tokens in a sentence.

        >>> FrameworkUsage(2, 1, 1200, 80).sentence(3)
        '1,200 tokens in and 80 out, as the framework reports (for 2 of 3 records, 1 of them in part)'
        """
        part = f", {self.in_part:,} of them in part" if self.in_part else ""
        scope = f" (for {self.records:,} of {done:,} records{part})" if self.records < done or part else ""
        return f"{self.input_tokens:,} tokens in and {self.output_tokens:,} out, as the framework reports{scope}"


_LEAST_READ: Final = 256
"""No context in use is smaller."""
_LEAST_SENT: Final = 20
"""Shorter inputs calibrate nothing: the tokens of a chat template outweigh theirs."""
_SAME: Final = 0.005
_BELOW: Final = 0.9
"""A call that read less than this share of the highest count was not cut."""
_SPREAD: Final = 1.1
_LIKELY: Final = 3
"""So many calls at one count, or below it to calibrate with."""


class InputCount(NamedTuple):
    """The input of one call.

    Args:
        stage: that made it.
        record: whatever tells its record.
        sent: its tokens, estimated from its characters.
        read: as the endpoint counted them, cached ones included.
        dense: whether much of it is in a script with few characters a token, such as Chinese.
    """

    stage: str
    record: Any
    sent: int
    read: int
    dense: bool = False


@dataclass(frozen=True, slots=True)
class CutInput:
    """The calls of one stage whose inputs were cut.

    Args:
        stage: `target`, or the scorer's name.
        read: the most tokens that the endpoint read.
        sent: of the longest of these inputs, estimated by the endpoint's own ratio where short calls show it.
        calls: how many were cut.
        of: calls of the stage.
        records: that have one of them.
    """

    stage: str
    read: int
    sent: int
    calls: int
    of: int
    records: int

    @property
    def sentence(self) -> str:
        """The finding in words."""
        verdicts = "answers" if self.stage == "target" else "verdicts"
        return (
            f"{self.stage}: the endpoint read {self.read:,} of about {self.sent:,} tokens in {self.calls:,} of "
            f"{count_text(self.of, 'call')}: its context is probably too small (num_ctx?), and {self.records:,} "
            f"{verdicts} rest on a part of what was sent"
        )


def cut_inputs(calls: Iterable[InputCount]) -> tuple[CutInput, ...]:
    """The stages of which one endpoint cut inputs.

    Args:
        calls: all of one model at one endpoint.

    >>> short = [InputCount("target", n, 100 + n, 110 + n) for n in range(5)]
    >>> long = [InputCount("judge", n, 2900 + 300 * n, 2048) for n in range(8)]
    >>> [(cut.stage, cut.read, cut.calls, cut.of) for cut in cut_inputs(short + long)]
    [('judge', 2048, 8, 8)]
    >>> cut_inputs([InputCount("judge", n, 300 * n, 330 * n) for n in range(1, 9)])
    ()
    """
    counts = [call for call in calls if call.read and call.sent >= _LEAST_SENT]
    most = max((call.read for call in counts), default=0)
    if most < _LEAST_READ:
        return ()
    cut: list[InputCount] = []
    ratio: dict[bool, float] = {}
    for dense in (False, True):
        of_script = [call for call in counts if call.dense is dense]
        whole = [call.read / call.sent for call in of_script if call.read < _BELOW * most]
        top = [call for call in of_script if call.read >= most - max(4.0, _SAME * most)]
        ratio[dense] = median(whole) if len(whole) >= _LIKELY else 1.0
        cut += filter(_is_cut(top, whole, most, dense=dense), top)
    by_stage = grouped((call.stage, call) for call in cut)
    return tuple(
        CutInput(
            stage,
            most,
            round(max(call.sent * ratio[call.dense] for call in several)),
            len(several),
            sum(call.stage == stage for call in counts),
            len({call.record for call in several}),
        )
        for stage, several in by_stage.items()
    )


def _is_cut(
    top: Sequence[InputCount], whole: Sequence[float], most: int, *, dense: bool
) -> Callable[[InputCount], bool]:
    """Whether a call with the highest count was cut, by what others of its script show."""
    several = len(top) >= _LIKELY
    lengths = [call.sent for call in top]
    is_limit = several and max(lengths) >= _SPREAD * min(lengths)
    if len(whole) >= _LIKELY:
        # The least ratio of calls that were read whole, so that an input of few tokens a character is no alarm.
        least = min(whole)
        more = 1.1 if is_limit else 1.15 if several and _is_round(most) else 1.3 if several else 2.0 if dense else 1.5
        return lambda call: call.sent * least >= more * call.read
    if is_limit:
        return lambda call: call.sent >= min(lengths)
    if dense or not several or len({call.read for call in top}) > 1:
        return lambda _: False
    more = 1.15 if _is_round(most) else 1.5
    return lambda call: call.sent >= more * call.read


def _is_round(count: int) -> bool:
    """Whether a count is one that people give a context, or what Ollama keeps of one: half of it and two."""
    return count % 256 == 0 or (2 * (count - 2)) % 1024 == 0


def cut_sentences(noted: Mapping[str, Any]) -> tuple[str, ...]:
    """The inputs and replies that were cut, in words, of what a run notes of its calls."""
    n, of = noted.get("cut_replies", (0, 0))
    replies = (
        [f"{n:,} of the first {count_text(of, 'reply')} ended at the limit of tokens: raise max_tokens"] if n else []
    )
    return (*(CutInput(**entry).sentence for entry in noted.get("cut_inputs", ())), *replies)


def call_sentences(noted: Mapping[str, Any]) -> tuple[str, ...]:
    """What a run notes of its calls, in words: inputs that were cut, and parameters that were changed."""
    changed = [
        f"{stage}: the endpoint refused parameters; "
        + ", ".join(f"{name} was sent as {to}" if to else f"{name} was left out" for name, to in changes.items())
        for stage, changes in noted.get("changed_parameters", {}).items()
    ]
    return (*cut_sentences(noted), *changed)
