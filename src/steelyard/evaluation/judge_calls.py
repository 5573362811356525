"""What the judges of a suite send beside their prompts, as `check` shows it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.evaluation.objects import Suite
from steelyard.evaluation.survey import calls_in
from steelyard.models.base import ModelInfo
from steelyard.models.prices import priced_names
from steelyard.plain_json import to_json
from steelyard.runner import stage_name


@dataclass(frozen=True, slots=True)
class JudgeCalls:
    """What the judges of a suite send beside their prompts.

    Args:
        model: the name of the model that judges.
        scorers: that ask it in this way.
        parameters: of every call, the model's own included.
        refusable: names of those that are left out where the endpoint refuses them.
        overridden: parameters of the model in whose place the judge sends others.
    """

    model: str
    scorers: tuple[str, ...]
    parameters: Mapping[str, Any]
    refusable: tuple[str, ...]
    overridden: Mapping[str, Any]

    def line(self) -> str:
        """The same as a line of text."""
        sent = ", ".join(f"{name} {_as_text(value)}" for name, value in self.parameters.items()) or "no parameters"
        refusable = "; what the endpoint refuses of these is left out" if self.refusable else ""
        if self.refusable and len(self.refusable) < len(self.parameters):
            refusable = f"; {', '.join(self.refusable)} left out where the endpoint refuses them"
        own = ", ".join(f"{name} {_as_text(value)}" for name, value in self.overridden.items())
        instead = f" (in place of the model's own {own})" if own else ""
        return f"judge {self.model} ({', '.join(self.scorers)}) sends {sent}{instead}{refusable}"


def judge_calls(suite: Suite) -> list[JudgeCalls]:
    """What the judges of a suite send, one entry for each model and set of parameters."""
    found: dict[bytes, JudgeCalls] = {}
    for scorer in suite.all_scorers:
        for model, judge in calls_in(scorer):
            if not callable(getattr(judge, "sent", None)):
                continue
            own, sent = ModelInfo.of(model).parameters, judge.sent()
            refusable = tuple(name for name in sent if name in judge.optional())
            overridden = {name: own[name] for name in own if sent.get(name, own[name]) != own[name]}
            name = next(priced_names(model), type(model).__name__)
            key = to_json([name, ModelInfo.of(model).address, {**own, **sent}, refusable])
            before = found[key].scorers if key in found else ()
            scorers = tuple(dict.fromkeys((*before, stage_name(scorer))))
            found[key] = JudgeCalls(name, scorers, {**own, **sent}, refusable, overridden)
    return list(found.values())


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
