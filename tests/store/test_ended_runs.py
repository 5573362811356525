"""The stored figures of a run say what computing them says, and are not used once the run has changed."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.store.exam_run import exam_runs, question
from tests.store.outside import execute
from tests.thorough import times

from steelyard import Store, evaluate
from steelyard.evaluation.rescore import rescore
from steelyard.store.delete import delete_runs
from steelyard.store.ended_runs import compute_figures, read_figures, remember_figures, store_figures
from steelyard.store.repair import verify

BROKEN = RuntimeError("no")
REPLIES = ["says A", "says B", "A or B", "no", BROKEN, "maybe A", "mumbles", "says A"]


def fill(where):
    exam_runs(where, {"one": REPLIES, "two": REPLIES[::-1]})


@pytest.fixture
def run(filled):
    """A run with every outcome."""
    with Store(filled(fill)) as store:
        return store.runs()[0]


def figures_of(store, run):
    """Its stored figures; None where none fit."""
    return read_figures(store, [run]).get(run.id)


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
        assert figures_of(store, run) == compute_figures(run)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE run SET done = done + 1",
        "UPDATE run SET errors = errors + 1",
        "UPDATE run SET state = 'broken'",
        "UPDATE computed SET body = substr(body, 1, length(body) - 3)",
    ],
)
def test_what_was_stored_of_another_state_is_not_used(run, where, change):
    execute(where, change)
    with Store(where) as store:
        assert figures_of(store, store.run(run.id)) is None


def test_damage_of_a_stored_figure_is_noticed(run, where):
    ((body,),) = execute(where, "SELECT body FROM computed WHERE run = ?", (run.num,))
    with Store(where) as store:
        whole, noticed = figures_of(store, run), 0
        looked = range(0, len(body), times(3, 1))
        for at in looked:
            damaged = bytes([*body[:at], body[at] ^ 4, *body[at + 1 :]])
            execute(where, "UPDATE computed SET body = ? WHERE run = ?", (damaged, run.num))
            read = figures_of(store, store.run(run.id))
            noticed += read is None
            assert read in (None, whole), at
    # The last bits of a deflated text may mean nothing.
    assert noticed >= len(looked) - 1


def test_scores_of_a_later_version_have_figures_of_their_own(run, where):
    with Store(where) as store:
        before = store.run(run.id)
        after, _ = rescore(store, before, [lambda sample, output: 0.25])
        assert figures_of(store, before) is None, "one row a run, that of the newest scores"
        assert figures_of(store, after) == compute_figures(after)
        assert figures_of(store, after).value == 0.25


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
        assert figures_of(store, store.runs()[0]) is not None
    again = evaluate(target, samples, [scored], max_errors=0.9, resume=first.id, **options)
    with Store(where) as store:
        run = store.run(again.id)
        assert (run.state, run.errors) == ("finished", 0)
        assert figures_of(store, run) == compute_figures(run)


def test_a_deleted_run_leaves_nothing(run, where):
    with Store(where) as store:
        run = store.run(run.id)
        figures = compute_figures(run)
        delete_runs(store, [run])
        store_figures(store, run, figures)
        assert execute(where, "SELECT count(*) FROM computed") == [(1,)], "that of the other run"
        assert verify(store).is_sound


def test_a_server_is_told_how_large_the_tables_have_become(run, where):
    with Store(where) as store:
        store.gather_statistics()
        with store.reading() as connection:
            if connection.dialect == "sqlite":
                return  # its queries name the order of their tables
            known = "SELECT reltuples FROM pg_class WHERE oid = CAST('score' AS regclass)"
            assert connection.execute(known).scalar() == connection.execute("SELECT count(*) FROM score").scalar() > 0
