"""One sample of a run in detail: input, output, scores with reasons, passages, SQL, messages, calls."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from steelyard.analysis.comparison.settings import WordChange, word_changes
from steelyard.analysis.judging_manifest import SIDES, is_judging, sides_of
from steelyard.analysis.numbers import kind_text, record_value_text, score_title, seconds_text, verdict_words
from steelyard.analysis.retrieval_matches import WAYS
from steelyard.errors import ConfigError, DataError
from steelyard.escaping import cell_text
from steelyard.evaluation.judge_prompts import judge_prompts, target_requests
from steelyard.prompts.agent_messages import MESSAGES, is_answered_conversation, tool_call
from steelyard.prompts.conversation import input_text, is_messages
from steelyard.prompts.message_parts import images_in, without_files
from steelyard.prompts.sample_values import without_passage
from steelyard.prompts.trajectory import TURNS
from steelyard.report.judge_reasons import named_verdict, preference_reason
from steelyard.report.progress import fault_text
from steelyard.report.run_texts import outcome_word
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
from steelyard.report.sample_table import key_of
from steelyard.report.sections.sql_results import SqlEvidence, sql_evidence
from steelyard.scorers.agents import ToolCalls
from steelyard.store import Run
from steelyard.store.reading.page_query import cursor
from steelyard.store.reading.search import SearchMatches, search_run
from steelyard.types import Message, Record, Reply, Sample, Score, ScoreInfo
from steelyard.viewer.forms import author_of
from steelyard.viewer.named_address import given_name, sample_address
from steelyard.viewer.pages import Pages
from steelyard.viewer.sample_cells import score_state
from steelyard.viewer.sample_labels import sample_opinions, verdicts_in_view
from steelyard.viewer.side_by_side import MOST_BESIDE, outputs_beside
from steelyard.viewer.what_was_run import ShownRequest, shown_request

_STEP_NAMES: Final[Mapping[str, str]] = {
    "trace": "Steps of the judge",
    "claims": "Claims",
    "contexts": "Contexts judged",
    "guidelines": "Guidelines",
    TURNS: "Turns",
}
_APART: Final = frozenset(
    {"letters", "status", "rule", "span", "confidence", "kind", "label", "results", "differences", "columns"}
)
"""Keys of a score's detail that are shown in words or elsewhere."""
_MOST_COMPARED: Final = 4_000
"""Characters of reference and output together, up to which they are compared word by word."""


_IMAGE: Final = re.compile(r"data:image/(png|jpeg|gif|webp);base64,")
_MOST_IMAGES: Final = 8
_LONGEST_IMAGE: Final = 4_000_000
"""Characters of an image that is shown in a page."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message: who speaks, the text, calls of tools (name, arguments), and its images as data URIs."""

    speaker: str
    text: str
    calls: tuple[tuple[str, str], ...] = ()
    images: tuple[str, ...] = ()


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
        state: for the mark: right, wrong, scored, or an outcome other than scored.
        value: the verdict in the score's words, the value, or the outcome.
        reason: whole.
        reading: what was read and by which rule.
        how: how a judge computed it.
        steps: title -> single decisions (subject, verdict, reason).
        detail: what else the scorer kept: name, value.
    """

    title: str
    state: str
    value: str
    reason: str
    reading: str
    how: str
    steps: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...]
    detail: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ShownPassage:
    """A passage: where it is from, its text cut at the part that was expected, and by what it matches a source.

    Args:
        label: where it is from.
        before: its text up to the expected part; all of it where no part is known.
        expected: the expected part.
        after: the rest.
        matched: by what it matches; "" if it does not.
    """

    label: str
    before: str
    expected: str
    after: str
    matched: str


@dataclass(frozen=True, slots=True)
class ShownCall:
    """A call of a model: its stage, figures, the reply's text where it is not the output, and a judge's prompt."""

    stage: str
    figures: str
    faults: tuple[str, ...]
    text: str
    reasoning: str
    prompt: tuple[Turn, ...]


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
    request: ShownRequest | None
    reply: str
    reply_figures: str
    calls: tuple[ShownCall, ...]
    metadata: tuple[tuple[str, str], ...]
    seconds: str

    @property
    def shares_words(self) -> bool:
        """Whether reference and output have a word in common: without one, a diff shows nothing."""
        return any(change.kind == "same" and any(map(str.isalnum, change.text)) for change in self.changes)


def sample_routes(pages: Pages) -> list[Route]:
    """The route of the page."""

    def sample(request: Request) -> Response:
        run = pages.run(request)
        ident = given_name(request, "sample")
        place, records = _records(run, ident, request.query_params.get("at", ""))
        baseline, reader, opinions = pages.baseline_of(run), author_of(request), sample_opinions(run, ident)
        labels = (label for labels in opinions["labels"].values() for label in labels)
        query: dict[str, str | Sequence[str]] = {
            name: value for name in _OF_LIST if (value := request.query_params.get(name))
        }
        return pages.savable(
            request,
            "sample.html.j2",
            f"{run.suite} {run.target} {ident}",
            run=run,
            beside=_beside(pages, request, run, place),
            query=pages.query(**query, columns=request.query_params.getlist("columns")),
            outputs=outputs_beside(pages, run, records, request.query_params.get("against", "")),
            most_beside=MOST_BESIDE,
            pinned=baseline.id if baseline else "",
            **read_sample(run, records),
            **opinions,
            reader=reader,
            given={label.about: label.stored for label in labels if label.author == reader},
            primary=str(run.manifest.get("primary", "")),
            verdicts=verdicts_in_view(run),
            back=request.url.query,
        )

    return [Route("/run/{run}/s/{sample:any}", sample)]


def read_sample(run: Run, records: Sequence[Record]) -> dict[str, Any]:
    """The values that `sample_body.html.j2` shows.

    Args:
        run: of the records.
        records: of one sample, in the order of their repeats; at least one.
    """
    sample = records[0].sample
    sides = sides_of(run.manifest) if is_judging(run.manifest) else ()
    key, tools = _expected_tools(run, sample)
    return {
        "tools": tools,
        "sample": sample,
        "turns": turns_of(sample.input),
        "question": "" if is_messages(sample.input) else input_text(sample.input),
        "options": _options(records),
        "reference": cell_text(sample.reference),
        "contexts": sample.contexts,
        "expected": [(source_label(source), _source_text(source)) for source in sources_in(sample.metadata)],
        "about": [
            (name, cell_text(value))
            for name, value in without_sources(without_passage(sample.metadata, sample.input)).items()
            if value not in (None, "") and name != key
        ],
        "records": [_shown(record, sides, run) for record in records],
    }


def _expected_tools(run: Run, sample: Sample) -> tuple[str, list[tuple[str, str]] | None]:
    """The key of the metadata that holds them, and the calls of tools that are expected of a sample, if any are."""
    for described in (run.manifest.get("scorers") or {}).values():
        if isinstance(described, Mapping) and (settings := described.get("tool_calls")):
            scorer = ToolCalls(tuple(settings.get("expected") or ()), settings.get("key", "tools"))
            with suppress(DataError):
                calls = scorer.expected_of(sample)
                if calls is not None:
                    shown = [(call.name, arguments_text(call.arguments or call.schema)) for call in calls]
                    return "" if scorer.expected else scorer.key, shown
    return "", None


_OF_LIST: Final = ("where", "search", "sort", "against")
"""Parameters of the query that describe the list from which a sample was opened."""


def _records(run: Run, ident: str, at: str) -> tuple[str, list[Record]]:
    """The place of a sample in its run, and its records; faster where the address has the place.

    Raises:
        ConfigError: there is none.
    """
    number = at.partition(".")[0]
    if number.isdecimal() and len(number) < 10:
        records = [record for _, record in run.records_between(int(number), int(number))]
        if records and records[0].sample.id == ident:
            return at, records
    place = run.place_of(ident)
    if place is None:
        raise ConfigError(f"run {run.id} has no record of a sample {ident!r}")
    return str(place), [record for _, record in run.records_between(place, place)]


def _beside(pages: Pages, request: Request, run: Run, at: str) -> tuple[str, str]:
    """Addresses of the samples before and after this one in the list that it was opened from; "" at the ends."""
    chosen = {name: request.query_params.get(name, "") for name in _OF_LIST}
    columns = request.query_params.getlist("columns")
    try:
        matches = search_run(run, chosen["search"]) if chosen["search"] else ""
        before = _neighbour(pages, run, {**chosen, "before": at}, matches, columns)
        return before, _neighbour(pages, run, {**chosen, "after": at}, matches, columns)
    except ConfigError:  # an invalid condition: the list reports it, and the sample is shown all the same
        return "", ""


def _neighbour(
    pages: Pages, run: Run, chosen: Mapping[str, str], matches: str | SearchMatches, columns: Sequence[str]
) -> str:
    """The address of the next sample in a direction of a list; "" at its end.

    Args:
        pages: make addresses.
        run: whose samples.
        chosen: the query of the list, and `before` or `after` with the place of this sample.
        matches: what the search of the list has found; "" without one.
        columns: that the list shows.
    """
    against = pages.run_of(chosen["against"]) if chosen["against"] else None
    list_query = {name: chosen[name] for name in _OF_LIST}
    page = run.page(
        chosen.get("after", ""),
        1,
        before=chosen.get("before", ""),
        where=chosen["where"],
        search=matches,
        sort=chosen["sort"],
        against=against,
        count=False,
        by_sample=True,
    )
    if not page.records:
        return ""
    at = cursor(page.places[0])
    return sample_address(pages.address, run.id, page.records[0].sample.id, **list_query, columns=columns, at=at)


def _shown(record: Record, sides: Sequence[str], run: Run) -> ShownRecord:
    manifest = run.manifest
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
        tuple(_said_once(_score(score, run.score_infos.get(score.name), sides) for score in scores)),
        sql,
        _messages(output.metadata if output else {}),
        tuple(_passages(record)),
        shown_request(run, record),
        *_reply_of(record),
        tuple(shown_calls(record, text, _prompts(run, record))),
        _kept(without_sources(output.metadata)) if output else (),
        seconds_text(record.seconds),
    )


def _reply_of(record: Record) -> tuple[str, str]:
    """The text of the target's last reply and its figures; "" where it asked no model."""
    replies = record.replies.get("target", ())
    which = f"reply {len(replies)} of {len(replies)}, " if len(replies) > 1 else ""
    return (replies[-1].text, which + _figures(replies[-1])) if replies else ("", "")


def _prompts(run: Run, record: Record) -> Mapping[str, Sequence[Message]]:
    """Key of a reply of a judge, or of a target whose requests are stored -> the messages that it answers."""
    stored = {key: request.messages for key, request in target_requests(run, record).items()}
    return {**stored, **judge_prompts(run, record)} if record.replies.keys() - {"target"} else stored


def _span(score: Score | None, text: str) -> tuple[int, int]:
    """The range of the text that was read; an empty one at its end where none is known."""
    span = score.detail.get("span") if score else None
    if isinstance(span, list) and len(span) == 2 and all(isinstance(at, int) for at in span):
        start, end = span
        if 0 <= start <= end <= len(text):
            return start, end
    return len(text), len(text)


def _answers(record: Record, sides: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Both answers of a judged pair by the names of their targets; () where the output is not a pair."""
    value = record.output.value if record.output else None
    if not sides or not isinstance(value, Mapping):
        return ()
    return tuple((name, cell_text(value.get(side))) for name, side in zip(sides, SIDES, strict=True))


def _options(records: Sequence[Record]) -> list[ShownOption]:
    sample = records[0].sample
    keys = set(key_of(sample))
    read_letters = {
        letter
        for record in records
        for score in record.scores
        for letter in cell_text(score.detail.get("letters"))
        if letter.isalpha()
    }
    letters = [chr(ord("A") + at) for at in range(len(sample.choices))]
    return [
        ShownOption(letter, choice, at in keys, letter in read_letters)
        for at, (letter, choice) in enumerate(zip(letters, sample.choices, strict=True))
    ]


def _score(score: Score, info: ScoreInfo | None, sides: Sequence[str]) -> ShownScore:
    detail = score.detail
    verdict = named_verdict(verdict_name(score), sides) if sides else verdict_name(score)
    rule = f" (rule: {kind_text(cell_text(detail['rule']))})" if detail.get("rule") else ""
    reading = [
        f"answer read as {cell_text(detail['letters'])}{rule}" if detail.get("letters") else "",
        "" if sides else verdict,
    ]
    other_details = {
        key: value for key, value in detail.items() if key not in _APART | JUDGED and value not in (None, "", [])
    }
    steps = tuple(
        (_STEP_NAMES[key], tuple(map(_step, entries)))
        for key in STEPS
        if isinstance(entries := detail.get(key), list) and entries
    )
    value = outcome_word(score.outcome) if score.value is None else record_value_text(score.value, info)
    if score.passed is not None and score.value in {0, 1} and (info is None or info.range in {None, (0.0, 1.0)}):
        value = verdict_words(info)[0 if score.passed else 1]
    if sides and verdict:
        value = verdict
    return ShownScore(
        score_title(score.name),
        score_state(score),
        value,
        preference_reason(score, sides) if sides else score.reason,
        ", ".join(filter(None, reading)),
        "; ".join(_how(detail)),
        steps,
        _kept(other_details),
    )


def _said_once(scores: Iterable[ShownScore]) -> Iterator[ShownScore]:
    """The scores; reason and detail are left out where they repeat those before, as with measures of one retrieval."""
    reason = ""
    detail: tuple[tuple[str, str], ...] = ()
    for score in scores:
        same_detail = score.detail == detail
        yield replace(
            score, reason="" if score.reason == reason else score.reason, detail=() if same_detail else score.detail
        )
        reason, detail = score.reason, score.detail


def _kept(values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The details of a scorer or a target by name; flags as words."""
    return tuple((key.replace("_", " "), _in_words(value)) for key, value in values.items())


def _in_words(value: Any) -> str:
    """A value as people write it: yes and no, a list with commas; what is deeper stays JSON."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple) and not any(isinstance(member, Mapping | list) for member in value):
        return ", ".join(map(_in_words, value))
    return cell_text(value)


def _how(detail: Mapping[str, Any]) -> Iterator[str]:
    """How a judge computed a score, in phrases."""
    for key in ("how", "fallback", "asked_for"):
        if detail.get(key) not in (None, "", "single"):
            yield cell_text(detail[key])
    if isinstance(repeats := detail.get("repeats"), list):
        yield "repeats " + ", ".join("unreadable" if value is None else cell_text(value) for value in repeats)
    for key, name in (("sd", "standard deviation"), ("flip_rate", "flip rate"), ("mass", "probability covered")):
        if isinstance(detail.get(key), int | float):
            yield f"{name} {detail[key]:.2f}"
    if isinstance(bounds := detail.get("bounds"), list):
        yield f"between {' and '.join(map(cell_text, bounds))} whatever values the missing verdicts have"
    if detail.get("verdict_like"):
        yield "the answer holds text that looks like a verdict"


def _step(step: Any) -> tuple[str, str, str]:
    """A single decision of a judge: the subject, the verdict, the reason."""
    if not isinstance(step, Mapping):
        return cell_text(step), "", ""
    about = step.get("claim") or step.get("guideline") or step.get("context") or step.get("contexts")
    verdict = step.get("verdict") or step.get("outcome") or "unparsed"
    return cell_text(about), outcome_word(cell_text(verdict)), cell_text(step.get("reason"))


def turns_of(value: Any) -> list[Turn]:
    """The messages of a conversation; [] where the input is none."""
    return [_turn(message) for message in value] if is_messages(value) else []


def _messages(metadata: Mapping[str, Any]) -> tuple[Turn, ...]:
    """The messages and calls of an agent."""
    messages = metadata.get(MESSAGES)
    return tuple(_turn(message) for message in messages) if is_answered_conversation(messages) else ()


def _turn(message: Any) -> Turn:
    calls = [tool_call(call) for call in message.get("tool_calls") or ()]
    return Turn(
        speaker(message),
        cell_text(without_files(message.get("content"))),
        tuple((cell_text(call["name"]), arguments_text(call["arguments"])) for call in calls),
        tuple(_data_uris(message)),
    )


def arguments_text(arguments: Any) -> str:
    """The arguments of a call of a tool as a person reads them.

    >>> arguments_text({"title": "Winter Bees", "copies": 2})
    'title: Winter Bees, copies: 2'
    """
    if not isinstance(arguments, Mapping):
        return cell_text(arguments or "")
    return ", ".join(f"{name}: {cell_text(value)}" for name, value in arguments.items())


def _data_uris(message: Any) -> Iterator[str]:
    """The first images of a message that the page holds itself; nothing is loaded from an address."""
    for part in images_in([message])[:_MOST_IMAGES]:
        given = part.get("image_url")
        uri = given.get("url") if isinstance(given, Mapping) else given
        if isinstance(uri, str) and len(uri) <= _LONGEST_IMAGE and _IMAGE.match(uri):
            yield uri


def _passages(record: Record) -> Iterator[ShownPassage]:
    """The retrieved passages in rank order."""
    output = record.output
    if output is None:
        return
    sources = sources_in(output.metadata)
    matches = passage_matches(record, output)
    for at in range(max(len(output.contexts), len(sources))):
        source = sources[at] if at < len(sources) else None
        text = output.contexts[at] if at < len(output.contexts) else ""
        start, end = _expected_part(record, source, text)
        yield ShownPassage(
            source_label(source) if source is not None else "",
            text[:start],
            text[start:end],
            text[end:],
            matches[at] if at < len(matches) and matches[at] in WAYS else "",
        )


def _expected_part(record: Record, source: Any, text: str) -> tuple[int, int]:
    """The expected range of a passage, by its words or its place in the document; an empty one at the end if unknown.

    Args:
        record: whose sample names the expected sources.
        source: of the passage.
        text: of the passage.
    """
    begin = source.get("start") if isinstance(source, Mapping) else None
    for expected in sources_in(record.sample.metadata):
        expected_text = _source_text(expected).strip()
        if expected_text and (at := text.find(expected_text)) >= 0:
            return at, at + len(expected_text)
        if not isinstance(expected, Mapping) or not isinstance(begin, int):
            continue
        expected_start, expected_end = expected.get("start"), expected.get("end")
        document = expected.get("document") or record.sample.metadata.get("document")
        if document == source.get("document") and isinstance(expected_start, int) and isinstance(expected_end, int):
            start, end = (min(max(0, at - begin), len(text)) for at in (expected_start, expected_end))
            if start < end:
                return start, end
    return len(text), len(text)


def _source_text(source: Any) -> str:
    return cell_text(source.get("text")) if isinstance(source, Mapping) else ""


def shown_calls(record: Record, output_text: str, prompts: Mapping[str, Sequence[Message]]) -> Iterator[ShownCall]:
    """The calls of a record with their figures, and why attempts failed."""
    for stage, replies in record.replies.items():
        for reply in replies:
            tried = enumerate(reply.attempts, 1)
            faults = tuple(f"attempt {no}: {fault_text(attempt.fault)}" for no, attempt in tried if attempt.fault)
            text = "" if stage == "target" and reply.text == output_text else reply.text
            prompt = tuple(map(_turn, prompts.get(reply.key, ())))
            yield ShownCall(stage, _figures(reply), faults, text, cell_text(reply.metadata.get("reasoning")), prompt)


def _figures(reply: Reply) -> str:
    usage, metadata = reply.usage, reply.metadata
    estimated = " (estimated)" if usage.estimated else ""
    parts = [
        cell_text(metadata.get("model")),
        seconds_text(reply.latency),
        f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out{estimated}",
        f"{len(reply.attempts)} attempts" if len(reply.attempts) > 1 else "",
        f"ended by {reply.finish}" if reply.finish != "stop" else "",
        "from the journal" if reply.cached else "",
    ]
    return ", ".join(filter(None, parts))
