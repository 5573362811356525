"""The section of a comparison: per pair of runs the differences behind its conclusion, further scores and costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from steelyard.analysis.comparison.comparison_values import (
    CLAIMS,
    Comparison,
    PairComparison,
    PairedDifference,
    RunPair,
)
from steelyard.analysis.comparison.costs import CostDifference
from steelyard.analysis.comparison.differences import all_pairs_note
from steelyard.analysis.comparison.settings import short_digests, without_digests
from steelyard.analysis.numbers import (
    MISSING,
    interval_text,
    level_text,
    p_text,
    score_phrase,
    score_title,
    signed_text,
    value_text,
)
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.errors import some_of
from steelyard.report.charts.chart import RowChart, interval_point
from steelyard.report.page_runs import run_labels
from steelyard.report.run_texts import one_line, outcome_word, value_cell
from steelyard.report.section import (
    Level,
    LinkedOutcome,
    SampleLink,
    Section,
    SectionTable,
    Sentence,
    TableCell,
    TableColumn,
    columns_of,
    sentences,
    text_row,
)
from steelyard.report.sections.regressions import gives_verdicts
from steelyard.store import Run

_MOST_IN_FULL: Final = 3
"""More pairs have a line each, and only pages show them in full: twelve targets still fit a screen."""
_TIMES: Final = frozenset({"latency", "seconds", "ttft"})
_COSTS: Final = {
    "latency": "latency",
    "seconds": "wall time",
    "ttft": "first token",
    "calls": "calls",
    "input_tokens": "tokens in",
    "output_tokens": "tokens out",
}
_MOST_MARKED: Final = 2_000
"""Most letters of a word diff; a page contains the rest in JSON."""
_LARGE: Final = 100
"""From this value on a count needs no decimals."""


def comparison_section(comparison: Comparison | None, runs: Sequence[Run], labels: Sequence[str] = ()) -> Section:
    """Every pair of a comparison; empty without one.

    Args:
        comparison: of some runs with the first of them.
        runs: these and perhaps others; () does not know whether the score decides what is right or wrong.
        labels: what the page calls the compared runs, the baseline first; by default as `run_labels` says.
    """
    if comparison is None:
        return Section("Comparison", key="comparison")
    names = tuple(labels) or run_labels((comparison.baseline, *comparison.others))
    many = len(comparison.pairs) > _MOST_IN_FULL
    timed = any(summary.calls.asks_itself for summary in (comparison.baseline, *comparison.others))
    pairs = [
        _pair(pair, runs, f"{name} against {names[0]}", level="page" if many else "detail", timed=timed)
        for name, pair in zip(names[1:], comparison.pairs, strict=True)
    ]
    return Section(
        "Comparison",
        key="comparison",
        parts=[
            _many_pairs(comparison) if many else Section("", chart=difference_chart(comparison)),
            _all_pairs(comparison),
            *pairs,
            Section("", notes=sentences((*comparison.score_notes, *comparison.group_notes)), level="detail"),
        ],
    )


def _many_pairs(comparison: Comparison) -> Section:
    """A line per pair."""
    corrected = any(pair.headline.p_adjusted is not None for pair in comparison.pairs)
    rows = tuple(_pair_row(pair.other_target, pair, str(pair.overlap.n_paired)) for pair in comparison.pairs)
    table = SectionTable(_pair_columns("target", comparison, corrected=corrected), rows)
    return Section(f"Against {comparison.baseline.target}", table, difference_chart(comparison))


def _all_pairs(comparison: Comparison) -> Section:
    """A line for every two of the runs; empty where only the first was compared with the others."""
    if not comparison.all_pairs:
        return Section("")
    summaries = (comparison.baseline, *comparison.others)
    names = {summary.run: label for summary, label in zip(summaries, run_labels(summaries), strict=True)}
    columns = _pair_columns("pair", comparison, corrected=len(comparison.all_pairs) > 1)
    rows = tuple(
        _pair_row(f"{names[pair.other]} against {names[pair.baseline]}", pair, f"{pair.headline.n:,}")
        for pair in comparison.all_pairs
    )
    caption = f"{score_title(comparison.score)}: every two of the runs over the samples that both have"
    corrected = len(comparison.all_pairs) > len(comparison.pairs)
    baseline = comparison.baseline.target
    which = f"Against {baseline} the verdicts above decide: their p is corrected for fewer pairs." if corrected else ""
    notes = (*sentences([all_pairs_note(comparison.all_pairs)], "conclusion"), *sentences([which]))
    return Section("All pairs", SectionTable(columns, rows, caption), notes=notes)


def _pair_columns(head: str, comparison: Comparison, *, corrected: bool) -> tuple[TableColumn, ...]:
    interval = f"{level_text(comparison.pairs[0].level)} CI"
    return columns_of(head, "difference", interval, "p (Holm)" if corrected else "p", "pairs", "verdict")


def _pair_row(name: str, pair: RunPair, n: str) -> tuple[TableCell, ...]:
    """Difference, interval, the p-value that decides the verdict, and the verdict; of a share in points."""
    difference, figures = pair.headline, (MISSING, "", "")
    if difference.difference is not None:
        size = signed_text(difference.difference, share=difference.unit)
        figures = (size, _limits(difference), p_text(difference.decisive_p))
    return text_row(name, *figures, n, pair.conclusion.claim)


def _limits(difference: PairedDifference) -> str:
    return interval_text(difference.interval, share=difference.unit, sign=True) or MISSING


def _pair(pair: PairComparison, runs: Sequence[Run], title: str, *, level: Level, timed: bool) -> Section:
    """Everything behind the sentence of one pair; times only where a model, or code of the user's, was called."""
    by = pair.overlap.aligned
    aligned = "" if by == "id" else f"Samples are paired by their {by}."
    return Section(
        title,
        notes=sentences([aligned]),
        parts=[
            settings_section(pair),
            _contingency(pair, runs),
            _differences(pair),
            _unpaired(pair),
            _other_scores(pair),
            _turns(pair),
            *([_costs(pair)] if timed or any(cost.measure != "seconds" for cost in pair.further.costs) else []),
        ],
        level=level,
    )


def settings_section(pair: PairComparison) -> Section:
    """A line for each setting in which the runs differ; for prompts, the changed words."""
    notes = [
        Sentence(
            one_line(setting.marked or short_digests(f"{setting.before} → {setting.after}"), _MOST_MARKED),
            "fact",
            setting.key,
            changes=setting.excerpt,
        )
        for setting in without_digests(pair.settings)
    ]
    return Section("What differs between the runs" if notes else "", notes=notes)


def _contingency(pair: PairComparison, runs: Sequence[Run]) -> Section:
    """Samples by what changed between the runs; empty for a score that is not 0 or 1."""
    cells = pair.headline.table
    if cells is None:
        return Section("")
    unanswered = pair.unanswered
    has_verdicts = any(gives_verdicts(run, pair.score) for run in runs if run.id in {pair.baseline, pair.other})
    worse, better = (
        ("right before, wrong now", "wrong before, right now") if has_verdicts else ("a worse value", "a better value")
    )
    rows = [
        _outcome_row(pair, "regression", cells.regressed, worse),
        _outcome_row(pair, "improvement", cells.improved, better),
    ]
    if has_verdicts:
        rows.append(_outcome_row(pair, "both right", cells.both_right, "no difference"))
        rows.append(_outcome_row(pair, "both wrong", cells.both_wrong, "no difference"))
    else:
        rows.append(text_row("unchanged", f"{cells.both_right + cells.both_wrong:,}", "no difference"))
    columns = columns_of("change", "samples", "meaning")
    counts = {
        "regressions": unanswered.regressed,
        "improvements": unanswered.improved,
        "both wrong": unanswered.both_wrong,
    }
    named = ", ".join(f"{name} {count:,}" for name, count in counts.items() if count)
    notes = sentences([f"of these unreadable or refused: {named}" if named else ""])
    return Section("", SectionTable(columns, tuple(rows), layout="tiles"), notes=notes)


def _outcome_row(pair: PairComparison, outcome: LinkedOutcome, n: int, meaning: str) -> tuple[TableCell, ...]:
    """A tile: how many samples had an outcome, with a link to them."""
    name = f"{outcome}s" if outcome in {"regression", "improvement"} else outcome
    link = SampleLink(pair.other, outcome, pair.baseline) if n else None
    return TableCell(name), TableCell(f"{n:,}", link=link), TableCell(meaning)


def _differences(pair: PairComparison) -> Section:
    """The difference over all pairs, over those that both answered, and by group; empty without a pair."""
    if not pair.headline.n:
        return Section("")
    difference, answered_by_both = pair.headline, pair.further.answered_both
    conversations = pair.further.by_conversation
    name = "all pairs" if conversations is None else "all turns (decides)"
    rows = [_difference_row(name, difference, strong=True)]
    if conversations is not None:
        rows.append(_difference_row("means of conversations", conversations))
    if answered_by_both.n not in {0, (conversations or difference).n}:
        rows.append(_difference_row("answered by both", answered_by_both))
    rows += [_difference_row(group.group, group) for group in pair.further.groups]
    size = "points" if difference.unit else "difference"
    columns = columns_of("pairs", "baseline", "other", size, f"{level_text(pair.level)} CI", "p", "n")
    caption = f"{score_title(pair.score)} over the samples of both runs"
    table = SectionTable(columns, tuple(rows), caption)
    return Section("", table)


_LACKING: Final = {"absent": "no such sample", "no_score": "no such score", "changed": "other content"}
"""What a run has for a sample without an outcome, in words."""
_MOST_UNPAIRED: Final = 10
"""Samples without a pair that a page names for each reason; the others are counted, and in JSON."""


def _unpaired(pair: PairComparison) -> Section:
    """Why samples make no pair: what each run has for them, with the ids of the first ones."""
    rows = tuple(
        text_row(
            *(_LACKING.get(state) or outcome_word(state) for state in (part.baseline, part.other)),
            f"{part.n:,}",
            some_of(part.samples, _MOST_UNPAIRED),
        )
        for part in pair.overlap.unpaired
    )
    columns = columns_of("baseline", TableColumn("other", "text"), "samples", TableColumn("which", "remark"))
    title = "Samples without a pair, by what each run has" if rows else ""
    is_cut = any(part.n > _MOST_UNPAIRED for part in pair.overlap.unpaired)
    return Section(title, SectionTable(columns, rows), notes=sentences(["compare --json names all." if is_cut else ""]))


def _difference_row(name: str, difference: PairedDifference, *, strong: bool = False) -> tuple[TableCell, ...]:
    share = difference.unit
    p, corrected = p_text(difference.p), p_text(difference.decisive_p)
    return (
        TableCell(name),
        value_cell(difference.baseline, share=share),
        value_cell(difference.other, share=share),
        TableCell(signed_text(difference.difference, share=share), strong=strong, value=difference.difference),
        TableCell(_limits(difference)),
        TableCell(p, value=difference.p)
        if p == corrected
        else TableCell(f"{corrected} after correction", (f"{p} before",), value=difference.p),
        TableCell(f"{difference.n:,}"),
    )


def _other_scores(pair: PairComparison) -> Section:
    """The further scores; the number of pairs is essential where it is not the headline's, else the changes are."""
    compared = [other for other in pair.further.scores if other.difference.n]
    scores = [other for other in compared if not _is_zero(other.difference)]
    others = any(other.difference.n != pair.overlap.n_paired for other in scores)
    changed = any(other.difference.improved is not None for other in scores)
    columns = (
        *_score_columns(pair),
        TableColumn("better", count=True, level="essential" if changed and not others else "detail"),
        TableColumn("worse", count=True, level="essential" if changed and not others else "detail"),
        TableColumn("n", level="essential" if others else "detail"),
    )
    rows = tuple(_other_score_row(other.score, other.difference) for other in scores)
    zeros = ", ".join(score_phrase(other.score) for other in compared if _is_zero(other.difference))
    empty = ", ".join(score_phrase(other.score) for other in pair.further.scores if not other.difference.n)
    alone = [
        f"{n:,} of {score_phrase(other.score)} in {target}"
        for other in compared
        for n, target in zip(other.alone, (pair.baseline_target, pair.other_target), strict=True)
        if n
    ]
    without = [
        f"samples left out, with a value in one run alone: {', '.join(alone)}" if alone else "",
        f"mean 0 in both runs: {zeros}" if zeros else "",
        f"no sample with a value in both runs: {empty}" if empty else "",
    ]
    table = SectionTable(columns, rows, "Other scores over the samples of both runs")
    return Section("Other scores", table, notes=sentences(without))


def _score_columns(pair: PairComparison) -> tuple[TableColumn, ...]:
    return columns_of("score", "baseline", "other", "difference", f"{level_text(pair.level)} CI", "p")


def _is_zero(difference: PairedDifference) -> bool:
    """Whether both means are 0 and no sample changed: such scores are named in a note instead of a row of zeros."""
    return difference.baseline == 0 == difference.other and not (difference.improved or difference.regressed)


def _turns(pair: PairComparison) -> Section:
    """The scores of single turns over the conversations of both runs."""
    compared = [turn for turn in pair.further.turns if turn.difference.n]
    columns = (*_score_columns(pair), TableColumn("verdict", "text"), TableColumn("n"))
    rows = tuple(
        (
            *_other_score_row(turn.score, turn.difference)[:6],
            *text_row(CLAIMS[turn.verdict], f"{turn.difference.n:,}"),
        )
        for turn in compared
    )
    caption = "Means over all turns of the n conversations that both runs have; intervals and tests by conversation"
    corrected = dict.fromkeys(
        turn.difference.methods.adjustment for turn in compared if turn.difference.methods.adjustment
    )
    left_out = max((sum(turn.alone) for turn in compared), default=0)
    notes = [
        *([f"p is corrected: {', '.join(corrected)}."] if corrected else []),
        *([f"Conversations left out, with a scored turn in one run alone: {left_out:,}."] if left_out else []),
    ]
    return Section("Turns of conversations", SectionTable(columns, rows, caption), notes=(*sentences(notes),))


def _other_score_row(name: str, difference: PairedDifference) -> tuple[TableCell, ...]:
    share = difference.unit
    return text_row(
        score_title(name),
        value_text(difference.baseline, share=share),
        value_text(difference.other, share=share),
        signed_text(difference.difference, share=share),
        _limits(difference),
        p_text(difference.decisive_p),
        *(MISSING if n is None else f"{n:,}" for n in (difference.improved, difference.regressed)),
        f"{difference.n:,}",
    )


def _costs(pair: PairComparison) -> Section:
    """Latency, calls and tokens per sample of both runs."""
    columns = columns_of("", "baseline", "other", "difference", f"{level_text(pair.level)} CI", "n")
    rows = tuple(
        text_row(
            cost_name(cost),
            _amount(cost.baseline, cost),
            _amount(cost.other, cost),
            _signed(cost.difference, cost),
            " to ".join(_signed(end, cost) for end in cost.interval or ()) or MISSING,
            f"{cost.n:,}",
        )
        for cost in pair.further.costs
    )
    table = SectionTable(columns, rows, "Time, calls and tokens of the targets per sample, over the same samples")
    return Section("Costs per sample", table, notes=sentences(_cost_notes(pair), level="page"))


def _cost_notes(pair: PairComparison) -> Iterator[str]:
    measures = {cost.measure for cost in pair.further.costs}
    if "latency" in measures:
        yield "Latency is that of the answered calls of the target, without queueing and retries."
    if "seconds" in measures:
        yield "Wall time is that of the whole record, queueing, retries and scorers included."
    if any(cost.estimated for cost in pair.further.costs):
        yield "Some tokens were not counted by the endpoint, so they are estimated."
    if pair.further.costs and pair.further.costs[0].n < pair.overlap.n_paired:
        yield f"Costs are of {pair.further.costs[0].n:,} samples, drawn by seed."


def cost_name(cost: CostDifference) -> str:
    """The name of a figure: `latency p50`, `tokens in`.

    >>> cost_name(CostDifference("latency", "p95", 3, 1.0, 2.0, 1.0, None))
    'latency p95'
    """
    name = _COSTS.get(cost.measure, cost.measure)
    return name if cost.statistic == "mean" else f"{name} {cost.statistic}"


def signed_cost(cost: CostDifference) -> str:
    """A cost that changed, as short as it may be.

    >>> signed_cost(CostDifference("input_tokens", "mean", 3, 95.0, 40.0, -55.0, None))
    'tokens in 95 to 40'
    """
    if cost.measure in _TIMES:
        return f"{cost_name(cost)} {_signed(cost.difference, cost)}"
    return f"{cost_name(cost)} {cost.baseline:.3g} to {cost.other:.3g}"


def _amount(value: float, cost: CostDifference) -> str:
    """Seconds with their unit, counts as short as they may be.

    >>> _amount(0.0312, CostDifference("latency", "p50", 3, 0.0312, 0.0, 0.0, None))
    '31 ms'
    """
    if cost.measure in _TIMES:
        return f"{1000 * value:.0f} ms" if abs(value) < 1 else f"{value:.2f} s"
    return f"{value:,.0f}" if abs(value) >= _LARGE else f"{value:.2f}"


def _signed(value: float, cost: CostDifference) -> str:
    text = _amount(value, cost)
    return text if value <= 0 or not any(letter in "123456789" for letter in text) else f"+{text}"


def difference_chart(comparison: Comparison) -> RowChart:
    """Every run's paired difference to the baseline with its interval; an undecided one has a hollow mark.

    Args:
        comparison: one pair at least.
    """
    names = run_labels((comparison.baseline, *comparison.others))
    share = all(pair.headline.unit for pair in comparison.pairs)
    points, words = [], []
    for row, (name, pair) in enumerate(zip(names[1:], comparison.pairs, strict=True)):
        difference, interval = pair.headline, pair.headline.interval
        text = signed_text(difference.difference, share=share)
        decided, factor = pair.verdict in {"better", "worse"}, 100 if share else 1
        figure = (difference.difference, interval)
        points.append(interval_point(row, row + 1, figure, text, factor=factor, decided=decided))
        words.append(f"{name}: {text} ({interval_text(interval, share=share)})")
    unit = "points" if share else score_phrase(comparison.score)
    ends = [abs(end) for point in points for end in (point.value, point.low, point.high) if end is not None]
    # Zero is in the middle, with space beside the longest interval.
    most = 1.1 * max([5.0 if share else 0.1, *ends])
    return RowChart(
        f"Difference in {unit} to {names[0]}",
        "; ".join(words),
        tuple(names[1:]),
        tuple(points),
        domain=(-most, most),
        lines=((0, ""),),
    )


_METHODS: Final = {
    "Newcombe": "interval for the difference of two rates over the same samples, made from the interval of each rate",
    "paired percentile bootstrap": "interval from the differences of samples that are drawn again and again",
    "t interval": "interval of a mean, from the spread of the samples' values or of their differences",
    "Clopper-Pearson interval": "interval of a rate that holds the true one in at least 95 % of cases",
    "Clopper-Pearson limit": "how many samples could change although none of these did",
    "confidence sequence": "interval that holds however often one looks, and whenever one stops",
    "exact McNemar": "of the samples that only one run got right, how unlikely so uneven a split is by chance",
    "sign-flip permutation": "how often so large a mean arises where each sample's difference has a random sign",
    "paired t": "how unlikely so large a mean difference is, compared with the spread of the samples' differences",
    "betting test": "evidence that may be looked at after every sample",
    "Holm": 'p-values of several comparisons, raised: any false "better" or "worse" has a chance of 5 % at most',
    "Benjamini-Hochberg": "p-values of groups or scores, raised: of all called better or worse, 5 % at most are false",
    "Wilson interval": "interval of a rate: of intervals made like this one, 95 % hold the true rate",
    "effective-n": "interval that counts fewer samples than records, as records of one cluster repeat each other",
    "score interval with ties": "interval of a win rate, in which a tie is half a win",
}
"""How the name of a method begins -> what it does."""


def methods_section(summaries: Iterable[RunSummary], comparison: Comparison | None = None) -> Section:
    """The intervals of a page's scores, and the interval, test and corrections of its differences."""
    scores = [score for summary in summaries for score in summary.scores if score.headline.interval]
    of_scores = (score.note.partition(" over ")[0].partition(",")[0] or "Wilson interval" for score in scores)
    names = dict.fromkeys([*of_scores, *(_names(comparison) if comparison else ())])
    told = [
        Sentence(text, "fact", name) for name in names for start, text in _METHODS.items() if name.startswith(start)
    ]
    return Section("How this is computed", notes=told, key="methods", level="page", folded=True)


def _names(comparison: Comparison) -> Iterator[str]:
    """The names of methods, as the differences hold them."""
    for pair in comparison.pairs:
        further = (*pair.further.groups, *(other.difference for other in pair.further.scores))
        for difference in (pair.headline, *further):
            interval, test, adjustment = difference.methods
            yield from (interval, test, adjustment.partition(" over ")[0])
