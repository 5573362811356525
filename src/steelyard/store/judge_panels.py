"""The judge panels of a run: several judges that rated the same thing, compared with labels of the judged answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from steelyard.analysis.judge_agreement_values import LabelDraw
from steelyard.analysis.judging_manifest import judge_of
from steelyard.analysis.score_infos import judged_things, jury_score, jury_scores, rated_thing
from steelyard.errors import ConfigError
from steelyard.store.label_draws import label_draw
from steelyard.store.labels import JUDGES, judged_run, run_row

if TYPE_CHECKING:
    from steelyard.analysis.judge_agreement import JudgedScore
    from steelyard.analysis.judge_agreement_values import JudgeAgreement
    from steelyard.analysis.judge_panel import JudgeCost
    from steelyard.analysis.judge_panel_values import JudgePanel
    from steelyard.analysis.score_columns import ScoreColumns
    from steelyard.analysis.usage import StageCost
    from steelyard.store.open_store import OpenStore
    from steelyard.types import Label, ScoreInfo


class PanelRun(Protocol):
    """The parts of a run that its judge panels need; `steelyard.store.Run` is one."""

    num: int
    kind: str
    suite: str

    @property
    def store(self) -> OpenStore:
        """The store that holds it."""

    @property
    def manifest(self) -> Mapping[str, Any]:
        """What it was made of."""

    @property
    def score_infos(self) -> Mapping[str, ScoreInfo]:
        """Score -> what its scorer declared."""

    def stage_costs(self) -> tuple[StageCost, ...]:
        """Calls, tokens and cost of each stage."""


def source_of(run: PanelRun) -> Any:
    """The run whose answers a run of judges judges; None for any other run, or where that run was deleted."""
    source = judged_run(run.manifest, run.kind)
    if not source:
        return None
    with run.store.reading() as connection:
        row = run_row(connection, source)
    run_type: Any = type(run)
    return None if row is None else run_type(run.store, row)


def draw_of(run: PanelRun, labels: tuple[Label, ...]) -> LabelDraw:
    """How the labelled records were drawn: of a run of judges, those of the run that they judge."""
    draw, source = label_draw(run, labels), source_of(run)
    if source is None:
        return draw
    of_source = label_draw(source, labels)
    return replace(of_source, examples=of_source.examples | draw.examples)


def judge_panels(run: PanelRun, columns: ScoreColumns, labels: tuple[Label, ...]) -> tuple[JudgePanel, ...]:
    """The panel of each thing that several judges of a run rated, where people labelled it or a jury is to decide it.

    Args:
        run: the run.
        columns: its scores.
        labels: that count; of a run of judges those of the run that they judge.
    """
    vote = run.manifest.get("jury", {}).get("vote", "")
    margin = run.manifest.get("jury", {}).get("margin")
    names = judge_names(run.manifest)
    if len(names) < (1 if run.kind == JUDGES else 2):
        return ()
    from steelyard.analysis.judge_agreement import labels_by_people
    from steelyard.analysis.judge_panel import judge_panel

    labels_by_name = labels_by_people(labels)
    costs = _costs(run.stage_costs(), names)
    panels = []
    for thing, judged in _judged(run, columns, list(dict.fromkeys(names.values()))):
        of_thing = _labels_of(run, thing, judged, labels_by_name)
        if of_thing or vote or run.kind == JUDGES:
            options: dict[str, Any] = {} if margin is None else {"margin": margin}
            draw = draw_of(run, tuple(of_thing))
            panels.append(judge_panel(judged, thing, of_thing, draw=draw, costs=costs, vote=vote, **options))
    return tuple(panels)


def jury_held_to_people(  # a run's verdicts and labels, and what to compare them by
    run: PanelRun,
    columns: ScoreColumns,
    labels: tuple[Label, ...],
    *,
    score: str,
    against: str = "",
    half_width: float | None = None,
) -> JudgeAgreement | None:
    """The verdicts of a run's jury compared with people's labels, as those of one judge; None where nobody labelled.

    Args:
        run: the run; a rule did not end it early.
        columns: its scores.
        labels: that count; of a run of judges those of the run that they judge.
        score: of the jury, see `jury_scores_of`.
        against: labels of this name; "" takes those of what the judges rate, as for their panel.
        half_width: see `analysis.judge_agreement.judge_agreements`.

    Raises:
        ConfigError: there is no jury, as its judges rate on different scales.
    """
    from steelyard.analysis.judge_agreement import agreement_with_people, labels_by_people
    from steelyard.analysis.judge_panel import judge_panel, jury_as_judge

    things = _judged(run, columns, list(dict.fromkeys(judge_names(run.manifest).values())))
    thing, judged = next((thing, by_judge) for thing, by_judge in things if jury_score(thing) == score)
    panel = judge_panel(judged, thing, (), vote=run.manifest["jury"]["vote"])
    if panel.jury is None:
        raise ConfigError(f"{score}: {panel.vote_reason}")
    labels_by_name = labels_by_people(labels)
    chosen = labels_by_name.get(against, []) if against else _labels_of(run, thing, judged, labels_by_name)
    if not chosen:
        return None
    draw, jury = draw_of(run, tuple(chosen)), jury_as_judge(score, judged, panel.verdicts)
    agreement = agreement_with_people(jury, chosen, draw, half_width)
    return replace(agreement, warnings=(*panel.vote_notes, *agreement.warnings))


def _labels_of(
    run: PanelRun, thing: str, judged: Mapping[str, JudgedScore], labels_by_name: Mapping[str, list[Label]]
) -> list[Label]:
    """The labels that the judges of a thing are compared with."""
    name = next((name for name in _label_names(run, thing, judged) if name in labels_by_name), "")
    if not name and run.kind == JUDGES and len(labels_by_name) == 1:
        return next(iter(labels_by_name.values()))  # the only labels that there are: people rated nothing else
    return labels_by_name.get(name, [])


def _label_names(run: PanelRun, thing: str, judged: Mapping[str, JudgedScore]) -> Iterator[str]:
    """Names that labels of a thing may have: its own, then those of the scores of this run and of the judged one."""
    yield thing
    yield from (score.score for score in judged.values())
    source = source_of(run)
    infos = source.score_infos if source is not None else {}
    yield from (name for name, info in infos.items() if rated_thing(info, name) == thing)


def _judged(
    run: PanelRun, columns: ScoreColumns, judges: Sequence[str]
) -> Iterator[tuple[str, dict[str, JudgedScore]]]:
    """(thing, judge -> its score) for each thing that two or more named judges rated."""
    from steelyard.analysis.judge_agreement import JudgedScore

    infos = run.score_infos
    for thing, scores in judged_things(columns.scores, infos, judges).items():
        if len(scores) > 1 or run.kind == JUDGES:
            yield thing, {judge: JudgedScore.of(columns, of, infos.get(of)) for judge, of in scores.items()}


def jury_scores_of(run: PanelRun) -> list[str]:
    """The scores of a run's jury; none where its suite has no voting rule."""
    if not run.manifest.get("jury", {}).get("vote"):
        return []
    infos = run.score_infos
    return jury_scores(run.manifest.get("scores", ()), infos, judge_names(run.manifest).values())


def judge_names(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Stage -> the name of its judge, of those that have one, in the order of the stages."""
    scorers = manifest.get("scorers", {})
    names = {}
    for stage in manifest.get("stages", ()):
        described = scorers.get(stage)
        if name := _judge_name(described):
            names[stage] = name
    return names


def _judge_name(described: Any) -> str:
    """The name of the judge in a manifest's entry of a scorer, or of the scorer that it scores by; "" without one."""
    name = judge_of(described).get("name")
    return name if isinstance(name, str) else ""


def _costs(stages: tuple[StageCost, ...], names: Mapping[str, str]) -> dict[str, JudgeCost]:
    """Judge -> what it cost, all its scorers together."""
    from steelyard.analysis.judge_panel import JudgeCost

    costs: dict[str, JudgeCost] = {}
    for stage in stages:
        name = names.get(stage.stage)
        if name is None:
            continue
        so_far = costs.get(name, JudgeCost(money=0.0))
        is_priced = so_far.money is not None and stage.money is not None
        costs[name] = JudgeCost(
            so_far.calls + stage.calls,
            so_far.tokens + stage.input_tokens + stage.output_tokens,
            (so_far.money or 0.0) + (stage.money or 0.0) if is_priced else None,
            stage.currency,
        )
    return costs
