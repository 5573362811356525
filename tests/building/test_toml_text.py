"""TOML gives the same tree as YAML and JSON, with the place of every key and value."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.building.nodes import plain
from steelyard.building.read import parse
from steelyard.errors import ConfigError

EXAM = '''# an exam
suite = "choice"
[samples]
file = "exam.csv"
columns = { question = "A", "options" = "B:E",  answer = 'F' }
[targets."glm 4".prompt]
template = """
{{question}} "q"
"""
model.openai_compatible = { name = "x", base_url = "http://x" }
[[notes]]
text = "one"
[[notes]]
text = ["two", 2.5, [true, "x # y"], # a comment
]
[options]
budget.calls = 2_000
'''


def read(text):
    return parse(text, "exam.toml")


def at(node, *path):
    for key in path:
        node = node.value[key] if isinstance(key, int) else node.entries[key].node
    return node


def test_a_document_is_read_as_the_standard_library_reads_it():
    assert plain(read(EXAM)) == tomllib.loads(EXAM)


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [
        (("suite",), 2, 9),
        (("samples", "columns", "answer"), 5, 58),
        (("targets", "glm 4", "prompt", "template"), 7, 12),
        (("targets", "glm 4", "prompt", "model", "openai_compatible", "base_url"), 10, 52),
        (("notes", 1, "text", 2, 0), 14, 22),
        (("options", "budget", "calls"), 17, 16),
    ],
)
def test_every_value_knows_its_line_and_column(path, line, column):
    found = at(read(EXAM), *path)
    assert (found.line, found.column) == (line, column)


def test_a_key_knows_its_place():
    key = at(read(EXAM), "options").entries["budget"].key
    assert (key.value, key.line, key.column) == ("budget", 17, 1)


def test_a_number_keeps_how_it_was_written():
    assert at(read("a = 1.10"), "a").raw == "1.10"


def test_line_ends_of_windows_count_once():
    assert at(read('a = 1\r\nb = "x"\r\n'), "b").line == 2


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a = 1\nb", 2, "not valid TOML"),
        ("a = 1\na = 2", 2, "not valid TOML"),
        ("a = 1\nb = 1979-05-27", 2, "in quotes"),
        ("a = nan", 1, "finite"),
        ("[a]\n'' = 1", 2, "a key is empty"),
        ("", 0, "empty"),
        ("a = " + "9" * 5000, 1, "not valid TOML"),
    ],
)
def test_what_no_configuration_can_hold_is_named_with_its_line(text, line, words):
    with pytest.raises(ConfigError, match=words) as caught:
        read(text)
    assert caught.value.location.line == line


@pytest.mark.parametrize("depth", [60, 300, 100_000])
def test_deep_nesting_ends_in_an_error(depth):
    with pytest.raises(ConfigError, match="deep"):
        read("a = " + "[" * depth + "]" * depth)


def test_a_large_tree_is_refused():
    with pytest.raises(ConfigError, match="too large"):
        read("a = [" + "1," * 60_000 + "]")


KEYS = st.sampled_from(["a", "b.c", "'q]='", '"x.y" . d', "l", "t.u"])
SCALARS = [
    "1",
    "-2.5e3",
    "true",
    "'it # is'",
    '"\\u00e9\\""',
    '"""m\n"q" """',
    "'''r''''",
    "0x1F",
    "1_0",
    "inf",
    "[]",
    "{}",
]
VALUES = st.recursive(
    st.sampled_from(SCALARS),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda some: "[ # ]\n" + ", ".join(some) + " ]")
        | st.lists(inner, max_size=3).map(
            lambda some: "{" + ", ".join(f"k{at} = {one}" for at, one in enumerate(some)) + "}"
        )
    ),
    max_leaves=5,
)
HEADERS = st.sampled_from(["[t]", "[t.v]", "[[l]]", "[[l.m]] # ]", "[ 'q]' ]", ""])
LINES = st.tuples(KEYS, VALUES).map(" = ".join) | HEADERS | st.sampled_from(["\\", "x", "= 1"])


@given(st.lists(LINES, max_size=6).map("\n".join))
def test_whatever_is_toml_gives_the_same_values_and_anything_else_an_error(text):
    try:
        wanted = tomllib.loads(text)
    except ValueError:
        wanted = None
    try:
        found = plain(parse(text, "x.toml"))
    except ConfigError:
        return
    assert found == wanted


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (".".join(["a"] * 100_000) + " = 1", "nested more than 40 deep"),
        ("[" + " . ".join(["a", '"b.c"', "'d'"] * 20_000) + "]", "nested more than 40 deep"),
        ("x = 1\ny = {" + ".".join(["a"] * 50_000) + " = 1}", "nested more than 40 deep"),
        ("".join(f"k{at} = 1\n" for at in range(200_000)), "too large"),
        ("".join("[" + ".".join(f"a{at}" for _ in range(39)) + "]\n" for at in range(10_000)), "too large"),
        ('"\\\\' * 1_000_000, "not valid TOML"),
        ("'" * 3_000_001, "not valid TOML"),
        ('a = """' + '\\"' * 1_000_000, "not valid TOML"),
    ],
)
def test_what_would_take_the_memory_of_the_parser_is_refused_before_it_is_parsed(text, words):
    with pytest.raises(ConfigError, match=words):
        parse(text, "x.toml")


def test_points_in_texts_and_comments_are_no_keys():
    dotted = "a.b." * 500
    text = f'a = \'{dotted}\' # {dotted}\nb = """\n{dotted}\n"""\nc = "{dotted}"\n'
    assert plain(parse(text, "x.toml")) == {"a": dotted, "b": f"{dotted}\n", "c": dotted}
