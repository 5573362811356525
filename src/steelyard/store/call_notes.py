"""What a run's calls showed of its endpoints, noted in its manifest when it ends.

The replies of a run tell which parameters its endpoints refused, and whether they read all that they were sent; see
`steelyard.session.parameter_findings` and `steelyard.analysis.cut_inputs`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from steelyard.analysis.cut_inputs import InputCount, cut_inputs
from steelyard.errors import SteelyardError
from steelyard.plain_json import field_values, to_json
from steelyard.session.parameter_findings import CHANGED_PARAMETERS
from steelyard.store.counters import stage_costs
from steelyard.store.database.checksums import head_digest, set_head_checksum
from steelyard.store.run import Run
from steelyard.store.store import Store
from steelyard.store.writer import Batch
from steelyard.types import Record

_NOTE: Final = "UPDATE run SET manifest = :manifest WHERE num = :num"
_FEW: Final = 50
_MOST: Final = 5_000
"""Records that are looked through: a change shows in the first, a cut context in a few thousand."""
_LEAST_TOKENS: Final = 200
"""Of a stage's mean input: shorter ones are not cut by any context."""


def remember_calls(store: Store, runs: Sequence[Run]) -> tuple[Run, ...]:
    """Note in the manifests of runs that have just ended what their calls showed; gives the runs as they then are.

    Args:
        store: of the runs, open for writing.
        runs: that have ended.
    """
    return tuple(_noted(store, run) for run in runs)


def _noted(store: Store, run: Run) -> Run:
    noted: Mapping[str, Any] = {}
    with contextlib.suppress(SteelyardError):  # a damaged record: whoever opens the run says so
        with store.reading() as connection:
            stages = stage_costs(connection, run.num, run.stages)
        if not any(stage.calls for stage in stages):
            return run
        is_long = any(stage.input_tokens >= _LEAST_TOKENS * stage.calls > 0 for stage in stages)
        noted = calls_of(islice(run.records(), _MOST if is_long else _FEW), _taken_out(run.first_manifest))
    if not noted:
        return run
    names = {"id": run.id, "suite": run.suite, "kind": run.kind, "target": run.target, "planned": run.planned}
    manifest = to_json({**run.first_manifest, "calls": noted}).decode("utf-8", "replace")

    def write(batch: Batch) -> None:
        batch.connection.execute(_NOTE, {"num": run.num, "manifest": manifest})
        set_head_checksum(batch.connection, run.num, head_digest({**names, "manifest": manifest}))

    store.writer.change(write)
    return run.refresh()


def _taken_out(manifest: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """By stage the parameters that the run itself sets to null wherever a model is asked."""
    stages = {"target": manifest.get("target"), **manifest.get("scorers", {})}
    nulls = {stage: [*_nulls(described)] for stage, described in stages.items()}
    return {stage: frozenset.intersection(*names) for stage, names in nulls.items() if names}


def _nulls(described: Any) -> Iterator[frozenset[str]]:
    """The parameters set to null beside each model in a part of a manifest."""
    if isinstance(described, list):
        for part in described:
            yield from _nulls(part)
    elif isinstance(described, Mapping):
        if "model" in described and isinstance(own := described.get("parameters"), Mapping):
            yield frozenset(name for name, value in own.items() if value is None)
        for part in described.values():
            yield from _nulls(part)


def calls_of(records: Iterable[Record], taken_out: Mapping[str, frozenset[str]]) -> dict[str, Any]:
    """The manifest entry: `changed_parameters` by stage, and `cut_inputs`; empty where nothing showed.

    Args:
        records: of the run.
        taken_out: by stage the parameters that the run does not send. A reply from the cache may tell of their refusal
            in an earlier run that sent them.
    """
    changed: dict[str, dict[str, str]] = {}
    inputs: dict[str, list[InputCount]] = {}
    for record in records:
        for stage, replies in record.replies.items():
            for reply in replies:
                changes = reply.metadata.get(CHANGED_PARAMETERS, {})
                unsent = taken_out.get(stage, ())
                changed.setdefault(stage, {}).update({name: to for name, to in changes.items() if name not in unsent})
                usage = reply.usage
                if usage.sent:
                    place = (record.sample.id, record.repeat)
                    count = InputCount(stage, place, usage.sent, usage.input_tokens, usage.dense)
                    inputs.setdefault(str(reply.metadata.get("model", "")), []).append(count)
    cut = [field_values(finding) for calls in inputs.values() for finding in cut_inputs(calls)]
    changed = {stage: changes for stage, changes in changed.items() if changes}
    return ({"cut_inputs": cut} if cut else {}) | ({"changed_parameters": changed} if changed else {})
