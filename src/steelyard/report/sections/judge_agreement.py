"""The sections on agreement: raters with each other, and a judge with people's labels, with the labels still needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, Protocol

from steelyard.analysis.intervals import Mean
from steelyard.analysis.judges.rater_findings_values import FEWEST, Agreement, JudgeAgreement, RaterPair
from steelyard.analysis.numbers import count_text, interval_text, points_text, score_phrase, signed_text, value_text
from steelyard.report.page_runs import PageRuns
from steelyard.report.run_texts import Figure, figure_cell, figure_cells, value_cell
from steelyard.report.section import (
    RecordLink,
    Section,
    SectionTable,
    Sentence,
    TableCell,
    TableColumn,
    columns_of,
    sentences,
    text_row,
)
from steelyard.stats.corrected import CorrectedDifference
from steelyard.stats.labels_needed import LabelsNeeded

_RATES: Final = (
    ("tpr", "TPR", "of what people pass, the judge passes"),
    ("tnr", "TNR", "of what people fail, the judge fails"),
    ("ppv", "PPV", "of what the judge passes, people pass"),
    ("npv", "NPV", "of what the judge fails, people fail"),
)
_BEYOND_CHANCE: Final = "agreement beyond chance: 1 is perfect, 0 as by chance"
_ORDER: Final = "how similarly both order the records; not agreement"
_COEFFICIENTS: Final = {
    "cohen_kappa": ("Cohen's kappa", _BEYOND_CHANCE),
    "spearman": ("Spearman", _ORDER),
    "pearson": ("Pearson", _ORDER),
    "krippendorff_alpha": ("Krippendorff's alpha", _BEYOND_CHANCE),
}


def held_to_people_section(runs: PageRuns) -> Section:
    """Each labelled score of every run, compared with people's labels; empty where nobody labelled a score."""
    parts = [
        part
        for of_run, summary in runs.headed()
        for agreement in summary.raters.held_to_people
        for part in held_to_people_parts(agreement, summary.run, of_run)
    ]
    return Section("Does the judge agree with people?", parts=parts, key="held_to_people")


def held_to_people_parts(agreement: JudgeAgreement, run: str, of_run: str = "") -> Iterator[Section]:
    """The sections on one score.

    Args:
        agreement: the score and its labels.
        run: the run's id, for links to records.
        of_run: text that is added to headings where there are several runs.
    """
    name = score_phrase(agreement.score)
    title = f"{name}: labels and corrected figure{of_run}"
    if agreement.problem:
        problem = f"{name} cannot be compared with the labels: {agreement.problem}"
        yield Section(title, notes=(Sentence(problem, "warning"),))
        return
    yield Section(title, _corrected(agreement), notes=tuple(_notes(agreement)))
    if agreement.judged is not None:
        yield Section(f"{name}: agreement with people{of_run}", _agreement(agreement), notes=tuple(_ceiling(agreement)))
    if agreement.table:
        yield Section(f"{name}: does the judge agree with people?{of_run}", _confusion(agreement))
    if agreement.groups:
        yield Section(f"{name}: agreement by group{of_run}", _groups(agreement))
    if rows := _disagreements(agreement, run):
        caption = "Of each pair of verdicts the first records of the run"
        table = SectionTable(columns_of("record", "people", TableColumn("judge")), rows, caption)
        yield Section(f"{name}: records on which people and judge differ{of_run}", table, folded=True, level="page")


def _corrected(agreement: JudgeAgreement) -> SectionTable | None:
    corrected = agreement.corrected
    if corrected is None or corrected.value is None:
        return None
    as_judged = Mean(corrected.raw, corrected.raw_interval, agreement.counts.verdicts)
    verdicts, labels = count_text(agreement.counts.verdicts, "verdict"), f"{count_text(corrected.n, 'label')} by people"
    judge, people = TableCell("the judge says"), TableCell("people say (estimated)")
    rows = (
        (judge, *figure_cells(as_judged, share=agreement.share), TableCell(verdicts)),
        (people, *figure_cells(corrected, share=agreement.share, strong=True), TableCell(labels)),
    )
    columns = columns_of("mean over all records", "mean", "95 % CI", "based on")
    return SectionTable(columns, rows, "What people would say on average, and what the judge says")


def _notes(agreement: JudgeAgreement) -> Iterator[Sentence]:
    who = ", ".join(agreement.counts.raters) or "nobody"
    by_several = f"; {agreement.counts.several:,} by several people" if agreement.counts.several else ""
    labelled = (
        f"{agreement.counts.labelled:,} of {count_text(agreement.counts.records, 'record')}, by {who}{by_several}"
    )
    yield Sentence(labelled, "fact", "Labelled")
    corrected, needed = agreement.corrected, agreement.needed
    if corrected is not None and corrected.value is None:
        yield Sentence(f"No corrected figure: {corrected.reason}")
    elif corrected is not None:
        yield Sentence(f"{corrected.method} ({corrected.why})", "fact", "Method", "detail")
        yield from sentences([corrected.reason])
        if needed is not None and agreement.half_width is not None:
            width = points_text(agreement.half_width, share=agreement.share)
            yield needed_sentence(needed, f"to know the rate to ±{width}")
    if agreement.counts.both < FEWEST:
        rated = count_text(agreement.counts.both, "record")
        yield Sentence(f"{rated} with a verdict and a label; agreement is shown from {FEWEST} on")
    yield from sentences(agreement.warnings, "warning")


def needed_sentence(needed: LabelsNeeded, aim: str) -> Sentence:
    """How many more labels an aim needs."""
    if needed.more is None:
        return Sentence(f"{aim}: {needed.reason}", "fact", "Labels needed")
    more = "no more" if needed.more == 0 else f"about {needed.more:,} more"
    return Sentence(f"{more} {aim}", "fact", "Labels needed")


def _agreement(agreement: JudgeAgreement) -> SectionTable:
    rows = (*_coefficients(agreement), *_rates(agreement))
    says = TableColumn("what it says", "remark", level="detail")
    columns = columns_of("figure", "value", "95 % CI", "n", says)
    return SectionTable(columns, rows, "Intervals by cluster where records depend on each other")


class _Counted(Figure, Protocol):
    @property
    def n(self) -> int: ...


def _row(name: str, figure: _Counted, meaning: str, *, share: bool = True) -> tuple[TableCell, ...]:
    return (TableCell(name), *figure_cells(figure, share=share), *text_row(f"{figure.n:,}", meaning))


def _coefficients(agreement: JudgeAgreement) -> Iterator[tuple[TableCell, ...]]:
    if agreement.judged is None or agreement.equal is None:
        return
    yield _row("equal", agreement.equal, "share of records on which people and judge say the same")
    for coefficient in (*agreement.judged.pairs[0].coefficients, agreement.judged.alpha):
        name, meaning = _COEFFICIENTS[coefficient.name]
        if coefficient.name == "cohen_kappa" and agreement.judged.scale == "ordinal":
            name = "weighted kappa"
        yield _row(name, coefficient, coefficient.reason or meaning, share=False)


def _rates(agreement: JudgeAgreement) -> Iterator[tuple[TableCell, ...]]:
    if agreement.rates is not None:
        for key, abbreviation, meaning in _RATES:
            yield _row(abbreviation, getattr(agreement.rates, key), meaning)


def _ceiling(agreement: JudgeAgreement) -> Iterator[Sentence]:
    """How far people agree with each other, which a judge can hardly exceed."""
    if agreement.people is None:
        if len(agreement.counts.raters) > 1:
            yield Sentence(
                f"{count_text(agreement.counts.several, 'record')} with labels of several people; how far people agree "
                f"with each other is shown from {FEWEST} on"
            )
        return
    alpha, value = agreement.people.alpha, alpha_text(agreement.people)
    text = f"alpha {value}" if value else f"no alpha: {alpha.reason}"
    yield Sentence(f"{text}, {count_text(alpha.n, 'record')}", "fact", "People among themselves")
    for pair in agreement.people.pairs:
        if pair.n:
            equal = value_text(pair.equal, share=True)
            yield Sentence(f"{pair.first} and {pair.second}: equal on {equal} of {pair.n:,}")


def _confusion(agreement: JudgeAgreement) -> SectionTable:
    counts = {(count.label, count.verdict): count.n for count in agreement.table}
    verdicts = sorted({verdict for _, verdict in counts}, key=lambda verdict: (verdict is None, -(verdict or 0)))
    rows = tuple(
        text_row(_verdict_text(agreement, label), *(f"{counts.get((label, verdict), 0):,}" for verdict in verdicts))
        for label in sorted({label for label, _ in counts}, reverse=True)
    )
    heads = (TableColumn(_verdict_text(agreement, verdict), is_data=True) for verdict in verdicts)
    columns = columns_of("people ↓  judge →", *heads)
    return SectionTable(columns, rows, "Labelled records")


def _verdict_text(agreement: JudgeAgreement, value: float | None) -> str:
    """A verdict of a score that only passes or fails in words."""
    values = {label for count in agreement.table for label in (count.label, count.verdict)}
    words = {1.0: "pass", 0.0: "fail"} if agreement.share and values <= {0.0, 1.0, None} else {}
    return words.get(value, _value_text(value)) if value is not None else _value_text(value)


def _value_text(value: float | None) -> str:
    return "no verdict" if value is None else f"{value:g}"


def _groups(agreement: JudgeAgreement) -> SectionTable:
    rows = tuple(
        (
            *text_row(group.group or "(no group)", f"{group.n:,}"),
            *figure_cells(group.equal, share=True),
            figure_cell(group.kappa, share=False),
        )
        for group in agreement.groups
    )
    columns = columns_of("group", "n", "equal", "95 % CI", "kappa")
    return SectionTable(columns, rows, f"Figures from {FEWEST} records with a verdict and a label on")


def _disagreements(agreement: JudgeAgreement, run: str) -> tuple[tuple[TableCell, ...], ...]:
    return tuple(
        (
            TableCell(sample if not repeat else f"{sample} (repeat {repeat})", link=RecordLink(run, sample)),
            *text_row(_verdict_text(agreement, count.label), _verdict_text(agreement, count.verdict)),
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
    return Section("Corrected difference", notes=notes)


_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "nominal": ("Cohen's kappa",),
        "ordinal": ("weighted kappa", "Spearman", "Pearson"),
        "interval": ("Pearson", "Spearman"),
    }
)
"""Heads of the coefficients of a pair, in their order; the weights of the weighted kappa are quadratic."""


def agreement_section(runs: PageRuns) -> Section:
    """The raters of each run and how far they agree; empty where no two rated the same thing."""
    parts = [
        part
        for of_run, summary in runs.headed()
        for agreement in summary.raters.agreement
        for part in rater_sections(agreement, of_run)
    ]
    return Section("Agreement of raters", parts=parts, key="agreement")


def rater_sections(agreement: Agreement, of_run: str = "") -> list[Section]:
    """The raters of one thing and how far each two agree.

    Args:
        agreement: of the raters.
        of_run: text that is added to headings where there are several runs.
    """
    rated = score_phrase(agreement.rated)
    return [
        Section(f"Raters of {rated}{of_run}", _raters(agreement)),
        Section(f"Agreement on {rated}{of_run}", _pairs(agreement), notes=tuple(_rater_notes(agreement))),
    ]


def _raters(agreement: Agreement) -> SectionTable:
    rows = tuple(
        (
            TableCell(_shown(agreement, rater.name)),
            TableCell("scorer" if rater.kind == "score" else "labels"),
            *figure_cells(rater.mean, share=agreement.share, strong=True),
            TableCell(f"{rater.n:,}"),
        )
        for rater in agreement.raters
    )
    columns = columns_of("rater", "rated by", "mean", "95 % CI", "n")
    return SectionTable(columns, rows, "Mean of the samples that each person labelled")


def _pairs(agreement: Agreement) -> SectionTable:
    rows = tuple(
        (
            TableCell(_names(agreement, pair)),
            TableCell(f"{pair.n:,}"),
            value_cell(pair.equal, share=True),
            *(figure_cell(coefficient, share=False) for coefficient in pair.coefficients),
        )
        for pair in agreement.pairs
    )
    columns = columns_of("raters", "n", "equal", *_COLUMNS[agreement.scale])
    return SectionTable(columns, rows, "With 95 % CI; n is the records that both rated")


def _shown(agreement: Agreement, rater: str) -> str:
    """A rater's name without the score's name, which is in the heading: the name of the judge or person."""
    return rater.removeprefix(f"{agreement.rated}_")


def _names(agreement: Agreement, pair: RaterPair) -> str:
    return f"{_shown(agreement, pair.first)} / {_shown(agreement, pair.second)}"


def alpha_text(agreement: Agreement) -> str:
    """Krippendorff's alpha with its interval; "" where it is not defined."""
    alpha = agreement.alpha
    limits = f" ({interval_text(alpha.interval, share=False)})" if alpha.interval else ""
    return "" if alpha.value is None else f"{value_text(alpha.value, share=False)}{limits}"


def _rater_notes(agreement: Agreement) -> Iterator[Sentence]:
    alpha = agreement.alpha
    value = alpha_text(agreement)
    text = f"{value}, {agreement.scale}, {count_text(alpha.n, 'record')}" if value else alpha.reason
    yield Sentence(text, "fact", "Krippendorff's alpha")
    for pair in agreement.pairs:
        reasons = dict.fromkeys(coefficient.reason for coefficient in pair.coefficients if coefficient.reason)
        yield from (Sentence(f"{_names(agreement, pair)}: {reason}") for reason in reasons)
    undefined = max((coefficient.undefined for pair in agreement.pairs for coefficient in pair.coefficients), default=0)
    if undefined:
        resamples = max(coefficient.resamples for pair in agreement.pairs for coefficient in pair.coefficients)
        yield Sentence(
            f"in up to {undefined:,} of {resamples:,} resamples a coefficient is not defined (all ratings equal): "
            "its interval is computed from the others"
        )
    yield from _one_sided(agreement)


def _one_sided(agreement: Agreement) -> Iterator[Sentence]:
    """A note on records that only one of two raters rated: not in the agreement, but perhaps the difficult ones."""
    most = max(agreement.pairs, key=lambda pair: pair.one_only)
    if most.one_only:
        names = " and ".join((_shown(agreement, most.first), _shown(agreement, most.second)))
        yield Sentence(
            f"{count_text(most.one_only, 'record')} that only one of {names} rated, left out of their agreement"
        )
