"""Details of a record besides its scores: steps of judges, retrieved passages, failed scores, messages.

All are texts of the page's list of words, or JSON texts of a score's detail; the page's script shows them as text
nodes only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from steelyard.analysis.numbers import kind_text
from steelyard.analysis.retrieval_matches import RETRIEVAL_SCORES, WAYS
from steelyard.escaping import cell_text
from steelyard.prompts.agent_messages import MESSAGES, is_answered_conversation, tool_call
from steelyard.prompts.trajectory import TURNS
from steelyard.report.judge_reasons import WordIndex
from steelyard.report.sections.sql_results import sql_json
from steelyard.scorers.passages import SourcePassage, match
from steelyard.scorers.retrieval import retrieved
from steelyard.types import Output, Record, Sample, Score

STEPS: Final = ("trace", "claims", "contexts", "guidelines", TURNS)
"""Keys of a score's detail that list a judge's single decisions, or those on the turns of a conversation."""
_ONCE: Final = frozenset({"verdict_like", *STEPS} - {TURNS})
"""Keys that several scores of one judge share; a page shows them with the first score only."""
JUDGED: Final = _ONCE | {
    TURNS,
    "how",
    "repeats",
    "sd",
    "flip_rate",
    "mass",
    "distribution",
    "fallback",
    "bounds",
    "asked_for",
}
"""Keys of a score's detail on how a judge computed it."""
EVIDENCE: Final = ("judged", "failed", "sources", "messages", "sql")
"""Columns that a page has only where a record has something in them."""

_DIGEST: Final = re.compile(r"[0-9a-f]{16,64}")


def score_evidence(scores: Sequence[Score], page_score: str, index: WordIndex) -> dict[str, list[Any]]:
    """The columns `judged` and `failed` of one record.

    Args:
        scores: of one record.
        page_score: the score whose verdicts the table shows.
        index: gives a text's index among the page's words.
    """
    # The page's own score is in the column `passed`.
    failed = [score for score in scores if score.passed is False and score.name != page_score]
    return {"judged": _judged(scores, page_score, index), "failed": [index(score.name) for score in failed]}


def record_evidence(record: Record, index: WordIndex) -> dict[str, list[Any]]:
    """The columns `sources`, `messages` and `sql` of one record; `index` as in `score_evidence`."""
    messages = _messages(record.output, index)
    return {"sources": _sources(record, index), "messages": messages, "sql": sql_json(record, index)}


def _messages(output: Output | None, index: WordIndex) -> list[list[Any]]:
    """Per message of an agent: who speaks, the text, and each tool call."""
    messages = output.metadata.get(MESSAGES) if output else None
    if not is_answered_conversation(messages):
        return []
    return [
        [
            index(speaker(message)),
            index(cell_text(message.get("content"))),
            [_call(call, index) for call in message.get("tool_calls") or ()],
        ]
        for message in messages
    ]


def speaker(message: Mapping[str, Any]) -> str:
    """The speaker of a message: its role, a tool's name, and whether the tool failed."""
    name = f" {cell_text(message['name'])}" if message.get("name") else ""
    return f"{cell_text(message.get('role'))}{name}{' (error)' if message.get('status') == 'error' else ''}"


def _call(call: Any, index: WordIndex) -> list[int]:
    plain = tool_call(call)
    return [index(plain["name"]), index(cell_text(plain["arguments"]))]


def _judged(scores: Sequence[Score], page_score: str, index: WordIndex) -> list[list[int]]:
    """Per judged score its name, whether it passed (1, 0; -1 without a threshold), its label, how it was computed."""
    entries, seen = [], set()
    # In the order in which the page shows them: its own score comes first.
    for score in sorted(scores, key=lambda score: score.name != page_score):
        if not JUDGED & score.detail.keys():
            continue
        shown = {key: value for key, value in score.detail.items() if key in JUDGED and value not in (None, "", [])}
        shown = {key: value for key, value in shown.items() if key not in _ONCE or (key, cell_text(value)) not in seen}
        seen |= {(key, cell_text(value)) for key, value in shown.items()}
        if shown.get("how") == "single":
            del shown["how"]
        passed = -1 if score.passed is None else int(score.passed)
        entries.append([index(score.name), passed, index(verdict_name(score)), index(cell_text(shown))])
    return entries


def verdict_name(score: Score) -> str:
    """Why a score is unparsed, or the name of its verdict; "" where it has neither."""
    kind, label = cell_text(score.detail.get("kind")), cell_text(score.detail.get("label"))
    if score.outcome != "scored" or not label:
        return kind_text(kind) if kind else label
    # The kind is the reason of a verdict: "SQL incorrect (rows missing)".
    reason = kind_text(kind)
    return f"{label} ({reason})" if reason and sorted(reason.split()) != sorted(label.split()) else label


def _sources(record: Record, index: WordIndex) -> list[list[int]]:
    """Per retrieved passage its origin, and how it matches an expected source (`id`, `text`, ...; "" if not)."""
    sample, output = record.sample, record.output
    listed = sources_in(output.metadata) if output else []
    if output is None or not (listed or sources_in(sample.metadata)):
        return []
    labels = [source_label(source) for source in listed] + [""] * (len(output.contexts) - len(listed))
    matches = passage_matches(record, output)
    return [[index(label), index(match) if match in WAYS else 0] for label, match in zip(labels, matches, strict=False)]


def passage_matches(record: Record, output: Output) -> Sequence[str]:
    """How each passage matches an expected source ("" if it does not), as the scorer stored it.

    If the retrieval was not scored, it is computed here.
    """
    n = max(len(sources_in(output.metadata)), len(output.contexts))
    scored = (score.detail.get("passages") for score in record.scores if score.name == RETRIEVAL_SCORES[0])
    if isinstance(ways := next(scored, None), list | tuple):
        return [*map(cell_text, ways), *[""] * (n - len(ways))]
    metadata = record.sample.metadata
    expected = [SourcePassage.of(source, document=metadata.get("document")) for source in sources_in(metadata)]
    matches = ({match(passage, source) for source in expected} for passage in retrieved(output))
    return [next((way for way in WAYS if way in ways), "") for ways in matches]


def expected_sources(sample: Sample, index: WordIndex) -> list[list[int]]:
    """The passages expected for a sample: their origin, and their text where it is known."""
    return [
        [index(source_label(source)), index(cell_text(source.get("text")) if isinstance(source, Mapping) else "")]
        for source in sources_in(sample.metadata)
    ]


def without_sources(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata without the sources and messages that have columns of their own."""
    shown_elsewhere = {"sources"} if sources_in(metadata) else set()
    shown_elsewhere |= {MESSAGES} if is_answered_conversation(metadata.get(MESSAGES)) else set()
    return {key: value for key, value in metadata.items() if key not in shown_elsewhere}


def sources_in(metadata: Mapping[str, Any]) -> list[Any]:
    """The list of sources in metadata; empty where there is none in the usual form."""
    sources = metadata.get("sources")
    usual = isinstance(sources, list | tuple) and all(isinstance(source, Mapping | str | int) for source in sources)
    return list(sources) if usual and sources else []


def source_label(source: Any) -> str:
    """The origin of a passage in words, with its id; an id that is a digest is cut.

    >>> source_label({"id": "7f", "document": "handbook.pdf", "page": 3, "start": 100, "end": 400})
    'handbook.pdf, page 3, characters 100 to 400 (7f)'
    >>> source_label({"id": "95ebd5674d908b5e", "document": "handbook.pdf"}), source_label("95ebd5674d908b5e")
    ('handbook.pdf (95ebd567)', '95ebd5674d908b5e')
    """
    if not isinstance(source, Mapping):
        return cell_text(source)
    texts = {key: cell_text(source.get(key)) for key in ("id", "document", "page", "start", "end")}
    parts = [texts["document"]] if texts["document"] else []
    parts += [f"page {texts['page']}"] if texts["page"] else []
    parts += [f"characters {texts['start']} to {texts['end']}"] if texts["start"] and texts["end"] else []
    if not parts:
        return texts["id"]
    ident = texts["id"][:8] if _DIGEST.fullmatch(texts["id"]) else texts["id"]
    return ", ".join(parts) + (f" ({ident})" if ident else "")
