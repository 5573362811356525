"""The samples on a page: all of them up to 5,000, otherwise so many of each kind, drawn by a seed.

A page of 100,000 samples would be 20 MB, and nobody reads all of it. It shows samples that got worse or better, that
failed, that were not parsed, that are wrong, and some of the others. Counts are of all samples: a profile holds how
many samples have the same group and the same verdicts, so that the page's script can count those of any group and
target without having the samples.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from heapq import nsmallest
from typing import Final, Literal, NamedTuple, get_args

from steelyard.store import Run
from steelyard.types import Outcome

SampleKind = Literal["regressions", "improvements", "errors", "unparsed", "wrong", "rest"]
KINDS: Final[tuple[SampleKind, ...]] = get_args(SampleKind)
"""A sample is of the first kind that applies to it in any run; `unparsed` includes refused ones."""

WRONG, RIGHT, UNPARSED, REFUSED, ERROR, IMPROVEMENT, REGRESSION = (1 << bit for bit in range(7))
"""States of a sample in one run, as bits of its mask; the page's script uses the same bits."""
_SEEN: Final = 1 << 7
"""Marks a sample that a run has."""
_BITS: Final[Mapping[SampleKind, int]] = {
    "regressions": REGRESSION,
    "improvements": IMPROVEMENT,
    "errors": ERROR,
    "unparsed": UNPARSED | REFUSED,
    "wrong": WRONG,
}


@dataclass(frozen=True, slots=True)
class PageSize:
    """Limits on the number of samples of a page.

    Args:
        most: samples of each kind, if there are more than so many in total.
        seed: of the draw, which is the same on every machine and whatever other samples a run has.
    """

    most: int = 5_000
    seed: int = 0


PAGE_SIZE: Final = PageSize()


class KindCount(NamedTuple):
    """A kind of samples: how many a page shows, and how many there are."""

    kind: SampleKind
    shown: int
    total: int


class Profile(NamedTuple):
    """Samples with the same group and states: the group, the mask of each run, and their number."""

    group: str
    masks: tuple[int, ...]
    n: int


@dataclass(frozen=True, slots=True)
class SampleChoice:
    """The samples that a page holds, and the counts of all.

    Args:
        places: per run the positions of their records, ascending.
        total: how many samples there are.
        kinds: those that occur, in the order of `KINDS`.
        profiles: of all samples.
    """

    places: tuple[tuple[int, ...], ...]
    total: int
    kinds: tuple[KindCount, ...]
    profiles: tuple[Profile, ...]


class ScoredRun(NamedTuple):
    """A run with what decides the kinds of its samples.

    Args:
        run: read once.
        score: whose verdicts count.
        judges: whether the run judges pairs: its score is a preference, which is neither right nor wrong.
        changes: sample id -> 1 for an improvement, 2 for a regression.
    """

    run: Run
    score: str
    judges: bool
    changes: Mapping[str, int]


def choose_samples(runs: Sequence[ScoredRun], size: PageSize) -> SampleChoice | None:
    """Draw the samples of a page; None where the page shows all of them.

    Args:
        runs: as the page shows them; of a sample in several groups, the first run's counts.
        size: how many the page holds.
    """
    if sum(scored.run.done for scored in runs) <= size.most:
        return None
    samples = _NumberedSamples()
    read_runs = [samples.read(scored) for scored in runs]
    if len(samples.groups) <= size.most:
        return None
    by_kind, profiles = _sorted_out(samples, [of_run.masks for of_run in read_runs])
    idents = list(samples.numbers)
    drawn = {kind: _draw(numbers, idents, size) for kind, numbers in by_kind.items()}
    chosen = frozenset(number for numbers in drawn.values() for number in numbers)
    return SampleChoice(
        places=tuple(
            tuple(sorted({no for no, number in zip(of_run.places, of_run.owners, strict=True) if number in chosen}))
            for of_run in read_runs
        ),
        total=len(idents),
        kinds=tuple(KindCount(kind, len(drawn[kind]), len(by_kind[kind])) for kind in KINDS if by_kind[kind]),
        profiles=profiles,
    )


class _ReadRun(NamedTuple):
    """The mask of each sample by number; per record its position and the number of its sample."""

    masks: array[int]
    places: array[int]
    owners: array[int]


class _NumberedSamples:
    """Numbers samples in order of first appearance: for 100,000 in two runs, ids would need 40 MB more than numbers.

    Attributes:
        numbers: id -> number.
        groups: by number.
    """

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.groups: list[str] = []
        self._names: dict[str, str] = {}

    def read(self, scored: ScoredRun) -> _ReadRun:
        """The masks of a run and the positions of its records."""
        run = _ReadRun(array("H", bytes(2 * len(self.groups))), array("q"), array("q"))
        # A run of 100,000 records has some ten different verdicts.
        masks: dict[tuple[bool, Outcome | None, bool | None], int] = {}
        for no, _, ident, group, failed, outcome, _, passed in scored.run.placed_scores(scored.score):
            verdict = (failed, outcome, passed)
            mask = masks.get(verdict)
            if mask is None:
                mask = masks[verdict] = _mask(*verdict, judges=scored.judges)
            number = self.numbers.get(ident)
            if number is None:
                number = self.numbers[ident] = len(self.groups)
                self.groups.append(self._names.setdefault(group, group))
                run.masks.append(0)
            run.masks[number] |= mask | _SEEN
            run.places.append(no)
            run.owners.append(number)
        for ident, change in scored.changes.items():
            number = self.numbers.get(ident)
            if number is not None and run.masks[number] & _SEEN:
                run.masks[number] |= IMPROVEMENT if change == 1 else REGRESSION
        return run


def _mask(failed: bool, outcome: Outcome | None, passed: bool | None, *, judges: bool) -> int:  # noqa: FBT001  # a row
    """The mask of one record: without the score it is empty unless the record failed."""
    mask = ERROR if failed else 0
    if outcome == "unparsed":
        return mask | UNPARSED
    if outcome == "refused":
        return mask | REFUSED
    if outcome != "scored" or passed is None or judges:
        return mask
    return mask | (RIGHT if passed else WRONG)


def _sorted_out(
    samples: _NumberedSamples, masks: Sequence[array[int]]
) -> tuple[dict[SampleKind, array[int]], tuple[Profile, ...]]:
    """The numbers of the samples of each kind, and the profiles of all."""
    by_profile: dict[tuple[str, tuple[int, ...]], array[int]] = {}
    for number, group in enumerate(samples.groups):
        # The number of a sample that only later runs have is beyond the masks of an earlier run.
        of_runs = tuple([of_run[number] & ~_SEEN if number < len(of_run) else 0 for of_run in masks])
        by_profile.setdefault((group, of_runs), array("q")).append(number)
    by_kind: dict[SampleKind, array[int]] = {kind: array("q") for kind in KINDS}
    for (_, of_runs), numbers in by_profile.items():
        by_kind[_kind(of_runs)] += numbers
    return by_kind, tuple(Profile(group, of_runs, len(numbers)) for (group, of_runs), numbers in by_profile.items())


def _kind(masks: Iterable[int]) -> SampleKind:
    """The first kind that applies to samples with these masks."""
    bits_of_all = 0
    for mask in masks:
        bits_of_all |= mask
    return next((kind for kind, bits in _BITS.items() if bits_of_all & bits), "rest")


def _draw(numbers: Sequence[int], idents: Sequence[str], size: PageSize) -> Sequence[int]:
    """At most `size.most` samples, those with the smallest hashes: the draw does not depend on other samples.

    Args:
        numbers: of the samples to draw from.
        idents: of all samples, by number.
        size: how many.
    """
    if len(numbers) <= size.most:
        return numbers
    key = str(size.seed).encode()

    def order(number: int) -> bytes:
        return blake2b(idents[number].encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()

    return nsmallest(size.most, numbers, key=order)
