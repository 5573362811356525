"""The index of chunks: what it finds, and what happens to the file that keeps it."""

import contextlib
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import time
from itertools import pairwise
from math import isclose, log

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.thorough import times

from steelyard.retrieval import stored
from steelyard.retrieval.bm25 import MOST_TERMS, joined_terms, query_terms, tokens
from steelyard.retrieval.chunk import Chunk
from steelyard.retrieval.stored import ChunkIndex, digest_of_chunks, keep, read_kept

WORDS = st.lists(st.sampled_from(["sky", "earth", "fire", "the", "雨量", "计", "naïve", "ガス", "x_y"]), max_size=8)
TEXTS = ("sky sky earth", "earth lake", "wind", "雨量计要放平", "天气 记录")


def chunks_of(*texts):
    return [Chunk(f"{number:016x}", "d.md", text, 0, len(text)) for number, text in enumerate(texts)]


def places(index, query, k=9):
    return [int(hit.chunk.id, 16) for hit in index.search(query, k)]


def without_fulltext(monkeypatch):
    monkeypatch.setattr(stored, "has_fulltext", lambda: False)


def only_file(folder):
    (path,) = folder.iterdir()
    return path


class TestSearch:
    def test_a_score_is_that_of_the_equation(self):
        (hit,) = ChunkIndex(chunks_of("sky sky earth", "earth lake", "wind")).search("sky")
        # idf = ln(2.5 / 1.5); 3 tokens where the mean is 2: norm = 1.2 * (0.25 + 0.75 * 1.5) = 1.65
        assert isclose(hit.score, log(2.5 / 1.5) * 2 * 2.2 / (2 + 1.65))
        assert hit.chunk.text == "sky sky earth"

    @given(
        st.lists(st.one_of(WORDS.map(" ".join), st.text(max_size=12)), max_size=7),
        st.one_of(WORDS.map(" ".join), st.text()),
    )
    def test_full_text_and_our_own_index_find_the_same_with_equal_scores(self, texts, query):
        chunks = chunks_of(*texts)
        hits = ChunkIndex(chunks).search(query, 9)
        with pytest.MonkeyPatch.context() as patch:
            without_fulltext(patch)
            own = ChunkIndex(chunks).search(query, 9)
        assert sorted(hit.chunk.id for hit in hits) == sorted(hit.chunk.id for hit in own)
        scores = {hit.chunk.id: hit.score for hit in own}
        assert all(isclose(hit.score, scores[hit.chunk.id], rel_tol=1e-6) for hit in hits)
        assert all(hit.score >= two.score for hit, two in pairwise(hits))

    def test_equal_scores_stand_in_the_order_of_the_chunks(self):
        assert places(ChunkIndex(chunks_of("sky", "lake", "sky", "sea", "air", "sky")), "sky", 2) == [0, 2]

    def test_chinese_is_found_by_its_words(self):
        index = ChunkIndex(chunks_of(*TEXTS))
        assert places(index, "雨量计怎么放？") == [3]
        assert places(index, "天气") == [4]

    def test_the_headings_of_a_chunk_are_searched_with_it(self):
        chunk = Chunk("0" * 16, "d.md", "It is read at nine.", 9, 28, heading="Rain > Gauge")
        assert [hit.chunk for hit in ChunkIndex([chunk, *chunks_of("wind", "sea")]).search("gauge")] == [chunk]

    @pytest.mark.parametrize(
        "query",
        ['"', "*", "NEAR(", "sky AND", "terms:sky", "^sky", "sky\0", "a\ud800", "🌧", "' OR 1=1 --", "(((", "", " "],
    )
    @pytest.mark.parametrize("fulltext", [True, False])
    def test_no_query_is_an_error(self, query, fulltext, monkeypatch):
        if not fulltext:
            without_fulltext(monkeypatch)
        assert places(ChunkIndex(chunks_of(*TEXTS)), query) in ([], [0])

    @pytest.mark.parametrize("query", ["sky" * 40_000, "sky " * 30_000, "雨量计" * 40_000, '"' * 100_000])
    def test_a_very_long_query_is_answered(self, query):
        assert set(places(ChunkIndex(chunks_of(*TEXTS)), query)) <= {0, 3}

    def test_more_than_there_is_may_be_asked_for(self):
        assert places(ChunkIndex(chunks_of(*TEXTS)), "sky", 10**30) == [0]

    def test_nothing_indexed_or_nothing_asked_finds_nothing(self):
        assert ChunkIndex([]).search("sky") == []
        assert ChunkIndex(chunks_of("sky")).search("sky", 0) == []


class TestTerms:
    @given(st.text())
    def test_joined_terms_are_the_tokens(self, text):
        assert joined_terms(text).split(" ") == (tokens(text) or [""])

    def test_function_words_are_asked_for_only_where_there_is_nothing_else(self):
        assert query_terms("the rain", lambda term: 1) == ["rain"]
        assert query_terms("the", lambda term: 1) == ["the"]

    def test_the_commonest_words_are_left_out_once_the_others_have_places_enough(self):
        counts = {"rain": 3000, "gauge": 900, "station": 200}
        assert query_terms("station rain gauge", counts.__getitem__) == ["station", "gauge"]
        assert query_terms("rain", {"rain": 9_999}.__getitem__) == ["rain"]

    def test_a_query_has_a_limit_of_words(self):
        assert len(query_terms(" ".join(f"w{number}" for number in range(999)), lambda term: 1)) == MOST_TERMS


class TestFile:
    def test_it_is_made_once_and_used_again(self, tmp_path, monkeypatch):
        first = ChunkIndex(chunks_of(*TEXTS), tmp_path / "new" / "index")
        assert first.path == only_file(tmp_path / "new" / "index")
        assert first.path.suffix == ".db"
        monkeypatch.setattr(stored, "build_fulltext", None)
        again = ChunkIndex(chunks_of(*TEXTS), tmp_path / "new" / "index")
        assert (again.path, places(again, "sky")) == (first.path, [0])

    def test_other_texts_another_order_and_another_version_are_other_files(self, monkeypatch):
        digests = [digest_of_chunks(chunks_of(*texts)) for texts in (("a", "b"), ("b", "a"), ("ab",), ("a", "b", ""))]
        monkeypatch.setattr(stored, "_FORMAT", "next")
        assert len({*digests, digest_of_chunks(chunks_of("a", "b"))}) == 5

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda body: body[:-1],
            lambda body: body[: len(body) // 2],
            lambda body: b"",
            lambda body: body[:100] + bytes([body[100] ^ 1]) + body[101:],
            lambda body: b"SQLite format 3\0 of somebody else" * 99,
        ],
    )
    def test_a_damaged_or_foreign_file_is_made_again(self, tmp_path, spoil):
        path = ChunkIndex(chunks_of(*TEXTS), tmp_path).path
        whole = path.read_bytes()
        path.write_bytes(spoil(whole))
        index = ChunkIndex(chunks_of(*TEXTS), tmp_path)
        assert places(index, "wind") == [2]
        assert path.read_bytes() == whole

    def test_a_file_that_sqlite_cannot_read_is_made_again(self, tmp_path):
        path = ChunkIndex(chunks_of(*TEXTS), tmp_path).path
        assert keep(path, b"no database" * 500)
        assert places(ChunkIndex(chunks_of(*TEXTS), tmp_path), "wind") == [2]
        assert read_kept(path).startswith(b"SQLite format 3\0")

    def test_where_nothing_can_be_kept_it_is_held_in_memory(self, tmp_path):
        (tmp_path / "file").write_text("in the way")
        index = ChunkIndex(chunks_of(*TEXTS), tmp_path / "file")
        assert (index.path, places(index, "wind")) == (None, [2])

    def test_a_folder_in_its_place_is_no_failure(self, tmp_path):
        (tmp_path / f"{digest_of_chunks(chunks_of(*TEXTS))}.db" / "full").mkdir(parents=True)
        index = ChunkIndex(chunks_of(*TEXTS), tmp_path)
        assert (index.path, places(index, "wind")) == (None, [2])
        assert [file.suffix for file in tmp_path.iterdir()] == [".db"]

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
    def test_a_pipe_in_its_place_is_not_waited_for(self, tmp_path):
        path = ChunkIndex(chunks_of(*TEXTS), tmp_path).path
        path.unlink()
        os.mkfifo(path)
        assert places(ChunkIndex(chunks_of(*TEXTS), tmp_path), "wind") == [2]
        assert path.is_file()

    def test_a_full_disk_leaves_nothing_behind(self, tmp_path):
        script = (
            "import resource, signal, sys; from pathlib import Path;"
            "from steelyard.retrieval.stored import ChunkIndex; from steelyard.retrieval.chunk import split_chunks;"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096));"
            "index = ChunkIndex(split_chunks('rain ' * 5000), Path(sys.argv[1]));"
            "print(index.path, len(index.search('rain', 99)))"
        )
        command = [sys.executable, "-c", script, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["None", "7"]
        assert list(tmp_path.iterdir()) == []

    def test_several_processes_at_once_do_no_harm(self, tmp_path):
        context = multiprocessing.get_context("spawn")
        started = [context.Process(target=_index_often, args=(str(tmp_path),)) for _ in range(times(2, 3))]
        for process in started:
            process.start()
        for process in started:
            process.join()
        assert {process.exitcode for process in started} == {0}
        assert read_kept(only_file(tmp_path)) is not None

    def test_a_kill_at_any_moment_leaves_a_whole_file_or_none(self, tmp_path):
        script = (
            "import sys; from pathlib import Path; from steelyard.retrieval.stored import keep\n"
            "print(flush=True)\n"
            "while True: keep(Path(sys.argv[1]), b'rain' * 500_000)"
        )
        path = tmp_path / "index" / "a.db"
        for turn in range(8):
            process = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE)
            process.stdout.readline()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.01 * turn)
            process.kill()
            process.communicate()
            assert not path.exists() or read_kept(path) == b"rain" * 500_000
        assert path.exists()

    def test_what_a_killed_process_left_is_swept_up_later(self, tmp_path):
        old, new = tmp_path / "a.db.1.x.tmp", tmp_path / "b.db.2.y.tmp"
        for path in (old, new):
            path.write_bytes(b"half")
        os.utime(old, (time.time() - 9_999,) * 2)
        index = ChunkIndex(chunks_of(*TEXTS), tmp_path)
        assert {file.name for file in tmp_path.iterdir()} == {new.name, index.path.name}

    def test_it_is_an_sqlite_file_that_anybody_can_open(self, tmp_path):
        path = ChunkIndex(chunks_of(*TEXTS), tmp_path).path
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        assert connection.execute("SELECT rowid FROM found WHERE found MATCH 'wind'").fetchall() == [(2,)]
        connection.close()


def _index_often(folder):
    from pathlib import Path

    for _ in range(20):
        path = Path(folder)
        assert places(ChunkIndex(chunks_of(*TEXTS), path), "wind") == [2]
        for file in path.glob("*.db"):
            file.unlink(missing_ok=True)
        assert places(ChunkIndex(chunks_of(*TEXTS), path), "wind") == [2]
