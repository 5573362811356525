"""Calls of tools on the page of a sample: those that an agent made beside those that were expected."""

import html
import re

import pytest
from tests.viewer.conftest import serving

from steelyard import Output, Sample, Suite, evaluate_suite
from steelyard.evaluation.evaluate import RunConfig
from steelyard.scorers.agents import ToolCalls


def agent(sample):
    call = {"name": "search", "arguments": {"title": "Winter Bees", "copies": 2}}
    return Output("done", metadata={"messages": [{"role": "assistant", "content": "", "tool_calls": [call]}]})


def shown(where, sample, scorer):
    """The items of both lists as text, and the page."""
    suite = Suite("T", "custom", [sample], {"t": agent}, (scorer,))
    (run,) = evaluate_suite(suite, how=RunConfig(store=where))
    with serving(where) as viewer:
        status, _, page = viewer.ask(f"/run/{run.id}/s/{sample.id}")
    assert status == 200
    section = page.partition(">Calls of tools</h2>")[2].partition("</section>")[0]
    lists = section.partition("<span>Expected</span>")[::2]
    return [
        [html.unescape(re.sub("<[^>]+>", "", item)).strip() for item in re.findall(r"<li[^>]*>(.*?)</li>", part)]
        for part in lists
    ], page


@pytest.mark.parametrize(
    ("scorer", "metadata"),
    [
        (ToolCalls(), {"tools": [{"name": "search", "arguments": {"title": "Winter Bees"}}, "copies"], "shelf": "4"}),
        (ToolCalls(({"name": "search", "arguments": {"title": "Winter Bees"}}, "copies")), {"shelf": "4"}),
    ],
)
def test_expected_calls_stand_beside_those_made_and_above_the_scores(tmp_path, scorer, metadata):
    lists, page = shown(tmp_path / "s.db", Sample("a", "?", metadata=metadata), scorer)
    assert lists == [["search title: Winter Bees, copies: 2"], ["search title: Winter Bees", "copies"]]
    assert page.index("Calls of tools") < page.index(">Scores</h2>")
    assert "<dt>tools</dt>" not in page, "not once more as JSON"
    assert "<dt>shelf</dt>" in page


def test_no_expected_call_is_said_and_a_sample_that_expects_nothing_has_no_list(tmp_path):
    lists, page = shown(tmp_path / "none.db", Sample("a", "?", metadata={"tools": []}), ToolCalls())
    assert lists == [["search title: Winter Bees, copies: 2"], []]
    assert '<p class="soft">none</p>' in page
    assert "Calls of tools" not in shown(tmp_path / "open.db", Sample("a", "?"), ToolCalls())[1]
