import os
from pathlib import Path
from typing import Any, Literal

import pytest
import steelyard_toys as toys

from steelyard.building.build import Site, build
from steelyard.building.nodes import ConfigErrors
from steelyard.building.read import parse
from steelyard.data.sample_files import SampleFiles
from steelyard.errors import ConfigError
from steelyard.models.base import Model
from steelyard.models.budget import Budget
from steelyard.targets.adapters import Function
from steelyard.types import Scorer, Target

pytestmark = pytest.mark.usefixtures("toys")


def made(hint, text, folder=Path()):
    return build(hint, parse(text, "a.yaml"), Site(folder))


def error_of(hint, text, folder=Path()):
    with pytest.raises(ConfigError) as caught:
        made(hint, text, folder)
    return caught.value


def test_every_type_of_field_is_built(folder):
    text = """
    toy:
      text: no
      count: 7
      share: 1e-3
      loud: true
      mood: grim
      file: lines.txt
      files: [lines.txt, lines.txt]
      words: [a, b]
      body: {k: [1, {x: null}]}
      sizes: {a: 1}
      model: {parrot: polly, temperature: 2}
      limit: 3
      header: 4
    """
    target = made(Target, text, folder)
    path = folder / "lines.txt"
    assert target == toys.ToyTarget(
        text="no", count=7, share=0.001, loud=True, mood="grim", file=path, files=(path, path), words=("a", "b"),
        body={"k": [1, {"x": None}]}, sizes={"a": 1.0}, model=toys.Parrot("polly", 2.0), limit=3, header=4,
    )  # fmt: skip
    assert type(target.sizes["a"]) is float
    assert type(target.model.temperature) is float


def test_the_three_ways_to_write_a_target():
    assert made(Target, "{toy: {text: x}}") == toys.ToyTarget(text="x")
    assert made(Target, "{toy: x, count: 2}") == toys.ToyTarget(toy="x", count=2)
    assert made(Target, "toy") == made(Target, "{toy: }") == made(Target, "{toy: {}}") == toys.ToyTarget()
    assert made(Target, "{picky: 1, high: 2}") == toys.Picky(1, 2)
    assert made(Target, "echo") is made(Target, "{echo: }") is toys.echo
    assert made(Target, '{function: "json:dumps"}') == Function("json:dumps")


def test_a_list_of_scorers_mixes_the_forms():
    assert made(tuple[Scorer, ...], "[extent, {extent: 5}, {extent: {at_most: 6}}]") == (
        toys.Extent(), toys.Extent(5), toys.Extent(6),
    )  # fmt: skip


def test_options_may_stand_in_the_lines_below_a_name_no_deeper_than_it():
    text = "- extent:\n  at_most: 6\n- extent:\n    at_most: 5\n- extent:\n"
    assert made(tuple[Scorer, ...], text) == (toys.Extent(6), toys.Extent(5), toys.Extent())


def test_a_union_takes_what_stands_there():
    assert made(Literal["auto", "none"] | int, "none") == "none"
    assert made(int | str, "5") == 5
    assert made(str | list[str], "5") == "5"
    assert made(str | list[str], "[a]") == ["a"]
    assert made(int | None, "~") is None
    assert made(toys.Parrot | toys.Extent, "{at_most: 3}") == toys.Extent(3)


def test_a_path_or_a_text_is_a_path_where_the_file_exists(folder):
    assert made(Path | str, "lines.txt", folder) == folder / "lines.txt"
    assert made(Path | str, "one line", folder) == "one line"


def test_a_number_is_a_text_only_if_it_would_be_written_the_same_again():
    assert made(list[str], "[4, 1.5, true, '1.10']") == ["4", "1.5", "true", "1.10"]
    for written in ("1.10", "007", "True", "0x10", "1e3", "+1"):
        assert "put it into quotes" in str(error_of(str, written))


@pytest.mark.parametrize(
    ("hint", "text", "words"),
    [
        (int, "many", "expected a whole number, but got the text 'many'"),
        (int, "1.5", "expected a whole number, but got the number 1.5"),
        (int, "1e3", "expected a whole number, but got the number 1e3"),
        (int, "true", "expected a whole number, but got true"),
        (float, "'1'", "expected a number, but got the text '1'"),
        (float, "true", "expected a number, but got true"),
        (bool, "yes", "expected true or false, but got the text 'yes'"),
        (bool, "1", "expected true or false"),
        (str, "~", "expected a text, but got nothing"),
        (str, "[a]", "expected a text, but got a list"),
        (list[str], "a", "expected a list (each a text), but got the text 'a'"),
        (
            dict[str, int],
            "[1]",
            "but got a list; write each as a key and its value, without a dash or brackets: NAME: ...",
        ),
        (dict[str, Target], "[{toy: {}}]", "without a dash or brackets: toy: ..."),
        (
            dict[str, Target],
            "[{name: a, toy: {}}]",
            "write the name of each as its key, without a dash or brackets: a: ...",
        ),
        (
            Target,
            "[{toy: {}}]",
            "but got a list; write each as a key and its value, without a dash or brackets: toy: ...",
        ),
        (list[Target], "{toy: {}}", "but got a mapping; write each entry with a dash before it, as in - toy: ..."),
        (toys.Extent, "3", "expected a mapping (at_most), but got the number 3"),
        (Literal["glad", "grim"], "gald", "expected 'glad' or 'grim', but got the text 'gald': did you mean 'glad'?"),
        (int | list[int], "x", "expected a whole number or a list (each a whole number), but got the text 'x'"),
        (int | None, "x", "expected a whole number, but got the text 'x'"),
        (complex, "1", "cannot be written in a configuration"),
        (float, "1" + "0" * 299 + "0" * 50, "not a finite number"),
        (Target, "3", "expected a target, as {name: {...}}, but got the number 3"),
        (Target, "{}", "expected a target; known:"),
        (Target, "toys", "there is no target 'toys': did you mean 'toy'?"),
        (Target, "{tyo: {}}", "there is no target 'tyo': did you mean 'toy'?"),
        (Target, "json:dumps", "write {function: 'json:dumps'}"),
        (Target, "{toy: {text: a}, count: 3}", "'count' is next to 'toy'"),
        (Target, "{picky: 1, low: 2, high: 3}", "'low' is given twice"),
        (Target, "picky", "the key 'low' is missing (a whole number)"),
        (Target, "{picky: {low: 3, high: 2}}", "low 3 is not below high 2"),
        (Target, "{echo: loud}", "no keys are allowed here"),
        (Target, "{missing: {}}", "the target 'missing' cannot be loaded: ModuleNotFoundError"),
        (Target, "{careless: value}", "that is not a value"),
        (Target, "{careless: data}", "the file is odd"),
        (Target, "{careless: zero}", "ZeroDivisionError"),
        (Target, "{toy: {function: x}}", "unknown key 'function'"),
        (Target, "{toy: {file: 'lines.tx'}}", "there is no file"),
        (Target, '{function: "json:dump_it"}', "cannot be imported"),
        (Scorer, "exact_mach", "did you mean 'exact_match'?"),
    ],
)
def test_a_mistake_is_told_in_words_and_with_its_place(hint, text, words):
    error = error_of(hint, text)
    assert words in str(error)
    assert all(one.location.line == 1 for one in getattr(error, "errors", (error,)))


def test_an_unknown_key_is_told_at_its_own_place_with_the_nearest_known():
    error = error_of(Target, "toy:\n  cuont: 3\n")
    assert str(error) == "a.yaml:2:3: unknown key 'cuont': did you mean 'count'?\n      cuont: 3\n      ^"


def test_a_missing_file_names_the_nearest_in_its_folder(folder):
    error = error_of(Target, "toy: {file: line.txt}", folder)
    assert f"file: there is no file {folder / 'line.txt'}: did you mean 'lines.txt'?" in str(error)


def test_what_might_never_end_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "zeros.txt").symlink_to("/dev/zero")
    (tmp_path / "loop.txt").symlink_to("loop.txt")
    for name, what in {
        "pipe.txt": "no file",
        "zeros.txt": "a symbolic link to /dev/zero, which leads to no file",
        "loop.txt": "a symbolic link to loop.txt, which leads to no file",
    }.items():
        assert f"file: {tmp_path / name} is {what}" in str(error_of(Target, f"toy: {{file: {name}}}", tmp_path))


def test_a_file_that_is_named_may_be_a_link(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "lines.txt").write_text("text")
    (tmp_path / "own/lines.txt").symlink_to("../lines.txt")
    assert made(Target, "toy: {file: lines.txt}", tmp_path / "own").file == tmp_path / "own/lines.txt"


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file():
    text = "toy:\n  share: x\n  cuont: 3\n  count: y\n  model: {parot: a}\n  words: [a, [b], {c: d}]\n"
    error = error_of(Target, text)
    assert isinstance(error, ConfigErrors)
    assert [one.location.line for one in error.errors] == [2, 3, 4, 5, 6, 6]
    assert str(error).startswith("6 errors\na.yaml:2:10: share: expected a number")


def test_fifty_mistakes_are_shown_and_the_rest_counted():
    assert str(error_of(list[int], "[" + "x," * 60 + "]")).endswith("... and 10 more")


def test_any_value_is_taken_as_it_is():
    assert made(Any, "{a: [1, no]}") == {"a": [1, "no"]}
    assert made(dict, "{a: 1}") == {"a": 1}


@pytest.mark.parametrize(
    ("hint", "text", "words"),
    [
        (Model, "{openai: gpt-4o}", "no model 'openai'; write {openai_compatible: {name: gpt-4o}}"),
        (Model, "openai:gpt-4o", "no model 'openai:gpt-4o'; write {openai_compatible: {name: gpt-4o}}"),
        (Model, "ollama/llama3", "write {ollama: {name: llama3}}"),
        (Target, "openai:gpt-4o", "write {prompt: {template: ..., model: {openai_compatible: {name: gpt-4o}}}}"),
        (
            Model,
            "{openai_compatible: {name: m, base_url: 'http://x/v1', temperature: 0}}",
            "unknown key 'temperature': it is a parameter of the calls; write parameters: {temperature: ...}",
        ),
        (
            Target,
            "{prompt: {template: '{{question}}', top_p: 1, model: {openai_compatible: {name: m, base_url: 'http://x'}}}}",
            "unknown key 'top_p': it is a parameter of the calls; write parameters: {top_p: ...}",
        ),
        (Model, "{vllm: {name: m}}", "no model 'vllm'; write {openai_compatible: {name: NAME}}"),
        (Model, "gpt-4o", "a model behind an endpoint is written as {openai_compatible: {name: gpt-4o}}"),
        (Model, "'{{question}}'", "a prompt is written as {template: ..., model: ...}"),
        (Target, "openai", "write {prompt: {template: ..., model: {openai_compatible: {name: NAME}}}}"),
        (SampleFiles, "exam.csv", "expected a mapping such as {file: exam.csv}, but got the text 'exam.csv'"),
        (Budget, "lots", "expected a mapping (calls, tokens, money, minutes), but got the text 'lots'"),
    ],
)
def test_what_was_meant_most_likely_is_shown_as_it_is_written(hint, text, words):
    assert words in str(error_of(hint, text))
