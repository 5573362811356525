"""Files of hostile shape end in a clear error or a right reading, in bounded time and memory: each in a process."""

import gzip
import json
import os
import subprocess
import sys
import zipfile

import pytest
from tests.data.test_hostile_workbooks import NS, far, ods, replace_part, sheet, workbook

from steelyard.data.table import FAR_CELL

SHEET = "xl/worksheets/sheet1.xml"
HEAD = "题目,A,B,答案\n".encode()
READERS = """
import json, os, resource, signal, sys
from pathlib import Path
from steelyard.data.sample_files import SampleFiles
from steelyard.errors import SteelyardError
from steelyard.suites.choice.rows import load_choice
def read(path):
    signal.alarm(60)
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
    os.chdir(Path(path).parent)
    try:
        said = f"read {load_choice(SampleFiles(Path(path))).n}"
    except SteelyardError as error:
        said = str(error)[:2000]
    status = Path("/proc/self/status").read_text()
    print(json.dumps([said, int(status.partition("VmHWM:")[2].split()[0]) // 1024]), flush=True)
for line in sys.stdin:
    pid = os.fork()
    if not pid:
        code = 1
        try:
            read(line.rstrip())
            code = 0
        finally:
            sys.stderr.flush()
            os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def read():
    """What a process of its own said of a file, and the most memory that it held in MB.

    The processes are forked from one that has imported the readers and read nothing. `ru_maxrss` would begin with what
    the process of the tests held.
    """
    child = [sys.executable, "-c", READERS]
    with subprocess.Popen(child, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as readers:

        def of(path):
            readers.stdin.write(f"{path}\n")
            readers.stdin.flush()
            answer = readers.stdout.readline()
            assert answer.startswith("["), f"the reader ended with {answer}"
            assert readers.stdout.readline() == "0\n"
            return json.loads(answer)

        yield of
        readers.stdin.close()


def shared(path, text, rows, claimed=1):
    path = workbook(path, lambda active: active.append(["x"]))
    cells = "".join(f'<row r="{n}"><c r="A{n}" t="s"><v>0</v></c></row>' for n in range(1, rows + 1))
    replace_part(path, SHEET, sheet(cells))
    texts = f'<sst {NS} count="{claimed}" uniqueCount="{claimed}"><si><t>{text}</t></si></sst>'
    replace_part(path, "xl/sharedStrings.xml", texts)
    return path


def repeated(path, about, text):
    cell = f'<table:table-cell {about} office:value-type="string"><text:p>{text}</text:p></table:table-cell>'
    return ods(path, f'<table:table-row table:number-rows-repeated="100">{cell}</table:table-row>')


def binary(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.bin", b"x")
    return path


WORKBOOKS = {
    "one far cell": (lambda path: workbook(path, far), "filled cells reach to XFD1048576"),
    "one text that many cells name": (lambda path: shared(path, "x" * 1_000_000, 20_000), "runs out of memory"),
    "a claim of texts": (lambda path: shared(path, "x", 1, 4_000_000_000), "runs out of memory"),
    "an address of letters": (
        lambda path: replace_part(
            workbook(path, far), SHEET, sheet(f'<row r="7"><c r="{"A" * 100_000}7"><v>1</v></c></row>')
        ),
        "filled cells reach to",
    ),
    "an address of digits": (
        lambda path: replace_part(
            workbook(path, far),
            SHEET,
            sheet(f'<row><c><v>1</v></c></row><row r="7"><c r="A{"9" * 5000}"><v>1</v></c></row>'),
        ),
        FAR_CELL,
    ),
    "a sheet in UTF-16": (
        lambda path: replace_part(workbook(path, far), SHEET, sheet("").decode().encode("utf-16")),
        "is not XML in UTF-8",
    ),
    "a binary workbook": (binary, "is a binary workbook (.xlsb); save it as .xlsx"),
}


@pytest.mark.parametrize("name", WORKBOOKS)
def test_a_hostile_workbook_is_refused_in_bounded_memory(read, tmp_path, name):
    make, message = WORKBOOKS[name]
    said, held = read(make(tmp_path / "a.xlsx"))
    assert message in said
    assert "a.xlsx" in said
    assert held < 600


@pytest.mark.parametrize(
    ("about", "text"),
    [('table:number-columns-repeated="1000"', "x" * 1_000_000), ("", '<text:s text:c="2000000000"/>')],
)
def test_an_open_document_that_repeats_its_text_is_refused(read, tmp_path, about, text):
    said, held = read(repeated(tmp_path / "a.ods", about, text))
    assert "runs out of memory" in said
    assert held < 600


TEXTS = {
    "a line of 100 MB": ("a.csv", (HEAD, b"x" * 1_000_000, 100), "a.csv:2: the line is longer"),
    "a line of 100 MB in JSON lines": (
        "a.jsonl",
        (b'{"q":"', b"x" * 1_000_000, 100, b'"}'),
        "a.jsonl:1: the line is longer",
    ),
    "a quote that never closes": ("a.csv", (HEAD + b'"', b"a,b\n" * 10_000, 500), "is a quote never closed?"),
    "rows of a million cells": ("a.csv", (b"", b"," * 999_999 + b"\n", 20), "a row of 1,000,000 cells"),
    "millions of empty objects": (
        "a.json",
        (b"[", b"{}," * 10_000, 500, b"{}]"),
        "may hold more than 2,000,000 values",
    ),
    "an object of many keys": ("a.json", (json.dumps([{f"k{n}": n for n in range(50_000)}]).encode(),), "50,000 keys"),
    "a number beyond all numbers": (
        "a.jsonl",
        (b'{"question":"q","answer":1e999999}',),
        "a.jsonl:1: the number 1e999999",
    ),
    "gzip under another name": ("a.csv", (gzip.compress(HEAD),), "is gzip data"),
    "a web page": ("a.csv", (b"\xef\xbb\xbf <!DOCTYPE HTML><html>",), "is a web page (HTML), not a table"),
    "a web page as a workbook": ("a.xls", (b"<html><table>",), "it is a web page (HTML)"),
    "an image": ("a.xlsx", (b"\x89PNG\r\n\x1a\n",), "it is an image"),
}
"""File name, what to write (head, a piece, how often, tail), and the message."""


def write(path, head, piece=b"", times=0, tail=b""):
    """Write a large file piece by piece: the process of the tests never holds all of it."""
    with path.open("wb") as file:
        file.write(head)
        for _ in range(times):
            file.write(piece)
        file.write(tail)


@pytest.mark.parametrize("name", TEXTS)
def test_a_hostile_text_is_refused_in_bounded_memory(read, tmp_path, name):
    file, parts, message = TEXTS[name]
    write(tmp_path / file, *parts)
    said, held = read(tmp_path / file)
    assert message in said
    assert held < 600


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("/dev/zero", "is not a file"),
        ("/proc/self/mem", "is empty"),
        ("a.csv", "is a symbolic link to a.csv, which cannot be found"),
    ],
)
def test_what_is_no_file_of_rows_is_refused_without_waiting_on_it(read, tmp_path, target, message):
    (tmp_path / "a.csv").symlink_to(target)
    said, _ = read(tmp_path / "a.csv")
    assert message in said


def test_a_pipe_is_refused_without_waiting_for_its_writer(read, tmp_path):
    os.mkfifo(tmp_path / "a.xlsx")
    assert "is not a file" in read(tmp_path / "a.xlsx")[0]
