"""What a page shows of a record beside its verdict: how judges came to theirs, what was retrieved, what failed.

Everything is a text of the page's list of words, or the JSON text of a score's detail: the page's script shows it as
text nodes only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeGuard

from steelyard.analysis.retrieval_matches import RETRIEVAL_SCORES, WAYS
from steelyard.escaping import cell_text
from steelyard.prompts.agent_messages import MESSAGES, is_answered_conversation, tool_call
from steelyard.report.numbers import kind_text
from steelyard.scorers.passages import SourcePassage, match
from steelyard.scorers.retrieval import retrieved
from steelyard.types import Output, Record, Sample, Score

STEPS: Final = ("trace", "claims", "contexts", "guidelines")
"""Keys of a score's detail that list what a judge decided one by one."""
_ONCE: Final = frozenset({"verdict_like", *STEPS})
"""Of these, what scores of one judge repeat; a page shows it with the first."""
JUDGED: Final = _ONCE | {"how", "repeats", "sd", "flip_rate", "mass", "distribution", "fallback", "bounds"}
"""Keys of a score's detail that say how a judge came to it."""
EVIDENCE: Final = ("judged", "failed", "sources", "messages")
"""Columns that a page has only where a record has something in them."""

Place = Callable[[str], int]
"""A text -> its place among the page's words."""


def evidence_of(record: Record, page_score: str, place: Place, *, share: bool) -> dict[str, Any]:
    """The columns `judged`, `failed`, `sources` and `messages` of one record.

    Args:
        record: one of the run.
        page_score: the score whose verdicts the table shows.
        place: finds a text's place among the words.
        share: whether that score is shown as right and wrong, so that its failures need no mark of their own.
    """
    failed = [one for one in record.scores if one.passed is False and not (share and one.name == page_score)]
    return {
        "judged": _judged(record.scores, page_score, place),
        "failed": [place(one.name) for one in failed],
        "sources": _sources(record, place),
        "messages": _messages(record.output, place),
    }


def _messages(output: Output | None, place: Place) -> list[list[Any]]:
    """Per message of an agent who speaks, with a tool's name and whether it failed; the text; each call of a tool."""
    if not _has_conversation(output):
        return []
    return [
        [
            place(_speaker(one)),
            place(cell_text(one.get("content"))),
            [_call(call, place) for call in one.get("tool_calls") or ()],
        ]
        for one in output.metadata[MESSAGES]
    ]


def _has_conversation(output: Output | None) -> TypeGuard[Output]:
    return output is not None and is_answered_conversation(output.metadata.get(MESSAGES))


def _speaker(message: Mapping[str, Any]) -> str:
    name = f" {cell_text(message['name'])}" if message.get("name") else ""
    return f"{cell_text(message.get('role'))}{name}{' (error)' if message.get('status') == 'error' else ''}"


def _call(call: Any, place: Place) -> list[int]:
    plain = tool_call(call)
    return [place(plain["name"]), place(cell_text(plain["arguments"]))]


def _judged(scores: Sequence[Score], page_score: str, place: Place) -> list[list[int]]:
    """Per judged score its name, whether it passed (1, 0; -1 without a threshold), its label, how it was come to."""
    entries, seen = [], set()
    # In the order in which the page shows them: its own score stands first.
    for score in sorted(scores, key=lambda one: one.name != page_score):
        if not JUDGED & score.detail.keys():
            continue
        told = {key: value for key, value in score.detail.items() if key in JUDGED and value not in (None, "", [])}
        told = {key: value for key, value in told.items() if key not in _ONCE or (key, cell_text(value)) not in seen}
        seen |= {(key, cell_text(value)) for key, value in told.items()}
        if told.get("how") == "single":
            del told["how"]
        passed = -1 if score.passed is None else int(score.passed)
        entries.append([place(score.name), passed, place(verdict_name(score)), place(cell_text(told))])
    return entries


def verdict_name(score: Score) -> str:
    """Why a score was not read, or what its verdict is called; "" where it says neither."""
    kind = score.detail.get("kind")
    return kind_text(kind) if kind == "none" else cell_text(kind or score.detail.get("label"))


def _sources(record: Record, place: Place) -> list[list[int]]:
    """Per retrieved passage where it is from, and by what it answers to a source that was expected: a word, or ""."""
    sample, output = record.sample, record.output
    listed = sources_in(output.metadata) if output else []
    if output is None or not (listed or sources_in(sample.metadata)):
        return []
    labels = [source_label(one) for one in listed] + [""] * (len(output.contexts) - len(listed))
    ways = _ways(record, output)
    return [[place(label), place(way) if way in WAYS else 0] for label, way in zip(labels, ways, strict=False)]


def _ways(record: Record, output: Output) -> Sequence[str]:
    """By what each passage answers, as the scorer found it; looked for anew where nobody scored the retrieval."""
    n = max(len(sources_in(output.metadata)), len(output.contexts))
    scored = (score.detail.get("passages") for score in record.scores if score.name == RETRIEVAL_SCORES[0])
    if isinstance(ways := next(scored, None), list | tuple):
        return [*map(cell_text, ways), *[""] * (n - len(ways))]
    metadata = record.sample.metadata
    expected = [SourcePassage.of(one, document=metadata.get("document")) for one in sources_in(metadata)]
    found = ({match(passage, one) for one in expected} for passage in retrieved(output))
    return [next((way for way in WAYS if way in ways), "") for ways in found]


def expected_sources(sample: Sample, place: Place) -> list[list[int]]:
    """What should be retrieved for a sample: where it stands, and its text where that is known."""
    return [
        [place(source_label(one)), place(cell_text(one.get("text")) if isinstance(one, Mapping) else "")]
        for one in sources_in(sample.metadata)
    ]


def without_sources(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata but for the sources and the messages that are shown apart."""
    apart = {"sources"} if sources_in(metadata) else set()
    apart |= {MESSAGES} if is_answered_conversation(metadata.get(MESSAGES)) else set()
    return {key: value for key, value in metadata.items() if key not in apart}


def sources_in(metadata: Mapping[str, Any]) -> list[Any]:
    """The list of sources in metadata; empty where there is none in the usual form."""
    found = metadata.get("sources")
    usual = isinstance(found, list | tuple) and all(isinstance(one, Mapping | str | int) for one in found)
    return list(found) if usual and found else []


def source_label(source: Any) -> str:
    """Where a passage is from, in words.

    >>> source_label({"id": "7f", "document": "handbook.pdf", "page": 3, "start": 100, "end": 400})
    'handbook.pdf, page 3, characters 100 to 400 (7f)'
    """
    if not isinstance(source, Mapping):
        return cell_text(source)
    told = {key: cell_text(source.get(key)) for key in ("id", "document", "page", "start", "end")}
    parts = [told["document"]] if told["document"] else []
    parts += [f"page {told['page']}"] if told["page"] else []
    parts += [f"characters {told['start']} to {told['end']}"] if told["start"] and told["end"] else []
    if not parts:
        return told["id"]
    return ", ".join(parts) + (f" ({told['id']})" if told["id"] else "")
