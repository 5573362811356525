"""The keys of the viewer's pages: one table for the sheet that `?` shows, the documentation and the tests.

A page gives the key to a link, a button or a field by the attribute `data-key`; the script presses or focuses it. Rows
(`data-row`) are the exception: `j` and `k` go from one to the next, Enter follows the link of the chosen one. Keys do
nothing while somebody types into a field, and with Ctrl, Alt or Meta they stay the browser's.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class ViewerKey(NamedTuple):
    """A key, as browsers name it, and what it does."""

    key: str
    does: str
    shown: str = ""

    @property
    def name(self) -> str:
        """The key as the sheet shows it."""
        return self.shown or self.key


KEYS: Final = (
    ViewerKey("j", "next row of a table, or next sample"),
    ViewerKey("k", "previous row of a table, or previous sample"),
    ViewerKey("Enter", "open the chosen row"),
    ViewerKey("Escape", "leave a field, close this sheet or the list of columns, or go back to the page above", "Esc"),
    ViewerKey("[", "previous run"),
    ViewerKey("]", "next run"),
    ViewerKey("1", "label: the verdict of that number; error analysis: the code", "1–9"),
    ViewerKey("0", "label: cannot tell; error analysis: nothing is wrong"),
    ViewerKey("c", "label: comment; error analysis: note; runs, run: compare"),
    ViewerKey("u", "label: withdraw the last verdict; error analysis: the last note"),
    ViewerKey("n", "error analysis: a new error type, or another by its name"),
    ViewerKey("g", "error analysis: group the notes, or note records again"),
    ViewerKey("Ctrl+Enter", "label, error analysis: done, next record; dataset: put the row into the draft, or save"),
    ViewerKey("a", "dataset: add a row; sample: add it to a dataset"),
    ViewerKey("x", "dataset: retire the row; comparison: swap the runs"),
    ViewerKey("d", "dataset: show the draft"),
    ViewerKey("/", "search runs, samples and pages"),
    ViewerKey("f", "filter"),
    ViewerKey("o", "run, comparison: choose the columns of the table of samples; Esc closes the list"),
    ViewerKey("?", "show this sheet"),
)
