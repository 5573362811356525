"""What a run's summary holds beside its means: histograms, crosses, exams and breakdowns, as its manifest asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, select

from steelyard.errors import StoreError
from steelyard.stats.intervals import Interval
from steelyard.store import schema
from steelyard.store.reading import unpacker_of
from steelyard.store.records import unpack_sample
from steelyard.summary import (
    NO_GROUP,
    UNIT,
    Consistency,
    Cross,
    Exam,
    Histogram,
    Intervals,
    ScoreColumns,
    ScoreSummary,
    Stopping,
    cross,
    exam_as_stopped,
    examined,
    histogram,
    summarize,
)
from steelyard.text.inert import cell_text
from steelyard.text.plain_json import from_json


def histograms(columns: ScoreColumns, manifest: Mapping[str, Any]) -> dict[str, Histogram]:
    """By score, as the run's manifest asks; nothing of a score that no record has: `rescore` may have left it out."""
    scales = manifest.get("scales", {})
    names = manifest.get("spreads", ())
    found = {name: histogram(columns, name, Interval(*scales.get(name, UNIT))) for name in names}
    return {name: one for name, one in found.items() if one.total}


def crosses(columns: ScoreColumns, manifest: Mapping[str, Any]) -> tuple[Cross, ...]:
    """In the order of the suite, as the run's manifest asks."""
    words = {name: (one, zero) for name, (one, zero) in manifest.get("words", {}).items()}
    return tuple(cross(columns, first, second, words) for first, second in manifest.get("crossed", ()))


def exams(
    columns: ScoreColumns, scores: Sequence[ScoreSummary], manifest: Mapping[str, Any], stopping: Stopping | None
) -> tuple[Exam, ...]:
    """What stands beside the means of exam scores; nothing of a score that has no mean."""
    names = manifest.get("exam", ())
    of_exams = [one for one in scores if one.name in names and one.headline.n]
    return tuple(exam_as_stopped(examined(columns, one), stopping) for one in of_exams)


def _asks_repeatedly(scorers: Any) -> bool:
    """Whether a judge among the described scorers has more than one repeat."""
    if isinstance(scorers, Mapping):
        repeats = scorers.get("repeats")
        return (type(repeats) is int and repeats > 1) or any(map(_asks_repeatedly, scorers.values()))
    return isinstance(scorers, list) and any(map(_asks_repeatedly, scorers))


def consistency(connection: Connection, run: int, layer: int, *, scorers: Any) -> dict[str, Consistency]:
    """Score -> how far its judge agreed with itself; damaged scores are left out.

    Args:
        connection: of the store.
        run: the run's number.
        layer: of the scores.
        scorers: as the manifest describes them; where none asks repeatedly, no score is read.
    """
    if not _asks_repeatedly(scorers):
        return {}
    score, word = schema.score, schema.word
    query = (
        select(word.c.text, score.c.body)
        .select_from(score.join(word, word.c.num == score.c.name))
        .where((score.c.run == run) & (score.c.layer == layer) & score.c.body.is_not(None))
        .order_by(word.c.text, score.c.no, score.c.repeat)
    )
    unpack = unpacker_of(connection).unpack
    told: dict[str, list[tuple[float, float]]] = {}
    for row in connection.execute(query):
        with suppress(StoreError):
            detail = from_json(unpack(bytes(row.body)))[1]
            if "sd" in detail and "flip_rate" in detail:
                told.setdefault(row.text, []).append((detail["sd"], detail["flip_rate"]))
    return {name: one for name, several in told.items() if (one := Consistency.of(several)) is not None}


def breakdowns(
    connection: Connection, run: int, columns: ScoreColumns, manifest: Mapping[str, Any]
) -> dict[str, dict[str, tuple[ScoreSummary, ...]]]:
    """Key -> score -> a summary per value of that key; no entry for a key that no sample has.

    Args:
        connection: of the store.
        run: the run's number.
        columns: the run's rows.
        manifest: the run's, for the scores' order, scales and headlines.
    """
    keys = manifest.get("breakdowns", ())
    if not keys:
        return {}
    order = {name: place for place, name in enumerate(manifest.get("scores", ()))}
    over, scales, intervals = manifest.get("over", {}), manifest.get("scales", {}), Intervals.of(manifest)
    found = {}
    for key, of_sample in _metadata(connection, run, keys).items():
        if not any(of_sample.values()):
            continue
        by_value = columns.in_groups([of_sample.get(sample, "") for sample in columns.samples])
        groups = summarize(by_value, over=over, scales=scales, intervals=intervals)[1]
        found[key] = {
            name: tuple(replace(one, group=f"(no {key})") if one.group == NO_GROUP else one for one in groups[name])
            for name in sorted(groups, key=lambda name: order.get(name, len(order)))
        }
    return found


def _metadata(connection: Connection, run: int, keys: Sequence[str]) -> dict[str, dict[str, str]]:
    """Key of the metadata -> sample's id -> its value as text; "" where a sample has none."""
    record, sample = schema.record, schema.sample
    asked = select(record.c.sample).where(record.c.run == run)
    query = select(sample.c.id, sample.c.grp, sample.c.cluster, sample.c.body).where(sample.c.num.in_(asked))
    unpack = unpacker_of(connection).unpack
    found: dict[str, dict[str, str]] = {key: {} for key in keys}
    for row in connection.execute(query):
        try:
            metadata = unpack_sample(row.id, row.grp, row.cluster, unpack(bytes(row.body))).metadata
        except StoreError:
            metadata = {}  # Whoever reads the sample itself is told that it is damaged; its scores still count.
        for key, values in found.items():
            values[row.id] = cell_text(metadata.get(key))
    return found
