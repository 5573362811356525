"""Where a template comes from, and what a sample puts into it."""

import os

import pytest

from steelyard import ConfigError, Sample
from steelyard.prompts.sample_values import check_placeholders, sample_values
from steelyard.prompts.template import load_template, packaged_prompts, render

SAMPLE = Sample(
    "7",
    "乾为何？",
    "A",
    choices=("天", "地", "雷", "风"),
    contexts=("一", "二"),
    group="卦象",
    metadata={"author": "朱熹", "schema": "CREATE TABLE 卦 (名)", "evidence": "无", "dialect": "SQLite"},
)


def test_a_text_with_a_placeholder_or_a_line_break_is_the_template_itself():
    assert load_template("{{question}}") == "{{question}}"
    assert load_template("Answer.\n") == "Answer.\n"


OF_TARGETS = [name for name in packaged_prompts() if name.partition("/")[2].startswith(("four", "sql", "with"))]
"""Prompts of a plain `prompt`; those of judges, retrieval and question sets have values of their own."""


@pytest.mark.parametrize("name", OF_TARGETS)
def test_every_packaged_prompt_asks_only_for_what_a_sample_has(name):
    text = load_template(name)
    check_placeholders(text)
    asked = render(text, {**sample_values(SAMPLE), "examples": "坤？地。"})
    assert "乾为何？" in asked
    assert ("D. 风" in asked) == ("{{options}}" in text)
    assert "{{" not in asked


def test_the_exam_prompt_exists_in_both_languages():
    assert {"en/four_options", "zh/four_options"} <= set(packaged_prompts())


def test_a_file_is_read_again_once_it_has_changed(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("\ufeff问：{{question}}\n", encoding="utf-8")
    assert load_template(str(path)) == "问：{{question}}"
    path.write_text("Q: {{question}}\n", encoding="utf-8")
    os.utime(path, ns=(1, 1))
    assert load_template(str(path)) == "Q: {{question}}"


def test_an_unknown_name_is_refused_with_the_nearest_prompt():
    with pytest.raises(ConfigError, match="did you mean 'zh/four_options'"):
        load_template("zh/four_option")


@pytest.mark.parametrize("name", ["nowhere.txt", ".", "a\0b", "../errors"])
def test_what_is_neither_prompt_nor_file_is_refused(name):
    with pytest.raises(ConfigError, match="neither a prompt nor a text file"):
        load_template(name)


def test_a_file_that_is_not_there_is_told_by_its_reason_alone():
    with pytest.raises(ConfigError) as refused:
        load_template("strict_v1.txt")
    assert "(No such file or directory)" in str(refused.value)
    assert "en/four_options" not in str(refused.value)


def test_a_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "x.bin").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(ConfigError, match="nor a text file"):
        load_template(str(tmp_path / "x.bin"))


def test_the_reference_cannot_be_asked_for():
    assert "reference" not in sample_values(SAMPLE)
    with pytest.raises(ConfigError, match="unknown placeholder"):
        check_placeholders("the key is {{reference}}")


def test_a_sample_gives_options_with_letters_and_contexts_with_blank_lines():
    values = sample_values(SAMPLE)
    assert values["options"] == "A. 天\nB. 地\nC. 雷\nD. 风"
    assert values["choices"] == ["天", "地", "雷", "风"]
    assert values["contexts"] == "一\n\n二"
    assert render("{{id}} {{group}} {{metadata.author}}", values) == "7 卦象 朱熹"


@pytest.mark.parametrize(
    ("given", "question"),
    [
        ([{"role": "user", "content": "one"}, {"role": "user", "content": [{"type": "text", "text": "two"}]}], "two"),
        ([{"role": "system", "content": "be brief"}], "be brief"),
        ([{"role": "assistant", "content": "Hello."}], ""),
        ({"q": "易"}, '{"q":"易"}'),
        (["a", "b"], '["a","b"]'),
    ],
)
def test_the_question_is_read_from_messages_and_json(given, question):
    assert sample_values(Sample("1", given))["question"] == question


def test_options_beyond_the_alphabet_count_as_sheets_do():
    lines = sample_values(Sample("1", "?", choices=tuple("x" * 28)))["options"].split("\n")
    assert (lines[25], lines[26], lines[27]) == ("Z. x", "AA. x", "AB. x")
