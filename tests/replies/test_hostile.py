"""Replies that were made to hold a reader up: every reader gives what it always gives. benchmarks/ times them."""

import importlib
import inspect
import pkgutil

import pytest
from benchmarks.hostile_texts import READERS, shapes
from tests.thorough import times

import steelyard.replies

SIZE = times(2_000, 4_000)
"""Of a megabyte, whose time `make bench-quick` measures: two units and the gap between them."""


@pytest.mark.parametrize("reader", READERS)
def test_a_hostile_reply_gives_the_kind_of_verdict_that_any_reply_gives(reader):
    read = READERS[reader]
    kind = type(read("The answer is B."))
    texts = list(shapes(SIZE))[:: 3 if "," in reader else 1]  # a reader's second form reads every third shape
    assert [text[:60] for text in texts if type(read(text)) is not kind] == []


def test_every_public_reader_is_tried():
    names = set()
    for module in pkgutil.iter_modules(steelyard.replies.__path__, "steelyard.replies."):
        members = inspect.getmembers(importlib.import_module(module.name), inspect.isfunction)
        names |= {name for name, function in members if name.startswith("read_") and function.__module__ == module.name}
    assert names == {name.partition(",")[0] for name in READERS if name.startswith("read_")}
