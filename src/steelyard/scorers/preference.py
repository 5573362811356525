"""The two answers of a pair, and preference scorers that need no model.

`LexicalPreference` prefers the answer that is nearer to the reference. `HumanPreference` reads people's votes on pairs
of answers from a file: a row names the sample, the voter and the preferred side.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal, NamedTuple, cast, get_args

from steelyard.analysis.judging_manifest import CHARS, DIFFICULTY, STYLE
from steelyard.constraints import ScoreName, Share
from steelyard.data.headers import Role
from steelyard.data.rows import OpenTable, open_tables
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import Row
from steelyard.errors import ConfigError, DataError, boundary, did_you_mean
from steelyard.normal_form import nfkc
from steelyard.replies.answer_text import answer_of
from steelyard.scorers.lexical import references_of
from steelyard.scorers.overlap import chrf, rouge_l, token_f1
from steelyard.types import LACKS, Output, Sample, Score, ScoreInfo, StageInfo

Side = Literal["A", "B"]
Label = Literal["A", "B", "tie", "inconsistent"]

VALUES: Final[Mapping[str, float]] = {"A": 1.0, "tie": 0.5, "inconsistent": 0.5, "B": 0.0}
"""The share of the win that falls to side A."""
_CAUSES: Final = ("error", "refused", "missing")
_NEARLY_SAME: Final = 0.95
_PIECE: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|(?:(?![\u3040-\u30ff\u3400-\u9fff])\w)+|[^\w\s]")
_FENCED: Final = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE)
_STYLE: Final = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (r"^ {0,3}#{1,6} +\S", r"^[ \t]*(?:[-*+]|\d{1,3}[.)、])[ \t]+\S", r"\*\*[^*\n]+\*\*|__[^_\n]+__")
)
"""Headings, list items and bold passages of Markdown, in the order of `STYLES`."""
_EDGES: Final = frozenset(".!?,;:…。！？，；：\"'“”‘’")


class Sides(NamedTuple):
    """The answers of both sides."""

    a: str
    b: str

    def shown(self, order: str) -> tuple[str, str]:
        """The answers in the order shown: `AB` as they are, `BA` swapped."""
        return (self.a, self.b) if order == "AB" else (self.b, self.a)


def sides_of(name: str, output: Output) -> Sides | Score:
    """The two answers of a pair, or the not-applicable score of an incomplete pair.

    A blank answer is an answer and is judged. Where a side failed, refused or is missing, the score is not applicable,
    with the side (or `both`) and the cause in its detail.

    Args:
        name: of the score.
        output: of the target `pair`: its value holds the answers under `A` and `B`, its metadata what kept a side from
            answering (`failure`).

    >>> sides_of("preference", Output({"A": "Paris", "B": ""}))
    Sides(a='Paris', b='')
    """
    value = output.value
    if not isinstance(value, Mapping) or not set(get_args(Side)) <= set(value):
        reason = "the output is not a pair of answers: preferences need the target `pair`"
        return Score(name, None, outcome="not_applicable", reason=reason, detail={LACKS: "answers"})
    failures = {side: _failure(value[side], output.metadata.get(side)) for side in get_args(Side)}
    failed = [side for side, failure in failures.items() if failure]
    if not failed:
        return Sides(*(answer_of(Output(value[side])) for side in get_args(Side)))
    causes = [_cause(failures[side]) for side in failed]
    side = failed[0] if len(failed) == 1 else "both"
    detail: dict[str, Any] = {"side": side, "why": causes[0], LACKS: "answers"}
    if len(failed) == 2:
        detail["whys"] = dict(zip(failed, causes, strict=True))
    reason = "; ".join(f"{side} gave no answer: {failures[side]}" for side in failed)
    return Score(name, None, outcome="not_applicable", reason=reason, detail=detail)


def _failure(value: Any, metadata: Any) -> str:
    """Why a side has no answer; "" where it has one."""
    failure = str(metadata.get("failure") or "") if isinstance(metadata, Mapping) else ""
    return failure or ("missing" if value is None else "")


def _cause(failure: str) -> str:
    word = failure.partition(":")[0].strip()
    return word if word in _CAUSES else "error"


def is_nearly_same(sides: Sides) -> bool:
    """Whether two answers are nearly the same; such a pair says little about the two systems.

    They are if their words and punctuation are the same in order, ignoring case, blanks and punctuation at both ends,
    or if they share at least 95 % of their pairs of successive words (in a text of 40 words, all but one).

    >>> [is_nearly_same(Sides(*pair)) for pair in (("Paris.", "paris"), ("x = 5", "x = -5"), ("", "!!"))]
    [True, False, True]
    """
    first, second = _pieces(sides.a), _pieces(sides.b)
    if first == second:
        return True
    first_pairs, second_pairs = (Counter(pairwise(["", *pieces, ""])) for pieces in (first, second))
    shared = (first_pairs & second_pairs).total()
    return 2 * shared >= _NEARLY_SAME * (first_pairs.total() + second_pairs.total())


def style_counts(text: str) -> list[int]:
    r"""How many headings, list items and bold passages a Markdown text has, outside of fenced code.

    Source: the style features of Chatbot Arena (FastChat `rating_systems.py`), counted by line. Deviations: code may
    be fenced by tildes and lack its end, as in a reply that was cut off; `1)` and `1、` begin items too.

    >>> style_counts("# Eggs\n- boil **nine** minutes\n- cool\n```\n# no heading\n```")
    [1, 2, 1]
    """
    outside = _FENCED.sub("", text)
    return [len(pattern.findall(outside)) for pattern in _STYLE]


def of_answers(sample: Sample, sides: Sides, *, style: bool) -> dict[str, Any]:
    """What the detail of a verdict on a pair says of its two answers, whoever judged.

    Args:
        sample: its `instruction_difficulty`, a number in its metadata, is copied.
        sides: the answers.
        style: count headings, list items and bold passages, too.

    >>> of_answers(Sample("1", "Why?"), Sides("So.", "Because."), style=False)
    {'chars': [3, 8]}
    """
    detail: dict[str, Any] = {CHARS: [len(answer) for answer in sides]}
    if style:
        detail[STYLE] = [style_counts(answer) for answer in sides]
    difficulty = sample.metadata.get(DIFFICULTY)
    if type(difficulty) in {int, float}:
        detail[DIFFICULTY] = difficulty
    if is_nearly_same(sides):
        detail["alike"] = True
    return detail


def _pieces(text: str) -> Sequence[str]:
    pieces = _PIECE.findall(nfkc(text).casefold())
    positions = [position for position, piece in enumerate(pieces) if piece not in _EDGES]
    return pieces[positions[0] : positions[-1] + 1] if positions else []


_MEASURES: Final[Mapping[str, Callable[[str, str], float]]] = MappingProxyType(
    {
        "token_f1": lambda reference, answer: token_f1(reference, answer).f1,
        "rouge_l": lambda reference, answer: rouge_l(reference, answer).f1,
        "chrf": chrf,
    }
)


@dataclass(frozen=True, slots=True)
class LexicalPreference:
    """Prefers the answer that shares more words or characters with the reference: 1 for side A, 0 for side B.

    It asks no model, has no position bias and costs nothing, so it works offline and is the baseline that a judge has
    to beat. It cannot tell a correct paraphrase from a wrong answer. Answers whose scores differ by at most `margin`
    are a tie; samples without a reference are not applicable.

    Args:
        measure: similarity to the reference: `token_f1`, `rouge_l` or `chrf`; of several references the best.
        margin: largest difference in similarity that counts as a tie, in [0, 1].
        name: of the score.
        style: count headings, list items and bold passages, so that reports control for them beside length.

    >>> nearer = LexicalPreference()(Sample("1", "How long?", "nine minutes"), Output({"A": "Nine.", "B": "No idea."}))
    >>> nearer.value, nearer.reason
    (1.0, 'A: token_f1 0.67 against 0.00')
    """

    stage_info: ClassVar[StageInfo] = StageInfo(inline=True, compares_pairs=True)

    measure: Literal["token_f1", "rouge_l", "chrf"] = "token_f1"
    margin: Share = 0.05
    name: ScoreName = "preference"
    style: bool = False

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """1 for side A, 0 for side B, 0.5 for a tie."""
        return (ScoreInfo(self.name, (0.0, 1.0), rates="preference"),)

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Compare both answers with the reference."""
        sides = sides_of(self.name, output)
        if isinstance(sides, Score):
            return sides
        texts, problem = references_of(sample)
        if problem:
            return Score(self.name, None, outcome="not_applicable", reason=problem, detail={"by": "lexical"})
        measure = _MEASURES[self.measure]
        a, b = (max(measure(text, answer) for text in texts) for answer in sides)
        label: Label = "tie" if abs(a - b) <= self.margin else "A" if a > b else "B"
        high, low = max(a, b), min(a, b)
        detail: dict[str, Any] = {
            "label": label,
            "by": "lexical",
            "measures": {"A": a, "B": b},
            "columns": {f"{self.name}_label": label, f"{self.name}_A": a, f"{self.name}_B": b},
            **of_answers(sample, sides, style=self.style),
        }
        reason = f"{label}: {self.measure} {high:.2f} against {low:.2f}"
        return Score(self.name, VALUES[label], reason=reason, detail=detail)


@dataclass(frozen=True, slots=True)
class HumanPreference:
    """Preference by human votes from a file: 1 for side A, 0 for side B, 0.5 for a tie.

    A row is one vote: the sample's id (or its question, word for word), who is preferred, and where the file says so
    who voted and on which pair. Preferred is the name of a target, `A` or `B` (the first and the second of the pair as
    the row names it, else as the suite does), or a word for a tie; a blank cell is not a vote. Of several votes on a
    sample the majority (more than half) decides; without one it is a tie. A sample without a vote is not applicable,
    and so is a pair of which a side failed.

    Args:
        file: .csv, .tsv, .jsonl, .json or a sheet.
        columns: `id`, `preferred`, `annotator`, `first`, `second` -> column; what is left out is found by its header.
            With `first` and `second` one file serves several pairs.
        sides: the names of side A and side B; a suite fills them in. Empty: the votes say A and B.
        name: of the score.
        style: count headings, list items and bold passages, so that reports control for them beside length.
    """

    stage_info: ClassVar[StageInfo] = StageInfo(inline=True, compares_pairs=True)

    file: Path
    columns: Mapping[str, str] = field(default_factory=dict)
    sides: tuple[str, ...] = ()
    name: ScoreName = "preference"
    style: bool = False

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """1 for side A, 0 for side B, 0.5 for a tie."""
        return (ScoreInfo(self.name, (0.0, 1.0), rates="preference"),)

    def check(self) -> None:
        """Read the file before anything is run, and every vote where the sides are known.

        Raises:
            ConfigError: no such file, an unknown role or column, or no vote on this pair.
            DataError: votes that cannot be counted, each with its file and line.
        """
        for role in self.columns:
            if role not in ROLES:
                raise ConfigError(f"columns: a vote has no {role!r}{did_you_mean(role, ROLES)}")
        if self.sides and (len(self.sides) != 2 or self.sides[0] == self.sides[1]):
            raise ConfigError(f"sides: the names of two different sides, not {self.sides!r}")
        if self.sides:
            self._votes()
        else:
            read_rows(Path(self.file), self.columns)

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Count the votes on one pair."""
        sides = sides_of(self.name, output)
        if isinstance(sides, Score):
            return sides
        votes_by_sample = self._votes()
        keys = (sample.id, sample.input) if isinstance(sample.input, str) else (sample.id,)
        votes = next((votes_by_sample[key.strip()] for key in keys if key.strip() in votes_by_sample), ())
        if not votes:
            reason = f"{Path(self.file).name} holds no vote on this sample"
            return Score(self.name, None, outcome="not_applicable", reason=reason, detail={"by": "people"})
        label, reason = majority(votes)
        detail: dict[str, Any] = {"label": label, "by": "people", "votes": _counts(votes)}
        if any(vote.annotator for vote in votes):
            detail["voters"] = [{"annotator": vote.annotator, "verdict": vote.label} for vote in votes]
        detail |= of_answers(sample, sides, style=self.style)
        detail["columns"] = {f"{self.name}_label": label, f"{self.name}_votes": reason}
        return Score(self.name, VALUES[label], reason=reason, detail=detail)

    def _votes(self) -> Mapping[str, Sequence[Vote]]:
        first, second = self.sides or ("A", "B")
        return votes_on(Path(self.file), self.columns, (first, second))


def _counts(votes: Sequence[Vote]) -> dict[str, int]:
    counted = Counter(vote.label for vote in votes)
    return {label: counted[label] for label in ("A", "B", "tie")}


def majority(votes: Sequence[Vote]) -> tuple[Label, str]:
    """The side with more than half of the votes, else a tie; and the counts in words.

    >>> majority([Vote("A", ""), Vote("A", ""), Vote("tie", "")])
    ('A', 'A: 2 of 3 votes')
    >>> majority([Vote("A", ""), Vote("B", "")])
    ('tie', 'no majority: A 1, B 1, tie 0')
    """
    label, count = Counter(vote.label for vote in votes).most_common(1)[0]
    if 2 * count > len(votes):
        return cast("Label", label), f"{label}: {count} of {len(votes)} vote{'s' if len(votes) > 1 else ''}"
    return "tie", f"no majority: {', '.join(f'{name} {n}' for name, n in _counts(votes).items())}"


Columns = tuple[tuple[str, str], ...]
Version = tuple[int, int]

_ROLES: Final = (
    Role("id", words="vote_sample", by_position=False),
    Role("preferred", words="vote_preferred", by_position=False),
    Role("annotator", required=False, words="vote_annotator", by_position=False),
    Role("first", required=False, words="vote_first", by_position=False),
    Role("second", required=False, words="vote_second", by_position=False),
)
ROLES: Final = tuple(role.name for role in _ROLES)
_FIRST: Final = frozenset(
    {"a", "1", "first", "left", "former", "model a", "side a", "answer a", "response a", "assistant a"}
    | {"甲", "左", "前者", "第一个", "回答a", "答案a", "模型a"}
)
_SECOND: Final = frozenset(
    {"b", "2", "second", "right", "latter", "model b", "side b", "answer b", "response b", "assistant b"}
    | {"乙", "右", "后者", "第二个", "回答b", "答案b", "模型b"}
)
_TIE: Final = frozenset(
    {"tie", "tied", "ties", "draw", "equal", "equally good", "same", "the same", "both", "both good", "both bad"}
    | {"neither", "tie (bothbad)", "tie (both bad)", "no preference", "no difference", "c", "a=b"}
    | {"平局", "平手", "打平", "持平", "一样", "一样好", "一样差", "相同", "相当", "都好", "都不好", "都差"}
    | {"难分高下", "不分上下", "无偏好"}
)  # fmt: skip


class Vote(NamedTuple):
    """One person's preference: `A`, `B` or `tie`; `annotator` is "" where the file does not say."""

    label: str
    annotator: str


@dataclass(frozen=True, slots=True)
class VoteRow:
    """A row of the file; `first` and `second` are "" where the file does not name the pair."""

    sample: str
    preferred: str
    annotator: str
    first: str
    second: str
    location: str


def read_rows(file: Path, columns: Mapping[str, str]) -> tuple[VoteRow, ...]:
    """Every row of a file of votes; cached by the file's version.

    Args:
        file: .csv, .tsv, .jsonl, .json, or a sheet.
        columns: role (one of `ROLES`) -> column; what is left out is found by its header.

    Raises:
        ConfigError: there is no such file or column.
        DataError: it cannot be read, or a row names no sample or one side of a pair alone.
    """
    tables, _ = open_tables(SampleFiles(file, columns=dict(columns)), _ROLES)
    defects: list[str] = []
    rows = [vote_row for table in tables for row in table.rows() if (vote_row := _row(table, row, defects)) is not None]
    _refuse(file, defects)
    return tuple(rows)


def _row(table: OpenTable, row: Row, defects: list[str]) -> VoteRow | None:
    """A row; None where its cell for the vote is blank, so that nobody voted, and where it has a defect."""
    sample, preferred, annotator, first, second = (table.text(row, role) for role in ROLES)
    location = table.location(row, "preferred")
    if not preferred:
        return None
    if not sample:
        defects.append(f"{table.location(row, 'id')}: the vote names no sample")
        return None
    if bool(first) != bool(second):
        defects.append(f"{table.location(row)}: only one side of a pair is named; name both or none")
        return None
    return VoteRow(sample, preferred, annotator, first, second, location)


def votes_on(file: Path, columns: Mapping[str, str], sides: tuple[str, str]) -> Mapping[str, Sequence[Vote]]:
    """Sample's id, as the file has it, -> the votes on one pair, in the file's order.

    Args:
        file: as `read_rows`.
        columns: likewise.
        sides: the names of side A and side B. A row that names another pair is skipped; one that names this pair in
            the other order counts.

    Raises:
        ConfigError: the file names pairs, and never this one.
        DataError: as `read_rows`; a vote that is neither for a side nor a tie, or a person's second vote on one pair.
    """
    with boundary("data", f"{file.name} cannot be read"):
        stat = file.stat() if file.is_file() else None
    version = (stat.st_mtime_ns, stat.st_size) if stat else (0, 0)
    return _votes(file, tuple(sorted(columns.items())), version, sides)


@lru_cache(maxsize=256)
def _votes(file: Path, columns: Columns, _version: Version, sides: tuple[str, str]) -> Mapping[str, Sequence[Vote]]:
    rows = read_rows(file, dict(columns))
    pair_rows = [row for row in rows if not row.first or {row.first, row.second} == set(sides)]
    if rows and not pair_rows:
        pairs = sorted({f"{row.first} and {row.second}" for row in rows})
        near = did_you_mean(f"{sides[0]} and {sides[1]}", pairs)
        raise ConfigError(f"{file.name} holds no vote on {sides[0]!r} and {sides[1]!r}{near}")
    votes: dict[str, list[Vote]] = {}
    locations: dict[tuple[str, str], str] = {}
    defects: list[str] = []
    for row in pair_rows:
        is_reversed = bool(row.first) and row.first == sides[1]
        label = preferred_side(row.preferred, sides, reversed_order=is_reversed)
        if not label:
            defects.append(_unknown(row, sides))
            continue
        earlier = locations.setdefault((row.sample, row.annotator), row.location) if row.annotator else row.location
        if earlier != row.location:
            defects.append(f"{row.location}: {row.annotator!r} voted on {row.sample!r} already, at {earlier}")
            continue
        votes.setdefault(row.sample, []).append(Vote(label, row.annotator))
    _refuse(file, defects)
    return MappingProxyType(votes)


def preferred_side(preferred: str, sides: tuple[str, str], *, reversed_order: bool = False) -> str:
    """The side that a vote names: `A`, `B` or `tie`; "" if it names neither and is not a word for a tie.

    Args:
        preferred: the name of a side, or a word for the first, the second or a tie; names win over words.
        sides: the names of side A and side B.
        reversed_order: whether the first is side B.

    >>> [preferred_side(vote, ("gpt", "glm")) for vote in ("glm", "Model_A", "both bad", "qwen")]
    ['B', 'A', 'tie', '']
    """
    label_of_name = dict(zip(sides, "AB", strict=True))
    if preferred in label_of_name:
        return label_of_name[preferred]
    word = plain_word(preferred)
    folded = {plain_word(name): side for name, side in label_of_name.items()}
    if word in folded and len(folded) == 2:
        return folded[word]
    for words, position in ((_FIRST, 0), (_SECOND, 1)):
        if word in words:
            return "AB"[position ^ reversed_order]
    return "tie" if word in _TIE else ""


def _unknown(row: VoteRow, sides: tuple[str, str]) -> str:
    hint = "" if row.first else "; where a file is about several pairs, its columns first and second name them"
    suggestion = did_you_mean(row.preferred, sides)
    suggestion = suggestion if suggestion.startswith(":") else ""
    return (
        f"{row.location}: {row.preferred[:40]!r} is neither {sides[0]!r} nor {sides[1]!r} nor a tie{suggestion}{hint}"
    )


def plain_word(text: str) -> str:
    """Normalise a vote: width, case, and punctuation around it are dropped.

    >>> plain_word(" Ａ. "), plain_word("Model_A"), plain_word("[[B]]")
    ('a', 'model a', 'b')
    """
    folded = nfkc(text).casefold().replace("_", " ")
    return " ".join(folded.split()).strip(" .。!\"'`*[]【】")


def _refuse(file: Path, defects: Sequence[str]) -> None:
    if defects:
        raise DataError(
            f"{file.name}: {len(defects)} vote{'s' if len(defects) > 1 else ''} cannot be counted",
            defects,
        )
