"""The environment of this package's templates: what they print is escaped, and hidden characters are made visible.

It stands apart from `html`, because a chart is written by a template too, with or without a page around it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steelyard.escaping import visible

if TYPE_CHECKING:
    import jinja2


def environment(*packages: str) -> jinja2.Environment:
    """Templates of this package, and first those of `packages`; an unknown name in one is an error."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(name) for name in (*packages, "steelyard.report")]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _shown(value: Any) -> Any:
    """A value as a template shows it: hidden characters of a text become escapes, unless it is markup already."""
    return visible(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
