"""Pairs of tables to weigh, at random and on purpose, and their form in JSON; runs on Python 3.11 without Steelyard."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

Pair = tuple[Any, Any]
"""Target and prediction."""

PLAIN = (0, 1, 2, -1, 1.0, 2.5, 0.5, "a", "b", "c", "d", "x y")
FOLDED = (
    "A",
    " a",
    "b\n",
    "B ",
    "1",
    "1.0",
    "007",
    "7",
    7,
    "-0",
    "2.50",
    2.499,
    2.504,
    "1.005",
    -0.0,
    0.0,
    "\u00e9",
    "\u00c9",
)
ODD = (
    None,
    True,
    False,
    float("nan"),
    float("inf"),
    "None",
    "none",
    "nan",
    "True",
    "true",
    "\u0663",
    "\u00df",
    "",
    " ",
    "a\0",
    "12\n",
    "1e5",
    2**53,
    2**53 + 1,
    float(2**53),
    2**70,
    "[]",
)
RARE = (
    b"a",
    b"\xff",
    Decimal("1.50"),
    Decimal(1),
    Decimal("NaN"),
    date(2024, 1, 2),
    10**309,
    "9" * 4400,
    [1],
    ["a", [2]],
    ("a",),
    {"k": 1},
    {"k": [1]},
    "\ud800",
    1e308,
    1e-320,
    complex(1, 2),
)
SHAPES = (
    None,
    [None],
    [],
    (),
    "[]",
    "",
    "ab",
    ["ab", "cd"],
    ["a"],
    [1, 2],
    [[]],
    [[], []],
    [[], ["a"]],
    [["a"], []],
    {},
)
MORE_SHAPES = (
    [["a", "b"], ["c"]],
    [[["a"], ["b"]]],
    [("a", "b")],
    (["a"],),
    [["a"], "b"],
    [["a"], None],
    5,
    {"a": 1},
    [{"a": 1}],
)


def special_pairs() -> Iterator[Pair]:
    """Everything that is not an ordinary table beside everything else, and single odd cells beside each other."""
    ordinary: tuple[Any, ...] = ([["a"]], [["a", "b"], ["c", 1]])
    shapes = (*SHAPES, *MORE_SHAPES, *ordinary)
    for target in shapes:
        for prediction in shapes:
            yield target, prediction
    cells = (*PLAIN, *FOLDED, *ODD, *RARE)
    for cell in cells:
        for rows in ([[cell]], [["a", cell]], [[1, cell], [cell, 1]]):
            for other in ([["a"]], [[1, "a"], [2, "b"]], [[True]], rows):
                yield rows, other
                yield other, rows


def random_pairs(seed: int, count: int) -> Iterator[Pair]:
    """Tables and predictions that are made from them by a few changes, small and now and then larger."""
    draw = random.Random(seed)
    for _ in range(count):
        cells = _vocabulary(draw)
        target = _table(draw, cells)
        prediction = _changed(draw, target, cells) if draw.random() < 0.8 else _table(draw, cells)
        yield target, prediction


def _vocabulary(draw: random.Random) -> list[Any]:
    kind = draw.random()
    if kind < 0.35:
        return list(PLAIN)
    if kind < 0.6:
        return [*PLAIN, *FOLDED]
    if kind < 0.7:
        return [True, False, *draw.sample((*PLAIN, *ODD), 2)] if draw.random() < 0.5 else [True, False]
    if kind < 0.93:
        return draw.sample((*PLAIN, *FOLDED, *ODD), 8)
    return [*draw.sample((*PLAIN, *FOLDED, *ODD), 8), *draw.sample(RARE, 2)]


def _table(draw: random.Random, cells: list[Any]) -> list[Any]:
    size = draw.choice((0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 9)) if draw.random() < 0.97 else draw.randrange(20, 60)
    width = draw.choice((1, 1, 2, 2, 3, 4))
    return [[draw.choice(cells) for _ in range(width)] for _ in range(size)]


def _changed(draw: random.Random, target: list[Any], cells: list[Any]) -> list[Any]:
    table = [list(row) for row in target]
    for _ in range(draw.choice((0, 1, 1, 2, 3))):
        table = draw.choice(CHANGES)(draw, table, cells)
    return table


def _shuffle(draw: random.Random, table: list[Any], _: list[Any]) -> list[Any]:
    return draw.sample(table, len(table))


def _reverse(_: random.Random, table: list[Any], __: list[Any]) -> list[Any]:
    return table[::-1]


def _drop(draw: random.Random, table: list[Any], _: list[Any]) -> list[Any]:
    return [row for row in table if draw.random() < 0.7]


def _repeat(draw: random.Random, table: list[Any], _: list[Any]) -> list[Any]:
    return [row for row in table for _ in range(1 + (draw.random() < 0.3))]


def _swap(draw: random.Random, table: list[Any], cells: list[Any]) -> list[Any]:
    return [[cell if draw.random() < 0.9 else draw.choice(cells) for cell in row] for row in table]


def _columns(_: random.Random, table: list[Any], __: list[Any]) -> list[Any]:
    return [row[::-1] for row in table]


def _scramble(draw: random.Random, table: list[Any], _: list[Any]) -> list[Any]:
    return [draw.sample(row, len(row)) if isinstance(row, list) else row for row in table]


def _ragged(draw: random.Random, table: list[Any], _: list[Any]) -> list[Any]:
    return [row[:-1] if draw.random() < 0.2 else row for row in table]


def _tuples(_: random.Random, table: list[Any], __: list[Any]) -> list[Any]:
    return [tuple(row) for row in table]


def _wider(draw: random.Random, table: list[Any], cells: list[Any]) -> list[Any]:
    return [[*row, draw.choice(cells)] for row in table]


CHANGES = (_shuffle, _shuffle, _reverse, _drop, _repeat, _swap, _columns, _scramble, _ragged, _tuples, _wider)


def encoded(value: Any) -> Any:  # noqa: PLR0911 - one line for each type
    """The value in JSON: what JSON has as it is, all else as an object of one key."""
    if isinstance(value, list):
        return [encoded(part) for part in value]
    if isinstance(value, tuple):
        return {"tuple": [encoded(part) for part in value]}
    if isinstance(value, dict):
        return {"dict": [[key, encoded(part)] for key, part in value.items()]}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, float) and (not math.isfinite(value)):
        return {"float": str(value)}
    if isinstance(value, int) and abs(value) >= 2**63:
        return {"int": hex(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return {type(value).__name__.lower(): str(value)}


DECODERS = {
    "tuple": lambda parts: tuple(map(decoded, parts)),
    "dict": lambda parts: {key: decoded(part) for key, part in parts},
    "bytes": bytes.fromhex,
    "float": float,
    "int": lambda text: int(text, 16),
    "decimal": Decimal,
    "date": date.fromisoformat,
    "complex": complex,
}


def decoded(value: Any) -> Any:
    """The value again; every NaN is an object of its own, as in a result that was fetched."""
    if isinstance(value, list):
        return [decoded(part) for part in value]
    if isinstance(value, dict):
        ((kind, content),) = value.items()
        return DECODERS[kind](content)
    return value
