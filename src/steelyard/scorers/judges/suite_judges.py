"""The judges of a suite: one, or several by name with a jury, set on the scorers that have no judge of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, Literal

from steelyard.analysis.judges.findings import JuryVote
from steelyard.errors import ConfigError
from steelyard.prompts.language import Language
from steelyard.scorers.judges.judge import Judge, judge_of, judged_by
from steelyard.types import Scorer


@dataclass(frozen=True, slots=True)
class SuiteJudges:
    """The judges of a suite.

    Args:
        several: by name; empty where there is one, or none.
        one: the judge; the default `Judge()` where there is none, or several.
        jury: the rule of the jury, for the manifest; empty where there is none.
    """

    several: Mapping[str, Judge]
    one: Judge
    jury: Mapping[str, str]

    @classmethod
    def given(cls, judge: Judge, judges: Mapping[str, Judge], jury: JuryVote | Literal[""]) -> SuiteJudges:
        """The judges from the values of the three keys.

        Raises:
            ConfigError: both `judge` and `judges` are set.
        """
        if judges and judge != Judge():
            raise ConfigError("judge and judges: name one judge, or several by their names")
        return cls(judges, judge, {"vote": jury} if jury else {})

    @property
    def can_ask(self) -> bool:
        """Whether there is a model to ask."""
        return bool(self.several) or self.one.model is not None

    def in_language(self, language: Language) -> SuiteJudges:
        """The same judges; those whose prompts are in the language of each record have them in one for all."""
        several = {name: in_language(judge, language) for name, judge in self.several.items()}
        return replace(self, several=several, one=in_language(self.one, language) if self.can_ask else self.one)

    def given_to(self, scorers: Sequence[Scorer]) -> tuple[Scorer, ...]:
        """The scorers with their judges; with several judges, each scorer that needs one is repeated for each of them.

        Raises:
            ConfigError: there are several judges, and no scorer needs one.
        """
        if not self.several:
            return with_judge(scorers, self.one)
        if not any(map(_wants_judge, scorers)):
            raise ConfigError("judges: no scorer uses them: each has its own judge, or needs none")
        return with_judges(scorers, self.several)


def in_language(judge: Judge, language: Language) -> Judge:
    """The judge; one whose prompts are in the language of each record has them in this one."""
    return replace(judge, language=language) if judge.language == "auto" else judge


def with_judge(scorers: Sequence[Scorer], judge: Judge) -> tuple[Scorer, ...]:
    """The scorers, with `judge` set on those that take a judge and have the default one."""
    return tuple(judged_by(scorer, judge) if _wants_judge(scorer) else scorer for scorer in scorers)


def with_judges(scorers: Sequence[Scorer], judges: Mapping[str, Judge]) -> tuple[Scorer, ...]:
    """The scorers; each that takes a judge and has the default one is repeated for each of `judges`, by name.

    Raises:
        ConfigError: a name that cannot be a judge's.
    """
    try:
        named_judges = [replace(judge, name=name) for name, judge in judges.items()]
    except ConfigError as error:
        raise ConfigError(f"judges: {error.message.removeprefix('name: ')}") from error
    return tuple(
        judged_scorer
        for scorer in scorers
        for judged_scorer in (
            [judged_by(scorer, judge) for judge in named_judges] if _wants_judge(scorer) else [scorer]
        )
    )


def _wants_judge(scorer: Any) -> bool:
    return is_dataclass(scorer) and not isinstance(scorer, type) and judge_of(scorer) == Judge()
