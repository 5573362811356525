"""The samples of a page as compact columns of JSON, which the page's own script shows.

    samples   id, group, input, choices, key, reference, contexts, metadata: one entry per sample
    runs      per run: sample (its index), state, value, passed (1, 0; -1 where the scorer says neither), read, span,
              reply, ...: one entry per record; judged, failed,
              sources and messages only where a record has something in them (see `evidence`); sides and pair in a run
              that judges pairs of answers alone (see `preference_samples`), answers in one that has no scores
    words     texts that occur again and again; other columns hold their indices in this list

Every column stands on a line of its own, those with durations too, so that two pages of the same replies differ in
those lines only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, get_args

from steelyard.analysis.comparison_values import PairComparison
from steelyard.analysis.preferences import is_judging, only_answers, score_of, sides_of
from steelyard.analysis.run_protocols import StoredRun
from steelyard.analysis.score_columns import RowOutcome
from steelyard.analysis.score_infos import score_infos
from steelyard.escaping import cell_text, json_in_html
from steelyard.prompts.conversation import is_messages, transcript_of
from steelyard.prompts.message_parts import without_files
from steelyard.replies.clean import fold
from steelyard.report.judge_reasons import preference_reason
from steelyard.report.numbers import score_title
from steelyard.report.sample_evidence import (
    EVIDENCE,
    JUDGED,
    evidence_of,
    expected_sources,
    verdict_name,
    without_sources,
)
from steelyard.report.sample_pairs import SHOWN_ELSEWHERE, pair_of, preferred_name
from steelyard.types import Record, Reply, Sample, Score

OUTCOME_CODES: Final = {outcome: code for code, outcome in enumerate(get_args(RowOutcome))}
_MISSING: Final = len(OUTCOME_CODES)
_SHOWN_APART: Final = frozenset(
    {"letters", "status", "rule", "span", "confidence", "kind", "label", "results", "differences"}
)
_RECORD_COLUMNS: Final = (
    *(
        "sample",
        "repeat",
        "changed",
        "state",
        "value",
        "passed",
        "read",
        "rule",
        "confidence",
        "kind",
        "span",
        "reason",
        "detail",
    ),
    *("scores", "failure", "output", "contexts", "metadata", "calls", "latency", "seconds"),
)
_LETTER_A: Final = ord("A")
_SEPARATORS: Final = frozenset(" ,、;/&|+.()")

Columns = dict[str, list[Any]]


@dataclass(frozen=True, slots=True)
class SampleData:
    """The samples of a page as JSON.

    Args:
        json: the columns described above, safe inside a `<script>` element.
        chance: the share that guessing reaches; None where that is not known.
    """

    json: str
    chance: float | None


def collect_samples(
    runs: Sequence[StoredRun], labels: Sequence[str], *, score: str, share: bool, pairs: Mapping[str, PairComparison]
) -> SampleData:
    """Read every record of the runs once.

    Args:
        runs: read once each; the first gives the order of samples.
        labels: what each run is called.
        score: the score whose verdicts the table shows.
        share: whether its values are shown in percent.
        pairs: run id -> its comparison with the baseline, for regressions and improvements.
    """
    words, samples = _Words(), _Samples()
    parts = []
    for run, label in zip(runs, labels, strict=True):
        sides = sides_of(run.manifest) if is_judging(run.manifest) else None
        if sides:
            columns = _pair_columns(run, sides, samples, words)
        else:
            columns = _columns_of(run.records(), score, samples, words)
        pair = pairs.get(run.id)
        changes = {} if pair is None else _changes(pair)
        columns["changes"] = [
            [samples.indices[ident], way] for ident, way in changes.items() if ident in samples.indices
        ]
        role = {"sides": sides} if sides else {"answers": 1} if only_answers(run.manifest) else {}
        parts.append(_object({"name": label, **role, **columns}))
    head = {"score": score, "title": score_title(score), "share": share, **_verdict_words(runs, score)}
    blocks = {"head": json_in_html(head), "samples": _object(samples.columns(words))}
    blocks |= {"runs": "[" + ",\n".join(parts) + "]", "words": json_in_html(words.texts)}
    text = "{" + ",\n".join(f'"{name}":{text}' for name, text in blocks.items()) + "}"
    return SampleData(text, chance_of(samples.samples))


def _verdict_words(runs: Sequence[StoredRun], score: str) -> dict[str, str]:
    """What passing and failing a score is called: as its scorer names 1 and 0, else right and wrong."""
    info = next((infos[score] for run in runs if score in (infos := score_infos(run.manifest))), None)
    right, wrong = info.labels if info and info.labels else ("right", "wrong")
    return (
        {"right": wrong, "wrong": right}
        if info and info.labels and info.lower_is_better
        else {"right": right, "wrong": wrong}
    )


def _changes(pair: PairComparison) -> dict[str, int]:
    """The other run's id of each sample that is an improvement (1) or a regression (2)."""
    ways = dict.fromkeys(pair.improvements, 1) | dict.fromkeys(pair.regressions, 2)
    return {pair.other_ids.get(ident, ident): way for ident, way in ways.items()}


def chance_of(samples: Iterable[Sample]) -> float | None:
    """The share that guessing reaches, where every sample has options and one right letter; else None.

    >>> chance_of([Sample("1", "?", "A", choices=("x", "y")), Sample("2", "?", "B", choices=("x", "y", "z", "w"))])
    0.375
    """
    chances = []
    for sample in samples:
        if len(key_of(sample)) != 1 or len(sample.choices) < 2:
            return None
        chances.append(1 / len(sample.choices))
    return sum(chances) / len(chances) if chances else None


def key_of(sample: Sample) -> list[int]:
    """Places of the right options, 0-based; empty where the reference does not name options by letters.

    >>> key_of(Sample("1", "?", "A, C", choices=("x", "y", "z")))
    [0, 2]
    """
    if not sample.choices or not isinstance(sample.reference, str):
        return []
    letters = {character for character in fold(sample.reference).upper() if character not in _SEPARATORS}
    options = sorted(ord(character) - _LETTER_A for character in letters)
    return options if all(0 <= option < len(sample.choices) for option in options) else []


def input_text(value: Any) -> str:
    r"""A sample's input as one text; messages one after the other, each with its role.

    >>> input_text([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}])
    'System: Be brief.\n\nUser: Why?'
    """
    return transcript_of(value) if is_messages(value) else cell_text(without_files(value))


class _Words:
    """The distinct texts of a page, by index; index 0 is the empty text."""

    def __init__(self) -> None:
        self.texts = [""]
        self._indices = {"": 0}

    def index(self, text: str) -> int:
        index = self._indices.setdefault(text, len(self.texts))
        if index == len(self.texts):
            self.texts.append(text)
        return index

    def indices(self, texts: Iterable[str]) -> list[int]:
        return [self.index(text) for text in texts]


class _Samples:
    """The distinct samples of all runs, in order of first appearance; of two versions of one, the first is shown."""

    def __init__(self) -> None:
        self.indices: dict[str, int] = {}
        self.samples: list[Sample] = []

    def index(self, sample: Sample) -> int:
        index = self.indices.setdefault(sample.id, len(self.samples))
        if index == len(self.samples):
            self.samples.append(sample)
        return index

    def columns(self, words: _Words) -> Columns:
        samples = self.samples
        sources = [expected_sources(sample, words.index) for sample in samples]
        return {
            "id": [sample.id for sample in samples],
            "group": words.indices(sample.group for sample in samples),
            "input": [input_text(sample.input) for sample in samples],
            "choices": [sample.choices for sample in samples],
            "key": [key_of(sample) for sample in samples],
            "reference": words.indices(cell_text(sample.reference) for sample in samples),
            "contexts": [words.indices(sample.contexts) for sample in samples],
            "metadata": words.indices(_json_text(without_sources(sample.metadata)) for sample in samples),
            **({"sources": sources} if any(sources) else {}),
        }


def _columns_of(records: Iterable[Record], score: str, samples: _Samples, words: _Words) -> Columns:
    columns: Columns = {name: [] for name in (*_RECORD_COLUMNS, *EVIDENCE)}
    for record in records:
        at = samples.index(record.sample)
        entry = {"sample": at, "repeat": record.repeat, "changed": int(samples.samples[at] != record.sample)}
        entry |= _verdict_entry(record, score, words) | _reply_entry(record, words)
        entry |= evidence_of(record, score, words.index)
        for name, value in entry.items():
            columns[name].append(value)
    return {name: column for name, column in columns.items() if name not in EVIDENCE or any(column)}


def _pair_columns(run: StoredRun, sides: Sequence[str], samples: _Samples, words: _Words) -> Columns:
    """The columns of a judging run: its output is the two answers, its verdict the side that was preferred."""
    name, pairs, kinds = score_of(run.manifest), [], []

    def records_without_output() -> Iterator[Record]:
        for record in run.records():
            score = next((candidate for candidate in record.scores if candidate.name == name), None)
            pairs.append(pair_of(record, score, words.index, sides))
            kinds.append(words.index(preferred_name(score, sides) if score else ""))
            scores = (
                replace(candidate, reason=preference_reason(candidate, sides)) if candidate is score else candidate
                for candidate in record.scores
            )
            yield replace(record, output=None, scores=tuple(map(_without_shown, scores)))

    columns = _columns_of(records_without_output(), name, samples, words)
    return {**columns, "kind": kinds, "pair": pairs}


def _without_shown(score: Score) -> Score:
    return replace(score, detail={key: value for key, value in score.detail.items() if key not in SHOWN_ELSEWHERE})


def _verdict_entry(record: Record, name: str, words: _Words) -> dict[str, Any]:
    """The columns of the page's score: its value, what was parsed and by which rule, its reason."""
    score = next((other for other in record.scores if other.name == name), None)
    detail = score.detail if score else {}
    span = detail.get("span") if isinstance(detail.get("span"), list) else None
    others = [other for other in record.scores if other is not score]
    failure = record.failure
    # A judge's columns for data frames repeat its reasoning, which stands on the page as the score's reason.
    apart = _SHOWN_APART | JUDGED | {"columns"} if JUDGED & detail.keys() else _SHOWN_APART
    return {
        "state": _state(score, record),
        "value": None if score is None or score.value is None else round(score.value, 6),
        "passed": _passed(score),
        "read": words.index(cell_text(detail.get("letters"))),
        "rule": words.index(cell_text(detail.get("rule"))),
        "confidence": words.index(cell_text(detail.get("confidence"))),
        "kind": words.index(verdict_name(score) if score else ""),
        "span": _utf16(_output_text(record), span),
        "reason": words.index(score.reason if score else ""),
        "detail": words.index(_json_text({key: value for key, value in detail.items() if key not in apart})),
        "scores": [
            [
                words.index(other.name),
                words.index(other.outcome),
                other.value,
                words.index(other.reason),
                _passed(other),
            ]
            for other in others
        ],
        "failure": words.indices((failure.stage, failure.kind, failure.message)) if failure else 0,
    }


def _passed(score: Score | None) -> int:
    """1 and 0 as the scorer says; -1 where it says neither: a value alone is no verdict."""
    return -1 if score is None or score.passed is None else int(score.passed)


def _state(score: Score | None, record: Record) -> int:
    if score is not None:
        return OUTCOME_CODES[score.outcome]
    return OUTCOME_CODES["error"] if record.failure else _MISSING


def _reply_entry(record: Record, words: _Words) -> dict[str, Any]:
    """The columns of the output and of each call."""
    output = record.output
    text = _output_text(record)
    calls = [(stage, reply) for stage, replies in record.replies.items() for reply in replies]
    return {
        "output": text,
        "contexts": words.indices(output.contexts) if output else [],
        "metadata": words.index(_json_text(without_sources(output.metadata))) if output else 0,
        "calls": [_call(stage, reply, text, words) for stage, reply in calls],
        "latency": [round(reply.latency, 3) for _, reply in calls],
        "seconds": round(record.seconds, 3),
    }


def _call(stage: str, reply: Reply, shown: str, words: _Words) -> list[Any]:
    """One call: stage, text (0 where it is the output itself), tokens in and out, finish, faults on the way."""
    text = 0 if stage == "target" and reply.text == shown else reply.text
    faults = ", ".join(attempt.fault for attempt in reply.attempts if attempt.fault)
    usage = reply.usage
    tokens = [usage.input_tokens, usage.output_tokens, int(usage.estimated)]
    return [words.index(stage), text, *tokens, words.index(reply.finish), words.index(faults), len(reply.attempts)]


def _output_text(record: Record) -> str:
    return cell_text(record.output.value) if record.output else ""


def _json_text(value: Mapping[str, Any]) -> str:
    return cell_text(dict(value)) if value else ""


def _utf16(text: str, span: Sequence[int] | None) -> list[int] | int:
    """A span of characters as a span of the units that JavaScript counts; 0 where there is none."""
    if span is None or len(span) != 2:
        return 0
    start, end = (len(text[:at].encode("utf-16-le", "surrogatepass")) // 2 for at in span)
    return [start, end]


def _object(columns: Mapping[str, Any]) -> str:
    return "{\n" + ",\n".join(f'"{name}":{json_in_html(column)}' for name, column in columns.items()) + "}"
