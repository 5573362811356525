"""The samples of a page as compact columns of JSON for the page's own script.

    samples   id, group, input, choices, key, reference, contexts, metadata: one entry per sample
    runs      per run: sample (its index), state, value, passed (1, 0; -1 where the scorer decides neither), read, span,
              reply, ...: one entry per record; judged, failed, sources and messages only where a record has something
              in them (see `sample_evidence`); sides and pair in a run that judges pairs of answers alone (see
              `judge_reasons`), answers in one that has no scores
    all       only if the page holds some of the samples: how many there are, of which kinds, and the profiles from
              which its script counts all of them (see `sample_choice`)
    words     texts that occur repeatedly; other columns hold their indices in this list

Each column is on a line of its own, so that two pages of the same replies differ only in the lines of durations. From
200 samples on the data are deflated to a quarter of the size: one line for the samples, one for the durations.
"""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, get_args

from steelyard.analysis.comparison.comparison_values import PairComparison
from steelyard.analysis.judging_manifest import is_judging, only_answers, score_of, sides_of
from steelyard.analysis.numbers import score_title, verdict_words
from steelyard.analysis.scores.score_columns import RowOutcome
from steelyard.analysis.scores.score_infos import score_infos
from steelyard.escaping import cell_text, json_in_html, json_line
from steelyard.plain_json import described
from steelyard.prompts.conversation import input_text
from steelyard.prompts.sample_values import without_passage
from steelyard.replies.answer_key import alternatives
from steelyard.replies.clean import fold
from steelyard.report.judge_reasons import SHOWN_ELSEWHERE, pair_of, preference_reason, preference_text
from steelyard.report.run_texts import outcome_word
from steelyard.report.sample_choice import PAGE_SIZE, PageSize, SampleChoice, ScoredRun, choose_samples
from steelyard.report.sample_evidence import (
    EVIDENCE,
    JUDGED,
    expected_sources,
    record_evidence,
    score_evidence,
    verdict_name,
    without_sources,
)
from steelyard.store import Run
from steelyard.types import Record, Reply, Sample, Score

OUTCOME_CODES: Final = {outcome: code for code, outcome in enumerate(get_args(RowOutcome))}
_MISSING: Final = len(OUTCOME_CODES)
_SHOWN_APART: Final = frozenset(
    {"letters", "status", "rule", "span", "confidence", "kind", "label", "results", "differences"}
)
_RECORD_COLUMNS: Final = (
    *("sample", "repeat", "changed", "state", "value", "passed", "read", "rule", "confidence", "kind", "span"),
    *("reason", "detail", "scores", "failure", "output", "contexts", "metadata", "calls", "latency", "seconds"),
    *EVIDENCE,
)
"""In the order in which a page has them."""
_LETTER_A: Final = ord("A")
_PACKED: Final = 200
"""A page with at least so many samples has them deflated; with fewer they are readable in the file."""
_SEPARATORS: Final = frozenset(" ,、;/&|+.()")

Columns = dict[str, list[Any]]


@dataclass(frozen=True, slots=True)
class SampleData:
    """The samples of a page.

    Args:
        text: the columns described above as JSON, or deflated and in base64; safe inside a `<script>` element.
        packed: whether it is deflated.
        chance: the score of guessing; None if unknown.
        choice: which samples the page holds; None where it holds all.
    """

    text: str
    packed: bool
    chance: float | None
    choice: SampleChoice | None


def collect_samples(
    runs: Sequence[Run],
    labels: Sequence[str],
    *,
    score: str,
    share: bool,
    pairs: Mapping[str, PairComparison],
    size: PageSize = PAGE_SIZE,
) -> SampleData:
    """Read every record that the page holds once.

    Args:
        runs: each is read once; the first gives the order of samples.
        labels: the name of each run.
        score: the score whose verdicts the table shows.
        share: whether its values are shown in percent.
        pairs: run id -> its comparison with the baseline, for regressions and improvements.
        size: how many samples the page holds.
    """
    words, samples = _Words(), _Samples()
    shared: dict[Any, Any] = {}
    changes = [{} if (pair := pairs.get(run.id)) is None else _changes(pair) for run in runs]
    sides = [sides_of(run.manifest) if is_judging(run.manifest) else None for run in runs]
    scored = [
        ScoredRun(run, score_of(run.manifest) if judged else score, bool(judged), run_changes)
        for run, judged, run_changes in zip(runs, sides, changes, strict=True)
    ]
    choice = choose_samples(scored, size)
    parts: list[Mapping[str, Any]] = []
    for at, (run, label) in enumerate(zip(runs, labels, strict=True)):
        records = run.records() if choice is None else run.records_at(choice.places[at], shared)
        judged = sides[at]
        if judged:
            columns = _pair_columns(records, run.manifest, judged, samples, words)
        else:
            columns = _columns_of(records, score, samples, words)
        columns["changes"] = [
            [samples.indices[ident], change] for ident, change in changes[at].items() if ident in samples.indices
        ]
        role: Mapping[str, Any] = {"sides": judged} if judged else {"answers": 1} if only_answers(run.manifest) else {}
        parts.append({"name": label, **role, **columns})
    # States that count as wrong in a comparison, where its score is over all replies.
    as_wrong = ["unparsed", "refused"] if any(pair.over == "all" for pair in pairs.values()) else []
    names = {"score": score, "title": score_title(score), "share": share, "as_wrong": as_wrong}
    info = next((infos[score] for run in runs if score in (infos := score_infos(run.manifest))), None)
    head = {**names, **dict(zip(("right", "wrong"), verdict_words(info), strict=True))}
    blocks: dict[str, Any] = {"head": head, "samples": samples.columns(words), "runs": parts}
    if choice is not None:
        blocks["all"] = {
            "total": choice.total,
            "seed": size.seed,
            "profiles": [[words.index(profile.group), profile.masks, profile.n] for profile in choice.profiles],
        }
    blocks["words"] = words.texts
    packed = len(samples.samples) >= _PACKED
    text = packed_data(blocks) if packed else plain_data(blocks)
    return SampleData(text, packed, chance_of(samples.samples, of_all=choice is None), choice)


def _changes(pair: PairComparison) -> dict[str, int]:
    """1 for each improvement and 2 for each regression, by the sample's id in the other run."""
    changes = dict.fromkeys(pair.changed.improvements, 1) | dict.fromkeys(pair.changed.regressions, 2)
    return {pair.changed.other_ids.get(ident, ident): change for ident, change in changes.items()}


def chance_of(samples: Iterable[Sample], *, of_all: bool = True) -> float | None:
    """The score of guessing if every sample has options and one right letter; else None.

    Args:
        samples: those of the page.
        of_all: False if there are other samples: the score is then known only if the number of options is constant.

    >>> chance_of([Sample("1", "?", "A", choices=("x", "y")), Sample("2", "?", "B", choices=("x", "y", "z", "w"))])
    0.375
    """
    chances = []
    for sample in samples:
        if len(key_of(sample)) != 1 or len(sample.choices) < 2:
            return None
        chances.append(1 / len(sample.choices))
    if not of_all and len(set(chances)) > 1:
        return None
    return sum(chances) / len(chances) if chances else None


def key_of(sample: Sample) -> list[int]:
    """0-based indices of the right options; empty where the reference does not name options by letters.

    >>> key_of(Sample("1", "?", "A, C", choices=("x", "y", "z")))
    [0, 2]
    """
    if not sample.choices or not isinstance(sample.reference, str):
        return []
    parts = map(fold, alternatives(sample.reference))
    letters = {character for part in parts for character in part.upper() if character not in _SEPARATORS}
    options = sorted(ord(character) - _LETTER_A for character in letters)
    return options if all(0 <= option < len(sample.choices) for option in options) else []


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
    """The distinct samples of all runs, in order of first appearance; of two versions the first is shown."""

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
            "metadata": words.indices(
                _json_text(without_sources(without_passage(sample.metadata, sample.input))) for sample in samples
            ),
            **({"sources": sources} if any(sources) else {}),
        }


def _columns_of(records: Iterable[Record], score: str, samples: _Samples, words: _Words) -> Columns:
    reader = _RecordReader(score, samples, words)
    columns: Columns = {name: [] for name in _RECORD_COLUMNS}
    for record in records:
        for name, cell in reader.cells(record).items():
            columns[name].append(cell)
    return {name: column for name, column in columns.items() if name not in EVIDENCE or any(column)}


class _RecordReader:
    """Makes columns from the records of one run.

    A store that reads many records gives equal scores as one object, so their columns are cached by object.
    """

    def __init__(self, score: str, samples: _Samples, words: _Words) -> None:
        self._score = score
        self._samples = samples
        self._words = words

    def cells(self, record: Record) -> dict[str, Any]:
        """A cell for each of `_RECORD_COLUMNS`."""
        at = self._samples.index(record.sample)
        first = self._samples.samples[at]
        scores, words, failure = self._scores(record.scores), self._words, record.failure
        output = record.output
        text = cell_text(output.value) if output else ""
        calls = [(stage, reply) for stage, replies in record.replies.items() for reply in replies]
        return {
            **scores,
            "sample": at,
            "repeat": record.repeat,
            "changed": int(first is not record.sample and first != record.sample),
            "state": OUTCOME_CODES["error"] if scores["state"] == _MISSING and failure else scores["state"],
            "span": _utf16(text, scores["span"]),
            "failure": words.indices((failure.stage, failure.kind, failure.message)) if failure else 0,
            "output": text,
            "contexts": words.indices(output.contexts) if output else [],
            "metadata": words.index(_json_text(without_sources(output.metadata))) if output and output.metadata else 0,
            "calls": [_call(stage, reply, text, words) for stage, reply in calls],
            "latency": [round(reply.latency, 3) for _, reply in calls],
            "seconds": round(record.seconds, 3),
            **record_evidence(record, words.index),
        }

    def _scores(self, scores: Sequence[Score]) -> dict[str, Any]:
        """The cells that the scores of a record decide; `span` is in characters, None where nothing is marked."""
        words = self._words
        score = next((other for other in scores if other.name == self._score), None)
        detail = score.detail if score else {}
        # A judge's columns for data frames repeat its reasoning, which the page shows as the score's reason.
        shown_elsewhere = _SHOWN_APART | JUDGED | {"columns"} if JUDGED & detail.keys() else _SHOWN_APART
        further = {key: value for key, value in detail.items() if key not in shown_elsewhere}
        return {
            "state": OUTCOME_CODES[score.outcome] if score else _MISSING,
            "value": None if score is None or score.value is None else round(score.value, 6),
            "passed": _passed(score),
            "read": words.index(cell_text(detail.get("letters"))),
            "rule": words.index(cell_text(detail.get("rule"))),
            "confidence": words.index(cell_text(detail.get("confidence"))),
            "kind": words.index(verdict_name(score) if score else ""),
            "reason": words.index(score.reason if score else ""),
            "detail": words.index(_json_text(further)),
            "scores": [self._other(other) for other in scores if other is not score],
            "span": detail.get("span") if isinstance(detail.get("span"), list) else None,
            **score_evidence(scores, self._score, words.index),
        }

    def _other(self, score: Score) -> list[Any]:
        index = self._words.index
        return [index(score.name), index(outcome_word(score.outcome)), score.value, index(score.reason), _passed(score)]


def _pair_columns(
    records: Iterable[Record], manifest: Mapping[str, Any], sides: Sequence[str], samples: _Samples, words: _Words
) -> Columns:
    """The columns of a judging run: its output is the two answers, its verdict the preferred side."""
    name, pairs, kinds = score_of(manifest), [], []

    def records_without_output() -> Iterator[Record]:
        for record in records:
            score = next((candidate for candidate in record.scores if candidate.name == name), None)
            pairs.append(pair_of(record, score, words.index, sides))
            kinds.append(words.index(preference_text(score, sides) if score else ""))
            scores = []
            for candidate in record.scores:
                detail = {key: value for key, value in candidate.detail.items() if key not in SHOWN_ELSEWHERE}
                reason = preference_reason(candidate, sides) if candidate is score else candidate.reason
                scores.append(replace(candidate, reason=reason, detail=detail))
            yield replace(record, output=None, scores=tuple(scores))

    columns = _columns_of(records_without_output(), name, samples, words)
    return {**columns, "kind": kinds, "pair": pairs}


def _passed(score: Score | None) -> int:
    """1 and 0 as the scorer decided; -1 without a decision: a value alone is not a verdict."""
    return -1 if score is None or score.passed is None else int(score.passed)


def _call(stage: str, reply: Reply, shown: str, words: _Words) -> list[Any]:
    """One call: stage, text (0 where it is the output itself), tokens in and out, finish, faults of its attempts."""
    text = 0 if stage == "target" and reply.text == shown else reply.text
    faults = ", ".join(attempt.fault for attempt in reply.attempts if attempt.fault)
    usage = reply.usage
    tokens = [usage.input_tokens, usage.output_tokens, int(usage.estimated)]
    return [words.index(stage), text, *tokens, words.index(reply.finish), words.index(faults), len(reply.attempts)]


def _json_text(value: Mapping[str, Any]) -> str:
    return cell_text(dict(value)) if value else ""


def _utf16(text: str, span: Sequence[int] | None) -> list[int] | int:
    """A span of characters as a span of UTF-16 units for JavaScript; 0 where there is none."""
    if span is None or len(span) != 2:
        return 0
    if text.isascii():
        return list(span)
    start, end = (len(text[:at].encode("utf-16-le", "surrogatepass")) // 2 for at in span)
    return [start, end]


DURATIONS: Final = ("latency", "seconds")
"""Columns of a run that differ between two runs with the same replies."""
_SURROGATES: Final = re.compile("[\ud800-\udfff]")


def plain_data(blocks: Mapping[str, Any]) -> str:
    """The blocks as JSON with a line per column, so escaped that no text can end the script.

    Args:
        blocks: `samples` is columns, `runs` columns of each run, any other a value.
    """
    texts = {
        name: _object(block)
        if name == "samples"
        else "[" + ",\n".join(map(_object, block)) + "]"
        if name == "runs"
        else json_in_html(block)
        for name, block in blocks.items()
    }
    return "{" + ",\n".join(f'"{name}":{text}' for name, text in texts.items()) + "}"


def _object(columns: Mapping[str, Any]) -> str:
    return "{\n" + ",\n".join(f'"{name}":{json_in_html(column)}' for name, column in columns.items()) + "}"


def packed_data(blocks: Mapping[str, Any]) -> str:
    """The blocks deflated (zlib format) and in base64, which has no character that could end the script.

    The first line is the blocks without durations, the second one an object of durations per run. A run whose records
    are of samples 0, 1, 2 ... has 0 in place of that column.
    """
    times = [{name: run[name] for name in DURATIONS if name in run} for run in blocks["runs"]]
    runs = [
        {name: _shortened(name, column) for name, column in run.items() if name not in DURATIONS}
        for run in blocks["runs"]
    ]
    return f"{_deflated({**blocks, 'runs': runs})}\n{_deflated(times)}"


def _shortened(name: str, column: Any) -> Any:
    """A column as a page packs it: 0 in place of the samples where they are 0, 1, 2 ..."""
    return 0 if name == "sample" and column == [*range(len(column))] else column


def _deflated(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=described)
    except ValueError:  # a NaN of somebody's own score, which JSON does not have
        text = json_line(value)
    # A lone surrogate cannot be encoded; as a JSON escape it is parsed to the same text.
    plain = _SURROGATES.sub(lambda match: f"\\u{ord(match[0]):04x}", text) if not text.isascii() else text
    return b64encode(zlib.compress(plain.encode())).decode()
