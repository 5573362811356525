"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def _warn_of_password(store: str | None) -> str | None:
    """Say that others can read a password that was typed: arguments of a process are no secret on its machine."""
    if store and "://" in store:
        from steelyard.store.address import has_password

        if has_password(store):
            typer.echo(
                "warning: other users of this machine can read the password in --store; write ${NAME} for the value of "
                "an environment variable (in single quotes), or use PGPASSWORD or ~/.pgpass",
                err=True,
            )
    return store


StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="STORE",
        help="A file, or postgresql://user@host/database; .steelyard/steelyard.db by default.",
        callback=_warn_of_password,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
RunArgument = Annotated[
    str, typer.Argument(metavar="RUN", help="A run's id or its beginning, a target's name, or 'latest'.")
]
RunsArgument = Annotated[
    list[str], typer.Argument(metavar="RUN...", help="Runs: ids, beginnings of ids, targets' names, or 'latest'.")
]
ConfigArgument = Annotated[Path, typer.Argument(metavar="CONFIG", help="A configuration: YAML, TOML or JSON.")]
HtmlOption = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write a report: one file that opens from disk.")
]
MarkdownOption = Annotated[
    Path | None, typer.Option("--markdown", metavar="FILE", help="Write Markdown sized for a pull-request comment.")
]
JUnitOption = Annotated[
    Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML, a test per record and gate rule.")
]
NoEnvOption = Annotated[bool, typer.Option("--no-env", help="Do not read the .env beside the configuration.")]
UnsafeSqlOption = Annotated[
    bool, typer.Option("--unsafe-sql", help="Run generated SQL although its engine cannot be held here.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress.")]

WithLabelsOption = Annotated[
    bool,
    typer.Option("--with-labels", help="Count people's verdicts (steelyard label) in place of what was read."),
]
ScoreOption = Annotated[
    str | None, typer.Option("--score", metavar="NAME", help="The score to compare; the suite's own by default.")
]
