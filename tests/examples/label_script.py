"""Scripts of examples/labels with their commands run in this process, where each takes a third of the CPU."""

import sys
import types
from pathlib import Path

import pytest

LABELS = Path(__file__).resolve().parents[2] / "examples" / "labels"


def printed_by(name, *arguments, steelyard):
    """What a script prints.

    Args:
        name: such as `label.py`.
        arguments: of the script.
        steelyard: runs a command and returns its standard output.
    """
    printed, path = [], LABELS / name
    script = types.ModuleType(path.stem)
    script.__file__ = str(path)
    exec(compile(path.read_text("utf-8"), path, "exec"), vars(script))
    assert "steelyard" in vars(script)
    script.steelyard = steelyard
    script.print = lambda text, end="\n": printed.append(text + end)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [str(path), *arguments])
        script.main()
    return "".join(printed)
