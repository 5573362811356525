"""Looking after a store: `verify` says whether it is sound, `delete` takes runs out of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Final

import typer

from steelyard.cli.options import JsonOption, StoreOption
from steelyard.errors import ConfigError

if TYPE_CHECKING:
    from steelyard.store import Run, Store
    from steelyard.store.damage import Verdict
    from steelyard.store.remove import Removal

_DAMAGED: Final = 4
_MOST_SHOWN: Final = 20
_MOST_DAYS: Final = 36_500


def verify(
    run: Annotated[
        str, typer.Argument(metavar="[RUN]", help="Look at this run alone, with its samples and replies.")
    ] = "",
    *,
    deep: Annotated[bool, typer.Option("--deep", help="Hold indexes against their tables too; takes longer.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> int:
    """Find out whether a store is damaged.

    Everything is read, unpacked, counted again and held against its check sums; nothing is changed. Exit code 4 where
    something is wrong.
    """
    from steelyard.cli.tables import console, print_json, say
    from steelyard.store import Store
    from steelyard.store.verify import verify as look

    with Store(store) as opened:
        verdict = look(opened, opened.run(run) if run else None, deep=deep)
        if as_json:
            print_json({"store": str(opened.path), **verdict.to_json()})
        else:
            to = console()
            for line in _verdict_lines(verdict, str(opened.path)):
                say(to, line)
    return 0 if verdict.is_sound else _DAMAGED


def _verdict_lines(verdict: Verdict, where: str) -> Iterator[str]:
    yield f"{where} is {'sound' if verdict.is_sound else 'DAMAGED'}"
    yield "looked at: " + ", ".join(f"{count:,} {what}" for what, count in verdict.counts.items() if count)
    for note in verdict.notes:
        yield f"note: {note}"
    if verdict.found:
        yield f"{verdict.found:,} thing{'s are' if verdict.found > 1 else ' is'} wrong:"
    for one in verdict.damages[:_MOST_SHOWN]:
        yield f"  {one}"
    if verdict.found > _MOST_SHOWN:
        yield f"  and {verdict.found - _MOST_SHOWN:,} more: --json lists up to a thousand"


def delete(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN...]", help="Runs: ids, beginnings of ids, targets' names, or 'latest'."),
    ] = None,
    older_than: Annotated[
        int | None,
        typer.Option("--older-than", metavar="DAYS", min=0, max=_MOST_DAYS, help="All runs begun before so many days."),
    ] = None,
    replies: Annotated[
        bool, typer.Option("--replies", help="Also the replies that only these runs used; asking again is paid again.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take runs out of the store, with all that belongs to them.

    Scores, samples, labels and notes go too, all of them or none. Replies stay in the journal unless --replies is
    given, and what was spent stays counted.
    """
    from steelyard.cli.tables import console, print_json, say
    from steelyard.store import Store
    from steelyard.store.remove import delete_runs, what_goes

    with Store(store) as opened:
        found = _chosen(opened, runs or [], older_than)
        to = console(stderr=as_json)
        for line in _going(found, what_goes(opened, found), replies=replies):
            say(to, line)
        if found and not yes:
            _ask()
        gone = delete_runs(opened, found, replies=replies) if found else what_goes(opened, found)
    if as_json:
        print_json({"deleted": [one.id for one in found], **gone.to_json()})
    elif found:
        say(to, "deleted. The space is filled again by later runs; docs/store.md says how to shrink a store")


def _chosen(store: Store, names: Sequence[str], older_than: int | None) -> list[Run]:
    """The runs that were named, or that are old enough; each once.

    Raises:
        ConfigError: neither or both was said, or a name means no run.
    """
    if bool(names) == (older_than is not None):
        raise ConfigError("name the runs to delete, or give --older-than DAYS")
    if older_than is None:
        return list({run.id: run for run in map(store.run, names)}.values())
    before = datetime.now(UTC) - timedelta(days=older_than)
    return [run for run in store.runs() if run.created < before]


def _going(runs: Sequence[Run], removal: Removal, *, replies: bool) -> Iterator[str]:
    if not runs:
        yield "no run is that old; nothing was deleted"
        return
    for run in runs:
        yield f"run {run.id}: {run.suite}, {run.target}, {run.state}, {run.done} records, {run.created:%Y-%m-%d %H:%M}"
    counts = {name: count for name, count in removal.to_json().items() if name not in {"runs", "replies"} and count}
    yield "goes with " + (", ".join(f"{count:,} {name}" for name, count in counts.items()) or "nothing else")
    if removal.replies:
        what = "go too: asking the same again is paid again" if replies else "stay in the journal (--replies)"
        yield f"{removal.replies:,} replies that no other run uses {what}"


def _ask() -> None:
    if not sys.stdin.isatty():
        raise ConfigError("nobody can be asked here: --yes deletes without asking")
    if not typer.confirm("Delete this?"):
        raise typer.Abort
