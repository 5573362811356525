r"""Templates: text with `{{name}}` in it, filled from values. Data only: no expression, no attribute, no code.

    {{question}}            the value of that name; blanks inside the braces are allowed
    {{metadata.author}}     a value inside a mapping (never an attribute of an object)
    {"a": 1} \frac{1}{2}    single braces are text, and so are double ones that hold no name
    {{{{question}}}}        four braces around a name are the text {{question}}

What is filled in is data: braces that come with a value are never looked at again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from steelyard.errors import ConfigError, did_you_mean
from steelyard.types import Json

_NAME: Final = r"[ \t]*+(?P<{}>\w[\w.\- \t]*+)"
_PLACEHOLDER: Final = re.compile(r"\{\{\{\{" + _NAME.format("kept") + r"\}\}\}\}|\{\{" + _NAME.format("name") + r"\}\}")


def render(template: str, values: Mapping[str, Any]) -> str:
    r"""`template` with every placeholder replaced by its value.

    Args:
        template: any text.
        values: a text is filled in as it is; numbers, truth values, lists and mappings as compact JSON.

    Raises:
        ConfigError: no value has that name (the nearest one is suggested), or the value is None: a blank that nobody
            meant would change the question.

    >>> render(r"\boxed{{{n}}} {{ meta.by }}", {"n": 3, "meta": {"by": "Zhu Xi {{n}}"}})
    '\\boxed{3} Zhu Xi {{n}}'
    """

    def put(match: re.Match[str]) -> str:
        if match["name"] is None:
            return match[0][2:-2]
        return _as_text(match["name"].strip(), values)

    return _PLACEHOLDER.sub(put, template)


def placeholders(template: str) -> tuple[tuple[str, int], ...]:
    """Every placeholder in `template`, in order: its name and the offset of its first brace.

    >>> placeholders("{a} {{b}} {{{{c}}}} {{ d.e }}")
    (('b', 4), ('d.e', 20))
    """
    found = _PLACEHOLDER.finditer(template)
    return tuple((match["name"].strip(), match.start()) for match in found if match["name"] is not None)


def bare(template: str) -> str:
    """`template` without its placeholders: the words that are its own.

    >>> bare("Q: {{question}} {{{{x}}}}")
    'Q:  {{{{x}}}}'
    """
    return _PLACEHOLDER.sub(lambda match: match[0] if match["name"] is None else "", template)


def fill(value: Json, values: Mapping[str, Any]) -> Json:
    """`value` with the placeholders of every string in it filled; keys are left as they are.

    A string that is nothing but one placeholder becomes the value itself and so keeps its JSON type (None included);
    any other string is rendered.

    >>> fill({"k": "{{k}}", "ask": ["Q: {{q}}"]}, {"k": 5, "q": "why?"})
    {'k': 5, 'ask': ['Q: why?']}
    """
    if isinstance(value, str):
        whole = _PLACEHOLDER.fullmatch(value)
        if whole is None or whole["name"] is None:
            return render(value, values)
        found: Json = lookup(whole["name"].strip(), values)
        return found
    if isinstance(value, Mapping):
        return {key: fill(one, values) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [fill(one, values) for one in value]
    return value


def names_in(value: Json) -> Iterator[str]:
    """The name of every placeholder in the strings of `value`, as `fill` will look it up."""
    if isinstance(value, str):
        yield from (name for name, _ in placeholders(value))
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from names_in(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from names_in(one)


def check_names(value: Json, known: Collection[str]) -> None:
    """Refuse a template that asks for a value which will not be there.

    Args:
        value: a template, or a JSON value with templates in it.
        known: the names that will have a value; of a dotted name the first part is enough.

    Raises:
        ConfigError: with the nearest known name.
    """
    for name in names_in(value):
        if name not in known and name.partition(".")[0] not in known:
            raise _unknown(name, known)


def lookup(name: str, values: Mapping[str, Any]) -> Any:
    """The value called `name`; a dot steps into a mapping.

    Raises:
        ConfigError: there is none.
    """
    if name in values:
        return values[name]
    found: Any = values
    seen = ""
    for part in name.split("."):
        if not isinstance(found, Mapping) or part not in found:
            raise _unknown(name, [seen + str(key) for key in found] if isinstance(found, Mapping) else list(values))
        found = found[part]
        seen += f"{part}."
    return found


def _as_text(name: str, values: Mapping[str, Any]) -> str:
    found = lookup(name, values)
    if isinstance(found, str):
        return found
    if found is None:
        raise ConfigError(f"{{{{{name}}}}} has no value here, and leaving it blank would change what is asked")
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def _unknown(name: str, known: Collection[str]) -> ConfigError:
    itself = f"{{{{{{{{{name}}}}}}}}}"
    return ConfigError(
        f"nothing is called {{{{{name}}}}} here (the text itself is {itself}){did_you_mean(name, known)}"
    )
