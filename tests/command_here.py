"""Runs a command of Steelyard in this process, where the half second of CPU that a new one takes shows nothing."""

from __future__ import annotations

import contextlib
import io
from typing import NamedTuple

import pytest

from steelyard.cli.app import run_app


class Printed(NamedTuple):
    out: str
    err: str


def command_here(folder, *arguments, code=0):
    """What a command printed that ran in a folder and ended with a code."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        run_app([str(argument) for argument in arguments])
    printed = Printed(out.getvalue(), err.getvalue())
    assert ended.value.code == code, printed
    return printed
