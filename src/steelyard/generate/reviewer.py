"""The two targets of a review: one says why a single sample failed, one gathers the reasons under causes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal, get_args

from steelyard.errors import ConfigError, did_you_mean
from steelyard.generate.review_reading import read_causes, read_reason
from steelyard.models.base import Model
from steelyard.models.references import check_sent
from steelyard.text.fenced_prompt import FencedPrompt
from steelyard.text.language import Language, language_of
from steelyard.types import Asks, Output, Sample, Score

BATCH: Final = 100
"""Reasons that are put before a model at once: some 8,000 tokens."""
MOST_CAUSES: Final = 8
_SHOWN: Final = ("question", "expected", "passages", "answer", "verdicts")
_REASON: Final = FencedPrompt("review_reason", "", _SHOWN, (), needed=_SHOWN)
_CAUSES: Final = FencedPrompt(
    "review_causes", "", ("reasons", "known"), ("count", "most"), needed=("reasons", "known", "count", "most")
)


@dataclass(frozen=True, slots=True)
class Reviewer:
    """A model that says why a sample failed.

    Args:
        model: what is asked.
        language: of the prompts; `auto` is Chinese where question and answer are, else English.
        parameters: of every call, over those of the model.
    """

    model: Model
    language: Literal["auto", "en", "zh"] = "auto"
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        """Find what cannot be meant before anything is sent.

        Raises:
            ConfigError: no model, or a language that there is not.
        """
        _check(self.model, self.language, self.parameters)
        _REASON.check()

    def manifest(self) -> dict[str, Any]:
        """The words that are sent, by language, and their hash."""
        return {"prompts": {"reason": _REASON.manifest()}}

    def rehearse(self, _messages: Any) -> str:
        """What a dry run takes for every reply."""
        return "The answer names another unit than the question asks for."

    async def __call__(self, sample: Sample, ask: Asks) -> Output:
        """One call; the reason, or nothing with why it could not be read."""
        values = {name: str(sample.input[name]) for name in _SHOWN}
        language = _language(self.language, values["question"], values["answer"])
        reply = await ask(self.model, _REASON.messages(language, values), **self.parameters)
        found = read_reason(reply.text, finish=reply.finish)
        return Output(found.text, metadata={"kind": found.kind} if found.kind else {})


@dataclass(frozen=True, slots=True)
class CauseFinder:
    """A model that gathers reasons under causes: a call for each `BATCH` of them, one after the other.

    A later batch is shown the causes of the earlier ones, so that one cause has one name.

    Args:
        model: as in `Reviewer`, like the rest.
    """

    model: Model
    language: Literal["auto", "en", "zh"] = "auto"
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        """Find what cannot be meant before anything is sent.

        Raises:
            ConfigError: no model, or a language that there is not.
        """
        _check(self.model, self.language, self.parameters)
        _CAUSES.check()

    def manifest(self) -> dict[str, Any]:
        """The words that are sent, by language, and their hash."""
        return {"prompts": {"causes": _CAUSES.manifest()}}

    def rehearse(self, _messages: Any) -> str:
        """What a dry run takes for every reply: all under one cause."""
        return f"wrong unit: 1-{BATCH}"

    async def __call__(self, sample: Sample, ask: Asks) -> Output:
        """Cause -> places of its reasons, 0-based; a reason that was put under none is in no list."""
        reasons: Sequence[str] = sample.input
        causes: dict[str, list[int]] = {}
        for start in range(0, len(reasons), BATCH):
            batch = reasons[start : start + BATCH]
            for name, numbers in (await self._of_batch(batch, tuple(causes), ask)).items():
                known = next((one for one in causes if one.casefold() == name.casefold()), name)
                causes.setdefault(known, []).extend(start + number - 1 for number in numbers)
        return Output(causes)

    async def _of_batch(self, batch: Sequence[str], known: Sequence[str], ask: Asks) -> Mapping[str, Sequence[int]]:
        values = {
            "reasons": "\n".join(f"{no}. {one}" for no, one in enumerate(batch, start=1)),
            "known": "\n".join(known) or "-",
            "count": str(len(batch)),
            "most": str(max(MOST_CAUSES, len(known))),
        }
        messages = _CAUSES.messages(_language(self.language, *batch), values)
        reply = await ask(self.model, messages, **self.parameters)
        return read_causes(reply.text, len(batch))


@dataclass(frozen=True, slots=True)
class ReasonGiven:
    """1 where a reason was given; a reply that holds none is unparsed, a refusal refused.

    >>> ReasonGiven()(Sample("1", {}), Output("It reads miles.")).value
    1.0
    """

    score_name: ClassVar[str] = "reason"
    over: ClassVar[str] = "scored"
    inline: ClassVar[bool] = True

    def __call__(self, sample: Sample, output: Output) -> Score:  # noqa: ARG002  # what a scorer is given
        """Look whether there is one."""
        kind = output.metadata.get("kind", "")
        if kind == "refused":
            return Score("reason", None, outcome="refused", reason="the model refused to say why")
        if kind:
            return Score("reason", None, outcome="unparsed", reason="no reason can be read", detail={"kind": kind})
        return Score("reason", 1.0, passed=True)


@dataclass(frozen=True, slots=True)
class ReasonsPlaced:
    """The share of reasons that were put under a cause; unparsed where none was.

    >>> ReasonsPlaced()(Sample("causes", ["a", "b"]), Output({"wrong unit": [1]})).value
    0.5
    """

    score_name: ClassVar[str] = "placed"
    over: ClassVar[str] = "scored"
    inline: ClassVar[bool] = True

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Count."""
        placed = sum(len(places) for places in output.value.values())
        if not placed:
            return Score("placed", None, outcome="unparsed", reason="no cause can be read", detail={"kind": "none"})
        return Score("placed", placed / len(sample.input), passed=placed == len(sample.input))


def _check(model: Any, language: str, parameters: Mapping[str, Any]) -> None:
    if not hasattr(model, "request"):
        raise ConfigError(f"{type(model).__name__} is no model")
    known = ("auto", *get_args(Language))
    if language not in known:
        raise ConfigError(f"language: there is no {language!r}{did_you_mean(language, known)}")
    check_sent("parameters", parameters)


def _language(given: Literal["auto", "en", "zh"], *texts: str) -> Language:
    return language_of(*texts) if given == "auto" else given
