"""Scorers that look for one kind of error: by a judge with its definition and examples, or by a pattern.

Error analysis makes them: people note what is wrong with records, group the notes under codes, and a code becomes a
scorer whose verdicts can be compared with the notes (docs/how-to/error-analysis.md). Both score 1 where the answer is
free of the error, so that more is better, as for every rate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar, Final

from steelyard.constraints import Filled, ScoreName, TextList, check_options
from steelyard.prompts.conversation import transcript_of
from steelyard.prompts.template import own_words
from steelyard.replies.answer_text import answer_of
from steelyard.replies.judge_reply import Verdict
from steelyard.scorers.formats import Regex, undecided
from steelyard.scorers.judges.declared import (
    REASON_TOKENS,
    AskingScorer,
    Case,
    PromptForm,
    Repeats,
    is_most,
    majority,
    scored,
    yes_or_no,
)
from steelyard.scorers.judges.judge import takes_model
from steelyard.scorers.judges.verdicts import contexts_of, no_answer, yes_no_in
from steelyard.scorers.lexical import text_of, unscored
from steelyard.scorers.patterns import TIMEOUT_S, Flag, compile_pattern
from steelyard.session.replies import refused_before
from steelyard.types import INLINE, Output, Reply, Sample, Score, ScoreInfo, StageInfo

MOST_EXAMPLES: Final = 20
_SHOWN: Final = 60


def _infos(name: str) -> tuple[ScoreInfo, ...]:
    return (ScoreInfo(name, (0.0, 1.0), threshold=1.0, labels=("free of it", "has the error")),)


@takes_model
@dataclass(frozen=True, slots=True)
class ErrorJudge(AskingScorer):
    """Whether an answer is free of one kind of error, by a judge: 1 or 0.

    Args:
        name: of the score.
        definition: what belongs to this kind of error, and what does not.
        examples: of the error, at most 20: an answer that has it, or a note on one. They must not be records that the
            judge is measured on.
        template: a prompt of your own; may use `{{question}}`, `{{contexts}}`, `{{answer}}`, `{{examples}}` (all
            fenced; what is not there is empty), `{{definition}}` and `{{mark}}`.
    """

    stage_info: ClassVar[StageInfo] = StageInfo(mock_reply="Verdict: NO")
    asks: ClassVar[Mapping[str, PromptForm]] = {
        "error_code": PromptForm(("question", "contexts", "answer", "examples"), ("definition",), shared=("examples",))
    }

    name: ScoreName = ""
    definition: Annotated[str, Filled("describe in words this kind of error"), own_words] = ""
    examples: Annotated[tuple[str, ...], TextList(most=MOST_EXAMPLES), own_words] = ()
    template: Path | str = ""

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """One share: 1 is free of the error."""
        return _infos(self.name)

    def case(self, sample: Sample, output: Output) -> Case | Score:
        """An answer, with what it was made from."""
        if refused_before(output):
            return no_answer(self.name)
        question, answer = transcript_of(sample.input), answer_of(output)
        values = {
            "question": question,
            "contexts": "\n\n".join(contexts_of(sample, output)),
            "answer": answer,
            "examples": "\n".join(f"- {' '.join(text.split())}" for text in self.examples),
            "definition": self.definition.strip(),
        }
        form = yes_or_no(REASON_TOKENS, _read)
        return Case(self.name, self.judge.language_for(question, answer), values, form, is_most)

    def scores(self, case: Case, repeats: Repeats) -> Score:
        """The score; of repeats their majority, and a draw counts as the error."""
        return majority(scored(case, repeats), len(repeats))


def _read(reply: Reply) -> Verdict:
    """The verdict of one reply, turned round: the judge says YES where the answer has the error."""
    verdict = yes_no_in(reply)
    if verdict.value is None:
        return verdict
    return replace(verdict, value=1.0 - verdict.value, label="free of it" if verdict.value == 0 else "has the error")


@dataclass(frozen=True, slots=True)
class ErrorPattern:
    r"""Whether an answer is free of one kind of error, by a regular expression that finds the error: 1 or 0.

    Args:
        name: of the score.
        pattern: the regular expression; where it is found, the answer has the error.
        flags: as of `regex`.
        timeout_s: likewise.

    >>> ErrorPattern("apology", r"(?i)\bsorry\b")(Sample("1", "When?"), Output("Sorry, I cannot say.")).value
    0.0
    """

    stage_info: ClassVar[StageInfo] = INLINE

    name: ScoreName
    pattern: str
    flags: tuple[Flag, ...] = ()
    timeout_s: float = TIMEOUT_S

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """One share: 1 is free of the error."""
        return _infos(self.name)

    def check(self) -> None:
        """Check the settings.

        Raises:
            ConfigError: a pattern, flag or time limit that cannot be used.
        """
        check_options(Regex(self.pattern, flags=self.flags, timeout_s=self.timeout_s))

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Look for the error in one output."""
        del sample
        if (score := unscored(self.name, "", output)) is not None:
            return score
        try:
            match = compile_pattern(self.pattern, self.flags).search(text_of(output), timeout=self.timeout_s)
        except TimeoutError:
            return undecided(self.name, f"the pattern was not decided within {self.timeout_s:g} s")
        reason = f"found {match[0][:_SHOWN]!r}" if match else "the pattern is not found"
        return Score(self.name, float(match is None), passed=match is None, reason=reason)
