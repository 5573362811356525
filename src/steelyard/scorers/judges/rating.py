"""One rating on a form, as G-Eval asks for it: weighted by token probabilities, a mean of samples, or as it was read.

The paper's score is sum(p(s_i) s_i) over the scale. Where the endpoint gives no probabilities they are estimated by
the frequencies among n samples at temperature 1; the paper took n = 20. A rating that was read once is neither: every
score records which method was used, and the reason where it is not the requested one.

Source: Liu et al., "G-Eval: NLG Evaluation using GPT-4 with Better Human Alignment", EMNLP 2023, section 2 and 3.

Token probabilities give the expected rating, and how much of the probability it covers. At the token where the
rating is in a reply, the endpoint lists the likeliest alternatives. Each that spells a whole value of the scale
counts, however it is spaced or decorated ("4", " 4", "４", "**4"); the rest of the distribution (words, decimals,
values outside the scale, whatever is not listed) is not covered, and is left out of the mean.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import fsum
from statistics import fmean
from typing import Annotated, Any, Final, Literal, NamedTuple

from steelyard.constraints import Within
from steelyard.errors import ConfigError, ModelError, ScorerError
from steelyard.models.decisions import DECISIONS
from steelyard.models.openai_compatible import token_probabilities
from steelyard.replies.clean import fold
from steelyard.replies.judge_reply import Scale, Verdict
from steelyard.replies.rating import read_rating
from steelyard.scorers.judges.declared import REASON_TOKENS, score_of, unless_stopped
from steelyard.scorers.judges.judge import Judge, together
from steelyard.session.reply_schemas import ask_for_probabilities
from steelyard.session.session import proving
from steelyard.types import STOPPED, Asks, Message, Reply, Score

Weighting = Literal["auto", "logprobs", "samples", "single"]

ALTERNATIVES: Final = 20
"""As many as OpenAI's interface lists; with 20 a scale of 1 to 10 is covered however it is spaced."""
_SCORE_TOKENS: Final = 12
"""A number needs one or two; a model that repeats the form before it, `coherence (1 to 5): 4`, needs ten."""
_BRACES_TOKENS: Final = 20
"""What JSON writes around a rating, with line breaks and blanks."""
MOST_VALUES: Final = 1000
Samples = Annotated[int, Within(2, 200)]
"""How many replies are drawn for a mean."""

WEIGHTED: Final = "probability-weighted"
SINGLE: Final = "single rating"


@dataclass(frozen=True, slots=True)
class Form:
    """A rating form: the metric, its scale, and how the rating is computed from the replies.

    Args:
        metric: its name on the form.
        low: the lowest whole value.
        high: the highest.
        weighting: see `GEval`.
        samples: how many are drawn where they are.
        min_probability_mass: the share of the probability that the scale's values must cover.
        reasoning: whether reasons come before the score, for which a reply needs room.
        alternatives: how many tokens the endpoint is asked to list at each token of the reply, where probabilities are
            asked for.
    """

    metric: str
    low: int = 1
    high: int = 5
    weighting: Weighting = "auto"
    samples: int = 20
    min_probability_mass: float = 0.5
    reasoning: bool = False
    alternatives: int = ALTERNATIVES

    def check_judge(self, judge: Judge) -> None:
        """Refuse a temperature of 0 where several samples are drawn: they would all be equal.

        Raises:
            ConfigError: the temperature is 0.
        """
        if self.weighting == "samples" and judge.parameters.get("temperature", 1) == 0:
            raise ConfigError("weighting by samples needs a temperature above 0; take it out of the judge's parameters")

    def schema(self, judge: Judge) -> dict[str, Any]:
        """Request parameters that restrict a reply to the form in JSON, with reasons where the form asks for them."""
        if judge.structured == "decisions":
            # Ratings that are to be drawn, or weighted by the tokens of a text, need a text.
            of_text = self.weighting in {"samples", "logprobs"}
            return {} if of_text else judge.rating_schema(scale=Scale(self.low, self.high))
        schema = judge.rating_schema(reason=self.reasoning)
        return {**schema, "max_tokens": self.most_tokens + _BRACES_TOKENS} if schema else {}

    @property
    def most_tokens(self) -> int:
        """How long a reply may be."""
        return REASON_TOKENS if self.reasoning else _SCORE_TOKENS

    def read(self, reply: Reply) -> Verdict:
        """The rating in one reply."""
        verdict = read_rating(reply.text, Scale(self.low, self.high), name=self.metric, finish=reply.finish)
        return unless_stopped(verdict, reply)


@dataclass(frozen=True, slots=True)
class Rated:
    """The rating of one repeat and how it was computed.

    Args:
        verdict: with the weighted value.
        how: `probability-weighted`, `mean of n samples` or `single rating`.
        n: replies in which a rating was read.
        unparsed: replies in which none was.
        mass: the share of the probability that was covered; None where none was known.
        distribution: value -> probability, or frequency among the samples.
        fallback: why the requested method was not used; "" where it was.
    """

    verdict: Verdict
    how: str
    n: int
    unparsed: int = 0
    mass: float | None = None
    distribution: Mapping[float, float] = field(default_factory=dict)
    fallback: str = ""


async def rate(form: Form, judge: Judge, ask: Asks, messages: list[Message]) -> tuple[Rated, ...]:
    """Ask for a rating once for each repeat of the judge.

    Raises:
        ModelError: a call failed for good; or the weighting is `logprobs` and the endpoint refuses or omits them.
    """
    if form.weighting == "samples":
        return await _sampled(form, judge, ask, messages)
    schema = form.schema(judge)
    if DECISIONS in schema or form.weighting == "single":
        verdicts = await judge.verdicts(ask, messages, form.read, schema=schema, max_tokens=form.most_tokens)
        return tuple(map(_decided if DECISIONS in schema else _single, verdicts))
    return await _weighted(form, judge, ask, messages)


async def _sampled(form: Form, judge: Judge, ask: Asks, messages: list[Message]) -> tuple[Rated, ...]:
    """Means of n ratings at temperature 1; unparsed ratings are counted and left out of the mean."""
    once = partial(judge.ask, ask, messages, schema=form.schema(judge), temperature=1, max_tokens=form.most_tokens)
    verdicts = [form.read(reply) for reply in await together([once] * (form.samples * judge.repeats))]
    return tuple(_mean(verdicts[at : at + form.samples]) for at in range(0, len(verdicts), form.samples))


def _mean(verdicts: Sequence[Verdict]) -> Rated:
    read = [verdict for verdict in verdicts if verdict.value is not None]
    if not read:
        unparsed = [verdict for verdict in verdicts if verdict.outcome == "unparsed"]
        return Rated((unparsed or verdicts)[0], "", 0, len(verdicts))
    values = [verdict.value for verdict in read if verdict.value is not None]
    frequencies = {value: count / len(values) for value, count in sorted(Counter(values).items())}
    verdict = replace(read[0], value=fmean(values))
    return Rated(verdict, f"mean of {len(values)} samples", len(values), len(verdicts) - len(values), None, frequencies)


async def _weighted(form: Form, judge: Judge, ask: Asks, messages: list[Message]) -> tuple[Rated, ...]:
    """Ratings weighted by token probabilities; where these are missing, the rating as it was read, with the reason."""
    call = partial(judge.ask, ask, messages, schema=form.schema(judge), max_tokens=form.most_tokens)
    weighted = partial(call, logprobs=True, top_logprobs=form.alternatives)

    async def once() -> Rated:
        if form.weighting == "logprobs" or judge.model is None:
            return _expected(form, await _proved(form, judge, ask, weighted))
        reply, refusal = await ask_for_probabilities(ask, judge.model, call, form.alternatives)
        if refusal:
            return _single(form.read(reply), f"the endpoint refused the request for token probabilities: {refusal}")
        return _expected(form, reply)

    return await judge.repeated(once)


async def _proved(form: Form, judge: Judge, ask: Asks, weighted: Callable[[], Awaitable[Reply]]) -> Reply:
    """A reply with token probabilities; an endpoint that gives none ends the run with its first call.

    Raises:
        ModelError: it gave none, or refused them.
        ScorerError: it gave none this time.
    """
    without = f"{form.metric}: the endpoint gave no token probabilities; set weighting to auto, samples or single"
    async with proving(ask, judge.model, "log probabilities") as shown:
        try:
            reply = await weighted()
        except ModelError as error:
            if error.ends_run or error.kind != "bad_request" or "logprob" not in str(error).lower():
                raise
            message = f"{without} (it says: {error})"
            raise ModelError(message, kind=error.kind, attempts=error.attempts, ends_run=not shown) from error
        if reply.text and reply.finish not in STOPPED and not isinstance(reply.metadata.get("logprobs"), list):
            raise ScorerError(without) if shown else ModelError(without, kind="bad_request", ends_run=True)
        return reply


def _expected(form: Form, reply: Reply) -> Rated:
    """The rating of one reply, weighted by its token probabilities."""
    verdict, tokens = form.read(reply), reply.metadata.get("logprobs")
    if verdict.value is None or verdict.span is None:
        return _single(verdict)
    if not isinstance(tokens, list):
        return _single(verdict, "the endpoint gave no token probabilities")
    expected = expected_rating(reply.text, verdict.span, tokens, range(form.low, form.high + 1))
    if isinstance(expected, str):
        return _single(verdict, expected)
    if expected.mass < form.min_probability_mass:
        least = form.min_probability_mass
        low = f"only {expected.mass:.2g} of the probability is on values of the scale, less than {least:g}"
        return _single(verdict, low, expected.mass)
    distribution = {float(value): p for value, p in expected.distribution.items()}
    return Rated(replace(verdict, value=expected.value), WEIGHTED, 1, 0, expected.mass, distribution)


def _decided(verdict: Verdict) -> Rated:
    """The rating in the probabilities that an endpoint gave for each value, or in its text where it gave none."""
    if not verdict.probabilities:
        return _single(verdict, "the endpoint gave no decision")
    distribution = {float(value): share for value, share in verdict.probabilities.items()}
    return Rated(verdict, WEIGHTED, 1, 0, sum(distribution.values()), distribution)


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
    """The score of all repeats, see `score_of`; `how`, `n`, `mass` and `distribution` say how it was computed.

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
        [rating.verdict for rating in rated],
        candidate=candidate,
        passes=None if threshold is None else lambda value: value >= threshold,
        detail={**_details(name, rated), **(detail or {})},
    )
    rounded = [round(rating.verdict.value) for rating in rated if rating.verdict.value is not None]
    if threshold is not None or len(rounded) < 2:
        return score
    flips = 1 - max(Counter(rounded).values()) / len(rounded)
    return replace(score, detail={**score.detail, "flip_rate": flips})


def _details(name: str, rated: Sequence[Rated]) -> dict[str, Any]:
    read = [rating for rating in rated if rating.n]
    details: dict[str, Any] = {"n": sum(rating.n for rating in rated)}
    if unparsed := sum(rating.unparsed for rating in rated):
        details["unread"] = unparsed
    if not read:
        return details
    details["how"] = " and ".join(dict.fromkeys(rating.how for rating in read))
    details["columns"] = {f"{name}_how": details["how"]}
    if masses := [rating.mass for rating in read if rating.mass is not None]:
        details["mass"] = fmean(masses)
    if distributions := [rating.distribution for rating in read if rating.distribution]:
        values = sorted({value for shares in distributions for value in shares})
        details["distribution"] = {
            f"{value:g}": fmean(shares.get(value, 0.0) for shares in distributions) for value in values
        }
    if fallback := next((rating.fallback for rating in read if rating.fallback), ""):
        details["fallback"] = fallback
    return details


_NUMBER: Final = re.compile(r"(?P<whole>-?[0-9]{1,9})(?P<decimals>[.,]?[0-9])?")
_SPELLED: Final = re.compile(r"[-0-9]*")
_DECORATION: Final = " \t\r\n*_`~\"'“”‘’(（[【<{:："
_DECIMAL: Final = ".,"
_ONE: Final = 1.001
"""Endpoints round: a distribution may sum to a little more than 1, one that sums to much more is invalid."""


@dataclass(frozen=True, slots=True)
class Expected:
    """A rating as an expectation over the scale.

    Args:
        value: sum(p_i s_i) / sum(p_i) over the values s_i of the scale.
        mass: sum(p_i), in (0, 1]: the share of the whole distribution that is covered.
        distribution: value -> p_i, ascending, without those that were not seen.
    """

    value: float
    mass: float
    distribution: Mapping[int, float]


class _NumberToken(NamedTuple):
    """One token of a reply: its byte range, its text, and the probabilities of its alternatives."""

    start: int
    end: int
    text: str
    alternatives: Mapping[str, float]


def expected_rating(text: str, span: tuple[int, int], tokens: Sequence[Any], values: Sequence[int]) -> Expected | str:
    """The expected value of the rating at `span`, or why it cannot be computed.

    A number of several tokens is followed from token to token: the probability of "10" written as "1" and "0" is
    p("1") p("0" after "1"), and that of "1" is p("1") times what does not go on with a digit. Behind an alternative
    that was not taken, and behind the last token, nothing is known. A number that begins a longer value of the scale
    is left uncovered there, unless the longer values are listed as tokens of their own: a model writes a number with
    the tokens that its tokenizer has for it.

    Args:
        text: the reply.
        span: where the rating was read in it, in characters. A reply that repeats its rating was read where it states
            it; a number that merely looks like it, in the reasoning, does not count.
        tokens: the entries of the endpoint's `logprobs.content`, in order: `token`, `bytes`, `logprob` and
            `top_logprobs`.
        values: the whole values of the scale, ascending.

    Source: Liu et al., "G-Eval: NLG Evaluation using GPT-4 with Better Human Alignment", EMNLP 2023, section 2, with
    the sum normalised by the mass that is covered, which the paper takes to be 1.

    >>> from math import log
    >>> four = {"token": "4", "logprob": log(0.6), "top_logprobs": [{"token": "5", "logprob": log(0.2)}]}
    >>> expected = expected_rating("4", (0, 1), [four], range(1, 6))
    >>> round(expected.value, 6), round(expected.mass, 6)
    (4.25, 0.8)
    """
    number_start = _place_of_number(text, span, values)
    if number_start is None:
        return "the rating is not written as a whole number of the scale"
    read = _tokens(text, tokens)
    if not read:
        return "the tokens that the endpoint gave do not make up the reply"
    start = len(text[:number_start].encode("utf-8", "surrogatepass"))
    index = next((no for no, token in enumerate(read) if token.start <= start < token.end), None)
    if index is None:
        return "no token is at the place of the rating"
    before = read[index].text.encode("utf-8", "surrogatepass")[: start - read[index].start].decode("utf-8", "replace")
    distribution: dict[int, float] = {}
    for value, p in _spelled_values(read[index:], tuple(map(str, values)), before):
        distribution[value] = distribution.get(value, 0.0) + p
    mass = fsum(distribution.values())
    if mass <= 0 or mass > _ONE:
        return "the probabilities of the endpoint cannot be read"
    ordered = {value: distribution[value] for value in sorted(distribution)}
    return Expected(fsum(p * value for value, p in ordered.items()) / mass, min(1.0, mass), ordered)


def _place_of_number(text: str, span: tuple[int, int], values: Sequence[int]) -> int | None:
    """Where the first number within `span` starts, if it is a whole value of the scale."""
    start, end = span
    match = _NUMBER.search(fold(text[start:end]))
    return start + match.start() if match and match["decimals"] is None and int(match["whole"]) in values else None


def _spelled_values(
    tokens: Sequence[_NumberToken], values: Sequence[str], before: str = "", so_far: str = "", weight: float = 1.0
) -> Iterator[tuple[int, float]]:
    """(value, probability) of each number that tokens and their alternatives spell; a value may come several times.

    Args:
        tokens: of the reply, from the one in which the number starts.
        values: of the scale.
        before: what stands before the number in the first token.
        so_far: the digits before the first token.
        weight: their probability.
    """
    token = tokens[0]
    spelled = {text: _spelled(text.removeprefix(before), so_far) for text in token.alternatives}
    listed = {number for number, _ in spelled.values()}
    for text, (number, suffix) in spelled.items():
        p = weight * token.alternatives[text]
        taken = text == token.text
        # The values of the scale that begin with `number` and go on.
        longer = {value for value in values if value != number and value.startswith(number)}
        if taken and longer and not suffix and len(tokens) > 1:
            yield from _spelled_values(tokens[1:], values, "", number, p)
        elif number in values and (
            _is_over(suffix, taken=taken, ended=bool(so_far) and not text) or (not suffix and longer <= listed)
        ):
            yield int(number), p


def _spelled(text: str, so_far: str) -> tuple[str, str]:
    """The number that `text` makes behind the digits `so_far`, and what follows it."""
    cleaned = fold(text) if so_far else fold(text).lstrip(_DECORATION)
    digits = _SPELLED.match(cleaned)
    length = digits.end() if digits else 0
    return so_far + cleaned[:length], cleaned[length:]


def _is_over(suffix: str, *, taken: bool, ended: bool) -> bool:
    """Whether a number ends before `suffix`; one that may continue as a decimal ends only if its token was taken.

    Args:
        suffix: what follows it in the same token.
        taken: whether this token was: the rating is known to be a whole number then.
        ended: whether the token has no text, as the end of a reply has.
    """
    return ended or (bool(suffix) and (taken or suffix[0] not in _DECIMAL))


def _tokens(text: str, listed: Sequence[Any]) -> list[_NumberToken]:
    """The tokens with their byte positions in `text`; empty if they do not add up to it."""
    entries = [(entry, _bytes_of(entry)) for entry in listed if isinstance(entry, Mapping)]
    joined = b"".join(part for _, part in entries)
    offset = joined.find(text.encode("utf-8", "surrogatepass"))
    if offset < 0 or not text:
        return []
    read, at = [], -offset
    for entry, part in entries:
        read.append(_NumberToken(at, at + len(part), str(entry.get("token", "")), _alternatives(entry)))
        at += len(part)
    return read


def _alternatives(entry: Mapping[str, Any]) -> dict[str, float]:
    """Text -> probability of the alternatives of a token, and of the token itself if it is not listed."""
    probabilities: dict[str, float] = {}
    listed = entry.get("top_logprobs")
    for text, p in token_probabilities(listed):
        probabilities[text] = probabilities.get(text, 0.0) + p
    for text, p in token_probabilities([entry]):
        probabilities.setdefault(text, p)
    return probabilities


def _bytes_of(entry: Mapping[str, Any]) -> bytes:
    """A token's bytes, as listed: a token may be a part of a character, which its text cannot show."""
    values = entry.get("bytes")
    if isinstance(values, list) and all(isinstance(number, int) and 0 <= number < 256 for number in values):
        return bytes(values)
    return str(entry.get("token", "")).encode("utf-8", "surrogatepass")
