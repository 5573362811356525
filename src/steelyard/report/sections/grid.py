"""The section of prompts x models: which to ship, a matrix of rates, costs and times, and prompts against the first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from steelyard.analysis.comparison.comparison_values import (
    CLAIMS,
    CellState,
    GridCell,
    GridComparison,
    PromptDifference,
)
from steelyard.analysis.comparison.grid import width_text
from steelyard.analysis.numbers import (
    MISSING,
    count_text,
    interval_text,
    level_text,
    money_text,
    p_text,
    score_title,
    seconds_text,
    signed_text,
    value_text,
)
from steelyard.errors import some_of
from steelyard.report.section import (
    RunLink,
    Section,
    SectionTable,
    Sentence,
    TableCell,
    TableColumn,
    columns_of,
    non_empty,
    run_columns,
    text_row,
)

_STATES: Final[Mapping[CellState, str]] = {"within": "yes", "worse": "no", "open": "cannot tell"}
_NONE: Final = TableCell(MISSING)
_MOST_COLUMNS: Final = 3
_MOST_NAMED: Final = 6


def grid_section(grid: GridComparison | None) -> Section:
    """Which prompt and model to ship, with the matrix of rates; empty where the runs are no grid."""
    if grid is None:
        return Section("Which to ship", key="grid")
    conclusion = Sentence(grid.sentence, "conclusion", tone="good" if grid.chosen else "unclear")
    missing = {
        "Unreadable replies": [(cell.unparsed, cell.target) for cell in grid.cells],
        "Refused replies": [(cell.refused, cell.target) for cell in grid.cells],
        "Errors": [(cell.errors, cell.target) for cell in grid.cells],
    }
    named = {what: [f"{n:,} of {target}" for n, target in counts if n] for what, counts in missing.items()}
    warnings = [
        Sentence(f"{what}: {some_of(cells, _MOST_NAMED)}.", "warning") for what, cells in named.items() if cells
    ]
    return Section("Which to ship", parts=(Section("", _matrix(grid), notes=(conclusion, *warnings)),), key="grid")


def grid_details_section(grid: GridComparison | None) -> Section:
    """Cost and time of each cell, and each prompt against the first; empty where the runs are no grid."""
    parts = non_empty([_costs(grid), _prompts(grid)]) if grid else ()
    return Section("Costs, times and prompts", parts=parts, key="grid_details")


def _matrix(grid: GridComparison) -> SectionTable:
    """A row per prompt and a column per model; with many models and few prompts, the reverse, as columns cost width."""
    by_place = {(cell.prompt, cell.model): _rate(cell, grid.chosen) for cell in grid.cells}
    prompts, models = grid.prompt_names, grid.model_names
    of_prompts = {prompt: _prompt_name(grid, prompt) for prompt in prompts}
    if len(models) > _MOST_COLUMNS >= len(prompts):
        rows = [(TableCell(model), *(by_place.get((prompt, model), _NONE) for prompt in prompts)) for model in models]
        names = ["model", *(cell.text for cell in of_prompts.values())]
    else:
        rows = [(of_prompts[prompt], *(by_place.get((prompt, model), _NONE) for model in models)) for prompt in prompts]
        names = ["prompt" if any(prompts) else "score", *models]
    columns = run_columns(names[1:], names[0])
    return SectionTable(columns, tuple(rows), f"{score_title(grid.score)} with 95 % CI")


def _prompt_name(grid: GridComparison, prompt: str) -> TableCell:
    """The name of a prompt, with the comparison of its runs with those of the baseline prompt."""
    if prompt == grid.baseline:
        return TableCell(prompt or score_title(grid.score), tag="baseline" if len(grid.prompt_names) > 1 else "")
    first, *others = (cell.run for at in (grid.baseline, prompt) for cell in grid.cells if cell.prompt == at)
    return TableCell(prompt or score_title(grid.score), link=RunLink(others[-1], first, grid.score, tuple(others[:-1])))


def _rate(cell: GridCell, chosen: str) -> TableCell:
    limits = interval_text(cell.mean.interval, share=cell.share)
    return TableCell(
        value_text(cell.mean.value, share=cell.share),
        (limits,) if limits else (),
        strong=cell.target == chosen,
        value=cell.mean.value,
        link=RunLink(cell.run),
    )


def _costs(grid: GridComparison) -> Section:
    width = width_text(grid.margin, share=grid.cells[0].share)
    priced = any(cell.cost is not None for cell in grid.cells)
    amount = "cost / 1,000 records" if priced else "tokens / 1,000 records"
    columns = columns_of("target", amount, "p50", "p95", TableColumn(f"within {width}", "text"))
    rows = tuple(
        (
            TableCell(cell.target, link=RunLink(cell.run)),
            _cost(cell, priced=priced),
            _seconds(cell.p50),
            _seconds(cell.p95),
            TableCell(_STATES[cell.state], strong=cell.target == grid.chosen),
        )
        for cell in grid.cells
    )
    times = "latency" if all(cell.time == "latency" for cell in grid.cells) else "wall time"
    n = count_text(grid.n, "sample")
    caption = f"Cost of 1,000 records and {times}; within: shown, on {n}, to be that close to the best"
    return Section("", SectionTable(columns, rows, caption))


def _seconds(seconds: float | None) -> TableCell:
    return TableCell(MISSING if seconds is None else seconds_text(seconds), value=seconds)


def _cost(cell: GridCell, *, priced: bool) -> TableCell:
    if priced:
        return TableCell(MISSING if cell.cost is None else money_text(cell.cost, cell.currency), value=cell.cost)
    return TableCell(f"{cell.tokens:,.0f}" if cell.tokens else MISSING, value=cell.tokens or None)


def _prompts(grid: GridComparison) -> Section:
    """Each prompt against the baseline prompt: over all models, then on each."""
    if not grid.prompts:
        return Section("")
    columns = columns_of(f"against {grid.baseline}", "on", "difference", f"{level_text(grid.level)} CI", "p", "verdict")
    several = len(grid.model_names) > 1
    caption = "Differences sample by sample" + ("; over all models they are averaged first" if several else "")
    corrected = dict.fromkeys(pair.difference.methods.adjustment for pair in grid.prompts)
    caption += f"; p is corrected: {', '.join(filter(None, corrected))}" if any(corrected) else ""
    return Section("", SectionTable(columns, tuple(_prompt_row(grid, pair) for pair in grid.prompts), caption))


def _prompt_row(grid: GridComparison, pair: PromptDifference) -> tuple[TableCell, ...]:
    difference = pair.difference
    link = RunLink(pair.run, pair.against) if pair.run else None
    return (
        TableCell(pair.prompt),
        TableCell(pair.model or ("all models" if len(grid.model_names) > 1 else grid.model_names[0]), link=link),
        TableCell(signed_text(difference.difference, share=difference.unit), value=difference.difference),
        *text_row(
            interval_text(difference.interval, share=difference.unit, sign=True) or MISSING,
            p_text(difference.decisive_p),
            CLAIMS[pair.verdict],
        ),
    )
