"""Several processes write one store at once: nothing is lost, nothing is mixed up."""

import json
import subprocess
import sys
from collections import Counter

import pytest
from tests.running_server import ledger_server

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
    collected = []
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        collected.append(json.loads(out))
    return collected


@pytest.mark.slow
def test_runs_share_a_store_that_none_of_them_found_and_those_that_ask_the_same_agree_on_one_reply(tmp_path, where):
    with ledger_server(tmp_path, "--latency-ms", "5") as server:
        outcomes = run_all(tmp_path, server.url, where, ["one", "same", "same"])
        assert [outcome[1:4] for outcome in outcomes] == [["finished", 60, 0]] * 3
        asked = Counter(request["prompt"].partition(":")[0] for request in server.answered())
        assert (asked["one"], outcomes[0][4]) == (60, 0)
        assert asked["same"] + sum(outcome[4] for outcome in outcomes[1:]) >= 120
    with Store(where) as store:
        keys = {}
        for run in store.runs():
            records = list(run.records())
            assert len(records) == 60
            assert all(record.replies["target"][0].text == record.output.value for record in records)
            keys[run.id] = [record.replies["target"][0].key for record in records]
        other, first, second = (keys[outcome[0]] for outcome in outcomes)
        assert first == second
        assert not set(first) & set(other)
        with store.reading() as connection:
            assert connection.execute("SELECT count(*) FROM reply").scalar() == 120
