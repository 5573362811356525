"""The command `agree`: compares a run's judge with people's labels."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from steelyard.cli.options import JsonOption, RunArgument, StoreOption, named_run, store_option
from steelyard.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steelyard.analysis.judge_agreement_values import JudgeAgreement
    from steelyard.store import Run
    from steelyard.types import Json


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
    from steelyard.report.judge_agreement import held_to_people_parts
    from steelyard.report.numbers import unfinished
    from steelyard.report.section import Section, sentences
    from steelyard.report.terminal import console, print_json
    from steelyard.report.terminal_sections import print_sections
    from steelyard.store import Store

    options: dict[str, Any] = {"score": score, "against": against, "half_width": half_width or None}
    with Store(store) as opened:
        first = named_run(opened, run)
        found = _held_to_people(first, store, **options)
        second = named_run(opened, versus) if versus else None
        if second is not None and second.id == first.id:
            raise ConfigError(f"--versus {versus}: it is run {first.id} itself; name another run")
        others = _held_to_people(second, store, **options) if second is not None else ()
    states = [unfinished(run) for run in (first, second) if run is not None]
    sections = [Section("", notes=tuple(sentences(states, "alarm")))]
    sections += [part for each in found for part in held_to_people_parts(each, first.id)]
    plain: dict[str, Json] = {"run": first.id, "scores": [each.to_json() for each in found]}
    if any(states):
        plain["unfinished"] = " ".join(filter(None, states))
    if second is not None:
        sections += [part for each in others for part in held_to_people_parts(each, second.id, f" ({second.target})")]
        compared, difference = _difference(found, others)
        sections += compared
        plain |= {"versus": second.id, "versus_scores": [each.to_json() for each in others], **difference}
    if as_json:
        print_json(plain)
    else:
        print_sections(console(), sections)


def _held_to_people(run: Run, store: str | None, *, score: str, **options: Any) -> tuple[JudgeAgreement, ...]:
    """The labelled scores of a run.

    Raises:
        ConfigError: there is no such score, nobody labelled it, or its labels cannot be compared with it.
    """
    from steelyard.analysis.score_infos import scores_rating
    from steelyard.store.raters import held_to_people

    columns, _ = run.columns()
    if score and not scores_rating(score, run.score_infos, columns.scores):
        raise _no_score(run, score, columns.scores)
    if run.stopping is not None and run.stopping.used < run.stopping.planned:
        raise ConfigError(
            f"a rule ended run {run.id} early: intervals for a fixed number of samples do not hold for it"
        )
    found = held_to_people(run, columns, run.labels(), score=score, **options)
    if not found:
        if not columns.scores:
            raise ConfigError(
                f"run {run.id} has no score to compare with people: steelyard judges {run.id} --judges FILE"
                f"{store_option(store)} lets judges score its answers, and compares them with its labels"
            )
        raise _nobody_labelled(run, score, store)
    if (width := options["half_width"]) and width > 1 and any(each.share for each in found):
        raise ConfigError(
            f"--half-width {width:g}: the score goes from 0 to 1, so that {width:g} points are {width / 100:g}"
        )
    if all(each.problem for each in found):
        raise ConfigError(f"score {found[0].score!r} of run {run.id}: {found[0].problem}")
    return found


def _nobody_labelled(run: Run, score: str, store: str | None) -> ConfigError:
    """Nobody labelled the score, or any of the run: what to have labelled, and how."""
    named = _labelled_name(run, score)
    given = sorted({label.name for label in run.labels()})
    there = f"; there are labels named {', '.join(given)}" if given else ""
    headline = "" if score else ", the run's headline"
    return ConfigError(
        f"nobody labelled {f'score {score!r}' if score else 'any score'} of run {run.id}{there}. Let people label "
        f"{named}{headline}: steelyard queue create {run.id} --score {quote(named)} --draw 100 --title TEXT "
        f"--author NAME{store_option(store)}"
    )


def _no_score(run: Run, score: str, known: Sequence[str]) -> ConfigError:
    """There is no such score; a jury's is read from those of its judges, and stands in reports."""
    from steelyard.store.judge_panels import jury_scores_of

    if score in jury_scores_of(run):
        return ConfigError(
            f"{score} is what several judges say together: steelyard report {run.id} compares it and its judges with "
            f"people; a gate takes {score}.corrected, and --score the score of one judge"
        )
    return ConfigError(f"run {run.id} has no score {score!r}{did_you_mean(score, known)}")


def _labelled_name(run: Run, score: str) -> str:
    """The name of the labels that hold a score to people: of what it rates, if several judges do.

    Args:
        run: the run.
        score: its score; "" is the headline, which a queue is about by default.
    """
    from steelyard.analysis.running_score import headline_score
    from steelyard.analysis.score_infos import rated_thing, scores_rating

    score = score or headline_score(run.manifest)
    thing = rated_thing(run.score_infos.get(score), score)
    several = len(scores_rating(thing, run.score_infos)) > 1
    return thing if several else score


def _difference(
    found: tuple[JudgeAgreement, ...], others: tuple[JudgeAgreement, ...]
) -> tuple[list[Any], dict[str, Json]]:
    """The corrected difference of the first score that both runs have, as sections and as JSON.

    Raises:
        ConfigError: they have none in common.
    """
    from steelyard.analysis.judge_agreement_values import difference_json, needed_json
    from steelyard.report.judge_agreement import difference_section
    from steelyard.stats.corrected import corrected_difference
    from steelyard.stats.labels_needed import labels_to_decide

    by_score = {each.score: each for each in others}
    for each in found:
        other = by_score.get(each.score)
        if other is not None and each.data is not None and other.data is not None:
            scale = each.scale if each.scale == other.scale else None
            difference = corrected_difference(each.data, other.data, scale=scale)
            needed = labels_to_decide(each.data, other.data, scale=scale)
            section = difference_section(difference, needed, share=each.share and other.share)
            return [section], {"difference": difference_json(difference), "to_decide": needed_json(needed)}
    raise ConfigError("the two runs have no labelled score in common")
