"""The command that scores stored outputs again (`rescore`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from steelyard.cli.options import (
    AllowCommandsOption,
    JsonOption,
    NoEnvOption,
    RunArgument,
    StoreOption,
    TrustStoreOption,
    UnsafeCodeOption,
    UnsafeSqlOption,
    WorkingDirOption,
    named_run,
)
from steelyard.cli.stored_configuration import scorers_of
from steelyard.evaluation.choice_readings import changed_readings, with_reading
from steelyard.evaluation.rescore import ScoresElsewhere
from steelyard.evaluation.rescore import rescore as score_again
from steelyard.report.render.terminal import console, print_json, print_sections, say
from steelyard.report.sections.changed_scores import changed_readings_section, rescored_section
from steelyard.sql.sandbox import permits_of
from steelyard.store import Store
from steelyard.workers.executors import named_executor

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
