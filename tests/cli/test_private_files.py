"""Stores, indexes, reports and exports can be read by their owner alone, whatever the umask."""

import os
import stat
from pathlib import Path

import pytest

from steelyard import ExactMatch, Sample, Store, evaluate
from steelyard.retrieval.stored import keep

STORE = Path(".steelyard/steelyard.db")
WRITTEN = {
    "reports": ["report", "t", "--html", "new/r.html", "--markdown", "new/deep/r.md", "--junit", "new/r.xml"],
    "a report of JSON": ["compare", "t", "t", "--html", "new/r.html"],
    "CSV": ["export", "t", "--out", "new/r.csv"],
    "JSON lines": ["export", "t", "--out", "new/r.jsonl"],
    "a workbook": ["export", "t", "--out", "new/r.xlsx"],
    "Parquet": ["export", "t", "--out", "new/r.parquet"],
    "a salvaged store": ["export", "--salvage", "--out", "r.db"],
    "salvaged lines": ["export", "--salvage", "--out", "new/r.jsonl"],
}


@pytest.fixture(autouse=True)
def _no_umask():
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def run():
    seen = []

    def t(sample):
        seen.extend(open_to_others())  # while the log, the lock and the reserve are there
        return "A"

    samples = [Sample(f"{n}", "q", "A") for n in range(3)]
    evaluate(t, samples, [ExactMatch()])
    assert seen == []


def open_to_others():
    """What others could read or enter below the folder of the test."""
    found = [path for path in sorted(Path().rglob("*")) if stat.S_IMODE(path.stat().st_mode) & 0o077]
    return [f"{path} {path.stat().st_mode:o}" for path in found]


@pytest.mark.parametrize("command", WRITTEN.values(), ids=WRITTEN)
def test_what_a_command_writes_is_closed_to_others(steelyard, run, command):
    before = set(Path().rglob("*"))
    steelyard(*command, code=0)
    assert set(Path().rglob("*")) > before
    assert open_to_others() == []


def test_the_store_is_so_with_its_log(run):
    with Store() as store:
        store.writer.change(lambda batch: None)
        assert STORE.with_name("steelyard.db-wal").exists()
        assert open_to_others() == []


def test_an_index_of_documents_is_so(tmp_path):
    assert keep(tmp_path / "index" / "kept", b"words")
    assert open_to_others() == []


def test_a_store_that_its_user_opened_to_others_stays_so_and_verify_says_so(steelyard, run):
    STORE.chmod(0o664)
    out = steelyard("verify", code=0).out
    assert "other users of this computer may open the file (mode 0664)" in " ".join(out.split())
    assert {stat.S_IMODE(path.stat().st_mode) for path in STORE.parent.glob("steelyard.db*")} == {0o664}
    STORE.chmod(0o600)
    assert "other users" not in steelyard("verify", code=0).out
