"""Gates on figures over the classes of a score: macro F1, micro F1, balanced accuracy and kappa."""

import pytest

from steelyard import evaluate_suite
from steelyard.analysis.gate.gate_figures import rule_figure
from steelyard.analysis.gate.gate_results import judge_gate
from steelyard.analysis.gate.gate_rules import parse_rule
from steelyard.config.load import load
from steelyard.errors import ConfigError

# By number: references bug and billing 30 times each; every fifth bug is called billing.
ROWS = "text,expected\n" + "".join(f"Ticket {no},{('bug', 'billing')[no % 2]}\n" for no in range(60))


def answer(sample):
    number = int(sample.input.split()[1])
    return "billing" if number % 10 == 0 else sample.reference


@pytest.fixture
def configured(tmp_path):
    def configure(gate, rows=ROWS, scorer="label"):
        (tmp_path / "rows.csv").write_text(rows)
        config = tmp_path / "run.yaml"
        target = "targets: {a: {function: 'tests.analysis.gate.test_gate_classes:answer'}}"
        config.write_text(f"samples: rows.csv\n{target}\nscorers: [{scorer}]\ngate: {{{gate}}}\n")
        return load(config, environ={}).suite

    return configure


def verdict(suite, tmp_path):
    (run,) = evaluate_suite(suite, store=tmp_path / "runs.db")
    summary = run.summary()
    (rule,) = map(parse_rule, suite.gate, suite.gate.values())
    figures = {(run.id, rule.text): rule_figure(rule, run.data(), summary)}
    (result,) = judge_gate(suite.gate, [summary], figures=figures).results
    return result


@pytest.mark.parametrize(
    ("gate", "state", "value"),
    [
        # 24 of 30 bugs are found and 36 replies say billing: F1 of bug 48 / 54, of billing 60 / 66.
        ("macro_f1: '>= 0.85'", "holds", (48 / 54 + 60 / 66) / 2),
        ("macro_f1: '>=! 0.85'", "undecided", (48 / 54 + 60 / 66) / 2),
        ("macro_f1: '>=! 0.7'", "holds", (48 / 54 + 60 / 66) / 2),
        ("balanced_accuracy: '>= 0.95'", "fails", 0.9),
        ("micro_f1: '>= 0.9'", "holds", 0.9),
        # Chance agreement is 1/2, as the references are halves.
        ("kappa: '>= 0.81'", "fails", 0.8),
    ],
)
def test_a_figure_over_classes_is_compared_with_its_limit(configured, tmp_path, gate, state, value):
    result = verdict(configured(gate), tmp_path)
    assert (result.state, result.value) == (state, pytest.approx(value))


def test_without_enough_references_of_a_class_it_cannot_be_decided(configured, tmp_path):
    rows = ROWS + "".join(f"Ticket {no},other\n" for no in range(61, 66))
    result = verdict(configured("macro_f1: '>= 0.1'", rows), tmp_path)
    assert result.state == "undecided"
    assert "an interval only with 10 references of every class, which other has not" in result.sentence


def test_rules_that_no_run_can_meet_are_refused_before_the_first_call(configured):
    with pytest.raises(ConfigError, match="macro_f1 needs a score with classes"):
        configured("macro_f1: '>= 0.8'", scorer="exact_match")
    with pytest.raises(ConfigError, match="this figure has no interval; leave out the !"):
        configured("kappa: '>=! 0.8'")
