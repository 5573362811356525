"""Ids for samples and rows that have none: a hash of their content, so that they keep it in another order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from steelyard.plain_json import digest_of
from steelyard.types import Sample

_DIGITS: Final = 12


def content_ids(contents: Iterable[Any]) -> Iterator[str]:
    """Yield an id for each content, in order; equal ones are numbered: `3f...`, `3f...#2`.

    Args:
        contents: plain JSON values, or values that are described as such.

    >>> first, second, third = content_ids([{"a": 1}, {"a": 2}, {"a": 1}])
    >>> third == f"{first}#2" and first != second
    True
    """
    seen: Counter[str] = Counter()
    for content in contents:
        digest = digest_of(content)[:_DIGITS]
        seen[digest] += 1
        yield digest if seen[digest] == 1 else f"{digest}#{seen[digest]}"


def with_ids(samples: Sequence[Sample]) -> Sequence[Sample]:
    """The samples; those without an id get one of their content."""
    missing = [sample for sample in samples if isinstance(sample, Sample) and not sample.id]
    if not missing:
        return samples
    ids = content_ids(missing)
    return tuple(
        replace(sample, id=next(ids)) if isinstance(sample, Sample) and not sample.id else sample for sample in samples
    )
