"""Whether a reply's Python code passes a test of its row, run apart from this process and confined.

Two processes are started for each reply (`code_worker`): one has the code, the other the test, so the code can neither
see nor touch what decides. Neither has a network, an environment, a home or a file to write; both have limits of time
and memory and are killed at the end. Source of the task: M. Chen et al., "Evaluating large language models trained on
code", 2021 (HumanEval).
"""

# Why it is so, and what was rejected: docs/decisions/scorers-code-of-replies.md
from __future__ import annotations

import ast
import contextlib
import doctest
import json
import os
import re
import select
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from textwrap import dedent, indent
from typing import Annotated, ClassVar, Final, TypeGuard

from steelyard.constraints import TextList, Within
from steelyard.errors import ConfigError, DataError, ScorerError
from steelyard.replies.answer_text import text_of
from steelyard.replies.clean import blocks_of, without_reasoning
from steelyard.scorers import code_worker
from steelyard.scorers.lexical import share_info, unscored
from steelyard.sql.sandbox import Sandbox
from steelyard.types import Output, Sample, Score, ScoreInfo

_NAME: Final = "python_test"
_START_S: Final = 20.0
"""Seconds for two interpreters to start on a busy machine, beside the test's own."""
_MOST_RESULT: Final = 4096
_MOST_ENDS: Final = 50
"""Blank lines, from the end of a reply without fences, at which its code may end."""
_LONGEST_COMPLETION: Final = 50_000
"""Characters of a reply that may go on with the code of the input."""
_MOST_INNER_FENCES: Final = 6
"""Pairs of fences in the docstrings of one block."""
_CODE_LINE: Final = re.compile(
    r"^[ \t]*(?:(?:async )?def \w+ ?\(|class \w+ ?[(:]|import \w|from [\w.]+ import|@\w)", re.MULTILINE
)
_ASSIGNMENT: Final = re.compile(r"^[ \t]*\w+(?:: ?[^=\n]+)? = \S", re.MULTILINE)
"""A constant may stand before the first function; a line of prose too, so that it is tried first and may be none."""
_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_ONLY_DEFINE: Final = (*_DEFINITIONS, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)
_SKIPS: Final = re.compile(r"(?:unittest\.)?(?:skip(?:\(|\Z)|expectedFailure\Z)")
_SESSION: Final = """
import doctest
try:
    session = doctest.DocTestParser().get_doctest({text!r}, globals(), "session", None, 0)
    doctest.DebugRunner(verbose=False).run(session)
except doctest.DocTestFailure as failure:
    raise AssertionError(failure.example.source.strip() + " gives " + failure.got.strip()) from None
except doctest.UnexpectedException as failure:
    raise failure.exc_info[1] from None
if False:
{script}
"""
"""Runs a session as doctest does; its names and imports stand below, where they are looked for."""


@dataclass(frozen=True, slots=True)
class PythonTest:
    """Whether the code of the output passes the row's own test: 1 if the test runs to its end, else 0.

    The code is that of the fenced block, of several the last that defines what the test uses, with the definitions
    before it, else the whole output. Where that defines nothing that the test uses and goes on with the code of the
    input, as completions of HumanEval do, the code is both. It runs in a process of its own, with the standard library
    alone, without network, environment, home and files. The test runs in another one and gets plain data from it, so a
    reply passes only by returning what is expected. Objects of the reply's own classes are used by attributes, methods,
    operators, items and text; the test cannot hand over functions. Linux only; elsewhere it is refused without
    `--unsafe-code`.

    Args:
        test: Python code with assertions, a list of them (`{{test_list}}` of MBPP), or an interactive session as
            doctest reads it: `{{test}}` for a column that holds it. Functions `test...` that nothing calls and classes
            of unittest are run after it; one that skips itself is an error. It imports the standard library alone, so
            no pytest.
        call: a line that is run after it: `check({{entry_point}})`.
        timeout_s: seconds for the test, all its calls included.
        memory_mib: MiB that each of the two processes may take.
    """

    runs_code: ClassVar[bool] = True
    fixed_options: ClassVar[tuple[str, ...]] = ()

    test: Annotated[str | tuple[str, ...], TextList(most=1_000, or_text=True)]
    call: str = ""
    timeout_s: Annotated[float, Within(0.1, 600)] = 5.0
    memory_mib: Annotated[int, Within(64, 65_536)] = 512

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """It passes or fails."""
        return (share_info(_NAME, 1.0, labels=("passes", "fails")),)

    @property
    def _module(self) -> str:
        """The test as a module."""
        return _as_module(self.test if isinstance(self.test, str) else "\n".join(self.test))

    def check(self) -> None:
        """Validate the options.

        Raises:
            ConfigError: a test that cannot be parsed, imports other packages, asserts nothing, or calls nothing that
                asserts.
        """
        _checked_test(self._module, self.call)

    def prepare(self, sandbox: Sandbox) -> None:
        """Refuse to run code where it cannot be confined.

        Raises:
            ConfigError: it is not Linux, and `--unsafe-code` is not given.
        """
        if sys.platform != "linux" and "code" not in sandbox.permits:
            raise ConfigError("python_test: code can be confined on Linux only; --unsafe-code runs it without")

    def __call__(self, sample: Sample, output: Output, sandbox: Sandbox) -> Score:
        """Test the code of one output.

        Raises:
            DataError: the test hands a function to the code, or skips itself.
            ScorerError: the processes could not be confined.
        """
        if (score := unscored(_NAME, "", output)) is not None:
            return score
        wanted = code_worker.wanted_by(f"{self._module}\n{self.call}")
        code = code_in(text_of(output), wanted)
        if isinstance(sample.input, str) and not (_parses(code) and _defined_in(code) & wanted):
            code = _continued(sample.input, text_of(output)) or code
        if not code:
            return Score(
                _NAME, None, outcome="unparsed", reason="the output holds no Python code", detail={"kind": "none"}
            )
        verdict, reason = self._run(code, unsafe="code" in sandbox.permits)
        if verdict == "unsupported":
            raise DataError(f"python_test: {reason}")
        if verdict == "unconfined":
            raise ScorerError("python_test: this kernel has no landlock or seccomp; --unsafe-code runs it without")
        passed = verdict == "passed"
        return Score(_NAME, float(passed), passed=passed, reason=reason)

    def _run(self, code: str, *, unsafe: bool) -> tuple[str, str]:
        test = self._module
        test = f"{test}\n{self.call}\n{_own_calls(test, self.call)}\n"
        ours, theirs = socket.socketpair()
        read_end, write_end = os.pipe()
        with contextlib.ExitStack() as opened:
            opened.callback(os.close, read_end)
            with ours, theirs, contextlib.ExitStack() as started:
                started.callback(os.close, write_end)
                opened.enter_context(self._process(("code", code, unsafe), (theirs.fileno(), theirs.fileno())))
                opened.enter_context(self._process(("test", test, unsafe), (ours.fileno(), write_end)))
            return self._verdict(read_end)

    @contextlib.contextmanager
    def _process(self, task: tuple[str, str, bool], descriptors: tuple[int, int]) -> Iterator[None]:
        """One of the two processes, killed at the end: its role, its source, and whether it may be unconfined."""
        role, source, unsafe = task
        root = str(Path(code_worker.__file__).parents[2])
        options = [role, root, str(self.memory_mib), str(self.timeout_s), "unsafe" if unsafe else ""]
        # The numbers that the worker knows. Copies with higher numbers come first: 3 and 4 may be either of the two.
        start = f"import fcntl,os,runpy,sys\nours={descriptors!r}\n"
        start += "copies=[fcntl.fcntl(each,fcntl.F_DUPFD,max(ours)+1) for each in ours]\n"
        start += "os.dup2(copies[0],3);os.dup2(copies[1],4);os.closerange(5,max(copies)+1)\n"
        start += f"sys.argv=['']+sys.argv[1:]\nrunpy.run_path({code_worker.__file__!r},run_name='__main__')"
        process = subprocess.Popen(  # noqa: S603  # our own interpreter and file
            [sys.executable, "-I", "-S", "-c", start, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            pass_fds=descriptors,
            start_new_session=True,
        )
        try:
            with contextlib.suppress(BrokenPipeError), process.stdin or contextlib.nullcontext() as pipe:
                if pipe is not None:
                    pipe.write(source.encode("utf-8", "replace"))
            yield
        finally:
            process.kill()
            process.wait()

    def _verdict(self, read_end: int) -> tuple[str, str]:
        """What the process of the test wrote until it ended, or until the time was over."""
        end, written, ready = time.monotonic() + _START_S, b"", [0]
        while len(written) < _MOST_RESULT:
            ready, _, _ = select.select([read_end], [], [], max(0.0, end - time.monotonic()))
            part = os.read(read_end, _MOST_RESULT) if ready else b""
            if not part:
                break
            if not written:  # the first byte says that it has begun
                end = time.monotonic() + self.timeout_s
            written += part
        if not written.strip():
            return "failed", "the test's process was ended" if ready else f"not done within {self.timeout_s:g} s"
        verdict, reason = json.loads(written)
        return verdict, reason


def code_in(text: str, names: Collection[str] = ()) -> str:
    r"""The Python code of a reply; "" for none.

    Of several fenced blocks that can be parsed it is the last that defines one of the names, after the imports and
    definitions of the blocks before it; where none does, the longest. Without fences it is the text from its first
    line of code on, up to where it can be parsed.

    >>> code_in("Here:\n```python\nx = 1\n```\nDone."), code_in("No code.")
    ('x = 1', '')
    >>> code_in("```\ndef f(): return 1\n```\nUse:\n```\nprint(f(), 'or so', f())\n```", {"f"})
    'def f(): return 1'
    """
    text = without_reasoning(text)[0]
    blocks = list(_blocks(text))
    parsed = [block for block in blocks if block and _parses(block)]
    if not parsed:
        return max(blocks, key=len, default="") or _unfenced_code(text)
    defining = [place for place, block in enumerate(parsed) if not _defined_in(block).isdisjoint(names)]
    if not defining:
        return max(parsed, key=len)
    last = defining[-1]
    before = [block for block in parsed[:last] if all(isinstance(node, _ONLY_DEFINE) for node in ast.parse(block).body)]
    return "\n\n".join([*before, parsed[last]])


def _blocks(text: str) -> Iterator[str]:
    """The fenced blocks; one that cannot be parsed goes on behind fences that stand in its own docstrings."""
    spans = list(blocks_of(text, 0, len(text)))
    end = 0
    for place, block in enumerate(spans):
        if block.start >= end:
            ends = (later.end for later in spans[place : place + 1 + _MOST_INNER_FENCES])
            end = next((stop for stop in ends if _parses(dedent(text[block.start : stop]).strip())), block.end)
            yield dedent(text[block.start : end]).strip()


def _continued(begun: str, text: str) -> str:
    """The code of an input and of the reply that goes on with it; "" where they are no code together."""
    if len(text) > _LONGEST_COMPLETION:
        return ""
    block = next(iter(blocks_of(text, 0, len(text))), None)
    rest = text if block is None else text[block.start : block.end]
    joined = (begun + rest, f"{begun.rstrip()}\n    {rest.lstrip()}")  # some servers strip the first indentation
    parts = (part for whole in joined for part in _ending(whole) if len(part) > len(begun.strip()))
    return next(filter(_parses, parts), "")


def _unfenced_code(text: str) -> str:
    """The longest part of a text from its first line of code on that can be parsed, or the whole of it."""
    whole = text.strip().strip("`").strip()
    if not whole or _parses(whole):
        return whole
    line = _CODE_LINE.search(text)
    assignment = _ASSIGNMENT.search(text, 0, line.start() if line else len(text))
    starts = (first.start() for first in (assignment, line) if first)
    parts = (part for start in starts for part in _ending(dedent(text[start:])) if _parses(part))
    return next((part for part in parts if line is None or _CODE_LINE.search(part)), "")


def _ending(text: str) -> Iterator[str]:
    """The text up to its end, and to each blank line before it."""
    lines = text.split("\n")
    ends = (end for end in range(len(lines), 0, -1) if end == len(lines) or not lines[end].strip())
    yield from ("\n".join(lines[:end]).strip() for end in islice(ends, _MOST_ENDS))


def _defined_in(code: str) -> set[str]:
    """The names that a module defines; what it imports may be the code of another block, which it shows in use."""
    names: set[str] = set()
    for node in ast.parse(code).body:
        if isinstance(node, _DEFINITIONS):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            names |= code_worker.made_in([*ast.walk(node)])
    return names


def _parses(code: str) -> bool:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _as_module(test: str) -> str:
    """The test as a module, also where it is a session, of which some output is expected."""
    if _parses(test):
        return test
    try:
        expects = any(example.want for example in doctest.DocTestParser().get_examples(test))
    except ValueError:  # blanks that are not as doctest wants them
        return test
    module = _SESSION.format(text=test, script=indent(doctest.script_from_examples(test), "    ")) if expects else test
    return module if _parses(module) else test


def _own_calls(test: str, call: str) -> str:
    """Lines that run what pytest and unittest would find: functions `test...` that nothing calls, and test cases."""
    tree = ast.parse(test)
    run = [*filter(_is_run, tree.body), ast.parse(call)]
    used = {node.id for each in run for node in ast.walk(each) if isinstance(node, ast.Name)}
    lines, cases = [], {"TestCase", "IsolatedAsyncioTestCase"}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test") and node.name not in used:
            lines += [] if _needs_values(node.args) else [f"{node.name}()"]
        elif isinstance(node, ast.ClassDef) and any(ast.unparse(base).split(".")[-1] in cases for base in node.bases):
            cases.add(node.name)
            if not any(isinstance(part, _DEFINITIONS) and part.name.startswith("test") for part in node.body):
                continue  # nothing of it would be run
            lines.append(f"__import__('unittest').defaultTestLoader.loadTestsFromTestCase({node.name}).debug()")
    return "\n".join(lines)


def _is_run(statement: ast.stmt) -> bool:
    """Whether it is not `if __name__ == "__main__":`, as the test is not run as a program."""
    return not (isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test))


def _needs_values(arguments: ast.arguments) -> bool:
    positional = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    return positional > 0 or None in arguments.kw_defaults


def _checked_test(test: str, call: str) -> None:
    for name, code in (("test", test), ("call", call)):
        if not _parses(code):
            raise ConfigError(f"{name}: this is not Python code: {code!r:.80}")
    statements = ast.parse(f"{test}\n{call}\n{_own_calls(test, call)}").body
    if skipped := [node.name for each in statements for node in ast.walk(each) if _is_skipped(node)]:
        raise ConfigError(f"test: {skipped[0]} is skipped, or expected to fail, so no code could pass it")
    if missing := _imported_by(statements) - sys.stdlib_module_names:
        packages = ", ".join(sorted(missing))
        raise ConfigError(
            f"test: it imports {packages}; it can use Python's standard library and the reply's names alone"
        )
    if not any(map(_asserts, statements)):
        raise ConfigError("test: it asserts nothing, so every code would pass it")
    defined = {node.name: node for node in statements if isinstance(node, _DEFINITIONS)}
    waiting = [node for node in statements if not isinstance(node, _DEFINITIONS) and _is_run(node)]
    asserts = False
    while waiting:
        reached = waiting.pop()
        asserts = asserts or _asserts(reached)
        names = [node.id for node in ast.walk(reached) if isinstance(node, ast.Name)]
        waiting += [defined.pop(name) for name in names if name in defined]
    tests = [name for name, node in defined.items() if name.casefold().startswith("test") and _asserts(node)]
    if tests or not asserts:
        uncalled = ", ".join(tests or defined)[:80] or "what asserts"
        raise ConfigError(
            f"test: nothing calls {uncalled}, so code would pass without it; write a call, such as call: "
            "check({{entry_point}})"
        )


def _imported_by(statements: Sequence[ast.stmt]) -> set[str]:
    """The packages that statements import which stand under no condition, those of a session included."""
    sessions = [node for node in statements if isinstance(node, ast.If) and ast.unparse(node.test) == "False"]
    nodes = [*statements, *(inside for node in sessions for inside in node.body)]
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in names}


def _is_skipped(node: ast.AST) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    return isinstance(node, _DEFINITIONS) and any(_SKIPS.match(ast.unparse(each)) for each in node.decorator_list)


def _asserts(statement: ast.AST) -> bool:
    """Whether a statement raises, asserts, or calls what unittest calls `self.assert...`."""
    nodes = [*ast.walk(statement)]
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    return any(isinstance(node, ast.Assert | ast.Raise) for node in nodes) or any(
        isinstance(function, ast.Attribute) and function.attr.startswith(("assert", "fail")) for function in calls
    )
