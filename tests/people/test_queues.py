"""Queues of records that people label: who gets what, what is stored, and that nothing that was said is lost."""

import threading
from dataclasses import replace

import pytest
from tests.store.outside import execute
from tests.store.test_delete import run_over

from steelyard import ConfigError, Sample, Store, evaluate
from steelyard.analysis.label_forms import CANNOT_TELL, LabelForm
from steelyard.people.draw import draw_records
from steelyard.people.queue_values import QueueDesign, RaterVerdict
from steelyard.people.queues import (
    RESERVED_S,
    create_queue,
    disagreements,
    item_record,
    label_item,
    named_queue,
    open_items,
    queue_item,
    queue_items,
    queues,
    rater_order,
    read_progress,
    reserve_item,
    run_of,
    skip_item,
    undo_label,
)
from steelyard.scorers import Contains
from steelyard.store.delete import delete_runs
from steelyard.store.repair import verify

FORM = LabelForm("pass_fail", "contains", counted=True)
DESIGN = QueueDesign("Is the answer right?", FORM, raters=2, overlap=1.0)
TWENTY = [Sample(f"q{at}", f"What is {at} + {at}?", str(2 * at)) for at in range(20)]


def fill(where):
    run_over(TWENTY, where)


@pytest.fixture
def store(filled):
    """A store with one run of twenty samples."""
    with Store(filled(fill)) as opened:
        yield opened


def drawn_queue(store, design=DESIGN, **draw):
    items, how = draw_records(store.runs(), **draw)
    return create_queue(store, replace(design, drawn=how), items, author="lead")


def labelled(store, queue, rater, verdicts):
    """Label what comes, in order, with these verdicts; returns the samples."""
    given = []
    for verdict in verdicts:
        item = reserve_item(store, queue, rater)
        label_item(store, queue, item, RaterVerdict(rater, verdict))
        given.append(item.sample)
    return given


def test_a_queue_is_read_as_it_was_made(store):
    queue = drawn_queue(store, replace(DESIGN, question="Same number?", show_reference=True, seed=3), n=5, seed=9)
    assert named_queue(store, queue.id) == queue == queues(store)[0]
    assert queue.design.drawn["method"] == "random"
    assert queue.design.drawn["strata"] == {"all": {"records": 20, "drawn": 5}}
    assert [(item.needed, item.weight) for item in queue_items(store, queue)] == [(2, 4.0)] * 5


def test_an_overlap_is_labelled_by_several_and_the_rest_by_one(store):
    queue = drawn_queue(store, replace(DESIGN, raters=3, overlap=0.2))
    needed = [item.needed for item in queue_items(store, queue)]
    assert sorted(needed) == [1] * 16 + [3] * 4
    for rater in ("ann", "bob", "cy", "dee"):
        while item := reserve_item(store, queue, rater):
            label_item(store, queue, item, RaterVerdict(rater, "pass"))
    progress = read_progress(store, queue)[0]
    assert (progress.items, progress.done, progress.labels) == (20, 20, 16 + 3 * 4)


def test_two_raters_never_have_more_of_an_item_than_it_needs(store):
    queue = drawn_queue(store, replace(DESIGN, overlap=0.0))
    first = [reserve_item(store, queue, f"rater {at}") for at in range(20)]
    assert len({item.num for item in first}) == 20
    assert reserve_item(store, queue, "one too many") is None
    assert read_progress(store, queue)[0].reserved == 20


def test_raters_who_ask_at_once_get_different_items(where, store):
    queue = drawn_queue(store, replace(DESIGN, overlap=0.0))
    given = []
    with Store(where) as other:

        def ask(place, rater):
            given.append(reserve_item(place, queue, rater).num)

        asking = [
            threading.Thread(target=ask, args=(place, f"rater {at}")) for at, place in enumerate([store, other] * 8)
        ]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join()
    assert len(set(given)) == 16


def test_a_reservation_lapses_by_the_clock_of_the_database(where, store):
    queue = drawn_queue(store, replace(DESIGN, overlap=0.0), n=1)
    item = reserve_item(store, queue, "ann")
    assert reserve_item(store, queue, "bob") is None
    assert reserve_item(store, queue, "ann") == item  # the same page in another tab
    execute(where, f"UPDATE reservation SET until = until - {RESERVED_S + 1}")
    assert reserve_item(store, queue, "bob") == item
    label_item(store, queue, item, RaterVerdict("ann", "fail"))  # late, and kept all the same
    label_item(store, queue, item, RaterVerdict("bob", "pass"))
    assert read_progress(store, queue)[1] == {item.key: {"ann": "fail", "bob": "pass"}}


def test_what_was_passed_over_comes_last(store):
    queue = drawn_queue(store, n=3)
    first = reserve_item(store, queue, "ann")
    skip_item(store, queue, first.num, "ann")
    order = []
    while item := reserve_item(store, queue, "ann"):
        order.append(item.num)
        label_item(store, queue, item, RaterVerdict("ann", "pass"))
    assert len(order) == 3
    assert order[-1] == first.num


def test_raters_have_orders_of_their_own_and_finish_what_others_began(store):
    queue = drawn_queue(store)
    ann = labelled(store, queue, "ann", ["pass"] * 20)
    alone = drawn_queue(store, replace(DESIGN, title="another", form=LabelForm("text", "comment")))
    assert [reserve_item(store, alone, rater).sample for rater in ("ann", "bob", "cy")] != ann[:1] * 3
    third = drawn_queue(store, replace(DESIGN, title="a third", form=LabelForm("scale", "rating", scale=(1.0, 5.0))))
    begun = labelled(store, third, "ann", ["4"] * 2)
    assert set(labelled(store, third, "bob", ["4"] * 2)) == set(begun)


def test_cannot_tell_is_an_answer_that_counts_in_no_score(store):
    queue = drawn_queue(store, n=1)
    item = reserve_item(store, queue, "ann")
    label_item(store, queue, item, RaterVerdict("ann", None, comment="the question has two readings"))
    assert read_progress(store, queue)[1] == {}
    progress = read_progress(store, queue)[0]
    assert (progress.labels, progress.unsure) == (1, 1)
    assert reserve_item(store, queue, "ann") is None
    run = run_of(store, item)
    assert [(label.value, label.kind) for label in run.labels()] == [
        (CANNOT_TELL, "cannot_tell"),
        ("the question has two readings", "text"),
    ]
    assert run.summary().raters.agreement == ()


def test_a_verdict_is_withdrawn_and_its_item_comes_again(store):
    queue = drawn_queue(store)
    assert undo_label(store, queue, "ann") is None
    labelled(store, queue, "ann", ["pass", "fail"])
    last = undo_label(store, queue, "ann")
    assert reserve_item(store, queue, "ann") == last
    assert read_progress(store, queue)[0].labels == 1
    undo_label(store, queue, "ann")
    assert read_progress(store, queue)[1] == {}


def test_a_verdict_of_another_form_changes_nothing(store):
    queue = drawn_queue(store)
    item = reserve_item(store, queue, "ann")
    with pytest.raises(ConfigError, match=r"'7' is not a verdict: type pass or fail"):
        label_item(store, queue, item, RaterVerdict("ann", "7"))
    with pytest.raises(ConfigError, match=r"no verdict and no comment"):
        label_item(store, queue, item, RaterVerdict("ann", " "))
    assert read_progress(store, queue)[1] == {}
    label_item(store, queue, item, RaterVerdict("ann", "", comment="odd"))
    assert reserve_item(store, queue, "ann") == item  # a comment is not a verdict


def test_disagreements_make_a_queue_of_their_own(store):
    queue = drawn_queue(store)
    samples = labelled(store, queue, "ann", ["pass"] * 20)
    while item := reserve_item(store, queue, "bob"):
        label_item(store, queue, item, RaterVerdict("bob", "fail" if item.sample in samples[:3] else "pass"))
    disputed = disagreements(store, queue)
    assert {item.sample for item in disputed} == set(samples[:3])
    progress = read_progress(store, queue)[0]
    assert (progress.overlapping, progress.conflicting) == (20, 3)
    decided = create_queue(store, replace(DESIGN, title="conflicts", raters=1, overlap=0.0), disputed, author="lead")
    assert reserve_item(store, decided, "ann") is None  # has said what is in dispute
    assert {item.sample for item in open_items(store, decided, "cho")} == set(samples[:3])
    assert read_progress(store, decided)[0].done == 0
    assert set(labelled(store, decided, "cho", ["fail"] * 3)) == set(samples[:3])
    assert read_progress(store, decided)[0].done == 3
    assert reserve_item(store, decided, "dee") is None


def test_who_cannot_tell_is_not_asked_again_about_a_disagreement(store):
    queue = drawn_queue(store, replace(DESIGN, raters=3))
    for rater, verdict in (("ann", "pass"), ("bob", "fail"), ("cho", None)):
        while item := reserve_item(store, queue, rater):
            label_item(store, queue, item, RaterVerdict(rater, verdict))
    disputed = disagreements(store, queue)
    assert {item.needed for item in disputed} == {3}
    decided = create_queue(store, replace(DESIGN, raters=1, overlap=0.0), disputed, author="lead")
    assert reserve_item(store, decided, "cho") is None
    assert reserve_item(store, decided, "dee") is not None


def test_labels_that_were_given_elsewhere_count_and_those_of_models_do_not(store):
    queue = drawn_queue(store, n=1)
    other = drawn_queue(store, replace(DESIGN, title="the same records"), n=20)
    labelled(store, other, "ann", ["pass"] * 20)
    item = queue_items(store, queue)[0]
    label_item(store, queue, item, RaterVerdict("model:judge", "fail"))
    assert read_progress(store, queue)[1] == {item.key: {"ann": "pass"}}


def test_half_of_the_raters_see_a_pair_the_other_way_round(store):
    queue = drawn_queue(store, n=1)
    item = queue_items(store, queue)[0]
    orders = [rater_order(queue, item, f"rater {at}") for at in range(200)]
    assert 70 < orders.count("AB") < 130
    assert rater_order(queue, item, "ann") == rater_order(queue, item, "ann")


def test_a_stratified_draw_sees_rare_failures_and_keeps_their_weight(where):
    def answer(sample):
        return "no idea" if sample.id in {"q3", "q4"} else sample.reference

    def drawn(seed):
        items, how = draw_records(store.runs(), n=8, method="stratified", seed=seed)
        return [(item.sample, item.stratum, item.weight) for item in items], how["strata"]

    evaluate(answer, TWENTY, [Contains()], store=where)
    with Store(where) as store:
        items, strata = drawn(2)
        assert strata["failures"] == {"records": 2, "drawn": 2}
        assert strata["passes"] == {"records": 18, "drawn": 6}
        assert {stratum: weight for _, stratum, weight in items} == {"failures": 1.0, "passes": 3.0}
        assert {sample for sample, stratum, _ in items if stratum == "failures"} == {"q3", "q4"}
        assert drawn(2)[0] == items != drawn(3)[0]


def test_records_without_an_output_are_not_drawn(where):
    def answer(sample):
        if sample.id == "q1":
            raise RuntimeError("no answer")
        return sample.reference

    evaluate(answer, TWENTY[:4], [Contains()], store=where, max_errors=1.0)
    with Store(where) as store:
        items, how = draw_records(store.runs())
        assert {item.sample for item in items} == {"q0", "q2", "q3"}
        assert how["method"] == "all"
        with pytest.raises(ConfigError, match=r"no record with an output meets 'id=\"q1\"'"):
            draw_records(store.runs(), where='id="q1"')


def test_the_items_of_a_deleted_run_go_with_it(store):
    queue = drawn_queue(store)
    item = reserve_item(store, queue, "ann")
    delete_runs(store, store.runs())
    with pytest.raises(ConfigError, match="was deleted"):
        label_item(store, queue, item, RaterVerdict("ann", "pass"))
    with pytest.raises(ConfigError, match="may have been deleted"):
        queue_item(store, queue, item.num)
    assert reserve_item(store, queue, "ann") is None
    assert read_progress(store, queue)[0].items == 0
    assert verify(store).is_sound


def test_a_queue_that_is_not_there_is_named(store):
    with pytest.raises(ConfigError, match=r"there is no queue 'abc': the store has no queues"):
        named_queue(store, "abc")
    queue = drawn_queue(store)
    with pytest.raises(ConfigError, match=f"did you mean '{queue.id}'"):
        named_queue(store, queue.id[:-1] + "#")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("title", " ", "a queue has a title"),
        ("raters", 6, "raters must be a whole number from 1 to 5, not 6"),
        ("overlap", 1.5, "overlap must be a number from 0 to 1, not 1.5"),
        ("question", "x" * 3000, "at most 2,000 characters"),
    ],
)
def test_a_design_that_cannot_be_meant_is_refused(field, value, message):
    with pytest.raises(ConfigError, match=message):
        replace(DESIGN, **{field: value})


def test_the_record_of_an_item_is_found_at_another_place(store):
    queue = drawn_queue(store, n=1)
    item = queue_items(store, queue)[0]
    moved = replace(item, no=19 if item.no != 19 else 0)
    assert item_record(run_of(store, item), moved).sample.id == item.sample
