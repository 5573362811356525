"""An exam whose scorer keeps what exams keep, with replies that name their own reading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from steelyard import Options, Sample, Score, ScoreInfo, Suite, evaluate_suite
from steelyard.evaluation.evaluate import RunConfig
from steelyard.types import StageInfo


@dataclass(frozen=True, slots=True)
class Examiner:
    """Reads the last letter of a reply; "maybe X" is inferred, "no" refused, "A or B" several, any other unread."""

    score_infos: ClassVar[tuple[ScoreInfo, ...]] = (
        ScoreInfo("solve_rate", (0, 1), denominator="all", exam=True),
        ScoreInfo("last_letter", (0, 1), denominator="all", also_scored=True),
    )
    stage_info: ClassVar[StageInfo] = StageInfo(inline=True)

    def __call__(self, sample, output):
        text, order = str(output.value), sample.metadata.get("order")
        detail = {"letters": "", "wanted": sample.reference, "options": 4, "status": "none", "span": None}
        detail |= {"original": ""} if order else {}
        last = Score("last_letter", float(text[-1:] == sample.reference))
        if text == "no":
            return [Score("solve_rate", None, outcome="refused", reason="no", detail=detail), last]
        if text[-1:] not in {"A", "B", "C", "D"} or " or " in text:
            kind = "several" if " or " in text else "none"
            return [Score("solve_rate", None, outcome="unparsed", reason="?", detail={**detail, "kind": kind}), last]
        read = text[-1]
        detail |= {"letters": read, "span": [len(text) - 1, len(text)], "status": "answered"}
        detail |= {"confidence": "inferred" if text.startswith("maybe") else "explicit"}
        detail |= {"original": order["ABCD".index(read)]} if order else {}
        solved = read == sample.reference
        return [Score("solve_rate", float(solved), passed=solved, reason="read", detail=detail), last]


def question(name, key="A", **more):
    return Sample(name, f"{name}?", key, choices=("one", "two", "three", "four"), **more)


def exam_runs(store, replies, *, samples=(), **options):
    """A run per target; `replies` has a reply per sample for each, the key of all is A."""
    asked = list(samples) or [question(f"q{no}") for no in range(len(next(iter(replies.values()))))]
    places = {sample.id: at for at, sample in enumerate(asked)}

    def says(several):
        def target(sample):
            found = several[places[sample.id]]
            if isinstance(found, Exception):
                raise found
            return found

        return target

    targets = {name: says(several) for name, several in replies.items()}
    suite = Suite("Exam", "choice", asked, targets, (Examiner(),), Options(max_errors=1.0, **options))
    return evaluate_suite(suite, how=RunConfig(store=store))
