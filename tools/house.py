"""Figures of the source tree, for comparing it before and after a change: `.venv/bin/python tools/house.py`.

They show a direction and are not an end in themselves: a figure that is reached by something harder to own is worse
than one that is not.
"""

from __future__ import annotations

import ast
import collections
import json
import resource
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "steelyard"


def main() -> None:
    """Print one figure a line."""
    files = {path: path.read_text(encoding="utf-8") for path in sorted(SOURCE.rglob("*.py"))}
    code = {path: _code_lines(text) for path, text in files.items()}
    rooms: collections.Counter[str] = collections.Counter()
    for path, lines in code.items():
        rooms[path.relative_to(SOURCE).parts[0]] += lines
    classes = collections.Counter(name for text in files.values() for name in _class_names(text))
    print("lines of code", sum(code.values()))
    print("lines", sum(len(text.splitlines()) for text in files.values()))
    print("files", len(files))
    print("files under 40 lines of code", sum(n < 40 for path, n in code.items() if path.name != "__init__.py"))
    print("class names used twice", sum(n > 1 for n in classes.values()))
    circles = list(_circles())
    print("circles", len(circles), *("\n  " + " ".join(sorted(circle)) for circle in circles))
    for what, (modules, frames) in _paths().items():
        print(f"modules and own frames of one sample, {what}", modules, frames)
    print("import steelyard, s of CPU", _cpu_s([sys.executable, "-c", "import steelyard"]))
    print("steelyard --help, s of CPU", _cpu_s([str(Path(sys.executable).with_name("steelyard")), "--help"]))
    print("rooms", ", ".join(f"{room} {lines}" for room, lines in rooms.most_common()))


def _code_lines(text: str) -> int:
    """Lines that are neither blank, a comment nor part of a docstring."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docstrings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(bool(line.strip()) and not line.strip().startswith("#") and no not in docstrings for no, line in lines)


def _class_names(text: str) -> Iterator[str]:
    return (node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef))


def _circles() -> Iterator[set[str]]:
    """Modules that import each other in a circle: the strongly connected parts of the graph (Kosaraju, 1978)."""
    graph = grimp.build_graph("steelyard", include_external_packages=False)
    downward = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    upward = {module: graph.find_modules_that_directly_import(module) for module in graph.modules}
    order: list[str] = []
    seen: set[str] = set()
    for module in sorted(graph.modules):
        order += _reached(module, downward, seen)
    assigned: set[str] = set()
    for module in reversed(order):
        circle = set(_reached(module, upward, assigned))
        if len(circle) > 1:
            yield {name.removeprefix("steelyard.") for name in circle}


def _reached(start: str, edges: Mapping[str, Iterable[str]], seen: set[str]) -> list[str]:
    """What can be reached from `start` and was not seen, each after all that it leads to."""
    if start in seen:
        return []
    finished = []
    seen.add(start)
    path = [(start, iter(sorted(edges[start])))]
    while path:
        module, rest = path[-1]
        step = next((name for name in rest if name not in seen), None)
        if step is None:
            finished.append(module)
            path.pop()
        else:
            seen.add(step)
            path.append((step, iter(sorted(edges[step]))))
    return finished


def _paths() -> dict[str, tuple[int, int]]:
    """For three ways of evaluating: modules of ours that run for one sample, and own frames below the worker."""
    script = Path(__file__).with_name("sample_path.py")
    process = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    paths = json.loads(process.stdout)
    return {way: (len(path["modules"]), len(path["deepest"])) for way, path in paths.items()}


def _cpu_s(command: list[str]) -> float:
    """The least CPU time of five runs, in seconds."""
    times = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return round(min(times), 3)


if __name__ == "__main__":
    main()
