"""`import steelyard` is light, and every public name is where it says."""

import json
import subprocess
import sys

import pytest

import steelyard

LIGHT = """
import json, sys, time
start = time.process_time()
import steelyard
took = time.process_time() - start
dir(steelyard)
print(json.dumps([took, sorted(sys.modules)]))
"""


def test_the_public_names_are_sorted_and_each_has_one_home():
    assert steelyard.__all__ == sorted(steelyard.__all__)
    assert set(steelyard.__all__) == set(steelyard._HOME)
    assert dir(steelyard) == sorted([*steelyard.__all__, "__version__"])


@pytest.mark.parametrize("name", steelyard.__all__)
def test_each_public_name_can_be_imported_and_says_what_it_is(name):
    found = getattr(steelyard, name)
    assert found.__doc__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'steelyard' has no attribute 'nothing'"):
        _ = steelyard.nothing


def test_importing_it_loads_nothing_heavy():
    out = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True).stdout
    took, loaded = json.loads(out)
    heavy = {"aiohttp", "sqlalchemy", "numpy", "altair", "pydantic", "jinja2", "jmespath", "typer", "rich", "ruamel"}
    assert not heavy & set(loaded)
    assert [name for name in loaded if name.startswith("steelyard")] == ["steelyard"]
    assert took < 0.25


def test_the_errors_and_nouns_load_nothing_heavy_either():
    code = "import sys; from steelyard import Sample, Score, ConfigError; print(' '.join(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"aiohttp", "sqlalchemy", "numpy"} & set(out)
