"""The page of a suite over time is reached from the list whatever the suite is called."""

from __future__ import annotations

import html
import re
from urllib.parse import urlsplit

import pytest
from tests.viewer.conftest import serving

from steelyard import ExactMatch, Output, Sample, Suite, evaluate_suite
from steelyard.evaluation.evaluate import RunConfig

NAMES = (
    *("exam", "exams/zh", ".", "..", "../exam", "a/../b", "a//b", "/a", "a/", "//evil.example/x"),
    *("100%", "%2e%2e", "a?b", "a#b", "易", "C:\\x", "<b>&amp;", "two\nlines"),
)


@pytest.fixture(scope="module")
def viewer(tmp_path_factory):
    where = tmp_path_factory.mktemp("suites") / "store.db"
    samples = [Sample("one", "?", "a"), Sample("two", "?", "b")]
    for name in NAMES:
        suite = Suite(name, "custom", samples, {"target": lambda _: Output("a")}, (ExactMatch(),))
        evaluate_suite(suite, how=RunConfig(store=where))
    with serving(where) as served:
        yield served


def address_of(page, text):
    """Where a link leads once a browser has read it."""
    path = html.unescape(re.search(f'<a[^>]* href="([^"]*)"[^>]*>{text}</a>', page)[1])
    # Browsers take an escaped dot for a dot, and leave out folders of one or two of them; proxies also empty ones.
    assert not {"", ".", ".."} & {*re.sub("%2e", ".", urlsplit(path).path, flags=re.IGNORECASE).split("/")[1:-1]}, path
    assert not urlsplit(path).path.endswith(("/.", "/..")), path
    return path


@pytest.mark.parametrize("name", NAMES)
def test_a_suite_of_any_name_is_shown_over_time_and_saved(viewer, name):
    grouped = viewer.ask("/")[2]
    assert grouped.count(">over time</a>") == len(NAMES)
    rows = grouped.split('<tr class="grp">')
    shown = html.escape(name, quote=False)
    (row,) = (row for row in rows[1:] if re.sub("<[^>]*>", "", row.partition("</b>")[0]) == shown)
    status, _, page = viewer.ask(address_of(row, "over time"))
    assert (status, f"<h1>{shown}: " in page) == (200, True)
    status, headers, saved = viewer.ask(address_of(page, "Download page"))
    assert (status, headers["content-disposition"].startswith("attachment")) == (200, True)
    assert shown in saved
    action = html.unescape(re.search(r'<form class="filters" method="get" action="([^"]*)">', page)[1])
    hidden = re.search(r'<input type="hidden" name="id" value="[^"]*">', page)
    assert ("?" in address_of(row, "over time")) == bool(hidden)
    assert action == urlsplit(address_of(row, "over time")).path


def test_scores_are_chosen_by_the_names_that_people_write(viewer):
    page = viewer.ask("/history/exam")[2]
    assert '<option value="exact_match" selected>Exact match</option>' in page


def test_a_suite_that_does_not_exist_has_no_link_to_its_history(viewer):
    assert "over time</a>" in viewer.ask("/?suite=exam")[2]
    assert "over time</a>" not in viewer.ask("/?suite=other")[2]
