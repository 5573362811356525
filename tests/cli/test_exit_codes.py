"""Each exit code of the command line, and what a person reads beside it."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from datetime import UTC, datetime
from xml.etree import ElementTree as ET

import pytest
from tests.logging_server import logging_server
from tests.running_server import ledger_server

from steelyard import Label, Store
from steelyard.people.labels import add_labels


def at(server, **more):
    model = {"name": "m", "base_url": server.url, **more}
    return {"prompt": {"template": "{{question}}", "model": {"openai_compatible": model}}}


def test_0_where_the_gate_holds(steelyard, write, says):
    result = steelyard("run", write({"a": says("A")}, gate={"solve_rate": ">= 0.25"}), code=0)
    assert "gate: a: solve_rate >= 0.25 holds (25.0 %" in result.out


def test_1_where_the_gate_does_not_hold(steelyard, write, says):
    result = steelyard("run", write({"a": says("A")}, gate={"solve_rate": ">= 0.26"}), code=1)
    assert "gate: a: solve_rate >= 0.26 does not hold (25.0 %" in result.out
    assert steelyard("show", "a", code=0).out, "reading a run whose gate fails is not a failure"


def test_4_where_a_corrected_score_lacks_labels_and_0_once_they_are_there(steelyard, tmp_path):
    rows = [{"id": f"q{at}", "question": f"Question {at:02}?", "answer": "yes"} for at in range(40)]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    config = {
        "suite": "rag",
        "samples": {"file": "q.jsonl"},
        "targets": {"t": {"baseline": "reference"}},
        "judge": {"model": {"scripted": {"default": "5"}}},
        "scorers": ["correctness"],
        "gate": {"correct.corrected": ">=! 0.6", "correct": ">= 0.9"},
    }
    (tmp_path / "exam.json").write_text(json.dumps(config), encoding="utf-8")
    files = ("--markdown", "s.md", "--junit", "s.xml", "--html", "s.html")
    result = steelyard("run", "exam.json", *files, code=4)
    told = "t: correct.corrected &gt;=! 0.6 is not evaluated: nobody labelled it"
    assert "gate: t: correct.corrected >=! 0.6 is not evaluated: nobody labelled it" in " ".join(result.out.split())
    assert "⚠️ t: correct.corrected" in (tmp_path / "s.md").read_text(encoding="utf-8")
    (error,) = ET.parse(tmp_path / "s.xml").iter("error")
    assert (error.get("type"), "nobody labelled it" in error.get("message")) == ("unlabelled", True)
    assert told in (tmp_path / "s.html").read_text(encoding="utf-8")
    with Store() as store:
        (run,) = store.runs()
        at = datetime(2026, 3, 1, tzinfo=UTC)
        add_labels(
            store, run, [Label(f"q{no}", "correct", "fail" if no < 5 else "pass", "ann", at) for no in range(40)]
        )
    result = steelyard("resume", run.id, "--json", code=0)
    corrected, plain = result.json()["gate"]["results"]
    assert (corrected["state"], corrected["value"], plain["value"]) == ("holds", pytest.approx(35 / 40), 1.0)


def test_2_names_the_place_of_a_wrong_column_before_anything_is_stored(steelyard, write, says, tmp_path):
    path = write({"a": says()}, samples={"file": "exam.csv", "columns": {"question": "qestion"}})
    result = steelyard("run", path, code=2)
    assert result.err.startswith(f"error: {path}:1:")
    assert "exam.csv has no column 'qestion': did you mean 'question'?" in result.err
    assert not (tmp_path / ".steelyard").exists()


def test_2_names_the_variable_of_a_missing_key_before_anything_is_sent(steelyard, write, tmp_path):
    with ledger_server(tmp_path / "server") as server:
        result = steelyard("run", write({"a": at(server, api_key="${EXAM_API_KEY}")}), code=2)
        assert not server.ledger.read_text(encoding="utf-8")
    assert "set EXAM_API_KEY or put it into " in result.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "nowhere.yaml"], "nowhere.yaml"),
        (["check", "nowhere.xlsx"], "there is no file nowhere.xlsx"),
        (["convert", "nowhere.json"], "nowhere.json: cannot be read"),
        (["runs"], "run something first, or name one with --store"),
        (["resume"], "there is no store at"),
        (["frobnicate"], "frobnicate"),
        (["runs", "--lst", "3"], "--lst"),
        (["run"], "CONFIG"),
        (["init", "x", "--suite", "choise"], "did you mean 'choice'?"),
    ],
)
def test_2_for_what_a_person_mistyped(steelyard, arguments, said):
    result = steelyard(*arguments, code=2)
    assert said in result.err
    assert not result.out
    assert "Traceback" not in result.err


def test_2_for_broken_yaml_with_the_line_and_a_mark_below_it(steelyard, tmp_path):
    (tmp_path / "bad.yaml").write_text("suite: choice\nsamples: {file: [}\n", encoding="utf-8")
    result = steelyard("run", "bad.yaml", code=2)
    assert "bad.yaml:2:18: not valid YAML" in result.err
    assert "    samples: {file: [}\n" in result.err


def test_2_marks_the_place_in_a_long_line_without_filling_the_screen(steelyard, write, says, tmp_path):
    write({})
    long = "{prompt: {template: '" + "x" * 150 + "', modl: m, system: '" + "y" * 150 + "'}}"
    (tmp_path / "long.yaml").write_text(
        f"suite: choice\nsamples: {{file: exam.csv}}\ntargets:\n  a: {long}\n", encoding="utf-8"
    )
    lines = steelyard("run", "long.yaml", code=2).err.splitlines()
    at = next(at for at, line in enumerate(lines) if "unknown key 'modl'" in line)
    assert len(lines[at + 1]) <= 80
    assert lines[at + 1].strip().startswith("…xxx")
    assert lines[at + 1].endswith("y…")
    assert lines[at + 1][lines[at + 2].index("^") :].startswith("modl: m")


def test_2_for_a_run_that_is_not_there(steelyard, write, says):
    steelyard("run", write({"guess": says()}), code=0)
    assert "there is no run 'gess': did you mean 'guess'?" in steelyard("show", "gess", code=2).err
    assert "the first is the baseline" in steelyard("compare", "guess", code=2).err
    assert "did you mean 'wrong'?" in steelyard("show", "guess", "--only", "wong", code=2).err
    assert "did you mean 'solve_rate'?" in steelyard("compare", "guess", "guess", "--score", "solverate", code=2).err


def test_2_for_a_report_that_cannot_be_written_before_anything_is_asked(steelyard, write, says, tmp_path):
    path = write({"a": says()})
    result = steelyard("run", path, "--html", path / "inside-a-file.html", code=2)
    assert "cannot be written" in result.err
    assert not (tmp_path / ".steelyard").exists()


def test_3_where_the_data_cannot_decide(steelyard, write, says):
    result = steelyard("run", write({"a": says("A")}, gate={"solve_rate": ">=! 0.2"}), code=3)
    assert "solve_rate >=! 0.2 cannot be decided (25.0 %" in result.out


def test_4_once_the_error_limit_is_passed_and_a_resume_may_mend_it(steelyard, write, tmp_path):
    (tmp_path / "flaky_target.py").write_text(
        "from pathlib import Path\n\n\ndef answer(sample):\n    if not Path('mended').exists():\n"
        "        raise OSError('no such service')\n    return 'A'\n",
        encoding="utf-8",
    )
    path = write({"a": {"function": "flaky_target:answer"}}, options={"concurrency": 1})
    result = steelyard("run", path, code=4)
    assert (
        "10 of 20 records done, 10 errors. Reason: 10 errors; the last: target: OSError: no such service"
        in " ".join(result.out.split())
    )
    assert "resume with: steelyard resume" in result.out
    (tmp_path / "mended").touch()
    mended = steelyard("resume", "--json", code=0).json()["runs"][0]
    assert (mended["state"], mended["done"], mended["errors"]) == ("finished", 20, 0)


@pytest.mark.parametrize(("status", "kind"), [("401", "401"), ("402", "402")])
def test_4_where_the_key_or_the_quota_is_refused_after_one_call(steelyard, write, tmp_path, status, kind):
    with ledger_server(tmp_path / "server", "--faults", status, "--fault-rate", "1") as server:
        result = steelyard("run", write({"a": at(server)}, options={"concurrency": 1}), code=4)
        assert len(server.requests()) == 1
    assert f"0 of 20 records done, 0 errors. Reason: status {kind}: on purpose" in " ".join(result.out.split())


def test_4_where_nothing_is_mapped_and_the_next_step_takes_the_corrected_mapping(steelyard, write):
    mapping = {"text": "answer"}
    with logging_server(lambda *_: {"text": "A", "message_id": "1"}) as log:
        target = {"http": {"url": f"{log.url}/chat", "body": {"query": "{{prompt}}"}, "response": mapping}}
        told = " ".join(steelyard("run", write({"a": target}), code=4).out.split())
        assert "nothing at 'answer' in the reply (status 200); the body has the keys text, message_id" in told
        assert told.endswith("correct the endpoint, then run again: steelyard run exam.json")
        assert len(log.asked) <= 8
        mapping["text"] = "text"
        steelyard("run", write({"a": target}), code=0)


def test_4_where_the_store_cannot_be_used(steelyard, write, says, tmp_path):
    (tmp_path / "text.db").write_text("this is not a database, whatever its name says\n" * 50, encoding="utf-8")
    result = steelyard("run", write({"a": says()}), "--store", "text.db", code=4)
    assert "text.db: file is not a database" in result.err


def test_130_when_the_budget_is_reached_and_a_larger_one_goes_on(steelyard, write, says):
    path = write({"a": says("A"), "b": says("B")}, options={"budget": {"calls": 7}, "concurrency": 1})
    result = steelyard("run", path, code=130)
    assert "this run was interrupted: 7 of 20 records done" in result.out
    assert "this run was interrupted: 0 of 20 records done" in result.out
    assert "resume with: steelyard resume" in result.out
    write({"a": says("A"), "b": says("B")}, options={"budget": {"calls": 40}})
    assert [one["done"] for one in steelyard("resume", "--json", code=0).json()["runs"]] == [20, 20]


COMMAND = [sys.executable, "-c", "from steelyard.cli import main; main()"]


def wait_for_answers(server, n):
    deadline = time.monotonic() + 60
    while len(server.answered()) < n and time.monotonic() < deadline:
        time.sleep(0.01)


def heed_hangup():
    """In a child process: tests that were started under nohup ignore SIGHUP, and their children would."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def take_terminal():
    heed_hangup()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def started(path, before):
    """A run in a process that calls `before` first."""
    return subprocess.Popen(
        [*COMMAND, "run", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=before,  # noqa: PLW1509  # no thread has begun
    )  # fmt: skip


def stored_states():
    with Store() as store:
        return [(run.state, run.done) for run in store.runs()]


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM], ids=lambda one: one.name)  # SIGHUP: below
def test_130_when_interrupted_with_what_is_in_flight_stored(write, tmp_path, signum):
    with ledger_server(tmp_path / "server", "--latency-ms", "100") as server:
        path = write({"a": at(server)}, options={"concurrency": 2})
        process = started(path, heed_hangup)
        wait_for_answers(server, 3)
        os.kill(process.pid, signum)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 130, (out, err)
        answered = len(server.answered())
    assert "again: stop now" in err
    assert f"this run was interrupted: {answered} of 20 records done" in out
    assert stored_states() == [("interrupted", answered)]


def test_a_hangup_sent_twice_still_finishes_what_is_in_flight(write, tmp_path):
    with ledger_server(tmp_path / "server", "--latency-ms", "300") as server:
        path = write({"a": at(server)}, options={"concurrency": 2})
        process = started(path, heed_hangup)
        wait_for_answers(server, 2)
        for signum in (signal.SIGHUP, signal.SIGHUP, signal.SIGTERM):
            os.kill(process.pid, signum)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 130, (out, err)
        assert stored_states() == [("interrupted", len(server.answered()))]


def test_a_closed_terminal_ends_a_run_like_ctrl_c(write, tmp_path):
    with ledger_server(tmp_path / "server", "--latency-ms", "100") as server:
        path = write({"a": at(server)}, options={"concurrency": 2})
        master, slave = os.openpty()
        process = subprocess.Popen(
            [*COMMAND, "run", path], stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            preexec_fn=take_terminal,  # noqa: PLW1509  # no thread has begun
        )  # fmt: skip
        os.close(slave)
        wait_for_answers(server, 3)
        os.close(master)  # the kernel sends SIGHUP, and whatever is printed now fails
        assert process.wait(timeout=30) == 130
        assert stored_states() == [("interrupted", len(server.answered()))]


def test_under_nohup_a_closed_terminal_is_nothing(write, tmp_path):
    with ledger_server(tmp_path / "server", "--latency-ms", "30") as server:
        path = write({"a": at(server)}, options={"concurrency": 2})
        process = started(path, lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        wait_for_answers(server, 3)
        os.kill(process.pid, signal.SIGHUP)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, (out, err)
        assert stored_states() == [("finished", 20)]


@pytest.mark.parametrize(
    ("invented", "abstained", "gate", "code"),
    [
        (0, 0, {}, 0),
        (10, 0, {}, 1),
        (1, 0, {}, 0),
        (0, 1, {}, 0),
        (0, 10, {}, 4),
        (0, 10, {"min_scored": 0.5}, 0),
    ],
)
def test_a_bot_that_retrieves_less_passes_no_gate_for_it(steelyard, tmp_path, invented, abstained, gate, code):
    texts = ["The fee is 900 dollars."] * invented + ["I do not know."] * abstained
    said = [(text, []) for text in texts] + [("The fee is 3 euros.", ["It is 3 euros."])] * (20 - len(texts))
    rows = [{"id": f"q{no}", "question": f"What is the fee in year {no}?"} for no in range(20)]
    answers = [{"id": f"q{no}", "answer": text, "contexts": found} for no, (text, found) in enumerate(said)]
    for name, lines in (("q.jsonl", rows), ("a.jsonl", answers)):
        (tmp_path / name).write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    config = {
        "suite": "rag",
        "samples": {"file": "q.jsonl"},
        "judge": {"model": {"scripted": {"default": "It is said.\nVerdict: YES"}}},
        "targets": {"bot": {"replay": {"file": "a.jsonl", "output": "answer"}}},
        "scorers": ["faithfulness"],
        "gate": {"faithfulness": ">= 0.9", **gate},
    }
    (tmp_path / "rag.json").write_text(json.dumps(config), encoding="utf-8")
    files = ("--markdown", "s.md", "--junit", "s.xml", "--html", "s.html")
    result = steelyard("run", "rag.json", *files, code=code)
    told = {0: "holds", 1: "does not hold", 4: "cannot be decided"}[code]
    assert f"gate: bot: faithfulness >= 0.9 {told}" in " ".join(result.out.split())
    if code == 4:
        assert "10 of 20 records have a value that counts" in " ".join(result.out.split())
        assert "⚠️ bot: faithfulness" in (tmp_path / "s.md").read_text(encoding="utf-8")
        assert "<error" in (tmp_path / "s.xml").read_text(encoding="utf-8")


def test_the_gate_of_an_unfinished_run_says_nothing(steelyard, write, says):
    options = {"budget": {"calls": 3}, "concurrency": 1}
    result = steelyard("run", write({"a": says()}, options=options, gate={"solve_rate": ">= 0"}), code=130)
    assert "is not evaluated, as the run is interrupted (3 of 20 records" in " ".join(result.out.split())
