"""Shared parts of all pages: the store, the templates, addresses, and error pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Lock, RLock
from typing import Any, Final, TypeVar, cast
from urllib.parse import quote, urlencode

import jinja2
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from steelyard.analysis.comparison.compare_runs import compare
from steelyard.analysis.comparison.comparison_values import CLAIMS, Comparison
from steelyard.analysis.gate.gate_results import GateVerdict
from steelyard.analysis.numbers import interval_text, money_text, score_title, seconds_text, value_text
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.config.given import was_given
from steelyard.errors import ConfigError, DataError, StoreError, bounded
from steelyard.people.marks import baselines, read_marks
from steelyard.report.charts.chart import ConditionLink
from steelyard.report.render.html import page_style, section_environment
from steelyard.report.run_texts import count_cell, state_text, stratum_text
from steelyard.report.section import PageLink, RecordLink, RunLink
from steelyard.report.sections.gate import gate_of
from steelyard.report.template import with_minus
from steelyard.store import Run, Store
from steelyard.store.reading.run_reading import label_state
from steelyard.viewer.forms import Form, form_of, remember_author
from steelyard.viewer.keys import KEYS
from steelyard.viewer.named_address import named_address, sample_address, short_name
from steelyard.viewer.run_figures import BaselineDifference, FigureCache, state_of
from steelyard.viewer.run_filter import tag_filter

_HTMX: Final = (
    "extensions:'hx-csp,sse', includeIndicatorCSS:false, defaultTimeout:60000"
    # A viewer that was started again is noticed within seconds: by itself htmx would wait for up to a minute.
    ", sse.reconnectMaxDelay:5000"
)
_NO_RUN: Final = "there is no run with the id"
_FORM: Final = re.compile(r"<form\b.*?</form>", re.DOTALL)
_LINK: Final = re.compile(r'(<a\b[^>]*?) href="[^"#][^"]*"')
"""Both match markup only: text on a page is escaped, and has no `<`."""
_PATIENCE_S: Final = 0.2
"""How long a run's page waits for its difference to the baseline; then it is shown without."""
_KEPT: Final = 1000
"""Summaries that are kept."""
_COMPUTED: Final = 12
"""Comparisons and histories that are kept."""
_RECORDS: Final = 1_000_000
"""The most records of the runs behind them, together: ids of 100,000 samples whose verdict changed take 7 MB."""
T = TypeVar("T")


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
        self._summaries: dict[str, tuple[tuple[object, ...], RunSummary]] = {}
        self._target_tags: dict[str, Mapping[str, str]] = {}
        self.figures = FigureCache(keep=not read_only)
        self._computed: dict[tuple[Hashable, ...], Any] = {}
        self._lock = RLock()  # what is shown of a comparison is computed with the comparison
        self._summarizing = Lock()
        self._environment = _environment(self.address, lambda name: self.address(static(name)))

    def summary(self, run: Run) -> RunSummary:
        """The summary of a run, computed once for each state of it."""
        key = (run.state, run.done, run.scoring_version, *label_state(run))
        with self._summarizing:  # two requests for one run would compute it twice, and need the memory of two
            cached = self._summaries.get(run.id)
            if cached is None or cached[0] != key:
                self._summaries[run.id] = cached = key, run.summary()
                while len(self._summaries) > _KEPT:
                    self._summaries.pop(next(iter(self._summaries)), None)
            return cached[1]

    def difference(self, run: Run) -> BaselineDifference | None:
        """A run against the pinned baseline of its suite; None where there is none, or it is not computed yet."""
        return self.figures.of([run], self.baselines(), patience_s=_PATIENCE_S)[1].get(run.id)

    def baselines(self) -> dict[tuple[str, str], Run]:
        """(suite, kind) -> its pinned baseline."""
        return baselines(self.store.runs(), read_marks(self.store))

    def baseline_of(self, run: Run) -> Run | None:
        """The pinned baseline of a run's suite; None where none is pinned."""
        return self.baselines().get((run.suite, run.kind))

    def same_suite(self, run: Run) -> list[Run]:
        """All runs of a run's suite and kind, newest first."""
        return [other for other in self.store.runs() if (other.suite, other.kind) == (run.suite, run.kind)]

    def target_tags(self, run: Run) -> Mapping[str, str]:
        """The report columns of a run's target; cached, as they never change, and reading 500 manifests is slow."""
        if run.id not in self._target_tags:
            self._target_tags[run.id] = run.tags
        return self._target_tags[run.id]

    def kept(self, name: str, runs: Sequence[Run], about: Hashable, compute: Callable[[], T]) -> T:
        """A cached result for runs that have not changed since, else that of `compute`, called once for all requests.

        Args:
            name: of what is computed.
            runs: what it is computed of.
            about: what else it depends on.
            compute: takes long.
        """
        key = (name, about, *map(state_of, runs))
        with self._lock:
            if key not in self._computed:
                result = compute()
                while self._computed and (len(self._computed) >= _COMPUTED or self._records + _records(key) > _RECORDS):
                    self._computed.pop(next(iter(self._computed)))
                self._computed[key] = result
            return cast("T", self._computed[key])

    def comparison(self, runs: Sequence[Run], score: str | None) -> Comparison:
        """The runs against the first of them, on a score; None is the headline."""
        return self.kept(
            *("comparison", runs, score),
            lambda: compare(*runs, score=score, summaries=[self.summary(run) for run in runs]),
        )

    def gate(self, run: Run) -> GateVerdict | None:
        """The verdict of a run's gate, None without one that can be read; what it is held against may change."""
        rules = run.manifest.get("gate")
        others = tuple((other.id, other.state, other.scoring_version) for other in self.store.runs() if rules)
        named = Path(str(rules.get("baseline", ""))) if isinstance(rules, Mapping) else Path()
        file = was_given(named) and stamp_of(named)

        def compute() -> GateVerdict | None:
            with suppress(ConfigError):
                return gate_of([run], [self.summary(run)], may_open=was_given)
            return None

        return self.kept("gate", [run], (others, label_state(run), file), compute)

    def close(self) -> None:
        """Compute nothing more."""
        self.figures.close()

    @property
    def _records(self) -> int:
        return sum(map(_records, self._computed))

    def address(self, path: str, **query: str | int | Sequence[str] | None) -> str:
        """The address of a page; parts of the query that are None or empty are left out, a list gives one each."""
        parts = {name: value for name, value in query.items() if value not in (None, "", (), [])}
        return self._root_path + path + (f"?{urlencode(parts, doseq=True)}" if parts else "")

    @staticmethod
    def query(**given: str | Sequence[str]) -> str:
        """A query string of names and values; a list gives a part for each of its values."""
        return urlencode(given, doseq=True)

    def page(self, request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
        """A template as an answer.

        Args:
            request: it says which nonce scripts must carry, and whether htmx asks for a part alone.
            template: its name.
            status: of the answer.
            values: what the template shows.
        """
        return HTMLResponse(self.text(request, template, **values), status)

    def savable(self, request: Request, template: str, name: str, *, status: int = 200, **values: Any) -> Response:
        """A template as an answer, or as one file where the address says `save=page`.

        Args:
            request: as for `page`.
            template: its name; where `saved` is true, as `read_only` then is too, it leaves out what needs a viewer.
            name: of the file, without its ending.
            status: as for `page`.
            values: what the template shows.
        """
        if not asks_for_file(request):
            query = urlencode([*request.query_params.multi_items(), ("save", "page")])
            return self.page(request, template, status=status, save_query=query, **values)
        text, digest = page_style()
        page = self.text(request, template, saved=True, read_only=True, style=text, style_hash=digest, **values)
        # As a file it may outlive the viewer: no forms, and links to other pages are text.
        return HTMLResponse(_LINK.sub(r"\1", _FORM.sub("", page)), headers=saved_as(f"{name}.html"))

    def text(self, request: Request, template: str, **values: Any) -> str:
        """A template as text."""
        return self._environment.get_template(template).render(
            nonce=request.state.nonce,
            **{"saved": False, "save_query": "", "read_only": self.read_only, **values},
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
        match = next((run for run in self.store.runs() if run.id == ident), None)
        if match is None:
            raise ConfigError(f"{_NO_RUN} {ident!r}: it may have been deleted")
        return match

    def takes(self, path: str, answer: Callable[[Request, Form], Response]) -> Route:
        """The route of a form, which is refused where nothing may be written.

        Args:
            path: that the form is sent to.
            answer: stores what was sent; called in a thread, as it may wait for the store.
        """

        async def take(request: Request) -> Response:
            self.refuse_writing()
            return await run_in_threadpool(answer, request, await form_of(request))

        return Route(path, take, methods=["POST"])

    def signed_redirect(self, request: Request, address: str, author: str) -> Response:
        """Leads to an address, and lets the browser keep the name of who sent a form."""
        answer = RedirectResponse(address, 303)
        remember_author(answer, request, author, path=self.address("/"))
        return answer

    def refuse_writing(self) -> None:
        """Refuse to change the store where the viewer was started to read only.

        Raises:
            HTTPException: 403.
        """
        if self.read_only:
            raise HTTPException(403, "this viewer was started with --read-only: it does not write")

    def error(self, request: Request, error: Exception) -> Response:
        """The page for a request or a stored state that no page can show."""
        if request.method == "POST":
            return self.unplaced(request, error, "")
        status = 404 if isinstance(error, ConfigError) else 500
        title = "Run not found" if str(error).startswith(_NO_RUN) else "This cannot be shown"
        return self._failed(request, status, title, str(error))

    def unexpected(self, request: Request, error: Exception) -> Response:
        """The page for an error that no code foresaw: a store of others may hold anything in the place of a value."""
        said = f"{type(error).__name__}: {bounded(str(error))}"
        return self.error(request, StoreError(f"{said} (this is a defect, or the store is damaged: steelyard verify)"))

    def unplaced(self, request: Request, error: Exception, typed: str) -> Response:
        """The page for a text that could not be stored: why, and the text, so that nothing is lost."""
        self.store.renew_writer()
        status = 422 if isinstance(error, ConfigError | DataError) else 500
        return self._failed(request, status, "This was not done", str(error), typed)

    def refused(self, request: Request, error: Exception) -> Response:
        """The page for an unknown address, or for an action that is not allowed."""
        status = error.status_code if isinstance(error, HTTPException) else 404
        text = error.detail if isinstance(error, HTTPException) else ""
        title = "There is no such page" if status == 404 else "This is refused"
        return self._failed(request, status, title, text)

    def _failed(self, request: Request, status: int, title: str, text: str, typed: str = "") -> Response:
        """What went wrong, as a page; where htmx asks for a part of one, as a sentence in the place of that part."""
        is_part = request.headers.get("hx-request-type") == "partial"
        template = "error_part.html.j2" if is_part else "error.html.j2"
        return self.page(request, template, status=status, title=title, text=text, typed=typed)


def stamp_of(path: Path) -> tuple[int, ...]:
    """What of a file changes with its content; zeros where there is none."""
    try:
        about = path.stat(follow_symlinks=False)
    except (OSError, ValueError):
        return (0, 0, 0, 0)  # opening it says what is wrong
    return about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


def neighbours(members: Sequence[T], member: T) -> tuple[T | None, T | None]:
    """The members before and after one of them; None at the ends."""
    at = members.index(member)
    return members[at - 1] if at else None, members[at + 1] if at + 1 < len(members) else None


def _records(key: Sequence[Any]) -> int:
    """Records of the runs in a key of computed results, see `state_of`."""
    return sum(state[2] for state in key[2:])


def asks_for_file(request: Request) -> bool:
    """Whether a page is wanted as one file."""
    return request.query_params.get("save") == "page"


def saved_as(name: str) -> dict[str, str]:
    """The header by which browsers save an answer under a name; characters unfit for file names are replaced.

    >>> saved_as("Exam v2/zh.csv")
    {'Content-Disposition': "attachment; filename*=UTF-8''Exam-v2-zh.csv"}
    """
    stem, dot, suffix = name.rpartition(".")
    safe = "".join(sign if sign.isalnum() or sign in "-_." else "-" for sign in stem)[:80]
    return {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(safe)}{dot}{suffix}"}


def linked_page(address: Callable[..., str], link: PageLink) -> str:
    """The address that a link of a section leads to.

    Args:
        address: makes the address of a page.
        link: of a cell: to a run, to its comparison, to a record, or to some of its samples.
    """
    if isinstance(link, ConditionLink):
        return address(f"/run/{link.run}", where=link.where) + "#samples-title"
    if isinstance(link, RecordLink):
        return sample_address(address, link.run, link.sample)
    if isinstance(link, RunLink):
        compared = address("/compare", a=link.against, b=link.run, score=link.score)
        compared += "".join(f"&b={ident}" for ident in link.others)
        return compared if link.against else address(f"/run/{link.run}")
    return address(f"/run/{link.run}", where=link.outcome.replace(" ", "-"), against=link.against)


def _environment(address: Callable[..., str], static: Callable[[str], str]) -> jinja2.Environment:
    environment = section_environment("steelyard.viewer", link_address=partial(linked_page, address))
    globals_: Mapping[str, Any] = {
        "address": address,
        "named_address": partial(named_address, address),
        "sample_address": partial(sample_address, address),
        "static": static,
        "tag_filter": tag_filter,
        "keys": KEYS,
        "claims": CLAIMS,
        "htmx": _HTMX,
    }
    environment.globals.update(globals_)
    environment.filters["score_title"] = score_title
    environment.filters["short_name"] = short_name
    environment.filters["state_text"] = state_text
    environment.filters["stratum_text"] = stratum_text
    environment.filters["score_text"] = lambda value, share: with_minus(value_text(value, share=share))
    environment.filters["interval_of"] = lambda interval, share: with_minus(interval_text(interval, share=share))
    environment.filters["seconds_of"] = seconds_text
    environment.filters["money"] = money_text
    environment.filters["count_of"] = lambda score: count_cell(score).text
    return environment
