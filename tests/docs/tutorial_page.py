"""Run a tutorial the way its reader does, and compare what it prints with what the page shows.

A page is followed from its top, in an empty folder. These fenced blocks count; all others are for reading:

```yaml title="name"      the file `name` is written with what the block holds
```diff title="name"      in the file `name`, the lines with `-` are replaced by those with `+`; lines with a blank are
                          context. The old lines must be there exactly once
```console                every line with `$ ` is a command (`\\` at its end continues it), the lines after it are
                          all that it prints; a line `...` stands for any number of lines
```console title="second terminal"   the command is started and runs until the next such block, or the end of the page

A command may fail only where `$ echo $?` follows and shows its exit code. `cd`, `echo $?` and `steelyard` are run in
this process, everything else by a shell.

What changes from run to run is not compared: ids of runs, durations, dates and checksums. An id that the page shows is
replaced in later commands by the one that was printed in its place. The port 8765 stands for a free one.

`python -m tests.docs.tutorial_page docs/tutorials/PAGE.md...` writes what the commands print into the pages. Ids and
durations stay those of the page, and `...` stays where the lines around it show its place; what stands there otherwise
must be cut again by hand. `STEELYARD=path` names the program of another environment.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_ID = r"\b(?=[a-z]*\d)[a-z\d]{6}\b"
"""An id as pages show it: it has a digit, so that no word is taken for one."""
_VOLATILE = {
    "id": (_ID, r"[a-z\d]{6}"),
    "date": (r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?(?: UTC|Z)?)?", None),
    "duration": (r"\b\d+(?:\.\d+)? (?:ms|s|seconds|秒)(?![A-Za-z])", r"\d+(?:\.\d+)? (?:ms|s|seconds|秒)"),
    "digest": (r"\b[0-9a-f]{12,64}\b", r"[0-9a-f]{12,64}"),
}
_TOKEN = re.compile("|".join(f"(?P<{name}>{shown})" for name, (shown, _) in _VOLATILE.items()))
_SECOND_TERMINAL = ("second terminal", "另一个终端")
_PORT = "8765"
_STARTING_S = 30.0


@dataclass
class Step:
    """A block of a page: a file, a change of one, or commands with what they print."""

    kind: str
    name: str
    text: str
    line: int
    commands: list[tuple[str, str]] = field(default_factory=list)


def steps(page: str) -> Iterator[Step]:
    """The blocks of a page that are followed, in their order."""
    for block in _BLOCK.finditer(page):
        language, title, text = block.group(1), block.group(2) or "", block.group(3)
        line = page.count("\n", 0, block.start()) + 1
        if language == "console":
            yield Step("commands", title, text, line, [(c, out) for c, out in _COMMAND.findall(text)])
        elif title:
            yield Step("change" if language == "diff" else "file", title, text, line)


def changed(text: str, diff: str) -> str:
    """A file's text with the old lines of a diff replaced by the new ones."""
    lines = diff.splitlines()
    old = "\n".join(line[1:] for line in lines if not line.startswith("+"))
    new = "\n".join(line[1:] for line in lines if not line.startswith("-"))
    found = len(re.findall(f"(?=\n{re.escape(old)}\n)", f"\n{text}"))
    assert found == 1, f"the file has these lines {found} times, not once:\n{old}"
    return f"\n{text}".replace(f"\n{old}\n", f"\n{new}\n")[1:]


def _pattern(line: str) -> tuple[str, bool]:
    """What a line has to match, and whether something in it changes from run to run (then blanks are not counted)."""
    found = list(_TOKEN.finditer(line))
    parts, at = [], 0
    for token in found:
        parts.append(re.escape(line[at : token.start()]))
        anything = _VOLATILE[str(token.lastgroup)][1] or _VOLATILE[str(token.lastgroup)][0]
        parts.append(f"({anything})")
        at = token.end()
    return "".join([*parts, re.escape(line[at:])]), bool(found)


def matches(shown: str, printed: str, ids: dict[str, str]) -> bool:
    """Whether the lines that were printed are those shown; new ids are added to `ids`."""
    expected = [line.rstrip() for line in shown.strip("\n").splitlines()]
    actual = [line.rstrip() for line in printed.strip("\n").splitlines()]
    return _match(expected, actual, ids)


def _match(expected: list[str], actual: list[str], ids: dict[str, str]) -> bool:
    if not expected:
        return not actual
    if expected[0].strip() == "...":
        return any(_match(expected[1:], actual[skipped:], ids) for skipped in range(len(actual) + 1))
    if not actual:
        return False
    pattern, volatile = _pattern(expected[0])
    line = actual[0]
    if volatile:
        pattern = re.sub(r"(?:\\ )+", r" +", re.sub(r"^(?:\\ )+", r" *", pattern))
    found = re.fullmatch(pattern, line)
    if not found or not _match(expected[1:], actual[1:], ids):
        return False
    for token, printed in zip(_TOKEN.finditer(expected[0]), found.groups(), strict=True):
        if token.lastgroup == "id":
            ids[token.group()] = printed
    return True


def merged(shown: str, printed: str, ids: dict[str, str]) -> str:
    """The lines that were printed, as the page shows those of them that it has; new ids are added to `ids`."""
    expected, actual = ([line.rstrip() for line in text.strip("\n").splitlines()] for text in (shown, printed))
    keys = [[re.sub(" +", " ", _TOKEN.sub("~", line)) for line in lines] for lines in (expected, actual)]
    lines: list[str] = []
    for tag, start, end, first, last in difflib.SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        part = expected[start:end]
        if tag == "equal":
            for pair in zip(part, actual[first:last], strict=True):
                matches(*pair, ids)
            lines += part
        elif part.count("...") == 1 and last - first >= len(part) - 1:
            at = part.index("...")
            lines += [*actual[first : first + at], "...", *actual[last - (len(part) - 1 - at) : last]]
        else:
            lines += actual[first:last]
    return "".join(f"{line}\n" for line in lines)


def run_in_process(words: str) -> tuple[int, str]:
    """`steelyard` with these arguments in this process -> exit code and all that it printed."""
    import shlex

    from steelyard.cli.app import run_app

    with tempfile.TemporaryFile("w+", encoding="utf-8") as printed:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            try:
                run_app(shlex.split(words)[1:])
                code = 0
            except SystemExit as ended:
                code = int(ended.code or 0)
        printed.seek(0)
        return code, printed.read()


def run_by(program: Path) -> Callable[[str], tuple[int, str]]:
    """A `steelyard` that is run by another environment's program, as `Walk` takes it."""

    def run(words: str) -> tuple[int, str]:
        return run_in_shell(f"{program} {words.removeprefix('steelyard ')}")

    return run


def run_in_shell(words: str) -> tuple[int, str]:
    """Any command -> exit code and all that it printed."""
    environ = {**os.environ, "PYTHONUNBUFFERED": "1"}
    done = subprocess.run(
        words, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False, env=environ
    )
    return done.returncode, done.stdout


class Walk:
    """A walk through one page in the current folder; `close` ends what it started."""

    def __init__(self, steelyard: Callable[[str], tuple[int, str]] = run_in_process) -> None:
        self._steelyard = steelyard
        self.ids: dict[str, str] = {}
        self._started: list[subprocess.Popen[bytes]] = []
        self._code = 0
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = str(free.getsockname()[1])

    def close(self) -> None:
        """End what runs in the second terminal."""
        for process in self._started:
            process.terminate()
            process.wait()
        self._started.clear()

    def follow(self, page: str) -> Iterator[tuple[Step, str, str, str]]:
        """Do what a page says; gives (step, command, lines shown, lines printed) for each command."""
        for step in steps(page):
            if step.kind == "file":
                Path(step.name).parent.mkdir(parents=True, exist_ok=True)
                Path(step.name).write_text(self._actual(step.text), encoding="utf-8")
            elif step.kind == "change":
                before = Path(step.name).read_text(encoding="utf-8")
                Path(step.name).write_text(changed(before, self._actual(step.text)), encoding="utf-8")
            elif step.name in _SECOND_TERMINAL:
                self.close()
                for command, _ in step.commands:
                    self._start(self._actual(command))
            else:
                yield from self._commands(step)

    def _commands(self, step: Step) -> Iterator[tuple[Step, str, str, str]]:
        for at, (command, shown) in enumerate(step.commands):
            printed = self._run(self._actual(command.replace("\\\n", " ")))
            yield step, command, shown, printed.replace(self._port, _PORT)
            told = at + 1 < len(step.commands) and step.commands[at + 1][0] == "echo $?"
            assert told or not self._code, f"line {step.line}: {command} ended with {self._code}:\n{printed}"

    def matches(self, shown: str, printed: str) -> bool:
        """Whether these lines are those that a page shows."""
        return matches(shown, printed, self.ids)

    def _actual(self, text: str) -> str:
        for shown, printed in self.ids.items():
            text = re.sub(rf"\b{shown}\b", printed, text)
        return text.replace(_PORT, self._port)

    def _run(self, command: str) -> str:
        if command.startswith("cd "):
            os.chdir(command[3:].strip())
            return ""
        if command == "echo $?":
            code, self._code = self._code, 0
            return str(code)
        by_steelyard = command.startswith("steelyard ") and not re.search(r"[|;<>]|&&", command)
        self._code, printed = (self._steelyard if by_steelyard else run_in_shell)(command)
        return printed

    def _start(self, command: str) -> None:
        environ = {**os.environ, "PYTHONUNBUFFERED": "1"}
        process = subprocess.Popen(f"exec {command}", shell=True, env=environ, stdout=subprocess.DEVNULL)
        self._started.append(process)
        deadline = time.monotonic() + _STARTING_S
        while True:
            assert process.poll() is None, f"{command} has ended"
            with socket.socket() as caller:
                if not caller.connect_ex(("127.0.0.1", int(self._port))):
                    return
            assert time.monotonic() < deadline, f"{command} does not listen"
            time.sleep(0.05)


def written(page: str, steelyard: Callable[[str], tuple[int, str]] = run_in_process) -> str:
    """The page with what its commands print here and now in place of what it showed, where that differs."""
    walk = Walk(steelyard)
    outputs: dict[int, str] = {}
    folder = Path.cwd()
    with tempfile.TemporaryDirectory() as empty:
        os.chdir(empty)
        try:
            for step, command, shown, printed in walk.follow(page):
                kept = shown if walk.matches(shown, printed) else merged(shown, printed, walk.ids)
                blank = "\n" if shown.endswith("\n\n") or (kept and not shown) else ""
                kept = kept.rstrip("\n") + "\n" + blank if kept else kept
                outputs[step.line] = outputs.get(step.line, "") + f"$ {command}\n{kept}"
            without_digit = [run for run in _runs(Path(empty)) if run.isalpha()]
        finally:
            walk.close()
            os.chdir(folder)

    def replaced(block: re.Match[str]) -> str:
        line = page.count("\n", 0, block.start()) + 1
        return f"```console\n{outputs[line].rstrip()}\n```" if line in outputs else block.group()

    new = _BLOCK.sub(replaced, page)
    for shown, printed in walk.ids.items():
        new = re.sub(rf"\b{printed}\b", shown, new)
    for run in without_digit:
        new = re.sub(rf"\b{run}\b", f"{run[:5]}7", new)
    return new


def _runs(folder: Path) -> list[str]:
    """The ids of all runs in the stores below a folder."""
    from steelyard.store import Store

    found = []
    for file in folder.rglob(".steelyard/steelyard.db"):
        with Store(file) as store:
            found += [run.id for run in store.runs()]
    return found


if __name__ == "__main__":
    program = os.environ.get("STEELYARD")
    for name in sys.argv[1:]:
        page = written(Path(name).read_text(encoding="utf-8"), run_by(Path(program)) if program else run_in_process)
        Path(name).write_text(page, encoding="utf-8")
