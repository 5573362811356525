"""Search in the texts of records: an index and a scan find the same, whatever is typed and in whatever language."""

import os
import shutil
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.store.outside import execute

from steelyard import ConfigError, ExactMatch, Output, Prompt, Sample, Score, Scripted, Store, evaluate
from steelyard.errors import StoreError
from steelyard.evaluation.rescore import rescore
from steelyard.people.labels import add_labels
from steelyard.store.delete import delete_runs
from steelyard.store.reading import search
from steelyard.store.reading.page_query import number_of_place
from steelyard.store.reading.search import (
    find_on_server,
    has_terms,
    index_run,
    record_words,
    search_run,
    search_terms,
    words,
)
from steelyard.types import Label

TEXTS = {
    "fr": "What is the capital of France?",
    "tax": "The tax-rate of 2024 for a snake_case name",
    "taxi": "A taxi to the Café",
    "gua": "乾为天卦的第一爻是什么?",
    "kun": "坤为地",
    "ja": "カタカナとひらがな",
    "mixed": "GPT模型3的答案",
}
SAMPLES = [Sample(ident, text, "x", group="a" if len(ident) == 2 else "b") for ident, text in TEXTS.items()]


def echo(sample):
    return f"They say: {sample.id}'s answer" if sample.id != "ja" else "x"


@pytest.fixture(autouse=True)
def _small_runs_are_indexed(monkeypatch):
    monkeypatch.setattr(search, "_LEAST_INDEXED", 0)


@pytest.fixture(scope="module")
def run(shared):
    """For tests that only read."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(search, "_LEAST_INDEXED", 0)
        return evaluate(echo, SAMPLES, [ExactMatch()], store=shared)


FOUND = [
    ("capital", {"fr"}), ("CAPITAL france", {"fr"}), ("france capital", {"fr"}),
    ('"capital of france"', {"fr"}), ('"france capital"', set()), ("tax", {"tax"}),
    ("taxi", {"taxi"}), ("café", {"taxi"}), ("snake_case", {"tax"}), ("tax-rate", {"tax"}),
    ("rate-tax", set()), ("2024", {"tax"}), ("为", {"gua", "kun"}), ("乾", {"gua"}),
    ("天卦", {"gua"}), ("乾为天", {"gua"}), ("为天乾", set()), ("地", {"kun"}), ("第一爻 什么", {"gua"}),
    ("カナ", {"ja"}), ("模型", {"mixed"}), ("gpt模型", {"mixed"}), ("型3的", {"mixed"}),
    ("kun", {"kun"}), ("they say", set(TEXTS) - {"ja"}), ("nothing", set()),
    ('"the', {"fr", "tax", "taxi"}), ("tax AND NOT rate", set()), ("tax*", {"tax"}),
    ("words:tax", set()), ("(tax", {"tax"}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "ids"), FOUND)
def test_records_are_found_by_their_words(run, text, ids):
    assert {record.sample.id for record in run.search(text).records} == ids


def varied(sample):
    if sample.id == "tax":
        raise ValueError("the server said: tax")
    if sample.id == "gua":
        return Output({"answer": ["乾", 3], "right": True}, ("a passage", "另一段"))
    return None if sample.id == "fr" else echo(sample)


def reasoned(sample, output):
    return Score("reasoned", 1.0, reason=f"as {sample.id} says", detail={"kept": "beside"})


def test_records_of_any_shape_and_damaged_ones_have_words(where):
    model = Prompt(Scripted({}, default="The answer is Café."), "{{question}}")
    samples = [*SAMPLES, Sample("more", {"turns": ["one", {"two": 2}]}, ["ref", 1.5], ("x", "y"), ("ctx",), "g")]
    runs = [evaluate(varied, samples, [reasoned], store=where, max_errors=1.0, repeats=2)]
    runs.append(evaluate(model, samples, [ExactMatch(), reasoned], store=where))
    execute(where, "UPDATE record SET replies = ? WHERE run = 2 AND no = 2", [b"bad"])
    execute(where, "UPDATE sample SET body = ? WHERE id = 'kun'", [b"\x01\xff\x00\xff"])
    execute(where, "DELETE FROM reply WHERE num = (SELECT MAX(num) FROM reply)")
    with Store(where) as store:
        for evaluated in runs:
            run = store.run(evaluated.id)
            assert len(dict(record_words(run))) == run.done
    assert "the server said tax" in dict(record_words(runs[0]))[number_of_place((1, 0))]


def test_of_several_replies_of_a_target_the_last_is_its_answer(where):
    model = Scripted({"draft": "An early heron.", "final": "A late kingfisher."})

    async def target(sample, ask):
        await ask(model, "draft")
        return (await ask(model, "final")).text

    run = evaluate(target, SAMPLES[:1], [ExactMatch()], store=where)
    assert "kingfisher" in dict(record_words(run))[0]
    assert run.search("kingfisher").total == 1
    assert run.search("heron").total == 0


def test_a_scan_finds_what_the_index_finds(run, monkeypatch):
    by_index = [search_run(run, text).places for text, _ in FOUND]
    _without_index(monkeypatch)
    assert [search_run(run, text).places for text, _ in FOUND] == by_index


def test_labels_and_notes_of_people_are_found_with_and_without_an_index(where, monkeypatch):
    run = evaluate(echo, SAMPLES, [ExactMatch()], store=where)
    note = Label("tax", "comment", "a zebra crossing", "ann", datetime.now(UTC), kind="text")
    cause = Label("taxi", "cause", "zebra", "ben", datetime.now(UTC))
    with Store(where) as store:
        add_labels(store, store.run(run.id), [note, cause, replace(cause, value=None)])
        assert [record.sample.id for record in run.search("zebra").records] == ["tax"], "the other one was withdrawn"
        assert run.search("zebra snake_case").total == 0
        _without_index(monkeypatch)
        assert [record.sample.id for record in run.search("crossing").records] == ["tax"]


def _without_index(monkeypatch):
    for find in ("_find_in_file", "find_on_server"):
        monkeypatch.setattr(search, find, lambda *_: None)


def test_a_search_has_pages_conditions_and_an_order(run):
    page = run.search("say", n=2, where="group = b", sort="-id")
    assert [record.sample.id for record in page.records] == ["taxi", "tax"]
    assert (page.total, page.note) == (5, "")
    assert [record.sample.id for record in run.search("say", page.after, 2, where="group = b", sort="-id").records] == [
        "mixed", "kun"
    ]  # fmt: skip


def test_pages_of_a_search_that_follow_are_of_that_search(run):
    wanted = {"sort": "-id", "n": 2}
    totals = {run.search(text, **wanted).total for text in ("say", "the")}
    for text in ("say", "the"):
        ids, after, is_first = [], "", True
        while after or is_first:
            page = run.search(text, after, count=len(ids) % 4 == 0, **wanted)
            ids += [record.sample.id for record in page.records]
            after, is_first = page.after, False
        assert ids == sorted((record.sample.id for record in run.search(text).records), reverse=True)
    assert len(totals) == 2


def test_a_bounded_scan_says_what_it_left_out(run, monkeypatch):
    _without_index(monkeypatch)
    monkeypatch.setattr(search, "_MOST_SCANNED", 2)
    page = run.search("say")
    assert [record.sample.id for record in page.records] == ["fr", "tax"]
    assert page.note == "only the first 2 of 7 records of this run were searched, as it has no search index"


@pytest.mark.parametrize("text", ["", "  ", "?!", '""', "\x00", "*"])
def test_a_search_without_a_word_is_refused(run, text):
    with pytest.raises(ConfigError, match="nothing to search for"):
        run.search(text)


def test_too_long_a_search_is_refused(run):
    with pytest.raises(ConfigError, match="at most 1,000 characters"):
        run.search("a" * 1001)


@pytest.fixture
def stored(tmp_path):
    evaluate(echo, SAMPLES, [ExactMatch()], store=tmp_path / "s.db")
    with Store(tmp_path / "s.db") as store:
        yield store


def index_of(store):
    return Path(f"{store.path}-search/1.db")


def test_a_finished_run_is_indexed_when_it_ends_only_where_a_search_cannot_scan_it(tmp_path, monkeypatch):
    monkeypatch.undo()
    assert search._LEAST_INDEXED == search._MOST_SCANNED
    monkeypatch.setattr(search, "_LEAST_INDEXED", 200)
    for name, n in (("small", 200), ("large", 201)):
        samples = [Sample(f"{name}{number}", f"Question {number}") for number in range(n)]
        evaluate(lambda sample: "x", samples, [ExactMatch()], store=tmp_path / f"{name}.db")
        with Store(tmp_path / f"{name}.db") as store:
            assert index_of(store).exists() == (name == "large")
            page = store.run("latest").search("question 199")
            assert ([record.sample.id for record in page.records], page.note) == ([f"{name}199"], "")


def test_an_unfinished_run_is_scanned_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(search, "_MOST_SCANNED", 2)

    def target(sample):
        if sample.id == "mixed":
            raise ValueError("down")
        return "They say"

    run = evaluate(
        target, SAMPLES, [ExactMatch()], store=tmp_path / "s.db", max_errors=0, on_broken="return", concurrency=1,
    )  # fmt: skip
    assert (run.state, run.done) == ("broken", 7)
    page = run.search("say")
    assert page.total == 2
    assert page.note == "only the first 2 of 7 records of this run were searched, as it is not finished"


def test_the_index_is_a_file_of_its_run_beside_the_store_and_can_be_deleted(stored, monkeypatch):
    run = stored.run("latest")
    indexed = sqlite3.connect(index_of(stored)).execute("SELECT run, done FROM indexed").fetchall()
    assert indexed == [(run.id, 7)]
    monkeypatch.setattr(search, "_MOST_SCANNED", 2)
    assert (run.search("answer").total, run.search("answer").note) == (6, "")
    index_of(stored).unlink()
    assert run.search("answer").total == 2
    index_run(run)
    assert run.search("answer").total == 6


def test_a_run_that_is_scored_again_is_found_by_its_new_reasons(stored, monkeypatch):
    rescore(stored, stored.run("latest"), [reasoned])
    monkeypatch.setattr(search, "_MOST_SCANNED", 0)
    assert stored.run("latest").search('"as gua says"').total == 1


def test_the_index_can_be_read_by_whoever_can_read_the_store_alone(stored):
    run = stored.run("latest")
    for mode, of_folder in ((0o664, 0o775), (0o600, 0o700)):
        Path(stored.path).chmod(mode)
        index_run(run)
        assert index_of(stored).stat().st_mode & 0o777 == mode
        assert index_of(stored).parent.stat().st_mode & 0o777 == of_folder


@pytest.mark.parametrize("content", [b"", b"no database" * 1000])
def test_a_damaged_index_is_not_used_and_made_anew(stored, content, monkeypatch):
    run = stored.run("latest")
    index_of(stored).write_bytes(content)
    assert run.search("tax").total == 1
    index_run(run)
    monkeypatch.setattr(search, "_MOST_SCANNED", 0)
    assert run.search("tax").total == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_store_in_a_folder_that_cannot_be_written_is_searched(stored):
    folder, run = Path(stored.path).parent, stored.run("latest")
    folder.chmod(0o500)
    try:
        assert run.search("tax").total == 1
        shutil.rmtree(index_of(stored).parent, ignore_errors=True)
        index_run(run)
        assert not index_of(stored).exists()
        assert run.search("tax").total == 1
    finally:
        folder.chmod(0o700)


def test_texts_of_a_deleted_run_leave_the_index(stored):
    assert index_of(stored).exists()
    delete_runs(stored, [stored.run("latest")])
    assert list(index_of(stored).parent.iterdir()) == []


def test_the_index_of_a_deleted_run_is_not_that_of_the_run_with_its_number(stored):
    left = index_of(stored).read_bytes()
    delete_runs(stored, [stored.run("latest")])
    evaluate(lambda sample: "new", SAMPLES, [ExactMatch()], store=stored.path)
    assert stored.run("latest").num == 1
    index_of(stored).write_bytes(left)
    assert stored.run("latest").search("new").total == 7


@given(st.text(alphabet='ab_ 乾为天1."é', max_size=12), st.text(alphabet="ab 乾为天1é", min_size=1, max_size=4))
def test_what_stands_in_a_text_is_found_in_it(around, part):
    """Any word of a text, and any part of a run of Chinese, finds the text."""
    try:
        terms = search_terms(part)
    except ConfigError:
        return
    assert has_terms(words(f"{around} {part} {around}"), terms)


@pytest.fixture
def with_trigrams(server):
    """Makes pg_trgm available in the database of the tests, as it is on most servers; it stays."""
    server.execute("SELECT pg_advisory_lock(6021024)")
    try:
        server.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA public")
    except Exception as error:  # noqa: BLE001  # of a driver that is imported where there is a server
        pytest.skip(f"no pg_trgm: {error}")
    finally:
        server.execute("SELECT pg_advisory_unlock(6021024)")


def test_a_server_finds_by_trigrams_what_a_scan_finds(with_trigrams, on_server, server, schema, monkeypatch):
    run = evaluate(echo, SAMPLES, [ExactMatch()], store=on_server)
    monkeypatch.setattr(search, "_scan", None)
    for text, ids in FOUND:
        assert {record.sample.id for record in run.search(text).records} == ids, text
    rows = f'SELECT COUNT(*) FROM "{schema}".search_words'
    assert server.execute(rows).fetchone() == (len(TEXTS) + 1,)
    with Store(on_server) as store:
        assert store.run(run.id).search("tax").total == 1
        delete_runs(store, [store.run(run.id)])
    assert server.execute(rows).fetchone() == (0,)


def test_a_role_that_may_not_make_the_table_scans(with_trigrams, on_server, monkeypatch):
    monkeypatch.setattr("steelyard.store.reading.search._insert", _unwritable_table)
    run = evaluate(echo, SAMPLES, [ExactMatch()], store=on_server)
    assert find_on_server(run, ("tax",)) is None
    assert run.search("tax").total == 1


def _unwritable_table(connection, run, words):
    raise StoreError("permission denied for schema")
