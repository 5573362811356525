"""A report in Markdown, sized for a comment on a pull request: what may be concluded, then the rest.

Below 60 lines and 6,000 characters whatever comes in: parts that do not fit are left out from the end, and it says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from steelyard.compare import Comparison
from steelyard.gate import GateVerdict
from steelyard.report.compared import compared_markdown
from steelyard.report.endings import own_decisions, saved_calls
from steelyard.report.exam_markdown import exam_parts
from steelyard.report.flips import Flip, flips_of
from steelyard.report.judged import by_key, stage_rows
from steelyard.report.layout import distinct
from steelyard.report.numbers import (
    MISSING,
    counted,
    doubt_text,
    failed_elsewhere,
    headline,
    is_share,
    left_out_text,
    mean_text,
    run_labels,
    score_title,
    unfinished,
    value_text,
)
from steelyard.report.pivots import Pivot, cross_pivots, label_pivots, score_pivot, spread_pivots
from steelyard.report.preference_markdown import preference_parts
from steelyard.report.preferences import NO_PAIRS, Pairwise, has_scores
from steelyard.report.stored import StoredRun
from steelyard.summary import RunSummary, ScoreSummary
from steelyard.text.inert import markdown_cell

MOST_LINES: Final = 58
MOST_CHARACTERS: Final = 5900
_FLIPS: Final = 10
_TARGETS: Final = 10
_GROUPS: Final = 12
_COLUMNS: Final = 4
_SENTENCES: Final = 5
_FOLD_FROM: Final = 7
"""Lines of a table from which on it is folded."""
_MARKS: Final = {"holds": "✅", "fails": "❌", "undecided": "❔", "broken": "⚠️"}


def markdown_report(
    runs: Sequence[StoredRun],
    comparison: Comparison | None = None,
    gate: GateVerdict | None = None,
    *,
    title: str = "",
    pairwise: Pairwise = NO_PAIRS,
) -> str:
    """Verdict, gate, table of targets, the first flips, what stands behind the rate, and groups.

    Args:
        runs: at least one; the first is the baseline where they are compared.
        comparison: of those of these runs that judge no pairs, in this order; None leaves the flips out.
        gate: verdicts to show; None shows none.
        title: heads it; "" is the suite's.
        pairwise: what the judging runs among `runs` say.
    """
    known = {one.run: one for one in (comparison.baseline, *comparison.others)} if comparison else {}
    every = [known.get(run.id) or run.summary() for run in runs]
    summaries = [one for run, one in zip(runs, every, strict=True) if has_scores(run, pairwise.judging)]
    score = comparison.score if comparison else summaries[0].primary if summaries else ""
    labels = [_cell(label, 40) for label in run_labels(summaries)]
    name = title or " · ".join(dict.fromkeys(one.suite for one in every))
    ids = ", ".join(f"`{one.run}`" for one in every)
    first_spread, *further_spreads = _spread_tables(summaries, labels) or [[]]
    parts = [
        [f"## {_cell(name, 80)}"],
        _alarms(every, score),
        _sentences(every, summaries, comparison, pairwise),
        _gate_lines(gate),
        *preference_parts(pairwise, _cell),
        _target_table(summaries, labels, score),
        *_pivot_tables([one] if (one := score_pivot(summaries[:_COLUMNS])) else [], labels, "score"),
        _flip_lines(runs, comparison),
        *exam_parts(summaries, labels, _cell),
        *_pivot_tables(cross_pivots(summaries[:_COLUMNS]), labels, "records"),
        *_pivot_tables(label_pivots(summaries[:_COLUMNS]), labels, "verdict"),
        _group_table(
            summaries, labels, f"{_cell(score_title(score), 30)} per group", lambda one: one.groups.get(score, ())
        ),
        *compared_markdown(comparison, _cell),
        _stage_table(every, [_cell(label, 40) for label in run_labels(every)]),
        first_spread,
        *_breakdown_tables(summaries, labels, score),
        *further_spreads,
    ]
    return _fitted(parts, [f"Runs: {ids}"])


def _cell(text: str, most: int) -> str:
    """A text cut to `most` characters and made inert."""
    line = " ".join(text.split())
    return markdown_cell(line if len(line) <= most else f"{line[: most - 1]}…")


def _fitted(parts: Sequence[Sequence[str]], last: Sequence[str]) -> str:
    """The parts that fit, in order, with a blank line between; a part that does not fit is left out whole."""
    done: list[str] = []
    left_out = False
    for part in parts:
        if not part:
            continue
        if _fits([*done, *part, "", *last]):
            done += [*part, ""]
        else:
            left_out = True
    note = ["Parts that did not fit are left out; the HTML report has everything."] if left_out else []
    return "\n".join([*done, *note, *last]) + "\n"


def _fits(lines: Sequence[str]) -> bool:
    return len(lines) < MOST_LINES and sum(len(line) + 1 for line in lines) < MOST_CHARACTERS - 100


def _alarms(summaries: Sequence[RunSummary], score: str) -> list[str]:
    found = [text for one in summaries if (text := unfinished(one))]
    failed = [text for one in summaries if (text := failed_elsewhere(one, score))]
    lines = [f"> ⚠️ **Not complete.** {_cell(text, 200)}" for text in found[:3]]
    return [*lines, *(f"> ⚠️ {_cell(text, 200)}." for text in failed[:3])]


def _sentences(
    every: Sequence[RunSummary], summaries: Sequence[RunSummary], comparison: Comparison | None, pairwise: Pairwise
) -> list[str]:
    stopped = own_decisions(summaries, comparison)
    rates = [headline(one) for one in summaries if not one.stopping]
    sentences = [
        *pairwise.sentences,
        *([pair.sentence for pair in comparison.pairs] if comparison else rates),
        *stopped,
        *filter(None, [saved_calls(every)]),
    ]
    lines = [f"- **{_cell(one, 330)}**" for one in sentences[:_SENTENCES]]
    if len(sentences) > _SENTENCES:
        lines.append(f"- and {len(sentences) - _SENTENCES} more")
    warnings = dict.fromkeys(text for pair in comparison.pairs for text in pair.warnings) if comparison else {}
    return lines + [f"- ⚠️ {_cell(one, 220)}" for one in list(warnings)[:3]]


def _gate_lines(gate: GateVerdict | None) -> list[str]:
    if gate is None or not gate.results:
        return []
    # What does not hold is what a reader looks for, so it stands first and is never the part that is cut.
    ordered = sorted(gate.results, key=lambda one: one.state == "holds")
    lines = [f"- {_MARKS[one.state]} {one.state}: {_cell(one.sentence, 160)}" for one in ordered[:6]]
    return ["**Gate**", "", *lines, *([f"- and {len(ordered) - 6} more"] if len(ordered) > 6 else [])]


def _target_table(summaries: Sequence[RunSummary], labels: Sequence[str], score: str) -> list[str]:
    tags = list(dict.fromkeys(tag for one in summaries for tag in one.tags))[:3]
    head = ["target", *(_cell(tag, 20) for tag in tags), f"{_cell(score_title(score), 30)} (95 % interval)"]
    further = _further(summaries, score)
    counts = ["n", "unparsed", "refused", "errors"]
    if not summaries:
        return []
    lines = _head([*head, *further, *counts], left=1 + len(tags))
    for label, one in list(zip(labels, summaries, strict=True))[:_TARGETS]:
        own = [label, *(_cell(one.tags.get(tag, MISSING), 20) for tag in tags)]
        lines.append(_line([*own, *_figures(one, score, further)]))
    if len(summaries) > _TARGETS:
        lines.append(_line([f"and {len(summaries) - _TARGETS} more", *[""] * (len(tags) + len(further) + 5)]))
    return lines


def _further(summaries: Sequence[RunSummary], name: str) -> list[str]:
    """Columns that are shown where there is something in them."""
    found = [score for one in summaries if (score := one.score(name)) is not None]
    # A mean over what was scored is the mean over the answered already.
    answered = ["over answered"] if any(one.over == "all" for one in found) else []
    bounds = ["bounds by unread"] if any(one.doubt for one in found) else []
    return [*answered, *bounds, *(["not applicable"] if any(one.not_applicable for one in found) else [])]


def _figures(summary: RunSummary, name: str, further: Sequence[str]) -> list[str]:
    score = summary.score(name)
    if score is None:
        return [MISSING] * (4 + len(further)) + [str(summary.errors)]
    share = is_share(score)
    more = {
        "over answered": value_text(score.answered.value, share=share),
        "bounds by unread": doubt_text(score) or MISSING,
        "not applicable": f"{score.not_applicable:,}",
    }
    counts = [f"{n:,}" for n in (score.headline.n, score.unparsed, score.refused, score.errors)]
    return [f"**{mean_text(score.headline, share=share)}**", *(more[one] for one in further), *counts]


def _pivot_tables(pivots: Sequence[Pivot], labels: Sequence[str], head: str) -> list[list[str]]:
    """A table per pivot, a column per target; `head` names its rows."""
    tables = []
    for pivot in pivots:
        lines = _head([head, *labels[:_COLUMNS]], left=1)
        lines += [
            _line([_cell(name, 30), *(" · ".join(filter(None, cell)) for cell in cells)]) for name, cells in pivot.rows
        ]
        tables.append(_folded(_cell(pivot.title, 60), lines))
    return tables


def _spread_tables(summaries: Sequence[RunSummary], labels: Sequence[str]) -> list[list[str]]:
    """How many records have each value, a column per value: so a histogram takes a line per target."""
    tables = []
    for pivot in spread_pivots(summaries[:_TARGETS]):
        lines = _head(["target", *(name for name, _ in pivot.rows)], left=1)
        lines += [
            _line([label, *(cells[at].main for _, cells in pivot.rows)]) for at, label in enumerate(labels[:_TARGETS])
        ]
        tables.append(_folded(_cell(pivot.title, 60), lines))
    return tables


def _group_table(
    summaries: Sequence[RunSummary],
    labels: Sequence[str],
    title: str,
    groups_of: Callable[[RunSummary], Sequence[ScoreSummary]],
) -> list[str]:
    """A score by groups: what all runs share of its counts in a column, what one leaves out beside its mean."""
    shown = summaries[:_COLUMNS]
    groups = list(dict.fromkeys(one.group for summary in summaries for one in groups_of(summary)))
    if not groups:
        return []
    of_runs = [{one.group: one for one in groups_of(summary)} for summary in shown]
    lines = _head(["group", "n", *labels[:_COLUMNS]], left=1)
    names = distinct(_cell(group, 30) for group in groups[:_GROUPS])
    for name, group in zip(names, groups, strict=False):
        found = [of_run.get(group) for of_run in of_runs]
        n = max((one.headline.n for one in found if one), default=0)
        lines.append(_line([name, f"{n:,}", *(_group_cell(one) for one in found)]))
    if len(groups) > _GROUPS:
        lines.append(_line([f"and {len(groups) - _GROUPS} more", *[""] * (1 + len(shown))]))
    return _folded(title, lines)


def _group_cell(score: ScoreSummary | None) -> str:
    if score is None:
        return MISSING
    _, *left_out = left_out_text(score).split(", ")
    return " · ".join([mean_text(score.headline, share=is_share(score)), *left_out])


def _breakdown_tables(summaries: Sequence[RunSummary], labels: Sequence[str], score: str) -> list[list[str]]:
    """The page's score by each key of the breakdowns; the others are on the HTML page."""
    keys = dict.fromkeys(key for one in summaries for key in one.breakdowns)
    name = _cell(score_title(score), 30)
    return [_group_table(summaries, labels, f"{name} by {_cell(key, 30)}", by_key(key, score)) for key in keys]


def _stage_table(summaries: Sequence[RunSummary], labels: Sequence[str]) -> list[str]:
    rows = stage_rows(summaries, labels)
    if not rows:
        return []
    priced = ["cost"] if any(one.cost for _, one in rows) else []
    lines = _head(["target", "stage", "calls", "from journal", "tokens in", "tokens out", "estimated", *priced], left=2)
    for label, one in rows[:_TARGETS]:
        counts = (one.calls, one.from_journal, one.input_tokens, one.output_tokens, one.estimated)
        cost = [_cell(one.cost or "?", 30)] if priced else []
        lines.append(_line([label, _cell(one.stage, 30), *(f"{count:,}" for count in counts), *cost]))
    if len(rows) > _TARGETS:
        lines.append(_line([f"and {len(rows) - _TARGETS} more", *[""] * (6 + len(priced))]))
    return _folded("Cost by stage", lines)


def _folded(title: str, lines: Sequence[str]) -> list[str]:
    if len(lines) - 2 < _FOLD_FROM:
        return [f"**{title}**", "", *lines]
    return ["<details>", f"<summary>{title}</summary>", "", *lines, "", "</details>"]


def _flip_lines(runs: Sequence[StoredRun], comparison: Comparison | None) -> list[str]:
    """The first flips of the first comparison that has some: what was broken before what was fixed."""
    pair = next((one for one in comparison.pairs if one.broken or one.fixed), None) if comparison else None
    if pair is None:
        return []
    flips = flips_of(runs, pair, most=_FLIPS)
    lines = [f"- {one.way}: {_flip(one)}" for one in flips]
    counts = f"{len(pair.broken)} broken, {len(pair.fixed)} fixed"
    title = f"Flips of {_cell(pair.other_target, 40)} against {_cell(pair.baseline_target, 40)}: {counts}"
    more = len(pair.broken) + len(pair.fixed) - len(lines)
    rest = [f"- and {counted(more, 'flip')} more in the HTML report"] if more else []
    return ["<details>", f"<summary>{title}</summary>", "", *lines, *rest, "", "</details>"]


def _flip(flip: Flip) -> str:
    key = f", key {_cell(flip.key, 12)}" if flip.key else ""
    change = f"{_cell(flip.before, 20)} → {_cell(flip.after, 20)}"
    return f"{_cell(flip.sample, 24)} {_cell(flip.question, 50)} ({change}{key})"


def _head(names: Sequence[str], *, left: int) -> list[str]:
    rules = ["---" if place < left else "---:" for place in range(len(names))]
    return [_line(names), _line(rules)]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
