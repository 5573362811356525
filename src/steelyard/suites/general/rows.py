"""Reads any table of inputs into samples of the `general` suite; all defects are reported in one pass.

Which column is the input and which the expected output is decided by the headers, and by what the prompts name. Every
column without a role is a value of its row: prompts and scorers may name it, and it is kept with the sample. Images and
PDFs in messages are data URIs, or files under the dataset's folder, which become data URIs.
"""

# Why it is so, and what was rejected: docs/decisions/suites-columns-of-any-table.md

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, Final

from steelyard.building.row_values import values_of_row
from steelyard.data.columns import HEAD_ROWS, ColumnLayout, find_layout
from steelyard.data.headers import Role, fitting, normalized
from steelyard.data.rows import (
    EXPECTATIONS,
    EXPECTED_RESPONSE,
    TURNS,
    OpenTable,
    RowDataset,
    last_of_turns,
    object_as_printed,
    open_tables,
    read_rows,
)
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import (
    Column,
    Defect,
    Row,
    Table,
    answers_in,
    cell_at,
    is_blank,
    is_blank_cell,
    list_in,
    object_in,
    render,
    titled_passages,
)
from steelyard.data.text_tables import SqlLine
from steelyard.data.unread import UnusedColumns
from steelyard.errors import ConfigError, DataError
from steelyard.files import read_regular, require_within
from steelyard.prompts.conversation import answer_of, flaw_in, is_messages, messages_in
from steelyard.scorers.combined import CHECKS
from steelyard.suites.general.checks import checks_in, defects_of
from steelyard.types import Message, Sample

_MOST_BYTES: Final = 20_000_000
_PDF: Final = "application/pdf"
_MAGIC: Final[Mapping[bytes, str]] = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"%PDF-": _PDF,
}
_DATA: Final = re.compile(r"data:(image/(?:png|jpeg|gif|webp)|application/pdf);base64,[A-Za-z0-9+/=\s]+", re.ASCII)
_IMAGE_PARTS: Final = frozenset({"image_url", "input_image"})


def with_images(messages: Sequence[Message], folder: Path | None) -> list[Message]:
    """The messages with every image and PDF as a data URI.

    Args:
        messages: those of a row.
        folder: of the dataset's file; None where rows come from no file.

    Raises:
        ConfigError: an address on the web, a file outside of the folder, or one that is neither.
    """
    return [
        {**message, "content": [_part(part, folder) for part in message["content"]]}
        if isinstance(message.get("content"), list)
        else message
        for message in messages
    ]


def _part(part: Any, folder: Path | None) -> Any:
    if not isinstance(part, Mapping):
        return part
    if part.get("type") in _IMAGE_PARTS:
        given = part.get("image_url")
        if isinstance(given, Mapping):
            return {**part, "image_url": {**given, "url": _data_uri(given.get("url"), folder, "image")}}
        return {**part, "image_url": _data_uri(given, folder, "image")}
    file = part.get("file")
    if part.get("type") != "file" or not isinstance(file, Mapping):
        return part
    address = file.get("file_data")
    name = (
        {} if not isinstance(address, str) or address.startswith("data:") else {"filename": PurePosixPath(address).name}
    )
    return {**part, "file": {**name, **file, "file_data": _data_uri(address, folder, "PDF")}}


def _data_uri(address: Any, folder: Path | None, what: str) -> str:
    """An image or PDF as a data URI.

    Args:
        address: path of a file, or a data URI already.
        folder: of the dataset's file.
        what: `image` or `PDF`.
    """
    if not isinstance(address, str) or not address.strip():
        raise ConfigError(
            f"the {what} has no address: write the path of a file under the dataset's folder, or a data URI"
        )
    if address.startswith("data:"):
        data_uri = _DATA.fullmatch(address)
        if data_uri and (data_uri[1] == _PDF) == (what == "PDF"):
            return address
        begins = "data:application/pdf;base64," if what == "PDF" else "data:image/png;base64, (or jpeg, gif, webp)"
        raise ConfigError(f"the data URI of the {what} must begin with {begins}")
    path = PurePosixPath(address)
    if "://" in address or path.is_absolute() or folder is None:
        raise ConfigError(
            f"the {what} must be a file under the dataset's folder or a data URI, and nothing is downloaded: "
            f"{address[:80]!r}"
        )
    file = folder / path
    require_within(folder, file)
    try:
        content = read_regular(file, _MOST_BYTES)
    except (OSError, ValueError) as error:
        raise ConfigError(f"the {what} {address[:80]!r} cannot be read: {error}") from error
    media = _media(content)
    if media is None or (media == _PDF) != (what == "PDF"):
        raise ConfigError(f"{address[:80]!r} is no {'PDF' if what == 'PDF' else 'PNG, JPEG, GIF or WebP image'}")
    return f"data:{media};base64,{b64encode(content).decode()}"


def _media(content: bytes) -> str | None:
    """The media type of a file by its first bytes, whatever its name says; None for any other."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((media for magic, media in _MAGIC.items() if content.startswith(magic)), None)


_PRINTED: Final = re.compile(r"\{'\w+': |\[(?:\{'\w+': |None|True|False)")
INPUT: Final = Role("input", required=False, words="general_input", by_position=False, joins=True)
_LIKELY: Final = Role("input", words="general_likely_input")
"""Headers of an input in a table that has no other."""
_ANSWER: Final = Role("answer", words="answer")
EXPECTED: Final = Role("expected", required=False, words="general_expected", by_position=False)
_ID: Final = Role("id", required=False, words="general_id", by_position=False)
ROLES: Final = (
    INPUT,
    EXPECTED,
    _ID,
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
            decided_by_header = by_role and _inputs(free)
            if not (asked or _inputs(free)):
                asked = _only_one_left(headers, columns)
            columns["input"] = (_input(table, headers, free, () if decided_by_header else asked),)
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


def _inputs(free: Mapping[Column, str]) -> tuple[Column, ...]:
    return fitting(free, INPUT) or fitting(free, _LIKELY)


def _expected(table: Table, free: Mapping[Column, str], named: Collection[Column]) -> Column | None:
    fits = fitting(free, EXPECTED)
    unnamed = [column for column in fits if column not in named]
    if len(unnamed) > 1:
        raise _two(table, "expected", [free[column] for column in unnamed])
    if not fits and "inputs" in free.values():
        fits = _expected_of_examples(table, free)
        unnamed = [column for column in fits if column not in named]
    # One that a prompt names stays the expected output, so that the prompt is refused.
    return next(iter(unnamed or fits), None)


def _expected_of_examples(table: Table, free: Mapping[Column, str]) -> tuple[Column, ...]:
    """The column of expected outputs beside `inputs`: `outputs` of LangSmith's examples, `expectations` of MLflow.

    Beside `expectations`, and in LangSmith's runs, `outputs` are what an application answered.
    """
    columns = {header: column for column, header in free.items()}
    if EXPECTATIONS in columns:
        cells = (cell_at(row.cells, columns[EXPECTATIONS]) for row in islice(table, HEAD_ROWS))
        values = map(object_as_printed, cells)
        has_answers = any(isinstance(value, Mapping) and EXPECTED_RESPONSE in value for value in values)
        return (columns[EXPECTATIONS],) if has_answers else ()
    return (columns["outputs"],) if "outputs" in columns and "run_type" not in columns else ()


def _columns_named(headers: Mapping[Column, str], names: Iterable[str]) -> tuple[Column, ...]:
    columns = (column_named(headers, name) for name in names)
    return tuple(dict.fromkeys(column for column in columns if column is not None))


def _only_one_left(headers: Mapping[Column, str], columns: Mapping[str, tuple[Column, ...]]) -> tuple[Column, ...]:
    """The only column that is left without a role, in a table where headers have given others one."""
    left = tuple(_free(headers, columns, columns))
    return left if columns and len(left) == 1 else ()


def _input(table: Table, headers: Mapping[Column, str], free: Mapping[Column, str], asked: Sequence[Column]) -> Column:
    fits = _inputs(free)
    if asked:
        likely = [*(column for column in fits if column in asked), asked[0]]
        # Beside the instructions of Alpaca, `input` is blank where there is none.
        return next((column for column in likely if len(asked) > 1 and _is_filled(table, column)), likely[0])
    if len(fits) > 1:
        raise _two(table, "input", [free[column] for column in fits])
    if not headers:
        raise DataError(f"{table.title}: there is no row in it")
    if not fits:
        example = _longest(table, free)
        sheet = ", or leave this sheet out with sheets" if table.sheet else ""
        if tuple(headers.values()) == SqlLine._fields:
            raise ConfigError(f"{table.title} is read as SQL, a statement a line; name a table .csv, .tsv or .jsonl")
        raise ConfigError(
            f"{table.title}: no column for the input; the columns found are {', '.join(headers.values()) or 'none'}"
            f"{'' if table.keyed else ', since the first row is the header'}. "
            f"Name it in a prompt, as {{{{{example}}}}}, or with columns: {{input: {example}}} under samples (init and "
            f"check take --columns input={example}){sheet}"
        )
    return fits[0]


def _is_filled(table: Table, column: Column) -> bool:
    return not any(is_blank_cell(cell_at(row.cells, column)) for row in table if not is_blank(row))


def _longest(table: Table, free: Mapping[Column, str]) -> str:
    """The header of the column with the longest texts in the first rows, most likely what is asked; no id or answer."""
    known = {*fitting(free, _ID), *fitting(free, _ANSWER)}
    free = {column: header for column, header in free.items() if column not in known} or free
    rows = list(islice(table, HEAD_ROWS))  # the header is among them in a sheet
    cells = {column: [cell_at(row.cells, column) for row in rows] for column in free}
    lengths = {
        column: sum(len(render(cell)) for cell in cells[column] if not isinstance(cell, list | dict))
        - len(header) * (not table.keyed)
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
        yield key, f"metadata.{key}"
        yield layout.headers.get(column, "") or key, f"metadata.{key}"


_OWN_KEYS: Final = frozenset({"position", "source", "sheet", "passage", "sources", "predictions", "order", "several"})
"""Keys of metadata that mean something to other parts; a column of that name is kept as `NAME column`."""


@dataclass(frozen=True, slots=True)
class GeneralRows:
    """A table of inputs, completely read and checked.

    Args:
        data: the samples, notes and defects.
        places: header -> where a sample has the value of that column: `question`, `metadata.channel` ...
        names: header -> the name that scorers know the column by, where that is another.
    """

    data: RowDataset
    places: Mapping[str, str]
    names: Mapping[str, str]


class ValueColumns(UnusedColumns):
    """Columns without a role, which are values for prompts and scorers: whole documents too."""

    most_characters = 10_000_000

    def about_names(self, n: int, listed: str, example: str) -> str:
        """The note that lists them."""
        many = n > 1
        return (
            f"{n} further {'columns' if many else 'column'}: {listed}; "
            f"a prompt or a scorer may use {'them' if many else 'it'}, as {{{{{example}}}}}"
        )


def load_general(files: SampleFiles, *, named: tuple[str, ...] = ()) -> GeneralRows:
    """Read and check a whole table of inputs.

    Of a sample, `input` is a text, a list of messages or any other JSON value; `reference` the expected output: a text,
    a list of texts where several are right, an object, or None. `metadata` has the value of every other column.

    Args:
        files: which rows of which files.
        named: the placeholders of all prompts: they decide which column is the input where headers do not.

    Raises:
        ConfigError: a file, sheet or column does not exist, no column is the input, or two may be.
        DataError: a file cannot be read, rows have defects and `skip_bad` is off, or no sound row is left.
    """
    opened = open_tables(files, ROLES, layout_of=Roles(named).layout_of, unused=ValueColumns(_OWN_KEYS))
    # Images are below the folder of the row's file.
    folders = {path.name: path.parent for path in files.paths}
    data = read_rows(files, ROLES, partial(_sample, folders), opened=opened)
    places_by_header = dict(place for table in opened[0] for place in places(table.layout, table.unused.kept))
    samples, notes = data.samples, list(data.notes)
    # A prompt that names the transcript asks about the whole conversation; any other is put into its last question.
    if "transcript" not in named and not any("expected" in table.layout.columns for table in opened[0]):
        samples = tuple(map(_without_answer, samples))
        if any(sample.reference is not None for sample in samples):
            notes.append(
                "the last message of a conversation, if it is the assistant's, is the expected output; not sent"
            )
    data = replace(data, samples=samples, notes=(*notes, *_notes_on(samples)))
    return GeneralRows(data, places_by_header, scorer_names(opened[0]))


def _without_answer(sample: Sample) -> Sample:
    """The sample with the last message as its expected output, if it is the assistant's, as in data for fine-tuning."""
    messages = sample.input
    if not is_messages(messages) or messages[-1]["role"] != "assistant":
        return sample
    return replace(sample, input=messages[:-1], reference=expected_in(messages[-1]))


def scorer_names(tables: Iterable[OpenTable]) -> dict[str, str]:
    """Header -> the name that scorers know the column by, where that is another: `{"source": "input"}`."""
    known = values_of_row(Sample("", ""))
    headers = (
        (table.layout.headers.get(column, ""), role)
        for table in tables
        for role, columns in table.layout.columns.items()
        for column in columns
        if role != CHECKS
    )
    return {header: role for header, role in headers if header and header not in known}


def _asked(folder: Path | None, table: OpenTable, row: Row, defects: list[Defect]) -> Any:
    """The input of a row: messages with their images, a text, or any other JSON value as it is."""
    value = table.example(table.cell(row, "input"), "input")
    if (messages := messages_in(value)) is not None:
        try:
            messages = with_images(messages, folder)
        except ConfigError as error:
            defects.append(table.defect("bad image", row, "input", error.message))
        if flaw := flaw_in(messages[:-1] if messages[-1]["role"] == "assistant" else messages):
            defects.append(table.defect("blank input", row, "input", flaw))
        return messages
    if is_blank_cell(value):
        defects.append(table.defect("blank input", row, "input", "the input is blank"))
    # Blanks at the beginning of a line of code count; a cell of a sheet was typed.
    is_exact = isinstance(value, str) and table.table.keyed
    return value if is_exact or isinstance(value, list | dict) else render(value)


def _sample(folders: Mapping[str, Path], table: OpenTable, row: Row, sample: Sample, defects: list[Defect]) -> Sample:
    asked = _asked(folders.get(table.table.name), table, row, defects)
    texts = _texts(table.cell(row, "contexts"))
    if texts is None:
        defects.append(
            table.defect(
                "bad contexts", row, "contexts", "contexts is neither a text nor a list of texts; write a list"
            )
        )
    metadata = {**sample.metadata}
    if sample.cluster:
        metadata[table.layout.headers[table.layout.columns["cluster"][0]]] = sample.cluster
    cell = table.cell(row, "expected")
    if table.header("expected") == EXPECTATIONS and (others := _other_expectations(cell)):
        metadata[EXPECTATIONS] = others
    reference = expected_in(table.example(cell, "expected"))
    if isinstance(reference, str):
        reference = table.with_aliases(reference, row, "expected")
    if table.header("input") == TURNS:
        reference = last_of_turns(asked, reference)
    sample = replace(sample, input=asked, reference=reference, contexts=texts or (), metadata=metadata)
    return _with_checks(table, row, sample, defects)


def _other_expectations(cell: Any) -> dict[str, Any]:
    """What MLflow's `expectations` hold beside the expected response: guidelines, facts ..."""
    value = object_as_printed(cell)
    return {key: part for key, part in value.items() if key != EXPECTED_RESPONSE} if isinstance(value, Mapping) else {}


def _with_checks(table: OpenTable, row: Row, sample: Sample, defects: list[Defect]) -> Sample:
    """The sample with the checks of its row, which are tried on it."""
    place = table.location(row, CHECKS)
    try:
        checks = checks_in(table.cell(row, CHECKS), place, scorer_names([table]))
    except ConfigError as error:
        defects.append(Defect("bad checks", place, error.message))
        return sample
    if checks is None:
        return sample
    with_checks = replace(sample, metadata={**sample.metadata, CHECKS: checks})
    # Options may name any column of the row.
    values = {**table.unused.values(row), **with_checks.metadata}
    defects.extend(defects_of(replace(with_checks, metadata=values), place))
    return with_checks


def expected_in(cell: Any) -> Any:
    """The expected output in a cell: a text, several right texts, an object or list of JSON, or None where it is blank.

    >>> expected_in(" Rome "), expected_in('["Rome", "Roma"]'), expected_in('{"city": "Rome"}'), expected_in("")
    ('Rome', ['Rome', 'Roma'], {'city': 'Rome'}, None)
    >>> expected_in(True), expected_in([1, 2]), expected_in([{"role": "assistant", "content": "Rome"}])
    ('true', ['1', '2'], 'Rome')
    >>> expected_in("[42]"), expected_in("[[1, 2], [3]]"), expected_in("[]")  # brackets of the answer; no answer
    ('[42]', '[[1, 2], [3]]', None)
    >>> expected_in({"text": ["Rome", "Roma"], "answer_start": [5, 80]})
    ['Rome', 'Roma']
    >>> expected_in({"value": "Rome", "normalized_value": "rome", "aliases": ["Roma", "Rome"]})
    ['Rome', 'Roma']
    """
    if is_blank_cell(cell):
        return None
    if (answer := answer_of([cell] if isinstance(cell, dict) else cell)) is not None:
        return answer or None
    if isinstance(cell, dict) and (answers := answers_in(cell)) is not None:
        return expected_in(answers)
    if isinstance(cell, str):
        value = _several_in(cell) if cell.lstrip().startswith("[") else object_in(cell)
        return cell.strip() if value is None else expected_in(value)
    if isinstance(cell, list) and not any(isinstance(part, list | dict) or part is None for part in cell):
        return [_scalar(part) for part in cell]
    return cell if isinstance(cell, list | dict) else _scalar(cell)


def _several_in(cell: str) -> list[Any] | None:
    """The right texts or the messages in a cell; None of any other list: its brackets are those of the answer."""
    value = list_in(cell)
    if value is None or is_messages(value) or all(isinstance(part, str) for part in value):
        return value
    return None


def _scalar(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else render(value)


def _texts(cell: Any) -> tuple[str, ...] | None:
    """The passages, or other texts, in a cell; None where they are no texts."""
    value = titled_passages(list_in(cell) if isinstance(cell, str) else cell)
    if isinstance(value, list):
        return tuple(value) if all(isinstance(text, str) for text in value) else None
    return () if is_blank_cell(cell) else None if isinstance(cell, dict) else (render(cell),)


def _notes_on(samples: tuple[Sample, ...]) -> Iterator[str]:
    missing = sum(sample.reference is None for sample in samples)
    for name in ("choices", "options"):
        if samples and all(isinstance(sample.metadata.get(name), list | dict) for sample in samples):
            yield f"each row has {name}: the suite choice reads exams; here they are only a value"
    for what, name in (("inputs", "input"), ("expected outputs", "reference")):
        values = (getattr(sample, name) for sample in samples)
        printed = sum(isinstance(value, str) and bool(_PRINTED.match(value)) for value in values)
        if printed:
            yield f"{what} as Python prints objects are read as texts ({printed} rows); write objects as JSON"
    if 0 < missing < len(samples):
        yield f"{missing} of {len(samples)} rows have no expected output"
    if objects := sum(isinstance(sample.input, dict) for sample in samples):
        yield f"{objects} of {len(samples)} inputs are objects, which are asked as the text of their JSON"
