"""The command `label`: a person says which option a reply gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer

from steelyard.cli.options import JsonOption, RunArgument, StoreOption
from steelyard.errors import ConfigError, DataError, did_you_mean

if TYPE_CHECKING:
    from steelyard.store import Run
    from steelyard.types import Label, Sample

_LONGEST_NUMBER: Final = 9
_NEEDED: Final = ("sample", "verdict")


def label(
    run: RunArgument,
    sample: Annotated[str, typer.Argument(metavar="[SAMPLE]", help="The sample's id.")] = "",
    value: Annotated[
        str, typer.Argument(metavar="[LETTERS]", help="What the reply answers: B, AC, or none.", show_default=False)
    ] = "",
    author: Annotated[str, typer.Option("--author", metavar="NAME", help="Who says so; has to be given.")] = "",
    repeat: Annotated[int, typer.Option("--repeat", metavar="N", help="Which repeat, from 0.", min=0)] = 0,
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Take back what the author said of the reply.")] = False,
    from_file: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="A sheet of review --csv, its verdicts filled in.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Keep a person's verdict: which option a reply gives.

    No score changes. A rate counts verdicts only where --with-labels asks for it, for every run alike.
    """
    from steelyard.cli.queueing import queue_score
    from steelyard.cli.tables import console, print_json, say
    from steelyard.report.numbers import counted
    from steelyard.store import Store
    from steelyard.store.labels import add_labels

    _check(sample, value, author, from_file, withdraw=withdraw)
    with Store(store) as opened:
        found = opened.run(run)
        queue_score(found)
        typed = _of_sheet(found, from_file) if from_file else [_Typed(sample, repeat, None if withdraw else value, "")]
        labels = _labels(found, typed, author, datetime.now(UTC))
        written = add_labels(opened, found, labels)
    if as_json:
        print_json({"run": found.id, "given": len(labels), "written": written, "author": author})
        return
    same = f"; {counted(len(labels) - written, 'verdict')} stood there already" if written < len(labels) else ""
    say(console(), f"run {found.id} ({found.target}): {counted(written, 'verdict')} by {author} kept{same}")


class _Typed(NamedTuple):
    """A verdict as it was typed, None to withdraw one, and where in a sheet it stands."""

    sample: str
    repeat: int
    value: str | None
    place: str


def _check(sample: str, value: str, author: str, from_file: Path | None, *, withdraw: bool) -> None:
    """Refuse what says too little or too much.

    Raises:
        ConfigError: what is missing.
    """
    if not author.strip():
        raise ConfigError("--author NAME: a verdict is somebody's, and a report names who; say who you are")
    if author.startswith("model:"):
        raise ConfigError(f"--author {author}: verdicts are a person's; what begins with model: is a model's")
    one = bool(sample) and bool(value) != withdraw
    if one == (from_file is not None) or (from_file is not None and (sample or withdraw)):
        raise ConfigError(
            "type the sample and what its reply answers (steelyard label RUN q7 B --author NAME), --withdraw in place "
            "of the letters, or --from FILE alone"
        )


def _labels(run: Run, typed: Sequence[_Typed], author: str, at: datetime) -> list[Label]:
    """The verdicts as labels, every one checked before any is kept.

    Raises:
        ConfigError: a sample or repeat that the run does not have, or letters that are no options.
    """
    from steelyard.store.verdicts import ANSWER, verdict_letters
    from steelyard.types import Label

    places = run.places()
    found: list[Label] = []
    for one in typed:
        name = _named(one.sample, places, run)
        repeats = {record.repeat: record.sample for _, record in run.records_between(places[name], places[name])}
        if one.repeat not in repeats:
            known = ", ".join(map(str, sorted(repeats)))
            raise ConfigError(f"{one.place}run {run.id} has no repeat {one.repeat} of sample {name!r}, but {known}")
        try:
            value = None if one.value is None else verdict_letters(one.value, _options(repeats[one.repeat]))
        except ConfigError as error:
            raise ConfigError(f"{one.place}{error}") from error
        found.append(Label(name, ANSWER, value, author, at, one.repeat))
    return found


def _named(sample: str, places: Mapping[str, int], run: Run) -> str:
    """The id that is meant: a sheet writes one that looks like a formula with an apostrophe in front."""
    for name in (sample, sample.removeprefix("'")):
        if name in places:
            return name
    near = did_you_mean(sample, places)
    raise ConfigError(f"run {run.id} has no sample {sample!r}{near if near.startswith(':') else ''}")


def _options(sample: Sample) -> int:
    return len(sample.choices)


def _of_sheet(run: Run, path: Path) -> list[_Typed]:
    """The rows of a sheet whose verdict is filled in.

    Raises:
        ConfigError: the file is of a kind that is not read.
        DataError: a column is missing, the sheet is of another run, or holds no verdict.
    """
    from steelyard.data.files import SampleFiles
    from steelyard.data.reading import read_tables
    from steelyard.data.table import render

    tables, _ = read_tables(SampleFiles(file=path))
    found: list[_Typed] = []
    for table in tables:
        for number, cells in _rows(table, path):
            texts = {name: render(value) for name, value in cells.items()}
            if texts.get("run", run.id) not in {"", run.id}:
                raise DataError(f"{path.name}: row {number} is of run {texts['run']}, and {run.id} was named")
            if texts["sample"] and texts["verdict"]:
                place = f"{path.name} row {number}: "
                found.append(_Typed(texts["sample"], _repeat(texts.get("repeat", ""), place), texts["verdict"], place))
    if not found:
        raise DataError(f"{path.name}: no row has a verdict; fill the column `verdict` with letters (B, AC) or none")
    return found


def _rows(table: Any, path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """(number, column's name -> cell) of each row below the header."""
    names: list[str] = []
    for number, cells in table:
        if isinstance(cells, dict):
            row = {str(name).strip().casefold(): value for name, value in cells.items()}
        elif not names:
            names = [str(cell or "").strip().casefold() for cell in cells]
            _check_columns(names, path)
            continue
        else:
            row = dict(zip(names, cells, strict=False))
        _check_columns(list(row), path)
        yield number, row


def _check_columns(names: Sequence[str], path: Path) -> None:
    missing = [name for name in _NEEDED if name not in names]
    if missing:
        has = ", ".join(name for name in names if name)[:120]
        raise DataError(f"{path.name}: expected the columns sample and verdict of review --csv; it has {has}")


def _repeat(text: str, place: str) -> int:
    if not text:
        return 0
    if not text.isdecimal() or len(text) > _LONGEST_NUMBER:
        raise DataError(f"{place}repeat is {text[:20]!r}; expected a number from 0")
    return int(text)
