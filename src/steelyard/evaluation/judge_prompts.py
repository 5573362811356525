"""The prompts that targets and judges were sent, from what a run has stored.

A store keeps the requests of agents and applications (`session.kept_requests`). Others mostly repeat the sample and its
output: the manifest describes the target or judge and holds its templates, so that it can be rebuilt and repeats its
requests, answered from the journal. A prompt is shown as sent only where its key in the journal is that of a stored
reply: the key is a digest of the whole request, so that exactly what was sent is shown.
"""

# Why it is so, and what was rejected: docs/decisions/scorers-judge-prompts.md

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
from collections.abc import Mapping
from typing import Any, Final

from steelyard.errors import ModelError, SteelyardError
from steelyard.evaluation.rescore import JournalAsk
from steelyard.models.response import ResponseMap
from steelyard.plain_json import from_json
from steelyard.prompts.conversation import is_messages
from steelyard.prompts.template import is_template_file, refuse_file_names
from steelyard.registry import find
from steelyard.runner import Step
from steelyard.scorers.judges.judge import Judge, with_stored_prompts
from steelyard.store import Run
from steelyard.store.journal import find_request
from steelyard.types import Message, Record, Scorer

_NOT_MADE: Final = (SteelyardError, TypeError, ValueError, KeyError, AttributeError)
"""Exceptions of a description that this version cannot read: of another version, or of a class of the user's."""


def judge_prompts(run: Run, record: Record) -> dict[str, list[Message]]:
    """Key of a judge's reply -> the messages that it answers; prompts that cannot be rebuilt are left out.

    Args:
        run: with its manifest and its journal; nothing is sent and nothing is written.
        record: of that run.
    """
    described = run.manifest.get("scorers", {})
    prompts: dict[str, list[Message]] = {}
    for stage, scorer in described.items():
        if stage in record.replies and record.output is not None:
            prompts |= _sent_by(run, record, stage, scorer)
    return prompts


@dataclasses.dataclass(frozen=True, slots=True)
class TargetRequest:
    """What a target asks of its model for a sample.

    Args:
        messages: in order.
        parameters: of the call, of the model and of the target, with the tools that are offered.
        is_proven: whether it was stored, or its digest is the key of a stored reply; else it is what the manifest
            configures.
        literals: the template and the system message, whose placeholders the sample's values fill.
        is_stored: whether it is what was stored with its reply.
        number: of the target's reply that answers it, from 1; 0 where none is known to.
    """

    messages: list[Message]
    parameters: Mapping[str, Any]
    is_proven: bool
    literals: tuple[str, ...] = ()
    is_stored: bool = False
    number: int = 0


def target_requests(run: Run, record: Record) -> dict[str, TargetRequest]:
    """Key of a reply -> the request that was stored with it, in the order of the target's calls."""
    keys = [reply.key for reply in record.replies.get("target", ())]
    stored = ((key, find_request(run.store, bytes.fromhex(key))) for key in keys)
    return {key: _read_request(text) for key, text in stored if text}


def _read_request(text: str) -> TargetRequest:
    """A request as it was kept; a body that is none of a chat becomes one message."""
    address, _, body = text.partition("\n")
    try:
        fields = from_json(body)
    except ValueError:  # it was cut, or is no JSON
        fields = body
    if isinstance(fields, Mapping) and is_messages(fields.get("messages")):
        parameters = {key: value for key, value in fields.items() if key != "messages"}
        return TargetRequest(list(fields["messages"]), {**parameters, "to": address}, is_proven=True, is_stored=True)
    shown = fields if isinstance(fields, str) else json.dumps(fields, ensure_ascii=False, indent=2)
    return TargetRequest([{"role": "body", "content": shown}], {"to": address}, is_proven=True, is_stored=True)


def target_request(run: Run, record: Record) -> TargetRequest | None:
    """The target's last request for a record, stored or rebuilt; None where it cannot be rebuilt."""
    numbers = {reply.key: number for number, reply in enumerate(record.replies.get("target", ()), 1)}
    if stored := target_requests(run, record):
        last = max(stored, key=numbers.__getitem__)
        return dataclasses.replace(stored[last], number=numbers[last])
    ask = JournalAsk(run.store, record, "target", run.manifest.get("draw", ""))
    try:
        target, texts = _target_of(run.manifest["target"])
        with contextlib.suppress(ModelError):
            asyncio.run(target(record.sample, ask))
        sent = list(ask.sent.values()) or [target.messages(record.sample)]
    except _NOT_MADE:
        return None
    messages = [{"role": "user", "content": sent[-1]}] if isinstance(sent[-1], str) else list(sent[-1])
    of_model = getattr(getattr(target, "model", None), "parameters", {})
    parameters = {**of_model, **getattr(target, "parameters", {})}
    number = numbers.get(next(reversed(ask.sent), ""), 0)
    return TargetRequest(messages, parameters, bool(ask.sent), texts, number=number)


def _target_of(described: Any) -> tuple[Any, tuple[str, ...]]:
    """The target that a manifest describes as `{prompt: {fields}}` or `{http: {fields}}`, with its texts.

    Raises:
        SteelyardError: there is no such class in this package, or it refuses its fields.
        TypeError: it takes other fields, or it has no messages.
        ValueError: a text is the name of a file, or examples were drawn that the manifest does not hold.
    """
    ((name, fields),) = described.items()
    cls = find("target", name, built_in=True)
    text, system, reply = fields.get("text", ""), fields.get("system", ""), fields.get("reply", "")
    if not hasattr(cls, "messages") or fields.get("examples") or (text and is_template_file(text)):
        raise ValueError(f"{name} cannot be rebuilt")
    refuse_file_names(system=system)
    values = {field.name: fields[field.name] for field in dataclasses.fields(cls) if field.name in fields}
    if "model" in values:
        values["model"] = _value_of("judge", {"model": values["model"]}, {}).model
    if "response" in values:
        values["response"] = ResponseMap(**values["response"])
    if isinstance(reply, str) and reply.endswith(".json"):
        values["reply"] = fields["reply_schema"]
    return cls(**{**values, **({"template": text} if text else {})}), tuple(filter(None, (text, system)))


def _sent_by(run: Run, record: Record, stage: str, described: Any) -> dict[str, list[Message]]:
    """The prompts of one judge, as far as it can be rebuilt and repeats its requests."""
    ask = JournalAsk(run.store, record, stage, run.manifest.get("draw", ""))
    try:
        scorer = with_stored_prompts(_scorer_of(described), described)
        asyncio.run(_score(Step.of(stage, scorer), record, ask))
    except _NOT_MADE:
        pass  # the prompts until then are right all the same: each is verified by its key
    return {key: messages for key, messages in ask.sent.items() if isinstance(messages, list)}


async def _score(step: Step, record: Record, ask: JournalAsk) -> None:
    try:
        await step(ask, record.sample, record.output)
    except ModelError:
        return  # the journal has no reply: the run was stopped there, or this version sends another request


def _scorer_of(described: Mapping[str, Any]) -> Scorer:
    """The judge that a manifest describes as `{name: {fields}}`.

    Raises:
        SteelyardError: there is no such class in this package, or it refuses its fields.
        TypeError: it takes other fields, or it is not a judge.
        ValueError: a template is the name of a file; a store may name any.
    """
    ((name, fields),) = described.items()
    cls = find("scorer", name, built_in=True)
    settings = {field.name: field for field in dataclasses.fields(cls) if field.init}
    if "judge" not in settings:
        raise TypeError(f"{name} asks no judge")
    prompts = fields.get("prompts", {})
    values = {key: _value_of(key, value, prompts) for key, value in fields.items() if key in settings}
    scorer: Scorer = cls(**values)
    return scorer


def _value_of(key: str, value: Any, prompts: Mapping[str, Any]) -> Any:
    if key == "judge":
        ((name, fields),) = value["model"].items()
        model = find("model", name, built_in=True)(**fields)
        of_judge = {name: _value_of(name, item, prompts) if name == "system" else item for name, item in value.items()}
        return Judge(**{**of_judge, "model": model})
    if isinstance(value, Mapping) and set(value) == {"file", "digest"}:
        if key == "system":
            return next(prompt["system"]["text"] for prompt in prompts.values() if "system" in prompt)
        # A template in a file: the manifest has its text with the prompts, whatever became of the file.
        return next(prompt["own"]["text"] for prompt in prompts.values() if "own" in prompt)
    if key.endswith("template") and value and is_template_file(value):
        raise ValueError(f"{key} is the name of a file")
    return tuple(value) if isinstance(value, list) else value
