"""The model that judges, and how it is called; what its replies say is read in `judges.declared`.

Every judge of this package makes its calls by `Judge.ask` and `repeated`. A suite has one judge, or several by name
with a jury; they are set on the scorers that have no judge of their own.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import wraps
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, TypeVar, cast

from steelyard.constraints import Within
from steelyard.errors import ConfigError
from steelyard.models.base import AskedModel, CallParameters, ModelInfo, is_model
from steelyard.models.decisions import DECISIONS
from steelyard.models.refused_parameters import without_second_limit
from steelyard.prompts.fenced_prompt import FencedPrompt
from steelyard.prompts.language import Language, LanguageSetting, prompt_language
from steelyard.prompts.message_parts import images_in
from steelyard.prompts.reply_schema import response_format
from steelyard.registry import NOT_A_SETTING
from steelyard.replies.judge_reply import Scale
from steelyard.scorers.judges.decisions import (
    as_verdict,
    numbered_questions,
    preference_question,
    rating_question,
    yes_no_question,
)
from steelyard.session.parameter_findings import may_drop
from steelyard.session.reply_schemas import ask_for_schema, marked
from steelyard.types import Asks, Message, Reply, Sample, Scorer, WrapsScorers

STEADY: Final[Mapping[str, Any]] = MappingProxyType(
    {"temperature": 0, "top_p": 1, "frequency_penalty": 0, "presence_penalty": 0}
)
"""Sent with every call of a judge, to make its replies as repeatable as the model allows; left out where refused."""

_NAME: Final = re.compile(r"[\w.-]+")
_YES_NO: Final[Mapping[str, Any]] = MappingProxyType({"type": "string", "enum": ["YES", "NO"]})
_NO_SCHEMA: Final[Mapping[str, Any]] = MappingProxyType({})

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Judge:
    """The model that judges, and how it is asked.

    Args:
        model: what judges; its own, whatever the target is.
        repeats: how often each verdict is asked for. The score is the mean of those that were read, with their
            standard deviation and the share that differs from the most frequent one (flip rate).
        language: of the prompts; `auto` is Chinese where question and answer are, else English.
        parameters: of every call, over those that judges send (temperature 0, top_p 1, no penalties); null takes one
            out, for endpoints that refuse it.
        name: appended to the names of its scores: with `strict` a scorer gives `correct_strict`. Two judges with
            different names can score the same thing in one suite, and reports show how far they agree. Letters,
            digits, `-`, `_` and `.`; any other character is refused.
        structured: `auto` requests verdicts by a JSON schema, the reason before the verdict, and free text where the
            endpoint refuses schemas; true requests a schema, and a refusal is an error; false requests free text. Both
            forms are read by the same reader, and each score records which form was requested. `decisions` asks the
            endpoint's `/decisions` for the probability of each verdict, and for free text where it has none.
        system: a system message before every prompt of this judge, as a text or a file; a scorer's own wins.
        images: whether the images of an input are sent after the prompt, for models that take them: by `guideline`,
            `rubric`, `g_eval` and `correctness`. Else a placeholder stands for each.
    """

    model: AskedModel | None = None
    repeats: Annotated[int, Within(1, 100)] = 1
    language: LanguageSetting = "auto"
    parameters: CallParameters = field(default_factory=dict)
    name: str = ""
    structured: Literal["auto", "decisions"] | bool = False
    system: Path | str = ""
    images: bool = False
    earlier_prompts: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False, metadata=NOT_A_SETTING)
    """Packaged prompt -> its text in a stored run that is scored again or resumed; see `with_stored_prompts`."""

    def __post_init__(self) -> None:
        # Not left to `check`: a scorer builds the names of its scores from it before anything is checked.
        if self.name and not (isinstance(self.name, str) and _NAME.fullmatch(self.name)):
            raise ConfigError(f"name: expected letters, digits, -, _ and . for a judge's name, but got {self.name!r}")

    def check(self) -> None:
        """Check the settings before anything is sent.

        Raises:
            ConfigError: no model, two forms of the reply, or a model whose kind of endpoint has no decisions.
        """
        if self.model is None:
            raise ConfigError("it has no model to ask: set judge: {model: ...}, for all scorers or for this one")
        if self.structured == "decisions" and not getattr(self.model, "takes_decisions", False):
            raise ConfigError(
                "structured: decisions needs a model of openai_compatible, openai_responses or gemini; auto, true and "
                "false work with every model"
            )
        if self.structured and "response_format" in {**ModelInfo.of(self.model).parameters, **self.parameters}:
            raise ConfigError("structured and a response_format among the parameters: give one of them")

    def shown_images(self, messages: list[Message], sample: Sample) -> list[Message]:
        """A prompt with the images of a sample's input after its text, where this judge is to see them."""
        images = images_in(sample.input) if self.images else []
        if not images:
            return messages
        *earlier, last = messages
        return [*earlier, {**last, "content": [{"type": "text", "text": last["content"]}, *images]}]

    def rating_schema(
        self, *, reason: bool = True, scale: Scale | None = None, levels: Sequence[float] | None = None
    ) -> dict[str, Any]:
        """Request parameters that restrict a reply to a rating in JSON; empty where verdicts are not structured.

        Args:
            reason: whether the judge gives its reasons, in front of the rating.
            scale: on which it is asked for; without it and `levels` no decision can be asked for.
            levels: the only values that may be given, see `declared.rating`.
        """
        if self.structured == "decisions":
            return rating_question(scale, levels)
        return self._schema("rating", {"rating": {"type": "number"}}, reason=reason)

    def yes_no_schema(self) -> dict[str, Any]:
        """Request parameters that restrict a reply to YES or NO in JSON; empty as above."""
        if self.structured == "decisions":
            return yes_no_question()
        return self._schema("verdict", {"verdict": _YES_NO})

    def numbered_schema(self, count: int) -> dict[str, Any]:
        """Request parameters for a list of YES or NO, each with its number.

        Args:
            count: of the numbers; only the questions of `decisions` differ by it.
        """
        if self.structured == "decisions":
            return numbered_questions(count)
        if not self.structured:
            return {}
        entry = _closed({"number": {"type": "integer"}, "reason": {"type": "string"}, "verdict": _YES_NO})
        return _format("verdicts", _closed({"verdicts": {"type": "array", "items": entry}}))

    def preference_schema(self) -> dict[str, Any]:
        """Request parameters that restrict a reply to A, B, or C for neither, in JSON."""
        if self.structured == "decisions":
            return preference_question()
        return self._schema("preference", {"preference": {"type": "string", "enum": ["A", "B", "C"]}})

    def _schema(self, title: str, verdict: Mapping[str, Any], *, reason: bool = True) -> dict[str, Any]:
        if not self.structured:
            return {}
        # The reason comes first: a verdict that is written before it cannot be based on it.
        before = {"reason": {"type": "string"}} if reason else {}
        return _format(title, _closed({**before, **verdict}))

    def language_for(self, *texts: str) -> Language:
        """The language of a prompt that shows `texts`."""
        return prompt_language(self.language, *texts)

    async def ask(
        self, ask: Asks, messages: list[Message], /, *, schema: Mapping[str, Any] = _NO_SCHEMA, **parameters: Any
    ) -> Reply:
        """Make one call; the user's parameters override the scorer's, and these override `STEADY`.

        Args:
            ask: of the runner.
            messages: the prompt.
            schema: parameters that restrict the reply to a JSON schema, see `rating_schema`; they replace those of
                `parameters` in calls with the schema.
            **parameters: of the call.

        Raises:
            ModelError: the call failed for good.
        """
        ask = may_drop(ask, self.optional(parameters))
        free = self.sent(parameters)
        if not schema:
            return await ask(self.model, messages, **free)
        if DECISIONS in schema and self.model is not None:
            reply = await ask_for_schema(ask, self.model, messages, schema=schema, free=free)
            return as_verdict(reply, schema[DECISIONS])
        restricted = self.sent({**parameters, **schema})
        if self.structured == "auto" and self.model is not None:
            return await ask_for_schema(ask, self.model, messages, schema=restricted, free=free)
        return marked(await ask(self.model, messages, **restricted), "")

    async def ask_once(self, ask: Asks, messages: list[Message], /, **parameters: Any) -> Reply:
        """Make one call whose reply serves all samples and repeats, such as evaluation steps."""
        ask = may_drop(ask, self.optional(parameters))
        return await ask.once(self.model, messages, **self.sent(parameters))

    def optional(self, parameters: Mapping[str, Any] = _NO_SCHEMA) -> frozenset[str]:
        """The parameters of a call that the user did not set, and that an endpoint may refuse."""
        return frozenset({*STEADY, *parameters}) - frozenset(self.parameters)

    def sent(self, parameters: Mapping[str, Any] = _NO_SCHEMA) -> dict[str, Any]:
        """The parameters of a call, beside those of the model: the user's over the scorer's over `STEADY`."""
        own = {**ModelInfo.of(self.model).parameters, **self.parameters}
        merged = {**STEADY, **without_second_limit(parameters, own), **self.parameters}
        return {name: value for name, value in merged.items() if value is not None}

    async def verdicts(
        self,
        ask: Asks,
        messages: list[Message],
        read: Callable[[Reply], T],
        /,
        *,
        schema: Mapping[str, Any] = _NO_SCHEMA,
        **parameters: Any,
    ) -> tuple[T, ...]:
        """The verdicts of `read` on the replies to the same messages, one for each of the `repeats`; as in `ask`.

        Raises:
            ModelError: as in `repeated`.
        """

        async def ask_and_read() -> T:
            return read(await self.ask(ask, messages, schema=schema, **parameters))

        return await self.repeated(ask_and_read)

    async def repeated(self, once: Callable[[], Awaitable[T]]) -> tuple[T, ...]:
        """The results of `repeats` concurrent calls of `once`.

        Raises:
            ModelError: the first that failed, raised after all calls have ended, so that the other replies are kept.
        """
        return await together([once] * self.repeats)


_Scorer = TypeVar("_Scorer")


def takes_model(cls: type[_Scorer]) -> type[_Scorer]:
    """Class decorator of a scorer with the field `judge`: a model in its place becomes a `Judge` of it."""
    original_init: Any = cls.__init__
    position = [part.name for part in fields(cls) if part.init and not part.kw_only].index("judge")  # type: ignore[arg-type]  # a dataclass

    @wraps(original_init)
    def init_with_judge(self: Any, *args: Any, **keywords: Any) -> None:
        args = (*args[:position], *map(_as_judge, args[position : position + 1]), *args[position + 1 :])
        original_init(
            self, *args, **{key: _as_judge(value) if key == "judge" else value for key, value in keywords.items()}
        )

    cls.__init__ = init_with_judge  # type: ignore[method-assign]
    return cls


def _as_judge(value: Any) -> Any:
    return Judge(value) if not isinstance(value, Judge) and is_model(value) else value


def _closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object that has these properties, all of them and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _format(title: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"response_format": response_format({"title": title, **schema})}


async def together(calls: Sequence[Callable[[], Awaitable[T]]]) -> tuple[T, ...]:
    """The results of `calls`, run concurrently, in their order.

    They begin in their order, so that of several equal ones the first is always the first in the journal. A procedure
    of several steps therefore takes each step in all its repeats together, and no repeat runs ahead.

    Raises:
        ModelError: the first that failed, raised after all calls have ended, so that the other replies are kept.
    """
    if len(calls) == 1:
        return (await calls[0](),)
    results = []
    for result in await asyncio.gather(*(call() for call in calls), return_exceptions=True):
        if isinstance(result, BaseException):
            raise result
        results.append(result)
    return tuple(results)


def judge_of(scorer: object) -> Judge | None:
    """The judge that a scorer asks; None where it asks none."""
    judge = getattr(scorer, "judge", None)
    return judge if isinstance(judge, Judge) else None


def judged_by(scorer: Any, judge: Judge) -> Any:
    """Return the scorer with another judge; one that wraps scorers passes it on to those that have the same as it."""
    asks_itself = any(own.name == "judge" for own in fields(scorer))
    if isinstance(scorer, WrapsScorers):
        shared = judge_of(scorer)
        inner = replace(judge, name="") if asks_itself else judge  # `checks` gives the scores of its parts their names
        parts = (judged_by(part, inner) if judge_of(part) == shared else part for part in scorer.parts)
        scorer = scorer.with_parts(tuple(parts))
    return replace(scorer, judge=judge) if asks_itself else scorer


def with_stored_prompts(scorer: Scorer, described: Any) -> Scorer:
    """The scorer with the packaged prompts that a stored run was judged with, which an earlier version may have worded.

    A run that is scored again asks for the replies to the very texts that were sent, and one that is resumed must not
    be judged by two prompts. Templates of the user's own stay as they are.

    Args:
        scorer: any; one that sends no prompts is returned as it is.
        described: what the run's manifest has of it; None where it has nothing.
    """
    given: Any = scorer
    if isinstance(given, WrapsScorers):
        parts = zip(given.parts, _described_parts(given, described), strict=False)
        return given.with_parts(tuple(with_stored_prompts(part, stored) for part, stored in parts))
    prompts: Mapping[str, FencedPrompt] = getattr(scorer, "prompts", {})
    judge, stored = judge_of(scorer), _stored_prompts(described)
    if not prompts or not stored or judge is None:
        return scorer
    earlier: dict[str, str] = {}
    for key, prompt in prompts.items():
        earlier |= prompt.earlier_texts(stored.get(key, {}))
    return cast("Scorer", judged_by(scorer, replace(judge, earlier_prompts=earlier)))


def _described_parts(scorer: WrapsScorers, described: Any) -> Sequence[Any]:
    """What a manifest has of each scorer inside of another one; None for each where it has nothing."""
    if hasattr(scorer, "described"):
        return [described] * len(scorer.parts)
    fields = next(iter(described.values()), None) if isinstance(described, Mapping) else None
    if not isinstance(fields, Mapping):
        return [None] * len(scorer.parts)
    stored = fields.get("scorers") or fields.get("every") or [fields.get("scorer")]
    return stored if len(stored) == len(scorer.parts) else [None] * len(scorer.parts)


def _stored_prompts(described: Any) -> Mapping[str, Any]:
    """The prompts in a manifest's entry of a scorer, which is `{name: {fields}}`; empty where it has none."""
    fields = next(iter(described.values()), None) if isinstance(described, Mapping) else None
    stored = fields.get("prompts") if isinstance(fields, Mapping) else None
    return stored if isinstance(stored, Mapping) else {}


@dataclass(frozen=True, slots=True)
class SuiteJudges:
    """The judges of a suite.

    Args:
        several: by name; empty where there is one, or none.
        one: the judge; the default `Judge()` where there is none, or several.
        jury: the rule of the jury, for the manifest; empty where there is none.
    """

    several: Mapping[str, Judge]
    one: Judge
    jury: Mapping[str, str]

    @classmethod
    def given(cls, judge: Judge, judges: Mapping[str, Judge], jury: str) -> SuiteJudges:
        """The judges from the values of the three keys.

        Raises:
            ConfigError: both `judge` and `judges` are set.
        """
        if judges and judge != Judge():
            raise ConfigError("judge and judges: name one judge, or several by their names")
        return cls(judges, judge, {"vote": jury} if jury else {})

    @property
    def can_ask(self) -> bool:
        """Whether there is a model to ask."""
        return bool(self.several) or self.one.model is not None

    def in_language(self, language: Language) -> SuiteJudges:
        """The same judges; those whose prompts are in the language of each record have them in one for all."""
        several = {name: in_language(judge, language) for name, judge in self.several.items()}
        return replace(self, several=several, one=in_language(self.one, language) if self.can_ask else self.one)

    def given_to(self, scorers: Sequence[Scorer]) -> tuple[Scorer, ...]:
        """The scorers with their judges; with several judges, each scorer that needs one is repeated for each of them.

        Raises:
            ConfigError: there are several judges, and no scorer needs one.
        """
        if not self.several:
            return with_judge(scorers, self.one)
        if not any(map(_wants_judge, scorers)):
            raise ConfigError("judges: no scorer uses them: each has its own judge, or needs none")
        return with_judges(scorers, self.several)


def in_language(judge: Judge, language: Language) -> Judge:
    """The judge; one whose prompts are in the language of each record has them in this one."""
    return replace(judge, language=language) if judge.language == "auto" else judge


def with_judge(scorers: Sequence[Scorer], judge: Judge) -> tuple[Scorer, ...]:
    """The scorers, with `judge` set on those that take a judge and have the default one."""
    return tuple(judged_by(scorer, judge) if _wants_judge(scorer) else scorer for scorer in scorers)


def with_judges(scorers: Sequence[Scorer], judges: Mapping[str, Judge]) -> tuple[Scorer, ...]:
    """The scorers; each that takes a judge and has the default one is repeated for each of `judges`, by name.

    Raises:
        ConfigError: a name that cannot be a judge's.
    """
    try:
        named_judges = [replace(judge, name=name) for name, judge in judges.items()]
    except ConfigError as error:
        raise ConfigError(f"judges: {error.message.removeprefix('name: ')}") from error
    return tuple(
        judged_scorer
        for scorer in scorers
        for judged_scorer in (
            [judged_by(scorer, judge) for judge in named_judges] if _wants_judge(scorer) else [scorer]
        )
    )


def _wants_judge(scorer: Any) -> bool:
    return is_dataclass(scorer) and not isinstance(scorer, type) and judge_of(scorer) == Judge()
