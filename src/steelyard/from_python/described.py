"""What Python code gives to `evaluate`, as the suite that a configuration file would describe.

Samples from a file, a frame or plain rows are read by the general suite. `Sample` objects are taken as they are;
prompts, models, judges and scorers are put together in the same way for both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Final

from steelyard.analysis.judges.rater_findings_values import JuryVote
from steelyard.building.build import build_scorer
from steelyard.data.headers import Role, fitting
from steelyard.data.sample_files import HeldFrame, SampleFiles
from steelyard.errors import ConfigError
from steelyard.evaluation.objects import Options, Suite, content_ids
from steelyard.models.base import Model, is_model
from steelyard.prompts.conversation import transcript_of
from steelyard.prompts.language import language_of
from steelyard.scorers.judges.judge import Judge, in_language, with_judge
from steelyard.suites.general.suite import GeneralSuite, Grid, models_by_name
from steelyard.types import Sample, Target

_KIND: Final = "general"
_NAME: Final = "evaluation"
_ID: Final = Role("id", required=False, words="general_id", by_position=False)


@dataclass(frozen=True, slots=True)
class GivenEvaluation:
    """The arguments of `evaluate`, which it documents.

    Args:
        target: one, or several by name.
        samples: what they are evaluated on.
        scorers: what is scored.
        model: that prompts are sent to: one, or several by name.
        judge: of all scorers that have none of their own.
        name: a title; "" is the file's name, else `evaluation`.
        jury: how the verdicts of several judges become one.
        tags: of each target.
    """

    target: Any
    samples: Any
    scorers: Sequence[Any]
    model: Any = None
    judge: Any = None
    name: str = ""
    jury: JuryVote | str = ""
    tags: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def is_several(self) -> bool:
        """Whether several targets were asked for, so that several runs come back."""
        return isinstance(self.target, Mapping) or isinstance(self.model, Mapping)

    def suite(self, options: Options) -> Suite:
        """The suite; no model is called.

        Raises:
            ConfigError: an argument that cannot be used, or two that do not go together.
            DataError: rows with defects.
        """
        if isinstance(self.scorers, str | Mapping) or not isinstance(self.scorers, Iterable):
            raise ConfigError(f"scorers: expected a list, such as ['label'], but got {self.scorers!r:.80}")
        scorers = tuple(
            build_scorer(scorer, f"scorers[{at}]") if isinstance(scorer, str | Mapping) else scorer
            for at, scorer in enumerate(self.scorers)
        )
        prompts, targets = self._targets()
        grid = Grid(prompts, self._models(prompts))
        samples = self._samples()
        if isinstance(samples, SampleFiles):  # a table is a general suite, as a configuration describes it
            return GeneralSuite(
                samples,
                prompts=grid.prompts,
                models=grid.models,
                targets=targets,
                judge=self._judge(),
                scorers=scorers,
                name=self.name,
                options=options,
                jury=self.jury,  # type: ignore[arg-type]  # any other text is refused with the suite
            ).build()
        tags: dict[str, Mapping[str, str]] = {}
        if grid.models:
            keys = dict.fromkeys(chain.from_iterable(sample.metadata for sample in samples))
            for name, target, of_grid in grid.targets({key: f"metadata.{key}" for key in keys}, "the metadata"):
                targets[name], tags[name] = target, of_grid
        if self.judge is not None:
            language = language_of(*(transcript_of(sample.input) for sample in samples))
            scorers = with_judge(scorers, in_language(self._judge(), language))
        jury = {"vote": self.jury} if self.jury else {}
        return Suite(self.name or _NAME, _KIND, samples, targets, scorers, options, tags, jury=jury)

    def _judge(self) -> Judge:
        judge = self.judge if isinstance(self.judge, Judge) else Judge(self.judge)
        if judge.model is not None and not is_model(judge.model):
            raise ConfigError(f"judge: expected a model or a Judge, but got {judge.model!r:.80}")
        return judge

    def _targets(self) -> tuple[dict[str, Path | str], dict[str, Target]]:
        """Prompts by name, and other targets by name; a single prompt has no name."""
        given = self.target if isinstance(self.target, Mapping) else {"": self.target}
        if not given:
            raise ConfigError("there is no target: give a prompt's text, a function or a target, or several by name")
        prompts = {name: target for name, target in given.items() if isinstance(target, str | Path)}
        targets = {name or _label(target): target for name, target in given.items() if name not in prompts}
        for name, target in targets.items():
            if not (callable(target) or is_model(target) or hasattr(target, "unwrap")):
                raise ConfigError(f"{name}: expected a prompt's text, a function or a target, but got {target!r:.80}")
        return prompts, targets

    def _models(self, prompts: Mapping[str, Any]) -> dict[str, Model]:
        """The models that prompts are sent to, by name."""
        if self.model is None:
            if prompts:
                raise ConfigError("a prompt needs a model that answers it: model=OpenAICompatible(NAME, base_url=...)")
            return {}
        if not prompts:
            raise ConfigError("model= answers prompts, and there is none: the target is not a text")
        several = self.model.values() if isinstance(self.model, Mapping) else [self.model]
        for model in several:
            if not is_model(model):
                raise ConfigError(f"model: expected a model such as OpenAICompatible, but got {model!r:.80}")
        return models_by_name(self.model if isinstance(self.model, Mapping) else (self.model,), None)

    def _samples(self) -> SampleFiles | Iterable[Sample]:
        """Files and rows as `SampleFiles`; anything else that can be iterated are `Sample` objects."""
        samples = self.samples
        if isinstance(samples, SampleFiles):
            return samples
        if isinstance(samples, str | Path):
            return SampleFiles(file=Path(samples))
        first = samples[0] if isinstance(samples, Sequence) and samples else None
        if isinstance(first, Mapping) or not hasattr(samples, "__iter__") or _is_frame(samples):
            return _held(samples, self.name or _NAME)
        if iter(samples) is samples:
            samples = list(samples)  # an iterator can be read once
        return samples  # type: ignore[no-any-return]  # what else it may hold is found where it is read


def _label(target: Any) -> str:
    return str(getattr(target, "__name__", "") or type(target).__name__).lower()


def _is_frame(samples: Any) -> bool:
    """Whether rows are held by a library for frames or datasets."""
    return type(samples).__module__.partition(".")[0] in {"pandas", "polars", "pyarrow", "datasets"}


def _held(rows: Any, name: str) -> SampleFiles:
    """Rows in memory; where no column is the id, it is the hash of a row's content."""
    cells = [row.cells for row in HeldFrame(rows, name).table().source()]
    headers = dict.fromkeys(chain.from_iterable(cells))
    if not fitting({header: str(header) for header in headers}, _ID):
        ids = content_ids(cells)
        cells = [{"id": ident, **row} for ident, row in zip(ids, cells, strict=True)]  # type: ignore[dict-item]
    return SampleFiles.of(cells, name=name)
