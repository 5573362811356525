"""The runs of a suite that a store has already, for tests; where it has none, an evaluation within a budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.config.load import load
from steelyard.errors import ConfigError
from steelyard.evaluation import Options, Suite, evaluate_suite
from steelyard.evaluation.objects import with_references
from steelyard.evaluation.sides import with_samples
from steelyard.evaluation.survey import changed_keys, check_suite, manifests, survey_of
from steelyard.from_python.described import GivenEvaluation
from steelyard.from_python.runs import Runs
from steelyard.models.budget import Budget
from steelyard.store import Run, Store

_OWN = ("model", "judge", "name", "jury")


class NotRunError(ConfigError):
    """A suite has no run yet, and nobody allowed one; the message says how."""


def kept_or_run(  # what is evaluated, and what pytest was told
    given: tuple[Any, ...],
    options: Mapping[str, Any],
    store: Store,
    *,
    environ: Mapping[str, str],
    may_run: bool,
    calls: int | None,
) -> Run | Runs:
    """The newest finished runs of exactly this evaluation; where the store lacks one, all targets are run.

    Args:
        given: the path of a configuration, or target, samples and scorers as `evaluate` takes them.
        options: the keywords of `evaluate`.
        store: where runs are looked up and kept.
        environ: where a configuration looks its references up first.
        may_run: whether something may be run.
        calls: the most calls of the evaluation; None where the budget of the options holds.

    Raises:
        NotRunError: there is no run, and none may be made; or there is no budget for it.
        ConfigError: what is given cannot be used.
        RunError: a run ended as broken.
    """
    described, suite = _suite_of(given, options, environ)
    suite = with_references(with_samples(suite, store.path))
    check_suite(suite)
    kept = _kept(suite, store)
    if len(kept) < len(suite.targets):
        missing = ", ".join(name for name in suite.targets if name not in kept)
        if not may_run:
            raise NotRunError(
                f"{suite.name}: no finished run of {missing} as it is now; pytest --steelyard-run --steelyard-budget "
                "CALLS makes it"
            )
        budget = suite.options.budget if calls is None else replace(suite.options.budget, calls=calls)
        if budget == Budget():
            raise NotRunError(
                f"{suite.name}: {missing} is run only with a budget: add --steelyard-budget CALLS, or a budget to the "
                "options"
            )
        made = evaluate_suite(replace(suite, options=replace(suite.options, budget=budget)), store=store.path)
        if stopped := next((run for run in made if run.state != "finished"), None):
            raise ConfigError(f"{suite.name}: the run of {stopped.target} is {stopped.state}: {stopped.reason}")
        kept = {run.target: run for run in made}
    runs = Runs([kept[name] for name in suite.targets])
    return runs if described is None or described.is_several else runs[0]


def _suite_of(
    given: tuple[Any, ...], options: Mapping[str, Any], environ: Mapping[str, str]
) -> tuple[GivenEvaluation | None, Suite]:
    if len(given) == 1:
        if options:
            raise ConfigError(f"a configuration has its own options; leave out {', '.join(options)}")
        return None, load(Path(given[0]), environ=environ).suite
    described = GivenEvaluation(*given, **{key: value for key, value in options.items() if key in _OWN})
    return described, described.suite(Options(**{key: value for key, value in options.items() if key not in _OWN}))


def _kept(suite: Suite, store: Store) -> dict[str, Run]:
    """Target -> the newest finished run that differs in nothing which decides its records."""
    plan = dict(manifests(suite, survey_of(suite), draw="", config=None))
    kept: dict[str, Run] = {}
    for run in store.runs():
        is_of_suite = (run.suite, run.kind, run.state) == (suite.name, suite.kind, "finished")
        wanted = plan.get(run.target) if is_of_suite and run.target not in kept else None
        if wanted and not changed_keys(run.first_manifest, wanted):
            kept[run.target] = run
    return kept
