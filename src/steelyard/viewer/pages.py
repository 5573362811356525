"""What all pages share: the store, the templates, addresses, and pages that say what went wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from steelyard.analysis.summary_values import RunSummary
from steelyard.errors import ConfigError
from steelyard.report.html import section_environment
from steelyard.store import Run, Store
from steelyard.types import Record
from steelyard.viewer.keys import KEYS

if TYPE_CHECKING:
    import jinja2

_HTMX: Final = "extensions:'hx-csp,sse', includeIndicatorCSS:false, defaultTimeout:60000"
_MOST_FIELDS: Final = 50
_KEPT: Final = 1000
"""Summaries that are kept."""


class Pages:
    """Makes pages of one store.

    Args:
        store: the open store.
        root_path: prefix of every address.
        read_only: whether nothing may be written.
        static: name of a file of ours -> its path.
    """

    def __init__(self, store: Store, *, root_path: str, read_only: bool, static: Callable[[str], str]) -> None:
        self.store = store
        self.read_only = read_only
        self._root_path = root_path
        self._summaries: dict[int, tuple[tuple[object, ...], RunSummary]] = {}
        self._environment = _environment(self.address, lambda name: self.address(static(name)))

    def summary(self, run: Run) -> RunSummary:
        """The summary of a run; that of a run which does not change is computed once."""
        key = (run.num, run.state, run.done, run.scoring_version)
        kept = self._summaries.get(run.num)
        if kept is None or kept[0] != key:
            self._summaries[run.num] = kept = key, run.summary()
            while len(self._summaries) > _KEPT:
                self._summaries.pop(next(iter(self._summaries)), None)
        return kept[1]

    def address(self, path: str, **query: str | int | None) -> str:
        """The address of a page; parts of the query that are None or "" are left out."""
        given = {name: value for name, value in query.items() if value not in (None, "")}
        return self._root_path + path + (f"?{urlencode(given)}" if given else "")

    @staticmethod
    def query(**given: str) -> str:
        """A query string of what is given."""
        return urlencode(given)

    def page(self, request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
        """A template as an answer.

        Args:
            request: it says which nonce scripts must carry, and whether htmx asks for a part alone.
            template: its name.
            status: of the answer.
            values: what the template shows.
        """
        return HTMLResponse(self.text(request, template, **values), status)

    def text(self, request: Request, template: str, **values: Any) -> str:
        """A template as text."""
        return self._environment.get_template(template).render(
            nonce=request.state.nonce,
            read_only=self.read_only,
            part=request.headers.get("hx-request-type") == "partial",
            **values,
        )

    def run(self, request: Request) -> Run:
        """The run that the path names by its whole id.

        Raises:
            ConfigError: there is none.
        """
        return self.run_of(request.path_params["run"])

    def run_of(self, ident: str) -> Run:
        """The run of a whole id.

        Raises:
            ConfigError: there is none.
        """
        found = next((run for run in self.store.runs() if run.id == ident), None)
        if found is None:
            raise ConfigError(f"there is no run with the id {ident!r}: it may have been deleted")
        return found

    def refuse_writing(self) -> None:
        """Refuse to change the store where the viewer was started to read only.

        Raises:
            HTTPException: 403.
        """
        if self.read_only:
            raise HTTPException(403, "this viewer was started with --read-only: it writes nothing")

    def last_failures(self, run: Run, most: int) -> list[Record]:
        """The last failed records of a run."""
        failed = [place for place, is_failed in run.done_places().items() if is_failed][-most:]
        return [record for no, repeat in failed for _, record in run.records_between(no, no) if record.repeat == repeat]

    def error(self, request: Request, error: Exception) -> Response:
        """What a user did, or the store holds, that no page can be made of."""
        status = 404 if isinstance(error, ConfigError) else 500
        return self.page(request, "error.html.j2", status=status, title="This cannot be shown", text=str(error))

    def refused(self, request: Request, error: Exception) -> Response:
        """An address that is none of ours, or what may not be done."""
        status = error.status_code if isinstance(error, HTTPException) else 404
        text = error.detail if isinstance(error, HTTPException) else ""
        title = "There is no such page" if status == 404 else "This is not done"
        return self.page(request, "error.html.j2", status=status, title=title, text=text)


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form that was sent; of a field that was sent twice, the last.

    Raises:
        HTTPException: 400, what was sent is no form.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        raise HTTPException(400, "a form is expected")
    body = (await request.body()).decode("utf-8", "replace")
    try:
        return dict(parse_qsl(body, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError as error:
        raise HTTPException(400, f"a form has at most {_MOST_FIELDS} fields") from error


def _environment(address: Callable[..., str], static: Callable[[str], str]) -> jinja2.Environment:
    environment = section_environment("steelyard.viewer")
    globals_: Mapping[str, Any] = {"address": address, "static": static, "keys": KEYS, "htmx": _HTMX}
    environment.globals.update(globals_)
    return environment
