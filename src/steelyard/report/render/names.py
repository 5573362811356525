"""Names of scores, targets and runs in the columns of a terminal: cut in the middle, broken between words."""

from __future__ import annotations

import re

from rich.cells import cell_len, set_cell_size


def fitting_name(text: str, room: int, most: int) -> str:
    r"""A name on at most `most` lines; its start and end stay, where names of a matrix differ.

    >>> fitting_name("Result correct, execution accuracy (Spider, keep distinct)", 24, 2)
    'Result correct … keep\ndistinct)'
    """
    name, end, second_part = text.strip().partition("\n")
    sizes = range(min(cell_len(name), most * room), room, -1) if re.search("[ _]", name) else ()
    for size in sizes:
        if lines := _between_words(shortened(name, size), room, most):
            return "\n".join(lines) + end + second_part
    lines, remainder = [], shortened(name, most * room)
    while remainder:
        line = set_cell_size(remainder, room).rstrip() if cell_len(remainder) > room else remainder
        lines.append(line)
        remainder = remainder[len(line) :].lstrip()
    return "\n".join(lines) + end + second_part


def _between_words(name: str, room: int, most: int) -> list[str]:
    """A name in at most `most` lines that end between words; empty where it does not fit so."""
    lines: list[str] = []
    for word in re.findall(r"[^ _]*[ _]|[^ _]+$", name):
        if lines and cell_len((lines[-1] + word).rstrip()) <= room:
            lines[-1] += word
        else:
            lines.append(word)
    fits = len(lines) <= most and all(cell_len(line.rstrip()) <= room for line in lines)
    return [line.rstrip() for line in lines] if fits else []


def shortened(name: str, most: int) -> str:
    """A name, cut in its middle if it is wider than `most` columns, between words where a part of it has several.

    >>> shortened("Result correct, accuracy (QATCH)", 28), shortened("glm-4-flash-temperature-0.7", 12)
    ('Result correct … (QATCH)', 'glm-4…e-0.7')
    """
    if cell_len(name) <= most:
        return name
    half = (most - 2) // 2
    start, end = set_cell_size(name, half).rstrip(), set_cell_size(name[::-1], half).rstrip()[::-1]
    if " " not in start or " " not in end:
        return f"{start}…{end}"
    end = end.partition(" ")[2]
    start = set_cell_size(name, most - cell_len(end) - 2).rpartition(" ")[0].rstrip(" ,;:(")
    return f"{start} … {end}"
