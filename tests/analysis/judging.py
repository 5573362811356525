"""A judging run made by hand: what preferences read of a stored one, without a store."""

from __future__ import annotations

from steelyard import Output, Sample
from steelyard.analysis.run_data import RunBodies, RunData
from steelyard.analysis.scores.score_columns import ScoreRow
from steelyard.types import Record

VALUES = {"A": 1.0, "B": 0.0, "tie": 0.5, "inconsistent": 0.5}
SLOTS = {("AB", "A"): 1, ("AB", "B"): 2, ("BA", "A"): 2, ("BA", "B"): 1}


def orders(*verdicts):
    """What was said of both orders (`orders("A", "B")`), or of one (`orders("A")`): sides, not places."""
    shown = ("AB", "BA")[: len(verdicts)]
    return [
        {"shown": order, "verdict": verdict, "slot": SLOTS.get((order, verdict), 0), "outcome": "scored"}
        for order, verdict in zip(shown, verdicts, strict=True)
    ]


def row(label, ident="", *, group="", cluster="", repeat=0, **detail):
    """One verdict: a label, or `unparsed`, `refused`, `error`, or `no A` where that side gave no answer."""
    place = (ident, group, cluster, repeat, "preference")
    if label.startswith("no "):
        return ScoreRow(*place, "not_applicable", None, {"side": label[3:], "why": "error", **detail})
    if label not in VALUES:
        return ScoreRow(*place, label, None, detail)
    return ScoreRow(*place, "scored", VALUES[label], {"label": label, "by": "judge", **detail})


def rows(*labels, **more):
    """A row per label, each of a sample of its own."""
    return [row(label, f"s{at}", **more) for at, label in enumerate(labels)]


def judging_run(given=(), *, first="ours", second="theirs", answers=(), stopping=None, ident="j1"):
    """A run that compares `first` with `second`; answers differ unless they are given."""
    records = [Record(Sample(f"s{at}", "?"), Output({"A": a, "B": b})) for at, (a, b) in enumerate(answers)]
    manifest = {"target": {"pair": {"first": first, "second": second}}, "scores": ["preference"]}
    bodies = RunBodies(lambda _: iter(()), lambda _: {}, lambda _: iter(records))
    return RunData.of(given, "a vs b", id=ident, manifest=manifest, stopping=stopping, bodies=bodies)


def judging(*labels, **more):
    """A run of such verdicts."""
    return judging_run(rows(*labels), **more)
