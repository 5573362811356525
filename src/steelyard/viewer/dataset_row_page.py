"""Changes, retires or adds one row of a dataset, also from the sample of a run; changes go to the draft at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from steelyard.config.dataset_versions import like_cells, suggested_cells
from steelyard.data.dataset_file import DatasetFile
from steelyard.data.new_version import RowEdit, unwritable
from steelyard.errors import ConfigError, DataError
from steelyard.people.dataset_drafts import DatasetDraft, DraftConflictError, change_row, checked_row_id
from steelyard.people.named_datasets import DatasetVersion, NamedDataset
from steelyard.prompts.conversation import input_text
from steelyard.store import Run
from steelyard.types import Record
from steelyard.viewer.forms import Form, author_of, number_of
from steelyard.viewer.open_datasets import OpenDatasets, row_of
from steelyard.viewer.pages import Pages, neighbours

_CELL: Final = "cell-"
"""Beginning of the names of fields; the number of the column follows."""
_MOST_COLUMNS: Final = 150
"""The most columns that a form can hold; datasets usually have a dozen."""
_ORIGIN: Final = ("run", "sample", "repeat")


@dataclass(frozen=True, slots=True)
class CellField:
    """A field: its column, the text in it, and what the file and, after a conflict, the draft have there."""

    name: str
    column: str
    text: str
    in_file: str
    in_draft: str = ""
    is_json: bool = False


@dataclass(frozen=True, slots=True)
class _OpenVersion:
    """The dataset and version of a request, with its file and draft."""

    dataset: NamedDataset
    version: DatasetVersion
    file: DatasetFile
    draft: DatasetDraft


def dataset_row_routes(pages: Pages, datasets: OpenDatasets) -> list[Route]:
    """The routes of the forms."""
    site = _RowPages(pages, datasets)
    return [
        Route("/data/add", site.choose),
        Route("/data/{dataset}/{version}/row", site.shown),
        pages.takes("/data/{dataset}/{version}/row", site.change),
        Route("/data/{dataset}/{version}/new", site.blank),
        pages.takes("/data/{dataset}/{version}/new", site.add),
    ]


@dataclass(frozen=True, slots=True)
class _RowPages:
    """The forms of rows over one store."""

    pages: Pages
    datasets: OpenDatasets

    def choose(self, request: Request) -> Response:
        """The datasets that a sample can be added to."""
        run, record = self._record(request.query_params)
        listed = [
            (dataset, version, reason)
            for dataset in self.datasets.all()
            for version in dataset.versions[:1]
            for reason in [version.about.reason or unwritable(version.files.paths[0])]
        ]
        own_dataset = self.datasets.of_run(run)
        listed.sort(key=lambda entry: (bool(entry[2]), own_dataset is None or entry[0].id != own_dataset.id))
        return self.pages.page(
            request,
            "dataset_choose.html.j2",
            run=run,
            record=record,
            listed=listed,
            question=input_text(record.sample.input),
        )

    def shown(self, request: Request) -> Response:
        """The form of an existing row."""
        opened = self._open_version(request)
        return self._row_page(request, opened, request.query_params.get("id", ""))

    def change(self, request: Request, sent: Form) -> Response:
        """Change a row, retire it, or undo all its changes."""
        form = _with_ids(request, sent)
        ident, does = form.get("id", ""), form.get("do", "save")
        try:
            opened = self._open_version(request)
            row, _, in_file = row_of(opened.file, opened.draft, ident)
        except (ConfigError, DataError) as error:  # the file or the row is gone, and the form with it
            return self.pages.unplaced(request, error, _written(form))
        try:
            cells = _typed(opened.file, form, row.cells)
            if does == "save" and in_file is None:
                edit: RowEdit | None = RowEdit("added", cells)
            elif does == "save":
                changed = _changed(opened.file, in_file.cells if in_file else (), cells)
                edit = RowEdit("changed", changed) if changed else None
            else:
                edit = RowEdit("retired") if does == "retire" and in_file else None
            self._store(request, opened, ident, edit, form)
        except (ConfigError, DataError) as error:
            return self._row_page(request, opened, ident, form, error)
        return self._done(request, opened, form)

    def _store(
        self, request: Request, opened: _OpenVersion, ident: str, edit: RowEdit | None, form: dict[str, str]
    ) -> None:
        """Store a change; nothing is written where the row is unchanged and the draft has none of its changes."""
        if edit is None and ident not in opened.draft.rows and str(opened.draft.seen.get(ident, 0)) == form.get("seen"):
            return
        change_row(
            self.pages.store,
            opened.draft,
            ident,
            edit,
            author=form.get("author", "") or author_of(request),
            seen=number_of(form.get("seen", "")),
            origin=self._origin(form),
        )

    def _done(self, request: Request, opened: _OpenVersion, form: Mapping[str, str]) -> Response:
        address = self.pages.address(f"/data/{opened.dataset.id}", version=opened.version.digest, show="draft")
        author = form.get("author", "").strip()
        return self.pages.signed_redirect(request, address, author) if author else RedirectResponse(address, 303)

    def _row_page(
        self,
        request: Request,
        opened: _OpenVersion,
        ident: str,
        form: Mapping[str, str] | None = None,
        error: Exception | None = None,
    ) -> Response:
        """The form, with what somebody typed where it could not be stored."""
        file = opened.file
        draft = self.datasets.draft(opened.dataset, opened.version) if error else opened.draft
        row, change, in_file = None, None, None
        if ident in draft.rows or ident in file.ids:
            row, change, in_file = row_of(file, draft, ident)
        conflict = isinstance(error, DraftConflictError)
        like = like_cells(file)
        fields = []
        for at, column in _columns(file):
            stored = row.cells[at] if row else None
            current_text = file.shown(stored) if row else ""
            text = (form or {}).get(f"{_CELL}{at}", current_text)
            fields.append(
                CellField(
                    f"{_CELL}{at}",
                    column,
                    text,
                    in_file=file.shown(in_file.cells[at]) if in_file else "",
                    in_draft=current_text if conflict and current_text.split() != text.split() else "",
                    is_json=file.keyed and not isinstance(like.get(column, "") if stored is None else stored, str),
                )
            )
        return self.pages.savable(
            request,
            "dataset_row.html.j2",
            f"{opened.version.name} {ident}",
            status=422 if error else 200,
            dataset=opened.dataset,
            version=opened.version,
            ident=ident,
            change=change,
            in_file=in_file,
            fields=fields,
            # After a conflict the form counts as having seen what the page now shows next to it.
            seen=draft.seen.get(ident, 0),
            fault=str(error) if error else "",
            conflict=conflict,
            author=(form or {}).get("author") or author_of(request),
            beside=neighbours(file.ids, ident) if ident in file.ids else ("", ""),
            unwritable=unwritable(opened.file.path),
        )

    def blank(self, request: Request) -> Response:
        """The form of a new row, filled from a sample where one is named."""
        opened = self._open_version(request)
        return self._new_page(request, opened, request.query_params)

    def add(self, request: Request, sent: Form) -> Response:
        """Store a new row."""
        form = _with_ids(request, sent)
        try:
            opened = self._open_version(request)
        except (ConfigError, DataError) as error:
            return self.pages.unplaced(request, error, _written(form))
        try:
            ident, filled = _new_row(opened, form)
            # A row of this id in the draft was not seen by the author; an undone one does not matter.
            seen = 0 if ident in opened.draft.rows else opened.draft.seen.get(ident, 0)
            self._store(request, opened, ident, RowEdit("added", filled), {**form, "seen": str(seen)})
        except (ConfigError, DataError) as error:
            return self._new_page(request, opened, form, error)
        return self._done(request, opened, form)

    def _new_page(
        self, request: Request, opened: _OpenVersion, values: Mapping[str, str], error: Exception | None = None
    ) -> Response:
        texts: dict[str, str] = {}
        record, ident = None, values.get("id", "")
        if values.get("run"):
            _, record = self._record(values)
            take_output = values.get("take") == "output"
            texts = suggested_cells(opened.file, record, take_output=take_output)
            ident = ident or _free_id(opened, record.sample.id)
        like = like_cells(opened.file)
        fields = [
            CellField(
                name := f"{_CELL}{at}",
                column,
                values.get(name, texts.get(column, "")),
                "",
                is_json=opened.file.keyed and not isinstance(like.get(column, ""), str),
            )
            for at, column in _columns(opened.file)
        ]
        return self.pages.page(
            request,
            "dataset_new.html.j2",
            status=422 if error else 200,
            dataset=opened.dataset,
            version=opened.version,
            fields=fields,
            ident=ident,
            given={name: values.get(name, "") for name in (*_ORIGIN, "take")},
            record=record,
            known=record is not None and record.sample.id in opened.file.ids,
            has_output=record is not None and record.output is not None,
            fault=str(error) if error else "",
            author=values.get("author") or author_of(request),
            unwritable=unwritable(opened.file.path),
        )

    def _open_version(self, request: Request) -> _OpenVersion:
        dataset, version = self.datasets.asked(request)
        file = self.datasets.file(version)
        if len(file.columns) > _MOST_COLUMNS:
            raise ConfigError(f"{version.name} has {len(file.columns)} columns, more than a form can have")
        return _OpenVersion(dataset, version, file, self.datasets.draft(dataset, version))

    def _record(self, values: Mapping[str, str]) -> tuple[Run, Record]:
        run = self.pages.run_of(values.get("run", ""))
        repeat = values.get("repeat", "") or "0"
        records = run.records_of([values.get("sample", "")])
        match = next((record for record in records if str(record.repeat) == repeat), None) or next(iter(records), None)
        if match is None:
            raise ConfigError(f"run {run.id} has no record of a sample {values.get('sample', '')!r}")
        return run, match

    def _origin(self, form: Mapping[str, str]) -> dict[str, Any]:
        """Where a row was taken from, as the store has it, whatever the form says."""
        if not form.get("run"):
            return {}
        run, record = self._record(form)
        return {"run": run.id, "target": run.target, "sample": record.sample.id, "repeat": record.repeat}


def _with_ids(request: Request, form: Form) -> dict[str, str]:
    """A form with the ids that its address names: hidden fields would not keep line ends and hidden characters."""
    return {**request.query_params, **form}


def _written(form: Mapping[str, str]) -> str:
    """The submitted fields of a row, in order."""
    return "\n\n".join(text for name, text in form.items() if name.startswith(_CELL) and text.strip())


def _columns(file: DatasetFile) -> list[tuple[int, str]]:
    """Index and name of each column that can be edited: all but the id."""
    return [(at, column) for at, column in enumerate(file.columns) if column != file.id_column]


def _new_row(opened: _OpenVersion, form: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    """The id and the cells of a row that is to be added.

    Raises:
        ConfigError: the id is not valid or is taken, or every cell is empty.
    """
    ident = checked_row_id(form.get("id", ""))
    if ident in opened.file.ids:
        raise ConfigError(f"{opened.version.name} has a row with the id {ident} already: choose another")
    cells = _typed(opened.file, form, (None,) * len(opened.file.columns))
    filled = {column: value for column, value in cells.items() if value not in (None, "")}
    if not filled:
        raise ConfigError("every field is empty: a row has at least one")
    return ident, filled


def _typed(file: DatasetFile, form: Mapping[str, str], cells: tuple[Any, ...]) -> dict[str, Any]:
    """The cells that a form holds; a field that is not in it stays as it is."""
    like = like_cells(file)
    return {
        column: file.typed(form[name], column, cells[at], like.get(column))
        if (name := f"{_CELL}{at}") in form
        else cells[at]
        for at, column in _columns(file)
    }


def _changed(file: DatasetFile, before: tuple[Any, ...], cells: Mapping[str, Any]) -> dict[str, Any]:
    """The cells that differ from those of the file."""
    at = {column: index for index, column in _columns(file)}
    return {name: value for name, value in cells.items() if file.shown(value) != file.shown(before[at[name]])}


def _free_id(opened: _OpenVersion, ident: str) -> str:
    """The id of a sample; with a number where the dataset or its draft has a row of that id."""
    taken_ids = {*opened.file.ids} | opened.draft.rows.keys()
    name, count = ident, 1
    while name in taken_ids:
        count += 1
        name = f"{ident}-{count}"
    return name
