"""Commands that run a configuration (`run`), resume its runs (`resume`), or score stored outputs again (`rescore`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from steelyard.analysis.conditions import parse_condition
from steelyard.cli.estimates import print_estimate
from steelyard.cli.exit_codes import BROKEN, INTERRUPTED, UNDECIDED
from steelyard.cli.generate_command import resume_generate
from steelyard.cli.live_run import run_suite
from steelyard.cli.options import (
    AllowCommandsOption,
    ConfigArgument,
    DryRunOption,
    FreshOption,
    FullOption,
    HtmlOption,
    JsonOption,
    JUnitOption,
    MarkdownOption,
    NoEnvOption,
    QuietOption,
    RunArgument,
    SkipBadOption,
    StoreOption,
    TrustStoreOption,
    UnsafeCodeOption,
    UnsafeSqlOption,
    WorkersOption,
    WorkingDirOption,
    load_config,
    named_run,
)
from steelyard.cli.outcome import evaluate_runs, print_outcome, write_pages
from steelyard.cli.output import check_writable, while_read
from steelyard.cli.stored_configuration import load_own, reload, scorers_of
from steelyard.config.load import Loaded
from steelyard.constraints import check_options
from steelyard.errors import ConfigError
from steelyard.evaluation import RunConfig
from steelyard.evaluation.objects import with_chosen
from steelyard.evaluation.rescore import ScoresElsewhere, changed_readings, with_reading
from steelyard.evaluation.rescore import rescore as score_again
from steelyard.evaluation.survey import check_stop, notes_of
from steelyard.report.render.terminal import console, print_json, print_sections, say
from steelyard.report.sections.gate import check_before
from steelyard.report.sections.rescored import changed_readings_section, rescored_section
from steelyard.sql.sandbox import permits_of
from steelyard.store import Run, Store
from steelyard.store.reading.pages import matching_records
from steelyard.workers.executors import executor_of, named_executor

ConfigOption = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="The configuration, if its file has moved.")
]


def run(
    config: ConfigArgument,
    store: StoreOption = None,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", help="Only the first N samples.", min=1)] = None,
    skip_bad: SkipBadOption = False,
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
    fresh: FreshOption = False,
    stop_when_decided: Annotated[
        str,
        typer.Option(
            "--stop-when-decided",
            metavar="FOR",
            help="Stop early once the result is decided: for the full dataset (full) or for the population behind it "
            "(population).",
        ),
    ] = "",
    dry_run: DryRunOption = False,
    workers: WorkersOption = "",
    working_dir: WorkingDirOption = None,
    unsafe_sql: UnsafeSqlOption = False,
    allow_commands: AllowCommandsOption = False,
    unsafe_code: UnsafeCodeOption = False,
    no_env: NoEnvOption = False,
    quiet: QuietOption = False,
    full: FullOption = False,
    as_json: JsonOption = False,
    html: HtmlOption = None,
    markdown: MarkdownOption = None,
    junit: JUnitOption = None,
) -> None:
    """Evaluate every target of a configuration and compare them."""
    load = load_config if dry_run else load_own
    loaded = load(config, no_env=no_env, limit=limit, skip_bad=skip_bad, sends=not dry_run)
    loaded, chosen = _choose(loaded, _choice(only, from_run), store)
    if stop_when_decided:
        loaded = _with_stop_rule(loaded, question=stop_when_decided)
    if not quiet:
        _say_notes(loaded)
    if dry_run:
        print_estimate([loaded.suite], store, fresh=fresh, as_json=as_json)
        return
    outlet = _Outlet(store, full, as_json, html, markdown, junit)
    outlet.check()
    check_before(loaded.suite.gate, loaded.suite.targets, store)
    allowed = _allowed(unsafe_sql, allow_commands, unsafe_code)
    run_config = _run_config(loaded, store, chosen, workers=(workers, working_dir), fresh=fresh, **allowed)
    outlet.finish(run_suite(loaded.suite, run_config, quiet=quiet), loaded.suite.gate.get("baseline", ""))


def resume(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="A run of the evaluation; the newest unfinished one by default.")
    ] = "",
    store: StoreOption = None,
    config: ConfigOption = None,
    trust_store: TrustStoreOption = False,
    allow_changed: Annotated[
        bool, typer.Option("--allow-changed", help="Resume even if inputs have changed since the start.")
    ] = False,
    workers: WorkersOption = "",
    working_dir: WorkingDirOption = None,
    unsafe_sql: UnsafeSqlOption = False,
    allow_commands: AllowCommandsOption = False,
    unsafe_code: UnsafeCodeOption = False,
    no_env: NoEnvOption = False,
    quiet: QuietOption = False,
    full: FullOption = False,
    as_json: JsonOption = False,
    html: HtmlOption = None,
    markdown: MarkdownOption = None,
    junit: JUnitOption = None,
) -> None:
    """Resume interrupted or failed runs.

    Questions that were answered are not sent again.
    """
    outlet = _Outlet(store, full, as_json, html, markdown, junit)
    outlet.check()
    with Store(store) as opened:
        unfinished = named_run(opened, run) if run else _unfinished(opened.runs())
        together = opened.runs_of(unfinished.evaluation)
    if all(member.state == "finished" for member in together):
        typer.echo(f"nothing to resume: run {unfinished.id} is finished{_failed(together)}", err=True)
        outlet.finish(together)
    trust = {"trust_store": trust_store, "no_env": no_env}
    if unfinished.kind == "generate":
        resume_generate(unfinished, store=store, allow_changed=allow_changed, quiet=quiet, as_json=as_json, **trust)
    loaded = _with_stop_rule(reload(unfinished, config, **trust), **_stored_stop_rule(unfinished))
    loaded, chosen = _choose(loaded, (unfinished.manifest["config"] or {}).get("chosen", {}), store)
    run_config = _run_config(
        loaded,
        store,
        chosen,
        workers=(workers, working_dir),
        resume=unfinished.id,
        allow_changed=allow_changed,
        **_allowed(unsafe_sql, allow_commands, unsafe_code),
    )
    outlet.finish(run_suite(loaded.suite, run_config, quiet=quiet), loaded.suite.gate.get("baseline", ""))


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
    run: RunArgument,
    store: StoreOption = None,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="Take the scorers from this file, not from the run.")
    ] = None,
    trust_store: TrustStoreOption = False,
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
    working_dir: WorkingDirOption = None,
    unsafe_sql: UnsafeSqlOption = False,
    allow_commands: AllowCommandsOption = False,
    unsafe_code: UnsafeCodeOption = False,
    no_env: NoEnvOption = False,
    as_json: JsonOption = False,
) -> None:
    """Score stored outputs again without calling any model.

    The replies of judges are taken from the journal.
    """
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
        typer.echo(f"{damaged} records are damaged in the store and have no score now", err=True)


def _scores_elsewhere(
    workers: str, working_dir: Path | None, store: str | None, environment: Mapping[str, str]
) -> ScoresElsewhere | None:
    """What scores in other processes; None where no workers were asked for."""
    if not workers and working_dir is None:
        return None
    return partial(named_executor(workers, working_dir).score, store, environment)


@dataclass(frozen=True, slots=True)
class _Outlet:
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


def _allowed(*given: bool) -> dict[str, bool]:
    """The options that allow what is not confined, as `RunConfig` names them."""
    return dict(zip(("unsafe_sql", "allow_commands", "unsafe_code"), given, strict=True))


def _run_config(
    loaded: Loaded, store: str | None, chosen: Mapping[str, str], *, workers: tuple[str, Path | None], **options: Any
) -> RunConfig:
    if any(workers):
        options["executor"] = executor_of(*workers)

    config = {"path": str(loaded.path.absolute()), "plain": loaded.plain} | ({"chosen": chosen} if chosen else {})
    return RunConfig(store=store, environment=loaded.environment, config=config, **options)


def _say_notes(loaded: Loaded) -> None:
    """Print warnings about the samples before any call is paid for: skipped rows, a template that does not fit."""
    to = console(stderr=True)
    for note in notes_of(loaded.suite):
        say(to, f"note: {note}")


def _with_stop_rule(loaded: Loaded, **rule: Any) -> Loaded:
    """The configuration with fields of its stopping rule replaced.

    Raises:
        ConfigError: the rule cannot be applied to this suite.
    """
    options = loaded.suite.options
    options = replace(options, stop_when_decided=replace(options.stop_when_decided, **rule))
    check_options(options.stop_when_decided)
    suite = replace(loaded.suite, options=options)
    check_stop(suite)
    return replace(loaded, suite=suite)


def _stored_stop_rule(run: Run) -> dict[str, Any]:
    """The stopping question at the start of the run: it may come from the command line, not the configuration."""
    rule = run.manifest["options"].get("stop_when_decided") or {}
    question = rule.get("question") if isinstance(rule, Mapping) else None
    return {"question": question} if isinstance(question, str) else {}


def _choice(only: str, run: str) -> dict[str, str]:
    """`--only` and `--from` as a manifest stores them; empty if neither is given.

    Raises:
        ConfigError: only one of the two is set.
    """
    if bool(only) != bool(run):
        missing = "--from RUN: in which run" if only else "--only EXPR: which of its samples"
        raise ConfigError(f"--only and --from go together; add {missing}")
    return {"only": only, "from": run} if only else {}


def _choose(loaded: Loaded, choice: Mapping[str, str], store: str | None) -> tuple[Loaded, dict[str, Any]]:
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


def _unfinished(runs: Sequence[Run]) -> Run:
    """The newest run that can be resumed; if none can, the newest of all."""
    if not runs:
        raise ConfigError("the store holds no runs")
    return next((run for run in runs if run.state in {"interrupted", "broken"}), runs[0])


def _failed(runs: Sequence[Run]) -> str:
    """Advice on samples of finished runs that ended in an error."""
    errors = sum(run.errors for run in runs)
    return f"; to send what failed again ({errors}), run its configuration once more" if errors else ""
