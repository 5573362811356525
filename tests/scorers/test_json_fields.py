"""Fields of a JSON output against those expected: how each is compared, and what is missing, extra or no JSON."""

from __future__ import annotations

import pytest

from steelyard import ConfigError, Output, Sample, evaluate
from steelyard.constraints import check_options
from steelyard.errors import DataError
from steelyard.scorers import JsonFields

INVOICE = {"invoice_no": "INV-7", "vendor": "Acme GmbH", "date": "2026-01-10", "total": 847.77, "po": None}


def scores(expected, output, **options):
    scorer = JsonFields(**options)
    check_options(scorer)
    return {score.name: score for score in scorer(Sample("1", "?", expected), Output(output))}


def values(expected, output, **options):
    return {name: score.value for name, score in scores(expected, output, **options).items()}


def test_all_fields_their_share_and_each():
    found = scores(INVOICE, '{"invoice_no": "INV-7", "vendor": "ACME", "date": "2026-01-10", "total": 847.77}')
    assert {name: score.value for name, score in found.items()} == {
        "json_fields": 0, "json_fields_share": 0.8, "field_invoice_no": 1, "field_vendor": 0, "field_date": 1,
        "field_total": 1, "field_po": 1,
    }  # fmt: skip
    assert found["json_fields"].reason == 'vendor: "ACME", expected "Acme GmbH"'
    assert found["json_fields"].detail == {"missing": [], "extra": [], "wrong": ["vendor"]}


@pytest.mark.parametrize(
    ("rule", "wanted", "value", "right"),
    [
        ("exact", "a", " a ", True),
        ("exact", "a", "A", False),
        ("exact", "caf\u00e9", "cafe\u0301", True),
        ("exact", "2026-01-31", "31.01.2026", False),
        ("exact", 5, 5.0, True),
        ("exact", 5, "5", False),
        ("exact", True, 1, False),
        ("exact", [1, {"a": 2}], [1, {"a": 2}], True),
        ("number", 1234.5, "1,234.50 EUR", True),
        ("number", 5, "5 or 6", False),
        (0.01, 100, 100.99, True),
        (0.01, 100, 101.5, False),
        (0.01, 847.77, "1.00", False),
        ("number", 847.77, "847,77", True),
        ("number", 847.77, "EUR 847,77", True),
        ("number", 1234.5, "1.234,50", True),
        ("number", 1234567.89, "1.234.567,89 €", True),
        ("number", 89, "1.234.567,89", False),
        ("number", 0.25, "0,250", True),
        ("number", 1234.5, "1 234,5", True),
        ("number", 1234, "1,234", True),
        ("number", 1.234, "1,234", False),
        ("number", 1.5, "1,5-2,5", False),
        ("number", 123456, "1,23,456", True),
        ({"abs": 0.02}, 0.1, 0.12, True),
        ({"abs": 0.02}, 0.1, 0.13, False),
        ("date", "2026-01-31", "31/01/2026", True),
        ("date", "2026-01-31", "January 31st, 2026", True),
        ("date", "2026-01-31", "31 Jan 2026", True),
        ("date", "2026-01-31", "2026年1月31日", True),
        ("date", "2026-03-05", "5. März 2026", True),
        ("date", "2026-08-05", "5 août 2026", True),
        ("date", "2026-07-05", "le 5 juillet 2026", True),
        ("date", "2026-03-05", "5 de marzo de 2026", True),
        ("date", "2026-05-05", "5 maggio 2026", True),
        ("date", "2026-06-05", "5 juillet 2026", False),
        ("date", "2026-01-31", "2026-01-31T12:00:00Z", True),
        ("date", "2026-01-10", "10.01.2026", True),
        ("date", "2026-01-10", "10/01/2026", False),
        ("date", "2026-01-10", "10-Jan-2026", True),
        ("date", "2026-01-10", "2026-01-10 to 2026-01-12", False),
        ("date", "2026-01-10", "10 Jan 2026 - 12 Jan 2026", False),
        ("date", "10/01/2026", "10/01/2026", True),
        ("number", "N/A", "N/A", True),
        ("exact", [{"n": 5, "unit": "kg "}], [{"unit": "kg", "n": 5.0}], True),
        ("exact", [5, 1], [5.0, 1], True),
        ("exact", [5, 1], [1, 5], False),
        ("exact", 1, True, False),
        ("set", [5, 1], [1, 5.0], True),
        ("date", "2026-01-31", "2026-02-31", False),
        ("date", "2026-01-31", 20260131, False),
        ("text", "Acme GmbH", "ACME, GmbH.", True),
        ("text", "Acme GmbH", "Acme", False),
        ("list", ["a", 1], ["a", 1], True),
        ("list", ["a", 1], [1, "a"], False),
        ("set", ["a", 1], [1, "a"], True),
        ("set", ["a", 1], [1, "a", "b"], False),
        ("set", ["a"], "a", False),
    ],
)
def test_a_field_is_compared_by_its_rule(rule, wanted, value, right):
    found = JsonFields({"x": rule})(Sample("1", "?", {"x": wanted}), Output({"x": value}))
    assert (found[0].value, found[2].value) == (float(right), float(right))


def test_missing_and_extra_fields_are_told_apart():
    found = scores({"a": 1, "b": 2}, '{"a": 1, "c": 3}')
    assert found["json_fields"].detail == {"missing": ["b"], "extra": ["c"], "wrong": ["b"]}
    assert values({"a": 1}, '{"a": 1, "c": 3}')["json_fields"] == 1
    assert values({"a": 1}, '{"a": 1, "c": 3}', extra="fail")["json_fields"] == 0


def test_fields_of_inner_objects_have_dotted_names():
    found = values({"customer": {"city": "Rome", "tags": ["a"]}}, '{"customer": {"city": "Rome", "tags": []}}')
    assert found == {
        "json_fields": 0, "json_fields_share": 0.5, "field_customer.city": 1, "field_customer.tags": 0
    }  # fmt: skip


def test_the_expected_output_may_be_json_text_and_the_output_stand_in_a_fence_or_in_words():
    assert values('{"a": 1}', 'Here:\n```json\n{"a": 1}\n```\nDone.')["json_fields"] == 1
    assert values('{"a": 1}', 'It is {"a": 1}, as asked.')["json_fields"] == 1


@pytest.mark.parametrize("output", ["{a: 1}", "", '{"a": 1} or {"a": 2}', "[1]", '"a"'])
def test_what_is_no_json_object_is_unparsed(output):
    found = scores({"a": 1}, output)
    assert {score.outcome for score in found.values()} == {"unparsed"}


def test_an_unreadable_output_is_not_counted_for_fields_that_its_sample_lacks():
    samples = [Sample("1", "?", {"a": 1, "b": 2}), Sample("2", "?", {"a": 1})]
    answers = {"1": '{"a": 1, "b": 2}', "2": "no JSON"}
    summary = evaluate(lambda sample: answers[sample.id], samples, [JsonFields()]).summary()
    assert (summary.score("field_a").headline.value, summary.score("field_a").n) == (0.5, 2)
    assert (summary.score("field_b").headline.value, summary.score("field_b").n) == (1.0, 1)


@pytest.mark.parametrize("finish", ["refusal", "content_filter"])
def test_an_output_of_which_the_endpoint_says_that_it_was_refused_is_not_unparsed(finish):
    def scored(text):
        return JsonFields()(Sample("1", "?", {"a": 1}), Output(text, metadata={"finish": finish}))

    assert {score.outcome for score in scored("I cannot help with that.")} == {"refused"}
    assert {score.outcome for score in scored('{"a": 1}')} == {"scored"}


def test_the_fields_of_a_dataset_have_scores_even_where_one_row_lacks_them():
    samples = [Sample("1", "?", {"a": 1}), Sample("2", "?", {"a": 1, "b": 2})]
    run = evaluate(lambda sample: sample.reference, samples, [JsonFields()])
    assert list(run.score_infos) == ["json_fields", "json_fields_share", "field_a", "field_b"]
    outcomes = {(row.sample.id, score.name): score.outcome for row in run.records() for score in row.scores}
    assert outcomes["1", "field_b"] == "not_applicable"
    assert run.summary().score("json_fields").headline.value == 1


@pytest.mark.parametrize("reference", ["no JSON", [1], "3"])
def test_an_expected_output_that_is_no_object_is_refused_with_its_sample(reference):
    with pytest.raises(DataError, match="sample '7': json_fields: "):
        evaluate(lambda _: "{}", [Sample("7", "?", reference)], [JsonFields()])


@pytest.mark.parametrize(
    ("compare", "message"),
    [
        ({"a": "dates"}, "compare: a: there is no 'dates': did you mean 'date'"),
        ({"a": -1}, "compare: a: expected exact"),
        ({"a": {"abs": "x"}}, "compare: a: expected exact"),
        ({"a": True}, "compare: a: expected exact"),
    ],
)
def test_an_unknown_rule_is_refused(compare, message):
    with pytest.raises(ConfigError, match=message):
        check_options(JsonFields(compare))


def test_brackets_without_end_are_compared():
    assert values({"a": 1}, '{"a": ' + "[" * 900 + "]" * 900 + "}")["json_fields"] == 0


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1 234 567", 1_234_567),
        ("1\u202f234,56 €", 1234.56),
        ("1 234.56", 1234.56),
        ("1.234.567 VND", 1_234_567),
        ("1’234’567", 1_234_567),
        ("₹12,34,567", 1_234_567),
        ("1，２３４．５", 1234.5),
        ("1234,567", 1234.567),
        ("١٬٢٣٤٫٥", 1234.5),
        ("- 5", -5),
        ("1,5 Mio.", 1_500_000),
        ("1.5M", 1_500_000),
        ("2 Milliarden", 2_000_000_000),
        ("3 crore", 30_000_000),
        ("12,5 Prozent", 0.125),
        *((text, None) for text in ("(5)", "5-", "1_000", ",5", "5‰", "3 4", "1/2")),
    ],
)
def test_a_number_of_another_country_is_read_or_is_none(written, value):
    fields = JsonFields({"n": "number"})
    scores = [
        fields(Sample("1", "?", {"n": wanted}), Output({"n": written}))[0].value
        for wanted in (value or 5, value or 0.5)
    ]
    assert scores == [float(value is not None)] * 2


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("2026년 3월 14일", "2026-03-14"),
        ("14 марта 2026 г.", "2026-03-14"),
        ("14 maart 2026", "2026-03-14"),
        ("4 kwietnia 2026", "2026-04-04"),
        ("14 Mayıs 2026", "2026-05-14"),
        ("5 févr. 2026", "2026-02-05"),
        ("14. Maerz 2026", "2026-03-14"),
        *((text, None) for text in ("12 marks 2026", "decided 14, 2026", "14 maybe 2026", "5 jui 2026")),
    ],
)
def test_a_month_is_read_by_its_name_alone(written, day):
    score = JsonFields({"d": "date"})(Sample("1", "?", {"d": day or "2026-03-12"}), Output({"d": written}))[0]
    assert score.value == float(day is not None)
    if day is None:
        other = [
            JsonFields({"d": "date"})(Sample("1", "?", {"d": f"2026-{m:02}-14"}), Output({"d": written}))
            for m in (3, 5, 12)
        ]
        assert not any(scores[0].value for scores in other)


@pytest.mark.parametrize(("output", "right"), [("{}", 1.0), ('{"name": "Ann"}', 0.0), ("none", None)])
def test_where_no_field_is_expected_one_is_too_many(output, right):
    """OpenAI's JsonMatch gives these verdicts for an ideal `{}`: a text in which there is nothing to extract."""
    found = scores("{}", output, extra="fail")
    assert found["json_fields"].value == right
    assert found["json_fields_share"].value is None
    assert scores({}, output)["json_fields"].outcome == "not_applicable"


def test_a_row_that_expects_no_field_stands_beside_others():
    rows = JsonFields().with_references([("1", "{}"), ("2", '{"name": "Ann"}')])
    assert rows.fields == ("name",)
