import copy

import jsonschema
import pytest

from steelyard.building.keys import arguments_of, keys_of
from steelyard.config import schema


@pytest.fixture(scope="module")
def validator(toys):
    """The schema of the toys alone; what another package registers badly breaks the schema, as it breaks a run."""
    names = {"suite": ("toy",), "target": ("toy", "picky", "echo", "function"), "scorer": ("extent", "exact_match"), "model": ("parrot",)}  # fmt: skip  # noqa: E501
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "names", names.__getitem__)
        document = schema.json_schema()
    jsonschema.Draft202012Validator.check_schema(document)
    return jsonschema.Draft202012Validator(document)


GOOD = {
    "suite": "toy",
    "samples": {"file": "lines.txt", "columns": {"question": "A", "options": ["B", "C"]}},
    "targets": {
        "full": {"toy": {"text": 5, "count": 2, "share": 1, "limit": None, "model": {"parrot": "polly"}}},
        "short": {"toy": "x", "count": "{{n}}", "tags": {"kb": "no", "n": 3}},
        "bare": "echo",
        "null": {"echo": None},
        "two": {"picky": 1, "high": 2, "tags": {}},
        "function": {"function": "pkg.mod:fn"},
    },
    "matrix": {"n": [1, 2]},
    "scorers": ["exact_match", {"extent": 5}, {"extent": {"at_most": 6}}],
    "options": {"concurrency": 4, "budget": {"calls": 10}, "durability": "full"},
}


def test_a_good_configuration_is_valid(validator):
    assert list(validator.iter_errors(GOOD)) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("suite",), "tox"),
        (("sampels",), {}),
        (("samples", "fil"), "x"),
        (("targets",), {}),
        (("targets", "full", "toy", "cuont"), 1),
        (("targets", "full", "toy", "count"), "many"),
        (("targets", "full", "toy", "mood"), "gald"),
        (("targets", "full", "toy", "function"), "x"),
        (("targets", "full", "toy", "model"), {"parot": "polly"}),
        (("targets", "two"), {"picky": 1}),
        (("targets", "two"), "picky"),
        (("targets", "bare"), "ehco"),
        (("scorers",), ["exent"]),
        (("options", "budget", "call"), 1),
        (("options", "durability"), "ful"),
        (("matrix", "n"), []),
    ],
)
def test_a_mistake_makes_it_invalid(validator, path, value):
    changed = copy.deepcopy(GOOD)
    within = changed
    for part in path[:-1]:
        within = within[part]
    within[path[-1]] = value
    assert list(validator.iter_errors(changed)) != []


def test_keys_carry_their_description_and_default(validator):
    toy = validator.schema["$defs"]["target toy"]
    assert toy["description"] == "A target with one key of each type."
    assert toy["properties"]["count"]["description"] == "a whole number."
    assert toy["properties"]["count"]["default"] == 1
    assert "function" not in toy["properties"]
    assert "tags" not in validator.schema["properties"]


def test_an_editor_is_told_the_limits_of_a_number(validator):
    options = validator.schema["$defs"]["Options"]["properties"]
    assert options["concurrency"]["anyOf"][0] == {"type": "integer", "minimum": 1}
    assert (options["margin"]["anyOf"][0]["minimum"], options["margin"]["anyOf"][0]["maximum"]) == (0.0001, 1)
    errors = list(validator.iter_errors({**GOOD, "options": {"concurrency": 0}}))
    assert "0 is less than the minimum of 1" in "\n".join(nested.message for e in errors for nested in (e, *e.context))


def test_a_description_may_run_over_lines():
    def function():
        """Do it.

        Args:
            one: begins here
                and ends here: with a colon.
            two_s: second.

        Raises:
            three: not an argument.
        """

    assert arguments_of(function) == {"one": "begins here and ends here: with a colon.", "two_s": "second."}


def test_fields_for_python_only_are_no_keys():
    from steelyard_toys import ToyTarget

    assert "function" not in keys_of(ToyTarget)
    assert "model" in keys_of(ToyTarget)
