"""The application: its commands by name, and the one place where an error becomes an exit code."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Any, Final

import typer
import typer.main

from steelyard.cli.options import BROKEN, INTERRUPTED, USER_MISTAKE
from steelyard.cli.output import while_read
from steelyard.cli.plain_parameters import skip_pydantic
from steelyard.errors import ConfigError, DataError, SteelyardError

_COMMANDS: Final = (
    ("init", "config_commands"),
    ("check", "config_commands"),
    ("diagnose", "diagnose_command"),
    ("run", "run_commands"),
    ("resume", "run_commands"),
    ("rescore", "run_commands"),
    ("generate", "generate_command"),
    ("runs", "read_commands"),
    ("show", "read_commands"),
    ("compare", "read_commands"),
    ("history", "history"),
    ("note", "history"),
    ("review", "review_command"),
    ("label", "label_command"),
    ("promote", "export_commands"),
    ("baseline", "export_commands"),
    ("report", "read_commands"),
    ("view", "view_command"),
    ("verify", "store_commands"),
    ("delete", "store_commands"),
    ("export", "export_commands"),
    ("convert", "config_commands"),
    ("prompts", "config_commands"),
    ("schema", "config_commands"),
    ("store upgrade", "store_commands"),
)
"""Command -> module of this package that defines the function of that name, in the order of `--help`.

A command of two words (`store upgrade`) is put into a group named by the first; its function is `store_upgrade`.
"""
_GROUPS: Final = {"store": "Commands for the whole store."}
"""Group of two-word commands -> its line in `--help`."""


def build_app(only: str = "") -> typer.Typer:
    """The application with every command, or with one command or group.

    Args:
        only: a command's first word. Describing all the others to typer takes longer than listing a hundred runs.
    """
    app = typer.Typer(
        add_completion=False,
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


def _while_read(function: Callable[..., Any]) -> Callable[..., Any]:
    """The command, made to end quietly when the reader of its output has gone."""

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
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    # People add --debug behind the command that just failed, where typer does not accept a global option.
    rest = [argument for argument in words if argument != "--debug"]
    try:
        command = typer.main.get_command(build_app(_command_in(rest)))
        skip_pydantic(command)
        code = command(args=rest, standalone_mode=False, prog_name="steelyard")
    except typer.Exit as stop:
        code = stop.exit_code
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
        with while_read():
            print("interrupted", file=sys.stderr)  # noqa: T201  # the last line of a command that was stopped
    except Exception as error:  # noqa: BLE001  # the last line of the command line; a traceback with --debug alone
        # A usage error can show itself; it is recognised by that, as its class differs between versions of typer.
        show = getattr(error, "show", None) if hasattr(error, "exit_code") else None
        code = USER_MISTAKE if show or isinstance(error, ConfigError | DataError) else BROKEN
        with while_read():
            (show or functools.partial(_explain, error, debug=debug))()
    sys.exit(code if isinstance(code, int) else 0)


def _command_in(words: Sequence[str]) -> str:
    """The first word if it is a command or a group; "" for an option or an unknown word."""
    return words[0] if words and words[0] in {name.partition(" ")[0] for name, _ in _COMMANDS} else ""


def _explain(error: Exception, *, debug: bool) -> None:
    """Print an error for a person on standard error."""
    from steelyard.escaping import visible

    if isinstance(error, SteelyardError):
        message = visible(str(error))
    else:
        message = visible(f"{type(error).__name__}: {error} (this is a defect; --debug shows where)")
    if debug:
        import traceback

        print(visible("".join(traceback.format_exception(error))), file=sys.stderr)  # noqa: T201  # asked for
    print(f"error: {message}", file=sys.stderr)  # noqa: T201  # the message of a failed command


def _print_version(value: Any) -> None:
    if value:
        print(f"steelyard {sys.modules['steelyard'].__version__}")  # noqa: T201  # the output of --version
        raise typer.Exit
