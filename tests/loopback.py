"""A real server on loopback, in the test's own event loop, that answers each request with bytes of its choice."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import time
from dataclasses import dataclass, field


@dataclass
class Asked:
    """One request: when it came, its fields by lower-case name, and its body."""

    line: str
    headers: dict[str, str]
    body: bytes
    at: float

    @property
    def prompt(self):
        return json.loads(self.body)["messages"][-1]["content"]


@dataclass
class Peer:
    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0


def http(status, body=b"", *fields, length=None):
    """A whole answer; `length` announces another number of bytes than come."""
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body) if length is None else length}", *fields]
    return "\r\n".join([*head, "", ""]).encode() + body


def completion(text="A", **more):
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 20, "completion_tokens": 1}
    return {"model": "m", "choices": [{"message": message, "finish_reason": "stop"}], "usage": usage, **more}


def said(text="A", **more):
    return http(200, completion(text, **more))


@contextlib.asynccontextmanager
async def peer(answer):
    """A server: `answer(n, asked)` gives the bytes for the n-th request; None drops the connection.

    It may be async, and may take the writer as a third argument to write by itself.
    """
    here = Peer()
    serving = set()
    takes_writer = len(inspect.signature(answer).parameters) == 3

    async def serve(reader, writer):
        serving.add(asyncio.current_task())
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                fields = {name.lower(): value.strip() for name, _, value in (one.partition(":") for one in head[1:-2])}
                asked = Asked(
                    head[0], fields, await reader.readexactly(int(fields.get("content-length", 0))), time.time()
                )
                here.asked.append(asked)
                given = await answered(asked, writer)
                if given is None:
                    break
                writer.write(given)
                await writer.drain()
        writer.close()

    async def answered(asked, writer):
        here.in_flight += 1
        here.most_in_flight = max(here.most_in_flight, here.in_flight)
        try:
            given = answer(len(here.asked) - 1, asked, *([writer] if takes_writer else []))
            return await given if inspect.isawaitable(given) else given
        finally:
            here.in_flight -= 1

    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024)
    here.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield here
    finally:
        server.close()
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
        await asyncio.sleep(0)


class MemoryJournal:
    """A journal without a disk, which fails on demand: what the session promises must hold for any journal."""

    def __init__(self):
        self.bodies = {}
        self.booked = [0, 0]
        self.money = 0
        self.millis = 0
        self.retries = []
        self.error = None
        self.failure = None

    def store_error(self):
        return self.error

    async def find(self, key):
        await asyncio.sleep(0)
        return self.bodies.get(key)

    async def claim(self, key):
        return None

    async def commit(self, key, body):
        await asyncio.sleep(0)
        if self.failure is not None:
            self.error = self.failure
            raise self.failure
        return self.bodies.setdefault(key, body)

    async def book(self, calls, tokens, money=0, millis=0):
        await asyncio.sleep(0)
        self.correct(calls, tokens, money, millis)

    def correct(self, calls, tokens, money=0, millis=0):
        self.booked[0] += calls
        self.booked[1] += tokens
        self.money += money
        self.millis += millis

    def retried(self, model, fault):
        self.retries.append((model, fault))


async def until(condition):
    """Return once `condition()` holds; what another process or connection does has no event to wait for."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it did not come to be"
        await asyncio.sleep(0.005)  # see above
