"""The command `agree`: compares a run's judge with people's labels."""

from __future__ import annotations

import math
from shlex import quote
from typing import Annotated, Any

import typer

from steelyard.analysis.judges.findings import JudgeAgreement
from steelyard.analysis.judges.raters import held_to_people
from steelyard.analysis.judging_manifest import jury_scores_of
from steelyard.analysis.scores.score_infos import headline_score, jury_score, rated_thing, scores_rating
from steelyard.cli.options import JsonOption, RunArgument, StoreOption, named_run, store_option
from steelyard.errors import ConfigError, did_you_mean
from steelyard.report.render.terminal import console, print_json, print_sections
from steelyard.report.run_texts import unfinished
from steelyard.report.section import Section, sentences
from steelyard.report.sections.judge_agreement import difference_section, held_to_people_parts
from steelyard.stats.corrected import corrected_difference
from steelyard.stats.labels_needed import labels_to_decide
from steelyard.store import Run, Store


def agree(
    run: RunArgument,
    *,
    score: Annotated[
        str, typer.Option("--score", metavar="NAME", help="Only this score; by default every labelled one.")
    ] = "",
    against: Annotated[
        str, typer.Option("--against", metavar="LABEL", help="Labels of this name; by default those of the score.")
    ] = "",
    versus: Annotated[
        str, typer.Option("--versus", metavar="RUN", help="Also the corrected difference to this run.")
    ] = "",
    half_width: Annotated[
        float,
        typer.Option(
            "--half-width",
            metavar="W",
            help="Count the labels needed for an interval of +-W; 0: of 5 % of the range.",
            min=0.0,
        ),
    ] = 0.0,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a run's judge with people's labels.

    Agreement, TPR and TNR, the corrected mean with its interval, and how many more labels would help. Below 30 labelled
    records there are only counts.
    """
    options: dict[str, Any] = {"score": score, "against": against, "half_width": _requested_half_width(half_width)}
    with Store(store) as opened:
        first = named_run(opened, run)
        agreements = _held_to_people(first, store, **options)
        second = named_run(opened, versus) if versus else None
        if second is not None and second.id == first.id:
            raise ConfigError(f"--versus {versus}: it is run {first.id} itself; name another run")
        others = _held_to_people(second, store, **options) if second is not None else ()
    states = [unfinished(run) for run in (first, second) if run is not None]
    sections = [Section("", notes=tuple(sentences(states, "alarm")))]
    sections += [part for entry in agreements for part in held_to_people_parts(entry, first.id)]
    plain: dict[str, Any] = {"run": first.id, "scores": agreements}
    if any(states):
        plain["unfinished"] = " ".join(filter(None, states))
    if second is not None:
        sections += [part for entry in others for part in held_to_people_parts(entry, second.id, f" ({second.target})")]
        compared, difference = _difference(agreements, others)
        sections += compared
        plain |= {"versus": second.id, "versus_scores": others, **difference}
    if as_json:
        print_json(plain)
    else:
        print_sections(console(), sections)


def _requested_half_width(typed: float) -> float | None:
    """The half-width that `--half-width` asks for; None for the default of 5 % of the range.

    Raises:
        ConfigError: it is infinite or not a number.
    """
    if not math.isfinite(typed):
        raise ConfigError(f"--half-width {typed:g}: expected a finite number, in units of the score")
    return typed or None


def _held_to_people(run: Run, store: str | None, *, score: str, **options: Any) -> tuple[JudgeAgreement, ...]:
    """The agreement of each labelled score of a run with people's labels.

    Raises:
        ConfigError: there is no such score, nobody labelled it, or its labels cannot be compared with it.
    """
    data = run.data()
    columns, of_jury = data.scores, score in jury_scores_of(run.manifest)
    if score and not of_jury and not scores_rating(score, run.score_infos, columns.scores):
        raise ConfigError(f"run {run.id} has no score {score!r}{did_you_mean(score, columns.scores)}")
    if data.stopped_early:
        raise ConfigError(
            f"a rule ended run {run.id} early: intervals for a fixed number of samples do not hold for it"
        )
    agreements = held_to_people(data, score=score, **options)
    if not agreements:
        if not columns.scores:
            raise ConfigError(
                f"run {run.id} has no score to compare with people: steelyard judges {run.id} --judges FILE"
                f"{store_option(store)} lets judges score its answers, and compares them with its labels"
            )
        raise _nobody_labelled(run, score, store)
    if (width := options["half_width"]) and width > 1 and any(agreement.share for agreement in agreements):
        raise ConfigError(
            f"--half-width {width:g}: the score goes from 0 to 1, so that {width:g} points are {width / 100:g}"
        )
    if all(agreement.problem for agreement in agreements):
        raise ConfigError(f"score {agreements[0].score!r} of run {run.id}: {agreements[0].problem}")
    return agreements


def _nobody_labelled(run: Run, score: str, store: str | None) -> ConfigError:
    """The error for a score, or a run, that nobody labelled; it names the command that creates a queue."""
    name = _labelled_name(run, score)
    label_names = sorted({label.name for label in run.labels()})
    others = f"; there are labels named {', '.join(label_names)}" if label_names else ""
    headline = "" if score else ", the run's headline"
    return ConfigError(
        f"nobody labelled {f'score {score!r}' if score else 'any score'} of run {run.id}{others}. Let people label "
        f"{name}{headline}: steelyard queue create {run.id} --score {quote(name)} --draw 100 --title TEXT "
        f"--author NAME{store_option(store)}"
    )


def _labelled_name(run: Run, score: str) -> str:
    """The name of the labels that a score is compared with: that of the rated thing, if several judges rate it.

    Args:
        run: the run.
        score: its score, or that of its jury; "" is the headline, which a queue is about by default.
    """
    score = score or headline_score(run.manifest)
    if score in jury_scores_of(run.manifest):
        return score.removesuffix(jury_score(""))
    thing = rated_thing(run.score_infos.get(score), score)
    several = len(scores_rating(thing, run.score_infos)) > 1
    return thing if several else score


def _difference(
    agreements: tuple[JudgeAgreement, ...], other_agreements: tuple[JudgeAgreement, ...]
) -> tuple[list[Any], dict[str, Any]]:
    """The corrected difference of the first score that two runs have in common, as sections and for JSON.

    Raises:
        ConfigError: they have none in common.
    """
    by_score = {agreement.score: agreement for agreement in other_agreements}
    for agreement in agreements:
        other = by_score.get(agreement.score)
        if other is not None and agreement.data is not None and other.data is not None:
            scale = agreement.scale if agreement.scale == other.scale else None
            difference = corrected_difference(agreement.data, other.data, scale=scale)
            needed = labels_to_decide(agreement.data, other.data, scale=scale)
            section = difference_section(difference, needed, share=agreement.share and other.share)
            return [section], {"difference": difference, "to_decide": needed}
    raise ConfigError("the two runs have no labelled score in common")
