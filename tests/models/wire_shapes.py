"""A real server on loopback that answers in the wire shapes of knowledge-base chat services and in broken ones."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from aiohttp import web

from steelyard.errors import Attempt
from steelyard.models.base import Model
from steelyard.models.limits import Limits, Retry
from steelyard.session.replies import without_kept
from steelyard.session.secrets import Secrets
from steelyard.session.wire import HttpWire
from steelyard.types import Reply

TOKENS = ("乾为天，", "易有", "太极。", "选A")
TEXT = "".join(TOKENS)
PASSAGES = ("乾，元亨利贞。\n初九：潜龙勿用。", "大哉乾元。")
DOCS = [
    f"出处 [{no}] [易经 (上).txt](http://127.0.0.1:7861/download?file_name=%E6%98%93(1).txt) \n\n{passage}\n\n"
    for no, passage in enumerate(PASSAGES, 1)
]
NOT_FOUND = "<span style='color:red'>未找到相关文档,该回答为大模型自身能力解答！</span>"
NO_SUCH_BASE = {"code": 404, "msg": "未找到知识库 zhouyi", "data": None}


class Shape(NamedTuple):
    """What is sent: pieces one by one, after them `then`."""

    pieces: tuple[bytes, ...]
    kind: str = "application/json"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    then: str = "end"


def dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def event(value: Any) -> str:
    return f"data: {dumped(value)}\r\n\r\n"


def chunk(content: str, **more: Any) -> dict[str, Any]:
    delta = {"content": content, "role": "assistant"}
    return {"id": "chat1", "model": "chatglm3-6b", "choices": [{"delta": delta, "finish_reason": None}], **more}


def pieces(text: str, size: int = 5) -> tuple[bytes, ...]:
    """Cut so small that most Chinese characters are split between two chunks."""
    raw = text.encode()
    return tuple(raw[start : start + size] for start in range(0, len(raw), size))


EVENTS = "text/event-stream"
WHOLE = {"id": "chat1", "model": "chatglm3-6b", "choices": [{"message": {"content": TEXT}, "finish_reason": "stop"}]}
STREAM_03 = event(chunk("", docs=DOCS)) + "".join(event(chunk(token)) for token in TOKENS)

SHAPES: dict[str, Shape] = {
    "024-plain": Shape(pieces(dumped({"answer": TEXT, "docs": DOCS})), EVENTS),
    "024-stream": Shape(pieces("".join(dumped({"answer": one}) for one in TOKENS) + dumped({"docs": DOCS})), EVENTS),
    "0210-plain": Shape(pieces(event({"answer": TEXT, "docs": DOCS})), EVENTS),
    "0210-stream": Shape(pieces("".join(event({"answer": one}) for one in TOKENS) + event({"docs": DOCS})), EVENTS),
    "02-chat": Shape(pieces(event({"text": TEXT, "message_id": "m1"})), EVENTS),
    "02-chat-stream": Shape(pieces("".join(event({"text": one, "message_id": "m1"}) for one in TOKENS)), EVENTS),
    "03-plain": Shape(pieces(dumped(dumped(WHOLE)))),
    "03-stream": Shape(pieces(STREAM_03), EVENTS),
    "no-such-base": Shape(pieces(dumped(NO_SUCH_BASE))),
    "error-event": Shape(pieces(event({"answer": "乾"}) + event({"error": "worker is gone"})), EVENTS),
    "error-body": Shape(pieces(dumped({"data": dumped({"error": "worker is gone"})}))),
    "nothing-found": Shape(pieces(dumped({"answer": TEXT, "docs": [NOT_FOUND]}))),
    "pings": Shape(pieces(": ping - 2026\r\n\r\n" + STREAM_03.replace("\r\n\r\n", "\r\n\r\n: ping\r\n\r\n")), EVENTS),
    "500": Shape((b"Internal Server Error",), "text/plain", 500),
    "429": Shape((b"{}",), status=429, headers=(("Retry-After", "0"),)),
    "401": Shape((b'{"error": {"message": "bad key", "code": "invalid_api_key"}}',), status=401),
    "422": Shape((dumped({"detail": [{"loc": ["body", "query"], "msg": "field required"}]}).encode(),), status=422),
    "html": Shape((b"<html>log in first</html>",), "text/html"),
    "half-json": Shape((dumped({"answer": TEXT}).encode()[:20],)),
    "half-event": Shape((event({"answer": TEXT}).encode(), b'data: {"answer": "\xe6\x98\x93'), EVENTS),
    "cut": Shape((event({"answer": TEXT}).encode(),), EVENTS, then="cut"),
    "hang": Shape((event({"answer": TEXT}).encode(),), EVENTS, then="hang"),
}


@dataclass
class Endpoint:
    """The running server: where it is, what it was asked, and what it answers next (the last shape for ever)."""

    url: str = ""
    asked: list[Any] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    plan: list[str] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        self.asked.append(json.loads(raw) if raw else None)
        self.paths.append(request.path_qs)
        self.headers.append(dict(request.headers))
        shape = SHAPES[self.plan.pop(0) if len(self.plan) > 1 else self.plan[0]]
        headers = {"Content-Type": shape.kind, **dict(shape.headers)}
        response = web.StreamResponse(status=shape.status, headers=headers)
        await response.prepare(request)
        for piece in shape.pieces:
            await response.write(piece)
        if shape.then == "cut" and request.transport is not None:
            request.transport.abort()
        if shape.then == "hang":
            await asyncio.Event().wait()
        return response


@asynccontextmanager
async def serving(*plan: str) -> AsyncIterator[Endpoint]:
    """A server that answers `plan`, one shape per call."""
    endpoint = Endpoint(plan=list(plan))
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", endpoint.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    endpoint.url = f"http://{host}:{port}"
    try:
        yield endpoint
    finally:
        await runner.cleanup()


@asynccontextmanager
async def asking(retry: Retry | None = None, **secrets: str) -> AsyncIterator[Any]:
    """An Ask on a real wire and the real limits, without a journal."""
    wire = HttpWire(Secrets(secrets, secrets))
    limits = Limits(retry or Retry(attempts=1), 4)

    async def ask(model: Model, messages: Any, /, **parameters: Any) -> Reply:
        return without_kept(await limits.call(model, model.request(messages, parameters), wire))

    try:
        yield ask
    finally:
        await wire.close()


def faults(attempts: tuple[Attempt, ...]) -> list[str]:
    """The kind of each attempt."""
    return [attempt.fault for attempt in attempts]
