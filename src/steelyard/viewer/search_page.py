"""One search over everything: pages, runs by name, tag and notes, and samples of the newest run of each suite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from steelyard.errors import ConfigError
from steelyard.people.labels import read_notes
from steelyard.people.queues import queues
from steelyard.prompts.conversation import input_text
from steelyard.report.run_texts import one_line
from steelyard.store import Run
from steelyard.types import Note
from steelyard.viewer.named_address import named_address
from steelyard.viewer.open_datasets import OpenDatasets
from steelyard.viewer.pages import Pages
from steelyard.viewer.runs_page import listed_runs

_RUNS: Final = 20
"""Runs that are listed, newest first."""
_SAMPLES: Final = 5
"""Samples that are listed of a run; a link leads to all."""
_SEARCHED: Final = 50
"""Suites whose newest run is searched: each takes a query of its own, of some milliseconds."""
_SCANNED: Final = 20_000
"""Records of the runs that are searched, in all; the first run is searched whatever its size."""
_INPUT: Final = 120
_PAGES: Final = (("Runs", "/"), ("Datasets", "/data"), ("Queues", "/queue"), ("Error analysis", "/codes"))


@dataclass(frozen=True, slots=True)
class FoundSamples:
    """Samples of a run that hold the words: id and beginning of the input, how many there are, and a note on it."""

    run: Run
    samples: tuple[tuple[str, str], ...]
    total: int
    note: str


def search_routes(pages: Pages, datasets: OpenDatasets) -> list[Route]:
    """The route of the page."""

    def search(request: Request) -> Response:
        text = request.query_params.get("q", "").strip()
        words = text.lower().split()
        listed = listed_runs(pages) if words else []
        notes = read_notes(pages.store, [marked.run for marked in listed])
        runs = [marked.run for marked in listed if _has(f"{marked.text} {_said(notes[marked.run.id])}", words)]
        samples, left_out = _samples(pages, text) if words else ([], [])
        return pages.page(
            request,
            "search.html.j2",
            find=text,
            runs=runs[:_RUNS],
            total=len(runs),
            samples=samples,
            left_out=left_out,
            places=[place for place in _places(pages, datasets) if words and _has(place[0], words)],
        )

    return [Route("/search", search)]


def _said(notes: Sequence[Note]) -> str:
    return " ".join(note.text for note in notes)


def _has(name: str, words: list[str]) -> bool:
    return all(word in name.lower() for word in words)


def _samples(pages: Pages, text: str) -> tuple[list[FoundSamples], list[str]]:
    """What is found in the newest run of each suite, and the suites that would take longer than a page may."""
    newest: dict[str, Run] = {}
    for run in pages.store.runs():
        if run.done:
            newest.setdefault(run.suite, run)
    found, left_out, scanned = [], [], 0
    for at, (suite, run) in enumerate(newest.items()):
        scanned += run.done
        if at >= _SEARCHED or run.done < scanned > _SCANNED:
            left_out.append(suite)
            continue
        try:
            page = run.search(text, n=_SAMPLES)
        except ConfigError:  # signs alone: no word that a sample could have
            return [], []
        samples = {record.sample.id: one_line(input_text(record.sample.input), _INPUT) for record in page.records}
        if samples:
            found.append(FoundSamples(run, tuple(samples.items()), page.total or 0, page.note))
    return found, left_out


def _places(pages: Pages, datasets: OpenDatasets) -> Iterator[tuple[str, str]]:
    """Name and address of each page that is of no run."""
    yield from ((name, pages.address(path)) for name, path in _PAGES)
    for suite in dict.fromkeys(run.suite for run in pages.store.runs()):
        yield f"{suite}: history", named_address(pages.address, "/history", suite)
    for queue in queues(pages.store):
        yield f"Queue {queue.design.title}", pages.address(f"/queue/{queue.id}")
    for dataset in datasets.all():
        yield (
            " ".join(filter(None, ("Dataset", dataset.name, str(dataset.folder or "")))),
            pages.address(f"/data/{dataset.id}"),
        )
