"""The example of predicted tables: its script runs, and its file holds the mistakes that its page tells of."""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.building.build import Site, build
from steelyard.building.read import read
from steelyard.suites.tables import TablesSuite
from steelyard.tables import table_metrics
from steelyard.tables.measure import ALL_METRICS
from steelyard.tables.reading import read_table

EXAMPLE = Path(__file__).parents[2] / "examples" / "tables"


@pytest.fixture(scope="module")
def rows():
    return [json.loads(line) for line in (EXAMPLE / "predictions.jsonl").read_text("utf-8").splitlines()]


def test_script_prints_a_line_for_each_system():
    done = subprocess.run([sys.executable, EXAMPLE / "score.py"], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["careful", "hasty"]
    assert "cell_recall 0.81" in lines[1]


def test_script_has_a_dozen_lines():
    code = (EXAMPLE / "score.py").read_text("utf-8").split('"""', 2)[2].splitlines()
    assert len([line for line in code if line.strip() and not line.startswith("from __future__")]) <= 12


def test_configuration_makes_two_runs():
    _, root = read(EXAMPLE / "tables.yaml")
    own = root.with_value({key: entry for key, entry in root.entries.items() if key != "suite"})
    suite = build(TablesSuite, own, Site(EXAMPLE)).build()
    assert list(suite.targets) == ["careful", "hasty"]
    assert len(list(suite.samples)) == 12


def test_every_wanted_table_is_equal_to_itself(rows):
    for row in rows:
        assert table_metrics(row["target"], row["target"], metrics=ALL_METRICS)["execution_accuracy"].value == 1.0


def test_mistakes_are_of_many_kinds(rows):
    found = set()
    for row in rows:
        for system in ("careful", "hasty"):
            read_out = read_table(row[system])
            measures = table_metrics(row["target"], read_out.rows, metrics=ALL_METRICS)
            found.add(read_out.kind or tuple(measure.value == 1 for measure in measures.values()))
    assert {"no_table", "empty"} < found
    assert len(found) >= 6


def test_the_page_about_tables_shows_what_its_code_prints():
    text = (EXAMPLE.parents[1] / "docs" / "reference" / "tables.md").read_text("utf-8")
    namespace = {"__name__": "documents"}
    printed = ""
    for block in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(block, "docs/reference/tables.md", "exec"), namespace)
        for expected in re.findall(r"print\(.*\)  # (.+)", block):
            assert expected in output.getvalue()
        printed = output.getvalue()
    told = dict(re.findall(r"`(\w+)` (-?[\d.]+\d|\d)[.\n]", text.split("## A worked example")[1].split("## Rule")[0]))
    assert len(told) == 6
    for name, value in told.items():
        assert f"{name} {float(value)}\n" in printed, name
