"""Vectors of texts from any endpoint that speaks OpenAI's embeddings: OpenAI, ZhipuAI, Qwen, vLLM, Ollama, TEI.

Source: OpenAI API reference, "Create embeddings". A model like any other, so that its calls go through the journal,
the limits and the budget: a text is embedded once, however often a run is resumed. The reply's text is empty; its
vectors are in the metadata as base64 of little-endian 32-bit floats, a quarter of their size as JSON.
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
from array import array
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
from numpy.typing import NDArray

from steelyard.constraints import Timeout, Within
from steelyard.errors import ConfigError, ModelError
from steelyard.models.base import Answer, CallParameters, Fault, Request, Wire, usage_of
from steelyard.models.faults import fault_of_error, filtered_reply, is_error, parse_json, quoted
from steelyard.models.json_bodies import mapping_or_empty
from steelyard.models.mismatches import keys_named, mismatch
from steelyard.models.openai_compatible import check_endpoint, post
from steelyard.prompts.conversation import content_text
from steelyard.types import Asks, Message, Reply, Usage, estimate_tokens

_REHEARSED: Final = 1
"""Length of a vector in a dry run; no real one is so short."""


@dataclass(frozen=True, slots=True)
class Embeddings:
    """A model that turns texts into vectors, behind an embeddings endpoint.

    Args:
        name: the model's name, as the endpoint knows it.
        base_url: up to and without `/embeddings`.
        api_key: a reference, `"${NAME}"`; empty if the endpoint needs none.
        parameters: sent with every call (`dimensions`, `encoding_format`, ...). Data: no `${NAME}` is resolved in it.
        headers: sent with every call; values may hold `${NAME}`.
        timeout_s: limit of one attempt, in seconds.
        batch: the most texts in one call; endpoints have limits from 16 to 2048.
        api_version: of Azure OpenAI, `2024-10-21`: sent as `?api-version=`, and the key in the header `api-key`. Empty
            for every other endpoint, and for Azure's own `/openai/v1`.
        proxy: `http://user:${PASSWORD}@host:3128`; `none` connects directly; empty follows the environment.
        ca_file: certificates in PEM form that are trusted as well as the system's.
    """

    name: str
    base_url: str = "https://api.openai.com/v1"
    api_key: str = ""
    parameters: CallParameters = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout_s: Timeout = 120.0
    batch: Annotated[int, Within(1)] = 64
    api_version: str = ""
    proxy: str = ""
    ca_file: Path | None = None

    def check(self) -> None:
        """Validate the fields before anything is sent.

        Raises:
            ConfigError: no address, a key that is written out, a parameter that is not one, or an empty batch.
        """
        check_endpoint(self, ("input", "model"))
        if self.parameters.get("encoding_format", "float") not in {"float", "base64"}:
            raise ConfigError("parameters: encoding_format is float or base64")

    def request(self, messages: str | Sequence[str] | list[Message], parameters: Mapping[str, Any]) -> Request:
        """One POST to `/embeddings`.

        Args:
            messages: a text, or the texts in order; of messages, their contents.
            parameters: of this call; they win over the model's own.

        Raises:
            ValueError: no text.
        """
        texts = texts_in(messages)
        if not texts:
            raise ValueError("no text to embed")
        body = {"model": self.name, "input": texts, **self.parameters, **parameters}
        return post(self, "embeddings", body, sum(map(estimate_tokens, texts)))

    async def send(self, request: Request, wire: Wire) -> Answer:
        """Send it once."""
        return await wire.exchange(request)

    def read(self, answer: Answer) -> Reply:
        """The vectors, in the order of their `index`; `vectors_of` gives them as numbers.

        Raises:
            Fault: a status that says so, no JSON, an error inside it, or anything but vectors of one dimension.
        """
        if (filtered := filtered_reply(answer)) is not None:
            return filtered
        data = mapping_or_empty(parse_json(answer))
        vectors = data.get("data")
        if not isinstance(vectors, list) or not vectors:
            return _without_vectors(data, answer)
        rows = [_numbers(vector, answer) for vector in _in_order(vectors, answer)]
        if len({len(row) for row in rows}) > 1:
            raise _malformed("vectors of different dimensions", answer)
        if len(rows[0]) == _REHEARSED:
            raise _malformed("vectors of one number, which have no direction to tell apart", answer)
        usage = usage_of(mapping_or_empty(data.get("usage")).get("prompt_tokens"), 0, "")
        model = data.get("model")
        return _reply(rows, usage, **({"model": model} if isinstance(model, str) else {}))

    def expect_reply(self, reply: Reply, request: Request) -> None:
        """Refuse a reply with more or fewer vectors than texts, before the journal keeps it for good.

        Raises:
            Fault: `malformed`, sent again.
        """
        texts = len(json.loads(request.payload)["input"])
        if reply.metadata.get("dimension") and (received := _count(reply)) != texts:
            raise Fault("malformed", f"{texts} texts were sent and {received} vectors came", billed=True)

    def mock_reply(self, request: Request) -> Reply:
        """The reply of a dry run, which sends nothing: a vector of one number per text."""
        texts = json.loads(request.payload)["input"]
        return _reply([array("f", [1.0] * _REHEARSED) for _ in texts], Usage(request.input_tokens, estimated=True))

    def batches(self, texts: Sequence[str]) -> Iterator[Sequence[str]]:
        """The texts in groups of one call each.

        >>> list(Embeddings("m", batch=2).batches(["a", "b", "c"]))
        [['a', 'b'], ['c']]
        """
        return (texts[start : start + self.batch] for start in range(0, len(texts), self.batch))


async def embed(ask: Asks, model: Embeddings, texts: Sequence[str]) -> NDArray[np.float32]:
    """The vectors of all texts, in order, of shape (texts, dimensions); a repeated text is sent once.

    Args:
        ask: sends the calls, all at once as far as its limits allow.
        model: the embedding model.
        texts: any number; (0, 0) is the shape for none.

    Raises:
        ModelError: a call failed for good, or did not give as many vectors as texts, or of another dimension.
    """
    rows = {text: index for index, text in enumerate(dict.fromkeys(texts))}
    if not rows:
        return np.zeros((0, 0), dtype=np.float32)
    groups = list(model.batches(list(rows)))
    replies = await all_or_none([ask(model, list(group)) for group in groups])
    matrices = [vectors_of(reply, len(group)) for reply, group in zip(replies, groups, strict=True)]
    if len({matrix.shape[1] for matrix in matrices}) > 1:
        message = "the endpoint gave vectors of different dimensions for one model; ask again with --fresh"
        raise ModelError(message, kind="malformed")
    vectors: NDArray[np.float32] = np.concatenate(matrices)[[rows[text] for text in texts]]
    return vectors


async def all_or_none(calls: Iterable[Awaitable[Reply]]) -> Sequence[Reply]:
    """The replies of concurrent calls; where one fails, the others are cancelled, as they are of no use without it.

    Raises:
        ModelError: of the call that failed.
    """
    running = [asyncio.ensure_future(call) for call in calls]
    try:
        return await asyncio.gather(*running)
    finally:
        for call in running:
            call.cancel()


def vectors_of(reply: Reply, n: int) -> NDArray[np.float32]:
    """The vectors in a reply, of shape (n, dimensions).

    Args:
        reply: of `Embeddings`.
        n: how many texts were sent.

    Raises:
        ModelError: kind `malformed`: it has no vectors, or not `n` of them.

    >>> vectors_of(Embeddings("m").mock_reply(Embeddings("m").request(["a", "b"], {})), 2).tolist()
    [[1.0], [1.0]]
    """
    dimension = reply.metadata.get("dimension", 0)
    if not dimension:
        raise ModelError(f"the reply holds no vectors (finish: {reply.finish})", kind="malformed")
    vectors = np.frombuffer(b64decode(reply.metadata["vectors"]), dtype="<f4").reshape(-1, dimension)
    if len(vectors) != n:
        raise ModelError(f"{n} texts were sent and {len(vectors)} vectors came", kind="malformed")
    return vectors.astype(np.float32)


def _count(reply: Reply) -> int:
    """The number of vectors in a reply."""
    size = len(b64decode(reply.metadata["vectors"]))
    return size // (4 * int(reply.metadata["dimension"]))


def texts_in(messages: str | Sequence[str] | list[Message]) -> list[str]:
    """The texts of a call: a single one, several, or the contents of messages."""
    if isinstance(messages, str):
        return [messages]
    return [message if isinstance(message, str) else content_text(message.get("content")) for message in messages]


def _without_vectors(data: Mapping[str, Any], answer: Answer) -> Reply:
    """The empty reply of a content filter's error in a success without vectors.

    Raises:
        Fault: any other error, or no error and no vectors.
    """
    if not is_error(data):
        nothing = _malformed(f"no embeddings; {keys_named((data,))}", answer)
        raise nothing if "data" in data else mismatch(nothing, answer)
    fault = fault_of_error(data, answer)
    if fault is None:
        return Reply("", "", "content_filter", metadata={"message": quoted(answer.body)})
    raise fault


def _in_order(vectors: list[Any], answer: Answer) -> list[Any]:
    """The vectors in the order of their `index`; unchanged where none has one."""
    entries = [mapping_or_empty(entry) for entry in vectors]
    if all(entry.get("index") is None for entry in entries):
        return [entry.get("embedding") for entry in entries]
    by_index = {index: entry.get("embedding") for entry in entries if type(index := entry.get("index")) is int}
    if by_index.keys() != set(range(len(entries))):
        raise _malformed("vectors whose indices are not 0, 1, 2 ...", answer)
    return [by_index[index] for index in range(len(entries))]


def _numbers(value: Any, answer: Answer) -> array[float]:
    """A vector as 32-bit floats.

    Raises:
        Fault: `malformed`: not a list of numbers, an empty list, or a number that is not finite.
    """
    numbers = array("f")
    try:
        if isinstance(value, str):
            numbers.frombytes(b64decode(value, validate=True))
            if sys.byteorder == "big":
                numbers.byteswap()
        else:
            numbers.extend(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise _malformed("a vector that is not a list of numbers", answer) from error
    if not numbers or not all(map(math.isfinite, numbers)):
        raise _malformed("a vector that is empty or has a number that is not finite", answer)
    return numbers


def _reply(rows: Sequence[array[float]], usage: Usage, **metadata: str) -> Reply:
    body = b"".join(row.tobytes() for row in rows)
    if sys.byteorder == "big":
        numbers = array("f", body)
        numbers.byteswap()
        body = numbers.tobytes()
    vectors = {"vectors": b64encode(body).decode("ascii"), "dimension": len(rows[0])}
    return Reply("", "", usage=usage, metadata={**metadata, **vectors})


def _malformed(problem: str, answer: Answer) -> Fault:
    return Fault("malformed", f"{problem}: {quoted(answer.body)}", billed=True)
