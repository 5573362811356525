"""The questions of the benchmarks: about 400 bytes each, drawn by seed, with the answer that the server will give."""

from __future__ import annotations

import random
from collections.abc import Iterator

WORDS = [
    "balance", "beam", "weight", "counterpoise", "fulcrum", "notch", "scale", "pan", "hook", "ounce", "grain", "stone",
    "merchant", "harbour", "ledger", "cargo", "copper", "silver", "saffron", "linen", "barley", "market", "wharf",
    "lantern", "winter", "river", "mountain", "bridge", "letter", "journey", "evening",
]  # fmt: skip


def questions(count: int) -> Iterator[tuple[str, str, str]]:
    """(id, prompt, reference): four of five prompts are answered with their reference."""
    draw = random.Random(20)
    for number in range(count):
        text = " ".join(draw.choices(WORDS, k=54))
        answer = f"answer-{number}"
        yield f"q{number}", f"Question {number}: {text}? [[want:{answer}]]", answer if number % 5 else "another"
