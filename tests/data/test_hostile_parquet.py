"""Parquet files are read in a limited process, by the sizes that they have when they are unpacked."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from steelyard.data import parquet, parquet_process
from steelyard.data.limited_process import limit
from steelyard.data.load import read_tables
from steelyard.data.parquet_process import MAX_ROWS, holds_bytes
from steelyard.data.sample_files import SampleFiles
from steelyard.errors import DataError


def rows_of(path):
    (table,), _ = read_tables(SampleFiles(path))
    return [row.cells for row in table]


def read_through(path):
    """Rows are read and dropped: those before a limit would take a gigabyte together."""
    (table,), _ = read_tables(SampleFiles(path))
    for _ in table:
        pass


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """The folder of files that another process has written, which returns its memory."""
    folder = tmp_path_factory.mktemp("hostile")
    subprocess.run([sys.executable, str(Path(__file__).with_name("hostile_parquet.py")), str(folder)], check=True)
    return folder


@pytest.mark.parametrize("kind", ["plain", "structs"])
def test_equal_texts_count_as_often_as_they_occur(hostile, kind):
    path = hostile / f"{kind}.parquet"
    assert path.stat().st_size < 20_000
    with pytest.raises(
        DataError, match=rf"{kind}\.parquet is too large to be read: (it unpacks to more than 1,000|.* MiB)"
    ):
        read_through(path)


def test_lists_in_lists_count_as_the_objects_that_they_become(hostile):
    assert (hostile / "lists.parquet").stat().st_size < 10_000
    with pytest.raises(DataError, match="it unpacks to more than 1,000,000,000 bytes"):
        read_through(hostile / "lists.parquet")


def test_more_rows_than_a_table_may_have_are_refused_at_once(tmp_path):
    equal = pa.array(["Q?"] * (MAX_ROWS + 1)).dictionary_encode()
    pq.write_table(pa.table({"question": equal}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="2,000,001 rows; at most 2,000,000 are read"):
        read_tables(SampleFiles(tmp_path / "a.parquet"))


@pytest.mark.parametrize("name", ["numbers", "fields", "text"])
def test_a_row_that_would_fill_the_memory_is_refused(hostile, name):
    with pytest.raises(DataError, match="one of 1 rows unpacks to more than 64,000,000 bytes"):
        read_through(hostile / f"{name}.parquet")


def test_many_columns_are_refused(tmp_path):
    pq.write_table(pa.table({f"c{at}": [1] for at in range(17_000)}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="17,000 columns; at most 16,384 are read"):
        read_tables(SampleFiles(tmp_path / "a.parquet"))


def test_an_honest_file_with_a_dictionary_of_long_texts_is_read(tmp_path):
    passages = ["A passage of the document. " * 40 + str(at) for at in range(20)]
    rows = [{"question": f"q{at}", "passage": passages[at % 20]} for at in range(3_000)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    assert rows_of(tmp_path / "a.parquet") == rows
    frame = pa.Table.from_pylist(rows)
    pq.write_table(frame.set_column(1, "passage", frame["passage"].dictionary_encode()), tmp_path / "b.parquet")
    assert rows_of(tmp_path / "b.parquet") == rows


@pytest.mark.parametrize("form", ["struct", "list", "list of structs"])
def test_dictionaries_in_nested_columns_are_read_over_several_groups_of_rows(tmp_path, form):
    values = [f"v{number % 7}" for number in range(50)]
    column = pa.array(values).dictionary_encode()
    if "struct" in form:
        column = pa.StructArray.from_arrays([column], ["kind"])
    if "list" in form:
        column = pa.ListArray.from_arrays([*range(51)], column)
    pq.write_table(pa.table({"question": values, "part": column}), tmp_path / "a.parquet", row_group_size=8)
    (table,), _ = read_tables(SampleFiles(tmp_path / "a.parquet"))
    rows = [row.cells for row in table]
    as_read = {"struct": lambda text: {"kind": text}, "list": lambda text: [text]}
    expected = as_read.get(form, lambda text: [{"kind": text}])
    assert [row["part"] for row in rows] == [expected(text) for text in values]


def test_bytes_in_a_dictionary_are_bytes():
    assert holds_bytes(pa.dictionary(pa.int32(), pa.binary()))


@pytest.mark.parametrize(("code", "words"), [(signal.SIGXCPU, "takes too long"), (signal.SIGSEGV, "ended with -11")])
def test_a_reader_that_dies_ends_in_an_error_and_not_in_fewer_rows(tmp_path, monkeypatch, code, words):
    (tmp_path / "a.parquet").write_bytes(b"")
    (tmp_path / "dying.py").write_text(
        "import os, sys\nimport pyarrow as pa\n"
        "def main(path, memory, cpu):\n"
        "    batch = pa.RecordBatch.from_pydict({'a': [1]})\n"
        "    with pa.ipc.new_stream(pa.PythonFile(sys.stdout.buffer, mode='w'), batch.schema) as stream:\n"
        "        stream.write_batch(batch)\n"
        f"    sys.stdout.flush()\n    os.kill(os.getpid(), {int(code)})\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    real = parquet.command_for
    monkeypatch.setattr(parquet, "command_for", lambda _module, *given: real("dying", *given))
    with parquet._batches(tmp_path / "a.parquet") as (_, batches):
        assert next(batches).num_rows == 1
        with pytest.raises(DataError, match=words):
            next(batches)


def test_no_process_is_left_when_reading_stops_early(tmp_path):
    pq.write_table(pa.table({"question": [f"q{at}" * 50 for at in range(20_000)]}), tmp_path / "a.parquet")
    (table,), _ = read_tables(SampleFiles(tmp_path / "a.parquet"))
    rows = iter(table)
    next(rows)
    rows.close()
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_the_limits_stand_in_the_process(tmp_path, monkeypatch):
    pq.write_table(pa.table({"question": ["q"]}), tmp_path / "a.parquet")
    monkeypatch.setattr(parquet, "_MEMORY_BYTES", 60 << 20)
    with pytest.raises(DataError, match=r"a\.parquet (is too large|is not a valid)"):
        rows_of(tmp_path / "a.parquet")
    assert parquet_process.MAX_BYTES == 1_000_000_000


def test_where_the_system_has_no_limit_of_the_address_space_the_others_hold(monkeypatch):
    limits = {}

    def set_limit(name, values):
        if name == resource.RLIMIT_AS:
            raise ValueError("current limit exceeds maximum limit")  # as macOS says
        limits[name] = values

    monkeypatch.setattr(resource, "setrlimit", set_limit)
    limit(1 << 30, 60)
    assert limits.keys() == {resource.RLIMIT_CPU, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE}
    assert limits[resource.RLIMIT_CPU] == (60, 60)
