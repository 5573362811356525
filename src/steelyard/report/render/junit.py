"""Runs as JUnit XML, as continuous integration servers read it: a test suite per run, a test per record.

A record whose headline score passed is a test that passed; one that did not pass, could not be parsed or was refused is
a failure with that word as its type; one that failed for good is an error. A score that does not apply, or that has no
threshold and so neither passes nor fails, is skipped.
The rules of a gate are a suite of their own. Source: the schema of the Jenkins xUnit plug-in, "junit-10.xsd".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from steelyard.analysis.gate.gate_results import GateVerdict, RuleResult
from steelyard.escaping import cell_text, visible
from steelyard.prompts.conversation import input_text
from steelyard.store import Run
from steelyard.types import Record, Score

_LONGEST: Final = 2_000
"""Characters of a question or an output that are shown."""
_MEMORY_BYTES: Final = 8 << 20


@dataclass(frozen=True, slots=True)
class _Test:
    """One test case: the kind and the text of its failure, if it failed."""

    name: str
    group: str
    seconds: float
    tag: str = ""
    kind: str = ""
    message: str = ""
    text: str = ""

    def lines(self, suite: str) -> Iterator[str]:
        head = f"    <testcase name={_attribute(self.name)} classname={_attribute(self.group or suite)}"
        head += f' time="{self.seconds:.3f}"'
        if not self.tag:
            yield f"{head}/>\n"
            return
        kind = f" type={_attribute(self.kind)}" if self.kind else ""
        yield f"{head}>\n      <{self.tag} message={_attribute(self.message)}{kind}>"
        yield f"{escape(_shown(self.text))}</{self.tag}>\n    </testcase>\n"


def junit(runs: Sequence[Run], gate: GateVerdict | None = None) -> Iterator[str]:
    """The lines of the XML, line ends included; records are read once and not held in memory.

    Args:
        runs: the runs to export.
        gate: verdicts; its rules become tests of a suite named `gate`.
    """
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="steelyard">\n'
    for run in runs:
        primary = run.manifest.get("primary", "")
        yield from _suite(run.target, run.seconds, (_test(primary, record) for record in run.records()))
    if gate is not None:
        yield from _suite("gate", 0.0, map(_rule_test, gate.results))
    yield "</testsuites>\n"


def _suite(name: str, seconds: float, tests: Iterable[_Test]) -> Iterator[str]:
    """The tests of a suite after their counts, as servers expect them; a large suite is buffered on disk."""
    counts: Counter[str] = Counter()
    with SpooledTemporaryFile(_MEMORY_BYTES, "w+", encoding="utf-8") as buffer:
        for test in tests:
            counts[test.tag] += 1
            buffer.writelines(test.lines(name))
        yield (
            f'  <testsuite name={_attribute(name)} tests="{counts.total()}" failures="{counts["failure"]}" '
            f'errors="{counts["error"]}" skipped="{counts["skipped"]}" time="{seconds:.3f}">\n'
        )
        buffer.seek(0)
        yield from buffer
    yield "  </testsuite>\n"


def _test(primary: str, record: Record) -> _Test:
    sample = record.sample
    name = sample.id if not record.repeat else f"{sample.id} (repeat {record.repeat})"
    if record.failure is not None:
        failure = record.failure
        heading = (f"{failure.stage} ({failure.kind})", failure.message)
        return _Test(name, sample.group, record.seconds, "error", failure.kind, heading[0], heading[1])
    score = next((candidate for candidate in record.scores if candidate.name == primary), None)
    if score is None:
        return _Test(name, sample.group, record.seconds, "skipped", "", f"there is no score {primary}")
    tag, kind = _verdict(score)
    text = _failure_text(record, score) if tag == "failure" else ""
    message = score.reason if tag else ""
    if tag == "skipped" and score.value is not None:
        message = f"{primary} is {score.value:g} and has no threshold, so it neither passes nor fails"
    return _Test(name, sample.group, record.seconds, tag, kind, message, text)


def _verdict(score: Score) -> tuple[str, str]:
    """Element and type of a test's result: `failure`, `skipped`; ("", "") where it passed."""
    if score.outcome == "not_applicable":
        return "skipped", ""
    if score.outcome != "scored":
        return "failure", score.outcome
    if score.passed is None:
        return "skipped", ""
    return ("", "") if score.passed else ("failure", "not passed")


def _failure_text(record: Record, score: Score) -> str:
    sample, output = record.sample, record.output
    parts = {
        "question": input_text(sample.input),
        "reference": cell_text(sample.reference),
        "output": cell_text(output.value) if output else "",
        score.name: "" if score.value is None else f"{score.value:g}",
    }
    return "\n".join(f"{name}: {text[:_LONGEST]}" for name, text in parts.items() if text)


def _rule_test(result: RuleResult) -> _Test:
    name = f"{result.target}: {result.rule}"
    tag = {"holds": "", "broken": "error", "unlabelled": "error", "unscored": "error"}.get(result.state, "failure")
    return _Test(name, "gate", 0.0, tag, result.state if tag else "", result.sentence if tag else "")


def _shown(text: str) -> str:
    """Text that XML 1.0 allows: hidden and control characters become escapes."""
    return visible(text).replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")


def _attribute(text: str) -> str:
    return quoteattr(_shown(" ".join(text.split())))
