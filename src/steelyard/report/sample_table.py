"""The samples of a page as compact columns of JSON, which the page's own script shows.

    samples   id, group, input, choices, key, reference, contexts, metadata: one entry per sample
    runs      per run: sample (its place), state, value, read, span, reply, ...: one entry per record; judged, failed,
              sources and messages only where a record has something in them (see `evidence`); sides and pair in a run
              that judges pairs of answers alone (see `preference_samples`), answers in one that has no scores
    words     texts that occur again and again; other columns hold their places in this list

Every column stands on a line of its own, those with durations too, so that two pages of the same replies differ in
those lines only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, get_args

from steelyard.analysis.comparison_values import PairComparison
from steelyard.analysis.preferences import is_judging, only_answers, score_of, sides_of
from steelyard.analysis.score_columns import RowOutcome
from steelyard.escaping import cell_text, json_in_html
from steelyard.prompts.conversation import is_messages, transcript_of
from steelyard.prompts.message_parts import without_files
from steelyard.report.sample_evidence import (
    EVIDENCE,
    JUDGED,
    evidence_of,
    expected_sources,
    verdict_name,
    without_sources,
)
from steelyard.report.sample_pairs import TOLD, pair_of, preferred_name
from steelyard.report.stored import StoredRun
from steelyard.text.cleaned_reply import fold
from steelyard.types import Record, Reply, Sample, Score

OUTCOME_CODES: Final = {outcome: code for code, outcome in enumerate(get_args(RowOutcome))}
_MISSING: Final = len(OUTCOME_CODES)
_SHOWN_APART: Final = frozenset({"letters", "status", "rule", "span", "confidence", "kind", "label"})
_RECORD_COLUMNS: Final = (
    *(
        "sample",
        "repeat",
        "changed",
        "state",
        "value",
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
    """What a page knows of its samples.

    Args:
        json: everything that the table of samples shows, for inside a `<script>`.
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
        share: whether it is shown as right and wrong.
        pairs: run id -> its comparison with the baseline, for the flips.
    """
    words, samples = _Words(), _Samples()
    parts = []
    for run, label in zip(runs, labels, strict=True):
        sides = sides_of(run.manifest) if is_judging(run.manifest) else None
        if sides:
            columns = _pair_columns(run, sides, samples, words)
        else:
            columns = _run_columns(run, score, samples, words, share=share)
        pair = pairs.get(run.id)
        flips = {} if pair is None else _flips(pair)
        columns["flips"] = [[samples.places[ident], way] for ident, way in flips.items() if ident in samples.places]
        role = {"sides": sides} if sides else {"answers": 1} if only_answers(run.manifest) else {}
        parts.append(_object({"name": label, **role, **columns}))
    head = {"score": score, "share": share}
    whole = {"head": json_in_html(head), "samples": _object(samples.columns(words))}
    whole |= {"runs": "[" + ",\n".join(parts) + "]", "words": json_in_html(words.texts)}
    text = "{" + ",\n".join(f'"{name}":{text}' for name, text in whole.items()) + "}"
    return SampleData(text, chance_of(samples.samples) if share else None)


def _flips(pair: PairComparison) -> dict[str, int]:
    """The other run's id of each sample that was fixed (1) or broken (2)."""
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
    letters = {one for one in fold(sample.reference).upper() if one not in _SEPARATORS}
    places = sorted(ord(one) - _LETTER_A for one in letters)
    return places if all(0 <= place < len(sample.choices) for place in places) else []


def input_text(value: Any) -> str:
    r"""A sample's input as one text; messages stand one after the other, each behind its role.

    >>> input_text([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}])
    'System: Be brief.\n\nUser: Why?'
    """
    return transcript_of(value) if is_messages(value) else cell_text(without_files(value))


class _Words:
    """Texts by place; place 0 is the empty text."""

    def __init__(self) -> None:
        self.texts = [""]
        self._places = {"": 0}

    def place(self, text: str) -> int:
        found = self._places.setdefault(text, len(self.texts))
        if found == len(self.texts):
            self.texts.append(text)
        return found

    def places(self, texts: Iterable[str]) -> list[int]:
        return [self.place(text) for text in texts]


class _Samples:
    """Samples in order of first appearance; a later run's own version of one is marked, not shown."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self.samples: list[Sample] = []

    def place(self, sample: Sample) -> int:
        found = self.places.setdefault(sample.id, len(self.samples))
        if found == len(self.samples):
            self.samples.append(sample)
        return found

    def columns(self, words: _Words) -> Columns:
        found = self.samples
        sources = [expected_sources(one, words.place) for one in found]
        return {
            "id": [one.id for one in found],
            "group": words.places(one.group for one in found),
            "input": [input_text(one.input) for one in found],
            "choices": [one.choices for one in found],
            "key": [key_of(one) for one in found],
            "reference": words.places(cell_text(one.reference) for one in found),
            "contexts": [words.places(one.contexts) for one in found],
            "metadata": words.places(_json_text(without_sources(one.metadata)) for one in found),
            **({"sources": sources} if any(sources) else {}),
        }


def _run_columns(run: StoredRun, score: str, samples: _Samples, words: _Words, *, share: bool) -> Columns:
    return _columns_of(run.records(), score, samples, words, share=share)


def _columns_of(records: Iterable[Record], score: str, samples: _Samples, words: _Words, *, share: bool) -> Columns:
    columns: Columns = {name: [] for name in (*_RECORD_COLUMNS, *EVIDENCE)}
    for record in records:
        place = samples.place(record.sample)
        entry = {"sample": place, "repeat": record.repeat, "changed": int(samples.samples[place] != record.sample)}
        entry |= _verdict_entry(record, score, words) | _reply_entry(record, words)
        entry |= evidence_of(record, score, words.place, share=share)
        for name, value in entry.items():
            columns[name].append(value)
    return {name: column for name, column in columns.items() if name not in EVIDENCE or any(column)}


def _pair_columns(run: StoredRun, sides: Sequence[str], samples: _Samples, words: _Words) -> Columns:
    """The columns of a judging run: its output is the two answers, its verdict the side that was preferred."""
    name, pairs, kinds = score_of(run.manifest), [], []

    def kept() -> Iterator[Record]:
        for record in run.records():
            score = next((one for one in record.scores if one.name == name), None)
            pairs.append(pair_of(record, score, words.place))
            kinds.append(words.place(preferred_name(score, sides) if score else ""))
            yield replace(record, output=None, scores=tuple(_without_told(one) for one in record.scores))

    columns = _columns_of(kept(), name, samples, words, share=False)
    return {**columns, "kind": kinds, "pair": pairs}


def _without_told(score: Score) -> Score:
    return replace(score, detail={key: one for key, one in score.detail.items() if key not in TOLD})


def _verdict_entry(record: Record, name: str, words: _Words) -> dict[str, Any]:
    """What the score says of this record and how it came to it."""
    score = next((one for one in record.scores if one.name == name), None)
    detail = score.detail if score else {}
    span = detail.get("span") if isinstance(detail.get("span"), list) else None
    others = [one for one in record.scores if one is not score]
    failure = record.failure
    # A judge's columns for data frames repeat its reasoning, which stands on the page as the score's reason.
    apart = _SHOWN_APART | JUDGED | {"columns"} if JUDGED & detail.keys() else _SHOWN_APART
    return {
        "state": _state(score, record),
        "value": None if score is None or score.value is None else round(score.value, 6),
        "read": words.place(cell_text(detail.get("letters"))),
        "rule": words.place(cell_text(detail.get("rule"))),
        "confidence": words.place(cell_text(detail.get("confidence"))),
        "kind": words.place(verdict_name(score) if score else ""),
        "span": _utf16(_output_text(record), span),
        "reason": words.place(score.reason if score else ""),
        "detail": words.place(_json_text({key: one for key, one in detail.items() if key not in apart})),
        "scores": [
            [words.place(one.name), words.place(one.outcome), one.value, words.place(one.reason)] for one in others
        ],
        "failure": words.places((failure.stage, failure.kind, failure.message)) if failure else 0,
    }


def _state(score: Score | None, record: Record) -> int:
    if score is not None:
        return OUTCOME_CODES[score.outcome]
    return OUTCOME_CODES["error"] if record.failure else _MISSING


def _reply_entry(record: Record, words: _Words) -> dict[str, Any]:
    """What came back, and what each call took."""
    output = record.output
    text = _output_text(record)
    calls = [(stage, reply) for stage, several in record.replies.items() for reply in several]
    return {
        "output": text,
        "contexts": words.places(output.contexts) if output else [],
        "metadata": words.place(_json_text(without_sources(output.metadata))) if output else 0,
        "calls": [_call(stage, reply, text, words) for stage, reply in calls],
        "latency": [round(reply.latency, 3) for _, reply in calls],
        "seconds": round(record.seconds, 3),
    }


def _call(stage: str, reply: Reply, shown: str, words: _Words) -> list[Any]:
    """One call: stage, text (0 where it is the output itself), tokens in and out, finish, faults on the way."""
    text = 0 if stage == "target" and reply.text == shown else reply.text
    faults = ", ".join(one.fault for one in reply.attempts if one.fault)
    usage = reply.usage
    tokens = [usage.input_tokens, usage.output_tokens, int(usage.estimated)]
    return [words.place(stage), text, *tokens, words.place(reply.finish), words.place(faults), len(reply.attempts)]


def _output_text(record: Record) -> str:
    return cell_text(record.output.value) if record.output else ""


def _json_text(value: Mapping[str, Any]) -> str:
    return cell_text(dict(value)) if value else ""


def _utf16(text: str, span: Sequence[int] | None) -> list[int] | int:
    """A span of characters as a span of the units that JavaScript counts; 0 where there is none."""
    if span is None or len(span) != 2:
        return 0
    start, end = (len(text[:place].encode("utf-16-le", "surrogatepass")) // 2 for place in span)
    return [start, end]


def _object(columns: Mapping[str, Any]) -> str:
    return "{\n" + ",\n".join(f'"{name}":{json_in_html(column)}' for name, column in columns.items()) + "}"
