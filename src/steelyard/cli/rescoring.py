"""The command `rescore`: other scorers, or another rule of reading, over stored outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from steelyard.cli.options import JsonOption, NoEnvOption, RunArgument, StoreOption, UnsafeSqlOption
from steelyard.cli.reloading import reload_config


def rescore(
    run: RunArgument,
    store: StoreOption = None,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="Take the scorers from here, not from the run.")
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
        scored, damaged = score_again(opened, found, loaded.suite.scorers_for(found.target), unsafe_sql=unsafe_sql)
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
