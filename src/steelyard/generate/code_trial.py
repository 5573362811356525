"""Trying the scorer of an error code: it scores the records that people noted, and is compared with their notes.

A trial is a run of kind `codes` whose target gives the stored outputs, so journal, budget, progress and resume are
those of every run. Records that are examples of the scorer are left out: calls for them would be wasted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Final

from steelyard.constraints import check_options
from steelyard.errors import ConfigError
from steelyard.evaluation.evaluate import RunConfig, evaluate_suite
from steelyard.evaluation.objects import Options, Suite
from steelyard.generate.resuming import Evaluate, run_step
from steelyard.models.budget import Budget
from steelyard.people.code_scorer import scorer_yaml
from steelyard.people.codings import Coding, NamedCode, find_code, write_scorer, write_trial
from steelyard.people.error_codes import CodingState
from steelyard.prompts.template import is_template_file
from steelyard.registry import find
from steelyard.scorers.judges.judge import Judge
from steelyard.store import Store
from steelyard.types import INLINE, Asks, Output, Sample, Scorer, StageInfo

KIND: Final = "codes"
TARGET: Final = "trial"
_JUDGE: Final = "error_code"
_SCORERS: Final = (_JUDGE, "error_pattern")
_NOT_SET: Final = frozenset({"judge"})
"""Keys of a scorer that are set when it is tried."""


@dataclass(frozen=True, slots=True)
class TrialPlan:
    """A trial of a code's scorer: which code, with which judge and limits.

    Args:
        code: its name or id, or `ANALYSIS/CODE`.
        judge: who judges, where the scorer asks a model.
        calls: calls that may be sent, resumes included; None is no limit.
        config: of a scorer that takes the place of the stored one once it is tried; None tries the stored one.
        examples: items whose notes are its examples.
    """

    code: str
    judge: Judge | None = None
    calls: int | None = None
    config: Mapping[str, Any] | None = None
    examples: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CodeTrial:
    """The result of a trial.

    Args:
        analysis: id of the error analysis.
        code: id of the code.
        records: how many were scored or were to be.
        run: id of the trial's run.
        state: of the run: `finished`, `interrupted` or `broken`; with its `reason`.
        from_journal: replies that had been paid for before.
        errors: records whose scorer failed.
    """

    analysis: str
    code: str
    records: int
    run: str
    state: str
    reason: str
    from_journal: int
    errors: int


@dataclass(frozen=True, slots=True)
class StoredOutputs:
    """Gives the stored outputs of records that people noted.

    Args:
        analysis: id of the error analysis.
        outputs: sample's id -> its output.
    """

    stage_info: ClassVar[StageInfo] = INLINE
    analysis: str
    outputs: Mapping[str, Output] = field(repr=False)

    def manifest(self) -> dict[str, Any]:
        """The number of outputs in place of them all; records of a run never change."""
        return {"outputs": len(self.outputs)}

    async def __call__(self, sample: Sample, ask: Asks) -> Output:  # noqa: ARG002  # a dry run calls what takes `ask`
        """Return the stored output."""
        return self.outputs[sample.id]


def error_scorer(config: Mapping[str, Any], judge: Judge | None = None) -> Scorer:
    """The scorer that a code's configuration describes.

    Args:
        config: `error_code` or `error_pattern` -> its keys.
        judge: who judges; only a judge needs one.

    Raises:
        ConfigError: another scorer, an unknown key, invalid settings, or no judge where one is needed.

    >>> error_scorer({"error_pattern": {"name": "apology", "pattern": "sorry"}}).name
    'apology'
    """
    kind, keys = _checked(config)
    settings = {key: tuple(value) if isinstance(value, list) else value for key, value in keys.items()}
    if kind == _JUDGE:
        if judge is None:
            raise ConfigError("this scorer needs a model: name it with --model NAME or --model-config FILE")
        settings["judge"] = judge
    scorer = find("scorer", kind)(**settings)
    check_options(scorer)
    return scorer  # type: ignore[no-any-return]  # the registry holds classes of any kind


def scorer_lines(config: Mapping[str, Any]) -> str:
    """The lines of a configuration that add the stored scorer of a code.

    Raises:
        ConfigError: it is no scorer that can be tried: whoever can write the store could have a person copy a command.
    """
    _checked(config)
    return scorer_yaml(config)


def _checked(config: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The kind of a stored scorer and its keys."""
    if len(config) != 1 or next(iter(config)) not in _SCORERS:
        raise ConfigError(f"a code's scorer is one of {' and '.join(_SCORERS)}, not {', '.join(config) or 'nothing'}")
    [(kind, keys)] = config.items()
    options = {option.name: option for option in fields(find("scorer", kind)) if option.init}
    for key in keys:
        if key not in options or key in _NOT_SET:
            raise ConfigError(f"{kind}: there is no key {key!r} in the scorer of a code")
    # A scorer is stored, and whoever can write the store must not have a file of this machine sent to a model.
    if (template := keys.get("template", "")) and (not isinstance(template, str) or is_template_file(template)):
        raise ConfigError(f"{kind}: the template of a stored scorer is the text itself, not the name of a file")
    return kind, keys


def make_scorer(
    store: Store, code: str, config: Mapping[str, Any], *, author: str, examples: Sequence[int] = ()
) -> None:
    """Store a scorer for a code, in place of an earlier one, after checking its configuration.

    Args:
        store: where the code is.
        code: its name or id, or `ANALYSIS/CODE`.
        config: as `error_scorer` takes it.
        author: who makes it.
        examples: items whose notes are its examples.

    Raises:
        ConfigError: no such code, or no such scorer.
        StoreError: it could not be written.
    """
    named_code = find_code(store, code)
    _check_config(named_code, config)
    write_scorer(store, named_code.coding, named_code.code.id, config, examples, author=author)


def _check_config(named_code: NamedCode, config: Mapping[str, Any]) -> None:
    if _JUDGE not in config:
        error_scorer(config)
    elif not str(config[_JUDGE].get("definition", "")).strip():
        raise ConfigError(
            f"the code {named_code.code.name!r} has no definition for a judge: define it in the viewer, or add "
            "--definition TEXT"
        )


def trial_suite(store: Store, plan: TrialPlan) -> Suite:
    """The suite of a trial: the records that people noted, their stored outputs, and the scorer.

    Raises:
        ConfigError: no such code, no scorer, no model for it, or no noted record that it could be compared with.
    """
    named_code = find_code(store, plan.code)
    if named_code.code.state == "proposed":
        raise ConfigError(f"the code {named_code.code.name!r} is only proposed: adopt it first, in the viewer")
    stored = named_code.code.scorer
    if plan.config is not None:
        _check_config(named_code, plan.config)
        config, examples = plan.config, plan.examples
    elif stored is not None:
        config, examples = stored.config, stored.examples
    else:
        raise ConfigError(
            f"the code {named_code.code.name!r} has no scorer yet: make one in the viewer, or name --pattern REGEX, or "
            "--examples N for a judge with its definition and N of its notes"
        )
    scorer = error_scorer(config, plan.judge)
    samples = _noted_samples(store, named_code, frozenset(examples))
    return Suite(
        name=f"trial of {named_code.code.name} ({named_code.coding.id})",
        kind=KIND,
        samples=tuple(sample for sample, _ in samples),
        targets={TARGET: StoredOutputs(named_code.coding.id, {sample.id: output for sample, output in samples})},
        scorers=(scorer,),
        options=Options(budget=Budget(calls=plan.calls)),
        source={"analysis": named_code.coding.id, "code": named_code.code.id},
    )


def try_code(
    where: str | Path | None,
    plan: TrialPlan,
    *,
    author: str = "",
    how: RunConfig = RunConfig(),
    evaluate: Evaluate = evaluate_suite,
) -> CodeTrial:
    """Try the scorer of a code; calling it again resumes an interrupted trial, and pays for no reply twice.

    Args:
        where: the store.
        plan: what is tried.
        author: who tries it, and makes the scorer where there is a new one; "" is who made the stored one.
        how: values for references, and whether to ask again what the journal could answer.
        evaluate: runs a suite; the command line shows progress meanwhile.

    Raises:
        ConfigError: an invalid setting; found before the first call.
        StoreError: a result could not be stored.
    """
    with Store(where) as store:
        suite = trial_suite(store, plan)
        named_code = _with_scorer(store, plan, author)
    run = run_step(suite, where, how, evaluate)
    scorer = named_code.code.scorer
    if run.state == "finished" and scorer is not None:
        with Store(where) as store:
            signed = author or scorer.author
            write_trial(store, named_code.coding, named_code.code.id, run.id, scorer.config, author=signed)
            current = find_code(store, named_code.address).code.scorer
        if current is None or current.run != run.id:
            raise ConfigError(f"the scorer of {named_code.code.name!r} was changed while it was tried: try it again")
    return CodeTrial(
        named_code.coding.id,
        named_code.code.id,
        run.planned,
        run.id,
        run.state,
        run.reason,
        run.from_journal,
        run.errors,
    )


def _with_scorer(store: Store, plan: TrialPlan, author: str) -> NamedCode:
    """The code with the scorer of the plan, which is stored where it is another than before."""
    named_code = find_code(store, plan.code)
    stored = named_code.code.scorer
    if plan.config is None or (stored and (stored.config, stored.examples) == (plan.config, plan.examples)):
        return named_code
    make_scorer(store, named_code.address, plan.config, author=author, examples=plan.examples)
    return find_code(store, named_code.address)


def _noted_samples(store: Store, named_code: NamedCode, examples: frozenset[int]) -> list[tuple[Sample, Output]]:
    """The noted records that are not examples: each as a sample that names its item, with its output."""
    coding, state = named_code.coding, named_code.state
    items = [item for item in coding.items if item.num in state.notes and item.num not in examples]
    if not items:
        raise ConfigError(_nothing_noted(coding, state))
    runs = {run.num: run for run in store.runs()}
    times = Counter(item.sample for item in coding.items)
    samples: list[tuple[Sample, Output]] = []
    for run in (runs[number] for number in dict.fromkeys(item.run for item in items)):
        of_run = {(item.sample, item.repeat): item for item in items if item.run == run.num}
        for record in run.records_of({sample for sample, _ in of_run}):
            item = of_run.get((record.sample.id, record.repeat))
            if item is not None and record.output is not None:
                # A coding may have a sample several times: of several targets, or of several repeats.
                ident = item.sample if times[item.sample] == 1 else f"{item.sample} #{item.num}"
                metadata = {**record.sample.metadata, "item": item.num, "run": run.id}
                samples.append((replace(record.sample, id=ident, metadata=metadata), record.output))
    return samples


def _nothing_noted(coding: Coding, state: CodingState) -> str:
    if not coding.items:
        return f"the runs of error analysis {coding.id} were deleted: there is no record to try a scorer on"
    if state.notes:
        return "every noted record is an example of the scorer: note more records, or use fewer examples"
    return f"no record of error analysis {coding.id} is noted yet: a trial compares the scorer with people's notes"
