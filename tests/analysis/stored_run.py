"""A run as a store would give it back, from rows alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from steelyard.analysis.score_columns import ScoreRow
from steelyard.analysis.summary import summarize
from steelyard.analysis.summary_values import RunSummary


@dataclass
class StoredRun:
    id: str
    rows: list
    target: str
    suite: str = "exam"
    tags: dict = field(default_factory=dict)
    manifest: dict = field(default_factory=dict)
    state: str = "finished"
    infos: dict = field(default_factory=dict)
    stopping: Any = None

    def summary(self):
        scores, groups = summarize(self.rows, infos=self.infos)
        done = len(self.rows)
        return RunSummary(
            self.id, self.suite, self.target, self.tags, self.state, done, done, 0,
            0, 0, 0, 1.0, "", scores, groups, scores[0].name, stopping=self.stopping,
        )  # fmt: skip

    def score_rows(self):
        return iter(self.rows)

    def sample_hashes(self):
        return {}

    def reply_keys(self):
        return {}


def stored(target, groups=None, clusters=None, **scores):
    """A run in which `scores` gives each score's values by sample; sample ids are 0, 1, 2 ..."""
    n = len(next(iter(scores.values())))
    rows = [
        ScoreRow(str(at), (groups or [""] * n)[at], (clusters or [""] * n)[at], 0, name, "scored", float(values[at]))
        for at in range(n)
        for name, values in scores.items()
    ]
    return StoredRun(f"run-{target}", rows, target)
