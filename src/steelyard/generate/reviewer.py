"""The two steps of a review as suites: one target says why a sample failed, one groups the reasons under causes.

Records become samples that hold question, reference and answer, cut to what a prompt has room for; the replies are read
as one reason, or as lines of a cause with the numbers of its reasons.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from steelyard.errors import shortened
from steelyard.escaping import cell_text
from steelyard.evaluation.objects import Options, Suite
from steelyard.generate.questions import read_answer
from steelyard.models.base import AskedModel, CallParameters
from steelyard.prompts.fenced_prompt import FencedPrompt, prompts_manifest
from steelyard.prompts.language import LanguageSetting, prompt_language
from steelyard.prompts.sample_values import sample_values
from steelyard.replies.clean import answer_span
from steelyard.store import Run
from steelyard.types import INLINE, Asks, Output, Record, Sample, Score, ScoreInfo, StageInfo

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
    """A model that states why a sample failed.

    Args:
        model: what is asked.
        language: of the prompts; `auto` is Chinese where question and answer are, else English.
        parameters: of every call, over those of the model.
    """

    stage_info: ClassVar[StageInfo] = StageInfo(mock_reply="The answer names another unit than the question asks for.")

    model: AskedModel
    language: LanguageSetting = "auto"
    parameters: CallParameters = field(default_factory=dict)

    def manifest(self) -> dict[str, Any]:
        """The prompts that are sent, by language, with their hashes."""
        return prompts_manifest(reason=_REASON)

    async def __call__(self, sample: Sample, ask: Asks) -> Output:
        """Ask for the reason; an empty one comes with why it could not be parsed."""
        values = {name: str(sample.input[name]) for name in _SHOWN}
        language = prompt_language(self.language, values["question"], values["answer"])
        reply = await ask(self.model, _REASON.messages(language, values), **self.parameters)
        reason = read_reason(reply.text, finish=reply.finish)
        return Output(reason.text, metadata={"kind": reason.kind} if reason.kind else {})


@dataclass(frozen=True, slots=True)
class CauseFinder:
    """A model that groups reasons under causes, in one call per `BATCH` reasons.

    A later batch is shown the causes of the earlier ones, so that one cause has one name.

    Args:
        model: as in `Reviewer`, like the rest.
    """

    stage_info: ClassVar[StageInfo] = StageInfo(mock_reply=f"wrong unit: 1-{BATCH}")
    """All reasons under one cause."""

    model: AskedModel
    language: LanguageSetting = "auto"
    parameters: CallParameters = field(default_factory=dict)

    def manifest(self) -> dict[str, Any]:
        """The prompts that are sent, by language, with their hashes."""
        return prompts_manifest(causes=_CAUSES)

    async def __call__(self, sample: Sample, ask: Asks) -> Output:
        """Cause -> 0-based positions of its reasons; a reason without a cause is in no list."""
        reasons: Sequence[str] = sample.input
        causes: dict[str, list[int]] = {}
        for start in range(0, len(reasons), BATCH):
            batch = reasons[start : start + BATCH]
            for name, numbers in (await self._of_batch(batch, tuple(causes), ask)).items():
                existing = next((cause for cause in causes if cause.casefold() == name.casefold()), name)
                causes.setdefault(existing, []).extend(start + number - 1 for number in numbers)
        return Output(causes)

    async def _of_batch(
        self, batch: Sequence[str], known_causes: Sequence[str], ask: Asks
    ) -> Mapping[str, Sequence[int]]:
        values = {
            "reasons": "\n".join(f"{no}. {reason}" for no, reason in enumerate(batch, start=1)),
            "known": "\n".join(known_causes) or "-",
            "count": str(len(batch)),
            "most": str(max(MOST_CAUSES, len(known_causes))),
        }
        messages = _CAUSES.messages(prompt_language(self.language, *batch), values)
        reply = await ask(self.model, messages, **self.parameters)
        return read_causes(reply.text, len(batch))


@dataclass(frozen=True, slots=True)
class ReasonGiven:
    """1 if a reason was given; a reply without one is unparsed, a refusal refused.

    >>> ReasonGiven()(Sample("1", {}), Output("It reads miles.")).value
    1.0
    """

    score_infos: ClassVar[tuple[ScoreInfo, ...]] = (ScoreInfo("reason", (0.0, 1.0), threshold=1.0),)
    stage_info: ClassVar[StageInfo] = INLINE

    def __call__(self, sample: Sample, output: Output) -> Score:  # noqa: ARG002  # what a scorer is given
        """Score one record."""
        kind = output.metadata.get("kind", "")
        if kind == "refused":
            return Score("reason", None, outcome="refused", reason="the model refused to give a reason")
        if kind:
            return Score("reason", None, outcome="unparsed", reason="no readable reason", detail={"kind": kind})
        return Score("reason", 1.0, passed=True)


@dataclass(frozen=True, slots=True)
class ReasonsPlaced:
    """The share of reasons with a cause; unparsed if none has one.

    >>> ReasonsPlaced()(Sample("causes", ["a", "b"]), Output({"wrong unit": [1]})).value
    0.5
    """

    score_infos: ClassVar[tuple[ScoreInfo, ...]] = (ScoreInfo("placed", (0.0, 1.0), threshold=1.0),)
    stage_info: ClassVar[StageInfo] = INLINE

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Count."""
        placed = sum(len(positions) for positions in output.value.values())
        if not placed:
            return Score("placed", None, outcome="unparsed", reason="no readable cause", detail={"kind": "none"})
        return Score("placed", placed / len(sample.input), passed=placed == len(sample.input))


_MOST_REASON: Final = 1_000
_MOST_NAME: Final = 80
_MOST_LINE: Final = 2_000
"""A hundred numbers take 400 characters; a longer line is not a list of them, and is slow to look at."""
_LABEL: Final = re.compile(r"\A[\s*_#]*(?:reason|cause|原因|理由|说明)[*_]*\s*[:：][*_]*\s*", re.IGNORECASE)
_LINE: Final = re.compile(
    r"[ \t]*(?:[-*•]|\(?\d+[.)、]|#+)?[ \t]*(?P<name>\S.*?)[ \t*_\"“”]*[:：][ \t*_]*"
    r"(?P<numbers>(?:(?:nos?|numbers?|编号|第)\.?\s*)?[#\d][#\d\s,，、;；和and&–—-]*)[.。]?[ \t]*"
)
_NUMBER: Final = re.compile(r"(\d+)\s*[-–—]\s*(\d+)|(\d+)")


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a sample failed; `kind` says why there is none: `empty`, `refused` or `truncated`."""

    text: str
    kind: str = ""


def read_reason(text: str, *, finish: str = "stop") -> Reason:
    r"""The reason in a reply, on one line, without reasoning before it and without a label.

    Args:
        text: any text.
        finish: why the model stopped; a reason that was cut off does not count.

    >>> read_reason("**Reason:** It reads miles\nfor kilometres.").text
    'It reads miles for kilometres.'
    >>> read_reason("I'm sorry, but I can't help with that.").kind
    'refused'
    """
    kind = read_answer(text, finish=finish).defect.removeprefix("answer_")
    if kind in {"empty", "refused", "truncated"}:
        return Reason("", kind)
    start, end, _ = answer_span(text)
    shown = " ".join(_LABEL.sub("", text[start:end]).split())
    if not shown:
        return Reason("", "empty")
    return Reason(shortened(shown, _MOST_REASON))


def read_causes(text: str, count: int) -> dict[str, tuple[int, ...]]:
    r"""Cause -> the numbers that were put under it, of 1 to `count`; what is not such a line is left out.

    A number under several causes counts for the first. Lines with the same name are one cause.

    >>> read_causes("1. **Wrong unit**: 1, 3-4\n- no source: 2, 3, 9", 5)
    {'Wrong unit': (1, 3, 4), 'no source': (2,)}
    """
    start, end, _ = answer_span(text)
    causes: dict[str, tuple[int, ...]] = {}
    names: dict[str, str] = {}
    placed: set[int] = set()
    for line in text[start:end].splitlines():
        match = _LINE.fullmatch(line) if len(line) <= _MOST_LINE else None
        if match is None:
            continue
        name = cause_name(match["name"])
        numbers = [number for number in _numbers(match["numbers"], count) if number not in placed]
        if name and numbers:
            first_name = names.setdefault(name.casefold(), name)
            placed.update(numbers)
            causes[first_name] = (*causes.get(first_name, ()), *dict.fromkeys(numbers))
    return causes


def cause_name(text: str) -> str:
    """The name of a cause without marks around it, on one line, not longer than a line."""
    return shortened(" ".join(text.strip(" \t*_\"'“”「」`").split()), _MOST_NAME)


def _numbers(text: str, count: int) -> list[int]:
    """Every number and range in a text that is among 1 to `count`."""
    numbers: list[int] = []
    for first, last, single in _NUMBER.findall(text):
        low, high = (int(single[:9]), int(single[:9])) if single else (int(first[:9]), int(last[:9]))
        numbers += range(max(1, low), min(high, count) + 1)
    return numbers


KIND: Final = "review"
_MOST_TEXT: Final = 6_000
_MOST_PASSAGE: Final = 1_500
_MOST_PASSAGES: Final = 8
_NONE: Final = "(none)"


def reasons_suite(run: Run, records: Sequence[Record], reviewer: Reviewer, options: Options) -> Suite:
    """The first step of a review: each record is a sample, and the model states why it failed."""
    several = any(record.repeat for record in records)
    return Suite(
        name=review_title(run),
        kind=KIND,
        samples=tuple(_sample(run, record, several=several) for record in records),
        targets={"reasons": reviewer},
        scorers=(ReasonGiven(),),
        options=options,
        source={"run": run.id},
    )


def causes_suite(
    name: str, source: Mapping[str, str], reasons: Sequence[str], finder: CauseFinder, options: Options
) -> Suite:
    """The second step of a review: the list of all reasons is one sample, and the model groups them under causes.

    Args:
        name: of the suite.
        source: what is reviewed: the id of a `run` or an `analysis`.
        reasons: a model's reasons, or people's notes.
        finder: who is asked.
        options: of the suite.
    """
    return Suite(
        name=name,
        kind=KIND,
        samples=(Sample("causes", list(reasons), metadata=dict(source)),),
        targets={"causes": finder},
        scorers=(ReasonsPlaced(),),
        options=options,
        source=dict(source),
    )


def reviewed_record(sample: Sample) -> tuple[str, int]:
    """(sample id, repeat) of the record that a sample of the first step is about."""
    return str(sample.metadata["sample"]), int(sample.metadata["repeat"])


def review_title(run: Run) -> str:
    """The name of the suites of a review of a run."""
    return f"review of {run.target} ({run.id})"


def _sample(run: Run, record: Record, *, several: bool) -> Sample:
    """A failed record as a sample; with repeats each id ends in the repeat, so that ids are unique."""
    sample, output = record.sample, record.output
    values = sample_values(sample)
    question = f"{values['transcript']}\n\n{values['options']}" if sample.choices else values["transcript"]
    passages = output.contexts if output and output.contexts else sample.contexts
    shown = [f"[{no}] {_cut(passage, _MOST_PASSAGE)}" for no, passage in enumerate(passages[:_MOST_PASSAGES], start=1)]
    if len(passages) > _MOST_PASSAGES:
        shown.append(f"({len(passages) - _MOST_PASSAGES} more)")
    answer = cell_text(output.value) if output else ""
    return Sample(
        f"{sample.id} #{record.repeat}" if several else sample.id,
        {
            "question": _cut(question, _MOST_TEXT),
            "expected": _cut(cell_text(sample.reference), _MOST_TEXT) or _NONE,
            "passages": "\n\n".join(shown) or _NONE,
            "answer": _cut(answer, _MOST_TEXT) or _NONE,
            "verdicts": "\n".join(_verdicts(record)) or _NONE,
        },
        group=sample.group,
        metadata={"run": run.id, "sample": sample.id, "repeat": record.repeat},
    )


def _verdicts(record: Record) -> list[str]:
    lines = [_verdict(score) for score in record.scores]
    failure = record.failure
    return [*lines, *([f"{failure.stage} failed, {failure.kind}: {_cut(failure.message, 500)}"] if failure else [])]


def _verdict(score: Score) -> str:
    value = score.outcome.replace("_", " ") if score.value is None else f"{score.value:.4g}"
    return f"{score.name}: {value}{f' ({_cut(score.reason, 500)})' if score.reason else ''}"


def _cut(text: str, most: int) -> str:
    """A long text with its middle replaced by the number of characters left out."""
    text = text.strip()
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters left out ...]\n{text[-half:]}"
