"""`review` without a model, and `label`: the queue out, verdicts in, and the rate that counts them."""

import csv

import pytest
from tests.cli.sheets import labelled
from tests.store.exam_run import exam_runs

from steelyard import Store
from steelyard.people.labels import all_labels

REPLIES = ["A", "B", "maybe A", "maybe B", "A or B", "well", "no", "=HYPERLINK(1)"]


@pytest.fixture
def exam(once):
    once(lambda: exam_runs(".steelyard/steelyard.db", {"weak": REPLIES, "other": ["A", "well"] * 4}))


def kept(name="weak"):
    with Store() as store:
        return {(one.sample, one.author): one.value for one in store.run(name).labels()}


def test_the_queue_hides_the_key_until_it_is_asked_for(steelyard, exam):
    out = steelyard("review", "weak", code=0).out
    assert "6 replies to review, 6 without a" in out
    assert "q3, inferred, read B" in out
    assert "key" not in out
    assert "    A. " in out  # what the letters stood for: nobody can judge a reply without
    assert out.count("    reply: ") == 6
    assert "q3, inferred, read B, key A" in steelyard("review", "weak", "--show-key").out
    plain = steelyard("review", "weak", "--json").json()
    assert [one["why"] for one in plain] == ["inferred", "inferred", "several", "unparsed", "refused", "unparsed"]
    assert all("key" not in one for one in plain)


def test_a_verdict_is_kept_with_its_author_and_shown_in_the_queue(steelyard, exam):
    labelled(steelyard, "weak", "q5", "b", "--author", "ann")
    assert kept() == {("q5", "ann"): "B"}
    assert "ann: B" in steelyard("review", "weak").out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("q5", "B"), "--author NAME is missing"),
        (("q5", "B", "--author", " "), "--author NAME"),
        (("q5", "B", "--author", "model:m"), "reserved for models"),
        (("q5", "E", "--author", "ann"), "type letters from A to D"),
        (("q5", "", "--author", "ann"), "no row has a verdict"),
        (("qq5", "B", "--author", "ann"), "did you mean 'q5'"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_kept(steelyard, exam, arguments, told):
    found = labelled(steelyard, "weak", *arguments, code=2)
    assert told in " ".join(found.err.split())
    assert kept() == {}


def test_a_repeat_that_was_not_run_is_refused(steelyard, exam):
    found = labelled(steelyard, "weak", "q5", "B", "--author", "ann", repeat=3, code=2)
    assert "has no repeat 3 of sample 'q5', but 0" in found.err


def filled(path, verdicts, change=lambda row: row):
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["verdict"] = verdicts.get(row["sample"], "")
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        lines = csv.DictWriter(file, rows[0])
        lines.writeheader()
        lines.writerows(change(row) for row in rows)


def test_a_filled_sheet_comes_back(steelyard, exam, tmp_path):
    sheet = tmp_path / "queue.csv"
    steelyard("review", "weak", "--csv", sheet, code=0)
    text = sheet.read_text(encoding="utf-8-sig")
    assert "'=HYPERLINK(1)" in text, "a reply is not a formula"
    assert ",key," not in text
    filled(sheet, {"q5": "A", "q4": "none"})
    assert "2 verdicts by ann stored" in steelyard("label", "weak", "--from", sheet, "--author", "ann", code=0).out
    assert kept() == {("q5", "ann"): "A", ("q4", "ann"): ""}
    again = steelyard("label", "weak", "--from", sheet, "--author", "ann", code=0).out
    assert "0 verdicts by ann stored; 2 verdicts stored already" in " ".join(again.split())
    with Store() as store:
        assert len(all_labels(store, store.run("weak"))) == 2


def test_an_untouched_sheet_stores_nothing_of_what_others_said(steelyard, exam, tmp_path):
    sheet = tmp_path / "all.csv"
    labelled(steelyard, "weak", "q5", "A", "--author", "bob")
    steelyard("review", "weak", "--all", "--csv", sheet, code=0)
    found = steelyard("label", "weak", "--from", sheet, "--author", "ann", code=2)
    assert "no row has a verdict" in found.err
    assert kept() == {("q5", "bob"): "A"}


@pytest.mark.parametrize(
    ("verdicts", "change", "told"),
    [
        ({}, lambda row: row, "no row has a verdict"),
        ({"q5": "Z"}, lambda row: row, "queue.csv row"),
        ({"q5": "A"}, lambda row: {**row, "run": "zzz"}, "is of run zzz"),
        ({"q5": "A"}, lambda row: {**row, "repeat": "one"}, "expected a number from 0"),
        ({"q5": "A", "q4": "Z"}, lambda row: row, "type letters from A to D"),
    ],
)
def test_a_sheet_with_a_mistake_keeps_nothing(steelyard, exam, tmp_path, verdicts, change, told):
    sheet = tmp_path / "queue.csv"
    steelyard("review", "weak", "--csv", sheet)
    filled(sheet, verdicts, change)
    found = steelyard("label", "weak", "--from", sheet, "--author", "ann", code=2)
    assert told in " ".join(found.err.split())
    assert kept() == {}


def test_two_people_in_one_sheet_are_told_apart_by_nobody_and_refused(steelyard, exam, tmp_path):
    sheet = tmp_path / "exported.csv"  # as Label Studio writes one, with each annotation in a row
    sheet.write_text("annotation_id,annotator,sample,verdict\n11,1,q5,A\n12,2,q5,B\n", encoding="utf-8")
    found = steelyard("label", "weak", "--from", sheet, "--author", "ann", code=2)
    assert "row 3: a second verdict on 'q5'" in found.err
    assert kept() == {}


def test_another_sheet_is_refused_by_its_columns(steelyard, exam, tmp_path):
    (tmp_path / "x.csv").write_text("id,answer\n1,A\n", encoding="utf-8")
    found = steelyard("label", "weak", "--from", tmp_path / "x.csv", "--author", "ann", code=2)
    assert "expected the columns sample and verdict" in found.err


def test_rates_count_verdicts_only_where_asked_and_warn_of_queues_nobody_saw(steelyard, exam, tmp_path):
    labelled(steelyard, "weak", "q5", "A", "--author", "ann")
    assert "decided" not in steelyard("show", "weak").out
    plain = steelyard("show", "weak", "--json").json()
    told = steelyard("show", "weak", "--with-labels", "--json").json()
    rates = [one["scores"][0]["overall"]["value"] for one in (plain, told)]
    assert rates == [2 / 8, 3 / 8]
    out = " ".join(steelyard("compare", "weak", "other", "--with-labels").out.split())
    assert "weak: replies decided by people: 1 by ann; solve rate moves by +12.5 points, from 25.0 % to 37.5 %." in out
    assert "other: replies decided by people: none." in out
    assert "Nobody has looked at 4 replies in the review queue of other, while verdicts on other replies" in out
    page, text = tmp_path / "x.html", tmp_path / "x.md"
    steelyard("report", "weak", "other", "--with-labels", "--html", page, "--markdown", text, code=0)
    for path in (page, text):
        assert "Nobody has looked at 4 replies" in path.read_text(encoding="utf-8")
    steelyard("report", "weak", "other", "--html", page, code=0)
    assert "Nobody has looked" not in page.read_text(encoding="utf-8")


def test_options_of_a_models_review_need_a_model(steelyard, exam):
    assert "--dry-run: only for a review by a model" in steelyard("review", "weak", "--dry-run", code=2).err
    assert "without a model" in steelyard("review", "weak", "--model", "m", "--show-key", code=2).err
