"""How many small faults of the source the tests catch: seeded mutations, each of one line, and the tests run on each.

    python tools/mutations.py draw --seed 19 --count 115    # write tools/mutations.json; remove equivalents by hand
    python tools/mutations.py run --results OUT.jsonl       # whether a test catches each; goes on where it was

A mutation names a file, the text of a line and its replacement, so that it outlives changes elsewhere in the file. It
runs in a copy of the tree, against the doctests of the file and the tests nearest to it: first those that mirror its
path, then those that name its module. What none of them catches survives, so the figure is a lower bound.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tools" / "mutations.json"
COPIED = ("src", "tests", "docs", "examples", "tools", "benchmarks", "pyproject.toml", "README.md", "CHANGELOG.md")
MOST_FILES = 10
"""Of tests for each mutation: the nearest catch nearly all that is caught, and each more costs seconds."""
TIMEOUT_S = 240
"""After this the tests are stopped and nothing is known: they may loop for ever, or the machine may be slow."""
COMPARED: dict[type, str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
CALCULATED: dict[type, str] = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.Div: "*", ast.FloorDiv: "*"}


def main() -> None:
    """Draw the list, or run it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    kinds = parser.add_subparsers(dest="kind", required=True)
    drawing = kinds.add_parser("draw", help="write the list again")
    drawing.add_argument("--seed", type=int, default=19)
    drawing.add_argument("--count", type=int, default=115)
    running = kinds.add_parser("run", help="run the tests on each mutation")
    running.add_argument("--results", type=Path, required=True, help="a line of JSON for each; those there are kept")
    options = parser.parse_args()
    if options.kind == "draw":
        drawn = draw(random.Random(options.seed), options.count)  # noqa: S311 (nothing secret is drawn)
        LIST.write_text(json.dumps(drawn, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    else:
        run(json.loads(LIST.read_text(encoding="utf-8")), options.results)


def draw(generator: random.Random, count: int) -> list[dict[str, str]]:
    """Mutations of lines that occur once in their file; a file's chance grows with its lines."""
    files = sorted((ROOT / "src").rglob("*.py"))
    lengths = [len(path.read_text(encoding="utf-8").splitlines()) for path in files]
    drawn: dict[tuple[str, str], dict[str, str]] = {}
    while len(drawn) < count:
        (path,) = generator.choices(files, lengths)
        possible = list(mutations(path.read_text(encoding="utf-8")))
        if possible:
            text, replacement = generator.choice(possible)
            name = str(path.relative_to(ROOT))
            drawn.setdefault((name, text), {"file": name, "line": text, "replacement": replacement})
    return list(drawn.values())


def mutations(source: str) -> Iterator[tuple[str, str]]:
    """(line, replacement) for each place of the source that can be changed within one line."""
    lines = source.splitlines()
    for node, start, end, written in places(ast.parse(source), source):
        line = lines[node.lineno - 1]
        if lines.count(line) == 1 and line.isascii():  # columns of the syntax tree count bytes
            yield line, line[:start] + written + line[end:]


def places(tree: ast.AST, source: str) -> Iterator[tuple[ast.expr, int, int, str]]:
    """(expression, first column, column behind, what to write there) of each change."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.expr) or node.lineno != node.end_lineno or node.end_col_offset is None:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            other = not node.value if isinstance(node.value, bool) else node.value + 1
            yield node, node.col_offset, node.end_col_offset, str(other)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node, node.col_offset, node.operand.col_offset, ""
        else:
            yield from operators(node, source)


def operators(node: ast.expr, source: str) -> Iterator[tuple[ast.expr, int, int, str]]:
    """The change of an expression's first operator, if it has one."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from between(node, node.left, node.comparators[0], COMPARED.get(type(node.ops[0])), source)
    elif isinstance(node, ast.BinOp):
        yield from between(node, node.left, node.right, CALCULATED.get(type(node.op)), source)
    elif isinstance(node, ast.BoolOp):
        other = "or" if isinstance(node.op, ast.And) else "and"
        yield from between(node, node.values[0], node.values[1], other, source)


def between(
    node: ast.expr, left: ast.expr, right: ast.expr, operator: str | None, source: str
) -> Iterator[tuple[ast.expr, int, int, str]]:
    """The operator between two operands replaced, where nothing else stands there."""
    start = left.end_col_offset or 0
    written = source.splitlines()[node.lineno - 1][start : right.col_offset]
    if operator and not set(written) & set("()#"):
        yield node, start, right.col_offset, f" {operator} "


def run(listed: list[dict[str, str]], results: Path) -> None:
    """Run what has no result yet, each in the same copy of the tree, and print the counts."""
    done = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()] if results.exists() else []
    seen = {(one["file"], one["line"]) for one in done}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "tree"
        for name in COPIED:
            copied(ROOT / name, copy / name)
        for mutation in listed:
            if (mutation["file"], mutation["line"]) not in seen:
                outcome = tried(copy, mutation)
                with results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({**mutation, **outcome}) + "\n")
                print(outcome["outcome"], mutation["file"], mutation["replacement"].strip(), flush=True)
                done.append({**mutation, **outcome})
    print(dict(Counter(one["outcome"] for one in done)))


def copied(source: Path, copy: Path) -> None:
    """Copy a file or a folder without what is built."""
    if source.is_dir():
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns("node_modules", "__pycache__"))
    else:
        shutil.copy(source, copy)


def tried(copy: Path, mutation: dict[str, str]) -> dict[str, str]:
    """What became of a mutation, and the first test that failed.

    `caught`, `survived`, `timeout` (the tests did not end, which no test reported), `untested` (no test is near),
    `stale` (the line is gone) or `unsound` (the same test fails on the source as it is, so that nothing is known).
    """
    path = copy / mutation["file"]
    before = path.read_text(encoding="utf-8")
    lines = before.split("\n")
    if lines.count(mutation["line"]) != 1:
        return {"outcome": "stale", "by": ""}
    lines[lines.index(mutation["line"])] = mutation["replacement"]
    path.write_text("\n".join(lines), encoding="utf-8")
    try:
        found = tested(copy, [mutation["file"], *nearest_tests(mutation["file"])])
    finally:
        path.write_text(before, encoding="utf-8")
    if found["by"] and tested(copy, [found["by"]])["outcome"] == "caught":
        return {**found, "outcome": "unsound"}
    return found


def tested(copy: Path, files: list[str]) -> dict[str, str]:
    """What pytest says of these files, up to the first failure."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONPYCACHEPREFIX": str(copy.parent / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # compiling the tests again costs most of a run
    try:
        done = subprocess.run(
            [*command, "-m", "not browser", *files], cwd=copy, env=environment, capture_output=True, text=True,
            timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"outcome": "timeout", "by": ""}
    if done.returncode == 5:  # pytest's code for "no tests were collected"
        return {"outcome": "untested", "by": ""}
    lines = done.stdout.splitlines()
    failed = [line.split(" ", 1)[1].partition(" - ")[0] for line in lines if line.startswith(("FAILED ", "ERROR "))]
    return {"outcome": "caught" if done.returncode else "survived", "by": failed[0] if failed else ""}


def nearest_tests(file: str) -> list[str]:
    """Test files that mirror a source file, then those that name its module, then others of its folder."""
    module = Path(file).relative_to("src/steelyard").with_suffix("")
    dotted = ".".join(("steelyard", *module.parts)).removesuffix(".__init__")
    package, _, last = dotted.rpartition(".")
    ranked = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        if "foreign" in path.parts or "browser" in path.parts:
            continue
        text = path.read_text(encoding="utf-8")
        at_home = path.parent == ROOT / "tests" / module.parent
        if at_home and last.strip("_") in path.stem:
            ranked.append((0, path))
        elif dotted in text or (f"from {package} import" in text and last in text):
            ranked.append((1 if at_home else 2, path))
        elif at_home:
            ranked.append((3, path))
    return [str(path.relative_to(ROOT)) for _, path in sorted(ranked)[:MOST_FILES]]


if __name__ == "__main__":
    main()
