"""Generates the page docs/reference/command-line.md from the commands, so that no option stays undocumented."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from steelyard.cli.app import build_app


def page() -> str:
    """The whole page."""
    intro = Path(__file__).with_name("command_intro.md").read_text(encoding="utf-8")
    group: Any = typer.main.get_command(build_app())
    lines = [intro.rstrip(), "", "## Options of every command", "", *_table(group.params)]
    lines += ["| `--help`, `-h` | | Show the help of a command. |"]
    for name, command in commands_by_name(group).items():
        lines += ["", *_command(name, command)]
    return "\n".join(lines) + "\n"


def commands_by_name(group: Any) -> dict[str, Any]:
    """Command -> typer's description of it; a command in a group has both words as its name (`data list`)."""
    commands: dict[str, Any] = {}
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            commands |= {f"{name} {second}": inner for second, inner in commands_by_name(command).items()}
        else:
            commands[name] = command
    return commands


def _command(name: str, command: Any) -> Iterator[str]:
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    usage = " ".join(
        parameter.metavar if parameter.required else f"[{parameter.metavar.strip('[]')}]" for parameter in arguments
    )
    # Markdown would read two bracketed texts in a row as a link.
    yield f"## steelyard {name} {usage}".rstrip().replace("[", "\\[")
    yield ""
    # A paragraph of the docstring becomes one line: its line breaks mean nothing in Markdown.
    for paragraph in command.help.split("\n\n"):
        yield " ".join(paragraph.split())
        yield ""
    if command.params:
        yield from _table(command.params)


def _table(params: list[Any]) -> Iterator[str]:
    yield "| | | |"
    yield "|---|---|---|"
    for parameter in params:
        is_option = parameter.param_type_name == "option"
        spellings = [*parameter.opts, *parameter.secondary_opts] if is_option else [parameter.metavar.strip("[]")]
        names = ", ".join(f"`{name}`" for name in spellings)
        value = f"`{parameter.metavar}`" if is_option and parameter.metavar else ""
        text = (parameter.help or "").replace("|", "\\|")
        default = (
            "" if parameter.default in {None, False, ""} or parameter.required else f" Default: `{parameter.default}`."
        )
        yield f"| {names} | {value} | {text}{default} |"


if __name__ == "__main__":
    sys.stdout.write(page())
