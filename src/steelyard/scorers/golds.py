"""The golds of one sample: which queries are right, what of them counts, and which of several verdicts is shown.

Spider 2.0 says beside each gold which of its columns count (`condition_cols`, 0-based; none: all of them; a list for
each of several golds), and whether the order of rows does not (`ignore_order`); further columns of a prediction are
then accepted.

Source: xlang-ai/Spider2, evaluation_suite/evaluate.py. Deviation: the columns of a row stay together, where the
original compares each column for itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from steelyard.errors import DataError
from steelyard.sql.golds import gold_queries
from steelyard.sql.results import EngineName, ResultTable
from steelyard.sql.verdict import ResultVerdict
from steelyard.types import Sample, Score

_CONDITION: Final = "condition_cols"
_IGNORE: Final = "ignore_order"
READ_COLUMNS: Final = frozenset({_CONDITION, _IGNORE})
"""Columns of a dataset that are followed although they have no role."""


def golds_of(sample: Sample, engine: EngineName) -> Iterator[Sample]:
    """The sample once for each query that is accepted as its answer; once as it is where it has none or one."""
    reference = sample.reference
    queries = gold_queries(reference, engine) if isinstance(reference, str) else ()
    conditions = _conditions(sample, len(queries))
    if conditions is not None:
        for query, columns in zip(queries, conditions, strict=True):
            yield replace(sample, reference=query, metadata={**sample.metadata, _CONDITION: columns})
        return
    if len(queries) < 2 and (not queries or "{" not in str(reference)):
        yield sample
        return
    yield from (replace(sample, reference=query) for query in queries)


def _conditions(sample: Sample, golds: int) -> list[Any] | None:
    """The columns that count of each gold, where the dataset lists them gold by gold; None where it does not."""
    value = _written(sample.metadata.get(_CONDITION))
    if not isinstance(value, list) or not value or not all(isinstance(columns, list) for columns in value) or not golds:
        return None
    if len(value) not in {1, golds}:
        raise DataError(f"sample {sample.id}: {_CONDITION} lists the columns of {len(value)} queries, of {golds}")
    return value * golds if len(value) == 1 else value


def _written(value: Any) -> Any:
    """What a cell of a spreadsheet says in JSON; any other value as it is."""
    if not isinstance(value, str) or not value.strip().startswith("["):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def best_of_golds(by_gold: Sequence[Sequence[Score]]) -> list[Score]:
    """For each score the first gold by which it is right, else the first by which it is scored, else the first.

    Args:
        by_gold: the same scores against each gold, the verdict on the result first.
    """
    if len(by_gold) == 1:
        return list(by_gold[0])
    best: list[Score] = []
    for scores in zip(*by_gold, strict=True):
        scored = [at for at, score in enumerate(scores) if score.outcome == "scored"]
        at = next((index for index in scored if scores[index].passed), scored[0] if scored else 0)
        score = scores[at]
        if not best:
            said = f"gold {at + 1}: {score.reason}" if score.reason else f"gold {at + 1}"
            score = replace(score, reason=said, detail={**score.detail, "gold": at + 1, "golds_tried": len(by_gold)})
        best.append(score)
    return best


def ignores_order(sample: Sample) -> bool:
    """Whether the dataset says that the order of the rows does not count."""
    value = sample.metadata.get(_IGNORE, False)
    if value in (None, ""):
        return False
    if isinstance(value, str):
        value = {"true": True, "false": False, "1": True, "0": False}.get(value.strip().lower(), value)
    if not isinstance(value, bool) and value not in (0, 1):
        raise DataError(f"sample {sample.id}: {_IGNORE} is {value!r}; true or false is expected")
    return bool(value)


def condition_columns(sample: Sample, reference: ResultTable) -> ResultTable | None:
    """The columns of the reference's result that count; None where the dataset says nothing of columns."""
    value = _written(sample.metadata.get(_CONDITION))
    if value is None or value == "":
        return None
    columns = value if isinstance(value, list) else [value]
    if not columns:
        columns = list(range(len(reference.columns)))
    if not all(type(at) is int and 0 <= at < len(reference.columns) for at in columns):
        raise DataError(
            f"sample {sample.id}: {_CONDITION} is {value!r}; "
            f"numbers from 0 to {len(reference.columns) - 1} are expected"
        )
    rows = [tuple(row[at] for at in columns) for row in reference.rows]
    types = tuple(reference.types[at] for at in columns) if reference.types else ()
    return ResultTable(tuple(reference.columns[at] for at in columns), rows, types)


def accept_extra_columns(verdict: ResultVerdict) -> ResultVerdict:
    """The verdict where further columns of the prediction do not count against it."""
    if verdict.kind != "columns_extra":
        return verdict
    if "same_but_order" in verdict.flags:
        return replace(verdict, reason=f"{verdict.reason}, in another order")
    return replace(verdict, right=True, reason=f"all columns that count are there; {verdict.reason}")
