"""Is the answer right, by a reference answer? One holistic verdict from 1 to 5 with reasoning.

The rule (not relevant to the query: 1; relevant with mistakes: 2 to 3; relevant and fully correct: 4 to 5; passing from
4.0 on) is that of LlamaIndex' CorrectnessEvaluator; the words of the prompt are ours. Deviations: the rating is found
anywhere in a reply, not only in its first line; a rating outside the scale is unparsed; without a reference the
question does not apply, where LlamaIndex judges against a placeholder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Final

from steelyard.constraints import Within
from steelyard.prompts.conversation import transcript_of
from steelyard.replies.answer_text import answer_of
from steelyard.replies.judge_reply import Scale, Verdict
from steelyard.scorers.judges.declared import AskingScorer, Case, PromptForm, Repeats, at_least, rating, scored
from steelyard.scorers.judges.judge import takes_model
from steelyard.scorers.judges.verdicts import BETWEEN, no_answer, not_applicable, reference_of
from steelyard.session.replies import refused_before
from steelyard.types import Output, Sample, Score, ScoreInfo, StageInfo

_SCALE: Final = Scale(1, 5)
_NAMES: Final = ("correctness", "correct")


@takes_model
@dataclass(frozen=True, slots=True)
class Correctness(AskingScorer):
    """Correctness of an answer against its reference: `correctness` from 1 to 5; `correct` is 1 if that passes, else 0.

    A sample without a reference is not applicable; a list of references holds alternatives. A blank answer is 1, since
    it answers nothing; no call is made for it.

    Args:
        threshold: the least rating that passes.
        template: the user's own prompt; it may name {{question}}, {{reference}} (alternatives are parted by a line OR,
            in Chinese 或), {{answer}} and {{mark}}.
    """

    short_key: ClassVar[str] = "value"
    stage_info: ClassVar[StageInfo] = StageInfo(mock_reply="5")
    asks: ClassVar[Mapping[str, PromptForm]] = {"correctness": PromptForm(("question", "reference", "answer"))}
    shows_images: ClassVar[bool] = True

    threshold: Annotated[float, Within(_SCALE.low, _SCALE.high)] = 4.0
    template: Path | str = ""

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """The rating, and whether it passes."""
        return (
            ScoreInfo("correctness", (_SCALE.low, _SCALE.high), threshold=self.threshold, histogram=True),
            ScoreInfo("correct", (0.0, 1.0), threshold=1.0, labels=("right", "wrong")),
        )

    def case(self, sample: Sample, output: Output) -> Case | Sequence[Score]:
        """An answer and its reference; a blank answer needs no judge."""
        if not reference_of(sample):
            return [not_applicable(name, "the sample has no reference answer") for name in _NAMES]
        if refused_before(output):
            return [no_answer(name) for name in _NAMES]
        question, answer = transcript_of(sample.input), answer_of(output)
        language = self.judge.language_for(question, answer)
        values = {
            "question": question,
            "reference": reference_of(sample, between=BETWEEN[language]),
            "answer": answer,
        }
        case = Case("correctness", language, values, rating(_SCALE), at_least(self.threshold))
        if not answer.strip():
            return self.scores(case, [(Verdict("scored", _SCALE.low, form="blank", reason="the answer is blank"),)])
        return case

    def scores(self, case: Case, repeats: Repeats) -> Sequence[Score]:
        """Both scores; with repeats `correct` follows from the mean rating, so that it is still 1 or 0."""
        rated = scored(case, repeats)
        value = None if rated.passed is None else float(rated.passed)
        detail = {key: rated.detail[key] for key in ("kind", "verdict_like") if key in rated.detail}
        return [rated, Score("correct", value, rated.passed, rated.outcome, reason=rated.reason, detail=detail)]
