"""What is found in a folder may not lead out of it."""

from __future__ import annotations

import pytest

from steelyard.errors import ConfigError
from steelyard.folders import require_within


@pytest.fixture
def folder(tmp_path):
    for name in ("data/deep/a.txt", "private/b.txt", "data-private/c.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text")
    return tmp_path / "data"


def test_files_and_links_that_stay_in_the_folder_pass(folder):
    (folder / "link.txt").symlink_to("deep/a.txt")
    (folder / "missing.txt").symlink_to("nothing.txt")
    for name in ("deep/a.txt", "link.txt", "missing.txt", "deep/../deep/a.txt"):
        require_within(folder, folder / name)


def test_the_folder_itself_may_be_a_link(folder, tmp_path):
    (tmp_path / "named").symlink_to(folder)
    require_within(tmp_path / "named", tmp_path / "named/deep/a.txt")


@pytest.mark.parametrize("destination", ["../private/b.txt", "../data-private/c.txt", "/etc/passwd", "../nothing"])
def test_a_link_that_leads_out_is_refused_with_its_destination(folder, destination):
    link = folder / "link.txt"
    link.symlink_to(destination)
    with pytest.raises(ConfigError) as raised:
        require_within(folder, link)
    message = str(raised.value)
    assert message.startswith(f"{link} leads out of the folder {folder}")
    assert str(link.resolve()) in message
    assert "Put a copy of the file there, or name that file itself" in message


def test_a_chain_a_folder_and_dots_that_lead_out_are_refused(folder):
    (folder / "first").symlink_to("second")
    (folder / "second").symlink_to("../private/b.txt")
    (folder / "inner").symlink_to("../private")
    for name in ("first", "inner/b.txt", "../private/b.txt", "deep/../../private/b.txt"):
        with pytest.raises(ConfigError, match="leads out of the folder"):
            require_within(folder, folder / name)
