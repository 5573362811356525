"""Error analyses on both databases: what is drawn, what stands after notes and codes, and what is refused."""

import pytest
from tests.store.test_delete import length

from steelyard import ConfigError, ExactMatch, Sample, Store, evaluate
from steelyard.people.coding_sheet import CodedNote, coding_sheet, read_coding_sheet, store_notes
from steelyard.people.codings import (
    assign_code,
    change_code,
    codings,
    draw_coding,
    edit_code,
    find_code,
    find_coding,
    merge_codes,
    named_coding,
    new_code,
    propose_codes,
    read_coding,
    withdraw_note,
    write_note,
    write_notes,
    write_scorer,
    write_trial,
)
from steelyard.people.draw import item_record
from steelyard.plain_json import json_value
from steelyard.report.coding_page import CodingPage
from steelyard.store.delete import delete_runs
from steelyard.store.repair import verify

FORTY = [Sample(f"q{at}", f"What is {at} + {at}?", str(2 * at)) for at in range(40)]
PATTERN = {"error_pattern": {"name": "late", "pattern": "late"}}
HOSTILE = [
    "<script>alert(1)</script>",
    "=cmd()",
    "a\x00b",
    "\u202eevil",
    "'; DROP TABLE coding; --",
    "\ud800",
    "易\n\n" * 9,
]


def answer(sample):
    return "I do not know." if int(sample.id[1:]) % 4 == 0 else sample.reference


def fill(where):
    evaluate(answer, FORTY, [ExactMatch()], store=where)


@pytest.fixture
def store(filled):
    """A store with one run of forty samples, ten of them wrong."""
    with Store(filled(fill)) as opened:
        yield opened


@pytest.fixture
def coding(store):
    return draw_coding(store, store.runs(), n=20, seed=4, author=" ann ")


def standing(store, coding):
    """Item -> (text, code's name) of the notes that stand, as another process reads them."""
    state = read_coding(store, named_coding(store, coding.id))
    return {item: (note.text, note.code and state.codes[note.code].name) for item, note in state.notes.items()}


def test_a_draw_is_read_as_it_was_made(store, coding):
    assert named_coding(store, coding.id) == coding == codings(store)[0]
    assert coding.author == "ann"
    [run] = store.runs()
    assert coding.drawn[run.id]["strata"]["failures"] == {"records": 10, "drawn": 10}
    assert coding.drawn[run.id]["strata"]["passes"] == {"records": 30, "drawn": 10}
    for item in coding.items:
        assert item_record(run, item).sample.id == item.sample
        assert item.stratum == ("failures" if int(item.sample[1:]) % 4 == 0 else "passes")


def test_strata_are_read_in_a_mixed_order(coding):
    first = [item.stratum for item in coding.items[:10]]
    assert set(first) == {"failures", "passes"}


def test_several_runs_are_drawn_alike_and_found_by_either(store, where):
    evaluate(answer, FORTY, [ExactMatch()], store=where)
    first, second = store.runs()
    coding = draw_coding(store, [first, second], n=21, seed=1, author="ann")
    sizes = [sum(item.run == run.num for item in coding.items) for run in (first, second)]
    assert sizes == [11, 10]
    assert find_coding(store, first.id).id == find_coding(store, second.id).id == coding.id
    assert [coding.id for coding in codings(store, second)] == [coding.id]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"n": 0}, "draw 1 to 10,000"),
        ({"n": 10_001}, "draw 1 to 10,000"),
        ({"author": "  "}, "name is missing"),
        ({"author": "model:x"}, "are reserved for models"),
    ],
)
def test_a_draw_that_cannot_be_is_refused(store, more, message):
    with pytest.raises(ConfigError, match=message):
        draw_coding(store, store.runs(), **{"n": 5, "seed": 1, "author": "ann", **more})
    assert codings(store) == []


def test_runs_of_several_suites_and_one_twice_are_refused(store, where):
    [run] = store.runs()
    with pytest.raises(ConfigError, match="each named once"):
        draw_coding(store, [run, run], n=5, seed=1, author="ann")
    evaluate(answer, FORTY, [length], name="other", store=where)
    with pytest.raises(ConfigError, match="of several"):
        draw_coding(store, store.runs(), n=5, seed=1, author="ann")


def test_notes_and_codes_stand_and_earlier_ones_are_kept(store, coding):
    first, second, third = (item.num for item in coding.items[:3])
    write_note(store, coding, first, "late", author="ann")
    write_note(store, coding, second, " later ", author="bob")
    write_note(store, coding, third, "", author="ann")
    code = new_code(store, coding, " Too   late ", author="ann", items=[first, second, third])
    assert standing(store, coding) == {first: ("late", "Too late"), second: ("later", "Too late"), third: ("", "")}
    write_note(store, coding, first, "very late", author="cho")
    part = new_code(store, coding, "much too late", author="ann", items=[first])
    state = read_coding(store, coding)
    assert state.codes[part].split_from == code
    assert [note.text for note in state.earlier[first]] == ["late"]
    assert withdraw_note(store, coding, author="bob") == second
    assert withdraw_note(store, coding, author="bob") is None
    edit_code(store, coding, part, "late by days", definition="More than a day.", author="ann")
    merge_codes(store, coding, code, part, author="ann")
    assert standing(store, coding) == {first: ("very late", "late by days"), third: ("", "")}
    change_code(store, coding, "drop", part, author="ann")
    assert standing(store, coding) == {first: ("very late", ""), third: ("", "")}


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_note_in_a_sheet_comes_back_as_it_stands(store, coding, tmp_path, text):
    item = coding.items[0].num
    write_note(store, coding, item, text, author="ann")
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(coding_sheet(store, coding, read_coding(store, coding)), encoding="utf-8", newline="")
    result = store_notes(store, coding, read_coding_sheet(coding, sheet), author="bob")
    assert (result.notes, result.assigned) == (0, 0)


def test_what_there_is_not_is_refused_and_nothing_is_stored(store, coding):
    item = coding.items[0].num
    for wrong in (
        lambda: write_note(store, coding, 0, "x", author="ann"),
        lambda: write_note(store, coding, item, "x" * 2001, author="ann"),
        lambda: write_note(store, coding, item, "x", author=""),
        lambda: assign_code(store, coding, [item], "c9", author="ann"),
        lambda: merge_codes(store, coding, "c9", "c8", author="ann"),
        lambda: new_code(store, coding, " ", author="ann"),
        lambda: new_code(store, coding, "x", author="ann", items=[0]),
        lambda: change_code(store, coding, "install", "c9", author="ann"),
        lambda: write_trial(store, coding, "c9", "abc", PATTERN, author="ann"),
        lambda: find_code(store, "c9"),
        lambda: find_coding(store, "nope"),
        lambda: named_coding(store, "nope"),
    ):
        with pytest.raises(ConfigError):
            wrong()
    assert read_coding(store, coding).last == coding.num


def test_of_several_notes_all_are_stored_or_none(store, coding):
    first, second, *_ = (item.num for item in coding.items)
    for wrong in ({first: "late", 0: "late"}, {first: "late", second: "x" * 2001}):
        with pytest.raises(ConfigError):
            write_notes(store, coding, wrong, author="ann")
    assert read_coding(store, coding).last == coding.num
    write_notes(store, coding, {second: " late ", first: ""}, author="ann")
    assert standing(store, coding) == {second: ("late", ""), first: ("", "")}
    assert list(read_coding(store, coding).notes) == [second, first], "in the order in which they were written"


def test_a_name_is_taken_whatever_its_case(store, coding):
    new_code(store, coding, "Late", author="ann")
    with pytest.raises(ConfigError, match="there is a code 'Late' already"):
        new_code(store, coding, "lATE", author="ann")


def test_only_what_was_tried_is_installed_and_another_scorer_begins_anew(store, coding):
    code = new_code(store, coding, "late", author="ann")
    with pytest.raises(ConfigError, match="try it first"):
        change_code(store, coding, "install", code, author="ann")
    write_scorer(store, coding, code, PATTERN, [coding.items[0].num], author="ann")
    write_trial(store, coding, code, "abc123", {"error_pattern": {"name": "late", "pattern": "old"}}, author="ann")
    assert read_coding(store, coding).code(code).scorer.run == ""
    write_trial(store, coding, code, "abc123", PATTERN, author="ann")
    change_code(store, coding, "install", code, author="bob")
    scorer = read_coding(store, coding).code(code).scorer
    assert (scorer.run, scorer.installed, scorer.examples) == ("abc123", "bob", (coding.items[0].num,))


def test_proposals_count_once_they_are_adopted(store, coding):
    first, second, _ = (item.num for item in coding.items[:3])
    for item in (first, second):
        write_note(store, coding, item, "late", author="ann")
    new_code(store, coding, "early", author="ann", items=[first])
    codes = propose_codes(
        store, coding, [("late", "d", [first, second, 0]), ("Early", "", []), (" ", "", [])], author="m"
    )
    [late] = codes
    assert (late.state, late.author, late.proposed_items) == ("proposed", "model:m", (first, second))
    assert standing(store, coding) == {first: ("late", "early"), second: ("late", "")}
    with pytest.raises(ConfigError, match="adopt it first"):
        assign_code(store, coding, [second], late.id, author="ann")
    change_code(store, coding, "adopt", late.id, author="ann")
    assert standing(store, coding) == {first: ("late", "early"), second: ("late", "late")}


def test_a_proposal_with_half_a_surrogate_pair_is_stored(store, coding):
    [code] = propose_codes(store, coding, [("half \ud83d", "a \udc80 pair", [])], author="m")
    assert (code.name, code.definition) == ("half ?", "a ? pair")


def test_a_sheet_of_notes_stores_what_is_new(store, coding):
    first, second, third = (item.num for item in coding.items[:3])
    rows = [CodedNote(first, "late", "Late"), CodedNote(second, "late too", "late"), CodedNote(third, "")]
    imported = store_notes(store, coding, rows, author="ann")
    assert (imported.notes, imported.assigned, imported.codes) == (3, 2, ("Late",))
    again = store_notes(store, coding, [*rows[:2], CodedNote(third, "rude", "rude")], author="bob")
    assert (again.notes, again.assigned, again.codes) == (1, 1, ("rude",))
    state = read_coding(store, coding)
    assert [state.notes[item].author for item in (first, second, third)] == ["ann", "ann", "bob"]


def test_a_deleted_run_takes_its_records_along(store, coding, where):
    evaluate(answer, FORTY, [ExactMatch()], store=where)
    kept = max(store.runs(), key=lambda run: run.num)
    both = draw_coding(store, store.runs(), n=8, seed=1, author="ann")
    for item in both.items:
        write_note(store, both, item.num, "late", author="ann")
    gone = next(run for run in store.runs() if run.num != kept.num)
    delete_runs(store, [gone])
    left = named_coding(store, both.id)
    assert {item.run for item in left.items} == {kept.num}
    page = CodingPage.of(store, left)
    assert (page.deleted, len(page.state.notes)) == ((gone.id,), len(left.items))
    assert json_value(page)["deleted_runs"] == [gone.id]
    stale = next(item for item in both.items if item.run == gone.num)
    with pytest.raises(ConfigError, match="its run was deleted"):
        left.item(stale.num)
    assert named_coding(store, coding.id).items == ()
    assert not verify(store).damages


def test_a_note_on_a_run_that_was_deleted_meanwhile_is_refused(store, coding):
    delete_runs(store, store.runs())
    with pytest.raises(ConfigError, match="was deleted meanwhile"):
        write_note(store, coding, coding.items[0].num, "too late", author="ann")
    assert verify(store).is_sound


def test_two_processes_see_each_others_notes(store, coding, where):
    first, second, *_ = (item.num for item in coding.items)
    read_coding(store, coding)
    with Store(where) as other:
        write_note(other, named_coding(other, coding.id), first, "late", author="bob")
        write_note(store, coding, second, "rude", author="ann")
        assert read_coding(store, coding) == read_coding(other, named_coding(other, coding.id))
    assert {note.author for note in read_coding(store, coding).notes.values()} == {"ann", "bob"}
