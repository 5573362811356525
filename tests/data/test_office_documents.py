"""Word documents and presentations: what of them is read, and what a hostile one can do."""

from __future__ import annotations

import zipfile

import pytest

from steelyard.data import documents, documents_office_process, limited_process
from steelyard.data.documents import read_document, read_document_set, read_office
from steelyard.errors import DataError

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
P = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
TYPE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
STYLES = f"""<w:styles {W}>
<w:style w:type="paragraph" w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style>
<w:style w:type="paragraph" w:styleId="Kapitel"><w:name w:val="Kapitel"/>
<w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Punkt"><w:name w:val="List Bullet"/><w:pPr><w:numPr/></w:pPr></w:style>
</w:styles>"""


def rels(*targets, mode=""):
    entries = "".join(
        f'<Relationship Id="r{no}" Type="{TYPE}/{kind}" Target="{target}"{mode}/>'
        for no, (kind, target) in enumerate(targets)
    )
    return (
        f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{entries}</Relationships>'
    )


def packed(path, parts):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return path


def word(path, body, **parts):
    return packed(
        path,
        {
            "_rels/.rels": rels(("officeDocument", "word/document.xml")),
            "word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>",
            "word/styles.xml": STYLES,
            **parts,
        },
    )


def line(text, style="", more=""):
    about = f'<w:pPr><w:pStyle w:val="{style}"/>{more}</w:pPr>' if style or more else ""
    return f"<w:p>{about}<w:r><w:t>{text}</w:t></w:r></w:p>"


def cells(*texts):
    return f"<w:tr>{''.join(f'<w:tc>{line(text)}</w:tc>' for text in texts)}</w:tr>"


def slides(path, *bodies):
    order = "".join(f'<p:sldId id="{256 + no}" r:id="r{no}"/>' for no in range(len(bodies)))
    parts = {
        "_rels/.rels": rels(("officeDocument", "/ppt/presentation.xml")),
        "ppt/presentation.xml": f"<p:presentation {P} {R}><p:sldIdLst>{order}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": rels(*(("slide", f"slides/s{no}.xml") for no in range(len(bodies)))),
    }
    parts |= {f"ppt/slides/s{no}.xml": f"<p:sld {P} {A}>{body}</p:sld>" for no, body in enumerate(bodies)}
    return packed(path, parts)


def shape(*texts, kind=""):
    about = f'<p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr>' if kind else ""
    body = "".join(f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>" for text in texts)
    return f"<p:sp>{about}<p:txBody>{body}</p:txBody></p:sp>"


class TestWord:
    def test_headings_lists_and_tables_become_lines(self, tmp_path):
        body = line("Fees", "Kapitel") + line("Late", "berschrift2") + line("A day costs 2 euros.")
        body += line("drills", "Punkt") + line("saws", "Punkt")
        body += f"<w:tbl>{cells('tool', 'fee')}{cells('drill', '5 euros')}</w:tbl>" + line("That is all.")
        document = read_document(word(tmp_path / "a.docx", body))
        assert document.pages == ()
        assert document.text == (
            "# Fees\n\n## Late\n\nA day costs 2 euros.\n\n- drills\n- saws\n\ntool\tfee\ndrill\t5 euros\n\nThat is all."
        )

    def test_runs_breaks_and_tabs_are_joined_and_what_is_not_shown_is_left_out(self, tmp_path):
        body = (
            '<w:p><w:pPr><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr><w:r><w:t>The </w:t></w:r>'
            "<w:del><w:r><w:delText>old </w:delText></w:r></w:del><w:ins><w:r><w:t>new</w:t></w:r></w:ins>"
            "<w:r><w:t> fee</w:t><w:tab/><w:t>is 2</w:t><w:br/><w:t>euros.</w:t></w:r>"
            "<w:r><w:instrText>PAGE</w:instrText></w:r></w:p>"
            "<w:p><w:r><w:ruby><w:rt><w:r><w:t>かし</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>貸</w:t></w:r></w:rubyBase>"
            "</w:ruby><w:t>出</w:t></w:r></w:p>"
        )
        assert read_document(word(tmp_path / "a.docx", body)).text == "The new fee\tis 2\neuros.\n\n貸出"

    def test_text_boxes_footnotes_and_nested_tables_are_read_once(self, tmp_path):
        box = f"<w:txbxContent>{line('In a box.')}</w:txbxContent>"
        body = (
            f"<w:p><w:r><w:t>Before.</w:t><w:AlternateContent><w:Choice>{box}</w:Choice><w:Fallback>{box}</w:Fallback>"
        )
        body += "</w:AlternateContent></w:r></w:p>"
        body += f"<w:tbl><w:tr><w:tc>{line('outer')}<w:tbl>{cells('inner', 'x')}</w:tbl></w:tc></w:tr></w:tbl>"
        notes = {
            "word/_rels/document.xml.rels": rels(("footnotes", "footnotes.xml")),
            "word/footnotes.xml": f"<w:footnotes {W}>{line('Except on Sunday.')}</w:footnotes>",
        }
        text = read_document(word(tmp_path / "a.docx", body, **notes)).text
        assert text == "In a box.\n\nBefore.\n\nouter inner x\n\nExcept on Sunday."

    def test_what_is_not_read_is_named_and_an_empty_header_is_nothing(self, tmp_path):
        kinds = [("header", "h1.xml"), ("header", "h2.xml"), ("comments", "c.xml"), ("image", "media/a.png")]
        parts = {
            "word/_rels/document.xml.rels": rels(*kinds, ("footer", "f.xml"), ("image", "missing.png")),
            "word/h1.xml": f"<w:hdr {W}>{line('House rules, 2024')}</w:hdr>",
            "word/h2.xml": f"<w:hdr {W}>{line('')}</w:hdr>",
            "word/f.xml": f"<w:ftr {W}><w:p/></w:ftr>",
            "word/c.xml": f"<w:comments {W}>{line('Is it so?')}</w:comments>",
            "word/media/a.png": "x",
        }
        read = read_document_set(word(tmp_path / "a.docx", line("Two euros."), **parts))
        assert read.documents[0].text == "Two euros."
        assert read.notes == ("a.docx: its comments, headers, pictures were not read",)
        assert read_document_set(word(tmp_path / "b.docx", line("Two euros."))).notes == ()


class TestPresentations:
    def test_a_slide_is_a_page_and_its_title_a_heading(self, tmp_path):
        rows = [[f"<a:tc>{shape(text)}</a:tc>" for text in row] for row in (("tool", "fee"), ("drill", "5"))]
        table = "".join(f"<a:tr>{''.join(row)}</a:tr>" for row in rows)
        path = slides(
            tmp_path / "a.pptx",
            shape("Loans", kind="title") + shape("Fourteen days.", "Once by phone.") + shape("7", kind="sldNum"),
            "<p:pic/>",
            shape("Fees", kind="ctrTitle") + f"<p:graphicFrame><a:tbl>{table}</a:tbl></p:graphicFrame>",
        )
        document = read_document(path)
        assert document.text == "# Loans\n\nFourteen days.\n\nOnce by phone.\n\n# Fees\n\ntool\tfee\ndrill\t5"
        assert [document.page_at(document.text.index(text)) for text in ("Once", "# Fees")] == [1, 3]
        assert document.empty_pages == (2,)
        (note,) = read_document_set(path).notes
        assert note == "a.pptx: 1 of 3 slides have no text (pictures or scans?): 2"


class TestHostileFiles:
    def test_a_part_that_unpacks_to_gigabytes_is_refused_unread(self, tmp_path, monkeypatch):
        path = word(tmp_path / "a.docx", line("x" * 200_000_001))
        assert path.stat().st_size < 1_000_000
        with pytest.raises(DataError, match=r"a\.docx is too large: its text unpacks to more than 200,000,000 bytes"):
            read_document(path)

    def test_a_document_type_is_refused_and_names_nothing_outside(self, tmp_path):
        secret = tmp_path / "secret.txt"
        secret.write_text("SECRET", "utf-8")
        entity = f'<!DOCTYPE w [<!ENTITY e SYSTEM "{secret.as_uri()}">]>'
        parts = {"word/document.xml": f"{entity}<w:document {W}><w:body>{line('&e;')}</w:body></w:document>"}
        with pytest.raises(DataError, match="declares a document type"):
            read_document(word(tmp_path / "a.docx", "", **parts))

    def test_parts_outside_the_file_are_not_opened(self, tmp_path):
        secret = tmp_path / "secret.xml"
        secret.write_text(f"<w:footnotes {W}>{line('SECRET')}</w:footnotes>", "utf-8")
        for target, mode in ((secret.as_uri(), ' TargetMode="External"'), ("../../secret.xml", ""), (str(secret), "")):
            more = {"word/_rels/document.xml.rels": rels(("footnotes", target), mode=mode)}
            assert read_document(word(tmp_path / "a.docx", line("Fees."), **more)).text == "Fees."

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"no zip", "is damaged"),
            (b"PK\x03\x04" + bytes(300), "is damaged"),
            (b"\xd0\xcf\x11\xe0" + bytes(600), "cannot be opened: it has a password, or is of a version before 2007"),
            (b"", "is empty"),
        ],
    )
    def test_what_is_no_such_file_is_refused(self, tmp_path, content, message):
        path = tmp_path / "a.docx"
        path.write_bytes(content)
        with pytest.raises(DataError, match=rf"a\.docx {message}"):
            read_document(path)

    def test_a_workbook_under_another_name_is_refused(self, tmp_path):
        path = packed(tmp_path / "a.docx", {"_rels/.rels": rels(("officeDocument", "xl/workbook.xml"))})
        with pytest.raises(DataError, match="neither a Word document nor a presentation"):
            read_document(path)

    def test_a_cut_off_file_is_refused_and_not_read_in_part(self, tmp_path):
        whole = word(tmp_path / "a.docx", line("The fee is 2 euros. ") * 500).read_bytes()
        for share in (0.3, 0.6, 0.95):
            (tmp_path / "a.docx").write_bytes(whole[: int(len(whole) * share)])
            with pytest.raises(DataError, match="damaged"):
                read_document(tmp_path / "a.docx")

    def test_deep_nesting_and_slides_without_end_do_no_harm(self, tmp_path):
        deep = "<w:tbl><w:tr><w:tc>" * 20_000 + line("Deep.") + "</w:tc></w:tr></w:tbl>" * 20_000
        assert read_document(word(tmp_path / "a.docx", deep)).text == "Deep."
        path = slides(tmp_path / "a.pptx", *[shape("x")] * (documents_office_process.MAX_SLIDES + 1))
        with pytest.raises(DataError, match="at most 5,000 are read"):
            read_document(path)

    def test_a_reader_that_crashes_or_takes_too_long_is_reported(self, tmp_path, monkeypatch):
        path = word(tmp_path / "a.docx", line("Fees."))
        with pytest.raises(DataError, match=r"could not be read within 0\.001 s"):
            read_office(path, timeout_s=0.001)
        monkeypatch.setattr(documents, "_MEMORY_BYTES", 1 << 20)
        with pytest.raises(DataError, match=r"a\.docx could not be read"):
            read_document(path)
        monkeypatch.setattr(limited_process, "_BOOT", "import os; os.kill(os.getpid(), 11)")
        with pytest.raises(DataError, match="crashed on it"):
            read_document(path)


def test_what_is_not_read_is_named_with_the_reason(tmp_path):
    folder = tmp_path / "docs"
    (folder / "old").mkdir(parents=True)
    for name, text in (("a.md", "The fee is 2 euros."), ("b.txt", " \n"), ("notes.rst", "x"), ("old/data.csv", "x")):
        (folder / name).write_text(text, "utf-8")
    (folder / ".hidden").write_text("x", "utf-8")
    word(folder / "fees.docx", line("The late fee."))
    found = read_document_set(folder)
    assert [document.name for document in found.documents] == ["a.md", "fees.docx"]
    others, empty = found.notes
    assert others.startswith("docs: 2 files were not read, as documents end in .pdf, .docx, .pptx, .md, .markdown")
    assert others.endswith(": notes.rst, old/data.csv")
    assert empty == "b.txt was not read: it has no text"


@pytest.mark.parametrize("name", ["leer.txt", "leer.pdf", "leer.docx", "leer.html"])
def test_an_empty_file_of_a_folder_is_named_and_left_out(tmp_path, name):
    (tmp_path / "a.txt").write_text("A loan lasts two weeks.", "utf-8")
    (tmp_path / name).touch()
    found = read_document_set(tmp_path)
    assert [document.name for document in found.documents] == ["a.txt"]
    assert found.notes == (f"{name} was not read: it is empty",)
    with pytest.raises(DataError, match="is empty"):
        read_document_set([tmp_path, tmp_path / name])


def test_a_document_without_text_is_refused_where_it_is_named_itself(tmp_path):
    (tmp_path / "a.md").write_text("The fee is 2 euros.", "utf-8")
    (tmp_path / "b.txt").write_text(" ", "utf-8")
    with pytest.raises(DataError, match=r"b\.txt has no text"):
        read_document_set([tmp_path / "a.md", tmp_path / "b.txt"])
