"""Relevance of texts to a query from a reranker endpoint: Cohere, Jina, Voyage, vLLM, Xinference, LiteLLM, TEI.

Source: Cohere API reference v2, "Rerank", which the others follow: `POST /rerank` with query and documents, and a list
of index and relevance score. Hugging Face's Text Embeddings Inference (TEI) names both otherwise, see `form`. The
reply's text is empty; its scores are in the metadata, in the order of the documents.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal, cast

from steelyard.constraints import Timeout, Within
from steelyard.errors import ModelError
from steelyard.models.base import Answer, CallParameters, Fault, Request, Wire, count_or_zero
from steelyard.models.embeddings import all_or_none, texts_in
from steelyard.models.faults import fault_of_error, filtered_reply, is_error, parse_json, quoted
from steelyard.models.json_bodies import mapping_or_empty
from steelyard.models.mismatches import keys_named, mismatch
from steelyard.models.openai_compatible import check_endpoint, post
from steelyard.types import Asks, Message, Reply, Usage, estimate_tokens

Form = Literal["cohere", "tei"]

_TEXTS: Final[Mapping[str, str]] = {"cohere": "documents", "tei": "texts"}
"""Form -> the key of the texts in the body of a call."""


@dataclass(frozen=True, slots=True)
class Rerank:
    """A model that says how relevant texts are to a query, behind a rerank endpoint.

    Args:
        name: the model's name, as the endpoint knows it.
        base_url: up to and without `/rerank`.
        api_key: a reference, `"${NAME}"`; empty if the endpoint needs none.
        form: `cohere`, whose bodies most servers take, or `tei` for Text Embeddings Inference.
        parameters: sent with every call. Data: no `${NAME}` is resolved in it.
        headers: sent with every call; values may hold `${NAME}`.
        timeout_s: limit of one attempt, in seconds.
        batch: the most texts in one call; TEI takes 32 where it is not told otherwise.
        proxy: `http://user:${PASSWORD}@host:3128`; `none` connects directly; empty follows the environment.
        ca_file: certificates in PEM form that are trusted as well as the system's.
    """

    name: str
    base_url: str = "https://api.cohere.com/v2"
    api_key: str = ""
    form: Form = "cohere"
    parameters: CallParameters = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout_s: Timeout = 120.0
    batch: Annotated[int, Within(1)] = 32
    proxy: str = ""
    ca_file: Path | None = None

    @property
    def api_version(self) -> str:
        """None: Azure's addresses with a version have no rerankers."""
        return ""

    def check(self) -> None:
        """Validate the fields before anything is sent.

        Raises:
            ConfigError: no address, a key that is written out, or a parameter that is a part of the call; `top_n`
                too, as every text needs a score.
        """
        check_endpoint(self, ("query", "documents", "texts", "model", "top_n"))

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

    async def send(self, request: Request, wire: Wire) -> Answer:
        """Send it once."""
        return await wire.exchange(request)

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
            raise _without_scores(data, answer)
        scores = dict(_scored(entry, answer) for entry in entries)
        if scores.keys() != set(range(len(entries))):
            raise _malformed("scores whose indices are not 0, 1, 2 ...", answer)
        return _reply([scores[index] for index in range(len(entries))], _input_tokens(data))

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
        return _reply([0.0] * self._texts_sent(request), request.input_tokens)

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
        found = reply.metadata.get("scores", ())
        if len(found) != len(group):
            raise ModelError(f"the reply holds no scores (finish: {reply.finish})", kind="malformed")
        scores += found
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


def _without_scores(data: Mapping[str, Any], answer: Answer) -> Fault:
    """The fault of a success that holds an error, or no results."""
    if is_error(data) and (fault := fault_of_error(data, answer)) is not None:
        return fault
    nothing = _malformed(f"no results; {keys_named((data,))}", answer)
    return nothing if {"results", "data"} & data.keys() else mismatch(nothing, answer)


def _input_tokens(data: Mapping[str, Any]) -> int:
    """The tokens that were billed, as Cohere, and Jina and Voyage say it; 0 where the answer does not."""
    meta = mapping_or_empty(data.get("meta"))
    stated = (
        mapping_or_empty(data.get("usage")).get("total_tokens"),
        mapping_or_empty(meta.get("billed_units")).get("total_tokens"),
        mapping_or_empty(meta.get("tokens")).get("input_tokens"),
    )
    return next((count for count in map(count_or_zero, stated) if count), 0)


def _reply(scores: Sequence[float], tokens: int) -> Reply:
    return Reply("", "", usage=Usage(tokens, estimated=not tokens), metadata={"scores": list(scores)})


def _malformed(problem: str, answer: Answer) -> Fault:
    return Fault("malformed", f"{problem}: {quoted(answer.body)}", billed=True)
