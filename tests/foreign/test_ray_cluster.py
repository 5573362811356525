"""Ray, the real package: a cluster of two nodes on loopback, workers as its actors, and a node that dies."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from tests.foreign.ray_nodes import (
    TOKEN,
    UP_S,
    Cluster,
    descendants_of,
    environment,
    listens_at,
    name_of,
    private_mib,
    processes_of,
    until_ended,
)
from tests.running_server import ledger_server
from tests.workers.exam import Exam, asked_twice, finish

KEY = "sk-of-this-test-0123456789"
ELSEWHERE = """
import sys
if any("default_worker" in part for part in sys.orig_argv):
    import socket, steelyard
    socket.gethostname = lambda: "elsewhere"
    steelyard.__version__ = "0.0.7"
"""
"""What makes workers of a node believe that they are on another machine, which has another version."""
MINE = """
from pathlib import Path

FOLDER = Path(__file__).parent
LETTER = (FOLDER / "letter.txt").read_text()


def answer(sample):
    return f"{LETTER}, read in {FOLDER} beside {', '.join(sorted(path.name for path in FOLDER.iterdir()))}"
"""


@pytest.fixture(scope="module")
def programs(foreign_bin):
    return foreign_bin("ray")


@pytest.fixture(scope="module")
def own_cluster(programs):
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
        cluster = Cluster(programs, 3, folder)
        try:
            yield cluster
        finally:
            cluster.stop()


@pytest.fixture
def cluster(own_cluster):
    """A head whose workers have a key; tests add nodes, and may kill any of them."""
    own_cluster.have_head(EXAM_KEY=KEY)
    return own_cluster


@pytest.fixture
def elsewhere(cluster, tmp_path):
    """A node that seems to be another machine."""
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "sitecustomize.py").write_text(ELSEWHERE, "utf-8")
    node = cluster.start_node(PYTHONPATH=os.pathsep.join([str(tmp_path / "hook"), os.environ.get("PYTHONPATH", "")]))
    yield cluster
    cluster.kill(node)


def exam(folder, store, url, programs, *, key="", **options):
    exam = Exam.write(folder, store, url, targets=("first",), **options)
    if key:
        path = folder / "exam.json"
        config = json.loads(path.read_text("utf-8"))
        config["targets"]["first"]["prompt"]["model"]["openai_compatible"]["api_key"] = key
        path.write_text(json.dumps(config), "utf-8")
    return Exam(exam.folder, exam.store, exam.questions, str(programs / "python"), environment())


def for_all_nodes(store, **more):
    """A store's address with a name for its host that no server of names knows."""
    return re.sub(r"@[^/]*/", "@store.invalid/", store) + "".join(f"&{key}={value}" for key, value in more.items())


def one_line(said):
    return " ".join(said.split())


def test_a_node_that_is_killed_costs_no_record_and_changes_no_score(tmp_path, on_server, cluster, programs):
    node = cluster.start_node()
    with ledger_server(tmp_path / "server", "--latency-ms", "60") as served:
        ours = exam(tmp_path, on_server, served.url, programs, questions=400)
        run = ours.start("run", "exam.json", "--quiet", "--workers", f"{cluster.address}?workers=3")
        ours.until(lambda: ours.done() > 40, UP_S)
        assert len(ours.workers()) == 3
        assert len(cluster.kill(node)) >= 2
        finish(run)
        assert ours.states() == {"first": ("finished", 400, 0)}
        again = asked_twice(served)
        assert len(again) <= 8
    assert ours.is_sound()[0]
    (tmp_path / "one").mkdir()
    with ledger_server(tmp_path / "one" / "server") as served:
        alone = Exam.write(tmp_path / "one", str(tmp_path / "one.db"), served.url, targets=("first",), questions=400)
        finish(alone.start("run", "exam.json", "--quiet"))
        assert ours.scores() == alone.scores()


def test_a_key_is_the_workers_own_and_a_missing_one_is_named_before_a_call(tmp_path, on_server, cluster, programs):
    with ledger_server(tmp_path / "server") as served:
        ours = exam(tmp_path, on_server, served.url, programs, questions=12, key="${ONLY_HERE}")
        ours.environment["ONLY_HERE"] = "sk-of-the-leader-987654321"
        run = ours.start("run", "exam.json", "--quiet", "--workers", f"{cluster.address}?workers=2")
        said = one_line(finish(run, 2))
        assert "cannot begin: ${ONLY_HERE} has no value" in said
        assert served.requests() == []
        ours = exam(tmp_path, on_server, served.url, programs, questions=12, key="${EXAM_KEY}")
        ours.environment["EXAM_KEY"] = "sk-of-the-leader-987654321"
        finish(ours.start("run", "exam.json", "--quiet", "--workers", f"{cluster.address}?workers=2"))
        assert len(served.answered()) == 12
    logged = [path for path in Path(cluster.folder).rglob("*") if path.is_file() and not path.is_symlink()]
    texts = [path.read_bytes() for path in logged]
    assert texts
    for secret in (KEY, "sk-of-the-leader-987654321", TOKEN):
        assert not any(secret.encode() in text for text in texts)


def test_when_the_first_process_dies_the_workers_finish_and_leave(tmp_path, on_server, cluster, programs):
    with ledger_server(tmp_path / "server", "--latency-ms", "100") as served:
        ours = exam(tmp_path, on_server, served.url, programs, questions=200, concurrency=4)
        run = ours.start("run", "exam.json", "--quiet", "--workers", f"{cluster.address}?workers=2")
        ours.until(lambda: ours.done() > 10, UP_S)
        run.send_signal(signal.SIGKILL)
        run.communicate()
        ours.until(lambda: ours.states() == {"first": ("finished", 200, 0)}, UP_S)
        assert asked_twice(served) == {}
    assert ours.is_sound()[0]


def test_another_version_and_a_store_of_one_machine_are_refused_before_a_call(tmp_path, on_server, elsewhere, programs):
    with ledger_server(tmp_path / "server") as served:
        ours = exam(tmp_path, on_server, served.url, programs, questions=12)
        workers = ("--workers", f"{elsewhere.address}?workers=4")
        said = one_line(finish(ours.start("run", "exam.json", "--quiet", *workers), 2))
        assert f"the store's address is of {socket.gethostname()} alone" in said
        assert "(on elsewhere)" in said
        ours = replace(ours, store=for_all_nodes(on_server, hostaddr="127.0.0.1"))
        said = one_line(finish(ours.start("run", "exam.json", "--quiet", *workers), 2))
        assert "it has Steelyard 0.0.7, " in said
        assert served.requests() == []


def test_a_store_that_workers_do_not_find_is_named_before_a_call(tmp_path, on_server, cluster, programs):
    with ledger_server(tmp_path / "server") as served:
        ours = replace(exam(tmp_path, on_server, served.url, programs, questions=12), store=for_all_nodes(on_server))
        ours.environment["PGHOSTADDR"] = "127.0.0.1"
        said = one_line(
            finish(ours.start("run", "exam.json", "--quiet", "--workers", f"{cluster.address}?workers=1"), 2)
        )
        assert "worker 0 cannot begin" in said
        assert "store.invalid" in said
        assert served.requests() == []


def test_modules_and_files_come_with_a_folder_and_a_missing_one_is_named(tmp_path, on_server, cluster, programs):
    folder = tmp_path / "project"
    folder.mkdir()
    ours = exam(folder, on_server, "http://127.0.0.1:9/v1", programs, questions=12)
    config = json.loads((folder / "exam.json").read_text("utf-8"))
    config["targets"] = {"mine": {"function": "my_system:answer"}}
    files = {
        "exam.json": json.dumps(config), "my_system.py": MINE, "letter.txt": "B", ".env": f"EXAM_KEY={KEY}\n",
        ".gitignore": "*.log\n", "big.log": "",
    }  # fmt: skip
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    workers = ("--workers", f"{cluster.address}?workers=2")
    said = one_line(finish(ours.start("run", "exam.json", "--quiet", *workers), 2))
    assert "cannot begin: " in said
    assert "'my_system:answer' cannot be imported" in said
    assert "--working-dir" in said
    assert ours.done() == 0
    finish(ours.start("run", "exam.json", "--quiet", *workers, "--working-dir", "."))
    letter, _, rest = ours.scores()["mine"][0][2].partition(", read in ")
    where, _, names = rest.partition(" beside ")
    assert letter == "B"
    assert Path(where) != folder
    assert {"my_system.py", "letter.txt", "exam.csv"} <= set(names.split(", "))
    assert not {".env", "big.log"} & set(names.split(", "))


def test_a_wrong_token_and_too_few_cpus_are_refused(tmp_path, on_server, cluster, programs):
    ours = exam(tmp_path, on_server, "http://127.0.0.1:9/v1", programs, questions=4)
    ours.environment["RAY_AUTH_TOKEN"] = "0" * 64
    said = one_line(finish(ours.start("run", "exam.json", "--quiet", "--workers", cluster.address), 2))
    assert f"the Ray cluster {cluster.address} refuses the token of this machine" in said
    ours.environment.update(environment())
    said = one_line(finish(ours.start("run", "exam.json", "--quiet", "--workers", f"{cluster.address}?workers=99"), 2))
    assert re.search(r"99 workers need a CPU each, and the cluster has \d", said)


def test_a_head_that_does_not_answer_is_named(tmp_path, on_server, programs):
    ours = exam(tmp_path, on_server, "http://127.0.0.1:9/v1", programs, questions=4)
    said = one_line(finish(ours.start("run", "exam.json", "--quiet", "--workers", "ray://127.0.0.1:9"), 2))
    assert "no Ray head answers at 127.0.0.1:9" in said
    assert "--ray-client-server-port 9" in said


def test_a_head_that_dies_ends_the_run_which_is_resumed_without_it(tmp_path, on_server, cluster, programs):
    with ledger_server(tmp_path / "server", "--latency-ms", "100") as served:
        ours = exam(tmp_path, on_server, served.url, programs, questions=200, concurrency=4)
        ours.environment["RAY_CLIENT_RECONNECT_GRACE_PERIOD"] = "3"
        run = ours.start("run", "exam.json", "--quiet", "--workers", f"{cluster.address}?workers=2")
        ours.until(lambda: ours.done() > 10, UP_S)
        cluster.stop()
        said = one_line(finish(run, 4))
        assert "the connection to the Ray cluster is lost" in said
        assert "continue with `steelyard resume`" in said
        finish(ours.start("resume", "--quiet"))
        assert ours.states() == {"first": ("finished", 200, 0)}
        assert len(asked_twice(served)) <= 4
    assert ours.is_sound()[0]


def test_a_cluster_of_its_own_ends_with_its_run_which_is_resumed(tmp_path, on_server, programs):
    with ledger_server(tmp_path / "server", "--latency-ms", "300") as served:
        ours = exam(tmp_path, on_server, served.url, programs, questions=120, key="${EXAM_KEY}", concurrency=4)
        (tmp_path / ".env").write_text(f"EXAM_KEY={KEY}\n", "utf-8")
        run = ours.start("run", "exam.json", "--quiet", "--workers", "ray?workers=2")
        ours.until(lambda: ours.done() > 20, UP_S)
        started = descendants_of(run.pid)
        arguments = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in started]
        assert any(b"raylet" in each for each in arguments)
        assert not any(KEY.encode() in each for each in arguments)
        assert listens_at(started) == {"127.0.0.1"}
        actors = [private_mib(pid) for pid in started if name_of(pid).startswith("ray::RayWorker")]
        assert len(actors) == 2
        assert max(actors) < 200
        run.send_signal(signal.SIGINT)
        finish(run, 130)
        until_ended(started)
        stopped = ours.done()
        assert stopped == len(served.answered())
        run = ours.start("resume", "--quiet", "--workers", "ray?workers=2")
        ours.until(lambda: ours.done() > stopped + 10, UP_S)
        started = descendants_of(run.pid)
        run.kill()
        run.communicate()
        until_ended(started)
        assert asked_twice(served) == {}
        finish(ours.start("resume", "--quiet"))
        assert ours.states() == {"first": ("finished", 120, 0)}
        assert len(asked_twice(served)) <= 4
    assert ours.is_sound()[0]


def test_stored_outputs_are_scored_again_on_a_cluster_whose_node_dies(tmp_path, on_server, cluster, programs):
    with ledger_server(tmp_path / "server") as served:
        ours = exam(tmp_path, on_server, served.url, programs, questions=1200)
        finish(ours.start("run", "exam.json", "--quiet"))
    finish(ours.start("rescore", "first", "--rule", "last_letter"))
    scores = ours.scores()
    finish(ours.start("rescore", "first", "--rule", "first_option"))
    node = cluster.start_node()
    scoring = ours.start("rescore", "first", "--rule", "last_letter", "--workers", f"{cluster.address}?workers=4")
    ours.until(lambda: any(name_of(pid).startswith("ray::score_range") for pid in processes_of(node)), UP_S)
    cluster.kill(node)
    assert "scored again" in finish(scoring)
    assert ours.scores() == scores
    assert ours.is_sound()[0]
