"""Whoever leads workers to an early stop ends with an error where it would wait for ever."""

import pytest

from steelyard import Sample
from steelyard.errors import ModelError, StoreError
from steelyard.evaluation import Options, Suite
from steelyard.evaluation.objects import StopWhen
from steelyard.store import NewRun, Store
from steelyard.store.leases import open_leases, plan_samples, stop_run
from steelyard.workers.leading import StoppingLead

SAMPLES = [Sample(f"q{n}", f"Question {n}?", "yes") for n in range(40)]
MANIFEST = {"stages": ["target"], "scores": ["right"], "primary": "right"}


def answer(sample):
    return "yes"


@pytest.fixture
def led(on_server):
    """A store, a run of which samples are granted, and its lead."""
    options = Options(concurrency=2, stop_when_decided=StopWhen("full", threshold=0.5))
    suite = Suite("s", "custom", SAMPLES, {"t": answer}, (), options=options)
    with Store(on_server, create_missing=True) as store:
        evaluation, (writer,) = store.begin_evaluation([NewRun("s", "custom", "t", len(SAMPLES), MANIFEST)])
        assert list(plan_samples(store, evaluation, SAMPLES)) == [len(SAMPLES)]
        open_leases(store, writer.run.num, "plan")
        lead = StoppingLead(suite, SAMPLES, [writer.run], opened=[writer.run.id], plan="plan")
        lead.step(store)
        lead.step(store)
        yield store, writer.run, lead
        writer.abandon()


def test_grants_that_are_gone_without_records_end_the_run(led):
    """Somebody deleted them, and the decision waited for records that nobody was to write."""
    store, _, lead = led
    delete = "DELETE FROM lease WHERE lo >= 0"
    assert store.writer.change(lambda batch: batch.connection.execute(f"{delete} RETURNING lo").scalar()) is not None
    for _ in range(2):
        with pytest.raises(StoreError, match="neither their leases nor their records are there"):
            lead.step(store)


def test_grants_that_are_gone_as_the_run_was_stopped_are_no_error(led):
    store, run, lead = led
    stop_run(store, run.num, "plan", ModelError("no quota", kind="quota", ends_run=True))
    lead.step(store)
    lead.step(store)
