"""What a judge declares of itself, the one procedure that asks it, and how the verdicts read become a score.

A judge is a scorer that names its prompts with the values that they show (`asks`). For each sample it says what is to
be shown and in which form the verdict is requested (`case`); `CaseScorer` makes the calls and computes the score. A
judge of several steps, such as faithfulness, writes its own `__call__` and takes its prompts from here. `read_numbered`
reads a reply with a verdict under each number, and `score_of` gives the mean of the repeats and their spread.

Apart from `judges.judge`, which every run imports: the patterns of the readers take a tenth of a second to compile.
"""

# Why it is so, and what was rejected: docs/decisions/cli-light-start.md

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from types import MappingProxyType
from typing import Any, ClassVar, Final

from steelyard.prompts.fenced_prompt import FencedPrompt, prompts_manifest
from steelyard.prompts.language import Language
from steelyard.replies.abstention import is_abstention
from steelyard.replies.answer_text import answer_of
from steelyard.replies.judge_reply import Scale, Verdict
from steelyard.replies.rating import read_rating
from steelyard.replies.verdict_like import verdict_like
from steelyard.replies.verdict_list import read_verdict_list
from steelyard.replies.yes_no import read_yes_no
from steelyard.scorers.judges.decisions import PROBABILITIES
from steelyard.scorers.judges.judge import Judge
from steelyard.session.replies import refused_before
from steelyard.session.reply_schemas import AS_SCHEMA, REPLY_FORM
from steelyard.types import LACKS, NOTHING_RETRIEVED, PASSAGES, STOPPED, Asks, Output, Reply, Sample, Score

LONGEST_REASON: Final = 2000
"""Most characters of a judge's reason that are stored or shown again."""


BETWEEN: Final[Mapping[Language, str]] = MappingProxyType({"en": "\nOR\n", "zh": "\n或\n"})
"""What parts alternative references in the prompts of each language."""


def contexts_of(sample: Sample, output: Output) -> tuple[str, ...]:
    """The passages behind an answer: those that the target retrieved, else those of the sample."""
    return tuple(output.contexts or sample.contexts)


def reference_of(sample: Sample, *, between: str = "\nOR\n") -> str:
    r"""The expected answer as a text; "" if there is none.

    Args:
        sample: a list as its reference holds alternatives; any other value that is not text is shown as JSON.
        between: the separator of alternatives.

    >>> reference_of(Sample("1", "Largest?", ["Jupiter", " ", "the fifth planet"])), reference_of(Sample("2", "?", 4))
    ('Jupiter\nOR\nthe fifth planet', '4')
    """
    return between.join(references_of(sample))


def references_of(sample: Sample) -> tuple[str, ...]:
    """The expected answers as texts, each right by itself; see `reference_of`."""
    reference = sample.reference
    alternatives = reference if isinstance(reference, list | tuple) else (reference,)
    texts = (
        "" if alternative is None else alternative if isinstance(alternative, str) else _as_json(alternative)
        for alternative in alternatives
    )
    return tuple(text for text in texts if text.strip())


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def unless_stopped(verdict: Verdict, reply: Reply) -> Verdict:
    """The verdict, or `refused` if the endpoint stopped the judge before one could be parsed.

    A refusal holds no verdict, whatever numbers are in it; the text before a content filter may hold one.
    The verdict records in which form the reply was requested, where that is known.
    """
    if reply.finish == "refusal" or (verdict.value is None and reply.finish in STOPPED):
        verdict = Verdict("refused", reason=reply.text.strip())
    if shares := reply.metadata.get(PROBABILITIES):
        verdict = replace(verdict, probabilities=shares)
    form = reply.metadata.get(REPLY_FORM)
    return replace(verdict, asked_for=form) if isinstance(form, str) else verdict


def yes_no_in(reply: Reply) -> Verdict:
    """The YES or NO of a reply."""
    return unless_stopped(read_yes_no(reply.text, finish=reply.finish), reply)


def no_answer(name: str) -> Score:
    """A `refused` score: the target refused or its reply was stopped, so there is nothing to judge."""
    return Score(name, None, outcome="refused", reason="the target gave no answer: it refused or was stopped")


def not_applicable(name: str, reason: str, *, lacks: str = "") -> Score:
    """A `not_applicable` score with its reason; `lacks` names what the output lacks, see `types.LACKS`."""
    return Score(name, None, outcome="not_applicable", reason=reason, detail={LACKS: lacks} if lacks else {})


def nothing_to_support(name: str, output: Output, contexts: Sequence[object]) -> Score | None:
    """The score of an answer that needs no judge to decide on its support; None if a judge is needed."""
    if refused_before(output):
        return no_answer(name)
    if not answer_of(output).strip():
        return not_applicable(name, "no claims: the answer is blank", lacks="claims" if contexts else PASSAGES)
    return claims_nothing(name) if not contexts and is_abstention(answer_of(output)) else None


def claims_nothing(name: str) -> Score:
    """The score of an answer without passages that claims nothing, so that nothing has to support it."""
    return not_applicable(name, "nothing was retrieved, and the answer claims nothing", lacks=PASSAGES)


def claims_without_passages(score: Score) -> Score:
    """The score of an answer that claims something though nothing was retrieved; `NOTHING_RETRIEVED` marks it."""
    detail = {**score.detail, NOTHING_RETRIEVED: True}
    return replace(score, reason=f"nothing was retrieved. {score.reason}".strip(), detail=detail)


def score_of(
    name: str,
    verdicts: Sequence[Verdict],
    *,
    candidate: str,
    passes: Callable[[float], bool] | None = None,
    detail: Mapping[str, Any] | None = None,
) -> Score:
    """The score that combines the verdicts of all repeats.

    The value is the mean of those that were read. Where none was, the score is `refused` when every one was refused,
    else `unparsed` with the kind of the first unreadable one: never a number.

    Args:
        name: the score's.
        verdicts: one per repeat.
        candidate: the text that was judged; one that holds what looks like a verdict is flagged.
        passes: whether a value is good enough; None where there is no threshold.
        detail: more to keep.
    """
    details: dict[str, Any] = {"how": "single" if len(verdicts) == 1 else f"mean of {len(verdicts)} repeats"}
    details |= detail or {}
    if len(verdicts) > 1:
        details["repeats"] = [verdict.value for verdict in verdicts]
    if like := verdict_like(candidate):
        details["verdict_like"] = like[:200]
    if form := form_of(verdicts):
        details["asked_for"] = form
    read = [verdict for verdict in verdicts if verdict.value is not None]
    first = (read or [verdict for verdict in verdicts if verdict.outcome == "unparsed"] or list(verdicts))[0]
    reason = " ".join(first.reason.split())[:LONGEST_REASON]
    details["columns"] = {f"{name}_reason": reason, **details.get("columns", {})}
    if not read:
        return _unparsed_score(name, first, reason, details)
    values = [verdict.value for verdict in read if verdict.value is not None]
    value = fmean(values)
    if len(values) > 1:
        counts = Counter(map(passes, values) if passes else values)
        details |= {"sd": stdev(values), "flip_rate": 1 - max(counts.values()) / len(values)}
    details["form"] = first.form
    if first.probabilities:
        details["probabilities"] = dict(first.probabilities)
    return Score(name, value, passed=passes(value) if passes else None, reason=reason, detail=details)


def _unparsed_score(name: str, verdict: Verdict, reason: str, details: Mapping[str, Any]) -> Score:
    if verdict.outcome == "refused":
        return Score(name, None, outcome="refused", reason=reason or "the judge refused", detail=details)
    kind = verdict.kind or "none"
    return Score(name, None, outcome="unparsed", reason=reason, detail={**details, "kind": kind})


def read_numbered(reply: Reply, n: int) -> tuple[Verdict, ...]:
    r"""One verdict for each number from 1 to `n`; a number without a readable verdict is unparsed or refused.

    >>> [verdict.label or verdict.kind for verdict in read_numbered(Reply("", "1. YES\n3. NO"), 3)]
    ['yes', 'none', 'no']
    """
    verdicts = read_verdict_list(reply.text, n)
    usable = [
        verdict if verdict is not None and (verdict.value is not None or verdict.kind == "ambiguous") else None
        for verdict in verdicts
    ]
    left_out = Verdict("unparsed", kind="truncated" if reply.finish == "length" else "none")
    missing = left_out if any(usable) else unparsed_verdict(reply)
    return tuple(unless_stopped(verdict or missing, reply) for verdict in usable)


def first_unparsed(verdicts: Iterable[Verdict]) -> Verdict | None:
    """The first verdict without a value; None if all have one."""
    return next((verdict for verdict in verdicts if verdict.value is None), None)


def form_of(verdicts: Iterable[Verdict]) -> str:
    """The form in which the replies of some verdicts were requested; of several, the one without a schema."""
    forms = [verdict.asked_for for verdict in verdicts if verdict.asked_for]
    return next((form for form in forms if form != AS_SCHEMA), forms[0] if forms else "")


def combined_verdict(verdicts: Sequence[Verdict], value: float) -> Verdict:
    """All numbered verdicts as one: `value` if all were parsed, else the outcome of the first that was not."""
    reason = "; ".join(_finding(no, verdict) for no, verdict in enumerate(verdicts, start=1))
    unparsed, form = first_unparsed(verdicts), form_of(verdicts)
    if unparsed is not None:
        any_read = any(verdict.value is not None for verdict in verdicts)
        why = reason if any_read else unparsed.reason
        return Verdict(unparsed.outcome, kind=unparsed.kind, reason=why, asked_for=form)
    return Verdict("scored", value, form="numbered", reason=reason, asked_for=form)


def _finding(number: int, verdict: Verdict) -> str:
    finding = verdict.label or verdict.kind or verdict.outcome
    return f"{number}. {finding}: {verdict.reason}" if verdict.reason and verdict.label else f"{number}. {finding}"


def unparsed_verdict(reply: Reply) -> Verdict:
    """The verdict on a reply in which nothing can be read: refused, empty, truncated or none."""
    verdict = yes_no_in(reply)
    if verdict.outcome == "refused" or verdict.kind in {"empty", "truncated"}:
        return verdict
    return Verdict("unparsed", kind="none", reason=reply.text.strip())


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


@dataclass(frozen=True, slots=True)
class CaseScorer(AskingScorer, ABC):
    """A scorer that asks a judge once for each output: it says what is judged, and the rest follows."""

    @abstractmethod
    def case(self, sample: Sample, output: Output) -> Case | Score | Sequence[Score]:
        """What to judge of one output, or its scores where nothing has to be asked."""

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


def listed(key: str, repeats: Sequence[Iterable[tuple[Any, Verdict]]]) -> list[dict[str, Any]]:
    """What was judged in each repeat, under `key`, with its verdict and the reason; "" if unparsed."""
    return [
        {key: judged, "verdict": verdict.label, "reason": verdict.reason if verdict.label else ""}
        | ({"repeat": no} if len(repeats) > 1 else {})
        for no, verdicts in enumerate(repeats, start=1)
        for judged, verdict in verdicts
    ]


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
