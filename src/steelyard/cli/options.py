"""Options and arguments that several commands share; looking up runs, configurations and models by them."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from steelyard.config.environment import Environment
from steelyard.config.given import note_given
from steelyard.config.load import Loaded, load
from steelyard.config.model_file import build_model, load_judges, model_of_flags
from steelyard.errors import ConfigError, SteelyardError
from steelyard.evaluation import RunConfig
from steelyard.evaluation.judge_panel import JudgesFile
from steelyard.models.base import Model
from steelyard.report.render.terminal import console, say
from steelyard.store import Run, Store
from steelyard.store.database.address import has_password, locate
from steelyard.store.store import LATEST

_MOST_COMPLETED: Final = 200


def _warn_of_password(ctx: typer.Context, store: str | None) -> str | None:
    """Warn that other users can read a password that was typed: `ps` shows the arguments of every process."""
    is_typed_still = ctx.resilient_parsing  # a shell completes the line
    if store and "://" in store and not is_typed_still and has_password(store):
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


def names_of_runs(ctx: typer.Context) -> list[str]:
    """Ids and targets of the newest runs, and `latest`, for a shell that completes the name of a run.

    Not names that need quotes: zsh evaluates what it is offered, and anybody may have named the targets of a store.
    """
    with contextlib.suppress(SteelyardError), Store(ctx.params.get("store")) as store:
        runs = store.runs()[:_MOST_COMPLETED]
        names = [LATEST, *(run.target for run in runs), *(run.id for run in runs)]
        return [name for name in dict.fromkeys(names) if shlex.quote(name) == name]
    return []


FullOption = Annotated[bool, typer.Option("--full", help="Print every table and note, not only the result.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
RunArgument = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="A run's id or the start of it, a target's name, SUITE/TARGET, or 'latest'.",
        autocompletion=names_of_runs,
    ),
]
RunsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN...",
        help="Runs: ids or the start of them, targets' names, SUITE/TARGET, or 'latest'.",
        autocompletion=names_of_runs,
    ),
]
ConfigArgument = Annotated[Path, typer.Argument(metavar="CONFIG", help="A configuration: YAML, TOML or JSON.")]
HtmlOption = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write a report: one file that opens from disk.")
]
MarkdownOption = Annotated[
    Path | None, typer.Option("--markdown", metavar="FILE", help="Write Markdown sized for a pull-request comment.")
]
JUnitOption = Annotated[
    Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML, one test per record and per gate rule.")
]
OutOption = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write to this file instead of standard output.")
]
NoEnvOption = Annotated[bool, typer.Option("--no-env", help="Do not read the .env file next to the configuration.")]
TrustStoreOption = Annotated[
    bool,
    typer.Option(
        "--trust-store",
        help="Where the configuration's file is not there, use the copy in the store, with its endpoints, keys, "
        "modules and files. No .env file is read.",
    ),
]
UnsafeSqlOption = Annotated[
    bool, typer.Option("--unsafe-sql", help="Run generated SQL even if this machine cannot confine its engine.")
]
AllowCommandsOption = Annotated[
    bool, typer.Option("--allow-commands", help="Run the programs that scorers of the kind command name.")
]
UnsafeCodeOption = Annotated[
    bool, typer.Option("--unsafe-code", help="Run the code of replies even if this machine cannot confine it.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress.")]
WorkersOption = Annotated[
    str,
    typer.Option(
        "--workers",
        metavar="N|ray|ray://HOST:PORT",
        help="Share the samples among N processes, or actors of Ray; needs a PostgreSQL store.",
    ),
]
WorkingDirOption = Annotated[
    Path | None,
    typer.Option("--working-dir", metavar="DIR", help="Copy this folder, but no .env, to the workers of Ray."),
]
FreshOption = Annotated[
    bool, typer.Option("--fresh", help="Ignore cached replies in the journal and call the models again.")
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Count calls and tokens; send nothing.")]
SkipBadOption = Annotated[
    bool, typer.Option("--skip-bad", help="Skip rows with defects; the number of skipped rows is shown.")
]
MostOption = Annotated[int, typer.Option("--most", "-n", metavar="N", help="List at most N samples.", min=1)]
LastOption = Annotated[int, typer.Option("--last", "-n", metavar="N", help="Only the N newest runs.", min=1)]

WithLabelsOption = Annotated[
    bool,
    typer.Option(
        "--with-labels", help="Replace scores by people's labels (steelyard label), where a score takes them."
    ),
]
ScoreOption = Annotated[
    str | None, typer.Option("--score", metavar="NAME", help="The score to compare; the suite's own by default.")
]

ModelOption = Annotated[
    str, typer.Option("--model", metavar="NAME", help="The model that generates the text, by its name at the endpoint.")
]
BaseUrlOption = Annotated[
    str, typer.Option("--base-url", metavar="URL", help="The model's OpenAI-compatible endpoint; OpenAI's by default.")
]
KeyOption = Annotated[
    str, typer.Option("--api-key-env", metavar="NAME", help="The environment variable with the endpoint's key.")
]
ModelConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--model-config", metavar="FILE", help="A YAML or JSON file with the key model, for any other kind of model."
    ),
]
BudgetOption = Annotated[
    int | None,
    typer.Option("--budget-calls", metavar="N", help="Send at most N calls, counting those before a resume."),
]
LanguageOption = Annotated[
    str, typer.Option("--language", metavar="auto|en|zh", help="Language of the prompts; auto follows the text.")
]


AuthorOption = Annotated[
    str, typer.Option("--author", metavar="NAME", help="Your name; it is stored with the change.", show_default=False)
]
LabelKindOption = Annotated[
    str,
    typer.Option(
        "--as",
        metavar="KIND",
        help="Kind of label: pass_fail, scale:1-5, choice, preference or text; by default as the score takes it.",
    ),
]
LabelScoreOption = Annotated[
    str, typer.Option("--score", metavar="NAME", help="The score that is labelled; the run's headline by default.")
]
OrderSeedOption = Annotated[
    int,
    typer.Option("--seed", metavar="N", help="Seed of the order in which the two answers of a pair are shown.", min=0),
]


def store_option(store: str | Path | None) -> str:
    """` --store STORE` for a command to be copied, without a password; "" for the default store.

    >>> store_option("postgresql://me:abc@h/exams"), store_option("my exams.db"), store_option(None)
    (' --store postgresql://me@h/exams', " --store 'my exams.db'", '')
    """
    if not store:
        return ""
    return f" --store {shlex.quote(str(locate(store) if has_password(store) else store))}"


def same_command(reason: str = "") -> str:
    """How an evaluation is resumed that its own command starts and resumes.

    >>> same_command("the budget of 40 calls is used up"), same_command()
    ('the same command and a larger --budget-calls', 'the same command again')
    """
    return f"the same command {'and a larger --budget-calls' if 'budget' in reason else 'again'}"


def named_run(store: Store, name: str) -> Run:
    """The run that one argument names; see `named_runs`.

    Raises:
        ConfigError: no run has that name, or several do and none can be preferred.
    """
    return named_runs(store, [name])[0]


def named_runs(store: Store, names: Sequence[str]) -> list[Run]:
    """The runs that the arguments of one command name; a choice among several is printed on standard error.

    Raises:
        ConfigError: no run has such a name, or several do and none can be preferred.
    """
    choices = store.runs_named(names)
    for choice in dict.fromkeys(choice for _, choice in choices if choice):
        say(console(stderr=True), choice)
    return [run for run, _ in choices]


def load_config(path: Path, *, no_env: bool, **overrides: Any) -> Loaded:
    """Read a configuration with the references of this process's environment.

    The files of its samples and baseline are noted: later commands may open them where a store names them. The
    configuration itself is not: whoever looks at it with `check` or `--dry-run` has not agreed to what it calls.

    Args:
        path: of the file.
        no_env: whether the `.env` file next to it is left out.
        overrides: further options of `steelyard.config.load.load`.

    Raises:
        ConfigError: every mistake with its position.
        DataError: the dataset cannot be read.
    """
    loaded = load(path, environ=os.environ, use_dotenv=not no_env, **overrides)
    note_given(*loaded.files)
    return loaded


def load_model(flags: Mapping[str, Any], file: Path | None, *, no_env: bool) -> tuple[Model | None, Environment]:
    """The model that `--model` and its options or a `--model-config` file describe, and the values of its references.

    Args:
        flags: as `steelyard.config.model_file.model_of_flags` returns it.
        file: absolute path of the file, or None.
        no_env: whether the `.env` file next to it, or in the current folder, is left out.

    Raises:
        ConfigError: every mistake with its position.
    """
    return build_model(flags, file, environ=os.environ, use_dotenv=not no_env)


def model_and_config(
    flags: tuple[str, str, str], file: Path | None, store: str | None, *, fresh: bool, no_env: bool
) -> tuple[Model | None, RunConfig]:
    """The model that flags or a file describe (None for none), and the configuration of runs.

    Raises:
        ConfigError: both, or a mistake in one of them.
    """
    described = model_of_flags(*flags)
    if described and file:
        raise ConfigError("--model NAME or --model-config FILE: give one of them")
    model, values = load_model(described, file.absolute() if file else None, no_env=no_env)
    return model, RunConfig(store=store, fresh=fresh, environment=values)


def load_judges_file(path: Path, *, no_env: bool) -> tuple[JudgesFile, Environment]:
    """The judges that a file names, and the values of its references.

    Args:
        path: of the file.
        no_env: whether the `.env` file next to it is left out.

    Raises:
        ConfigError: every mistake with its position.
    """
    return load_judges(path.absolute(), environ=os.environ, use_dotenv=not no_env)


def say_unfinished(run: Run) -> None:
    """Warn on standard error that a run is unfinished, for commands whose own output cannot show it."""
    if run.state != "finished":
        say(console(stderr=True), f"{run.target}: {run.state}, {run.done} of {run.planned} done")
