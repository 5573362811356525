"""Connections that never send or read what they should lock nobody out, with or without the token."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import urlsplit

import pytest
from tests.browser.processes import ViewerProcess

from steelyard.viewer import connections
from steelyard.viewer.connections import BACKLOG, report_missing_descriptors
from steelyard.viewer.server import ViewerOptions, bound, server_of

MANY = 300
HALF_HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-a: "
WAIT_S = 30
"""Longer than anything takes here that ends."""


async def answer(scope, receive, send):
    """Answers /hold once let go, /large with 16 MB in two parts, all else at once; bodies are read but for /early."""
    while scope["path"] != "/early" and (await receive()).get("more_body"):
        pass
    if scope["path"] == "/hold":
        scope["app_held"].release()
        await asyncio.to_thread(scope["app_released"].wait, WAIT_S)
    body = bytes(1 << 24) if scope["path"] == "/large" else b"here"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    half = len(body) // 2
    await send({"type": "http.response.body", "body": body[:half], "more_body": True})
    await send({"type": "http.response.body", "body": body[half:]})


@contextmanager
def serving(released=None, held=None):
    """A server of such answers; gives what connects to it, and closes that at the end."""

    async def app(scope, receive, send):
        await answer({**scope, "app_released": released, "app_held": held}, receive, send)

    listening = bound(ViewerOptions(port=0))
    address = listening[0].getsockname()[:2]
    server = server_of(app, lifespan="off")
    thread = threading.Thread(target=server.run, kwargs={"sockets": listening})
    thread.start()
    with ExitStack() as closing:

        def connect(sent=b""):
            client = closing.enter_context(socket.create_connection(address, timeout=WAIT_S))
            client.sendall(sent)
            return client

        try:
            yield connect
        finally:
            closing.close()
            server.should_exit = True
            thread.join()


def request(path="/", more="", method="GET"):
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{more}\r\n".encode()


def answered(client):
    with suppress(ConnectionResetError):
        received = b""
        while more := client.recv(1 << 16):
            received += more
        return received
    return None


def is_open(client):
    """Whether the server has not closed a connection, as far as it is known by now."""
    client.setblocking(False)
    try:
        return client.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except ConnectionResetError:
        return False
    finally:
        client.settimeout(WAIT_S)


@pytest.mark.parametrize(
    "half", [b"", HALF_HEAD, request("/", "Content-Length: 900000\r\n", "POST") + b"x"], ids=["none", "head", "body"]
)
def test_connections_that_send_half_a_request_lock_nobody_out_while_they_stay(half):
    with serving() as connect:
        held = [connect(half) for _ in range(MANY)]
        assert all(answered(connect(request())).endswith(b"here") for _ in range(5))
        still_open = sum(map(is_open, held))
        assert still_open <= connections._most_connections() // 2
        assert is_open(held[-1]), "the oldest are closed, not all"


def test_requests_that_are_being_answered_are_never_closed_for_others():
    released, held = threading.Event(), threading.Semaphore(0)
    with serving(released, held) as connect:
        live = [connect(request("/hold")) for _ in range(20)]
        # What the server has not read yet is as good as half a head.
        assert all(held.acquire(timeout=WAIT_S) for _ in live)
        for _ in range(MANY):
            connect(HALF_HEAD)
        assert answered(connect(request())).endswith(b"here")
        released.set()
        assert all(answered(each).endswith(b"here") for each in live)


def test_answers_that_nobody_reads_lock_nobody_out(monkeypatch):
    monkeypatch.setattr(connections, "_MOST", 16)
    with serving() as connect:
        unread = [connect(request("/large")) for _ in range(8)]
        assert all(client.recv(1) for client in unread)
        assert all(answered(connect(request())).endswith(b"here") for _ in range(5))
        assert is_open(unread[-1]), "the oldest are closed, not all"


@pytest.mark.parametrize(
    ("limit", "half"),
    [
        ("_HEAD_S", b""),
        ("_HEAD_S", HALF_HEAD),
        ("_HEAD_S", request().replace(b"close", b"keep-alive") + HALF_HEAD),
        ("_BODY_S", request("/", "Content-Length: 900000\r\n", "POST") + b"x"),
        ("_BODY_S", request("/", "Transfer-Encoding: chunked\r\n", "POST") + b"1\r\nx\r\n"),
    ],
)
def test_a_request_that_does_not_come_to_its_end_in_time_ends_its_connection(monkeypatch, limit, half):
    monkeypatch.setattr(connections, limit, 0.3)
    with serving() as connect:
        answered(connect(half))


def test_an_answer_of_which_nothing_is_read_ends_its_connection(monkeypatch):
    monkeypatch.setattr(connections, "_READ_S", 0.3)
    with serving() as connect:
        client = connect(request("/large"))
        deadline = time.monotonic() + WAIT_S
        with suppress(ConnectionResetError, BrokenPipeError):
            while time.monotonic() < deadline:
                client.send(b"x")
                time.sleep(0.1)
        assert time.monotonic() < deadline


def test_a_reader_that_is_slow_but_reads_gets_everything(monkeypatch):
    monkeypatch.setattr(connections, "_HEAD_S", 0.2)
    with serving() as connect:
        client = connect(request("/large"))
        slowly = [client.recv(1 << 20) for _ in range(5) if not time.sleep(0.2)]
        assert len(b"".join(slowly)) + len(answered(client)) > 1 << 24


def test_a_line_says_that_no_descriptor_is_left_and_it_goes_on(stored):
    viewer = ViewerProcess(stored, "--port", "0", descriptors=40)
    port = urlsplit(viewer.address).port
    with ExitStack() as closing:
        viewer.send_signal(signal.SIGSTOP)  # all of them at once
        for _ in range(BACKLOG - 4):
            closing.enter_context(socket.create_connection(("127.0.0.1", port), timeout=WAIT_S)).sendall(HALF_HEAD)
        viewer.send_signal(signal.SIGCONT)
        client = closing.enter_context(socket.create_connection(("127.0.0.1", port), timeout=WAIT_S))
        client.sendall(request())
        assert b"401" in answered(client)
    log = viewer.kill()
    assert log.count("no file descriptor is left for a connection") == 1
    assert "Traceback" not in log


def test_other_faults_of_the_loop_are_told_as_ever(caplog):
    async def fail():
        loop = asyncio.get_running_loop()
        report_missing_descriptors(loop)
        for _ in range(100):
            loop.call_exception_handler({"message": "socket.accept() out of system resource"})
        loop.call_exception_handler({"message": "something else"})

    asyncio.run(fail())
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        "no file descriptor is left for a connection",
        "something else",
    ]


@pytest.mark.parametrize("path", ["/", "/early"])
@pytest.mark.parametrize("waits", [False, True])
def test_a_body_that_is_no_http_leaves_no_line_in_the_log(caplog, capfd, path, waits):
    """The log of uvicorn is standard error, that of asyncio the records."""
    with serving() as connect:
        head = b"POST %b HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" % path.encode()
        client = connect(head if waits else head + b"zz\r\n")
        if waits and path == "/early":
            assert client.recv(1000).startswith(b"HTTP/1.1 200")
        if waits:
            client.sendall(b"zz\r\n")
        answered(client)
        assert answered(connect(request())).endswith(b"here")
    assert (caplog.records, capfd.readouterr().err) == ([], "")


def test_what_anybody_may_send_leaves_no_line_in_the_log(caplog, capfd):
    broken = [
        b"\x00\xff\r\n\r\n",
        request("/", "Connection: upgrade\r\nUpgrade: websocket\r\n"),
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        request("/", "Content-Length: 9\r\n", "POST") + b"x",
    ]
    with serving() as connect:
        for sent in broken:
            client = connect(sent)
            client.shutdown(socket.SHUT_WR)
            answered(client)
        assert answered(connect(request())).endswith(b"here")
    assert (caplog.records, capfd.readouterr().err) == ([], "")
