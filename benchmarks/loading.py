"""How long an exam of 10,000 questions takes to load and check, beside the bare reader of workbooks.

    python -m benchmarks.loading

The workbook has 7 columns of Chinese text: a question, four options, a key and a category. `python-calamine` alone
gives its cells as lists; Steelyard examines the archive first, finds the columns, reads keys and options, and looks for
duplicates and defects. Both run in turn in one process, in CPU time of this process, so that other work on the machine
weighs on neither; the ratio is the one figure that can be carried to another machine.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

QUESTIONS = 10_000
ROUNDS = 7
HEAD = ("reader", "file", "rows", "CPU s, median", "CPU s, least", "ratio of medians")

_FIRST = 0x4E00


def write_exam(path: Path, *, numbers: bool) -> None:
    """An exam as a spreadsheet program writes it; with numbers, option cells are percentages."""
    import openpyxl

    draw = random.Random(7)

    def text(least: int, most: int) -> str:
        return "".join(chr(_FIRST + draw.randrange(3000)) for _ in range(draw.randint(least, most)))

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("题库")
    sheet.append(["题目", "A", "B", "C", "D", "答案", "类别"])
    for _ in range(QUESTIONS):
        options: list[object] = [text(2, 10) for _ in range(4)]
        if numbers:
            options = [percent(sheet, value) for value in draw.sample(range(100), 4)]
        sheet.append([text(15, 40), *options, draw.choice("ABCD"), draw.choice(["卦象", "历史", "文化", "其他"])])
    book.save(path)


def percent(sheet: object, value: int) -> object:
    from openpyxl.cell import WriteOnlyCell

    cell = WriteOnlyCell(sheet, value / 100)
    cell.number_format = "0%"
    return cell


def calamine(path: Path) -> None:
    from python_calamine import CalamineWorkbook

    with CalamineWorkbook.from_path(str(path)) as book:
        book.get_sheet_by_index(0).to_python()


def steelyard(path: Path) -> None:
    from steelyard.data.sample_files import SampleFiles
    from steelyard.suites.choice.rows import load_choice

    if load_choice(SampleFiles(path)).n != QUESTIONS:
        raise SystemExit("the exam was not read whole")


def timed(what: Callable[[Path], None], path: Path) -> float:
    started = time.process_time()
    what(path)
    return time.process_time() - started


def measure() -> list[str]:
    """The lines of the table."""
    from benchmarks.run import markdown

    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        for numbers, name in ((False, "text"), (True, "options as percentages")):
            path = Path(folder) / f"{numbers}.xlsx"
            write_exam(path, numbers=numbers)
            found: dict[Callable[[Path], None], list[float]] = {calamine: [], steelyard: []}
            for _ in range(ROUNDS):
                for one, seconds in found.items():
                    seconds.append(timed(one, path))
            bare = statistics.median(found[calamine])
            for one, seconds in found.items():
                middle = statistics.median(seconds)
                label = "python-calamine" if one is calamine else "steelyard"
                figures = [f"{middle:.2f}", f"{min(seconds):.2f}", f"{middle / bare:.2f}"]
                rows.append([label, name, f"{QUESTIONS:,}", *figures])
    return markdown(HEAD, rows)


if __name__ == "__main__":
    print("\n".join(measure()))
