"""A judging run made by hand: what preferences read of a stored one, without a store."""

from __future__ import annotations

from dataclasses import dataclass, replace

from steelyard import Output, Sample
from steelyard.analysis.score_columns import JudgedRow
from steelyard.analysis.stopping import Stopping
from steelyard.analysis.summary_values import RunSummary
from steelyard.types import Record

EMPTY = RunSummary("", "pairs", "a vs b", {}, "finished", 0, 0, 0, 0, 0, 0, 0.0, "2026-01-01", (), {}, "preference")
VALUES = {"A": 1.0, "B": 0.0, "tie": 0.5, "inconsistent": 0.5}
SLOTS = {("AB", "A"): 1, ("AB", "B"): 2, ("BA", "A"): 2, ("BA", "B"): 1}


def orders(*verdicts):
    """What was said of both orders (`orders("A", "B")`), or of one (`orders("A")`): sides, not places."""
    shown = ("AB", "BA")[: len(verdicts)]
    return [
        {"shown": one, "verdict": verdict, "slot": SLOTS.get((one, verdict), 0), "outcome": "scored"}
        for one, verdict in zip(shown, verdicts, strict=True)
    ]


def row(label, ident="", *, group="", cluster="", repeat=0, **detail):
    """One verdict: a label, or `unparsed`, `refused`, `error`, or `no A` where that side gave no answer."""
    place = (ident, group, cluster, repeat)
    if label.startswith("no "):
        return JudgedRow(*place, "not_applicable", None, {"side": label[3:], "why": "error", **detail})
    if label not in VALUES:
        return JudgedRow(*place, label, None, detail)
    return JudgedRow(*place, "scored", VALUES[label], {"label": label, "by": "judge", **detail})


def rows(*labels, **more):
    """A row per label, each of a sample of its own."""
    return [row(label, f"s{at}", **more) for at, label in enumerate(labels)]


@dataclass(frozen=True)
class Judging:
    """A run that compares `first` with `second`; answers differ unless they are given."""

    given: tuple = ()
    first: str = "ours"
    second: str = "theirs"
    answers: tuple = ()
    stopping: Stopping | None = None
    id: str = "j1"

    @property
    def manifest(self):
        return {"target": {"pair": {"first": self.first, "second": self.second}}, "scores": ["preference"]}

    def summary(self):
        return replace(EMPTY, run=self.id, stopping=self.stopping)

    def judged_rows(self, score):
        assert score == "preference"
        return iter(self.given)

    def records(self):
        for at, (a, b) in enumerate(self.answers):
            yield Record(Sample(f"s{at}", "?"), Output({"A": a, "B": b}))


def judging(*labels, **more):
    """A run of such verdicts."""
    return Judging(tuple(rows(*labels)), **more)
