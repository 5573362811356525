"""Reads the part of Nunjucks that names values, `{{ name }}`; filters, expressions and blocks are refused by name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from steelyard.config.conversion.result import escaped
from steelyard.errors import ConfigError

_NAME: Final = r"[A-Za-z_$][\w$]*(?:\.[\w$]+|\[(?:\d+|'[^']*'|\"[^\"]*\")\])*"
_TAG: Final = re.compile(
    r"\{%-?\s*raw\s*-?%\}(?P<raw>.*?)\{%-?\s*endraw\s*-?%\}|\{#.*?#\}"
    rf"|\{{\{{-?\s*(?P<name>{_NAME})\s*(?P<filter>\|\s*(?:safe|trim|string))?\s*-?\}}\}}"
    r"|(?P<other>\{\{[^{}]*\}\}|\{%.*?%\})",
    re.DOTALL,
)


def names_in(template: str) -> list[str]:
    """The first part of every name in a template.

    >>> names_in("Q: {{ question }} {{user.name}}")
    ['question', 'user']
    """
    return [re.split(r"[.\[]", match["name"])[0] for match in _TAG.finditer(template) if match["name"]]


def replaced(template: str, value_of: Callable[[str], str], plain: Callable[[str], str] = str) -> str:
    """A template with each name replaced, and with `plain` applied to the text between.

    Raises:
        ConfigError: an expression, a filter or a block.
    """
    parts, end = [], 0
    for match in _TAG.finditer(template):
        if match["other"]:
            raise ConfigError(
                f"{match['other'][:60]} is not read: only names of values are, as {{{{question}}}}; write the value "
                "into a column of its own"
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

    return replaced(template, value)


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
