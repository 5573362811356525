"""Several processes find out together whether an endpoint is what the configuration describes."""

import asyncio

import pytest
from tests.loopback import http, peer, said
from tests.store.test_worker_rows import stores

from steelyard.errors import ModelError
from steelyard.models.limits import Limits, Retry
from steelyard.models.openai_compatible import OpenAICompatible
from steelyard.session.secrets import Secrets
from steelyard.session.wire import HttpWire
from steelyard.workers.shared_limits import SharedGates

WORKERS = 6


def outcomes(address, answer, samples_each):
    """The errors of each worker's calls and the server; every worker has samples of its own."""

    async def worker(store, no, url):
        limits, wire = Limits(Retry(base_s=0.3), 8), HttpWire(Secrets([], {}))
        gates = SharedGates(store, 1, limits, f"worker {no}")
        looking = asyncio.create_task(gates.keep())
        model = OpenAICompatible("m", url, timeout_s=5)

        async def answer_sample(sample):
            try:
                await limits.call(model, model.request(sample, {}), wire, sample)
            except ModelError as error:
                if error.ends_run:
                    limits.pauses.end(error)
                return error
            return None

        try:
            return await asyncio.gather(*(answer_sample(f"w{no} s{n}") for n in range(samples_each)))
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
            await wire.close()

    async def run(opened):
        async with peer(answer) as server:
            return await asyncio.gather(*(worker(store, no, server.url) for no, store in enumerate(opened))), server

    with stores(address, WORKERS) as opened:
        return asyncio.run(run(opened))


@pytest.mark.parametrize("samples_each", [1, 3])
def test_a_wrong_address_costs_all_workers_together_no_more_than_eight_calls(on_server, samples_each):
    errors, server = outcomes(on_server, lambda n, _: http(200, f"<html>{n}</html>".encode()), samples_each)
    assert len(server.asked) <= 8
    assert server.most_in_flight <= 4
    assert sum(of_worker[-1].ends_run for of_worker in errors) >= WORKERS - 1


def test_a_right_address_has_the_calls_of_all_workers_after_the_first_reply(on_server):
    errors, server = outcomes(on_server, lambda n, _: said(), 20)
    assert {error for of_worker in errors for error in of_worker} == {None}
    assert len(server.asked) == WORKERS * 20


def test_a_worker_whose_call_fails_for_good_leaves_the_next_to_another(on_server):
    failing = http(400, {"error": {"message": "temperature must be between 0 and 2"}})
    errors, server = outcomes(on_server, lambda n, _: failing if n < 3 else said(), 1)
    assert sum(error is not None for of_worker in errors for error in of_worker) == 3
    assert len(server.asked) == WORKERS
