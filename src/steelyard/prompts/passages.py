"""Passages that questions are about: part of the input, above the question, and a value of its own for templates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from steelyard.prompts.conversation import is_messages, last_user_turn, question_of
from steelyard.types import Message, Sample

PASSAGE: Final = "passage"
"""The key of a sample's metadata that holds its passage."""
_BETWEEN: Final = "\n\n"


def with_passage(sample: Sample, passage: str) -> Sample:
    r"""The sample with a passage above its question, so that whatever reads the input is given it.

    Of a conversation it stands in the user's last message, which asks the question.

    >>> with_passage(Sample("1", "Why?"), "It rains.").input
    'It rains.\n\nWhy?'
    """
    value = sample.input
    if is_messages(value):
        messages: list[Message] = list(value)
        last = last_user_turn(messages)
        if last is not None:
            messages[last] = {**messages[last], "content": _above(passage, messages[last].get("content"))}
        value = messages
    else:
        value = passage + _BETWEEN + str(value)
    return replace(sample, input=value, metadata={**sample.metadata, PASSAGE: passage})


def _above(passage: str, content: Any) -> Any:
    if isinstance(content, list | tuple):
        return [{"type": "text", "text": passage + _BETWEEN}, *content]
    return f"{passage}{_BETWEEN}{content}"


def passage_of(sample: Sample) -> str:
    """The passage that stands above the question in the input; "" where there is none."""
    passage = sample.metadata.get(PASSAGE)
    is_above = isinstance(passage, str) and passage and question_of(sample.input).startswith(passage + _BETWEEN)
    return str(passage) if is_above else ""


def own_question(sample: Sample) -> str:
    """The question of a sample without its passage."""
    question = question_of(sample.input)
    passage = passage_of(sample)
    return question[len(passage) + len(_BETWEEN) :] if passage else question


def without_passage(metadata: Mapping[str, Any], value: Any) -> dict[str, Any]:
    """Metadata without a passage that the input shows already."""
    sample = Sample("", value, metadata=metadata)
    return {key: part for key, part in metadata.items() if key != PASSAGE or not passage_of(sample)}
