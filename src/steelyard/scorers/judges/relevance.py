"""Relevance of a query to its request, of an answer to its question, and of retrieved contexts to theirs.

`Relevance`: does a query or an answer meet every point of the request, and nothing else? The fourth stage of judging
generated SQL: whether it runs and returns the reference's result is told by running it (`steelyard.scorers.sql`);
whether it answers the question has to be judged. It is a G-Eval with criteria and steps of our own, so the judge writes
no steps first.

`AnswerRelevancy`: does the answer address the question? Two yes-or-no questions in one call. The questions (does it
keep to the subject, does it give what was asked for) and their equal weight are those of LlamaIndex'
AnswerRelevancyEvaluator, whose 0 to 2 is 0, 0.5 and 1 here; the words of the prompt are ours. Deviations: each verdict
is read under its number, where LlamaIndex reads one digit of a sum; an answer that is true but says only that it does
not know gets nothing, unless the sample is marked as unanswerable: then it is the right answer. Reverse questions by
cosine (Ragas) would need a model of embeddings and reward an answer that repeats the question.

`ContextRelevance`: which of the retrieved contexts are useful for the question, and do they come first?

    context_relevance = contexts of use / contexts
    context_precision = sum over ranks k of (precision@k * v_k) / contexts of use,  v_k = 1 where context k is of use

Source of the second: Ragas, "Context Precision" (documentation of the metric, version 0.4), the average precision of
information retrieval over what was retrieved; Ragas divides by the number of contexts of use plus 1e-10, so that it is
0 where none is: so is ours. Deviations: one call judges all contexts of a window, where Ragas makes one for each;
neither the reference nor the answer is shown, so that the verdict is on the retrieval alone; with `by_reference` the
reference is shown, as by Ragas' "Context Precision with reference".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final, Literal

from steelyard.constraints import Share, Within
from steelyard.prompts.conversation import transcript_of
from steelyard.prompts.language import Language
from steelyard.replies.abstention import is_abstention
from steelyard.replies.answer_text import answer_of
from steelyard.replies.judge_reply import Verdict
from steelyard.replies.sql import Wanted
from steelyard.scorers.judges.declared import (
    BETWEEN,
    AskingScorer,
    Case,
    CaseScorer,
    PromptForm,
    Repeats,
    at_least,
    combined_verdict,
    contexts_of,
    listed,
    no_answer,
    not_applicable,
    numbered,
    read_numbered,
    reference_of,
    score_of,
    scored,
    yes_or_no,
)
from steelyard.scorers.judges.judge import takes_model, together
from steelyard.scorers.judges.rating import Form, Samples, Weighting, rate, rated_score
from steelyard.scorers.judges.windows import ContextWindow, WindowTokens, windows
from steelyard.scorers.sql_replies import check_form, mock_sql, sql_reply
from steelyard.session.replies import refused_before
from steelyard.types import PASSAGES, Asks, Output, Sample, Score, ScoreInfo, StageInfo

Judged = Literal["output", "reference"]
Candidate = Literal["auto", "sql", "text"]
Showing = Literal["auto", "shown", "hidden"]

_REASONS: Final = re.compile(r"reason|explain|justif|理由|原因", re.IGNORECASE)
"""Words of a prompt that asks for more than a number, so that a reply needs room for it."""
_ALTERNATIVES: Final = 5
"""Alternatives listed per token of a reply with reasons: they are stored for every token, and after its reasons a judge
hardly wavers between more than two or three ratings. With 20, a reply would take 30 kB."""
_NAMES: Final[Mapping[str, str]] = MappingProxyType({"output": "relevance", "reference": "relevance_of_reference"})


@takes_model
@dataclass(frozen=True, slots=True)
class Relevance(AskingScorer):
    """Relevance from 1 to 5: all points of the request are covered, with nothing redundant or in excess.

    The judge sees the request, the schema in `metadata["schema"]` where the candidate saw it, and the candidate: the
    SQL of a reply, or the text of any other answer. A reply without SQL that can be read is not applicable here: its
    format has a score of its own. The score says in `detail` how it was taken, as that of `g_eval` does.

    Args:
        judged: `output` is what the target gave; `reference` judges the samples' references alone, as a measure of the
            dataset; its score is `relevance_of_reference`.
        candidate: `sql` takes the SQL out of a reply, `text` all of an answer; `auto` is `sql` for samples that name a
            database or a dialect.
        form: of the SQL in a reply, as of the scorer `sql`; the suite `text2sql` gives its own.
        key: likewise.
        schema: whether the judge is shown the sample's schema: `auto` where the target's template or body has a place
            for it (`{{metadata.schema}}`) or its rules read it, and for references; of a function, an engine or stored
            predictions nothing is known, so it is not shown. `shown` and `hidden` apply to all targets.
        weighting: as in `g_eval`.
        samples: how many replies `samples` asks for.
        min_probability_mass: as in `g_eval`.
        threshold: the lowest score that passes; null: nothing passes or fails.
        template: a prompt of your own; may use `{{question}}`, `{{schema}}` (empty where none is shown) and
            `{{answer}}`, all fenced, and `{{mark}}`.
    """

    asks: ClassVar[Mapping[str, PromptForm]] = {"relevance": PromptForm(("question", "schema", "answer"))}

    judged: Judged = "output"
    candidate: Candidate = "auto"
    form: Wanted = "auto"
    key: str = ""
    schema: Showing = "auto"
    weighting: Weighting = "auto"
    samples: Samples = 20
    min_probability_mass: Share = 0.5
    threshold: Annotated[float | None, Within(1, 5)] = None
    template: Path | str = ""

    @property
    def stage_info(self) -> StageInfo:
        """Named after its score; a dry run shows it a reply of the wanted form."""
        return StageInfo(mock_reply="5", mock_output=mock_sql(self.form, self.key))

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """A rating: `relevance`, or `relevance_of_reference`."""
        return (ScoreInfo(self._name, (1.0, 5.0), threshold=self.threshold, histogram=True),)

    @property
    def _name(self) -> str:
        return _NAMES.get(self.judged, "relevance")

    def check(self) -> None:
        """Check the options that depend on each other, and the prompt.

        Raises:
            ConfigError: two that exclude each other, or a prompt that cannot be trusted.
        """
        check_form(self.form, self.key)
        self._form.check_judge(self.judge)
        AskingScorer.check(self)

    async def __call__(self, sample: Sample, output: Output, ask: Asks) -> Score:
        """Judge one query or answer."""
        candidate = self._of_reference(sample) if self.judged == "reference" else self._of_output(sample, output)
        if isinstance(candidate, Score):
            return candidate
        question = transcript_of(sample.input)
        schema = (sample.metadata.get("schema") or "") if self._shows_schema else ""
        # The request alone decides: SQL is spelled in Latin letters whatever was asked.
        language = self.judge.language_for(question)
        values = {"question": question, "schema": _text(schema), "answer": candidate}
        prompt = self.prompts["relevance"]
        messages = prompt.messages(language, values)
        # A prompt of a user's own may ask for the number alone.
        form = self._form
        if _REASONS.search(prompt.text(language)):
            form = replace(form, reasoning=True, alternatives=_ALTERNATIVES)
        rated = await rate(form, self.judge, ask, messages)
        return rated_score(self._name, rated, candidate=candidate, threshold=self.threshold)

    def for_target(self, target: Any) -> Relevance:
        """This scorer for one target: `schema: auto` follows whether the target shows it to its model."""
        if self.schema != "auto" or self.judged == "reference":
            return self
        shows = getattr(target, "shows", None)
        return replace(self, schema="shown" if callable(shows) and shows("schema") else "hidden")

    @property
    def _shows_schema(self) -> bool:
        return self.schema == "shown" or (self.schema == "auto" and self.judged == "reference")

    def _of_reference(self, sample: Sample) -> str | Score:
        reference = reference_of(sample)
        return reference or not_applicable(self._name, "the sample has no reference")

    def _of_output(self, sample: Sample, output: Output) -> str | Score:
        """The text to judge, or the score where there is none."""
        if refused_before(output):
            return no_answer(self._name)
        if self.candidate == "text" or (self.candidate == "auto" and not _asks_for_sql(sample)):
            return answer_of(output)
        reply = sql_reply(output, self.form, self.key)
        if reply.refused:
            return no_answer(self._name)
        return reply.sql or not_applicable(self._name, f"no SQL could be read: {reply.problem}", lacks="SQL")

    @property
    def _form(self) -> Form:
        return Form("relevance", 1, 5, self.weighting, self.samples, self.min_probability_mass)


def _asks_for_sql(sample: Sample) -> bool:
    return any(sample.metadata.get(name) for name in ("dialect", "db_id"))


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)


_NAME: Final = "answer_relevancy"
_UNANSWERABLE: Final = "answer_relevancy_unanswerable"
_QUESTIONS: Final = 2


@takes_model
@dataclass(frozen=True, slots=True)
class AnswerRelevancy(CaseScorer):
    """Whether an answer keeps to the question, and gives what was asked for: half a point each, so 0, 0.5 or 1.

    It needs no reference and no contexts, and does not ask whether the answer is true. A blank answer is 0; no call is
    made for it.

    Of a sample with `metadata["answerable"] = False` the right answer is that there is none: an answer that says so is
    1, and one that answers all the same is 0, since what it says cannot be what was asked for. An answer that says
    nothing but that is recognised without a call; any other goes to the judge with a prompt of its own.

    Args:
        threshold: the least value that passes, in [0, 1].
        template: the user's own prompt, which asks two questions numbered 1 and 2; it may name {{question}}, {{answer}}
            and {{mark}}.
        unanswerable_template: the user's own prompt for unanswerable samples, which asks whether the answer declines,
            YES or NO; it may name the same values.
    """

    stage_info: ClassVar[StageInfo] = StageInfo(mock_reply="1. YES\n2. YES")

    asks: ClassVar[Mapping[str, PromptForm]] = {
        _NAME: PromptForm(("question", "answer")),
        _UNANSWERABLE: PromptForm(("question", "answer"), template="unanswerable_template"),
    }

    threshold: Share = 1.0
    template: Path | str = ""
    unanswerable_template: Path | str = ""

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """0, 0.5 or 1."""
        return (ScoreInfo(_NAME, (0.0, 1.0), threshold=self.threshold),)

    def case(self, sample: Sample, output: Output) -> Case | Score:
        """An answer; one that is blank, or that declines a question without an answer, needs no judge."""
        answer = answer_of(output)
        if refused_before(output):
            return no_answer(_NAME)
        question = transcript_of(sample.input)
        language, passes = self.judge.language_for(question, answer), at_least(self.threshold)
        case = Case(_NAME, language, {"question": question, "answer": answer}, yes_or_no(), passes)
        if not answer.strip():
            return scored(case, [(Verdict("scored", 0.0, form="blank", reason="the answer is blank"),)])
        if not is_unanswerable(sample):
            return replace(case, form=numbered(_QUESTIONS))
        case = replace(case, prompt=_UNANSWERABLE, detail={"answerable": False})
        if is_abstention(answer):
            reason = "the question cannot be answered, and the answer says so"
            return scored(case, [(Verdict("scored", 1.0, form="abstention", reason=reason),)])
        return case

    def scores(self, case: Case, repeats: Repeats) -> Score:
        """The score, with the verdict on each of both questions."""
        if not case.form.numbered:
            return scored(case, repeats)
        labels = [[verdict.label for verdict in verdicts] for verdicts in repeats]
        return scored(case, repeats, {"verdicts": labels[0] if len(labels) == 1 else labels})


def is_unanswerable(sample: Sample) -> bool:
    """Whether a sample is marked as a question that cannot be answered, by `answerable` in its metadata.

    >>> is_unanswerable(Sample("1", "Who?", metadata={"answerable": False})), is_unanswerable(Sample("2", "Who?"))
    (True, False)
    """
    return sample.metadata.get("answerable") is False


_CONTEXT_NAMES: Final = ("context_relevance", "context_precision")
_BLANK: Final = Verdict("scored", 0.0, label="no", form="blank", reason="the context is blank")


@takes_model
@dataclass(frozen=True, slots=True)
class ContextRelevance(AskingScorer):
    """The share of retrieved contexts that are of use, and whether those come first: two scores in [0, 1].

    It needs neither reference nor answer. Without contexts the question does not apply; where the verdict on one
    cannot be read, both scores are unparsed.

    Args:
        window_tokens: estimated tokens of the contexts that one call shows, 50 or more; a context that does not fit one
            window is of use if a part of it is.
        template: the user's own prompt; it may name {{question}}, {{contexts}} (numbered from 1), {{count}}, {{mark}},
            and by reference {{reference}}.
        by_reference: show the reference answer too, so that a context is of use if it supports that answer or a part of
            it. The scores are `context_relevance_by_reference` and `context_precision_by_reference`, and do not apply
            without a reference or to an unanswerable question.
    """

    window_tokens: WindowTokens = 3000
    template: Path | str = ""
    by_reference: bool = False

    @property
    def asks(self) -> Mapping[str, PromptForm]:  # type: ignore[override]  # one prompt or the other
        """The one prompt that is sent."""
        shown = ("question", "reference", "contexts") if self.by_reference else ("question", "contexts")
        return {self._names[0]: PromptForm(shown, ("count",))}

    @property
    def stage_info(self) -> StageInfo:
        """A name of its own by reference, so that one suite can have both."""
        return StageInfo(name=self._names[0] if self.by_reference else "", mock_reply="1. YES")

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """Two shares."""
        return tuple(ScoreInfo(name, (0.0, 1.0)) for name in self._names)

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(f"{name}_by_reference" for name in _CONTEXT_NAMES) if self.by_reference else _CONTEXT_NAMES

    async def __call__(self, sample: Sample, output: Output, ask: Asks) -> Sequence[Score]:
        """Judge what was retrieved for one question."""
        contexts = contexts_of(sample, output)
        packed = windows(contexts, self.window_tokens)
        if why := self._not_compared(sample):
            return [not_applicable(name, why) for name in self._names]
        if not packed:
            return [not_applicable(name, "there are no contexts", lacks=PASSAGES) for name in self._names]
        material = {"question": transcript_of(sample.input)}
        language = self.judge.language_for(material["question"])
        if self.by_reference:
            material["reference"] = reference_of(sample, between=BETWEEN[language])
        calls = [partial(self._judge, ask, (material, language), window) for window in packed] * self.judge.repeats
        replies = await together(calls)
        starts = range(0, len(replies), len(packed))
        repeats = [_by_context(len(contexts), packed, replies[start : start + len(packed)]) for start in starts]
        detail = {"contexts": listed("context", [enumerate(verdicts, start=1) for verdicts in repeats])}

        def score(name: str, value: Callable[[Sequence[float]], float]) -> Score:
            verdicts = [
                combined_verdict(verdicts, value([verdict.value or 0.0 for verdict in verdicts]))
                for verdicts in repeats
            ]
            return score_of(name, verdicts, candidate="\n\n".join(contexts), detail=detail)

        relevance, precision = self._names
        return [score(relevance, fmean), score(precision, average_precision)]

    def _not_compared(self, sample: Sample) -> str:
        """Why the passages cannot be judged by the reference; "" where they can, or where it is not shown."""
        if not self.by_reference:
            return ""
        if not reference_of(sample):
            return "the sample has no reference answer"
        return "the question is marked as unanswerable" if is_unanswerable(sample) else ""

    async def _judge(
        self, ask: Asks, about: tuple[Mapping[str, str], Language], window: ContextWindow
    ) -> tuple[Verdict, ...]:
        material, language = about
        count = len(window.numbers)
        values = {**material, "contexts": window.renumbered().shown(), "count": str(count)}
        messages = self.prompts[self._names[0]].messages(language, values)
        return read_numbered(await self.judge.ask(ask, messages, schema=self.judge.numbered_schema(count)), count)


def average_precision(of_use: Sequence[float]) -> float:
    """Mean of precision@k over the ranks k that are of use; 0 where none is.

    Args:
        of_use: 1 or 0 by rank.

    Ranks 1 and 3 of use: (1/1 + 2/3) / 2.

    >>> round(average_precision([1, 0, 1]), 4), average_precision([0, 0])
    (0.8333, 0.0)
    """
    ranks = [rank for rank, value in enumerate(of_use, start=1) if value]
    return fmean(hits / rank for hits, rank in enumerate(ranks, start=1)) if ranks else 0.0


def _by_context(n: int, packed: Sequence[ContextWindow], replies: Sequence[Sequence[Verdict]]) -> tuple[Verdict, ...]:
    """One verdict for each context: of its parts the first YES, else the first unparsed one, else NO."""
    by_number: dict[int, list[Verdict]] = {number: [] for number in range(1, n + 1)}
    for window, verdicts in zip(packed, replies, strict=True):
        for number, verdict in zip(window.numbers, verdicts, strict=True):
            by_number[number].append(verdict)
    return tuple(_of_parts(parts) for parts in by_number.values())


def _of_parts(parts: Sequence[Verdict]) -> Verdict:
    yes = next((part for part in parts if part.value == 1), None)
    unparsed = next((part for part in parts if part.value is None), None)
    return yes or unparsed or (parts[0] if parts else _BLANK)
