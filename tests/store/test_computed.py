"""What is stored of a run's summary says what computing it says, and is not used once anything has changed."""

from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.store.exam_run import exam_runs, question
from tests.store.outside import execute
from tests.thorough import times

from steelyard import Store, evaluate
from steelyard.plain_json import json_value
from steelyard.store import MarkChange, mark_run, stored_summary
from steelyard.store.computed import read_computed, read_state, store_computed
from steelyard.store.delete import delete_runs
from steelyard.store.labels import add_labels
from steelyard.store.latency import read_latency
from steelyard.store.list_figures import (
    HeadlineDifference,
    ListFigures,
    difference_to,
    figures_of_list,
    remember_figures,
)
from steelyard.store.stored_summary import kept_summary, read_summary
from steelyard.store.verify import verify
from steelyard.suite.rescore import rescore
from steelyard.types import Label

BROKEN = RuntimeError("no")
REPLIES = ["says A", "says B", "A or B", "no", BROKEN, "maybe A", "mumbles", "says A"]


@pytest.fixture(autouse=True)
def every_run_is_large(monkeypatch):
    monkeypatch.setattr(stored_summary, "FROM_RECORDS", 0)


def fill(where):
    first, second = exam_runs(where, {"one": REPLIES, "two": REPLIES[::-1]})
    with Store(where) as store:
        mark_run(store, store.run(first.id), MarkChange(baseline=True))
        remember_figures(store, [store.run(second.id)])


@pytest.fixture
def pair(filled):
    """Two runs with every outcome, of which the first is the pinned baseline when the second's figures are stored."""
    with Store(filled(fill)) as store:
        return tuple(reversed(store.runs()))


def found(store, of):
    """What is stored of it and fits; None where nothing does."""
    with store.reading() as connection:
        return read_computed(connection, {0: of}).get(0)


def computed(run):
    """The summary of a run as it is computed."""
    return run._summary(opens_bodies=False)


def figures(run):
    return ListFigures.of(computed(run), read_latency(run.store, run, run.done))


@settings(max_examples=times(8, 15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    replies=st.lists(st.sampled_from(REPLIES), min_size=1, max_size=8),
    repeats=st.integers(1, 2),
    groups=st.integers(1, 3),
)
def test_what_the_end_of_a_run_stores_is_what_computing_says(tmp_path_factory, replies, repeats, groups):
    samples = [question(f"q{no}", group="abc"[no % groups], cluster="c" * (no < 2)) for no in range(len(replies))]
    where = tmp_path_factory.mktemp("computed") / "s.db"
    exam_runs(where, {"one": replies}, samples=samples, repeats=repeats)
    with Store(where) as store:
        (run,) = store.runs()
        assert ListFigures.of_json(found(store, figures_of_list(run))) == figures(run)
        assert read_summary(run) == computed(run)
        assert json_value(read_summary(run)) == json_value(computed(run))


def test_the_difference_to_a_pinned_baseline_is_stored_when_a_run_ends(pair, where):
    with Store(where) as store:
        first, second = (store.run(run.id) for run in pair)
        stored = HeadlineDifference.of_json(found(store, difference_to(first, second)))
        assert stored == HeadlineDifference.of(first, second, (computed(first), computed(second)))
        assert stored.verdict is not None
        assert found(store, difference_to(second, first)) is None


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE seal SET digest = digest - 1 WHERE part = 0",
        "UPDATE seal SET digest = digest - 1 WHERE part = -1",
        "DELETE FROM seal",
        "UPDATE run SET done = done + 1",
        "UPDATE run SET errors = errors + 1",
        "UPDATE run SET seconds = seconds + 1",
        "UPDATE run SET state = 'broken'",
        "UPDATE computed SET body = substr(body, 1, length(body) - 3)",
    ],
)
def test_what_was_stored_of_another_state_is_not_used(pair, where, change):
    execute(where, change)
    with Store(where) as store:
        first, second = (store.run(run.id) for run in pair)
        assert found(store, figures_of_list(second)) is None
        assert found(store, difference_to(first, second)) is None
        assert read_summary(second) is None
        assert second.summary().done == second.done


def test_damage_of_a_stored_figure_is_noticed(pair, where):
    _, run = pair
    of = "FROM computed WHERE run = ? AND about = 'list'"
    ((body,),) = execute(where, f"SELECT body {of}", (run.num,))
    with Store(where) as store:
        whole, noticed = found(store, figures_of_list(run)), 0
        looked = range(0, len(body), times(3, 1))
        for at in looked:
            damaged = bytes([*body[:at], body[at] ^ 4, *body[at + 1 :]])
            execute(where, "UPDATE computed SET body = ? WHERE run = ? AND about = 'list'", (damaged, run.num))
            read = found(store, figures_of_list(store.run(run.id)))
            noticed += read is None
            assert read in (None, whole), at
    # The last bits of a deflated text may mean nothing.
    assert noticed >= len(looked) - 1


def test_scores_of_a_later_version_have_figures_of_their_own(pair, where):
    with Store(where) as store:
        before = store.run(pair[1].id)
        after, _ = rescore(store, before, [lambda sample, output: 0.25])
        assert found(store, figures_of_list(before)) is None, "one row a run, that of the newest scores"
        assert ListFigures.of_json(found(store, figures_of_list(after))) == figures(after)
        assert figures(after).value == 0.25


def test_a_run_that_goes_on_has_none_of_its_earlier_figures(where):
    samples = [question(f"q{no}") for no in range(4)]
    replies = iter(["A", "A", BROKEN, BROKEN, "A", "A"])

    def target(sample):
        reply = next(replies)
        if isinstance(reply, Exception):
            raise reply
        return reply

    def scored(sample, output):
        return float(output.value == sample.reference)

    options = {"name": "goes on", "store": where, "concurrency": 1}
    first = evaluate(target, samples, [scored], max_errors=0.9, **options)
    execute(where, "UPDATE run SET state = 'interrupted'")
    with Store(where) as store:
        remember_figures(store, store.runs())
        assert found(store, figures_of_list(store.runs()[0])) is not None
    again = evaluate(target, samples, [scored], max_errors=0.9, resume=first.id, **options)
    with Store(where) as store:
        run = store.run(again.id)
        assert (run.state, run.errors) == ("finished", 0)
        assert ListFigures.of_json(found(store, figures_of_list(run))) == figures(run)


def test_a_summary_that_tells_of_labels_is_computed(pair, where):
    with Store(where) as store:
        run = store.run(pair[1].id)
        assert read_summary(run) is not None
        add_labels(store, run, [Label("q0", "solve_rate", True, "ann", datetime.now(UTC))])
        assert read_summary(run) is None
        assert kept_summary(run) == computed(run)
        assert read_summary(run) is None


def test_a_deleted_run_leaves_nothing(pair, where):
    with Store(where) as store:
        run = store.run(pair[1].id)
        of = figures_of_list(run)
        with store.reading() as connection:
            state = read_state(connection, of)
        delete_runs(store, [run])
        assert store_computed(store, [(of, state, ["late"])])
        assert execute(where, "SELECT DISTINCT run FROM computed") == [(pair[0].num,)]
        assert verify(store).is_sound


def test_a_store_of_an_earlier_version_is_read_as_it_is(pair, where):
    execute(where, "DROP TABLE computed")
    with Store(where) as store:
        run = store.run(pair[1].id)
        assert run.summary() == computed(run)
        remember_figures(store, [run])
        with store.reading() as connection:
            assert not connection.has_table("computed")


def test_a_server_is_told_how_large_the_tables_have_become(pair, where):
    with Store(where) as store:
        store.gather_statistics()
        with store.reading() as connection:
            if connection.dialect == "sqlite":
                return  # its queries name the order of their tables
            known = "SELECT reltuples FROM pg_class WHERE oid = CAST('score' AS regclass)"
            assert connection.execute(known).scalar() == connection.execute("SELECT count(*) FROM score").scalar() > 0
