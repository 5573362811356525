"""A retrieval rate over passages that match nothing is shown nowhere without the warning."""

import json

import pytest

N = 12
WARNING = "no passage matches a source in 11 of 12 records"
WHY = "the passages share no text with the sources: the same documents?"
ROOMS = (
    *("attic", "barn", "cellar", "dairy", "engine", "forge"),
    *("granary", "hall", "island", "jetty", "kiln", "lighthouse"),
)
UUID = "2b6f7c0e-58a1-4b7c-9a43-0d6e1f0c{:04}"


def source(room):
    return f"The keeper of the {room} writes the height of the water down at nine in the morning."


@pytest.fixture
def evaluated(steelyard, tmp_path, monkeypatch, once):
    """Three stored systems over twelve questions: one that finds, one on other documents, one that only names ids."""
    monkeypatch.chdir(tmp_path)
    rows = [{"id": room, "question": f"Who keeps the {room}?", "source": source(room)} for room in ROOMS]
    elsewhere = ["Snow lies on the hills until May, and nobody has counted the days of it since the war."]
    said = {
        "own": [{"id": room, "output": "x", "contexts": [source(room)]} for room in ROOMS],
        "foreign": [{"id": room, "output": "x", "contexts": elsewhere} for room in ROOMS],
        "blind": [{"id": room, "output": "x", "sources": [{"id": UUID.format(at)}]} for at, room in enumerate(ROOMS)],
    }
    said["foreign"][0]["contexts"] = [source(ROOMS[0])]
    config = {
        "suite": "rag",
        "samples": {"file": "questions.json"},
        "targets": {name: {"replay": f"{name}.jsonl"} for name in said},
        "scorers": ["retrieval", "rouge_l"],
        "primary": "hit_rate",
        "gate": {"recall": ">= 0.5"},
    }

    def make():
        (tmp_path / "rag.json").write_text(json.dumps(config), encoding="utf-8")
        (tmp_path / "questions.json").write_text(json.dumps(rows), encoding="utf-8")
        for name, lines in said.items():
            (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        return steelyard("run", "rag.json")

    return once(make)


def plain(text):
    return " ".join(text.split())


def test_the_terminal_counts_the_ways_and_warns(steelyard, evaluated):
    out = plain(steelyard("resume", "--full").out)
    assert f"own: an expected passage was retrieved for {N} of {N} records (by words in {N})" in out
    assert f"Warning: foreign: {WARNING}; {WHY}" in out
    assert "foreign: an expected passage was retrieved for 1 of 12 records (by words in 1)" in out
    assert "Warning: blind: passages and sources could not be compared in 12 of 12 records" in out
    assert "arning: own" not in out


def test_what_could_not_be_compared_is_no_miss(steelyard, evaluated):
    run = steelyard("show", "blind", "--json").json()
    (score,) = (one for one in run["scores"] if one["name"] == "hit_rate")
    assert (score["headline"]["value"], score["not_applicable"]) == (None, N)
    assert run["matched"] | {"warning": ""} == {
        "by": {},
        "nothing": 0,
        "not_compared": N,
        "empty": 0,
        "warning": "",
        "long_share": 0.0,
    }


def test_the_pages_warn(steelyard, evaluated, tmp_path):
    steelyard("report", "foreign", "--html", "one.html", "--markdown", "one.md")
    for name in ("one.html", "one.md"):
        page = plain((tmp_path / name).read_text(encoding="utf-8")).replace("&#39;", "'")
        assert f"{WARNING}; {WHY}" in page
        assert "an expected passage was retrieved for 1 of 12 records" in page
    steelyard("report", "own", "--html", "own.html")
    assert WHY not in (tmp_path / "own.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("score", ["hit_rate", "recall", "rouge_l"])
def test_a_comparison_warns_in_its_sentence_or_beside_it(steelyard, evaluated, score):
    out = steelyard("compare", "own", "foreign", "--score", score, "--json").json()
    (pair,) = out["comparison"]["pairs"]
    assert any(WARNING in text for text in pair["warnings"]) is (score == "rouge_l")
    assert (WARNING in pair["sentence"]) is (score != "rouge_l")
    assert WHY in plain(steelyard("compare", "own", "foreign", "--score", score, "--full").out)


def test_gate_and_history_warn(steelyard, evaluated):
    out = plain(steelyard("resume", "--full").out)
    gate = out[out.index("gate: foreign: recall >= 0.5") :]
    assert gate.index(WHY) < gate.index("gate: blind")
    assert WHY in plain(steelyard("history", "questions").out)


def test_a_notebook_and_python_warn(evaluated):
    from steelyard.store import Store

    with Store() as store:
        run = store.run("foreign")
        assert WHY in run._repr_html_()
        assert WHY in str(run.summary())
        assert WHY not in str(store.run("own").summary())


def test_a_sample_says_by_what_its_passages_matched(steelyard, evaluated, tmp_path):
    (record, *_) = steelyard("show", "own", "--only", "all", "--most", "1", "--json").json()
    (score,) = (one for one in record["scores"] if one["name"] == "hit_rate")
    assert (score["detail"]["matched_by"], score["detail"]["passages"]) == ("words", ["words"])
    assert score["reason"].endswith("at rank 1 (same words)")
    steelyard("report", "own", "--html", "own.html")
    assert "✓ expected, by " in (tmp_path / "own.html").read_text(encoding="utf-8")
