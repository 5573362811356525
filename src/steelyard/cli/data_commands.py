"""The commands for datasets: show a version, change rows in a draft, save it as a new file, compare versions."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from steelyard.cli.options import JsonOption, StoreOption, store_option
from steelyard.errors import ConfigError

if TYPE_CHECKING:
    from steelyard.data.dataset_difference import DatasetDifference
    from steelyard.data.dataset_file import DatasetFile
    from steelyard.data.new_version import RowEdit
    from steelyard.store import Store
    from steelyard.store.dataset_drafts import DatasetDraft
    from steelyard.store.named_datasets import DatasetVersion, NamedDataset

_CELL: Final = 300
"""Maximum number of characters shown of a cell in a list of rows."""
_DatasetArgument = Annotated[
    str, typer.Argument(metavar="DATASET", help="Its name or id (steelyard data list).", show_default=False)
]
_RowArgument = Annotated[str, typer.Argument(metavar="ROW", help="The row's id.", show_default=False)]
_AuthorOption = Annotated[
    str, typer.Option("--author", metavar="NAME", help="Your name; it is stored with the change.", show_default=False)
]
_VersionOption = Annotated[
    str, typer.Option("--version", metavar="HASH", help="The beginning of a version's hash; the newest by default.")
]
_SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="COLUMN=VALUE", help="A cell; may be given several times.", show_default=False),
]


def data_list(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """List the datasets of a store's runs, with their versions."""
    from steelyard.report.render.terminal import console, print_json, say
    from steelyard.store import Store
    from steelyard.store.named_datasets import named_datasets

    with Store(store) as opened:
        datasets = named_datasets(opened)
        if as_json:
            print_json([_plain(dataset) for dataset in datasets])
            return
        for dataset in datasets:
            say(console(), f"{dataset.id}  {dataset.name}  {dataset.folder or ''}".rstrip())
            for version in dataset.versions:
                runs = ", ".join(run.id for run in version.runs[:5]) or "no run yet"
                say(console(), f"    {version.digest[:8]}  {version.name}  {runs}{_saved(version)}")
        if not datasets:
            say(console(), "no run of this store names a dataset file")


def data_show(
    dataset: _DatasetArgument,
    *,
    version: _VersionOption = "",
    search: Annotated[str, typer.Option("--search", metavar="TEXT", help="Only rows that hold this text.")] = "",
    first: Annotated[int, typer.Option("--first", metavar="N", help="List N rows; 0 lists all.", min=0)] = 20,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the rows of a dataset, with the draft's changes marked."""
    from steelyard.data.new_version import edited_rows
    from steelyard.report.render.terminal import console, print_json, say
    from steelyard.report.run_texts import one_line
    from steelyard.store import Store

    with Store(store) as opened:
        _, _, file, draft = _opened(opened, dataset, version)
    needle = search.casefold()
    edits = {ident: edit for ident, edit in draft.edits.items() if edit.kind != "retired"}
    rows = [
        row for row in edited_rows(file, edits) if needle in "\n".join([row.id, *map(file.shown, row.cells)]).casefold()
    ]
    shown = rows[:first] if first else rows
    state = {ident: row.edit.kind for ident, row in draft.rows.items()}
    if as_json:
        print_json(
            [
                {"id": row.id, "draft": state.get(row.id, ""), "cells": dict(zip(file.columns, row.cells, strict=True))}
                for row in shown
            ]
        )
        return
    for row in shown:
        say(console(), f"{row.id}{f'  ({state[row.id]} in the draft)' if row.id in state else ''}")
        for column, cell in zip(file.columns, row.cells, strict=True):
            if column != file.id_column and cell not in (None, ""):
                say(console(), f"    {column}: {one_line(file.shown(cell), _CELL)}")
    say(console(), f"{len(shown):,} of {len(rows):,} rows")


def data_edit(
    dataset: _DatasetArgument,
    row: _RowArgument,
    *,
    cells: _SetOption = None,
    author: _AuthorOption,
    version: _VersionOption = "",
    store: StoreOption = None,
) -> None:
    """Change cells of a row in the draft."""
    from steelyard.data.new_version import RowEdit
    from steelyard.store import Store

    with Store(store) as opened:
        named, _, file, draft = _opened(opened, dataset, version)
        draft_row = draft.rows.get(row)
        in_file = next((candidate for candidate in file.rows if candidate.id == row), None)
        if in_file is None and draft_row is None:
            raise ConfigError(f"{file.path.name} has no row {row!r}")
        draft_cells = dict(draft_row.edit.cells) if draft_row and draft_row.edit.kind != "retired" else {}
        file_cells = dict(zip(file.columns, in_file.cells, strict=True)) if in_file else {}
        edit = RowEdit(
            "changed" if in_file else "added", {**draft_cells, **_typed(file, cells, {**file_cells, **draft_cells})}
        )
        _change(opened, draft, row, edit, author)
        _say_draft(opened, named, draft, store_option(store))


def data_add(
    dataset: _DatasetArgument,
    row: Annotated[str, typer.Argument(metavar="[ROW]", help="The new row's id; by default that of the sample.")] = "",
    *,
    sample: Annotated[
        str, typer.Option("--from", metavar="RUN/SAMPLE", help="Fill the row from a sample of a run.")
    ] = "",
    take_output: Annotated[
        bool, typer.Option("--take-output", help="Use the target's output as the reference; correct it later.")
    ] = False,
    cells: _SetOption = None,
    author: _AuthorOption,
    version: _VersionOption = "",
    store: StoreOption = None,
) -> None:
    """Add a row to the draft, also from a sample of any run."""
    from steelyard.config.dataset_versions import suggested_cells
    from steelyard.data.new_version import RowEdit
    from steelyard.store import Store
    from steelyard.store.dataset_drafts import checked_row_id

    with Store(store) as opened:
        named, _, file, draft = _opened(opened, dataset, version)
        filled: dict[str, Any] = {}
        origin: dict[str, Any] = {}
        if sample:
            name, _, ident = sample.partition("/")
            run = opened.run(name)
            record = next(iter(run.records_of([ident])), None)
            if record is None:
                raise ConfigError(f"run {run.id} has no record of a sample {ident!r}")
            texts = suggested_cells(file, record, take_output=take_output)
            filled = _typed(file, [f"{column}={text}" for column, text in texts.items()], {})
            origin = {"run": run.id, "target": run.target, "sample": ident, "repeat": record.repeat}
            row = row or ident
        ident = checked_row_id(row)
        if ident in draft.rows or any(other.id == ident for other in file.rows):
            raise ConfigError(f"{file.path.name} or its draft has a row with the id {ident}: name another")
        edit = RowEdit("added", {**filled, **_typed(file, cells, filled)})
        if not edit.cells:
            raise ConfigError("a row has at least one cell: give --set COLUMN=VALUE, or --from RUN/SAMPLE")
        _change(opened, draft, ident, edit, author, origin)
        _say_draft(opened, named, draft, store_option(store))


def data_retire(
    dataset: _DatasetArgument,
    row: _RowArgument,
    *,
    undo: Annotated[bool, typer.Option("--undo", help="Undo all changes of the draft to the row.")] = False,
    author: _AuthorOption,
    version: _VersionOption = "",
    store: StoreOption = None,
) -> None:
    """Leave a row out of the next version, or undo the draft's changes to it."""
    from steelyard.data.new_version import RowEdit
    from steelyard.store import Store

    with Store(store) as opened:
        named, _, file, draft = _opened(opened, dataset, version)
        known = draft.rows if undo else {candidate.id for candidate in file.rows}
        if row not in known:
            raise ConfigError(f"{'the draft of ' if undo else ''}{file.path.name} has no row {row!r}")
        _change(opened, draft, row, None if undo else RowEdit("retired"), author)
        _say_draft(opened, named, draft, store_option(store))


def data_diff(
    dataset: _DatasetArgument,
    *,
    a: Annotated[str, typer.Option("-a", metavar="HASH", help="The earlier version.")] = "",
    b: Annotated[str, typer.Option("-b", metavar="HASH", help="The later version.")] = "",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what changed between two versions; by default what the draft, else the newest version, changed."""
    from steelyard.config.dataset_versions import draft_difference, open_version
    from steelyard.data.dataset_difference import dataset_difference
    from steelyard.report.render.terminal import console, print_json, say
    from steelyard.store import Store

    with Store(store) as opened:
        named, later, file, draft = _opened(opened, dataset, b)
        if draft.rows and not a and not b:
            title, difference = f"draft of {later.name}", draft_difference(file, draft.edits)
        else:
            earlier = named.version(a) if a else named.parent(later)
            title = f"{earlier.name} ({earlier.digest[:8]}) to {later.name} ({later.digest[:8]})"
            difference = dataset_difference(open_version(earlier), file)
    if as_json:
        print_json(difference)
        return
    counts = ", ".join(f"{n:,} {name}" for name, n in difference.counts.items())
    say(console(), f"{title}: {counts}, {difference.same:,} the same")
    for line in _lines(difference):
        say(console(), line)


def data_save(
    dataset: _DatasetArgument,
    *,
    author: _AuthorOption,
    version: _VersionOption = "",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Save the draft as a new file next to its version; no file is overwritten."""
    from steelyard.config.dataset_versions import save_draft
    from steelyard.report.render.terminal import console, print_json, say
    from steelyard.store import Store
    from steelyard.store.dataset_drafts import read_draft

    with Store(store) as opened:
        named, base = _named(opened, dataset, version)
        seen = read_draft(opened, named.id, base.digest).last
        saved = save_draft(opened, named, base, author=author, seen=seen)
    if as_json:
        print_json({"file": f"{named.folder}/{saved.name}", "digest": saved.digest, **saved.counts})
        return
    counts = ", ".join(f"{n:,} {name}" for name, n in saved.counts.items() if n)
    say(console(), f"saved {saved.name} in {named.folder}: {counts}")


def _named(store: Store, name: str, digest: str) -> tuple[NamedDataset, DatasetVersion]:
    from steelyard.store.named_datasets import dataset_named, named_datasets

    dataset = dataset_named(named_datasets(store), name)
    return dataset, dataset.version(digest)


def _opened(store: Store, name: str, digest: str) -> tuple[NamedDataset, DatasetVersion, DatasetFile, DatasetDraft]:
    from steelyard.config.dataset_versions import open_version
    from steelyard.store.dataset_drafts import read_draft

    dataset, version = _named(store, name, digest)
    return dataset, version, open_version(version), read_draft(store, dataset.id, version.digest)


def _typed(file: DatasetFile, assignments: Sequence[str] | None, before: dict[str, Any]) -> dict[str, Any]:
    """The cells of `--set COLUMN=VALUE`."""
    from steelyard.config.dataset_versions import like_cells
    from steelyard.errors import did_you_mean

    like = like_cells(file)
    cells = {}
    for assignment in assignments or ():
        column, equals, text = assignment.partition("=")
        if not equals:
            raise ConfigError(f"--set: expected COLUMN=VALUE, not {assignment!r}")
        if column not in file.columns or column == file.id_column:
            known = [name for name in file.columns if name != file.id_column]
            raise ConfigError(f"{file.path.name} has no column {column!r} to set{did_you_mean(column, known)}")
        cells[column] = file.typed(text, column, before.get(column), like.get(column))
    return cells


def _change(
    store: Store,
    draft: DatasetDraft,
    row: str,
    edit: RowEdit | None,
    author: str,
    origin: dict[str, Any] | None = None,
) -> None:
    from steelyard.store.dataset_drafts import change_row

    change_row(store, draft, row, edit, author=author, seen=draft.seen.get(row, 0), origin=origin)


def _say_draft(store: Store, dataset: NamedDataset, draft: DatasetDraft, where: str) -> None:
    from steelyard.analysis.numbers import count_text
    from steelyard.report.render.terminal import console, say
    from steelyard.store.dataset_drafts import read_draft

    rows = len(read_draft(store, dataset.id, draft.base).rows)
    say(console(), f"the draft of {dataset.name} changes {count_text(rows, 'row')}; nothing is written yet:")
    say(console(), f"  steelyard data diff {shlex.quote(dataset.name)}{where}")


def _lines(difference: DatasetDifference) -> Iterator[str]:
    marks = (("+", difference.added), ("~", difference.changed), ("-", difference.retired))
    for mark, rows in marks:
        for row in rows:
            yield f"{mark} {row.id}"
            for cell in row.cells:
                text = f"{cell.before} → {cell.after}" if mark == "~" else cell.before or cell.after
                yield f"    {cell.column}: {text}"


def _saved(version: DatasetVersion) -> str:
    saved = version.saved
    return f", saved by {saved.author} from {saved.parent} ({saved.base[:8]})" if saved else ""


def _plain(dataset: NamedDataset) -> dict[str, Any]:
    versions = [
        {
            "digest": version.digest,
            "file": version.name,
            "runs": [run.id for run in version.runs],
            "parent": version.saved.base if version.saved else "",
            "author": version.saved.author if version.saved else "",
        }
        for version in dataset.versions
    ]
    return {"id": dataset.id, "name": dataset.name, "folder": str(dataset.folder or ""), "versions": versions}
