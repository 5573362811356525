"""Datasets as pages show them: which one an address names, its file read once, and its rows with a draft applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from starlette.requests import Request

from steelyard.config.dataset_versions import open_version
from steelyard.data.dataset_file import DatasetFile, DatasetRow
from steelyard.data.new_version import edited_rows
from steelyard.errors import ConfigError
from steelyard.people.dataset_drafts import DatasetDraft, DraftRow, read_draft
from steelyard.people.named_datasets import (
    DatasetVersion,
    NamedDataset,
    RunDataset,
    dataset_named,
    named_datasets,
    run_dataset,
)
from steelyard.report.run_texts import one_line
from steelyard.store import Run
from steelyard.viewer.pages import Pages, stamp_of

_KEPT: Final = 2
"""Files whose rows are cached: 100,000 rows take some 12 megabytes."""
_SHOWN: Final = 50
"""Rows on one page."""
_COLUMNS: Final = 7
"""Columns of the list of rows; the page of a row has all."""
_CHARACTERS: Final = 160


@dataclass(frozen=True, slots=True)
class ListedRow:
    """A row in the list: its place, its id, what the draft does to it, and the beginning of its first cells."""

    place: int
    id: str
    state: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RowPage:
    """Some rows in order, and the places where the previous and the next page begin; "" at the ends."""

    rows: tuple[ListedRow, ...]
    columns: tuple[str, ...]
    before: str
    after: str


class OpenDatasets:
    """The datasets of a store, with the files that were read last.

    Args:
        pages: of the store.
    """

    def __init__(self, pages: Pages) -> None:
        self._store = pages.store
        self._known: dict[tuple[str, str], RunDataset | None] = {}
        self._files: dict[str, tuple[tuple[int, ...], DatasetFile]] = {}

    def all(self) -> list[NamedDataset]:
        """Every dataset that a run names."""
        return named_datasets(self._store, self._known)

    def asked(self, request: Request) -> tuple[NamedDataset, DatasetVersion]:
        """The dataset and version that an address names.

        Raises:
            ConfigError: there is none.
        """
        dataset = dataset_named(self.all(), request.path_params["dataset"])
        digest = request.path_params.get("version") or request.query_params.get("version", "")
        return dataset, dataset.version(digest)

    def of_run(self, run: Run) -> RunDataset | None:
        """The dataset of a run; None where it has none."""
        key = run.id, run.state
        if key not in self._known:
            self._known[key] = run_dataset(run)
        return self._known[key]

    def file(self, version: DatasetVersion) -> DatasetFile:
        """The rows of a version; read again only where the file was changed.

        Raises:
            ConfigError: it cannot be opened, or was changed on disk.
            DataError: it cannot be read.
        """
        path = version.files.paths[0]
        stamp = stamp_of(path)
        cached = self._files.get(version.digest)
        if cached is None or cached[0] != stamp or cached[1].path != path:
            self._files.pop(version.digest, None)
            self._files[version.digest] = cached = stamp, open_version(version)
            while len(self._files) > _KEPT:
                self._files.pop(next(iter(self._files)), None)
        return cached[1]

    def draft(self, dataset: NamedDataset, version: DatasetVersion) -> DatasetDraft:
        """The unsaved changes of a version."""
        return read_draft(self._store, dataset.id, version.digest)

    def rows(self, version: DatasetVersion, draft: DatasetDraft, given: Mapping[str, str]) -> RowPage:
        """A page of rows with the draft applied: a changed row is in its place, a new row at the end.

        Args:
            version: whose rows.
            draft: what is changed in them.
            given: `after` or `before` with a place, `search` with a text in any cell, `show` "draft" for its rows only.
        """
        file = self.file(version)
        edits = {ident: edit for ident, edit in draft.edits.items() if edit.kind != "retired"}
        rows = edited_rows(file, edits) if edits else file.rows
        columns = tuple(name for name in file.columns if name != file.id_column)[:_COLUMNS]
        backwards = bool(given.get("before"))
        edge = _place(given.get("before") or given.get("after") or "")
        places = range(edge - 1, -1, -1) if backwards else range(edge + 1, len(rows))
        matches = []
        for place in places:
            if _is_shown(file, rows[place], draft, given):
                matches.append(place)
                if len(matches) > _SHOWN:
                    break
        more = len(matches) > _SHOWN
        on_page = sorted(matches[:_SHOWN])
        further = bool(on_page) if backwards else more
        earlier = more if backwards else (bool(on_page) and edge >= 0)
        at = [file.columns.index(name) for name in columns]
        return RowPage(
            tuple(_listed(file, rows[place], draft, place, at) for place in on_page),
            columns,
            str(on_page[0]) if earlier else "",
            str(on_page[-1]) if further else "",
        )


def row_of(file: DatasetFile, draft: DatasetDraft, ident: str) -> tuple[DatasetRow, DraftRow | None, DatasetRow | None]:
    """A row as the draft has it, what the draft does to it, and the row as the file has it (None for a new one).

    Raises:
        ConfigError: there is no such row.
    """
    in_file = file.rows[file.ids.index(ident)] if ident in file.ids else None
    change = draft.rows.get(ident)
    if in_file is None and change is None:
        raise ConfigError(f"{file.path.name} has no row {ident!r}: its draft may have been saved or discarded")
    edits = {ident: change.edit} if change and change.edit.kind != "retired" else {}
    (row,) = edited_rows(replace(file, rows=(in_file,) if in_file else ()), edits)
    return row, change, in_file


def _place(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else -1


def _is_shown(file: DatasetFile, row: DatasetRow, draft: DatasetDraft, given: Mapping[str, str]) -> bool:
    search = given.get("search", "").casefold()
    is_listed = given.get("show") != "draft" or row.id in draft.rows
    return is_listed and (not search or search in "\n".join([row.id, *map(file.shown, row.cells)]).casefold())


def _listed(file: DatasetFile, row: DatasetRow, draft: DatasetDraft, place: int, at: list[int]) -> ListedRow:
    change = draft.rows.get(row.id)
    cells = tuple(one_line(file.shown(row.cells[column]), _CHARACTERS) for column in at)
    return ListedRow(place, row.id, change.edit.kind if change else "", cells)
