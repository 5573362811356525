"""The kinds of labels that people give, which kind a run's score takes, and how a label is typed and shown.

A score takes labels of the kind that its `ScoreInfo` declares by range and threshold: the letters of an exam, pass or
fail for a score of 0 or 1 with threshold 1, a rating for whole-number scales, A, B or a tie for preferences. Such a
label has the name of its score (of an exam: `answer`) and can be counted in its place. Labels of any other name are
stored and exported, and count in no score.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Final, Literal, get_args

from steelyard.analysis.judging_manifest import is_judging, score_of
from steelyard.analysis.retrieval_matches import RETRIEVAL_SCORES
from steelyard.analysis.scores.score_infos import scores_rating
from steelyard.errors import ConfigError, did_you_mean
from steelyard.replies.clean import fold
from steelyard.types import LabelKind, Sample, ScoreInfo

MODEL: Final = "model:"
"""Begins the name of an author that is a model."""
ANSWER: Final = "answer"
"""Name of the labels of exams: the letters that a reply gives."""
COMMENT: Final = "comment"
"""Name of free-text labels."""
NO_OPTION: Final = "none"
"""The verdict on a reply that gives no option, as a person types it."""
IN_VIEW: Final = "verdict in view"
"""Name of labels that somebody gave who saw the verdict: they are no measure of it, so that nothing counts them."""
CANNOT_TELL: Final = "cannot tell"
"""The value of a label of somebody who has seen a record and can give no verdict; its kind is `cannot_tell`."""
_KINDS: Final = tuple(kind for kind in get_args(LabelKind) if kind not in {"", "cannot_tell"})
_UNCOUNTED: Final[Mapping[str, str]] = {"pass_fail": "verdict", "scale": "rating", "text": COMMENT}
"""Names of labels that no score takes."""
PASS_OR_FAIL: Final = ("pass", "fail")
"""The values of a label of kind `pass_fail`."""
_PASS_FAIL: Final = {
    **dict.fromkeys(("pass", "p", "yes", "y"), "pass"),
    **dict.fromkeys(("fail", "f", "no", "n"), "fail"),
}
_TIES: Final = frozenset({"tie", "t", "="})
_SCALE: Final = re.compile(r"scale:(-?\d+)-(-?\d+)")
_WIDEST: Final = 100
"""A range of more steps is a measurement, not a scale that people rate on."""
SideOrder = Literal["AB", "BA"]


@dataclass(frozen=True, slots=True)
class LabelForm:
    """The form of a label: what a person is asked about a record.

    Args:
        kind: of the label.
        name: of the label: the score that it is about, or a name of its own.
        counted: whether `--with-labels` counts the label in place of the score of that name.
        scale: lowest and highest rating of a scale.

    >>> LabelForm("scale", "correctness", counted=True, scale=(1.0, 5.0)).hint(0)
    'a number from 1 to 5'
    """

    kind: LabelKind
    name: str
    counted: bool = False
    scale: tuple[float, float] | None = None

    def hint(self, options: int) -> str:
        """What may be typed, for a sample with so many options."""
        if self.kind == "choice":
            return f"letters from A to {_letter(options - 1)} as they were shown (B, or AC), or {NO_OPTION}"
        if self.kind == "scale" and self.scale:
            return f"a number from {self.scale[0]:g} to {self.scale[1]:g}"
        return {"pass_fail": "pass or fail", "preference": "A, B or tie"}.get(self.kind, "any text")

    def parse(self, text: str, sample: Sample, order: SideOrder = "AB") -> Any:
        """The value of a label as it is stored.

        Args:
            text: as typed; case, width of characters and surrounding blanks do not matter.
            sample: that it is about.
            order: in which the two answers of a pair were shown; the stored side is that of the run.

        Raises:
            ConfigError: it is not a label of this kind.

        >>> form = LabelForm("preference", "preference")
        >>> form.parse("a", Sample("1", "?"), "BA"), form.parse("tie", Sample("1", "?"))
        ('B', 'tie')
        """
        typed = fold(text).strip()
        value: Any = None
        if self.kind == "choice":
            value = _letters(typed, len(sample.choices))
        elif self.kind == "pass_fail":
            value = _PASS_FAIL.get(typed.casefold())
        elif self.kind == "scale":
            value = self._rating(typed)
        elif self.kind == "preference":
            value = _side(typed, order)
        else:
            value = text.strip() or None
        if value is None:
            raise ConfigError(f"{text[:40]!r} is not a verdict: type {self.hint(len(sample.choices))}")
        return value

    def _rating(self, typed: str) -> float | None:
        try:
            rating = float(typed)
        except ValueError:
            return None
        low, high = self.scale or (rating, rating)
        return rating if low <= rating <= high else None

    def number(self, value: Any) -> float | None:
        """The value of the score that a stored label stands for; None for a value that is not of this kind.

        >>> [LabelForm("preference", "preference").number(side) for side in ("A", "tie", "B", "C")]
        [1.0, 0.5, 0.0, None]
        """
        if self.kind == "scale":
            is_rating = isinstance(value, int | float) and not isinstance(value, bool)
            low, high = self.scale or (0.0, 0.0)
            return float(value) if is_rating and low <= value <= high else None
        numbers = {"pass_fail": {"pass": 1.0, "fail": 0.0}, "preference": {"A": 1.0, "tie": 0.5, "B": 0.0}}
        return numbers.get(self.kind, {}).get(value) if isinstance(value, str) else None


def _letter(index: int) -> str:
    return chr(ord("A") + index)


def _letters(typed: str, options: int) -> str | None:
    """Letters in any form, sorted; "" for `none`; None where there are others than the options'."""
    if typed.casefold() == NO_OPTION:
        return ""
    letters = {letter for letter in typed.upper() if letter not in " ,;、/&+."}
    known = {_letter(index) for index in range(options)}
    return "".join(sorted(letters)) if letters and letters <= known else None


def _side(typed: str, order: SideOrder) -> str | None:
    if typed.casefold() in _TIES:
        return "tie"
    # In place of letters the position may be typed: 1 is the answer that was shown first.
    shown = {"A": 0, "1": 0, "B": 1, "2": 1}.get(typed.upper())
    return None if shown is None else order[shown]


def shown_order(seed: int, sample: str, repeat: int) -> SideOrder:
    """The order in which a pair is shown to people: drawn by seed, sample and repeat, so that it can be drawn again.

    >>> {shown_order(0, f"q{number}", 0) for number in range(20)} == {"AB", "BA"}
    True
    """
    digest = blake2b(f"label\0{seed}\0{sample}\0{repeat}".encode("utf-8", "surrogatepass"), digest_size=1).digest()
    return "AB" if digest[0] & 1 else "BA"


def label_form(
    manifest: Mapping[str, Any], infos: Mapping[str, ScoreInfo], *, score: str = "", kind: str = ""
) -> LabelForm:
    """The form of the labels of a run.

    Args:
        manifest: of the run.
        infos: what the run's scorers declared, by score.
        score: the score that is labelled, or what several judges rate; "" is the run's headline.
        kind: another kind than the score's: `pass_fail`, `scale:1-5`, `choice`, `preference` or `text`.

    Raises:
        ConfigError: the run has no such score, there is no such kind, or it does not fit the run.

    >>> label_form({}, {"correctness": ScoreInfo("correctness", (1.0, 5.0))}).scale
    (1.0, 5.0)
    >>> label_form({}, {"cell_recall": ScoreInfo("cell_recall", (0.0, 1.0))})
    LabelForm(kind='pass_fail', name='verdict', counted=False, scale=None)
    """
    named = scores_rating(score, infos) if score else [_headline(manifest, infos)]
    if not named:
        raise ConfigError(f"the run has no score {score!r}{did_you_mean(score, infos)}")
    own = next(filter(None, (form_of_score(manifest, infos, name) for name in named)), None)
    if own is not None and score not in {"", *named}:
        own = replace(own, name=score)
    if not kind:
        return own or LabelForm("pass_fail", _UNCOUNTED["pass_fail"])
    kind, scale = _parsed_kind(kind)
    if own is not None and own.kind == kind and scale in {None, own.scale}:
        return own
    if kind not in _UNCOUNTED:
        needed = "an exam" if kind == "choice" else "a run that judges pairs of answers"
        raise ConfigError(f"--as {kind}: only {needed} takes such labels")
    if kind == "scale" and scale is None:
        raise ConfigError("--as scale: name its ends, for example --as scale:1-5")
    return LabelForm(kind, _UNCOUNTED[kind], scale=scale)


def counted_forms(manifest: Mapping[str, Any], infos: Mapping[str, ScoreInfo]) -> dict[str, LabelForm]:
    """Score -> the form of labels that are counted in its place, in the order of the scores."""
    forms = {name: form_of_score(manifest, infos, name) for name in infos}
    return {name: form for name, form in forms.items() if form is not None}


def form_of_score(manifest: Mapping[str, Any], infos: Mapping[str, ScoreInfo], name: str) -> LabelForm | None:
    """The form of the labels that a score takes; None where a person's label cannot stand for its value."""
    info = infos.get(name)
    if info is None or info.also_scored or info.lower_is_better:
        return None
    if info.exam:
        return LabelForm("choice", ANSWER, counted=True)
    if is_judging(manifest):
        return LabelForm("preference", name, counted=True) if name == score_of(manifest) else None
    if info.range == (0.0, 1.0):
        return LabelForm("pass_fail", name, counted=True) if info.threshold == 1 else None
    if info.range is not None and _is_scale(*info.range):
        return LabelForm("scale", name, counted=True, scale=info.range)
    return None


def _is_scale(low: float, high: float) -> bool:
    """Whether people can rate on a range: whole numbers, three steps or more; -1 to 1 is that of a correlation."""
    return low == int(low) and high == int(high) and 1 < high - low <= _WIDEST and (low, high) != (-1, 1)


def _headline(manifest: Mapping[str, Any], infos: Mapping[str, ScoreInfo]) -> str:
    """The exam score, the preference, or the headline; "" where that is about retrieval and no other score is labelled.

    A person who is shown an answer says whether it is right, not whether the passages were the right ones.
    """
    exam = next((name for name, info in infos.items() if info.exam), "")
    if exam or is_judging(manifest):
        return exam or score_of(manifest)
    headline = str(manifest.get("primary") or next(iter(infos), ""))
    if headline not in RETRIEVAL_SCORES:
        return headline
    others = (name for name in infos if name not in RETRIEVAL_SCORES)
    return next((name for name in others if form_of_score(manifest, infos, name)), "")


def _parsed_kind(text: str) -> tuple[LabelKind, tuple[float, float] | None]:
    match = _SCALE.fullmatch(text)
    if match and float(match[1]) < float(match[2]):
        if float(match[2]) - float(match[1]) > _WIDEST:
            raise ConfigError(f"--as {text[:40]!r}: a scale has at most {_WIDEST} steps, such as scale:0-{_WIDEST}")
        return "scale", (float(match[1]), float(match[2]))
    for kind in _KINDS:
        if text.replace("-", "_") == kind:
            return kind, None
    known = [kind if kind != "scale" else "scale:1-5" for kind in _KINDS]
    raise ConfigError(f"--as {text!r}: expected {', '.join(known)}{did_you_mean(text, known)}")
