"""Commands about verdicts: people's (`label`), a run's judge against them (`agree`), several judges (`judges`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from steelyard.analysis.judges.rater_findings import held_to_people
from steelyard.analysis.judges.rater_findings_values import JudgeAgreement
from steelyard.analysis.judging_manifest import JUDGES, jury_scores_of
from steelyard.analysis.label_forms import LabelForm, counted_forms, label_form
from steelyard.analysis.numbers import count_text
from steelyard.analysis.scores.score_infos import headline_score, jury_score, rated_thing, scores_rating
from steelyard.cli import options
from steelyard.cli.live_run import print_estimate, run_suite, say_cost
from steelyard.cli.options import load_judges_file, named_run, store_option
from steelyard.cli.output import exit_code
from steelyard.errors import ConfigError, DataError, did_you_mean
from steelyard.evaluation import RunConfig, Suite
from steelyard.evaluation.judge_panel import JudgesFile, answered_samples, canary_suite, judges_suite
from steelyard.people.labels import add_labels
from steelyard.people.queues import checked_rater
from steelyard.people.review import GivenBy, read_sheet, verdict_labels
from steelyard.people.sheets import REQUIRED, read_labels, table_rows
from steelyard.report.page_runs import PageRuns
from steelyard.report.render.terminal import console, print_json, print_sections, say
from steelyard.report.run_texts import unfinished
from steelyard.report.section import Section, sentences
from steelyard.report.sections.judge_agreement import difference_section, held_to_people_parts
from steelyard.report.sections.judge_panel import checks_section, panels_section, reply_form_texts
from steelyard.stats.corrected import corrected_difference
from steelyard.stats.labels_needed import labels_to_decide
from steelyard.store import Run, Store
from steelyard.types import Label, Sample


def label(
    run: options.RunArgument,
    *,
    from_file: Annotated[
        Path,
        typer.Option(
            "--from",
            metavar="FILE",
            help="A filled-in CSV of review --csv, or a file of export --labels.",
            show_default=False,
        ),
    ],
    author: Annotated[
        str, typer.Option("--author", metavar="NAME", help="Who gives the verdicts; required for a sheet.")
    ] = "",
    kind: options.LabelKindOption = "",
    score: options.LabelScoreOption = "",
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Store people's verdicts on records from a sheet.

    The kind of verdict follows the score: letters for an exam, pass or fail, a rating, or A, B or tie for a pair. A
    sheet needs only the columns sample and verdict; one with a mistake is rejected as a whole. Records are labelled
    one by one in the browser (steelyard queue create). No score changes; --with-labels counts labels, in every run
    alike.
    """
    with Store(store) as opened:
        stored = named_run(opened, run)
        form = label_form(stored.manifest, stored.score_infos, score=score, kind=kind)
        labels = _read(stored, form, from_file, author)
        written = add_labels(opened, stored, labels)
    authors = " and ".join(dict.fromkeys(entry.author for entry in labels))
    if as_json:
        counts = {"run": stored.id, "given": len(labels), "written": written, "author": authors}
        print_json({**counts, "kind": form.kind, "name": form.name, "counted": form.counted})
        return
    _print_labels(stored, form, (labels, written), authors)


def _read(run: Run, form: LabelForm, path: Path, author: str) -> list[Label]:
    """The labels of an export, or of a sheet that `author` filled in."""
    try:
        next(table_rows(path, REQUIRED, ""), None)
    except DataError:  # a sheet of `review --csv` has other columns
        if not author.strip():
            raise ConfigError("--author NAME is missing: reports name the author of a verdict") from None
        given = GivenBy(checked_rater(author), datetime.now(UTC))
        return verdict_labels(run, read_sheet(run, path), form, given)
    return read_labels(run, path)


def _print_labels(run: Run, form: LabelForm, stored: tuple[Sequence[Label], int], authors: str) -> None:
    labels, written = stored
    same = f"; {count_text(len(labels) - written, 'verdict')} stored already" if written < len(labels) else ""
    say(console(), f"run {run.id} ({run.target}): {count_text(written, 'verdict')} by {authors} stored{same}")
    if about := _counted_scores(run, form, labels):
        say(console(), f"about {', '.join(about)}: --with-labels counts {'it' if len(about) == 1 else 'them'}")
    if not form.counted and form.kind != "text" and any(entry.name == form.name for entry in labels):
        # so that nobody expects a rate to change
        uncounted = f"labels named {form.name} are stored and exported; no score of this run counts them"
        say(console(), f"{uncounted} (--score NAME names one)")


def _counted_scores(run: Run, form: LabelForm, labels: Sequence[Label]) -> list[str]:
    """The scores that count the labels; labels from a file may belong to other scores than `form`."""
    forms = counted_forms(run.manifest, run.score_infos) | ({form.name: form} if form.counted else {})
    names = dict.fromkeys(label.name for label in labels)
    return [name for name in names if name in forms and forms[name].kind != "choice"]


def agree(
    run: options.RunArgument,
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
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Compare a run's judge with people's labels.

    Agreement, TPR and TNR, the corrected mean with its interval, and how many more labels would help. Below 30 labelled
    records there are only counts.
    """
    about: dict[str, Any] = {"score": score, "against": against, "half_width": _requested_half_width(half_width)}
    with Store(store) as opened:
        first = named_run(opened, run)
        agreements = _held_to_people(first, store, **about)
        second = named_run(opened, versus) if versus else None
        if second is not None and second.id == first.id:
            raise ConfigError(f"--versus {versus}: it is run {first.id} itself; name another run")
        others = _held_to_people(second, store, **about) if second is not None else ()
    states = [unfinished(run) for run in (first, second) if run is not None]
    sections = [Section("", notes=sentences(states, "alarm"))]
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


def _held_to_people(run: Run, store: str | None, *, score: str, **about: Any) -> tuple[JudgeAgreement, ...]:
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
    agreements = held_to_people(data, score=score, **about)
    if not agreements:
        if not columns.scores:
            raise ConfigError(
                f"run {run.id} has no score to compare with people: steelyard judges {run.id} --judges FILE"
                f"{store_option(store)} lets judges score its answers, and compares them with its labels"
            )
        raise _nobody_labelled(run, score, store)
    if (width := about["half_width"]) and width > 1 and any(agreement.share for agreement in agreements):
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


def judges(
    run: options.RunArgument,
    *,
    file: Annotated[
        Path,
        typer.Option("--judges", metavar="FILE", help="The judges: a YAML, TOML or JSON file with the key judges."),
    ],
    labelled_only: Annotated[
        bool, typer.Option("--labelled-only", help="Judge only labelled answers, which costs less.")
    ] = False,
    canary: Annotated[
        float,
        typer.Option(
            "--canary",
            metavar="SHARE",
            help="Also judge this share of the answers with an added instruction to the judge; rates ignore them.",
            min=0.0,
            max=1.0,
        ),
    ] = 0.0,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the draw of --canary.", min=0)] = 0,
    store: options.StoreOption = None,
    fresh: options.FreshOption = False,
    dry_run: options.DryRunOption = False,
    no_env: options.NoEnvOption = False,
    quiet: options.QuietOption = False,
    as_json: options.JsonOption = False,
) -> None:
    """Compare several judges on the stored answers of a run.

    Each judge's agreement with people's labels, how they differ, what they cost, the cheapest that is not worse, and
    checks of each. What it will cost is printed first; replies in the journal are not paid for again.
    """
    judges_file, values = load_judges_file(file, no_env=no_env)
    with Store(store) as opened:
        judged = _judged(named_run(opened, run))
        suites = _suites(judged, judges_file, labelled_only=labelled_only, canary=canary, seed=seed)
        if dry_run:
            print_estimate(suites, store, fresh=fresh, as_json=as_json)
            return
        for suite in () if quiet else suites:
            say_cost(suite, store, fresh=fresh)
        how = RunConfig(store=store, environment=values, fresh=fresh)
        runs = [run_suite(suite, how, quiet=quiet)[0] for suite in suites]
        _print_judges(judged, runs, store, as_json=as_json)
    worst = max(exit_code(judges_run.state) for judges_run in runs)
    if worst:
        raise typer.Exit(worst)


def _judged(run: Run) -> Run:
    """Return `run` if its answers can be judged.

    Raises:
        ConfigError: it is itself a run of judges, or still running.
    """
    if run.kind == JUDGES:
        raise ConfigError(f"run {run.id} is itself a run of judges: name the run whose answers it judges")
    if run.state == "running":
        raise ConfigError(f"run {run.id} is still running")
    return run


def _suites(judged: Run, file: JudgesFile, *, labelled_only: bool, canary: float, seed: int) -> list[Suite]:
    """The suite of the judges and, with --canary, the suite of the altered answers.

    Raises:
        ConfigError: there is no answer to judge, or no label.
    """
    samples: list[Sample] = answered_samples(judged)
    if labelled_only:
        labelled = {label.sample for label in judged.labels()}
        samples = [sample for sample in samples if sample.id in labelled]
    if not samples:
        what = "labelled answer" if labelled_only else "answer"
        raise ConfigError(f"run {judged.id} has no {what} to judge")
    suites = [judges_suite(judged, file, samples)]
    return [*suites, canary_suite(judged, file, samples, share=canary, seed=seed)] if canary else suites


def _print_judges(judged: Run, runs: Sequence[Run], store: str | None, *, as_json: bool) -> None:
    summary = runs[0].summary()
    plain: dict[str, Any] = {
        "run": judged.id,
        "judges_run": runs[0].id,
        "canary_run": runs[1].id if len(runs) > 1 else None,
        "panels": summary.raters.panels,
        "checks": summary.raters.checks,
    }
    if as_json:
        print_json(plain)
        return
    forms = Section("", notes=sentences(reply_form_texts(summary)))
    runs_shown = PageRuns([summary], ("",))
    print_sections(console(), [forms, checks_section(runs_shown), panels_section(runs_shown)])
    typer.echo(f"\nverdicts of all judges: steelyard show {runs[0].id}{store_option(store)}", err=True)
