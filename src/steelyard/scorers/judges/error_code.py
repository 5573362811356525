"""Scorers that look for one kind of error: by a judge with its definition and examples, or by a pattern.

Error analysis makes them: people note what is wrong with records, group the notes under codes, and a code becomes a
scorer whose verdicts can be compared with the notes (docs/how-to/error-analysis.md). Both score 1 where the answer is
free of the error, so that more is better, as for every rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final

from steelyard.errors import ConfigError
from steelyard.prompts.conversation import transcript_of
from steelyard.prompts.fenced_prompt import FencedPrompt, prompts_manifest
from steelyard.prompts.template import refuse_file_names
from steelyard.replies.answer_text import answer_of
from steelyard.replies.verdict import Verdict
from steelyard.replies.yes_no import read_yes_no
from steelyard.scorers.formats import Regex, undecided
from steelyard.scorers.judges.judge import Judge, contexts_of, no_answer, score_of, takes_model, unless_stopped
from steelyard.scorers.lexical import text_of, unscored
from steelyard.scorers.patterns import TIMEOUT_S, Flag, compile_pattern
from steelyard.session.replies import refused_before
from steelyard.types import INLINE, Asks, Output, Reply, Sample, Score, ScoreInfo, StageInfo

MOST_EXAMPLES: Final = 20
_REASON_TOKENS: Final = 512
_SHOWN: Final = 60


def _check_name(name: str) -> None:
    if not name.strip() or not name.isprintable():
        raise ConfigError(f"name: a score has a printable name, not {name!r}")


def _infos(name: str) -> tuple[ScoreInfo, ...]:
    return (ScoreInfo(name, (0.0, 1.0), threshold=1.0, labels=("free of it", "has the error")),)


@takes_model
@dataclass(frozen=True, slots=True)
class ErrorJudge:
    """Whether an answer is free of one kind of error, by a judge: 1 or 0.

    Args:
        judge: the model that judges.
        name: of the score.
        definition: what belongs to this kind of error, and what does not.
        examples: of the error, at most 20: an answer that has it, or a note on one. They must not be records that the
            judge is measured on.
        template: a prompt of your own; may use `{{question}}`, `{{contexts}}`, `{{answer}}`, `{{examples}}` (all
            fenced; what is not there is empty), `{{definition}}` and `{{mark}}`.
        system: a system message before it, as a text or a file, which may name the same values.
    """

    judge: Judge = Judge()
    name: str = ""
    definition: str = ""
    examples: tuple[str, ...] = ()
    template: Path | str = ""
    system: Path | str = ""

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """One share: 1 is free of the error."""
        return _infos(self.name)

    @property
    def stage_info(self) -> StageInfo:
        """The mock reply of a dry run: the answer is free of the error."""
        return StageInfo(mock_reply="Verdict: NO")

    def check(self) -> None:
        """Check the settings.

        Raises:
            ConfigError: no name or definition, examples that are not texts, or a prompt that cannot be trusted.
        """
        _check_name(self.name)
        if not isinstance(self.definition, str) or not self.definition.strip():
            raise ConfigError("definition: describe in words this kind of error")
        examples: Any = self.examples  # a single text would be taken for a list of letters
        if not isinstance(examples, tuple | list) or len(examples) > MOST_EXAMPLES:
            raise ConfigError(f"examples: a list of at most {MOST_EXAMPLES} texts, not {examples!r:.80}")
        if not all(isinstance(text, str) and text.strip() for text in examples):
            raise ConfigError("examples: each must be a text that is not blank")
        refuse_file_names(definition=self.definition, examples=self.examples)
        self._prompt.check()

    @property
    def prompts(self) -> dict[str, FencedPrompt]:
        """The prompts that are sent, by their names in the manifest."""
        return {"error_code": self._prompt}

    def manifest(self) -> dict[str, Any]:
        """The prompts and their hashes."""
        return prompts_manifest(**self.prompts)

    async def __call__(self, sample: Sample, output: Output, ask: Asks) -> Score:
        """Judge one answer."""
        if refused_before(output):
            return no_answer(self.name)
        question, answer = transcript_of(sample.input), answer_of(output)
        contexts = [str(getattr(context, "text", context)) for context in contexts_of(sample, output)]
        values = {
            "question": question,
            "contexts": "\n\n".join(contexts),
            "answer": answer,
            "examples": "\n".join(f"- {' '.join(text.split())}" for text in self.examples),
            "definition": self.definition.strip(),
        }
        messages = self._prompt.messages(self.judge.language_for(question, answer), values)
        verdicts = await self.judge.verdicts(
            ask, messages, _read, schema=self.judge.yes_no_schema(), max_tokens=_REASON_TOKENS
        )
        return _majority(score_of(self.name, verdicts, candidate=answer, passes=lambda value: value > 1 / 2), verdicts)

    @property
    def _prompt(self) -> FencedPrompt:
        fenced = ("question", "contexts", "answer", "examples")
        return self.judge.prompt(
            "error_code", self.template, fenced, ("definition",), shared=("examples",), system=self.system
        )


def _read(reply: Reply) -> Verdict:
    """The verdict of one reply, turned round: the judge says YES where the answer has the error."""
    verdict = unless_stopped(read_yes_no(reply.text, finish=reply.finish), reply)
    if verdict.value is None:
        return verdict
    return replace(verdict, value=1.0 - verdict.value, label="free of it" if verdict.value == 0 else "has the error")


def _majority(score: Score, verdicts: Sequence[Verdict]) -> Score:
    """Replace the mean of repeats by their majority, so that the score stays 0 or 1; a draw counts as the error."""
    if score.value is None or len(verdicts) == 1:
        return score
    how = f"majority of {len(verdicts)} repeats"
    return replace(score, value=float(score.value > 1 / 2), detail={**score.detail, "how": how})


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

    name: str
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
            ConfigError: no name, or a pattern, flag or time limit that cannot be used.
        """
        _check_name(self.name)
        Regex(self.pattern, flags=self.flags, timeout_s=self.timeout_s).check()

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
