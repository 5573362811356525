"""Whether one run is sound: its rows, what they point at, its counters and its seals."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from sqlalchemy import Connection, bindparam, func, inspect, select

from steelyard.errors import StoreError
from steelyard.session.replies import unpack_reply
from steelyard.store import schema
from steelyard.store.damage import Verdict
from steelyard.store.reading import unpacker_of
from steelyard.store.records import KEY_BYTES, ReplyKey, sample_hash, unpack_keys, unpack_record, unpack_score
from steelyard.store.seals import HEAD, ROWS, of_head, of_record, of_score, read_seals
from steelyard.text.plain_json import from_json
from steelyard.types import Reply

_CHUNK: Final = 500
_STATES: Final = frozenset({"open", "finished", "interrupted", "broken"})
_OF_RUN: Final = ("done", "errors", "replies", "from_journal", "input_tokens", "output_tokens")
_OF_STAGE: Final = ("calls", "from_journal", "input_tokens", "output_tokens", "estimated")
_REPLIES: Final = select(schema.reply.c.key, schema.reply.c.body).where(
    schema.reply.c.key.in_(bindparam("keys", expanding=True))
)


class RunCheck:
    """Looks at one run on a connection whose reads are of one moment.

    Args:
        connection: to the store.
        run: the run's number.
        ident: its id.
        verdict: takes what is found.
    """

    def __init__(self, connection: Connection, run: int, ident: str, verdict: Verdict) -> None:
        self._connection = connection
        self._run = run
        self._id = ident
        self._verdict = verdict
        self._unpack = unpacker_of(connection).unpack
        self._stages: Sequence[str] = ()
        self._counted: Counter[str] = Counter()
        self._by_stage: dict[int, Counter[str]] = {}
        self._seals: dict[int, int] = {ROWS: 0}
        self._samples: set[tuple[str, int]] = set()
        self._names: Mapping[int, str] = {}
        self._layers: set[int] = {0}
        self._lost_replies = False

    def check(self) -> None:
        """Look at all of it."""
        row = dict(self._connection.execute(select(schema.run).where(schema.run.c.num == self._run)).mappings().one())
        self._verdict.counts["runs"] += 1
        self._check_head(row)
        word, layer = schema.word, schema.layer
        self._names = {one.num: one.text for one in self._connection.execute(select(word.c.num, word.c.text))}
        self._layers |= set(self._connection.scalars(select(layer.c.layer).where(layer.c.run == self._run)))
        self._check_layers(row["layer"])
        place = (-1, 0)
        while rows := self._chunk(place):
            self._check_chunk(rows)
            place = (rows[-1]["no"], rows[-1]["repeat"])
        self._check_counters(row)
        self._check_stages()
        self._check_seals()
        self._check_remarks()

    def _add(self, what: str, sample: str = "", repeat: int = 0) -> None:
        self._verdict.add(what, run=self._id, sample=sample, repeat=repeat)

    def _check_head(self, row: Mapping[str, Any]) -> None:
        try:
            manifest = json.loads(row["manifest"])
            self._stages = [str(one) for one in manifest["stages"]]
        except (ValueError, KeyError, TypeError) as error:
            self._add(f"the manifest cannot be read: {error}")
        if row["state"] not in _STATES:
            self._add(f"the state {row['state']!r} is none")
        evaluation = schema.evaluation
        if self._connection.scalar(select(evaluation.c.num).where(evaluation.c.num == row["evaluation"])) is None:
            self._add(f"evaluation {row['evaluation']}, which holds what was spent, is missing")
        sealed = read_seals(self._connection, self._run)
        if not sealed:
            self._verdict.counts["runs without a seal"] += 1
        elif HEAD in sealed and sealed[HEAD] != of_head(row):
            self._add("its seal is broken: the manifest, a name or the planned number is not what it was begun with")

    def _check_layers(self, newest: int) -> None:
        if newest not in self._layers:
            self._add(f"layer {newest} of its scores is missing")
        layer = schema.layer
        for row in self._connection.execute(select(layer).where(layer.c.run == self._run)):
            try:
                json.loads(row.scorers)
            except ValueError as error:
                self._add(f"layer {row.layer} cannot be read: {error}")

    def _chunk(self, after: tuple[int, int]) -> Sequence[dict[str, Any]]:
        record, sample = schema.record, schema.sample
        later = (record.c.no > after[0]) | ((record.c.no == after[0]) & (record.c.repeat > after[1]))
        query = (
            select(
                record, sample.c.num.label("sample_num"), sample.c.hash.label("sample_hash"), sample.c.id, sample.c.grp,
                sample.c.cluster, sample.c.body.label("sample_body"),
            )
            .select_from(record.outerjoin(sample, sample.c.num == record.c.sample))
            .where((record.c.run == self._run) & later)
            .order_by(record.c.no, record.c.repeat)
            .limit(_CHUNK)
        )  # fmt: skip
        return [dict(row) for row in self._connection.execute(query).mappings()]

    def _check_chunk(self, rows: Sequence[dict[str, Any]]) -> None:
        keys = [self._keys_of(row) for row in rows]
        wanted = {one.key for several in keys for one in several}
        found = self._connection.execute(_REPLIES, {"keys": list(wanted)}) if wanted else ()
        bodies = {bytes(key): bytes(body) for key, body in found}
        scores = self._scores(rows)
        for row, several in zip(rows, keys, strict=True):
            place = (row["id"] or "", row["repeat"])
            self._verdict.counts["records"] += 1
            self._seals[ROWS] ^= of_record(row)
            self._samples.add(place)
            self._check_sample(row, place)
            replies = [self._reply(one, bodies, place) for one in several]
            self._count(row, several, replies)
            self._check_record(row, place, [one for one in replies if one is not None])
            for score in scores.pop((row["no"], row["repeat"]), ()):
                self._check_score(score, place)
        for (no, repeat), left in scores.items():
            self._add(f"place {no}, repeat {repeat} has {len(left)} scores and no record")

    def _keys_of(self, row: Mapping[str, Any]) -> list[ReplyKey]:
        packed = bytes(row["replies"] or b"")
        with suppress(IndexError):  # a stage that the run has not
            if not len(packed) % KEY_BYTES:
                return unpack_keys(packed, self._stages)
        self._add("its list of replies cannot be read", row["id"] or "", row["repeat"])
        return []

    def _check_sample(self, row: Mapping[str, Any], place: tuple[str, int]) -> None:
        if row["sample_num"] is None:
            self._add(f"sample number {row['sample']} is missing (place {row['no']} of the dataset)", *place)
            return
        try:
            body = self._unpack(bytes(row["sample_body"]))
        except StoreError as error:
            self._add(f"its sample: {error}", *place)
            return
        if sample_hash(row["id"], row["grp"], row["cluster"], body) != row["sample_hash"]:
            self._add("the sample is not what its hash was made of", *place)

    def _reply(self, held: ReplyKey, bodies: Mapping[bytes, bytes], place: tuple[str, int]) -> Reply | None:
        if held.key not in bodies:
            self._lost_replies = True
            self._add(f"reply {held.key.hex()} is missing from the journal", *place)
            return None
        try:
            return unpack_reply(held.key.hex(), self._unpack(bodies[held.key]))
        except (StoreError, ValueError, TypeError) as error:
            self._lost_replies = True
            self._add(f"reply {held.key.hex()}: {error}", *place)
            return None

    def _count(self, row: Mapping[str, Any], keys: Sequence[ReplyKey], replies: Sequence[Reply | None]) -> None:
        self._counted.update(done=1, errors=row["failed"], replies=len(keys))
        for held, reply in zip(keys, replies, strict=True):
            stage = self._by_stage.setdefault(self._stages.index(held.stage), Counter())
            for counter in (self._counted, stage):
                counter["from_journal"] += held.cached
                if reply is not None:
                    counter["input_tokens"] += reply.usage.input_tokens
                    counter["output_tokens"] += reply.usage.output_tokens
            stage["calls"] += 1
            stage["estimated"] += reply is not None and reply.usage.estimated

    def _check_record(self, row: Mapping[str, Any], place: tuple[str, int], replies: Sequence[Reply]) -> None:
        try:
            body = None if row["body"] is None else self._unpack(bytes(row["body"]))
            _, failure = unpack_record(body, replies)
        except (StoreError, ValueError, TypeError, KeyError) as error:
            self._add(f"its output: {error}", *place)
            return
        if bool(row["failed"]) != (failure is not None):
            self._add("it is counted as failed and holds no failure, or the other way round", *place)

    def _scores(self, rows: Sequence[Any]) -> dict[tuple[int, int], list[Mapping[str, Any]]]:
        """The scores of these records, and of places between them."""
        score = schema.score
        query = select(score).where((score.c.run == self._run) & score.c.no.between(rows[0]["no"], rows[-1]["no"]))
        first, last = ((rows[at]["no"], rows[at]["repeat"]) for at in (0, -1))
        found: dict[tuple[int, int], list[Mapping[str, Any]]] = {}
        for row in self._connection.execute(query).mappings():
            # A chunk may end between two repeats of a sample.
            if first <= (row["no"], row["repeat"]) <= last:
                found.setdefault((row["no"], row["repeat"]), []).append(dict(row))
        return found

    def _check_score(self, row: Mapping[str, Any], place: tuple[str, int]) -> None:
        self._verdict.counts["scores"] += 1
        self._seals[row["layer"]] = self._seals.get(row["layer"], 0) ^ of_score(row)
        name = self._names.get(row["name"])
        if name is None:
            self._add(f"a score's name, number {row['name']}, is missing", *place)
        if row["layer"] not in self._layers:
            self._add(f"a score is of layer {row['layer']}, which is not there", *place)
        try:
            body = None if row["body"] is None else self._unpack(bytes(row["body"]))
            unpack_score(name or "", row["outcome"], row["value"], row["passed"], body)
        except (StoreError, ValueError, TypeError, IndexError) as error:
            self._add(f"score {name or row['name']}: {error}", *place)

    def _check_counters(self, row: Mapping[str, Any]) -> None:
        for name in _OF_RUN:
            # What a lost reply had counted is not known; that it is lost has been said.
            if row[name] != self._counted[name] and not (self._lost_replies and name.endswith("tokens")):
                self._add(f"it counts {row[name]} {name.replace('_', ' ')}, its records hold {self._counted[name]}")
        if row["state"] == "finished" and row["done"] != row["planned"]:
            stopping = schema.stopping
            if self._has(stopping.name) and self._connection.scalar(
                select(func.count()).select_from(stopping).where(stopping.c.run == self._run)
            ):
                return
            self._add(f"it is finished with {row['done']} of {row['planned']} records")

    def _check_stages(self) -> None:
        table = schema.stage
        if not self._has(table.name):
            return
        rows = {
            row["stage"]: row
            for row in self._connection.execute(select(table).where(table.c.run == self._run)).mappings()
        }
        counted = sum(row["calls"] for row in rows.values())
        if not rows or counted < self._counted["replies"]:
            # An earlier version stored a part of the run and counted no stages; nothing is shown of them then.
            self._verdict.counts["runs without counted stages"] += bool(self._counted["replies"])
            return
        for stage in sorted(rows.keys() | self._by_stage.keys()):
            found = self._by_stage.get(stage, Counter())
            wrong = [name for name in _OF_STAGE if (rows[stage][name] if stage in rows else 0) != found[name]]
            if self._lost_replies:
                wrong = [name for name in wrong if name in {"calls", "from_journal"}]
            if wrong:
                self._add(f"stage {stage} counts other {', '.join(wrong).replace('_', ' ')} than its records hold")

    def _check_seals(self) -> None:
        sealed = read_seals(self._connection, self._run)
        for part, digest in sealed.items():
            if part != HEAD and digest != self._seals.get(part, 0):
                what = "its records or scores" if part == ROWS else f"the scores of layer {part}"
                self._add(f"its seal is broken: {what} are not those that were stored")

    def _check_remarks(self) -> None:
        label, stopping, known = schema.label, schema.stopping, {ident for ident, _ in self._samples}
        if self._has(label.name):
            for row in self._connection.execute(select(label).where(label.c.run == self._run)):
                self._verdict.counts["labels"] += 1
                if row.sample not in known:
                    self._add(f"label {row.name!r} is of a sample that the run has not", row.sample, row.repeat)
                self._parse(row.value.encode("utf-8", "surrogatepass"), f"label {row.name!r}", row.sample)
        if self._has(stopping.name):
            for body in self._connection.scalars(select(stopping.c.body).where(stopping.c.run == self._run)):
                self._parse(body.encode(), "what its stopping rule decided")

    def _parse(self, body: bytes, what: str, sample: str = "") -> None:
        try:
            from_json(body)
        except ValueError as error:
            self._add(f"{what} cannot be read: {error}", sample)

    def _has(self, table: str) -> bool:
        return inspect(self._connection).has_table(table)
