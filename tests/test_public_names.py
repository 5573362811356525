"""`import steelyard` is light, and every public name is in the namespace of its kind."""

import ast
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import steelyard
from steelyard.registry import built_in_classes

LIGHT = """
import json, sys
import steelyard
dir(steelyard)
print(json.dumps(sorted(sys.modules)))
"""
LAZY = ("analysis", "data", "generate", "models", "replies", "report", "scorers", "sql", "stats", "suites", "targets")
NAMESPACES = (*LAZY, "tables")


def package(name):
    return import_module(f"steelyard.{name}")


def listed(name):
    """The names that the stub of a namespace imports."""
    stub = Path(package(name).__file__).with_suffix(".pyi")
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    return [alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names]


@pytest.mark.parametrize("name", LAZY)
def test_a_namespace_has_the_names_of_its_stub(name):
    assert package(name).__all__ == sorted(listed(name))
    assert set(package(name).__all__) <= set(dir(package(name)))


@pytest.mark.parametrize("name", LAZY)
def test_each_name_of_a_namespace_can_be_imported_and_is_documented(name):
    namespace = package(name)
    for public in namespace.__all__:
        value = getattr(namespace, public)
        assert value.__doc__, public
        modules = {path.stem for path in Path(namespace.__file__).parent.iterdir()}
        assert public not in modules, "once the module of that name is imported, it would hide the name"
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = namespace.nothing


@pytest.mark.parametrize("kind", list(built_in_classes()))
def test_every_registered_class_is_in_the_namespace_of_its_kind(kind):
    namespace = package(f"{kind}s")
    for place in built_in_classes()[kind].values():
        module, _, name = place.partition(":")
        assert name in namespace.__all__, f"add it to src/steelyard/{kind}s/__init__.pyi"
        assert getattr(namespace, name) is getattr(import_module(module), name)


def test_the_root_lists_the_names_of_the_first_hour_sorted():
    assert steelyard.__all__ == sorted(steelyard.__all__)
    assert 20 <= len(steelyard.__all__) <= 30
    assert all(getattr(steelyard, name).__doc__ for name in steelyard.__all__)
    assert {*steelyard.__all__, *NAMESPACES, "__version__"} <= set(dir(steelyard))


@pytest.mark.parametrize("name", NAMESPACES)
def test_a_namespace_is_an_attribute_of_the_root(name):
    code = f"import steelyard; print(steelyard.{name}.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"steelyard.{name}\n"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'steelyard' has no attribute 'nothing'"):
        _ = steelyard.nothing


def test_importing_it_loads_nothing_heavy():
    out = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True).stdout
    loaded = json.loads(out)
    heavy = {"aiohttp", "numpy", "pydantic", "jinja2", "jmespath", "typer", "rich", "ruamel"}
    assert not heavy & set(loaded)
    assert [name for name in loaded if name.startswith("steelyard")] == ["steelyard", "steelyard.lazy"]


def test_the_errors_and_nouns_load_nothing_heavy_either():
    code = "import sys; from steelyard import Sample, Score, ConfigError; print(' '.join(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"aiohttp", "numpy"} & set(out)


@pytest.mark.parametrize("name", LAZY)
def test_a_namespace_by_itself_loads_nothing_heavy(name):
    code = f"import sys; import steelyard.{name}; print(' '.join(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"aiohttp", "numpy", "pydantic"} & set(out)
