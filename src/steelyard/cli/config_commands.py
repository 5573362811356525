"""Commands about files, none of which calls a model: `init`, `check`, `convert`, `prompts`, `schema`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer

from steelyard.analysis.numbers import count_text
from steelyard.cli import options
from steelyard.cli.options import load_config
from steelyard.cli.output import USER_MISTAKE, write_text
from steelyard.config.check_dataset import check_dataset, check_references, parse_columns, reference_lines
from steelyard.config.conversion import converted
from steelyard.config.first_configuration import (
    CONFIGURATION,
    SERVER_CONFIGURATION,
    first_configuration,
    server_configuration,
)
from steelyard.config.given import note_given
from steelyard.config.load import SUFFIXES, Loaded
from steelyard.config.schema import json_schema
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import object_in
from steelyard.errors import ConfigError, SteelyardError, bounded, did_you_mean
from steelyard.escaping import visible
from steelyard.evaluation.scorer_infos import prompt_hints
from steelyard.evaluation.survey import judge_calls, notes_of
from steelyard.prompts.reply_schema import packaged_replies
from steelyard.prompts.template import packaged_prompts, placeholders
from steelyard.registry import describe
from steelyard.report.render.terminal import print_data, print_json
from steelyard.scorers.reference_checks import ReferenceFinding

_RENAMED: Final = {"gitignore": ".gitignore"}
"""Name in the package -> name that is written: a .gitignore in the package would hide files of it from git."""
_CONFIGURATION_KEYS: Final = frozenset({"suite", "samples", "endpoint", "models", "prompts", "targets", "scorers"})
"""Every configuration has one of them; a JSON object without them holds rows (`{"data": [...]}`, a data frame)."""
_LONGEST_CONFIGURATION: Final = 1_000_000
"""Bytes above which a JSON file is a dataset, without being read to find out."""
_REPLIES: Final = "replies/"
"""Prefix of the names of packaged JSON schemas of replies."""


_ColumnsOption = Annotated[
    list[str] | None,
    typer.Option("--columns", metavar="ROLE=COLUMN,...", help="By header or letter: question=A,options=B:E,answer=F."),
]


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where to write; created if it does not exist.")
    ] = Path(),
    *,
    suite: Annotated[str, typer.Option("--suite", metavar="NAME", help="The suite of the configuration.")] = "general",
    language: Annotated[
        Literal["en", "zh"], typer.Option("--language", help="Language of the dataset and of the comments.")
    ] = "en",
    samples: Annotated[
        list[Path] | None, typer.Option("--samples", metavar="FILE", help="Your own dataset; may be repeated.")
    ] = None,
    columns: _ColumnsOption = None,
    models: Annotated[
        list[str] | None, typer.Option("--model", metavar="NAME", help="A model of the endpoint; may be repeated.")
    ] = None,
    endpoint: Annotated[
        str, typer.Option("--endpoint", metavar="URL", help="Base address of an OpenAI-compatible endpoint.")
    ] = "",
    server: Annotated[
        str,
        typer.Option("--server", metavar="URL", help="A PostgreSQL or MySQL server for text2sql; password as ${NAME}."),
    ] = "",
) -> None:
    """Write a first configuration for your dataset or server.

    Without --samples, --model and --server it runs without a key and without a network. With --samples the columns are
    shown with their roles and first values. With --suite text2sql --server 'postgresql://reader:${NAME}@host/shop' the
    server's catalogue is read. No existing file is changed.
    """
    if server:
        if suite != "text2sql" or samples or columns:
            raise ConfigError("--server belongs to --suite text2sql, without --samples and --columns")
        given = server_configuration(server, folder, language=language, models=models or (), endpoint=endpoint)
        ignored = _starter(suite, language).joinpath("gitignore").read_bytes()
        files = {name: text.encode() for name, text in given.items()} | {".gitignore": ignored}
        _write_new(folder, files)
        _say_next(folder, files, SERVER_CONFIGURATION)
        return
    if samples:
        if suite != "general":
            raise ConfigError(f"--samples writes a configuration of the suite general, not of {suite}")
        _init_for(tuple(samples), folder, columns=columns or (), models=models or (), endpoint=endpoint)
        return
    if columns or models or endpoint:
        raise ConfigError("--columns, --model and --endpoint belong to --samples FILE or --server URL")
    starter = {
        _RENAMED.get(file.name, file.name): file.read_bytes()
        for file in _starter(suite, language).iterdir()
        if file.is_file()
    }
    _write_new(folder, starter)
    _say_next(folder, starter, f"{suite}.yaml")


def _init_for(
    files: tuple[Path, ...], folder: Path, *, columns: Sequence[str], models: Sequence[str], endpoint: str
) -> None:
    """Write a first configuration for a dataset, and show its columns."""
    first = first_configuration(
        SampleFiles(files, columns=parse_columns(columns)), folder, models=models, endpoint=endpoint
    )
    texts = {name: text.encode() for name, text in first.files.items()}
    _write_new(folder, texts)
    note_given(*files)
    _print_lines(iter([*first.columns, *(f"note: {note}" for note in first.notes)]))
    _say_next(folder, texts, CONFIGURATION)


def _write_new(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files that do not exist yet.

    Raises:
        ConfigError: one exists, or the folder cannot be written.
    """
    if folder.is_file():
        raise ConfigError(f"{folder} is a file, not a folder to write to; a dataset is named by --samples {folder}")
    try:
        existing = sorted(name for name in files if os.path.lexists(folder / name))
        if existing:
            raise ConfigError(f"{folder} has {', '.join(existing)} already; nothing was written. Name another folder")
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in sorted(files.items()):
            with (folder / name).open("xb") as opened:
                opened.write(content)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{folder} cannot be written: {error}") from error


def _say_next(folder: Path, files: Iterable[str], configuration: str) -> None:
    typer.echo(f"Written to {folder}: {', '.join(sorted(files))}")
    typer.echo("Next:")
    for line in ([] if folder == Path() else [f"cd {folder}"]) + [f"steelyard run {configuration}"]:
        typer.echo(f"    {line}")


def _starter(suite: str, language: str) -> Traversable:
    starters = files("steelyard.config").joinpath("starter", language)
    folders = {folder.name: folder for folder in starters.iterdir() if folder.is_dir()}
    if suite not in folders:
        raise ConfigError(f"there is no first configuration for a suite {suite!r}{did_you_mean(suite, folders)}")
    return folders[suite]


_CheckedFiles = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE...",
        help="Configurations (.yaml, .yml, .toml, .json); or a dataset: files (.xlsx, .csv, ...), or a folder.",
    ),
]
_DatasetSuiteOption = Annotated[
    str, typer.Option("--suite", metavar="NAME", help="The suite whose dataset FILE is; by default its columns decide.")
]
_HubOption = Annotated[
    str,
    typer.Option("--dataset", metavar="OWNER/NAME", help="A dataset of the Hugging Face hub instead of files."),
]
_SheetOption = Annotated[
    list[str] | None,
    typer.Option("--sheet", metavar="NAME", help="A sheet to read, also a hidden one; may be repeated."),
]
_HeaderOption = Annotated[
    str,
    typer.Option("--header", metavar="auto|none|N", help="Row of the headers: detected, no headers, or row N."),
]
_DatabasesOption = Annotated[
    Path | None, typer.Option("--databases", metavar="FOLDER", help="The databases that the rows refer to.")
]


def check(
    file: _CheckedFiles = None,
    *,
    suite: _DatasetSuiteOption = "",
    dataset: _HubOption = "",
    split: Annotated[str, typer.Option("--split", metavar="NAME", help="Which split of a dataset or folder.")] = "",
    subset: Annotated[str, typer.Option("--subset", metavar="NAME", help="Which subset of a dataset or folder.")] = "",
    columns: _ColumnsOption = None,
    sheet: _SheetOption = None,
    header: _HeaderOption = "auto",
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Skip rows with defects, as skip_bad: true does; exit code 0.")
    ] = False,
    databases: _DatabasesOption = None,
    no_references: Annotated[bool, typer.Option("--no-references", help="Do not run SQL references.")] = False,
    as_json: options.JsonOption = False,
    no_env: options.NoEnvOption = False,
) -> int:
    """Check configurations, or a dataset, without sending anything.

    A configuration is read with its datasets, prompts, documents and references. For a dataset, the detected columns,
    the counts of each key or database and of each group, near-duplicate questions, and the defects are shown (the first
    200; --json has all). Every SQL reference is run; those that fail are errors, and those that return nothing, have no
    unique result, ask for the time or sort doubtfully are warnings. Exit code 2 if anything is wrong.
    """
    paths = tuple(file or ())
    dataset_options = {"split": split, "subset": subset, "columns": columns, "sheet": sheet, "skip-bad": skip_bad}
    options_given = [f"--{name}" for name, value in dataset_options.items() if value] + (
        [] if header == "auto" else ["--header"]
    )
    if paths and not suite and not dataset and all(map(is_configuration, paths)):
        if options_given:
            raise ConfigError(f"{options_given[0]} is for datasets; a configuration has it under samples")
        return _check_configurations(paths, references=not no_references, no_env=no_env, as_json=as_json)
    if not paths and not dataset:
        raise ConfigError("name a file to check, or a dataset of the Hugging Face hub with --dataset owner/name")
    samples = SampleFiles(
        paths,
        dataset=dataset,
        split=split,
        subset=subset,
        columns=parse_columns(columns or ()),
        sheets=tuple(sheet or ()),
        header=_header(header),
        skip_bad=skip_bad,
    )
    data = check_dataset(suite, samples, databases, references=not no_references)
    note_given(*paths)
    if as_json:
        print_json(data)
    else:
        _print_lines(data.lines(", ".join(map(str, paths)) or dataset))
    return USER_MISTAKE if data.is_wrong else 0


def _check_configurations(paths: Sequence[Path], *, references: bool, no_env: bool, as_json: bool) -> int:
    """Check all configurations, also after an invalid one: a commit hook passes all changed files."""
    plain: list[dict[str, Any]] = []
    errors: list[SteelyardError] = []
    broken = False
    for path in paths:
        try:
            loaded = load_config(path, no_env=no_env)
            findings = check_references(loaded.suite, loaded.environment) if references else []
        except SteelyardError as error:
            errors.append(error)
            continue
        broken = broken or any(finding.is_error for finding in findings)
        plain.append(_plain_configuration(loaded, findings))
        if not as_json:
            _print_lines(_configuration_lines(loaded, findings))
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ConfigError("\n".join(map(str, errors)))
    if as_json:
        print_json(plain[0] if len(paths) == 1 else plain)
    return USER_MISTAKE if broken else 0


def _header(text: str) -> Literal["auto", "none"] | int:
    if text in {"auto", "none"}:
        return "auto" if text == "auto" else "none"
    if not (text.isascii() and text.isdigit()):
        raise ConfigError(f"--header is {text!r}; expected auto, none, or the number of a row")
    return int(text[:9])  # enough digits for any sheet; int() rejects a text of thousands of digits


def is_configuration(file: Path) -> bool:
    """Whether `file` is a configuration and not a dataset: by its suffix; a JSON file by its outermost keys.

    One with an object on its first line and more behind it is JSON lines.
    """
    suffix = file.suffix.lower()
    if suffix != ".json" or not file.is_file():
        return suffix in SUFFIXES
    if file.stat().st_size > _LONGEST_CONFIGURATION:
        return False
    content = file.read_bytes().removeprefix(b"\xef\xbb\xbf").lstrip()
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return (
            not content.startswith(b"[") and object_in(content.partition(b"\n")[0].decode("utf-8", "replace")) is None
        )
    return isinstance(value, dict) and (not value or not _CONFIGURATION_KEYS.isdisjoint(value))


def _print_lines(lines: Iterator[str]) -> None:
    for line in lines:
        typer.echo(visible(bounded(line)))


def _plain_configuration(loaded: Loaded, findings: Sequence[ReferenceFinding]) -> dict[str, Any]:
    suite = loaded.suite
    return {
        "file": str(loaded.path),
        "suite": suite.kind,
        "name": suite.name,
        "samples": _count(suite.samples),
        "targets": {name: describe(target) for name, target in suite.targets.items()},
        "tags": {name: dict(tags) for name, tags in suite.tags.items()},
        "judges": judge_calls(suite),
        "references": sorted(loaded.environment),
        "notes": _notes(loaded),
        "reference_findings": findings,
    }


def _notes(loaded: Loaded) -> list[str]:
    return list(dict.fromkeys((*notes_of(loaded.suite), *prompt_hints(loaded.suite.all_scorers))))


def _count(samples: Any) -> int:
    return len(samples) if isinstance(samples, Sized) else sum(1 for _ in samples)


def _configuration_lines(loaded: Loaded, findings: Sequence[ReferenceFinding]) -> Iterator[str]:
    suite = loaded.suite
    yield f"{loaded.path} is valid: suite {suite.kind}, {count_text(_count(suite.samples), 'sample')}"
    for name in suite.targets:
        tags = ", ".join(f"{key}={value}" for key, value in suite.tags.get(name, {}).items())
        yield f"  target {name}{f' ({tags})' if tags else ''}"
    yield from (f"  {calls.line()}" for calls in judge_calls(suite))
    if loaded.environment:
        yield f"  references with a value: {', '.join(sorted(loaded.environment))}"
    for note in _notes(loaded):
        yield f"  note: {note}"
    yield from reference_lines(findings)


def convert(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A configuration of another tool.")],
    more: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE]...", help="The run and the items of an eval of OpenAI.")
    ] = None,
    *,
    root: Annotated[
        Path | None,
        typer.Option("--root", metavar="FOLDER", help="Read files that it names below FOLDER too, not only beside it."),
    ] = None,
    out: options.OutOption = None,
) -> None:
    """Convert a configuration of another tool, with its dataset.

    Read are promptfooconfig.yaml, evals of OpenAI (hosted, with run and items, or of the registry), datasets of
    pydantic-evals with their evaluators, and the JSON file of an older exam script. The configuration is written next
    to FILE as NAME.steelyard.yaml, or to --out, and the dataset beside it as .jsonl. What was not taken over is named
    in comments at its head.
    """
    result = converted(file, more or (), root=root)
    if isinstance(result, str) and out is None:
        print_data([result])
        return
    target = out or file.with_name(f"{file.stem}.steelyard.yaml")
    dataset = target.with_suffix(".jsonl")
    rows = "" if isinstance(result, str) else result.dataset()
    for path in (target, dataset) if rows else (target,):
        if path.exists():
            raise ConfigError(f"{path} exists already; name another file with --out")
    write_text(target, result if isinstance(result, str) else result.text(file.name, dataset.name))
    if rows:
        write_text(dataset, rows)
    left = 0 if isinstance(result, str) else len(result.notes.places)
    typer.echo(f"wrote {target}{f' and {dataset}' if rows else ''}; review it, then: steelyard check {target}")
    if left:
        typer.echo(f"{left} thing{'s' if left > 1 else ''} not taken over, named at the head of {target}", err=True)


def prompts(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A prompt, such as zh/choice; all are listed by default.")
    ] = "",
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="Copy the prompt into a file that does not exist yet.")
    ] = None,
) -> None:
    """List the packaged prompts, print one, or copy one into a file.

    A configuration names a prompt, packaged or a file, as template. JSON schemas of replies are listed as replies/NAME.
    """
    names = (*packaged_prompts(), *(f"{_REPLIES}{name}" for name in packaged_replies()))
    if not name:
        if to is not None:
            raise ConfigError("--to copies one prompt: name it, for example steelyard prompts zh/choice --to mine.txt")
        _list_prompts(names)
        return
    if name not in names:
        raise ConfigError(f"there is no prompt {name!r}{did_you_mean(name, names)}")
    text = _prompt_text(name)
    if to is None:
        print_data([text, "\n"])
        return
    try:
        with to.open("x", encoding="utf-8", newline="\n") as file:
            file.write(f"{text}\n")
    except FileExistsError as error:
        raise ConfigError(f"{to} exists already; nothing was written") from error
    except (OSError, ValueError) as error:
        raise ConfigError(f"{to} cannot be written: {getattr(error, 'strerror', None) or error}") from error
    typer.echo(f"wrote {to}: name it as {'reply' if name.startswith(_REPLIES) else 'template'}")


def _prompt_text(name: str) -> str:
    """The text of the file; in a schema the placeholder for the letters is not filled, because a copy needs it."""
    suffix = "json" if name.startswith(_REPLIES) else "txt"
    return files("steelyard").joinpath(f"prompts/{name}.{suffix}").read_text(encoding="utf-8").rstrip("\n")


def _list_prompts(names: tuple[str, ...]) -> None:
    """A line per prompt: its name and its placeholders."""
    width = max(map(len, names)) + 2
    for name in names:
        fields = dict.fromkeys(placeholder for placeholder, _ in placeholders(_prompt_text(name)))
        typer.echo(f"{name:<{width}}{', '.join(fields)}".rstrip())


def schema() -> None:
    """Print the JSON schema of a configuration, for editors.

    For YAML in VS Code: steelyard schema > schema.json, and a first line `# yaml-language-server: $schema=schema.json`.
    """
    print_json(json_schema())
