import datetime as dt
import zipfile

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.test_hostile_workbooks import NS, ods, replace_part, sheet, workbook

from steelyard.data.sample_files import SampleFiles
from steelyard.data.shown_cells import shown_as
from steelyard.data.table import render
from steelyard.data.workbook import read_workbook
from steelyard.errors import DataError
from steelyard.suites.choice.rows import load_choice

SHEET = "xl/worksheets/sheet1.xml"


def column(path, columns=(0,)):
    """The cells of a column as they are shown, and the faults in it."""
    (table,), _ = read_workbook(path)
    refined = table.refined(columns)
    return [render(row.cells[columns[0]]) for row in refined], dict(refined.faults.items())


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (0.5, "0%", "50%"),
        (0.505, "0.0%", "50.5%"),
        (7, "000", "007"),
        (3, "General", "3"),
        (5, "@", "5"),
        (1234567.891, "#,##0.00", "1,234,567.89"),
        (3.5, '0.00"元"', "3.50元"),
        (1234.5, "[$¥-804]#,##0.00", "¥1,234.50"),
        (-2.5, "0.0;(0.0)", "(2.5)"),
        (-2.5, "0.0", "-2.5"),
        (0, '0;-0;"零"', "零"),
        (0.5, "# ?/?", "1/2"),
        (1.25, "# ??/??", "1 1/4"),
        (12345, "0.00E+00", "1.23E+04"),
        (13800001111, "000-0000-0000", "138-0000-1111"),
        (1.005, "0.00", "1.01"),
        (0.5, ".00", ".50"),
        (2.0, ";;;", "2"),
        (12, '[>10]"大";"小"', "大"),
        (5, "0" * 300, "5"),
        (dt.date(2024, 2, 29), "m/d/yy", "2024-02-29"),
        (dt.datetime(2024, 2, 29, 13, 5), "yyyy-mm-dd h:mm", "2024-02-29 13:05:00"),  # noqa: DTZ001 - sheets have none
        (dt.time(8, 30), "h:mm", "08:30:00"),
        (dt.timedelta(hours=30), "[hh]:mm:ss", "30:00:00"),
        (12345678901234567890, "General", "1.23456789012346e+19"),
        (0.1 + 0.2, "General", "0.3"),
        (True, "General", "TRUE"),
        ("007", "@", "007"),
    ],
)
def test_a_cell_is_shown_as_its_sheet_shows_it(tmp_path, value, code, shown):
    def fill(active):
        active["A1"] = value
        active["A1"].number_format = code

    assert column(workbook(tmp_path / "a.xlsx", fill)) == ([shown], {})


@given(st.floats(allow_nan=True), st.text(alphabet='0#?.,%/eE+-;@"\\_*[]<>=$天Gneralymdhs ', max_size=30))
def test_any_number_under_any_format_is_shown_as_some_text(value, code):
    assert shown_as(value, code).strip()


@given(st.decimals(0, 10**9, places=2))
def test_two_decimals_show_what_they_hold(value):
    assert shown_as(float(value), "0.00") == format(value, ".2f")


def test_dates_of_the_1904_system_are_the_dates_that_are_seen(tmp_path):
    book = openpyxl.Workbook()
    book.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
    book.active["A1"] = dt.date(2024, 2, 29)
    book.save(tmp_path / "a.xlsx")
    assert column(tmp_path / "a.xlsx") == (["2024-02-29"], {})


def test_error_values_and_formulas_without_a_value_are_faults_with_their_cell(tmp_path):
    cells = [
        '<c r="A1" t="e"><v>#N/A</v></c>',
        '<c r="A2"><f>1+1</f><v></v></c>',
        '<c r="A3"><f>1+1</f></c>',
        '<c r="A4" t="str"><f>""</f><v></v></c>',
        '<c r="A5" t="str"><f>"x"</f></c>',
        '<c r="A6"><f>1+1</f><v>2</v></c>',
        '<c r="A7" t="e"><f>1/0</f><v>#DIV/0!</v></c>',
        '<c r="A8"/>',
    ]
    body = "".join(f'<row r="{n}">{cell}</row>' for n, cell in enumerate(cells, start=1))
    path = replace_part(workbook(tmp_path / "a.xlsx", lambda _: None), SHEET, sheet(body))
    shown, faults = column(path)
    assert shown == ["", "", "", "", "", "2", ""]
    assert sorted(faults) == [1, 2, 3, 5, 7]
    assert "#N/A" in faults[1][0]
    assert "open the file once in a spreadsheet program" in faults[2][0]
    assert "#DIV/0!" in faults[7][0]


def test_a_zero_beside_a_formula_that_nobody_computed_is_no_result(tmp_path):
    body = '<row r="1"><c r="A1"><f>B1*2</f><v>0</v></c></row>'
    path = replace_part(workbook(tmp_path / "a.xlsx", lambda _: None), SHEET, sheet(body))
    assert sorted(column(path)[1]) == [1]
    book = f'<workbook {NS} xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>'
    book += '<sheet name="Sheet" sheetId="1" r:id="rId1"/></sheets></workbook>'
    assert column(replace_part(path, "xl/workbook.xml", book)) == (["0"], {})


def test_only_the_columns_that_are_read_are_looked_at(tmp_path):
    def fill(active):
        active.append(["text", "=1+1", 0.5])
        active["C1"].number_format = "0%"

    (table,), _ = read_workbook(workbook(tmp_path / "a.xlsx", fill))
    assert table.refined((0, "key")).faults == {}
    assert [row.cells for row in table.refined((0,))] == [["text", "", 0.5]]
    assert [row.cells for row in table.refined((2,))] == [["text", "", "50%"]]


def test_implied_addresses_and_prefixes_are_followed(tmp_path):
    ns = NS.replace("xmlns=", "xmlns:x=")
    body = (
        '<x:row><x:c t="e"><x:v>#REF!</x:v></x:c></x:row><x:row r="4"><x:c/><x:c t="e"><x:v>#NUM!</x:v></x:c></x:row>'
    )
    data = f"<x:worksheet {ns}><x:sheetData>{body}<x:row><x:c><x:v>1</x:v></x:c></x:row></x:sheetData></x:worksheet>"
    path = replace_part(workbook(tmp_path / "a.xlsx", lambda _: None), SHEET, data)
    _, faults = column(path, (0, 1))
    assert {row: list(found) for row, found in faults.items()} == {1: [0], 4: [1]}


def test_rich_text_inline_text_and_phonetic_runs_are_read_as_their_text(tmp_path):
    rich = "<r><rPr><b/></rPr><t>粗</t></r><r><t xml:space='preserve'> 体</t></r><rPh sb='0' eb='1'><t>ふり</t></rPh>"
    body = f'<row r="1"><c r="A1" t="inlineStr"><is>{rich}</is></c></row>'
    assert column(replace_part(workbook(tmp_path / "a.xlsx", lambda _: None), SHEET, sheet(body)))[0] == ["粗 体"]


def test_an_open_document_gives_what_it_shows_and_names_its_errors(tmp_path):
    def cell(about, text):
        return (
            f"<table:table-row><table:table-cell {about}><text:p>{text}</text:p></table:table-cell></table:table-row>"
        )

    rows = [
        cell('office:value-type="percentage" office:value="0.5"', "50%"),
        cell('office:value-type="float" office:value="7"', "007"),
        cell('office:value-type="string" table:formula="of:=NA()"', "#N/A"),
        cell('office:value-type="string"', "#N/A"),
    ]
    shown, faults = column(ods(tmp_path / "a.ods", "".join(rows)))
    assert shown[:2] == ["50%", "007"]
    assert shown[3] == "#N/A"
    assert list(faults) == [3]


def exam(active):
    active.append(["题目", "A", "B", "答案", "类别"])
    active.append(["一半是多少？", 0.5, 0.25, "A", "数"])
    active.append(["一加一是多少？", "=1+1", "三", "A", "数"])
    active.append(["零除以零是多少？", "#DIV/0!", "无", "B", "数"])
    for cell in ("B2", "C2"):
        active[cell].number_format = "0%"


def test_an_exam_asks_what_its_sheet_shows_and_names_every_broken_cell(tmp_path):
    path = workbook(tmp_path / "exam.xlsx", exam)
    data = load_choice(SampleFiles(path, skip_bad=True))
    assert [sample.choices for sample in data.samples] == [("50%", "25%")]
    assert [defect.location for defect in data.defects] == ["exam.xlsx Sheet!B3", "exam.xlsx Sheet!B4"]
    with pytest.raises(DataError, match="2 defects"):
        load_choice(SampleFiles(path))


def test_overlapping_and_far_merges_do_no_harm(tmp_path):
    path = workbook(tmp_path / "a.xlsx", lambda active: [active.append(["x", n]) for n in range(4)])
    with zipfile.ZipFile(path) as archive:
        data = archive.read(SHEET).decode()
    areas = '<mergeCell ref="A1:A1048576"/>' * 20_000 + '<mergeCell ref="B2:B3"/><mergeCell ref="B9:B12"/>'
    replace_part(path, SHEET, data.replace("</sheetData>", f"</sheetData><mergeCells>{areas}</mergeCells>"))
    (table,), _ = read_workbook(path)
    assert [(one.first_row, one.first_column, one.last_row) for one in table.merged] == [(1, 0, 4), (2, 1, 3)]
