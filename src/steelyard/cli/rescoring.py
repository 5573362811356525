"""The command `rescore`: other scorers, or another rule of reading, over stored outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steelyard.cli.options import JsonOption, NoEnvOption, RunArgument, StoreOption, UnsafeSqlOption
from steelyard.cli.reloading import reload_config

if TYPE_CHECKING:
    from steelyard.types import Scorer


def rescore(
    run: RunArgument,
    store: StoreOption = None,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="Take the scorers from here, not from the run.")
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Read an exam by another rule: steelyard, strict_only_letter, last_letter, first_option.",
        ),
    ] = None,
    unsafe_sql: UnsafeSqlOption = False,
    no_env: NoEnvOption = False,
    as_json: JsonOption = False,
) -> None:
    """Score stored outputs again, without a call to any model.

    Judges are answered from the journal.
    """
    from steelyard.cli.scores import rescored_table
    from steelyard.cli.tables import console, print_json, say
    from steelyard.store import Store
    from steelyard.store.layers import changed_verdicts
    from steelyard.suite.rescore import rescore as score_again

    with Store(store) as opened:
        found = opened.run(run)
        loaded = reload_config(found, config, use_dotenv=not no_env)
        scorers = _by_rule(loaded.suite.scorers_for(found.target), rule)
        scored, damaged = score_again(opened, found, scorers, unsafe_sql=unsafe_sql)
        before, now = found.summary(), scored.summary()
        changed = changed_verdicts(opened, found, scored)
    if as_json:
        print_json({"before": before.to_json(), "after": now.to_json(), "changed": changed, "damaged": damaged})
        return
    to = console()
    say(to, f"run {found.id} ({found.target}), scored again without a call:")
    to.print(rescored_table(before, now, changed))
    if damaged:
        typer.echo(f"{damaged} records are damaged in the store and have no score now", err=True)


def _by_rule(scorers: Sequence[Scorer], rule: str | None) -> tuple[Scorer, ...]:
    """The scorers, those of multiple-choice replies with another rule.

    Raises:
        ConfigError: no such rule, or no such scorer.
    """
    from steelyard.errors import ConfigError
    from steelyard.scorers.choice import Choice

    if rule is None:
        return tuple(scorers)
    if not any(isinstance(one, Choice) for one in scorers):
        raise ConfigError("--rule: the run has no scorer of multiple-choice replies, so no rule to read them by")
    changed = tuple(replace(one, rule=rule) if isinstance(one, Choice) else one for one in scorers)  # type: ignore[arg-type]  # checked below
    for one in changed:
        if isinstance(one, Choice):
            one.check()
    return changed
