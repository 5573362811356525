"""What a scorer that scores by other scorers says of itself, and the keys that every scorer takes: name, value, of.

`PerTurn`, `Not` and `AnyOf` hold scorers too. Judges, prompts and prices reach the scorers inside through `parts` and
`with_parts` (`types.WrapsScorers`), so that nothing has to know how deep they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from steelyard.errors import ConfigError
from steelyard.models.json_paths import JmesPath, PathSearch
from steelyard.registry import describe, name_of
from steelyard.replies.jsonlike import read_json
from steelyard.types import Asks, Output, Sample, Score, ScoreInfo, Scorer, StageInfo, WrapsScorers

WRAPPER_KEYS: Final = ("name", "value", "of")
"""Keys of every scorer whose class has no field of that name."""


def infos_of_part(scorer: Any) -> Sequence[ScoreInfo]:
    """What a scorer declares of its scores; by default one of its own name."""
    return getattr(scorer, "score_infos", ()) or (ScoreInfo(_own_name(scorer)),)


def stage_of_part(scorer: Any) -> StageInfo:
    """How a scorer is run; its name is that of its stage."""
    stage = getattr(scorer, "stage_info", StageInfo())
    infos = infos_of_part(scorer)
    name = stage.name or (infos[0].name if len(infos) == 1 else _own_name(scorer))
    return replace(stage, name=name, inline=False)


def _own_name(scorer: Any) -> str:
    name = getattr(scorer, "__name__", "") or name_of("scorer", type(scorer)) or type(scorer).__name__
    return str(name)


def judge_of_parts(parts: Sequence[Any]) -> Any:
    """The judge of those of the scorers that have none of their own yet, else the first judge; None where none asks."""
    judges = [judge for part in parts if (judge := getattr(part, "judge", None)) is not None]
    return next((judge for judge in judges if getattr(judge, "model", None) is None), judges[0] if judges else None)


def prompts_of_parts(parts: Sequence[Any]) -> Mapping[str, Any]:
    """The prompts of the scorers, by their names; of several scorers with their positions."""
    if len(parts) == 1:
        prompts: Mapping[str, Any] = getattr(parts[0], "prompts", {})
        return prompts
    return {
        f"{no}. {key}": prompt
        for no, part in enumerate(parts, start=1)
        for key, prompt in getattr(part, "prompts", {}).items()
    }


def rebound(scorer: Any, bind: Any) -> Any:
    """The scorer after `bind`, which is called with it and, through scorers that score by others, with those inside."""
    if isinstance(scorer, WrapsScorers):
        scorer = scorer.with_parts(tuple(rebound(part, bind) for part in scorer.parts))
    return bind(scorer)


@dataclass(frozen=True, slots=True)
class WrapsOne:
    """A scorer that scores by one other scorer; what binds a scorer reaches that one through it."""

    scorer: Scorer

    @property
    def parts(self) -> tuple[Scorer, ...]:
        """The scorer."""
        return (self.scorer,)

    def with_parts(self, parts: tuple[Scorer, ...]) -> Self:
        """Return a copy with another scorer."""
        return replace(self, scorer=parts[0])

    @property
    def judge(self) -> Any:
        """The judge of the scorer; None where it has none."""
        return judge_of_parts(self.parts)

    @property
    def prompts(self) -> Mapping[str, Any]:
        """The prompts of the scorer."""
        return prompts_of_parts(self.parts)


@dataclass(frozen=True, slots=True)
class Adapted(WrapsOne):
    """A scorer with the keys that every scorer takes.

    Args:
        scorer: what scores.
        name: of its first score; another score of it is named `NAME_SCORE`. Empty: as the scorer names them.
        value: in place of the sample's expected output; None: the sample's own.
        of: a JMESPath expression: the part of the output's JSON that is scored in place of the output.
    """

    name: str = ""
    value: Any = None
    of: JmesPath = ""

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """Those of the scorer under their names here."""
        return tuple(replace(info, name=self._named(info.name)) for info in infos_of_part(self.scorer))

    @property
    def stage_info(self) -> StageInfo:
        """That of the scorer, under the name."""
        stage = stage_of_part(self.scorer)
        return replace(stage, name=self.name or stage.name)

    def described(self) -> Any:
        """The scorer as it is written in a configuration: with these keys among its own."""
        own = {key: describe(getattr(self, key)) for key in WRAPPER_KEYS if getattr(self, key) not in ("", None)}
        inner = describe(self.scorer)
        if not isinstance(inner, Mapping) or len(inner) != 1:
            return {"scorer": inner, **own}
        ((registered, fields),) = inner.items()
        return {registered: {**fields, **own}}

    def check(self) -> None:
        """Check the keys.

        Raises:
            ConfigError: a name that is not printable.
        """
        if not isinstance(self.name, str) or not self.name.isprintable() or self.name != self.name.strip():
            raise ConfigError(f"name: a score has a printable name, not {self.name!r}")

    async def __call__(self, sample: Sample, output: Output, ask: Asks, call_scorer: Any) -> list[Score]:
        """Score one output; `call_scorer` is as for `PerTurn`."""
        if self.value is not None:
            sample = replace(sample, reference=self.value)
        if self.of and not getattr(ask, "is_dry_run", False):  # whose output is a placeholder
            value, problem = self._part(output)
            if problem:
                detail = {"kind": "none"}
                return [
                    Score(info.name, None, outcome="unparsed", reason=problem, detail=detail)
                    for info in self.score_infos
                ]
            output = replace(output, value=value)
        scores = await call_scorer(self.scorer, infos_of_part(self.scorer)[0].name, sample, output, ask)
        return [replace(score, name=self._named(score.name)) for score in scores]

    def _part(self, output: Output) -> tuple[Any, str]:
        """The part of the output that `of` names, and the problem where there is none."""
        value, problem = read_json(output.value) if isinstance(output.value, str) else (output.value, "")
        if problem:
            return None, problem
        try:
            part = PathSearch(self.of)(value)
        except ValueError as error:
            return None, f"{self.of}: {error}"
        return part, "" if part is not None else f"the output's JSON has no {self.of}"

    def _named(self, name: str) -> str:
        if not self.name:
            return name
        return self.name if name == infos_of_part(self.scorer)[0].name else f"{self.name}_{name}"
