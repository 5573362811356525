"""The wire: whatever a server does is a fault of one attempt, in bounded memory and bounded time."""

import asyncio
import contextlib
import gzip
import tracemalloc

import pytest
from tests.loopback import http, peer, said

from steelyard import ConfigError, OpenAICompatible
from steelyard.errors import ModelError
from steelyard.models import Retry
from steelyard.models.base import Fault, Request
from steelyard.models.limits import Limits
from steelyard.session import wire
from steelyard.session.secrets import Secrets
from steelyard.session.wire import HttpWire

MIB = 1 << 20


def exchange(answer, *, timeout_s=5.0, headers=(), url=None):
    async def run():
        async with peer(answer) as server:
            wire = HttpWire(Secrets([], {}))
            try:
                request = Request("here", url or server.url, b"{}", headers=headers, timeout_s=timeout_s)
                return await wire.exchange(request), server
            finally:
                await wire.close()

    return asyncio.run(run())


def fault_of(answer, **options):
    with pytest.raises(Fault) as caught:
        exchange(answer, **options)
    return caught.value


@contextlib.contextmanager
def traced():
    """A function that gives the most MiB that Python held since; the process's own peak may be of an earlier test."""
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1] / MIB
    finally:
        tracemalloc.stop()


def endless(piece, pieces, *fields):
    async def answer(n, asked, writer):
        writer.write("\r\n".join(["HTTP/1.1 200 X", "Connection: close", *fields, "", ""]).encode())
        for _ in range(pieces):
            writer.write(piece)
            await writer.drain()

    return answer


def test_a_status_is_no_fault_here():
    answer, server = exchange(lambda n, _: http(503, b"busy", "X-Thing: 1"))
    assert (answer.status, answer.body, answer.headers["x-thing"]) == (503, b"busy", "1")
    assert server.asked[0].headers["user-agent"] == "steelyard"
    assert server.asked[0].headers.get("accept-encoding", "identity") == "identity"


def test_a_redirect_is_not_followed():
    answer, server = exchange(lambda n, _: http(307, b"", "Location: /elsewhere"))
    assert answer.status == 307
    assert len(server.asked) == 1


def test_an_endless_body_is_given_up_at_the_limit_of_a_body(monkeypatch):
    assert wire._MOST_BYTES == 32 * MIB
    monkeypatch.setattr(wire, "_MOST_BYTES", 4 * MIB)
    with traced() as peak:
        fault = fault_of(endless(bytes(MIB), 100))
    assert (fault.kind, fault.billed) == ("malformed", True)
    assert "longer than 4 MiB" in fault.message
    assert peak() < 32


def test_a_body_that_announces_more_than_32_mib_is_not_read():
    fault = fault_of(lambda n, _: http(200, b"x", length=100 * MIB))
    assert "announces 104857600 bytes" in fault.message


def test_a_compressed_body_is_given_up_where_what_it_unpacks_to_is_too_long(monkeypatch):
    """64 MiB that arrive as 64 kB, and a limit of 4 MiB: as a gigabyte against the real limit, for less memory."""
    monkeypatch.setattr(wire, "_MOST_BYTES", 4 * MIB)
    piece = gzip.compress(bytes(64 * MIB))
    with traced() as peak:
        fault = fault_of(endless(piece, 1, "Content-Encoding: gzip"))
    assert (fault.kind, "longer than 4 MiB" in fault.message) == ("malformed", True)
    assert peak() < 32


def test_a_slow_drip_ends_at_the_time_limit_however_often_a_byte_comes():
    async def answer(n, asked, writer):
        writer.write(b"HTTP/1.1 200 X\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(100):
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.02)

    fault = fault_of(answer, timeout_s=0.3)
    assert (fault.kind, fault.retry, fault.billed) == ("timeout", True, True)
    assert "within 0.3 s" in fault.message


async def silence(n, asked):
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (lambda n, _: None, "connection"),
        (lambda n, _: said()[:-5] if n > 5 else None, "connection"),
        (lambda n, _: b"\x00\xff not http at all\r\n\r\n", "connection"),
        (lambda n, _: b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "connection"),
        (lambda n, _: b"HTTP/1.1 200 X\r\nX: " + b"y" * 20_000 + b"\r\n\r\n", "connection"),
        (lambda n, _: http(200, b"\x1f\x8b broken", "Content-Encoding: gzip"), "connection"),
        (silence, "timeout"),
    ],
)
def test_what_breaks_on_the_way_is_a_passing_fault(answer, kind):
    fault = fault_of(answer, timeout_s=0.4)
    assert (fault.kind, fault.retry) == (kind, True)
    assert len(fault.message) < 300


@pytest.mark.parametrize(
    "body", [b"\xff\xfe\xfa", b'{"choices": [{"message": {"content": "\xc3("}}]}', b'{"a": "\\ud8"']
)
def test_bytes_that_are_no_utf_8_are_a_fault_and_no_crash(body):
    async def run():
        async with peer(lambda n, _: http(200, body)) as server:
            wire = HttpWire(Secrets([], {}))
            model = OpenAICompatible("m", server.url)
            with pytest.raises(ModelError) as caught:
                await Limits(Retry(attempts=2, base_s=0.0), 1).call(model, model.request("q", {}), wire)
            await wire.close()
            return caught.value

    error = asyncio.run(run())
    assert (error.kind, len(error.attempts)) == ("malformed", 2)


def test_a_closed_port_is_a_fault_that_was_not_charged_for():
    async def run():
        async with peer(lambda n, _: said()) as server:
            pass
        wire = HttpWire(Secrets([], {}))
        try:
            await wire.exchange(Request(server.url, server.url, b"{}"))
        finally:
            await wire.close()

    with pytest.raises(Fault) as caught:
        asyncio.run(run())
    assert (caught.value.kind, caught.value.billed) == ("connection", False)
    assert "Cannot connect to host 127.0.0.1:" in caught.value.message
    assert "ssl" not in caught.value.message


def test_what_is_no_address_is_the_users_mistake():
    with pytest.raises(ConfigError, match="is not an address"):
        exchange(lambda n, _: said(), url="http://")


def test_a_connection_is_used_again():
    async def run():
        async with peer(lambda n, _: said()) as server:
            wire = HttpWire(Secrets([], {}))
            for _ in range(3):
                await wire.exchange(Request("here", server.url, b"{}"))
            client = wire._client
            count = sum(len(group) for group in client.connector._conns.values())
            await wire.close()
            return count, len(server.asked)

    assert asyncio.run(run()) == (1, 3)
