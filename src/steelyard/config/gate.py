"""Checks the rules under `gate:`: their syntax, and that the suite has the scores and groups they name."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from steelyard.analysis.comparison.baseline import is_baseline_file, read_baseline
from steelyard.analysis.gate.gate_rules import (
    BASELINE,
    MIN_SCORED,
    NO_REGRESSION,
    OF_CLASSES,
    Margin,
    Rule,
    check_together,
    parse_margin,
    parse_min_scored,
    parse_rule,
)
from steelyard.analysis.scores.score_infos import jury_score, levels_in
from steelyard.building.keys import described, existing
from steelyard.building.nodes import MappingEntry, Node, Problems
from steelyard.errors import ConfigError, did_you_mean
from steelyard.evaluation import Suite
from steelyard.evaluation.scorer_infos import (
    infos_of,
    jury_scores_of,
    scorer_stages,
    scores_of_judges,
    turn_scores_of,
)
from steelyard.registry import describe
from steelyard.types import BETWEEN_LEVELS

_TURN: Final = re.compile(r"turn [1-9][0-9]*")
"""The group of a turn. The number of turns is known only after the run, so any turn is accepted."""


def check_gate(root: Node, folder: Path, problems: Problems) -> None:
    """Report invalid rules, margins without a baseline, and an unreadable baseline file.

    Args:
        root: the configuration.
        folder: paths are resolved against it.
        problems: collects them.
    """
    gate = root.entries.get("gate")
    if gate is None:
        return
    for name, entry in gate.node.entries.items():
        with problems.gathered(entry.node):
            _check_entry(name, entry.node, folder, problems)
    with problems.gathered(gate.node):
        check_together({name: _plain(entry.node) for name, entry in gate.node.entries.items()})


def _check_entry(name: str, node: Node, folder: Path, problems: Problems) -> None:
    """Check one entry; a value of any other type is rejected when the suite is built."""
    if name == NO_REGRESSION:
        _check_margins(node, problems)
    elif name == MIN_SCORED:
        parse_min_scored(node.value)
    elif isinstance(node.value, Mapping):
        raise ConfigError(f"{name}: expected {_expected(name)}, not a mapping; only {NO_REGRESSION} takes a mapping")
    elif name != BASELINE and isinstance(node.value, str | int | float):
        parse_rule(name, node.value)
    elif not isinstance(node.value, str):
        return
    elif is_baseline_file(node.value):
        read_baseline(existing(node, folder))


def _check_margins(node: Node, problems: Problems) -> None:
    if not isinstance(node.value, Mapping):
        raise ConfigError(
            f"{NO_REGRESSION}: expected a mapping of score to margin ({{solve_rate: 0.02}}), not {described(node)}"
        )
    for score, margin in node.entries.items():
        if isinstance(margin.node.value, int | float):
            with problems.gathered(margin.node):
                parse_margin(score, margin.node.value)


def _expected(name: str) -> str:
    return "a run, a target or a file" if name == BASELINE else 'a rule such as ">= 0.6"'


def _plain(node: Node) -> Any:
    """The plain value; a number as its text, since a run's id may look like one."""
    return node.raw if isinstance(node.value, int | float) else node.value


def with_baseline(suite: Suite, folder: Path) -> Suite:
    """`suite` with the baseline's file as an absolute path, since its runs may be read from another folder."""
    name = suite.gate.get(BASELINE, "")
    if not isinstance(name, str) or not is_baseline_file(name):
        return suite
    return replace(suite, gate={**suite.gate, BASELINE: str((folder / name).resolve())})


def match_gate(root: Node, suite: Suite, problems: Problems, *, scores: Callable[[], Collection[str]]) -> None:
    """Report rules on unknown scores and groups, before the first call.

    If only a part of the dataset is used (`--limit`, `first`, ...), a group may be missing; then the rule is undecided.

    Args:
        root: the configuration.
        suite: the suite built from it.
        problems: collects them.
        scores: returns every score that the suite's scorers announce; not called without a gate. A rule may also name
            the score of the suite's jury.
    """
    rules = [*_rules(root.entries.get("gate"))]
    if not rules:
        return
    known, groups = scores(), _groups(root, suite) if any(rule.group for rule, _ in rules) else None
    juries, turn_scores = jury_scores_of(suite), turn_scores_of(suite)
    for rule, node in rules:
        with problems.gathered(node):
            if isinstance(rule, Rule) and rule.is_figure and rule.rate != "each" and rule.score not in known:
                _check_figure(rule, suite)
                continue
            if rule.score not in (*known, *juries):
                raise ConfigError(
                    f"gate: there is no score {rule.score!r}{_instead(rule.score, suite, (*known, *juries))}"
                )
            is_turn = isinstance(rule, Rule) and rule.score in turn_scores and _TURN.fullmatch(rule.group)
            if rule.group and not is_turn and groups is not None and rule.group not in groups:
                raise ConfigError(f"gate: no sample is of group {rule.group!r}{did_you_mean(rule.group, groups)}")


def _check_figure(rule: Rule, suite: Suite) -> None:
    """Refuse a figure that no run of this suite can have.

    Raises:
        ConfigError: too few repeats, no classes, or no prices.
    """
    repeats = suite.options.repeats
    if rule.rate in {"pass@", "pass^"} and (repeats < 2 or rule.k > repeats):
        raise ConfigError(
            f"gate: {rule.score} needs at least {max(2, rule.k)} repeats of each sample; set options: {{repeats: "
            f"{max(2, rule.k)}}}"
        )
    if rule.rate == "majority" and repeats < 2:
        raise ConfigError("gate: majority needs repeats of each sample; set options: {repeats: 5}")
    scorers = (scorer_stages(suite.scorers_for(target)) for target in suite.targets)
    if rule.rate in OF_CLASSES and not any(info.classes for stages in scorers for info in infos_of(stages)):
        raise ConfigError(f"gate: {rule.score} needs a score with classes, as of the scorer label")
    if rule.rate == "cost" and not suite.options.prices:
        raise ConfigError("gate: cost needs the prices of the models; set options: {prices: FILE}")


def _instead(score: str, suite: Suite, known: Collection[str]) -> str:
    """Advice for an unknown score: the nearest name, or the scores of the judges and of the jury that rate it."""
    of_judges, jury = scores_of_judges(suite, score), jury_score(score)
    if not of_judges:
        return did_you_mean(score, known)
    together = f"or {jury}, their joint verdict" if jury in known else f"or set jury: majority, and name {jury}"
    named = ", ".join(of_judges)
    return f": {len(of_judges)} judges rate it, each with a score of its own ({named}); name one of them, {together}"


def _rules(gate: MappingEntry | None) -> Iterator[tuple[Rule | Margin, Node]]:
    """Every rule and margin, with the key that names its score."""
    for name, entry in (gate.node.entries if gate else {}).items():
        if name == NO_REGRESSION:
            for score, margin in entry.node.entries.items():
                yield parse_margin(score, margin.node.value), margin.key
        elif name not in {BASELINE, MIN_SCORED}:
            yield parse_rule(name, _plain(entry.node)), entry.key


def _groups(root: Node, suite: Suite) -> set[str] | None:
    """The groups of the samples; None if only a part of the samples is used."""
    samples = root.entries.get("samples")
    if samples is not None and any(key in samples.node.entries for key in ("first", "last", "random")):
        return None
    groups = {sample.group for sample in suite.samples if sample.group}
    levels = levels_in({"samples": {"source": describe(suite.source)}})
    if len(levels) < 2:
        return groups
    parts = (group.split(BETWEEN_LEVELS) for group in groups)
    coarser = {BETWEEN_LEVELS.join(names[:depth]) for names in parts for depth in range(1, len(names))}
    return groups | coarser | set(levels)
