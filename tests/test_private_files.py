"""What is created belongs to its owner alone, whatever the umask; what exists keeps its mode."""

import contextlib
import os
import stat
from pathlib import Path

import pytest

from steelyard.private_files import make_private_folder, open_private, replaced


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=["umask 000", "umask 022", "umask 077"], autouse=True)
def umask(request):
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_has_no_rights_for_others_from_its_first_moment(tmp_path):
    with open_private(tmp_path / "new", "x") as file:
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600


def test_folders_are_made_with_those_above_them(tmp_path):
    make_private_folder(tmp_path / "a" / "b")
    make_private_folder(tmp_path / "a" / "b")
    assert [mode(tmp_path / "a"), mode(tmp_path / "a" / "b")] == [0o700, 0o700]
    make_private_folder(Path())


def test_a_file_and_a_folder_that_exist_keep_their_modes(tmp_path):
    tmp_path.chmod(0o775)
    path = tmp_path / "there"
    path.touch()
    path.chmod(0o664)
    make_private_folder(tmp_path)
    open_private(path, "w").close()
    with replaced(path) as file:
        file.write(b"new")
    assert (mode(tmp_path), mode(path), path.read_bytes()) == (0o775, 0o664, b"new")


def test_a_file_that_replaces_none_is_private_and_a_failed_one_leaves_nothing(tmp_path):
    path = tmp_path / "new"
    with contextlib.suppress(KeyError), replaced(path) as file:
        assert [mode(unfinished) for unfinished in tmp_path.iterdir()] == [0o600]
        file.write(b"half")
        raise KeyError
    assert list(tmp_path.iterdir()) == []
    with replaced(path) as file:
        file.write(b"whole")
    assert (mode(path), list(tmp_path.iterdir())) == (0o600, [path])
