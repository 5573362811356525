"""The application: its commands by name, and the one place where an error becomes an exit code."""

from __future__ import annotations

import functools
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Any, Final

import typer
import typer.main
from typer.core import TyperGroup

from steelyard.cli.exit_codes import BROKEN, INTERRUPTED, USER_MISTAKE
from steelyard.cli.output import while_read
from steelyard.cli.plain_parameters import skip_pydantic
from steelyard.errors import ConfigError, DataError, SteelyardError, bounded
from steelyard.escaping import visible

_HEADINGS: Final = {
    "Daily": (
        ("init", "config_commands"),
        ("check", "config_commands"),
        ("diagnose", "diagnose_command"),
        ("generate", "generate_command"),
        ("run", "run_commands"),
        ("resume", "resume_command"),
        ("rescore", "rescore_command"),
        ("runs", "read_commands"),
        ("show", "read_commands"),
        ("compare", "read_commands"),
        ("history", "history"),
        ("view", "view_command"),
        ("report", "read_commands"),
        ("export", "export_commands"),
        ("review", "review_command"),
        ("label", "label_command"),
        ("agree", "agree_command"),
        ("judges", "judges_command"),
        ("baseline", "export_commands"),
        ("collect", "export_commands"),
    ),
    "Groups (steelyard GROUP -h lists their commands)": (
        ("queue create", "queue_commands"),
        ("queue list", "queue_commands"),
        ("queue show", "queue_commands"),
        ("queue label", "queue_commands"),
        ("queue sheet", "queue_commands"),
        ("queue disagreements", "queue_commands"),
        ("errors draw", "errors_commands"),
        ("errors list", "errors_commands"),
        ("errors show", "errors_commands"),
        ("errors sheet", "errors_commands"),
        ("errors note", "errors_commands"),
        ("errors try", "code_scorer_commands"),
        ("errors install", "code_scorer_commands"),
        ("data list", "data_commands"),
        ("data show", "data_commands"),
        ("data diff", "data_commands"),
        ("data save", "data_commands"),
    ),
    "Less often": (
        ("note", "history"),
        ("mark", "mark_command"),
        ("verify", "store_commands"),
        ("delete", "store_commands"),
        ("convert", "config_commands"),
        ("prompts", "config_commands"),
        ("schema", "config_commands"),
        ("completion", "completion_command"),
    ),
}
"""Heading of `--help` -> its commands in order, each with the module of this package that defines the function of that
name.

A command of two words (`data show`) is put into a group named by the first; its function is `data_show`.
"""
_COMMANDS: Final = tuple(command for commands in _HEADINGS.values() for command in commands)
_NAMES: Final = frozenset(name.partition(" ")[0] for name, _ in _COMMANDS)
_READING: Final = frozenset({"show", "compare", "history", "report", "export", "view"})
"""Commands that run no user code and compute only with stored numbers."""
_GROUPS: Final = {
    "errors": "Find out what is wrong with answers, and how often.",
    "data": "Look through datasets, and save new versions.",
    "queue": "Let several people label records.",
}
"""Group of two-word commands -> its line in `--help`."""

_SUMMARIES: Final = {
    "init": "Write a first configuration for your dataset or server.",
    "check": "Check configurations, or a dataset, without sending anything.",
    "diagnose": "Show the settings in effect and their origin; probe endpoints.",
    "generate": "Generate questions with answers and sources from documents.",
    "run": "Evaluate every target of a configuration and compare them.",
    "resume": "Resume interrupted or failed runs.",
    "rescore": "Score stored outputs again without calling any model.",
    "runs": "List the runs in the store, newest first.",
    "show": "Show one run: scores, groups, replies without a score.",
    "compare": "Compare runs with the first one and draw a conclusion.",
    "history": "Show one score over the runs of a suite, with their notes.",
    "view": "Show runs in a browser, also while they run.",
    "report": "Write a report of one run, or a comparison of several.",
    "export": "Write the records of a run as rows.",
    "review": "List records to review, or let a model explain failures.",
    "label": "Store people's verdicts on records from a sheet.",
    "agree": "Compare a run's judge with people's labels.",
    "judges": "Compare several judges on the stored answers of a run.",
    "baseline": "Save a run's scores in a file as the baseline of later runs.",
    "collect": "Copy samples of a run into a test set, with their origin.",
    "note": "Add a note to a run, or list its notes.",
    "mark": "Pin the baseline of a suite, archive runs, or tag them.",
    "verify": "Check a store for damage.",
    "delete": "Delete runs and their data.",
    "convert": "Convert a configuration of another tool, with its dataset.",
    "prompts": "List the packaged prompts, print one, or copy one into a file.",
    "schema": "Print the JSON schema of a configuration, for editors.",
    "completion": "Print a script that makes a shell complete what you type.",
}
"""Command -> its line in `--help`, the first line of its description: a list of commands imports none of them."""


class CommandsByHeading(TyperGroup):
    """The application's commands under the headings of `_HEADINGS`."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002  # as typer calls it
        """Write a list for each heading, with the descriptions of all in one column."""
        longest = max(map(len, self.commands), default=0)
        for heading, commands in _HEADINGS.items():
            names = dict.fromkeys(name.partition(" ")[0] for name, _ in commands)
            rows = [
                (name.ljust(longest), self.commands[name].get_short_help_str(formatter.width - 6 - longest))
                for name in names
                if name in self.commands
            ]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)


def build_app(only: str = "", *, names_only: bool = False) -> typer.Typer:
    """The application with every command, or with one command or group.

    Args:
        only: a command's first word. Describing all the others to typer takes longer than listing a hundred runs.
        names_only: only names and descriptions, for a list of commands, without importing them.
    """
    app = typer.Typer(
        cls=CommandsByHeading,
        add_completion=False,  # `steelyard completion` answers in less time
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # with it typer imports rich for --help: 0.16 s of CPU
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Evaluate LLM applications: run them over a dataset, score the outputs, and test whether a difference is "
        "real.",
    )

    @app.callback()
    def common(
        version: Annotated[
            bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
        ] = False,
        debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    ) -> None:
        pass

    if names_only:
        for name, summary in (_SUMMARIES | _GROUPS).items():
            app.command(name, help=summary)(_listed)
        return app
    groups: dict[str, typer.Typer] = {}
    for name, module in _COMMANDS:
        first, _, second = name.partition(" ")
        if only not in {"", first}:
            continue
        function = _while_read(getattr(import_module(f"steelyard.cli.{module}"), name.replace(" ", "_")))
        if not second:
            app.command(name)(function)
            continue
        if first not in groups:
            groups[first] = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help=_GROUPS[first])
            app.add_typer(groups[first], name=first)
        groups[first].command(second)(function)
    return app


def _listed() -> None:
    pass


def _while_read(function: Callable[..., Any]) -> Callable[..., Any]:
    """The command, made to end without an error when the reader of its output has gone."""

    @functools.wraps(function)
    def command(**options: Any) -> Any:
        with while_read():
            return function(**options)

    return command


def run_app(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code.

    Args:
        arguments: without the program's name; None takes those of this process.
    """
    arguments_given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in arguments_given
    # People append --debug to the command that just failed; typer does not accept a global option there.
    words = [argument for argument in arguments_given if argument != "--debug"]
    name = _command_in(words)
    if name in _READING:
        # From numpy's import on, the idle threads of its BLAS spin: a tenth of the CPU of `compare`. They gain nothing
        # for matrices as small as ours.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        command = typer.main.get_command(build_app(name, names_only=not _NAMES.intersection(words)))
        skip_pydantic(command)
        code = command(args=words, standalone_mode=False, prog_name="steelyard")
    except typer.Exit as stop:
        code = stop.exit_code
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
        with while_read():
            print("interrupted", file=sys.stderr)  # noqa: T201  # the last line of a command that was stopped
    except Exception as error:  # noqa: BLE001  # the last line of the command line; a traceback with --debug alone
        # A usage error has a method `show`; it is recognised by that because its class differs between typer versions.
        show = getattr(error, "show", None) if hasattr(error, "exit_code") else None
        code = USER_MISTAKE if show or isinstance(error, ConfigError | DataError) else BROKEN
        with while_read():
            (show or functools.partial(_explain, error, debug=debug))()
    sys.exit(code if isinstance(code, int) else 0)


def _command_in(words: Sequence[str]) -> str:
    """The first word if it is a command or a group; "" for an option or an unknown word."""
    return words[0] if words and words[0] in _NAMES else ""


def _explain(error: Exception, *, debug: bool) -> None:
    """Print an error for a person on standard error."""
    if isinstance(error, SteelyardError):
        message = visible(str(error))
    else:
        message = visible(f"{type(error).__name__}: {bounded(str(error))} (this is a defect; --debug shows where)")
    if debug:
        print(visible("".join(traceback.format_exception(error))), file=sys.stderr)  # noqa: T201  # asked for
    print(f"error: {message}", file=sys.stderr)  # noqa: T201  # the message of a failed command


def _print_version(value: Any) -> None:
    if value:
        print(f"steelyard {sys.modules['steelyard'].__version__}")  # noqa: T201  # the output of --version
        raise typer.Exit
