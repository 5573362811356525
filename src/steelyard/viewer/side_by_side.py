"""What several runs answered to the same sample, beside each other, each as a diff of words to a baseline's output.

The page of a comparison of three runs or more shows so the samples that changed in any of them; the page of a sample
shows so what other runs of its suite made of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from statistics import fmean
from typing import Final, Literal

from steelyard.analysis.comparison_values import PairComparison
from steelyard.analysis.judging_manifest import is_judging
from steelyard.analysis.settings import WordChange, share_most_words, word_changes
from steelyard.escaping import cell_text
from steelyard.prompts.conversation import input_text
from steelyard.report.numbers import one_line, record_value_text
from steelyard.report.regressions import repeats_text
from steelyard.store import Run
from steelyard.store.labels import JUDGES
from steelyard.types import Record
from steelyard.viewer.pages import Pages
from steelyard.viewer.record_verdicts import Cell, VerdictWords, counted_cells

_ROWS: Final = 20
"""Changed samples on the page of a comparison; the counts above them lead to all."""
_INPUT: Final = 300
_MOST_COMPARED: Final = 4_000
"""Characters of two outputs together, up to which they are compared word by word."""
_SHOWN: Final = 10_000
"""Characters of an output beside others: a page of several whole ones may have many MB."""
_BESIDE: Final = 5
"""Other runs on the page of a sample, and those that are looked through for the sample: each is a query."""
_LOOKED_THROUGH: Final = 12

Change = Literal["", "regression", "improvement"]


@dataclass(frozen=True, slots=True)
class ShownOutput:
    """The output of one run on a sample; of several repeats each different one with how many gave it.

    Args:
        run: the run.
        sample: the sample's id there; "" where the run has no record of it.
        text: the beginning of the output, where its words are not told from the baseline's.
        left_out: how many characters of the output follow `text`.
        words: the output word by word against the baseline's, where both share most words.
        is_same: whether it is the baseline's.
        change: what became of the baseline's verdict; "" where it stayed.
        verdicts: of the main score: state, value and reason of each different one, and how many repeats have it.
        values: score -> its mean over the repeats; "" where it has none.
    """

    run: Run
    sample: str
    text: str
    left_out: int
    words: tuple[WordChange, ...]
    is_same: bool
    change: Change
    verdicts: tuple[tuple[Cell, int], ...]
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """A sample that changed in one run of a comparison at least.

    Args:
        sample: its id in the baseline.
        input: its beginning.
        key: the reference; "" where there is none.
        group: of the sample.
        outputs: of every run, the baseline first.
    """

    sample: str
    input: str
    key: str
    group: str
    outputs: tuple[ShownOutput, ...]


@dataclass(frozen=True, slots=True)
class _Answers:
    """What a run has on some samples: its records by the id of the baseline's sample, and how it says its scores."""

    run: Run
    records: Mapping[str, Sequence[Record]]
    score: str
    words: VerdictWords

    @classmethod
    def of(cls, run: Run, score: str, words: VerdictWords, ids: Mapping[str, str]) -> _Answers:
        """Those of the samples whose ids in the baseline lead to the ids in this run."""
        found: dict[str, list[Record]] = {}
        for record in run.records_of(set(ids.values())):
            found.setdefault(record.sample.id, []).append(record)
        records = {ident: found[own] for ident, own in ids.items() if own in found}
        return cls(run, records, score, words)

    def shown(self, ident: str, baseline: Sequence[Record], change: Change = "") -> ShownOutput:
        """The output on a sample, against the baseline's records of it; of the baseline itself these are none."""
        records = self.records.get(ident, ())
        text, before = _text(records), _text(baseline)
        is_same = bool(baseline and records) and text == before
        is_single = all(len(each) == 1 and each[0].output for each in (records, baseline))
        is_compared = is_single and not is_same and len(text) + len(before) <= _MOST_COMPARED
        changes = word_changes(before, text) if is_compared else ()
        words = tuple(changes) if share_most_words(changes) else ()
        return ShownOutput(
            self.run,
            records[0].sample.id if records else "",
            "" if words else text[:_SHOWN],
            0 if words else len(text[_SHOWN:]),
            words,
            is_same,
            change,
            counted_cells(self.words.cell(record, self.score) for record in records) if records else (),
            {name: self._mean(records, name) for name in self.run.score_order},
        )

    def _mean(self, records: Sequence[Record], name: str) -> str:
        """The mean of a score over the repeats that have a value; "" where none has."""
        values = [score.value for record in records for score in record.scores if score.name == name]
        known = [value for value in values if value is not None]
        return record_value_text(fmean(known), self.words.infos.get(name)) if known else ""


def changed_rows(pages: Pages, runs: Sequence[Run], pairs: Sequence[PairComparison]) -> tuple[ChangedRow, ...]:
    """The first samples that changed in any run, those with the most regressions first.

    Args:
        pages: give summaries.
        runs: the baseline first.
        pairs: each other run with the baseline, in the order of the runs.
    """
    listed, score = _listed(pairs), pairs[0].score
    first, *others = (
        _Answers.of(
            run, score, VerdictWords.of(run, pages.summary(run)), {ident: ids.get(ident, ident) for ident in listed}
        )
        for run, ids in zip(runs, [{}, *(pair.other_ids for pair in pairs)], strict=True)
    )
    changes = [_changes(pair) for pair in pairs]
    return tuple(_row(ident, first, others, [of.get(ident, "") for of in changes]) for ident in first.records)


def _row(ident: str, first: _Answers, others: Sequence[_Answers], changes: Sequence[Change]) -> ChangedRow:
    baseline = first.records[ident]
    sample = baseline[0].sample
    outputs = (answers.shown(ident, baseline, change) for answers, change in zip(others, changes, strict=True))
    return ChangedRow(
        ident,
        one_line(input_text(sample.input), _INPUT),
        "" if sample.reference is None else input_text(sample.reference),
        sample.group,
        (first.shown(ident, ()), *outputs),
    )


def _changes(pair: PairComparison) -> Mapping[str, Change]:
    worse: Iterable[tuple[str, Change]] = ((ident, "regression") for ident in pair.regressions)
    better: Iterable[tuple[str, Change]] = ((ident, "improvement") for ident in pair.improvements)
    return dict(chain(worse, better))


def _listed(pairs: Sequence[PairComparison]) -> list[str]:
    """Ids of changed samples: most regressions first, but some of those that only improved where there are both."""
    worse = _most_first(pair.regressions for pair in pairs)
    is_worse = {*worse}
    better = [ident for ident in _most_first(pair.improvements for pair in pairs) if ident not in is_worse]
    first = worse[: max(_ROWS // 2, _ROWS - len(better))]
    return [*first, *better[: _ROWS - len(first)]]


def _most_first(lists: Iterable[Sequence[str]]) -> list[str]:
    """Each id once, those that stand in the most lists first, else in their order."""
    return [ident for ident, _ in Counter(chain.from_iterable(lists)).most_common()]


def outputs_beside(pages: Pages, run: Run, records: Sequence[Record], against: str) -> tuple[ShownOutput, ...]:
    """The output of other runs of the suite on a sample beside that of a run, the baseline's first; () of none.

    The baseline is the run that the list of samples is held against, else the pinned one, else the run itself. Others
    are those of the same evaluation and the newest of each target, as far as their sample has the same input.

    Args:
        pages: of the store.
        run: that is shown.
        records: its own of the sample.
        against: id of the run that its list is held against; "" for none.
    """
    if run.kind == JUDGES or is_judging(run.manifest):
        return ()
    sample = records[0].sample
    score = str(run.manifest.get("primary", ""))
    looked_through = (
        _Answers.of(each, score, VerdictWords.plain(each), {sample.id: sample.id})
        for each in islice(_alike(pages, run, against), _LOOKED_THROUGH)
    )
    has_it = (other for other in looked_through if _input(other, sample.id) == sample.input)
    others = list(islice(has_it, _BESIDE))
    if not others:
        return ()
    own = _Answers(run, {sample.id: records}, score, VerdictWords.plain(run))
    pinned = pages.baselines().get((run.suite, run.kind))
    wanted = against or (pinned.id if pinned else "")
    ordered = sorted([own, *others], key=lambda each: (each.run.id != wanted, each.run.id != run.id))
    baseline = ordered[0].records[sample.id]
    return tuple(answers.shown(sample.id, baseline if at else ()) for at, answers in enumerate(ordered))


def _input(answers: _Answers, ident: str) -> object:
    records = answers.records.get(ident)
    return records[0].sample.input if records else None


def _alike(pages: Pages, run: Run, against: str) -> Iterator[Run]:
    """Runs of the same suite and kind: that of the list, the pinned one, those of the evaluation, then new ones."""
    pinned = pages.baselines().get((run.suite, run.kind))
    first = [against, pinned.id if pinned else ""]
    alike = [each for each in pages.store.runs() if (each.suite, each.kind) == (run.suite, run.kind)]
    together = [each for each in reversed(alike) if each.evaluation == run.evaluation]
    of_target = {each.target: each for each in reversed(alike)}
    newest = sorted(of_target.values(), key=lambda each: -each.num)
    named = [each for ident in first for each in alike if each.id == ident]
    ordered = {each.id: each for each in (*named, *together, *newest)}
    return (each for each in ordered.values() if each.id != run.id)


def _text(records: Sequence[Record]) -> str:
    return repeats_text(cell_text(record.output.value) if record.output else "error" for record in records)
