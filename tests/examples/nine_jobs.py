"""The nine everyday jobs of examples/general, in Python: each is a function of the endpoint's address."""

from __future__ import annotations

from pathlib import Path

from steelyard import OpenAICompatible, Prompt, evaluate
from steelyard.models.response import ResponseMap
from steelyard.scorers import AgentSteps, Contains, GoalReached, PerTurn, ToolCalls
from steelyard.targets import HttpEndpoint, SimulatedUser

_ADEQUATE = "The translation says the same as the source, in natural German."


def models(address):
    return {name: OpenAICompatible(name, base_url=f"{address}/v1") for name in ("small", "medium", "large", "judge")}


def two_prompts():
    return {name: Path(f"prompts/{name}.txt").read_text(encoding="utf-8") for name in ("terse", "chatty")}


def classify(address):
    return evaluate(two_prompts(), "tickets.csv", ["label"], model=models(address)["small"])


def extract(address):
    prompt = "Extract as JSON (invoice_no, vendor, date, total, currency, po_number):\n{{document}}"
    fields = {"json_fields": {"compare": {"total": 0.001, "date": "date", "vendor": "text"}}}
    return evaluate(prompt, "invoices.jsonl", [fields], model=models(address)["small"])


def no_ai_talk(output):
    return "as an ai" not in output.lower()


def summarise(address):
    scorers = [
        {"g_eval": "The summary is faithful, complete and clear.", "name": "quality"},
        {"length": 25},
        no_ai_talk,
    ]
    prompt = "Summarise in one sentence of at most 25 words:\n{{article}}"
    known = models(address)
    return evaluate(prompt, "articles.jsonl", scorers, model=known["small"], judge=known["judge"])


def translate(address):
    scorers = ["chrf", {"g_eval": _ADEQUATE, "name": "adequacy"}]
    known = models(address)
    both = {name: known[name] for name in ("small", "large")}
    prompt = "Translate into German. Give only the translation.\n{{source}}"
    return evaluate(prompt, "translations.csv", scorers, model=both, judge=known["judge"])


def grid(address):
    known = models(address)
    three = {name: known[name] for name in ("small", "medium", "large")}
    return evaluate(two_prompts(), "tickets.csv", ["label"], model=three)


def chat(address):
    known = models(address)
    bot = SimulatedUser(Prompt(known["small"], system="You help customers of a parcel service."))
    scorers = ["goal_reached", PerTurn(Contains(), key="turn_must")]
    return evaluate({"bot": bot}, "chats.jsonl", scorers, judge=known["judge"])


def chat_with_objects(address):
    known = models(address)
    bot = SimulatedUser(Prompt(known["small"], system="You help customers of a parcel service."))
    return evaluate(bot, "chats.jsonl", [GoalReached(), PerTurn(Contains(), key="turn_must")], judge=known["judge"])


def agent(address):
    target = HttpEndpoint(
        url=f"{address}/agent", body={"question": "{{question}}"}, response=ResponseMap(text="answer", messages="steps")
    )
    scorers = [ToolCalls(match="exact"), AgentSteps(most_steps=3, input_price=3, output_price=15)]
    return evaluate({"agent": target}, "agent.jsonl", scorers)


def code(address):
    test = {"python_test": {"test": "{{test}}", "call": "check({{entry_point}})"}}
    return evaluate("{{prompt}} Only code.", "code.jsonl", [test], model=models(address)["small"])


def rows(address):
    known = models(address)
    both = {name: known[name] for name in ("small", "large")}
    return evaluate("{{question}}", "rows.jsonl", ["checks"], model=both, judge=known["judge"])
