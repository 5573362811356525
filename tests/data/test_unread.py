"""What a cell holds beside plain text is kept or named: raised characters, pictures, formulas, lost fractions."""

import datetime as dt
import json
import zipfile

import openpyxl
import pytest
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from tests.data.test_hostile_workbooks import replace_part

from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import MAX_UNREAD
from steelyard.data.unread import UnusedColumns
from steelyard.errors import ConfigError, DataError
from steelyard.generate.question_set import QaRow, save_rows
from steelyard.suites.choice.rows import examine_choice, load_choice
from steelyard.suites.pairwise import load_pairwise
from steelyard.suites.rag import load_rag
from steelyard.suites.tables import load_tables
from steelyard.suites.text2sql.rows import load_text2sql

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
        ["比例是多少？", dt.time(1, 2), dt.time(2, 3), "A"],
        ["几点上课？", dt.time(8), dt.time(9, 30), "A"],
        ["多大？", dt.time(1, 30), "2:30 倍", "A"],
    )
    (note,) = notes(path)
    assert note == (
        "a.xlsx 题库: dates or times among the options, which a spreadsheet program makes of 1/2, 3-4 or 1:2: "
        "B2, C2, B3, B7, C7, B9; skip_rows_with: [dates] leaves their rows out"
    )
    data = load_choice(SampleFiles(path, skip_rows_with=("dates", "pictures"), last=2))
    assert [sample.id for sample in data.samples] == ["题库!6", "题库!8"]


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
    ["".join(anchor(no % 1000, no) for no in range(MAX_UNREAD + 1)), "<xdr:oneCellAnchor><xdr:from><xdr:col>0"],
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


QUESTION = {"question": "Which?", "options": ["a", "b"], "answer": "A"}


def exam(path, *rows):
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return SampleFiles(path)


def about_columns(data):
    return [note for note in data.notes if "no role" in note]


def test_a_column_without_a_role_is_named_once_and_kept_with_its_type(tmp_path):
    data = load_choice(
        exam(
            tmp_path / "a.jsonl",
            {**QUESTION, "year": 2019, "tags": ["x", {"y": None}], "hint": None},
            {**QUESTION, "question": "When?", "hard": True, "hint": ""},
        )
    )
    assert [sample.metadata for sample in data.samples] == [
        {"year": 2019, "tags": ["x", {"y": None}], "hard": ""},
        {"year": "", "tags": "", "hard": True},
    ]
    assert about_columns(data) == [
        (
            "3 columns have no role and are only metadata: year, tags, hard; give a role under columns, or write "
            "{{metadata.year}} into a template"
        )
    ]


def test_cells_of_a_sheet_are_numbers_and_texts_by_header_or_letter(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["题目", "A", "B", "答案", "年份", "备注", "备注", "", "source", "空"])
    when = dt.datetime(2024, 2, 29)  # noqa: DTZ001 - sheets have none
    book.active.append(["为天者", "乾", "坤", "A", 2019, "甲", when, 0.5, "《易》", None])
    book.save(tmp_path / "a.xlsx")
    data = load_choice(SampleFiles(tmp_path / "a.xlsx"))
    assert [sample.metadata for sample in data.samples] == [
        {"年份": 2019, "备注": "甲", "备注 G": "2024-02-29", "H": 0.5, "source column": "《易》"}
    ]


def test_the_note_is_short_however_many_columns_there_are(tmp_path):
    data = load_choice(exam(tmp_path / "a.jsonl", {**QUESTION, **{f"{no:03}" + "x" * 200: no for no in range(300)}}))
    (note,) = about_columns(data)
    assert note.startswith("200 columns have no role")
    assert "and 190 more" in note
    assert len(note) < 1000
    assert "columns without a role after the first 200 are left out" in data.notes
    assert [len(sample.metadata) for sample in data.samples] == [200]


def test_rows_with_keys_of_their_own_do_not_grow_with_each_other(tmp_path):
    rows = [{**QUESTION, "question": f"Which {no}?", f"key {no}": no} for no in range(1000)]
    samples = list(load_choice(exam(tmp_path / "a.jsonl", *rows)).samples)
    assert {len(sample.metadata) for sample in samples} == {200}
    assert samples[199].metadata["key 199"] == 199


def test_a_value_that_is_too_long_is_left_out_and_counted(tmp_path):
    data = load_choice(
        exam(tmp_path / "a.jsonl", {**QUESTION, "page": "x" * (UnusedColumns.most_characters + 1), "n": 1})
    )
    assert [sample.metadata for sample in data.samples] == [{"page": "", "n": 1}]
    assert any("1 values of columns without a role are left out" in note for note in data.notes)


def test_columns_of_several_files_are_known_in_all_of_their_samples(tmp_path):
    first = exam(tmp_path / "a.jsonl", {**QUESTION, "year": 1})
    second = exam(tmp_path / "b.jsonl", {**QUESTION, "question": "When?", "place": "x"})
    data = load_choice(SampleFiles((*first.paths, *second.paths)))
    assert [sample.metadata for sample in data.samples] == [
        {"year": 1, "place": "", "source": "a.jsonl"},
        {"year": "", "place": "x", "source": "b.jsonl"},
    ]


@pytest.mark.parametrize(
    ("load", "row"),
    [
        (load_rag, {"question": "Why?", "answer": "So."}),
        (load_pairwise, {"question": "Why?"}),
        (load_text2sql, {"question": "How many?", "sql": "SELECT 1", "schema": "CREATE TABLE t (a INT)"}),
        (lambda files: load_tables(files, task="QA", databases=None), {"target": "[[1]]"}),
    ],
)
def test_every_suite_keeps_and_names_them(tmp_path, load, row):
    files = exam(tmp_path / "a.jsonl", row, {**row, "question": "What?", "year": 2019})
    data = load(files)
    assert [sample.metadata["year"] for sample in data.samples] == ["", 2019]
    assert [note for note in data.notes if "1 column has no role and is only metadata: year" in note]


def test_a_column_that_the_tables_suite_reads_as_predictions_is_not_named(tmp_path):
    files = exam(tmp_path / "a.jsonl", {"target": "[[1]]", "mine": "[[1]]", "other": 1})
    data = load_tables(files, task="QA", databases=None, predictions=("mine",))
    assert data.columns == ("other",)


def test_several_columns_of_a_question_are_joined_in_the_order_given(tmp_path):
    rows = [
        {**QUESTION, "about": "It rains.", "more": ""},
        {**QUESTION, "question": "When?", "about": "", "more": "At noon."},
    ]
    files = exam(tmp_path / "a.jsonl", *rows)
    data = load_choice(SampleFiles(files.paths, columns={"question": ["about", "question", "more"]}))
    assert [sample.input for sample in data.samples] == ["It rains.\n\nWhich?", "When?\n\nAt noon."]
    data = load_rag(SampleFiles(files.paths, columns={"question": ["about", "question"], "answer": "answer"}))
    assert [sample.input for sample in data.samples] == ["It rains.\n\nWhich?", "When?"]


def test_several_columns_are_refused_where_one_is_meant(tmp_path):
    files = exam(tmp_path / "a.jsonl", {**QUESTION, "key": "A"})
    with pytest.raises(ConfigError, match=r"columns: answer is one column, not several \(answer, key\)"):
        load_choice(SampleFiles(files.paths, columns={"answer": ["answer", "key"]}))


@pytest.mark.parametrize("blank", [None, "", "  ", []])
def test_a_key_column_that_is_blank_in_every_row_gives_way_to_another(tmp_path, blank):
    rows = [{**QUESTION, "question": f"Which {no}?", "answer": blank, "label": "B"} for no in range(15)]
    data = load_choice(exam(tmp_path / "a.jsonl", *rows))
    assert data.mapping["answer"] == "label"
    assert data.key_histogram == {"B": 15}
    assert [note for note in data.notes if "answer" in note] == [
        "a.jsonl: column answer is blank in every row, so the answer is read from label"
    ]
    assert data.columns == ()


def test_a_key_in_the_last_row_keeps_its_column(tmp_path):
    rows = [{**QUESTION, "question": f"Which {no}?", "answer": None, "label": "B"} for no in range(15)]
    files = exam(tmp_path / "a.jsonl", *rows, {**QUESTION, "label": "B"})
    data = load_choice(SampleFiles(files.paths, skip_bad=True))
    assert data.mapping["answer"] == "answer"


def test_a_column_that_the_user_names_is_taken_even_if_it_is_blank(tmp_path):
    files = exam(tmp_path / "a.jsonl", {**QUESTION, "answer": "", "label": "B"})
    data = load_choice(SampleFiles(files.paths, columns={"answer": "label"}))
    assert data.mapping["answer"] == "label"


def test_an_unnamed_column_that_numbers_the_rows_is_no_column(tmp_path):
    (tmp_path / "a.csv").write_text(",Question,A,B,Answer,\n0,One?,a,b,A,x\n1,Two?,a,b,B,\n", "utf-8")
    data = load_choice(SampleFiles(tmp_path / "a.csv"))
    assert [sample.metadata for sample in data.samples] == [{"F": "x"}, {"F": ""}]


@pytest.mark.parametrize("name", ["q.jsonl", "q.csv"])
def test_keys_of_a_generated_question_set_are_kept_and_not_named(tmp_path, name):
    row = QaRow("1", "Why?", "So.", "a.md", end=3, heading="Rain", source="So.", chunk="c1", kind="cloze")
    save_rows([row], tmp_path / name)
    data = load_rag(SampleFiles(tmp_path / name))
    assert (data.samples[0].metadata["heading"], data.samples[0].metadata["kind"]) == ("Rain", "cloze")
    assert not [note for note in data.notes if "no role" in note]
    own = exam(tmp_path / "own.jsonl", {"question": "Why?", "answer": "So.", "kind": "x"})
    assert [note for note in load_rag(own).notes if "no role and is only metadata: kind" in note]
