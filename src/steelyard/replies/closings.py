"""The letter of a closing sentence, as benchmarks ask for it, in languages that have no lexicon of their own."""

from __future__ import annotations

import re
from functools import cache

from steelyard.replies.choice_letters import letters_of
from steelyard.replies.evidence import Candidate, Strength
from steelyard.replies.grammar import FLAGS, any_of, lexicon
from steelyard.replies.options import ChoicePage


@cache
def _closing() -> re.Pattern[str]:
    """`Ответ: (B)`, `A válasz B`, up to the letters."""
    so, before = (any_of(lexicon("closings")[kind]) for kind in ("so", "before"))
    return re.compile(
        rf"(?:^|[.!?]\s{{1,3}})[\s>•-]{{0,8}}+(?:{so},?\s{{1,2}})?{before}[\s:]{{0,6}}[(\[\"']?"
        r"(?P<letters>(?-i:[A-Z](?:,\s?[A-Z]){0,9}))(?![^\W_])[)\]\"']?",
        FLAGS,
    )


@cache
def _end() -> re.Pattern[str]:
    """The end of such a sentence."""
    return re.compile(
        rf"[)\]\"']?\s{{0,3}}{any_of(lexicon('closings')['behind'])}?[ \t]{{0,4}}(?:[.!]\s|[.!]?$)", FLAGS
    )


def closing_letters(page: ChoicePage) -> Candidate | None:
    """`Ответ: (B)` as a sentence of its own, with the option's text or without; None where two of them differ."""
    given: dict[tuple[str, ...], Candidate] = {}
    for match in _closing().finditer(page.text):
        letters = letters_of(match["letters"])
        end = page.behind(letters[-1], match.end()) if letters else match.end()
        if letters and _end().match(page.text, end):
            given[letters] = Candidate(letters, *match.span("letters"), Strength.DECLARED, "declared")
    return next(iter(given.values())) if len(given) == 1 else None
