"""Limits of options that classes declare on their fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import pytest

from steelyard.constraints import Filled, ScoreName, Share, TextList, Within, check_options, option_of
from steelyard.errors import ConfigError


@dataclass(frozen=True)
class Inner:
    n: int = 1


@dataclass(frozen=True)
class Options:
    count: Annotated[int, Within(1, 9)] = 1
    beta: Annotated[float, Within(0, 2, above=True)] = 1.0
    share: Share | None = None
    most: Annotated[int | None, Within(0)] = None
    mode: Literal["any", "all"] = "any"
    reference: Literal["auto"] | bool = "auto"
    also: tuple[Literal["a", "b"], ...] = ()
    steps: Annotated[tuple[str, ...], TextList(1, 3)] = ("read",)
    criteria: Annotated[str | tuple[str, ...], TextList(most=2, or_text=True)] = ""
    name: ScoreName = "score"
    question: Annotated[str, Filled("describe what is judged")] = "Is it polite?"
    inner: Inner = Inner()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": 0}, "count must be a whole number from 1 to 9, not 0"),
        ({"count": 1.5}, "count must be a whole number from 1 to 9, not 1.5"),
        ({"count": True}, "count must be a whole number from 1 to 9, not True"),
        ({"beta": 0}, "beta must be a number above 0 and at most 2, not 0"),
        ({"beta": 3}, "beta must be a number from 0 to 2, not 3"),
        ({"share": 1.5}, "share must be a number from 0 to 1, not 1.5"),
        ({"most": 0.5}, "most must be a whole number of 0 or more, not 0.5"),
        ({"mode": "ani"}, "mode: expected any or all, but got 'ani': did you mean 'any'?"),
        ({"reference": "always"}, "reference: expected auto, true or false, but got 'always'"),
        ({"also": ("a", "c")}, "also: expected a or b, but got 'c'"),
        ({"steps": "read"}, "steps: expected a list of 1 to 3 texts, but got 'read'"),
        ({"steps": ()}, "steps: expected a list of 1 to 3 texts, but got ()"),
        ({"steps": ("read", " ")}, "steps: each must be a text that is not blank"),
        (
            {"criteria": ("a", "b", "c")},
            "criteria: expected a text, or a list of at most 2 texts, but got ('a', 'b', 'c')",
        ),
        ({"name": "two\nlines"}, "name: a score has a printable name, not 'two\\nlines'"),
        ({"question": " "}, "question: describe what is judged"),
        ({"inner": {"n": 1}}, "inner must be a Inner, not {'n': 1}"),
    ],
)
def test_an_option_beyond_its_limits_is_refused_by_name(options, message):
    with pytest.raises(ConfigError) as error:
        check_options(Options(**options))
    assert str(error.value) == message


def test_options_within_their_limits_pass():
    check_options(Options())
    check_options(Options(9, 2, 0, 0, "all", False, ("b", "a"), ("a", "b", "c"), "polite"))
    check_options(object())


def test_an_option_that_is_given_later_is_not_checked():
    check_options(Options(count=0), but={"count"})


def test_the_place_of_an_object_stands_before_the_name():
    with pytest.raises(ConfigError, match=r"^retry\.count must be"):
        check_options(Options(count=0), within="retry.")


def test_a_check_of_the_class_itself_follows_its_fields():
    @dataclass(frozen=True)
    class Both:
        low: int = 0
        high: int = 1

        def check(self) -> None:
            if self.low > self.high:
                raise ConfigError(f"low: {self.low} is above high: {self.high}")

    with pytest.raises(ConfigError, match="low: 2 is above high: 1"):
        check_options(Both(2))


def test_types_of_a_class_of_the_user_that_cannot_be_resolved_are_left_alone():
    @dataclass(frozen=True)
    class Theirs:
        value: NotImportedAnywhere = 3  # type: ignore[name-defined]  # noqa: F821

    check_options(Theirs())


@pytest.mark.parametrize(
    ("message", "option"),
    [
        ("count must be a whole number", "count"),
        ("options: count: unknown", "count"),
        ("retry.count must be", "count"),
        ("the count is unknown", ""),
    ],
)
def test_a_message_tells_which_option_it_is_about(message, option):
    assert option_of(message, {"count": 1}) == option
