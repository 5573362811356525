"""How every page is put together: what a template puts out is text, and shows what it hides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steelyard.text.inert import visible

if TYPE_CHECKING:
    import jinja2


def page_environment() -> jinja2.Environment:
    """Templates of this package; an unknown name in one is an error."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("steelyard.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _shown(value: Any) -> Any:
    """Every text that a template puts out, but for what is markup already: hidden characters become escapes."""
    return visible(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
