"""The review queue of an exam on a terminal, and as a sheet that a person fills in."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from steelyard.cli.samples import in_short
from steelyard.cli.tables import console, print_json, say
from steelyard.errors import ConfigError
from steelyard.report.numbers import counted
from steelyard.store import Run
from steelyard.store.queue import Queued, queue_of
from steelyard.store.verdicts import ANSWER, NO_OPTION, Place
from steelyard.text.inert import cell_text, csv_cell
from steelyard.types import Label

COLUMNS: Final = ("run", "sample", "repeat", "why", "read", "context", "question", "options", "reply", "verdict")
"""Of the sheet; `key` stands before `verdict` where it is shown."""
_MOST_SHOWN: Final = 200
"""Characters of a question or an option on a terminal."""


def queue_score(run: Run) -> str:
    """The exam score whose queue is shown.

    Raises:
        ConfigError: no scorer of the run gives letters.
    """
    exams = list(run.manifest.get("exam", ()))
    if not exams:
        raise ConfigError(
            f"run {run.id} ({run.target}) is no exam, so there are no letters to review; --model NAME or "
            "--model-config FILE lets a model say why its samples failed"
        )
    return str(exams[0])


def show_queue(run: Run, *, most: int, show_key: bool, as_json: bool, csv: Path | None) -> None:
    """List the replies whose reading a person should look at, in order of samples.

    Args:
        run: of an exam.
        most: on a terminal at most so many.
        show_key: with the right answer; hidden by default, as whoever knows it reads it into the reply.
        as_json: all of them as JSON.
        csv: all of them into this file, with a column for the verdict.
    """
    said = _said(run.remarks().labels)
    queue = list(queue_of(run, queue_score(run)))
    if csv is not None:
        _write(csv, _lines(run, queue, said, show_key=show_key))
        say(console(stderr=True), f"wrote {csv}: {counted(len(queue), 'reply')}")
    if as_json:
        print_json([_plain(one, said, show_key=show_key) for one in queue])
    elif csv is None:
        _print(run, queue, said, most=most, show_key=show_key)
    else:
        say(console(), f"fill its column `verdict`, then: steelyard label {run.id} --from {shlex.quote(str(csv))}")


def _said(labels: Sequence[Label]) -> dict[Place, dict[str, str]]:
    """(sample, repeat) -> author -> verdict."""
    found: dict[Place, dict[str, str]] = {}
    for one in labels:
        if one.name == ANSWER:
            found.setdefault((one.sample, one.repeat), {})[one.author] = cell_text(one.value)
    return found


def _place(one: Queued) -> Place:
    return one.record.sample.id, one.record.repeat


def _plain(one: Queued, said: dict[Place, dict[str, str]], *, show_key: bool) -> dict[str, Any]:
    sample, repeat = _place(one)
    about = {"sample": sample, "repeat": repeat, "why": one.kind, "read": one.answered.letters, "context": one.context}
    key = {"key": one.answered.wanted} if show_key else {}
    return {**about, "span": list(one.span) if one.span else None, **key, "verdicts": said.get(_place(one), {})}


def _print(run: Run, queue: Sequence[Queued], said: dict[Place, dict[str, str]], *, most: int, show_key: bool) -> None:
    to = console()
    if not queue:
        say(to, f"run {run.id} ({run.target}): no reply needs a person's eye")
        return
    unseen = sum(_place(one) not in said for one in queue)
    say(to, f"run {run.id} ({run.target}): {counted(len(queue), 'reply')} to review, {unseen:,} without a verdict")
    to.print()
    before = ""
    for one in queue[:most]:
        say(to, _head(one, said.get(_place(one), {}), show_key=show_key))
        if one.record.sample.id != before:
            for line in _asked(one):
                say(to, f"    {line}")
        before = one.record.sample.id
        say(to, f"    reply: {one.context or '(empty)'}")
    if len(queue) > most:
        say(to, f"and {len(queue) - most:,} more: --most {len(queue)} lists all, --csv FILE writes them")
    first = queue[0].record.sample.id
    say(to, f"more: steelyard label {run.id} {shlex.quote(first)} B --author NAME")


def _head(one: Queued, verdicts: dict[str, str], *, show_key: bool) -> str:
    """One reply on a line: which, why it is here, what was read, what people say."""
    sample, repeat = _place(one)
    parts = [sample + (f" repeat {repeat}" if repeat else ""), one.kind]
    parts += [f"read {one.answered.letters}"] if one.answered.letters else []
    parts += [f"key {one.answered.wanted}"] if show_key else []
    parts += [f"{author} says {value or NO_OPTION}" for author, value in verdicts.items()]
    return ", ".join(parts)


def _asked(one: Queued) -> Iterator[str]:
    """The question and its options as they were shown, which a person needs to say what the reply gives."""
    sample = one.record.sample
    yield in_short(sample.input, _MOST_SHOWN)
    for at, text in enumerate(sample.choices):
        yield f"{chr(ord('A') + at)}. {in_short(text, _MOST_SHOWN)}"


def _lines(
    run: Run, queue: Sequence[Queued], said: dict[Place, dict[str, str]], *, show_key: bool
) -> Iterator[list[Any]]:
    """Rows of the sheet, its header first; a verdict that all agree on stands there already."""
    yield [*COLUMNS[:-1], *(["key"] if show_key else []), COLUMNS[-1]]
    for one in queue:
        sample = one.record.sample
        options = "\n".join(f"{chr(ord('A') + at)}. {text}" for at, text in enumerate(sample.choices))
        verdicts = {value or NO_OPTION for value in said.get(_place(one), {}).values()}
        key = [one.answered.wanted] if show_key else []
        verdict = verdicts.pop() if len(verdicts) == 1 else ""
        about = [run.id, *_place(one), one.kind, one.answered.letters, one.context]
        yield [*about, cell_text(sample.input), options, one.reply, *key, verdict]


def _write(path: Path, rows: Iterator[list[Any]]) -> None:
    import io
    from csv import writer

    from steelyard.cli.outcome import write

    buffer = io.StringIO(newline="")
    lines = writer(buffer)
    for row in rows:
        lines.writerow([csv_cell(value) for value in row])
    write(path, "\ufeff" + buffer.getvalue())
