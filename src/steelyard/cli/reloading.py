"""The configuration that a stored run came from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.errors import ConfigError

if TYPE_CHECKING:
    from steelyard.config.load import Loaded
    from steelyard.store import Run


def reload_config(run: Run, config: Path | None, *, use_dotenv: bool) -> Loaded:
    """The configuration that a run came from: the file given, the file it was read from, or the stored copy."""
    from steelyard.config.load import load, load_plain

    if run.kind in {"generate", "review"}:
        raise ConfigError(f"run {run.id} was made by steelyard {run.kind}; type the command that made it again")
    kept = run.manifest.get("config")
    if config is not None:
        return load(config, environ=os.environ, use_dotenv=use_dotenv)
    if kept is None:
        raise ConfigError(f"run {run.id} was started from Python: pass resume={run.id!r} to evaluate() there")
    path = Path(kept["path"])
    if path.is_file():
        limit, skip_bad = _overridden(kept["plain"])
        return load(path, environ=os.environ, use_dotenv=use_dotenv, limit=limit, skip_bad=skip_bad)
    return load_plain(kept["plain"], path.parent, environ=os.environ, use_dotenv=use_dotenv)


def _overridden(plain: Mapping[str, Any]) -> tuple[int | None, bool]:
    """What `--limit` and `--skip-bad` may have set."""
    samples = plain.get("samples", {})
    return (samples.get("first"), bool(samples.get("skip_bad"))) if isinstance(samples, Mapping) else (None, False)
