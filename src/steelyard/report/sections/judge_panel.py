"""Sections on the judges of a run: agreement, cost, differences between judges, checks and forms of replies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from steelyard.analysis.intervals import Mean
from steelyard.analysis.judges.rater_findings_values import JudgeCheck, JudgePanel, PanelJudge
from steelyard.analysis.model_calls import call_sentences
from steelyard.analysis.numbers import (
    MISSING,
    count_text,
    interval_text,
    level_text,
    mean_text,
    money_text,
    points_text,
    score_phrase,
    signed_text,
    value_text,
)
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.plain_json import grouped
from steelyard.report.page_runs import PageRuns
from steelyard.report.run_texts import figure_cell
from steelyard.report.section import (
    Level,
    Section,
    SectionTable,
    Sentence,
    TableCell,
    TableColumn,
    columns_of,
    sentences,
    text_row,
)

_FREE: Final = "free text"
"""The start of the name of a reply form without a JSON schema."""
_CHECKS: Final = {"injection canary": "fooled by an instruction in the answer"}
"""Names of checks that need a plainer one."""
_VOTES: Final = {
    "majority": "the verdict of most judges",
    "mean": "the mean of the judges",
}


def panels_section(runs: PageRuns) -> Section:
    """The panel of each run; empty where no run has several judges of one score."""
    parts = [
        part
        for of_run, summary in runs.headed()
        for panel in summary.raters.panels
        for part in panel_parts(panel, of_run)
    ]
    return Section("Judges compared", parts=parts, key="panels")


def panel_parts(panel: JudgePanel, of_run: str = "") -> Iterator[Section]:
    """The sections on one panel.

    Args:
        panel: the judges.
        of_run: text that is added to headings where there are several runs.
    """
    name = score_phrase(panel.thing)
    yield Section(f"{name}: judges{of_run}", _judges(panel), notes=tuple(_notes(panel)))
    if panel.differences:
        yield Section(f"{name}: judge against judge{of_run}", _differences(panel), notes=tuple(_conclusions(panel)))


def checks_section(runs: PageRuns) -> Section:
    """What changes the verdicts of each run's judges apart from the answer; empty where no run has such figures."""
    parts = [part for of_run, summary in runs.headed() for part in _checks(summary.raters.checks, of_run)]
    return Section("Checks of the judges", parts=parts, key="judge_checks")


def _checks(checks: Sequence[JudgeCheck], of_run: str) -> Iterator[Section]:
    """A row per figure, by check; then the meaning of each check, and why some have no figure."""
    of_things = ", ".join(score_phrase(thing) for thing in dict.fromkeys(check.thing for check in checks) if thing)
    title = f"{of_things}{of_run}" if of_things else of_run.removeprefix(" (").removesuffix(")")
    names = dict.fromkeys(check.name for check in checks)
    figures = [check for name in names for check in checks if check.name == name and check.value is not None]
    if not figures:
        return
    rows = tuple(
        (
            TableCell(_CHECKS.get(check.name, check.name)),
            TableCell(check.judge),
            TableCell(_figure(check), (check.about,) if check.about else (), value=check.value),
            *text_row(interval_text(check.interval, share=check.share) or MISSING, f"{check.n:,}"),
        )
        for check in figures
    )
    columns = columns_of("check", "judge", "figure", "95 % CI", "n")
    meanings = {check.name: Sentence(check.meaning, "fact", _CHECKS.get(check.name, check.name)) for check in figures}
    yield Section(title, SectionTable(columns, rows), notes=(*meanings.values(), *_without_figure(checks)))


def _without_figure(checks: Sequence[JudgeCheck]) -> Iterator[Sentence]:
    """Why a check has no figure, one sentence for all judges with the same reason."""
    judges = grouped(((check.name, check.reason), check.judge) for check in checks if check.value is None)
    for (name, reason), without in judges.items():
        all_judges = len({check.judge for check in checks if check.name == name}) == len(without)
        whose = "" if all_judges else f" of {', '.join(without)}"
        yield Sentence(f"Not measured: {_CHECKS.get(name, name)}{whose}: {reason}")


def _figure(check: JudgeCheck) -> str:
    return value_text(check.value, share=True) if check.share else signed_text(check.value or 0.0, share=False)


def _judges(panel: JudgePanel) -> SectionTable:
    jury, labelled = any(judge.with_jury for judge in panel.judges), bool(panel.against)
    priced = any(judge.money for judge in panel.judges)
    level: Level = "detail" if priced else "essential"
    columns = columns_of(
        "judge",
        "mean",
        *(("close to people", "kappa", "corrected mean") if labelled else ()),
        *((TableColumn("as the jury", level="detail"),) if jury else ()),
        TableColumn("no verdict", count=True),
        TableColumn("calls", level=level),
        TableColumn("tokens", level=level, count=True),
        *(["cost"] if priced else []),
    )
    rows = tuple(tuple(_judge_row(judge, labelled=labelled, jury=jury, priced=priced)) for judge in panel.judges)
    caption = "Close to people: share of equal verdicts, for ratings 1 minus the mean distance as a share of the range"
    return SectionTable(columns, rows, caption if labelled else "")


def _judge_row(judge: PanelJudge, *, labelled: bool, jury: bool, priced: bool) -> Iterator[TableCell]:
    agreement = judge.agreement
    corrected = agreement.corrected
    mean = Mean(judge.mean, corrected.raw_interval if corrected else None, agreement.counts.verdicts)
    yield TableCell(judge.name, strong=judge.is_jury)
    yield figure_cell(mean, share=agreement.share and agreement.scale in {None, (0.0, 1.0)})
    if labelled:
        yield figure_cell(judge.right, share=True)
        yield figure_cell(agreement.judged.kappa if agreement.judged else None, share=False)
        yield figure_cell(corrected, share=agreement.share)
    if jury:
        yield TableCell(mean_text(judge.with_jury, share=True) if judge.with_jury else MISSING)
    missing = agreement.counts.records - agreement.counts.verdicts
    cost = text_row(money_text(judge.money, judge.currency) if judge.money else MISSING) if priced else ()
    yield from (*text_row(f"{missing:,}", f"{judge.calls:,}", f"{judge.tokens:,}"), *cost)


def _notes(panel: JudgePanel) -> Iterator[Sentence]:
    if panel.votes.vote:
        why = f", because of: {panel.votes.why}" if panel.votes.why else ""
        yield Sentence(f"{_VOTES[panel.votes.vote]}{why}", "fact", "Jury")
    elif panel.votes.why:
        yield Sentence(f"no jury: {panel.votes.why}", "warning")
    yield from sentences(panel.votes.missing, "warning")
    if not panel.against:
        yield Sentence("Nobody labelled these answers: which judge is closest to people is not known")
    elif not panel.differences and panel.reason:
        yield Sentence(panel.reason)


def _differences(panel: JudgePanel) -> SectionTable:
    interval = TableColumn(f"{level_text(panel.level)} CI, all together", "interval")
    columns = columns_of("agrees with people more often", "by points", interval, "n")
    rows = tuple(
        (
            TableCell(f"{difference.first} than {difference.second}"),
            TableCell(signed_text(difference.value, share=True), value=difference.value),
            TableCell(interval_text(difference.interval, share=True, sign=True) or MISSING),
            TableCell(f"{difference.n:,}"),
        )
        for pair in panel.differences
        for difference in [pair if pair.value >= 0 else pair.seen_from(pair.second)]
    )
    return SectionTable(columns, rows, "Points; the intervals of all pairs hold together (Bonferroni)")


def _conclusions(panel: JudgePanel) -> Iterator[Sentence]:
    margin = points_text(panel.margin)
    if panel.chosen:
        yield Sentence(
            f"{panel.chosen} is the cheapest that is not worse than any other by more than {margin}",
            "conclusion",
            tone="good",
        )
    elif panel.reason:
        yield Sentence(panel.reason, "conclusion", tone="unclear")
    yield from _jury_gain(panel)


def _jury_gain(panel: JudgePanel) -> Iterator[Sentence]:
    """What the jury gains over its best member, and at what cost."""
    jury = panel.jury
    members = [judge for judge in panel.judges if not judge.is_jury and judge.right and judge.right.value is not None]
    if jury is None or not members:
        return
    best = max(members, key=lambda judge: (judge.right.value or 0.0) if judge.right else 0.0)
    pair = next(each for each in panel.differences if {each.first, each.second} == {jury.name, best.name})
    gain = pair.seen_from(jury.name)
    gains = gain.interval is not None and gain.interval.low > 0
    verdict = "" if gains else "; no gain is shown"
    between = f" ({interval_text(gain.interval, share=True, sign=True)})" if gain.interval else ""
    times = f", at {jury.tokens / best.tokens:.1f} times its tokens" if best.tokens else ""
    points = f"{signed_text(gain.value, share=True)} points{between}"
    text = f"{points} over its best member, {best.name}{times}{verdict}"
    yield Sentence(text, "fact", "Jury", tone="good" if gains else "unclear")


def reply_form_texts(summary: RunSummary) -> Iterator[str]:
    """What endpoints did not take as it was sent: inputs cut, parameters refused, verdicts that came as free text."""
    yield from call_sentences(summary.calls.endpoints)
    for score, forms in summary.calls.reply_forms.items():
        total = count_text(sum(forms.values()), "verdict")
        yield from (f"{score}: {n:,} of {total} in {form}" for form, n in forms.items() if form.startswith(_FREE))
