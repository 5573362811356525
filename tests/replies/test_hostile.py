"""Replies of a megabyte that were made to hold a reader up: no reader raises, and none takes more than linear time."""

import importlib
import inspect
import pkgutil
import random
import time

import pytest

import steelyard.replies
from steelyard.replies.abstention import is_abstention
from steelyard.replies.choice import read_choice
from steelyard.replies.label import read_label
from steelyard.replies.listing import read_list, read_listing
from steelyard.replies.preference import read_preference
from steelyard.replies.rating import read_rating
from steelyard.replies.sql import read_sql
from steelyard.replies.verdict import Scale
from steelyard.replies.verdict_list import read_verdict_list
from steelyard.replies.yes_no import read_yes_no

READERS = {
    "read_choice": lambda text: read_choice(text, ["Osmosis", "Diffusion", "Active transport", "Endocytosis"]),
    "read_label": lambda text: read_label(text, ["supported", "not supported", "A"]),
    "read_list": read_list,
    "read_listing": read_listing,
    "read_preference": read_preference,
    "read_rating": lambda text: read_rating(text, Scale()),
    "read_sql": lambda text: [read_sql(text, form=form) for form in ("auto", "create_select", "block")],
    "read_verdict_list": lambda text: read_verdict_list(text, 3),
    "read_yes_no": read_yes_no,
    "is_abstention": is_abstention,
}
UNITS = {
    "open braces": "{",
    "open lists": "[",
    "nested objects": '{"a":',
    "nested quotes": '["',
    "closed brackets": ")]}",
    "fences": "```sql ",
    "closed fences": "```sql\nselect 1\n```\n",
    "open quotes": 'says "',
    "apostrophes": "'",
    "comments": "/*",
    "open reasoning": "<think>",
    "closed reasoning": "<think>x</think>",
    "further questions": "\nUser:",
    "marks": "[[A]]",
    "digits": "7",
    "decimals": "1.",
    "dots": ".",
    "blank lines": " \n",
    "numbered lines": "1. a\n",
    "headings": "1. a:\n- b\n",
    "table": "| a | YES |\n",
    "letters": "A, ",
    "zero width": "\u200b",
    "combining marks": "e\u0301\u0302",
    "answers": "the answer is ",
    "denials": "not ",
    "scores": "a score of 4 out of 5 ",
    "preferences": "Answer A is better. ",
    "refusals": "I'm sorry, but ",
    "statements": "select 1;",
    "clauses": "\n\n, b",
    "parts of formulas": "\\text{",
    "Chinese": "的选项是",
    "surrogates": "'\ud800\udfff'",
}
SIZE = 1_000_000
OVER_A_PLAIN_PASS = 20
"""Plain passes that a reader may take: they take about one, what is quadratic takes thousands."""


def text_of(name):
    if name == "random words":
        words = [
            "the",
            "answer",
            "is",
            "not",
            "A",
            "B",
            "score",
            "4",
            "yes",
            "no",
            "because",
            "1.",
            "-",
            "\n",
            '"',
            "{",
            "better",
        ]
        return " ".join(random.Random(3).choices(words, k=SIZE // 4))[:SIZE]
    if name == "random signs":
        return "".join(random.Random(3).choices("\"'`{}[](),:;.\n -*#12AB<>|", k=SIZE))
    return (UNITS[name] * (SIZE // len(UNITS[name]) + 1))[:SIZE]


def seconds(function, text):
    """The least CPU time of up to three calls."""
    taken = []
    for _ in range(3):
        started = time.process_time()
        function(text)
        taken.append(time.process_time() - started)
        if taken[-1] < 0.05:
            break
    return min(taken)


@pytest.mark.parametrize("name", [*UNITS, "random words", "random signs"])
def test_a_hostile_megabyte_is_read_in_the_time_of_some_plain_passes(name):
    text = text_of(name)
    plain = seconds(lambda text: sum(map(ord, text)), text)
    taken = {reader: seconds(read, text) / plain for reader, read in READERS.items()}
    slow = {reader: times for reader, times in taken.items() if times > OVER_A_PLAIN_PASS}
    assert slow == {}


def test_every_public_reader_is_tried():
    names = set()
    for module in pkgutil.iter_modules(steelyard.replies.__path__, "steelyard.replies."):
        members = inspect.getmembers(importlib.import_module(module.name), inspect.isfunction)
        names |= {name for name, function in members if name.startswith("read_") and function.__module__ == module.name}
    assert names == {name for name in READERS if name.startswith("read_")}
