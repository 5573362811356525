"""A report in Markdown, sized for a comment on a pull request: what may be concluded, then the rest.

Below 60 lines and 6,000 characters whatever comes in: parts that do not fit are left out from the end, and it says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from steelyard.compare import Comparison
from steelyard.gate import GateVerdict
from steelyard.report.flips import Flip, flips_of
from steelyard.report.layout import distinct
from steelyard.report.numbers import (
    MISSING,
    counted,
    headline,
    is_share,
    mean_text,
    run_labels,
    score_title,
    unfinished,
    value_text,
)
from steelyard.report.pivots import label_pivots
from steelyard.report.stored import StoredRun
from steelyard.summary import RunSummary
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
    runs: Sequence[StoredRun], comparison: Comparison | None = None, gate: GateVerdict | None = None, *, title: str = ""
) -> str:
    """Verdict, gate, table of targets, groups and the first flips.

    Args:
        runs: at least one; the first is the baseline where they are compared.
        comparison: of these runs, in this order; None leaves the flips out.
        gate: verdicts to show; None shows none.
        title: heads it; "" is the suite's.
    """
    known = {one.run: one for one in (comparison.baseline, *comparison.others)} if comparison else {}
    summaries = [known.get(run.id) or run.summary() for run in runs]
    score = comparison.score if comparison else summaries[0].primary
    labels = [_cell(label, 40) for label in run_labels(summaries)]
    name = title or " · ".join(dict.fromkeys(one.suite for one in summaries))
    ids = ", ".join(f"`{one.run}`" for one in summaries)
    parts = [
        [f"## {_cell(name, 80)}"],
        _alarms(summaries),
        _sentences(summaries, comparison),
        _gate_lines(gate),
        _target_table(summaries, labels, score),
        *_label_tables(summaries, labels),
        _group_table(summaries, labels, score),
        _flip_lines(runs, comparison),
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


def _alarms(summaries: Sequence[RunSummary]) -> list[str]:
    found = [text for one in summaries if (text := unfinished(one))]
    return [f"> ⚠️ **Not complete.** {_cell(text, 200)}" for text in found[:3]]


def _sentences(summaries: Sequence[RunSummary], comparison: Comparison | None) -> list[str]:
    sentences = [pair.sentence for pair in comparison.pairs] if comparison else [headline(one) for one in summaries]
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
    lines = _head([*head, "over answered", "n", "unparsed", "refused", "errors"], left=1 + len(tags))
    for label, one in list(zip(labels, summaries, strict=True))[:_TARGETS]:
        own = [label, *(_cell(one.tags.get(tag, MISSING), 20) for tag in tags)]
        lines.append(_line([*own, *_figures(one, score)]))
    if len(summaries) > _TARGETS:
        lines.append(_line([f"and {len(summaries) - _TARGETS} more", *[""] * (len(tags) + 6)]))
    return lines


def _figures(summary: RunSummary, name: str) -> list[str]:
    score = summary.score(name)
    if score is None:
        return [MISSING] * 5 + [str(summary.errors)]
    share = is_share(score)
    means = [f"**{mean_text(score.headline, share=share)}**", value_text(score.answered.value, share=share)]
    return [*means, *(f"{n:,}" for n in (score.headline.n, score.unparsed, score.refused, summary.errors))]


def _label_tables(summaries: Sequence[RunSummary], labels: Sequence[str]) -> list[list[str]]:
    """How often each verdict was given, a column per target; a table per score whose verdicts have names."""
    tables = []
    for pivot in label_pivots(summaries[:_COLUMNS]):
        lines = _head(["verdict", *labels[:_COLUMNS]], left=1)
        lines += [
            _line([_cell(name, 30), *(" · ".join(filter(None, cell)) for cell in cells)]) for name, cells in pivot.rows
        ]
        tables.append(_folded(_cell(pivot.title, 60), lines))
    return tables


def _group_table(summaries: Sequence[RunSummary], labels: Sequence[str], score: str) -> list[str]:
    groups = list(dict.fromkeys(one.group for summary in summaries for one in summary.groups.get(score, ())))
    if not groups:
        return []
    shown = list(zip(labels, summaries, strict=True))[:_COLUMNS]
    lines = _head(["group", "n", *(label for label, _ in shown)], left=1)
    names = distinct(_cell(group, 30) for group in groups[:_GROUPS])
    for name, group in zip(names, groups, strict=False):
        found = [summary.score(score, group) for _, summary in shown]
        n = max((one.headline.n for one in found if one), default=0)
        means = [mean_text(one.headline, share=is_share(one)) if one else MISSING for one in found]
        lines.append(_line([name, f"{n:,}", *means]))
    if len(groups) > _GROUPS:
        lines.append(_line([f"and {len(groups) - _GROUPS} more", *[""] * (1 + len(shown))]))
    return _folded(f"{_cell(score_title(score), 30)} per group", lines)


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
