import zipfile

import openpyxl
import pytest

from steelyard.data.workbook import read_workbook
from steelyard.errors import DataError

NS = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def workbook(path, fill):
    book = openpyxl.Workbook()
    fill(book.active)
    book.save(path)
    return path


def replace_part(path, name, data, **about):
    """The same archive with one part exchanged."""
    with zipfile.ZipFile(path) as old:
        parts = {one: old.read(one) for one in old.namelist()}
    parts[name] = data
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for one, content in parts.items():
            new.writestr(one, content)
    return path


def sheet(body):
    return f'<?xml version="1.0"?><worksheet {NS}><sheetData>{body}</sheetData></worksheet>'.encode()


def far(active):
    active["A1"] = "near"
    active["XFD1048576"] = "far"


def test_a_sheet_that_declares_to_be_whole_is_read_where_its_filled_cells_are_near(tmp_path):
    path = workbook(tmp_path / "a.xlsx", far)
    cells = '<row r="1"><c r="A1"><v>1</v></c><c r="XFD1" s="0"/><c r="XFD1" s="0"></c></row>'
    body = sheet(cells).replace(b"<sheetData>", b'<dimension ref="A1:XFD1048576"/><sheetData>')
    replace_part(path, "xl/worksheets/sheet1.xml", body)
    (table,), _ = read_workbook(path)
    assert [row.cells[0] for row in table] == [1]


@pytest.mark.parametrize(
    "body",
    [
        '<row><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>',
        "<row r='1'><c r='A1'><v>1</v></c></row><row  r = '1048576'><c\n r\t=\n'xfd1048576'><v>1</v></c></row>",
        '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="ZZ9"><v>1</v></c><c><v>1</v></c></row>',
        '<row r="1"><c r="A1"><v>1</v></c></row><row r="900000"><c/><c r="Z900000"><is><t>x</t></is></c></row>',
    ],
)
def test_far_cells_are_refused_however_they_are_written(tmp_path, body):
    path = workbook(tmp_path / "a.xlsx", far)
    if "ZZ9" in body:
        body = body.replace("ZZ9", "ZZ1048576")
    replace_part(path, "xl/worksheets/sheet1.xml", sheet(body))
    with pytest.raises(DataError, match=r"filled cells reach to Z900000|One filled cell far from the others"):
        read_workbook(path)


def test_far_cells_without_a_value_do_no_harm(tmp_path):
    body = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576" hidden="1"><c r="XFD1048576" s="0"/></row>'
    path = replace_part(workbook(tmp_path / "a.xlsx", far), "xl/worksheets/sheet1.xml", sheet(body))
    (table,), _ = read_workbook(path)
    assert [row.cells for row in table] == [[1.0]]


def test_text_that_looks_like_a_far_address_is_text(tmp_path):
    path = workbook(tmp_path / "a.xlsx", lambda active: active.append(['the cell r="XFD1048576" is the last']))
    (table,), _ = read_workbook(path)
    assert [row.cells for row in table] == [['the cell r="XFD1048576" is the last']]


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path):
    path = workbook(tmp_path / "a.xlsx", far)
    replace_part(path, "xl/worksheets/sheet1.xml", sheet(" " * 60_000_000))
    with pytest.raises(DataError, match="unpacks to more than"):
        read_workbook(path)


def test_a_part_that_lies_about_its_size_is_refused(tmp_path):
    path = workbook(tmp_path / "a.xlsx", far)
    replace_part(path, "xl/worksheets/sheet1.xml", sheet("<row/>" * 1_000_000))
    data = path.read_bytes()
    size = len(sheet("<row/>" * 1_000_000)).to_bytes(4, "little")
    assert size in data
    path.write_bytes(data.replace(size, (1000).to_bytes(4, "little")))
    with pytest.raises(DataError, match=r"a\.xlsx cannot be read as a workbook \(Bad CRC-32"):
        read_workbook(path)


@pytest.mark.parametrize("part", ["xl/worksheets/sheet1.xml", "xl/workbook.xml"])
def test_entities_of_a_document_type_are_never_expanded(tmp_path, part):
    path = workbook(tmp_path / "a.xlsx", lambda active: active.append(["near", "=1+1"]))
    with zipfile.ZipFile(path) as archive:
        data = archive.read(part).replace(b"1+1", b"&a;").replace(b'name="Sheet"', b'name="&a;"')
    start = data.index(b"?>") + 2 if data.startswith(b"<?xml") else 0
    bomb = data[:start] + b'<!DOCTYPE x [<!ENTITY a "aaaa">]>' + data[start:]
    replace_part(path, part, bomb)
    with pytest.raises(DataError, match="declares a document type"):
        read_workbook(path)


def test_a_text_that_too_many_cells_name_is_refused(tmp_path):
    texts = f'<sst {NS} count="1" uniqueCount="1"><si><t>{"x" * 30_000}</t></si></sst>'
    path = replace_part(workbook(tmp_path / "a.xlsx", far), "xl/sharedStrings.xml", texts)
    cells = '<c t="s"><v>0</v></c>' * 10
    replace_part(path, "xl/worksheets/sheet1.xml", sheet(f"<row>{cells}</row>" * 1000))
    with pytest.raises(DataError, match="its cells hold more than 200,000,000 characters"):
        read_workbook(path)


def test_a_truncated_workbook_is_refused(tmp_path):
    path = workbook(tmp_path / "a.xlsx", lambda active: active.append(["question"] * 7))
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, match="damaged or cut off"):
        read_workbook(path)


def test_a_workbook_without_its_sheet_is_refused(tmp_path):
    path = tmp_path / "a.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("hello.txt", "no workbook")
    with pytest.raises(DataError, match=r"a\.xlsx cannot be read as a workbook"):
        read_workbook(path)


def ods(path, rows):
    head = (
        '<?xml version="1.0"?><office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
        'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet>'
        '<table:table table:name="题库">'
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr(
            "content.xml", f"{head}{rows}</table:table></office:spreadsheet></office:body></office:document-content>"
        )
    return path


def cell(text, repeat=1):
    about = f'table:number-columns-repeated="{repeat}" office:value-type="string"'
    return f"<table:table-cell {about}><text:p>{text}</text:p></table:table-cell>"


def test_ods_is_read_and_its_empty_repeats_do_no_harm(tmp_path):
    empty = '<table:table-cell table:number-columns-repeated="16380"/>'
    rows = f"<table:table-row>{cell('题目')}{cell('答案')}{empty}</table:table-row>"
    rows += f'<table:table-row table:number-rows-repeated="1048575">{empty}</table:table-row>'
    (table,), _ = read_workbook(ods(tmp_path / "a.ods", rows))
    assert table.sheet == "题库"
    assert [(row.number, row.cells) for row in table] == [(1, ["题目", "答案"])]


@pytest.mark.parametrize(
    "rows",
    [
        f'<table:table-row table:number-rows-repeated="1048576">{cell("x", 16384)}</table:table-row>',
        (
            f'<table:table-row>{cell("x")}</table:table-row><table:table-row table:number-rows-repeated="1048574"/>'
            f'<table:table-row><table:table-cell table:number-columns-repeated="1000"/>{cell("x")}</table:table-row>'
        ),
    ],
)
def test_ods_repeats_that_fill_millions_of_cells_are_refused(tmp_path, rows):
    with pytest.raises(DataError, match="One filled cell far from the others"):
        read_workbook(ods(tmp_path / "a.ods", rows))
