"""JMESPath expressions on JSON of others, in bounded work.

The expression comes from a configuration and the data from a server: `[@,@]|[@,@]|...` 22 times makes four million
values of one, and `sort_by` runs over all of them. So every step and every value that an expression builds is counted;
an expression that only looks things up takes a few steps.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any, Final

from jmespath import compile as compiled
from jmespath.exceptions import JMESPathError
from jmespath.visitor import TreeInterpreter

from steelyard.errors import ConfigError

MAX_EXPRESSION: Final = 2_000
"""Characters of an expression."""
MAX_WORK: Final = 5_000_000
"""Work on all values of a reply, about a second: of a million steps, or of values with 80 million characters."""

_STEP: Final = 4
_CHARACTERS: Final = 16
_BUILDS: Final = frozenset(
    {
        *("filter_projection", "flatten", "function_expression", "multi_select_dict", "multi_select_list"),
        *("projection", "slice", "value_projection"),
    }
)


class TooMuchWork(ValueError):
    """An expression takes more work on a value than is allowed."""


class PathSearch:
    """Searches values with one expression; what it may do is counted over all of them.

    Args:
        expression: the expression.

    Raises:
        ConfigError: it is too long, or not a JMESPath expression.
    """

    __slots__ = ("_interpreter", "_parsed", "expression")

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self._parsed = _parsed(expression)
        self._interpreter = _interpreter_class()()

    def __call__(self, value: Any) -> Any:
        """What the expression finds in a value; None where it finds nothing.

        Raises:
            ValueError: the expression does not suit the value (as all errors of jmespath are), or takes too much work.
        """
        try:
            return self._interpreter.visit(self._parsed, value)
        except RecursionError as error:
            raise ValueError("the reply or the expression is nested too deep") from error


def check_path(expression: str, what: str) -> None:
    """Validate an expression.

    Raises:
        ConfigError: it is too long, or not a JMESPath expression; `what` names its key in the message.
    """
    try:
        _parsed(expression)
    except ConfigError as error:
        raise ConfigError(f"{what}: {error.message}") from error


@lru_cache(maxsize=256)
def _parsed(expression: str) -> Any:
    if len(expression) > MAX_EXPRESSION:
        length = f"{len(expression):,} characters; at most {MAX_EXPRESSION:,} are read"
        raise ConfigError(f"{expression[:80]!r} is not a JMESPath expression: it has {length}")
    try:
        return compiled(expression).parsed
    except (JMESPathError, RecursionError) as error:
        cause = " ".join(str(error).split())[:300]
        raise ConfigError(f"{expression!r} is not a JMESPath expression: {cause}") from error


@cache
def _interpreter_class() -> Any:
    """The interpreter of jmespath, which is imported on first use, with a count of its work."""

    class CountingInterpreter(TreeInterpreter):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self._left = MAX_WORK

        def visit(self, node: Any, value: Any) -> Any:
            result = super().visit(node, value)
            self._take(_STEP + (_extent(result, self._left) if node["type"] in _BUILDS else 0))
            return result

        def visit_function_expression(self, node: Any, value: Any) -> Any:
            arguments = [self.visit(child, value) for child in node["children"]]
            self._take(sum(_extent(argument, self._left) for argument in arguments))
            return self._functions.call_function(node["value"], arguments)

        def visit_comparator(self, node: Any, value: Any) -> Any:
            sides = [self.visit(child, value) for child in node["children"]]
            self._take(min(_extent(side, self._left) for side in sides))
            literals = [{"type": "literal", "value": side, "children": []} for side in sides]
            return super().visit_comparator({**node, "children": literals}, value)

        def _take(self, work: int) -> None:
            self._left -= work
            if self._left < 0:
                raise TooMuchWork("it takes too much work on this reply")

    return CountingInterpreter


def _extent(value: Any, most: int) -> int:
    """How many values a value holds, each as often as it occurs, and a share of their characters; any above `most`."""
    extent, waiting = 0, [value]
    while waiting and extent <= most:
        member = waiting.pop()
        if isinstance(member, str):
            extent += 1 + len(member) // _CHARACTERS
        elif isinstance(member, list):
            extent += 1 + len(member)
            waiting += member
        elif isinstance(member, dict):
            extent += 1 + len(member) + sum(map(len, member)) // _CHARACTERS
            waiting += member.values()
    return extent
