"""Viewers of stores that hold every kind of evaluation, for tests that go over all pages."""

from __future__ import annotations

from contextlib import ExitStack
from typing import NamedTuple
from urllib.parse import quote

import pytest
from tests.report.judged_suite import judged_runs
from tests.report.judging_suite import pairwise_runs
from tests.viewer.conftest import TOKEN, Served, exam, first, second, serving

from steelyard import ExactMatch, Options, Sample, Suite, evaluate, evaluate_suite
from steelyard.evaluation.evaluate import RunConfig
from steelyard.scorers import SqlResult
from steelyard.scorers.choice import Choice


def address(viewer, path):
    """The first address of a visit: its token becomes a cookie."""
    return f"http://{viewer.host}{path}{'&' if '?' in path else '?'}token={TOKEN}"


class Shown(NamedTuple):
    """A viewer and the runs of its store, in the order that they were begun."""

    viewer: Served
    runs: list

    def pages(self):
        """Name -> path of each kind of page."""
        run, other = self.runs[0], self.runs[-1]
        paths = {
            "runs": "/",
            "run": f"/run/{other.id}",
            "live": f"/live/{other.id}",
            "history": f"/history/{quote(run.suite)}",
            "delete": f"/run/{other.id}/delete",
            "missing": "/run/nothere",
        }
        samples = dict.fromkeys(record.sample.id for record in other.page("", 10).records)
        paths |= {f"sample {ident}": f"/run/{other.id}/s/{quote(ident, safe='')}" for ident in (*samples,)[:3]}
        if len(self.runs) > 1 and len({each.kind for each in self.runs}) == 1:
            paths["compare"] = f"/compare?a={run.id}&b={other.id}"
        return paths


def failing(sample):
    """As the second target; every 11th sample is an error."""
    if int(sample.id[1:]) % 11 == 10:
        raise RuntimeError("the connection was closed while the reply was read")
    return second(sample)


def exam_runs(folder):
    """Two targets over questions with options, one of which fails now and then."""
    targets = {"first": first, "second": failing}
    suite = Suite("Exam", "choice", exam(60), targets, (Choice(),), Options(max_errors=0.5))
    return evaluate_suite(suite, how=RunConfig(store=folder / "exam.db"))


def sql_runs(folder):
    """Queries of which one result is too short and one cannot be run."""
    schema = (
        "CREATE TABLE boats (\n  name TEXT,\n  length REAL\n);\nINSERT INTO boats VALUES ('Wren', 7.5), ('Heron', 9);"
    )
    replies = {
        "all": "SELECT name FROM boats",
        "short": "SELECT name FROM boats LIMIT 1",
        "bad": "SELECT nam FROM boats",
    }
    samples = [
        Sample(name, "Which boats?", "SELECT name FROM boats", metadata={"schema": schema, "dialect": "SQLite"})
        for name in replies
    ]
    suite = Suite("boats", "text2sql", samples, {"t": lambda sample: replies[sample.id]}, (SqlResult(),))
    return evaluate_suite(suite, how=RunConfig(store=folder / "sql.db"))


def agent_runs(folder):
    """An agent that calls a tool."""
    call = {"id": "c1", "function": {"name": "find", "arguments": '{"query": "colour of the boat"}'}}

    def agent(_):
        messages = [
            {"role": "assistant", "content": "Let me look.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "name": "find", "content": "It is red.", "status": "error"},
            {"role": "assistant", "content": "Red."},
        ]
        return {"messages": messages, "usage": {"input_tokens": 9, "output_tokens": 2}}

    turns = [{"role": "user", "content": "Which colour?"}, {"role": "assistant", "content": "Of what?"}]
    sample = Sample("q1", [*turns, {"role": "user", "content": "The boat."}], "Blue.")
    return [evaluate(agent, [sample], [ExactMatch()], name="agent", store=folder / "agent.db")]


MAKERS = {
    "exam": exam_runs,
    "sql": sql_runs,
    "judged": lambda folder: judged_runs(folder, ("top 1", "top 2")),
    "pairs": lambda folder: pairwise_runs(folder, 20),
    "agent": agent_runs,
}


@pytest.fixture(scope="session")
def shown(tmp_path_factory):
    """Name of a kind of evaluation -> its viewer."""
    with ExitStack() as closing:
        found = {}
        for name, make in MAKERS.items():
            folder = tmp_path_factory.mktemp(name)
            runs = make(folder)
            viewer = closing.enter_context(serving(next(folder.glob("*.db"))))
            found[name] = Shown(viewer, [viewer.store.run(run.id) for run in runs])
        yield found
