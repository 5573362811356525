"""`prompts`: the packaged prompts, to be read and to be copied."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from steelyard.errors import ConfigError, did_you_mean


def prompts(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="A prompt, such as zh/choice; all are listed by default.")
    ] = "",
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="Copy the prompt into a file that does not exist yet.")
    ] = None,
) -> None:
    """List the packaged prompts, print one, or copy one into a file.

    A configuration names a prompt, packaged or a file, as template. JSON schemas of replies are listed as replies/NAME.
    """
    known = _texts()
    if not name:
        if to is not None:
            raise ConfigError("--to copies one prompt: name it, for example steelyard prompts zh/choice --to mine.txt")
        _list(known)
        return
    if name not in known:
        raise ConfigError(f"there is no prompt {name!r}{did_you_mean(name, known)}")
    text = _text(name)
    if to is None:
        typer.echo(text)
        return
    _copy(text, to)
    typer.echo(f"wrote {to}: name it as {'reply' if name.startswith('replies/') else 'template'}")


def _texts() -> tuple[str, ...]:
    from steelyard.text.prompt_files import packaged_prompts
    from steelyard.text.reply_schema import packaged_replies

    return (*packaged_prompts(), *(f"replies/{one}" for one in packaged_replies()))


def _text(name: str) -> str:
    """The file's own text: of a schema with the place for letters that a copy needs."""
    from importlib.resources import files

    suffix = "json" if name.startswith("replies/") else "txt"
    return files("steelyard").joinpath(f"prompts/{name}.{suffix}").read_text(encoding="utf-8").rstrip("\n")


def _list(known: tuple[str, ...]) -> None:
    from steelyard.text.template import placeholders

    width = max(map(len, known)) + 2
    for name in known:
        names = dict.fromkeys(found for found, _ in placeholders(_text(name)))
        typer.echo(f"{name:<{width}}{', '.join(names)}".rstrip())


def _copy(text: str, to: Path) -> None:
    try:
        with to.open("x", encoding="utf-8", newline="\n") as file:
            file.write(f"{text}\n")
    except FileExistsError as error:
        raise ConfigError(f"{to} exists already; nothing was written") from error
    except (OSError, ValueError) as error:
        raise ConfigError(f"{to} cannot be written: {getattr(error, 'strerror', None) or error}") from error
