"""The scorer of an error code: its configuration, how well it detects what people found, and how often codes occur."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from steelyard.escaping import printable
from steelyard.people.draw import DrawnRecord
from steelyard.people.error_codes import CodingState
from steelyard.stats.binomial import clopper_pearson
from steelyard.stats.intervals import Interval
from steelyard.stats.stratified import SampledStratum, StratifiedShare, stratified_share
from steelyard.types import Json

JUDGE: Final = "error_code"
PATTERN: Final = "error_pattern"


def score_name(name: str) -> str:
    """The name of a code as the name of a score, for files and conditions.

    >>> score_name("Cites a source that is not there!"), score_name("编造来源"), score_name("!?")
    ('cites_a_source_that_is_not_there', '编造来源', 'error')
    """
    words = "".join(letter if letter.isalnum() else " " for letter in name.casefold()).split()
    return "_".join(words) or "error"


def judge_config(name: str, definition: str, examples: Sequence[str]) -> dict[str, Json]:
    """A judge with a definition, and texts that have the error."""
    return {JUDGE: {"name": name, "definition": definition, "examples": list(examples)}}


def pattern_config(name: str, pattern: str, flags: Sequence[str] = ()) -> dict[str, Json]:
    """A regular expression that finds the error."""
    keys: dict[str, Json] = {"name": name, "pattern": pattern}
    return {PATTERN: {**keys, "flags": list(flags)} if flags else keys}


def scorer_yaml(config: Mapping[str, Json]) -> str:
    r"""The lines of a configuration that add a scorer; texts are quoted, so that nothing in them is read as YAML.

    Args:
        config: as `judge_config` and `pattern_config` give it.

    >>> print(scorer_yaml(judge_config("late", 'More than "a day" late.', ["2 weeks", "C:\\1"])))
    scorers:
      - error_code:
          name: "late"
          definition: "More than \"a day\" late."
          examples:
            - "2 weeks"
            - "C:\\1"
    """
    return "\n".join(["scorers:", *_lines(config)])


def _lines(config: Mapping[str, Any]) -> Iterator[str]:
    for kind, keys in config.items():
        yield f"  - {kind}:"
        for key, value in keys.items():
            if isinstance(value, list):
                yield f"      {key}:" if value else f"      {key}: []"
                yield from (f"        - {_quoted(entry)}" for entry in value)
            else:
                yield f"      {key}: {_quoted(value)}"


def _quoted(value: Any) -> str:
    """A value as JSON, which YAML 1.2 reads; characters that are not printable are escaped."""
    return printable(json.dumps(value, ensure_ascii=False))


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
    """Id of each adopted code -> how often it occurs in one run; "" is for notes that are under no code.

    A record that nobody has noted is not counted as free of errors: it is left out of its stratum.

    Args:
        state: of the error analysis.
        items: those of the run.
        strata: name -> `records`, how many records of the run are in it.
    """
    noted: Counter[str] = Counter()
    with_code: Counter[tuple[str, str]] = Counter()
    for item in items:
        note = state.notes.get(item.num)
        if note is None:
            continue
        noted[item.stratum] += 1
        if note.text:
            with_code[note.code, item.stratum] += 1
    shares = {}
    for ident in (*(code.id for code in state.adopted), ""):
        parts = [
            SampledStratum(int(part["records"]), noted[name], with_code[ident, name]) for name, part in strata.items()
        ]
        notes = sum(with_code[ident, name] for name in strata)
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
        tpr: true positive rate: of the records that people put under the code, those that the scorer detects.
        tnr: true negative rate: of all other records with a note, those that the scorer does not flag.
        unparsed: verdicts that could not be parsed, were refused or failed; they are in neither rate.
        examples: records that the scorer contains as examples; they are in neither rate.
        missed: items under the code that the scorer does not detect.
        false_alarms: items that it flags and people did not put under the code.
    """

    tpr: Rate
    tnr: Rate
    unparsed: int
    examples: int
    missed: tuple[int, ...]
    false_alarms: tuple[int, ...]


def trial_result(state: CodingState, code: str, verdicts: Mapping[int, bool | None]) -> TrialResult:
    """Compare a scorer's verdicts with the notes of people.

    Args:
        state: of the error analysis.
        code: id of the code.
        verdicts: item -> whether the scorer finds the error; None without a verdict.

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
    alarms, correct_rejections = groups.get((False, True), []), groups.get((False, False), [])
    unparsed = len(groups.get((True, None), [])) + len(groups.get((False, None), []))
    return TrialResult(
        _rate(hits, misses), _rate(correct_rejections, alarms), unparsed, skipped, tuple(misses), tuple(alarms)
    )


def _rate(hits: Sequence[int], others: Sequence[int]) -> Rate:
    n = len(hits) + len(others)
    return Rate(len(hits), n, clopper_pearson(len(hits), n))
