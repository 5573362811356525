"""The result of runs on a terminal in at most 15 lines: rates, then the verdict, before any detail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Final

from rich.console import Console
from rich.text import Text

from steelyard.analysis.comparison.comparison_values import Comparison, PairComparison, PairedDifference
from steelyard.analysis.comparison.comparison_wording import needed_text
from steelyard.analysis.comparison.differences import all_pairs_note, excludes_zero
from steelyard.analysis.comparison.settings import without_digests
from steelyard.analysis.judging_manifest import is_judging
from steelyard.analysis.model_calls import cut_sentences
from steelyard.analysis.numbers import (
    count_text,
    duration_text,
    figure_text,
    level_text,
    p_equals,
    score_phrase,
    score_title,
    value_text,
)
from steelyard.analysis.preferences.preferences_wording import shared_notes
from steelyard.analysis.scores.score_summary_values import ScoreSummary
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.report.page import ReportContent
from steelyard.report.page_runs import PageRuns
from steelyard.report.render.terminal import aligned, lines_of_text, print_sections, say
from steelyard.report.run_texts import SAME_QUESTION, applies, one_line, passed_count
from steelyard.report.section import Section, Sentence, Tone, sentences
from steelyard.report.sections.changed_scores import labels_section
from steelyard.report.sections.comparison import signed_cost
from steelyard.report.sections.conclusion import own_decisions, preference_figures
from steelyard.report.sections.costs import cached_sentence, saved_calls
from steelyard.report.sections.gate import gate_section
from steelyard.report.sections.grid import grid_section
from steelyard.report.sections.preferences import length_text
from steelyard.report.sections.regressions import changed_samples
from steelyard.report.sections.targets import alarms_section
from steelyard.stats.intervals import Interval
from steelyard.store.reading.pages import repeats_of

_MOST_LINES: Final = 15
_MOST_ROWS: Final = 8
_MOST_APART: Final = 3
"""Differences that get a line each; more of them stand behind the rates."""
_WHOLE_BELOW: Final = 100
"""A rate of fewer samples is shown in whole percent: its first decimal says nothing."""
_MOST_PREFERENCES: Final = 3
_LABEL_WIDTH: Final = 10
_LONGEST_NAME: Final = 30
"""Characters of a target's name in a note."""
_MARKS: Final[dict[str, tuple[str, Tone]]] = {"better": ("✓", "good"), "worse": ("✗", "bad")}
_UNDECIDED: Final[tuple[str, Tone]] = ("?", "unclear")
_COSTS: Final = {("latency", "p50"), ("calls", "mean"), ("input_tokens", "mean"), ("output_tokens", "mean")}


def print_short_result(to: Console, content: ReportContent, steps: Sequence[str], *, compared: bool) -> None:
    """Print rates, verdicts, what a reader must know, and commands to copy; lines that do not fit are counted.

    Args:
        to: the console.
        content: the runs with their comparison and gate.
        steps: what to do next, a line each.
        compared: whether two runs are compared by name, so that it is said what changed and what differs.
    """
    with to.capture() as captured:
        say(to, " · ".join(_title(content, compared=compared)))
        for part in _parts(content, to.width, compared=compared):
            print_sections(to, [part]) if isinstance(part, Section) else say(to, part.text, _STYLES[part.tone])
    lines = captured.get().rstrip().split("\n")
    room = _MOST_LINES - len(steps)
    more = [f"and {len(lines) - room + 1} more lines: --full"] if len(lines) > room else []
    for line in lines[: room - len(more)]:
        to.print(Text.from_ansi(line), soft_wrap=True)
    for line in (*more, *steps):
        say(to, line)


_STYLES: Final[dict[Tone, str]] = {"": "", "good": "green", "bad": "red", "unclear": "yellow"}


def _title(content: ReportContent, *, compared: bool) -> Iterator[str]:
    summaries = content.summaries
    score = score_phrase(content.score) if content.score else ""
    n = max(-(-summary.counts.done // repeats_of(run)) for run, summary in zip(content.runs, summaries, strict=True))
    if content.comparison and compared:
        n = max((pair.overlap.n_paired for pair in content.comparison.pairs), default=n)
    samples = count_text(n, "question" if content.score == "solve_rate" else "sample")
    if compared:
        others = content.labels[1] if len(content.labels) == 2 else f"{len(content.labels) - 1} runs"
        yield from (f"{others} against {content.labels[0]}", samples, score)
        return
    config = content.runs[0].manifest.get("config") or {}
    yield PurePath(config["path"]).name if config.get("path") else content.title
    yield samples
    if score:
        yield score
    yield count_text(sum(not is_judging(run.manifest) for run in content.runs) or len(content.runs), "target")
    yield duration_text(sum(summary.counts.seconds for summary in summaries))
    if not any(summary.calls.asks_itself for summary in summaries):
        cached = sum(summary.counts.from_journal for summary in summaries)
        yield count_text(sum(run.replies for run in content.runs) - cached, "call")


def _parts(content: ReportContent, width: int, *, compared: bool) -> Iterator[Section | Sentence]:
    """Rates, verdicts, warnings, the gate, and details of two runs that are compared."""
    comparison = content.comparison
    grid = comparison.shown_grid if comparison else None
    runs = content.compared if compared else content.scored
    if grid is None:
        yield from map(Sentence, _rows(runs, content.score, comparison, width, compared=compared))
    else:
        yield grid_section(grid)
    if comparison and grid is None and len(comparison.pairs) <= _MOST_APART:
        for pair, name in zip(comparison.pairs, runs.labels[1:], strict=True):
            yield from _verdict(pair, name if len(comparison.pairs) > 1 else "", other=name)
    yield from _cut_inputs(content)
    if comparison and comparison.all_pairs:
        yield Sentence(all_pairs_note(comparison.all_pairs))
    yield from _preferences(content) if not compared else ()
    groups = comparison.only_groups if comparison else ()
    yield from sentences([f"Only samples of {' and '.join(groups)}." if groups else ""])
    yield labels_section(content.all_runs)
    yield from sentences(own_decisions(runs.summaries, comparison))
    yield alarms_section(content.summaries, content.score, comparison)
    yield gate_section(content.gate)
    if comparison:
        warnings = dict.fromkeys(warning for pair in comparison.pairs for warning in pair.warnings)
        yield from (Sentence(f"note: {warning}") for warning in warnings)
    replies = [run.replies for run in content.runs]
    yield from sentences([saved_calls(content.summaries), cached_sentence(content.summaries, replies)])
    if comparison and compared and len(comparison.pairs) == 1:
        yield from map(Sentence, _details(content, comparison.pairs[0], width))


def _rows(runs: PageRuns, score: str, comparison: Comparison | None, width: int, *, compared: bool) -> Iterator[str]:
    """A line per run: how many of how many, the rate, its interval, replies that could not be read, errors."""
    many = comparison is not None and len(comparison.pairs) > _MOST_APART
    pairs = {pair.other: pair for pair in comparison.pairs} if comparison and many else {}
    rows = []
    for name, summary in runs:
        mark, _ = _MARKS.get(pairs[summary.run].verdict, _UNDECIDED) if summary.run in pairs else ("", "")
        figures = _figures(summary.rate(score), summary, with_interval=not compared)
        figures = [figures[1], figures[0], *figures[2:]] if compared else figures
        difference = _size(pairs[summary.run]) if summary.run in pairs else ""
        rows.append([f" {mark}" if many else "", name, *figures[:-1], difference, figures[-1]])
    if not rows:
        return
    shown = rows[:_MOST_ROWS]
    columns = [at for at in range(len(rows[0])) if at == 1 or any(row[at] for row in shown)]
    cells = [[row[at] for at in columns] for row in shown]
    numbers = [position for position, at in enumerate(columns) if at in {2, 3}]
    lines = aligned(cells, width - 2, right=numbers, elastic=columns.index(1))
    yield from (line if many else f"  {line}" for line in lines)
    if len(rows) > len(shown):
        yield f"  and {len(rows) - len(shown)} more: --full"
    if len(runs) == 1:
        yield from _labelled("also", _also(runs.summaries[0]), width)


def _figures(score: ScoreSummary | None, summary: RunSummary, *, with_interval: bool) -> list[str]:
    """Count, mean, interval, and what has no value."""
    counts = {"errors": summary.counts.errors}
    if score is None or score.headline.value is None:
        return ["", "nothing was scored", "", _counted(counts)]
    passed, mean = passed_count(score), score.headline
    counts = {
        "unreadable": score.unparsed,
        "refused": score.refused,
        "not applicable": score.not_applicable,
        **counts,
    }
    interval = f"({_limits(mean.interval, score.is_share, mean.n)})" if mean.interval and with_interval else ""
    value = _figure(mean.value or 0.0, score.is_share, mean.n) + (" %" if score.is_share else "")
    return [f"{mean.n:,}" if passed is None else f"{passed:,}/{mean.n:,}", value, interval, _counted(counts)]


def _counted(counts: dict[str, int]) -> str:
    """The counts that are not 0."""
    return ", ".join(
        count_text(n, name[:-1]) if name == "errors" else f"{n:,} {name}" for name, n in counts.items() if n
    )


def _also(summary: RunSummary) -> str:
    """The further scores of a run that is shown alone; "" where it has none.

    Unreadable and refused replies are counted where they are not those of the headline, which stand in the line above.
    """
    primary = summary.score()
    further = [score for score in summary.own_scores if score.name != summary.primary and applies(score)]
    known = _without_verdict(primary) if primary else ""
    return " · ".join(
        f"{score_title(score.name)} {value_text(score.headline.value, share=score.is_share)}"
        f"{f' ({missing})' if (missing := _without_verdict(score)) not in {'', known} else ''}"
        for score in further
        if score.name not in SAME_QUESTION or primary is None or score.headline.value != primary.headline.value
    )


def _without_verdict(score: ScoreSummary) -> str:
    return _counted({"unreadable": score.unparsed, "refused": score.refused})


def _labelled(label: str, text: str, width: int) -> Iterator[str]:
    """A text of at most two lines behind its label; nothing where it is empty."""
    room = width - _LABEL_WIDTH
    for at, line in enumerate(lines_of_text(one_line(text, 2 * room - 10), room) if text else ()):
        yield f"{'' if at else label:{_LABEL_WIDTH}}{line.lstrip()}"


def _verdict(pair: PairComparison, named: str, *, other: str) -> Iterator[Sentence]:
    """The verdict on one difference; a line below it says what leaves it open, or what a single pair could find."""
    difference, missing = pair.headline, pair.headline.missing
    mark, tone = _MARKS.get(pair.verdict, _UNDECIDED)
    if difference.difference is None or difference.stopped is not None:
        yield Sentence(f"{mark} {pair.conclusion.sentence}", tone=tone)
        return
    undecided = f"{named}: {pair.conclusion.claim}, " if named else f"{pair.conclusion.claim.capitalize()}: "
    claim = undecided if tone == "unclear" else f"{other} is {pair.conclusion.claim}: "
    is_borderline = pair.verdict == "no_evidence" and difference.interval and excludes_zero(difference.interval)
    facts = [
        f"{level_text(pair.level)} CI {_limits(difference.interval, difference.unit, difference.n, sign=True)}"
        if difference.interval
        else "",
        p_equals(difference.decisive_p),
        "borderline" if is_borderline else "",
        "lower is better" if difference.lower_is_better else "",
    ]
    yield Sentence(f"{mark} {claim}{_size(pair)} ({', '.join(filter(None, facts))})", tone=tone)
    if pair.verdict == "inconclusive" and missing is not None:
        bounds = _limits(missing.bounds, difference.unit, difference.n, sign=True)
        limits = f" from {bounds}{' points' if difference.unit else ''}" if bounds else ""
        yield Sentence(f"  {count_text(missing.n, 'reply')} without a verdict could move it to anything{limits}.")
    if pair.verdict == "no_evidence" and not named and difference.detectable is not None:
        yield Sentence(f"  {_could_be_found(difference, difference.detectable)}")


def _could_be_found(difference: PairedDifference, detectable: float) -> str:
    """What a set like this finds, and how large a set the difference that was seen needs, in one line."""
    points = " points" if difference.unit else ""
    found = f"{_figure(detectable, difference.unit, difference.n)}{points}"
    seen = f"{_figure(abs(difference.difference or 0.0), difference.unit, difference.n)}{points}"
    # Of few samples whole points are shown, and how many samples settle 0 points says nothing.
    needed = "" if seen.startswith("0 ") else needed_text(difference)
    needs = f"; {seen} need {needed}" if needed else ""
    return f"{count_text(difference.n, 'sample')} find {found} in 80 % of cases{needs}."


def _cut_inputs(content: ReportContent) -> Iterator[Sentence]:
    """What an endpoint cut in the first run that has such calls, and how many more runs have some."""
    found = [(summary, cut) for summary in content.summaries if (cut := cut_sentences(summary.calls.endpoints))]
    for summary, cut in found[:1]:
        more = f". So too in {count_text(len(found) - 1, 'other run')}: --full" if len(found) > 1 else ""
        yield Sentence(f"note: {one_line(summary.target, _LONGEST_NAME)}: {'; '.join(cut)}{more}.", tone="unclear")


def _preferences(content: ReportContent) -> Iterator[Section | Sentence]:
    """Which of two targets is preferred: of few pairs in full, of many a line each below the ranking."""
    preferred, standings = content.pairwise.preferences, content.pairwise.standings
    if len(preferred) <= _MOST_PREFERENCES:
        for pair, figure in zip(preferred, preference_figures(preferred), strict=True):
            yield Section("", figures=(figure,))
            yield from sentences([length_text(pair)])
        return
    for line in [standings.sentence] if standings else []:
        yield Sentence(line)
    for figure in preference_figures(preferred)[:_MOST_ROWS]:
        yield Sentence(f"  {figure.name.partition(':')[0]}: {figure.words}, {figure.figure}")
    yield from (Sentence(f"note: {note}") for note in shared_notes(preferred))


def _details(content: ReportContent, pair: PairComparison, width: int) -> Iterator[str]:
    """What changed, which settings differ, what it costs, and the first samples that became worse."""
    table = pair.headline.table
    if table is not None:
        counts = {"better": table.improved, "worse": table.regressed, "both right": table.both_right}
        counts["both wrong"] = table.both_wrong
        yield from _labelled("changed", " · ".join(f"{n:,} {name}" for name, n in counts.items()), width)
    yield from _labelled("differs", "; ".join(setting.short for setting in without_digests(pair.settings)), width)
    costs = [cost for cost in pair.further.costs if (cost.measure, cost.statistic) in _COSTS and cost.difference]
    yield from _labelled("cost", " · ".join(map(signed_cost, costs)), width)
    worse = [changed for changed in changed_samples(content.runs, pair, most=4) if changed.change == "regression"][:2]
    if table is not None and worse:
        more = len(pair.changed.regressions) - len(worse)
        named = [
            f"{one_line(changed.sample, 16)} ✓ {one_line(changed.before, 12)} to ✗ {one_line(changed.after, 12)}"
            for changed in worse
        ]
        yield from _labelled("worse", " · ".join([*named, *([f"+{more}"] if more else [])]), width)


def _size(pair: PairComparison) -> str:
    """A difference with its sign and unit."""
    difference = pair.headline
    if difference.difference is None:
        return "not comparable"
    size = _figure(difference.difference, difference.unit, difference.n, sign=True)
    return f"{size}{' points' if difference.unit else ''}"


def _limits(interval: Interval | None, share: bool, n: int, *, sign: bool = False) -> str:  # noqa: FBT001  # with n
    return " to ".join(_figure(end, share, n, sign=sign) for end in interval or ())


def _figure(value: float, share: bool, n: int, *, sign: bool = False) -> str:  # noqa: FBT001  # with n
    """A value over n samples, without its unit."""
    if not share or n >= _WHOLE_BELOW:
        return figure_text(value, share=share, sign=sign)
    text = f"{100 * value:+.0f}"
    return text if float(text) and (sign or text[0] == "-") else text[1:]
