"""What several tests of a file begin with: made by the first of them, and copied for the others."""

from __future__ import annotations

import shutil

import pytest


@pytest.fixture(scope="module")
def _made():
    return {}


@pytest.fixture
def once(_made, tmp_path, tmp_path_factory):
    """once(make): what `make()` returns, with the files that it left in the folder of the first test that called it.

    Whatever `make` opened must be closed when it returns. Paths in its files are those of the first test. A copy
    replaces a store that is there: a test takes two such stores only where one was made on top of the other.
    """

    def of(make):
        key = make.__module__, make.__qualname__
        if key not in _made:
            value = make()
            kept = tmp_path_factory.mktemp("made")
            shutil.copytree(tmp_path, kept, dirs_exist_ok=True, symlinks=True)
            _made[key] = value, kept
            return value
        value, kept = _made[key]
        shutil.copytree(kept, tmp_path, dirs_exist_ok=True, symlinks=True)
        return value

    return of
