"""In which order a question's options are shown: as given, shuffled by a seed, or rotated through every place.

A model that likes one place better than others gains or loses by where the key happens to stand. Shuffling evens that
out over the questions; rotations show every option in every place, so that it can be measured, and a question counts as
known only where all its rotations are solved.

Source: circular evaluation is that of Liu et al., "MMBench: Is Your Multi-modal Model an All-around Player?" (ECCV
2024).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Literal

from steelyard.suites.choice.option_references import has_own_order
from steelyard.text.prompt_files import question_of
from steelyard.types import Sample

Orders = Literal["as_given", "shuffled", "rotations"]

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Ordered:
    """The samples of a dataset with their options in other orders; each iteration makes them anew, none is held.

    Args:
        samples: as given; may be iterated several times.
        orders: `shuffled` gives each once, `rotations` as often as it has options: with the id and `@1`, `@2` ..., all
            in the cluster of the question. A question whose options speak of each other is given once, as it is.
        seed: of the shuffled orders.
    """

    samples: Iterable[Sample]
    orders: Orders
    seed: int = 0

    def __iter__(self) -> Iterator[Sample]:
        for sample in self.samples:
            if self.orders == "rotations":
                yield from rotated(sample)
            else:
                yield shuffled(sample, self.seed)


def shuffled(sample: Sample, seed: int) -> Sample:
    """`sample` with its options in an order that depends on the seed and on what it says alone.

    Wherever the question stands in its file, whatever its id is and in whatever order its options were given, they are
    shown in the same order.

    >>> sample = Sample("1", "Where?", "A", ("Rome", "Oslo", "Bern"))
    >>> one = shuffled(sample, 7)
    >>> one.choices, one.reference, one.metadata["order"]
    (('Bern', 'Rome', 'Oslo'), 'B', 'CAB')
    """
    if has_own_order(question_of(sample.input), sample.choices):
        return in_order(sample, range(len(sample.choices)))
    head = f"{seed}\0{question_of(sample.input)}\0".encode("utf-8", "surrogatepass")

    def drawn(place: int) -> bytes:
        return blake2b(head + sample.choices[place].encode("utf-8", "surrogatepass"), digest_size=16).digest()

    return in_order(sample, sorted(range(len(sample.choices)), key=drawn))


def rotated(sample: Sample) -> Iterator[Sample]:
    """`sample` once for every option, each time with another one first; the first time as it was given."""
    cluster = sample.cluster or sample.id
    places = range(len(sample.choices))
    starts = [0] if has_own_order(question_of(sample.input), sample.choices) else places
    for start in starts:
        turned = in_order(sample, [*places[start:], *places[:start]])
        yield replace(turned, id=f"{sample.id}@{start + 1}", cluster=cluster)


def in_order(sample: Sample, places: Sequence[int]) -> Sample:
    """`sample` with the options at these 0-based places of its own, and its reference's letters moved with them.

    The order is kept in the metadata as the original letters in the order that is shown: with `CAB` what is shown as A
    is the dataset's C.
    """
    order = "".join(_LETTERS[place] for place in places)
    reference = sample.reference
    if isinstance(reference, str):
        reference = "".join(sorted(_LETTERS[order.index(one)] for one in reference))
    return replace(
        sample,
        choices=tuple(sample.choices[place] for place in places),
        reference=reference,
        metadata={**sample.metadata, "order": order},
    )
