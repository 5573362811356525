"""Outputs in the logs and results of other tools, as rows for `replay`, and their marks of calls that failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from steelyard.data.rows import object_as_printed
from steelyard.errors import DataError
from steelyard.plain_json import mapping_or_empty
from steelyard.prompts.agent_messages import MESSAGES, USAGE, summed_usage, tokens_in

_INSPECT_SCORING: Final = ("scorers", "scorer")
"""Types of the event with which scoring begins, the second of Inspect before spans."""
HARNESS: Final = frozenset({"doc_id", "doc", "resps", "filtered_resps"})
"""Keys of a sample of lm-evaluation-harness, as `--log_samples` writes it."""
_OF_BATCH: Final = {"response": "body", "result": "type"}
"""Keys beside `custom_id` in the results of a batch, as OpenAI and many others, and as Anthropic write them, and keys
that their objects have."""
_HARNESS_QUESTIONS: Final = ("question", "input", "problem", "prompt", "query", "text", "instruction")
"""What the question is called in the data sets of its tasks."""
_OF_LITELLM: Final = frozenset({"call_type", "status", "messages", "response"})
"""Keys of a logged call of LiteLLM."""
_OF_VERTEX: Final = frozenset({"request", "response", "status"})
"""Keys of a result of a batch of Vertex AI."""
_OF_ERRORS: Final = frozenset({"error", "type", "request_id", "user_id"})
"""Keys of the reply of an API that failed."""


def inspect_rows(log: Mapping[str, Any], name: str) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """The outputs of a log of Inspect, each by its input if that is a text of its own, else by its id.

    An id may be the place in another order or excerpt of the dataset. A sample that failed has no output, whatever it
    had answered before.
    """
    samples = log.get("samples")
    if not isinstance(samples, list) or not samples or not all(isinstance(sample, dict) for sample in samples):
        raise DataError(f"{name}: the log has no samples, only what was run; was it read with header_only?")
    epochs = {str(sample.get("epoch")) for sample in samples}
    if len(epochs) > 1:
        raise DataError(f"{name}: the log has {len(epochs)} epochs, and one output a sample is read; run one epoch")
    texts = Counter(text for sample in samples if isinstance(text := sample.get("input"), str))
    rows = []
    for number, sample in enumerate(samples, start=1):
        output, messages = sample.get("output") or {}, sample.get("messages") or []
        if not isinstance(output, dict) or not isinstance(messages, list):
            raise DataError(f"{name} sample {number}: expected an object as output and a list of messages")
        if output.get("choices") and not sample.get("error"):
            called = any(isinstance(message, dict) and message.get("tool_calls") for message in messages)
            text = sample.get("input")
            ident = text if isinstance(text, str) and texts[text] == 1 else sample.get("id")
            row = {"id": ident, "output": output.get("completion", "")}
            steps = {MESSAGES: [*map(_inspect_message, messages)], USAGE: _inspect_usage(sample)} if called else {}
            rows.append((f"sample {number}", row | steps))
    return rows


def _inspect_message(message: Any) -> Any:
    """A message of Inspect; a tool's error, which stands beside an empty content there, as the content."""
    error = message.get("error") if isinstance(message, dict) else None
    if not isinstance(error, dict):
        return message
    return {**message, "status": "error", "content": message.get("content") or error.get("message")}


def _inspect_usage(sample: Mapping[str, Any]) -> dict[str, int] | None:
    """The tokens of all calls of a sample, but those of its scorers; None where the log does not have them.

    The sample's own output has those of the last call alone.
    """
    usages = []
    for event in sample.get("events") or []:
        if not isinstance(event, dict) or event.get("type") in _INSPECT_SCORING:
            break
        if event.get("event") == "model" and event.get("cache") != "read":
            usages.append(tokens_in(event.get("output")))
    return summed_usage(usages)


def harness_rows(
    rows: Sequence[tuple[str, Mapping[str, Any]]], name: str, output: str
) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """The replies in a log of lm-evaluation-harness, each by its question if that is a text of its own, else by its id.

    A sample has a row for each filter, all with the same reply; with `output: filtered_resps` it is what a filter made
    of the reply.
    """
    key = output if output in {"resps", "filtered_resps"} else "resps"
    docs = {str(row.get("doc_id")): row.get("doc") for _, row in rows}
    texts = {ident: _question_of(doc) for ident, doc in docs.items()}
    counts = Counter(texts.values())
    found = []
    for place, row in rows:
        reply, ident = row.get(key), str(row.get("doc_id"))
        while isinstance(reply, list) and len(reply) == 1:
            reply = reply[0]
        if not isinstance(reply, str):
            # The likelihood of one continuation is a number, and whether it is the likeliest.
            texts_alone = reply if isinstance(reply, list) and all(isinstance(text, str) for text in reply) else []
            why = (
                "output: filtered_resps takes the one that a filter chose"
                if key == "resps" and texts_alone and texts_alone[-1] not in {"True", "False"}
                else "a task that compares the likelihoods of options has no replies: see the target likelihood"
            )
            raise DataError(f"{name} {place}: expected one reply in {key!r}, but got {reply!r:.60}; {why}")
        text = texts[ident]
        found.append((place, {"id": text if text and counts[text] == 1 else ident, "output": reply}))
    return found


def is_of_batch(row: Mapping[str, Any]) -> bool:
    """Whether a row is the result of a call in a batch."""
    return "custom_id" in row and any(inner in mapping_or_empty(row.get(key)) for key, inner in _OF_BATCH.items())


def batch_rows(rows: Sequence[tuple[str, Mapping[str, Any]]]) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """The replies in the results of a batch, each by its `custom_id`; a call that failed has none."""
    found = []
    for place, row in rows:
        reply = next((row[key] for key in _OF_BATCH if row.get(key) is not None), None)
        about = mapping_or_empty(reply)
        is_there = about.get("status_code", 200) == 200 and about.get("type", "succeeded") == "succeeded"
        if reply is not None and is_there and not row.get("error"):
            found.append((place, {"id": str(row.get("custom_id")), "output": about.get("body", reply)}))
    return found


def _question_of(doc: Any) -> str:
    found = [doc[key] for key in _HARNESS_QUESTIONS if isinstance(doc.get(key), str)] if isinstance(doc, dict) else []
    return str(found[0]) if found else ""


def exported_row(row: Mapping[str, Any], output: str) -> Mapping[str, Any] | None:
    """A row of `export` or of another tool, with the keys that are looked for by default; None where it has no output.

    A call that failed has none, whatever its row holds.
    """
    sample, stored = row.get("sample"), row.get("output")
    if _has_failed(row, output):
        return None
    if {"run", "target", "scores"} <= row.keys() and isinstance(sample, Mapping) and isinstance(stored, Mapping):
        found = {"id": sample.get("id"), "output": stored.get("value"), "contexts": stored.get("contexts", ())}
        return {**stored.get("metadata", {}), **found}
    if row.keys() >= _OF_LITELLM and "output" not in row:
        return {**row, "output": row["response"]}
    if turns := _turns_of_fastchat(row):
        return {**row, "choices": [{"role": "assistant", "content": turn} for turn in turns]}
    if {"question", "kb_answer", "correct_answer"} <= row.keys():  # a row of --json-dir
        return {"id": row["question"], "output": row["kb_answer"], **row}
    return row


def _turns_of_fastchat(row: Mapping[str, Any]) -> Sequence[Any]:
    """What a model said in each turn, in an answer of MT-bench or of Arena-Hard, which has objects; else nothing."""
    choices = row.get("choices") if "answer_id" in row else None
    turns = mapping_or_empty(choices[0]).get("turns") if isinstance(choices, list) and choices else None
    return [mapping_or_empty(turn).get("content", turn) for turn in turns] if isinstance(turns, list) else ()


def _has_failed(row: Mapping[str, Any], output: str) -> bool:
    """Whether the call of a row failed: by the mark of its tool, or as it has no output."""
    value, info = row.get(output), mapping_or_empty(row.get("info"))
    marks = (
        "run_type" in row and row.get("error"),  # of LangSmith, whatever the run had answered before
        row.keys() >= _OF_LITELLM and row["status"] == "failure",  # likewise
        "traceback" in row and str(value).startswith("Error during inference"),  # of BFCL
        "$ERROR$" in _turns_of_fastchat(row),
        _is_error_of_api(object_as_printed(value)),
    )
    is_said = (row.keys() >= _OF_VERTEX and row["status"]) or info.get("traceback")  # the latter of tau-bench
    error = row.get("error") or is_said
    is_empty = value is None and not row.get(MESSAGES) and not row.keys().isdisjoint({output, MESSAGES})
    return any(marks) or is_empty or (value in (None, "", [], {}) and bool(error))


def _is_error_of_api(reply: Any) -> bool:
    """Whether a reply is the error of an API, and no answer that tells of an error."""
    error = mapping_or_empty(mapping_or_empty(reply).get("error"))
    has_form = "message" in error and not error.keys().isdisjoint({"type", "code", "status"})
    return has_form and (reply.keys() <= _OF_ERRORS or "object" in reply)
