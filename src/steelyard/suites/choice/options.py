"""Reads the options of a question where one cell holds them all: a list, an object, or an unambiguous text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from steelyard.data.table import list_in, render
from steelyard.normal_form import nfkc
from steelyard.suites.choice.keys import LETTERS

_TEXTS: Final = ("text", "texts", "choices", "options", "content", "value", "option")
_LABELS: Final = ("label", "labels", "key", "letter", "id")
_LABEL: Final = re.compile(
    r"(?:(?<=[\s;；,，、|。.)）\u4e00-\u9fff])|^)[(（【\[]?([A-Za-zＡ-Ｚａ-ｚ])\s*[)）】\].．:：、]"
)
_FORMS: Final = (
    'a list of texts, an object from letters to texts, "A. ... B. ... C. ...", or one option a line or between |'
)


class OptionTexts(NamedTuple):
    """The texts of the options and their labels in the dataset ("1", "A"), if it has labels."""

    texts: Sequence[str]
    labels: Sequence[str] = ()


def options_of(value: Any) -> OptionTexts:
    """Read the options in one cell.

    Args:
        value: a list of texts or of `{label, text}`; an object from letters to texts, or with the two lists `text` and
            `label`; or a text: one of these as JSON, options that carry their letters in order, one option a line, or
            options between bars.

    Raises:
        ValueError: it is none of these.

    >>> options_of(["A:天", "B:地"]).texts, options_of({"B": "地", "A": "天"}).texts
    (['A:天', 'B:地'], ['天', '地'])
    >>> options_of({"text": ["天", "地"], "label": ["1", "2"]})
    OptionTexts(texts=['天', '地'], labels=['1', '2'])
    >>> options_of("A.天 B.地 C.雷").texts, options_of("天|地").texts
    (['天', '地', '雷'], ['天', '地'])
    """
    if isinstance(value, str):
        return _in_text(value.strip())
    if isinstance(value, Mapping):
        return _of_object(value)
    if isinstance(value, list):
        return _of_list(value)
    raise ValueError(f"options are not a list of texts; expected {_FORMS}")


def _of_list(value: Sequence[Any]) -> OptionTexts:
    if value and all(isinstance(entry, Mapping) for entry in value):
        texts = [_first(entry, _TEXTS) for entry in value]
        labels = [_first(entry, _LABELS) for entry in value]
        if None in texts or None in labels:
            raise ValueError("an option is an object without a text and a label")
        return OptionTexts([render(text) for text in texts], [render(label) for label in labels])
    if any(isinstance(entry, list | Mapping) for entry in value):
        raise ValueError("an option is a list or an object, not a text")
    return OptionTexts([render(entry) for entry in value])


def _of_object(value: Mapping[Any, Any]) -> OptionTexts:
    texts, labels = _first(value, _TEXTS), _first(value, _LABELS)
    if isinstance(texts, list):
        options = _of_list(texts)
        if labels is None:
            return options
        if not isinstance(labels, list) or len(labels) != len(texts):
            raise ValueError(f"there are {len(texts)} texts of options, and not as many labels")
        return OptionTexts(options.texts, [render(label) for label in labels])
    # A table of objects fills in the keys of its other rows with None.
    filled = {str(key): text for key, text in value.items() if text is not None}
    letters = sorted(filled)
    if "".join(letters).upper() != LETTERS[: len(letters)]:
        raise ValueError(f"options have the keys {', '.join(letters)[:80]}; expected A, B, C ...")
    return _of_list([filled[letter] for letter in letters])


def _first(value: Mapping[Any, Any], names: Sequence[str]) -> Any:
    return next((value[name] for name in names if name in value), None)


def _in_text(text: str) -> OptionTexts:
    listed = list_in(text)
    if listed is not None:
        return _of_list(listed)
    if text.startswith("{"):
        return _of_object(_object_in(text))
    if labelled := _labelled(text):
        return OptionTexts(labelled)
    for mark in ("\n", "|", "｜"):
        parts = [part.strip() for part in text.split(mark)]
        parts = [part for part in parts if part] if mark == "\n" else parts
        if len(parts) > 1 and not any(map(_LABEL.match, parts)):
            return OptionTexts(parts)
    raise ValueError(f"the options {text[:40]!r} cannot be separated; expected {_FORMS}")


def _object_in(text: str) -> Mapping[Any, Any]:
    import json

    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the options {text[:40]!r} begin like a JSON object, but are not JSON") from error
    return parsed if isinstance(parsed, Mapping) else {}


def _labelled(text: str) -> list[str]:
    """Texts after the letters A, B, C ..., each once and in order from the very start; empty where that is ambiguous.

    A later letter that continues the sequence or repeats a part of it is ambiguous: "A. 维生素 B. 是什么".
    """
    marks = [(nfkc(match[1]).upper(), match) for match in _LABEL.finditer(text)]
    letters = "".join(letter for letter, _ in marks)
    if len(marks) < 2 or marks[0][1].start() != 0 or letters != LETTERS[: len(letters)]:
        return []
    ends = [*(match.start() for _, match in marks[1:]), len(text)]
    pieces = [text[match.end() : end] for (_, match), end in zip(marks, ends, strict=True)]
    return [piece.strip(" \t\r\n\u3000;；,，、|") for piece in pieces]
