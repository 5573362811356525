"""What is refused of workers of Ray before Ray is asked; the rest needs the package, see tests/foreign."""

from __future__ import annotations

import contextlib

import pytest

from steelyard import ExactMatch, Sample, evaluate
from steelyard.errors import ConfigError
from steelyard.store.database.address import locate
from steelyard.workers import ProcessWorkers
from steelyard.workers.executors import executor_of
from steelyard.workers.ray_cluster import RayWorkers, is_here
from steelyard.workers.task import packed, unpacked

SAMPLES = [Sample("a", "?", "yes")]
SERVER = "postgresql://me@db.example/evals"
HERE = "postgresql://me@127.0.0.1/evals"


def yes(sample):  # what a target takes
    return "yes"


def test_workers_are_a_number_an_address_or_an_executor():
    assert executor_of("8") == ProcessWorkers(8) == executor_of(8)
    assert executor_of("ray") == RayWorkers("ray")
    assert executor_of("ray://head:10001?workers=8", "code") == RayWorkers("ray://head:10001", 8, "code")
    own = RayWorkers("ray", 2)
    assert executor_of(own) is own


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("many", "expected workers as a number, ray or ray://HOST:10001, but got 'many'"),
        ("rays", "expected workers as a number, ray or ray://HOST:10001, but got 'rays'"),
        ("ray?cpus=4", "got cpus=4"),
        ("ray?workers=two", "got workers=two"),
        ("-1", "but got '-1'"),
    ],
)
def test_other_texts_are_refused(text, sentence):
    with pytest.raises(ConfigError) as refused:
        executor_of(text)
    assert sentence in str(refused.value)


def test_a_working_directory_is_for_workers_of_ray_alone(tmp_path):
    with pytest.raises(ConfigError, match="copied to workers of Ray alone"):
        executor_of("4", tmp_path)


@pytest.mark.parametrize(
    ("workers", "store", "sentence"),
    [
        ("ray", "s.db", r"store on a server.*--store postgresql://"),
        ("ray", "postgresql://me:secret@db.example/evals", r"holds a password.*\$\{NAME\}"),
        ("ray?workers=0", SERVER, "workers must be a whole number of 1 or more, not 0"),
        ("ray://192.0.2.9:10001", HERE, "of this machine alone"),
        ("ray://192.0.2.9:10001", "postgresql:///evals", "of this machine alone"),
        ("ray://:10001", SERVER, "names no host"),
        ("ray://head:port", SERVER, "is not an address of a cluster"),
        ("ray", SERVER, r"need Ray: pip install 'ray"),
    ],
)
def test_what_cannot_run_on_a_cluster_is_refused_before_anything_is_stored(tmp_path, workers, store, sentence):
    where = str(tmp_path / store) if store == "s.db" else store
    with pytest.raises(ConfigError, match=sentence) as refused:
        evaluate(yes, SAMPLES, [ExactMatch()], store=where, workers=workers)
    assert "secret" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"there is no folder .*nowhere"):
        evaluate(
            yes, SAMPLES, [ExactMatch()], store=SERVER, workers=RayWorkers("ray", working_dir=tmp_path / "nowhere")
        )


def test_the_address_of_an_open_store_is_refused_for_its_resolved_password(monkeypatch):
    monkeypatch.setenv("STORE_PASSWORD", "hunter-2-hunter")
    parsed = locate("postgresql://me:${STORE_PASSWORD}@db.example/evals")
    with pytest.raises(ConfigError, match="holds a password") as refused:
        evaluate(yes, SAMPLES, [ExactMatch()], store=parsed, workers="ray")
    assert "hunter" not in str(refused.value)


class SlowRay:
    """Stands for the package, on a machine where the first starts of a cluster fail."""

    def __init__(self, failures):
        self.failures, self.starts, self.shutdowns = failures, 0, 0

    def init(self, **_):
        self.starts += 1
        if self.starts <= self.failures:
            raise RuntimeError("The current node timed out during startup.")

    def shutdown(self):
        self.shutdowns += 1


@pytest.mark.parametrize(("address", "failures", "starts"), [("ray", 2, 3), ("ray", 3, 3), ("ray://head:10001", 1, 1)])
def test_a_cluster_that_did_not_start_in_time_is_started_three_times(address, failures, starts):
    package = SlowRay(failures)
    with contextlib.ExitStack() as stack:
        if failures >= starts:
            stack.enter_context(pytest.raises(ConfigError, match="timed out during startup"))
        RayWorkers(address)._init(package)
    assert (package.starts, package.shutdowns) == (starts, min(failures, starts))


def test_an_address_of_one_machine_is_told_from_that_of_a_server():
    here = ("postgresql://me@localhost/db", "postgresql://me@[::1]/db", "postgresql://me@/db?host=/run/postgresql")
    assert [is_here(where) for where in here] == [True] * 3
    assert not is_here("postgresql://me@10.0.0.5:5432/db")


def test_paths_in_the_copied_folder_are_those_of_the_copy(tmp_path, monkeypatch):
    here, there = tmp_path / "here", tmp_path / "there"
    there.mkdir()
    data = packed({"own": here / "data" / "shop.db", "system": tmp_path / "lib.db"}, here)
    monkeypatch.chdir(there)
    assert unpacked(data) == {"own": there / "data" / "shop.db", "system": tmp_path / "lib.db"}
