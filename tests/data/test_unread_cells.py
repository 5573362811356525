"""What a cell holds beside plain text is kept or named: raised characters, pictures, formulas, lost fractions."""

import datetime as dt
import zipfile

import openpyxl
import pytest
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from tests.data.test_hostile_workbooks import replace_part

from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import MAX_UNREAD
from steelyard.errors import ConfigError, DataError
from steelyard.suites.choice.rows import examine_choice, load_choice
from steelyard.suites.rag import load_rag

HEADER = ["题目", "A", "B", "答案"]
MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
MARKUP = "http://schemas.openxmlformats.org/markup-compatibility/2006"
SHEET = "xl/worksheets/sheet1.xml"


def book(path, *rows, header=HEADER):
    built = openpyxl.Workbook()
    built.active.title = "题库"
    for row in (header, *rows):
        built.active.append(row)
    built.save(path)
    return path


def raised(*pieces):
    """A cell of texts, and of (position, text)."""
    blocks = [
        piece if isinstance(piece, str) else TextBlock(InlineFont(vertAlign=piece[0]), piece[1]) for piece in pieces
    ]
    return CellRichText(*blocks)


def question_rows(count):
    return [[f"第{no}题是什么？", "甲", "乙", "A"] for no in range(count)]


def with_drawing(path, drawing):
    """The workbook with a drawing over its sheet, in the parts that Excel writes."""
    namespaces = (
        'xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing" '
        f'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="{REL}" xmlns:mc="{MARKUP}" '
        'xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main" '
        'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    )
    replace_part(path, "xl/drawings/drawing1.xml", f"<xdr:wsDr {namespaces}>{drawing}</xdr:wsDr>")
    relation = f'<Relationship Id="rId1" Type="{REL}/drawing" Target="../drawings/drawing1.xml"/>'
    about = "http://schemas.openxmlformats.org/package/2006/relationships"
    return replace_part(
        path, "xl/worksheets/_rels/sheet1.xml.rels", f'<Relationships xmlns="{about}">{relation}</Relationships>'
    )


def anchor(column, row, what="<xdr:pic/>", kind="twoCellAnchor"):
    place = (
        f"<xdr:col>{column}</xdr:col><xdr:colOff>9525</xdr:colOff><xdr:row>{row}</xdr:row><xdr:rowOff>0</xdr:rowOff>"
    )
    return f"<xdr:{kind}><xdr:from>{place}</xdr:from><xdr:to>{place}</xdr:to>{what}<xdr:clientData/></xdr:{kind}>"


def with_rows(path, rows, tail=""):
    text = f'<worksheet {MAIN} xmlns:r="{REL}"><sheetData>{rows}</sheetData>{tail}</worksheet>'
    return replace_part(path, SHEET, text)


def notes(path, **keys):
    return [note for note in load_choice(SampleFiles(path, **keys)).notes if "题库" in note]


def test_raised_and_lowered_characters_have_their_form_in_unicode(tmp_path):
    path = book(
        tmp_path / "a.xlsx",
        ["一千是多少？", raised("10", ("superscript", "3")), raised("10", ("superscript", "-2"), "克"), "A"],
        [raised("H", ("subscript", "2"), "O 是？"), raised("x", ("subscript", "i+1")), "103", "A"],
    )
    samples = list(load_choice(SampleFiles(path)).samples)
    assert [sample.choices for sample in samples] == [("10³", "10⁻²克"), ("xᵢ₊₁", "103")]
    assert samples[1].input == "H₂O 是？"
    assert notes(path) == []


def test_characters_that_unicode_lacks_are_marked_and_named(tmp_path):
    path = book(
        tmp_path / "a.xlsx", ["哪个？", raised("x", ("superscript", "甲 ")), raised("v", ("subscript", "总")), "A"]
    )
    (sample,) = load_choice(SampleFiles(path)).samples
    assert sample.choices == ("x^{甲}", "v_{总}")
    (note,) = notes(path)
    assert note.endswith("are written ^{...} and _{...}: B2, C2")


def test_shared_texts_as_programs_write_them_are_read(tmp_path):
    path = book(tmp_path / "a.xlsx", ["哪个？", "甲", "乙", "A"])
    texts = (
        "<si><t>题目</t></si><si><t>A</t></si><si><t>B</t></si><si><t>答案</t></si><si><t>哪个？</t></si>"
        '<si><r><t xml:space="preserve">10</t></r><r><rPr><b/><vertAlign val="superscript"/><sz val="11"/>'
        '<rFont val="宋体"/><charset val="134"/></rPr><t>2</t></r><r><rPr><vertAlign val="superscript"/></rPr><t>3</t>'
        '</r><rPh sb="0" eb="1"><t>じゅう</t></rPh></si><si><r><rPr><vertAlign val="baseline"/></rPr><t>乙</t></r></si>'
    )
    replace_part(path, "xl/sharedStrings.xml", f'<sst {MAIN} count="8" uniqueCount="7">{texts}</sst>')
    if "sharedStrings" not in zipfile.ZipFile(path).read("xl/_rels/workbook.xml.rels").decode():
        relations = zipfile.ZipFile(path).read("xl/_rels/workbook.xml.rels").decode()
        relation = f'<Relationship Id="rId99" Type="{REL}/sharedStrings" Target="sharedStrings.xml"/></Relationships>'
        replace_part(path, "xl/_rels/workbook.xml.rels", relations.replace("</Relationships>", relation))
    rows = "".join(
        f'<row r="{row}">'
        + "".join(f'<c r="{letter}{row}" t="s"><v>{text}</v></c>' for letter, text in cells)
        + "</row>"
        for row, cells in ((1, zip("ABCD", (0, 1, 2, 3), strict=True)), (2, zip("ABCD", (4, 5, 6, 1), strict=True)))
    )
    (sample,) = load_choice(SampleFiles(with_rows(path, rows))).samples
    assert sample.choices == ("10²³", "乙")


def test_an_open_document_keeps_them_too(tmp_path):
    head = (
        '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:xlink="http://www.w3.org/1999/xlink" '
        'xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" '
        'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" '
        'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:automatic-styles>'
        '<style:style style:name="T1" style:family="text"><style:text-properties style:text-position="super 58%"/>'
        '</style:style><style:style style:name="T2"><style:text-properties style:text-position="-33% 58%"/>'
        "</style:style></office:automatic-styles><office:body><office:spreadsheet>"
        '<table:table table:name="题库">'
    )

    def cell(*inside, repeat=1):
        about = f'table:number-columns-repeated="{repeat}" office:value-type="string"'
        return f"<table:table-cell {about}>{''.join(inside)}</table:table-cell>"

    def line(*cells):
        return f"<table:table-row>{''.join(cells)}</table:table-row>"

    def text(value):
        return f"<text:p>{value}</text:p>"

    raised_cell = text('10<text:span text:style-name="T1">2</text:span>')
    lowered = text('x<text:span text:style-name="T2">1</text:span>')
    comment = "<office:annotation><text:p>not of the cell</text:p></office:annotation>"
    formula = '<draw:frame><draw:object xlink:href="./Object 1"/><draw:image xlink:href="./r/Object 1"/></draw:frame>'
    picture = '<draw:frame><draw:image xlink:href="Pictures/1.png"/></draw:frame>'
    rows = [
        line(*(cell(text(header)) for header in HEADER)),
        line(cell(comment, text("哪个？")), cell(comment, raised_cell), cell(lowered), cell(text("A"))),
        line(cell(text("式？"), formula), cell(text("甲")), cell(text("乙")), cell(text("A"))),
        line(cell(text("图？")), cell(text("甲")), cell(text("乙"), picture), cell(text("A"))),
    ]
    path = tmp_path / "a.ods"
    entry = '<m:file-entry m:full-path="Object 1/" m:media-type="application/vnd.oasis.opendocument.formula"/>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", f'<m:manifest xmlns:m="urn:x">{entry}</m:manifest>')
        end = "</table:table></office:spreadsheet></office:body></office:document-content>"
        archive.writestr("content.xml", f"{head}{''.join(rows)}{end}")
    data = load_choice(SampleFiles(path))
    assert next(iter(data.samples)).choices == ("10²", "x₁")
    assert [note.partition(";")[0] for note in data.notes if "not read" in note] == [
        "a.ods 题库: pictures and shapes are not read: C4",
        "a.ods 题库: formula objects are not read: A3",
    ]
    assert load_choice(SampleFiles(path, skip_rows_with=("pictures", "equations"))).n == 1


def test_pictures_over_cells_are_named_and_their_rows_can_be_left_out(tmp_path):
    path = book(tmp_path / "a.xlsx", *question_rows(5))
    drawing = anchor(0, 1) + anchor(1, 2, "<xdr:graphicFrame/>", "oneCellAnchor")
    group = anchor(2, 3, "<xdr:grpSp><xdr:pic/></xdr:grpSp>")
    drawing += f"<mc:AlternateContent><mc:Choice>{group}</mc:Choice></mc:AlternateContent>"
    drawing += "<xdr:absoluteAnchor><xdr:pos/><xdr:pic/></xdr:absoluteAnchor>"
    with_drawing(path, drawing)
    (note,) = notes(path)
    assert note == (
        "a.xlsx 题库: pictures and shapes are not read: A2, B3, C4; 1 tied to no cell; "
        "skip_rows_with: [pictures] leaves their rows out"
    )
    data = load_choice(SampleFiles(path, skip_rows_with="pictures"))
    assert [sample.id for sample in data.samples] == ["题库!5", "题库!6"]
    assert "a.xlsx 题库: 3 rows were left out (skip_rows_with: pictures)" in data.notes


def test_a_picture_in_a_blank_row_belongs_to_the_question_above(tmp_path):
    path = book(tmp_path / "a.xlsx", *question_rows(1), [], *question_rows(2)[1:])
    with_drawing(path, anchor(0, 2))
    data = load_choice(SampleFiles(path, skip_rows_with=("pictures",)))
    assert [sample.id for sample in data.samples] == ["题库!4"]


def test_formulas_drawn_as_shapes_are_named_apart(tmp_path):
    path = book(tmp_path / "a.xlsx", *question_rows(3))
    formula = "<xdr:sp><xdr:txBody><a:p><a14:m><m:oMathPara/></a14:m></a:p></xdr:txBody></xdr:sp>"
    fallback = "<mc:Fallback><xdr:pic/></mc:Fallback>"
    both = f"<mc:AlternateContent><mc:Choice>{formula}</mc:Choice>{fallback}</mc:AlternateContent>"
    hidden = '<xdr:sp><xdr:nvSpPr><xdr:cNvPr id="9" name="Object 1" hidden="1"/></xdr:nvSpPr></xdr:sp>'
    with_drawing(path, anchor(1, 1, both) + anchor(0, 3, hidden))
    (note,) = notes(path)
    assert note.startswith("a.xlsx 题库: formula objects are not read: B2; skip_rows_with: [equations]")


def test_embedded_formulas_of_an_editor_are_found_by_their_anchor(tmp_path):
    path = book(tmp_path / "a.xlsx", *question_rows(2))
    sheet = zipfile.ZipFile(path).read(SHEET).decode()
    place = "<xdr:col>0</xdr:col><xdr:colOff>1</xdr:colOff><xdr:row>2</xdr:row><xdr:rowOff>0</xdr:rowOff>"
    found = (
        f'<oleObjects xmlns:mc="{MARKUP}" xmlns:xdr="urn:x" xmlns:r="{REL}"><mc:AlternateContent>'
        '<mc:Choice Requires="x14"><oleObject progId="Equation.3" shapeId="1025" r:id="rId3"><objectPr>'
        f"<anchor><from>{place}</from><to>{place}</to></anchor></objectPr></oleObject></mc:Choice>"
        '<mc:Fallback><oleObject progId="Equation.3" shapeId="1025" r:id="rId3"/></mc:Fallback>'
        "</mc:AlternateContent></oleObjects></worksheet>"
    )
    replace_part(path, SHEET, sheet.replace("</worksheet>", found))
    (note,) = notes(path)
    assert note.startswith("a.xlsx 题库: formula objects are not read: A3;")


def inline(address, text):
    return f'<c r="{address}" t="inlineStr"><is><t>{text}</t></is></c>'


def test_pictures_inside_cells_are_read_as_such_and_named(tmp_path):
    path = book(tmp_path / "a.xlsx", *question_rows(1))
    formula = '<f>_xlfn.DISPIMG("ID_0A1B",1)</f>'
    rows = "<row>" + "".join(inline(f"{letter}1", text) for letter, text in zip("ABCD", HEADER, strict=True)) + "</row>"
    rows += f'<row r="2">{inline("A2", "一？")}<c r="B2" t="str">{formula}<v>=DISPIMG("ID_0A1B",1)</v></c>'
    rows += f"{inline('C2', '乙')}{inline('D2', 'A')}</row>"
    rows += f'<row r="3">{inline("A3", "二？")}{inline("B3", "甲")}<c r="C3">{formula}</c>{inline("D3", "A")}</row>'
    rows += f'<row r="4">{inline("A4", "三？")}<c r="B4" t="e" vm="1"><v>#VALUE!</v></c>{inline("C4", "乙")}'
    rows += f'{inline("D4", "A")}</row><row r="5">{inline("A5", "四？")}{inline("B5", "甲")}{inline("C5", "乙")}'
    rows += f"{inline('D5', 'A')}</row>"
    with_rows(path, rows)
    data = load_choice(SampleFiles(path))
    assert [sample.choices for sample in data.samples][:3] == [
        ("[picture]", "乙"),
        ("甲", "[picture]"),
        ("[picture]", "乙"),
    ]
    assert "a.xlsx 题库: pictures and shapes are not read: B2, C3, B4" in data.notes[-1]
    assert load_choice(SampleFiles(path, skip_rows_with=("pictures",))).n == 1


def day(month, number, year=2024):
    return dt.datetime(year, month, number)  # noqa: DTZ001 - sheets have none


def test_dates_that_were_fractions_are_named_and_real_ones_are_not(tmp_path):
    path = book(
        tmp_path / "a.xlsx",
        ["一半是多少？", day(1, 2), day(1, 3), "A"],
        ["多少？", day(3, 4), 0.5, "A"],
        ["哪天建国？", day(10, 1, 1949), day(10, 1, 1950), "A"],
        ["几点？", dt.datetime(2024, 1, 2, 8), dt.datetime(2024, 1, 2, 9), "A"],  # noqa: DTZ001
        ["哪个字？", "甲", "乙", "A"],
    )
    (note,) = notes(path)
    assert note == (
        "a.xlsx 题库: dates among the options, which a spreadsheet program makes of 1/2 or 3-4: B2, C2, B3; "
        "skip_rows_with: [dates] leaves their rows out"
    )
    data = load_choice(SampleFiles(path, skip_rows_with=("dates", "pictures"), last=2))
    assert [sample.id for sample in data.samples] == ["题库!5", "题库!6"]


def test_other_suites_name_and_leave_out_such_rows_and_keep_positions(tmp_path):
    path = book(tmp_path / "a.xlsx", ["甲？", "一"], ["乙？", "二"], header=["问题", "答案"])
    with_drawing(path, anchor(0, 1))
    assert any("pictures and shapes are not read: A2" in note for note in load_rag(SampleFiles(path)).notes)
    data = load_rag(SampleFiles(path, skip_rows_with=("pictures",)))
    assert [(sample.input, sample.metadata["position"]) for sample in data.samples] == [("乙？", 1)]


def test_an_unknown_kind_is_refused_with_a_suggestion(tmp_path):
    with pytest.raises(ConfigError, match="skip_rows_with: there is no 'picture': did you mean 'pictures'"):
        SampleFiles(tmp_path / "a.xlsx", skip_rows_with=("picture",))


@pytest.mark.parametrize(
    "hostile",
    [
        "".join(anchor(no % 1000, no) for no in range(MAX_UNREAD + 1)),
        "<xdr:oneCellAnchor><xdr:from><xdr:col>0",
    ],
)
def test_a_drawing_that_is_endless_or_damaged_is_refused(tmp_path, hostile):
    path = with_drawing(book(tmp_path / "a.xlsx", *question_rows(1)), hostile)
    with pytest.raises(DataError, match=r"more than 100,000 pictures|is damaged"):
        examine_choice(SampleFiles(path))


def test_deep_and_far_drawings_do_no_harm(tmp_path):
    deep = "<xdr:grpSp>" * 20_000 + "</xdr:grpSp>" * 20_000
    far = anchor("9" * 5_000, "9" * 5_000) + anchor(0, 1_000_000) + anchor("-1", "x") + anchor(0, 1, deep)
    path = with_drawing(book(tmp_path / "a.xlsx", *question_rows(2)), far)
    (note,) = notes(path)
    assert "not read: A2, A1000001; 2 tied to no cell" in note
