import os
import socket
from pathlib import Path

import pytest

from steelyard.analysis.baseline import read_baseline
from steelyard.config.environment import read_dotenv
from steelyard.config.model_file import build_model
from steelyard.config.read import read
from steelyard.errors import SteelyardError
from steelyard.generate.question_set import read_rows
from steelyard.models.prices import read_prices
from steelyard.prompts.reply_schema import load_reply_schema
from steelyard.prompts.template import text_of_file
from steelyard.regular_file import read_regular, read_regular_text

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
