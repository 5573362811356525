"""Replies that people thought of, by family: a data file holds them, and each family has an asserted rate."""

import json
from collections import defaultdict
from pathlib import Path


def stored(name):
    """The rows of a data file."""
    lines = (Path(__file__).parent / "data" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def assert_read_as_meant(rows, least, is_as_meant, *, text="text"):
    """Every family has a rate, and so large a share of its rows is read as the people meant it.

    Args:
        rows: each with its `family`.
        least: family -> share.
        is_as_meant: row -> bool.
        text: key of the reply, for the message.
    """
    assert {row["family"] for row in rows} == least.keys()
    missed = defaultdict(list)
    for row in rows:
        if not is_as_meant(row):
            missed[row["family"]].append(row[text])
    sizes = {family: sum(row["family"] == family for row in rows) for family in least}
    too_many = {family: texts for family, texts in missed.items() if 1 - len(texts) / sizes[family] < least[family]}
    assert not too_many
