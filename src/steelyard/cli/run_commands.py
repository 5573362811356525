"""Commands that evaluate: `run` a configuration, and `rescore` stored outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from steelyard.analysis.conditions import parse_condition
from steelyard.analysis.numbers import count_text
from steelyard.cli import options
from steelyard.cli.live_run import print_estimate, run_suite
from steelyard.cli.options import load_config, named_run
from steelyard.cli.outcome import evaluate_runs, print_outcome, write_pages
from steelyard.cli.output import BROKEN, INTERRUPTED, UNDECIDED, check_writable, while_read
from steelyard.cli.stored_configuration import load_own, scorers_of
from steelyard.config.load import Loaded
from steelyard.constraints import check_options
from steelyard.errors import ConfigError
from steelyard.evaluation import RunConfig
from steelyard.evaluation.objects import with_chosen
from steelyard.evaluation.rescore import ScoresElsewhere
from steelyard.evaluation.rescore import rescore as score_again
from steelyard.evaluation.survey import check_stop, notes_of
from steelyard.report.render.terminal import console, print_json, print_sections, say
from steelyard.report.sections.changed_scores import changed_readings_section, rescored_section
from steelyard.report.sections.gate import check_before
from steelyard.sql.sandbox import permits_of
from steelyard.store import Run, Store
from steelyard.store.reading.pages import matching_records
from steelyard.workers.executors import executor_of, named_executor


def run(
    config: options.ConfigArgument,
    store: options.StoreOption = None,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", help="Only the first N samples.", min=1)] = None,
    skip_bad: options.SkipBadOption = False,
    only: Annotated[
        str,
        typer.Option(
            "--only",
            metavar="EXPR",
            help="With --from: only samples that were failed, wrong, errors, unparsed, group=...; the syntax of "
            "collect --where.",
        ),
    ] = "",
    from_run: Annotated[str, typer.Option("--from", metavar="RUN", help="The earlier run that --only refers to.")] = "",
    fresh: options.FreshOption = False,
    stop_when_decided: Annotated[
        str,
        typer.Option(
            "--stop-when-decided",
            metavar="FOR",
            help="Stop early once the result is decided: for the full dataset (full) or for the population behind it "
            "(population).",
        ),
    ] = "",
    dry_run: options.DryRunOption = False,
    workers: options.WorkersOption = "",
    working_dir: options.WorkingDirOption = None,
    unsafe_sql: options.UnsafeSqlOption = False,
    allow_commands: options.AllowCommandsOption = False,
    unsafe_code: options.UnsafeCodeOption = False,
    no_env: options.NoEnvOption = False,
    quiet: options.QuietOption = False,
    full: options.FullOption = False,
    as_json: options.JsonOption = False,
    html: options.HtmlOption = None,
    markdown: options.MarkdownOption = None,
    junit: options.JUnitOption = None,
) -> None:
    """Evaluate every target of a configuration and compare them."""
    load = load_config if dry_run else load_own
    loaded = load(config, no_env=no_env, limit=limit, skip_bad=skip_bad, sends=not dry_run)
    loaded, chosen = choose_samples(loaded, _choice(only, from_run), store)
    if stop_when_decided:
        loaded = with_stop_rule(loaded, question=stop_when_decided)
    if not quiet:
        _say_notes(loaded)
    if dry_run:
        print_estimate([loaded.suite], store, fresh=fresh, as_json=as_json)
        return
    outlet = Outlet(store, full, as_json, html, markdown, junit)
    outlet.check()
    check_before(loaded.suite.gate, loaded.suite.targets, store)
    how = {"fresh": fresh, **allowed(unsafe_sql, allow_commands, unsafe_code)}
    run_config = run_config_of(loaded, store, chosen, workers=(workers, working_dir), **how)
    outlet.finish(run_suite(loaded.suite, run_config, quiet=quiet), loaded.suite.gate.get("baseline", ""))


@dataclass(frozen=True, slots=True)
class Outlet:
    """Where results go: standard output, as a table or as JSON, and report files."""

    store: str | None
    full: bool
    as_json: bool
    html: Path | None
    markdown: Path | None
    junit: Path | None

    def check(self) -> None:
        """Reject a file that cannot be written, before any call is paid for."""
        check_writable(self.html, self.markdown, self.junit)

    def finish(self, runs: Sequence[Run], baseline: Any = "") -> NoReturn:
        """Print and write the results, then exit with the code of the runs, also if the output has no reader.

        Args:
            runs: of one evaluation.
            baseline: as the configuration that was run names it; its file may be opened.
        """
        outcome = evaluate_runs(runs, baseline=str(baseline))
        with while_read():
            print_outcome(outcome, as_json=self.as_json, store=self.store, full=self.full)
        write_pages(outcome, html=self.html, markdown=self.markdown, junit=self.junit)
        if any(run.state == "broken" for run in runs):
            raise typer.Exit(BROKEN)
        if any(run.state != "finished" for run in runs):
            raise typer.Exit(INTERRUPTED)
        code = outcome.gate.exit_code if outcome.gate else 0
        if not code and (empty := [summary.target for summary in outcome.summaries if summary.is_without_verdict]):
            typer.echo(f"nothing was scored for {', '.join(empty)}: no scorer gave a single verdict", err=True)
            raise typer.Exit(UNDECIDED)
        raise typer.Exit(code)


def allowed(*given: bool) -> dict[str, bool]:
    """The options that allow what is not confined, as `RunConfig` names them."""
    return dict(zip(("unsafe_sql", "allow_commands", "unsafe_code"), given, strict=True))


def run_config_of(
    loaded: Loaded, store: str | None, chosen: Mapping[str, str], *, workers: tuple[str, Path | None], **how: Any
) -> RunConfig:
    """How a configuration is run.

    Args:
        loaded: the configuration.
        store: where its runs go.
        chosen: see `choose_samples`.
        workers: what `--workers` and `--working-dir` say.
        **how: further fields.
    """
    if any(workers):
        how["executor"] = executor_of(*workers)

    config = {"path": str(loaded.path.absolute()), "plain": loaded.plain} | ({"chosen": chosen} if chosen else {})
    return RunConfig(store=store, environment=loaded.environment, config=config, **how)


def _say_notes(loaded: Loaded) -> None:
    """Print warnings about the samples before any call is paid for: skipped rows, a template that does not fit."""
    to = console(stderr=True)
    for note in notes_of(loaded.suite):
        say(to, f"note: {note}")


def with_stop_rule(loaded: Loaded, **rule: Any) -> Loaded:
    """The configuration with fields of its stopping rule replaced.

    Raises:
        ConfigError: the rule cannot be applied to this suite.
    """
    run_options = loaded.suite.options
    stop_rule = replace(run_options.stop_when_decided, **rule)
    check_options(stop_rule)
    suite = replace(loaded.suite, options=replace(run_options, stop_when_decided=stop_rule))
    check_stop(suite)
    return replace(loaded, suite=suite)


def _choice(only: str, run: str) -> dict[str, str]:
    """`--only` and `--from` as a manifest stores them; empty if neither is given.

    Raises:
        ConfigError: only one of the two is set.
    """
    if bool(only) != bool(run):
        missing = "--from RUN: in which run" if only else "--only EXPR: which of its samples"
        raise ConfigError(f"--only and --from go together; add {missing}")
    return {"only": only, "from": run} if only else {}


def choose_samples(loaded: Loaded, choice: Mapping[str, str], store: str | None) -> tuple[Loaded, dict[str, Any]]:
    """The configuration with the chosen samples only, and the choice with the run's id in place of its name.

    Args:
        loaded: the configuration.
        choice: as `_choice` returns it; an empty one chooses all samples.
        store: where the earlier run is.

    Raises:
        ConfigError: there is no such run, the condition is malformed, or no sample meets it.
    """
    if not choice:
        return loaded, {}
    with Store(store) as opened:
        earlier = named_run(opened, choice["from"])
        condition = parse_condition(choice["only"], earlier.manifest)
        ids = frozenset(record.sample.id for _, record in matching_records(earlier, condition))
    if not ids:
        raise ConfigError(f"no sample of run {earlier.id} ({earlier.target}) matches: {choice['only']}")
    suite = with_chosen(loaded.suite, ids, f"{choice['only']} in run {earlier.id} ({earlier.target})")
    return replace(loaded, suite=suite), {**choice, "from": earlier.id}


_RuleOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Parse exam replies by another rule: steelyard, strict_only_letter, last_letter, first_option.",
    ),
]
_PatternOption = Annotated[
    str | None,
    typer.Option(
        metavar="REGEX",
        help="Parse exam replies by your own pattern with a group (?P<answer>...), by the rule where it does not "
        "match; '' is none.",
    ),
]


def rescore(
    run: options.RunArgument,
    store: options.StoreOption = None,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="Take the scorers from this file, not from the run.")
    ] = None,
    trust_store: options.TrustStoreOption = False,
    rule: _RuleOption = None,
    pattern: _PatternOption = None,
    workers: Annotated[
        str,
        typer.Option(
            "--workers",
            metavar="N|ray|ray://HOST:PORT",
            help="Score in N processes, or on Ray, which needs a PostgreSQL store.",
        ),
    ] = "",
    working_dir: options.WorkingDirOption = None,
    unsafe_sql: options.UnsafeSqlOption = False,
    allow_commands: options.AllowCommandsOption = False,
    unsafe_code: options.UnsafeCodeOption = False,
    no_env: options.NoEnvOption = False,
    as_json: options.JsonOption = False,
) -> None:
    """Score stored outputs again without calling any model.

    The replies of judges are taken from the journal.
    """
    from steelyard.evaluation.choice_readings import changed_readings, with_reading  # a run has no use for it

    with Store(store) as opened:
        stored = named_run(opened, run)
        scorers, environment = scorers_of(stored, config, no_env=no_env, trust_store=trust_store)
        reading = {name: value for name, value in (("rule", rule), ("pattern", pattern)) if value is not None}
        scored, damaged = score_again(
            opened,
            stored,
            with_reading(scorers, **reading) if reading else scorers,
            unsafe_sql=unsafe_sql,
            permits=permits_of(allow_commands=allow_commands, unsafe_code=unsafe_code),
            elsewhere=_scores_elsewhere(workers, working_dir, store, environment),
        )
        before, after = stored.summary(), scored.summary()
        changed, readings = scored.changed_verdicts(stored), changed_readings(stored, scored)
    if as_json:
        counts = {"changed": changed, "readings": [reading._asdict() for reading in readings], "damaged": damaged}
        print_json({"before": before, "after": after, **counts})
        return
    to = console()
    say(to, f"run {stored.id} ({stored.target}), scored again without a call:")
    details = [changed_readings_section(readings)] if readings else []
    print_sections(to, [rescored_section(before, after, changed), *details])
    if damaged:
        typer.echo(f"without a score now, as they are damaged in the store: {count_text(damaged, 'record')}", err=True)


def _scores_elsewhere(
    workers: str, working_dir: Path | None, store: str | None, environment: Mapping[str, str]
) -> ScoresElsewhere | None:
    """What scores in other processes; None where no workers were asked for."""
    if not workers and working_dir is None:
        return None
    return partial(named_executor(workers, working_dir).score, store, environment)
