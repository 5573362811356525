"""Options of scorers that name columns of the dataset: each sample is scored with the values of its own row."""

from __future__ import annotations

import pytest

from steelyard import ConfigError, Sample, evaluate
from steelyard.building.build import Site, build, build_scorer
from steelyard.building.read import parse
from steelyard.registry import describe
from steelyard.types import Scorer


def verdicts(given, *samples, output="It is 42 in Rome."):
    run = evaluate(lambda _: output, list(samples), (build_scorer(given, "scorers[0]"),), on_broken="return")
    return [
        record.failure.message
        if record.failure
        else record.scores[0].value
        if record.scores[0].outcome == "scored"
        else record.scores[0].outcome
        for record in sorted(run.records(), key=lambda record: record.sample.id)
    ]


def row(name, reference=None, **metadata):
    return Sample(name, "Which?", reference, metadata=metadata)


def test_a_text_of_an_option_is_that_of_the_row():
    given = {"regex": r"in {{city}}\b"}
    assert verdicts(given, row("1", city="Rome"), row("2", city="Paris"), row("3", city="")) == [1, 0, "not_applicable"]


def test_a_number_in_a_cell_is_a_number():
    given = {"rouge_l": {"threshold": "{{least}}"}, "value": "It is 42 in Rome"}
    scorer = build_scorer(given, "a")
    assert scorer.score_infos[0].threshold is None
    run = evaluate(lambda _: "It is 42", [row("1", least="0.5"), row("2", least=0.9)], (scorer,))
    passed = {record.sample.id: record.scores[0].passed for record in run.records()}
    assert passed == {"1": True, "2": False}


def test_a_value_in_place_of_the_expected_output_may_be_a_list():
    given = {"contains": "{{cities}}"}
    assert verdicts(given, row("1", cities=["Lyon", "Rome"]), row("2", cities="Lyon")) == [1, 0]


def test_roles_are_named_as_their_columns():
    assert verdicts({"contains": "{{expected}}"}, row("1", "Rome")) == [1]
    assert verdicts({"regex": "{{question}}"}, row("1"), output="Which? Rome") == [1]


def test_an_unknown_column_and_a_value_that_an_option_refuses_are_errors_of_the_sample():
    (message,) = verdicts({"regex": "{{town}}"}, row("1", city="Rome"))
    assert "sample '1'" in message
    assert "town" in message
    (message,) = verdicts({"regex": "{{city}}"}, row("1", city="(Rome"))
    assert "sample '1'" in message
    (message,) = verdicts({"rouge_l": {"threshold": "{{least}}"}}, row("1", "a", least="much"))
    assert "threshold: expected a number" in message


def test_a_list_within_a_pattern_is_refused_as_it_would_be_a_set_of_characters():
    given = {"regex": "ANSWER: {{expected}}"}
    no, yes = verdicts(given, row("1", ("Lima", "lima")), row("2", "London"), output="ANSWER: London")
    assert "pattern: a list cannot stand in a pattern" in no
    assert yes == 1


def test_a_pattern_of_a_row_has_a_time_limit():
    given = {"regex": {"pattern": "{{p}}", "timeout_s": 0.05}}
    assert verdicts(given, row("1", p="(a+)+$"), output="a" * 5000 + "b") == ["unparsed"]


@pytest.mark.parametrize(
    "given",
    [{"contains": "{{{{b}}}}"}, {"exact_match": "say {{{{b}}}}", "literal": True}, {"contains": ["{{{{b}}}}", "Lyon"]}],
)
def test_escaped_braces_are_text_also_where_no_column_is_named(given):
    assert verdicts(given, row("1"), output="say {{b}}") == [1]


def test_escaped_braces_are_text_in_an_option_that_takes_no_column():
    given = {"json_schema": {"schema": {"const": {"x": "say {{{{b}}}}"}}}}
    assert verdicts(given, row("1"), output='{"x": "say {{b}}"}') == [1]


def test_braces_in_a_value_are_text():
    assert verdicts({"contains": "{{a}}"}, row("1", a="{{b}}", b="Rome"), output="say {{b}}") == [1]


def test_the_manifest_has_the_placeholders():
    described = describe(build_scorer({"regex": "{{p}}", "value": "{{v}}", "name": "x"}, "a"))
    fields = described["regex"]
    assert (fields["pattern"], fields["value"], fields["name"]) == ("{{p}}", "{{v}}", "x")


def test_options_that_come_from_no_row_are_checked_when_they_are_read():
    with pytest.raises(ConfigError, match="mode: expected"):
        build_scorer({"regex": {"pattern": "({{p}}", "mode": "match"}}, "a")
    build_scorer({"regex": {"pattern": "({{p}}"}}, "a")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("json_schema: '{{schema}}'", 1),
        ("regex:\n  pattern: a\n  name: '{{name}}'", 3),
        ("regex:\n  pattern: a\n  of: 'a.{{part}}'", 3),
        ("regex:\n  pattern: a\n  timeout_s: '{{limit}}'", 3),
        ("regex:\n  pattern: a\n  flags: ['{{flag}}']", 3),
        ("retrieval:\n  mode: '{{mode}}'", 2),
        (
            "guideline:\n  guidelines: [A.]\n  judge: {model: {openai_compatible: {name: '{{m}}', base_url: 'http://a'}}}",
            3,
        ),
        (
            "guideline:\n  guidelines: [A.]\n  judge: {model: {openai_compatible: {name: a, base_url: 'http://{{h}}'}}}",
            3,
        ),
        ("guideline:\n  guidelines: [A.]\n  judge: {model: '{{m}}'}", 3),
        ("not:\n  regex:\n    pattern: a\n    name: '{{x}}'", 4),
    ],
)
def test_no_value_of_a_row_reaches_a_file_an_address_a_model_or_a_name(text, line):
    with pytest.raises(ConfigError) as caught:
        build(Scorer, parse(text, "a.yaml"), Site(None))
    assert f"a.yaml:{line}:" in str(caught.value)
    assert "cannot stand here" in str(caught.value) or "unknown key" in str(caught.value)


def test_a_scorer_in_a_scorer_takes_columns_too():
    given = {"not": {"contains": "{{bad}}"}}
    assert verdicts(given, row("1", bad="Rome"), row("2", bad="Paris")) == [0, 1]
