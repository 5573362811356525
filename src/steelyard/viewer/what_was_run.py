"""What a run was made of: a line of facts, a page of prompt, settings and dataset; and what was sent for a sample."""

# Why it is so, and what was rejected: docs/decisions/viewer-look.md

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from steelyard.analysis.comparison.settings import PROMPT, SYSTEM_PROMPT, settings_of, short_digests
from steelyard.analysis.numbers import cost_text, count_text, duration_text, score_title
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.escaping import cell_text
from steelyard.evaluation.judge_prompts import target_request
from steelyard.prompts.agent_messages import tool_call
from steelyard.prompts.message_parts import without_files
from steelyard.prompts.template import placeholders
from steelyard.registry import built_in_classes, find
from steelyard.report.sample_evidence import speaker
from steelyard.store import Run
from steelyard.store.ended_runs import money_of
from steelyard.types import Message, Record
from steelyard.viewer.open_datasets import OpenDatasets
from steelyard.viewer.pages import Pages

_OF_OPTIONS: Final = ("concurrency", "repeats", "seed", "max_errors", "sample_timeout_s")
"""Options that the page names; all are in the manifest below them."""

_REPLAYED: Final = ("id", "output", "contexts", "sources", "confidence")
"""Settings of a replay that name columns of its file."""

Piece = tuple[str, bool]
"""A part of a text, and whether it is a placeholder, or the value that was put into one."""


def what_routes(pages: Pages, datasets: OpenDatasets) -> list[Route]:
    """The route of the page."""

    def what_was_run(request: Request) -> Response:
        run = pages.run(request)
        manifest = run.manifest
        settings = _settings(manifest.get("target"))
        prompts = [(name, settings.pop(name)) for name in (SYSTEM_PROMPT, PROMPT) if name in settings]
        options = manifest.get("options") or {}
        return pages.page(
            request,
            "what_was_run.html.j2",
            run=run,
            facts=run_facts(run, pages.summary(run)),
            prompts=[(name, list(template_pieces(text))) for name, text in prompts],
            settings=settings,
            tags=run.tags,
            scorers=[(score_title(name), _settings(scorer)) for name, scorer in manifest.get("scorers", {}).items()],
            source=_flat((manifest.get("samples") or {}).get("source") or {}),
            samples=manifest.get("samples") or {},
            notes=manifest.get("notes") or (),
            options=dict(_setting(name, cell_text(options[name])) for name in _OF_OPTIONS if name in options),
            dataset=datasets.of_run(run),
            manifest=json.dumps(manifest, ensure_ascii=False, indent=2),
        )

    return [Route("/run/{run}/what", what_was_run)]


def _settings(described: Any) -> dict[str, str]:
    """The settings of a target or a scorer, without flags that are off."""
    settings = settings_of(described)
    words = {"target": "kind", "kind of model": "endpoint kind", "file.file": "file", "file.digest": "file digest"}
    if settings.get("target") == "replay":
        words |= {key: f"column of {key}" for key in _REPLAYED}
    shown = dict(_setting(words.get(key, key), "yes" if text == "True" else text) for key, text in settings.items())
    replies = [key for key in shown if key.startswith("model.replies.")]
    shown |= {"scripted replies": str(len(replies))} if replies else {}
    # A judge has a prompt for each language, all of one name.
    texts = [(name.partition(" prompts ")[2], text) for name, text in _flat(described).items()]
    prompts = {f"prompt {name[:-5]}": text for name, text in texts if name.endswith(" text")}
    shown |= prompts
    left_out = {*replies, *(("prompt",) if prompts else ())}
    return {key: short_digests(text) for key, text in shown.items() if text != "False" and key not in left_out}


def _setting(key: str, text: str) -> tuple[str, str]:
    """Name and value of a setting in words; a value that is no time, such as a model's name, is shown as it is."""
    name = re.sub(r"[ _]s$", " in seconds", key).replace("_", " ")
    return name, re.sub(r"^(\d+)\.0$", r"\1", text) if name.endswith(" in seconds") else text


def score_meaning(run: Run, name: str) -> str:
    """What a score says, in a sentence of its scorer's description; "" where its scorer is not built in."""
    scorers = run.manifest.get("scorers") or {}
    for stage, described in scorers.items():
        kind = next(iter(described), "")
        if kind not in built_in_classes()["scorer"] or kind == "function":
            continue
        text = find("scorer", kind, built_in=True).__doc__ or ""
        own = re.search(rf"`{re.escape(name)}`: ([^.;]+)", text)
        if name == stage or own or len(scorers) == 1:
            sentence = own[1] if own and name != stage else text.partition("\n\n")[0]
            sentence = " ".join(sentence.replace("`", "").split()).rstrip(".")
            return sentence[:1].upper() + sentence[1:]
    return ""


def _flat(value: Any, path: str = "") -> dict[str, str]:
    """The values of nested mappings that are not empty, by their keys."""
    if isinstance(value, Mapping):
        below_path = {key: path if key == path else f"{path} {key}".strip().replace("_", " ") for key in value}
        parts = (_flat(below, below_path[key]) for key, below in value.items())
        return {name: text for part in parts for name, text in part.items()}
    return {path or "source": short_digests(cell_text(value))} if value not in (None, "", [], False) else {}


def run_facts(run: Run, summary: RunSummary) -> list[str]:
    """Model, prompt, date, duration, samples, tokens and cost of a run, as far as it has them."""
    settings = settings_of(run.manifest.get("target"))
    counts = summary.counts
    tokens = counts.input_tokens + counts.output_tokens
    models = (settings.get("model"), settings.get("body.model"), run.tags.get("model"))
    kind = {"baseline": "no model"}.get(settings.get("target", ""), settings.get("target") or "")  # not the run's
    function = f"function {kind.removeprefix('__main__:')}" if ":" in kind else kind
    target = " ".join(filter(None, (settings.get("method"), function)))
    prompt = run.tags.get("prompt", "")
    facts = (
        next(filter(None, models), target),
        f"prompt {prompt}" if prompt else "",
        run.created.strftime("%d %b %Y, %H:%M UTC"),
        duration_text(run.seconds) if run.seconds >= 1 else "",
        count_text(counts.planned // max(1, repeats_of(run)), "sample"),
        f"{repeats_of(run)} repeats" if repeats_of(run) > 1 else "",
        f"{tokens:,} tokens" if tokens else "",
        cost_text(money_of(summary.calls.stages)) if tokens else "",
    )
    return [fact for fact in facts if fact]


def repeats_of(run: Run) -> int:
    """How often each sample was asked."""
    return int((run.manifest.get("options") or {}).get("repeats", 1))


def template_pieces(template: str) -> Iterator[Piece]:
    """A template cut at its placeholders; the last piece is the text behind them, "" included.

    >>> list(template_pieces("Q: {{question}} A:"))
    [('Q: ', False), ('{{question}}', True), (' A:', False)]
    """
    at = 0
    for _, start in placeholders(template):
        end = template.index("}}", start) + 2
        yield from ((template[at:start], False), (template[start:end], True))
        at = end
    yield template[at:], False


@dataclass(frozen=True, slots=True)
class ShownRequest:
    """What the target was sent for a record, or would be as its run is configured.

    Args:
        messages: role, text, and the text cut at what was put into placeholders.
        tools: names of the tools that were offered.
        parameters: of the call, without tools.
        is_proven: whether it was stored, or the digest of the request is the key of the stored reply.
        origin: how the page has it.
        place: which of several requests it is, as "request 3 of 3"; "" where there is one, or none that is known.
    """

    messages: tuple[tuple[str, tuple[Piece, ...]], ...]
    tools: tuple[str, ...]
    parameters: Mapping[str, str]
    is_proven: bool
    origin: str
    place: str


def shown_request(run: Run, record: Record) -> ShownRequest | None:
    """The request that a record's raw reply answers; None where it was not stored and cannot be rebuilt."""
    request = target_request(run, record)
    if request is None:
        return None
    messages = tuple(
        (speaker(message), tuple(_filled(_message_text(message), request.literals))) for message in request.messages
    )
    parameters = dict(request.parameters)
    tools = parameters.pop("tools", None) or ()
    names = tuple(cell_text((tool.get("function") or tool).get("name")) for tool in tools if isinstance(tool, Mapping))
    total = len(record.replies.get("target", ()))
    origin = "rebuilt; its digest equals the stored key" if request.is_proven else "configured (not proven)"
    return ShownRequest(
        messages,
        names,
        {key: cell_text(value) for key, value in parameters.items()},
        request.is_proven,
        "stored when it was sent; secrets are masked" if request.is_stored else origin,
        f"request {request.number} of {total}" if total > 1 and request.number else "",
    )


def _message_text(message: Message) -> str:
    """What a message says, and which tools it calls."""
    calls = (tool_call(call) for call in message.get("tool_calls") or ())
    called = [f"calls {call['name']} {cell_text(call['arguments'])}" for call in calls]
    return "\n".join(filter(None, (cell_text(without_files(message.get("content"))), *called)))


def _filled(text: str, templates: Sequence[str]) -> Iterator[Piece]:
    """A text cut at the values that filled the placeholders of one of the templates; whole where none fits."""
    for template in templates:
        pieces = list(template_pieces(template))
        if len(pieces) > 1 and (cut := _cut_like(text, pieces)):
            return iter(cut)
    return iter([(text, False)])


def _cut_like(text: str, pieces: Sequence[Piece]) -> list[Piece]:
    """The text cut like a template: each value reaches to the next literal; [] where the literals do not occur."""
    cut: list[Piece] = []
    at, is_value = 0, False
    for no, (literal, is_placeholder) in enumerate(pieces, 1):
        if is_placeholder:
            is_value = True
            continue
        found = (text.find(literal, at) if no < len(pieces) else len(text) - len(literal)) if is_value else at
        if found < at or not text.startswith(literal, found):
            return []
        cut += [(text[at:found], True), (literal, False)]
        at, is_value = found + len(literal), False
    return [piece for piece in cut if piece[0]] if at == len(text) else []
