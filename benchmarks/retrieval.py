"""What indexing 10,000 chunks, opening the index again and a query cost, in English and in Chinese.

    python -m benchmarks.retrieval

The words are made up by a seeded generator, their frequencies are Zipf's: the n-th word of a language occurs with a
share of 1/n. A query is eight words of a sentence of some chunk, as common as they come. Chinese chunks are measured
at two lengths: that of the English ones in characters, and a third of it, which says about as much.
"""

from __future__ import annotations

import itertools
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from steelyard.retrieval.chunk import Chunk, split_chunks
from steelyard.retrieval.stored import ChunkIndex
from steelyard.retrieval.vectors import VectorIndex, unit_rows

CHUNKS = 10_000
QUERIES = 200
BUILD_BAR_S = 2.0
QUERY_BAR_MS = 5.0
HEAD = (
    "what",
    "chunks",
    "characters each",
    "index s",
    "index CPU s",
    "open again ms",
    "query ms, median",
    "query ms, 95 %",
    "MB",
)


@dataclass(frozen=True)
class Language:
    """Words by falling frequency, what stands between them and at the end of a sentence."""

    words: list[str]
    weights: list[float]
    between: str
    end: str

    def sentences(self, draw: random.Random) -> Iterator[str]:
        """Sentences of 14 words without end."""
        while True:
            for words in _grouped(draw.choices(self.words, cum_weights=self.weights, k=14_000), 14):
                yield self.between.join(words).capitalize() + self.end


def _grouped(words: list[str], size: int) -> Iterator[list[str]]:
    return (words[start : start + size] for start in range(0, len(words), size))


def zipf(size: int) -> list[float]:
    return list(itertools.accumulate(1 / rank for rank in range(1, size + 1)))


def english(draw: random.Random) -> Language:
    """30,000 words of 1 to 12 letters, the common ones shorter."""
    starts, vowels = "bcdfghlmnprstvw", "aeiou"
    words: dict[str, None] = {}
    while len(words) < 30_000:
        syllables = min(6, 1 + draw.randrange(1 + len(words).bit_length() // 3))
        words["".join(draw.choice(starts) + draw.choice(vowels) for _ in range(syllables))] = None
    return Language(list(words), zipf(len(words)), " ", ". ")


def chinese(draw: random.Random) -> Language:
    """20,000 words of one to three out of 5,000 characters, which are as unequally common as words are."""
    characters, weights = [chr(0x4E00 + number) for number in range(5_000)], zipf(5_000)
    words: dict[str, None] = {}
    while len(words) < 20_000:
        words["".join(draw.choices(characters, cum_weights=weights, k=draw.choice((1, 2, 2, 2, 3))))] = None
    return Language(list(words), zipf(len(words)), "", "。")


def chunks_of(language: Language, characters: int, draw: random.Random) -> list[Chunk]:
    found = []
    sentences = language.sentences(draw)
    for number in range(CHUNKS):
        text = ""
        while len(text) < characters:
            text += next(sentences)
        found.append(Chunk(f"{number:016x}", "made.txt", text[:characters], 0, characters))
    return found


def seconds(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def measured(name: str, language: Language, characters: int) -> list[object]:
    draw = random.Random(7)
    chunks = chunks_of(language, characters, draw)
    queries = [
        language.between.join(draw.choices(language.words, cum_weights=language.weights, k=8)) for _ in range(QUERIES)
    ]
    with tempfile.TemporaryDirectory() as folder:
        before = time.process_time()
        build = seconds(lambda: ChunkIndex(chunks, Path(folder)))
        cpu = time.process_time() - before
        again = statistics.median(seconds(lambda: ChunkIndex(chunks, Path(folder))) for _ in range(5))
        index = ChunkIndex(chunks, Path(folder))
        size = index.path.stat().st_size if index.path else 0
    times = sorted(1000 * seconds(lambda query=query: index.search(query, 5)) for query in queries)
    middle, high = statistics.median(times), times[int(0.95 * len(times))]
    return [
        name,
        f"{CHUNKS:,}",
        characters,
        f"{build:.2f}",
        f"{cpu:.2f}",
        f"{1000 * again:.0f}",
        f"{middle:.2f}",
        f"{high:.2f}",
        f"{size / 1e6:.0f}",
    ]


def vectors() -> list[object]:
    """Cosines of 384 numbers."""
    import numpy as np

    generator = np.random.default_rng(7)
    rows = generator.standard_normal((CHUNKS, 384), dtype=np.float32)
    build = seconds(lambda: unit_rows(rows))
    index = VectorIndex(unit_rows(rows))
    times = sorted(1000 * seconds(lambda query=query: index.search(query, 5)) for query in rows[:QUERIES])
    middle, high = statistics.median(times), times[int(0.95 * len(times))]
    return [
        "vectors, 384 numbers",
        f"{CHUNKS:,}",
        "",
        f"{build:.2f}",
        "",
        "",
        f"{middle:.2f}",
        f"{high:.2f}",
        f"{rows.nbytes / 1e6:.0f}",
    ]


def splitting(language: Language, name: str) -> list[object]:
    """A text of ten million characters in chunks of 1,024 tokens."""
    sentences = language.sentences(random.Random(7))
    text = "".join(itertools.islice(sentences, 200_000))[:10_000_000]
    found: list[int] = []
    took = seconds(lambda: found.append(len(split_chunks(text))))
    return [
        f"splitting, {name}",
        f"{found[0]:,}",
        f"{len(text) // found[0]:,}",
        f"{took:.2f}",
        "",
        "",
        "",
        "",
        f"{len(text) / 1e6:.0f} (text)",
    ]


def measure() -> list[list[object]]:
    """The table's rows, measured now."""
    draw = random.Random(1)
    west, east = english(draw), chinese(draw)
    return [
        measured("English", west, 900),
        measured("Chinese, as long", east, 900),
        measured("Chinese, as much", east, 300),
        vectors(),
        splitting(west, "English"),
        splitting(east, "Chinese"),
    ]


if __name__ == "__main__":
    for row in (HEAD, ["---"] * len(HEAD), *measure()):
        print(f"| {' | '.join(map(str, row))} |")
    print(f"\nbars: English indexed in {BUILD_BAR_S:g} s, a query in {QUERY_BAR_MS:g} ms")
