"""Writes Parquet files that unpack to more than is read: a process of its own, as making them takes up to 500 MiB.

`python hostile_parquet.py FOLDER`
"""

import sys
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet as pq

LONG = "x" * 1_000_000


def write_equal_texts(path, kind):
    """A column of one long text, 1,200 times, in a file of a few kilobytes."""
    # A column of texts is written in pieces, as pyarrow unpacks each; one in structs must be whole to be read again.
    pieces = 30 if kind == "plain" else 1
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * (1_200 // pieces), pa.int32()), pa.array([LONG]))
    table = pa.table({"question": texts if kind == "plain" else pa.StructArray.from_arrays([texts], ["a"])})
    # Without the schema of Arrow the column is one of texts and not of a dictionary.
    with pq.ParquetWriter(path, table.schema, compression="zstd", store_schema=kind == "structs") as file:
        for _ in range(pieces):
            file.write_table(table)


def write_lists_in_lists(path):
    row = pa.array([[[True]] * 250_000], pa.list_(pa.list_(pa.bool_())))
    pq.write_table(pa.table({"question": pa.concat_arrays([row] * 70)}), path, compression="zstd")


def main(folder):
    for kind in ("plain", "structs"):
        write_equal_texts(folder / f"{kind}.parquet", kind)
    write_lists_in_lists(folder / "lists.parquet")
    for name, value in (
        ("numbers", pa.array([[1] * 9_000_000], pa.list_(pa.int8()))),
        ("fields", pa.array([{"a": [[0] * 9_000_000]}], pa.struct([("a", pa.list_(pa.list_(pa.int8())))]))),
        ("text", pa.array(["x" * 70_000_000])),
    ):
        pq.write_table(pa.table({"question": value}), folder / f"{name}.parquet", compression="zstd")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
