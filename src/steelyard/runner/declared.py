"""Reads what a target or scorer declares: its scores, its stage, and the parameters that it takes.

`ScoreInfo` and `StageInfo` are declared by the attributes `score_infos` and `stage_info`, of an object or a function;
where nothing is declared there are defaults. The parameters of a scorer are bound by their names, so that
`def close(output, expected)` gets what it says: one with a parameter `sample` gets whole objects (`Sample`, `Output`),
one without gets plain values. A parameter that is annotated as `Sample` or `Output` may have any name.
"""

# Why it is so, and what was rejected: docs/decisions/scorers-verdicts.md

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any, Final

from steelyard.errors import ConfigError, boundary, did_you_mean
from steelyard.registry import name_of
from steelyard.types import DescribesScores, DescribesStage, ScoreInfo, StageInfo

_GIVEN_BY_RUNNER: Final = frozenset({"ask", "sandbox", "call_target", "call_scorer"})
_OF_SAMPLE: Final[Mapping[str, Callable[[Any], Any]]] = {
    "expected": attrgetter("reference"),
    "reference": attrgetter("reference"),
    "input": attrgetter("input"),
    "metadata": attrgetter("metadata"),
}
_NAMES: Final = ("sample", "output", *_OF_SAMPLE, "ask")
_WHOLE: Final = ("sample", "output")
_VARIABLE: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def stage_info(part: Any) -> StageInfo:
    """Read how a target or scorer is to be run.

    Raises:
        ConfigError: it declares something other than a StageInfo.
    """
    with boundary("config", _name(part)):  # an option that `check` would refuse may raise in a property
        if not isinstance(part, DescribesStage):
            return StageInfo()
        info: Any = part.stage_info
    if not isinstance(info, StageInfo):
        raise ConfigError(f"{_name(part)}: stage_info must be a StageInfo, not {info!r:.80}")
    return info


def stage_name(scorer: Any) -> str:
    """The name of a scorer's stage: as declared, else its only score's, its registered name, or the function's.

    Raises:
        ConfigError: it declares something other than scores.
    """
    infos = _declared(scorer)
    only = infos[0].name if len(infos) == 1 else ""
    name = stage_info(scorer).name or only or name_of("scorer", type(scorer)) or _name(scorer)
    judge = judge_name(scorer)
    return f"{name}_{judge}" if judge and name != only else name


def judge_name(scorer: Any) -> str:
    """The name of a scorer's judge, which its stage and scores end in; "" where it has no judge, or one without a name.

    It is added here and in `Step.scores`, so that no scorer has to know of other judges.
    """
    name = getattr(getattr(scorer, "judge", None), "name", "")
    return name if isinstance(name, str) else ""


def score_infos(scorer: Any, stage: str) -> tuple[ScoreInfo, ...]:
    """Read the scores that a scorer declares; by default one score named after its stage, of unknown range.

    Raises:
        ConfigError: it declares something other than scores.
    """
    return _declared(scorer) or (ScoreInfo(stage),)


def _declared(scorer: Any) -> tuple[ScoreInfo, ...]:
    with boundary("config", _name(scorer)):  # as above
        if not isinstance(scorer, DescribesScores):
            return ()
        infos: Any = scorer.score_infos
    if not isinstance(infos, Sequence) or not infos or not all(isinstance(info, ScoreInfo) for info in infos):
        raise ConfigError(
            f"{_name(scorer)}: score_infos must be a tuple of ScoreInfo, such as "
            f"(ScoreInfo('rating', range=(1, 5)),), not {infos!r:.80}"
        )
    judge = judge_name(scorer)
    if not judge:
        return tuple(infos)
    return tuple(replace(info, name=f"{info.name}_{judge}", rates=info.rates or info.name) for info in infos)


def _name(part: Any) -> str:
    return str(getattr(part, "__name__", "") or type(part).__name__)


def bound_by_name(stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the scorer as a function of (Sample, Output), which passes on what its parameters name.

    Args:
        stage: its name, for messages.
        function: the scorer; returned as it is if its parameters are `sample` and `output`, or cannot be known.

    Raises:
        ConfigError: a parameter without a default has a name that no scorer is given.
    """
    try:
        parameters = [each for each in inspect.signature(function).parameters.values() if each.kind not in _VARIABLE]
    except ValueError:  # some functions written in C have no signature
        return function
    filled = function.keywords if isinstance(function, partial) else ()
    parameters = [each for each in parameters if each.name not in _GIVEN_BY_RUNNER and each.name not in filled]
    roles = _roles(stage, parameters)
    by_position = [each.name for each in parameters[:2] if each.kind is not each.KEYWORD_ONLY]
    if not roles or [*roles.values()] == by_position == [*_WHOLE]:
        return function
    whole = "sample" in roles.values() or any(_annotated(each) == "output" for each in parameters)
    positions = [
        roles.pop(each.name) for each in parameters if each.kind is each.POSITIONAL_ONLY and each.name in roles
    ]

    def scorer(sample: Any, output: Any, **given: Any) -> Any:
        values = {"sample": sample, "output": output if whole else output.value}

        def value(role: str) -> Any:
            return values[role] if role in values else _OF_SAMPLE[role](sample)

        return function(*map(value, positions), **{name: value(role) for name, role in roles.items()}, **given)

    return scorer


def _roles(stage: str, parameters: list[inspect.Parameter]) -> dict[str, str]:
    """Parameter -> what it is given: "sample", "output" or a value of the sample; those with a default may be left out.

    Beside a `sample` or `output` that is known as an object, one unknown name is the other object.
    """
    roles = {each.name: role for each in parameters if (role := _role(each))}
    unknown = [each.name for each in parameters if each.name not in roles and each.default is each.empty]
    if len(unknown) == 1 and "sample" in roles.values() and "output" not in roles.values():
        roles[unknown[0]] = "output"
    elif unknown:
        raise ConfigError(
            f"scorer {stage!r} has a parameter {unknown[0]!r}, and nothing of that name is given to scorers"
            f"{did_you_mean(unknown[0], _NAMES)}. Write `def {stage if stage.isidentifier() else 'score'}(output, "
            "expected)` for plain values, also with input and metadata, or `(sample, output)` for the whole objects"
        )
    return roles


def _role(parameter: inspect.Parameter) -> str:
    if annotated := _annotated(parameter):
        return annotated
    return parameter.name if parameter.name in {*_WHOLE, *_OF_SAMPLE} else ""


def _annotated(parameter: inspect.Parameter) -> str:
    """`sample` or `output` where the parameter is annotated as such an object, by the class or as a text."""
    annotation = parameter.annotation
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return {"Sample": "sample", "Output": "output"}.get(name.rpartition(".")[2], "")
