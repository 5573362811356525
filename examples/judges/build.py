"""Write the files of this example from those of examples/labels: 120 answers, and two judges whose errors are known.

python examples/judges/build.py

The answers are those of both prompts there, each a sample of its own. Which of them are right is known, as some were
written with a failure. Each judge is wrong on answers that are drawn by seed.
"""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

HERE = Path(__file__).parent
LABELS = HERE.parent / "labels"
SEED = 7
TARGETS = ("prompt-1", "prompt-2")
LENIENT, CAREFUL = (1.0, 0.4), (0.92, 0.95)
"""Of a judge: the share of right answers that it passes, and of wrong ones that it fails."""


def main() -> None:
    """Write answers.jsonl, the suite with the lenient judge, and both judges."""
    rows = answers()
    rng = random.Random(SEED)  # noqa: S311  # a draw that anybody can repeat
    lenient, careful = (failed(rows, *rates, rng) for rates in (LENIENT, CAREFUL))
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (HERE / "answers.jsonl").write_text(text, encoding="utf-8")
    # The lenient judge is looked up by the end of the answer's fence, so that words behind the answer change its mind.
    judges = {
        "lenient": judge([f"\n{answer}\n</answer" for answer in lenient]),
        "careful": judge([f"\n{answer}\n" for answer in careful]),
    }
    suite = {
        "suite": "rag",
        "name": "support-120",
        "samples": {"file": "answers.jsonl"},
        "targets": {"assistant": {"replay": {"file": "answers.jsonl", "output": "reply"}}},
        "scorers": [judges["lenient"]],
        "options": {"seed": SEED},
    }
    for name, content in (("support.json", suite), ("judges.json", {"judges": judges, "margin": 0.05})):
        (HERE / name).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def answers() -> list[dict[str, str]]:
    """A row per answer; `written` is `right`, or the kind of failure that it was written with."""
    with (LABELS / "kinds.csv").open(encoding="utf-8", newline="") as file:
        kinds = {(row["id"], row["target"]): row["kind"] for row in csv.DictReader(file)}
    questions, replies = (
        [json.loads(line) for line in (LABELS / name).read_text("utf-8").splitlines()]
        for name in ("questions.jsonl", "answers.jsonl")
    )
    return [
        {
            "id": f"{question['id']}-{target[-1]}",
            "question": question["question"],
            "answer": question["answer"],
            "cluster": question["id"],
            "reply": reply[target],
            "written": kinds.get((question["id"], target), "right"),
        }
        for question, reply in zip(questions, replies, strict=True)
        for target in TARGETS
    ]


def failed(rows: list[dict[str, str]], tpr: float, tnr: float, rng: random.Random) -> list[str]:
    """The answers that a judge fails."""
    right = [row["reply"] for row in rows if row["written"] == "right"]
    wrong = [row["reply"] for row in rows if row["written"] != "right"]
    chosen = {*rng.sample(right, round((1 - tpr) * len(right))), *rng.sample(wrong, round(tnr * len(wrong)))}
    return [row["reply"] for row in rows if row["reply"] in chosen]


def judge(parts: list[str]) -> dict[str, object]:
    """A scripted judge that fails prompts with one of these parts, and passes all others."""
    replies = dict.fromkeys(parts, "1. It could not be sent as it is. Verdict: NO")
    model = {"scripted": {"default": "1. It could be sent. Verdict: YES", "replies": replies}}
    return {
        "guideline": {"name": "sendable", "guidelines": ["Could be sent to a customer."], "judge": {"model": model}}
    }


if __name__ == "__main__":
    main()
