"""Templates are data: what they hold is text, what is filled in is never read again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard import ConfigError
from steelyard.prompts.template import check_names, fill, names_in, placeholders, render

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def test_json_and_latex_braces_are_text():
    template = r'{"q": "{{question}}", "o": {"n": {}}} \frac{1}{2} {x} %s {0}'
    assert render(template, {"question": "乾"}) == r'{"q": "乾", "o": {"n": {}}} \frac{1}{2} {x} %s {0}'


def test_nested_json_may_close_right_after_a_placeholder():
    assert render('{"a":{"b":{{n}}}}', {"n": 7}) == '{"a":{"b":7}}'


def test_three_braces_are_a_brace_and_a_placeholder():
    assert render(r"\boxed{{{x}}}", {"x": "B"}) == r"\boxed{B}"


def test_four_braces_around_a_name_are_the_text_with_two():
    assert render("write {{{{x}}}} and {{x}}", {"x": "B"}) == "write {{x}} and B"


@pytest.mark.parametrize("template", ["{{}}", "{{ }}", "{{\n}}", '{{"a": 1}}', r"{{\bf x}}", "{{a", "a}}", "{{a}"])
def test_double_braces_without_a_name_are_text(template):
    assert render(template, {"a": "!"}) == template


@given(st.text())
def test_what_is_filled_in_is_never_scanned_again(value):
    values = {"x": value + "{{x}}{{y}}{{{{z}}}}", "y": "no"}
    assert render("<{{x}}>", values) == "<" + values["x"] + ">"


@given(st.text(alphabet="{}ab .\n"))
def test_every_placeholder_found_is_one_that_render_asks_for(template):
    names = {name for name, _ in placeholders(template)}
    assert names == set(names_in(template))
    if names:
        with pytest.raises(ConfigError):
            render(template, {})
    else:
        assert "{{a}}" not in render(template, {}) or "{{{{a}}}}" in template


def test_a_placeholder_is_found_at_the_offset_of_its_first_brace():
    template = "{a} {{ 问题 }}\n{{metadata.author}}"
    assert placeholders(template) == (("问题", 4), ("metadata.author", 13))
    assert template[4:12] == "{{ 问题 }}"


def test_an_unknown_name_is_refused_with_the_nearest_known_one():
    with pytest.raises(ConfigError, match=r"\{\{qestion\}\}.*did you mean 'question'\?"):
        render("{{qestion}}", {"question": "", "options": ""})


def test_an_unknown_name_without_a_near_one_lists_what_is_known():
    with pytest.raises(ConfigError, match="known: options, question"):
        render("{{zzz}}", {"question": "", "options": ""})


def test_a_dot_steps_into_mappings_only():
    values = {"metadata": {"author": "朱熹", "year": {"first": 1188}}, "text": "abc"}
    assert render("{{metadata.author}} {{metadata.year.first}}", values) == "朱熹 1188"
    for name in ("text.upper", "metadata.__class__", "text.__len__", "metadata.year.first.real"):
        with pytest.raises(ConfigError, match="unknown placeholder"):
            render(f"{{{{{name}}}}}", values)


def test_an_unknown_key_of_a_mapping_names_the_nearest_key():
    with pytest.raises(ConfigError, match=r"did you mean 'metadata\.author'"):
        render("{{metadata.autor}}", {"metadata": {"author": "x"}})


def test_a_key_with_a_dot_in_it_is_found_whole():
    assert render("{{v1.2}}", {"v1.2": "yes"}) == "yes"


def test_what_is_no_text_is_filled_in_as_compact_json():
    assert render("{{a}} {{b}} {{c}} {{d}}", {"a": 5, "b": 0.5, "c": True, "d": ["天", {"k": 1}]}) == (
        '5 0.5 true ["天",{"k":1}]'
    )


def test_a_missing_value_is_refused_rather_than_left_blank():
    with pytest.raises(ConfigError, match="no value"):
        render("the key is {{reference}}", {"reference": None})


@given(json_values)
def test_a_string_that_is_only_a_placeholder_keeps_the_type(value):
    assert fill({"body": ["{{x}}"], "n": 1}, {"x": value}) == {"body": [value], "n": 1}


def test_a_placeholder_among_other_text_becomes_text():
    assert fill({"a": "top {{k}}", "{{k}}": [None, 2.5, True]}, {"k": 5}) == {"a": "top 5", "{{k}}": [None, 2.5, True]}


def test_names_are_found_in_every_string_but_not_in_keys():
    assert list(names_in({"{{no}}": "{{a}}", "l": ["{{b.c}}", 3, {"d": "{{a}}"}]})) == ["a", "b.c", "a"]


def test_names_are_checked_before_there_are_values():
    check_names({"q": "{{prompt}} {{metadata.any}} {{{{free}}}}"}, {"prompt", "metadata"})
    with pytest.raises(ConfigError, match="did you mean 'prompt'"):
        check_names(["{{promt}}"], {"prompt", "metadata"})


def test_a_long_run_of_braces_and_blanks_is_read_in_linear_time():
    hostile = "{{" * 20_000 + "{{ a" + " " * 50_000
    assert placeholders(hostile) == ()


def test_a_key_of_metadata_may_have_any_characters_but_braces():
    values = {"metadata": {"备注（可选）": "甲", "No. 1": {"a.b": "乙"}, "a": {"b": "丙"}}}
    assert render("{{metadata.备注（可选）}}{{ metadata.No. 1.a.b }}{{metadata.a.b}}", values) == "甲乙丙"
    assert list(names_in("{{metadata.a/b: c}} {{a/b}}")) == ["metadata.a/b: c"]
    with pytest.raises(ConfigError, match=r"unknown placeholder \{\{metadata.a.\}\}"):
        render("{{metadata.a.}}", values)
