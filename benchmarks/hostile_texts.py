"""Texts made to hold a reader of ours up, and what they cost: CPU that grows with the length, not with its square.

The tests read the same texts cut short, to see that nothing breaks. What a megabyte costs is measured here, beside a
loop, as a busy machine measures badly: `make bench-quick` fails where one takes far longer than any linear reader does.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from steelyard.config.conversion.templates import names_in
from steelyard.data.documents_html import html_text
from steelyard.normal_form import nfkc
from steelyard.replies.abstention import is_abstention
from steelyard.replies.answer_pattern import read_by_pattern
from steelyard.replies.answer_text import read_confidence
from steelyard.replies.choice import read_choice
from steelyard.replies.citations import read_citations
from steelyard.replies.jsonlike import read_json, read_plain_json
from steelyard.replies.judge_reply import Scale
from steelyard.replies.label import read_label, read_one
from steelyard.replies.listing import read_list, read_listing
from steelyard.replies.preference import read_preference
from steelyard.replies.rating import read_rating
from steelyard.replies.sql import read_sql
from steelyard.replies.user_turn import read_user_turn
from steelyard.replies.verdict_list import read_verdict_list
from steelyard.replies.yes_no import read_yes_no
from steelyard.retrieval.chunk import sentences, split_chunks
from steelyard.scorers.formats import JsonSchema
from steelyard.suites.rag import contexts_in
from steelyard.types import Output, Reply, Sample

OPTIONS = ["Osmosis", "Diffusion", "Active transport", "Endocytosis"]
PATTERN = r"(?i)(?:(?:the )*answer\W*(?:is\W*)*)+(?P<answer>[A-D](?:\W*[A-D])*)"
READERS: dict[str, Callable[[str], object]] = {
    "read_by_pattern": lambda text: read_by_pattern(text, PATTERN, OPTIONS) or read_choice("", OPTIONS),
    "read_choice": lambda text: read_choice(text, OPTIONS),
    "read_choice, numbers": lambda text: read_choice(text, ["1.0", "2.5", "3", "-4"], question="Which is not true?"),
    "read_choice, short texts": lambda text: read_choice(text, ["a b", "B", "the answer", "天"]),
    "read_citations": read_citations,
    "read_confidence": read_confidence,
    "read_json": read_json,
    "read_plain_json": read_plain_json,
    "read_label": lambda text: read_label(text, ["supported", "not supported", "A"]),
    "read_list": read_list,
    "read_listing": read_listing,
    "read_one": lambda text: read_one(text, ["supported", "not supported", "A"]),
    "read_preference": read_preference,
    "read_rating": lambda text: read_rating(text, Scale()),
    "read_sql": read_sql,
    "read_sql, one form": lambda text: read_sql(text, form="create_select"),
    "read_sql, a block": lambda text: read_sql(text, form="block"),
    "read_user_turn": lambda text: read_user_turn(Reply("", text)),
    "read_verdict_list": lambda text: read_verdict_list(text, 3),
    "read_yes_no": read_yes_no,
    "read_rating, named": lambda text: read_rating(text, Scale(1, 10), name="Coherence"),
    "read_verdict_list, 20": lambda text: read_verdict_list(text, 20),
    "is_abstention": is_abstention,
}
UNITS = [
    *(
        "A",
        "B",
        "a",
        "I",
        "7",
        "x",
        "的",
        "是",
        "\u200b",
        "\u3000",
        " ",
        "\n",
        "\t",
        "\r",
        ".",
        "(",
        "{",
        "[",
        "<",
        "'",
        '"',
        "`",
        "*",
    ),
    *(
        "A ",
        "A, ",
        "A and ",
        "or B",
        "A/B",
        "A-D",
        "(A)",
        "B: ",
        "B or C. ",
        "\nB\n",
        "\n- A",
        "A. x\n",
        "ABCD",
        "B's",
        "'B",
        '"B"',
        "E=mc^2",
    ),
    *(
        "the answer is ",
        "The answer is A. ",
        "the correct answer ",
        "I would choose ",
        "Therefore, ",
        "option B ",
        "closest to ",
    ),
    *(
        "is correct. ",
        "is wrong. ",
        "not ",
        "n't ",
        "no. ",
        "if ",
        "wait, ",
        "none of the ",
        "I cannot answer ",
        "It is osmosis. ",
    ),
    *(
        "的选项是",
        "答案：",
        "故选B",
        "是,",
        "不",
        "正确",
        "第",
        "一",
        "评分：4",
        "选项A",
        "请你回答：",
        "例如[正确答案]A",
    ),
    *(
        "<think>",
        "</think>",
        "<think>x</think>",
        "[THINK]",
        "◁think▷",
        "<|im_end|>",
        "</s>",
        "[INST]",
        "\nUser:",
        "\nQuestion:",
    ),
    *(
        '{"a":',
        "{'a':",
        '["',
        '{"answer": "B"}',
        '{"score": 4}',
        '{"verdict": "yes"},',
        '"a",',
        "null",
        ")]}",
        "\nQ1: x\n{'a':\0",
    ),
    *(
        "```",
        "```sql ",
        "```sql\nselect 1\n```\n",
        "~~A~~ ",
        "_A_ ",
        "__ ",
        "\\text{",
        "\\boxed{",
        "$I",
        "<b>",
        "</",
        "| a | YES |\n",
    ),
    *("select 1;", "SELECT a FROM b ", "with a as (", "\nwith/*", "/*", "--", "SQL: ", "\n\n, b", "Select the "),
    *(
        "1.",
        "1. a\n",
        "1. a:\n- b\n",
        "- x\n",
        "Question 1: ",
        "(3)",
        "1/5",
        "4 out of 5 ",
        "a score of 4 ",
        "Rating: 4\n",
        "Coherence: 4\n",
    ),
    *(
        "yes ",
        "NO\n",
        "Verdict: YES\n",
        "supported ",
        "[[A]]",
        "[[A]] ",
        "[[good]]",
        "[[A>B]]",
        "Answer A is better. ",
        "Winner: B\n",
        "tie ",
    ),
    *(
        'says "',
        'it says "A" ',
        "for example ",
        "I'm sorry, but ",
        "As an AI ",
        "Here are ",
        "word ",
        "longwordwithoutanyspace",
    ),
    *("e\u0301\u0302", "𝐀", "Ａ", "İ", "'\ud800\udfff'", "😀", "\0"),
]
GAPS = (" " * 3_000, "\n" * 3_000, "\r\n" * 1_500, " \n" * 90)
"""Between units: phrases allow blanks between their words."""
SIZE = 1_000_000
MOST_LOOPS = 20
"""Of a reply: none is above 6 loops of 200,000 steps (10 ms each); what is not linear takes hundreds."""
MOST_LOOPS_OF_TEXTS = 1000
"""Of the other texts, which are up to five megabytes long: quadratic versions took minutes."""
MARKUP = (
    "<div>",
    "<",
    "<!--",
    '<a "',
    "<a x='>'>",
    "<script>",
    "</script",
    "&amp;",
    "&#",
    "&#9",
    "<tr><td>",
    "<pre>\n\n ",
)
MARKS = ("\u0323\u0301", "\u0f73", "\u0327\u0323\u0301")
"""Combining marks, which the standard library sorts by insertion."""
SCHEMAS: dict[str, dict[str, Any]] = {
    "unique items": {"type": "object", "properties": {"items": {"uniqueItems": True}}},
    "doubled": {
        "type": "object",
        "$ref": "#/$defs/a0",
        "$defs": {
            **{f"a{at}": {"allOf": [{"$ref": f"#/$defs/a{at + 1}"}] * 2} for at in range(22)},
            "a22": {"type": "object"},
        },
    },
}
TEMPLATES = ("{{", "{%", "{#", "{{-", "{% raw %}", "{{ a.", "{% if a %}")
PASSAGES = ("x", "天", "a b ", "# h\n", "One two. ", "- a\n", "a, ", "\n", "```\n", "Dr. ", "U.S. ", ".[1]", "1. ", "#")


def repeated(unit: str, size: int) -> str:
    return (unit * (size // len(unit) + 1))[:size]


def shapes(size: int = SIZE) -> Iterator[str]:
    """Each unit repeated, pairs and triples in turn or far apart, one unit and then another, and units at random."""
    draw = random.Random(5)
    yield from (repeated(unit, size) for unit in UNITS)
    for count in [2] * 24 + [3] * 12:
        yield repeated("".join(draw.sample(UNITS, count)), size)
    for at in range(24):
        yield repeated("".join(unit + GAPS[at % len(GAPS)] for unit in draw.sample(UNITS, 2)), size)
    for _ in range(10):
        first, second = draw.sample(UNITS, 2)
        yield repeated(first, size // 2) + repeated(second, size // 2)
    for count in [20] * 6 + [len(UNITS)]:
        yield "".join(draw.choices(draw.sample(UNITS, count), k=size // 3))[:size]


def seconds(function: Callable[..., object], *arguments: object, enough: float = 0.0) -> float:
    """The least CPU time of three calls; of fewer where one takes no longer than is enough."""
    least = float("inf")
    for _ in range(3):
        started = time.process_time()
        function(*arguments)
        least = min(least, time.process_time() - started)
        if least <= enough:
            break
    return least


def loop() -> int:
    total = 0
    for number in range(200_000):
        total += number * number % 7
    return total


def texts() -> Iterator[tuple[str, Callable[[str], object], str, int]]:
    """(name, reader, text, how many loops it may take)."""
    for name, read in READERS.items():
        read("The answer is B.")  # compiles what is compiled once
        for at, text in enumerate(shapes()):
            if at % 3 == 0 or "," not in name:  # a reader's second form reads every third shape
                yield name, read, text, MOST_LOOPS
    for unit in (*MARKS, *TEMPLATES):
        yield "nfkc, names_in", lambda text: names_in(nfkc(text)), repeated(unit, SIZE), MOST_LOOPS_OF_TEXTS
    for kind, schema in SCHEMAS.items():
        check, items = JsonSchema(schema), ",".join(f'{{"a":{at}}}' for at in range(SIZE // 12))
        yield f"json_schema, {kind}", partial(checked, check), f'{{"items":[{items}]}}', MOST_LOOPS_OF_TEXTS
    for unit in MARKUP:
        yield "html_text", html_text, repeated(unit, 5_000_000), MOST_LOOPS_OF_TEXTS
    yield "contexts_in", contexts_in, "['" + repeated("' '", SIZE), MOST_LOOPS_OF_TEXTS
    for unit in PASSAGES:
        yield "split_chunks", split_chunks, repeated(unit, SIZE), MOST_LOOPS_OF_TEXTS
        yield "sentences", lambda text: list(sentences(text)), repeated(unit, SIZE), MOST_LOOPS_OF_TEXTS


def checked(check: JsonSchema, text: str) -> object:
    return check(Sample("1", "x"), Output(text))


def guard() -> None:
    """End with an error that names each reader and text that took too long."""
    late, base = [], seconds(loop)
    for name, read, text, loops in texts():
        most = loops * base
        taken = seconds(read, text, enough=most)
        if taken > most and taken > loops * seconds(loop):  # measured again: the machine may have become slower since
            late.append(f"{name} took {taken:.2f} s of CPU for {len(text):,} characters beginning {text[:40]!r}")
    print(f"hostile texts: {len(late)} take longer than their length allows")
    if late:
        sys.exit("\n".join(late))
