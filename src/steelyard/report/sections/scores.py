"""Sections of scores next to the headline: means, verdicts with names, contingency tables, histograms, groups."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

from steelyard.analysis.conditions import quoted_name
from steelyard.analysis.numbers import MISSING, interval_text, score_phrase, score_title, value_text
from steelyard.analysis.scores.score_summary import Histogram
from steelyard.analysis.scores.score_summary_values import ScoreSummary
from steelyard.analysis.summary.contingency import ContingencyTable
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.data.table import origin_keys
from steelyard.report.charts.chart import ChartPoint, ConditionLink, RowChart
from steelyard.report.page_runs import PageRuns, run_labels
from steelyard.report.run_texts import (
    SAME_QUESTION,
    bounds_text,
    count_cell,
    is_rate,
    left_out_text,
    outcome_word,
    passed_count,
    value_cell,
)
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
from steelyard.report.sections.exam import macro_sentences
from steelyard.report.sections.targets import mean_point

_MOST_CHARTED: Final = 60
"""Groups up to which they have a chart: the 57 subjects of MMLU. Above, charts take most of a page of many MB."""
_ROUNDED: Final = "count at the nearest one, a half at the upper"
"""How a histogram of whole values counts other values."""
_WITHOUT_VALUE: Final = {
    "unreadable": "unparsed",
    "refused": "refused",
    "not applicable": "not_applicable",
    "errors": "errors",
}
"""Rows of a histogram for records without a value, with their field of a histogram."""
_RARE: Final = ("not applicable", "errors")
"""Rows of a histogram that are shown only if they are not zero."""
_NOTHING: Final = TableCell(MISSING)


def scores_section(runs: PageRuns) -> Section:
    """Means, verdicts and contingency tables of all scores and the first histogram, where a run has any."""
    return Section(
        "Scores",
        parts=[
            _overview(runs),
            *_verdicts(runs),
            *_contingency_tables(runs),
            *_scale_charts(runs),
            *[*_histograms(runs)][:1],
        ],
        key="scores",
    )


def _overview(runs: PageRuns) -> Section:
    """Every score's mean: with its counts for one run, a column per run for several; empty for a single score."""
    all_names = runs.own_scores
    if len(all_names) < 2:
        return Section("")
    names = [name for name in all_names if runs.applies(name)]
    not_applicable = [score_phrase(name) for name in all_names if name not in names]
    missing = [f"not applicable to any record: {', '.join(not_applicable)}"] if not_applicable else []
    if len(runs) == 1:
        scores = [score for score in runs.summaries[0].own_scores if score.name in names]
        table, same = _shown_once(_counts_table("score", scores, named=True), [score.name for score in scores])
        return Section("Every score", table, notes=sentences([*same, *missing]))
    rows = tuple((TableCell(score_title(name)), *_mean_cells(runs, name)) for name in names)
    caption = "Means with 95 % CI; n is the number of records in each"
    table, same = _shown_once(SectionTable(runs.columns("score"), rows, caption), names)
    # People compare scores whose verdicts have names; for others a chart would add nothing.
    chart = score_chart(runs.summaries) if any(summary.details.labels for summary in runs.summaries) else None
    return Section("Scores by run", table, chart, sentences([*same, *missing]))


def _shown_once(table: SectionTable, names: Sequence[str]) -> tuple[SectionTable, list[str]]:
    """The table without scores of `SAME_QUESTION` that have the figures of an earlier one, and a sentence on them.

    Args:
        table: a row per score.
        names: of the scores.
    """
    rows: list[tuple[TableCell, ...]] = []
    first: dict[tuple[TableCell, ...], str] = {}
    same: dict[str, list[str]] = {}
    for name, row in zip(names, table.rows, strict=True):
        if name in SAME_QUESTION and (shown := first.setdefault(row[1:], name)) != name:
            same.setdefault(shown, []).append(score_phrase(name))
        else:
            rows.append(row)
    told = [f"the same as {score_phrase(shown)}: {', '.join(others)}" for shown, others in same.items()]
    return replace(table, rows=tuple(rows)), told


def _scale_charts(runs: PageRuns) -> list[Section]:
    """A chart per scale other than a share's, such as -1 to 1 of a correlation, which the bars of shares leave out."""
    names = runs.own_scores
    with_histogram = {name for summary in runs.summaries for name in summary.details.spreads}  # have their own charts
    by_scale: dict[tuple[float, float], list[str]] = {}
    for name in names:
        domain = None if runs.is_share(name) else runs.domain(name)
        if domain is not None and len(names) > 1 and name not in with_histogram:
            by_scale.setdefault(domain, []).append(name)
    return [Section("", chart=_scale_chart(runs, scores, scale)) for scale, scores in by_scale.items()]


def _scale_chart(runs: PageRuns, scores: Sequence[str], scale: tuple[float, float]) -> RowChart:
    """The means of scores on one declared scale, with their 95 % confidence intervals: a row per score.

    Args:
        runs: at least one.
        scores: names of scores that have this scale in every run.
        scale: lowest and highest value, both ends of the axis.
    """
    points = []
    for row, name in enumerate(scores):
        for series, summary in enumerate(runs.summaries):
            score = summary.score(name)
            points.append(mean_point(row, series, score.headline if score else None, share=False))
    words = "; ".join(f"{score_title(scores[point.row])}: {point.text}" for point in points)
    title = f"Means on a scale from {scale[0]:g} to {scale[1]:g}, 95 % CI"
    labels = runs.labels if len(runs) > 1 else ()
    return RowChart(title, words, tuple(map(score_title, scores)), tuple(points), series=labels, domain=scale)


def _mean_cells(runs: PageRuns, name: str) -> Iterator[TableCell]:
    """A cell of one score per run."""
    share, rate = runs.is_share(name), is_rate(runs.scores(name))
    for summary in runs.summaries:
        score = summary.score(name)
        yield _NOTHING if score is None else _mean_cell(score, share=share, rate=rate)


def _mean_cell(score: ScoreSummary, *, share: bool, rate: bool) -> TableCell:
    n, *left_out = left_out_text(score).split(", ")
    count = n if passed_count(score) is None or not rate else count_cell(score, rate=rate).text
    limits = interval_text(score.headline.interval, share=share)
    more = (count, *([limits] if limits else []), *left_out)
    return TableCell(value_text(score.headline.value, share=share), more, value=score.headline.value)


def _counts_table(head: str, scores: Sequence[ScoreSummary], *, named: bool) -> SectionTable:
    """A line per score or group of one run: its mean, interval and counts.

    Args:
        head: of the names.
        scores: one per line.
        named: whether lines are named by the score, or by the group.
    """
    # Lines of one score are all counts or none; with several scores each line has its own form.
    rates = [is_rate([score]) for score in scores] if named else [is_rate(scores)] * len(scores)
    # Groups that a score does not apply to are rare, but several scores often differ in it.
    not_applicable: Level = "essential" if named or any(score.not_applicable for score in scores) else "page"
    columns = columns_of(
        head,
        "mean",
        "95 % CI",
        TableColumn("counting unreadable", level="detail"),
        "count" if any(rates) else "n",
        TableColumn("not applicable", level=not_applicable, count=True),
        *("unreadable", "refused", "errors"),
    )
    rows = (_counts_row(score, named=named, rate=rate) for score, rate in zip(scores, rates, strict=True))
    return SectionTable(columns, tuple(rows))


def _counts_row(score: ScoreSummary, *, named: bool, rate: bool) -> tuple[TableCell, ...]:
    mean, share = score.headline, score.is_share
    counts = (score.not_applicable, score.unparsed, score.refused, score.errors)
    return (
        TableCell(score_title(score.name)) if named else TableCell(score.group),
        value_cell(mean.value, share=share, strong=True),
        *text_row(interval_text(mean.interval, share=share), bounds_text(score) or MISSING),
        count_cell(score, rate=rate),
        *text_row(*(f"{n:,}" for n in counts)),
    )


def _verdicts(runs: PageRuns) -> Iterator[Section]:
    """Per score whose verdicts have names: how many records got each, and their share."""
    summaries = runs.summaries
    for score in dict.fromkeys(name for summary in summaries for name in summary.details.labels):
        if not runs.applies(score):
            continue
        rows = tuple(
            (TableCell(_verdict_word(verdict)), *(_verdict_cell(summary, score, verdict) for summary in summaries))
            for verdict in verdict_names(summaries, score)
        )
        table = SectionTable(runs.columns(), rows, "Records, and their share")
        yield Section(f"{score_title(score)}: verdicts per run", table, verdict_chart(summaries, score))


def verdict_names(summaries: Sequence[RunSummary], score: str) -> list[str]:
    """The verdicts that any run gave for a score, the most frequent over all runs first."""
    total: dict[str, int] = {}
    for summary in summaries:
        for label, n in summary.details.labels.get(score, {}).items():
            total[label] = total.get(label, 0) + n
    return sorted(total, key=lambda label: (-total[label], label))


def _verdict_word(verdict: str) -> str:
    """A verdict as a page calls it: a label as its author wrote it."""
    return outcome_word(verdict) if verdict == "unparsed" else verdict


def _verdict_share(summary: RunSummary, score: str, verdict: str) -> tuple[int, float]:
    """How many records got a verdict, and their share of those with any verdict; 0 and 0 where there is none."""
    counts = summary.details.labels.get(score, {})
    n = counts.get(verdict, 0)
    return n, n / sum(counts.values()) if counts else 0.0


def _verdict_cell(summary: RunSummary, score: str, verdict: str) -> TableCell:
    return _counted_cell(*_verdict_share(summary, score, verdict)) if summary.details.labels.get(score) else _NOTHING


def _counted_cell(n: int, share: float) -> TableCell:
    return TableCell(f"{n:,}", (value_text(share, share=True),), value=share)


def _contingency_tables(runs: PageRuns) -> Iterator[Section]:
    """Per pair of scores with two values: how many records are in each of the four cells."""
    of_runs = [
        {(table.rows_score, table.columns_score): table for table in summary.details.contingency_tables}
        for summary in runs.summaries
    ]
    for pair in dict.fromkeys(pair for tables_by_pair in of_runs for pair in tables_by_pair):
        tables = [tables_by_pair.get(pair) for tables_by_pair in of_runs]
        first = next(table for table in tables if table)
        rows = [
            (TableCell(name), *(_contingency_cell(table, at) for table in tables))
            for at, (name, _) in enumerate(first.cells)
        ]
        if any(table.left_out for table in tables if table):
            left_out = [TableCell(f"{table.left_out:,}") if table else _NOTHING for table in tables]
            rows.append((TableCell("one of the two not scored"), *left_out))
        title = f"{score_title(first.rows_score)} against {score_phrase(first.columns_score)}"
        caption = "Records in which both are scored, and their share"
        yield Section(title, SectionTable(runs.columns(), tuple(rows), caption))


def _contingency_cell(table: ContingencyTable | None, at: int) -> TableCell:
    if table is None:
        return _NOTHING
    n = table.cells[at][1]
    return _counted_cell(n, n / table.n) if table.n else TableCell(f"{n:,}", (MISSING,))


def _histograms(runs: PageRuns) -> Iterator[Section]:
    """Per score with a histogram: records per value, and below those without a value."""
    summaries = runs.summaries
    for score in dict.fromkeys(name for summary in summaries for name in summary.details.spreads):
        if not runs.applies(score):
            continue
        histograms = [summary.details.spreads.get(score) for summary in summaries]
        rows = [
            (TableCell(label), *(_bin_cell(summary, score, at) for summary in summaries))
            for at, label in enumerate(_bin_labels(summaries, score))
        ]
        rows += [
            (TableCell(name), *(TableCell(f"{getattr(each, field):,}") if each else _NOTHING for each in histograms))
            for name, field in _WITHOUT_VALUE.items()
        ]
        zero = {"0", MISSING}
        shown = tuple(row for row in rows if row[0].text not in _RARE or {cell.text for cell in row[1:]} - zero)
        yield Section(
            f"{score_title(score)}: how often each value was given",
            SectionTable(runs.columns(), shown, "Records, and their share of those scored", layout="histogram"),
            histogram_chart(summaries, score),
            notes=tuple(_between_values(summaries, score)),
        )


def further_histograms_section(runs: PageRuns) -> Section:
    """All histograms but the first, which a comment shows at its end."""
    return Section("", parts=tuple(_histograms(runs))[1:], key="further_histograms")


def _between_values(summaries: Sequence[RunSummary], score: str) -> Iterator[Sentence]:
    for summary in summaries:
        histogram = summary.details.spreads.get(score)
        if histogram and histogram.between:
            values = f"{histogram.between:,} value{'' if histogram.between == 1 else 's'}"
            yield Sentence(f"{summary.target}: of {score}, {values} between whole numbers {_ROUNDED}")


def _bin_labels(summaries: Sequence[RunSummary], score: str) -> list[str]:
    """Names of the bins of a score's histogram: whole values, or ranges."""
    first = next(summary.details.spreads[score] for summary in summaries if score in summary.details.spreads)
    edges = [low for low, _ in first.bins]
    if first.whole_values:
        return [f"{edge:g}" for edge in edges]
    return [f"{low:g} to {high:g}" for low, high in zip(edges, [*edges[1:], first.scale.high], strict=True)]


def _bin_share(histogram: Histogram | None, at: int) -> tuple[int, float]:
    """How many records are in a bin, and their share of those scored; 0 and 0 where there is none."""
    if histogram is None or at >= len(histogram.bins):
        return 0, 0.0
    n = histogram.bins[at][1]
    return n, n / histogram.scored if histogram.scored else 0.0


def _bin_cell(summary: RunSummary, score: str, at: int) -> TableCell:
    histogram = summary.details.spreads.get(score)
    if histogram is None:
        return _NOTHING
    return replace(_counted_cell(*_bin_share(histogram, at)), link=_bin_link(summary, score, at))


def _bin_link(summary: RunSummary, score: str, at: int) -> ConditionLink | None:
    """The records in a bin of a score's histogram; None where there are none."""
    histogram = summary.details.spreads.get(score)
    if histogram is None or at >= len(histogram.bins) or not histogram.bins[at][1]:
        return None
    edges = [low - 0.5 if histogram.whole_values else low for low, _ in histogram.bins]
    # A value outside the scale counts in the first or last bin.
    name = quoted_name(score)
    above = f"{name} >= {edges[at]:g}" if at else ""
    below = f"{name} < {edges[at + 1]:g}" if at + 1 < len(edges) else ""
    return ConditionLink(summary.run, " and ".join(filter(None, (above, below))))


def groups_section(runs: PageRuns, score: str, *, alone: bool = True) -> Section:
    """The page's score by category.

    Args:
        runs: those that have scores.
        score: the page's.
        alone: whether the page shows no other run.
    """
    section = _groups_of(runs, score)
    notes = tuple(sentences(macro_sentences(runs, score), level="page")) if section else ()
    level: Level = "page" if len(runs) > 1 or not alone else "essential"
    return replace(section, notes=notes, key="groups", level=level)


def further_groups_section(runs: PageRuns, score: str, *, on_terminal: Collection[str] = ()) -> Section:
    """All scores except the page's, by category.

    Args:
        runs: those that have scores.
        score: the page's.
        on_terminal: the scores that a terminal shows too.
    """
    names = dict.fromkeys(name for summary in runs.summaries for name in summary.groups)
    own = _groups_of(runs, score).table if score in SAME_QUESTION else None
    shown, same = [], []
    for name in names:
        if name == score or not runs.applies(name):
            continue
        part = _groups_of(runs, name)
        if own is not None and name in SAME_QUESTION and part.table is not None and part.table.rows == own.rows:
            same.append(score_phrase(name))
        else:
            shown.append(replace(part, folded=True, level="essential" if name in on_terminal else "page"))
    notes = sentences([f"As {score_phrase(score)}, in every group: {', '.join(same)}"] if same else [], level="page")
    return Section("Further scores per group", notes=notes, parts=shown, key="further_groups")


def _groups_of(runs: PageRuns, score: str) -> Section:
    table = _group_table(runs, score, "category", [summary.groups.get(score, ()) for summary in runs.summaries])
    chart = group_chart(runs.summaries, score=score) if 0 < len(table.rows) <= _MOST_CHARTED else None
    return Section(f"{score_title(score)} per group", table, chart)


def breakdowns_section(runs: PageRuns, score: str, *, alone: bool = True) -> Section:
    """Scores by the breakdown keys of the suite, including file and sheet of the dataset.

    Args:
        runs: those that have scores.
        score: the page's, which comes first and is not folded.
        alone: whether the page shows no other run, so that a terminal shows every breakdown.
    """
    single = len(runs) == 1 and alone
    keys = list(dict.fromkeys(key for summary in runs.summaries for key in summary.details.breakdowns))
    origins = set(origin_keys(keys))
    parts = []
    for key in keys:
        by_score = [summary.details.breakdowns.get(key, {}) for summary in runs.summaries]
        broken_down = dict.fromkeys(name for scores in by_score for name in scores)
        names = sorted(filter(runs.applies, broken_down), key=lambda name: name != score)
        by_name = []
        for name in names:
            table = _group_table(runs, name, key, [scores.get(name, ()) for scores in by_score])
            is_origin = key in origins and name == score
            by_name.append(
                Section(
                    f"{score_title(name)} by {key.replace('_', ' ')}",
                    table,
                    level="essential" if is_origin else "detail" if single else "page",
                    folded=name != names[0],
                )
            )
        parts.append(Section("", parts=by_name))
    return Section("Breakdowns", parts=parts, key="breakdowns")


def _group_table(runs: PageRuns, score: str, head: str, groups_of: Sequence[Sequence[ScoreSummary]]) -> SectionTable:
    """One score by groups, in order of first appearance: with all counts for one run, a column per run for several."""
    if len(runs) == 1:
        return _counts_table(head, groups_of[0], named=False)
    by_name = [{group.group: group for group in groups} for groups in groups_of]
    names = dict.fromkeys(name for groups in by_name for name in groups)
    rate = is_rate([group for groups in groups_of for group in groups])
    rows = []
    for name in names:
        scores = [groups.get(name) for groups in by_name]
        cells = (_NOTHING if score is None else _mean_cell(score, share=score.is_share, rate=rate) for score in scores)
        rows.append((TableCell(name), *cells))
    caption = f"{score_title(score)}: means with 95 % CI, and their n"
    return SectionTable(runs.columns(head), tuple(rows), caption)


def group_chart(summaries: Sequence[RunSummary], *, score: str = "") -> RowChart | None:
    """The headline mean of every group and run with its 95 % confidence interval; None without groups.

    Args:
        summaries: one per run, at least one; a group that a run lacks has no mark there.
        score: a score's name; "" is the primary score of the first run.
    """
    score = score or summaries[0].primary
    groups = list(
        dict.fromkeys(group_score.group for summary in summaries for group_score in summary.groups.get(score, ()))
    )
    if not groups:
        return None
    runs = PageRuns.of(summaries)
    share = runs.is_share(score)
    points, words = [], []
    for row, group in enumerate(groups):
        for series, summary in enumerate(summaries):
            group_score = summary.score(score, group)
            points.append(mean_point(row, series, group_score.headline if group_score else None, share=share))
            words.append(f"{group}, {summary.target}: {points[-1].text}")
    return RowChart(
        f"{score_title(score)} per group, 95 % CI",
        "; ".join(words),
        tuple(groups),
        tuple(points),
        series=runs.labels,
        domain=runs.domain(score),
    )


def verdict_chart(summaries: Sequence[RunSummary], score: str) -> RowChart:
    """The share of records that got each verdict of a score: a group of bars per verdict, a bar per run."""
    verdicts = verdict_names(summaries, score)
    shares = [[_verdict_share(summary, score, verdict) for summary in summaries] for verdict in verdicts]
    words = [_verdict_word(verdict) for verdict in verdicts]
    return _share_bars(f"{score_title(score)}: share of each verdict", words, shares, summaries)


def histogram_chart(summaries: Sequence[RunSummary], score: str) -> RowChart:
    """The share of the scored records that have each value: a group of bars per value, a bar per run."""
    labels = _bin_labels(summaries, score)
    shares = [
        [_bin_share(summary.details.spreads.get(score), at) for summary in summaries] for at in range(len(labels))
    ]
    chart = _share_bars(f"{score_title(score)}: share of each value", labels, shares, summaries)
    points = (replace(point, link=_bin_link(summaries[point.series], score, point.row)) for point in chart.points)
    return replace(chart, points=tuple(points))


def _share_bars(
    title: str, names: Sequence[str], shares: Sequence[Sequence[tuple[int, float]]], summaries: Sequence[RunSummary]
) -> RowChart:
    cells = [[(100 * share, f"{n:,} ({value_text(share, share=True)})") for n, share in row] for row in shares]
    return _grouped_bars(title, names, cells, summaries)


def score_chart(summaries: Sequence[RunSummary]) -> RowChart | None:
    """The mean of every score that is a share: a group of bars per score, a bar per run.

    None where fewer than two scores are shares of something in every run.
    """
    runs = PageRuns.of(summaries)
    scores = [name for name in runs.own_scores if runs.is_share(name) and runs.applies(name)]
    if len(scores) < 2:
        return None
    cells = []
    for name in scores:
        means = [score.headline.value if (score := summary.score(name)) else None for summary in summaries]
        cells.append([(None if mean is None else 100 * mean, value_text(mean, share=True)) for mean in means])
    return _grouped_bars("Scores by run", [score_title(name) for name in scores], cells, summaries)


def _grouped_bars(
    title: str,
    names: Sequence[str],
    cells: Sequence[Sequence[tuple[float | None, str]]],
    summaries: Sequence[RunSummary],
) -> RowChart:
    series = run_labels(summaries)
    points = [
        ChartPoint(row, at, value, text)
        for row, row_cells in enumerate(cells)
        for at, (value, text) in enumerate(row_cells)
    ]
    words = "; ".join(f"{names[point.row]}, {series[point.series]}: {point.text or MISSING}" for point in points)
    return RowChart(title, words, tuple(names), tuple(points), "bars", series, (0, 100))
