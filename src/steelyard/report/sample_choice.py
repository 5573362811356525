"""Which samples a page of many runs holds: all of them up to 5,000, else so many of each kind, drawn by a seed.

A page of 100,000 samples is 20 MB that nobody scrolls through. What a reader looks for is there: samples that got worse
or better, that failed, that could not be read, that are wrong; and some of the rest. Counts are of all samples: a
profile says how many of them have the same group and the same verdicts, so that the page's script can count those of
any group and target without having the samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from heapq import nsmallest
from typing import Final, Literal, NamedTuple, get_args

from steelyard.analysis.run_protocols import StoredRun
from steelyard.types import Outcome

SampleKind = Literal["regressions", "improvements", "errors", "unparsed", "wrong", "rest"]
KINDS: Final[tuple[SampleKind, ...]] = get_args(SampleKind)
"""A sample is of the first kind that is true of it in any run; `unparsed` has refused ones too."""

WRONG, RIGHT, UNPARSED, REFUSED, ERROR, IMPROVEMENT, REGRESSION = (1 << bit for bit in range(7))
"""What is true of a sample in one run: bits of its mask. The page's script has the same."""
_BITS: Final[Mapping[SampleKind, int]] = {
    "regressions": REGRESSION,
    "improvements": IMPROVEMENT,
    "errors": ERROR,
    "unparsed": UNPARSED | REFUSED,
    "wrong": WRONG,
}


@dataclass(frozen=True, slots=True)
class PageSize:
    """How many samples a page holds.

    Args:
        most: of each kind where there are more than so many in all.
        seed: of the draw. The same samples are drawn whatever else a run holds, and on every machine.
    """

    most: int = 5_000
    seed: int = 0


PAGE_SIZE: Final = PageSize()


class KindCount(NamedTuple):
    """A kind of samples: how many of them a page shows, and how many there are."""

    kind: SampleKind
    shown: int
    total: int


class Profile(NamedTuple):
    """Samples alike: their group, what is true of them in each run, and how many they are."""

    group: str
    masks: tuple[int, ...]
    n: int


@dataclass(frozen=True, slots=True)
class SampleChoice:
    """The samples that a page holds, and the counts of all.

    Args:
        places: per run the places of their records, ascending.
        total: how many samples there are.
        kinds: of those there are, in the order of `KINDS`.
        profiles: of all samples.
    """

    places: tuple[tuple[int, ...], ...]
    total: int
    kinds: tuple[KindCount, ...]
    profiles: tuple[Profile, ...]


class ScoredRun(NamedTuple):
    """A run with what decides of which kind its samples are.

    Args:
        run: read once.
        score: whose verdicts count.
        judges: whether the run judges pairs: its score is a preference, and nothing in it is right or wrong.
        changes: sample id -> 1 for an improvement, 2 for a regression.
    """

    run: StoredRun
    score: str
    judges: bool
    changes: Mapping[str, int]


def choose_samples(runs: Sequence[ScoredRun], size: PageSize) -> SampleChoice | None:
    """Draw the samples of a page; None where it has room for all of them.

    Args:
        runs: as the page shows them; of a sample in several groups, the first run's counts.
        size: how many the page holds.
    """
    if sum(scored.run.done for scored in runs) <= size.most:
        return None
    groups: dict[str, str] = {}
    masks: list[dict[str, int]] = []
    places: list[list[tuple[int, str]]] = []
    for scored in runs:
        of_run, at = _read_masks(scored, groups)
        masks.append(of_run)
        places.append(at)
    if len(groups) <= size.most:
        return None
    by_kind, profiles = _sorted_out(groups, masks)
    drawn = {kind: _draw(idents, size) for kind, idents in by_kind.items()}
    chosen = frozenset(ident for idents in drawn.values() for ident in idents)
    return SampleChoice(
        places=tuple(tuple(sorted({no for no, ident in at if ident in chosen})) for at in places),
        total=len(groups),
        kinds=tuple(KindCount(kind, len(drawn[kind]), len(by_kind[kind])) for kind in KINDS if by_kind[kind]),
        profiles=profiles,
    )


def _read_masks(scored: ScoredRun, groups: dict[str, str]) -> tuple[dict[str, int], list[tuple[int, str]]]:
    """Per sample of a run its mask, and (place, id) of each record; new samples are added to `groups`."""
    of_run: dict[str, int] = {}
    at: list[tuple[int, str]] = []
    # A run of 100,000 records has some ten different verdicts.
    known: dict[tuple[bool, Outcome | None, bool | None], int] = {}
    for no, ident, group, failed, outcome, passed in scored.run.placed_verdicts(scored.score):
        verdict = (failed, outcome, passed)
        mask = known.get(verdict)
        if mask is None:
            mask = known[verdict] = _mask(*verdict, judges=scored.judges)
        if ident not in groups:
            groups[ident] = group
        of_run[ident] = of_run[ident] | mask if ident in of_run else mask
        at.append((no, ident))
    for ident, way in scored.changes.items():
        if ident in of_run:
            of_run[ident] |= IMPROVEMENT if way == 1 else REGRESSION
    return of_run, at


def _mask(failed: bool, outcome: Outcome | None, passed: bool | None, *, judges: bool) -> int:  # noqa: FBT001  # a row
    """What is true of one record. One without the score is none of these unless it failed."""
    mask = ERROR if failed else 0
    if outcome == "unparsed":
        return mask | UNPARSED
    if outcome == "refused":
        return mask | REFUSED
    if outcome != "scored" or passed is None or judges:
        return mask
    return mask | (RIGHT if passed else WRONG)


def _sorted_out(
    groups: Mapping[str, str], masks: Sequence[Mapping[str, int]]
) -> tuple[dict[SampleKind, list[str]], tuple[Profile, ...]]:
    """The samples of each kind, and the profiles of all."""
    alike: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    for ident, group in groups.items():
        of_runs = tuple([of_run.get(ident, 0) for of_run in masks])
        alike.setdefault((group, of_runs), []).append(ident)
    by_kind: dict[SampleKind, list[str]] = {kind: [] for kind in KINDS}
    for (_, of_runs), idents in alike.items():
        by_kind[_kind(of_runs)] += idents
    return by_kind, tuple(Profile(group, of_runs, len(idents)) for (group, of_runs), idents in alike.items())


def _kind(masks: Iterable[int]) -> SampleKind:
    """The first kind that is true of samples with these masks."""
    together = 0
    for mask in masks:
        together |= mask
    return next((kind for kind, bits in _BITS.items() if together & bits), "rest")


def _draw(idents: Sequence[str], size: PageSize) -> Sequence[str]:
    """At most so many, those of the smallest hash: the draw does not depend on what other samples there are."""
    if len(idents) <= size.most:
        return idents
    key = str(size.seed).encode()

    def order(ident: str) -> bytes:
        return blake2b(ident.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()

    return nsmallest(size.most, idents, key=order)
