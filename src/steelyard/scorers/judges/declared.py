"""What a judge declares of itself, and the one procedure that asks it.

A judge is a scorer that names its prompts with the values that they show (`asks`). For each sample it says what is to
be shown and in which form the verdict is requested (`case`); `AskingScorer` makes the calls and computes the score. A
judge of several steps, such as faithfulness, writes its own `__call__` and takes its prompts from here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final

from steelyard.prompts.fenced_prompt import FencedPrompt, prompts_manifest
from steelyard.prompts.language import Language
from steelyard.replies.judge_reply import Scale, Verdict
from steelyard.replies.rating import read_rating
from steelyard.scorers.judges.judge import Judge
from steelyard.scorers.judges.verdicts import combined_verdict, read_numbered, score_of, unless_stopped, yes_no_in
from steelyard.types import Asks, Output, Reply, Sample, Score

REASON_TOKENS: Final = 512
"""Room in a reply for the reasons before a verdict."""
TOKENS_EACH: Final = 150
"""Room for each of several verdicts: one with its reason in a sentence takes about 40; Chinese takes more."""


@dataclass(frozen=True, slots=True)
class PromptForm:
    """A prompt of a judge: what it shows, and which option holds the user's own template.

    Args:
        fenced: names of the values that are put between marks, see `FencedPrompt`; also `plain`, `needed`, `shared`.
        template: the option; "" for a prompt that is always the packaged one.
        system: whether the scorer's system message stands before it; else only the judge's does.
    """

    fenced: tuple[str, ...]
    plain: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    template: str = "template"
    system: bool = True


@dataclass(frozen=True, slots=True)
class VerdictRequest:
    """In which form the verdict is requested, and how it is read.

    Args:
        read: the verdicts in one reply: several where they are numbered, else one.
        schema: the request parameters of a reply in JSON, of a judge that asks for one.
        max_tokens: of a reply; None: as many as the endpoint allows.
        numbered: whether each reply has a verdict under each number, of which the share of YES is the score.
    """

    read: Callable[[Reply], tuple[Verdict, ...]]
    schema: Callable[[Judge], Mapping[str, Any]]
    max_tokens: int | None = None
    numbered: bool = False


def yes_or_no(max_tokens: int | None = None, read: Callable[[Reply], Verdict] = yes_no_in) -> VerdictRequest:
    """YES or NO."""
    return VerdictRequest(lambda reply: (read(reply),), Judge.yes_no_schema, max_tokens)


def numbered(count: int, max_tokens: int | None = None) -> VerdictRequest:
    """YES or NO under each number from 1 to `count`."""
    schema = partial(Judge.numbered_schema, count=count)
    return VerdictRequest(partial(read_numbered, n=count), schema, max_tokens, numbered=True)


def rating(
    scale: Scale, max_tokens: int | None = None, name: str = "", levels: Sequence[float] | None = None
) -> VerdictRequest:
    """A number of a scale.

    Args:
        scale: its ends.
        max_tokens: of a reply.
        name: of what is rated, which may stand before the number.
        levels: the values that may be given; a rating between them is out of scale. None: any of the scale.
    """

    def read(reply: Reply) -> tuple[Verdict, ...]:
        verdict = unless_stopped(read_rating(reply.text, scale, name=name, finish=reply.finish), reply)
        if verdict.value is None or levels is None or verdict.value in levels:
            return (verdict,)
        reason = f"{verdict.value:g} is not one of the levels. {verdict.reason}".strip()
        return (replace(verdict, outcome="unparsed", value=None, kind="out_of_scale", reason=reason),)

    return VerdictRequest(read, partial(Judge.rating_schema, scale=scale, levels=levels), max_tokens)


@dataclass(frozen=True, slots=True)
class Case:
    """One output to judge.

    Args:
        name: of the score.
        language: of the prompt.
        values: what the prompt shows; `answer` is what is judged.
        form: of the verdict.
        passes: whether a value is good enough; None: nothing passes or fails.
        detail: of the score.
        prompt: the prompt to send, by its name in the manifest; "" for the first.
    """

    name: str
    language: Language
    values: Mapping[str, str]
    form: VerdictRequest
    passes: Callable[[float], bool] | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    prompt: str = ""


Repeats = Sequence[tuple[Verdict, ...]]
"""What was read in the reply of each repeat."""


@dataclass(frozen=True, slots=True)
class AskingScorer:
    """A scorer that asks a judge.

    Args:
        judge: the model that judges.
        system: a system message before its prompts, as a text or a file, which may name the same values.
    """

    asks: ClassVar[Mapping[str, PromptForm]] = MappingProxyType({})
    """Name of a prompt, packaged and in the manifest -> what it shows."""
    shows_images: ClassVar[bool] = False

    judge: Judge = Judge()
    system: Path | str = field(default="", kw_only=True)

    @property
    def prompts(self) -> dict[str, FencedPrompt]:
        """The prompts that are sent, by their names in the manifest."""
        return {name: self.prompt(name, form) for name, form in self.asks.items()}

    def prompt(self, name: str, form: PromptForm) -> FencedPrompt:
        """The prompt `judge_<name>`, or the user's own."""
        own = getattr(self, form.template) if form.template else ""
        system = (self.system if form.system else "") or self.judge.system
        earlier = self.judge.earlier_prompts
        return FencedPrompt(f"judge_{name}", own, form.fenced, form.plain, form.needed, earlier, form.shared, system)

    def manifest(self) -> dict[str, Any]:
        """The prompts and their hashes."""
        return prompts_manifest(**self.prompts)

    def check(self) -> None:
        """Check the prompts.

        Raises:
            ConfigError: one that names an unknown value, lacks what is judged, or cannot be read.
        """
        for prompt in self.prompts.values():
            prompt.check()

    def case(self, sample: Sample, output: Output) -> Case | Score | Sequence[Score]:
        """What to judge of one output, or its scores where nothing has to be asked."""
        raise NotImplementedError

    def scores(self, case: Case, repeats: Repeats) -> Score | Sequence[Score]:
        """The scores of one output."""
        return scored(case, repeats)

    async def __call__(self, sample: Sample, output: Output, ask: Asks) -> Score | Sequence[Score]:
        """Judge one output."""
        case = self.case(sample, output)
        if not isinstance(case, Case):
            return case
        prompts, form = self.prompts, case.form
        prompt = prompts[case.prompt] if case.prompt else next(iter(prompts.values()))
        messages = prompt.messages(case.language, case.values)
        if self.shows_images:
            messages = self.judge.shown_images(messages, sample)
        limit = {} if form.max_tokens is None else {"max_tokens": form.max_tokens}
        repeats = await self.judge.verdicts(ask, messages, form.read, schema=form.schema(self.judge), **limit)
        return self.scores(case, repeats)


def scored(case: Case, repeats: Repeats, detail: Mapping[str, Any] | None = None) -> Score:
    """The score of a case; of numbered verdicts it is the share of YES."""
    verdicts = [
        combined_verdict(verdicts, count_yes(verdicts) / len(verdicts)) if case.form.numbered else verdicts[0]
        for verdicts in repeats
    ]
    noted = {**case.detail, **(detail or {})}
    return score_of(case.name, verdicts, candidate=case.values["answer"], passes=case.passes, detail=noted)


def count_yes(verdicts: Sequence[Verdict]) -> int:
    """How many verdicts are YES."""
    return sum(verdict.value == 1 for verdict in verdicts)


def at_least(threshold: float | None) -> Callable[[float], bool] | None:
    """Whether a value reaches a threshold; None without one."""
    return None if threshold is None else lambda value: value >= threshold


def is_most(value: float) -> bool:
    """Whether the mean of repeated YES and NO is more YES than NO; a draw is NO."""
    return value > 1 / 2


def majority(score: Score, repeats: int) -> Score:
    """The score with the majority of its repeats in place of their mean, so that it stays 0 or 1; a draw is 0."""
    if score.value is None or repeats == 1:
        return score
    how = f"majority of {repeats} repeats"
    return replace(score, value=float(is_most(score.value)), detail={**score.detail, "how": how})
