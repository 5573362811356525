"""`codes`: records are drawn, noted in a sheet, put under codes, and shown; and what is refused."""

import csv
import io

import pytest

from steelyard import ExactMatch, Sample, evaluate
from steelyard.people.codings import edit_code, find_code
from steelyard.store import Store
from steelyard.store.delete import delete_runs

SAMPLES = [Sample(f"q{at}", f"What is {at} + {at}?", str(2 * at)) for at in range(40)]
ANN = ("--author", "ann")


def answer(sample):
    """A wrong one for every fourth sample."""
    return "I do not know." if int(sample.id[1:]) % 4 == 0 else sample.reference


@pytest.fixture
def run(once):
    """The id of a run of forty samples, ten of them wrong."""
    return once(lambda: evaluate(answer, SAMPLES, [ExactMatch()], name="sums").id)


@pytest.fixture
def drawn(steelyard, run, once):
    """The id of an error analysis of twenty records: all ten failures, ten of the passes."""
    return once(lambda: steelyard("errors", "draw", run, "-n", "20", *ANN, "--json", code=0).json()["analysis"])


def sheet_rows(steelyard, analysis):
    return list(csv.DictReader(io.StringIO(steelyard("errors", "sheet", analysis, code=0).out.lstrip("\ufeff"))))


def write_sheet(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def noted(steelyard, analysis, path, *, author="ann"):
    """Note every record: failures of q0 to q19 are evasive, the other failures rude."""
    rows = sheet_rows(steelyard, analysis)
    for row in rows:
        wrong = row["answer"].startswith("I do not")
        row["note"] = "does not answer" if wrong else "ok"
        row["code"] = ("evasive" if int(row["sample"][1:]) < 20 else "rude") if wrong else ""
    return steelyard("errors", "note", analysis, "--from", write_sheet(path, rows), "--author", author, code=0)


def test_a_draw_says_its_strata_and_how_to_go_on(steelyard, run):
    out = steelyard("errors", "draw", run, "-n", "20", *ANN, code=0).out
    assert "20 records" in out
    assert "10 of the failures" in out
    assert "10 of the passes" in out
    assert "steelyard errors sheet" in out
    assert "0 of 20 records noted" in steelyard("errors", "show", run, code=0).out


def test_equal_seeds_draw_equal_records_in_equal_order(steelyard, run):
    several = [steelyard("errors", "draw", run, "-n", "9", "--seed", seed, *ANN, "--json").json() for seed in (1, 1, 2)]
    first, again, other = ([row["sample"] for row in sheet_rows(steelyard, one["analysis"])] for one in several)
    assert first == again != other


def test_a_sheet_is_filled_in_read_back_and_weighted(steelyard, drawn, tmp_path):
    out = noted(steelyard, drawn, tmp_path / "notes.csv").out
    assert "20 notes of notes.csv stored by ann, 10 put under a code" in out
    assert "new: " in out
    page = steelyard("errors", "show", drawn, "--json", code=0).json()
    assert (page["noted"], page["with_error"], page["uncoded"]) == (20, 10, 0)
    shares = {code["name"]: code["shares"]["answer"] for code in page["codes"]}
    assert shares["evasive"]["notes"] == shares["rude"]["notes"] == 5
    # All ten failures were read and no pass had an error: 5 of 40, though 5 of the 20 that were read.
    assert shares["evasive"]["share"] == pytest.approx(5 / 40)
    shown = steelyard("errors", "show", drawn, code=0).out
    assert "20 of 20 records noted, 10 with an error" in shown
    assert "12.5 %" in shown
    assert "2 error types after 10 notes" in shown


def test_a_sheet_that_comes_back_unchanged_changes_nothing(steelyard, drawn, tmp_path):
    noted(steelyard, drawn, tmp_path / "notes.csv")
    rows = sheet_rows(steelyard, drawn)
    assert {row["note"] for row in rows} == {"ok", "does not answer"}
    path = write_sheet(tmp_path / "again.csv", rows)
    result = steelyard("errors", "note", drawn, "--from", path, "--author", "bob", "--json", code=0).json()
    assert (result["notes"], result["assigned"], result["codes"]) == (0, 0, [])


def test_formulas_in_notes_survive_a_spreadsheet(steelyard, drawn, tmp_path):
    [first, *_] = sheet_rows(steelyard, drawn)
    first["note"] = "=1+1 is what it says"
    steelyard("errors", "note", drawn, "--from", write_sheet(tmp_path / "a.csv", [first]), *ANN, code=0)
    [row] = [row for row in sheet_rows(steelyard, drawn) if row["note"]]
    assert row["note"] == "'=1+1 is what it says"
    path = write_sheet(tmp_path / "b.csv", [row])
    assert steelyard("errors", "note", drawn, "--from", path, *ANN, "--json", code=0).json()["notes"] == 0


SOUND = "analysis,item,note,code\n{analysis},{item},bad,evasive\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{SOUND}other,1,bad,", "row 3: the row is of the error analysis 'other', but {analysis} was given"),
        (f"{SOUND}{{analysis}},one,bad,", "row 3: item is 'one'"),
        (f"{SOUND}{{analysis}},99999,bad,", "row 3: record 99999 is none of this error analysis"),
        (f"{SOUND}{{analysis}},{{item}},bad,", "row 3: a second note on item {item}"),
        (f"{SOUND}{{analysis}},{{second}},ok,evasive", "row 3: the code 'evasive' has no note of an error next to it"),
        (f"{SOUND}{{analysis}},{{second}},{'x' * 2001},", "row 3: the note has 2,001 characters"),
        (f"{SOUND}{{analysis}},{{second}},bad,{'x' * 101}", "row 3: the code's name has 101 characters"),
        ("analysis,item,note\n{analysis},1,\n", "no row has a note"),
        ("sample,note\nq1,bad\n", "expected the columns analysis, item and note"),
    ],
)
def test_of_a_sheet_all_rows_are_stored_or_none(steelyard, drawn, tmp_path, text, message):
    item, second = (one["item"] for one in sheet_rows(steelyard, drawn)[:2])
    names = {"analysis": drawn, "item": item, "second": second}
    path = tmp_path / "sheet.csv"
    path.write_text(text.format(**names))
    assert message.format(**names) in steelyard("errors", "note", drawn, "--from", path, *ANN, code=2).err
    assert steelyard("errors", "show", drawn, "--json", code=0).json()["noted"] == 0


def test_what_there_is_not_is_said_with_what_to_do(steelyard, run):
    assert f"steelyard errors draw {run}" in steelyard("errors", "show", run, code=2).err
    assert "there is no run 'nope'" in steelyard("errors", "show", "nope", code=2).err
    assert "no error analysis has one yet" in steelyard("errors", "try", "x", code=2).err
    assert "draw 1 to 10,000" in steelyard("errors", "draw", run, "-n", "20000", *ANN, code=2).err
    assert "model:" in steelyard("errors", "draw", run, "--author", "model:x", code=2).err


def test_a_code_of_several_analyses_is_named_with_its_analysis(steelyard, run, tmp_path):
    several = [steelyard("errors", "draw", run, *ANN, "--json", code=0).json()["analysis"] for _ in range(2)]
    for analysis in several:
        noted(steelyard, analysis, tmp_path / "notes.csv")
    told = steelyard("errors", "try", "rude", "--pattern", "x", *ANN, code=2).err
    assert all(f"{analysis}/c" in told for analysis in several)
    assert "did you mean 'rude'" in steelyard("errors", "try", f"{several[0]}/rud", code=2).err
    tried = steelyard("errors", "try", f"{several[0]}/rude", "--pattern", "x", *ANN, "--json", code=0)
    assert tried.json()["analysis"] == several[0]


def test_an_analysis_of_a_deleted_run_says_so(steelyard, drawn, run, tmp_path):
    noted(steelyard, drawn, tmp_path / "notes.csv")
    with Store() as store:
        delete_runs(store, [store.run(run)])
    assert f"run {run} was deleted" in steelyard("errors", "show", drawn, code=0).out
    assert sheet_rows(steelyard, drawn) == []


def test_a_page_is_written_as_markdown(steelyard, drawn, tmp_path):
    noted(steelyard, drawn, tmp_path / "notes.csv")
    with Store() as store:
        rude = find_code(store, "rude")
        edit_code(store, rude.coding, rude.code.id, "rude", definition="<script>alert(1)</script>", author="ann")
    steelyard("errors", "show", drawn, "--markdown", tmp_path / "page.md", code=0)
    page = (tmp_path / "page.md").read_text()
    assert "| evasive | 5 | 12.5 %" in page.replace("**", "")
    assert "<script>" not in page
