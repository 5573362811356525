"""The command `diagnose`: what is installed, what is configured and from where, and whether endpoints answer."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from steelyard.cli.options import JsonOption, NoEnvOption, StoreOption

if TYPE_CHECKING:
    from steelyard.cli.probing import Probe
    from steelyard.config.load import Loaded

_BROKEN: Final = 4
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
_LONGEST: Final = 60


def diagnose(
    config: Annotated[
        Path | None, typer.Argument(metavar="[CONFIG]", help="A configuration; without one, only what is installed.")
    ] = None,
    store: StoreOption = None,
    no_probe: Annotated[bool, typer.Option("--no-probe", help="Call no endpoint.")] = False,
    no_env: NoEnvOption = False,
    as_json: JsonOption = False,
) -> int:
    """Show what is in effect and from where; probe endpoints.

    Keys are shown by name. A probe is one short call, which an endpoint may charge for; nothing of it is stored. Exit
    code 4 where an endpoint does not answer.
    """
    from steelyard.cli.probing import probe_all
    from steelyard.cli.tables import print_json
    from steelyard.text.inert import visible

    loaded = _load(config, use_dotenv=not no_env) if config is not None else None
    probes = probe_all(loaded.suite, loaded.environment) if loaded is not None and not no_probe else []
    if as_json:
        print_json({"installed": _installed(), "store": _store(store), **_about(loaded), "probes": _plain(probes)})
    else:
        for line in _lines(loaded, store, probes):
            typer.echo(visible(line))
    return 0 if all(one.answered for one in probes) else _BROKEN


def _load(path: Path, *, use_dotenv: bool) -> Loaded:
    from steelyard.config.load import load

    return load(path, environ=os.environ, use_dotenv=use_dotenv)


def _installed() -> dict[str, str]:
    """What is installed: versions, "" for an extra that is not."""
    found = {"steelyard": sys.modules["steelyard"].__version__, "python": platform.python_version()}
    found["system"] = f"{platform.system()} {platform.machine()}"
    for extra, package in _EXTRAS.items():
        try:
            found[f"extra {extra}"] = f"{package} {metadata.version(package)}"
        except metadata.PackageNotFoundError:
            found[f"extra {extra}"] = ""
    return found


def _store(where: str | None) -> dict[str, Any]:
    """Where the store is, and how many runs it holds; None where there is no store yet."""
    from steelyard.errors import SteelyardError
    from steelyard.store import Store

    try:
        with Store(where) as opened:
            return {"where": str(opened.path), "runs": len(opened.runs())}
    except SteelyardError as error:
        return {"where": _address(where), "runs": None, "problem": str(error)}


def _address(where: str | None) -> str:
    """Where a store would be, without a password; "" where that is no address."""
    from steelyard.errors import ConfigError
    from steelyard.store.address import locate

    try:
        return str(locate(where))
    except ConfigError:
        return ""


def _about(loaded: Loaded | None) -> dict[str, Any]:
    if loaded is None:
        return {}
    from steelyard.config.effective import settings

    found = settings(loaded.described, loaded.tree)
    return {
        "settings": [{"key": one.key, "value": one.value, "origin": one.origin} for one in found],
        "references": {name: _origin_of(name) for name in sorted(loaded.environment)},
    }


def _origin_of(name: str) -> str:
    return "environment" if os.environ.get(name) else ".env"


def _plain(probes: list[Probe]) -> list[dict[str, Any]]:
    names = ("endpoint", "asks", "answered", "seconds", "what")
    return [{name: getattr(one, name) for name in names} for one in probes]


def _lines(loaded: Loaded | None, store: str | None, probes: list[Probe]) -> Iterator[str]:
    for name, version in _installed().items():
        yield f"{name}: {version or 'not installed'}"
    kept = _store(store)
    yield f"store: {kept['where']}, {kept['runs']} runs" if kept["runs"] is not None else f"store: {kept['problem']}"
    if loaded is None:
        return
    about = _about(loaded)
    yield f"\n{loaded.path}: suite {loaded.suite.kind}"
    for one in about["settings"]:
        value = json.dumps(one["value"], ensure_ascii=False)
        shown = value if len(value) <= _LONGEST else f"{value[:_LONGEST]}..."
        yield f"  {one['key']} = {shown}  [{one['origin']}]"
    for name, origin in about["references"].items():
        yield f"  ${{{name}}} has a value  [{origin}]"
    for probe in probes:
        yield probe.line()
