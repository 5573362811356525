"""Which to ship: the runs of prompts x models as a grid, prompts compared over all models, and the cheapest good cell.

A cell is *within the margin* if it is shown to be worse than no other cell by more than the margin: the lower limit of
its difference to each other one lies above -margin, with intervals that hold together for all pairs of cells. That two
cells do not differ significantly would be no reason to take the cheaper one: a small dataset would call all equal.
"""

# Why it is so, and what was rejected: docs/decisions/analysis-which-to-ship.md

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np

from steelyard.analysis.comparison.alignment import AlignedRuns
from steelyard.analysis.comparison.comparison_values import (
    CellState,
    GridCell,
    GridComparison,
    PairedDifference,
    PromptDifference,
)
from steelyard.analysis.comparison.costs import drawn_samples, quantile, sample_costs, times_of
from steelyard.analysis.comparison.differences import (
    PairedValues,
    ScoreMeaning,
    adjust_groups,
    adjust_headlines,
    paired_difference,
    verdict_of,
)
from steelyard.analysis.comparison.paired_scores import score_meaning
from steelyard.analysis.comparison.sample_scores import RunBySample
from steelyard.analysis.joint_values import JointDifference, JointValues, advantages, is_not_worse
from steelyard.analysis.numbers import about_text, count_text, money_text, points_text, value_text
from steelyard.analysis.run_data import MARGIN, TARGET
from steelyard.analysis.scores.score_summary_values import Over
from steelyard.stats.arrays import Array

PROMPT: Final = "prompt"
MODEL: Final = "model"
"""The two tags of a cell's target."""
_MOST_NAMED: Final = 3
_ROUNDING: Final = 1e-9
_GENERAL: Final = "general"
"""The suite of prompts x models; a single prompt need not be named there. Elsewhere a tag `model` may mean anything."""


def is_grid(tags: Sequence[Mapping[str, str]]) -> bool:
    """Whether runs with these tags are cells: each has a model, and no two have the same prompt and model.

    >>> is_grid([{"prompt": "terse", "model": "small"}, {"model": "small"}]), is_grid([{"model": "small"}])
    (True, False)
    """
    cells = {(of_run.get(PROMPT, ""), of_run.get(MODEL)) for of_run in tags}
    return len(cells) == len(tags) > 1 and all(model is not None for _, model in cells)


def grid_of(pairs: Sequence[AlignedRuns], score: str, level: float) -> GridComparison | None:
    """Compare the cells of a grid; None where the runs are none, or a rule ended one early.

    Args:
        pairs: the first cell with each other one.
        score: that all of them have.
        level: of all intervals, and at which those of all pairs of cells hold together.
    """
    runs = [pairs[0].baseline, *(pair.other for pair in pairs)]
    has_prompts = all(PROMPT in run.run.tags or run.run.kind == _GENERAL for run in runs)
    if not (has_prompts and is_grid([run.run.tags for run in runs])) or any(run.run.stopped_early for run in runs):
        return None
    meaning = score_meaning(score, runs)
    margin = (runs[0].run.manifest.get("options") or {}).get("margin", MARGIN)
    cells = [_cell(run, score) for run in runs]
    values, units = _shared_values(pairs, score, meaning.over)
    n = values.shape[1]
    if not n or meaning.ends is None:
        why = f"{score} has no scale, so that no margin applies to it" if n else "no sample has a value in every cell"
        choice = _Choice(f"No cell is chosen: {why}.")
    else:
        scaled = (values - meaning.ends.low) / ((meaning.ends.high - meaning.ends.low) or 1.0)
        scaled = 1 - scaled if meaning.lower_is_better else scaled
        joint = JointValues(scaled, bool(((scaled == 0) | (scaled == 1)).all()), units)
        left_out = n < max(len(run.samples) for run in runs)
        shared = f" on the {count_text(n, 'sample')} with a value in every cell" if left_out else ""
        rates = [f"{value_text(mean, share=cells[0].share)}{shared}" for mean in values.mean(axis=1).tolist()]
        choice = _choose(cells, joint, rates, margin, level)
    return GridComparison(
        score=score,
        cells=tuple(replace(cell, state=choice.states.get(cell.target, "open")) for cell in cells),
        prompts=_prompt_differences(cells, values, units, meaning, level) if n else (),
        baseline=cells[0].prompt,
        margin=margin,
        n=n,
        best=choice.best,
        chosen=choice.chosen,
        needed=choice.needed,
        sentence=choice.sentence,
        level=level,
    )


def _cell(side: RunBySample, score: str) -> GridCell:
    run, summary = side.run, side.summary
    scored = summary.score(score)
    if scored is None:
        raise ValueError(f"run {run.id} has no score {score!r}")
    stage = next((stage for stage in run.stages if stage.stage == TARGET), None)
    per_1000 = 1000 / (run.counts.done or 1)
    time, p50, p95 = _times(side)
    return GridCell(
        run=run.id,
        target=run.target,
        prompt=run.tags.get(PROMPT, ""),
        model=run.tags[MODEL],
        mean=scored.headline,
        share=scored.is_share,
        unparsed=scored.unparsed,
        refused=scored.refused,
        errors=run.counts.errors,
        cost=None if stage is None or stage.money is None else stage.money * per_1000,
        currency=stage.currency if stage else "",
        tokens=(stage.input_tokens + stage.output_tokens) * per_1000 if stage else 0.0,
        time=time,
        p50=p50,
        p95=p95,
    )


def _times(side: RunBySample) -> tuple[str, float | None, float | None]:
    run = side.run
    if run.records is None or run.bodies is None:
        return "", None, None
    chosen = drawn_samples(side.samples)
    costs = list(sample_costs(run.records, run.bodies, side.numbers[chosen].tolist()).values())
    if not costs:
        return "", None, None
    time, values = times_of(costs)
    return time, quantile(values, 0.5), quantile(values, 0.95)


def _shared_values(pairs: Sequence[AlignedRuns], score: str, over: Over) -> tuple[Array, Array | None]:
    """The values of the samples that are paired in all runs and have one there; and their clusters, if any share one.

    Returns:
        (runs, samples), and (samples) or None.
    """
    baseline = pairs[0].baseline
    others = [dict(zip(pair.first.tolist(), pair.second.tolist(), strict=True)) for pair in pairs]
    first = [index for index in range(len(baseline.samples)) if all(index in other for other in others)]
    rows = [baseline.sums_of(score).means(over)[first]]
    rows += [
        pair.other.sums_of(score).means(over)[[second[index] for index in first]]
        for pair, second in zip(pairs, others, strict=True)
    ]
    values = np.array(rows)
    known = ~np.isnan(values).any(axis=0)
    units = np.unique(baseline.units()[first][known], return_inverse=True)[1]
    return values[:, known], units if len(np.unique(units)) < len(units) else None


def _prompt_differences(
    cells: Sequence[GridCell], values: Array, units: Array | None, meaning: ScoreMeaning, level: float
) -> tuple[PromptDifference, ...]:
    """Each prompt against the first one, over all models and on each model."""
    row_of = {(cell.prompt, cell.model): row for row, cell in enumerate(cells)}
    prompts, models = (list(dict.fromkeys(names)) for names in zip(*row_of, strict=True))
    samples = np.arange(values.shape[1])

    def against_first(prompt: str, on: Sequence[str]) -> PairedDifference:
        before, after = (values[[row_of[name, model] for model in on]].mean(axis=0) for name in (prompts[0], prompt))
        return paired_difference(PairedValues(samples, before, after, units), level=level, meaning=meaning)

    shared = {
        prompt: [model for model in models if {(prompt, model), (prompts[0], model)} <= row_of.keys()]
        for prompt in prompts[1:]
    }
    shared = {prompt: on for prompt, on in shared.items() if on}
    single = [(prompt, model) for prompt, on in shared.items() for model in on if len(on) > 1]
    over_all = adjust_headlines([against_first(prompt, on) for prompt, on in shared.items()], "prompts")
    on_each = adjust_groups([against_first(prompt, [model]) for prompt, model in single])
    differences = [*zip(((prompt, "") for prompt in shared), over_all, strict=True)]
    differences += [*zip(single, on_each, strict=True)]

    def pair(prompt: str, model: str) -> tuple[str, str]:
        on = model or (shared[prompt][0] if len(shared[prompt]) == 1 else "")
        return (cells[row_of[prompt, on]].run, cells[row_of[prompts[0], on]].run) if on else ("", "")

    return tuple(
        PromptDifference(prompt, model, difference, verdict_of(difference, level), *pair(prompt, model))
        for (prompt, model), difference in differences
    )


class _Choice(NamedTuple):
    sentence: str
    best: str = ""
    chosen: str = ""
    needed: int | None = None
    states: Mapping[str, CellState] = MappingProxyType({})


def _choose(
    cells: Sequence[GridCell], joint: JointValues, rates: Sequence[str], margin: float, level: float
) -> _Choice:
    """The cheapest cell within the margin, and how many samples would show more; the rates are of the same samples."""
    names = [cell.target for cell in cells]
    differences = joint.differences(names, level)
    states = {name: _state(name, differences, margin) for name in names}
    means = joint.values.mean(axis=1)
    at_best = int(means.argmax())
    of_best, best, rate = cells[at_best], names[at_best], rates[at_best]
    price = _prices(cells)
    within = [cell for cell in cells if states[cell.target] == "within"]
    n, width = count_text(differences[0].n, "sample"), width_text(margin, share=cells[0].share)
    figures = ", ".join(filter(None, (rate, _cost_of(of_best))))
    if not within:
        needed = _needed(best, differences, margin)
        which = f"{n} do not show which cell is the best to within {width}; {_needs(needed)}."
        equal = [name for name, mean in zip(names, means.tolist(), strict=True) if mean > means[at_best] - _ROUNDING]
        several = ", ".join(equal) if len(equal) <= _MOST_NAMED else count_text(len(equal), "cell")
        so_far = f"is {best} ({figures})" if len(equal) == 1 else f"are {several} (each {rate})"
        return _Choice(f"{which} The best so far {so_far}.", best, "", needed, states)
    cheapest = min(within, key=lambda cell: price[cell.target] if price else cell is not of_best)
    sentence = f"{cheapest.target} is {'the cheapest' if price else 'one'} of {count_text(len(within), 'cell')}"
    sentence += f" shown to be within {width} of the best ({best}, {rate})"
    sentence += f": {_cost_of(cheapest)}." if _cost_of(cheapest) else "."
    if within == [of_best]:
        sentence = f"{best} is the best to within {width} ({figures}); no other cell is shown to be."
    open_ones = [
        (price[name], name, needed)
        for name in names
        if price and states[name] == "open" and price[name] < price[cheapest.target]
        if (needed := _needed(name, differences, margin)) is not None
    ]
    if not open_ones:
        return _Choice(sentence, best, cheapest.target, None, states)
    _, cheaper, needed = min(open_ones)
    sentence += f" Whether {cheaper}, which is cheaper, is too cannot be told on {n}; {_needs(needed)}."
    return _Choice(sentence, best, cheapest.target, needed, states)


def _state(name: str, differences: Sequence[JointDifference], margin: float) -> CellState:
    if is_not_worse(name, differences, margin):
        return "within"
    is_worse = any(interval is not None and interval.high < -margin for _, interval in advantages(name, differences))
    return "worse" if is_worse else "open"


def _prices(cells: Sequence[GridCell]) -> dict[str, float]:
    """What each cell costs: in money if all prices are known, else in tokens; empty where nothing is known to cost."""
    money = {cell.target: cell.cost for cell in cells if cell.cost is not None}
    if len(money) == len(cells) and any(money.values()) and len({cell.currency for cell in cells}) == 1:
        return money
    return {cell.target: cell.tokens for cell in cells} if all(cell.tokens for cell in cells) else {}


def _cost_of(cell: GridCell) -> str:
    if cell.cost:
        return f"{money_text(cell.cost, cell.currency)} for 1,000 records"
    return f"{cell.tokens:,.0f} tokens for 1,000 records" if cell.tokens else ""


def width_text(margin: float, *, share: bool) -> str:
    """A margin in points of a rate, or as a share of another scale."""
    return points_text(margin) if share else f"{100 * margin:g} % of the scale"


def _needs(needed: int | None) -> str:
    return "that needs more samples" if needed is None else f"that needs {about_text(needed)}"


def _needed(name: str, differences: Sequence[JointDifference], margin: float) -> int | None:
    """About how many samples would show a cell to be within the margin, if all means stay as they are.

    Intervals shrink with the square root of the number. None where a mean lies outside the margin, so that no number
    would, and where a pair has no interval.
    """
    ratio = 0.0
    for value, interval in advantages(name, differences):
        if interval is None or value <= -margin:
            return None
        ratio = max(ratio, (value - interval.low) / (value + margin))
    needed = differences[0].n * ratio**2
    step: int = 10 ** max(0, math.floor(math.log10(needed)) - 1)
    return math.ceil(needed / step) * step
