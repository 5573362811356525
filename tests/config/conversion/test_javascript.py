"""The forms of JavaScript that are read become scorers with the same verdicts; everything else is refused."""

import pytest

from steelyard.config.conversion.javascript import NotReadError, Term, scorer_of, term_of
from steelyard.scorers.json_validation import first_error

REFUSED = [
    "output.match(/x/)",
    "Math.random() > 0",
    "process.exit(1)",
    "output.constructor.constructor('return 1')()",
    "output.length > context.vars.n",
    "(() => true)()",
    "output.replace('a', 'b') === 'b'",
    "output.toLowerCase().includes('Paris')",  # never true
    "output > 3",
    "output",
    "JSON.parse(output).x.trim().y",
    "JSON.parse(JSON.parse(output).x).y === 1",
    "output.length < 2.5",
    "/\\cA/.test(output)",  # no pattern of Python's
    "const x = 1; x > 0",
    "'" * 3000,
    "",
]


@pytest.mark.parametrize("code", REFUSED)
def test_an_expression_of_another_form_is_refused(code):
    with pytest.raises(NotReadError):
        scorer_of(code)


@pytest.mark.parametrize(
    ("code", "scorer"),
    [
        ("output.includes('a && b') ", {"contains": "a && b", "ignore_case": False, "literal": True}),
        ("!output.includes('\\n')", {"not": {"contains": "\n", "ignore_case": False, "literal": True}}),
        ("output.trim().includes('\\n')", {"regex": "\\S\\s*\\\n\\s*\\S"}),
        ("/<a>([^]*)<\\/a>[]/.test(output)", {"regex": "<a>([\\s\\S]*)</a>(?!)"}),
        ('!output.endsWith("!")', {"not": {"regex": "!\\Z"}}),
        ("output.trim().startsWith('{')", {"regex": "\\A\\s*\\{"}),
        (
            "output === 'yes' || output === \"it's\"",
            {"any_of": [{"exact_match": one, "literal": True} for one in ("yes", "it's")]},
        ),
        ("output.split(/\\s+/).filter(Boolean).length <= 20;", {"length": {"unit": "words", "max": 20}}),
        ("return output.length", {"length": {"unit": "characters", "min": 1}}),
        ("output.length !== 3", {"not": {"length": {"unit": "characters", "min": 3, "max": 3}}}),
        ("/^(?<n>\\d)\\/x/i.test(output)", {"regex": "(?i)^(?P<n>[0-9])/x"}),
        ("/^[\\w$]+$/.test(output)", {"regex": "^[A-Za-z0-9_$]+\\Z"}),
        ("/^a$/m.test(output)", {"regex": "(?m)^a$"}),
        ("/^(a|b)$/.test(output.trim())", {"regex": "\\A\\s*(?:(a|b))\\s*\\Z"}),
        ("output.toUpperCase() !== 'NO'", {"not": {"exact_match": "NO", "ignore_case": True, "literal": True}}),
    ],
)
def test_a_comparison_of_the_output_becomes_a_scorer_of_texts(code, scorer):
    assert scorer_of(code) == scorer


@pytest.mark.parametrize(
    ("code", "right", "wrong"),
    [
        ("JSON.parse(output).total > 10", {"total": 11}, [{"total": 10}, {"total": "11"}, {}, [11]]),
        ("JSON.parse(output).a.b === 'x'", {"a": {"b": "x"}}, [{"a": {"b": "y"}}, {"a": {}}, {"b": "x"}]),
        ("JSON.parse(output).items.length >= 2", {"items": [1, 2]}, [{"items": [1]}, {"items": 2}]),
        ("JSON.parse(output)[1].ok", [0, {"ok": True}], [[{"ok": True}], [0, {"ok": False}], [0, {"ok": 0}]]),
        (
            "JSON.parse(output).city.trim().toLowerCase() === 'rome'",
            {"city": " ROME "},
            [{"city": "Romeo"}, {"city": 1}],
        ),
        ("JSON.parse(output).tags.includes('new')", {"tags": ["new"]}, [{"tags": ["newer"]}, {"tags": []}]),
        ("JSON.parse(output)['a b'].startsWith('x')", {"a b": "xy"}, [{"a b": "yx"}]),
        ("['a', 'b'].includes(JSON.parse(output).k)", {"k": "b"}, [{"k": "c"}, {}]),
        ("JSON.parse(output).k !== 'x'", {}, [{"k": "x"}]),
        ("!JSON.parse(output).error", {"error": False}, [{"error": True}]),
        ("JSON.parse(output).city != null", {"city": "Rome"}, [{}, {"city": None}]),
        ("JSON.parse(output).city == null", {}, [{"city": "Rome"}]),
        ("!JSON.parse(output).tags.includes('a')", {"tags": ["b"]}, [{}, {"tags": None}, {"tags": ["a"]}]),
        ("JSON.parse(output).a.b !== 'x'", {"a": {}}, [{}, {"a": {"b": "x"}}]),
    ],
)
def test_a_comparison_within_json_becomes_a_schema(code, right, wrong):
    schema = scorer_of(code)["json_schema"]
    assert schema["fenced"] is False
    assert first_error(schema["schema"], right) == ""
    assert all(first_error(schema["schema"], value) for value in wrong)


def test_the_negation_of_a_conjunction_is_pushed_to_its_parts():
    assert scorer_of("output === 'a' && output.length < 5", negated=True) == {
        "any_of": [{"not": {"exact_match": "a", "literal": True}}, {"length": {"unit": "characters", "min": 5}}]
    }


def test_what_output_means_may_be_a_part_of_json():
    scorer = scorer_of("output.length > 2", output=term_of("JSON.parse(output).answer"))
    assert first_error(scorer["json_schema"]["schema"], {"answer": "abc"}) == ""
    assert first_error(scorer["json_schema"]["schema"], {"answer": "ab"})


@pytest.mark.parametrize(
    "code", ["output.length", "output.includes('x')", "JSON.stringify(output)", "fetch('http://x')"]
)
def test_a_transformation_gives_a_text(code):
    with pytest.raises(NotReadError):
        term_of(code)


def test_a_transformation_is_trimming_changing_case_or_a_part_of_json():
    assert term_of("output.trim().toLowerCase()") == Term(case="lower", trimmed=True)
    assert term_of("JSON.parse(output).a[0]") == Term(path=("a", 0))
