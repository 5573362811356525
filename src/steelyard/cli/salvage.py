"""`export --salvage`: saves the readable part of a damaged store and lists what is lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from steelyard.cli.output import BROKEN
from steelyard.errors import ConfigError
from steelyard.escaping import json_line
from steelyard.files import file_errors, make_private_folder, open_private
from steelyard.report.exports.records import plain_record
from steelyard.report.render.terminal import console, print_data, say
from steelyard.store import Run
from steelyard.store.database.address import Address, locate
from steelyard.store.database.sqlite_locks import is_locked
from steelyard.store.labels import by_record
from steelyard.store.records import DAMAGED
from steelyard.store.repair import Salvaged, salvage

_MOST_NAMED: Final = 20


@dataclass(slots=True)
class _SavedRun:
    """How much of one run was saved."""

    intact: int = 0
    damaged: list[str] = field(default_factory=list)
    missing: int = 0
    unchanged: bool | None = None

    @property
    def is_complete(self) -> bool:
        """Whether every record was saved as it was stored."""
        return not self.damaged and not self.missing and self.unchanged is not False


def save(names: Sequence[str], store: str | None, out: Path | None) -> int:
    """Save the readable part of a damaged store and list on standard error what is lost; returns the exit code.

    Args:
        names: names of runs; empty for all.
        store: the damaged store.
        out: a file of JSON lines, or a new store if its suffix is `.db`; None for JSON lines on standard output.

    Raises:
        ConfigError: there is no such store or run, or the file cannot be written.
        StoreError: nothing of the store can be read.
    """
    where = locate(store)
    if isinstance(where, Address):
        raise ConfigError(
            "--salvage reads SQLite files only; export without it reads a store on a server record by record"
        )
    if out is not None and _is_store(out) and out.exists():
        raise ConfigError(f"{out} exists already; name another file with --out")
    with TemporaryDirectory(prefix="steelyard-salvage-") as folder:
        salvaged = salvage(where, Path(folder))
        try:
            runs = [salvaged.store.run(name) for name in names] or salvaged.store.runs()[::-1]
            with _lines_to(out) as write:
                counts = {run: _save_run(salvaged, run, write) for run in runs}
        finally:
            salvaged.store.close()
        if out is not None and _is_store(out):
            with Path(salvaged.store.path).open("rb") as source, open_private(out, "xb") as target:
                shutil.copyfileobj(source, target)
    salvaged.rows.notes += [
        f"run {run.id} is still running: the store was copied while it was written; salvage again after its end"
        for run in counts
        if is_locked(where, run.id)
    ]
    complete = _print_result(salvaged, counts, out)
    return 0 if complete else BROKEN


@contextmanager
def _lines_to(out: Path | None) -> Iterator[Callable[[str], object]]:
    """A function that writes a line: to a file, to standard output, or nowhere if `out` is a store."""
    if out is None:
        yield lambda line: print_data([line])
    elif _is_store(out):
        yield lambda _: None
    else:
        with file_errors(out, "written"):
            make_private_folder(out.parent)
            with open_private(out, "w", encoding="utf-8", errors="replace", newline="") as file:
                yield file.write


def _save_run(salvaged: Salvaged, run: Run, write: Callable[[str], object]) -> _SavedRun:
    count = _SavedRun(unchanged=salvaged.is_unchanged(run))
    head = {"run": run.id, "target": run.target, "tags": dict(run.tags)}
    labels = by_record(run.remarks().labels)
    for record in salvaged.records(run):
        if record.failure is not None and record.failure.kind == DAMAGED:
            count.damaged.append(record.failure.message)
        else:
            count.intact += 1
        write(json_line(head | plain_record(record, labels.get((record.sample.id, record.repeat), ()))) + "\n")
    count.missing = max(0, run.done - count.intact - len(count.damaged))
    return count


def _print_result(salvaged: Salvaged, counts: dict[Run, _SavedRun], out: Path | None) -> bool:
    """Print what was saved and every record that was not; returns whether nothing is missing."""
    to = console(stderr=True)
    lines = [f"note: {note}" for note in salvaged.rows.notes]
    for run, count in counts.items():
        lines += _run_lines(run, count)
    runs_lost = "run" in salvaged.rows.gaps
    if runs_lost:
        lines.append("part of the table of runs is lost: a run without its row is named run-NUMBER")
    complete = bool(counts) and not runs_lost and all(count.is_complete for count in counts.values())
    if not counts:
        lines.append("no run could be read")
    if not complete and not _is_store(out):
        lines.append("--out NEW.db writes a new store instead; a run on it pays only for missing replies")
    if out is not None:
        lines.append(f"wrote {out}")
    for line in lines:
        say(to, line)
    return complete


def _run_lines(run: Run, count: _SavedRun) -> Iterator[str]:
    n = count.intact + len(count.damaged)
    parts = [f"{n + count.missing} records, {count.intact} intact"]
    parts += [f"{len(count.damaged)} damaged, saved in part"] if count.damaged else []
    parts += [f"{count.missing} missing"] if count.missing else []
    yield f"run {run.id} ({run.target.strip('()')}): {', '.join(parts)}"
    reasons = {line.rpartition(": ")[2] for line in count.damaged}
    if len(reasons) == 1 and len(count.damaged) > 1:
        yield f"  each of these: {reasons.pop()}"
    else:
        yield from (f"  {line}" for line in count.damaged[:_MOST_NAMED])
        if len(count.damaged) > _MOST_NAMED:
            yield f"  and {len(count.damaged) - _MOST_NAMED} more: their failure has the kind `damaged`"
    if count.unchanged is False:
        yield "  its checksum does not match: rows are missing, or a number in one of them has changed"


def _is_store(out: Path | None) -> bool:
    return out is not None and out.suffix == ".db"
