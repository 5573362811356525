import struct

import pytest

from steelyard.data.table import render
from steelyard.data.workbook import read_workbook
from steelyard.errors import DataError

END, FREE, TABLE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
SECTOR = 4096


def record(kind, body=b""):
    return struct.pack("<HH", kind, len(body)) + body


def begin(kind):
    return record(0x0809, struct.pack("<HHHHII", 0x0600, kind, 0, 0, 0, 0))


def label(row, column, text):
    return record(0x0204, struct.pack("<HHHHB", row, column, 0, len(text), 1) + text.encode("utf-16-le"))


def number(row, column, value):
    return record(0x0203, struct.pack("<HHHd", row, column, 0, value))


def old_workbook(path, cells, name="exam", before=b""):
    """One sheet of these cell records in a compound file with sectors of 512 bytes."""
    sheet_name = bytes([len(name), 0]) + name.encode()
    head = begin(5)
    where = len(head) + len(before) + 4 + 6 + len(sheet_name) + 4
    stream = head + before + record(0x0085, struct.pack("<IH", where, 0) + sheet_name) + record(0x000A)
    stream += begin(0x10) + b"".join(cells) + record(0x000A)
    stream = stream.ljust(4096, b"\0")
    stream += b"\0" * (-len(stream) % 512)
    count = len(stream) // 512
    table = [TABLE, END, *range(3, 2 + count), END]
    table += [FREE] * (128 - len(table))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    header += struct.pack("<9I", 0, 1, 1, 0, 4096, END, 0, END, 0) + struct.pack("<109I", 0, *[FREE] * 108)

    def entry(title, kind, start, size):
        text = (title + "\0").encode("utf-16-le")
        links = struct.pack("<HBBIII", len(text), kind, 1, FREE, 1 if kind == 5 else FREE, FREE)
        if kind == 5:
            links = struct.pack("<HBBIII", len(text), kind, 1, FREE, FREE, 1)
        return text.ljust(64, b"\0") + links + bytes(36) + struct.pack("<III", start, size, 0)

    directory = entry("Root Entry", 5, END, 0) + entry("Workbook", 2, 2, len(stream))
    directory = directory.ljust(512, b"\0")
    path.write_bytes(header + struct.pack("<128I", *table) + directory + stream)
    return path


def test_an_old_workbook_is_read(tmp_path):
    path = old_workbook(
        tmp_path / "a.xls", [label(0, 0, "题目"), label(0, 1, "答案"), label(1, 0, "一"), number(1, 1, 2.0)]
    )
    (table,), notes = read_workbook(path)
    assert table.sheet == "exam"
    assert [(row.number, row.cells) for row in table] == [(1, ["题目", "答案"]), (2, ["一", 2.0])]
    assert notes == ()


def test_a_far_cell_in_an_old_workbook_is_refused(tmp_path):
    path = old_workbook(tmp_path / "a.xls", [label(0, 0, "near"), number(65535, 255, 1.0)])
    with pytest.raises(DataError, match=r"a\.xls exam: its filled cells reach to IV65536"):
        read_workbook(path)


def test_a_sheet_that_claims_millions_of_columns_is_refused(tmp_path):
    claims = record(0x0200, struct.pack("<IIHHH", 0, 0xFFFFFFFF, 0, 0xFFFF, 0))
    with pytest.raises(DataError, match="runs out of memory"):
        read_workbook(old_workbook(tmp_path / "a.xls", [claims, label(0, 0, "x")]))


def test_sectors_that_form_a_loop_are_refused(tmp_path):
    path = old_workbook(tmp_path / "a.xls", [label(0, 0, "x")])
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, 512 + 4, 1)
    path.write_bytes(data)
    with pytest.raises(DataError, match="form a loop"):
        read_workbook(path)


def test_an_old_workbook_whose_records_lead_beyond_their_end_is_refused(tmp_path):
    """The rows after the damage were missing without a word."""
    rows = [label(row, 0, f"Question {row}") for row in range(20)]
    path = old_workbook(tmp_path / "a.xls", [*rows[:10], b"\xff\x0f\xea\x03", *rows[10:]])  # ends in the padding
    with pytest.raises(DataError, match="do not come to an end"):
        read_workbook(path)


@pytest.mark.parametrize("size", [600, 1100, 2000, 4000])
def test_a_truncated_old_workbook_is_refused(tmp_path, size):
    path = old_workbook(tmp_path / "a.xls", [label(0, 0, "x")])
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(DataError, match="cannot be read as a workbook"):
        read_workbook(path)


def packed(stream):
    """A compound file with one stream in sectors of 4,096 bytes: header, table of sectors, directory, stream."""
    count = -(-len(stream) // SECTOR)
    tables = 1
    while tables * (SECTOR // 4) < tables + 1 + count:
        tables += 1
    chain = [TABLE] * tables + [END] + [*range(tables + 2, tables + 1 + count), END]
    chain += [FREE] * (tables * (SECTOR // 4) - len(chain))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<5H", 0x3E, 4, 0xFFFE, 12, 6) + bytes(6)
    header += struct.pack("<9I", 1, tables, tables, 0, SECTOR, END, 0, END, 0)
    header += struct.pack("<109I", *range(tables), *[FREE] * (109 - tables))

    def entry(name, kind, start, size):
        text = f"{name}\0".encode("utf-16-le")
        links = (FREE, FREE, 1 if kind == 5 else FREE)
        head = text.ljust(64, b"\0") + struct.pack("<HBB3I", len(text), kind, 1, *links)
        return head + bytes(36) + struct.pack("<IQ", start, size)

    directory = entry("Root Entry", 5, 0, 0) + entry("Workbook", 2, tables + 1, len(stream))
    parts = (header, struct.pack(f"<{len(chain)}I", *chain), directory, stream)
    return b"".join(part.ljust(-(-len(part) // SECTOR) * SECTOR, b"\0") for part in parts)


def shared(path, texts, cells):
    """Cells that name shared texts: the table of texts is cut into records of 8,000 bytes."""
    table = struct.pack("<II", len(cells), len(texts))
    pieces = [b""]
    for text in texts:
        data = text.encode("utf-16-le")
        pieces[-1] += struct.pack("<HB", len(text), 1)
        while data:
            room = (8000 - len(pieces[-1])) // 2 * 2
            pieces[-1] += data[:room]
            data = data[room:]
            if data:
                pieces.append(b"\x01")
    records = record(0x00FC, table + pieces[0]) + b"".join(record(0x003C, piece) for piece in pieces[1:])
    return with_texts(path, records, cells)


def with_texts(path, records, cells, after=b""):
    """Cells that name shared texts, which these records hold, and records of the sheet behind them."""
    named = [record(0x00FD, struct.pack("<HHHI", row, column, 0, place)) for row, column, place in cells]
    name = bytes([4, 0]) + b"exam"
    where = len(begin(5)) + 4 + 6 + len(name) + len(records) + 4
    stream = begin(5) + record(0x0085, struct.pack("<IH", where, 0) + name) + records + record(0x000A)
    stream += begin(0x10) + b"".join(named) + after + record(0x000A)
    path.write_bytes(packed(stream.ljust(4096, b"\0")))
    return path


def font(position):
    return record(0x0031, struct.pack("<HHHHHBBBB", 200, 0, 0, 400, position, 0, 0, 134, 0) + b"\x01\0A")


def rich(text, *runs, wide=True):
    """A shared text with runs of (first character, number of the font)."""
    data = text.encode("utf-16-le" if wide else "latin-1")
    return (
        struct.pack("<HBH", len(text), 8 | wide, len(runs)) + data + b"".join(struct.pack("<HH", *run) for run in runs)
    )


def test_raised_characters_of_an_old_workbook_are_read_across_records(tmp_path):
    # Fonts are numbered 0 to 3, then from 5.
    fonts = b"".join(map(font, (0, 0, 0, 0, 1, 2)))
    texts = [rich("10² 103"[:2] + "3", (2, 5), wide=False), rich("水H2O", (2, 6), (3, 0)), rich("甲乙", (1, 6), (2, 0))]
    whole = struct.pack("<II", 4, 4) + b"".join(texts) + struct.pack("<HB", 1, 0) + b"x"
    cut = len(whole) - 12  # within the runs of the third text
    records = fonts + record(0x00FC, whole[:cut]) + record(0x003C, whole[cut:])
    path = with_texts(tmp_path / "a.xls", records, [(0, 0, 3), (0, 1, 0), (1, 0, 1), (1, 1, 2)])
    (table,), _ = read_workbook(path)
    refined = table.refined([0, 1])
    assert [row.cells for row in refined] == [["x", "10³"], ["水H₂O", "甲_{乙}"]]
    assert refined.unread == {"raised": {2: [1]}}


def drawn(column, row, kind):
    anchor = struct.pack("<9H", 0, column, 0, row, 0, column + 1, 0, row + 1, 0)
    drawing = record(0x00EC, b"\x0f\0\x04\xf0\x60\0\0\0" + b"\0\0\x10\xf0\x12\0\0\0" + anchor)
    return drawing + record(0x005D, struct.pack("<HHHHH", 0x15, 0x12, kind, 1, 0) + bytes(16))


def test_pictures_of_an_old_workbook_are_found_and_comments_are_none(tmp_path):
    after = drawn(1, 0, 8) + drawn(0, 1, 25) + drawn(0, 1, 8) + record(0x005D, bytes(3))
    records = record(0x00FC, struct.pack("<IIHB", 2, 1, 1, 0) + b"x")
    (table,), _ = read_workbook(with_texts(tmp_path / "a.xls", records, [(0, 0, 0), (1, 1, 0)], after))
    assert table.refined([0]).unread == {"pictures": {1: [1], 2: [0]}}


def test_shared_texts_of_an_old_workbook_are_read_across_records(tmp_path):
    texts = ["题" * 5000, "短", "长" * 9000]
    (table,), _ = read_workbook(shared(tmp_path / "a.xls", texts, [(0, 0, 1), (0, 1, 2), (1, 0, 0)]))
    assert [row.cells for row in table] == [["短", "长" * 9000], ["题" * 5000, ""]]


def test_a_long_text_that_many_cells_name_is_refused(tmp_path):
    cells = [(row, column, 0) for row in range(1000) for column in range(10)]
    with pytest.raises(DataError, match="its cells hold more than 200,000,000 characters"):
        read_workbook(shared(tmp_path / "a.xls", ["x" * 30_000, "y"], cells))
    (table,), _ = read_workbook(shared(tmp_path / "b.xls", ["x" * 30_000, "y"], [(0, 0, 0), (1, 0, 1)]))
    assert [len(row.cells[0]) for row in table] == [30_000, 1]


def test_an_old_workbook_shows_its_formats_and_names_its_errors(tmp_path):
    code = record(0x041E, struct.pack("<HHB", 164, 3, 0) + b"000")
    styles = b"".join(record(0x00E0, struct.pack("<HH", 0, one) + bytes(16)) for one in (0, 9, 164))
    cells = [
        record(0x0203, struct.pack("<HHHd", 0, 0, 1, 0.5)),
        record(0x027E, struct.pack("<HHHi", 1, 0, 2, 7 << 2 | 2)),
        record(0x00BD, struct.pack("<HHHiHiH", 2, 0, 1, 25 << 2 | 3, 2, 8 << 2 | 2, 1)),
        record(0x0205, struct.pack("<HHHBB", 3, 0, 0, 42, 1)),
        record(0x0006, struct.pack("<HHHBBBBBBHHIHBB", 4, 0, 0, 2, 0, 7, 0, 0, 0, 0xFFFF, 0, 0, 2, 0x1C, 7)),
        number(5, 0, 3.0),
    ]
    path = old_workbook(tmp_path / "a.xls", cells, before=code + styles)
    (table,), _ = read_workbook(path)
    refined = table.refined((0, 1))
    texts = [[render(cell) for cell in row.cells] for row in refined]
    assert texts == [["50%", ""], ["007", ""], ["25%", "008"], ["", ""], ["", ""], ["3", ""]]
    assert {row: list(found) for row, found in refined.faults.items()} == {4: [0], 5: [0]}
    assert "#N/A" in refined.faults[4][0]
    assert "#DIV/0!" in refined.faults[5][0]
