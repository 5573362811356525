"""A scripted endpoint for the nine configurations beside it: models that are wrong by a known rule.

python examples/general/server.py [PORT]

It speaks OpenAI's chat completions (models small, medium, large, judge) and is an agent at /agent. What it answers
follows from model and prompt alone. It listens on loopback only; PORT is 8391, and 0 takes a free one.
"""

from __future__ import annotations

import csv
import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from hashlib import blake2b, md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SKILL = {"small": 0.70, "medium": 0.85, "large": 0.95, "judge": 1.0}
"""How often a model is right."""
LATENCY_S = {"small": 0.005, "medium": 0.015, "large": 0.04, "judge": 0.002}
LABELS = ("billing", "bug", "feature_request", "account", "other")
BODIES = {
    "add": ("(a,b):\n    return a+b", "(a,b):\n    return a-b"),
    "rev": ("(s):\n    return s[::-1]", "(s):\n    return s"),
    "fact": ("(n):\n    return 1 if n<2 else n*{name}(n-1)", "(n):\n    while True: pass"),
    "uniq": ("(xs):\n    return list(dict.fromkeys(xs))", "(xs):\n    return sorted(set(xs))"),
}
"""Functions by their names: right, and wrong."""
SHORT = (
    ("pick a lock", "I'm sorry, but I can't help with that.", "First insert a tension wrench."),
    (
        "haiku",
        "Rain taps on the roof\nA grey sky leans on the town\nPuddles learn to sing",
        f"Rain is wet and it rains a lot and this is no haiku at all, it just goes on{' and on' * 4}. [[bad]]",
    ),
    ("JSON with key city", '{"city": "Rome"}', "Rome is the city."),
    (
        "refund policy",
        "You can return goods within 30 days with a receipt. Please see our help page.",
        "Ask your lawyer. [[bad]]",
    ),
)
"""Words of a question, the right answer, a wrong one."""


def _rows(name: str) -> list[dict[str, Any]]:
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return [json.loads(line) for line in file] if name.endswith(".jsonl") else list(csv.DictReader(file))


TICKETS = {row["text"]: row["label"] for row in _rows("tickets.csv")}
INVOICES = {row["document"]: row["expected"] for row in _rows("invoices.jsonl")}
TRANSLATIONS = {row["source"]: row["reference"] for row in _rows("translations.csv")}


def chance(*parts: object) -> float:
    """A number from 0 to 1 that is the same for the same parts."""
    digest = blake2b("|".join(map(str, parts)).encode(), digest_size=6).hexdigest()
    return int(digest, 16) / 2**48


def answer(model: str, messages: Sequence[Mapping[str, Any]]) -> str:
    """What a model says to a conversation."""
    whole = "\n".join(str(message["content"]) for message in messages)
    if model.startswith("judge"):
        return judged(whole)
    good = chance(model, whole) < SKILL.get(model, 0.8)
    known = from_data(model, whole, good=good)
    if known is not None:
        return known
    if "parcel" in whole or "PX" in whole:
        said = [str(message["content"]) for message in messages if message["role"] == "user"]
        return of_parcels(said[-1], good=good)
    return short_answer(whole, good=good)


def from_data(model: str, whole: str, *, good: bool) -> str | None:
    """The answer to a prompt that holds a ticket, an invoice, an article, a sentence or a function to write."""
    ticket = next((text for text in TICKETS if text in whole), None)
    invoice = next((document for document in INVOICES if document in whole), None)
    source = next((sentence for sentence in TRANSLATIONS if sentence in whole), None)
    known: str | None = None
    if ticket is not None:
        known = sorted_ticket(model, whole, ticket, TICKETS[ticket])
    elif invoice is not None:
        known = extracted(model, whole, INVOICES[invoice], good=good)
    elif article := re.search(r"\[art(\d+)\]", whole):
        known = summarised(article[1], good=good)
    elif source is not None:
        right: str = TRANSLATIONS[source]
        known = right if good else right.replace("Das", "Der").replace("ist", "war").replace("ein", "kein")
    elif function := re.search(r"Python function (\w+)\.", whole):
        known = written_code(function[1], good=good)
    return known


def sorted_ticket(model: str, whole: str, text: str, label: str) -> str:
    """A label: alone where only the label is asked for, else in a sentence, and sometimes none at all."""
    terse = "only the label" in whole.lower()
    if chance(model, "unreadable", text) < (0.02 if terse else 0.08):
        return "I am not sure, it could be several of these."
    skill = SKILL.get(model, 0.8)
    is_right = chance(model, text, terse) < skill - (0 if terse else 0.08)
    said = label if is_right else LABELS[int(chance(model, text, 2) * 5)]
    if terse:
        return said
    return f"The label is: {said.replace('_', ' ').title() if chance(model, text, 3) < 0.3 else said}."


def extracted(model: str, whole: str, expected: Mapping[str, Any], *, good: bool) -> str:
    """An invoice as JSON, sometimes with a wrong field, sometimes no JSON, sometimes between fences."""
    said = dict(expected)
    if not good:
        which = int(chance(whole, 1) * 3)
        said[("total", "date", "vendor")[which]] = ("1.00", "10/01/2026", "ACME")[which]
    if chance(model, whole, "bad") > 0.95:
        return f"{{invoice_no: {said['invoice_no']}"
    text = json.dumps(said, ensure_ascii=False)
    return f"```json\n{text}\n```" if chance(whole, 9) < 0.4 else text


def summarised(number: str, *, good: bool) -> str:
    """A sentence on an article; a bad one is long."""
    text = f"Town {number} will widen bridge {number} from May after a clear vote; nights stay quiet."
    long = (
        " As an AI, I note that residents asked about noise, and the council of the town, which met on Monday, "
        "listened to them for a long time. [[bad]]"
    )
    return text if good else text + long


def written_code(name: str, *, good: bool) -> str:
    """A function in a fence, with a sentence before and after it."""
    body = BODIES[name.rsplit("_", 1)[0]][0 if good else 1].replace("{name}", name)
    return f"Here is the function:\n```python\ndef {name}{body}\n```\nIt runs in O(n)."


def of_parcels(said: str, *, good: bool) -> str:
    """An answer of a parcel service."""
    if "late" in said:
        return "I am sorry to hear that. What is the number?" if good else "What is the number?"
    if number := re.search("PX[0-9]+", said if "number is" in said else ""):
        return f"Thank you, I found {number[0]}." if good else "Thank you."
    return "It arrives on Tuesday." if good else "I do not know."


def short_answer(whole: str, *, good: bool) -> str:
    """Answers to the questions with checks of their own."""
    if numbers := re.search(r"What is (\d+)\+(\d+)", whole):
        return f"The result is {int(numbers[1]) + int(numbers[2]) + (0 if good else 1)}."
    if "Capital of France" in whole:
        return ("Paris", "City of Paris", "Paris")[int(chance(whole) * 3)] if good else "Lyon"
    for words, right, wrong in SHORT:
        if words in whole:
            return right if good else wrong
    return f"answer-{md5(whole.encode(), usedforsecurity=False).hexdigest()[:6]}"


def judged(prompt: str) -> str:
    """A verdict on an answer: bad where it says so itself, `[[bad]]`."""
    found = re.search(r"answer to (?:judge|rate|check)[^\n]*\n(.*)", prompt, re.DOTALL | re.IGNORECASE)
    candidate = found[1] if found else prompt
    is_bad = "[[bad]]" in candidate.lower()
    of_goal = "final answer" in prompt.lower() and "goal" in prompt.lower()
    if "numbered in their order" in prompt or of_goal:
        reached = "tuesday" in candidate.lower() or "[[ok]]" in candidate.lower()
        return "Checked.\nVerdict: " + ("YES" if reached else "NO")
    if "Verdict: YES" in prompt and "guideline" in prompt:
        count = len(re.findall(r"^\d+\. ", prompt.split("An example", maxsplit=1)[0], re.MULTILINE)) or 1
        return "\n".join(f"{no}. checked. Verdict: {'NO' if is_bad else 'YES'}" for no in range(1, count + 1))
    rating = 2 if is_bad else 5
    if chance("judge", candidate) > 0.8:
        rating = max(1, rating - 1)
    return f"Reads well.\nRating: {rating}" if "Rating:" in prompt else str(rating)


def agent(question: str) -> dict[str, Any]:
    """What an agent with tools does and says."""
    good = chance("agent", question) < 0.8
    found = re.search(r"\d+", question)
    number = int(found[0]) if found else 0
    calls: list[tuple[str, dict[str, Any], str]] = []
    said = "Hello!"
    if "weather" in question:
        calls, said = [("get_weather", {"city": f"city{number}" if good else "Paris"}, "sunny")], "Sunny."
    elif "Refund" in question:
        looked_up = [("get_order", {"order_id": number}, "paid")] if good else []
        calls = [*looked_up, ("refund", {"order_id": number, "reason": "customer"}, "ok")]
        said = "Refunded."
    elif "Status" in question:
        calls, said = [("get_order", {"order_id": number}, "shipped")], "Shipped."
    elif not good:
        calls = [("get_weather", {"city": "x"}, "?")]
    steps: list[dict[str, Any]] = []
    for name, arguments, result in calls:
        ident = f"c{len(steps)}"
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": ident, "type": "function", "function": function}
        steps.append({"role": "assistant", "content": "", "tool_calls": [call]})
        steps.append({"role": "tool", "tool_call_id": ident, "content": result})
    steps.append({"role": "assistant", "content": said})
    usage = {"prompt_tokens": 300 + 100 * len(steps), "completion_tokens": 30 * len(steps)}
    return {"answer": said, "steps": steps, "usage": usage}


def completion(body: Mapping[str, Any]) -> dict[str, Any]:
    """A chat completion, after the model's latency."""
    model, messages = body["model"], body["messages"]
    time.sleep(LATENCY_S.get(model, 0.005))
    text = answer(model, messages)
    tokens_in = sum(len(str(message["content"])) for message in messages) // 4
    tokens_out = max(1, len(text) // 4)
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}
    return {"id": "x", "object": "chat.completion", "model": model, "choices": [choice], "usage": usage}


class Endpoint(BaseHTTPRequestHandler):
    """POST /v1/chat/completions and /agent."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer one call."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        replied = agent(body["question"]) if self.path == "/agent" else completion(body)
        content = json.dumps(replied).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""


def main(port: int = 8391) -> None:
    """Serve until it is ended."""
    with ThreadingHTTPServer(("127.0.0.1", port), Endpoint) as server:
        print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
