"""Commands about files, none of which asks a model anything: check, schema, init."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sized
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from steelyard.cli.options import JsonOption, NoEnvOption
from steelyard.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from steelyard.config.load import Loaded

_USER_MISTAKE: Final = 2
_RENAMED: Final = {"gitignore": ".gitignore"}  # under its own name it would hide files of this package
_PEEK_BYTES: Final = 4096

CheckedFiles = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE...",
        help="A configuration (.yaml, .yml, .toml, .json); or a dataset: files (.xlsx, .csv, ...), or a folder.",
    ),
]
HubOption = Annotated[
    str, typer.Option("--dataset", metavar="OWNER/NAME", help="A dataset of the Hugging Face hub in place of files.")
]
SplitOption = Annotated[str, typer.Option("--split", metavar="NAME", help="Which split of a dataset or folder.")]
SubsetOption = Annotated[str, typer.Option("--subset", metavar="NAME", help="Which subset of a dataset or folder.")]
ColumnsOption = Annotated[
    list[str] | None,
    typer.Option("--columns", metavar="ROLE=COLUMN,...", help="By header or letter: question=A,options=B:E,answer=F."),
]
SheetOption = Annotated[
    list[str] | None, typer.Option("--sheet", metavar="NAME", help="A sheet to read, hidden or not; may be repeated.")
]
HeaderOption = Annotated[
    str, typer.Option("--header", metavar="auto|none|N", help="Where the headers are: found, nowhere, or row N.")
]
SkipBadOption = Annotated[
    bool, typer.Option("--skip-bad", help="Leave out rows with defects, as skip_bad: true does; exit code 0.")
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
    file: CheckedFiles = None,
    *,
    suite: DatasetOption = "",
    dataset: HubOption = "",
    split: SplitOption = "",
    subset: SubsetOption = "",
    columns: ColumnsOption = None,
    sheet: SheetOption = None,
    header: HeaderOption = "auto",
    skip_bad: SkipBadOption = False,
    databases: DatabasesOption = None,
    as_json: JsonOption = False,
    no_env: NoEnvOption = False,
) -> int:
    """Check a configuration, or a dataset, without sending anything.

    A configuration is read with its datasets, prompts, documents and references. Of a dataset, the columns that were
    found, how often each key or database and each group occurs, questions that are nearly the same, and every defect
    are shown. Exit code 2 where something is wrong.
    """
    files = tuple(file or ())
    about = {"split": split, "subset": subset, "columns": columns, "sheet": sheet, "skip-bad": skip_bad}
    given = [f"--{name}" for name, value in about.items() if value] + ([] if header == "auto" else ["--header"])
    if len(files) == 1 and not suite and not dataset and is_configuration(files[0]):
        if given:
            raise ConfigError(f"{given[0]} belongs to a dataset; a configuration says it under samples")
        return _check_configuration(files[0], as_json=as_json, no_env=no_env)
    from steelyard.cli.datasets import check_dataset, columns_of
    from steelyard.data.files import SampleFiles

    if not files and not dataset:
        raise ConfigError("name a file to check, or a dataset of the Hugging Face hub with --dataset owner/name")
    samples = SampleFiles(
        files,
        dataset=dataset,
        split=split,
        subset=subset,
        columns=columns_of(columns or ()),
        sheets=tuple(sheet or ()),
        header=_header(header),
        skip_bad=skip_bad,
    )
    data = check_dataset(suite, samples, databases)
    _show(data.to_json(), data.lines(", ".join(map(str, files)) or dataset), as_json=as_json)
    return _USER_MISTAKE if (data.defects and not skip_bad) or not data.samples else 0


def _header(given: str) -> Literal["auto", "none"] | int:
    if given in {"auto", "none"}:
        return "auto" if given == "auto" else "none"
    if not (given.isascii() and given.isdigit()):
        raise ConfigError(f"--header is {given!r}; expected auto, none, or the number of a row")
    return int(given[:9])


def _check_configuration(file: Path, *, as_json: bool, no_env: bool) -> int:
    from steelyard.config.load import load

    loaded = load(file, environ=os.environ, use_dotenv=not no_env)
    _show(_about_configuration(loaded), _configuration_lines(loaded), as_json=as_json)
    return 0


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
