"""Looks up where the sources of questions.jsonl stand in handbook.pdf, and writes page and character offsets to them.

    python examples/rag/locate.py            # after a change of the handbook or of a source

Offsets count characters of the text as the library reads it; blanks and line breaks in it are as they fall.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, Final

from steelyard.data import Document, read_document

HERE: Final = Path(__file__).resolve().parent


def place(source: str, document: Document) -> dict[str, int]:
    """Page, start and end of the one place where a source stands; the program ends where there is none or several."""
    words = r"\s+".join(map(re.escape, source.split()))
    found = list(re.finditer(words, document.text))
    if len(found) != 1:
        sys.exit(f"stands {len(found)} times in {document.name}: {source}")
    start, end = found[0].span()
    return {"page": document.page_at(start) or 1, "start": start, "end": end}


def located(row: dict[str, Any], document: Document) -> dict[str, Any]:
    """A row with the places of its source, or of each in its list of sources."""
    source = row.get("source")
    if isinstance(source, list):
        return row | {"source": [one | place(one["text"], document) for one in source]}
    return row | place(source, document) if source else row


def main() -> None:
    """Write the file again, its rows in the same order."""
    file = HERE / "questions.jsonl"
    document = read_document(HERE / "handbook.pdf")
    rows = [located(json.loads(line), document) for line in file.read_text("utf-8").splitlines()]
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    print(f"{len(rows)} questions, {sum('source' in row for row in rows)} with their places in {document.name}")


if __name__ == "__main__":
    main()
