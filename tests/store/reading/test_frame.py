from __future__ import annotations

import math
from html.parser import HTMLParser

import pytest

from steelyard import ExactMatch, Options, Sample, Score, Suite, evaluate_suite
from steelyard.errors import ConfigError
from steelyard.evaluation.evaluate import RunConfig
from steelyard.store.reading import frame


def target(sample):
    if sample.id == "b":
        raise RuntimeError("down")
    return {"letter": "A"} if sample.id == "c" else "A"


def awkward(sample, output):
    return Score("output", 2.5 if sample.id == "a" else 0.5)


@pytest.fixture
def run(tmp_path):
    samples = [
        Sample("a", "one?", "A", group="g"),
        Sample("b", "two?", "A"),
        Sample("c", ["x"], None),
        Sample("d", "\ud800<b>"),
    ]
    suite = Suite(
        "<s>",
        "custom",
        samples,
        {"<t>": target},
        (ExactMatch(), awkward),
        Options(max_errors=1.0),
        tags={"<t>": {"kb": "no"}},
    )
    [run] = evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    return run


def test_a_frame_has_a_row_per_record_and_a_null_where_nothing_was_scored(run):
    table = run.to_frame()
    assert list(table["id"]) == ["a", "b", "c", "d"]
    assert list(table["question"]) == ["one?", "two?", '["x"]', "\\ud800<b>"]
    values = list(table["exact_match"])
    assert values[0] == 1.0
    assert all(math.isnan(value) for value in values[1:])
    assert list(table["exact_match_outcome"])[2] == "not_applicable"
    assert table["failure"][1] == "target (RuntimeError): RuntimeError: down"
    assert set(table["tag_kb"]) == {"no"}
    assert set(table["run"]) == {run.id}


def test_a_score_named_like_a_column_does_not_take_its_place(run):
    table = run.to_frame()
    assert table["output"][0] == "A"
    assert table["output"][2] == '{"letter": "A"}'
    assert table["score_output"][0] == 2.5
    assert len(set(table.columns)) == len(table.columns)


def test_without_a_frame_library_it_says_what_to_install(run, monkeypatch):
    monkeypatch.setattr(frame, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="pandas, polars or pyarrow"):
        run.to_frame()


def test_the_notebook_table_shows_the_mean_and_holds_no_markup_of_others(run):
    html = run._repr_html_()
    tags = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: tags.append(tag)
    parser.feed(html)
    assert {"table", "th", "td"} < set(tags)
    assert not {"s", "t"} & set(tags)
    assert ">100.0 %" in html
    assert "&lt;s&gt;: &lt;t&gt;" in html
