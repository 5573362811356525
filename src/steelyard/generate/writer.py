"""The target that generates questions from a chunk: a model writes them, then answers each from the chunk alone.

The two steps, and a call of its own for each answer, are those of LlamaIndex' RagDatasetGenerator; the words are ours.
Deviations: preambles and what is not a question are dropped, each with its reason, a question that the chunk does not
answer is dropped instead of answered, and a chunk that gives fewer questions than requested is reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final

from steelyard.constraints import Within
from steelyard.generate.evidence import locate
from steelyard.generate.questions import WrittenAnswer, read_answer, read_questions
from steelyard.generate.selection import BETWEEN, NO_ANSWER, TWO_CHUNKS, UNANSWERABLE, text_to_check
from steelyard.models.base import AskedModel, CallParameters
from steelyard.prompts.fenced_prompt import FencedPrompt, prompts_manifest
from steelyard.prompts.language import Language, LanguageSetting, prompt_language
from steelyard.registry import NOT_A_SETTING
from steelyard.replies.yes_no import read_yes_no
from steelyard.retrieval.stored import ChunkIndex
from steelyard.scorers.judges.judge import together
from steelyard.types import INLINE, Asks, Output, Sample, Score, ScoreInfo, StageInfo

MOST_QUESTIONS: Final = 100
_SHOWN: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = MappingProxyType(
    {
        "questions": (("text",), ("count",)),
        "answer": (("text", "question"), ()),
        "check": (("text", "question"), ()),
        TWO_CHUNKS: (("first", "second"), ("count",)),
        UNANSWERABLE: (("text",), ("count",)),
    }
)
"""Step -> the placeholders of its prompt that are fenced, as other people's text, and those that are not."""


@dataclass(frozen=True, slots=True)
class QuestionWriter:
    """A model that writes questions about a text and answers them from it.

    Args:
        model: the model that writes.
        per_chunk: questions that are asked for in one call, 1 to 100.
        language: of the prompts; `auto` is Chinese where the text is, else English.
        check_answerable: ask once more per question whether the text alone answers it; those that it does not answer
            are dropped, and no answer is asked for.
        show_metadata: begin the text with the document's name, the page and the headings; without it the model sees
            the text alone.
        parameters: of every call, over those of the model.
        questions_prompt: the user's own prompt for questions; may name {{text}}, {{count}} and {{mark}}.
        questions_system: a system message before it, which may name the same values; the two name text and count.
        answer_prompt: the user's own prompt for an answer; names {{text}} and {{question}}, and may name {{mark}}.
        kinds: further kinds of questions that samples name in their metadata: `two_chunks`, `unanswerable`.
        searched: the documents, from which the latter must not be answered.
    """

    model: AskedModel
    per_chunk: Annotated[int, Within(1, MOST_QUESTIONS)] = 10
    language: LanguageSetting = "auto"
    check_answerable: bool = False
    show_metadata: bool = False
    parameters: CallParameters = field(default_factory=dict)
    questions_prompt: Path | str = ""
    questions_system: Path | str = ""
    answer_prompt: Path | str = ""
    kinds: tuple[str, ...] = ()
    searched: ChunkIndex | None = field(default=None, compare=False, repr=False, metadata=NOT_A_SETTING)

    def check(self) -> None:
        """Check the settings before anything is sent.

        Raises:
            ConfigError: no model, a number out of range, an unknown language, or an unusable prompt.
        """
        for step in _SHOWN:
            self._prompt(step).check()

    def manifest(self) -> dict[str, Any]:
        """The prompts that are sent, by step and language, with their hashes."""
        checked = self.check_answerable or TWO_CHUNKS in self.kinds
        steps = ("questions", "answer", *(("check",) if checked else ()), *self.kinds)
        return prompts_manifest(**{step: self._prompt(step) for step in steps})

    @property
    def stage_info(self) -> StageInfo:
        """The mock reply of a dry run: as many questions as requested; it also reads as an answer."""
        return StageInfo(
            mock_reply="\n".join(
                f"{no}. What does rehearsed question number {no} ask for?" for no in range(1, self.per_chunk + 1)
            )
        )

    async def __call__(self, sample: Sample, ask: Asks) -> Output:
        """Ask for the questions, check them where that is due, then ask for the answers."""
        language = prompt_language(self.language, sample.input)
        text, kind = self._material(sample), sample.metadata.get("kind", "")
        parts = _parts(sample)
        shown = dict(zip(("first", "second"), parts, strict=True)) if kind == TWO_CHUNKS else {"text": text}
        messages = self._prompt(kind or "questions").messages(language, {**shown, "count": str(self.per_chunk)})
        reply = await ask(self.model, messages, **self.parameters)
        listing = read_questions(reply.text, most=self.per_chunk, finish=reply.finish)
        step = partial(self._ask, ask, language)
        dropped = Counter(listing.dropped)
        if kind == UNANSWERABLE:
            written = await self._unanswered(step, text, listing.usable, dropped, language)
            return Output(written, metadata=_about(listing.kind, dropped, 0))
        questions, unparsed = listing.usable, 0
        if kind == TWO_CHUNKS:
            alone = [await self._checked(step, part, questions) for part in parts]
            dropped["one_chunk_enough"] += sum("yes" in {part[question] for part in alone} for question in questions)
            questions = tuple(question for question in questions if all(part[question] != "yes" for part in alone))
            unparsed = sum("unparsed" in {part[question] for part in alone} for question in questions)
        checks = await self._checked(step, text, questions) if self.check_answerable else dict.fromkeys(questions, "")
        answerable = [question for question in questions if checks[question] != "no"]
        answers = await together([partial(self._answered, step, text, question) for question in answerable])
        dropped["not_answerable"] += len(questions) - len(answerable)
        dropped.update(answer.defect for answer in answers if answer.defect)
        written = [
            {
                "question": question,
                "answer": answer.text,
                "answerable": "yes" if checks[question] == "yes" else "",
                "spans": [locate(part, answer.quotation, question=question, answer=answer.text) for part in parts],
            }
            for question, answer in zip(answerable, answers, strict=True)
            if not answer.defect
        ]
        unparsed += sum(check == "unparsed" for check in checks.values())
        return Output(written, metadata=_about(listing.kind, dropped, unparsed))

    async def _unanswered(
        self, step: Any, text: str, questions: Sequence[str], dropped: Counter[str], language: Language
    ) -> list[dict[str, Any]]:
        """The questions that the model fails to answer from the documents; what else it said is counted as dropped."""
        assert self.searched is not None  # noqa: S101  # whoever makes samples of this kind sets it
        texts = [text_to_check(self.searched, text, question) for question in questions]
        calls = [partial(self._answered, step, *asked) for asked in zip(texts, questions, strict=True)]
        answers = await together(calls)
        dropped.update(answer.defect or "answered" for answer in answers if answer.defect != "no_answer")
        return [
            {"question": question, "answer": NO_ANSWER[language], "answerable": "no", "spans": []}
            for question, answer in zip(questions, answers, strict=True)
            if answer.defect == "no_answer"
        ]

    async def _checked(self, step: Any, text: str, questions: tuple[str, ...]) -> dict[str, str]:
        """Question -> whether a text alone answers it: `yes`, `no`, or `unparsed`."""
        replies = await together([partial(step, "check", text, question) for question in questions])
        verdicts = [read_yes_no(reply.text, finish=reply.finish) for reply in replies]
        return {question: verdict.label or "unparsed" for question, verdict in zip(questions, verdicts, strict=True)}

    @staticmethod
    async def _answered(step: Any, text: str, question: str) -> WrittenAnswer:
        reply = await step("answer", text, question)
        return read_answer(reply.text, finish=reply.finish)

    async def _ask(self, ask: Asks, language: Language, name: str, text: str, question: str) -> Any:
        messages = self._prompt(name).messages(language, {"text": text, "question": question})
        return await ask(self.model, messages, **self.parameters)

    def _material(self, sample: Sample) -> str:
        if not self.show_metadata:
            return str(sample.input)
        page = sample.metadata.get("page")
        parts = (sample.metadata.get("document"), f"p. {page}" if page else "", sample.metadata.get("heading"))
        return f"[{', '.join(str(part) for part in parts if part)}]\n\n{sample.input}"

    def _prompt(self, step: str) -> FencedPrompt:
        template = {"questions": self.questions_prompt, "answer": self.answer_prompt}.get(step, "")
        system = self.questions_system if step == "questions" else ""
        shown, plain = _SHOWN[step]
        return FencedPrompt(f"generate_{step}", template, shown, plain, needed=(*shown, *plain), system=system)


def _parts(sample: Sample) -> tuple[str, ...]:
    """The texts of the chunks of a sample."""
    text, second = str(sample.input), sample.metadata.get("second")
    return (text,) if second is None else (text[: second - len(BETWEEN)], text[second:])


def _about(kind: str, dropped: Mapping[str, int], unparsed: int) -> dict[str, Any]:
    """Metadata of a chunk's questions, without zeros and blanks."""
    metadata = {
        "kind": kind,
        "dropped": {why: count for why, count in dropped.items() if count},
        "unread_checks": unparsed,
    }
    return {key: value for key, value in metadata.items() if value}


@dataclass(frozen=True, slots=True)
class QuestionCount:
    """How many questions with answers a chunk gave; an unreadable list is unparsed, a refusal refused.

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
            return Score("questions", None, outcome="unparsed", reason="no readable question", detail={"kind": kind})
        why = ", ".join(f"{number} {reason}" for reason, number in sorted(dropped.items()))
        reason = f"{count} of {self.per_chunk} questions{f'; dropped: {why}' if why else ''}"
        return Score("questions", float(count), passed=count >= self.per_chunk, reason=reason, detail=detail)
