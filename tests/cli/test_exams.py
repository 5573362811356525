"""The tables of an exam on a terminal of 80 columns."""

import pytest
from tests.report.test_exam import KEYS, samples
from tests.store.exam_run import exam_runs


@pytest.fixture
def exam(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = samples()
    one = [KEYS[at % 4] if at % 5 else "well" for at in range(len(asked))]
    names = ("a target with a name that is longer than any column", "b", "c")
    exam_runs(".steelyard/steelyard.db", {name: one[at:] + one[:at] for at, name in enumerate(names)}, samples=asked)


def widest(text):
    return max(map(len, text.splitlines()))


def test_one_run_is_shown_in_full(steelyard, exam):
    out = steelyard("show", "b", code=0).out
    for part in (
        "Details of the rate",
        "macro average, over groups",
        "chance-corrected",
        "all 4 orders right",
        "key at",
    ):
        assert part in out
    assert "As other tools would read it" in out
    assert widest(out) <= 80


def test_two_runs_stand_side_by_side_and_no_figure_is_cut(steelyard, exam):
    out = steelyard("compare", "b", "c", code=0).out
    assert "micro average, over questions" in out
    assert widest(out) <= 80
    assert "…" not in out.split("Details of the rate")[1].split("As other tools")[0]


def test_more_runs_leave_the_section_to_the_page(steelyard, exam):
    runs = [one["id"] for one in steelyard("runs", "--json").json()]
    out = steelyard("compare", *runs, code=0).out
    assert "Details of the rate" not in out
    assert widest(out) <= 80


def test_json_has_all_of_it(steelyard, exam):
    plain = steelyard("show", "b", "--json", code=0).json()
    (found,) = plain["exams"]
    assert (found["score"], found["questions"], found["rotations"]["orders"]) == ("solve_rate", 12, 4)
    assert plain["beside"] == ["last_letter"]
    assert plain["scores"][0]["macro"]["n"] == 2
    assert plain["labelled"] is None
