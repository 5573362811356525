"""The statements of tests/sql/corpus: one a line, `create ||| query`, with marks for what a line cannot hold."""

from __future__ import annotations

from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"


def read_corpus(name, **places):
    """(create, query) of each line; `{name}` stands for a place, ⏎ for a line break, ␍ for a CR, ␀ for a NUL."""
    found = []
    for line in (CORPUS / f"{name}.sql").read_text(encoding="utf-8").splitlines():
        text = line.replace("⏎", "\n").replace("␍", "\r").replace("␀", "\0")
        for place, path in places.items():
            text = text.replace("{" + place + "}", str(path))
        create, bar, query = text.partition(" ||| ")
        found.append((create, query) if bar else ("", text))
    return found
