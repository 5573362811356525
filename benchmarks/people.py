"""What the viewer's pages cost where people have labelled and noted much: 10,000 labels, 10,000 notes, 500 codes.

    python -m benchmarks.people

The store is made again, which takes a minute or two. CPU is that of the viewer's process between a request and its
answer, as in `benchmarks.viewer`: the first time that a page is asked for, and the least of several times after it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.large_runs import make_large
from benchmarks.viewer import ROUNDS, viewing

RECORDS = 10_000
CODES = 500
READER = "steelyard_author=ann"


def make(where: Path) -> tuple[str, str, int, str, int]:
    """A run with a queue and an error analysis of all its records.

    Returns:
        Ids of the queue and of the error analysis, each with the number of one of its records; before the last one the
        id of a code.
    """
    from steelyard import Store
    from steelyard.analysis.label_forms import LabelForm
    from steelyard.people.codings import draw_coding, new_code, write_notes
    from steelyard.people.draw import draw_records
    from steelyard.people.queue_values import QueueDesign, RaterVerdict
    from steelyard.people.queues import create_queue, label_item, queue_items

    make_large(str(where), RECORDS)
    with Store(where) as store:
        run = store.runs()[0]
        items, drawn = draw_records([run])
        design = QueueDesign("Is it right?", LabelForm("pass_fail", "right"), raters=2, drawn=drawn)
        queue = create_queue(store, design, items, author="lead")
        listed = queue_items(store, queue)
        for item in listed:
            label_item(store, queue, item, RaterVerdict("ann", "pass" if item.num % 3 else "fail"))
        coding = draw_coding(store, [run], n=RECORDS, seed=0, author="ann")
        numbers = [item.num for item in coding.items]
        write_notes(store, coding, {num: f"wrong in way {num % CODES}" for num in numbers}, author="ann")
        codes = [new_code(store, coding, f"way {way}", author="ann", items=numbers[way::CODES]) for way in range(CODES)]
        return queue.id, coding.id, listed[0].num, codes[0], numbers[0]


def measure() -> list[str]:
    """The table's lines."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "people.db"
        queue, coding, item, code, record = make(store)
        pages = (
            ("queues", "/queue"),
            ("a queue", f"/queue/{queue}"),
            ("its record", f"/queue/{queue}/i/{item}"),
            ("error analyses", "/codes"),
            ("an error analysis", f"/codes/{coding}"),
            ("its record", f"/codes/{coding}/i/{record}"),
            ("a code", f"/codes/{coding}/c/{code}"),
        )
        lines = ["| page | first, CPU ms | following, CPU ms | KB | goal |", "| --- | --- | --- | --- | --- |"]
        with viewing(store) as viewer:
            viewer.sign(READER)
            viewer.settled()
            for name, path in pages:
                first, size = viewer.ask(path)
                following = min(viewer.ask(path)[0] for _ in range(ROUNDS))
                lines.append(f"| {name} | {first:.0f} | {following:.0f} | {size / 1000:.0f} | 200 ms |")
    return lines


if __name__ == "__main__":
    print("\n".join(measure()))
