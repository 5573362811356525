"""The example of judges: their errors are as told, and the corrected interval holds the truth."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.examples.label_script import LABELS, printed_by

from steelyard.cli.app import run_app
from steelyard.stats import wilson
from steelyard.store import Store

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "judges"
ROWS = [json.loads(line) for line in (EXAMPLE / "answers.jsonl").read_text("utf-8").splitlines()]
TRUTH = sum(row["written"] == "right" for row in ROWS) / len(ROWS)


def command(*arguments):
    with pytest.raises(SystemExit) as ended:
        run_app([str(argument) for argument in arguments])
    assert ended.value.code == 0


def failed_by(name):
    """The answers that a scripted judge fails, by the end of their fence as the prompt has it."""
    replies = json.loads((EXAMPLE / "judges.json").read_text("utf-8"))["judges"][name]["guideline"]["judge"]["model"]
    parts = replies["scripted"]["replies"]
    return [row for row in ROWS if any(part in f"\n{row['reply']}\n</answer 0f>" for part in parts)]


@pytest.mark.parametrize(("name", "right", "wrong"), [("lenient", 0, 16), ("careful", 6, 39)])
def test_each_judge_errs_as_the_readme_says(name, right, wrong):
    failed = failed_by(name)
    assert sum(row["written"] == "right" for row in failed) == right
    assert sum(row["written"] != "right" for row in failed) == wrong


def test_the_corrected_interval_holds_the_truth_where_the_raw_rate_does_not(capfd):
    command("run", EXAMPLE / "support.json", "-q")
    draw = ("--draw", "80", "--title", "Sent?", "--author", "lead", "--raters", "3", "--overlap", "0.3", "--seed", "7")
    command("queue", "create", "assistant", *draw)
    capfd.readouterr()
    command("queue", "list", "--json")
    queue = json.loads(capfd.readouterr().out)[0]["queue"]

    def steelyard(*arguments):
        command(*arguments)
        return capfd.readouterr().out

    assert "stored" in printed_by("label.py", queue, steelyard=steelyard)
    again = subprocess.run([sys.executable, LABELS / "label.py", queue], check=True, capture_output=True, text=True)
    assert again.stdout == "", "nothing is left to label"
    command("agree", "assistant", "--json")
    (score,) = json.loads(capfd.readouterr().out)["scores"]
    low, high = score["corrected"]["interval"]
    assert low < TRUTH < high
    raw = score["corrected"]["raw"]
    assert not wilson(round(raw * 120), 120).low < TRUTH < wilson(round(raw * 120), 120).high
    command(
        "judges", "assistant", "--judges", EXAMPLE / "judges.json", "--canary", "0.5", "--seed", "7", "--json", "-q"
    )
    found = json.loads(capfd.readouterr().out)
    (panel,) = found["panels"]
    assert panel["chosen"] == "careful"
    corrected = [judge["agreement"]["corrected"]["interval"] for judge in panel["judges"]]
    assert all(low < TRUTH < high for low, high in corrected)
    fooled = {check["judge"]: check["value"] for check in found["checks"] if check["name"] == "injection canary"}
    assert fooled == {"lenient": 1.0, "careful": 0.0}
    with Store() as store:
        assert store.run(found["judges_run"]).done == 120
