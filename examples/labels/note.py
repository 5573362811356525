"""Fill in the sheet of an error analysis with the notes in notes.csv, and hand it in.

python examples/labels/note.py ANALYSIS [--store FILE]
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
STEELYARD = Path(sys.executable).with_name("steelyard")
READER = "dee"


def main() -> None:
    """Fetch the sheet, write a note and a code beside each record, and hand it in."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("analysis", help="the error analysis's id")
    parser.add_argument("--store", help="where it is; by default .steelyard/steelyard.db")
    given = parser.parse_args()
    store = ["--store", given.store] if given.store else []
    notes = read_notes()
    with tempfile.TemporaryDirectory() as folder:
        sheet = Path(folder) / "sheet.csv"
        steelyard("errors", "sheet", given.analysis, "--out", str(sheet), *store)
        with sheet.open(encoding="utf-8-sig", newline="") as file:
            rows = sorted(csv.DictReader(file), key=lambda row: (row["sample"], row["target"]))
        for row in rows:
            row["note"], row["code"] = notes.get((row["sample"], row["target"]), ("ok", ""))
        with sheet.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        print(steelyard("errors", "note", given.analysis, "--author", READER, "--from", str(sheet), *store), end="")


def read_notes() -> dict[tuple[str, str], tuple[str, str]]:
    """(sample, target) -> note and code of each answer with an error."""
    with (HERE / "notes.csv").open(encoding="utf-8", newline="") as file:
        return {(row["id"], row["target"]): (row["note"], row["code"]) for row in csv.DictReader(file)}


def steelyard(*arguments: str) -> str:
    """Run a command, and return what it prints."""
    return subprocess.run([STEELYARD, *arguments], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
