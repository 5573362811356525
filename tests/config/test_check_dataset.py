"""The lines of `steelyard check` about the references of a dataset."""

from steelyard.config.check_dataset import reference_lines
from steelyard.scorers.reference_checks import ReferenceFinding


def findings(kind, n):
    return [ReferenceFinding(f"q{no}", f"set.jsonl line {no}", kind, "") for no in range(n)]


def test_of_many_references_with_one_fault_the_first_are_listed_and_the_others_counted():
    first, *listed, last = reference_lines(findings("no_unique_result", 75))
    assert first.strip().startswith("warning, 75 references: ")
    assert listed[0].strip() == "q0 (set.jsonl line 0)"
    assert last.strip() == f"and {75 - len(listed)} more: --json has all"
    assert list(reference_lines([])) == []


def test_errors_come_before_warnings():
    lines = list(reference_lines([*findings("no_unique_result", 1), *findings("cannot_run", 2)]))
    assert [line.split(",")[0].strip() for line in lines if "reference" in line] == ["error", "warning"]
