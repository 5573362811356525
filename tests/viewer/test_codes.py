"""Error analysis in the viewer: drawing, notes, codes and scorers on both stores, and what is refused."""

from __future__ import annotations

import re
import shutil
from html import unescape
from urllib.parse import quote, urlencode

import pytest
from tests.browser.hostile_texts import TEXTS
from tests.store.conftest import _filled, filled, on_server, schema, server, where  # noqa: F401  # fixtures
from tests.viewer.conftest import exam, first, second, serving

from steelyard import Options, Suite, evaluate_suite
from steelyard.evaluation.evaluate import RunConfig
from steelyard.generate.code_trial import TrialPlan, try_code
from steelyard.people import codings
from steelyard.scorers.choice import Choice
from steelyard.store import Store
from steelyard.store.delete import delete_runs

LONG = "x" * 2001
OWN_SVG = r' xmlns| x="\d|[^>]* aria-hidden="true"'
FOREIGN = rf"<(img|svg(?!{OWN_SVG})|iframe|script>|b>|object|form action=//|base|meta http|style)"
"""Elements that no page of ours holds."""


def fill(place, n=12):
    """Two runs of one exam."""
    suite = Suite("Exam", "choice", exam(n), {"first": first, "second": second}, (Choice(),), Options(max_errors=0.5))
    evaluate_suite(suite, how=RunConfig(store=place))


@pytest.fixture
def on_each(filled):  # noqa: F811
    """A viewer of a store of each kind, for what writes."""
    with serving(filled(fill)) as served:
        yield served


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("filled") / "s.db"
    fill(path)
    return path


@pytest.fixture
def on_file(file, tmp_path):
    """A viewer of a store in a file, for what no database decides."""
    with serving(shutil.copy(file, tmp_path)) as served:
        yield served


def reader_of(viewer, name="ann"):
    """Requests of a browser that keeps this name."""

    def ask(path, method="GET", fields=()):
        cookies = viewer.cookie(viewer.host) + (f"; steelyard_author={quote(name)}" if name else "")
        headers = [("Cookie", cookies)]
        if method == "GET":
            return viewer.ask(path, cookie=False, headers=headers)
        headers += [
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("Origin", f"http://{viewer.host}"),
        ]
        return viewer.ask(path, "POST", cookie=False, headers=headers, body=urlencode(fields).encode())

    return ask


def run_of(viewer, target="second"):
    return next(run for run in viewer.store.runs() if run.target == target)


def drawn(viewer, n=8, seed=3):
    """A drawn error analysis of the run in which something is wrong."""
    return codings.draw_coding(viewer.store, [run_of(viewer)], n=n, seed=seed, author="lead")


def state_of(viewer, coding):
    return codings.read_coding(viewer.store, codings.named_coding(viewer.store, coding.id))


class Reader:
    """One reader of one error analysis: what their browser sends."""

    def __init__(self, viewer, coding, name="ann"):
        self.ask = reader_of(viewer, name)
        self.coding = coding
        self.base = f"/codes/{coding.id}"

    def page(self, item, mode=""):
        return self.ask(f"{self.base}/i/{item}" + ("?mode=group" if mode else ""))[2]

    def send(self, item, text=None, *, mode="", seen=None, **fields):
        """Send the form of a record as the page has it, with a text or a press changed."""
        page = self.page(item)
        if text is None:
            text = unescape(re.search(r'<textarea name="text"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)[1])
        seen = re.search(r'name="seen" value="(\d+)"', page)[1] if seen is None else seen
        sent = {"text": text, "seen": seen, "name": "", **(fields or {"do": "save"})}
        return self.ask(f"{self.base}/i/{item}" + ("?mode=group" if mode else ""), "POST", sent)

    def change(self, code, **fields):
        items = [("item", str(item)) for item in fields.pop("items", ())]
        if fields["do"] == "edit" and (
            was := re.search(r'name="was" value="(\w+)"', self.ask(f"{self.base}/c/{code}")[2])
        ):
            fields = {"was": was[1], **fields}
        return self.ask(f"{self.base}/c/{code}", "POST", [*fields.items(), *items])


def plain(page):
    """The text of a page, as a person reads it."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_a_run_without_an_error_analysis_shows_the_form_that_draws_one(on_file):
    ann, one, other = reader_of(on_file, ""), run_of(on_file), run_of(on_file, "first")
    assert f'href="/codes/{one.id}"' in ann(f"/run/{one.id}")[2]
    assert 'href="/codes"' in ann("/")[2]
    page = ann(f"/codes/{one.id}")[2]
    assert f'value="{one.id}" checked' in page
    assert f'value="{other.id}" checked' not in page
    fields = [("run", one.id), ("run", other.id), ("n", "10"), ("seed", "5"), ("author", "Zoë")]
    status, headers, _ = ann(f"/codes/{one.id}/draw", "POST", fields)
    assert status == 303
    assert "steelyard_author=" in headers["set-cookie"]
    [coding] = codings.codings(on_file.store)
    assert headers["location"] == f"/codes/{coding.id}"
    assert (coding.author, len(coding.items), sorted(coding.drawn)) == ("Zoë", 10, sorted([one.id, other.id]))
    assert [how["seed"] for how in coding.drawn.values()] == [5, 5]
    for path in (f"/codes/{one.id}", f"/codes/{other.id}", f"/codes/{coding.id}"):
        assert "0 of 10 records noted" in plain(ann(path)[2])
    assert coding.id in ann("/codes")[2]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"author": " "}, "your name is missing"),
        ({"author": "model:x"}, "are reserved for models"),
        ({"n": "0"}, "draw 1 to 10,000 records"),
        ({"n": "10001"}, "draw 1 to 10,000 records"),
        ({"n": "many"}, "a whole number is expected"),
        ({"seed": "-1"}, "a whole number is expected"),
        ({"run": "gone"}, "may have been deleted"),
        ({"run": None}, "one run or more"),
    ],
)
def test_a_draw_that_cannot_be_meant_is_shown_again_with_what_is_wrong(on_file, changed, said):
    run = run_of(on_file)
    fields = {"run": run.id, "n": "77", "seed": "5", "author": "ann", **changed}
    sent = {name: value for name, value in fields.items() if value is not None}
    status, _, page = reader_of(on_file)(f"/codes/{run.id}/draw", "POST", sent)
    assert status == 422
    assert said.casefold() in plain(page).casefold()
    assert changed.get("n", "77") in page
    assert codings.codings(on_file.store) == []


def test_notes_go_from_one_record_to_the_next(on_file):
    coding = drawn(on_file)
    ann = Reader(on_file, coding)
    items = [item.num for item in coding.items]
    first_place = ann.ask(f"{ann.base}/name", "POST", {"name": "ann", "mode": ""})[1]["location"]
    assert first_place == f"{ann.base}/i/{items[0]}"
    status, headers, _ = ann.send(items[0], "the wrong letter\r\nand no reason")
    assert (status, headers["location"]) == (303, f"{ann.base}/i/{items[1]}")
    assert "Note of ann" in plain(ann.page(items[0]))
    assert ann.send(items[1], do="nothing")[1]["location"] == f"{ann.base}/i/{items[1]}"
    assert "Nothing is wrong with it, says ann" in plain(ann.page(items[1]))
    # Going on without a word passes the record over; the next one without a note follows, from the start at the end.
    assert ann.send(items[2])[1]["location"] == f"{ann.base}/i/{items[3]}"
    assert ann.send(items[-1])[1]["location"] == f"{ann.base}/i/{items[2]}"
    state = state_of(on_file, coding)
    assert {item: note.text for item, note in state.notes.items()} == {
        items[0]: "the wrong letter\nand no reason",
        items[1]: "",
    }
    assert {note.author for note in state.notes.values()} == {"ann"}
    for item in items[2:]:
        last = ann.send(item, "no letter")
    assert last[1]["location"] == ann.base
    assert "8 of 8 records noted, 7 with an error, 7 of these under no error type yet" in plain(ann.ask(ann.base)[2])


def test_notes_are_put_under_codes_by_press_and_by_name(on_each):
    coding = drawn(on_each)
    ann = Reader(on_each, coding)
    one, two, three, four = (item.num for item in coding.items[:4])
    # The note and the code that is made for it come with one press.
    assert ann.send(one, "cites nothing", name="No source", do="save")[1]["location"].endswith(f"/i/{one}")
    [code] = state_of(on_each, coding).adopted
    assert f'value="{code.id}" data-key="1" aria-pressed="true"' in ann.page(one)
    ann.send(two, "no source at all", code=code.id)
    ann.send(three, "wrong letter", do="save")
    ann.send(four, "cites a wrong one", name="  no SOURCE ", do="save")
    state = state_of(on_each, coding)
    assert {item: note.code for item, note in state.notes.items()} == {
        one: code.id,
        two: code.id,
        three: "",
        four: code.id,
    }
    assert len(state.codes) == 1
    # While notes are grouped, a press goes on to the next note under no code.
    ann.send(four, code="none")
    assert ann.ask(f"{ann.base}/name", "POST", {"name": "ann", "mode": "group"})[1]["location"].endswith(
        f"/i/{three}?mode=group"
    )
    assert ann.send(three, mode="group", code=code.id)[1]["location"].endswith(f"/i/{four}?mode=group")
    assert ann.send(four, mode="group", code=code.id)[1]["location"] == ann.base
    page = plain(ann.ask(ann.base)[2])
    assert "under no error type" not in page
    assert "No source 4" in page


def test_a_code_without_a_note_or_a_blank_note_says_what_to_do(on_file):
    coding = drawn(on_file)
    ann = Reader(on_file, coding)
    item = coding.items[0].num
    for fields, said in (
        ({"name": "No source", "do": "save"}, "first note what is wrong"),
        ({"text": "typed", "do": "nothing"}, "clear it to say that nothing is wrong"),
        ({"text": LONG, "do": "save"}, "2,001 characters; at most 2,000"),
    ):
        status, _, page = ann.send(item, **fields)
        assert status == 422
        assert said.casefold() in plain(page).casefold()
        assert fields.get("text", "No source") in page
    assert state_of(on_file, coding).notes == {}
    ann.send(item, "wrong letter")
    status, _, page = ann.send(item, "")
    assert status == 422
    assert "press 0 where nothing is wrong" in plain(page)
    # A note is stored also where the code that came with it is refused.
    status, _, page = ann.send(item, "wrong letter, again", name="n" * 101, do="save")
    assert status == 422
    assert "n" * 101 in page
    assert state_of(on_file, coding).notes[item].text == "wrong letter, again"


def test_withdrawing_takes_back_the_readers_own_last_note(on_file):
    coding = drawn(on_file)
    ann, bob = Reader(on_file, coding), Reader(on_file, coding, "bob")
    one, two, three = (item.num for item in coding.items[:3])
    ann.send(one, "first")
    ann.send(two, "second")
    bob.send(three, "third")
    assert ann.ask(f"{ann.base}/withdraw", "POST")[1]["location"] == f"{ann.base}/i/{two}"
    assert [note.text for note in state_of(on_file, coding).notes.values()] == ["first", "third"]
    assert "Earlier notes: 1" in plain(ann.page(two))
    ann.ask(f"{ann.base}/withdraw", "POST")
    status, _, page = ann.ask(f"{ann.base}/withdraw", "POST")
    assert status == 422
    assert "ann has no note in this error analysis" in page


def test_two_tabs_of_one_reader_lose_no_note(on_each):
    coding = drawn(on_each)
    ann, item = Reader(on_each, coding), coding.items[0].num
    ann.send(item, "of the first tab", seen="0")
    status, _, page = ann.send(item, "of the second tab", seen="0")
    assert status == 422
    assert "Since you opened this page ann noted “of the first tab”" in plain(page)
    assert "of the second tab" in page
    assert state_of(on_each, coding).notes[item].text == "of the first tab"
    seen = re.search(r'name="seen" value="(\d+)"', page)[1]
    assert ann.send(item, "of the second tab", seen=seen)[0] == 303
    state = state_of(on_each, coding)
    assert state.notes[item].text == "of the second tab"
    assert [note.text for note in state.earlier[item]] == ["of the first tab"]
    # The same text from both is not a conflict, and is stored once.
    assert ann.send(item, "of the second tab", seen="0")[0] == 303
    assert state_of(on_each, coding).last == state.last


def test_two_tabs_that_define_one_code_lose_no_definition(on_file):
    ann, (source, _), _ = coded(on_file)
    page = ann.ask(f"{ann.base}/c/{source}")[2]
    was = re.search(r'name="was" value="(\w+)"', page)[1]
    ann.change(source, do="edit", name="No source", definition="of the first tab")
    status, _, page = ann.change(source, do="edit", was=was, name="No source", definition="of the second tab")
    assert status == 422
    assert "defined as 'of the first tab'" in plain(page)
    assert "of the second tab</textarea>" in page
    assert state_of(on_file, ann.coding).codes[source].definition == "of the first tab"
    assert ann.change(source, do="edit", name="No source", definition="of the second tab")[0] == 303


def test_hidden_characters_are_shown_and_not_replaced(on_file):
    coding = drawn(on_file)
    ann, item = Reader(on_file, coding), coding.items[0].num
    hidden = "zero\u200bwidth \u202e right to left \x1b[2J"
    ann.send(item, hidden)
    assert "zero\\u200bwidth" in ann.page(item)
    before = state_of(on_file, coding).last
    assert ann.send(item, do="save")[0] == 303  # as the page shows it
    state = state_of(on_file, coding)
    assert (state.notes[item].text, state.last) == (hidden, before)


def test_what_was_typed_on_a_run_that_was_deleted_meanwhile_is_shown(on_file):
    coding = drawn(on_file)
    ann, item = Reader(on_file, coding), coding.items[0].num
    delete_runs(on_file.store, [run_of(on_file)])
    status, _, page = ann.ask(f"{ann.base}/i/{item}", "POST", {"text": "a long thought", "seen": "0", "do": "save"})
    assert status == 422
    assert "its run was deleted" in plain(page)
    assert "a long thought" in page
    assert ann.ask(f"{ann.base}/i/{item}")[0] == 404
    status, _, page = ann.ask(ann.base)
    assert status == 200
    assert "was deleted: its records and the notes on them no longer count" in plain(page)
    assert "0 of 0 records noted" in plain(page)
    assert "(deleted)" in ann.ask("/codes")[2]


def test_what_is_not_there_says_so(on_file):
    coding = drawn(on_file)
    ann = reader_of(on_file)
    for path, said in (
        (f"/codes/{coding.id}x", "did you mean"),
        (f"/codes/{coding.id}/i/99999", "is none of this error analysis"),
        (f"/codes/{coding.id}/i/{2**60 // 10}", "is none of this error analysis"),
        (f"/codes/{coding.id}/i/{2**70}", "There is no such page"),
        (f"/codes/{coding.id}/i/{'9' * 5000}", "There is no such page"),
        (f"/codes/{coding.id}/c/c9-9", "there is no code"),
        ("/codes/nothere/draw", "may have been deleted"),
    ):
        status, _, page = ann(path)
        assert status == 404, path
        assert said in plain(page), path
    assert ann(f"/codes/{coding.id}/c/c9-9", "POST", {"do": "drop"})[0] == 422
    # A link that somebody was sent leads to the page that asks for a name.
    assert reader_of(on_file, "")(f"/codes/{coding.id}/i/{coding.items[0].num}")[0] == 303
    status, _, page = reader_of(on_file, "")(f"/codes/{coding.id}/i/1", "POST", {"text": "typed", "seen": "0"})
    assert status == 422
    assert "typed" in page


def coded(viewer, names=("No source", "Wrong letter")):
    """An error analysis with notes under two codes in turn; the reader, the ids of the codes, and the items."""
    coding = drawn(viewer)
    ann = Reader(viewer, coding)
    items = [item.num for item in coding.items]
    for at, item in enumerate(items):
        ann.send(item, f"note {at}", name=names[at % 2], do="save")
    return ann, [state_of(viewer, coding).named(name).id for name in names], items


def test_a_code_is_renamed_split_merged_and_dropped(on_each):
    ann, (source, letter), items = coded(on_each)
    assert ann.change(source, do="edit", name="Cites nothing", definition="No source where one is asked for")[0] == 303
    place = ann.change(source, do="split", name="Wrong source", items=items[0:4:2])[1]["location"]
    split = place.rpartition("/")[2]
    assert "split from Cites nothing" in plain(ann.ask(place)[2])
    ann.change(source, do="move", into=letter, items=[items[4]])
    state = state_of(on_each, ann.coding)
    assert [state.notes[item].code for item in items] == [split, letter, split, letter, letter, letter, source, letter]
    assert ann.change(letter, do="merge", into=source)[1]["location"].endswith(f"/c/{source}")
    assert "was merged" in plain(ann.ask(f"{ann.base}/c/{letter}")[2])
    assert ann.change(split, do="drop")[1]["location"] == ann.base
    page = plain(ann.ask(ann.base)[2])
    assert "Cites nothing 6 No source where one is asked for" in page
    assert "2 of these under no error type yet" in page
    for code, fields, said in (
        (source, {"do": "edit", "name": " "}, "name is blank"),
        (source, {"do": "edit", "name": "a", "definition": LONG}, "at most 2,000"),
        (source, {"do": "merge", "into": source}, "into itself"),
        (source, {"do": "merge", "into": letter}, "it was merged"),
        (source, {"do": "merge", "into": ""}, "choose another code"),
        (source, {"do": "split", "name": "x"}, "no note is ticked"),
        (source, {"do": "split", "name": "x", "items": [99999]}, "is none of this error analysis"),
        (source, {"do": "split", "name": "cites NOTHING", "items": [items[1]]}, "there is a code"),
        (source, {"do": "install"}, "try it first"),
        (letter, {"do": "drop"}, "it was merged"),
    ):
        before = state_of(on_each, ann.coding).last
        status, _, page = ann.change(code, **fields)
        assert status == 422, fields
        assert said.casefold() in plain(page).casefold(), fields
        assert state_of(on_each, ann.coding).last == before
    assert ann.change(source, do="explode")[0] == 400


def test_shares_are_weighted_back_and_saturation_is_drawn(on_file):
    ann, _, _ = coded(on_file)
    page = ann.ask(ann.base)[2]
    text = plain(page)
    assert "estimated from those that were drawn" in text
    assert "2 error types after 8 notes" in text
    assert "Do further notes bring new error types?" in page


def test_what_a_model_proposes_counts_once_a_person_adopts_it(on_file):
    coding = drawn(on_file)
    ann = Reader(on_file, coding)
    items = [item.num for item in coding.items]
    for item in items[:4]:
        ann.send(item, "no source")
    kept, other = codings.propose_codes(
        on_file.store, coding, [("No source", "None named", items[:3]), ("Rude", "", items[3:4])], author="judge-1"
    )
    page = plain(ann.ask(ann.base)[2])
    assert "No source proposed Adopt Drop 3 None named model:judge-1" in page
    assert "4 of these under no error type yet" in page
    assert "It counts once a person adopts it" in plain(ann.ask(f"{ann.base}/c/{kept.id}")[2])
    assert ann.ask(f"{ann.base}/proposed", "POST", {"adopt": kept.id})[0] == 303
    assert ann.ask(f"{ann.base}/proposed", "POST", {"drop": other.id})[0] == 303
    state = state_of(on_file, coding)
    assert ([code.name for code in state.adopted], state.proposed, len(state.uncoded)) == (["No source"], (), 1)
    assert ann.ask(f"{ann.base}/proposed", "POST", {"drop": kept.id})[0] == 422
    assert ann.ask(f"{ann.base}/proposed", "POST", {})[0] == 400


def test_a_code_becomes_a_judge_that_waits_for_its_trial(on_file):
    ann, (source, _), items = coded(on_file)
    fields = {"score": "no_source", "definition": 'Names no "source"'}
    assert ann.change(source, do="judge", items=items[0:4:2], **fields)[0] == 303
    scorer = state_of(on_file, ann.coding).codes[source].scorer
    assert scorer.config == {
        "error_code": {"name": "no_source", "definition": 'Names no "source"', "examples": ["note 0", "note 2"]}
    }
    assert (scorer.examples, scorer.run, scorer.author) == ((items[0], items[2]), "", "ann")
    page = unescape(ann.ask(f"{ann.base}/c/{source}")[2])
    assert f"steelyard errors try {ann.coding.id}/{source} --model MODEL --store " in page
    assert '\n      definition: "Names no \\"source\\""' in page
    assert "I have put it into a configuration" not in page
    assert "judge, not tried yet" in ann.ask(ann.base)[2]
    for change, said in (
        ({"definition": " "}, "definition: describe in words"),
        ({"score": "\x07"}, "name: a score has a printable name"),
        ({"items": [99999]}, "no longer has a note"),
    ):
        status, _, page = ann.change(source, do="judge", **{**fields, **change})
        assert status == 422
        assert said.casefold() in plain(page).casefold()


def test_a_code_becomes_a_pattern(on_file):
    ann, (source, _), _ = coded(on_file)
    sent = {"do": "pattern", "score": "sorry", "ignore_case": "1"}
    status, _, page = ann.change(source, pattern="(sorry", **sent)
    assert status == 422
    assert "is not a regular expression" in plain(page)
    assert 'value="(sorry"' in page
    status, _, page = ann.change(source, pattern=" ", **sent)
    assert status == 422
    assert "type a regular expression" in plain(page)
    assert ann.change(source, pattern="sorry", **sent)[0] == 303
    scorer = state_of(on_file, ann.coding).codes[source].scorer
    assert scorer.config == {"error_pattern": {"name": "sorry", "pattern": "sorry", "flags": ["ignore_case"]}}
    page = ann.ask(f"{ann.base}/c/{source}")[2]
    assert "a pattern needs none" in page
    assert "--model MODEL" not in page


def test_a_scorer_that_was_tried_shows_what_it_finds_and_is_installed_by_a_person(on_each):
    ann, (source, _), items = coded(on_each)
    ann.change(source, do="pattern", score="any_letter", pattern="answer is")
    where = on_each.store.path  # noqa: F811  # of this viewer
    try_code(where, TrialPlan(f"{ann.coding.id}/{source}"), how=RunConfig(store=where), author="ann")
    page = plain(ann.ask(f"{ann.base}/c/{source}")[2])
    outputs = {item.num: item.sample != "q0006" for item in ann.coding.items}  # of q0006 the output is "Hm."
    found = sum(outputs[item] for item in items[::2])
    left = sum(not outputs[item] for item in items[1::2])
    assert f"under the code: found (TPR) {found} of 4" in page
    assert f"not under it: left alone (TNR) {left} of 4" in page
    assert "pattern, tried" in plain(ann.ask(ann.base)[2])
    assert ann.change(source, do="install")[0] == 303
    page = plain(ann.ask(f"{ann.base}/c/{source}")[2])
    assert "Installed by ann" in page
    assert 'pattern: "answer is"' in page
    # Another scorer has to be tried again, and the run of a trial may be deleted.
    run = state_of(on_each, ann.coding).codes[source].scorer.run
    delete_runs(on_each.store, [on_each.store.run(run)])
    assert "(TPR)" not in plain(ann.ask(f"{ann.base}/c/{source}")[2])
    ann.change(source, do="pattern", score="any_letter", pattern="answer")
    assert "Not tried yet" in plain(ann.ask(f"{ann.base}/c/{source}")[2])


def test_a_stored_scorer_that_is_none_is_not_shown_to_be_copied(on_file):
    ann, (source, _), _ = coded(on_file)
    ann.change(source, do="pattern", score="any_letter", pattern="answer is")
    change = "UPDATE event SET body = replace(body, 'error_pattern', 'command') WHERE body LIKE '%error_pattern%'"
    on_file.store.writer.change(lambda batch: batch.connection.execute(change))
    status, _, page = ann.ask(f"{ann.base}/c/{source}")
    assert (status, "command:" in page) == (404, False)
    assert "a code&#39;s scorer is one of" in page


def test_nothing_is_written_where_the_viewer_is_to_read_only(file, tmp_path):
    path = shutil.copy(file, tmp_path)
    with Store(path) as store, serving(path, read_only=True) as viewer:
        run = run_of(viewer)
        coding = codings.draw_coding(store, [run], n=4, seed=1, author="lead")
        item = coding.items[0].num
        codings.write_note(store, coding, item, "wrong letter", author="lead")
        code = codings.new_code(store, coding, "Letters", author="lead", items=[item])
        ann = reader_of(viewer)
        base = f"/codes/{coding.id}"
        for path in ("name", f"i/{item}", "withdraw", "code", "proposed", f"c/{code}"):
            status, _, page = ann(f"{base}/{path}", "POST", {"name": "ann", "text": "x", "do": "drop"})
            assert status == 403
            assert "does not write" in page
        assert ann(f"/codes/{run.id}/draw", "POST", {"run": run.id, "n": "3", "seed": "1", "author": "a"})[0] == 403
        for path in ("/codes", base, f"{base}/i/{item}", f"{base}/c/{code}", f"/codes/{run.id}/draw"):
            status, _, page = reader_of(viewer, "")(path)
            assert status == 200
            assert 'method="post"' not in page, path
        assert "wrong letter" in ann(f"{base}/i/{item}")[2]


def test_hostile_notes_names_and_definitions_stay_text(on_file):
    coding = codings.draw_coding(on_file.store, on_file.store.runs(), n=24, seed=1, author="<script>x</script>")
    ann = Reader(on_file, coding, "<img src=x>")
    shapes = {}
    for at, text in enumerate(TEXTS):
        item = coding.items[at % 24].num
        text = text.encode("utf-8", "replace").decode()[:1500]  # noqa: PLW2901  # as a browser sends it
        assert ann.send(item, text)[0] == 303
        if at < 20:
            ann.send(item, name=f"{at} {text[:60]}", do="save")
    state = state_of(on_file, coding)
    for code in state.adopted[:8]:
        ann.change(code.id, do="edit", name=code.name, definition=code.name * 3)
        note = next(note for note in state.notes.values() if note.code == code.id)
        ann.change(code.id, do="judge", score="late", definition=code.name, items=[note.item])
        shapes[code.id] = ann.ask(f"{ann.base}/c/{code.id}")
    pages = [*shapes.values(), ann.ask(ann.base), ann.ask("/codes")]
    pages += [ann.ask(f"{ann.base}/i/{item.num}") for item in coding.items]
    for status, _, page in pages:
        assert status == 200
        found = re.search(FOREIGN, page, re.IGNORECASE)
        assert found is None, page[found.start() - 200 : found.end() + 100]
        assert "\x00" not in page
        assert "\x1b" not in page
