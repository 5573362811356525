"""Calls endpoints that answer questions with probabilities instead of text: `POST {base_url}/decisions`.

A call asks one or several questions about the same messages. The questions are in OpenAI's form, which vLLM and most
gateways share; SGLang and Gemini have forms of their own. The reply's text is one form for all: a JSON list with an
answer to each question in order, of which `scorers.judges.decisions` makes a verdict.

Sources: the types of the packages openai 3.57.0 (`types/decision.py`) and google-genai 3.6.1 (`types/decisions`);
SGLang's `serving_decisions.py`; vLLM's documentation of its OpenAI-compatible server.
"""

# Why it is so, and what was rejected: docs/decisions/scorers-decision-endpoints.md

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from steelyard.models.base import Answer, Fault, Request, Wire, encode_body, usage_of
from steelyard.models.faults import error_of, parse_json, quoted
from steelyard.models.native import FilePart, MessageTurn, items_of
from steelyard.models.refusals import kind_of, refusal_kind
from steelyard.plain_json import mapping_or_empty
from steelyard.types import Reply, Usage

DECISIONS: Final = "decisions"
"""Parameter of a call that holds its questions, in OpenAI's form; all other parameters of such a call are not sent."""
_WITHOUT: Final = frozenset({400, 403, 404, 405, 410, 422, 501})
"""Statuses of endpoints that have no decisions, or none for this model or these questions."""
_OTHER_FORM: Final = frozenset({400, 422})
_ENOUGH: Final = 1e-6
_BEFORE_JSON: Final = b"\xef\xbb\xbf \t\r\n"


def decision_body(name: str, turns: Sequence[MessageTurn], questions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The body in OpenAI's form; messages without images become one text, which is all that vLLM takes.

    Args:
        name: of the model.
        turns: of the call.
        questions: in OpenAI's form.
    """
    if not _has_files(turns):
        return {"model": name, "input": _text(turns), "questions": [*questions]}
    parts = [
        {"type": "input_text", "text": part}
        if isinstance(part, str)
        else {"type": "input_image", "image_url": part.uri}
        for turn in turns
        for part in turn.parts
    ]
    return {"model": name, "input": [{"role": "user", "content": parts}], "questions": [*questions]}


def gemini_decision_body(
    name: str, turns: Sequence[MessageTurn], questions: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The body in Gemini's form, whose questions and answers are named."""
    parts = [_gemini_part(part) for turn in turns for part in turn.parts] if _has_files(turns) else _text(turns)
    return {"model": name, "input": parts, "questions": {question["name"]: _gemini(question) for question in questions}}


def _has_files(turns: Sequence[MessageTurn]) -> bool:
    return any(not isinstance(part, str) for turn in turns for part in turn.parts)


def _text(turns: Sequence[MessageTurn]) -> str:
    return "\n\n".join(turn.text for turn in turns)


def _gemini_part(part: str | FilePart) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": "image" if part.is_image else "document", "mime_type": part.media, "data": part.data}


def _gemini(question: Mapping[str, Any]) -> dict[str, Any]:
    text = {"instructions": question["instructions"]}
    if question["type"] == "choice":
        return {"type": "choice", **text, "criteria": {option["value"]: "" for option in question["choices"]}}
    if question["type"] == "score":
        return {"type": "score", **text, "criteria": [level["label"] for level in question["levels"]]}
    return {"type": "noul", **text}


def _sglang(question: Mapping[str, Any]) -> dict[str, Any]:
    head = {"id": question["name"], "question": question["instructions"]}
    if question["type"] == "choice":
        return {**head, "type": "choice", "options": [{"name": option["value"]} for option in question["choices"]]}
    if question["type"] == "score":
        return {**head, "type": "score", "levels": [level["label"] for level in question["levels"]]}
    return {**head, "type": "yes_no"}


def is_decision(request: Request) -> bool:
    """Whether a call asks for decisions."""
    return request.url.partition("?")[0].endswith(f"/{DECISIONS}")


async def send_decision(request: Request, wire: Wire) -> Answer:
    """Send a call for decisions; one in OpenAI's form that is refused is sent in SGLang's, which is remembered.

    Raises:
        Fault: the endpoint has no decisions, or none for this model: never a reason to end the run, as the judge asks
            for a verdict as text instead.
    """
    form = f"{request.url} SGLang's form"
    body = mapping_or_empty(json.loads(request.payload))
    in_openai_form = isinstance(body.get("questions"), list)
    first = request
    if in_openai_form and wire.learned.get(form):
        first = _in_sglang_form(request, body)
    answer = await wire.exchange(first)
    if in_openai_form and first is request and answer.status in _OTHER_FORM and not _names_reason(answer):
        other = await wire.exchange(_in_sglang_form(request, body))
        if other.status == 200:
            wire.learned[form] = True
            answer = other
    if answer.status in _WITHOUT:
        words = error_of(answer).message or answer.body
        message = f"no decisions from {request.url}: status {answer.status}: {quoted(words)}"
        raise Fault("bad_request", message, retry=False)
    return answer


def _in_sglang_form(request: Request, body: Mapping[str, Any]) -> Request:
    return replace(request, payload=encode_body({**body, "questions": [*map(_sglang, body["questions"])]}))


def _names_reason(answer: Answer) -> bool:
    """Whether a refusal is about the key, the account or the model, which another form would meet too."""
    error = error_of(answer)
    return bool(kind_of(error.codes) or refusal_kind(error.text))


def decision_in(answer: Answer) -> Reply | None:
    """The reply in an answer with decisions; None where it is another answer.

    Raises:
        Fault: `malformed`, sent again: an answer without its probabilities.
    """
    # A stream that speaks of answers is read by whoever assembles it: it is no JSON object yet.
    if answer.status != 200 or not answer.body.lstrip(_BEFORE_JSON).startswith(b"{"):
        return None
    if b'"answers"' not in answer.body and b'"block_reason"' not in answer.body:
        return None
    data = mapping_or_empty(parse_json(answer))
    if mapping_or_empty(data.get("prompt_feedback")).get("block_reason") and not data.get("answers"):
        return Reply("", "", "content_filter", metadata={"message": quoted(answer.body)})
    given = data.get("answers")
    if "choices" in data or not isinstance(given, list | Mapping) or not given:
        return None
    named = given.items() if isinstance(given, Mapping) else ((None, entry) for entry in given)
    answers = [_plain(mapping_or_empty(entry), name, answer) for name, entry in named]
    text = json.dumps(answers, ensure_ascii=False)
    finish = "refusal" if all(given_answer["type"] == "refusal" for given_answer in answers) else "stop"
    model = data.get("model")
    usage = _usage(mapping_or_empty(data.get("usage")), text)
    return Reply("", text, finish, usage, metadata={"model": model} if isinstance(model, str) else {})


def _plain(given: Mapping[str, Any], key: str | None, answer: Answer) -> dict[str, Any]:
    """One answer: `probability` of yes, or `probabilities` by value, of a score by the place of its level.

    Where they are told, `labels` has the label of each value, and `label_mass` the probability of all values together
    before they were scaled to 1.
    """
    kind = {"noul": "predicate", "yes_no": "predicate"}.get(str(given.get("type")), str(given.get("type")))
    name = key if key is not None else given.get("name")
    head = {"type": kind, **({"name": name} if isinstance(name, str) else {})}
    if kind == "refusal":
        return head
    shares = dict(_shares(given.get("probabilities")))
    if _is_share(given.get("label_mass")):
        head["label_mass"] = given["label_mass"]
    if kind == "predicate":
        yes = given.get("probability", given.get("noul", shares.get("yes")))
        if _is_share(yes):
            return {**head, "probability": yes}
    elif kind in {"choice", "score"} and shares and all(map(_is_share, shares.values())):
        labels = _labels(given.get("probabilities")) if kind == "score" else {}
        return {**head, "probabilities": shares, **({"labels": labels} if labels else {})}
    raise Fault("malformed", f"a decision without its probabilities: {quoted(answer.body)}", billed=True)


def _shares(given: Any) -> Iterator[tuple[str, Any]]:
    """Value -> probability, of a mapping or a list of both."""
    if isinstance(given, Mapping):
        yield from ((str(value), share) for value, share in given.items())
    for entry in items_of(given):
        yield str(entry.get("value")), entry.get("probability")


def _labels(given: Any) -> dict[str, str]:
    """Value -> label, of a list of both; empty where one has no label, or two have the same."""
    entries = items_of(given)
    labels = {str(entry.get("value")): label for entry in entries if isinstance(label := entry.get("label"), str)}
    return labels if len({*labels.values()}) == len(entries) else {}


def _is_share(value: Any) -> bool:
    return type(value) in {int, float} and -_ENOUGH <= value <= 1 + _ENOUGH


def _usage(usage: Mapping[str, Any], text: str) -> Usage:
    """The counts; no text is written, so a missing count of the output is 0."""
    read = next(
        (usage[name] for name in ("input_tokens", "total_input_tokens", "prompt_tokens") if name in usage), None
    )
    written = usage.get("output_tokens", usage.get("total_output_tokens", usage.get("completion_tokens")))
    details = mapping_or_empty(usage.get("input_tokens_details"))
    return usage_of(
        read,
        written or 0,
        text,
        cache_read=details.get("cached_tokens") or usage.get("total_cached_tokens"),
        cache_write=details.get("cache_write_tokens"),
    )
