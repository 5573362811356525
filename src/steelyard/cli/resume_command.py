"""The command that resumes interrupted and failed runs (`resume`), also those that generate questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from steelyard.cli import options
from steelyard.cli.generate_command import resume_generate
from steelyard.cli.live_run import run_suite
from steelyard.cli.options import named_run
from steelyard.cli.run_commands import Outlet, allowed, choose_samples, run_config_of, with_stop_rule
from steelyard.cli.stored_configuration import reload
from steelyard.errors import ConfigError
from steelyard.store import Run, Store

ConfigOption = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="The configuration, if its file has moved.")
]


def resume(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="A run of the evaluation; the newest unfinished one by default.",
            autocompletion=options.names_of_runs,
        ),
    ] = "",
    store: options.StoreOption = None,
    config: ConfigOption = None,
    trust_store: options.TrustStoreOption = False,
    allow_changed: Annotated[
        bool, typer.Option("--allow-changed", help="Resume even if inputs have changed since the start.")
    ] = False,
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
    """Resume interrupted or failed runs.

    Questions that were answered are not sent again.
    """
    outlet = Outlet(store, full, as_json, html, markdown, junit)
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
    loaded = with_stop_rule(reload(unfinished, config, **trust), **_stored_stop_rule(unfinished))
    loaded, chosen = choose_samples(loaded, (unfinished.manifest["config"] or {}).get("chosen", {}), store)
    run_config = run_config_of(
        loaded,
        store,
        chosen,
        workers=(workers, working_dir),
        resume=unfinished.id,
        allow_changed=allow_changed,
        **allowed(unsafe_sql, allow_commands, unsafe_code),
    )
    outlet.finish(run_suite(loaded.suite, run_config, quiet=quiet), loaded.suite.gate.get("baseline", ""))


def _stored_stop_rule(run: Run) -> dict[str, Any]:
    """The stopping question at the start of the run: it may come from the command line, not the configuration."""
    rule = run.manifest["options"].get("stop_when_decided") or {}
    question = rule.get("question") if isinstance(rule, Mapping) else None
    return {"question": question} if isinstance(question, str) else {}


def _unfinished(runs: Sequence[Run]) -> Run:
    """The newest run that can be resumed; if none can, the newest of all."""
    if not runs:
        raise ConfigError("the store holds no runs")
    return next((run for run in runs if run.state in {"interrupted", "broken"}), runs[0])


def _failed(runs: Sequence[Run]) -> str:
    """Advice on samples of finished runs that ended in an error."""
    errors = sum(run.errors for run in runs)
    return f"; to send what failed again ({errors}), run its configuration once more" if errors else ""
