import pytest

from steelyard.building.nodes import plain
from steelyard.building.read import parse
from steelyard.config.targets import expanded
from steelyard.errors import ConfigError


def result(text):
    root, tags = expanded(parse(text, "a.yaml"))
    return plain(root), tags


def error_of(text):
    with pytest.raises(ConfigError) as caught:
        expanded(parse(text, "a.yaml"))
    return caught.value


def test_a_target_is_copied_over_just_the_variables_it_uses():
    text = """
    matrix: {model: [a, b], k: [5, 20]}
    targets:
      kb: {http: {body: {model: "{{model}}", top_k: "{{ k }}"}}}
      plain: {prompt: {template: "{{question}} {{model}}"}}
      floor: {baseline: random}
    """
    root, tags = result(text)
    assert root == {
        "targets": {
            "kb[model=a,k=5]": {"http": {"body": {"model": "a", "top_k": 5}}},
            "kb[model=a,k=20]": {"http": {"body": {"model": "a", "top_k": 20}}},
            "kb[model=b,k=5]": {"http": {"body": {"model": "b", "top_k": 5}}},
            "kb[model=b,k=20]": {"http": {"body": {"model": "b", "top_k": 20}}},
            "plain[model=a]": {"prompt": {"template": "{{question}} a"}},
            "plain[model=b]": {"prompt": {"template": "{{question}} b"}},
            "floor": {"baseline": "random"},
        }
    }
    assert tags["kb[model=a,k=20]"] == {"model": "a", "k": "20"}
    assert tags["floor"] == {}


def test_a_name_with_the_placeholder_in_it_needs_no_brackets():
    root, _ = result('matrix: {m: [a, x/y], k: [1]}\ntargets: {"t-{{m}}": {toy: "{{m}} {{k}}"}}\n')
    assert root == {"targets": {"t-a[k=1]": {"toy": "a 1"}, "t-x-y[k=1]": {"toy": "x/y 1"}}}


def test_braces_that_escape_a_placeholder_are_left_alone():
    root, _ = result('matrix: {m: [a]}\ntargets: {t: {toy: "{{{{m}}}} is {{m}}"}}\n')
    assert root == {"targets": {"t[m=a]": {"toy": "{{{{m}}}} is a"}}}


def test_a_value_is_not_searched_for_placeholders_again():
    root, _ = result('matrix: {m: ["{{n}}"], n: [1]}\ntargets: {t: {toy: "{{m}} {{n}}"}}\n')
    assert next(iter(root["targets"].values())) == {"toy": "{{n}} 1"}


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("matrix: {m: [a]}\ntargets: {t: x}\n", "1:10", "no target uses the matrix variable 'm'; write {{m}}"),
        ('matrix: {model: [a]}\ntargets: {t: "{{modle}}"}\n', "1:10", "did you mean 'modle'?"),
        ("matrix: [m]\ntargets: {t: x}\n", "1:9", "expected a mapping of variable to list, but got a list"),
        ("matrix: {m: a}\ntargets: {t: x}\n", "1:13", "m takes a list of values, but got the text 'a'"),
        ("matrix: {m: []}\ntargets: {t: x}\n", "1:13", "m takes a list of values"),
        ("matrix: {m: [a, a]}\ntargets: {t: x}\n", "1:17", "lists 'a' twice"),
        ("matrix: {m: [{a: 1}]}\ntargets: {t: x}\n", "1:14", "expected a text, but got a mapping"),
        ("matrix: {m: [1.10]}\ntargets: {t: x}\n", "1:14", "put it into quotes"),
        ('matrix: {"a b": [1]}\ntargets: {t: x}\n', "1:10", "use letters, digits and _"),
        ('matrix: {m: [a/b, a-b]}\ntargets: {"t{{m}}": {toy: x}}\n', "2:11", "two targets called 'ta-b'"),
    ],
)
def test_a_matrix_that_means_nothing_is_refused(text, place, words):
    error = error_of(text)
    assert str(error.location) == f"a.yaml:{place}"
    assert words in str(error)


def test_a_matrix_that_explodes_is_refused_before_it_does():
    numbers = ", ".join(str(n) for n in range(30))
    names = [f"v{n}" for n in range(8)]
    matrix = ", ".join(f"{name}: [{numbers}]" for name in names)
    used = " ".join(f"{{{{{name}}}}}" for name in names)
    assert "more than 500 targets" in str(error_of(f'matrix: {{{matrix}}}\ntargets: {{t: {{toy: "{used}"}}}}\n'))


@pytest.mark.parametrize(
    ("value", "values", "target", "targets"),
    [("x", 400, "{{v}}", 500), ("x" * 10_000, 40, "{{v}} " * 2000, 1), ("x" * 10_000, 40, "{{v}}", 400)],
    ids=["many targets", "a long text", "long names"],
)
def test_a_matrix_makes_no_more_of_many_targets_than_a_file_may_hold(value, values, target, targets):
    values = ", ".join(f"{value}{n}" for n in range(values))
    lines = "".join(f'  t{n}: {{toy: "{target}"}}\n' for n in range(targets))
    assert "too large: with its matrix" in str(error_of(f"matrix: {{v: [{values}]}}\ntargets:\n{lines}"))
