"""The application: its commands by name, and the one place where an error becomes an exit code."""

from __future__ import annotations

import functools
import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final

import typer
import typer.main
from typer.core import TyperGroup

from steelyard.cli.output import BROKEN, INTERRUPTED, USER_MISTAKE, while_read
from steelyard.errors import ConfigError, DataError, SteelyardError, bounded
from steelyard.escaping import visible

_READING: Final = frozenset({"show", "compare", "history", "report", "export", "view"})
"""Commands that run no user code and compute only with stored numbers."""
_GROUPS: Final = {
    "errors": "Find out what is wrong with answers, and how often.",
    "data": "Look through datasets, and save new versions.",
    "queue": "Let several people label records.",
}
"""Group of two-word commands -> its line in `--help`."""


@functools.cache
def _headings() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Heading of `--help` -> its commands in order, each with the module that defines it, and its line in `--help`.

    The module is one of this package, and the function has the name of the command. The line is the first of its
    description: a list of commands imports none of them. A command of two words (`data list`) is put into a group named
    by the first, whose line `_GROUPS` has; its function is `data_list`.
    """
    text = Path(__file__).with_name("commands.json").read_text(encoding="utf-8")  # `files` loads tempfile
    headings: Mapping[str, Mapping[str, Sequence[str]]] = json.loads(text)
    return headings


def _commands() -> dict[str, Sequence[str]]:
    return {name: about for commands in _headings().values() for name, about in commands.items()}


class CommandsByHeading(TyperGroup):
    """The application's commands under their headings."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002  # as typer calls it
        """Write a list for each heading, with the descriptions of all in one column."""
        longest = max(map(len, self.commands), default=0)
        for heading, commands in _headings().items():
            names = dict.fromkeys(name.partition(" ")[0] for name in commands)
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
        summaries = {name: summary for name, (_, summary) in _commands().items() if summary}
        for name, summary in (summaries | _GROUPS).items():
            app.command(name, help=summary)(_listed)
        return app
    groups: dict[str, typer.Typer] = {}
    for name, (module, _) in _commands().items():
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
    typed = words or _line_to_complete()
    names = {name.partition(" ")[0] for name in _commands()}
    # The first word if it is a command or a group; "" for an option or an unknown word.
    name = typed[0] if typed and typed[0] in names else ""
    if name in _READING:
        # From numpy's import on, the idle threads of its BLAS spin: a tenth of the CPU of `compare`. They gain nothing
        # for matrices as small as ours.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Python 3.12 and later warn, for the terminal to show, of `\d` in the code that a model wrote.
    warnings.filterwarnings("ignore", category=SyntaxWarning, module="<unknown>")
    try:
        command = typer.main.get_command(build_app(name, names_only=names.isdisjoint(typed)))
        code = command(args=words, standalone_mode=False, prog_name="steelyard")
    except typer.Exit as stop:
        code = stop.exit_code
    except (KeyboardInterrupt, typer.Abort):
        code = _interrupted()
    except Exception as error:  # noqa: BLE001  # the last line of the command line; a traceback with --debug alone
        if isinstance(error.__cause__, KeyboardInterrupt):  # Python 3.11 wraps one that comes while a class is made
            sys.exit(_interrupted())
        # A usage error has a method `show`; it is recognised by that because its class differs between typer versions.
        show = getattr(error, "show", None) if hasattr(error, "exit_code") else None
        code = USER_MISTAKE if show or isinstance(error, ConfigError | DataError) else BROKEN
        with while_read():
            (show or functools.partial(_explain, error, debug=debug))()
    sys.exit(code if isinstance(code, int) else 0)


def _interrupted() -> int:
    with while_read():
        print("interrupted", file=sys.stderr)  # noqa: T201  # the last line of a command that was stopped
    return INTERRUPTED


def _line_to_complete() -> list[str]:
    """The words behind `steelyard` in the line for which a shell asks typer how it goes on."""
    if "_STEELYARD_COMPLETE" not in os.environ:
        return []
    return os.environ.get("_TYPER_COMPLETE_ARGS", os.environ.get("COMP_WORDS", "")).split()[1:]


def _explain(error: Exception, *, debug: bool) -> None:
    """Print an error for a person on standard error."""
    if isinstance(error, SteelyardError):
        message = visible(str(error))
    else:
        hint = "this is a defect, or the store is damaged: steelyard verify; --debug shows where"
        message = visible(f"{type(error).__name__}: {bounded(str(error))} ({hint})")
    if debug:
        print(visible("".join(traceback.format_exception(error))), file=sys.stderr)  # noqa: T201  # asked for
    print(f"error: {message}", file=sys.stderr)  # noqa: T201  # the message of a failed command


def _print_version(value: Any) -> None:
    if value:
        print(f"steelyard {sys.modules['steelyard'].__version__}")  # noqa: T201  # the output of --version
        raise typer.Exit
