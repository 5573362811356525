"""The shape of the house: folders, layers, sizes, names, and how long the path of one sample is."""

from __future__ import annotations

import ast
import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard import ExactMatch, Prompt, Reply, Sample
from steelyard.models.base import Answer, Request
from steelyard.suite import aevaluate

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "steelyard"
MODULES = sorted(SOURCE.rglob("*.py"))

TREE = {
    "cli", "compare", "config", "data", "errors.py", "gate", "generate", "models", "prompts", "py.typed",
    "pytest_plugin.py", "registry.py", "report", "retrieval", "runner", "scorers", "session", "sql", "stats", "store",
    "suite", "suites", "summary", "tables", "targets", "text", "types.py", "__init__.py",
}  # fmt: skip
"""The design's tree, as far as there is something in it; a file of it may have become a folder."""
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "handler"}
READS_ENVIRONMENT = {
    *("models/litellm.py", "session/secrets.py"),
    *("cli/diagnosing.py", "cli/files.py", "cli/reloading.py", "cli/running.py"),
}
"""`session` resolves references; the command line hands `os.environ` to `config`, which takes it as an argument;
`models.litellm` sets the flags that keep its package off the network."""
HEAVY = (
    "aiohttp", "sqlalchemy", "numpy", "altair", "pydantic", "jinja2", "rich", "typer", "ruamel", "sqlglot", "duckdb",
    "regex", "jsonschema", "pypdfium2",
)  # fmt: skip


def name_of(path):
    return path.relative_to(SOURCE).as_posix()


def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def test_imports_point_down_the_tree():
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 kept, 0 broken" in done.stdout


def test_every_folder_is_one_that_the_design_names():
    assert {one.name for one in SOURCE.iterdir() if one.name != "__pycache__"} == TREE


def test_no_module_has_a_name_that_says_nothing():
    assert [name_of(one) for one in MODULES if VAGUE & set(one.stem.split("_"))] == []


def test_no_file_is_longer_than_320_lines():
    lengths = {name_of(one): len(one.read_text(encoding="utf-8").splitlines()) for one in MODULES}
    assert {name: lines for name, lines in lengths.items() if lines > 320} == {}


def test_no_function_is_longer_than_60_lines():
    lengths = {
        f"{name_of(path)}:{node.name}": node.end_lineno - node.lineno + 1
        for path in MODULES
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert len(lengths) > 500
    assert {name: lines for name, lines in lengths.items() if lines > 60} == {}


def test_nothing_is_global():
    assert [
        name_of(one) for one in MODULES if any(isinstance(node, ast.Global) for node in ast.walk(parsed(one)))
    ] == []


def test_the_environment_is_read_in_one_place():
    readers = {
        name_of(path)
        for path in MODULES
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv"} and ast.unparse(node.value) == "os"
    }
    assert readers == READS_ENVIRONMENT


def test_import_steelyard_loads_nothing_heavy():
    script = "import steelyard, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert [one for one in HEAVY if one in done.stdout.split()] == []


def test_every_public_name_is_there_and_is_listed_once():
    import steelyard

    assert sorted(steelyard.__all__) == sorted(set(steelyard.__all__))
    assert [name for name in steelyard.__all__ if getattr(steelyard, name, None) is None] == []
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = steelyard.nothing


class Probe:
    """A model that looks at the stack it is sent from."""

    inline = True

    def __init__(self):
        self.frames = []

    def request(self, messages, parameters):
        return Request(endpoint="probe:", url="probe:", payload=b"{}")

    async def send(self, request, wire):
        self.frames = own_frames(asyncio.current_task())
        return Answer(200, {}, b"A")

    def read(self, answer):
        return Reply("", "A")


def own_frames(task):
    """Our files between the worker's task and here, the worker first, the model's `send` not among them."""
    frames, awaited = [], task.get_coro()
    while awaited is not None and getattr(awaited, "cr_frame", None) is not None:
        frames.append(awaited.cr_frame.f_code)
        awaited = awaited.cr_await
    stack, frame = [], sys._getframe()  # traceback.walk_stack begins at another frame in each version of Python
    while frame is not None:
        stack.append(frame.f_code)
        frame = frame.f_back
    found = frames + [code for code in reversed(stack) if code not in frames]
    return [code for code in found if code.co_filename.startswith(str(SOURCE) + os.sep)]


def test_the_path_of_one_sample_is_short():
    """At most 8 of our own frames below the worker, down to the model's send; at most 12 modules in all."""
    probe = Probe()
    run = asyncio.run(aevaluate(Prompt(probe), [Sample("one", "?", "A")], [ExactMatch()], concurrency=1))
    assert run.summary().score().headline.value == 1.0
    worker = next(at for at, code in enumerate(probe.frames) if code.co_name == "_worker")
    below = [code.co_qualname for code in probe.frames[worker + 1 :]]
    assert below[0] == "Runner.run_sample"
    assert {"Prompt.__call__", "Ask.__call__", "Limits.call"} <= set(below)
    assert len(below) <= 8, below
    around = {"cli/running.py", "config/load.py", "suite/evaluate.py", "models/openai_compatible.py"}
    after = {"store/journal.py", "scorers/choice.py", "store/store.py"}
    modules = {name_of(Path(code.co_filename)) for code in probe.frames[worker:]} | around | after
    assert len(modules) <= 12, modules
