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
import json
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Final

from steelyard.constraints import Within
from steelyard.errors import ConfigError, DataError, ScorerError
from steelyard.replies.answer_text import text_of
from steelyard.replies.clean import blocks_of, without_reasoning
from steelyard.scorers import code_worker
from steelyard.scorers.lexical import share_info, unscored
from steelyard.sql.sandbox import Sandbox
from steelyard.types import Output, Sample, Score, ScoreInfo

_NAME: Final = "python_test"
_FENCES: Final = ("```", "~~~")
_START_S: Final = 20.0
"""Seconds for two interpreters to start on a busy machine, beside the test's own."""
_MOST_RESULT: Final = 4096


@dataclass(frozen=True, slots=True)
class PythonTest:
    """Whether the code of the output passes the row's own test: 1 if the test runs to its end, else 0.

    The code is that of the fenced block, of several the longest that can be parsed, else the whole output. It runs in
    a process of its own, with the standard library alone, without network, environment, home and files. The test runs
    in another one and gets plain data from it, so a reply passes only by returning what is expected. Objects of the
    reply's own classes are used by attributes, methods, items and text; the test cannot hand over functions. Linux
    only; elsewhere it is refused without `--unsafe-code`.

    Args:
        test: Python code with assertions: `{{test}}` for a column that holds it.
        call: a line that is run after it: `check({{entry_point}})`.
        timeout_s: seconds for the test, all its calls included.
        memory_mib: MiB that each of the two processes may take.
    """

    runs_code: ClassVar[bool] = True
    fixed_options: ClassVar[tuple[str, ...]] = ()

    test: str
    call: str = ""
    timeout_s: Annotated[float, Within(0.1, 600)] = 5.0
    memory_mib: Annotated[int, Within(64, 65_536)] = 512

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """It passes or fails."""
        return (share_info(_NAME, 1.0, labels=("passes", "fails")),)

    def check(self) -> None:
        """Validate the options.

        Raises:
            ConfigError: a test that cannot be parsed or asserts nothing.
        """
        _checked_test(self.test, self.call)

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
            DataError: the test hands a function to the code.
            ScorerError: the processes could not be confined.
        """
        del sample
        if (score := unscored(_NAME, "", output)) is not None:
            return score
        code = code_in(text_of(output))
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
        test = f"{self.test}\n{self.call}\n"
        ours, theirs = socket.socketpair()
        read_end, write_end = os.pipe()
        with contextlib.ExitStack() as opened:
            opened.callback(os.close, read_end)
            with ours, theirs, _closed_after(write_end):
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


@contextlib.contextmanager
def _closed_after(descriptor: int) -> Iterator[None]:
    try:
        yield
    finally:
        os.close(descriptor)


def code_in(text: str) -> str:
    r"""The Python code of a reply: its longest fenced block that can be parsed, else the whole text; "" for none.

    >>> code_in("Here:\n```python\nx = 1\n```\nDone."), code_in("No code.")
    ('x = 1', '')
    """
    text = without_reasoning(text)[0]
    blocks = (
        [text[block.start : block.end].strip() for block in blocks_of(text, 0, len(text))] if _is_fenced(text) else []
    )
    parsed = [block for block in blocks if block and _parses(block)]
    if parsed:
        return max(parsed, key=len)
    whole = text.strip()
    return whole if whole and not blocks and _parses(whole) else max(blocks, key=len, default="")


def _is_fenced(text: str) -> bool:
    return any(fence in text for fence in _FENCES)


def _parses(code: str) -> bool:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _checked_test(test: str, call: str) -> None:
    for name, code in (("test", test), ("call", call)):
        if not _parses(code):
            raise ConfigError(f"{name}: this is not Python code: {code!r:.80}")
    nodes: Sequence[ast.AST] = [*ast.walk(ast.parse(test)), *ast.walk(ast.parse(call))]
    if not any(isinstance(node, ast.Assert | ast.Raise) for node in nodes):
        raise ConfigError("test: it asserts nothing, so every code would pass it")
