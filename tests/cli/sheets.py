"""Verdicts of people as they reach the store from the command line: in a sheet."""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path


def labelled(steelyard, run, sample, verdict="", *flags, repeat=0, comment="", code=0):
    """What `label` says of a sheet with one row."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "verdict.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["sample", "repeat", "verdict", "comment"])
            rows.writerow([sample, repeat, verdict, comment])
        return steelyard("label", run, "--from", path, *flags, code=code)
