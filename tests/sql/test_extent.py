"""What a comparison may take of the caller: cells are counted first, CPU time is looked at on the way."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import tracemalloc

import pytest

from steelyard.sql.accuracy import bird, qatch, spider
from steelyard.sql.engines.engine import EngineQuery, SqlStop, fetch, size_of
from steelyard.sql.extent import ComparisonStop, Effort, check_time, count_cells
from steelyard.sql.results import Database, ResultTable, SqlLimits
from steelyard.sql.verdict import judge
from steelyard.sql.workers import wire
from steelyard.sql.workers.processes import Worker

FEW = SqlLimits(max_cells=1000)
MANY_EMPTY = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200000) SELECT {} FROM n".format(
    ", ".join(["''"] * 100)
)
LONG_LIST = "SELECT range(600000)"


def table(rows):
    return ResultTable(tuple(f"c{position}" for position in range(len(rows[0]))), rows)


def cursor(rows):
    waiting = list(rows)

    def fetchmany(step):
        taken, waiting[:step] = waiting[:step], []
        return taken

    return fetchmany


class TestCounting:
    @pytest.mark.parametrize(
        ("rows", "cells"),
        [
            ([], 0),
            ([(1, "a", None)] * 5, 15),
            ([([],)], 1),
            ([([1, 2, 3],)], 4),
            ([([[1, 2], [3]], {"a": [4, 5]})], 2 + 2 + 3 + 2 + 2),
            ([({1, 2}, (3,))], 2 + 3),
            ([("a long text",), (b"bytes",)], 2),
        ],
    )
    def test_parts_of_nested_cells_are_cells(self, rows, cells):
        assert count_cells(rows, 10**6) == cells

    def test_counting_ends_beyond_the_most(self):
        inner = [0] * 1000
        assert 1000 < count_cells([[[inner] * 1000] * 1000], 1000) < 5000

    def test_a_cell_that_nests_deeper_than_pythons_stack_is_counted(self):
        cell = []
        for _ in range(5000):
            cell = [cell]
        assert count_cells([[cell]], 10**6) == 5001

    def test_no_cell_counts_for_less_than_a_number(self):
        assert size_of([("", "a", b"", None, 1)]) == 40
        assert size_of([("x" * 20, "é" * 20)]) == 60


class TestFetching:
    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ([("",) * 100] * 11, "more than 1,000 cells, parts of lists counted, after 7 rows"),
            ([(list(range(1001)),)], "more than 1,000 cells, parts of lists counted"),
            ([({number: number for number in range(500)},)], "more than 1,000 cells, parts of lists counted"),
        ],
    )
    def test_a_result_of_too_many_cells_is_too_large(self, rows, message):
        with pytest.raises(SqlStop) as stop:
            fetch(cursor(rows), FEW)
        assert (stop.value.kind, stop.value.message) == ("too_large", message)

    def test_a_result_of_as_many_cells_as_allowed_is_fetched(self):
        rows = [("",) * 100] * 10
        assert fetch(cursor(rows), FEW) == rows

    @pytest.mark.parametrize(("engine", "query"), [("sqlite", MANY_EMPTY), ("duckdb", LONG_LIST)])
    def test_the_worker_stops_before_it_sends(self, sandbox, engine, query):
        failure = sandbox.run(Database(engine), query).failure
        assert failure.kind == "too_large"
        assert failure.message.startswith("more than 500,000 cells")

    @pytest.mark.parametrize(
        "frames",
        [
            [(b"R", json.dumps([[""] * 100] * 11).encode())],
            [(b"R", json.dumps([[""] * 100] * 9).encode())] * 2,
            [(b"R", b'[[{"l":[' + b",".join([b"1"] * 1000) + b"]}" + b',""' * 99 + b"]]")],
            [(b"R", b"[" + b",".join([b"[]"] * 200_000) + b"]")],
        ],
        ids=["one frame", "several frames", "a list", "a frame of lists"],
    )
    def test_a_worker_that_sends_more_is_stopped(self, sandbox, frames):
        ours, theirs = socket.socketpair()

        def lie():
            with theirs:
                theirs.recv(2**16)
                wire.send(theirs, b"C", wire.dump([["a"] * 100, []]))
                for kind, body in frames:
                    wire.send(theirs, kind, body)

        sandbox.check("sqlite")
        worker = Worker(sandbox._pool._templates["sqlite"], 0, ours)
        thread = threading.Thread(target=lie)
        thread.start()
        done = worker.run(EngineQuery("sqlite", "", "", "", "SELECT 1", FEW))
        thread.join()
        assert (done.table, done.failure.kind) == (None, "error")

    def test_long_nested_json_is_refused_before_it_is_read_and_texts_of_its_marks_are_not(self):
        packed = b"[" + b",".join([b"[]"] * 200_000) + b"]"
        with pytest.raises(wire.WireError, match="more cells than the limit"):
            wire.unpack(b'[[{"J":%d}]]' % len(packed), 1, lambda _: b'{"l":%s}' % packed, 1000)
        text = b'{"l":["%s"]}' % (b",[" * 200_000)
        assert wire.unpack(b'[[{"J":%d}]]' % len(text), 1, lambda _: text, 1000) == [([",[" * 200_000],)]


class TestJudging:
    def test_a_prediction_of_too_many_cells_is_wrong(self):
        verdict = judge(table([(1,)]), table([("",) * 100] * 11), limits=FEW)
        assert (verdict.kind, verdict.right) == ("too_large", False)
        assert verdict.reason == "result too large: more than 1,000 cells"

    @pytest.mark.parametrize("prediction", [[(1,)], [("",) * 100] * 11])
    def test_a_reference_of_too_many_cells_says_nothing_of_the_prediction(self, prediction):
        with pytest.raises(ComparisonStop, match="the reference's result has more than 1,000 cells") as stop:
            judge(table([("",) * 100] * 11), table(prediction), limits=FEW)
        assert stop.value.kind == "too_large"

    def test_huge_tables_are_decided_without_looking_at_their_cells(self):
        few, wide = table([(1,)]), ResultTable(("a",) * 100, [("",) * 100] * 200_000)
        deep = table([(list(range(3_000_000)),)])
        tracemalloc.start()
        try:
            for large in (wide, deep):
                assert judge(few, large).kind == "too_large"
                with pytest.raises(ComparisonStop) as stop:
                    judge(large, few)
                assert stop.value.kind == "too_large"
            taken = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert taken < 1 << 20

    @pytest.mark.parametrize(
        "make",
        [
            lambda: [(number, number + 0.5, f"row {number}") for number in range(20_000)],
            lambda: [([number + 0.5 for number in range(60_000)],)],
            lambda: [({number: [number] for number in range(30_000)},)],
            lambda: [tuple(number >> bit & 1 for bit in range(8)) * 2 for number in range(20_000)],
        ],
        ids=["rows", "a list", "a map", "columns that are alike"],
    )
    def test_a_comparison_that_takes_too_long_is_none(self, make):
        rows = make()
        other = [(*row[:-1], [0]) for row in rows]
        limits = SqlLimits(compare_timeout_s=0.05)
        with pytest.raises(ComparisonStop, match=r"more than 0\.05 s of CPU time .*compare_timeout_s") as stop:
            judge(table(rows), table(other), limits=limits)
        assert stop.value.kind == "timeout"

    @pytest.mark.parametrize("rule", [bird, qatch, lambda *pair: spider(*pair, order_matters=False)])
    def test_published_rules_end_with_the_time_too(self, rule):
        pair = table([(number, f"{number}") for number in range(5000)]), table([(0, "")] * 5000)
        with pytest.raises(ComparisonStop), Effort(0.05).spend():
            list(iter(lambda: rule(*pair), "never"))


def work_until_stopped(*effort):
    """Spend the time of each comparison in turn, for ever."""
    while True:
        for one in effort:
            with one.spend():
                check_time()
                sum(range(1000))


class TestEffort:
    def test_time_is_shared_by_all_comparisons_of_a_sample(self):
        effort = Effort(0.05)
        with pytest.raises(ComparisonStop):
            work_until_stopped(effort)
        with pytest.raises(ComparisonStop), effort.spend():
            check_time()

    def test_nothing_ends_where_no_time_is_set(self):
        check_time()
        with Effort(60).spend():
            check_time()

    def test_the_outer_time_counts(self):
        with pytest.raises(ComparisonStop, match=r"0\.05 s"), Effort(0.05).spend():
            work_until_stopped(Effort(60))

    def test_waiting_is_no_work(self):
        """CPU time, so that a machine which is busy with other things changes no verdict."""
        with Effort(0.05).spend():
            subprocess.run([sys.executable, "-c", "sum(range(5_000_000))"], check=True)
            check_time()
