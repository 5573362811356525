"""The packaged prompts of exams, the JSON schemas of their replies, and solved examples in them."""

import json

import pytest

from steelyard import ConfigError, Sample
from steelyard.prompts.reply_schema import load_reply_schema, packaged_replies, response_format
from steelyard.prompts.sample_values import (
    Example,
    check_placeholders,
    examples_text,
    sample_values,
    template_language,
    values_with_examples,
    wants_examples,
)
from steelyard.prompts.template import load_template, packaged_prompts, placeholders, render

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
PROMPTS = [name for name in packaged_prompts() if name.partition("/")[2].startswith("choice")]
FIRST = Example(Sample("e1", "2 + 2 = ?", "B", ("3", "4", "5")), "Two and two are four.")
SECOND = Example(Sample("e2", "Which are even?", "AC", ("2", "3", "4")))


def exam(options):
    return Sample("1", "乾为何？", "A", tuple(f"option {no}" for no in range(options)))


def test_every_exam_prompt_exists_in_both_languages():
    both = {name.partition("/")[2] for name in PROMPTS}
    assert {f"{language}/{name}" for language in ("en", "zh") for name in both} == set(PROMPTS)
    assert {"choice", "choice_cot", "choice_several", "choice_examples", "choice_examples_cot", "choice_json"} <= both


@pytest.mark.parametrize("options", [2, 3, 4, 10, 26])
@pytest.mark.parametrize("name", PROMPTS)
def test_an_exam_prompt_holds_for_any_number_of_options(name, options):
    text = load_template(name)
    check_placeholders(text)
    assert template_language(text) == name[:2]
    asked = render(text, values_with_examples(exam(options), text, lambda _sample: [FIRST]))
    assert "乾为何？" in asked
    assert "{{" not in asked
    assert ("2 + 2 = ?" in asked) == ("examples" in name)
    named = {found for found, _ in placeholders(text)}
    assert ({"options", "letters"} <= named) == ("likelihood" not in name)
    if "options" in named:
        last = LETTERS[options - 1]
        assert f"{last}. option {options - 1}" in asked
        assert (f" 或 {last}" if name.startswith("zh") else f" or {last}") in asked


def test_letters_are_in_the_language_of_the_template_and_else_of_the_question():
    sample = exam(3)
    assert sample_values(sample, "Reply: {{letters}}")["letters"] == "A, B or C"
    assert sample_values(sample, "请答：{{letters}}")["letters"] == "A、B 或 C"
    assert sample_values(sample, "{{question}} {{letters}}")["letters"] == "A、B 或 C"
    assert sample_values(Sample("1", "no options"))["letters"] == ""


@pytest.mark.parametrize("name", ["choice", "choice_reasoned", "choices"])
def test_a_schema_takes_the_letters_of_the_samples_own_options(name):
    held = response_format(name, ["A", "B", "C"])["json_schema"]
    assert held["strict"] is True
    text = json.dumps(held["schema"])
    assert '"enum": ["A", "B", "C"]' in text
    assert "{{" not in text
    assert "{{letters}}" in json.dumps(load_reply_schema(name))  # the packaged one is not written over
    with pytest.raises(ConfigError, match="the sample has no options"):
        response_format(name)


def test_a_schema_of_the_users_own_takes_letters_too_and_keeps_other_lists():
    mine = {"type": "object", "properties": {"a": {"enum": "{{letters}}"}, "sure": {"enum": ["yes", "no"]}}}
    schema = response_format(mine, ["A", "B"])["json_schema"]["schema"]
    assert schema["properties"] == {"a": {"enum": ["A", "B"]}, "sure": {"enum": ["yes", "no"]}}
    assert {"choice", "choice_reasoned", "choices"} <= set(packaged_replies())


def test_examples_are_in_the_language_of_the_template():
    assert examples_text([FIRST], "zh") == ("题目：2 + 2 = ?\n选项：\nA. 3\nB. 4\nC. 5\nTwo and two are four.\n答案：B")
    assert examples_text([FIRST, SECOND], "en").endswith("A. 2\nB. 3\nC. 4\nAnswer: AC")


@pytest.mark.parametrize(
    ("form", "last"),
    [
        ("letters", "Answer: AC"),
        ("choices", '{"answers": ["A", "C"]}'),
        ("choice_reasoned", '{"reasoning": "", "answer": "AC"}'),
        ("text", "Answer: 2"),
    ],
)
def test_examples_answer_in_the_form_of_the_reply(form, last):
    text = examples_text([SECOND], "en", form)
    assert text.splitlines()[-1] == last
    assert ("Options:" in text) == (form != "text")


def test_a_reasoned_example_holds_its_rationale():
    assert json.loads(examples_text([FIRST], "en", "choice_reasoned").splitlines()[-1]) == {
        "reasoning": "Two and two are four.",
        "answer": "B",
    }


def test_what_examples_say_is_not_filled_again():
    sly = Example(Sample("e", "{{question}}?", "A", ("{{id}}", "b")))
    text = "{{examples}}\nQ: {{question}}"
    asked = render(text, values_with_examples(exam(2), text, lambda _sample: [sly]))
    assert "Question: {{question}}?" in asked
    assert "A. {{id}}" in asked


def test_without_a_draw_a_place_for_examples_is_an_error_not_a_blank():
    text = "{{examples}} {{question}}"
    assert wants_examples(text)
    with pytest.raises(ConfigError, match="has no value here, and leaving it empty"):
        render(text, values_with_examples(exam(2), text, None))
