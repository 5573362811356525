"""Who judges: a model of its own, set apart from the target's, and how it is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Literal, TypeVar, get_args

from steelyard.errors import ConfigError, did_you_mean, expect_number
from steelyard.models.base import Model
from steelyard.models.references import check_sent
from steelyard.text.language import Language, language_of
from steelyard.types import Asks, Message, Reply, Scorer

STEADY: Final[Mapping[str, Any]] = MappingProxyType(
    {"temperature": 0, "top_p": 1, "frequency_penalty": 0, "presence_penalty": 0}
)
"""Sent with every call of a judge, so that it says the same again as far as its model can."""

_MOST_REPEATS: Final = 100

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Judge:
    """The model that judges, and how it is asked.

    Args:
        model: what judges; its own, whatever the target is.
        repeats: how often each verdict is asked for. The score is the mean of those that were read, beside their
            standard deviation and the share that differs from the most frequent one (flip rate).
        language: of the prompts; `auto` is Chinese where question and answer are, else English.
        parameters: of every call, over those that judges send (temperature 0, top_p 1, no penalties); null takes one
            out, for endpoints that refuse it.
    """

    model: Model | None = None
    repeats: int = 1
    language: Literal["auto", "en", "zh"] = "auto"
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        """Find what cannot be meant before anything is sent.

        Raises:
            ConfigError: no model, a number of repeats or a language that there is not, a key among the parameters.
        """
        if self.model is None:
            raise ConfigError("it asks a model and has none: set judge: {model: ...}, for all scorers or for this one")
        if not hasattr(self.model, "request"):
            raise ConfigError(f"judge: {type(self.model).__name__} is no model")
        expect_number("repeats", self.repeats, 1, _MOST_REPEATS, whole=True)
        known = ("auto", *get_args(Language))
        if self.language not in known:
            raise ConfigError(f"language: there is no {self.language!r}{did_you_mean(str(self.language), known)}")
        check_sent("parameters", self.parameters)

    def language_for(self, *texts: str) -> Language:
        """The language of the prompt to be sent about `texts`."""
        return language_of(*texts) if self.language == "auto" else self.language

    async def ask(self, ask: Asks, messages: list[Message], /, **parameters: Any) -> Reply:
        """One call; `parameters` are the scorer's own, which win over `STEADY` and lose against the user's."""
        return await ask(self.model, messages, **self._given(parameters))

    async def ask_once(self, ask: Asks, messages: list[Message], /, **parameters: Any) -> Reply:
        """The same, asked once for all samples and repeats: what a judge writes for itself before it judges."""
        return await ask.once(self.model, messages, **self._given(parameters))

    def _given(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        given = {**STEADY, **parameters, **self.parameters}
        return {name: value for name, value in given.items() if value is not None}

    async def repeated(self, once: Callable[[], Awaitable[T]]) -> tuple[T, ...]:
        """What `once` gives, `repeats` times, asked side by side.

        Raises:
            ModelError: of the first that failed, when all have come in: what the others paid for is kept.
        """
        return await together([once] * self.repeats)


async def together(calls: Sequence[Callable[[], Awaitable[T]]]) -> tuple[T, ...]:
    """What `calls` give, in their order, asked side by side.

    They begin in their order, so that of several equal ones the first is always the first in the journal. A procedure
    of several steps therefore takes each step in all its repeats together, and no repeat runs ahead.

    Raises:
        ModelError: of the first that failed, when all have come in: what the others paid for is kept.
    """
    if len(calls) == 1:
        return (await calls[0](),)
    given = []
    for one in await asyncio.gather(*(call() for call in calls), return_exceptions=True):
        if isinstance(one, BaseException):
            raise one
        given.append(one)
    return tuple(given)


def with_judge(scorers: Sequence[Scorer], judge: Judge) -> tuple[Scorer, ...]:
    """`scorers`, of which those that want a judge and were given none take `judge`."""
    return tuple(_given_judge(scorer, judge) for scorer in scorers)


def _given_judge(scorer: Any, judge: Judge) -> Any:
    wants = is_dataclass(scorer) and not isinstance(scorer, type) and getattr(scorer, "judge", None) == Judge()
    return replace(scorer, judge=judge) if wants else scorer
