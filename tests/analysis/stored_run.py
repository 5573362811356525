"""Runs as a store would give them back, from rows alone."""

from __future__ import annotations

import numpy as np

from steelyard.analysis.run_data import RecordColumns, ReplyColumns, RunCounts, RunData
from steelyard.analysis.scores.score_columns import ScoreRow
from steelyard.analysis.scores.score_infos import plain_infos


def run_of(ident, rows, target, *, infos=None, manifest=None, hashes=None, keys=None, planned=0, **fields):
    """A run of these rows.

    `hashes` has a hexadecimal number by sample, and `keys` a number for each reply of a sample.
    """
    manifest = {**(manifest or {}), **({"score_infos": plain_infos(infos.values())} if infos else {})}
    run = RunData.of(rows, target, id=ident, **{"suite": "exam"} | fields, manifest=manifest)
    counts = RunCounts(planned or run.counts.done, run.counts.done, run.counts.errors)
    samples = run.scores.samples
    contents = (
        np.array([int(hashes[ident], 16) for ident in samples], dtype=np.uint64).view(np.int64) if hashes else None
    )
    return RunData.of(
        rows, target, id=ident, **{"suite": "exam"} | fields, manifest=manifest, counts=counts, hashes=contents,
        records=None if keys is None else _records([keys[ident] for ident in samples]),
    )  # fmt: skip


def _records(keys):
    """A record for each reply; `keys` are those of each sample."""
    sample = np.repeat(np.arange(len(keys)), [len(of_sample) for of_sample in keys])
    n = len(sample)
    key = np.zeros((n, 10), dtype=np.uint8)
    key[:, 0] = [number for of_sample in keys for number in of_sample]
    return RecordColumns(sample, np.zeros(n, dtype=bool), np.zeros(n), ReplyColumns(np.arange(n), key))


def stored(target, groups=None, clusters=None, **scores):
    """A run in which `scores` gives each score's values by sample; sample ids are 0, 1, 2 ..."""
    n = len(next(iter(scores.values())))
    rows = [
        ScoreRow(str(at), (groups or [""] * n)[at], (clusters or [""] * n)[at], 0, name, "scored", float(values[at]))
        for at in range(n)
        for name, values in scores.items()
    ]
    return run_of(f"run-{target}", rows, target)
