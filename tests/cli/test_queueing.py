"""`queue`: made from runs, labelled on a terminal and in a sheet, and what is refused."""

import csv
import io

import pytest

from steelyard import ExactMatch, Sample, Score, evaluate
from steelyard.people.queue_values import RaterVerdict
from steelyard.people.queues import label_item, named_queue, read_progress, reserve_item
from steelyard.store import Store

SAMPLES = [Sample(f"q{at}", f"What is {at} + {at}?", str(2 * at)) for at in range(40)]
MAKE = ("--title", "Right?", "--author", "lead")


@pytest.fixture
def run(once):
    """The id of a run of forty samples."""
    return once(lambda: evaluate(lambda sample: sample.reference, SAMPLES, [ExactMatch()]).id)


def made(steelyard, run, *options):
    return steelyard("queue", "create", run, *MAKE, *options, "--json", code=0).json()["queue"]


def label_all(queue, *raters):
    with Store() as store:
        found = named_queue(store, queue)
        for rater in raters:
            while item := reserve_item(store, found, rater):
                verdict = "fail" if rater == "bob" and item.sample in {"q1", "q2"} else "pass"
                label_item(store, found, item, RaterVerdict(rater, verdict))


def test_a_queue_is_made_listed_and_shown(steelyard, run):
    out = steelyard("queue", "create", run, *MAKE, "--draw", "30", "--overlap", "1", code=0).out
    assert "30 records, exact_match (pass fail)" in out
    [queue] = steelyard("queue", "list", "--json", code=0).json()
    assert (queue["title"], queue["progress"]["items"], queue["drawn"]["method"]) == ("Right?", 30, "random")
    label_all(queue["queue"], "ann")
    out = steelyard("queue", "show", queue["queue"], code=0).out
    assert "0 of 30 records done, 30 labels" in out
    assert "agreement is\nshown from 30" in out
    label_all(queue["queue"], "bob")
    out = steelyard("queue", "show", queue["queue"], code=0).out
    assert "30 of 30 records done, 60 labels" in out
    assert "Krippendorff" in out
    assert "30 of 30 done  Right?" in steelyard("queue", "list", code=0).out


def test_a_store_without_queues_says_how_to_make_one(steelyard, run):
    assert "steelyard queue create RUN" in steelyard("queue", "list", code=0).out


def test_a_sheet_is_filled_in_and_read_back(steelyard, run, tmp_path):
    queue = made(steelyard, run, "--draw", "5", "--raters", "1")
    rows = list(
        csv.DictReader(io.StringIO(steelyard("queue", "sheet", queue, "--author", "ann", code=0).out.lstrip("\ufeff")))
    )
    assert len(rows) == 5
    assert [row["expected"] for row in rows] == [""] * 5
    assert all(row["question"].startswith("What is") for row in rows)
    for row, verdict in zip(rows, ("pass", "fail", "?", "", "PASS"), strict=True):
        row["verdict"] = verdict
    sheet = tmp_path / "sheet.csv"
    with sheet.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert (
        "4 rows of sheet.csv stored by ann"
        in steelyard("queue", "label", queue, "--author", "ann", "--from", sheet, code=0).out
    )
    with Store() as store:
        progress, verdicts = read_progress(store, named_queue(store, queue))
    assert sorted(said["ann"] for said in verdicts.values()) == ["fail", "pass", "pass"]
    assert (progress.labels, progress.unsure) == (4, 1)


SOUND = "queue,item,verdict\n{queue},2,pass\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{SOUND}{{queue}},1,perhaps\n", "row 3: 'perhaps' is not a verdict: type pass or fail"),
        (f"{SOUND}other,1,pass\n", "row 3: the row is of the queue 'other'"),
        (f"{SOUND}{{queue}},2,fail\n", "row 3: a second verdict on item 2"),
        (f"{SOUND}{{queue}},one,pass\n", "row 3: item is 'one'"),
        (f"{SOUND}{{queue}},999,pass\n", "row 3: queue {queue} has no item 999 any more"),
        ("queue,item,verdict\n{queue},1,\n", "no row has a verdict"),
        ("sample,verdict\nq1,pass\n", "expected the columns queue, item and verdict"),
    ],
)
def test_of_a_sheet_all_rows_are_stored_or_none(steelyard, run, tmp_path, text, message):
    queue = made(steelyard, run)
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(text.format(queue=queue))
    told = steelyard("queue", "label", queue, "--author", "ann", "--from", sheet, code=2).err
    assert message.format(queue=queue) in told
    with Store() as store:
        assert read_progress(store, named_queue(store, queue))[1] == {}


def test_runs_that_take_other_labels_are_not_mixed(steelyard, run):
    def rated(sample, output):
        return Score("stars", 3.0)

    other = evaluate(lambda sample: "x", SAMPLES[:2], [rated]).id
    assert "these runs take different labels" in steelyard("queue", "create", run, other, *MAKE, code=2).err
    assert steelyard("queue", "create", run, other, *MAKE, "--as", "text", "--json", code=0).json()["items"] == 42


def test_what_cannot_be_meant_is_refused_before_anything_is_stored(steelyard, run):
    for options, message in [
        (("--stratified",), "--stratified needs a number of records"),
        (("--raters", "9"), "raters must be a whole number from 1 to 5, not 9"),
        (("--overlap", "2"), "overlap must be a number from 0 to 1"),
        (("--where", "nonsense"), "there is no condition 'nonsense'"),
        (("--score", "nothing"), "the run has no score 'nothing'"),
    ]:
        assert message in steelyard("queue", "create", run, *MAKE, *options, code=2).err
    assert (
        "names that begin with model:"
        in steelyard("queue", "create", run, "--title", "t", "--author", "model:x", code=2).err
    )
    assert steelyard("queue", "list", "--json", code=0).json() == []
