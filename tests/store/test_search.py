"""Search in the texts of records: an index and a scan find the same, whatever is typed and in whatever language."""

import os
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.store.outside import execute

from steelyard import (
    ConfigError,
    ExactMatch,
    Output,
    Prompt,
    Sample,
    Score,
    Scripted,
    Store,
    StoreError,
    evaluate,
)
from steelyard.store import search
from steelyard.store.delete import delete_runs
from steelyard.store.record_words import record_words
from steelyard.store.search import search_run
from steelyard.store.search_text import has_terms, search_terms, words, words_of_record

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


@pytest.fixture(scope="module")
def run(shared):
    """For tests that only read."""
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


def test_words_read_from_the_bodies_are_those_of_the_records(where):
    model = Prompt(Scripted({}, default="The answer is Café."), "{{question}}")
    samples = [*SAMPLES, Sample("more", {"turns": ["one", {"two": 2}]}, ["ref", 1.5], ("x", "y"), ("ctx",), "g")]
    runs = [evaluate(varied, samples, [reasoned], store=where, max_errors=1.0, repeats=2)]
    runs.append(evaluate(model, samples, [ExactMatch(), reasoned], store=where))
    execute(where, "UPDATE record SET replies = ? WHERE run = 2 AND no = 2", [b"bad"])
    execute(where, "UPDATE sample SET body = ? WHERE id = 'kun'", [b"\x01\xff\x00\xff"])
    execute(where, "DELETE FROM reply WHERE num = (SELECT MAX(num) FROM reply)")
    with Store(where) as store:
        for made in runs:
            run = store.run(made.id)
            read = dict(record_words(run))
            assert read == {(no, record.repeat): words_of_record(record) for no, record in run.numbered_records()}
            assert len(read) == run.done
    assert "the server said tax" in dict(record_words(runs[0]))[1, 0]


def test_of_several_replies_of_a_target_the_last_is_its_answer(where):
    model = Scripted({"draft": "An early heron.", "final": "A late kingfisher."})

    async def target(sample, ask):
        await ask(model, "draft")
        return (await ask(model, "final")).text

    run = evaluate(target, SAMPLES[:1], [ExactMatch()], store=where)
    assert "kingfisher" in dict(record_words(run))[0, 0]
    assert run.search("kingfisher").total == 1
    assert run.search("heron").total == 0


def test_a_scan_finds_what_the_index_finds(run, monkeypatch):
    by_index = [search_run(run, text).places for text, _ in FOUND]
    _without_index(monkeypatch)
    assert [search_run(run, text).places for text, _ in FOUND] == by_index


def _without_index(monkeypatch):
    monkeypatch.setattr(search, "_SearchFile", _unwritable)
    monkeypatch.setattr("steelyard.store.server_search.found_on_server", lambda run, terms: None)


def _unwritable(*files):
    raise PermissionError(files)


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
    found = run.search("say")
    assert [record.sample.id for record in found.records] == ["fr", "tax"]
    assert "only the first 2 of 7 records were searched" in found.note


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
    return Path(f"{store.path}-search")


def test_the_index_is_made_once_beside_the_store_and_can_be_deleted(stored):
    run = stored.run("latest")
    assert not index_of(stored).exists()
    assert run.search("tax").total == 1
    assert index_of(stored).stat().st_mode == Path(stored.path).stat().st_mode
    made = sqlite3.connect(index_of(stored)).execute("SELECT run, done FROM indexed").fetchall()
    assert made == [(run.id, 7)]
    index_of(stored).unlink()
    assert run.search("tax").total == 1


def test_the_index_can_be_read_by_whoever_can_read_the_store_alone(stored):
    Path(stored.path).chmod(0o600)
    stored.run("latest").search("tax")
    assert index_of(stored).stat().st_mode & 0o777 == 0o600


def test_a_damaged_index_is_made_anew(stored):
    run = stored.run("latest")
    run.search("tax")
    index_of(stored).write_bytes(b"no database" * 1000)
    for rest in ("-wal", "-shm"):
        Path(f"{index_of(stored)}{rest}").unlink(missing_ok=True)
    assert run.search("tax").total == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_store_in_a_folder_that_cannot_be_written_is_scanned(stored):
    folder = Path(stored.path).parent
    folder.chmod(0o500)
    try:
        assert stored.run("latest").search("tax").total == 1
        assert not index_of(stored).exists()
    finally:
        folder.chmod(0o700)


def test_texts_of_a_deleted_run_leave_the_index(stored):
    run = stored.run("latest")
    run.search("tax")
    delete_runs(stored, [run])
    left = sqlite3.connect(index_of(stored))
    assert left.execute("SELECT COUNT(*) FROM indexed").fetchone() == (0,)
    assert left.execute("SELECT COUNT(*) FROM sqlite_master WHERE name LIKE 'words%'").fetchone() == (0,)


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
    monkeypatch.setattr(search, "_scanned", None)
    for text, ids in FOUND:
        assert {record.sample.id for record in run.search(text).records} == ids, text
    rows = f'SELECT COUNT(*) FROM "{schema}".search_words'
    assert server.execute(rows).fetchone() == (len(TEXTS) + 1,)
    with Store(on_server) as store:
        assert store.run(run.id).search("tax").total == 1
        delete_runs(store, [store.run(run.id)])
    assert server.execute(rows).fetchone() == (0,)


def test_a_role_that_may_not_make_the_table_scans(with_trigrams, on_server, server, schema, monkeypatch):
    run = evaluate(echo, SAMPLES, [ExactMatch()], store=on_server)
    monkeypatch.setattr(search, "_MOST_SCANNED", 2)
    monkeypatch.setattr("steelyard.store.server_search._fill", _unwritable_table)
    assert "has no extension pg_trgm" in run.search("tax").note


def _unwritable_table(run, namespace):
    raise StoreError("permission denied for schema")
