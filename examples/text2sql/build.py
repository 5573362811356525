"""Builds the three databases of the text-to-SQL example: a bakery, a bicycle-share network, a choir.

    python examples/text2sql/build.py            # writes databases/<name>/<name>.sqlite beside this file

Everything in them is invented. Tables are in databases/<name>/schema.sql, names and titles in content.json; the rest is
drawn from a seeded generator, so that each build holds the same rows. They have what makes SQL hard to get right:
NULLs, ties, rows that look like duplicates, people without orders, dates as text, Chinese beside English.
"""

from __future__ import annotations

import json
import random
import sqlite3
import sys
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent
SEED: Final = 20240917

Rows = list[tuple[Any, ...]]

CONTENT: Final[Mapping[str, Any]] = json.loads((HERE / "content.json").read_text("utf-8"))
"""What is not drawn: names, products, stations, singers, pieces, concerts and their programmes."""


def day(draw: random.Random, first: date, last: date) -> date:
    """A day from `first` to `last`, both included."""
    return first + timedelta(days=draw.randrange((last - first).days + 1))


def fill_bakery(database: sqlite3.Connection, draw: random.Random) -> None:
    """Customers, staff, products, orders with their lines, and reviews."""
    customers: Rows = [
        (
            number,
            name,
            draw.choice(CONTENT["cities"]),
            None if draw.random() < 0.25 else f"{name.split()[0].lower()}{number}@post.example",
            day(draw, date(2019, 1, 1), date(2023, 12, 31)).isoformat(),
            draw.randrange(0, 31) * 10,
        )
        for number, name in enumerate(CONTENT["customers"], start=1)
    ]
    orders: Rows = []
    lines: Rows = []
    for number in range(1, 241):
        # The last four customers never order: they are for questions that ask who has none.
        customer = None if draw.random() < 0.2 else draw.randrange(1, len(CONTENT["customers"]) - 3)
        when = day(draw, date(2023, 1, 2), date(2024, 6, 30)).isoformat()
        tip = None if draw.random() < 0.5 else draw.randrange(1, 9) * 0.5
        channel = draw.choice(("shop", "shop", "web", "phone"))
        orders.append((number, customer, draw.randrange(3, 8), when, channel, tip))
        lines.extend(order_lines(draw, number))
    reviews: Rows = [
        (
            number,
            draw.randrange(1, 14),
            draw.randrange(1, 20),
            draw.choice((1, 2, 3, 4, 4, 5, 5)),
            draw.choice(CONTENT["comments"]),
            day(draw, date(2023, 2, 1), date(2024, 6, 30)).isoformat(),
        )
        for number in range(1, 61)
    ]
    database.executemany("INSERT INTO customers VALUES (?, ?, ?, ?, ?, ?)", customers)
    database.executemany("INSERT INTO staff VALUES (?, ?, ?, ?, ?, ?)", CONTENT["staff"])
    database.executemany("INSERT INTO products VALUES (?, ?, ?, ?, ?, ?)", CONTENT["products"])
    database.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)", orders)
    database.executemany("INSERT INTO order_lines VALUES (?, ?, ?, ?, ?)", lines)
    database.executemany("INSERT INTO reviews VALUES (?, ?, ?, ?, ?, ?)", reviews)


def order_lines(draw: random.Random, order: int) -> Rows:
    """One to four lines; now and then the same product twice, and an older price. Nobody buys the Pumpkin Bun."""
    lines: Rows = []
    for number in range(1, draw.randrange(1, 5) + 1):
        product = CONTENT["products"][draw.randrange(14)]
        price = product[3] if draw.random() < 0.8 else round(product[3] * 0.9, 2)
        lines.append((order, number, product[0], draw.choice((1, 1, 2, 2, 3, 6)), price))
    if draw.random() < 0.1:
        lines.append((order, len(lines) + 1, *lines[0][2:]))
    return lines


def fill_bikes(database: sqlite3.Connection, draw: random.Random) -> None:
    """Stations, bicycles, riders, trips (some not ended, some of guests) and repairs."""
    bikes: Rows = []
    for number in range(1, 41):
        model, kind, price = draw.choice(CONTENT["models"])
        bought = day(draw, date(2018, 3, 1), date(2023, 6, 30))
        retired = (bought + timedelta(days=draw.randrange(400, 1500))).isoformat() if draw.random() < 0.2 else None
        bikes.append((number, model, kind, bought.isoformat(), price, retired))
    riders: Rows = [
        (
            number,
            name,
            draw.choice(("annual", "annual", "monthly", "casual")),
            None if draw.random() < 0.15 else draw.randrange(1955, 2006),
            day(draw, date(2018, 4, 1), date(2024, 2, 28)).isoformat(),
            None if draw.random() < 0.2 else draw.randrange(1, 12),
        )
        for number, name in enumerate(CONTENT["riders"], start=1)
    ]
    repairs: Rows = []
    for number in range(1, 71):
        reported = day(draw, date(2022, 1, 1), date(2024, 6, 15))
        open_still = draw.random() < 0.15
        fixed = None if open_still else (reported + timedelta(days=draw.randrange(0, 15))).isoformat()
        cost = None if open_still else draw.randrange(4, 60) * 2.5
        repairs.append(
            (number, draw.randrange(1, 36), draw.choice(CONTENT["parts"]), reported.isoformat(), fixed, cost)
        )
    database.executemany("INSERT INTO stations VALUES (?, ?, ?, ?, ?, ?)", CONTENT["stations"])
    database.executemany("INSERT INTO bikes VALUES (?, ?, ?, ?, ?, ?)", bikes)
    database.executemany("INSERT INTO riders VALUES (?, ?, ?, ?, ?, ?)", riders)
    database.executemany("INSERT INTO trips VALUES (?, ?, ?, ?, ?, ?, ?, ?)", trips(draw))
    database.executemany("INSERT INTO repairs VALUES (?, ?, ?, ?, ?, ?)", repairs)


def trips(draw: random.Random) -> Rows:
    """400 trips from January 2023 to June 2024, the last two riders and stations 12 and 13 taking no part."""
    rows: Rows = []
    for number in range(1, 401):
        started = datetime(2023, 1, 1, 6) + timedelta(minutes=5 * draw.randrange(150_000))  # noqa: DTZ001 - local time
        lost = draw.random() < 0.04
        minutes = None if lost else draw.randrange(4, 76)
        rider = None if draw.random() < 0.15 else draw.randrange(1, 21)
        rows.append(
            (
                number,
                draw.randrange(1, 38),
                rider,
                draw.randrange(1, 12),
                None if lost else draw.randrange(1, 12),
                started.isoformat(sep=" "),
                minutes,
                None if minutes is None else round(minutes * (0.15 + 0.1 * draw.random()), 1),
            )
        )
    return rows


def fill_choir(database: sqlite3.Connection, draw: random.Random) -> None:
    """Singers, composers, pieces, concerts, their programmes and who sang."""
    attendance: Rows = []
    for singer, _, _, _, joined, left, _ in CONTENT["singers"]:
        for concert, _, _, held_on, _, _ in CONTENT["concerts"]:
            if joined <= int(held_on[:4]) <= (left or 9999):
                status = draw.choice(("present", "present", "present", "excused", "absent"))
                attendance.append((singer, concert, status))
    database.executemany("INSERT INTO singers VALUES (?, ?, ?, ?, ?, ?, ?)", CONTENT["singers"])
    database.executemany("INSERT INTO composers VALUES (?, ?, ?, ?, ?, ?)", CONTENT["composers"])
    database.executemany("INSERT INTO pieces VALUES (?, ?, ?, ?, ?, ?)", CONTENT["pieces"])
    database.executemany("INSERT INTO concerts VALUES (?, ?, ?, ?, ?, ?)", CONTENT["concerts"])
    database.executemany("INSERT INTO programme VALUES (?, ?, ?, ?)", CONTENT["programme"])
    database.executemany("INSERT INTO attendance VALUES (?, ?, ?)", attendance)


BUILDS: Final = {"bakery": fill_bakery, "bikes": fill_bikes, "choir": fill_choir}


def build(folder: Path, names: Iterable[str] = tuple(BUILDS)) -> list[Path]:
    """Write the databases into `folder`, each into one of its own, in place of what stands there."""
    files = []
    for name in names:
        file = folder / name / f"{name}.sqlite"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        database = sqlite3.connect(file)
        try:
            database.executescript((HERE / "databases" / name / "schema.sql").read_text("utf-8"))
            database.execute("PRAGMA foreign_keys = ON")
            BUILDS[name](database, random.Random(f"{SEED} {name}"))  # noqa: S311 - invented data, no secret
            database.commit()
            database.execute("VACUUM")
        finally:
            database.close()
        files.append(file)
    return files


if __name__ == "__main__":
    for written in build(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "databases"):
        print(f"{written}  {written.stat().st_size:,} bytes")
