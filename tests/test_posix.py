"""Another system than Linux and macOS: one sentence that says what to do, wherever its modules are missing."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "steelyard"
BLOCKED = ("fcntl", "pwd", "resource", "termios", "grp")
BLOCK = f"import sys; sys.modules.update(dict.fromkeys({BLOCKED!r}))\n"


def elsewhere(folder, program):
    """The program where the modules of POSIX are missing, as on Windows."""
    command = [sys.executable, "-c", BLOCK + program]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("arguments", [("run", "exam.yaml"), ("view",)])
def test_a_command_is_refused_with_one_sentence(tmp_path, arguments):
    (tmp_path / "q.csv").write_text("question,answer\nA?,A\n")
    (tmp_path / "exam.yaml").write_text(
        "samples: {file: q.csv}\ntargets: {t: {prompt: {template: '{{question}}', model: {scripted: {default: A}}}}}\n"
    )
    out = elsewhere(tmp_path, f"from steelyard.cli import main; sys.argv[1:] = {list(arguments)!r}; main()")
    assert out.returncode == 2, out.stderr
    assert out.stdout == ""
    (line,) = out.stderr.strip().splitlines()
    assert "use WSL 2 (wsl --install)" in line


def test_a_run_from_python_is_refused_with_the_same_sentence(tmp_path):
    out = elsewhere(
        tmp_path,
        "from steelyard import ConfigError, Sample\n"
        "try:\n"
        "    from steelyard import evaluate\n"
        "    evaluate(len, [Sample('a', 'b')], [])\n"
        "except ConfigError as error:\n"
        "    print(error)\n",
    )
    assert "use WSL 2 (wsl --install)" in out.stdout, out.stderr


def importing(*names):
    """File -> the modules of these names that it imports; only what mentions one is parsed."""
    found = {}
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if any(name in text for name in names) else ():
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if imported := {module for module in modules for name in names if f"{module}.".startswith(f"{name}.")}:
                found.setdefault(path.relative_to(SOURCE).as_posix(), set()).update(imported)
    return found


def test_the_modules_of_posix_are_imported_in_one_place():
    assert {*importing(*BLOCKED)} == {"posix.py"}


def test_processes_are_programs_of_their_own_or_forked_by_the_sql_template():
    """No start method of `multiprocessing` is used, whose default differs between Pythons and systems."""
    used = importing("multiprocessing", "concurrent.futures.process")
    assert {module for modules in used.values() for module in modules} <= {"multiprocessing.connection"}
    forking = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py") if "os.fork(" in path.read_text()}
    assert forking == {"sql/workers/worker.py"}
