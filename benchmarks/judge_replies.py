"""What it costs to read 10,000 replies of judges: score alone, rating before or behind an explanation, JSON, Chinese.

python -m benchmarks.judge_replies
"""

from __future__ import annotations

import random
import statistics
import time

from steelyard.replies.judge_reply import Scale
from steelyard.replies.rating import read_rating

COUNT = 10_000
SCALE = Scale(1, 5)
SHAPES = {
    "score alone": ("{score}", "Coherence: {score}", "{score}/5"),
    "rating, then explanation": (
        "Rating: {score}\n\n{text}",
        "{score} out of 5. {text}",
        "Rating: {score} (out of 5)\n\nExplanation: {text}",
    ),
    "analysis, then rating": (
        "{text} {text}\n\nRating: {score}",
        "1. {text}\n2. {text}\n\nTherefore, I would rate the coherence of this summary a {score} out of 5.",
    ),
    "JSON": ('{{"reason": "{text}", "score": {score}}}',),
    "Chinese": ("该摘要共有3句话，第2句与原文不符，其余部分连贯。因此，连贯性评为{score}分。",),
}
SENTENCES = (
    "The summary names the arrest in 2014, the 3 charges and the sentence, but not the appeal.",
    "Its 2nd sentence repeats the first one, and the third jumps to another event without a link.",
    "All in all it follows the order of the article, in which 12 people were hurt.",
)


def replies(shape: str, count: int) -> list[tuple[str, float]]:
    """Replies of one shape with the rating that each gives, drawn by seed."""
    draw = random.Random(shape)
    made = []
    for _ in range(count):
        score = draw.choice(("1", "2", "3", "4", "5", "2.5"))
        text = " ".join(draw.choices(SENTENCES, k=draw.randint(1, 3)))
        made.append((draw.choice(SHAPES[shape]).format(score=score, text=text), float(score)))
    return made


def timed(shape: str, rounds: int = 3) -> tuple[float, float, int]:
    """(mean characters, median seconds of CPU for 10,000 replies, replies read wrongly)."""
    made = replies(shape, COUNT)
    taken = []
    wrong = 0
    for _ in range(rounds):
        started = time.process_time()
        read = [read_rating(text, SCALE, name="Coherence").value for text, _ in made]
        taken.append(time.process_time() - started)
        wrong = sum(value != wanted for value, (_, wanted) in zip(read, made, strict=True))
    return statistics.mean(len(text) for text, _ in made), statistics.median(taken), wrong


def measure() -> list[str]:
    """The table's lines, measured now."""
    lines = [
        "| replies | mean characters | CPU seconds for 10,000 | µs each | read wrongly |",
        "|---|---|---|---|---|",
    ]
    rows = [(shape, *timed(shape)) for shape in SHAPES]
    lengths, times, wrongs = zip(*(row[1:] for row in rows), strict=True)
    rows.append(("a fifth of each", statistics.mean(lengths), statistics.mean(times), sum(wrongs)))
    for shape, length, seconds, wrong in rows:
        lines.append(f"| {shape} | {length:.0f} | {seconds:.2f} | {1e6 * seconds / COUNT:.0f} | {wrong} |")
    return lines


if __name__ == "__main__":
    print("\n".join(measure()))
