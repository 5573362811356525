"""note and history: the runbook of past evaluations, on a terminal and in files."""

from __future__ import annotations

import getpass
import json

import pytest


@pytest.fixture
def run_four(steelyard, write, says):
    """Makes four runs: glm answers A twice, then knows a half; qwen answers B once. Oldest first."""

    def make():
        half = {f"Question {n}?": "ABCD"[n % 4] for n in range(12)}
        for targets in ({"glm": says("A")}, {"glm": says("A"), "qwen": says("B")}, {"glm": says("A", **half)}):
            steelyard("run", write(targets), code=0)
        return steelyard("runs", "--json", code=0).json()[::-1]

    return make


@pytest.fixture
def past(run_four, once):
    return once(run_four)


def lines_of(out):
    """The rows of the first table: a line per run, of which the day and the time, where it is shown, are one cell."""
    rows = [line.split() for line in out.split("\n\n")[0].splitlines() if line.startswith("20")]
    return [[" ".join(row[:2]), *row[2:]] if ":" in row[1] else row for row in rows]


def test_history_shows_the_newest_last_with_value_interval_and_change(steelyard, past):
    out = steelyard("history", "exam", code=0).out
    rows = lines_of(out)
    assert [(row[1], row[2]) for row in rows] == [(one["id"], one["target"]) for one in past]
    assert [row[0] for row in rows] == [one["created"][:16].replace("T", " ") for one in past]
    assert [row[3] for row in rows] == ["25.0", "25.0", "25.0", "70.0"]
    assert rows[0][5:] == ["11.2", "to", "46.9", "20", "–"]
    assert rows[1][-3:] == ["0.0", "not", "decided"]
    assert rows[2][-2:] == ["20", "–"], "the first of its target has no change"
    assert rows[3][-2:] == ["+45.0", "better"]
    assert max(map(len, out.splitlines())) <= 80
    assert out.splitlines()[0] == "exam: Solve rate"


def test_a_changed_target_is_said_below_its_run(steelyard, past):
    lines = steelyard("history", "exam", code=0).out.splitlines()
    at = next(no for no, line in enumerate(lines) if past[-1]["id"] in line)
    assert lines[at + 1].startswith("  target changed (replies: none → ")


def test_notes_stand_below_the_runs_and_name_run_and_author(steelyard, past):
    first, last = past[0]["id"], past[-1]["id"]
    assert steelyard("note", first, "the first try", "--author", "ann", code=0).out.split(", ", 1)[1] == (
        "ann: the first try\n"
    )
    steelyard("note", last, "with the new prompt\nand more", code=0)
    lines = steelyard("history", "exam", code=0).out.splitlines()
    assert any(line.startswith(f"1. {first}: the first try (ann, ") for line in lines)
    assert f"2. {last}: with the new prompt and more ({getpass.getuser()}, " in " ".join(lines)
    listed = steelyard("note", last, "--list", "--json", code=0).json()
    assert [(one["run"], one["text"]) for one in listed] == [(last, "with the new prompt\nand more")]


def test_a_configuration_names_its_runs(steelyard, run_four, tmp_path):
    run_four()  # not a copy: the store holds the path of the configuration
    by_title = steelyard("history", "exam", "--json", code=0).json()
    assert steelyard("history", tmp_path / "exam.json", "--json", code=0).json() == by_title
    (tmp_path / "other.json").write_text("{}", encoding="utf-8")
    assert "no run in the store was made from other.json" in steelyard("history", "other.json", code=2).err


def test_one_target_one_group_and_the_newest_only(steelyard, past):
    found = steelyard("history", "exam", "--target", "glm", "--group", "group 1", "-n", "2", "--json", code=0).json()
    assert [one["target"] for one in found["runs"]] == ["glm", "glm"]
    assert [one["score"]["headline"]["n"] for one in found["runs"]] == [10, 10]
    assert (found["group"], found["older"]) == ("group 1", 1)
    out = steelyard("history", "exam", "--target", "glm", "-n", "2", code=0).out
    assert "1 older ones are left out; --last 3 shows all." in out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["exma"], "the store has no run of a suite 'exma': did you mean 'exam'"),
        (["exam", "--target", "glm4"], "the suite has no run of a target 'glm4': did you mean 'glm'"),
        (["exam", "--score", "solved"], "no run has a score 'solved'"),
        (["exam", "--group", "group 7"], "no run has a group 'group 7'"),
        (["exam", "--html", "."], "cannot be written"),
    ],
)
def test_what_there_is_not_is_a_mistake(steelyard, past, more, message):
    assert message in steelyard("history", *more, code=2).err


def test_files_are_written_beside_the_table(steelyard, past, tmp_path):
    steelyard("note", past[0]["id"], "<b>why</b>", "--author", "ann", code=0)
    result = steelyard("history", "exam", "--html", "h.html", "--markdown", "h.md", code=0)
    assert "wrote h.html" in result.err
    page, text = ((tmp_path / name).read_text(encoding="utf-8") for name in ("h.html", "h.md"))
    assert "&lt;b&gt;why" in page
    assert "<b>why" not in page + text
    assert text.startswith("## exam: Solve rate over 4 runs")


def test_json_and_the_store_option(steelyard, past, tmp_path):
    found = steelyard("history", "exam", "--store", ".steelyard/steelyard.db", "--json", code=0)
    assert json.loads(found.out)["score"] == "solve_rate"
    assert "there is no store" in steelyard("history", "exam", "--store", "none.db", code=2).err


def test_a_note_cannot_act_on_the_terminal(steelyard, past):
    evil = "\x1b[2J\u202egnp\r[bold]x[/bold]"
    steelyard("note", "latest", evil, "--author", "\x1b]0;x\x07", code=0)
    for command in (["history", "exam"], ["note", "latest", "--list"]):
        out = steelyard(*command, code=0).out
        assert not set(out) & {"\x1b", "\u202e", "\r", "\x07"}
        assert "\\x1b[2J\\u202egnp" in out
        assert "[bold]x[/bold]" in out


@pytest.mark.parametrize("typed", [["latest"], ["latest", "text", "--list"]])
def test_a_note_is_either_given_or_listed(steelyard, past, typed):
    assert "or --list without a text" in steelyard("note", *typed, code=2).err


def test_a_run_without_notes_says_so(steelyard, past):
    assert "has no notes" in steelyard("note", "latest", "--list", code=0).out
    assert "must not be blank" in steelyard("note", "latest", " ", code=2).err


def test_long_names_of_targets_are_cut_and_numbers_are_not(steelyard, write, says):
    name = "a-model-with-a-name-that-nobody-would-type-and-a-version-2026-11-21"
    steelyard("run", write({name: says("A")}), code=0)
    out = steelyard("history", "exam", code=0).out
    assert max(map(len, out.splitlines())) <= 80
    (row,) = lines_of(out)
    assert "…" in row[2]
    assert row[3:] == ["25.0", "%", "11.2", "to", "46.9", "20", "–"]


def test_a_run_of_which_nothing_was_read_says_that_nothing_can_be_concluded(steelyard, write, says):
    steelyard("run", write({"glm": says("Hm.")}), code=0)
    steelyard("run", write({"glm": says("A", **{"Question 0?": "Hm."})}), code=0)
    first, second = (one["id"] for one in steelyard("runs", "--json", code=0).json()[::-1])
    lines = steelyard("history", "exam", code=0).out.splitlines()
    below = {line.split()[2]: lines[at + 1] for at, line in enumerate(lines) if line.startswith("20")}
    assert below[first].startswith("  none of 20 replies has a verdict: nothing can be concluded")
    assert below[second].startswith("  1 reply without a verdict: with them ")
    shown = " ".join(steelyard("show", first, code=0).out.split())
    assert "None of 20 replies of glm has a verdict, so solve rate is not known." in shown
    assert "nothing can be concluded" not in steelyard("show", second, code=0).out
