"""Scorers that run the user's own code: a Python function by its import path, a program by its arguments.

Neither takes a value of a dataset for what is run; both are refused in rows and in stored runs. A program gets the
output on its standard input, no shell, and none of this process's environment.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

from steelyard.building.import_paths import UserFunction
from steelyard.constraints import TextList, Within
from steelyard.errors import ConfigError
from steelyard.replies.answer_text import text_of
from steelyard.scorers.lexical import share_info, unscored
from steelyard.sql.sandbox import Sandbox
from steelyard.types import Output, Sample, Score, ScoreInfo

_MOST_OUTPUT: Final = 65_536


@dataclass(frozen=True, slots=True)
class ScorerFunction(UserFunction):
    """Scores by a Python function of yours, which is given what its parameters name.

    `def close(output, expected)` gets plain values, also `reference`, `input` and `metadata`; one with a parameter
    `sample` gets whole objects. It returns true or false, a number, a `Score` or several.

    Args:
        function: `package.module:name`; the current folder is searched too. The score has the function's name.
    """

    runs_code: ClassVar[bool] = True
    fixed_options: ClassVar[tuple[str, ...]] = ("function",)

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """One score of unknown range under the function's name."""
        return (ScoreInfo(self.function.rpartition(":")[2].rpartition(".")[2]),)


@dataclass(frozen=True, slots=True)
class Command:
    """Scores by a program of yours: it passes an output by ending with code 0.

    The output is written to its standard input; the last line that it prints is the reason. It is run without a shell,
    without this process's environment, and is killed at the time limit with all that it has started: the output is
    unparsed then. Off without `--allow-commands`.

    Args:
        command: the program and its arguments, fixed: `[python, checks/links.py, --strict]`.
        timeout_s: seconds that it may take.
    """

    runs_code: ClassVar[bool] = True
    fixed_options: ClassVar[tuple[str, ...]] = ("command",)

    command: Annotated[tuple[str, ...], TextList(1, of="a program and its arguments")]
    timeout_s: Annotated[float, Within(0.001, 3600)] = 10.0

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """It passes or fails."""
        return (share_info("command", 1.0, labels=("passed", "failed")),)

    def check(self) -> None:
        """Look for the program.

        Raises:
            ConfigError: there is none.
        """
        if shutil.which(self.command[0]) is None:
            raise ConfigError(f"command: there is no program {self.command[0]!r}")

    def prepare(self, sandbox: Sandbox) -> None:
        """Refuse to run a program that was not allowed.

        Raises:
            ConfigError: commands are off.
        """
        if "commands" not in sandbox.permits:
            raise ConfigError(f"command: {' '.join(self.command)[:80]} is run only with --allow-commands")

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Run the program on one output."""
        del sample
        if (score := unscored("command", "", output)) is not None:
            return score
        program = shutil.which(self.command[0]) or self.command[0]
        path = os.pathsep.join([os.path.dirname(program), os.defpath])  # noqa: PTH120  # a text of PATH
        with (
            subprocess.Popen(  # noqa: S603  # the user's own program, allowed by an option
                [program, *self.command[1:]],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={"PATH": path, "LANG": "C.UTF-8"},
                start_new_session=True,
            ) as process
        ):
            try:
                printed, _ = process.communicate(text_of(output).encode("utf-8", "replace"), timeout=self.timeout_s)
            except subprocess.TimeoutExpired:
                reason = f"not done within {self.timeout_s:g} s"
                return Score("command", None, outcome="unparsed", reason=reason, detail={"kind": "timeout"})
            finally:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
        lines = printed[-_MOST_OUTPUT:].decode("utf-8", "replace").strip().splitlines()
        passed = process.returncode == 0
        reason = lines[-1][:300] if lines else f"ended with code {process.returncode}"
        return Score("command", float(passed), passed=passed, reason=reason, detail={"code": process.returncode})
