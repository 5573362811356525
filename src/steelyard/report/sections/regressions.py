"""Regressions and improvements between two runs, sample by sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal

from steelyard.analysis.comparison.comparison_values import Comparison, PairComparison
from steelyard.analysis.judging_manifest import is_judging, sides_of
from steelyard.analysis.numbers import count_text
from steelyard.analysis.scores.score_infos import score_infos
from steelyard.plain_json import grouped
from steelyard.prompts.conversation import input_text
from steelyard.report.judge_reasons import preference_reason
from steelyard.report.run_texts import one_line, outcome_word
from steelyard.report.sample_choice import PAGE_SIZE
from steelyard.report.section import Section, Sentence
from steelyard.store import Run
from steelyard.types import Record

_MOST: Final = 10
"""Samples that are listed; the page's table of samples has all."""
_MOST_ANSWERS: Final = 5
"""Different answers of one sample's repeats that are listed."""


@dataclass(frozen=True, slots=True)
class ChangedSample:
    """One sample whose verdict changed.

    Args:
        sample: its id.
        change: `regression` (the baseline solved it, the other run did not) or `improvement`.
        before: the baseline's answer: the letters or verdict that were parsed, else the reason that there is none;
            several repeats as `repeats_text` formats them. Likewise `after`.
        question: the sample's input as text.
        key: its reference as text; "" where it has none.
        reason: of the score of the other run's record; with several repeats, of the first that shows the change.
    """

    sample: str
    change: Literal["regression", "improvement"]
    before: str
    after: str
    question: str
    key: str
    reason: str


def gives_verdicts(run: Run, score: str) -> bool:
    """Whether a run's scorer decides which values are right or wrong; a value of 1 alone does not.

    With a declared threshold it does for every record. A scorer without one may set `passed`, so the first record with
    a value is checked.
    """
    info = score_infos(run.manifest).get(score)
    if info is not None and info.threshold is not None:
        return True
    scores = (given for record in run.records() for given in record.scores if given.name == score)
    return next((given.passed is not None for given in scores if given.value is not None), False)


def changed_samples(runs: Sequence[Run], pair: PairComparison, *, most: int) -> list[ChangedSample]:
    """At most `most` changed samples of a comparison, regressions first, but some of each kind where there are both.

    Args:
        runs: including the two of the pair.
        pair: of these runs.
        most: samples to read, each by a query of its own.
    """
    regressions = list(pair.changed.regressions)[: max(most // 2, most - len(pair.changed.improvements))]
    chosen = [*regressions, *pair.changed.improvements[: most - len(regressions)]]
    others = {ident: pair.changed.other_ids.get(ident, ident) for ident in chosen}
    by_id = {run.id: run for run in runs}
    before = repeats_of(by_id[pair.baseline], set(chosen))
    after = repeats_of(by_id[pair.other], set(others.values()))
    regressed = set(pair.changed.regressions)
    manifest = by_id[pair.other].manifest
    sides = sides_of(manifest) if is_judging(manifest) else ()
    return [
        _changed(before[ident], after[others[ident]], pair.score, sides, is_regression=ident in regressed)
        for ident in chosen
        if ident in before and others[ident] in after
    ]


def repeats_of(run: Run, samples: set[str]) -> dict[str, list[Record]]:
    """The records of some samples of a run, by the sample's id."""
    return grouped((record.sample.id, record) for record in run.records_of(samples))


def _changed(
    before: Sequence[Record], after: Sequence[Record], name: str, sides: Sequence[str], *, is_regression: bool
) -> ChangedSample:
    sample = before[0].sample
    scores = [score for record in after for score in record.scores if score.name == name]
    shows_change = (score for score in scores if score.passed is (not is_regression))
    score = next(shows_change, scores[0] if scores else None)
    reason = "" if score is None else preference_reason(score, sides) if sides else score.reason
    return ChangedSample(
        sample.id,
        "regression" if is_regression else "improvement",
        repeats_text(_answer(record, name) for record in before),
        repeats_text(_answer(record, name) for record in after),
        input_text(sample.input),
        "" if sample.reference is None else input_text(sample.reference),
        reason,
    )


def repeats_text(texts: Iterable[str]) -> str:
    """The answers of a sample's repeats in their order; equal ones once, with their number.

    >>> repeats_text(["maybe", "yes", "maybe"]), repeats_text(["yes"])
    ('2 × maybe · yes', 'yes')
    """
    counts = Counter(texts)
    shown = [f"{n} × {text}" if n > 1 else text for text, n in islice(counts.items(), _MOST_ANSWERS)]
    others = len(counts) - len(shown)
    return " · ".join([*shown, f"and {count_text(others, 'other')}"] if others else shown)


def parsed_answer(record: Record, name: str) -> str:
    """The letters or the label that a score read in the output; "" where it read none."""
    details = (score.detail for score in record.scores if score.name == name)
    parsed = (detail.get(key) for detail in details for key in ("letters", "label"))
    return next((answer for answer in parsed if isinstance(answer, str) and answer), "")


def _answer(record: Record, name: str) -> str:
    """The answer that was parsed, else the outcome, else the output."""
    outcome = next((score.outcome for score in record.scores if score.name == name), "scored")
    unscored = outcome_word(outcome) if outcome != "scored" else ""
    return parsed_answer(record, name) or unscored or (input_text(record.output.value) if record.output else "error")


def regressions_section(runs: Sequence[Run], comparison: Comparison | None) -> Section:
    """The first changes of the first pair that has any: the question, both answers, the key and the reason."""
    pairs = comparison.pairs if comparison else ()
    pair = next((pair for pair in pairs if pair.changed.regressions or pair.changed.improvements), None)
    if pair is None:
        return Section("", key="regressions")
    changes, unanswered = changed_samples(runs, pair, most=_MOST), pair.unanswered
    regressed = count_text(len(pair.changed.regressions), "regression") + _of_which(unanswered.regressed)
    counts = f"{regressed}, {count_text(len(pair.changed.improvements), 'improvement')}{_of_which(unanswered.improved)}"
    more = len(pair.changed.regressions) + len(pair.changed.improvements) - len(changes)
    where = "--json names all, the HTML report shows " + (
        "them" if more <= PAGE_SIZE.most else f"{PAGE_SIZE.most:,} of each kind"
    )
    left_out = [Sentence(f"and {more:,} more; {where}", "item")] if more else []
    listed = Section(
        f"{pair.other_target} against {pair.baseline_target}: {counts}",
        notes=(*(Sentence(_changed_text(changed), "item") for changed in changes), *left_out),
        folded=True,
    )
    return Section("", parts=(listed,), key="regressions", level="detail")


def _of_which(unanswered: int) -> str:
    return f" ({unanswered:,} unreadable or refused)" if unanswered else ""


def _changed_text(changed: ChangedSample) -> str:
    before, after = ("✓", "✗") if changed.change == "regression" else ("✗", "✓")
    answers = f"{before} {one_line(changed.before, 20)} → {after} {one_line(changed.after, 20)}"
    why = f": {one_line(changed.reason, 110)}" if changed.reason and " · correct " not in changed.reason else ""
    correct = f" · correct {one_line(changed.key, 20)}" if changed.key else ""
    return f"{one_line(changed.sample, 24)}  {answers}{correct}  {one_line(changed.question, 50)}{why}"
