"""`review` and `label` on every suite, run with scripted models: what is listed and why, and what labels change."""

import csv
import io
import json

import pytest
from tests.cli.sheets import labelled

from steelyard import Store
from steelyard.analysis.label_forms import shown_order
from steelyard.people.labels import all_labels

SCHEMA = "CREATE TABLE t (x REAL, n INTEGER); INSERT INTO t VALUES (0.1, 1), (0.2, 2), (0.3, 2);"


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def labels(name):
    with Store() as store:
        return store.run(name).labels()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(folder, steelyard):
    """Runs a configuration; the target of each is called `model`."""

    def with_rows(suite, rows, replies, **more):
        write_rows(folder / "rows.jsonl", rows)
        model = {"scripted": {"replies": replies, "default": "?"}}
        targets = {"model": {"prompt": {"template": "{{question}}", "model": model}}}
        config = {"suite": suite, "name": suite, "samples": {"file": "rows.jsonl"}, "targets": targets} | more
        (folder / "c.json").write_text(json.dumps(config), encoding="utf-8")
        steelyard("run", "c.json", "--quiet", code=0)

    return with_rows


@pytest.fixture
def sql(run, once):
    """Four generated queries: right, right within the tolerance, wrong, and one that does not run."""
    golds = {
        "q1": "SELECT n FROM t ORDER BY n",
        "q2": "SELECT sum(x) FROM t",
        "q3": "SELECT count(*) FROM t",
        "q4": "SELECT 1",
    }
    rows = [{"id": name, "question": name, "answer": gold, "context": SCHEMA} for name, gold in golds.items()]
    replies = {
        "q1": "SELECT n FROM t ORDER BY n",
        "q2": "SELECT 0.6",
        "q3": "SELECT count(*) FROM t WHERE n = 2",
        "q4": "SELECT nothing FROM nowhere",
    }
    once(lambda: run("text2sql", rows, {name: f"```sql\n{query}\n```" for name, query in replies.items()}))


def test_generated_sql_is_listed_with_its_query_and_the_reason(steelyard, sql):
    out = " ".join(steelyard("review", "model", code=0).out.split())
    assert "1 record to review, 1 without a verdict" in out
    assert "q2, tolerance" in out
    assert "SELECT 0.6" in out
    (entry,) = steelyard("review", "model", "--json").json()
    assert entry["reasons"][0]["reason"] == entry["why"] == "tolerance"
    assert entry["expected"] == "SELECT sum(x) FROM t"
    everything = steelyard("review", "model", "--all", "--json").json()
    assert [entry["sample"] for entry in everything] == ["q1", "q2", "q3", "q4"]
    assert everything[2]["reasons"] == []


def test_pass_and_fail_count_for_the_result_of_generated_sql(steelyard, sql):
    shown = labelled(steelyard, "model", "q3", "pass", "--author", "ann", comment="the question is vague")
    assert "2 verdicts by ann stored" in shown.out
    labelled(steelyard, "model", "q2", "fail", "--author", "ann")
    result, comment, other = labels("model")
    assert (result.name, result.kind, result.value) == ("result", "pass_fail", "pass")
    assert (comment.name, comment.kind, comment.value) == ("comment", "text", "the question is vague")
    assert (other.sample, other.value) == ("q2", "fail")
    plain = steelyard("show", "model", "--json").json()
    counted = steelyard("show", "model", "--with-labels", "--json").json()
    means = [{score["name"]: score["overall"]["value"] for score in page["scores"]} for page in (plain, counted)]
    assert [mean["result"] for mean in means] == [2 / 4, 2 / 4], "one went up, one went down"
    assert means[0]["execution"] == means[1]["execution"], "no other score changes"
    assert counted["labelled"]["changed"] == 2
    assert counted["labelled"]["decided"] == {"ann": 2}
    assert counted["labelled"]["unseen"] == 0
    record = steelyard("show", "model", "q3", "--with-labels").out
    assert "pass, says ann" in record


def test_labels_of_another_kind_are_stored_and_said_not_to_count(steelyard, sql):
    out = labelled(steelyard, "model", "q1", "4", "--as", "scale:1-5", "--author", "ann").out
    assert "no score of this run counts them" in " ".join(out.split())
    (label,) = labels("model")
    assert (label.name, label.kind, label.scale, label.value) == ("rating", "scale", (1.0, 5.0), 4.0)
    page = " ".join(steelyard("show", "model", "--with-labels").out.split())
    assert "model: 1 label named rating: no score of the run counts them." in page
    assert "between" not in labelled(steelyard, "model", "q1", "9", "--as", "scale:1-5", "--author", "ann", code=2).err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("q1", "maybe"), "type pass or fail"),
        (("q1", "A", "--as", "preference"), "only a run that judges pairs of answers takes such labels"),
        (("q1", "A", "--as", "choice"), "only an exam takes such labels"),
        (("q1", "4", "--as", "scale"), "name its ends"),
        (("q1", "4", "--as", "scal"), "expected choice, pass_fail, scale:1-5, preference, text"),
        (("q1", "pass", "--score", "reslt"), "did you mean 'result'"),
    ],
)
def test_a_label_that_does_not_fit_is_refused(steelyard, sql, arguments, message):
    shown = labelled(steelyard, "model", *arguments, "--author", "ann", code=2)
    assert message in " ".join(shown.err.split())
    assert labels("model") == ()


@pytest.fixture
def rag(run, once):
    animals = ["fox", "owl", "eel", "ant"]
    rows = [
        {"id": f"q{n}", "question": f"Where lives the {name}?", "answer": "There."} for n, name in enumerate(animals)
    ]
    # The judge is asked with the question in its prompt, the target with the question alone.
    judge = {"scripted": {"replies": {"the owl": "[[2]]", "the eel": "no idea"}, "default": "[[5]]"}}
    once(lambda: run("rag", rows, {}, scorers=["correctness", "token_f1"], judge={"model": judge}))


def test_answers_take_ratings_on_the_scale_of_their_judge(steelyard, rag):
    before = steelyard("show", "model", "--json").json()
    assert before["primary"] == "correctness"
    labelled(steelyard, "model", "q0", "2", "--author", "ann")
    labelled(steelyard, "model", "q0", "3", "--author", "bob")
    labelled(steelyard, "model", "q2", "4", "--author", "bob")
    assert {(label.sample, label.author, label.value) for label in labels("model")} == {
        ("q0", "ann", 2.0), ("q0", "bob", 3.0), ("q2", "bob", 4.0),
    }  # fmt: skip
    assert {(label.name, label.kind, label.scale) for label in labels("model")} == {
        ("correctness", "scale", (1.0, 5.0))
    }
    after = steelyard("show", "model", "--with-labels", "--json").json()
    by_name = {score["name"]: score for score in after["scores"]}
    assert by_name["correctness"]["overall"]["value"] == pytest.approx((2.5 + 2 + 4 + 5) / 4), "ratings are averaged"
    assert after["labelled"]["decided"] == {"ann and bob": 1, "bob": 1}
    assert after["labelled"]["share"] is False
    text = " ".join(steelyard("show", "model", "--with-labels").out.split())
    assert "records decided by people: 1 by ann and bob, 1 by bob" in text
    assert "correctness moves by" in text
    assert "type a number from 1 to 5" in labelled(steelyard, "model", "q0", "6", "--author", "ann", code=2).err


def test_a_judge_whose_reply_cannot_be_read_is_in_the_list(steelyard, rag):
    entries = steelyard("review", "model", "--json").json()
    assert [(entry["sample"], entry["why"]) for entry in entries] == [("q2", "unparsed")]
    labelled(steelyard, "model", "q2", "4", "--author", "bob")
    assert steelyard("review", "model", "--unlabelled", "--json").json() == []
    assert steelyard("review", "model", "--reason", "refused", "--json").json() == []
    assert "did you mean 'refused'" in steelyard("review", "model", "--reason", "refusd", code=2).err
    assert len(steelyard("review", "model", "--all", "--only", "correctness<3", "--json").json()) == 1


@pytest.fixture
def pairs(folder, steelyard, once):
    """Ten pairs that the judge decides by position: A first in both orders, so every verdict is inconsistent."""

    def answers(word):
        model = {"scripted": {"default": f"The {word} answer."}}
        return {"prompt": {"template": "{{question}}", "model": model}}

    config = {
        "suite": "pairwise",
        "name": "pairs",
        "samples": {"file": "rows.jsonl"},
        "targets": {"plain": answers("plain"), "fancy": answers("fancy")},
        "judge": {"model": {"scripted": {"default": "Both are fine.\n\n[[A]]"}}},
    }

    def make():
        write_rows(folder / "rows.jsonl", [{"id": f"q{n}", "question": f"Question {n}?"} for n in range(10)])
        (folder / "c.json").write_text(json.dumps(config), encoding="utf-8")
        steelyard("run", "c.json", "--quiet", code=0)
        with Store() as store:
            return next(run.id for run in store.runs() if run.manifest.get("scores"))

    return once(make)


def test_pairs_are_shown_without_names_in_a_drawn_order(steelyard, pairs):
    out = steelyard("review", pairs, code=0).out
    assert "10 inconsistent" in out
    assert "[[A]]" not in out
    assert "preference:" not in out, "the judge's verdict would sway a person"
    entries = steelyard("review", pairs, "--json").json()
    firsts = {entry["A"] for entry in entries}
    assert firsts == {"The plain answer.", "The fancy answer."}, "neither side always comes first"
    again = steelyard("review", pairs, "--json").json()
    assert again == entries
    other = steelyard("review", pairs, "--seed", "1", "--json").json()
    assert [entry["A"] for entry in other] != [entry["A"] for entry in entries]


def test_a_preference_is_stored_for_the_side_that_was_shown_and_moves_the_win_rate(steelyard, pairs):
    for n, entry in enumerate(steelyard("review", pairs, "--json").json()[:4]):
        fancy = "A" if entry["A"] == "The fancy answer." else "B"
        labelled(steelyard, pairs, entry["sample"], "tie" if n == 3 else fancy, "--author", "ann")
    assert [(label.name, label.kind) for label in labels(pairs)] == [("preference", "preference")] * 4
    # Targets are judged in the order of the configuration: the second is side B.
    assert [label.value for label in labels(pairs)] == ["B", "B", "B", "tie"]
    (plain,) = steelyard("show", pairs, "--json").json()["preferences"]
    (counted,) = steelyard("show", pairs, "--with-labels", "--json").json()["preferences"]
    assert (plain["tally"]["inconsistent"], plain["tally"]["b"]) == (10, 0)
    assert (counted["tally"]["inconsistent"], counted["tally"]["b"], counted["tally"]["tie"]) == (6, 3, 1)
    assert "A, B or tie" in labelled(steelyard, pairs, "q9", "C", "--author", "ann", code=2).err


def test_a_sheet_of_pairs_holds_the_seed_of_its_order(steelyard, pairs, folder):
    steelyard("review", pairs, "--seed", "7", "--csv", "pairs.csv", code=0)
    rows = list(csv.DictReader(io.StringIO((folder / "pairs.csv").read_text(encoding="utf-8-sig"))))
    assert set(rows[0]) == {
        "run", "sample", "repeat", "why", "seed", "question", "expected", "A", "B", "verdict", "comment",
    }  # fmt: skip
    for row in rows:
        row["verdict"] = "A" if row["A"] == "The plain answer." else "B"
    rows[0]["comment"] = "close"
    with (folder / "pairs.csv").open("w", encoding="utf-8", newline="") as file:
        lines = csv.DictWriter(file, rows[0])
        lines.writeheader()
        lines.writerows(rows)
    # The command's own seed is another one: the sheet's counts.
    steelyard("label", pairs, "--from", "pairs.csv", "--author", "ann", code=0)
    stored = labels(pairs)
    assert {label.value for label in stored if label.name == "preference"} == {"A"}
    assert {shown_order(7, row["sample"], 0) for row in rows} == {"AB", "BA"}
    assert [label.value for label in stored if label.name == "comment"] == ["close"]
    refilled = steelyard("review", pairs, "--seed", "9", "--csv", "again.csv", code=0)
    assert "wrote" in refilled.err
    for row in csv.DictReader(io.StringIO((folder / "again.csv").read_text(encoding="utf-8-sig"))):
        assert row["verdict"] == "", "what ann said is not put into the next person's mouth"


def test_predicted_tables_take_pass_or_fail_that_counts_in_a_score_only_if_named(steelyard, folder):
    rows = [
        {"id": "m1", "question": "?", "target": [["a"]], "first": [["a"]]},
        {"id": "m2", "question": "?", "target": [["b"]], "first": [["c"]]},
    ]
    write_rows(folder / "rows.jsonl", rows)
    config = {"suite": "tables", "name": "t", "samples": {"file": "rows.jsonl"}, "predictions": {"first": "first"}}
    (folder / "c.json").write_text(json.dumps(config), encoding="utf-8")
    steelyard("run", "c.json", "--quiet", code=0)
    names = {score["name"]: score for score in steelyard("show", "first", "--json").json()["scores"]}
    labelled(steelyard, "first", "m2", "pass", "--score", "execution_accuracy", "--author", "ann")
    counted = steelyard("show", "first", "--with-labels", "--json").json()
    after = {score["name"]: score["overall"]["value"] for score in counted["scores"]}
    assert names["execution_accuracy"]["overall"]["value"] == 0.5
    assert after["execution_accuracy"] == 1.0


def test_a_users_function_takes_labels_too(steelyard, folder):
    from steelyard import ExactMatch, Sample, evaluate

    samples = [Sample("a", "?", "yes"), Sample("b", "?", "no")]
    run = evaluate(lambda sample: "no", samples, [ExactMatch()], store=".steelyard/steelyard.db")
    assert "no record needs human review" in steelyard("review", run.id, code=0).out
    labelled(steelyard, run.id, "a", "pass", "--author", "ann")
    assert [(label.name, label.value) for label in labels(run.id)] == [("exact_match", "pass")]


def test_a_later_label_of_the_same_person_replaces_the_earlier_and_both_are_exported(steelyard, sql, folder):
    for author, value in [("ann", "pass"), ("bob", "fail"), ("ann", "fail")]:
        labelled(steelyard, "model", "q3", value, "--author", author)
    labelled(steelyard, "model", "q2", "=SUM(1)", "--as", "text", "--author", "ann")
    assert {(label.author, label.value) for label in labels("model")} == {
        ("ann", "fail"),
        ("bob", "fail"),
        ("ann", "=SUM(1)"),
    }
    for name in ("labels.csv", "labels.jsonl"):
        out = steelyard("export", "model", "--labels", "--out", name, code=0).out
        assert "4 labels" in out
    with Store() as store:
        run = store.run("model")
        before = all_labels(store, run)
    assert [label.value for label in before] == ["pass", "fail", "fail", "=SUM(1)"]
    # Into a copy of the run without labels: what was exported comes back as it was, whichever format.
    import sqlite3

    for name in ("labels.csv", "labels.jsonl"):
        with sqlite3.connect(folder / ".steelyard" / "steelyard.db") as connection:
            connection.execute("DELETE FROM event")
        connection.close()
        assert "4 verdicts by ann and bob stored" in steelyard("label", "model", "--from", name, code=0).out
        with Store() as store:
            assert all_labels(store, store.run("model")) == before
    again = " ".join(steelyard("label", "model", "--from", "labels.csv", code=0).out.split())
    assert "stored already" in again


def test_kinds_of_labels_survive_a_salvage(steelyard, sql):
    labelled(steelyard, "model", "q3", "pass", "--author", "ann")
    labelled(steelyard, "model", "q1", "4", "--as", "scale:1-5", "--author", "ann")
    before = labels("model")
    steelyard("export", "--salvage", "--out", "new.db", code=0)
    with Store("new.db") as store:
        assert store.run("model").labels() == before
    steelyard("verify", "--store", "new.db", code=0)
