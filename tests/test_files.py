"""Files of others are read with care; what is created belongs to its owner alone, whatever the umask."""

import contextlib
import os
import socket
import stat
from pathlib import Path

import pytest

from steelyard.analysis.baseline import read_baseline
from steelyard.building.read import read
from steelyard.config.environment import read_dotenv
from steelyard.config.model_file import build_model
from steelyard.errors import ConfigError, SteelyardError
from steelyard.files import make_private_folder, open_private, read_regular, read_regular_text, replaced, require_within
from steelyard.generate.question_set import read_rows
from steelyard.models.prices import read_prices
from steelyard.prompts.reply_schema import load_reply_schema
from steelyard.prompts.template import text_of_file

READERS = {
    "configuration": (read, ".yaml"),
    "configuration in TOML": (read, ".toml"),
    "model": (lambda path: build_model({}, path, environ={}, use_dotenv=False), ".yaml"),
    "prices": (read_prices, ".json"),
    "baseline": (read_baseline, ".json"),
    "prompt": (text_of_file, ".txt"),
    "schema": (load_reply_schema, ".json"),
    "question set": (read_rows, ".jsonl"),
}


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


def special(kind, path):
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as opened:
            opened.bind(str(path))
    else:
        path.symlink_to(kind)
    return path


@pytest.mark.parametrize("kind", ["/dev/zero", "/dev/urandom", "pipe", "folder", "socket"])
@pytest.mark.parametrize("name", READERS)
def test_a_file_that_a_person_names_is_a_regular_file(name, kind, tmp_path):
    reader, suffix = READERS[name]
    with pytest.raises((SteelyardError, OSError)) as error:
        reader(special(kind, tmp_path / f"x{suffix}"))
    assert "not a regular file" in str(error.value) or kind == "socket"


@pytest.mark.parametrize("kind", ["/dev/zero", "pipe", "folder"])
def test_what_is_no_file_of_secrets_is_none(kind, tmp_path):
    assert read_dotenv(special(kind, tmp_path / ".env")) == {}


def test_no_more_is_read_than_the_limit(tmp_path):
    path = tmp_path / "x.txt"
    path.write_bytes(b"12345")
    assert read_regular(path, 5) == b"12345"
    with pytest.raises(OSError, match="larger than 4 bytes"):
        read_regular(path, 4)


def test_a_file_whose_size_the_system_does_not_know_is_read_up_to_the_limit():
    assert read_regular(Path("/proc/self/status"), 100_000)
    with pytest.raises(OSError, match="larger than 10 bytes"):
        read_regular(Path("/proc/self/status"), 10)


def test_a_link_to_a_regular_file_is_followed_and_line_ends_are_plain(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfa\r\nb\rc\n")
    (tmp_path / "link.txt").symlink_to("a.txt")
    assert read_regular_text(tmp_path / "link.txt", 100) == "a\nb\nc\n"


def test_nothing_stays_open_of_what_is_refused(tmp_path):
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        with pytest.raises(OSError, match="not a regular file"):
            read_regular(tmp_path, 10)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=["umask 000", "umask 022", "umask 077"])
def umask(request):
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("umask")
def test_a_new_file_has_no_rights_for_others_from_its_first_moment(tmp_path):
    with open_private(tmp_path / "new", "x") as file:
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600


@pytest.mark.usefixtures("umask")
def test_folders_are_made_with_those_above_them(tmp_path):
    make_private_folder(tmp_path / "a" / "b")
    make_private_folder(tmp_path / "a" / "b")
    assert [mode(tmp_path / "a"), mode(tmp_path / "a" / "b")] == [0o700, 0o700]
    make_private_folder(Path())


@pytest.mark.usefixtures("umask")
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


@pytest.mark.usefixtures("umask")
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
