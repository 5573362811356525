"""The target that generates questions from a chunk: a model writes them, then answers each from the chunk alone.

The two steps, and a call of its own for each answer, are those of LlamaIndex' RagDatasetGenerator; the words are ours.
Deviations: preambles and what is no question are dropped, each with its reason, a question that the chunk does not
answer is dropped and not answered all the same, and a chunk that gives fewer questions than requested is reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal, get_args

from steelyard.errors import ConfigError, did_you_mean, expect_number
from steelyard.generate.questions import WrittenAnswer, read_answer, read_questions
from steelyard.models.base import Model
from steelyard.models.references import check_sent
from steelyard.prompts.fenced_prompt import FencedPrompt
from steelyard.prompts.language import Language, language_of
from steelyard.scorers.judges.judge import together
from steelyard.text.rating import read_yes_no
from steelyard.types import INLINE, Asks, Output, Sample, Score, ScoreInfo, StageInfo

MOST_QUESTIONS: Final = 100
_SHOWN: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = MappingProxyType(
    {"questions": (("text",), ("count",)), "answer": (("text", "question"), ()), "check": (("text", "question"), ())}
)
"""Step -> what its prompt names of other people's text, and of ours."""


@dataclass(frozen=True, slots=True)
class QuestionWriter:
    """A model that writes questions about a text, and answers them.

    Args:
        model: what writes.
        per_chunk: questions that are asked for in one call, 1 to 100.
        language: of the prompts; `auto` is Chinese where the text is, else English.
        check_answerable: ask once more per question whether the text alone answers it; those that it does not answer
            are dropped, and no answer is asked for.
        show_metadata: begin the text with the document's name, the page and the headings; without it the model sees
            the text alone.
        parameters: of every call, over those of the model.
        questions_prompt: the user's own prompt for questions; names {{text}}, {{count}} and {{mark}}.
        answer_prompt: likewise for an answer; {{text}}, {{question}} and {{mark}}.
        check_prompt: likewise for the check, which asks for yes or no.
    """

    model: Model
    per_chunk: int = 10
    language: Literal["auto", "en", "zh"] = "auto"
    check_answerable: bool = False
    show_metadata: bool = False
    parameters: Mapping[str, Any] = field(default_factory=dict)
    questions_prompt: Path | str = ""
    answer_prompt: Path | str = ""
    check_prompt: Path | str = ""

    def check(self) -> None:
        """Find what cannot be meant before anything is sent.

        Raises:
            ConfigError: no model, a number or language that there is not, or a prompt that cannot be used.
        """
        if not hasattr(self.model, "request"):
            raise ConfigError(f"{type(self.model).__name__} is no model")
        expect_number("per_chunk", self.per_chunk, 1, MOST_QUESTIONS, whole=True)
        known = ("auto", *get_args(Language))
        if self.language not in known:
            raise ConfigError(f"language: there is no {self.language!r}{did_you_mean(str(self.language), known)}")
        check_sent("parameters", self.parameters)
        for step in _SHOWN:
            self._prompt(step).check()

    def manifest(self) -> dict[str, Any]:
        """The words that are sent, by step and language, and their hash."""
        steps = ("questions", "answer", *(("check",) if self.check_answerable else ()))
        return {"prompts": {step: self._prompt(step).manifest() for step in steps}}

    @property
    def stage_info(self) -> StageInfo:
        """A dry run's reply is as many questions as are asked for, which is also an answer."""
        return StageInfo(
            mock_reply="\n".join(
                f"{no}. What does rehearsed question number {no} ask for?" for no in range(1, self.per_chunk + 1)
            )
        )

    async def __call__(self, sample: Sample, ask: Asks) -> Output:
        """Questions, checks where they are wanted, then answers, each step side by side."""
        language = language_of(sample.input) if self.language == "auto" else self.language
        text = self._material(sample)
        messages = self._prompt("questions").messages(language, {"text": text, "count": str(self.per_chunk)})
        reply = await ask(self.model, messages, **self.parameters)
        found = read_questions(reply.text, most=self.per_chunk, finish=reply.finish)
        step = partial(self._ask, ask, language, text)
        checks = await self._checked(step, found.kept)
        kept = [question for question in found.kept if checks[question] != "no"]
        answers = await together([partial(self._answered, step, question) for question in kept]) if kept else ()
        dropped = dict(found.dropped)
        defects = [answer.defect for answer in answers if answer.defect]
        for reason in [*("not_answerable" for check in checks.values() if check == "no"), *defects]:
            dropped[reason] = dropped.get(reason, 0) + 1
        made = [
            {"question": question, "answer": answer.text, "answerable": "yes" if checks[question] == "yes" else ""}
            for question, answer in zip(kept, answers, strict=True)
            if not answer.defect
        ]
        unread = sum(check == "unread" for check in checks.values())
        return Output(made, metadata=_about(found.kind, dropped, unread))

    async def _checked(self, step: Any, questions: tuple[str, ...]) -> dict[str, str]:
        """Question -> `yes`, `no`, `unread`, or "" where no check is wanted."""
        if not self.check_answerable or not questions:
            return dict.fromkeys(questions, "")
        replies = await together([partial(step, "check", question) for question in questions])
        verdicts = [read_yes_no(reply.text, finish=reply.finish) for reply in replies]
        return {question: verdict.label or "unread" for question, verdict in zip(questions, verdicts, strict=True)}

    @staticmethod
    async def _answered(step: Any, question: str) -> WrittenAnswer:
        reply = await step("answer", question)
        return read_answer(reply.text, finish=reply.finish)

    async def _ask(self, ask: Asks, language: Language, text: str, name: str, question: str) -> Any:
        messages = self._prompt(name).messages(language, {"text": text, "question": question})
        return await ask(self.model, messages, **self.parameters)

    def _material(self, sample: Sample) -> str:
        if not self.show_metadata:
            return str(sample.input)
        page = sample.metadata.get("page")
        parts = (sample.metadata.get("document"), f"p. {page}" if page else "", sample.metadata.get("heading"))
        return f"[{', '.join(str(part) for part in parts if part)}]\n\n{sample.input}"

    def _prompt(self, step: str) -> FencedPrompt:
        own = {"questions": self.questions_prompt, "answer": self.answer_prompt, "check": self.check_prompt}[step]
        shown, plain = _SHOWN[step]
        return FencedPrompt(f"generate_{step}", own, shown, plain, needed=(*shown, *plain))


def _about(kind: str, dropped: Mapping[str, int], unread: int) -> dict[str, Any]:
    """What is known of a chunk's questions beside themselves; what is not the case is left out."""
    found = {"kind": kind, "dropped": dict(dropped), "unread_checks": unread}
    return {key: value for key, value in found.items() if value}


@dataclass(frozen=True, slots=True)
class QuestionCount:
    """How many questions with answers a chunk gave; a list that cannot be read is unparsed, a refusal refused.

    Args:
        per_chunk: how many were asked for; fewer do not pass.

    >>> QuestionCount(2)(Sample("1", "It rains."), Output([{"question": "Does it rain?"}])).reason
    '1 of 2 questions'
    """

    stage_info: ClassVar[StageInfo] = INLINE

    per_chunk: int = 10

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """From none to all that were asked for."""
        return (ScoreInfo("questions", (0, self.per_chunk), threshold=self.per_chunk),)

    def __call__(self, sample: Sample, output: Output) -> Score:  # noqa: ARG002  # what a scorer is given
        """Count."""
        count = len(output.value)
        kind, dropped = output.metadata.get("kind", ""), output.metadata.get("dropped", {})
        detail = {"dropped": dropped} if dropped else {}
        if not count and not dropped and kind == "refused":
            return Score("questions", None, outcome="refused", reason="the model refused to write questions")
        if not count and not dropped and kind:
            return Score("questions", None, outcome="unparsed", reason="no question can be read", detail={"kind": kind})
        why = ", ".join(f"{one} {reason}" for reason, one in sorted(dropped.items()))
        reason = f"{count} of {self.per_chunk} questions{f'; dropped: {why}' if why else ''}"
        return Score("questions", float(count), passed=count >= self.per_chunk, reason=reason, detail=detail)
