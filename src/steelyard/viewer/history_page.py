"""One score of a suite over time, with people's notes; each run leads to its comparison with the one before."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from steelyard.analysis.history import history_of
from steelyard.errors import ConfigError
from steelyard.report.history_sections import history_sections, history_title
from steelyard.store.labels import read_notes
from steelyard.viewer.pages import Pages

_RUNS: Final = 50


def history_routes(pages: Pages) -> list[Route]:
    """The route of the page."""

    def over_time(request: Request) -> Response:
        suite = request.path_params["suite"]
        runs = [run for run in pages.store.runs() if run.suite == suite]
        if not runs:
            raise ConfigError(f"there is no run of a suite {suite!r} in the store")
        score, target = request.query_params.get("score", ""), request.query_params.get("target", "")
        found = [run for run in runs if target in {"", run.target} and run.manifest.get("scores")]
        if not found:
            raise ConfigError(f"no run of suite {suite!r} {f'and target {target!r} ' if target else ''}has scores")
        newest = found[:_RUNS][::-1]
        past = history_of(newest, read_notes(pages.store, newest), score=score, older=len(found) - len(newest))
        return pages.page(
            request,
            "suite_history.html.j2",
            suite=suite,
            title=history_title(past),
            sections=history_sections(past),
            changes=[run for run in reversed(past.runs) if run.change],
            targets=sorted({run.target for run in runs}),
            target=target,
            scores=list(dict.fromkeys(name for run in runs for name in run.score_order)),
            score=past.score,
        )

    return [Route("/history/{suite:path}", over_time)]
