"""Which column of a table is the input, which the expected output: by the headers, and by what the prompts name."""

# Why it is so, and what was rejected: docs/decisions/suites-columns-of-any-table.md

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from steelyard.data.columns import HEAD_ROWS, ColumnLayout, find_layout
from steelyard.data.headers import Role, fitting, normalized
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import Column, Table, cell_at, is_blank, render
from steelyard.errors import ConfigError

INPUT: Final = Role("input", required=False, words="general_input", by_position=False, joins=True)
EXPECTED: Final = Role("expected", required=False, words="general_expected", by_position=False)
ROLES: Final = (
    INPUT,
    EXPECTED,
    Role("id", required=False, words="general_id", by_position=False),
    Role("group", required=False, words="general_group", by_position=False),
    Role("cluster", required=False, words="general_cluster", by_position=False),
    Role("contexts", required=False, words="general_contexts", by_position=False),
    Role("checks", required=False, by_position=False),
)
_METADATA: Final = "metadata."
_BY_ROLE: Final = frozenset({"input", "question", "transcript"})
"""Placeholders for the input, whatever its header is."""
_SECRET: Final = ("expected", "checks")
"""Roles that no prompt may show: the answer would be given away."""


def column_named(headers: Mapping[Column, str], name: str) -> Column | None:
    """The column that a placeholder names: by its header as it is written, else without regard to case and marks.

    >>> column_named({0: "Ticket text", 1: "label"}, "ticket_text"), column_named({0: "a"}, "b")
    (0, None)
    """
    exact = next((column for column, header in headers.items() if header == name), None)
    if exact is not None:
        return exact
    form = normalized(name)
    return next((column for column, header in headers.items() if form and normalized(header) == form), None)


@dataclass(frozen=True, slots=True)
class Roles:
    """Finds the roles of a table's columns; what prompts name decides where headers leave a choice.

    Args:
        named: the placeholders of all prompts, in order; none where nothing but the input is sent. `metadata.NAME` is a
            value of the row and never the input.
    """

    named: tuple[str, ...] = ()

    def layout_of(self, table: Table, roles: Sequence[Role], files: SampleFiles) -> ColumnLayout:
        """The columns of a table by role.

        Raises:
            ConfigError: no column for the input, two for one role, or a prompt that names the expected output.
        """
        layout = find_layout(table, roles, self._with_header(table, files))
        if layout.header_row is None and not table.keyed and files.header == "auto":
            first = next((row.number for row in islice(table, HEAD_ROWS) if not is_blank(row)), 1)
            layout = find_layout(table, roles, replace(files, header=first))
        return self._decided(table, layout, files)

    def _with_header(self, table: Table, files: SampleFiles) -> SampleFiles:
        """The files with the row of the header where one of the first rows has a name that a prompt uses."""
        wanted = {normalized(name.removeprefix(_METADATA)) for name in self.named} - {""}
        if table.keyed or files.header != "auto" or not wanted:
            return files
        for row in islice(table, HEAD_ROWS):
            if wanted & {normalized(render(cell)) for cell in row.cells}:
                return replace(files, header=row.number)
        return files

    def _decided(self, table: Table, layout: ColumnLayout, files: SampleFiles) -> ColumnLayout:
        headers = {column: text for column, text in layout.headers.items() if text}
        named = _columns_named(headers, (name.removeprefix(_METADATA) for name in self.named))
        columns = dict(layout.columns)
        if "expected" not in files.columns:
            columns.pop("expected", None)
            if (expected := _expected(table, _free(headers, columns, files.columns), named)) is not None:
                columns["expected"] = (expected,)
        if "input" not in files.columns:
            free = _free(headers, columns, (*files.columns, *_SECRET))
            asked = _columns_named(free, (name for name in self.named if not name.startswith(_METADATA)))
            by_role = any(name in _BY_ROLE and column_named(headers, name) is None for name in self.named)
            fits = fitting(free, INPUT)
            columns["input"] = (_input(table, headers, free, fits if by_role and fits else asked),)
            # A column that a prompt made the input has no other role, whatever its header says.
            columns = {
                role: kept
                for role, found in columns.items()
                if (kept := tuple(c for c in found if role == "input" or c not in columns["input"]))
            }
        decided = replace(layout, columns={role.name: columns[role.name] for role in ROLES if role.name in columns})
        _refuse_shown(table, decided, named)
        return decided


def _free(
    headers: Mapping[Column, str], columns: Mapping[str, tuple[Column, ...]], roles: Iterable[str]
) -> dict[Column, str]:
    """The columns that have none of these roles."""
    given = {column for role in roles for column in columns.get(role, ())}
    return {column: header for column, header in headers.items() if column not in given}


def _expected(table: Table, free: Mapping[Column, str], named: Collection[Column]) -> Column | None:
    fits = fitting(free, EXPECTED)
    unnamed = [column for column in fits if column not in named]
    if len(unnamed) > 1:
        raise _two(table, "expected", [free[column] for column in unnamed])
    # One that a prompt names stays the expected output, so that the prompt is refused.
    return next(iter(unnamed or fits), None)


def _columns_named(headers: Mapping[Column, str], names: Iterable[str]) -> tuple[Column, ...]:
    found = (column_named(headers, name) for name in names)
    return tuple(dict.fromkeys(column for column in found if column is not None))


def _input(table: Table, headers: Mapping[Column, str], free: Mapping[Column, str], asked: Sequence[Column]) -> Column:
    fits = fitting(free, INPUT)
    if asked and not (len(asked) > 1 and asked == fits):
        return next((column for column in fits if column in asked), asked[0])
    if len(fits) > 1:
        raise _two(table, "input", [free[column] for column in fits])
    if not fits:
        example = _longest(table, free)
        raise ConfigError(
            f"{table.title}: no column for the input; the columns found are {', '.join(headers.values()) or 'none'}. "
            f"Name it in a prompt, as {{{{{example}}}}}, or with columns: {{input: {example}}} under samples (init and "
            f"check take --columns input={example})"
        )
    return fits[0]


def _longest(table: Table, free: Mapping[Column, str]) -> str:
    """The header of the column with the longest cells in the first rows, most likely what is asked."""
    rows = list(islice(table, HEAD_ROWS))  # the header is among them in a sheet
    lengths = {
        column: sum(len(render(cell_at(row.cells, column))) for row in rows) - len(header) * (not table.keyed)
        for column, header in free.items()
    }
    return free[max(lengths, key=lambda column: lengths[column])] if free else "COLUMN"


def _two(table: Table, role: str, headers: Sequence[str]) -> ConfigError:
    in_prompt = f"name one in a prompt, as {{{{{headers[0]}}}}}, or " if role == "input" else ""
    return ConfigError(
        f"{table.title}: the columns {' and '.join(headers)} may each be the {role}; {in_prompt}write columns: "
        f"{{{role}: {headers[0]}}} under samples"
    )


def _refuse_shown(table: Table, layout: ColumnLayout, named: Collection[Column]) -> None:
    """Refuse a prompt that shows the expected output or the checks."""
    for role in _SECRET:
        for column in layout.columns.get(role, ()):
            if column in named:
                header = layout.headers.get(column, str(column))
                what = "expected output" if role == "expected" else "check of each answer"
                raise ConfigError(
                    f"prompts: {{{{{header}}}}} is the {what} of {table.title}, so the answer would be given away; "
                    f"where it is not, say what it is: columns: {{input: {header}}} under samples"
                )


def places(layout: ColumnLayout, kept: Mapping[Column, str]) -> Iterator[tuple[str, str]]:
    """Yield (header, where a sample has its value) for every column that prompts and scorers may name.

    Args:
        layout: the columns by role.
        kept: column -> its key of the metadata.
    """
    of_role = {"input": "question", "id": "id", "group": "group", "contexts": "contexts"}
    for role, place in of_role.items():
        for column in layout.columns.get(role, ()):
            yield layout.headers.get(column, str(column)), place
    for column, key in kept.items():
        yield layout.headers.get(column, "") or key, f"metadata.{key}"
