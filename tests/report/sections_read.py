"""Sections as tests read them: the first part with some words in its title, caption or first head."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.report.section import Section, TableCell


def every(section: Section) -> Iterator[Section]:
    """The section and all inside it."""
    yield section
    for part in section.parts:
        yield from every(part)


def part(section: Section, words: str) -> Section:
    """The first section with these words in its title, its table's caption or the head of its first column."""
    for candidate in every(section):
        table = candidate.table
        heads = (table.caption, table.columns[0].title) if table else ()
        if any(words in text for text in (candidate.title, *heads)):
            return candidate
    raise AssertionError(f"no part is about {words!r}")


def full(cell: TableCell) -> str:
    """All that a cell says."""
    return ", ".join((cell.text, *cell.more))


def rows(section: Section, words: str) -> dict[str, list[str]]:
    """Name of a row -> its other cells."""
    table = part(section, words).table
    return {row[0].text: [full(cell) for cell in row[1:]] for row in table.rows}


def notes(section: Section, kind: str = "") -> list[str]:
    """Every sentence of a kind, of the sections inside too; "" is any kind."""
    return [note.with_term for part_of in every(section) for note in part_of.notes if kind in {"", note.kind}]
