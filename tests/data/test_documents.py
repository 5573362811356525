"""Documents of every kind, sound and hostile, with real PDF files made here."""

import os
import socket

import pytest
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate

from steelyard.data import documents, documents_html, documents_pdf, limited_process
from steelyard.data.documents import Document, read_document, read_document_set, read_documents
from steelyard.data.documents_html import html_text
from steelyard.data.documents_pdf import Line, join_pages, read_pdf
from steelyard.errors import ConfigError, DataError

STYLES = getSampleStyleSheet()
PROSE = "The copper gauge gives the official amount of rain, and whoever reads it lifts the bottle and looks. "


def drawn(path, *pages, font="Helvetica", encrypt=None):
    """A PDF with these lines at (x, y) on each page."""
    canvas = Canvas(str(path), encrypt=encrypt)
    for lines in pages:
        canvas.setFont(font, 12)
        for x, y, text in lines:
            canvas.drawString(x, y, text)
        canvas.showPage()
    canvas.save()
    return path


def set_in_type(path, *parts, decorate=None):
    template = SimpleDocTemplate(str(path))
    build = {} if decorate is None else {"onFirstPage": decorate, "onLaterPages": decorate}
    template.build(list(parts), **build)
    return path


def line(text, top, *, left=72.0, right=300.0, size=10.0, word=30.0):
    return Line(text, left, top, right, top, size, word)


class TestPdf:
    def test_lines_of_a_paragraph_are_joined_and_paragraphs_and_headings_stay_apart(self, tmp_path):
        heading, body = STYLES["Heading1"], STYLES["Normal"]
        path = set_in_type(
            tmp_path / "a.pdf",
            Paragraph("Rain", heading),
            Paragraph(PROSE * 5, body),
            Paragraph("Snow", heading),
            Paragraph(PROSE * 3, body),
        )
        document = read_document(path)
        assert document.text == f"Rain\n\n{(PROSE * 5).strip()}\n\nSnow\n\n{(PROSE * 3).strip()}"
        assert document == Document("a.pdf", document.text, (0,))

    def test_a_place_in_the_text_has_a_page(self, tmp_path):
        path = set_in_type(
            tmp_path / "a.pdf",
            Paragraph("First page.", STYLES["Normal"]),
            PageBreak(),
            Paragraph("Second page.", STYLES["Normal"]),
        )
        document = read_document(path)
        assert document.text == "First page.\n\nSecond page."
        assert document.pages == (0, 13)
        assert [document.page_at(document.text.index(word)) for word in ("First", "page.", "Second")] == [1, 1, 2]

    def test_chinese_lines_are_joined_without_a_blank(self, tmp_path):
        pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
        lines = [(72, 700, "天气记录，每天读数三次。雨"), (72, 684, "量计要放平，不能倾斜。")]
        assert read_document(drawn(tmp_path / "a.pdf", lines, font="STSong-Light")).text == (
            "天气记录，每天读数三次。雨量计要放平，不能倾斜。"
        )

    def test_a_word_broken_at_a_line_end_is_whole_and_a_compound_keeps_its_hyphen(self, tmp_path):
        lines = [
            (72, 700, "The well-kept gauge is an instru-"),
            (72, 686, "ment that is well-"),
            (72, 672, "kept and Anglo-"),
            (72, 658, "Saxon."),
        ]
        text = read_document(drawn(tmp_path / "a.pdf", lines)).text
        assert " ".join(text.split()) == "The well-kept gauge is an instrument that is well-kept and Anglo-Saxon."

    def test_running_heads_and_numbers_of_pages_are_left_out(self, tmp_path):
        def decorate(canvas, template):
            canvas.drawString(72, 800, "The Station Handbook")
            canvas.drawString(280, 30, f"Page {template.page} of 4")

        parts = [
            one
            for number in range(4)
            for one in (Paragraph(f"Rule {number} holds.", STYLES["Normal"]), PageBreak())
        ]  # fmt: skip
        text = read_document(set_in_type(tmp_path / "a.pdf", *parts, decorate=decorate)).text
        assert "Page" not in text
        assert "The Station Handbook" not in text
        assert [f"Rule {number} holds." in text for number in range(4)] == [True] * 4

    def test_a_file_without_text_says_that_it_holds_images(self, tmp_path):
        with pytest.raises(DataError, match=r"a.pdf has 2 pages and no text: .* text recognition"):
            read_document(drawn(tmp_path / "a.pdf", [], []))

    def test_pages_without_text_are_named(self, tmp_path):
        pages = [[(72, 700, "Rain.")], [], [(72, 700, "Hail.")], [], []]
        (note,) = read_document_set(drawn(tmp_path / "a.pdf", *pages)).notes
        assert note == "a.pdf: 3 of 5 pages have no text (pictures or scans?): 2, 4, 5"

    def test_a_scan_in_a_folder_is_left_out_and_named(self, tmp_path):
        drawn(tmp_path / "scan.pdf", [], [])
        (tmp_path / "a.md").write_text("Rain.", "utf-8")
        found = read_document_set(tmp_path)
        assert [document.name for document in found.documents] == ["a.md"]
        assert found.notes[0].startswith("scan.pdf was not read: it has 2 pages and no text: it has only images")

    def test_an_encrypted_file_is_refused_and_one_that_anybody_may_open_is_read(self, tmp_path):
        lines = [(72, 700, "Secret rain.")]
        locked = drawn(tmp_path / "a.pdf", lines, encrypt=StandardEncryption("opens", ownerPassword="owns"))
        with pytest.raises(DataError, match=r"a\.pdf is encrypted"):
            read_document(locked)
        free = drawn(tmp_path / "b.pdf", lines, encrypt=StandardEncryption("", ownerPassword="owns"))
        assert read_document(free).text == "Secret rain."

    @pytest.mark.parametrize("body", [b"no pdf at all", b"%PDF-1.7\n" + bytes(range(256)) * 50, b"%PDF-1.4\n%%EOF"])
    def test_a_file_that_is_no_pdf_is_refused(self, tmp_path, body):
        path = tmp_path / "a.pdf"
        path.write_bytes(body)
        with pytest.raises(DataError, match=r"a\.pdf is damaged, or no PDF"):
            read_document(path)

    def test_a_cut_off_file_is_refused_and_not_read_in_part(self, tmp_path):
        path = set_in_type(tmp_path / "a.pdf", Paragraph(PROSE, STYLES["Normal"]))
        whole = path.read_bytes()
        for share in (0.2, 0.5, 0.9):
            path.write_bytes(whole[: int(len(whole) * share)])
            with pytest.raises(DataError, match=r"a\.pdf is damaged"):
                read_document(path)

    def test_a_row_of_a_table_is_a_line_and_its_cells_are_told_apart(self, tmp_path):
        rows = [("Instrument", "Where it hangs", "0.1 mm"), ("Gauge", "in the enclosure", "0.2 mm")]
        lines = [
            (72 + 150 * column, 700 - 14 * row, cell)
            for row, cells in enumerate(rows)
            for column, cell in enumerate(cells)
        ]
        text = read_document(drawn(tmp_path / "a.pdf", [*lines, (72, 660, "•"), (110, 660, "one entry")])).text
        assert text == "Instrument\tWhere it hangs\t0.1 mm\nGauge\tin the enclosure\t0.2 mm\n\n• one entry"

    def test_a_file_that_crashes_the_reader_is_refused(self, tmp_path, monkeypatch):
        path = drawn(tmp_path / "a.pdf", [(72, 700, "Rain.")])
        monkeypatch.setattr(limited_process, "_BOOT", "import os; os.kill(os.getpid(), 11)")
        with pytest.raises(DataError, match=r"a\.pdf could not be read: the PDF reader crashed on it \(signal 11\)"):
            read_document(path)

    def test_a_file_that_needs_too_much_memory_is_refused(self, tmp_path, monkeypatch):
        path = drawn(tmp_path / "a.pdf", [(72, 700, "Rain.")])
        monkeypatch.setattr(documents_pdf, "_MEMORY_BYTES", 1 << 20)
        with pytest.raises(DataError, match=r"a\.pdf could not be read: "):
            read_document(path)

    def test_a_file_of_too_many_pages_is_refused(self, tmp_path):
        canvas = Canvas(str(tmp_path / "a.pdf"))
        for _ in range(5_001):
            canvas.showPage()
        canvas.save()
        with pytest.raises(DataError, match=r"a\.pdf is too large: 5,001 pages; at most 5,000 are read"):
            read_document(tmp_path / "a.pdf")

    def test_a_file_that_takes_too_long_is_refused(self, tmp_path):
        path = drawn(tmp_path / "a.pdf", [(72, 700, "Rain.")])
        with pytest.raises(DataError, match=r"could not be read within 0\.001 s"):
            read_pdf(path, timeout_s=0.001)

    def test_pages_that_go_round_in_a_circle_end(self, tmp_path):
        path = tmp_path / "a.pdf"
        path.write_bytes(
            b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
            b"2 0 obj<</Type/Pages/Count 99999999/Kids[2 0 R 2 0 R]/Parent 2 0 R>>endobj\n"
            b"trailer<</Root 1 0 R>>\n%%EOF"
        )
        with pytest.raises(DataError, match=r"a\.pdf"):
            read_document(path)


class TestPages:
    def test_a_short_line_ends_and_a_full_one_goes_on(self):
        page = [line("a full line", 90), line("goes on", 78, right=120.0), line("New one.", 66, right=130.0)]
        assert join_pages([page])[0] == "a full line goes on\nNew one."

    def test_entries_of_a_list_stay_apart_and_what_hangs_below_one_belongs_to_it(self):
        page = [line("1. one that is full", 90), line("and hangs", 78, left=90.0), line("2. two", 66)]
        assert join_pages([page])[0] == "1. one that is full and hangs\n2. two"

    def test_a_larger_distance_or_another_size_parts_paragraphs(self):
        page = [line("Title", 120, size=16.0), line("text", 100), line("more", 70)]
        assert join_pages([page])[0] == "Title\n\ntext\n\nmore"

    def test_cells_at_one_height_are_on_one_line(self):
        page = [line("Name", 90, right=100.0), line("Value", 90, left=200.0), line("x", 64, right=80.0)]
        assert join_pages([page])[0] == "Name\tValue\n\nx"

    def test_a_sentence_that_runs_over_a_page_is_parted_by_no_blank_line(self):
        text, starts = join_pages([[line("The gauge", 90)], [], [line("is read.", 90)], [line("Next.", 90)]])
        assert (text, starts) == ("The gauge\nis read.\n\nNext.", (0, 10, 10, 20))

    def test_ligatures_are_folded_and_what_cannot_be_seen_goes(self):
        assert join_pages([[line("of\ufb01ce\u200b \xa0x\x00", 90)]])[0] == "office x"

    def test_equal_lines_at_different_heights_are_no_headers(self):
        pages = [[line("Rule", 90 - 20 * number), line("text", 10)] for number in range(3)]
        assert join_pages(pages)[0].count("Rule") == 3

    @pytest.mark.parametrize("text", ["Page {}", "- {} -", "{} / 9", "Chapter One {}", "第 {} 页"])
    def test_numbers_of_pages_go_even_without_those_of_a_preface(self, text):
        bodies = ["Rain.", "Hail.", "Snow.", "Wind.", "Sun."]
        numbered = [line(text.format(number) if number > 0 else "x", 20) for number in range(-1, 4)]
        pages = [[line(body, 60), number] for body, number in zip(bodies, numbered, strict=True)]
        assert join_pages(pages)[0].split("\n\n") == ["Rain.", "x", "Hail.", "x", "Snow.", "Wind.", "Sun."]

    @pytest.mark.parametrize(("text", "size"), [("Step {}", 16.0), ("Rule {} holds.", 10.0)])
    def test_headings_and_sentences_that_count_along_stay(self, text, size):
        pages = [
            [line(text.format(number), 90, size=size), line("ab"[number % 2], 50), line("b", 40)]
            for number in (1, 2, 3)
        ]
        assert [text.format(number) in join_pages(pages)[0] for number in (1, 2, 3)] == [True] * 3

    def test_heads_of_three_lines_and_those_of_chapters_go(self):
        bodies = ["Rain.", "Hail.", "Snow.", "Wind."]
        pages = [
            [
                line("Observers' Manual", 120, right=200.0),
                line(f"Chapter {1 + no // 2}", 120, left=300.0, right=380.0),
                line("Edition of 2024", 110),
                line("For internal use", 100),
                line(body, 60),
                line("and more of it", 40),
                line(["iv", "v", "vi", "vii"][no], 20),
            ]
            for no, body in enumerate(bodies)
        ]
        found = join_pages(pages)[0]
        assert [word for word in ("Manual", "Chapter", "Edition", "internal", "v", "vi") if word in found.split()] == []
        assert [body in found for body in bodies] == [True] * 4

    def test_a_line_of_two_pages_is_no_running_head(self):
        pages = [[line("Rules", 90), line(body, 50)] for body in ("Rain.", "Hail.")]
        assert join_pages(pages)[0].count("Rules") == 2

    def test_a_head_in_large_type_goes_where_it_is_equal(self):
        pages = [[line("Handbook", 90, size=16.0), line(body, 50)] for body in ("Rain.", "Hail.", "Snow.")]
        assert join_pages(pages)[0] == "Rain.\n\nHail.\n\nSnow."

    def test_pages_that_hold_nothing_else_keep_their_lines(self):
        assert join_pages([[line("Only this", 90)]] * 3)[0].count("Only this") == 3

    def test_numbers_that_do_not_count_the_pages_stay(self):
        pages = [[line(f"{number} mm", 90), line("x", 50)] for number in (7, 3, 12)]
        assert [f"{number} mm" in join_pages(pages)[0] for number in (7, 3, 12)] == [True] * 3


class TestHtml:
    def test_blocks_lists_and_rows_become_lines(self):
        page = """<html><head><title>T</title><style>p {}</style><script>if (a<b) "</p>"</script></head>
            <body><h1>Rain <b>gauge</b></h1><p>First&nbsp;one &amp; more.<br>Line</p>
            <p>Second <i>word</i>, 3 &lt; 4.</p>
            <!-- <p>hidden</p> --><ul><li>one<li><p>two</p></ul>
            <table><tr><th>Name</th><th>Value</th><th>x</th></tr><tr><td>a<td><td><p>c <b>d</b></p></table>
            <h3>End</h3>text</body></html>"""
        assert html_text(page) == (
            "# Rain gauge\n\nFirst one & more.\nLine\n\nSecond word, 3 < 4.\n\n- one\n\n- two\n\n"
            "Name | Value | x\na |  | c d\n\n### End\n\ntext"
        )

    def test_a_table_that_lays_out_a_page_is_read_cell_by_cell(self):
        page = "<table><tr><td><p>A</p><p>B</p><p>C</p></td><td>D</td></tr></table>"
        assert html_text(page) == "A\n\nB\n\nC\n\nD"

    def test_a_row_of_more_than_2000_characters_is_columns_of_a_page(self):
        # With two marks of cells and the gap of a paragraph, 496 letters make it 2,000 characters.
        first, second, rows = "a" * 1000, "b" * 500, {n: "c" * n for n in (496, 497)}
        texts = {
            n: html_text(f"<table><tr><td>{first}<p>{second}</td><td>{third}</table>") for n, third in rows.items()
        }
        assert texts == {496: f"{first} {second} | {rows[496]}", 497: f"{first}\n\n{second}\n\n{rows[497]}"}

    def test_code_keeps_its_lines(self):
        assert html_text("<p>a<pre>x = 1\n  y  = 2</pre>b") == "a\n\nx = 1\n  y  = 2\n\nb"

    def test_a_tag_ends_where_its_quotes_are_closed(self):
        assert html_text('<a title="x > y">link</a> 1 < 2 <b title=">bold</b>') == "link 1 < 2 bold"

    def test_references_are_decoded_once_and_impossible_ones_are_marked(self):
        assert html_text("&amp;lt; &#20094; &#x4e7e; &#" + "9" * 9999 + "; &unknown;") == "&lt; 乾 乾 � &unknown;"

    @pytest.mark.parametrize(
        "unit",
        [
            "<div>",
            "<",
            "<!--",
            '<a "',
            "<a x='>'>",
            "<script>",
            "</script",
            "&amp;",
            "&#",
            "&#9",
            "<tr><td>",
            "<pre>\n\n ",
        ],
    )
    def test_a_flood_gives_no_more_text_than_came(self, unit):
        assert len(html_text(unit * (100_000 // len(unit)))) <= 100_000

    def test_a_flood_of_opened_tags_is_refused(self, tmp_path, monkeypatch):
        assert documents_html.MAX_TAGS == 2_000_000
        monkeypatch.setattr(documents_html, "MAX_TAGS", 20_000)
        path = tmp_path / "a.html"
        path.write_bytes(b"<div>" * 19_000 + b"text")
        assert read_document(path).text == "text"
        path.write_bytes(b"<div>" * 20_002)
        with pytest.raises(DataError, match=r"a.html has more than 20,000 tags"):
            read_document(path)

    @pytest.mark.parametrize(
        ("declared", "encoding"),
        [
            ("iso-8859-1", "cp1252"),
            ("shift_jis", "shift_jis"),
            ("utf-8", "utf-8"),
            ("gb2312", "gb18030"),
            ("", "utf-8"),
        ],
    )
    def test_a_page_is_read_in_the_charset_that_it_declares(self, tmp_path, declared, encoding):
        word = "café “x”" if encoding == "cp1252" else "天気" if encoding == "shift_jis" else "天气"
        path = tmp_path / "a.htm"
        path.write_bytes(f'<meta http-equiv=x content="text/html; charset={declared}"><p>{word}'.encode(encoding))
        assert read_document(path).text == word

    def test_a_page_without_text_is_refused(self, tmp_path):
        (tmp_path / "a.html").write_text("<body><div id=app></div><script>run()</script>")
        with pytest.raises(DataError, match="has no text"):
            read_document(tmp_path / "a.html")


class TestFiles:
    def test_text_has_plain_line_ends_and_no_pages(self, tmp_path):
        (tmp_path / "a.md").write_bytes("# 乾\r\n天".encode("gb18030"))
        document = read_document(tmp_path / "a.md")
        assert document == Document("a.md", "# 乾\n天")
        assert document.page_at(0) is None

    def test_another_kind_and_a_missing_file_are_the_users_mistake(self, tmp_path):
        (tmp_path / "a.rst").write_bytes(b"PK")
        with pytest.raises(ConfigError, match=r"a document ends in \.pdf, .*not \.rst"):
            read_document(tmp_path / "a.rst")
        with pytest.raises(ConfigError, match="there is no file"):
            read_documents(tmp_path / "b.md")

    @pytest.mark.parametrize("blank", [" \n\t\n", "\ufeff"])
    def test_a_file_without_text_is_refused(self, tmp_path, blank):
        (tmp_path / "a.md").write_text(blank, encoding="utf-8")
        with pytest.raises(DataError, match=r"a\.md has no text"):
            read_document(tmp_path / "a.md")

    def test_a_file_that_is_too_large_is_refused_unread(self, tmp_path, monkeypatch):
        monkeypatch.setattr(documents, "MAX_DOCUMENT_BYTES", 3)
        (tmp_path / "a.txt").write_text("four")
        with pytest.raises(DataError, match=r"a\.txt has 4 bytes; a document may have at most 3"):
            read_document(tmp_path / "a.txt")

    def test_a_folder_gives_its_documents_sorted_and_once(self, tmp_path):
        for name in ("b.txt", "a/c.md", "a/x.png", ".hidden/d.md", ".e.md"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(f"text of {name}")
        found = read_documents([tmp_path, tmp_path / "b.txt"])
        assert [(one.name, one.text) for one in found] == [("c.md", "text of a/c.md"), ("b.txt", "text of b.txt")]

    def test_a_link_that_leads_out_of_a_folder_is_refused_unless_it_is_named_itself(self, tmp_path):
        (tmp_path / "docs").mkdir()
        (tmp_path / "private.txt").write_text("private")
        (tmp_path / "docs/notes.txt").symlink_to("../private.txt")
        with pytest.raises(ConfigError, match=r"notes\.txt leads out of the folder .*docs, .* to .*private\.txt"):
            read_documents(tmp_path / "docs")
        assert [one.text for one in read_documents(tmp_path / "docs/notes.txt")] == ["private"]
        assert [one.text for one in read_documents(tmp_path)] == ["private"]

    @pytest.mark.parametrize("kind", ["pipe", "socket", "lost link", "loop"])
    def test_what_is_no_file_in_a_folder_is_named_and_not_opened(self, tmp_path, kind):
        (tmp_path / "a.txt").write_text("text")
        path = tmp_path / "b.txt"
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "socket":
            with socket.socket(socket.AF_UNIX) as opened:
                opened.bind(os.path.relpath(path))
        else:
            path.symlink_to("nothing.txt" if kind == "lost link" else "b.txt")
        with pytest.raises(ConfigError, match=r"b\.txt is (not a file|a symbolic link to \w+\.txt, which cannot be)"):
            read_documents(tmp_path)

    def test_linked_folders_in_a_folder_are_not_entered(self, tmp_path):
        for name in ("docs/a.txt", "private/b.txt"):
            (tmp_path / name).parent.mkdir()
            (tmp_path / name).write_text("text")
        (tmp_path / "docs/more.txt").symlink_to("../private")
        (tmp_path / "docs/again").symlink_to(".")
        assert [one.name for one in read_documents(tmp_path / "docs")] == ["a.txt"]

    def test_equal_names_are_told_apart_by_their_folders(self, tmp_path):
        for name in ("x/en/a.md", "y/en/a.md", "y/zh/a.md", "y/b.md"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text("text")
        assert [one.name for one in read_documents(tmp_path)] == ["x/en/a.md", "b.md", "y/en/a.md", "y/zh/a.md"]

    def test_nothing_to_read_is_the_users_mistake(self, tmp_path):
        with pytest.raises(ConfigError, match="has no document"):
            read_documents([tmp_path])
        with pytest.raises(ConfigError, match="there is no document to read"):
            read_documents([])


@pytest.mark.parametrize(
    "text",
    [
        "Die Säge wird wöchentlich geölt und die Tür täglich geprüft.",
        "naïve",
        "Ação e informação são úteis",
        "une idée créée",
    ],
)
def test_western_text_of_one_byte_a_letter_is_not_read_as_chinese(tmp_path, text):
    path = tmp_path / "notes.txt"
    path.write_bytes(text.encode("cp1252"))
    assert text in str(read_document(path))


@pytest.mark.parametrize(
    "text",
    [
        "繁體中文字的測試，請說明兩者的差異。",
        "朱镕基总理",
        "在Python中用print函数输出abc变量的值",
        "选项A的b和c是x值",
        "设a和b，x与y",
    ],
)
def test_chinese_text_beside_letters_is_read_as_gb18030(tmp_path, text):
    path = tmp_path / "notes.txt"
    path.write_bytes(text.encode("gb18030"))
    assert read_document(path).text.strip() == text
