"""The environment of this package's templates: their output is escaped, and hidden characters become visible.

It is separate from `html` because charts are templates too, with or without a page around them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steelyard.escaping import visible

if TYPE_CHECKING:
    import jinja2


def environment(*packages: str) -> jinja2.Environment:
    """Templates of `packages` and of this package, searched in this order; undefined variables are errors."""
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
    """A value as a template shows it: hidden characters become escapes unless the value is markup."""
    return visible(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
