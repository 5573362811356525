"""The samples of a comparison that changed, and the columns in which the page shows them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from steelyard.analysis.comparison.comparison_values import PairComparison
from steelyard.analysis.comparison.settings import WordChange, share_most_words, word_changes
from steelyard.analysis.numbers import record_value_text, score_title
from steelyard.escaping import cell_text
from steelyard.report.run_texts import one_line
from steelyard.report.sections.regressions import changed_samples, repeats_text
from steelyard.store import Run
from steelyard.types import Record, ScoreInfo
from steelyard.viewer.sample_columns import SCORE, SampleColumn, as_chosen

_CHANGED: Final = 20
"""Changed samples on the page; links lead to all of them."""
_INPUT: Final = 300
_MOST_COMPARED: Final = 4_000
"""Characters of both outputs together, up to which they are compared word by word."""
_SHORT: Final = 60
"""Characters of both outputs up to which they are on one line."""


@dataclass(frozen=True, slots=True)
class ShownChange:
    """A sample whose verdict changed, with both outputs as a diff of words; with repeats, the outputs of all repeats.

    Args:
        sample: its id in the baseline.
        other_sample: its id in the other run.
        change: `regression` or `improvement`.
        input: its beginning.
        key: the reference; "" where there is none.
        before: the baseline's output where it is not compared word by word; likewise `after`.
        after: the other run's.
        same: the output, where both runs have the same.
        words: the outputs word by word.
        said: both verdicts; where the outputs are the verdicts, the reason of the other run's.
        group: of the sample.
        values: score -> its mean over the repeats in the baseline and in the other run; "" where it has none.
    """

    sample: str
    other_sample: str
    change: str
    input: str
    key: str
    before: str
    after: str
    same: str
    words: tuple[WordChange, ...]
    said: str
    group: str
    values: Mapping[str, tuple[str, str]]


def change_columns(runs: Sequence[Run], scores: Collection[str], chosen: Sequence[str]) -> tuple[SampleColumn, ...]:
    """All columns that the table of changed samples can have, in order.

    Args:
        runs: the baseline first.
        scores: that all runs have.
        chosen: keys of the columns that a reader chose; none means those that are shown at first.
    """
    columns = (
        SampleColumn("group", "Group", shown=False),
        SampleColumn("input", "Input", shown=True),
        SampleColumn("reference", "Reference", shown=False),
        SampleColumn("output", "Outputs", shown=True),
        SampleColumn("verdict", "Verdicts", shown=True),
        *(
            SampleColumn(f"{SCORE}{name}", score_title(name), shown=False)
            for name in runs[0].score_order
            if name in scores
        ),
    )
    return as_chosen(columns, chosen)


def shown_changes(runs: Sequence[Run], pair: PairComparison) -> tuple[ShownChange, ...]:
    """The first changed samples of a pair, regressions first.

    Args:
        runs: the pair's two runs among them.
        pair: of these runs.
    """
    listed = changed_samples(runs, pair, most=_CHANGED)
    other_ids = {change.sample: pair.changed.other_ids.get(change.sample, change.sample) for change in listed}
    baseline, other = (next(run for run in runs if run.id == ident) for ident in (pair.baseline, pair.other))
    before, after = _records(baseline, set(other_ids)), _records(other, set(other_ids.values()))
    infos = {name: baseline.score_infos.get(name) for name in baseline.score_order if name in other.score_order}
    shown = []
    for change in listed:
        repeats = before[change.sample], after[other_ids[change.sample]]
        outputs = [repeats_text(map(_output, records)) for records in repeats]
        is_same, is_output = outputs[0] == outputs[1], [change.before, change.after] == outputs
        is_single = all(len(records) == 1 and records[0].output for records in repeats)
        compared = is_single and not is_same and sum(map(len, outputs)) <= _MOST_COMPARED
        shown.append(
            ShownChange(
                change.sample,
                other_ids[change.sample],
                change.change,
                one_line(change.question, _INPUT),
                change.key,
                one_line(outputs[0], _INPUT),
                one_line(outputs[1], _INPUT),
                one_line(outputs[1], _INPUT) if is_same else "",
                _readable_changes(*outputs) if compared else (),
                one_line(change.reason, _INPUT) if is_output else f"{change.before} → {change.after}",
                repeats[0][0].sample.group,
                {name: (_mean(repeats[0], name, info), _mean(repeats[1], name, info)) for name, info in infos.items()},
            )
        )
    return tuple(shown)


def _readable_changes(before: str, after: str) -> tuple[WordChange, ...]:
    """The changed words; where the outputs share few words, both outputs one after the other."""
    changes = word_changes(before, after)
    if share_most_words(changes):
        return changes
    between = " → " if len(before) + len(after) <= _SHORT else "\n"
    replaced = (WordChange("removed", before), WordChange("same", between), WordChange("added", after))
    return tuple(change for change in replaced if change.text)


def _records(run: Run, samples: Collection[str]) -> dict[str, list[Record]]:
    """Sample id -> its repeats."""
    by_sample: dict[str, list[Record]] = {}
    for record in run.records_of(samples):
        by_sample.setdefault(record.sample.id, []).append(record)
    return by_sample


def _output(record: Record) -> str:
    return cell_text(record.output.value) if record.output else "error"


def _mean(records: Sequence[Record], name: str, info: ScoreInfo | None) -> str:
    """The mean of a score over the repeats that have a value; "" where none has."""
    values = [score.value for record in records for score in record.scores if score.name == name]
    present = [value for value in values if value is not None]
    return record_value_text(fmean(present), info) if present else ""
