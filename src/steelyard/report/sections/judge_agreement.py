"""The section on a judge compared with people's labels: corrected figure, agreement, errors, and labels needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from steelyard.analysis.judges.findings import FEWEST, JudgeAgreement
from steelyard.analysis.numbers import (
    MISSING,
    count_text,
    interval_text,
    points_text,
    score_phrase,
    signed_text,
    value_text,
)
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.report.section import (
    RecordLink,
    Section,
    SectionTable,
    Sentence,
    TableCell,
    TableColumn,
    non_empty,
    sentences,
    text_row,
)

if TYPE_CHECKING:
    from steelyard.stats.corrected import CorrectedDifference
    from steelyard.stats.intervals import Interval
    from steelyard.stats.labels_needed import LabelsNeeded
    from steelyard.stats.rating_bootstrap import Coefficient

_RATES: Final = (
    ("tpr", "TPR", "of what people pass, the judge passes"),
    ("tnr", "TNR", "of what people fail, the judge fails"),
    ("ppv", "PPV", "of what the judge passes, people pass"),
    ("npv", "NPV", "of what the judge fails, people fail"),
)
_COEFFICIENTS: Final = {
    "cohen_kappa": "Cohen's kappa",
    "spearman": "Spearman",
    "pearson": "Pearson",
    "krippendorff_alpha": "Krippendorff's alpha",
}


def held_to_people_section(summaries: Sequence[RunSummary], labels: Sequence[str]) -> Section:
    """Each labelled score of every run, compared with people's labels; empty where nobody labelled a score.

    Args:
        summaries: of the runs.
        labels: what the page calls each run.
    """
    several = len(summaries) > 1
    parts = [
        part
        for summary, label in zip(summaries, labels, strict=True)
        for agreement in summary.raters.held_to_people
        for part in held_to_people_parts(agreement, summary.run, f" ({label})" if several else "")
    ]
    return Section("Judge against people", parts=non_empty(parts), key="held_to_people")


def held_to_people_parts(found: JudgeAgreement, run: str, of_run: str = "") -> Iterator[Section]:
    """The sections on one score.

    Args:
        found: the score and its labels.
        run: the run's id, for links to records.
        of_run: text that is added to headings where there are several runs.
    """
    name = score_phrase(found.score)
    title = f"{name}: labels and corrected figure{of_run}"
    if found.problem:
        yield Section(
            title, notes=(Sentence(f"{name} cannot be compared with the labels: {found.problem}", "warning"),)
        )
        return
    yield Section(title, _corrected(found), notes=tuple(_notes(found)))
    if found.judged is not None:
        yield Section(f"{name}: agreement with people{of_run}", _agreement(found), notes=tuple(_ceiling(found)))
    if found.table:
        yield Section(f"{name}: people by judge{of_run}", _confusion(found))
    if found.groups:
        yield Section(f"{name}: agreement by group{of_run}", _groups(found))
    if rows := _disagreements(found, run):
        columns = (TableColumn("record", "name"), TableColumn("people"), TableColumn("judge"))
        table = SectionTable(columns, rows, "The first of each kind")
        yield Section(f"{name}: records on which people and judge differ{of_run}", table, folded=True, level="page")


def _corrected(agreement: JudgeAgreement) -> SectionTable | None:
    corrected = agreement.corrected
    if corrected is None or corrected.value is None:
        return None
    columns = (
        TableColumn("mean over all records", "name"),
        TableColumn("mean"),
        TableColumn("95 % CI", "interval"),
        TableColumn("based on", "text"),
    )
    judge = (
        TableCell("as judged"),
        TableCell(value_text(corrected.raw, share=agreement.share), value=corrected.raw),
        TableCell(interval_text(corrected.raw_interval, share=agreement.share) or MISSING),
        TableCell(count_text(agreement.verdicts, "verdict")),
    )
    people = (
        TableCell("corrected by labels"),
        TableCell(value_text(corrected.value, share=agreement.share), strong=True, value=corrected.value),
        TableCell(interval_text(corrected.interval, share=agreement.share) or MISSING),
        TableCell(f"{count_text(corrected.n, 'label')}; {corrected.method}"),
    )
    return SectionTable(columns, (judge, people), "What people would say on average, and what the judge says")


def _notes(agreement: JudgeAgreement) -> Iterator[Sentence]:
    who = ", ".join(agreement.raters) or "nobody"
    by_several = f"; {agreement.several:,} by several people" if agreement.several else ""
    labelled = f"{agreement.labelled:,} of {count_text(agreement.records, 'record')}, by {who}{by_several}"
    yield Sentence(labelled, "fact", "Labelled")
    corrected = agreement.corrected
    if corrected is not None:
        if corrected.value is not None:
            yield Sentence(f"{corrected.method}, because of: {corrected.why}", "fact", "Method")
        if corrected.reason:
            yield Sentence(f"No corrected figure: {corrected.reason}" if corrected.value is None else corrected.reason)
    if agreement.needed is not None and agreement.half_width is not None and corrected and corrected.value is not None:
        yield needed_sentence(
            agreement.needed, f"for a half-width of {points_text(agreement.half_width, share=agreement.share)}"
        )
    if agreement.both < FEWEST:
        rated = count_text(agreement.both, "record")
        yield Sentence(f"{rated} with a verdict and a label; agreement is shown from {FEWEST} on")
    yield from sentences(agreement.warnings, "warning")


def needed_sentence(needed: LabelsNeeded, aim: str) -> Sentence:
    """How many more labels an aim needs."""
    if needed.more is None:
        return Sentence(f"{aim}: {needed.reason}", "fact", "Labels needed")
    more = "no more" if needed.more == 0 else f"about {needed.more:,} more"
    return Sentence(f"{more} {aim}", "fact", "Labels needed")


def _agreement(agreement: JudgeAgreement) -> SectionTable:
    columns = (
        TableColumn("figure", "name"),
        TableColumn("value"),
        TableColumn("95 % CI", "interval"),
        TableColumn("n"),
        TableColumn("what it says", "text", level="detail"),
    )
    rows = [*_pair_rows(agreement)]
    if agreement.rates is not None:
        for key, abbreviation, meaning in _RATES:
            rate = getattr(agreement.rates, key)
            rows.append(_row(abbreviation, rate.value, rate.interval, rate.n, meaning, share=True))
    return SectionTable(columns, tuple(rows), "Intervals by cluster where records depend on each other")


def _pair_rows(agreement: JudgeAgreement) -> Iterator[tuple[TableCell, ...]]:
    if agreement.judged is None:
        return
    (pair,) = agreement.judged.pairs
    limits = agreement.equal.interval if agreement.equal else None
    yield _row(
        "equal", pair.equal, limits, pair.n, "share of records on which people and judge say the same", share=True
    )
    for coefficient in (*pair.coefficients, agreement.judged.alpha):
        name = _COEFFICIENTS[coefficient.name]
        if coefficient.name == "cohen_kappa" and agreement.judged.scale == "ordinal":
            name = "weighted kappa"
        meaning = coefficient.reason or _meaning(coefficient)
        yield _row(name, coefficient.value, coefficient.interval, coefficient.n, meaning, share=False)


def _meaning(coefficient: Coefficient) -> str:
    if coefficient.name in {"spearman", "pearson"}:
        return "how similarly both order the records; not agreement"
    return "agreement beyond chance: 1 is perfect, 0 as by chance"


def _row(
    name: str, value: float | None, interval: Interval | None, n: int, meaning: str, *, share: bool
) -> tuple[TableCell, ...]:
    return (
        TableCell(name),
        TableCell(value_text(value, share=share), value=value),
        *text_row(interval_text(interval, share=share) or MISSING, f"{n:,}", meaning),
    )


def _ceiling(agreement: JudgeAgreement) -> Iterator[Sentence]:
    """How far people agree with each other, which a judge can hardly exceed."""
    if agreement.people is None:
        if len(agreement.raters) > 1:
            yield Sentence(
                f"{count_text(agreement.several, 'record')} with labels of several people; how far people agree with "
                f"each other is shown from {FEWEST} on"
            )
        return
    alpha = agreement.people.alpha
    limits = interval_text(alpha.interval, share=False)
    value = f"alpha {value_text(alpha.value, share=False)}" if alpha.value is not None else f"no alpha: {alpha.reason}"
    text = f"{value}{f' ({limits})' if limits else ''}, {count_text(alpha.n, 'record')}"
    yield Sentence(text, "fact", "People among themselves")
    for pair in agreement.people.pairs:
        if pair.n:
            yield Sentence(
                f"{pair.first} and {pair.second}: equal on {value_text(pair.equal, share=True)} of {pair.n:,}"
            )


def _confusion(agreement: JudgeAgreement) -> SectionTable:
    verdicts = sorted({count.verdict for count in agreement.table if count.verdict is not None}, reverse=True)
    kinds: list[float | None] = [
        *verdicts,
        *([None] if any(count.verdict is None for count in agreement.table) else []),
    ]
    counts = {(count.label, count.verdict): count.n for count in agreement.table}
    columns = (
        TableColumn("people say", "name"),
        *(TableColumn(f"judge: {_value_text(kind)}") for kind in kinds),
    )
    rows = tuple(
        (TableCell(_value_text(label)), *(TableCell(f"{counts.get((label, kind), 0):,}") for kind in kinds))
        for label in sorted({count.label for count in agreement.table}, reverse=True)
    )
    return SectionTable(columns, rows, "Labelled records")


def _value_text(value: float | None) -> str:
    return "no verdict" if value is None else f"{value:g}"


def _groups(agreement: JudgeAgreement) -> SectionTable:
    columns = (
        TableColumn("group", "name"),
        TableColumn("n"),
        TableColumn("equal"),
        TableColumn("95 % CI", "interval"),
        TableColumn("kappa"),
    )
    rows = tuple(
        (
            *text_row(
                group.group or "(no group)",
                f"{group.n:,}",
                value_text(group.equal.value if group.equal else None, share=True),
                interval_text(group.equal.interval if group.equal else None, share=True) or MISSING,
            ),
            _kappa_cell(group.kappa),
        )
        for group in agreement.groups
    )
    return SectionTable(columns, rows, f"Figures from {FEWEST} records with a verdict and a label on")


def _kappa_cell(kappa: Coefficient | None) -> TableCell:
    """Kappa with its interval."""
    text = value_text(kappa.value if kappa else None, share=False)
    limits = interval_text(kappa.interval if kappa else None, share=False)
    return TableCell(text, (limits,) if limits else (), value=kappa.value if kappa else None)


def _disagreements(agreement: JudgeAgreement, run: str) -> tuple[tuple[TableCell, ...], ...]:
    return tuple(
        (
            TableCell(sample if not repeat else f"{sample} (repeat {repeat})", link=RecordLink(run, sample)),
            *text_row(_value_text(count.label), _value_text(count.verdict)),
        )
        for count in agreement.table
        for sample, repeat in count.records
    )


def difference_section(found: CorrectedDifference, needed: LabelsNeeded, *, share: bool) -> Section:
    """The corrected difference of two runs, and how many labels would make it conclusive.

    Args:
        found: first minus second.
        needed: labels of each run that this takes.
        share: whether it is in percentage points.
    """
    if found.value is None:
        return Section("Corrected difference", notes=(Sentence(found.reason, "warning"),))
    unit = " points" if share else ""
    limits = found.interval
    between = f" ({signed_text(limits.low, share=share)} to {signed_text(limits.high, share=share)})" if limits else ""
    decided = limits is not None and (limits.low > 0 or limits.high < 0)
    verdict = "" if decided else "; nothing can be concluded, as 0 is within"
    text = f"{signed_text(found.value, share=share)}{unit}{between}{verdict}"
    notes = [Sentence(text, "fact", "First minus second")]
    if not decided:
        notes.append(needed_sentence(needed, "of each run to decide between them in 80 % of cases"))
    return Section("Corrected difference", notes=tuple(notes))
