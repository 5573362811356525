"""The environment of this package's templates: their output is escaped, and hidden characters become visible.

It is separate from `html` because charts are templates too, with or without a page around them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from steelyard.escaping import visible

if TYPE_CHECKING:
    import jinja2


_HYPHEN_BEFORE_DIGIT: Final = re.compile(r"(?<![^\s(])-(?=\d)")


def environment(*packages: str) -> jinja2.Environment:
    """Templates of `packages` and of this package, searched in this order; undefined variables are errors."""
    import jinja2

    templates = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(name) for name in (*packages, "steelyard.report")]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["minus"] = with_minus
    return templates


def with_minus(text: str) -> str:
    """A figure, or a sentence with some, with the minus sign of print in place of a hyphen.

    >>> with_minus("-1.7 to +3 (-0.2) in gpt-4 and 2026-11-30")
    '−1.7 to +3 (−0.2) in gpt-4 and 2026-11-30'
    """
    return _HYPHEN_BEFORE_DIGIT.sub("\u2212", text)


def _shown(value: Any) -> Any:
    """A value as a template shows it: hidden characters become escapes unless the value is markup."""
    return visible(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
