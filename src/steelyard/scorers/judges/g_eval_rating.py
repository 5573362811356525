"""One rating on a form, as G-Eval asks for it: weighted by token probabilities, a mean of samples, or as it was read.

The paper's score is sum(p(s_i) s_i) over the scale. Where the endpoint tells no probabilities they are estimated by
the frequencies among n samples at temperature 1; the paper took n = 20. A rating that was merely read once is another
thing, and says so: what was done stands on every score, and so does the reason where it is not what was asked for.

Source: Liu et al., "G-Eval: NLG Evaluation using GPT-4 with Better Human Alignment", EMNLP 2023, section 2 and 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import fmean
from typing import Any, Final, Literal, get_args

from steelyard.errors import ConfigError, ModelError, ScorerError, did_you_mean, expect_number
from steelyard.scorers.judges.judge import Judge, together
from steelyard.scorers.judges.logprobs import expected_rating
from steelyard.scorers.judges.summing_up import score_of, unless_stopped
from steelyard.text.rating import Scale, Verdict, read_rating
from steelyard.types import Asks, Message, Reply, Score

Weighting = Literal["auto", "logprobs", "samples", "single"]

_ALTERNATIVES: Final = 20
"""As many as OpenAI's interface lists; with 20 a scale of 1 to 10 is covered however it is spaced."""
_SCORE_TOKENS: Final = 12
"""A number needs one or two; a model that repeats the form before it, `coherence (1 to 5): 4`, needs ten."""
_REASON_TOKENS: Final = 512
_MOST_SAMPLES: Final = 200
_MOST_VALUES: Final = 1000

WEIGHTED: Final = "probability-weighted"
SINGLE: Final = "single rating"


@dataclass(frozen=True, slots=True)
class Form:
    """What is asked for, and how the rating is made of what comes back.

    Args:
        metric: the name that stands on the form.
        low: the lowest whole value.
        high: the highest.
        weighting: see `GEval`.
        samples: how many are drawn where they are.
        least_mass: the share of the probability that the scale's values must cover.
        reasoning: whether reasons follow the score.
    """

    metric: str
    low: int = 1
    high: int = 5
    weighting: Weighting = "auto"
    samples: int = 20
    least_mass: float = 0.5
    reasoning: bool = False

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: which option, what was expected and what came.
        """
        if not self.metric.strip() or not self.metric.isprintable():
            raise ConfigError(f"name: the metric's, as it is to stand on the form ('coherence'), not {self.metric!r}")
        expect_number("low", self.low, -_MOST_VALUES, _MOST_VALUES - 1, whole=True)
        expect_number("high", self.high, self.low + 1, self.low + _MOST_VALUES, whole=True)
        if self.weighting not in get_args(Weighting):
            near = did_you_mean(str(self.weighting), get_args(Weighting))
            raise ConfigError(f"weighting: there is no {self.weighting!r}{near}")
        expect_number("samples", self.samples, 2, _MOST_SAMPLES, whole=True)
        expect_number("least_mass", self.least_mass, 0, 1)

    def check_judge(self, judge: Judge) -> None:
        """Refuse parameters with which samples would all be the same.

        Raises:
            ConfigError: the temperature is 0.
        """
        if self.weighting == "samples" and judge.parameters.get("temperature", 1) == 0:
            raise ConfigError("weighting by samples needs a temperature above 0; take it out of the judge's parameters")

    @property
    def most_tokens(self) -> int:
        """How long a reply may be."""
        return _REASON_TOKENS if self.reasoning else _SCORE_TOKENS

    def read(self, reply: Reply) -> Verdict:
        """The rating in one reply."""
        verdict = read_rating(reply.text, Scale(self.low, self.high), name=self.metric, finish=reply.finish)
        return unless_stopped(verdict, reply)


@dataclass(frozen=True, slots=True)
class Rated:
    """One repeat's rating and where it comes from.

    Args:
        verdict: with the weighted value.
        how: `probability-weighted`, `mean of n samples` or `single rating`.
        n: replies in which a rating was read.
        unread: replies in which none was.
        mass: the share of the probability that was covered; None where none was known.
        distribution: value -> probability, or frequency among the samples.
        fallback: why it is not what was asked for; "" where it is.
    """

    verdict: Verdict
    how: str
    n: int
    unread: int = 0
    mass: float | None = None
    distribution: Mapping[float, float] = field(default_factory=dict)
    fallback: str = ""


async def rate(form: Form, judge: Judge, ask: Asks, messages: list[Message]) -> tuple[Rated, ...]:
    """Ask for a rating, as often as the judge repeats itself.

    Raises:
        ModelError: a call failed for good; with `logprobs`, an endpoint that refuses them as well.
        ScorerError: with `logprobs`, the endpoint gave none.
    """
    if form.weighting == "samples":
        return await _sampled(form, judge, ask, messages)
    if form.weighting == "single":
        replies = await judge.repeated(partial(judge.ask, ask, messages, max_tokens=form.most_tokens))
        return tuple(_single(form.read(reply)) for reply in replies)
    return await _weighted(form, judge, ask, messages)


async def _sampled(form: Form, judge: Judge, ask: Asks, messages: list[Message]) -> tuple[Rated, ...]:
    """Means of n ratings at temperature 1; those that cannot be read are counted and left out."""
    once = partial(judge.ask, ask, messages, temperature=1, max_tokens=form.most_tokens)
    verdicts = [form.read(reply) for reply in await together([once] * (form.samples * judge.repeats))]
    return tuple(_mean(verdicts[at : at + form.samples]) for at in range(0, len(verdicts), form.samples))


def _mean(verdicts: Sequence[Verdict]) -> Rated:
    read = [one for one in verdicts if one.value is not None]
    if not read:
        unparsed = [one for one in verdicts if one.outcome == "unparsed"]
        return Rated((unparsed or verdicts)[0], "", 0, len(verdicts))
    values = [one.value for one in read if one.value is not None]
    frequencies = {value: count / len(values) for value, count in sorted(Counter(values).items())}
    verdict = replace(read[0], value=fmean(values))
    return Rated(verdict, f"mean of {len(values)} samples", len(values), len(verdicts) - len(values), None, frequencies)


async def _weighted(form: Form, judge: Judge, ask: Asks, messages: list[Message]) -> tuple[Rated, ...]:
    """The ratings that the token probabilities expect, or those that were read and the reason for that."""

    async def once() -> Reply | str:
        try:
            return await judge.ask(
                ask, messages, logprobs=True, top_logprobs=_ALTERNATIVES, max_tokens=form.most_tokens
            )
        except ModelError as error:
            if form.weighting == "logprobs" or error.kind != "bad_request" or error.ends_run:
                raise
            return f"the endpoint refused the request for token probabilities: {error}"

    found = await judge.repeated(once)
    refused = [one for one in found if isinstance(one, str)]
    plain = partial(judge.ask, ask, messages, max_tokens=form.most_tokens)
    again = iter(await together([plain] * len(refused)) if refused else ())
    return tuple(
        _single(form.read(next(again)), one) if isinstance(one, str) else _expected(form, one) for one in found
    )


def _expected(form: Form, reply: Reply) -> Rated:
    """What one reply's token probabilities expect."""
    verdict, tokens = form.read(reply), reply.metadata.get("logprobs")
    if verdict.value is None or verdict.span is None:
        return _single(verdict)
    if not isinstance(tokens, list):
        if form.weighting == "logprobs":
            raise ScorerError(
                f"{form.metric}: the endpoint gave no token probabilities; set weighting to auto, samples or single"
            )
        return _single(verdict, "the endpoint gave no token probabilities")
    found = expected_rating(reply.text, verdict.span, tokens, range(form.low, form.high + 1))
    if isinstance(found, str):
        return _single(verdict, found)
    if found.mass < form.least_mass:
        low = f"only {found.mass:.2g} of the probability is on values of the scale, less than {form.least_mass:g}"
        return _single(verdict, low, found.mass)
    distribution = {float(value): p for value, p in found.distribution.items()}
    return Rated(replace(verdict, value=found.value), WEIGHTED, 1, 0, found.mass, distribution)


def _single(verdict: Verdict, fallback: str = "", mass: float | None = None) -> Rated:
    read = verdict.value is not None
    return Rated(verdict, SINGLE if read else "", int(read), int(not read), mass, fallback=fallback if read else "")


def rated_score(
    name: str,
    rated: Sequence[Rated],
    *,
    candidate: str,
    threshold: float | None = None,
    detail: Mapping[str, Any] | None = None,
) -> Score:
    """The score of all repeats: see `score_of`; `how`, `n`, `mass` and `distribution` say where it comes from.

    The flip rate counts ratings rounded to whole ones (or passes, where there is a threshold): expectations are never
    quite equal.

    Args:
        name: the score's.
        rated: one per repeat.
        candidate: the text that was judged.
        threshold: the lowest value that passes; None where nothing passes or fails.
        detail: more to keep.
    """
    score = score_of(
        name,
        [one.verdict for one in rated],
        candidate=candidate,
        passes=None if threshold is None else lambda value: value >= threshold,
        detail={**_told(name, rated), **(detail or {})},
    )
    whole = [round(one.verdict.value) for one in rated if one.verdict.value is not None]
    if threshold is not None or len(whole) < 2:
        return score
    flips = 1 - max(Counter(whole).values()) / len(whole)
    return replace(score, detail={**score.detail, "flip_rate": flips})


def _told(name: str, rated: Sequence[Rated]) -> dict[str, Any]:
    read = [one for one in rated if one.n]
    told: dict[str, Any] = {"n": sum(one.n for one in rated)}
    if unread := sum(one.unread for one in rated):
        told["unread"] = unread
    if not read:
        return told
    told["how"] = " and ".join(dict.fromkeys(one.how for one in read))
    told["columns"] = {f"{name}_how": told["how"]}
    if masses := [one.mass for one in read if one.mass is not None]:
        told["mass"] = fmean(masses)
    if spread := [one.distribution for one in read if one.distribution]:
        values = sorted({value for one in spread for value in one})
        told["distribution"] = {f"{value:g}": fmean(one.get(value, 0.0) for one in spread) for value in values}
    if fallback := next((one.fallback for one in read if one.fallback), ""):
        told["fallback"] = fallback
    return told
