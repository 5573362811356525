"""Calls, tokens and costs of each stage of a run: the target, and every scorer that calls a model."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.analysis.numbers import money_text


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
