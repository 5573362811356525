"""Packs retrieved contexts into windows that one call can show; they stay whole where they fit, and no text is lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final

from steelyard.constraints import Within
from steelyard.prompts.fenced_prompt import fence, mark_for
from steelyard.retrieval.chunk import cut, sentences
from steelyard.types import token_weight

LEAST_WINDOW: Final = 50
"""Tokens of the smallest window: less would cut sentences."""
WindowTokens = Annotated[int, Within(LEAST_WINDOW, 10_000_000)]
"""Estimated tokens of the contexts that one call shows."""
_ANY_MARK: Final = "0" * 12
"""As long as every mark, to measure a passage before its mark is known."""


@dataclass(frozen=True, slots=True)
class ContextWindow:
    """The part of the contexts that one call shows.

    Args:
        numbers: of the contexts in it, 1-based, in rank order; each at most once.
        texts: of each, or the part of it that is in this window.
    """

    numbers: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()

    def shown(self) -> str:
        r"""The passages with the numbers of their contexts, fenced by marks that their texts cannot contain.

        >>> print(ContextWindow((2,), ("Paris.",)).shown())
        <passage 2 42f594c482b4>
        Paris.
        </passage 2 42f594c482b4>
        """
        mark = mark_for(dict(zip(map(str, self.numbers), self.texts, strict=True)))
        return "\n\n".join(_passage(no, text, mark) for no, text in zip(self.numbers, self.texts, strict=True))

    def renumbered(self) -> ContextWindow:
        """The same passages, numbered from 1: for a reply that gives a verdict on each."""
        return replace(self, numbers=tuple(range(1, len(self.texts) + 1)))


def windows(contexts: Sequence[str], tokens: int) -> tuple[ContextWindow, ...]:
    """Pack `contexts` into windows, in order.

    A context that fits a window is kept whole; one that does not is cut at sentence borders, a sentence that
    does not between clauses, a clause that does not at characters. Its parts, joined in order, are the context.
    Blank ones are left out.

    Args:
        contexts: in rank order.
        tokens: estimated tokens of a window as it is shown (see `steelyard.types`).

    >>> [window.numbers for window in windows(["a" * 100, "b" * 100, "c" * 100], 80)]
    [(1, 2), (3,)]
    """
    packed: list[ContextWindow] = []
    window, weight = ContextWindow(), 0.0
    for number, text in _parts(contexts, tokens):
        added = token_weight(_passage(number, text) + "\n\n")
        if window.numbers and weight + added > tokens:
            packed.append(window)
            window, weight = ContextWindow(), 0.0
        window, weight = ContextWindow((*window.numbers, number), (*window.texts, text)), weight + added
    return (*packed, window) if window.numbers else tuple(packed)


def _passage(number: int, text: str, mark: str = _ANY_MARK) -> str:
    return fence(f"passage {number}", text, mark)


def _parts(contexts: Sequence[str], tokens: int) -> Iterator[tuple[int, str]]:
    """(number, text) of each context, split into as many parts as the window requires."""
    for number, text in enumerate(contexts, start=1):
        if text.strip():
            budget = tokens - token_weight(_passage(number, "") + "\n\n")
            for part in _joined(text, budget) if token_weight(text) > budget else (text,):
                yield number, part


def _joined(text: str, budget: float) -> Iterator[str]:
    """Runs of sentences within the budget."""
    begin = end = 0
    weight = 0.0
    for piece in _pieces(text, budget):
        added = token_weight(piece)
        if weight + added > budget:
            yield text[begin:end]
            begin, weight = end, 0.0
        end, weight = end + len(piece), weight + added
    yield text[begin:]


def _pieces(text: str, budget: float) -> Iterator[str]:
    """Sentences with the blanks after them; one over the budget is split."""
    starts = [start for start, _ in sentences(text)][1:]
    for start, stop in zip([0, *starts], [*starts, len(text)], strict=True):
        if token_weight(text[start:stop]) <= budget:
            yield text[start:stop]
        else:
            yield from (text[begin:end] for begin, end in cut(text, start, stop, int(budget)))
