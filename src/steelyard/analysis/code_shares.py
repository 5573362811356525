"""How often each code of an error analysis is among all records of a run, and how well its scorer finds it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from steelyard.analysis.error_codes import CodingState
from steelyard.stats.binomial import clopper_pearson
from steelyard.stats.intervals import Interval
from steelyard.stats.stratified_share import SampledStratum, StratifiedShare, stratified_share


class DrawnRecord(Protocol):
    """A record of an error analysis; `steelyard.store.codings.CodedItem` is one."""

    @property
    def num(self) -> int:
        """Its number."""

    @property
    def run(self) -> int:
        """Number of its run."""

    @property
    def stratum(self) -> str:
        """The stratum of the run that it was drawn of."""


@dataclass(frozen=True, slots=True)
class CodeShare:
    """A code in one run.

    Args:
        notes: records under it.
        share: of all records of the run that have an output, weighted back to the strata.
    """

    notes: int
    share: StratifiedShare


def code_shares(
    state: CodingState, items: Iterable[DrawnRecord], strata: Mapping[str, Mapping[str, Any]]
) -> dict[str, CodeShare]:
    """Id of each adopted code -> how often it is in one run; "" is for notes that are under none.

    A record that nobody has noted is not counted as free of errors: it is left out of its stratum.

    Args:
        state: of the error analysis.
        items: those of the run.
        strata: name -> `records`, how many the run has of it.
    """
    looked_at: Counter[str] = Counter()
    having: Counter[tuple[str, str]] = Counter()
    for item in items:
        note = state.notes.get(item.num)
        if note is None:
            continue
        looked_at[item.stratum] += 1
        if note.text:
            having[note.code, item.stratum] += 1
    shares = {}
    for ident in (*(code.id for code in state.adopted), ""):
        parts = [
            SampledStratum(int(part["records"]), looked_at[name], having[ident, name]) for name, part in strata.items()
        ]
        notes = sum(having[ident, name] for name in strata)
        shares[ident] = CodeShare(notes, stratified_share(parts))
    return shares


@dataclass(frozen=True, slots=True)
class Rate:
    """A count out of a number with its exact interval."""

    hits: int
    n: int
    interval: Interval


@dataclass(frozen=True, slots=True)
class TrialResult:
    """How the verdicts of a code's scorer agree with the people's notes.

    Args:
        found: of the records that people put under the code, those that the scorer finds: its TPR.
        left: of all others that were noted, those that it leaves alone: its TNR.
        unparsed: verdicts that could not be read, were refused or failed; they are in no rate.
        examples: records that stand in the scorer as examples; likewise.
        missed: items under the code that the scorer does not find.
        false_alarms: items that it finds and people did not put under the code.
    """

    found: Rate
    left: Rate
    unparsed: int
    examples: int
    missed: tuple[int, ...]
    false_alarms: tuple[int, ...]


def trial_result(state: CodingState, code: str, verdicts: Mapping[int, bool | None]) -> TrialResult:
    """Compare a scorer's verdicts with the notes of people.

    Args:
        state: of the error analysis.
        code: id of the code.
        verdicts: item -> whether the scorer finds the error; None where that could not be told.

    Source of the intervals: Clopper and Pearson 1934.
    """
    scorer = state.codes[code].scorer
    examples = frozenset(scorer.examples if scorer else ())
    groups: dict[tuple[bool, bool | None], list[int]] = {}
    skipped = 0
    for item, verdict in verdicts.items():
        note = state.notes.get(item)
        if note is None:
            continue
        if item in examples:
            skipped += 1
            continue
        groups.setdefault((bool(note.text) and note.code == code, verdict), []).append(item)
    hits, misses = groups.get((True, True), []), groups.get((True, False), [])
    alarms, rest = groups.get((False, True), []), groups.get((False, False), [])
    unparsed = len(groups.get((True, None), [])) + len(groups.get((False, None), []))
    return TrialResult(_rate(hits, misses), _rate(rest, alarms), unparsed, skipped, tuple(misses), tuple(alarms))


def _rate(hits: Sequence[int], others: Sequence[int]) -> Rate:
    n = len(hits) + len(others)
    return Rate(len(hits), n, clopper_pearson(len(hits), n))
