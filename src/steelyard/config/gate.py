"""The rules under `gate:`, checked for their syntax and against the scores and groups that the suite will give."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.analysis.baseline import is_baseline_file, read_baseline
from steelyard.analysis.gate_rules import (
    BASELINE,
    NO_REGRESSION,
    Margin,
    Rule,
    check_together,
    parse_margin,
    parse_rule,
)
from steelyard.config.nodes import MappingEntry, Node, Problems
from steelyard.config.scalars import described, existing
from steelyard.errors import ConfigError, did_you_mean
from steelyard.suite import Suite


def check_gate(root: Node, folder: Path, problems: Problems) -> None:
    """Report invalid rules, margins without a baseline, and an unreadable baseline file.

    Args:
        root: the configuration.
        folder: paths are resolved against it.
        problems: gets them.
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
    """Look at one entry; what is no text, number or mapping is refused where the suite is built."""
    if name == NO_REGRESSION:
        _check_margins(node, problems)
    elif isinstance(node.value, Mapping):
        raise ConfigError(f"{name}: expected {_expected(name)}, not a mapping; only {NO_REGRESSION} takes one")
    elif not isinstance(node.value, str):
        return
    elif name != BASELINE:
        parse_rule(name, node.value)
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

    Of a part of the dataset (`--limit`, `first`, ...) a group may be missing rightly: then the rule is undecided.

    Args:
        root: the configuration.
        suite: what was made of it.
        problems: gets them.
        scores: gives every score that the suite's scorers announce; not called where there is no gate.
    """
    rules = [*_rules(root.entries.get("gate"))]
    if not rules:
        return
    known, groups = scores(), _groups(root, suite) if any(rule.group for rule, _ in rules) else None
    for rule, node in rules:
        with problems.gathered(node):
            if rule.score not in known:
                raise ConfigError(f"gate: there is no score {rule.score!r}{did_you_mean(rule.score, known)}")
            if rule.group and groups is not None and rule.group not in groups:
                raise ConfigError(f"gate: no sample is of group {rule.group!r}{did_you_mean(rule.group, groups)}")


def _rules(gate: MappingEntry | None) -> Iterator[tuple[Rule | Margin, Node]]:
    """Every rule and margin, with the key that names its score."""
    for name, entry in (gate.node.entries if gate else {}).items():
        if name == NO_REGRESSION:
            for score, margin in entry.node.entries.items():
                yield parse_margin(score, margin.node.value), margin.key
        elif name != BASELINE:
            yield parse_rule(name, _plain(entry.node)), entry.key


def _groups(root: Node, suite: Suite) -> set[str] | None:
    """The groups that the samples have; None where only a part of them is asked."""
    samples = root.entries.get("samples")
    if samples is not None and any(key in samples.node.entries for key in ("first", "last", "random")):
        return None
    return {sample.group for sample in suite.samples if sample.group}
