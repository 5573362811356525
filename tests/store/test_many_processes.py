"""Several processes write one store at once: nothing is lost, nothing is mixed up."""

import json
import subprocess
import sys

import pytest
from tests.running_server import ledger_server
from tests.thorough import times

from steelyard import Store

RUN = """
import sys, json
from steelyard import ExactMatch, OpenAICompatible, Prompt, Sample, evaluate
who, url, n, store = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
samples = [Sample(f"q{i}", f"question {i}", "A") for i in range(n)]
target = Prompt(OpenAICompatible("m", url), template=who + ": {{question}}")
run = evaluate(target, samples, [ExactMatch()], store=store, concurrency=8)
print(json.dumps([run.id, run.state, run.done, run.errors, run.from_journal]))
"""


def run_all(folder, url, where, names, n=60):
    """What each of several processes, started together, says of its run."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", RUN, name, url, str(n), str(where)],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    found = []
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        found.append(json.loads(out))
    return found


@pytest.mark.slow
def test_different_runs_share_a_store_that_none_of_them_found(tmp_path, where):
    names = ["one", "two", "three"][: times(2, 3)]
    with ledger_server(tmp_path, "--latency-ms", "5") as server:
        found = run_all(tmp_path, server.url, where, names)
        assert [one[1:] for one in found] == [["finished", 60, 0, 0]] * len(names)
        assert len(server.answered()) == 60 * len(names)
    with Store(where) as store:
        for run in store.runs():
            texts = [record.output.value for record in run.records()]
            assert len(texts) == 60
            assert all(record.replies["target"][0].text == record.output.value for record in run.records())


@pytest.mark.slow
def test_processes_that_ask_the_same_agree_on_one_reply(tmp_path, where):
    with ledger_server(tmp_path, "--latency-ms", "5") as server:
        found = run_all(tmp_path, server.url, where, ["same", "same"])
        assert [one[1:4] for one in found] == [["finished", 60, 0]] * 2
        asked = len(server.answered())
        assert asked + sum(one[4] for one in found) >= 120
    with Store(where) as store:
        first, second = store.runs()
        keys = [[record.replies["target"][0].key for record in run.records()] for run in (first, second)]
        assert keys[0] == keys[1]
        with store.reading() as connection:
            assert connection.execute("SELECT count(*) FROM reply").scalar() == 60
