"""The shape of the house: folders, layers, sizes, names, and how long the path of one sample is."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "steelyard"
MODULES = sorted(SOURCE.rglob("*.py"))

TREE = {
    "analysis", "building", "cli", "config", "constraints.py", "data", "errors.py", "escaping.py", "evaluation",
    "files.py",
    "from_python", "generate",
    "lazy.py", "models", "normal_form.py", "people", "plain_json.py", "posix.py",
    "prompts", "py.typed", "pytest_plugin.py", "registry.json", "registry.py", "report", "retrieval", "runner",
    "scorers", "session", "replies", "sql", "stats", "store", "suites", "tables", "targets", "types.py", "viewer",
    "workers", "__init__.py", "__init__.pyi", "__main__.py",
}  # fmt: skip
"""The design's tree, as far as there is something in it; a file of it may have become a folder."""
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "handler"}
READS_ENVIRONMENT = {
    *("config/given.py", "config/check_dataset.py", "models/litellm.py", "session/secrets.py"),
    *("cli/app.py", "cli/diagnose_command.py", "cli/options.py", "cli/stored_configuration.py"),
    "pytest_plugin.py",
}
"""`session` resolves references; the command line hands `os.environ` to `config`, which takes it as an argument;
`config.given` finds the folder of a person's notes, `config.check_dataset` that of a person's cache; `models.litellm`
sets the flags that keep its package off the network, and `cli.app` how many threads numpy starts."""
HEAVY = (
    "aiohttp", "numpy", "pydantic", "jinja2", "rich", "typer", "ruamel", "sqlglot", "duckdb",
    "regex", "jsonschema", "pypdfium2",
)  # fmt: skip


def name_of(path):
    return path.relative_to(SOURCE).as_posix()


@dataclass(frozen=True)
class Module:
    """What the tests ask of a file: its syntax tree, which takes a hundred times as much memory, is not kept."""

    functions: tuple[tuple[str, int], ...]
    """Name and lines of each."""
    classes: tuple[str, ...]
    has_global: bool
    reads_environment: bool


@cache
def modules():
    """Of each file, by its name."""
    return {name_of(path): _module(path.read_text(encoding="utf-8"), str(path)) for path in MODULES}


def _module(text, name):
    tree = ast.parse(text, name)
    statements = list(_statements(tree))
    functions = [node for node in statements if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    # Expressions are most of a tree: those of the few files that have the words are walked.
    nodes = ast.walk(tree) if "environ" in text or "getenv" in text else ()
    reads = [node for node in nodes if isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv"}]
    return Module(
        tuple((node.name, node.end_lineno - node.lineno + 1) for node in functions),
        tuple(node.name for node in statements if isinstance(node, ast.ClassDef)),
        any(isinstance(node, ast.Global) for node in statements),
        any(ast.unparse(node.value) == "os" for node in reads),
    )


def _statements(tree):
    """Every statement, at any depth: no expression holds one."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for branch in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, branch, ())


def test_every_folder_is_one_that_the_design_names():
    found = {one.name for one in SOURCE.iterdir() if one.name != "__pycache__"}
    assert found == TREE, (
        "a package or file at the top goes into TREE, and into the layers of pyproject.toml and ARCHITECTURE.md"
    )


def test_no_module_has_a_name_that_says_nothing():
    assert [name_of(one) for one in MODULES if VAGUE & set(one.stem.split("_"))] == []


def test_no_file_is_longer_than_600_lines():
    """A file is cut where ideas part and not at a length; one as long as this holds several ideas."""
    lengths = {name_of(one): len(one.read_text(encoding="utf-8").splitlines()) for one in MODULES}
    too_long = {name: lines for name, lines in lengths.items() if lines > 600}
    assert too_long == {}, "move one idea of the file into a file of its own"


def test_no_function_is_longer_than_60_lines():
    lengths = [(name, *function) for name, module in modules().items() for function in module.functions]
    assert len(lengths) > 500
    assert [(name, function, lines) for name, function, lines in lengths if lines > 60] == []


def test_a_class_name_occurs_once():
    """Two classes of one name are told apart by their imports alone, which nobody sees where the class is used."""
    places = defaultdict(list)
    for name, module in modules().items():
        for written in module.classes:
            places[written].append(name)
    assert len(places) > 300
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert twice == {}, "name one of them for what it is there"


def test_nothing_is_global():
    assert [name for name, module in modules().items() if module.has_global] == []


def test_the_environment_is_read_in_one_place():
    found = {name for name, module in modules().items() if module.reads_environment}
    assert found == READS_ENVIRONMENT, "take `environ` as an argument; `config` and `session` are given it"


def loaded_by(code, *arguments, folder=None):
    """The modules of a new process at its end."""
    script = f"import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); {code}"
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return set(done.stderr.splitlines()[-1].split())


def test_import_steelyard_loads_nothing_heavy():
    loaded = loaded_by("import steelyard")
    heavy = [one for one in (*HEAVY, "asyncio", "dataclasses", "ssl") if one in loaded]
    assert heavy == [], (
        "see python -X importtime -c 'import steelyard'; public names are loaded by lazy.py on first use"
    )


COMMAND = "from steelyard.cli import main; main()"
SCRIPTED = "prompt: {template: en/four_options, model: {scripted: {default: The answer is A.}}}"

HEAVY_FOR_A_RUN = (
    *("duckdb", "jinja2", "jsonschema", "numpy.random", "pandas", "psycopg", "pyarrow", "pypdfium2", "ray", "sqlglot"),
    "steelyard.report.render.html",
)
"""Packages of over 50 ms or 2 MiB, and extras, that neither a run of a small exam nor a look at it needs."""

OURS_FOR_OTHER_RUNS = ("generate.qa", "evaluation.choice_readings", "replies.yes_no", "replies.verdict_like")
"""Modules of ours that take a tenth of a second, of commands and judges that a small exam has not."""


@pytest.mark.parametrize(("target", "client"), [(SCRIPTED, {"aiohttp"}), ("baseline: longest", set())])
def test_a_small_run_and_a_look_at_it_load_no_heavy_package_that_they_do_not_use(tmp_path, target, client):
    (tmp_path / "exam.csv").write_text("question,A,B,C,D,answer\nQ1?,a,b,c,d,A\n", "utf-8")
    text = f"suite: choice\nsamples: {{file: exam.csv}}\ntargets:\n  t: {{{target}}}\n"
    (tmp_path / "exam.yaml").write_text(text, "utf-8")
    run = loaded_by(COMMAND, "run", "exam.yaml", folder=tmp_path)
    assert "steelyard.runner.runner" in run
    assert run & {"aiohttp"} == client
    assert [name for name in HEAVY_FOR_A_RUN if name in run] == []
    assert [name for name in OURS_FOR_OTHER_RUNS if f"steelyard.{name}" in run] == []
    show = loaded_by(COMMAND, "show", "t", "-n", "5", folder=tmp_path)
    assert "steelyard.store.run" in show
    assert [name for name in HEAVY_FOR_A_RUN if name in show] == []


def test_every_public_name_is_there_and_is_listed_once():
    import steelyard

    assert sorted(steelyard.__all__) == sorted(set(steelyard.__all__))
    assert [name for name in steelyard.__all__ if getattr(steelyard, name, None) is None] == []
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = steelyard.nothing


LONGEST_PATHS = {"choice suite": (23, 10), "prompt and ExactMatch": (20, 10), "function and ExactMatch": (12, 8)}
"""Modules of ours that run for one sample, and our own frames below the worker, at most."""


def test_the_path_of_one_sample_is_short():
    """Counted by a profiler, see tools/sample_path.py; where one is longer, its modules and its stack are shown."""
    script = ROOT / "tools" / "sample_path.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    paths = json.loads(done.stdout)
    assert paths.keys() == LONGEST_PATHS.keys()
    for way, (modules, frames) in LONGEST_PATHS.items():
        path = paths[way]
        assert path["deepest"][0] == "Runner.run_sample"
        assert {"runner/runner.py", "store/writer.py"} <= {*path["modules"]}
        assert len(path["modules"]) <= modules, (way, path["modules"])
        assert len(path["deepest"]) <= frames, (way, path["deepest"])
