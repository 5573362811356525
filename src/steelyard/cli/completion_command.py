"""`steelyard completion`: a script with which a shell completes commands, options and names of runs.

The script contains all commands and options, so that Tab starts Python only to complete the name of a run.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import typer

from steelyard.cli import options
from steelyard.cli.app import build_app
from steelyard.errors import ConfigError, did_you_mean
from steelyard.store import Store
from steelyard.store.store import LATEST

_SHELLS: Final = ("bash", "zsh", "fish")
_RUNS: Final = "runs"
"""The argument with which the scripts request the names of runs, one per line, when Tab is pressed."""
_MOST_RUNS: Final = 200
_OF_RUNS: Final = frozenset({"RUN", "RUN..."})
_BASH: Final = """\
_steelyard() {
    local word=${COMP_WORDS[COMP_CWORD]} command="" store="" i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
            --store) store=${COMP_WORDS[i + 1]} ;;
            -*) ;;
            *) [[ -z $command ]] && command=${COMP_WORDS[i]} ;;
        esac
    done
    local words="" options="" runs=""
    case $command in
%(cases)s
    esac
    if [[ $word == -* ]]; then
        words=$options
    elif [[ -n $runs && ${COMP_WORDS[COMP_CWORD - 1]} != --* ]]; then
        words=$(steelyard completion runs ${store:+--store "$store"} 2>/dev/null)
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _steelyard steelyard
"""


@dataclass(frozen=True, slots=True)
class CompletedCommand:
    """The words that can follow a command.

    Args:
        options: as they are typed.
        takes_runs: whether runs are named by its arguments.
        words: what the next argument can be, such as the commands of a group; empty if it is free.
        help: the first sentence of its help.
        helps: option -> its help.
    """

    options: Sequence[str]
    takes_runs: bool
    words: Sequence[str]
    help: str
    helps: Mapping[str, str]


def completion(
    shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
    store: options.StoreOption = None,
) -> None:
    """Print a script that makes a shell complete what you type.

    It completes commands, options and names of runs. Load it in ~/.bashrc with: eval "$(steelyard completion bash)",
    and likewise in ~/.zshrc; for fish, write it to ~/.config/fish/completions/steelyard.fish.
    """
    if shell == _RUNS:
        lines = _names_of_runs(store)
    elif shell in _SHELLS:
        commands = _completed_commands()
        lines = list(_fish(commands)) if shell == "fish" else list(_bash(commands, in_zsh=shell == "zsh"))
    else:
        raise ConfigError(f"no script for {shell!r}{did_you_mean(shell, _SHELLS)}")
    for line in lines:
        typer.echo(line)


def _names_of_runs(where: str | None) -> list[str]:
    """Ids and targets of the newest runs, and `latest`; not names with spaces, which the shell would split."""
    with Store(where) as store:
        runs = store.runs()[:_MOST_RUNS]
    names = [LATEST, *(run.target for run in runs), *(run.id for run in runs)]
    return [name for name in dict.fromkeys(names) if shlex.quote(name) == name]


def _completed_commands() -> dict[str, CompletedCommand]:
    """Every command by name, and "" with the possible first words."""
    app: Any = typer.main.get_command(build_app())
    commands = {"": _completed(app), **{name: _completed(command) for name, command in app.commands.items()}}
    return {**commands, "completion": replace(commands["completion"], words=_SHELLS)}


def _completed(command: Any) -> CompletedCommand:
    named = [parameter for parameter in command.params if parameter.param_type_name == "option"]
    arguments = {parameter.metavar for parameter in command.params if parameter.param_type_name == "argument"}
    helps = {
        name: parameter.help or ""
        for parameter in named
        for name in (*parameter.opts, *parameter.secondary_opts)
        if name.startswith("--")
    }
    words = tuple(getattr(command, "commands", ()))
    return CompletedCommand(
        (*helps, "--help"), bool(arguments & _OF_RUNS), words, command.get_short_help_str(200), helps
    )


def _bash(commands: Mapping[str, CompletedCommand], *, in_zsh: bool) -> Iterator[str]:
    if in_zsh:
        yield "autoload -U +X compinit && compinit"
        yield "autoload -U +X bashcompinit && bashcompinit"
    cases = []
    for name, command in commands.items():
        parts = [f"options={shlex.quote(' '.join(command.options))}"]
        parts += [f"words={shlex.quote(' '.join(command.words))}"] if command.words else []
        parts += ["runs=yes"] if command.takes_runs else []
        pattern = name or '""'
        cases.append(f"        {pattern}) {'; '.join(parts)} ;;")
    yield (_BASH % {"cases": "\n".join(cases)}).rstrip()


def _fish(commands: Mapping[str, CompletedCommand]) -> Iterator[str]:
    for name, command in commands.items():
        if not name:
            continue
        yield f"complete -c steelyard -f -n __fish_use_subcommand -a {name} -d {shlex.quote(command.help)}"
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        if command.takes_runs:
            yield f"complete -c steelyard -f {seen} -a '(steelyard completion runs 2>/dev/null)'"
        for word in command.words:
            yield f"complete -c steelyard -f {seen} -a {word}"
        for option in command.options:
            described = f" -d {shlex.quote(command.helps[option])}" if command.helps.get(option) else ""
            yield f"complete -c steelyard {seen} -l {option.removeprefix('--')}{described}"
