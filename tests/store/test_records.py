"""Records come back as they were, whatever a user's or a model's values hold."""

import asyncio
import dataclasses
import math
import tempfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.thorough import times

from steelyard import Output, Record, Reply, Sample, Score, Store
from steelyard.errors import Attempt
from steelyard.plain_json import from_json, to_json
from steelyard.session.replies import pack_reply, plain_output
from steelyard.store import NewRun
from steelyard.store.records import pack_keys, unpack_keys
from steelyard.types import OUTCOMES, Failure, Usage

STAGES = ("target", "judge")
NASTY = [
    "\0",
    "a\0b",
    "\ud800",
    "\udfff\ud800",
    "\u202eabc\u2066",
    "\u2028\x85\r\n",
    "\ufeff",
    "'; DROP TABLE run; --",
    "易" * 50,
]
text = st.text(st.characters(exclude_categories=[]), max_size=12) | st.sampled_from(NASTY)
name = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(["\0", "\u202e", "易"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
metadata = st.dictionaries(text, values, max_size=2)
seconds = st.integers(0, 10**6).map(lambda n: n / 1000)
attempts = st.lists(st.builds(Attempt, text, seconds, seconds, text), min_size=2, max_size=3).map(tuple)
samples = st.builds(
    Sample,
    name,
    values,
    values,
    st.lists(text, max_size=3).map(tuple),
    st.lists(text, max_size=2).map(tuple),
    name,
    name,
    metadata,
)
replies = st.builds(
    Reply,
    st.binary(min_size=10, max_size=10).map(bytes.hex),
    text,
    text,
    st.builds(Usage, st.integers(0, 2**40), st.integers(0, 2**40), st.booleans()),
    seconds,
    attempts,
    st.booleans(),
    metadata,
)


@st.composite
def scores(draw):
    outcome = draw(st.sampled_from(OUTCOMES))
    # + 0.0: SQLite keeps no sign of a zero, and no score needs one.
    value = draw(st.floats(allow_nan=False, allow_infinity=False)) + 0.0 if outcome == "scored" else None
    passed = draw(st.none() | st.booleans())
    return Score(draw(name.filter(bool)), value, passed, outcome, draw(text), draw(metadata))


outputs = st.builds(Output, values, st.lists(text, max_size=2).map(tuple), metadata)
records = st.builds(
    Record,
    samples,
    st.none() | outputs,
    st.lists(scores(), max_size=3, unique_by=lambda score: score.name).map(tuple),
    st.dictionaries(st.sampled_from(STAGES), st.lists(replies, min_size=1, max_size=2).map(tuple)),
    st.none() | st.builds(Failure, text, text, text, attempts),
    seconds,
    st.integers(0, 3),
).filter(lambda record: record.output is not None or record.failure is not None)


def plain(record):
    """A record for comparison: NaN is equal to itself, scores in order of names."""
    ordered = dataclasses.replace(record, scores=tuple(sorted(record.scores, key=lambda score: score.name)))
    return to_json(ordered)


async def keep(store, several):
    journal = store.journal(1)
    for record in several:
        for asked in record.replies.values():
            for reply in asked:
                await journal.commit(bytes.fromhex(reply.key), pack_reply(reply))


def through_the_store(folder, several):
    with tempfile.TemporaryDirectory(dir=folder) as own:
        return through(f"{own}/s.db", several)


def through(where, several):
    with Store(where, create_missing=True) as store:
        asyncio.run(keep(store, several))
        manifest = {"stages": list(STAGES), "scores": [], "over": {}, "primary": "", "tags": {}, "draw": ""}
        writer = store.begin_evaluation([NewRun("suite", "custom", "t", len(several), manifest)])[1][0]
        for no, record in enumerate(several):
            writer.insert(no, record)
        writer.finish("finished", "", 1.0)
        return list(store.run(writer.run.id).records()), store.run(writer.run.id)


def distinct_keys(several):
    keys = [reply.key for record in several for asked in record.replies.values() for reply in asked]
    return len(keys) == len(set(keys))


def as_stored(record):
    return plain(dataclasses.replace(record, output=record.output and plain_output(record.output)))


@settings(max_examples=times(12, 300))
@given(several=st.lists(records, min_size=1, max_size=5).filter(distinct_keys))
def test_any_record_comes_back_from_the_store(tmp_path_factory, several):
    stored, run = through_the_store(tmp_path_factory.getbasetemp(), several)
    assert [plain(record) for record in stored] == [as_stored(record) for record in several]
    asked = [reply for value in several for some in value.replies.values() for reply in some]
    assert (run.done, run.errors) == (len(several), sum(value.failure is not None for value in several))
    assert (run.replies, run.from_journal) == (len(asked), sum(reply.cached for reply in asked))


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(several=st.lists(records, min_size=1, max_size=5).filter(distinct_keys))
def test_any_record_comes_back_from_a_server(server, on_server, schema, several):
    server.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')  # of the example before: a key's first reply stays
    stored, _ = through(on_server, several)
    assert [plain(record) for record in stored] == [as_stored(record) for record in several]


@pytest.mark.parametrize("value", ["x" * 1_000_000, "易" * 400_000, ["a" * 5000] * 20, {"k": list(range(10_000))}])
def test_large_values_come_back(tmp_path, value):
    record = Record(Sample("1", value, value), Output(value), (Score("s", 1.0, reason="r" * 100_000),))
    ((stored,), _) = through_the_store(tmp_path, [record])
    assert plain(stored) == plain(record)


@dataclasses.dataclass
class Answer:
    letter: str
    odds: tuple


class Model:
    def to_dict(self, *, deep=True):
        return {"deep": deep}


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (Answer("B", (0.5, 1)), {"letter": "B", "odds": [0.5, 1]}),
        (np.float32(0.5), 0.5),
        (np.int64(7), 7),
        (np.array([[1, 2]]), [[1, 2]]),
        ({3, 1, 2}, [1, 2, 3]),
        (Model(), {"deep": True}),
        ({1: "a", None: "b"}, {"1": "a", "null": "b"}),
        (float("nan"), math.nan),
        (float("-inf"), -math.inf),
        (10**4000, 10**4000),
    ],
)
def test_what_json_has_no_word_for_is_stored_as_its_nearest_plain_form(value, stored):
    plain_value = plain_output(value).value
    assert repr(plain_value) == repr(stored)
    assert to_json(plain_value) == to_json(from_json(to_json(value)))


def test_keys_of_replies_hold_their_stage_and_where_they_came_from():
    asked = {"target": (Reply("00" * 10, ""),), "judge": (Reply("11" * 10, "", cached=True), Reply("22" * 10, ""))}
    packed = pack_keys(asked, STAGES)
    assert len(packed) == 33
    assert unpack_keys(packed, STAGES) == [
        ("target", bytes(10), False),
        ("judge", b"\x11" * 10, True),
        ("judge", b"\x22" * 10, False),
    ]
    assert unpack_keys(None, STAGES) == []
