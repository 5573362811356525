"""Preferences in words: who is preferred and how sure that is, warnings on one pair, and notes on many pairs.

One judge compares all pairs, so its position bias is one note on the judge, not one for each pair. A warning about a
single pair names the pair, and a page lists every warning in full with its pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

from steelyard.analysis.intervals import Mean
from steelyard.analysis.numbers import count_text, level_text, p_equals, percent_limits, percent_text
from steelyard.analysis.preferences.preferences_values import PositionBias, Preferences, PreferenceVerdict
from steelyard.analysis.stopping import Stopping
from steelyard.errors import some_of
from steelyard.stats.intervals import Interval

_CONSTANT: Final = 0.9
"""A side gives a constant answer from this share of equal answers on, with five answers or more."""
_LEAST_ANSWERS: Final = 5
_ALIKE: Final = 0.2
"""Share of the scored pairs with identical or nearly identical answers from which a warning is shown."""
_UNREAD: Final = 0.05
"""Share of unparsed or refused verdicts above which a warning is shown; `_FAILED` likewise of pairs not judged."""
_FAILED: Final = 0.05
_STRONG: Final = 0.1
"""Bias in favour of one position from which a warning is shown, where it is more than chance."""
_CONTRARY: Final = 0.7
"""Below this consistency, over at least ten pairs, a judge contradicts itself too often."""
_LEAST_PAIRS: Final = 10


class SameAnswers(NamedTuple):
    """How often a side gave its most frequent answer, and how many of its answers were read."""

    side: str
    most: int
    answers: int


def decided_side(stopping: Stopping) -> PreferenceVerdict:
    """The side that a stopping rule found preferred; its threshold may be another rate than a half."""
    low, high = stopping.interval
    if stopping.threshold == 0.5 and stopping.side in {"above", "below"}:
        return "A" if stopping.side == "above" else "B"
    if low > 0.5 or high < 0.5:
        return "A" if low > 0.5 else "B"
    return "cannot_tell"


def preference_sentence(pair: Preferences) -> str:
    """The conclusion of a pairwise comparison, with its numbers."""
    tally = pair.tally
    if not tally.scored:
        return f"No pair of answers of {pair.first} and {pair.second} has a verdict, so nothing can be concluded."
    if leaves_side_open(pair.bounds):
        return _inconclusive(pair)
    if pair.stopping:
        return _stopped(pair, pair.stopping)
    if not tally.decided:
        counts = ", ".join(_even(pair))
        return (
            f"{_these(tally.scored)} cannot tell which of {pair.first} and {pair.second} is preferred: "
            f"no pair was decided ({counts})."
        )
    if pair.verdict in {"A", "B"}:
        of_a, of_b = _won(tally.a, pair.win, pair), _won(tally.b, pair.win.complement(), pair)
        names, won = ((pair.first, pair.second), of_a) if pair.verdict == "A" else ((pair.second, pair.first), of_b)
        return f"{names[0]} is preferred to {names[1]}: it {won}."
    return (
        f"{_these(tally.scored)} cannot tell which of {pair.first} and {pair.second} is preferred: "
        f"{pair.first} {_won(tally.a, pair.win, pair)}. {_detectable(pair)}"
    )


def leaves_side_open(bounds: Interval | None) -> bool:
    """Whether the missing verdicts alone leave open which side is preferred.

    Args:
        bounds: of the share of A with ties as half; None where no verdict is missing.

    >>> leaves_side_open(Interval(0.45, 0.8)), leaves_side_open(Interval(0.55, 0.8)), leaves_side_open(None)
    (True, False, False)
    """
    return bounds is not None and bounds.low <= 0.5 <= bounds.high


def _inconclusive(pair: Preferences) -> str:
    """Why the missing verdicts leave open which side is preferred, and what the others show."""
    tally = pair.tally
    missing = tally.unparsed + tally.refused
    are = "is" if missing == 1 else "are"
    reason = (
        f"{count_text(missing, 'verdict')} of {tally.judged:,} {are} unreadable or refused, and depending on "
        f"{'it' if missing == 1 else 'these'} {pair.first} has {percent_limits(pair.bounds)} with ties as half"
    )
    claim = f"Nothing can be concluded about {pair.first} and {pair.second}: {reason}."
    if pair.stopping:
        return f"{claim} Of the rest: {_stopped(pair, pair.stopping)}"
    if not tally.decided:
        return f"{claim} No pair was decided ({', '.join(_even(pair))})."
    return f"{claim} Of the rest {pair.first} {_won(tally.a, pair.win, pair)}."


def _won(wins: int, win: Mean, pair: Preferences) -> str:
    """How many of the decided pairs a side won, and its rate with interval and test."""
    test = f"{pair.evidence.test}, {p_equals(pair.evidence.p)}{_rest(pair)}"
    return (
        f"won {wins} of {pair.tally.decided} decided pairs, {percent_text(win.value, 2)} "
        f"({level_text(pair.evidence.level)} CI {percent_limits(win.interval)}; {test})"
    )


def _detectable(pair: Preferences) -> str:
    decided = pair.tally.decided
    if pair.evidence.detectable is None:
        return f"With {count_text(decided, 'decided pair')} no result would be evidence."
    return (
        f"The smallest win rate that {count_text(decided, 'decided pair')} would show in 8 of 10 such sets is "
        f"{percent_text(pair.evidence.detectable)}."
    )


def _stopped(pair: Preferences, stopping: Stopping) -> str:
    where = "in the whole set" if stopping.question == "full" else "beyond this set"
    verdict = decided_side(stopping)
    if verdict == "cannot_tell":
        which = f"which of {pair.first} and {pair.second} is preferred {where}"
        head = f"{_these(stopping.used, 'sample')} cannot tell {which}"
        if stopping.side == "equal":
            head = f"Neither {pair.first} nor {pair.second} is preferred in the whole set: both have a half of it"
    else:
        name, other = (pair.first, pair.second) if verdict == "A" else (pair.second, pair.first)
        head = f"{name} is preferred to {other} {where}"
    low, high = stopping.interval
    whose, limits = (pair.second, (1 - high, 1 - low)) if verdict == "B" else (pair.first, (low, high))
    could = f" {_detectable(pair)}" if verdict == "cannot_tell" else ""
    return (
        f"{head} (anytime-valid {level_text(stopping.level)} confidence sequence of the share of {whose}, a tie "
        f"or disagreement as half: {percent_limits(limits)}; {stopping.extent}).{could} {stopping.promise}"
    )


def preference_warnings(pair: Preferences, same: Sequence[SameAnswers]) -> tuple[str, ...]:
    """Warnings that qualify the sentence, the most important first; what it says itself is not among them."""
    is_told = pair.tally.scored and leaves_side_open(pair.bounds)
    return (
        *_of_answers(pair, same),
        *_of_length(pair),
        *position_warnings(pair),
        *(() if is_told else _of_missing_verdicts(pair)),
        *_of_missing_answers(pair),
        *few_decided_warnings(pair),
    )


def _of_answers(pair: Preferences, same: Sequence[SameAnswers]) -> Iterator[str]:
    for side, most, answers in same:
        if answers >= _LEAST_ANSWERS and most >= _CONSTANT * answers:
            yield f"{pair.name_of(side)} gave one and the same answer {most:,} of {answers:,} times."
    alike, scored = pair.alike, pair.tally.scored
    if scored and alike >= _ALIKE * scored:
        pairs = count_text(scored, "pair")
        yield f"Both answers are identical or nearly so in {alike:,} of {pairs}: such pairs say little."


def _of_length(pair: Preferences) -> Iterator[str]:
    """Whether the preferred side may be preferred for its length alone."""
    effect = pair.length
    if effect is None or pair.verdict not in {"A", "B"}:
        return
    longer = f"the longer answer won {effect.longer_won:,} of {count_text(effect.unequal, 'decided pair')}"
    if effect.reason:
        pairs = effect.longer_pairs
        if pairs[pair.verdict] > effect.n / 2 and effect.unequal:
            reason = f"{effect.reason[:1].upper()}{effect.reason[1:]}"
            yield f"{reason}." if longer in reason else f"{reason}, and {longer}."
        return
    rate = effect.controlled if pair.verdict == "A" else effect.controlled.complement()
    if rate.interval and rate.interval.low <= 0.5 and effect.longer_pairs[pair.verdict] > effect.n / 2:
        yield (
            f"At equal length {pair.name_of(pair.verdict)} would have {percent_text(rate.value)} "
            f"({level_text(pair.evidence.level)} CI {percent_limits(rate.interval)}, ties as half), which "
            f"does not show that it is preferred: {longer}."
        )


def favoured_position(bias: PositionBias | None) -> Literal["first", "second", ""]:
    """The position that a judge favours by more than chance and by enough to matter; "" where it favours none."""
    if bias is None or bias.bias is None or bias.p is None or abs(bias.bias) < _STRONG or bias.p >= 0.05:
        return ""
    return "first" if bias.bias > 0 else "second"


def contradicts_itself(bias: PositionBias | None) -> bool:
    """Whether a judge that saw both orders contradicts itself too often."""
    return bias is not None and bias.consistency is not None and bias.n >= _LEAST_PAIRS and bias.consistency < _CONTRARY


def position_warnings(pair: Preferences) -> Iterator[str]:
    """Warnings about a judge with position bias."""
    bias = pair.bias
    if bias is None:
        return
    if position := favoured_position(bias):
        if bias.orders == "both":
            favoured = max(bias.favours_first, bias.favours_second)
            counts = (
                f"{favoured:,} of {count_text(bias.favours_first + bias.favours_second, 'disagreement')} of its orders"
            )
            advice = "Such pairs count as half."
        else:
            won = max(bias.first_won, bias.second_won)
            counts = f"{won:,} of {count_text(bias.first_won + bias.second_won, 'verdict')} for it"
            advice = "Show every pair in both orders."
        yield f"The judge favours the answer shown {position}: {counts} ({p_equals(bias.p)}). {advice}"
    if contradicts_itself(bias):
        pairs = count_text(bias.n, "pair")
        yield (
            f"The judge says the same in both orders in {percent_text(bias.consistency)} of {pairs} only: "
            f"much of the rest follows the position, not the answer."
        )


def _of_missing_verdicts(pair: Preferences) -> Iterator[str]:
    tally = pair.tally
    missing = tally.unparsed + tally.refused
    if tally.judged and missing > _UNREAD * tally.judged:
        between = f": counting ties as half, {pair.first} has {percent_limits(pair.bounds)}, whatever they are worth"
        were = "was" if missing == 1 else "were"
        verdicts = f"{count_text(missing, 'verdict')} of {tally.judged:,}"
        yield f"{verdicts} {were} unreadable or refused{between if pair.bounds else ''}."


def _of_missing_answers(pair: Preferences) -> Iterator[str]:
    tally = pair.tally
    if tally.failed > _FAILED * max(1, tally.total):
        counts = ", ".join(absent_text(pair, side) for side in tally.not_judged)
        as_losses = f"; counted as losses of that side, {pair.first} has {percent_text(pair.losses.value, 2)}"
        yield f"{count_text(tally.failed, 'pair')} were not judged, as a side gave no answer ({counts}){as_losses}."


def absent_text(pair: Preferences, side: str) -> str:
    """How many pairs a side left without an answer, and why: `model-a 3 (2 error, 1 refused)`."""
    name = "both sides" if side == "both" else pair.name_of(side)
    why = ", ".join(
        f"{n:,} {'failed' if kind.startswith('error') else kind}" for kind, n in pair.tally.not_judged[side].items()
    )
    return f"{name} {pair.tally.failed_by(side):,} ({why})"


def few_decided_warnings(pair: Preferences) -> Iterator[str]:
    """Warnings where few pairs were decided."""
    tally = pair.tally
    if pair.stopping or not tally.scored:
        return
    if pair.evidence.detectable is None:
        were = "was" if tally.decided == 1 else "were"
        decided = f"Only {count_text(tally.decided, 'pair')} {were}" if tally.decided else "No pair was"
        yield f"{decided} decided: evidence needs at least six."
    elif tally.decided < tally.scored / 2:
        counts = ", ".join(_even(pair))
        decided = f"{tally.decided:,} of {count_text(tally.scored, 'pair')}"
        yield f"Only {decided} were decided ({counts}): the win rate is over these."


def _rest(pair: Preferences) -> str:
    counts = _even(pair)
    return f"; not decided: {', '.join(counts)}" if counts else ""


def _even(pair: Preferences) -> list[str]:
    tally = pair.tally
    ties = [count_text(tally.tie, "tie")] if tally.tie else []
    return ties + ([f"{tally.inconsistent:,} inconsistent"] if tally.inconsistent else [])


def _these(n: int, noun: str = "pair") -> str:
    return f"This one {noun}" if n == 1 else f"These {count_text(n, noun)}"


_MOST_NAMED: Final = 4


def shared_notes(pairs: Sequence[Preferences]) -> tuple[str, ...]:
    """The warnings of several pairs of targets: what is to say of many is said once, with the pairs that it is true of.

    One judge compares them all, and each pair has its own warning, with figures, where it is shown.
    """
    several = {
        "The judge favours the answer shown first (p < 0.05)": [
            pair for pair in pairs if favoured_position(pair.bias) == "first"
        ],
        "The judge favours the answer shown second (p < 0.05)": [
            pair for pair in pairs if favoured_position(pair.bias) == "second"
        ],
        f"The judge says the same in both orders in less than {percent_text(_CONTRARY, 0)} of the pairs": [
            pair for pair in pairs if contradicts_itself(pair.bias)
        ],
        "Few pairs were decided, and a win rate counts only these": [
            pair for pair in pairs if any(few_decided_warnings(pair))
        ],
    }
    notes = []
    for what, those in several.items():
        notes += [f"{what}: {some_of([pair.title for pair in those], _MOST_NAMED)}."] if those else []
    for pair in pairs:
        shared = {*position_warnings(pair), *few_decided_warnings(pair)}
        # Here no sentence of the pair stands beside its warnings.
        texts = dict.fromkeys((*pair.warnings, *_of_missing_verdicts(pair)))
        notes += [f"{pair.title}: {text}" for text in texts if text not in shared]
    return tuple(notes)
