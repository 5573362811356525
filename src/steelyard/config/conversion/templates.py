"""Reads templates of Nunjucks: names of values, `{{ name }}`, and by way of `nunjucks.py` what is computed of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final

from steelyard.config.conversion.nunjucks import computed, computed_parts, names_of_part
from steelyard.config.conversion.result import escaped
from steelyard.errors import ConfigError

_NAME: Final = r"[A-Za-z_$][\w$]*(?:\.[\w$]+|\[(?:\d+|'[^']*'|\"[^\"]*\")\])*"
_TAG: Final = re.compile(
    r"\{%-?\s*raw\s*-?%\}(?P<raw>(?:(?!\{%-?\s*raw\b).)*?)\{%-?\s*endraw\s*-?%\}|\{#(?:(?!\{#).)*?#\}"
    rf"|\{{\{{-?\s*(?P<name>{_NAME})\s*(?P<filter>\|\s*(?:safe|string))?\s*-?\}}\}}"
    r"|(?P<other>\{\{[^{}]*\}\}|\{%(?:(?!\{%).)*?%\})",
    re.DOTALL,
)


def names_in(template: str) -> list[str]:
    """The first part of every name in a template, and the names in what it computes.

    >>> names_in("Q: {{ question }} {{user.name}} {{ tone | upper }}")
    ['question', 'user', 'tone']
    """
    names: list[str] = []
    for text, is_computed in _parts(template):
        named = [re.split(r"[.\[]", match["name"])[0] for match in _TAG.finditer(text) if match["name"]]
        names += names_of_part(text) if is_computed else named
    return names


def is_computed(template: str) -> bool:
    """Whether a template says more than names of values."""
    return any(True for _ in computed_parts(template))


def _parts(template: str) -> Iterator[tuple[str, bool]]:
    """The parts of a template, in order, and whether each is computed."""
    template = _without_blanks(template)
    end = 0
    for start, following in computed_parts(template):
        yield template[end:start], False
        yield template[start:following], True
        end = following
    yield template[end:], False


def _without_blanks(template: str) -> str:
    """A template without the blanks that a tag removes before itself, `{{-` and `{%-`, and after, `-}}` and `-%}`.

    >>> _without_blanks("a {{- b -}} {%- if c %} d")
    'a{{ b }}{% if c %} d'
    """
    template = re.sub(r"\s*(\{[{%])-", r"\1", template)
    return re.sub(r"(\{[{%](?:(?!\{[{%]).)*?)-([}%]\})\s*", r"\1\2", template, flags=re.DOTALL)


def without_computed(template: str, name_of: Callable[[str], str]) -> str:
    """A template that names, in place of each computed part, the value that `name_of` gives for it."""
    return "".join(f"{{{{{name_of(text)}}}}}" if is_part else text for text, is_part in _parts(template))


def without_names(template: str, names: Collection[str]) -> str:
    """A template without some of the names in it.

    >>> without_names("{{a}} and {{ b }}", {"b"})
    '{{a}} and '
    """
    return _TAG.sub(lambda match: "" if match["name"] in names else match[0], template)


def replaced(template: str, value_of: Callable[[str], str], plain: Callable[[str], str] = str) -> str:
    """A template with each name replaced, and with `plain` applied to the text between.

    Raises:
        ConfigError: an expression, a filter or a block.
    """
    parts, end = [], 0
    for match in _TAG.finditer(template):
        if match["other"]:
            raise ConfigError(
                f"{match['other'][:60]} is not read: names of values are, as {{{{question}}}}, filters, if and "
                "for; write the value into a column of its own"
            )
        parts += [plain(template[end : match.start()]), plain(match["raw"] or "")]
        parts += [value_of(match["name"])] if match["name"] else []
        end = match.end()
    return "".join([*parts, plain(template[end:])])


def as_ours(template: str, columns: Mapping[str, str]) -> str:
    """A template with our placeholders; `columns` says what a value is called in the dataset.

    >>> as_ours("{{ text }} {# no #}{% raw %}{{x}}{% endraw %}", {})
    '{{text}} {{{{x}}}}'
    """

    def placeholder(name: str) -> str:
        first, *rest = re.findall(r"[\w$]+", name)
        return f"{{{{{'.'.join([columns.get(first, first), *rest])}}}}}"

    return replaced(template, placeholder, escaped)


def filled(template: str, values: Mapping[str, Any]) -> str:
    """A template with its values, as Nunjucks prints them; a name without a value is an empty text.

    >>> filled("{% for label in labels %}{{loop.index}}. {{label | upper}} {% endfor %}", {"labels": ["a", "b"]})
    '1. A 2. B '
    >>> filled("{{a}}-{{b.c[0]}}-{{none}}", {"a": 3.0, "b": {"c": [True]}})
    '3-true-'
    """

    def value(name: str) -> str:
        part: Any = values
        for key in re.findall(r"[\w$]+", name):
            if isinstance(part, list) and key.isdigit() and int(key) < len(part):
                part = part[int(key)]
            else:
                part = part.get(key) if isinstance(part, Mapping) else None
        return as_text(part)

    parts = _parts(template)
    return "".join(computed(text, values, as_text) if is_part else replaced(text, value) for text, is_part in parts)


def as_text(value: Any) -> str:
    """A value as Nunjucks prints it, but objects as JSON.

    >>> as_text([1, "a"]), as_text(None), as_text(2.50), as_text(False)
    ('1,a', '', '2.5', 'false')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ",".join(map(as_text, value))
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)
