"""The two answers of a pair, and a preference scorer that needs no model.

`LexicalPreference` prefers the answer that is nearer to the reference.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal, NamedTuple, get_args

from steelyard.analysis.judging_manifest import CHARS, DIFFICULTY, STYLE
from steelyard.constraints import ScoreName, Share
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
_FENCED: Final = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
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

    Source: the style features of Chatbot Arena (FastChat `rating_systems.py`), counted by line.

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
