"""Import paths are looked at without importing what they name."""

import sys

import pytest

from steelyard import ConfigError
from steelyard.building.import_paths import Described, describe_path, missing_package


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes modules into a folder that is on the path."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    def files(**modules):
        for name, text in modules.items():
            path = tmp_path / f"{name.replace('__', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    return files


def test_a_module_is_read_and_not_imported(write):
    write(costly_engine="raise SystemExit('imported')\ndef make(): ...")
    assert describe_path("costly_engine:make") == Described(arguments=())
    assert "costly_engine" not in sys.modules


def test_a_name_that_a_module_does_not_bind_is_an_error_with_the_nearest(write):
    write(engine_a="def make(): ...")
    with pytest.raises(ConfigError, match=r"no attribute 'mke'.*'make'"):
        describe_path("engine_a:mke")


def test_a_package_without_an_init_file_below_another_is_found(write):
    """LlamaIndex has its readers so: `llama_index.readers.file`, where neither of the folders above is a module."""
    write(outer__inner__reader="class Reader: ...", engine_b="from outer.inner.reader import Reader\ndef make(): ...")
    assert describe_path("outer.inner.reader:Reader") == Described(is_class=True)
    assert missing_package("engine_b:make") == ""
    assert "outer" not in sys.modules


def test_what_a_module_imports_and_is_not_there_is_named(write):
    write(engine_c="import json\nimport no_such_package.reader\ndef make(): ...")
    assert missing_package("engine_c:make") == "no_such_package.reader"
