"""One row of a dataset: changed, retired, or added, also from the sample of a run. Each goes to the draft at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from steelyard.config.dataset_versions import like_cells, suggested_cells
from steelyard.data.new_version import RowEdit, unwritable
from steelyard.errors import ConfigError, DataError
from steelyard.prompts.conversation import input_text
from steelyard.store.dataset_drafts import DatasetDraft, DraftConflictError, change_row, checked_row_id
from steelyard.store.named_datasets import DatasetVersion, NamedDataset
from steelyard.viewer.notes import author_of, remember_author
from steelyard.viewer.open_datasets import OpenDatasets, row_of
from steelyard.viewer.pages import Pages, form_of
from steelyard.viewer.path_numbers import number_of

if TYPE_CHECKING:
    from steelyard.data.dataset_file import DatasetFile
    from steelyard.store import Run
    from steelyard.types import Record

_CELL: Final = "cell-"
"""Beginning of the names of fields; the number of the column follows."""
_MOST_COLUMNS: Final = 150
"""That a form can hold; the columns of a dataset are a dozen."""
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
class _Asked:
    """The dataset, version and row of a request."""

    dataset: NamedDataset
    version: DatasetVersion
    file: DatasetFile
    draft: DatasetDraft


def dataset_row_routes(pages: Pages, datasets: OpenDatasets) -> list[Route]:
    """The routes of the forms and of what they write."""
    site = _RowPages(pages, datasets)
    return [
        Route("/data/add", site.choose),
        Route("/data/{dataset}/{version}/row", site.shown),
        Route("/data/{dataset}/{version}/row", site.change, methods=["POST"]),
        Route("/data/{dataset}/{version}/new", site.blank),
        Route("/data/{dataset}/{version}/new", site.add, methods=["POST"]),
    ]


class _RowPages:
    """The forms of rows over one store."""

    def __init__(self, pages: Pages, datasets: OpenDatasets) -> None:
        self._pages = pages
        self._datasets = datasets

    def choose(self, request: Request) -> Response:
        """The datasets that a sample can be added to."""
        run, record = self._record(request.query_params)
        listed = [
            (dataset, version, reason)
            for dataset in self._datasets.all()
            for version in dataset.versions[:1]
            for reason in [version.about.reason or unwritable(version.files.paths[0])]
        ]
        own = self._datasets.of_run(run)
        listed.sort(key=lambda each: (bool(each[2]), own is None or each[0].id != own.id))
        return self._pages.page(
            request,
            "dataset_choose.html.j2",
            run=run,
            record=record,
            listed=listed,
            question=input_text(record.sample.input),
        )

    def shown(self, request: Request) -> Response:
        """The form of a row that is there."""
        asked = self._asked(request)
        return self._row_page(request, asked, request.query_params.get("id", ""))

    async def change(self, request: Request) -> Response:
        """Store what was changed in a row, or that it is retired, or that all is undone."""
        self._pages.refuse_writing()
        form = await _sent(request)
        return await run_in_threadpool(self._change, request, form)

    def _change(self, request: Request, form: dict[str, str]) -> Response:
        ident, does = form.get("id", ""), form.get("do", "save")
        try:
            asked = self._asked(request)
            row, _, in_file = row_of(asked.file, asked.draft, ident)
        except (ConfigError, DataError) as error:  # the file or the row is gone, and the form with it
            return self._pages.unplaced(request, error, _written(form))
        try:
            cells = _typed(asked.file, form, row.cells)
            if does == "save" and in_file is None:
                edit: RowEdit | None = RowEdit("added", cells)
            elif does == "save":
                changed = _changed(asked.file, in_file.cells if in_file else (), cells)
                edit = RowEdit("changed", changed) if changed else None
            else:
                edit = RowEdit("retired") if does == "retire" and in_file else None
            self._store(request, asked, ident, edit, form)
        except (ConfigError, DataError) as error:
            return self._row_page(request, asked, ident, form, error)
        return self._done(request, asked, form)

    def _store(self, request: Request, asked: _Asked, ident: str, edit: RowEdit | None, form: dict[str, str]) -> None:
        """Store a change; nothing is written where nothing was and nothing is changed."""
        if edit is None and ident not in asked.draft.rows and str(asked.draft.seen.get(ident, 0)) == form.get("seen"):
            return
        seen = form.get("seen", "")
        change_row(
            self._pages.store,
            asked.draft,
            ident,
            edit,
            author=form.get("author", "") or author_of(request),
            seen=number_of(seen),
            origin=self._origin(form),
        )

    def _done(self, request: Request, asked: _Asked, form: Mapping[str, str]) -> Response:
        path = f"/data/{asked.dataset.id}"
        answer = RedirectResponse(self._pages.address(path, version=asked.version.digest, show="draft"), 303)
        if author := form.get("author", "").strip():
            remember_author(answer, request, author, path=self._pages.address("/"))
        return answer

    def _row_page(
        self,
        request: Request,
        asked: _Asked,
        ident: str,
        form: Mapping[str, str] | None = None,
        error: Exception | None = None,
    ) -> Response:
        """The form, with what somebody typed where it could not be stored."""
        draft = self._datasets.draft(asked.dataset, asked.version) if error else asked.draft
        row, change, in_file = (
            row_of(asked.file, draft, ident) if _is_there(asked, draft, ident) else (None, None, None)
        )
        conflict = isinstance(error, DraftConflictError)
        like = like_cells(asked.file)
        fields = []
        for at, column in _columns(asked.file):
            name = f"{_CELL}{at}"
            now = asked.file.shown(row.cells[at]) if row else ""
            old = asked.file.shown(in_file.cells[at]) if in_file else ""
            text = form.get(name, now) if form is not None else now
            is_json = asked.file.keyed and not isinstance(
                row.cells[at] if row and row.cells[at] is not None else like.get(column, ""), str
            )
            fields.append(CellField(name, column, text, old, now if conflict and _differ(now, text) else "", is_json))
        return self._pages.savable(
            request,
            "dataset_row.html.j2",
            f"{asked.version.name} {ident}",
            status=422 if error else 200,
            dataset=asked.dataset,
            version=asked.version,
            ident=ident,
            change=change,
            in_file=in_file,
            fields=fields,
            # After a conflict the form says that it has seen what the page now shows beside it.
            seen=draft.seen.get(ident, 0),
            fault=str(error) if error else "",
            conflict=conflict,
            author=(form or {}).get("author") or author_of(request),
            beside=_beside(asked, ident),
            unwritable=unwritable(asked.file.path),
        )

    def blank(self, request: Request) -> Response:
        """The form of a new row, filled from a sample where one is named."""
        asked = self._asked(request)
        return self._new_page(request, asked, request.query_params)

    async def add(self, request: Request) -> Response:
        """Store a new row."""
        self._pages.refuse_writing()
        form = await _sent(request)
        return await run_in_threadpool(self._add, request, form)

    def _add(self, request: Request, form: dict[str, str]) -> Response:
        try:
            asked = self._asked(request)
        except (ConfigError, DataError) as error:
            return self._pages.unplaced(request, error, _written(form))
        try:
            ident, filled = _new_row(asked, form)
            # A row of this id in the draft is somebody's, and no event of it was seen; one that was undone is gone.
            seen = 0 if ident in asked.draft.rows else asked.draft.seen.get(ident, 0)
            self._store(request, asked, ident, RowEdit("added", filled), {**form, "seen": str(seen)})
        except (ConfigError, DataError) as error:
            return self._new_page(request, asked, form, error)
        return self._done(request, asked, form)

    def _new_page(
        self, request: Request, asked: _Asked, given: Mapping[str, str], error: Exception | None = None
    ) -> Response:
        texts: dict[str, str] = {}
        record, ident = None, given.get("id", "")
        if given.get("run"):
            _, record = self._record(given)
            take_output = given.get("take") == "output"
            texts = suggested_cells(asked.file, record, take_output=take_output)
            ident = ident or _free_id(asked, record.sample.id)
        like = like_cells(asked.file)
        fields = [
            CellField(
                name := f"{_CELL}{at}",
                column,
                given.get(name, texts.get(column, "")),
                "",
                is_json=asked.file.keyed and not isinstance(like.get(column, ""), str),
            )
            for at, column in _columns(asked.file)
        ]
        return self._pages.page(
            request,
            "dataset_new.html.j2",
            status=422 if error else 200,
            dataset=asked.dataset,
            version=asked.version,
            fields=fields,
            ident=ident,
            given={name: given.get(name, "") for name in (*_ORIGIN, "take")},
            record=record,
            known=record is not None and record.sample.id in asked.file.ids,
            has_output=record is not None and record.output is not None,
            fault=str(error) if error else "",
            author=given.get("author") or author_of(request),
            unwritable=unwritable(asked.file.path),
        )

    def _asked(self, request: Request) -> _Asked:
        dataset, version = self._datasets.asked(request)
        file = self._datasets.file(version)
        if len(file.columns) > _MOST_COLUMNS:
            raise ConfigError(f"{version.name} has {len(file.columns)} columns, more than a form can have")
        return _Asked(dataset, version, file, self._datasets.draft(dataset, version))

    def _record(self, given: Mapping[str, str]) -> tuple[Run, Record]:
        run = self._pages.run_of(given.get("run", ""))
        wanted = given.get("repeat", "") or "0"
        records = run.records_of([given.get("sample", "")])
        found = next((record for record in records if str(record.repeat) == wanted), None) or next(iter(records), None)
        if found is None:
            raise ConfigError(f"run {run.id} has no record of a sample {given.get('sample', '')!r}")
        return run, found

    def _origin(self, form: Mapping[str, str]) -> dict[str, Any]:
        """Where a row was taken from; only what the store itself says."""
        if not form.get("run"):
            return {}
        run, record = self._record(form)
        return {"run": run.id, "target": run.target, "sample": record.sample.id, "repeat": record.repeat}


async def _sent(request: Request) -> dict[str, str]:
    """A form with the ids that its address names: hidden fields would not keep line ends and hidden characters."""
    return {**request.query_params, **await form_of(request)}


def _written(form: Mapping[str, str]) -> str:
    """The submitted fields of a row, in order."""
    return "\n\n".join(text for name, text in form.items() if name.startswith(_CELL) and text.strip())


def _columns(file: DatasetFile) -> list[tuple[int, str]]:
    """Place and name of each column that is edited: ids are kept."""
    return [(at, column) for at, column in enumerate(file.columns) if column != file.id_column]


def _new_row(asked: _Asked, form: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    """The id and the cells of a row that is to be added.

    Raises:
        ConfigError: the id cannot be one or is taken, or there is no cell.
    """
    ident = checked_row_id(form.get("id", ""))
    if ident in asked.file.ids:
        raise ConfigError(f"{asked.version.name} has a row with the id {ident} already: choose another")
    cells = _typed(asked.file, form, (None,) * len(asked.file.columns))
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
    at = {column: place for place, column in _columns(file)}
    return {name: value for name, value in cells.items() if file.shown(value) != file.shown(before[at[name]])}


def _differ(first: str, second: str) -> bool:
    return first.split() != second.split()


def _is_there(asked: _Asked, draft: DatasetDraft, ident: str) -> bool:
    return ident in draft.rows or ident in asked.file.ids


def _free_id(asked: _Asked, ident: str) -> str:
    """The id of a sample; with a number where the dataset or its draft has a row of that id."""
    taken = {*asked.file.ids} | asked.draft.rows.keys()
    name, count = ident, 1
    while name in taken:
        count += 1
        name = f"{ident}-{count}"
    return name


def _beside(asked: _Asked, ident: str) -> tuple[str, str]:
    """Ids of the rows of the file before and after one; "" at the ends."""
    ids = asked.file.ids
    if ident not in ids:
        return "", ""
    at = ids.index(ident)
    return ids[at - 1] if at else "", ids[at + 1] if at + 1 < len(ids) else ""
