"""The configuration with which a stored run goes on: this person's file, or the copy in the store where it is trusted.

A store is data of strangers. Endpoints, names of keys, modules, files and budgets come from a file that this person
gave to a command, or from the store after `--trust-store`; nothing in between is taken from a path in the store.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import typer

from steelyard.cli.options import load_config
from steelyard.config.given import note_given, was_given
from steelyard.config.load import Loaded, load_plain
from steelyard.config.stored import is_shown_whole, stored_needs, stored_scorers
from steelyard.errors import ConfigError
from steelyard.escaping import visible
from steelyard.store import Run
from steelyard.types import Scorer

_LONGEST: Final = 500


def reload(run: Run, config: Path | None, *, no_env: bool, trust_store: bool, sends: bool = True) -> Loaded:
    """The configuration of a stored run: the file given here, its own file if this person gave it before, or the copy.

    Args:
        run: the stored run.
        config: the file given here.
        no_env: whether no `.env` is read.
        trust_store: whether this person said `--trust-store`.
        sends: whether calls will be made, for which every reference needs a value.

    Raises:
        ConfigError: the run was not started from a configuration, the file has a mistake, or there is no file of this
            person's and the store is not trusted.
        DataError: the dataset cannot be read.
    """
    stored = _stored(run)
    if config is not None:
        return load_own(config, no_env=no_env, sends=sends)
    if stored is None:
        raise ConfigError(f"run {run.id} was started from Python: pass resume={run.id!r} to evaluate() there")
    path, plain = Path(str(stored.get("path", ""))), stored.get("plain")
    if _is_own_file(path):
        # --limit and --skip-bad are not in the file; the stored copy has them applied.
        samples = plain.get("samples") if isinstance(plain, Mapping) else None
        first, skip_bad = [samples.get(key) if isinstance(samples, Mapping) else None for key in ("first", "skip_bad")]
        most = first if type(first) is int else None
        return load_config(path, no_env=no_env, limit=most, skip_bad=skip_bad is True, sends=sends)
    check_trusted(
        plain,
        f"the configuration of run {run.id}, {path}, is not there, or you never ran it here",
        "name your file with --config FILE",
        trust_store=trust_store,
    )
    loaded = load_plain(_mapping(plain), path.parent, environ=os.environ, sends=sends)
    return replace(loaded, path=path)  # as the run has it, so that a later resume finds the same folder


def load_own(path: Path, *, no_env: bool, **overrides: Any) -> Loaded:
    """Read a configuration that this person gave to be run, and note that: its run may be resumed by it alone.

    Raises:
        ConfigError: every mistake with its position.
        DataError: the dataset cannot be read.
    """
    loaded = load_config(path, no_env=no_env, **overrides)
    note_given(path)
    return loaded


def scorers_of(
    run: Run, config: Path | None, *, no_env: bool, trust_store: bool
) -> tuple[Sequence[Scorer], Mapping[str, str]]:
    """The scorers of a stored run, and the values of their references.

    Without a file of this person's they are built from the run's description of them, which needs neither the samples
    nor the targets; only a scorer that asks a model or opens a file needs more.

    Raises:
        ConfigError: as `reload`.
    """
    stored = _stored(run)
    if (
        config is None
        and stored is not None
        and not trust_store
        and not _is_own_file(Path(str(stored.get("path", ""))))
    ):
        try:
            return stored_scorers(_mapping(run.manifest.get("scorers"))), {}
        except ConfigError as error:
            reason = " ".join(error.message.split())[:200]
            check_trusted(
                run.manifest.get("scorers"),
                f"the scorers of run {run.id} cannot be taken from the store alone ({reason})",
                "name your configuration with --config FILE",
                trust_store=False,
            )
    loaded = reload(run, config, no_env=no_env, trust_store=trust_store, sends=False)
    return loaded.suite.scorers_for(run.target), loaded.environment


def check_trusted(stored: Any, why: str, instead: str, *, trust_store: bool) -> None:
    """Refuse to use what a store holds, or say on standard error what of it is used.

    Args:
        stored: the plain value that would be used.
        why: why it would be taken from the store.
        instead: what to do where the store is not trusted.
        trust_store: whether this person said `--trust-store`.

    Raises:
        ConfigError: it is not trusted, or is more than can be shown; the message lists what would be used.
    """
    needs = "".join(f"\n  {line}" for line in stored_needs(stored))
    if trust_store and is_shown_whole(stored):
        typer.echo(f"--trust-store: {visible(why, keep='')[:_LONGEST]}. Used from the store:{needs}", err=True)
        return
    more = "if you trust everybody who can write this store, add --trust-store to use what it names"
    if trust_store:
        more = "--trust-store is for what can be shown whole"
    raise ConfigError(
        f"{visible(why, keep='')[:_LONGEST]}. Nothing was sent or opened. The store names:{needs}\n{instead}; {more}"
    )


def _stored(run: Run) -> Mapping[str, Any] | None:
    """What a run has stored of its configuration; None where it was started from Python.

    Raises:
        ConfigError: another command made the run.
    """
    if run.kind in {"codes", "generate", "review"}:
        command = {"trial": "errors try"}.get(run.target, "")
        made_by = command if run.kind == "codes" else run.kind
        raise ConfigError(f"run {run.id} was made by steelyard {made_by}; type that command again")
    stored = run.manifest.get("config")
    return None if stored is None else _mapping(stored)


def _mapping(stored: Any) -> Mapping[str, Any]:
    if not isinstance(stored, Mapping):
        raise ConfigError(f"the store holds no configuration of the run, but {stored!r:.80}")
    return stored


def _is_own_file(path: Path) -> bool:
    return was_given(path) and path.is_file()
