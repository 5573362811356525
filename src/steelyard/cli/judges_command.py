"""The command `judges`: scores stored answers with several judges and compares each judge with people's labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from steelyard.analysis.judging_manifest import JUDGES
from steelyard.cli.estimates import print_estimate, say_cost
from steelyard.cli.exit_codes import exit_code
from steelyard.cli.live_run import run_suite
from steelyard.cli.options import (
    DryRunOption,
    FreshOption,
    JsonOption,
    NoEnvOption,
    QuietOption,
    RunArgument,
    StoreOption,
    load_judges_file,
    named_run,
    store_option,
)
from steelyard.errors import ConfigError
from steelyard.evaluation import RunConfig, Suite
from steelyard.evaluation.judge_panel import JudgesFile, answered_samples, canary_suite, judges_suite
from steelyard.report.render.terminal import console, print_json, print_sections
from steelyard.report.section import Section, sentences
from steelyard.report.sections.judge_panel import checks_section, panels_section, reply_form_texts
from steelyard.store import Run, Store
from steelyard.types import Sample


def judges(
    run: RunArgument,
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
    store: StoreOption = None,
    fresh: FreshOption = False,
    dry_run: DryRunOption = False,
    no_env: NoEnvOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
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
        _print(judged, runs, store, as_json=as_json)
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


def _print(judged: Run, runs: Sequence[Run], store: str | None, *, as_json: bool) -> None:
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
    forms = Section("", notes=tuple(sentences(reply_form_texts(summary))))
    print_sections(console(), [forms, checks_section([summary], [""]), panels_section([summary], [""])])
    typer.echo(f"\nverdicts of all judges: steelyard show {runs[0].id}{store_option(store)}", err=True)
