"""Runs from before a dataset's clusters were read: they are not resumed, and comparisons say that samples changed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from steelyard import Budget, Options, Prompt, Scripted, compare
from steelyard.data.sample_files import SampleFiles
from steelyard.errors import ConfigError
from steelyard.evaluation import RunConfig, evaluate_suite
from steelyard.suites.tables import TablesSuite
from steelyard.suites.text2sql.suite import Text2SqlSuite

TURNS = range(12)


def text2sql(folder, options):
    rows = [
        {"id": f"q{n}", "question": f"What is {n}?", "sql": f"SELECT {n}", "schema": "CREATE TABLE t (a)"}
        | {"paraphrase_of": f"q{n - n % 2}" if n % 2 else ""}
        for n in TURNS
    ]
    (folder / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    model = Prompt(Scripted(default="SELECT 1"))
    return Text2SqlSuite(SampleFiles(folder / "rows.json"), {"m": model}, options=options).build()


def tables(folder, options):
    rows = [{"id": f"q{n}", "question": f"{n}?", "target": [[n]], "cluster": f"c{n // 2}"} for n in TURNS]
    (folder / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    model = Prompt(Scripted(default="[[1]]"))
    return TablesSuite(SampleFiles(folder / "rows.json"), targets={"m": model}, options=options).build()


def without_clusters(suite):
    """The suite as it was read when the column was ignored."""
    return replace(suite, samples=[replace(sample, cluster="") for sample in suite.samples])


@pytest.mark.parametrize("suite", [text2sql, tables])
def test_an_unfinished_run_without_the_clusters_is_not_resumed_with_them(suite, tmp_path):
    store = tmp_path / "s.db"
    before = without_clusters(suite(tmp_path, Options(budget=Budget(calls=4), concurrency=1)))
    (run,) = evaluate_suite(before, how=RunConfig(store=store))
    assert run.state == "interrupted"
    refusal = r"cannot be resumed: changed since it was started: samples\.digest\. Undo that"
    with pytest.raises(ConfigError, match=refusal):
        evaluate_suite(suite(tmp_path, Options()), how=RunConfig(store=store, resume=run.id))


@pytest.mark.parametrize("suite", [text2sql, tables])
def test_a_comparison_with_a_run_without_the_clusters_says_that_the_samples_changed(suite, tmp_path):
    how = RunConfig(store=tmp_path / "s.db")
    read = suite(tmp_path, Options())
    (before,) = evaluate_suite(without_clusters(read), how=how)
    (after,) = evaluate_suite(read, how=how)
    (pair,) = compare(before, after).pairs
    moved = "6 samples changed their cluster between the runs: intervals and tests use the clusters of m"
    assert [warning for warning in pair.warnings if "cluster" in warning] == [f"{moved} ({after.id})."]
    (reversed_pair,) = compare(after, before).pairs
    assert [warning for warning in reversed_pair.warnings if "cluster" in warning] == [f"{moved} ({after.id})."]
    (again,) = evaluate_suite(read, how=how)
    assert not [warning for warning in compare(after, again).pairs[0].warnings if "cluster" in warning]
