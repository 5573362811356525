"""What it costs to read 10,000 replies to multiple-choice questions: a letter, a sentence, reasoning, JSON, Chinese.

python -m benchmarks.choice_replies
"""

from __future__ import annotations

import random
import statistics
import time

from steelyard.text.choice import read_choice

COUNT = 10_000
OPTIONS = ("granite", "limestone", "sandstone", "slate", "marble", "basalt", "chalk", "gneiss", "obsidian", "shale")
SHAPES = {
    "letter alone": ("{letter}", "({letter})", "{letter}. {option}", "**{letter}**"),
    "declaration": (
        "The correct answer is {letter}. {option}.",
        "Based on the question, I would choose option {letter}: {option}.",
        "{letter}) {option}\n\nExplanation: {text}",
    ),
    "reasoning, then answer": (
        "{text} {text}\n\n{text}\n\nTherefore, the answer is ({letter}).",
        "<think>{text} Is it A? {text}</think>\n\nAnswer: {letter}",
        "1. {text}\n2. {text}\n3. {text}\n\nThe final answer is $\\boxed{{\\text{{{letter}}}}}$.",
    ),
    "list of rejections": (
        "{text}\n\nOption {other} is incorrect because it is too soft.\nOption {letter} is correct.\n\n{text}",
    ),
    "option without its letter": ("{text} The stone in question must be {option}.",),
    "JSON": ('```json\n{{"reasoning": "{text}", "answer": "{letter}"}}\n```',),
    "Chinese": ("根据题意，该岩石由岩浆冷却而成，因此选项{other}不正确。\n故选{letter}。", "[正确答案]{letter}<eoa>"),
}
SENTENCES = (
    "The rock was laid down in a shallow sea some 150 million years ago and later folded.",
    "Its grains are visible to the naked eye, which is a sign of slow cooling at depth.",
    "A drop of acid on its surface makes it fizz, so carbonate must be a part of it.",
    "If the pressure P is 3 kbar and T = 650 K, then the density is about 2.7 g/cm^3.",
)


def replies(shape: str, count: int) -> list[tuple[str, str]]:
    """Replies of one shape with the letter that each gives, drawn by seed."""
    draw = random.Random(shape)
    made = []
    for _ in range(count):
        place, other = draw.sample(range(len(OPTIONS)), 2)
        words = {
            "letter": chr(ord("A") + place),
            "other": chr(ord("A") + other),
            "option": OPTIONS[place],
            "text": " ".join(draw.choices(SENTENCES, k=draw.randint(1, 4))),
        }
        made.append((draw.choice(SHAPES[shape]).format(**words), words["letter"]))
    return made


def timed(shape: str, rounds: int = 3) -> tuple[float, float, int]:
    """(mean characters, median seconds of CPU for 10,000 replies, replies read wrongly or not at all)."""
    made = replies(shape, COUNT)
    taken = []
    wrong = 0
    for _ in range(rounds):
        started = time.process_time()
        read = [read_choice(text, OPTIONS).letters for text, _ in made]
        taken.append(time.process_time() - started)
        wrong = sum(letters != (wanted,) for letters, (_, wanted) in zip(read, made, strict=True))
    return statistics.mean(len(text) for text, _ in made), statistics.median(taken), wrong


def measure() -> list[str]:
    """The table's lines, measured now."""
    lines = [
        "| replies | mean characters | CPU seconds for 10,000 | µs each | not read as meant |",
        "|---|---|---|---|---|",
    ]
    rows = [(shape, *timed(shape)) for shape in SHAPES]
    lengths, times, wrongs = zip(*(row[1:] for row in rows), strict=True)
    rows.append(("as many of each", statistics.mean(lengths), statistics.mean(times), sum(wrongs)))
    for shape, length, seconds, wrong in rows:
        lines.append(f"| {shape} | {length:.0f} | {seconds:.2f} | {1e6 * seconds / COUNT:.0f} | {wrong} |")
    return lines


if __name__ == "__main__":
    print("\n".join(measure()))
