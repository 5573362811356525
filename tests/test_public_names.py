"""`import steelyard` is light, and every public name is in the namespace of its kind."""

import ast
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import steelyard
from steelyard.registry import BUILT_IN

LIGHT = """
import json, sys
import steelyard
dir(steelyard)
print(json.dumps(sorted(sys.modules)))
"""
LAZY = ("analysis", "data", "generate", "models", "replies", "report", "scorers", "sql", "stats", "suites", "targets")
NAMESPACES = (*LAZY, "tables")
EARLIER = (
    "AnswerRelevancy", "Baseline", "Budget", "Choice", "ChrF", "ClaimFaithfulness", "ConfigError", "Contains",
    "ContextRelevance", "Correctness", "DataError", "Database", "Embeddings", "ExactMatch", "Failure",
    "Faithfulness", "GEval", "Guideline", "HumanPreference", "JsonSchema", "Judge", "Label", "LangChainRunnable",
    "LexicalPreference", "LlamaIndexEngine", "ModelError", "Note", "NumberMatch", "OpenAICompatible", "Options",
    "Output", "Pair", "Preference", "Prompt", "QueryEngine", "Record", "Regex", "Relevance", "Reply", "Retrieval",
    "Retry", "RougeL", "Rubric", "Run", "Sample", "Sandbox", "Score", "ScoreInfo", "ScorerError", "Scripted",
    "SqlLimits", "SqlResult", "StageInfo", "SteelyardError", "StopWhen", "Store", "StoreError", "Suite",
    "TableMetrics", "TargetError", "TokenF1", "aevaluate", "aevaluate_suite", "assert_no_regression", "compare",
    "evaluate", "evaluate_suite", "generate_qa", "preferences", "standings",
)  # fmt: skip
"""Every name that was public at the root before the namespaces."""


def package(name):
    return import_module(f"steelyard.{name}")


def listed(name):
    """(name -> module) of the imports for type checkers, and of what `lazy_names` is given."""
    tree = ast.parse(Path(package(name).__file__).read_text(encoding="utf-8"))
    branch = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {alias.name: node.module for node in branch.body for alias in node.names}
    homes = [node.value for node in ast.walk(branch.orelse[0]) if isinstance(node, ast.Constant)]
    return typed, {home.partition(":")[2]: home.partition(":")[0] for home in homes}


@pytest.mark.parametrize("name", LAZY)
def test_the_three_lists_of_a_namespace_agree(name):
    typed, lazy = listed(name)
    assert typed == lazy
    assert package(name).__all__ == sorted(typed)
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


@pytest.mark.parametrize("kind", list(BUILT_IN))
def test_every_registered_class_is_in_the_namespace_of_its_kind(kind):
    namespace = package(f"{kind}s")
    for place in BUILT_IN[kind].values():
        module, _, name = place.partition(":")
        assert name in namespace.__all__
        assert getattr(namespace, name) is getattr(import_module(module), name)


def test_the_root_lists_the_names_of_the_first_hour_sorted():
    assert steelyard.__all__ == sorted(steelyard.__all__)
    assert 20 <= len(steelyard.__all__) <= 30
    assert set(steelyard.__all__) <= {*EARLIER, "rank", "Runs"}
    assert {*steelyard.__all__, *NAMESPACES, "__version__"} <= set(dir(steelyard))


@pytest.mark.parametrize("name", EARLIER)
def test_each_name_that_was_public_at_the_root_stays_there(name):
    value = getattr(steelyard, name)
    assert value.__doc__
    for namespace in map(package, NAMESPACES):
        if name in namespace.__all__:
            assert getattr(namespace, name) is value


@pytest.mark.parametrize("name", NAMESPACES)
def test_a_namespace_is_an_attribute_of_the_root(name):
    code = f"import steelyard; print(steelyard.{name}.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"steelyard.{name}\n"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'steelyard' has no attribute 'nothing'"):
        _ = steelyard.nothing


def test_type_checkers_see_every_name_at_the_root():
    tree = ast.parse(Path(steelyard.__file__).read_text(encoding="utf-8"))
    branch = next(node for node in tree.body if isinstance(node, ast.If))
    seen = set()
    for node in branch.body:
        for alias in node.names:
            module = import_module(node.module)
            seen |= {alias.name} if alias.name != "*" else set(getattr(module, "__all__", vars(module)))
    assert set(EARLIER) <= seen


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
