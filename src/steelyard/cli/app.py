"""The application: commands by name, and the one place where an error becomes an exit code."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Any, Final

import typer

from steelyard.cli.pipes import while_read
from steelyard.errors import ConfigError, DataError, SteelyardError

_USER_MISTAKE: Final = 2
_BROKEN: Final = 4
_INTERRUPTED: Final = 130

_COMMANDS: Final = (
    ("init", "files"),
    ("check", "files"),
    ("diagnose", "diagnosing"),
    ("run", "running"),
    ("resume", "running"),
    ("rescore", "rescoring"),
    ("generate", "generating"),
    ("runs", "reading"),
    ("show", "reading"),
    ("compare", "reading"),
    ("history", "history"),
    ("note", "history"),
    ("review", "reviewing"),
    ("label", "labelling"),
    ("promote", "promoting"),
    ("baseline", "baselining"),
    ("report", "pages"),
    ("verify", "keeping"),
    ("delete", "keeping"),
    ("export", "pages"),
    ("convert", "pages"),
    ("prompts", "prompting"),
    ("schema", "files"),
)
"""Name of the command -> module of this package that holds the function of that name, in the order of `--help`."""


def build_app(only: str = "") -> typer.Typer:
    """The application with every command, or with one alone.

    Args:
        only: a command's name: describing all the others to typer costs more than listing a hundred runs.
    """
    app = typer.Typer(
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Weigh LLM applications: run them over a dataset, score them, and say whether a difference is real.",
    )

    @app.callback()
    def common(
        version: Annotated[
            bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
        ] = False,
        debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    ) -> None:
        pass

    for name, module in _COMMANDS:
        if only not in {"", name}:
            continue
        function = getattr(import_module(f"steelyard.cli.{module}"), name)
        app.command(name)(_while_read(function))
    return app


def _while_read(function: Callable[..., Any]) -> Callable[..., Any]:
    """The command, ending quietly where whoever read its output has gone."""

    @functools.wraps(function)
    def command(**options: Any) -> Any:
        with while_read():
            return function(**options)

    return command


def run_app(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code.

    Args:
        arguments: without the program's name; those of this process by default.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    # Whoever saw an error types --debug behind the command, where typer does not look for it.
    rest = [one for one in given if one != "--debug"]
    try:
        code = build_app(_command_in(rest))(args=rest, standalone_mode=False, prog_name="steelyard")
    except typer.Exit as stop:
        code = stop.exit_code
    except (KeyboardInterrupt, typer.Abort):
        code = _INTERRUPTED
        with while_read():
            print("interrupted", file=sys.stderr)  # noqa: T201  # the last line of a command that was stopped
    except Exception as error:  # noqa: BLE001  # the last line of the command line; a traceback with --debug alone
        # A usage error knows how to show itself; which class it has depends on typer's version.
        show = getattr(error, "show", None) if hasattr(error, "exit_code") else None
        code = _USER_MISTAKE if show or isinstance(error, ConfigError | DataError) else _BROKEN
        with while_read():
            (show or functools.partial(_explain, error, debug=debug))()
    sys.exit(code if isinstance(code, int) else 0)


def _command_in(given: Sequence[str]) -> str:
    """The command that stands first; "" where that is an option, or nothing that is known."""
    return given[0] if given and given[0] in dict(_COMMANDS) else ""


def _explain(error: Exception, *, debug: bool) -> None:
    """Say what went wrong, for a person."""
    from steelyard.text.inert import visible

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
