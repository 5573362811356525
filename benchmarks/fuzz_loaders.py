"""Damages files of samples at random and reads each in a process with limits.

    python -m benchmarks.fuzz_loaders --minutes 5 --seed 1 [--keep FOLDER]

A reading may end in rows or in a SteelyardError. Anything else is a find: another exception, a process that ended, ten
seconds passed, or more than 600 MB held. Files that led to one are kept, named by their seed; the same seed makes the
same file again. Bytes, the members of archives and numbers in XML attributes are changed, cut, repeated and exchanged.
"""

from __future__ import annotations

import argparse
import io
import json
import multiprocessing
import random
import re
import resource
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

SECONDS = 10.0
MEBIBYTES = 600
NUMBERS = ("0", "-1", "1e999999", "4294967295", "99999999999999999999", "abc", "", "1048577", "XFD1048576", "A" * 5000)

_ATTRIBUTE = re.compile(rb'="([^"]{0,40})"')


def seeds() -> dict[str, bytes]:
    """A small sound file of each kind."""
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    rows = [["题目", "A", "B", "C", "D", "答案", "类别"]]
    rows += [[f"第{n}题是什么？", "天", "地", n / 8, f"雷{n}", "ABCD"[n % 4], "卦象"] for n in range(1, 9)]
    for row in rows:
        sheet.append(row)
    sheet["D3"].number_format = "0%"
    sheet["D4"] = "=1+1"
    sheet.merge_cells("G2:G4")
    out = io.BytesIO()
    book.save(out)
    text = "\n".join(",".join(map(str, row)) for row in rows)
    entries = [{"question": str(row[0]), "choices": [str(one) for one in row[1:5]], "answer": row[5]} for row in rows]
    lines = "\n".join(json.dumps(one, ensure_ascii=False) for one in entries)
    return {
        ".xlsx": out.getvalue(),
        ".shared.xlsx": with_shared_texts(out.getvalue()),
        ".csv": text.encode(),
        ".tsv": text.replace(",", "\t").encode("gb18030"),
        ".json": json.dumps(entries).encode(),
        ".jsonl": lines.encode(),
        ".ods": open_document(rows),
        ".xls": old_excel(rows),
    }


def with_shared_texts(data: bytes) -> bytes:
    """The same workbook with its texts in a part of their own, as spreadsheet programs write them."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {one: archive.read(one) for one in archive.namelist()}
    texts: list[bytes] = []

    def named(match: re.Match[bytes]) -> bytes:
        texts.append(match[2])
        return b'%s t="s"><v>%d</v></c>' % (match[1], len(texts) - 1)

    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = re.sub(rb'(<c [^>]*?) t="inlineStr"><is>(.*?)</is></c>', named, parts[sheet])
    space = b"http://schemas.openxmlformats.org"
    count = len(texts)
    found = b"".join(b"<si>%s</si>" % one for one in texts)
    head = b'<sst xmlns="%s/spreadsheetml/2006/main" count="%d" uniqueCount="%d">' % (space, count, count)
    parts["xl/sharedStrings.xml"] = head + found + b"</sst>"
    link = b'<Relationship Id="rIdT" Type="%s/officeDocument/2006/relationships/sharedStrings" ' % space
    rels = "xl/_rels/workbook.xml.rels"
    parts[rels] = parts[rels].replace(b"</Rel", link + b'Target="sharedStrings.xml"/></Rel')
    kind = b"application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    types = b'<Override PartName="/xl/sharedStrings.xml" ContentType="%s"/></Types>' % kind
    parts["[Content_Types].xml"] = parts["[Content_Types].xml"].replace(b"</Types>", types)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for one, content in parts.items():
            archive.writestr(one, content)
    return out.getvalue()


def open_document(rows: list[list[object]]) -> bytes:
    urn = "urn:oasis:names:tc:opendocument:xmlns:"
    spaces = " ".join(f'xmlns:{one}="{urn}{one}:1.0"' for one in ("office", "table", "text"))
    cells = "".join(
        "<table:table-row>"
        + "".join(
            f'<table:table-cell office:value-type="string"><text:p>{one}</text:p></table:table-cell>' for one in row
        )
        + '<table:table-cell table:number-columns-repeated="9"/></table:table-row>'
        for row in rows
    )
    content = (
        f'<?xml version="1.0"?><office:document-content {spaces}><office:body><office:spreadsheet>'
        f'<table:table table:name="t">{cells}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr("content.xml", content)
    return out.getvalue()


def old_excel(rows: list[list[object]]) -> bytes:
    import struct

    from steelyard.data.workbook_xls import _packed

    def record(kind: int, body: bytes = b"") -> bytes:
        return struct.pack("<HH", kind, len(body)) + body

    def begin(kind: int) -> bytes:
        return record(0x0809, struct.pack("<HHHHII", 0x0600, kind, 0, 0, 0, 0))

    texts = list(dict.fromkeys(str(one) for row in rows for one in row))
    table = struct.pack("<II", len(texts), len(texts))
    table += b"".join(struct.pack("<HB", len(one), 1) + one.encode("utf-16-le") for one in texts)
    name = bytes([1, 0]) + b"t"
    styles = b"".join(record(0x00E0, struct.pack("<HH", 0, one) + bytes(16)) for one in (0, 9))
    middle = styles + record(0x00FC, table) + record(0x000A)
    where = len(begin(5)) + 4 + 6 + len(name) + len(middle)
    cells = b"".join(
        record(0x0203, struct.pack("<HHHd", y, x, 1, one))
        if isinstance(one, float)
        else record(0x00FD, struct.pack("<HHHI", y, x, 0, texts.index(str(one))))
        for y, row in enumerate(rows)
        for x, one in enumerate(row)
    )
    sheet = begin(0x10) + record(0x0200, struct.pack("<IIHHH", 0, len(rows), 0, 7, 0)) + cells + record(0x000A)
    head = begin(5) + record(0x0085, struct.pack("<IH", where, 0) + name)
    return _packed((head + middle + sheet).ljust(4096, b"\0"))


def damage_bytes(data: bytes, draw: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 5, 20))):
        at, size = draw.randrange(len(changed) + 1), draw.choice((1, 1, 2, 4, 64, 1000))
        kind = draw.randrange(5)
        if kind == 0:
            changed[at : at + size] = draw.randbytes(size)
        elif kind == 1:
            del changed[at : at + size]
        elif kind == 2:
            changed[at:at] = changed[at : at + size] * draw.choice((1, 3, 100))
        elif kind == 3:
            changed[at:at] = draw.choice((b"\0", b"\xff\xfe", b'"', b"\n", b"[" * 2000, b"9" * 5000, b"\xef\xbb\xbf"))
        elif len(changed) > 4:
            place = draw.randrange(len(changed) - 4)
            changed[place : place + 4] = draw.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f"))
        if not changed:
            break
    return bytes(changed)


def damage_attributes(data: bytes, draw: random.Random) -> bytes:
    places = list(_ATTRIBUTE.finditer(data))
    for match in sorted(draw.sample(places, min(len(places), draw.choice((1, 1, 3)))), key=lambda one: -one.start()):
        value = draw.choice([one.encode() for one in NUMBERS] + [draw.choice(places)[1]])
        data = data[: match.start(1)] + value + data[match.end(1) :]
    return data


def damage_archive(data: bytes, draw: random.Random) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {one: archive.read(one) for one in archive.namelist()}
    name = draw.choice(list(parts))
    change: list[Callable[[bytes, random.Random], bytes]] = [damage_attributes, damage_attributes, damage_bytes]
    kind = draw.randrange(8)
    if kind == 0:
        del parts[name]
    elif kind == 1:
        parts[name] = parts[draw.choice(list(parts))]
    else:
        parts[name] = draw.choice(change)(parts[name], draw)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for one, content in parts.items():
            archive.writestr(one, content)
    return out.getvalue()


def damaged(files: dict[str, bytes], seed: int) -> tuple[str, bytes]:
    """The file that belongs to a seed, and its extension."""
    draw = random.Random(seed)
    suffix = draw.choice(list(files))
    data = files[suffix]
    by_part = data.startswith(b"PK") and draw.random() < 0.8
    data = damage_archive(data, draw) if by_part else damage_bytes(data, draw)
    if draw.random() < 0.03:
        suffix = draw.choice(list(files))
    return suffix, data


def work(connection: Connection) -> None:
    """Read whatever path arrives, and say how it ended and how much memory the process has held at most."""
    from steelyard.data.sample_files import SampleFiles
    from steelyard.errors import SteelyardError
    from steelyard.suites.choice.rows import load_choice

    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    while path := connection.recv():
        try:
            for sample in load_choice(SampleFiles(Path(path), skip_bad=True)).samples:
                sample.input.encode()
            ended = "rows"
        except SteelyardError:
            ended = "refused"
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is a find
            ended = f"{type(error).__name__}: {error}"[:200]
        connection.send((ended, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024))


class Worker:
    """A process that reads files one after another, and is replaced when one of them ends it."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Begin a process."""
        self.connection, other = multiprocessing.Pipe()
        self.process = multiprocessing.get_context("spawn").Process(target=work, args=(other,), daemon=True)
        self.process.start()
        other.close()

    def read(self, path: Path) -> str:
        """How a reading ended."""
        self.connection.send(str(path))
        try:
            if not self.connection.poll(SECONDS):
                return self.replaced(f"more than {SECONDS:g} s")
            ended, mebibytes = self.connection.recv()
        except EOFError:
            self.process.join()
            return self.replaced(f"process ended with {self.process.exitcode}")
        return self.replaced(f"more than {MEBIBYTES} MB") if mebibytes > MEBIBYTES else ended

    def replaced(self, ended: str) -> str:
        """The same word, with a fresh process behind it."""
        self.process.kill()
        self.process.join()
        self.start()
        return ended


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "fuzz_loaders")
    options = parser.parse_args()
    options.keep.mkdir(parents=True, exist_ok=True)
    files, worker, counts = seeds(), Worker(), Counter[str]()
    until, seed = time.monotonic() + 60 * options.minutes, options.seed
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < until:
            suffix, data = damaged(files, seed)
            path = Path(folder) / f"{seed}{suffix}"
            path.write_bytes(data)
            ended = worker.read(path)
            if ended not in {"rows", "refused"}:
                print(f"{seed}{suffix}: {ended}", flush=True)
                (options.keep / path.name).write_bytes(data)
                ended = "find"
            counts[ended] += 1
            path.unlink()
            seed += 1
    print(f"{counts.total():,} files: {', '.join(f'{name} {times:,}' for name, times in counts.most_common())}")
    worker.process.kill()


if __name__ == "__main__":
    main()
