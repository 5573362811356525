"""Numbers for texts from an endpoint: vectors, and relevance to a query.

`Embeddings` calls any endpoint that speaks OpenAI's embeddings: OpenAI, ZhipuAI, Qwen, vLLM, Ollama, TEI.

Source: OpenAI API reference, "Create embeddings". A model like any other, so that its calls go through the journal,
the limits and the budget: a text is embedded once, however often a run is resumed. The reply's text is empty; its
vectors are in the metadata as base64 of little-endian 32-bit floats, a quarter of their size as JSON.

`Rerank` calls a reranker endpoint: Cohere, Jina, Voyage, vLLM, Xinference, LiteLLM, TEI. Source: Cohere API reference
v2, "Rerank", which the others follow: `POST /rerank` with query and documents, and a list of index and relevance score.
Hugging Face's Text Embeddings Inference (TEI) names both otherwise, see `form`. The reply's text is empty; its scores
are in the metadata, in the order of the documents.
"""

from __future__ import annotations

import asyncio
import json
import math
from array import array
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, cast

import numpy as np
from numpy.typing import NDArray

from steelyard.constraints import Within
from steelyard.errors import ConfigError, ModelError
from steelyard.models.base import Answer, Fault, Request, count_or_zero, usage_of
from steelyard.models.endpoint import EndpointModel
from steelyard.models.faults import fault_of_error, filtered_reply, is_error, parse_json, quoted
from steelyard.models.mismatches import keys_named, mismatch
from steelyard.models.openai_compatible import post
from steelyard.plain_json import mapping_or_empty
from steelyard.prompts.conversation import content_text
from steelyard.types import Asks, Message, Reply, Usage, estimate_tokens

_REHEARSED: Final = 1
"""Length of a vector in a dry run; no real one is so short."""


@dataclass(frozen=True, slots=True)
class Embeddings(EndpointModel):
    """A model that turns texts into vectors, behind an embeddings endpoint.

    Args:
        base_url: up to and without `/embeddings`.
        parameters: sent with every call (`dimensions`, `encoding_format`, ...). Data: no `${NAME}` is resolved in it.
        batch: the most texts in one call; endpoints have limits from 16 to 2048.
        api_version: of Azure OpenAI, `2024-10-21`: sent as `?api-version=`, and the key in the header `api-key`. Empty
            for every other endpoint, and for Azure's own `/openai/v1`.
    """

    batch: Annotated[int, Within(1)] = 64
    api_version: str = ""

    def check(self) -> None:
        """Validate the fields before anything is sent.

        Raises:
            ConfigError: no address, a key that is written out, a parameter that is not one, or an empty batch.
        """
        self.check_fields(("input", "model"))
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
        return post(self, "embeddings", body, sum(map(estimate_tokens, texts)), self.api_version)

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
            return _without("embeddings", {"data"}, data, answer)
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


def _without(what: str, keys: AbstractSet[str], data: Mapping[str, Any], answer: Answer) -> Reply:
    """The empty reply of a content filter's error in a success that holds nothing under its keys.

    Raises:
        Fault: any other error, or no error and nothing there.
    """
    if not is_error(data):
        nothing = _malformed(f"no {what}; {keys_named((data,))}", answer)
        raise nothing if keys & data.keys() else mismatch(nothing, answer)
    fault = fault_of_error(data, answer)
    if fault is None:
        return Reply("", "", "content_filter", metadata={"message": quoted(answer.body)})
    raise fault


def _by_index(what: str, values: Mapping[Any, Any], count: int, answer: Answer) -> list[Any]:
    """The values in the order of their indices.

    Raises:
        Fault: `malformed`: the indices are not 0, 1, 2 ...
    """
    if values.keys() != set(range(count)):
        raise _malformed(f"{what} whose indices are not 0, 1, 2 ...", answer)
    return [values[index] for index in range(count)]


def _in_order(vectors: list[Any], answer: Answer) -> list[Any]:
    """The vectors in the order of their `index`; unchanged where none has one."""
    entries = [mapping_or_empty(entry) for entry in vectors]
    if all(entry.get("index") is None for entry in entries):
        return [entry.get("embedding") for entry in entries]
    by_index = {index: entry.get("embedding") for entry in entries if type(index := entry.get("index")) is int}
    return _by_index("vectors", by_index, len(entries), answer)


def _numbers(value: Any, answer: Answer) -> array[float]:
    """A vector as 32-bit floats.

    Raises:
        Fault: `malformed`: not a list of numbers, an empty list, or a number that is not finite.
    """
    numbers = array("f")
    try:
        if isinstance(value, str):
            numbers.extend(np.frombuffer(b64decode(value, validate=True), dtype="<f4").tolist())
        else:
            numbers.extend(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise _malformed("a vector that is not a list of numbers", answer) from error
    if not numbers or not all(map(math.isfinite, numbers)):
        raise _malformed("a vector that is empty or has a number that is not finite", answer)
    return numbers


def _reply(rows: Sequence[array[float]], usage: Usage, **metadata: str) -> Reply:
    body = np.array(rows, dtype="<f4").tobytes()
    vectors = {"vectors": b64encode(body).decode("ascii"), "dimension": len(rows[0])}
    return Reply("", "", usage=usage, metadata={**metadata, **vectors})


def _malformed(problem: str, answer: Answer) -> Fault:
    return Fault("malformed", f"{problem}: {quoted(answer.body)}", billed=True)


Form = Literal["cohere", "tei"]

_TEXTS: Final[Mapping[str, str]] = {"cohere": "documents", "tei": "texts"}
"""Form -> the key of the texts in the body of a call."""


@dataclass(frozen=True, slots=True)
class Rerank(EndpointModel):
    """A model that says how relevant texts are to a query, behind a rerank endpoint.

    Args:
        base_url: up to and without `/rerank`.
        form: `cohere`, whose bodies most servers take, or `tei` for Text Embeddings Inference.
        parameters: sent with every call. Data: no `${NAME}` is resolved in it.
        batch: the most texts in one call; TEI takes 32 where it is not told otherwise. A model that compares the texts
            of a call with each other (jina-reranker-v3) needs all candidates in one.
    """

    base_url: str = "https://api.cohere.com/v2"
    form: Form = "cohere"
    batch: Annotated[int, Within(1)] = 32

    def check(self) -> None:
        """Validate the fields before anything is sent.

        Raises:
            ConfigError: no address, a key that is written out, or a parameter that is a part of the call; `top_n`
                and Voyage's `top_k` too, as every text needs a score.
        """
        self.check_fields(("query", "documents", "texts", "model", "top_n", "top_k"))

    def request(self, messages: str | Sequence[str] | list[Message], parameters: Mapping[str, Any]) -> Request:
        """One POST to `/rerank`.

        Args:
            messages: the query, then the texts; a single text is its own query.
            parameters: of this call; they win over the model's own.
        """
        query, *texts = texts_in(messages)
        texts = texts or [query]
        model = {"model": self.name} if self.form == "cohere" else {}
        body = {**model, "query": query, _TEXTS[self.form]: texts, **self.parameters, **parameters}
        return post(self, "rerank", body, sum(map(estimate_tokens, texts)) + len(texts) * estimate_tokens(query))

    def read(self, answer: Answer) -> Reply:
        """The scores, in the order of the texts.

        Raises:
            Fault: a status that says so, no JSON, an error inside it, or no score for each index from 0.
        """
        if (filtered := filtered_reply(answer)) is not None:
            return filtered
        body = parse_json(answer)
        data = mapping_or_empty(body)
        entries = body if isinstance(body, list) else data.get("results", data.get("data"))
        if is_error(data) or not isinstance(entries, list) or not entries:
            return _without("results", {"results", "data"}, data, answer)
        scores = dict(_scored(entry, answer) for entry in entries)
        return _scores_reply(_by_index("scores", scores, len(entries), answer), _input_tokens(data))

    def expect_reply(self, reply: Reply, request: Request) -> None:
        """Refuse a reply with more or fewer scores than texts, before the journal keeps it for good.

        Raises:
            Fault: `malformed`, sent again.
        """
        texts = self._texts_sent(request)
        received = len(reply.metadata.get("scores", ()))
        if received and received != texts:
            raise Fault("malformed", f"{texts} texts were sent and {received} scores came", billed=True)

    def mock_reply(self, request: Request) -> Reply:
        """The reply of a dry run, which sends nothing: the order stays."""
        return _scores_reply([0.0] * self._texts_sent(request), request.input_tokens)

    def _texts_sent(self, request: Request) -> int:
        return len(json.loads(request.payload)[_TEXTS[self.form]])


async def rerank(ask: Asks, model: Rerank, query: str, texts: Sequence[str]) -> list[float]:
    """How relevant each text is to a query, in order; comparable within one query.

    Args:
        ask: sends the calls, of at most `model.batch` texts.
        model: the reranker.
        query: what is searched for.
        texts: any number.

    Raises:
        ModelError: a call failed for good or was stopped by a content filter.
    """
    groups = [texts[start : start + model.batch] for start in range(0, len(texts), model.batch)]
    replies = await all_or_none([ask(model, [query, *group]) for group in groups])
    scores: list[float] = []
    for reply, group in zip(replies, groups, strict=True):
        scores_of_group = reply.metadata.get("scores", ())
        if len(scores_of_group) != len(group):
            raise ModelError(f"the reply holds no scores (finish: {reply.finish})", kind="malformed")
        scores += scores_of_group
    return scores


def _scored(entry: Any, answer: Answer) -> tuple[int, float]:
    """Index and score of one result.

    Raises:
        Fault: `malformed`: it has no whole number as index, or no finite number as score.
    """
    result = mapping_or_empty(entry)
    index, score = result.get("index"), result.get("relevance_score", result.get("score"))
    if type(index) is not int or type(score) not in {int, float} or not math.isfinite(cast("float", score)):
        raise _malformed("a result without index and score", answer)
    return index, float(cast("float", score))


def _input_tokens(data: Mapping[str, Any]) -> int:
    """The tokens that were billed, as Cohere, and Jina and Voyage say it; 0 where the answer does not."""
    meta = mapping_or_empty(data.get("meta"))
    stated = (
        mapping_or_empty(data.get("usage")).get("total_tokens"),
        mapping_or_empty(meta.get("billed_units")).get("total_tokens"),
        mapping_or_empty(meta.get("tokens")).get("input_tokens"),
    )
    return next((count for count in map(count_or_zero, stated) if count), 0)


def _scores_reply(scores: Sequence[float], tokens: int) -> Reply:
    return Reply("", "", usage=Usage(tokens, estimated=not tokens), metadata={"scores": list(scores)})
