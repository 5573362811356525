"""Datasets in the browser: the list, the rows of a version, what a draft or a later version changes, and saving."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from steelyard.analysis.comparison.settings import WordChange, word_changes
from steelyard.config.dataset_versions import draft_difference, save_draft
from steelyard.data.dataset_file import CellChange, DatasetDifference, RowDifference, dataset_difference
from steelyard.data.new_version import unwritable
from steelyard.errors import ConfigError, DataError
from steelyard.people.dataset_drafts import DatasetDraft, discard_draft
from steelyard.people.events import checked_author
from steelyard.viewer.dataset_row_page import dataset_row_routes
from steelyard.viewer.forms import Form, author_of, number_of
from steelyard.viewer.open_datasets import OpenDatasets
from steelyard.viewer.pages import Pages

_GIVEN: Final = ("version", "after", "before", "search", "show")
_MOST_ROWS: Final = 200
"""Rows of each kind on the page of a difference; `steelyard data diff` lists them all."""
_MOST_COMPARED: Final = 20_000
"""Characters that are compared word by word."""


def dataset_routes(pages: Pages, datasets: OpenDatasets) -> list[Route]:
    """The routes of the pages of datasets and of their forms."""
    site = _DatasetPages(pages, datasets)
    return [
        Route("/data", site.listed),
        *dataset_row_routes(pages, datasets),
        Route("/data/{dataset}", site.rows),
        Route("/data/{dataset}/diff", site.difference),
        Route("/data/{dataset}/{version}/draft", site.draft),
        pages.takes("/data/{dataset}/{version}/save", site.save),
        pages.takes("/data/{dataset}/{version}/discard", site.discard),
    ]


@dataclass(frozen=True, slots=True)
class _DatasetPages:
    """The pages of datasets over one store."""

    pages: Pages
    datasets: OpenDatasets

    def listed(self, request: Request) -> Response:
        """The list of datasets."""
        datasets = [
            (dataset, sum(len(self.datasets.draft(dataset, version).rows) for version in dataset.versions))
            for dataset in self.datasets.all()
        ]
        return self.pages.savable(request, "datasets.html.j2", "datasets", datasets=datasets)

    def rows(self, request: Request) -> Response:
        """The rows of a version, or why they cannot be shown; and its versions with their runs."""
        dataset, version = self.datasets.asked(request)
        query = {name: request.query_params.get(name, "") for name in _GIVEN}
        draft = self.datasets.draft(dataset, version)
        fault, rows, total = "", None, 0
        try:
            rows = self.datasets.rows(version, draft, query)
            total = len(self.datasets.file(version).rows)
        except (ConfigError, DataError) as error:
            fault = str(error)
        return self.pages.savable(
            request,
            "dataset.html.j2",
            version.name,
            dataset=dataset,
            version=version,
            given=query,
            draft=draft,
            rows=rows,
            total=total,
            fault=fault,
            unwritable="" if fault else unwritable(version.files.paths[0]),
        )

    def difference(self, request: Request) -> Response:
        """The changes between two versions."""
        dataset, later = self.datasets.asked(request)
        later = dataset.version(request.query_params.get("b", "") or later.digest)
        earlier_digest = request.query_params.get("a", "")
        earlier = dataset.version(earlier_digest) if earlier_digest else dataset.parent(later)
        changes, fault = None, ""
        try:
            changes = dataset_difference(self.datasets.file(earlier), self.datasets.file(later))
        except (ConfigError, DataError) as error:
            fault = str(error)
        return self.pages.savable(
            request,
            "dataset_difference.html.j2",
            f"{earlier.name} to {later.name}",
            dataset=dataset,
            earlier=earlier,
            later=later,
            fault=fault,
            same=changes.same if changes else 0,
            shown=_kinds(changes) if changes else [],
            most=_MOST_ROWS,
            words_of=_words,
        )

    def draft(self, request: Request) -> Response:
        """The changes of the draft, and the forms that save or discard it."""
        return self._draft_page(request)

    def _draft_page(self, request: Request, fault: str = "") -> Response:
        dataset, version = self.datasets.asked(request)
        draft = self.datasets.draft(dataset, version)
        shown, refused = [], ""
        try:
            file = self.datasets.file(version)
            shown = _kinds(draft_difference(file, draft.edits))
            refused = unwritable(file.path)
        except (ConfigError, DataError) as error:
            refused = str(error)
        return self.pages.savable(
            request,
            "dataset_draft.html.j2",
            f"draft of {version.name}",
            status=422 if fault else 200,
            dataset=dataset,
            version=version,
            draft=draft,
            shown=shown,
            most=_MOST_ROWS,
            words_of=_words,
            fault=fault,
            refused=refused,
            author=author_of(request),
        )

    def save(self, request: Request, form: Form) -> Response:
        """Write the draft as a new file and show it."""
        dataset, version = self.datasets.asked(request)
        author, seen = form.get("author", ""), number_of(form.get("seen", ""))
        try:
            saved = save_draft(self.pages.store, dataset, version, author=author, seen=seen)
        except (ConfigError, DataError) as error:
            return self._draft_page(request, f"This was not saved: {error}")
        address = self.pages.address(f"/data/{dataset.id}", version=saved.digest)
        return self.pages.signed_redirect(request, address, saved.author)

    def discard(self, request: Request, form: Form) -> Response:
        """End the draft without saving it."""
        dataset, version = self.datasets.asked(request)
        draft = DatasetDraft(dataset.id, version.digest, {}, {}, 0)
        try:
            author = checked_author(form.get("author", ""))
            discard_draft(self.pages.store, draft, author=author, seen=number_of(form.get("seen", "")))
        except ConfigError as error:
            return self._draft_page(request, f"Nothing was discarded: {error}")
        return RedirectResponse(self.pages.address(f"/data/{dataset.id}", version=version.digest), 303)


def _kinds(difference: DatasetDifference) -> list[tuple[str, Sequence[RowDifference]]]:
    """The kinds of difference that there are, each with its rows."""
    kinds = (("added", difference.added), ("changed", difference.changed), ("retired", difference.retired))
    return [(kind, rows) for kind, rows in kinds if rows]


def _words(cell: CellChange) -> Sequence[WordChange]:
    """The change of a cell word by word; () where it is too long for that."""
    fits = len(cell.before) + len(cell.after) <= _MOST_COMPARED
    return tuple(word_changes(cell.before, cell.after)) if fits else ()
