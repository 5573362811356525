import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.building.nodes import MAX_NODES, plain
from steelyard.building.read import parse
from steelyard.errors import ConfigError


def value_of(text):
    return plain(parse(text, "a.yaml"))


def error_of(text):
    with pytest.raises(ConfigError) as caught:
        parse(text, "a.yaml")
    return caught.value


def test_words_that_older_yaml_took_for_truth_values_are_texts():
    assert value_of("a: [no, yes, on, off, Y, true, False]") == {"a": ["no", "yes", "on", "off", "Y", True, False]}


def test_a_yaml_line_cannot_bring_back_the_old_meaning_of_no():
    assert value_of("%YAML 1.1\n---\na: no\n") == {"a": "no"}


def test_numbers_are_those_of_the_core_schema():
    assert value_of("[1, -2, +3, 0x10, 0o17, 1e3, .5, 1., 1_000, 012, 12:30]") == [
        1, -2, 3, 16, 15, 1000.0, 0.5, 1.0, "1_000", 12, "12:30",
    ]  # fmt: skip


def test_quotes_make_a_text_of_anything():
    assert value_of("""["1", 'true', !!str 5, '']""") == ["1", "true", "5", ""]


def test_nothing_is_null():
    assert value_of("{a: , b: ~, c: null}") == {"a": None, "b": None, "c": None}


def test_keys_are_texts_as_written():
    assert value_of("1: a\nno: b\n1.10: c\n") == {"1": "a", "no": "b", "1.10": "c"}


def test_every_key_and_value_knows_its_place():
    root = parse("a: 1\nlist:\n  - x\n  - {b: yes}\n", "a.yaml")
    entry = root.entries["list"].node.value[1].entries["b"]
    assert str(entry.key.location) == "a.yaml:4:6"
    assert str(entry.node.location) == "a.yaml:4:9"
    assert entry.node.location.text == "  - {b: yes}"


def test_anchors_and_merge_keys_work_and_own_keys_win():
    text = "base: &b {x: 1, y: 2}\none: {<<: *b, y: 3}\ntwo: {<<: [{x: 7}, *b]}\n"
    assert value_of(text) == {"base": {"x": 1, "y": 2}, "one": {"x": 1, "y": 3}, "two": {"x": 7, "y": 2}}


def test_escaped_surrogate_pairs_are_one_character():
    assert value_of('a: "\\ud83d\\ude00"') == {"a": "😀"}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb: {c: 1,\n  c: 2}\n", 3, "given twice; first in line 2"),
        ("a: 1\n---\nb: 2\n", 2, "second document"),
        ("a: !!python/object/apply:os.system [ls]\n", 1, "tag"),
        ("a: !secret x\n", 1, "tag"),
        ("a: ! x\n", 1, "tag"),
        ("!k a: 1\n", 1, "a key must be"),
        ("a: *nowhere\n", 1, "no anchor"),
        ("a: &x [*x]\n", 1, "no anchor"),
        ("a: .inf\n", 1, "not a finite number"),
        ("a: 1\nb: .NaN\n", 2, "not a finite number"),
        ("a: 1e999\n", 1, "not a finite number"),
        ("? [1]\n: 2\n", 1, "a key must be"),
        ("a: 1\n: 2\n", 2, "key is missing"),
        ("<<: 3\n", 1, "takes a mapping"),
        ("a: b: c\n", 1, "needs quotes"),
        ("a: 'open\n", 2, "not valid YAML"),
        ("a:\n\t- b\n", 2, "not valid YAML"),
        ("a: [1, 2\nb: 3\n", 2, "not valid YAML"),
        ("a: \x07\n", 1, "not valid YAML"),
        ('a: "\\ud83d"\n', 1, "half a character"),
        ('a: "\\uZZZZ"\n', 1, "not valid YAML"),
        ("a: " + "[" * 60, 1, "deep"),
    ],
)
def test_what_is_not_plain_data_is_refused_at_its_line(text, line, words):
    error = error_of(text)
    assert words in str(error)
    assert (error.location.file, error.location.line) == ("a.yaml", line)


def test_an_empty_file_says_so():
    for text in ("", "\n\n", "# only a comment\n", "---\n---\n"):
        assert re.search("empty|second document", str(error_of(text)))


def test_a_billion_laughs_are_refused_while_reading():
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    assert "too large" in str(error_of("\n".join(levels)))


def test_more_than_a_hundred_aliases_are_refused():
    assert value_of("a: &a 1\nb: [" + ", ".join(["*a"] * 100) + "]\n")["b"] == [1] * 100
    assert "more than 100 aliases" in str(error_of("a: &a 1\nb: [" + ", ".join(["*a"] * 101) + "]\n"))


def test_a_merge_bomb_counts_what_it_repeats():
    wide = "{" + ", ".join(f"k{n}: {n}" for n in range(MAX_NODES // 50)) + "}"
    text = f"base: &b {wide}\n" + "".join(f"m{n}: {{<<: *b}}\n" for n in range(90))
    assert "too large" in str(error_of(text))


def test_a_tag_as_long_as_the_file_is_refused_at_once():
    assert "tag" in str(error_of("a: !" + "x" * 400_000 + " 1\n"))


def test_a_line_of_a_megabyte_is_not_shown():
    error = error_of("a: [" + "x" * 1_000_000 + ", !t 1]\n")
    assert error.location.column > 1_000_000
    assert len(str(error)) < 200


def test_a_secret_on_the_offending_line_is_masked():
    error = error_of('m: {api_key: "sk-abcdef0123456789", api_key: 2}\n')
    assert "sk-abc" not in str(error)
    assert "************" in str(error)


SIGNS = (
    "a", "b", ": ", "- ", "[", "]", "{", "}", ",", "&x ", "*x", "!!str ", "!t ", "<<", "\n", "  ", "'", '"', "|\n",
    ">-\n", "? ", "---\n", "...\n", "%YAML 1.1\n", "#", "\\u12", "0x", ".inf", "\t", "\x85", "\ufeff", "\ud800",
)  # fmt: skip


def place_or_none(text):
    """Where the refusal points; the text itself stands in for a place where nothing is refused."""
    try:
        value_of(text)
    except ConfigError as error:
        return error.location
    return text


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_with_a_place(text):
    assert place_or_none(text) is not None


@given(st.lists(st.sampled_from(SIGNS), max_size=25))
def test_any_heap_of_yaml_signs_is_read_or_refused_with_a_place(pieces):
    assert place_or_none("".join(pieces)) is not None


@pytest.mark.parametrize("text", ["a:\n\tb: 1\n", "a:\n  - 1\n\t- 2\n"])
def test_a_tab_is_named_and_what_to_do_with_it(text):
    error = error_of(text)
    assert "there is a tab here; YAML is indented by spaces only, so replace it by spaces" in str(error)
    assert error.location.line == text[: text.index("\t")].count("\n") + 1
