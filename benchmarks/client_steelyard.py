"""Steelyard: journal, store, scores and summary."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.questions import questions

from steelyard import ExactMatch, OpenAICompatible, Prompt, Sample, evaluate


@dataclass(frozen=True)
class Questions:
    """Samples that are made again for every pass, so that the memory measured is ours."""

    count: int

    def __iter__(self) -> Iterator[Sample]:
        """Each sample."""
        for ident, prompt, reference in questions(self.count):
            yield Sample(ident, prompt, reference)


def main(url: str, count: int, concurrency: int, out: Path) -> None:
    target = Prompt(OpenAICompatible("fast", url))
    run = evaluate(target, Questions(count), [ExactMatch()], store=out / "steelyard.db", concurrency=concurrency)
    print(run.summary())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
