"""Two agents at the desk of a library, on tasks and in conversations; what each does wrong is known.

python examples/agents/desk.py STORE

No model, key or network: the agents, and the user who talks to them, are written down here. Run from the repository's
folder; `steelyard show`, `view` and `report` then read the store.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard import Sample, Scripted, Store, Suite, evaluate_suite
from steelyard.scorers import AgentSteps, ErrorPattern, ForbiddenTools, PerTurn, ToolCalls
from steelyard.targets import SimulatedUser
from steelyard.types import Message

HERE = Path(__file__).parent
BUSY = frozenset({"t02", "t07", "t12", "t17", "t22", "t27", "t32", "t37"})
"""Tasks in which the first search fails."""
SKIPS = {
    "careful": frozenset({"t09", "t31"}),
    "hasty": frozenset({"t03", "t05", "t09", "t14", "t18", "t21", "t25", "t29", "t31", "t34", "t38"}),
}
"""Tasks in which an agent does not look how many copies there are."""
GIVES_UP = {"careful": frozenset({"t37"}), "hasty": frozenset({"t02", "t12", "t22", "t32", "t37"})}
"""Tasks of `BUSY` in which an agent does not search again."""
CANCELS = {"careful": frozenset[str](), "hasty": frozenset({"t26", "t40"})}
"""Tasks in which an agent cancels somebody else's reservation, which is forbidden."""
PROMISES = {"careful": (6,), "hasty": (4, 7)}
"""An agent promises that the book will be there in every turn whose number in all is divisible by one of these."""

Messages = list[dict[str, Any]]


class Desk:
    """An agent: its answers and calls of tools follow from the tables above.

    Args:
        name: `careful` or `hasty`.
        turns_before: id of a conversation -> how many turns the conversations before it have.
    """

    def __init__(self, name: str, turns_before: Mapping[str, int] | None = None) -> None:
        self.name = name
        self._turns_before = turns_before or {}

    def do_task(self, sample: Sample) -> Mapping[str, Any]:
        """Carry out one task."""
        wanted = sample.metadata["tools"]
        messages: Messages = []
        search = wanted[0]
        if sample.id in BUSY:
            messages += called(search, "Error: the catalogue is busy, try again")
            if sample.id in GIVES_UP[self.name]:
                return told(messages, "I cannot find that book.")
        for call in wanted:
            if call["name"] == "copies" and sample.id in SKIPS[self.name]:
                continue
            messages += called(call, {"search": "found", "copies": "2 at Central", "reserve": "kept"}[call["name"]])
        if sample.id in CANCELS[self.name]:
            messages += called({"name": "cancel_reservation", "arguments": {"reader": "R1"}}, "cancelled")
        return told(messages, "It is at Central." if len(wanted) == 2 else "It is kept for you.")

    def talk(self, sample: Sample) -> Mapping[str, Any]:
        """Answer one turn of a conversation: ask for what is missing, then reserve."""
        turns: Sequence[Message] = sample.input
        said = " ".join(message["content"] for message in turns if message["role"] == "user")
        no = sum(message["role"] == "assistant" for message in turns)
        card = re.search(r"R\d+", said)
        hasty = ["One moment.", "May I have your card?"]  # though the user may have said it
        asks = hasty if self.name == "hasty" else ["May I have your card?"] * (card is None)
        promise = "I promise that it will be there. " if self._promises(sample.id, no) else ""
        if no < len(asks) or card is None:
            return told([], promise + asks[min(no, len(asks) - 1)])
        call = {"name": "reserve", "arguments": {"reader": card[0]}}
        return told(called(call, "kept"), f"{promise}Your book is kept.")

    def _promises(self, ident: str, turn: int) -> bool:
        nth = self._turns_before[ident] + turn + 1
        return any(nth % by == 0 for by in PROMISES[self.name])


def called(call: Mapping[str, Any], result: str) -> Messages:
    """A call of a tool and its result."""
    tool = {"role": "tool", "name": call["name"], "content": result}
    return [{"role": "assistant", "content": "", "tool_calls": [dict(call)]}, tool]


def told(messages: Messages, answer: str) -> dict[str, Any]:
    """What an agent returns: its messages, the last of which is the answer."""
    return {"messages": [*messages, {"role": "assistant", "content": answer}]}


def play_user(messages: list[Message]) -> str:
    """The simulated user: gives its card when asked, and ends when the book is kept."""
    prompt = messages[-1]["content"]
    last = prompt.rpartition("Assistant: ")[2]
    if "is kept" in last:
        return '{"message": "", "done": true}'
    card = re.search(r"R\d+", prompt)
    message = f"It is {card[0]}." if card and "card" in last else "Thank you."
    return json.dumps({"message": message, "done": False})


def rows_of(name: str) -> list[Sample]:
    """The samples of a file."""
    rows = [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]
    return [
        Sample(row["id"], row["question"], metadata={key: row[key] for key in row if key not in {"id", "question"}})
        for row in rows
    ]


def tasks_suite() -> Suite:
    """Both agents on the tasks, scored by the calls that each task takes."""
    scorers = (ToolCalls(match="in_order"), ForbiddenTools(("cancel_*",)), AgentSteps())
    targets = {name: Desk(name).do_task for name in SKIPS}
    return Suite("desk: tasks", "custom", rows_of("tasks.jsonl"), targets, scorers)


def conversations_suite() -> Suite:
    """Both agents in conversations with a simulated user; each turn is searched for promises."""
    samples = rows_of("conversations.jsonl")
    targets = {}
    for name in PROMISES:
        before, turns = {}, 0
        for sample in samples:
            before[sample.id] = turns
            turns += 3 if name == "hasty" else 1 if sample.metadata["card"] in sample.input else 2
        targets[name] = SimulatedUser(Desk(name, before).talk, Scripted(function=play_user), most_turns=6)
    kept = ToolCalls(({"name": "reserve", "schema": {"required": ["reader"]}},))
    scorers = (PerTurn(ErrorPattern("no_promise", r"(?i)\bpromise\b")), kept)
    return Suite("desk: conversations", "custom", samples, targets, scorers)


def main() -> None:
    """Run both suites into the store that is named."""
    store = sys.argv[1] if len(sys.argv) > 1 else ".steelyard/steelyard.db"
    for suite in (tasks_suite(), conversations_suite()):
        evaluate_suite(suite, store=store)
    with Store(store) as opened:
        runs = [run for run in opened.runs() if run.suite.startswith("desk: ")]
        for run in sorted(runs, key=lambda run: (run.suite, run.target)):
            print(f"{run.suite}/{run.target}: {run.done} records, {run.errors} errors")


if __name__ == "__main__":
    main()
