"""The command `diagnose`: shows what is installed and where each setting comes from, and probes the endpoints."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from steelyard.analysis.numbers import count_text
from steelyard.cli import options
from steelyard.cli.live_run import run_with_cost
from steelyard.cli.options import load_config, model_and_config
from steelyard.cli.output import BROKEN
from steelyard.config.effective import settings
from steelyard.config.load import Loaded
from steelyard.errors import ConfigError, SteelyardError
from steelyard.escaping import visible
from steelyard.evaluation.capabilities import capabilities_suite
from steelyard.evaluation.probe import cost_line, not_probed, plan_probes, send_probes
from steelyard.evaluation.survey import prices_of
from steelyard.report.render.terminal import print_json
from steelyard.store import Store
from steelyard.store.database.address import locate

_EXTRAS: Final = {
    "duckdb": "duckdb",
    "hf": "datasets",
    "langchain": "langchain-core",
    "litellm": "litellm",
    "llamaindex": "llama-index-core",
    "parquet": "pyarrow",
    "postgres": "psycopg",
    "xlsx": "openpyxl",
}
"""Extra -> the package whose version is shown for it."""
_LONGEST: Final = 60
"""Maximum number of characters shown of a setting's value."""


def diagnose(
    config: Annotated[
        Path | None, typer.Argument(metavar="CONFIG", help="A configuration; without one, only versions are shown.")
    ] = None,
    store: options.StoreOption = None,
    capabilities: Annotated[
        Path | None,
        typer.Option("--capabilities", metavar="FILE", help="Find out what the endpoint of a model's file can do."),
    ] = None,
    no_probe: Annotated[bool, typer.Option("--no-probe", help="Call no endpoint.")] = False,
    no_env: options.NoEnvOption = False,
    as_json: options.JsonOption = False,
) -> int:
    """Show the settings in effect and their origin; probe endpoints.

    API keys are shown by name. Each address is probed once per model or knowledge base used there, with one short call
    that has the parameters of the judges; an endpoint that is a target itself gets the first sample. The number of
    probes and their cost are shown before they are sent. Nothing is stored, and your own engines are not built. Exit
    code 4 if an endpoint does not answer.

    With --capabilities and a file whose one key is `model`, at most six calls find out whether its endpoint gives
    structured output, log probabilities, equal replies to equal seeds and calls of tools, sees images, and says its
    context length. What was found is kept as a run of the store.
    """
    if capabilities is not None:
        return _capabilities(capabilities, store, no_env=no_env, as_json=as_json)
    loaded = load_config(config, no_env=no_env) if config is not None else None
    suite = None if loaded is None else loaded.suite
    planned = plan_probes(suite) if suite is not None and not no_probe else []
    prices = prices_of(suite) if suite is not None else None
    environment = {} if loaded is None else loaded.environment
    if as_json:
        if planned:
            typer.echo(visible(cost_line(planned, prices)), err=True)
        probes = send_probes(planned, environment, prices)
        print_json({"installed": _installed(), "store": _store(store), **_settings(loaded), "probes": probes})
        return 0 if all(probe.answered for probe in probes) else BROKEN
    for line in _lines(loaded, store):
        typer.echo(visible(line))
    if planned:
        typer.echo(visible(f"\n{cost_line(planned, prices)}"))
    probes = send_probes(planned, environment, prices)
    for probe in probes:
        typer.echo(visible(probe.line()))
    for name in not_probed(suite) if suite is not None and not no_probe else ():
        typer.echo(visible(f"{name} is not probed: it is your own code, which only `run` executes"))
    return 0 if all(probe.answered for probe in probes) else BROKEN


def _capabilities(file: Path, store: str | None, *, no_env: bool, as_json: bool) -> int:
    """Find out what the endpoint of a model can do, and keep it as a run."""
    model, how = model_and_config(("", "", ""), file, store, fresh=False, no_env=no_env)
    assert model is not None  # noqa: S101  # the file is given
    (run,) = run_with_cost(capabilities_suite(model), how=how)
    record = next(iter(run.records()), None)
    found = record.output.value if record is not None and record.output is not None else {}
    failure = "" if record is None or record.failure is None else record.failure.message
    if as_json:
        print_json({"run": run.id, "capabilities": found, "failure": failure or run.reason})
    else:
        for name, verdict in found.items():
            typer.echo(visible(f"{name}: {verdict}"))
        typer.echo(visible(f"kept as run {run.id}" if found else f"nothing was found out: {failure or run.reason}"))
    return 0 if found else BROKEN


def _installed() -> dict[str, str]:
    """Part -> its version; "" for an extra that is not installed."""
    from importlib import metadata

    versions = {"steelyard": sys.modules["steelyard"].__version__, "python": platform.python_version()}
    versions["system"] = f"{platform.system()} {platform.machine()}"
    for extra, package in _EXTRAS.items():
        try:
            versions[f"extra {extra}"] = f"{package} {metadata.version(package)}"
        except metadata.PackageNotFoundError:
            versions[f"extra {extra}"] = ""
    return versions


def _store(where: str | None) -> dict[str, Any]:
    """Where the store is and how many runs it holds; None if there is no store or it cannot be read."""
    try:
        with Store(where) as opened:
            return {"where": str(opened.path), "runs": len(opened.runs())}
    except SteelyardError as error:
        return {"where": _address(where), "runs": None, "problem": str(error)}


def _address(where: str | None) -> str:
    """Where a store would be, without a password; "" if the address is malformed."""
    try:
        return str(locate(where))
    except ConfigError:
        return ""


def _settings(loaded: Loaded | None) -> dict[str, Any]:
    if loaded is None:
        return {}
    effective = settings(loaded.described, loaded.tree)
    return {
        "settings": [{"key": entry.key, "value": entry.value, "origin": entry.origin} for entry in effective],
        "references": {name: "environment" if os.environ.get(name) else ".env" for name in sorted(loaded.environment)},
    }


def _lines(loaded: Loaded | None, store: str | None) -> Iterator[str]:
    for name, version in _installed().items():
        yield f"{name}: {version or 'not installed'}"
    where = _store(store)
    yield (
        f"store: {where['problem']}"
        if where["runs"] is None
        else f"store: {where['where']}, {count_text(where['runs'], 'run')}"
    )
    if loaded is None:
        return
    in_effect = _settings(loaded)
    yield f"\n{loaded.path}: suite {loaded.suite.kind}"
    for entry in in_effect["settings"]:
        value = json.dumps(entry["value"], ensure_ascii=False)
        value = value if len(value) <= _LONGEST else f"{value[:_LONGEST]}..."
        yield f"  {entry['key']} = {value}  [{entry['origin']}]"
    for name, origin in in_effect["references"].items():
        yield f"  ${{{name}}} has a value  [{origin}]"
