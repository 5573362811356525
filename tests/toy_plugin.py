"""The toy plug-in: importable by every test here, registered only for those that ask for `toys`."""

import sys
from pathlib import Path

import pytest

from steelyard import registry

HERE = Path(__file__).parent / "toys"
if str(HERE) not in sys.path:
    sys.path.append(str(HERE))


@pytest.fixture(scope="module")
def toys():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(HERE / "registered"))
        registry._import_paths.cache_clear()
        yield
    registry._import_paths.cache_clear()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "lines.txt").write_text("one\ntwo\nthree\n", encoding="utf-8")
    return tmp_path
