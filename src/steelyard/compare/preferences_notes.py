"""What warns of many judged pairs at once: one and the same warning of ten pairs is one note, not ten.

One judge compares all of them, so what it does with the places is said of the judge. What is about one pair keeps its
name, and every warning in full stands with its pair on a page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from steelyard.compare.preferences_values import Preferences
from steelyard.compare.preferences_wording import contrary, favoured_place, of_few, of_places, percent

_MOST_NAMED: Final = 4


def shared_notes(found: Sequence[Preferences]) -> tuple[str, ...]:
    """The warnings of several pairs of targets: of the judge, of pairs with few decisions, then of single pairs."""
    return (*_of_places(found), *_of_contradictions(found), *_of_few(found), *_of_single(found))


def _of_places(found: Sequence[Preferences]) -> Iterator[str]:
    for place in ("first", "second"):
        named = [one for one in found if favoured_place(one.bias) == place]
        biases = [one.bias for one in named if one.bias is not None]
        if not biases:
            continue
        of = f"in {len(named):,} of these {len(found):,} comparisons"
        ours = sum(one.favours_first if place == "first" else one.favours_second for one in biases)
        both = sum(one.favours_first + one.favours_second for one in biases)
        counts = (
            f": {ours:,} of {both:,} disagreements of its orders are for it. Such pairs count as half" if both else ""
        )
        yield f"The judge favours the answer shown {place} {of} (p < 5 % each){counts}."


def _of_contradictions(found: Sequence[Preferences]) -> Iterator[str]:
    rates = {one.title: one.bias.consistency or 0.0 for one in found if one.bias is not None and contrary(one.bias)}
    if rates:
        least = min(rates, key=lambda title: rates[title])
        yield (
            f"The judge says the same in both orders in less than 70 % of the pairs in {len(rates):,} of these "
            f"{len(found):,} comparisons (least, {percent(rates[least], 1)}, in {least}): much of the rest is its "
            "place, not the answer."
        )


def _of_few(found: Sequence[Preferences]) -> Iterator[str]:
    named = [f"{one.title} ({one.tally.decided:,} of {one.tally.scored:,})" for one in found if any(of_few(one))]
    if named:
        more = f" and {len(named) - _MOST_NAMED:,} more" if len(named) > _MOST_NAMED else ""
        yield f"Few pairs were decided in {', '.join(named[:_MOST_NAMED])}{more}: a win rate is over these alone."


def _of_single(found: Sequence[Preferences]) -> Iterator[str]:
    for one in found:
        told = {*of_places(one), *of_few(one)}
        yield from (f"{one.title}: {text}" for text in one.warnings if text not in told)
