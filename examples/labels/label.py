"""Put the labels of three raters into a queue the way that they would: each fills in a CSV sheet, some rows at a time.

python examples/labels/label.py QUEUE [--store FILE]
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
STEELYARD = Path(sys.executable).with_name("steelyard")
RATERS = ("ann", "ben", "cho")
AT_ONCE = 45
"""Rows that a rater fills in before the next one begins."""


def main() -> None:
    """Let raters take turns until the queue has nothing left for any of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("queue", help="the queue's id")
    parser.add_argument("--store", help="where it is; by default .steelyard/steelyard.db")
    given = parser.parse_args()
    store = ["--store", given.store] if given.store else []
    with tempfile.TemporaryDirectory() as folder:
        sheet = Path(folder) / "sheet.csv"
        waiting = list(RATERS)
        while waiting:
            waiting = [rater for rater in waiting if label(given.queue, rater, sheet, store)]


def label(queue: str, rater: str, sheet: Path, store: list[str]) -> bool:
    """Fetch a rater's sheet, fill in some of its rows and hand it in; whether some were left blank."""
    steelyard("queue", "sheet", queue, "--author", rater, "--out", str(sheet), *store)
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows:
        return False
    verdicts = read_verdicts(rater)
    for row in rows[:AT_ONCE]:
        row["verdict"], row["comment"] = verdicts[row["question"], row["answer"]]
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    print(steelyard("queue", "label", queue, "--author", rater, "--from", str(sheet), *store), end="")
    return len(rows) > AT_ONCE


def read_verdicts(rater: str) -> dict[tuple[str, str], tuple[str, str]]:
    """(question, answer) -> the rater's verdict and comment. A sheet is blind: it names neither sample nor target."""
    questions = {row["id"]: row["question"] for row in json_lines("questions.jsonl")}
    answers = {row["id"]: row for row in json_lines("answers.jsonl")}
    with (HERE / "raters" / f"{rater}.csv").open(encoding="utf-8", newline="") as file:
        return {
            (questions[row["id"]], answers[row["id"]][row["target"]]): (row["verdict"], row["comment"])
            for row in csv.DictReader(file)
        }


def json_lines(name: str) -> list[dict[str, str]]:
    """The rows of a file beside this one."""
    return [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]


def steelyard(*arguments: str) -> str:
    """Run a command, and return what it prints."""
    return subprocess.run([STEELYARD, *arguments], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
