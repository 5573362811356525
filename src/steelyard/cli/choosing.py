"""`run --only EXPR --from RUN`: the samples that an earlier run got wrong, or failed on, or of one group."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from steelyard.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steelyard.config.load import Loaded

OnlyOption = Annotated[
    str,
    typer.Option(
        "--only",
        metavar="EXPR",
        help="With --from: only samples that are failed, wrong, errors, unparsed, group=..., as promote --where says.",
    ),
]
FromOption = Annotated[str, typer.Option("--from", metavar="RUN", help="The run that --only looks at.")]


def choice_of(only: str, run: str) -> dict[str, str]:
    """What `--only` and `--from` say, as a manifest keeps it; empty where neither is given.

    Raises:
        ConfigError: one without the other.
    """
    if bool(only) != bool(run):
        missing = "--from RUN: in which run" if only else "--only EXPR: which of its samples"
        raise ConfigError(f"--only and --from go together; say {missing}")
    return {"only": only, "from": run} if only else {}


def choose(loaded: Loaded, choice: Mapping[str, str], store: str | None) -> tuple[Loaded, dict[str, Any]]:
    """The configuration with the samples that were chosen, and the choice with the run's own id.

    Args:
        loaded: the configuration.
        choice: as `choice_of` gives it; nothing chooses all.
        store: where the earlier run is.

    Raises:
        ConfigError: there is no such run or condition, or no sample for which it holds.
    """
    if not choice:
        return loaded, {}
    from steelyard.cli.promoting import fitting
    from steelyard.generate.conditions import parse_condition
    from steelyard.store import Store
    from steelyard.suite.chosen import with_chosen

    with Store(store) as opened:
        found = opened.run(choice["from"])
        condition = parse_condition(choice["only"], found.manifest)
        ids = frozenset(record.sample.id for _, record in fitting(opened, found, condition))
    if not ids:
        raise ConfigError(f"no sample of run {found.id} ({found.target}) fits: {choice['only']}")
    suite = with_chosen(loaded.suite, ids, f"{choice['only']} in run {found.id} ({found.target})")
    return replace(loaded, suite=suite), {**choice, "from": found.id}
