"""Commands about files, none of which asks a model anything: check, schema, init."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sized
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from steelyard.cli.options import JsonOption, NoEnvOption
from steelyard.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from steelyard.config.load import Loaded

_USER_MISTAKE: Final = 2
_RENAMED: Final = {"gitignore": ".gitignore"}  # under its own name it would hide files of this package
_PEEK_BYTES: Final = 4096

CheckedFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="A configuration (.yaml, .toml, .json), or a dataset (.xlsx, .csv, ...).")
]
InitFolder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to write; made if it is not there.")]
DatasetOption = Annotated[
    str, typer.Option("--suite", metavar="NAME", help="Which suite's dataset FILE is; choice by default.")
]
DatabasesOption = Annotated[
    Path | None, typer.Option("--databases", metavar="FOLDER", help="The databases that a dataset's rows name.")
]
SuiteOption = Annotated[str, typer.Option("--suite", metavar="NAME", help="Which suite to begin with.")]


def check(
    file: CheckedFile,
    *,
    suite: DatasetOption = "",
    databases: DatabasesOption = None,
    as_json: JsonOption = False,
    no_env: NoEnvOption = False,
) -> int:
    """Check a configuration, or a dataset, without sending anything.

    A configuration is read with its datasets, prompts, documents and references. Of a dataset, the columns that were
    found, how often each key or database occurs, and every defect are shown. Exit code 2 where something is wrong.
    """
    if not suite and is_configuration(file):
        from steelyard.config.load import load

        loaded = load(file, environ=os.environ, use_dotenv=not no_env)
        _show(_about_configuration(loaded), _configuration_lines(loaded), as_json=as_json)
        return 0
    from steelyard.cli.datasets import check_dataset

    data = check_dataset(suite, file, databases)
    _show(data.to_json(), data.lines(file), as_json=as_json)
    return _USER_MISTAKE if data.defects else 0


def is_configuration(file: Path) -> bool:
    """Whether `file` is a configuration rather than a dataset: by its name, and JSON by whether it is an array."""
    from steelyard.config.load import SUFFIXES

    suffix = file.suffix.lower()
    if suffix != ".json" or not file.is_file():
        return suffix in SUFFIXES
    with file.open("rb") as opened:
        return not opened.read(_PEEK_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")


def _show(value: dict[str, Any], lines: Iterator[str], *, as_json: bool) -> None:
    from steelyard.cli.tables import print_json
    from steelyard.text.inert import visible

    if as_json:
        print_json(value)
        return
    for line in lines:
        typer.echo(visible(line))


def _about_configuration(loaded: Loaded) -> dict[str, Any]:
    from steelyard.registry import describe

    suite = loaded.suite
    return {
        "file": str(loaded.path),
        "suite": suite.kind,
        "name": suite.name,
        "samples": _count(suite.samples),
        "targets": {name: describe(target) for name, target in suite.targets.items()},
        "tags": {name: dict(tags) for name, tags in suite.tags.items()},
        "references": sorted(loaded.environment),
        "notes": list(suite.notes),
    }


def _count(samples: Any) -> int:
    return len(samples) if isinstance(samples, Sized) else sum(1 for _ in samples)


def _configuration_lines(loaded: Loaded) -> Iterator[str]:
    suite = loaded.suite
    yield f"{loaded.path} is in order: suite {suite.kind}, {_count(suite.samples)} samples"
    for name in suite.targets:
        tags = ", ".join(f"{key}={value}" for key, value in suite.tags.get(name, {}).items())
        yield f"  target {name}{f' ({tags})' if tags else ''}"
    if loaded.environment:
        yield f"  references with a value: {', '.join(sorted(loaded.environment))}"
    for note in suite.notes:
        yield f"  note: {note}"


def schema() -> None:
    """Print the JSON schema of a configuration, for editors.

    For YAML in VS Code: steelyard schema > schema.json, and a first line `# yaml-language-server: $schema=schema.json`.
    """
    from steelyard.cli.tables import print_json
    from steelyard.config.schema import json_schema

    print_json(json_schema())


def init(folder: InitFolder = Path(), *, suite: SuiteOption = "choice") -> None:
    """Write a first configuration with a small dataset.

    It runs without a key and without a network. No file that is there already is changed.
    """
    starter = {_RENAMED.get(one.name, one.name): one for one in _starter(suite).iterdir() if one.is_file()}
    try:
        taken = sorted(name for name in starter if os.path.lexists(folder / name))
        if taken:
            raise ConfigError(f"{folder} holds {', '.join(taken)} already; nothing was written. Name another folder")
        folder.mkdir(parents=True, exist_ok=True)
        for name, one in sorted(starter.items()):
            with (folder / name).open("xb") as written:
                written.write(one.read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigError(f"{folder} cannot be written: {error}") from error
    typer.echo(f"Written to {folder}: {', '.join(sorted(starter))}")
    typer.echo("Type next:")
    for line in ([] if folder == Path() else [f"cd {folder}"]) + [f"steelyard run {suite}.yaml"]:
        typer.echo(f"    {line}")


def _starter(suite: str) -> Traversable:
    every = [one for one in files("steelyard.config").joinpath("starter").iterdir() if one.is_dir()]
    found = next((one for one in every if one.name == suite), None)
    if found is None:
        raise ConfigError(
            f"there is no suite {suite!r} to begin with{did_you_mean(suite, [one.name for one in every])}"
        )
    return found
