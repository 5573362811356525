"""Outputs of several runs on the same sample, side by side, each as a diff of words to a baseline's output.

The page of a comparison of three runs or more shows them for the samples that changed in any run; the page of a sample
shows them for other runs of its suite.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from statistics import fmean
from typing import Final, Literal

from steelyard.analysis.comparison.comparison_values import PairComparison
from steelyard.analysis.comparison.settings import WordChange, share_most_words, word_changes
from steelyard.analysis.judging_manifest import JUDGES, is_judging
from steelyard.analysis.numbers import record_value_text
from steelyard.escaping import cell_text
from steelyard.prompts.agent_messages import MESSAGES
from steelyard.prompts.conversation import input_text
from steelyard.report.run_texts import one_line
from steelyard.report.sections.regressions import parsed_answer, repeats_of, repeats_text
from steelyard.store import Run
from steelyard.types import Record
from steelyard.viewer.pages import Pages
from steelyard.viewer.sample_cells import Cell, VerdictWords, counted_cells

_ROWS: Final = 20
"""Changed samples on the page of a comparison; the counts above them lead to all."""
_INPUT: Final = 300
_MOST_COMPARED: Final = 4_000
"""Characters of two outputs together, up to which they are compared word by word."""
_SHOWN: Final = 10_000
"""Characters that are shown of an output next to others: a page of several whole outputs may have many MB."""
MOST_BESIDE: Final = 12
"""Other runs that are searched for a sample, a query each; those that have it stand on its page."""

Change = Literal["", "regression", "improvement"]


@dataclass(frozen=True, slots=True)
class ShownOutput:
    """The output of one run on a sample; with repeats, each different output with its count.

    Args:
        run: the run.
        sample: the sample's id there; "" where the run has no record of it.
        text: the beginning of the output, where it is not shown as a word diff.
        left_out: how many characters of the output follow `text`.
        words: the output word by word against the baseline's, where both share most words.
        same: what is the baseline's too: the output, or of a conversation its last message alone; "" for neither.
        change: how the verdict differs from the baseline's; "" where it does not.
        verdicts: of the main score: state, value and reason of each different one, and how many repeats have it.
        values: score -> its mean over the repeats; "" where it has none.
    """

    run: Run
    sample: str
    text: str
    left_out: int
    words: tuple[WordChange, ...]
    same: str
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
    """Records of a run on some samples, by the id of the baseline's sample, and the words for its scores.

    `brief` shows the answer that was read in the output, where there is one: many runs leave each a narrow column.
    """

    run: Run
    records: Mapping[str, Sequence[Record]]
    score: str
    words: VerdictWords
    brief: bool = False

    @classmethod
    def of(cls, run: Run, score: str, words: VerdictWords, ids: Mapping[str, str], *, brief: bool = False) -> _Answers:
        """Read the records of some samples; `ids` maps ids in the baseline to those in this run."""
        by_id = repeats_of(run, set(ids.values()))
        records = {ident: by_id[run_ident] for ident, run_ident in ids.items() if run_ident in by_id}
        return cls(run, records, score, words, brief)

    def shown(self, ident: str, baseline: Sequence[Record], change: Change = "") -> ShownOutput:
        """The output on a sample, against the baseline's records of it, which are none for the baseline itself."""
        records = self.records.get(ident, ())
        text, before = self._text(records), self._text(baseline)
        same = _same(records, baseline) if text == before else ""
        is_single = all(len(repeats) == 1 and repeats[0].output for repeats in (records, baseline))
        is_compared = is_single and not same and len(text) + len(before) <= _MOST_COMPARED
        changes = word_changes(before, text) if is_compared else ()
        words = tuple(changes) if share_most_words(changes) else ()
        return ShownOutput(
            self.run,
            records[0].sample.id if records else "",
            "" if words else text[:_SHOWN],
            0 if words else len(text[_SHOWN:]),
            words,
            same,
            change,
            counted_cells(self.words.cell(record, self.score) for record in records) if records else (),
            {name: self._mean(records, name) for name in self.run.score_order},
        )

    def _text(self, records: Sequence[Record]) -> str:
        parsed = (parsed_answer(record, self.score) if self.brief else "" for record in records)
        outputs = (cell_text(record.output.value) if record.output else "error" for record in records)
        return repeats_text(answer or output for answer, output in zip(parsed, outputs, strict=True))

    def _mean(self, records: Sequence[Record], name: str) -> str:
        """The mean of a score over the repeats that have a value; "" where none has."""
        values = [score.value for record in records for score in record.scores if score.name == name]
        present = [value for value in values if value is not None]
        return record_value_text(fmean(present), self.words.infos.get(name)) if present else ""


def changed_rows(pages: Pages, runs: Sequence[Run], pairs: Sequence[PairComparison]) -> tuple[ChangedRow, ...]:
    """The first samples that changed in any run, those with the most regressions first.

    Args:
        pages: give summaries.
        runs: the baseline first.
        pairs: each other run with the baseline, in the order of the runs.
    """
    listed, score = _listed(pairs), pairs[0].score
    baseline_answers, *other_answers = (
        _Answers.of(
            run,
            score,
            VerdictWords.of(run, pages.summary(run)),
            {ident: ids.get(ident, ident) for ident in listed},
            brief=len(runs) > 2,
        )
        for run, ids in zip(runs, [{}, *(pair.changed.other_ids for pair in pairs)], strict=True)
    )
    changes = [_changes(pair) for pair in pairs]
    return tuple(
        _row(ident, baseline_answers, other_answers, [of.get(ident, "") for of in changes])
        for ident in baseline_answers.records
    )


def _row(
    ident: str, baseline_answers: _Answers, other_answers: Sequence[_Answers], changes: Sequence[Change]
) -> ChangedRow:
    baseline = baseline_answers.records[ident]
    sample = baseline[0].sample
    outputs = (answers.shown(ident, baseline, change) for answers, change in zip(other_answers, changes, strict=True))
    return ChangedRow(
        ident,
        one_line(input_text(sample.input), _INPUT),
        "" if sample.reference is None else input_text(sample.reference),
        sample.group,
        (baseline_answers.shown(ident, ()), *outputs),
    )


def _changes(pair: PairComparison) -> Mapping[str, Change]:
    worse: dict[str, Change] = dict.fromkeys(pair.changed.regressions, "regression")
    return worse | dict.fromkeys(pair.changed.improvements, "improvement")


def _listed(pairs: Sequence[PairComparison]) -> list[str]:
    """Ids of changed samples: those with most regressions first, with room for some that only improved."""
    worse = _most_first(pair.changed.regressions for pair in pairs)
    is_worse = {*worse}
    better = [ident for ident in _most_first(pair.changed.improvements for pair in pairs) if ident not in is_worse]
    regressed = worse[: max(_ROWS // 2, _ROWS - len(better))]
    return [*regressed, *better[: _ROWS - len(regressed)]]


def _most_first(lists: Iterable[Sequence[str]]) -> list[str]:
    """Each id once, those in the most lists first, else in their order."""
    return [ident for ident, _ in Counter(chain.from_iterable(lists)).most_common()]


def outputs_beside(pages: Pages, run: Run, records: Sequence[Record], against: str) -> tuple[ShownOutput, ...]:
    """Outputs of a run and of other runs of its suite on a sample, the baseline's first; () where there are no others.

    The baseline is the run that the list of samples is compared with, else the pinned one, else the run itself. Others
    are those of the same evaluation and the newest of each target, if their sample has the same input.

    Args:
        pages: of the store.
        run: that is shown.
        records: its own of the sample.
        against: id of the run that its list is compared with; "" for none.
    """
    if run.kind == JUDGES or is_judging(run.manifest):
        return ()
    sample, pinned = records[0].sample, pages.baseline_of(run)
    score = str(run.manifest.get("primary", ""))
    looked_through = (
        _Answers.of(other, score, VerdictWords.plain(other), {sample.id: sample.id})
        for other in islice(_alike(pages, run, against, pinned), MOST_BESIDE)
    )
    others = [answers for answers in looked_through if _input(answers, sample.id) == sample.input]
    if not others:
        return ()
    own_answers = _Answers(run, {sample.id: records}, score, VerdictWords.plain(run))
    baseline_id = against or (pinned.id if pinned else "")
    ordered = sorted(
        [own_answers, *others], key=lambda answers: (answers.run.id != baseline_id, answers.run.id != run.id)
    )
    baseline = ordered[0].records[sample.id]
    return tuple(answers.shown(sample.id, baseline if at else ()) for at, answers in enumerate(ordered))


def _input(answers: _Answers, ident: str) -> object:
    records = answers.records.get(ident)
    return records[0].sample.input if records else None


def _alike(pages: Pages, run: Run, against: str, pinned: Run | None) -> Iterator[Run]:
    """Runs of the same suite and kind: that of the list, the pinned one, those of the evaluation, then new ones."""
    same_suite = pages.same_suite(run)
    same_evaluation = [candidate for candidate in reversed(same_suite) if candidate.evaluation == run.evaluation]
    of_target = {candidate.target: candidate for candidate in reversed(same_suite)}
    newest = sorted(of_target.values(), key=lambda candidate: -candidate.num)
    of_list = [candidate for candidate in same_suite if candidate.id == against]
    candidates = (*of_list, *([pinned] if pinned else []), *same_evaluation, *newest)
    ordered = {candidate.id: candidate for candidate in candidates}
    return (candidate for candidate in ordered.values() if candidate.id != run.id)


def _same(records: Sequence[Record], baseline: Sequence[Record]) -> str:
    """What is equal in records whose outputs are; "" where one side has none."""
    before, after = (
        [record.output.metadata.get(MESSAGES) for record in side if record.output] for side in (baseline, records)
    )
    return "" if not (records and baseline) else "output" if before == after else "last message"
