"""One sample of a run with all that happened: input, output, scores and why, passages, SQL, messages, calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from steelyard.analysis.preferences import is_judging, sides_of
from steelyard.analysis.preferences_values import SIDES
from steelyard.analysis.settings import WordChange, word_changes
from steelyard.errors import ConfigError
from steelyard.escaping import cell_text
from steelyard.prompts.agent_messages import MESSAGES, is_answered_conversation, tool_call
from steelyard.prompts.conversation import is_messages
from steelyard.prompts.message_parts import without_files
from steelyard.report.numbers import kind_text, score_title
from steelyard.report.sample_evidence import (
    JUDGED,
    STEPS,
    passage_matches,
    source_label,
    sources_in,
    speaker,
    verdict_name,
    without_sources,
)
from steelyard.report.sample_table import input_text, key_of
from steelyard.report.sql_results import SqlEvidence, sql_evidence
from steelyard.types import Record, Reply, Score
from steelyard.viewer.pages import Pages

_STEP_NAMES: Final[Mapping[str, str]] = {
    "trace": "Steps of the judge",
    "claims": "Claims",
    "contexts": "Contexts judged",
    "guidelines": "Guidelines",
}
_APART: Final = frozenset(
    {"letters", "status", "rule", "span", "confidence", "kind", "label", "results", "differences", "columns"}
)
"""Keys of a score's detail that are shown in words or elsewhere."""
_MOST_COMPARED: Final = 4_000
"""Characters of reference and output together, up to which they are compared word by word."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message: who speaks, the text, and calls of tools (name, arguments)."""

    speaker: str
    text: str
    calls: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ShownOption:
    """An option of a question: letter, text, whether it is the key, whether it was read."""

    letter: str
    text: str
    is_key: bool
    is_read: bool


@dataclass(frozen=True, slots=True)
class ShownScore:
    """A score in words.

    Args:
        title: as people write its name.
        state: for the colour: right, wrong, scored, or an outcome other than scored.
        value: the value or the outcome.
        reason: whole.
        reading: what was read and by which rule.
        how: how a judge computed it.
        steps: title -> single decisions (what about, verdict, reason).
        detail: what else the scorer kept.
    """

    title: str
    state: str
    value: str
    reason: str
    reading: str
    how: str
    steps: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...]
    detail: str


@dataclass(frozen=True, slots=True)
class ShownPassage:
    """A passage: where it is from, its text, and by what it matches an expected source ("" if it does not)."""

    label: str
    text: str
    matched: str


@dataclass(frozen=True, slots=True)
class ShownCall:
    """A call of a model: its stage, figures, and the reply's text where it is not the output."""

    stage: str
    figures: str
    faults: tuple[str, ...]
    text: str
    reasoning: str


@dataclass(frozen=True, slots=True)
class ShownRecord:
    """One repeat of the sample in the run."""

    repeat: int
    before: str
    read: str
    after: str
    answers: tuple[tuple[str, str], ...]
    failure: tuple[str, str] | None
    changes: tuple[WordChange, ...]
    scores: tuple[ShownScore, ...]
    sql: SqlEvidence
    turns: tuple[Turn, ...]
    passages: tuple[ShownPassage, ...]
    calls: tuple[ShownCall, ...]
    metadata: str
    seconds: str


def sample_routes(pages: Pages) -> list[Route]:
    """The route of the page."""

    def sample(request: Request) -> Response:
        run = pages.run(request)
        ident = request.path_params["sample"]
        records = run.records_of([ident])
        if not records:
            raise ConfigError(f"run {run.id} has no record of a sample {ident!r}")
        first = records[0].sample
        sides = sides_of(run.manifest) if is_judging(run.manifest) else ()
        return pages.page(
            request,
            "sample.html.j2",
            run=run,
            sample=first,
            turns=_turns_of(first.input),
            question="" if is_messages(first.input) else input_text(first.input),
            options=_options(records),
            reference=cell_text(first.reference),
            contexts=first.contexts,
            expected=[(source_label(source), _source_text(source)) for source in sources_in(first.metadata)],
            about=[
                (name, cell_text(value))
                for name, value in without_sources(first.metadata).items()
                if value not in (None, "")
            ],
            records=[_shown(record, sides, run.manifest) for record in records],
            query=request.url.query,
        )

    return [Route("/run/{run}/s/{sample:path}", sample)]


def _shown(record: Record, sides: Sequence[str], manifest: Mapping[str, Any]) -> ShownRecord:
    output = record.output
    answers = _answers(record, sides)
    text = "" if output is None or answers else cell_text(output.value)
    primary = str(manifest.get("primary", ""))
    scores = sorted(record.scores, key=lambda score: score.name != primary)
    start, end = _span(scores[0] if scores else None, text)
    reference = record.sample.reference
    comparable = isinstance(reference, str) and reference and text and not record.sample.choices
    failure = record.failure
    sql = sql_evidence(record)
    return ShownRecord(
        record.repeat,
        text[:start],
        text[start:end],
        text[end:],
        answers,
        (f"{failure.stage} failed ({kind_text(failure.kind)})", failure.message) if failure else None,
        tuple(word_changes(reference, text))
        if comparable and not sql and len(reference) + len(text) <= _MOST_COMPARED
        else (),
        tuple(map(_score, scores)),
        sql,
        _messages(output.metadata if output else {}),
        tuple(_passages(record)),
        tuple(_calls(record, text)),
        cell_text(without_sources(output.metadata)) if output and without_sources(output.metadata) else "",
        f"{record.seconds:.3g} s",
    )


def _span(score: Score | None, text: str) -> tuple[int, int]:
    """The place that was read; an empty one at the end where none is known."""
    span = score.detail.get("span") if score else None
    if isinstance(span, list) and len(span) == 2 and all(isinstance(at, int) for at in span):
        start, end = span
        if 0 <= start <= end <= len(text):
            return start, end
    return len(text), len(text)


def _answers(record: Record, sides: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Both answers of a judged pair by the names of their targets; () where the output is no pair."""
    value = record.output.value if record.output else None
    if not sides or not isinstance(value, Mapping):
        return ()
    return tuple((name, cell_text(value.get(side))) for name, side in zip(sides, SIDES, strict=True))


def _options(records: Sequence[Record]) -> list[ShownOption]:
    sample = records[0].sample
    keys = set(key_of(sample))
    read = {
        letter
        for record in records
        for score in record.scores
        for letter in cell_text(score.detail.get("letters"))
        if letter.isalpha()
    }
    letters = [chr(ord("A") + at) for at in range(len(sample.choices))]
    return [
        ShownOption(letter, choice, at in keys, letter in read)
        for at, (letter, choice) in enumerate(zip(letters, sample.choices, strict=True))
    ]


def _score(score: Score) -> ShownScore:
    detail = score.detail
    reading = [
        f"read {cell_text(detail['letters'])}" if detail.get("letters") else "",
        f"by the rule “{kind_text(cell_text(detail['rule']))}”" if detail.get("rule") else "",
        cell_text(detail.get("confidence")),
        verdict_name(score),
    ]
    rest = {key: value for key, value in detail.items() if key not in _APART | JUDGED and value not in (None, "", [])}
    steps = tuple(
        (_STEP_NAMES[key], tuple(map(_step, entries)))
        for key in STEPS
        if isinstance(entries := detail.get(key), list) and entries
    )
    state = score.outcome if score.outcome != "scored" or score.passed is None else "right" if score.passed else "wrong"
    value = kind_text(score.outcome) if score.value is None else f"{score.value:.6g}"
    return ShownScore(
        score_title(score.name),
        state,
        value,
        score.reason,
        ", ".join(filter(None, reading)),
        "; ".join(_how(detail)),
        steps,
        cell_text(rest) if rest else "",
    )


def _how(detail: Mapping[str, Any]) -> Iterator[str]:
    """How a judge computed a score, in phrases."""
    for key in ("how", "fallback"):
        if detail.get(key) not in (None, "", "single"):
            yield cell_text(detail[key])
    if isinstance(repeats := detail.get("repeats"), list):
        yield "repeats " + ", ".join("unparsed" if value is None else cell_text(value) for value in repeats)
    for key, name in (("sd", "standard deviation"), ("flip_rate", "flip rate"), ("mass", "probability covered")):
        if isinstance(detail.get(key), int | float):
            yield f"{name} {detail[key]:.2f}"
    if isinstance(bounds := detail.get("bounds"), list):
        yield f"between {' and '.join(map(cell_text, bounds))} whatever the missing verdicts are worth"
    if detail.get("verdict_like"):
        yield "the answer holds text that looks like a verdict"


def _step(step: Any) -> tuple[str, str, str]:
    """A single decision of a judge: what about, the verdict, the reason."""
    if not isinstance(step, Mapping):
        return cell_text(step), "", ""
    about = step.get("claim") or step.get("guideline") or step.get("context") or step.get("contexts")
    verdict = step.get("verdict") or step.get("outcome") or "unparsed"
    return cell_text(about), kind_text(cell_text(verdict)), cell_text(step.get("reason"))


def _turns_of(value: Any) -> list[Turn]:
    """The messages of a conversation; [] where the input is none."""
    return [_turn(message) for message in value] if is_messages(value) else []


def _messages(metadata: Mapping[str, Any]) -> tuple[Turn, ...]:
    """What an agent said and called."""
    messages = metadata.get(MESSAGES)
    return tuple(_turn(message) for message in messages) if is_answered_conversation(messages) else ()


def _turn(message: Any) -> Turn:
    calls = [tool_call(call) for call in message.get("tool_calls") or ()]
    return Turn(
        speaker(message),
        cell_text(without_files(message.get("content"))),
        tuple((cell_text(call["name"]), cell_text(call["arguments"])) for call in calls),
    )


def _passages(record: Record) -> Iterator[ShownPassage]:
    """The retrieved passages in rank order."""
    output = record.output
    if output is None:
        return
    sources = sources_in(output.metadata)
    matches = passage_matches(record, output)
    for at in range(max(len(output.contexts), len(sources))):
        yield ShownPassage(
            source_label(sources[at]) if at < len(sources) else "",
            output.contexts[at] if at < len(output.contexts) else "",
            matches[at] if at < len(matches) else "",
        )


def _source_text(source: Any) -> str:
    return cell_text(source.get("text")) if isinstance(source, Mapping) else ""


def _calls(record: Record, shown: str) -> Iterator[ShownCall]:
    for stage, replies in record.replies.items():
        for reply in replies:
            faults = tuple(attempt.fault for attempt in reply.attempts if attempt.fault)
            text = "" if stage == "target" and reply.text == shown else reply.text
            yield ShownCall(stage, _figures(reply), faults, text, cell_text(reply.metadata.get("reasoning")))


def _figures(reply: Reply) -> str:
    usage, metadata = reply.usage, reply.metadata
    estimated = " (estimated)" if usage.estimated else ""
    parts = [
        cell_text(metadata.get("model")),
        f"{reply.latency:.3g} s",
        f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out{estimated}",
        f"{len(reply.attempts)} attempts" if len(reply.attempts) > 1 else "",
        f"ended by {reply.finish}" if reply.finish != "stop" else "",
        "from the journal" if reply.cached else "",
    ]
    return ", ".join(filter(None, parts))
