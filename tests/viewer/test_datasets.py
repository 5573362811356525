"""Datasets in the viewer: rows, drafts, new files beside old ones, and what is refused."""

from __future__ import annotations

import json
import os
import re
from html import unescape
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import pytest
from tests.store.conftest import on_server, schema, server  # noqa: F401  # fixtures
from tests.viewer.conftest import serving

from steelyard import Sample, evaluate
from steelyard.config.given import note_given
from steelyard.config.load import load
from steelyard.evaluation.evaluate import RunConfig, evaluate_suite
from steelyard.people.named_datasets import named_datasets
from steelyard.scorers.lexical import ExactMatch
from steelyard.store import Store
from steelyard.store.delete import delete_runs

QUESTIONS = [
    {"id": "q1", "question": "What is one and one?", "options": ["1", "2"], "answer": "B", "group": "sums"},
    {"id": "q2", "question": "What is two and two?", "options": ["4", "5"], "answer": "A", "group": "sums"},
    {"id": "q3", "question": "Which colour has the sky?", "options": ["blue", "red"], "answer": "A", "group": "world"},
]
CONFIG = "suite: choice\nsamples: {file: FILE}\ntargets:\n  random: {baseline: random}\n"


def lines(rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def run(folder, store, name="questions.jsonl", config=CONFIG):
    """A run of a configuration in a folder, as the command line makes one."""
    path = folder / f"{name}.yaml"
    path.write_text(config.replace("FILE", name), encoding="utf-8")
    loaded = load(path, environ={})
    note_given(*loaded.files)
    return evaluate_suite(
        loaded.suite, how=RunConfig(store=store, config={"path": str(path), "plain": loaded.plain, "text": ""})
    )[0]


@pytest.fixture
def store(request, tmp_path):
    """A file, as pages do not depend on the database; `ON_EACH` is for what several people write."""
    database = getattr(request, "param", "sqlite")
    return tmp_path / "s.db" if database == "sqlite" else request.getfixturevalue("on_server")


ON_EACH = pytest.mark.parametrize("store", ["sqlite", "postgres"], indirect=True)


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "exam"
    made.mkdir()
    (made / "questions.jsonl").write_text(lines(QUESTIONS), encoding="utf-8")
    return made


@pytest.fixture
def viewer(folder, store):
    run(folder, store)
    with serving(store) as served:
        yield served


@pytest.fixture
def on_file(folder, tmp_path):
    """A viewer of a store in a file, for what no database decides."""
    run(folder, tmp_path / "s.db")
    with serving(tmp_path / "s.db") as served:
        yield served


def place(viewer, version=0):
    """Where the pages of a version are."""
    dataset = named_datasets(viewer.store)[0]
    return f"/data/{dataset.id}/{dataset.versions[version].digest}"


def field(page, name):
    """The text of a field, as a browser would send it."""
    found = re.search(rf'<textarea name="{name}"[^>]*>\n(.*?)</textarea>', page, re.DOTALL) or re.search(
        rf'name="{name}"[^>]*value="([^"]*)"', page
    )
    return unescape(found[1])


def filled(page):
    """Every field of the form of a row, and what its address names."""
    names = dict.fromkeys(re.findall(r'name="(cell-\d+|id|seen)"', page))
    return {**dict(parse_qsl(urlsplit(action_of(page)).query)), **{name: field(page, name) for name in names}}


def action_of(page):
    """Where the form of a row is sent."""
    return unescape(re.search(r'action="([^"]+)" class="note-form dataset-form"', page)[1])


def opened(viewer, ident):
    return filled(viewer.ask(f"{place(viewer)}/row?id={quote(ident)}")[2])


def change(viewer, ident, *, at="row", author="ann", form=None, **fields):
    """Send the form of a row with some fields changed."""
    sent = {**(form or opened(viewer, ident)), "author": author, **fields}
    return viewer.post(f"{place(viewer)}/{at}", urlencode(sent))


def save(viewer, author="ann"):
    base = place(viewer)
    page = viewer.ask(f"{base}/draft")[2]
    return viewer.post(f"{base}/save", urlencode({"author": author, "seen": field(page, "seen")}))


def rows_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@ON_EACH
def test_a_draft_becomes_a_new_file_beside_its_parent_with_all_that_was_done(viewer, folder):
    before = (folder / "questions.jsonl").read_bytes()
    assert change(viewer, "q1", **{"cell-1": "What is 1 + 1?"})[0] == 303
    assert change(viewer, "q2", do="retire")[0] == 303
    new = {"id": "q9", "cell-1": "Is water wet?", "cell-2": '["yes", "no"]', "cell-3": "A", "cell-4": "world"}
    assert change(viewer, "", at="new", form=new)[0] == 303
    assert [path.name for path in folder.glob("*.jsonl")] == ["questions.jsonl"]
    status, headers, page = save(viewer)
    assert status == 303, page
    assert rows_of(folder / "questions.v2.jsonl") == [
        {**QUESTIONS[0], "question": "What is 1 + 1?"},
        QUESTIONS[2],
        {"id": "q9", "question": "Is water wet?", "options": ["yes", "no"], "answer": "A", "group": "world"},
    ]
    assert (folder / "questions.jsonl").read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == [
        "questions.jsonl",
        "questions.jsonl.yaml",
        "questions.v2.jsonl",
    ]
    page = viewer.ask(headers["location"])[2]
    assert "saved by ann from questions.jsonl" in page
    assert "1 added, 1 changed, 1 retired" in page
    assert "used by no run yet" in page


def test_a_run_of_the_new_file_is_a_run_of_the_same_dataset_and_says_its_version(viewer, folder, store):
    change(viewer, "q1", **{"cell-1": "What is 1 + 1?"})
    save(viewer)
    again = run(folder, store, "questions.v2.jsonl")
    (dataset,) = named_datasets(viewer.store)
    assert [(version.name, len(version.runs)) for version in dataset.versions] == [
        ("questions.v2.jsonl", 1),
        ("questions.jsonl", 1),
    ]
    page = viewer.ask(f"/run/{again.id}")[2]
    assert f"/data/{dataset.id}?version={dataset.versions[0].digest}" in page
    assert "questions.v2.jsonl" in page


def test_a_comparison_across_versions_says_what_differs(viewer, folder, store):
    change(viewer, "q1", **{"cell-3": "A"})
    new = {"id": "q9", "cell-1": "Is water wet?", "cell-2": '["yes", "no"]', "cell-3": "A", "cell-4": "world"}
    change(viewer, "", at="new", form=new)
    save(viewer)
    again = run(folder, store, "questions.v2.jsonl")
    before = viewer.store.runs()[-1]
    assert before.suite == again.suite
    page = unescape(viewer.ask(f"/compare?a={before.id}&b={again.id}")[2])
    assert re.search(
        r"two versions of their dataset, questions.jsonl \(\w{8}\) and questions.v2.jsonl \(\w{8}\): "
        r"1 added, 1 changed, 0 retired",
        page,
    )
    assert "1 sample kept the id but changed content between the runs and is left out" in page
    dataset = named_datasets(viewer.store)[0]
    old, new = (version.digest for version in reversed(dataset.versions))
    assert f"/data/{dataset.id}/diff?a={old}&b={new}" in page


def test_what_changed_is_shown_word_by_word(on_file):
    change(on_file, "q1", **{"cell-1": "What is one plus one?"})
    page = on_file.ask(f"{place(on_file)}/draft")[2]
    assert "<del>and</del><ins>plus</ins>" in page
    save(on_file)
    dataset = named_datasets(on_file.store)[0]
    page = on_file.ask(f"/data/{dataset.id}/diff")[2]
    assert "<del>and</del><ins>plus</ins>" in page
    assert "1 changed, 2 the same" in page


@ON_EACH
def test_two_tabs_on_one_row_lose_nothing(viewer):
    first, second = opened(viewer, "q1"), opened(viewer, "q1")
    assert change(viewer, "q1", form=first, author="ann", **{"cell-1": "Ann asks?"})[0] == 303
    status, _, page = change(viewer, "q1", form=second, author="bob", **{"cell-1": "Bob asks?"})
    assert status == 422
    assert re.search(r"row q1: ann changed this row at \d\d:\d\d:\d\d UTC, after you opened it", page)
    assert "Your text is in the fields below and is not stored" in page
    assert field(page, "cell-1") == "Bob asks?"
    assert "Ann asks?" in page
    assert field(viewer.ask(f"{place(viewer)}/row?id=q1")[2], "cell-1") == "Ann asks?"
    assert change(viewer, "q1", form={**second, **filled(page)}, author="bob")[0] == 303
    assert field(viewer.ask(f"{place(viewer)}/row?id=q1")[2], "cell-1") == "Bob asks?"


def test_a_change_to_a_row_whose_changes_were_undone_meanwhile_is_not_stored(viewer):
    change(viewer, "q1", author="ann", **{"cell-1": "Ann asks?"})
    stale = opened(viewer, "q1")
    assert change(viewer, "q1", author="bob", do="undo")[0] == 303
    status, _, page = change(viewer, "q1", form=stale, author="ann", **{"cell-1": "Ann asks again?"})
    assert status == 422
    assert "row q1: somebody undid its changes, saved or discarded the draft meanwhile" in page
    assert field(page, "cell-1") == "Ann asks again?"


@pytest.mark.parametrize(
    ("cell", "text"),
    [("cell-1", "Is wa\0ter wet?"), ("cell-2", '["y\\u0000es", "no"]'), ("cell-2", '["\\ud800", "no"]')],
)
def test_a_character_that_no_dataset_may_hold_is_refused_at_entry(viewer, cell, text):
    status, _, page = change(viewer, "q1", **{cell: text})
    assert status == 422
    assert "which a dataset cannot hold" in page
    assert "1 changed" not in viewer.ask(f"{place(viewer)}/draft")[2]
    new = {"id": "q9", "cell-1": "Is ice cold?", "cell-2": '["yes", "no"]', "cell-3": "A", cell: text}
    status, _, page = change(viewer, "", at="new", form=new)
    assert (status, "which a dataset cannot hold" in page) == (422, True)


def test_what_was_typed_into_a_row_that_is_gone_is_shown(on_file):
    sent = urlencode({"id": "gone", "seen": "0", "author": "ann", "do": "save", "cell-1": "typed-xyz"})
    status, _, answer = on_file.post(f"{place(on_file)}/row", sent)
    assert status == 422
    assert "has no row" in answer
    assert "typed-xyz" in answer


@ON_EACH
def test_two_people_who_add_the_same_id_both_keep_their_text(viewer):
    new = {"id": "q9", "cell-1": "Is water wet?", "cell-2": '["yes", "no"]', "cell-3": "A"}
    assert change(viewer, "", at="new", form=new)[0] == 303
    status, _, page = change(viewer, "", at="new", form={**new, "cell-1": "Is ice cold?"}, author="bob")
    assert status == 422
    assert "ann added a row with this id" in page
    assert field(page, "cell-1") == "Is ice cold?"
    taken = change(viewer, "", at="new", form={**new, "id": "q1"})
    assert (taken[0], "has a row with the id q1 already" in taken[2]) == (422, True)


def test_a_draft_that_grew_is_not_saved_unseen(viewer, folder):
    change(viewer, "q1", **{"cell-1": "Ann asks?"})
    seen = field(viewer.ask(f"{place(viewer)}/draft")[2], "seen")
    change(viewer, "q2", author="bob", do="retire")
    status, _, page = viewer.post(f"{place(viewer)}/save", urlencode({"author": "ann", "seen": seen}))
    assert status == 422
    assert "the draft has changed since you looked at it (1 row changed by bob)" in page
    assert not (folder / "questions.v2.jsonl").exists()


def test_a_file_that_changed_under_the_draft_is_neither_shown_nor_saved(viewer, folder):
    change(viewer, "q1", **{"cell-1": "Ann asks?"})
    base = place(viewer)
    page = viewer.ask(f"{base}/draft")[2]
    file = folder / "questions.jsonl"
    original = file.read_bytes()
    file.write_text(lines([*QUESTIONS, {**QUESTIONS[0], "id": "q4", "question": "A secret?"}]), encoding="utf-8")
    status, _, answer = viewer.post(f"{base}/save", urlencode({"author": "ann", "seen": field(page, "seen")}))
    assert status == 422
    assert "questions.jsonl was changed on disk" in answer
    assert "The draft stays in the store" in answer
    assert "secret" not in viewer.ask(f"/data/{base.split('/')[2]}")[2]
    for at, ident in (("row", "q2"), ("new", "q9")):  # what was typed on an open page meanwhile is shown
        sent = urlencode({"id": ident, "seen": "0", "author": "ann", "cell-1": "typed-xyz"})
        status, _, answer = viewer.post(f"{base}/{at}", sent)
        assert status == 422
        assert "typed-xyz" in answer
    file.unlink()
    assert "is no longer in" in viewer.ask(f"{base}/draft")[2]
    file.write_bytes(original)
    assert save(viewer)[0] == 303
    assert rows_of(folder / "questions.v2.jsonl")[0]["question"] == "Ann asks?"


def test_no_file_is_written_over_and_the_next_name_is_free(on_file, folder):
    (folder / "questions.v2.jsonl").write_text("mine", encoding="utf-8")
    (folder / "questions.v3.jsonl").symlink_to(folder / "elsewhere.jsonl")
    change(on_file, "q1", do="retire")
    assert save(on_file)[0] == 303
    assert (folder / "questions.v2.jsonl").read_text(encoding="utf-8") == "mine"
    assert not (folder / "elsewhere.jsonl").exists()
    assert len(rows_of(folder / "questions.v4.jsonl")) == 2


def test_a_link_in_the_place_of_the_file_is_not_followed(on_file, folder):
    file = folder / "questions.jsonl"
    file.rename(folder / "moved.jsonl")
    file.symlink_to(folder / "moved.jsonl")
    base = place(on_file)
    assert "it is a symbolic link" in on_file.ask(f"/data/{base.split('/')[2]}")[2]
    assert on_file.ask(f"{base}/row?id=q1")[0] == 404


def test_a_row_that_a_run_would_refuse_is_not_saved(on_file, folder):
    change(on_file, "q1", **{"cell-3": "Z"})
    status, _, page = save(on_file)
    assert status == 422
    assert "a run of the new file would fail because of these rows" in page
    assert [path.name for path in folder.glob("*.jsonl")] == ["questions.jsonl"]
    assert not list(folder.glob(".*"))


def test_a_cell_that_is_a_list_stays_one(on_file):
    status, _, page = change(on_file, "q1", **{"cell-2": "one, two"})
    assert status == 422
    assert "options: this cell holds JSON" in page
    assert field(page, "cell-2") == "one, two"


def test_undoing_and_discarding_leave_the_version_as_it_is(on_file, folder):
    change(on_file, "q1", do="retire")
    assert '<span class="tag">retired</span>' in on_file.ask(place(on_file).rpartition("/")[0])[2]
    change(on_file, "q1", do="undo")
    assert "Nothing is unsaved" in on_file.ask(f"{place(on_file)}/draft")[2]
    change(on_file, "q1", **{"cell-1": "Ann asks?"})
    seen = field(on_file.ask(f"{place(on_file)}/draft")[2], "seen")
    assert on_file.post(f"{place(on_file)}/discard", urlencode({"author": "ann", "seen": seen}))[0] == 303
    assert "Nothing is unsaved" in on_file.ask(f"{place(on_file)}/draft")[2]
    assert [path.name for path in folder.glob("*.jsonl")] == ["questions.jsonl"]


def test_looking_at_a_row_and_sending_it_unchanged_changes_nothing(on_file):
    assert change(on_file, "q1")[0] == 303
    assert "Nothing is unsaved" in on_file.ask(f"{place(on_file)}/draft")[2]


def test_a_row_whose_id_no_form_field_could_hold_is_changed_by_its_own_form(tmp_path):
    ident = "two\nlines\u202e"
    (tmp_path / "odd.jsonl").write_text(lines([{**QUESTIONS[0], "id": ident}]), encoding="utf-8")
    run(tmp_path, tmp_path / "s.db", "odd.jsonl")
    with serving(tmp_path / "s.db") as served:
        page = served.ask(f"{place(served)}/row?id={quote(ident)}")[2]
        sent = {"seen": field(page, "seen"), "author": "ann", "do": "retire"}
        assert served.post(action_of(page), urlencode(sent))[0] == 303
        assert "Retired in the draft by ann" in served.ask(f"{place(served)}/row?id={quote(ident)}")[2]


def test_a_sample_of_any_run_is_added_with_where_it_is_from(viewer, folder, store):
    other = evaluate(lambda _: "Yes, it is.", [Sample("wet", "Is water wet?", "Yes.")], [ExactMatch()], store=store)
    page = viewer.ask(f"/run/{other.id}/s/wet")[2]
    choose = f"/data/add?run={other.id}&sample=wet"
    assert choose.replace("&", "&amp;") in page
    new = f"{place(viewer)}/new?run={other.id}&sample=wet&repeat=0"
    assert new.replace("&", "&amp;") in viewer.ask(choose)[2]
    page = viewer.ask(new)[2]
    assert (field(page, "id"), field(page, "cell-1"), field(page, "cell-3")) == ("wet", "Is water wet?", "Yes.")
    page = viewer.ask(f"{new}&take=output")[2]
    assert field(page, "cell-3") == "Yes, it is."
    assert "correct it before it counts as right" in page
    assert change(viewer, "", at="new", form=filled(page), **{"cell-2": '["yes", "no"]', "cell-3": "A"})[0] == 303
    page = viewer.ask(f"{place(viewer)}/row?id=wet")[2]
    assert f'taken from the sample <a href="/run/{other.id}/s/wet">wet</a>' in page
    assert save(viewer)[0] == 303
    assert rows_of(folder / "questions.v2.jsonl")[-1] == {
        "id": "wet", "question": "Is water wet?", "options": ["yes", "no"], "answer": "A"
    }  # fmt: skip


def test_nothing_is_written_where_the_viewer_only_reads(folder, tmp_path):
    run(folder, tmp_path / "s.db")
    with serving(tmp_path / "s.db", read_only=True) as viewer:
        base = place(viewer)
        assert "What is one and one?" in viewer.ask(f"{base}/row?id=q1")[2]
        for path in ("row", "new", "save", "discard"):
            assert viewer.post(f"{base}/{path}", urlencode({"id": "q1", "author": "ann", "seen": "0"}))[0] == 403
    assert [path.name for path in folder.glob("*.jsonl")] == ["questions.jsonl"]


def test_another_site_and_an_invented_path_write_nothing(on_file, folder):
    base = place(on_file)
    form = urlencode({**opened(on_file, "q1"), "author": "ann", "do": "retire"})
    assert on_file.post(f"{base}/row", form, origin="http://evil.example")[0] == 403
    assert on_file.post("/data/..%2F..%2Fetc/passwd/row", form)[0] == 404
    assert on_file.post(f"{base[:-4]}ffff/row", form)[0] == 422
    assert "Nothing is unsaved" in on_file.ask(f"{base}/draft")[2]


def test_a_run_from_python_names_its_dataset_and_says_why_it_cannot_be_opened(folder, tmp_path):
    from steelyard.data import SampleFiles
    from steelyard.suites import ChoiceSuite
    from steelyard.targets import Baseline

    suite = ChoiceSuite(samples=SampleFiles(folder / "questions.jsonl"), targets={"r": Baseline("random")}).build()
    evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    with serving(tmp_path / "s.db") as viewer:
        dataset = named_datasets(viewer.store)[0]
        assert "was started from Python, which does not say the folder" in viewer.ask(f"/data/{dataset.id}")[2]
        assert viewer.ask("/data")[0] == 200


def test_a_name_is_needed_and_the_text_is_kept(on_file):
    status, _, page = change(on_file, "q1", author=" ", **{"cell-1": "Ann asks?"})
    assert status == 422
    assert "your name is missing" in page
    assert field(page, "cell-1") == "Ann asks?"


def test_hostile_cells_ids_and_names_stay_text(folder, tmp_path):
    evil = "</textarea><script>alert(1)</script>"
    rows = [{**QUESTIONS[0], "id": evil, "question": f"\n{evil}", "group": "=1+1"}, QUESTIONS[1]]
    (folder / "questions.jsonl").write_text(lines(rows), encoding="utf-8")
    run(folder, tmp_path / "s.db")
    with serving(tmp_path / "s.db") as viewer:
        assert change(viewer, evil, author=evil, **{"cell-4": f"{evil}!"})[0] == 303
        assert save(viewer, author=evil)[0] == 303
        dataset = named_datasets(viewer.store)[0]
        for path in (
            f"/data/{dataset.id}",
            f"/data/{dataset.id}/diff",
            f"{place(viewer)}/row?id={quote(evil)}",
            "/data",
        ):
            assert "<script>alert" not in viewer.ask(path)[2]
    assert rows_of(folder / "questions.v2.jsonl")[0] == {**rows[0], "group": f"{evil}!"}


def test_rows_are_searched_and_paged_by_place(tmp_path):
    folder = tmp_path / "exam"
    folder.mkdir()
    rows = [{**QUESTIONS[0], "id": f"n{at:03}", "question": f"Question number {at}?"} for at in range(120)]
    (folder / "questions.jsonl").write_text(lines(rows), encoding="utf-8")
    run(folder, tmp_path / "s.db")
    with serving(tmp_path / "s.db") as viewer:
        here = place(viewer).rpartition("/")[0]
        found = []
        path = here
        while path:
            page = viewer.ask(path)[2]
            found += re.findall(r"/row\?id=(n\d+)", page)
            further = re.search(r'href="([^"]+)">next', page)
            path = further[1].replace("&amp;", "&") if further else ""
        assert found == [row["id"] for row in rows]
        assert re.findall(r"/row\?id=(n\d+)", viewer.ask(f"{here}?after=99")[2])[0] == "n100"
        assert re.findall(r"/row\?id=(n\d+)", viewer.ask(f"{here}?before=60")[2])[::49] == ["n010", "n059"]
        change(viewer, "n077", **{"cell-1": "An ODD one?"})
        assert re.findall(r"/row\?id=(n\d+)", viewer.ask(f"{here}?search=odd")[2]) == ["n077"]
        assert re.findall(r"/row\?id=(n\d+)", viewer.ask(f"{here}?search=number+77?")[2]) == []
        assert re.findall(r"/row\?id=(n\d+)", viewer.ask(f"{here}?show=draft")[2]) == ["n077"]


def test_a_folder_that_cannot_be_written_to_keeps_the_draft(on_file, folder):
    if os.geteuid() == 0:
        pytest.skip("root writes everywhere")
    change(on_file, "q1", do="retire")
    folder.chmod(0o500)
    try:
        status, _, page = save(on_file)
    finally:
        folder.chmod(0o700)
    assert (status, "cannot be written to" in page) == (422, True)
    assert save(on_file)[0] == 303


def test_versions_of_deleted_runs_are_gone_and_files_stay(on_file, folder):
    change(on_file, "q1", do="retire")
    save(on_file)
    delete_runs(on_file.store, on_file.store.runs())
    assert on_file.ask("/data")[2].count("data-row") == 0
    assert (folder / "questions.v2.jsonl").exists()
    with Store(on_file.store.path) as store:
        assert named_datasets(store) == []
