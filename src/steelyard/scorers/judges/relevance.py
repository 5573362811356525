"""Relevance: does a query, or an answer, meet every point of the request, and nothing besides?

The fourth stage of judging generated SQL: whether it runs and returns the reference's result is told by running it
(`steelyard.scorers.sql`); whether it answers what was asked has to be read. A G-Eval with criteria and steps of our
own, so that nothing is written by the judge beforehand.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal, get_args

from steelyard.errors import ConfigError, did_you_mean
from steelyard.scorers.judges.g_eval_rating import Form, Weighting, rate, rated_score
from steelyard.scorers.judges.judge import Judge
from steelyard.scorers.judges.summing_up import no_answer, not_applicable, reference_of
from steelyard.session.answers import answer_of, refused_before
from steelyard.text.fenced_prompt import FencedPrompt
from steelyard.text.prompt_files import question_of
from steelyard.text.sql_reply import read_sql
from steelyard.types import Asks, Output, Sample, Score

Judged = Literal["output", "reference"]
Candidate = Literal["auto", "sql", "text"]

_STOPPED: Final = frozenset({"content_filter", "refusal"})
_NAMES: Final[Mapping[str, str]] = MappingProxyType({"output": "relevance", "reference": "relevance_of_reference"})


@dataclass(frozen=True, slots=True)
class Relevance:
    """From 1 to 5: whether all points of the request are covered, with nothing redundant or in excess.

    The judge sees the request, the schema in `metadata["schema"]` where there is one, and the candidate: the SQL of a
    reply, or the text of any other answer. A reply without SQL that can be read is not applicable here: its format
    has a score of its own. The score says in `detail` how it was taken, as that of `g_eval` does.

    Args:
        judge: the model that judges.
        judged: `output` is what the target gave; `reference` judges the samples' references alone, as a measure of the
            dataset; its score is `relevance_of_reference`.
        candidate: `sql` takes the SQL out of a reply, `text` all of an answer; `auto` is `sql` for samples that name a
            database or a dialect.
        weighting: as in `g_eval`.
        samples: how many replies `samples` asks for.
        least_mass: as in `g_eval`.
        threshold: the lowest score that passes; null: nothing passes or fails.
        template: a prompt of your own; may use `{{question}}`, `{{schema}}` (empty where there is none) and
            `{{answer}}`, all fenced, and `{{mark}}`.
    """

    over: ClassVar[str] = "scored"
    rehearsal: ClassVar[str] = "5"
    stand_in: ClassVar[str] = "SELECT 1"

    judge: Judge = Judge()
    judged: Judged = "output"
    candidate: Candidate = "auto"
    weighting: Weighting = "auto"
    samples: int = 20
    least_mass: float = 0.5
    threshold: float | None = None
    template: Path | str = ""

    @property
    def score_name(self) -> str:
        """`relevance`, or `relevance_of_reference`."""
        return _NAMES.get(self.judged, "relevance")

    @property
    def scales(self) -> Mapping[str, tuple[float, float]]:
        """The lowest and the highest score."""
        return {self.score_name: (1.0, 5.0)}

    @property
    def spread(self) -> tuple[str, ...]:
        """The score, which reports show as a histogram."""
        return (self.score_name,)

    def check(self) -> None:
        """Find what cannot be meant.

        Raises:
            ConfigError: an unknown word, an option out of its range, or a prompt that cannot be trusted.
        """
        for name, value, known in (
            ("judged", self.judged, get_args(Judged)),
            ("candidate", self.candidate, get_args(Candidate)),
        ):
            if value not in known:
                raise ConfigError(f"{name}: there is no {value!r}{did_you_mean(str(value), known)}")
        self._form.check()
        self._form.check_judge(self.judge)
        if self.threshold is not None and not 1 <= self.threshold <= 5:
            raise ConfigError(f"threshold: {self.threshold!r} is not on the scale from 1 to 5")
        self._prompt.check()

    def manifest(self) -> dict[str, Any]:
        """The prompt and its hash."""
        return {"prompts": {"relevance": self._prompt.manifest()}}

    async def __call__(self, sample: Sample, output: Output, ask: Asks) -> Score:
        """Judge one query or answer."""
        found = self._of_reference(sample) if self.judged == "reference" else self._of_output(sample, output)
        if isinstance(found, Score):
            return found
        question, schema = question_of(sample.input), sample.metadata.get("schema") or ""
        # The request alone decides: SQL is spelled in Latin letters whatever was asked.
        messages = self._prompt.messages(
            self.judge.language_for(question), {"question": question, "schema": _text(schema), "answer": found}
        )
        rated = await rate(self._form, self.judge, ask, messages)
        return rated_score(self.score_name, rated, candidate=found, threshold=self.threshold)

    def _of_reference(self, sample: Sample) -> str | Score:
        reference = reference_of(sample)
        return reference or not_applicable(self.score_name, "the sample has no reference")

    def _of_output(self, sample: Sample, output: Output) -> str | Score:
        """The text to judge, or the score where there is none."""
        if refused_before(output):
            return no_answer(self.score_name)
        if self.candidate == "text" or (self.candidate == "auto" and not _asks_for_sql(sample)):
            return answer_of(output)
        reading = read_sql(_text(output.value))
        if reading.status == "read":
            return f"{reading.create.rstrip('; ')};\n{reading.query}" if reading.create else reading.query
        if str(output.metadata.get("finish")) in _STOPPED:
            return no_answer(self.score_name)
        return not_applicable(self.score_name, f"no SQL could be read: {reading.message}")

    @property
    def _form(self) -> Form:
        return Form("relevance", 1, 5, self.weighting, self.samples, self.least_mass)

    @property
    def _prompt(self) -> FencedPrompt:
        return FencedPrompt("judge_relevance", self.template, ("question", "schema", "answer"))


def _asks_for_sql(sample: Sample) -> bool:
    return any(sample.metadata.get(name) for name in ("dialect", "db_id"))


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)
