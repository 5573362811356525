"""Names in a configuration: found, suggested, added by entry points, described for the manifest."""

from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from steelyard import Choice, ConfigError, ExactMatch, OpenAICompatible, Prompt, Scripted, registry
from steelyard.registry import built_in_classes, describe, find, name_of, names


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, classes in built_in_classes().items() for name in classes]
)
def test_every_built_in_name_is_a_class_that_knows_its_name(kind, name):
    cls = find(kind, name)
    assert isinstance(cls, type)
    assert name_of(kind, cls) == name


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match="there is no scorer 'exact_mach': did you mean 'exact_match'"):
        find("scorer", "exact_mach")
    with pytest.raises(ConfigError, match=f"no model 'x'; known: {', '.join(sorted(built_in_classes()['model']))}"):
        find("model", "x")


@pytest.fixture
def plugins(monkeypatch):
    """Entry points of packages that are not installed."""

    def install(**points):
        def entry_points(*, group):
            return [EntryPoint(name, place, group) for name, place in points.items() if group == "steelyard.scorers"]

        monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
        registry._import_paths.cache_clear()

    yield install
    registry._import_paths.cache_clear()


def test_a_class_of_another_package_is_added_by_an_entry_point(plugins):
    plugins(mine="steelyard.scorers.lexical:ExactMatch")
    assert set(names("scorer")) - set(registry.built_in_classes()["scorer"]) == {"mine"}
    assert find("scorer", "mine") is ExactMatch


def test_an_entry_point_that_takes_a_name_of_ours_is_refused(plugins):
    plugins(choice="other.package:Choice")
    with pytest.raises(
        ConfigError, match=r"entry point other\.package:Choice adds the scorer 'choice', which exists already"
    ):
        find("scorer", "exact_match")


@dataclass(frozen=True)
class Mine:
    word: str = "x"
    inner: object = field(default_factory=ExactMatch)


def a_function(sample):
    return "A"


def test_what_is_registered_is_described_by_name_and_fields():
    target = Prompt(Scripted({"a": "b"}), template="{{question}}")
    described = describe(target)["prompt"]
    assert described["model"] == {"scripted": {"replies": {"a": "b"}, "default": "", "function": None, "echo": False}}
    assert described["text"] == "{{question}}"
    assert describe(Choice()).keys() == {"choice"}


def test_what_is_not_registered_is_described_by_its_fields():
    assert describe(Mine()) == {
        "word": "x",
        "inner": {"exact_match": {"ignore_case": False, "normalise": False, "literal": False}},
    }


def test_a_function_becomes_its_import_path_and_a_file_its_name_and_digest(tmp_path):
    assert describe(a_function) == f"{__name__}:a_function"
    file = tmp_path / "a.txt"
    file.write_text("one")
    first = describe(file)
    file.write_text("two")
    second = describe(file)
    assert first["file"] == second["file"] == "a.txt"
    assert first["digest"] != second["digest"]
    assert describe(Path("nowhere")) == {"file": "nowhere", "digest": ""}


def test_sets_are_in_order_and_anything_else_is_text():
    assert describe({"b": {3, 1, 2}, "a": (1.5, None, True), 5: object}) == {
        "b": [1, 2, 3],
        "a": [1.5, None, True],
        "5": "builtins:object",
    }
    assert describe(complex(1, 2)) == "(1+2j)"


def test_a_key_is_described_by_its_reference():
    assert "${KEY}" in str(describe(OpenAICompatible("m", api_key="${KEY}")))


def test_an_object_is_described_without_its_place_in_memory():
    """Or two runs of one script would seem to be scored by different scorers."""

    class Judge:
        pass

    assert describe(Judge()) == describe(Judge())
    assert "Judge object" in describe(Judge())
