"""Whatever stands in a file: a suite, or an error with a message; never a traceback."""

import json
import string
from importlib.resources import files

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.thorough import times

from steelyard.config.load import load
from steelyard.errors import ConfigError, DataError

pytestmark = pytest.mark.usefixtures("toys")

SEED = """
suite: toy
name: birds
samples: {file: lines.txt, columns: {question: A, options: "B:E"}, first: 2}
matrix: {bird: [polly, coco], k: [1, 5]}
targets:
  bird: {toy: {model: {parrot: "{{bird}}", api_key: "${BIRD_KEY}"}, count: "{{k}}", body: {a: [1]}}, tags: {loud: no}}
  one: {toy: x, share: 0.5, mood: grim, words: [a, b], sizes: {a: 1.5}, header: none}
  two: {picky: {low: 1, high: 2}}
  floor: echo
scorers: [extent, {exact_match: {ignore_case: true}}]
options: {concurrency: 4, seed: 7, budget: {calls: 10}, retry: {attempts: 3}, durability: full}
gate: {extent: ">= 0.5"}
"""
WORDS = (
    "toy", "picky", "echo", "careless", "missing", "prompt", "http", "baseline", "replay", "function", "scripted",
    "suite", "samples", "targets", "tags", "matrix", "{{bird}}", "${X}", "${", "{{", "json:dumps", "lines.txt", "",
    "..", "/", "con", "a" * 300, "\ud800", "\u202e", "周易", "~", "no", "<<", "zero", "data", "value", "$schema",
)  # fmt: skip
NUMBERS = st.sampled_from([0, -1, 1, 10**30, 1e308, -0.0, 5, 1.5])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.sampled_from(WORDS) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=5), inner, max_size=3),  # noqa: E501
    max_leaves=6,
)  # fmt: skip
MANY = settings(
    max_examples=times(25, 300),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def outcome(folder, text, name):
    """The kind of what came of a file; any other exception passes and fails the test."""
    path = folder / name
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        load(path, environ={"BIRD_KEY": "tweet-tweet"})
    except (ConfigError, DataError) as error:
        assert str(error)  # noqa: PT017 - the outcome is either of two
        assert "tweet-tweet" not in str(error)  # noqa: PT017 - the same
        return "refused"
    return "loaded"


@MANY
@given(st.data())
def test_a_file_with_signs_changed_is_loaded_or_refused(folder, data):
    text = SEED
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        gone = data.draw(st.integers(0, 6))
        put = data.draw(st.text(string.printable, max_size=4) | st.sampled_from(WORDS))
        text = text[:at] + put + text[at + gone :]
    assert outcome(folder, text, "toy.yaml") in {"loaded", "refused"}


@pytest.fixture
def starter(tmp_path):
    for one in files("steelyard.config").joinpath("starter/en/choice").iterdir():
        (tmp_path / one.name).write_bytes(one.read_bytes())
    return tmp_path


@settings(MANY, max_examples=times(25, 150))
@given(st.data())
def test_the_first_configuration_with_signs_changed_is_loaded_or_refused(starter, data):
    lines = starter.joinpath("choice.yaml").read_text(encoding="utf-8").replace("# gate", "gate").splitlines()
    text = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(text)))
        put = data.draw(st.text(string.printable, max_size=3) | st.sampled_from(WORDS))
        text = text[:at] + put + text[at + data.draw(st.integers(0, 4)) :]
    assert outcome(starter, text, "changed.yaml") in {"loaded", "refused"}


def places(value, path=()):
    """The path of everything in a JSON value."""
    yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from places(inner, (*path, key))


@MANY
@given(st.data())
def test_a_file_with_values_changed_is_loaded_or_refused(folder, data):
    base = folder / "seed.yaml"
    base.write_text(SEED, encoding="utf-8")
    root = json.loads(json.dumps(load(base, environ={"BIRD_KEY": "tweet-tweet"}).plain))
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from([one for one in places(root) if one]))
        within = root
        for part in path[:-1]:
            within = within[part]
        within[path[-1]] = data.draw(VALUES)
    assert outcome(folder, json.dumps(root), "toy.json") in {"loaded", "refused"}


def test_the_seeds_of_the_mutations_are_sound(starter):
    (starter / "lines.txt").write_text("one\n", encoding="utf-8")
    assert outcome(starter, SEED, "toy.yaml") == "loaded"
    assert outcome(starter, (starter / "choice.yaml").read_text(encoding="utf-8"), "changed.yaml") == "loaded"
