"""Checks in the cells of a dataset: read, and tried on their own row before anything is sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from steelyard.building.nodes import ConfigErrors, plain
from steelyard.building.read import parse
from steelyard.building.row_values import WithRowValues, values_of_row
from steelyard.building.wrapped import rebound
from steelyard.data.rows import RowDataset
from steelyard.data.table import Defect, is_blank_cell, refuse
from steelyard.errors import ConfigError, DataError
from steelyard.plain_json import with_texts
from steelyard.prompts.template import renamed, value_at
from steelyard.scorers.combined import CHECKS, Checks, kind_of_check, row_scorers
from steelyard.scorers.judges.judge import Judge, judge_of
from steelyard.types import Sample, Scorer


def checks_in(cell: Any, place: str, names: Mapping[str, str]) -> Any:
    """The checks of a cell as plain values; in a sheet or CSV they are written as YAML. None where it is blank.

    Args:
        cell: of the column `checks`.
        place: where it is, for messages.
        names: column -> the name that scorers know it by.

    Raises:
        ConfigError: it is no YAML.

    >>> checks_in("contains: ['{{source}}']", "a.csv line 2", {"source": "input"})
    {'contains': ['{{input}}']}
    """
    if is_blank_cell(cell):
        return None
    value = plain(parse(cell, place)) if isinstance(cell, str) else cell
    return with_names(value, names)


def with_names(value: Any, names: Mapping[str, str]) -> Any:
    """A plain value with other names in the placeholders of its texts."""
    return with_texts(value, lambda text: renamed(text, names))


def defects_of(sample: Sample, place: str) -> Iterator[Defect]:
    """What is wrong with the checks of a sample, with their options filled from its row."""
    given = sample.metadata.get(CHECKS)
    if given is None:
        return
    try:
        for check in row_scorers(given):
            try_values(check, sample)
    except (ConfigError, DataError) as error:
        for single in error.errors if isinstance(error, ConfigErrors) else (error,):
            message = single.message if isinstance(single, ConfigError) else str(single)
            yield Defect("bad checks", place, message.removeprefix("checks: ").removeprefix(f"sample {sample.id!r}: "))


def try_values(scorer: Scorer, sample: Sample) -> None:
    """Fill the options of a scorer from a row.

    Raises:
        DataError: there is no such column, or an option refuses the value.
    """

    def filled(part: Any) -> Any:
        if isinstance(part, WithRowValues):
            part.for_sample(sample)
        return part

    rebound(scorer, filled)


def with_columns(scorers: Sequence[Scorer], names: Mapping[str, str]) -> tuple[Scorer, ...]:
    """The scorers, whose options name columns as samples know them."""

    def bound(scorer: Any) -> Any:
        if not isinstance(scorer, WithRowValues):
            return scorer
        return replace(scorer, options=with_names(dict(scorer.options), names))

    return tuple(rebound(scorer, bound) for scorer in scorers)


def try_on_rows(scorers: Sequence[Scorer], data: RowDataset) -> None:
    """Fill the options of scorers from every row, before anything is sent.

    Raises:
        ConfigError: a column that no row has.
        DataError: a value that an option refuses, with the place of its row.
    """
    for scorer in scorers:
        columns = columns_of(scorer)
        _refuse_unknown(columns, data)
        if columns:
            for place, sample in data.located():
                try:
                    try_values(scorer, sample)
                except DataError as error:
                    message = f"{kind_of_check(scorer)}: {str(error).removeprefix(f'sample {sample.id!r}: ')}"
                    refuse([Defect("bad value", place, message)])


def columns_of(scorer: Scorer) -> tuple[str, ...]:
    """The columns that options of a scorer name."""
    names: dict[str, None] = {}

    def seen(part: Any) -> Any:
        names.update(dict.fromkeys(part.columns if isinstance(part, WithRowValues) else ()))
        return part

    rebound(scorer, seen)
    return tuple(names)


def _refuse_unknown(columns: Sequence[str], data: RowDataset) -> None:
    for column in columns:
        known = values_of_row(data.samples[0])
        try:
            value_at(column, known)
        except ConfigError as error:
            names = ", ".join(key for key in data.samples[0].metadata if key not in ("position", CHECKS))
            message = f"scorers: {error.message}; columns that are values: {names or 'none'}"
            raise ConfigError(message) from error


def with_kinds(scorers: Sequence[Scorer], samples: Sequence[Sample]) -> tuple[Scorer, ...]:
    """The scorers; `checks` among them knows the kinds of all rows, and whether one of them asks a judge."""
    own = [check for sample in samples if (given := sample.metadata.get(CHECKS)) for check in row_scorers(given)]
    if CHECKS in map(kind_of_check, own):
        raise ConfigError(f"checks: a check of a row cannot have the name {CHECKS!r}")

    def bound(scorer: Any) -> Any:
        if not isinstance(scorer, Checks):
            return scorer
        checks = (*scorer.every, *own)
        asks = any(judge_of(check) == Judge() for check in checks)
        kinds = tuple(dict.fromkeys(map(kind_of_check, checks)))
        return replace(scorer, kinds=kinds, judge=scorer.judge or Judge() if asks else None)

    return tuple(rebound(scorer, bound) for scorer in scorers)
