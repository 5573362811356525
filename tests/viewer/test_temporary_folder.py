"""Folders of indexes go with their viewer, and those of killed ones with the next viewer."""

import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.viewer import temporary_folder
from steelyard.viewer.temporary_folder import TemporaryFolder, delete_left_folders

MAKE = """
from steelyard.viewer.temporary_folder import TemporaryFolder
folder = TemporaryFolder()
(folder.path / "index").write_text("words")
print(folder.path, flush=True)
input()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """The temporary directory of this process and of those that it starts."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


@pytest.fixture
def other():
    """Another process that has a folder."""
    process = subprocess.Popen([sys.executable, "-c", MAKE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    yield process
    process.kill()
    process.communicate()


def test_the_folder_of_a_killed_process_is_deleted_by_the_next_and_that_of_a_living_one_is_not(other, temporary):
    name = other.stdout.readline().strip()
    delete_left_folders()
    assert [file.name for file in Path(name).iterdir()] == ["index"]
    other.kill()
    other.wait()
    assert [file.name for file in Path(name).iterdir()] == ["index"], "a killed process deletes nothing"
    delete_left_folders()
    assert list(temporary.iterdir()) == []


def test_a_folder_goes_with_the_object_and_with_the_end_of_the_process(other, temporary):
    folder = TemporaryFolder()
    assert folder.path.stat().st_mode & 0o777 == 0o700
    folder.delete()
    folder.delete()
    assert not folder.path.exists()
    name = other.stdout.readline().strip()
    other.communicate("\n")
    assert (other.returncode, Path(name).exists()) == (0, False)


def test_what_is_not_a_folder_of_ours_is_left_alone(temporary):
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (elsewhere / "file").touch()
    (temporary / "steelyard-viewer-link").symlink_to(elsewhere)
    (temporary / "steelyard-viewer-file").touch()
    (temporary / "steelyard-viewer-open").mkdir()
    (temporary / "steelyard-viewer-open").chmod(0o755)
    before = sorted(temporary.iterdir())
    delete_left_folders()
    assert sorted(temporary.iterdir()) == before
    assert list(elsewhere.iterdir()) == [elsewhere / "file"]


def test_a_folder_that_another_process_took_for_a_left_one_is_made_again(temporary, monkeypatch):
    locked, taken = temporary_folder._locked, []

    def first_is_taken(path):
        if not taken:
            taken.append(path)
            path.rmdir()  # as `delete_left_folders` of another process does between its making and its locking
        return locked(path)

    monkeypatch.setattr(temporary_folder, "_locked", first_is_taken)
    folder = TemporaryFolder()
    assert folder.path.is_dir()
    assert folder.path != taken[0]
