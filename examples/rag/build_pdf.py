"""Sets handbook.md as handbook.pdf, the document that the questions of this example are asked about.

    python examples/rag/build_pdf.py            # writes handbook.pdf beside this file; needs reportlab

The reader of Markdown knows what the handbook uses: headings, paragraphs, tables, lists and bold words. The same source
gives the same bytes, so that the character offsets in questions.jsonl stay right.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from reportlab.lib.styles import ParagraphStyle
    from reportlab.pdfgen.canvas import Canvas
    from reportlab.platypus import BaseDocTemplate, Flowable

HERE: Final = Path(__file__).resolve().parent
TITLE: Final = "Keeping a Village Weather Station"
MARGIN_POINTS: Final = 68


def build(source: Path, target: Path) -> None:
    """Set the Markdown file `source` as the PDF `target`, on A4 with a running head and page numbers."""
    from reportlab.lib.pagesizes import A4
    from reportlab.platypus import SimpleDocTemplate

    document = SimpleDocTemplate(
        str(target),
        pagesize=A4,
        leftMargin=MARGIN_POINTS,
        rightMargin=MARGIN_POINTS,
        topMargin=MARGIN_POINTS,
        bottomMargin=MARGIN_POINTS,
        title=TITLE,
        author="The Aldermoor weather station",
        invariant=1,
        # Compressed bytes would differ between builds of zlib; the whole is below 100 kB without.
        pageCompression=0,
    )
    document.build(
        list(flowables(source.read_text("utf-8"), width=document.width)),
        onFirstPage=draw_frame,
        onLaterPages=draw_frame,
    )


def blocks(markdown: str) -> list[list[str]]:
    """The stretches of lines between blank lines."""
    return [block.splitlines() for block in re.split(r"\n\s*\n", markdown.strip())]


def flowables(markdown: str, *, width: float) -> Iterator[Flowable]:
    """The handbook's blocks, each whole on a page `width` points wide, headings together with what follows them.

    Since no paragraph runs over two pages, each passage stands on the one page that its question names.
    """
    from reportlab.platypus import KeepTogether, Paragraph

    styles = make_styles()
    leading: list[Flowable] = []
    for lines in blocks(markdown):
        marks, _, rest = lines[0].partition(" ")
        if set(marks) == {"#"}:
            leading.append(Paragraph(inline(rest), styles[marks]))
        elif lines[-1].endswith(":"):
            leading += body(lines, styles, width=width)
        else:
            yield KeepTogether([*leading, *body(lines, styles, width=width)])
            leading = []


def body(lines: Sequence[str], styles: Mapping[str, ParagraphStyle], *, width: float) -> list[Flowable]:
    """What a block that is not a heading looks like: a table, a list or a paragraph."""
    from reportlab.platypus import Paragraph

    if lines[0].startswith("|"):
        return [table(lines, styles, width=width)]
    if lines[0].startswith("- "):
        return [Paragraph(inline(one.removeprefix("- ")), styles["-"], bulletText="-") for one in lines]
    return [Paragraph(inline(" ".join(lines)), styles[""])]


def inline(text: str) -> str:
    """The paragraph markup of reportlab for a line of Markdown: bold words, the rest as it is."""
    return re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escape(text))


def table(lines: Sequence[str], styles: Mapping[str, ParagraphStyle], *, width: float) -> Flowable:
    """A table whose columns are as wide as their longest cells ask for, in proportion."""
    from reportlab.lib import colors
    from reportlab.platypus import Paragraph, Table, TableStyle

    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    head, records = rows[0], rows[2:]
    longest = [max(len(row[column]) for row in (head, *records)) for column in range(len(head))]
    cells = [[Paragraph(inline(cell), styles["th"]) for cell in head]]
    cells += [[Paragraph(inline(cell), styles["td"]) for cell in row] for row in records]
    whole = (0, 0), (-1, -1)
    grid = TableStyle([("LINEBELOW", *whole, 0.4, colors.grey), ("VALIGN", *whole, "TOP")])
    return Table(
        cells,
        colWidths=[width * part / sum(longest) for part in longest],
        style=grid,
        spaceBefore=4,
        spaceAfter=10,
    )


def make_styles() -> dict[str, ParagraphStyle]:
    """One style per kind of block, named by the mark that begins it in Markdown ("" is a paragraph)."""
    from reportlab.lib.styles import ParagraphStyle

    text = ParagraphStyle("text", fontName="Times-Roman", fontSize=11.5, leading=15.5, spaceAfter=8)
    head = ParagraphStyle("head", fontName="Times-Bold")
    return {
        "": text,
        "-": ParagraphStyle("list", parent=text, leftIndent=14, bulletIndent=3, spaceAfter=3),
        "#": ParagraphStyle("title", parent=head, fontSize=24, leading=30, spaceAfter=10),
        "##": ParagraphStyle("section", parent=head, fontSize=15, leading=20, spaceBefore=14, spaceAfter=6),
        "###": ParagraphStyle("part", parent=head, fontSize=12, leading=16, spaceBefore=8, spaceAfter=4),
        "th": ParagraphStyle("th", parent=text, fontName="Times-Bold", fontSize=10, leading=12.5, spaceAfter=0),
        "td": ParagraphStyle("td", parent=text, fontSize=10, leading=12.5, spaceAfter=0),
    }


def draw_frame(canvas: Canvas, document: BaseDocTemplate) -> None:
    """The running head, from the second page on, and the page number."""
    width, height = document.pagesize
    canvas.saveState()
    canvas.setFont("Times-Italic", 9)
    if document.page > 1:
        canvas.drawString(MARGIN_POINTS, height - 40, TITLE)
    canvas.drawCentredString(width / 2, 36, f"Page {document.page}")
    canvas.restoreState()


if __name__ == "__main__":
    build(HERE / "handbook.md", Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "handbook.pdf")
