"""What the tests of the providers' own APIs share: a body read as a reply, and one message sent to a server."""

import asyncio
import json

import pytest
from tests.loopback import http, peer

from steelyard import ModelError
from steelyard.models.base import Answer, Fault
from steelyard.models.limits import Limits, Retry
from steelyard.session.secrets import Secrets
from steelyard.session.wire import HttpWire

KEY = "key-0123456789abcdef"
TOOL = {
    "type": "function",
    "function": {
        "name": "find",
        "description": "Finds.",
        "parameters": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
    },
}
SCHEMA = {"type": "object", "properties": {"letter": {"type": "string"}}, "required": ["letter"]}
FORM = {"type": "json_schema", "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True}}
PNG = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
PDF = {"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBERi0=", "filename": "a.pdf"}}


def read(model, body, status=200, **headers):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return model.read(Answer(status, headers, raw))


def fault_of(model, body, status=200, **headers):
    with pytest.raises(Fault) as caught:
        read(model, body, status, **headers)
    return caught.value


def body_of(model, messages, **parameters):
    return json.loads(model.request(messages, parameters).payload)


def exchanged(make, answers, messages="q", retry=Retry(attempts=3, base_s=0, cap_s=0), **parameters):
    """The reply, or the error, of one call to a server that answers so, and what the server was asked.

    Args:
        make: the server's address -> the model.
        answers: (status, body, headers...) of each answer, the last one for all further calls.
    """

    async def run():
        async with peer(lambda n, asked: http(*answers[min(n, len(answers) - 1)])) as server:
            model = make(server.url)
            wire = HttpWire(Secrets(["KEY"], {"KEY": KEY}))
            try:
                request = model.request(messages, parameters)
                return await Limits(retry, 1).call(model, request, wire, "s1"), server.asked
            except ModelError as error:
                return error, server.asked
            finally:
                await wire.close()

    return asyncio.run(run())
