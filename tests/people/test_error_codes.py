"""What the events of an error analysis come to, in any order; and whether more notes bring more codes."""

from collections import Counter
from datetime import UTC, datetime
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard import ConfigError
from steelyard.people.code_scorer import trial_result
from steelyard.people.error_codes import checked_text, folded, saturation
from steelyard.people.events import Event

ITEMS = range(1, 7)
NAMES = ("c1", "c2", "c3", "c4")
AT = datetime(2026, 3, 1, tzinfo=UTC)


def events(*bodies):
    """Events from (kind, body) or (kind, body, author), numbered in their order."""
    return [
        Event(kind, author[0] if author else "ann", body, AT, num=num)
        for num, (kind, body, *author) in enumerate(bodies, start=1)
    ]


def note(item, text="bad"):
    return ("note", {"item": item, "text": text})


def code(ident, *items, **more):
    return ("code", {"code": ident, "name": ident, "definition": "", "items": list(items), **more})


def proposed(ident, *items):
    return code(ident, *items, proposed=True)


def of_one_code(kind, **more):
    return st.sampled_from(NAMES).map(lambda ident: (kind, {"code": ident, **more}))


some_items = st.lists(st.sampled_from(ITEMS), max_size=4)
ANY_EVENT = st.one_of(
    st.tuples(
        st.just("note"), st.fixed_dictionaries({"item": st.integers(0, 8), "text": st.sampled_from(["", "bad"])})
    ),
    st.tuples(st.just("withdraw"), st.fixed_dictionaries({"item": st.integers(0, 8)})),
    st.builds(lambda ident, items: code(ident, *items), st.sampled_from(NAMES), some_items),
    st.builds(lambda ident, items: proposed(ident, *items), st.sampled_from(NAMES), some_items),
    st.tuples(
        st.just("assign"), st.fixed_dictionaries({"items": some_items, "code": st.sampled_from([*NAMES, "", "gone"])})
    ),
    st.tuples(
        st.just("merge"), st.fixed_dictionaries({"code": st.sampled_from(NAMES), "into": st.sampled_from(NAMES)})
    ).filter(lambda event: event[1]["code"] != event[1]["into"]),
    of_one_code("drop"),
    of_one_code("adopt"),
    of_one_code("install"),
    of_one_code("scorer", config={"error_pattern": {"name": "x", "pattern": "x"}}, examples=[1]),
    of_one_code("trial", config={"error_pattern": {"name": "x", "pattern": "x"}}, run="abc123"),
)


@given(st.lists(ANY_EVENT, max_size=40))
def test_whatever_happens_counts_add_up_and_nothing_that_was_said_is_lost(bodies):
    history = events(*bodies)
    state = folded(history, ITEMS)
    standing = [note for note in state.notes.values() if note.text]
    assert sum(state.counts.values()) == len(standing)
    assert {note.code for note in standing} <= {"", *(code.id for code in state.adopted)}
    assert all(not note.code for note in state.notes.values() if not note.text)
    assert set(state.notes) <= set(ITEMS)
    written = Counter((event.body["item"], event.num) for event in history if event.kind == "note")
    kept = [*state.notes.values(), *(value for several in state.earlier.values() for value in several)]
    assert Counter((note.item, note.num) for note in kept) == Counter(
        {key: n for key, n in written.items() if key[0] in ITEMS}
    )
    assert {code.id for code in state.codes.values()} == {
        event.body["code"] for event in history if event.kind == "code"
    }, "a code that was merged or dropped is still told"


def test_a_rename_keeps_the_notes_and_their_author():
    renamed = ("code", {"code": "c1", "name": "units", "definition": "Miles."}, "bob")
    state = folded(events(note(1), code("c1", 1), renamed), ITEMS)
    [unit] = state.adopted
    assert (unit.name, unit.definition, unit.author, state.counts["c1"]) == ("units", "Miles.", "ann", 1)


def test_a_merge_takes_the_notes_and_leaves_a_trace():
    state = folded(
        events(note(1), note(2), code("c1", 1), code("c2", 2), ("merge", {"code": "c1", "into": "c2"})), ITEMS
    )
    assert (state.codes["c1"].state, state.codes["c1"].merged_into) == ("merged", "c2")
    assert state.counts == {"c2": 2}
    with pytest.raises(ConfigError, match="it was merged"):
        state.code("c1")


def test_a_split_takes_some_notes_and_says_from_where():
    split = code("c2", 2, split_from="c1")
    state = folded(events(note(1), note(2), code("c1", 1, 2), split), ITEMS)
    assert state.counts == {"c1": 1, "c2": 1}
    assert state.codes["c2"].split_from == "c1"


def test_a_new_text_stays_under_its_code_and_nothing_wrong_leaves_it():
    history = [note(1, "bad"), code("c1", 1), note(1, "worse")]
    assert folded(events(*history), ITEMS).counts == {"c1": 1}
    state = folded(events(*history, note(1, "")), ITEMS)
    assert state.counts == {}
    assert [code.text for code in state.earlier[1]] == ["bad", "worse"]


def test_order_decides_a_note_after_a_drop_is_under_nothing():
    first = folded(events(note(1), code("c1", 1), ("drop", {"code": "c1"}), note(1, "again")), ITEMS)
    assert first.notes[1].code == ""
    late = folded(events(code("c1", 1), note(1)), ITEMS)
    assert late.notes[1].code == "", "a code takes only the notes that are there"


def test_a_proposed_code_takes_notes_when_it_is_adopted_and_only_free_ones():
    history = [note(1), note(2), code("c1", 1), proposed("c2", 1, 2)]
    state = folded(events(*history), ITEMS)
    assert ([code.id for code in state.proposed], state.counts) == (["c2"], {"c1": 1, "": 1})
    assert folded(events(*history, ("adopt", {"code": "c2"})), ITEMS).counts == {"c1": 1, "c2": 1}


def test_items_of_a_deleted_run_count_no_more():
    history = events(note(1), note(9), code("c1", 1, 9))
    assert folded(history, [1, 9]).counts == {"c1": 2}
    assert folded(history, [1]).counts == {"c1": 1}


def test_a_trial_counts_for_the_configuration_that_was_tried():
    def pattern(text):
        return {"error_pattern": {"name": "x", "pattern": text}}

    def scorer_event(text):
        return ("scorer", {"code": "c1", "config": pattern(text), "examples": []})

    def trial(text):
        return ("trial", {"code": "c1", "config": pattern(text), "run": f"run {text}"})

    first = folded(events(code("c1"), scorer_event("a"), trial("a")), ITEMS)
    assert first.codes["c1"].scorer.run == "run a"
    changed = folded(events(code("c1"), scorer_event("a"), scorer_event("b"), trial("a")), ITEMS)
    assert changed.codes["c1"].scorer.run == ""
    installed = folded(events(code("c1"), scorer_event("a"), trial("a"), ("install", {"code": "c1"}, "bob")), ITEMS)
    assert installed.codes["c1"].scorer.installed == "bob"


def test_rates_of_a_trial_leave_out_examples_unparsed_and_what_nobody_noted():
    state = folded(
        events(
            *(note(item, "bad" if item <= 3 else "") for item in range(1, 6)),
            code("c1", 1, 2, 3),
            ("scorer", {"code": "c1", "config": {"error_code": {}}, "examples": [3]}),
        ),
        ITEMS,
    )
    result = trial_result(state, "c1", {1: True, 2: False, 3: True, 4: False, 5: None, 6: True})
    assert (result.tpr.hits, result.tpr.n, result.missed) == (1, 2, (2,))
    assert (result.tnr.hits, result.tnr.n, result.false_alarms) == (1, 1, ())
    assert (result.unparsed, result.examples) == (1, 1)
    assert result.tpr.interval.rounded(4) == (0.0126, 0.9874)  # Clopper-Pearson of 1 in 2


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=7))
def test_the_expected_curve_is_the_mean_over_all_subsets(codes):
    curve = saturation(codes)
    for m, value in enumerate(curve.expected, start=1):
        subsets = list(combinations(codes, m))
        assert value == pytest.approx(sum(len(set(subset)) for subset in subsets) / len(subsets))
    assert curve.seen[-1] == len(set(codes))
    assert curve.next_is_new == pytest.approx(sum(n == 1 for n in Counter(codes).values()) / len(codes))


def test_no_note_has_no_curve():
    assert saturation([]) is None


@pytest.mark.parametrize(("text", "message"), [(" \n", "is blank"), ("x" * 11, "has 11 characters; at most 10")])
def test_a_text_that_cannot_be_kept_is_refused(text, message):
    with pytest.raises(ConfigError, match=message):
        checked_text(text, name="the note", longest=10)


def test_a_half_of_a_surrogate_pair_is_no_letter():
    assert checked_text("a\ud800b ", name="the note", longest=10) == "a?b"
