"""Commands that read the store: `runs`, `show`, `compare`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from steelyard.cli.options import (
    HtmlOption,
    JsonOption,
    MarkdownOption,
    RunArgument,
    RunsArgument,
    ScoreOption,
    StoreOption,
    WithLabelsOption,
)
from steelyard.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from steelyard.store import Run
    from steelyard.types import Label, Record

    _Labels = Mapping[tuple[str, int], Sequence[Label]]


def runs(
    store: StoreOption = None,
    last: Annotated[int, typer.Option("--last", "-n", metavar="N", help="Only the newest so many.", min=1)] = 20,
    as_json: JsonOption = False,
) -> None:
    """List the runs in the store, newest first."""
    from steelyard.cli.tables import console, print_json, table
    from steelyard.store import Store

    with Store(store) as opened:
        everything = opened.runs()
    shown = everything[:last]
    if as_json:
        print_json([_row(one) for one in shown])
        return
    rows = [
        [
            one.id,
            one.created.strftime("%Y-%m-%d %H:%M"),
            one.suite,
            one.target,
            _state(one),
            f"{one.done}/{one.planned}",
            str(one.errors),
        ]
        for one in shown
    ]
    to = console()
    columns = ["run", "started (UTC)", "suite", "target", "state", "done", "errors"]
    to.print(table(columns, rows, right=(5, 6), elastic=3))
    if len(everything) > len(shown):
        to.print(f"and {len(everything) - len(shown)} older ones: --last {len(everything)} shows all")


def show(
    run: RunArgument,
    sample: Annotated[str, typer.Argument(metavar="[SAMPLE]", help="Show only this sample, by its id.")] = "",
    store: StoreOption = None,
    only: Annotated[
        str,
        typer.Option(
            "--only", metavar="KIND", help="List samples: wrong, unparsed, refused, not-applicable, errors or all."
        ),
    ] = "",
    most: Annotated[int, typer.Option("--most", "-n", metavar="N", help="List at most so many samples.", min=1)] = 10,
    with_labels: WithLabelsOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show one run: its rate, its categories, what could not be read.

    What people noted of the run stands below; samples are listed with what a review said of them.
    """
    from steelyard.cli.notes import plain_note, print_notes
    from steelyard.cli.outcome import print_outcome, say_unfinished, weigh
    from steelyard.cli.tables import print_json
    from steelyard.store import Store
    from steelyard.store.labelled import LabelledRun
    from steelyard.store.labels import by_record

    if only and only not in _KINDS:
        raise ConfigError(f"--only {only!r}{did_you_mean(only, _KINDS)}")
    with Store(store) as opened:
        found = LabelledRun.of(opened.run(run)) if with_labels else opened.run(run)
        if not only and not sample:
            outcome = weigh([found], store=store, with_labels=with_labels)
            notes = found.remarks().notes
            if as_json:
                about = {"reason": found.reason, "notes": [plain_note(one) for one in notes], **outcome.preferred()}
                print_json({**outcome.summaries[0].to_json(), **about, "manifest": found.manifest})
            else:
                print_outcome(replace(outcome, in_full=True), as_json=False)
                print_notes(notes)
            return
        say_unfinished(found)
        wanted = _Wanted(only or "all", most, sample)
        if as_json:
            labels = by_record(found.remarks().labels)
            print_json([_plain(record, labels) for record in _listed(found, wanted)])
        else:
            _print_samples(found, wanted)


def compare(
    run: RunsArgument,
    store: StoreOption = None,
    score: ScoreOption = None,
    level: Annotated[float, typer.Option("--level", metavar="LEVEL", help="Confidence level, between 0 and 1.")] = 0.95,
    align: Annotated[
        str,
        typer.Option(
            "--align",
            metavar="BY",
            help="Pair samples by id, by content, or by a key of their metadata; by default by id, and by content "
            "where hardly any id is shared.",
        ),
    ] = "",
    group: Annotated[
        list[str] | None, typer.Option("--group", metavar="NAME", help="Only samples of this group; may be repeated.")
    ] = None,
    with_labels: WithLabelsOption = False,
    as_json: JsonOption = False,
    html: HtmlOption = None,
    markdown: MarkdownOption = None,
) -> None:
    """Compare runs with the first and say what may be concluded.

    Every score that both runs have is compared over the samples of both, and so are time, calls and tokens.
    """
    from steelyard.cli.outcome import check_pages, print_outcome, weigh, write_pages
    from steelyard.store import Store

    if len(run) < 2:
        raise ConfigError("compare takes two runs or more; the first is the baseline")
    if not 0 < level < 1:
        raise ConfigError(f"--level {level:g}: a confidence level lies between 0 and 1 (0.95 for 95 %)")
    check_pages(html, markdown)
    comparing = {"level": level, "align_by": align, "groups": tuple(group or ())}
    with Store(store) as opened:
        runs = [opened.run(name) for name in run]
        _check_comparable(runs)
        outcome = weigh(runs, store=store, score=score, gated=False, with_labels=with_labels, **comparing)
        if outcome.comparison is None:
            raise ConfigError("one of these runs has no scores, so there is nothing to compare: see steelyard runs")
        print_outcome(outcome, as_json=as_json, detailed=True, reported=html is not None)
        write_pages(outcome, html=html, markdown=markdown)


def _check_comparable(runs: Sequence[Run]) -> None:
    """Refuse runs without scores of their own, and judging runs that have nothing in common.

    Raises:
        ConfigError: which ones, and where what was preferred is told.
    """
    from steelyard.compare.preferences import is_judging, only_answers, sides_of

    answering = [f"{one.id} ({one.target})" for one in runs if only_answers(one.manifest)]
    if answering:
        raise ConfigError(
            f"{' and '.join(answering)} only gave answers, which another run judged, so there are no scores to "
            "compare: steelyard runs lists the judging run, and steelyard show RUN says which is preferred"
        )
    judging = [one for one in runs if is_judging(one.manifest)]
    if not judging:
        return
    if len(judging) < len(runs):
        other = next(one for one in runs if one not in judging)
        raise ConfigError(
            f"{judging[0].id} ({judging[0].target}) judges pairs of answers and {other.id} ({other.target}) does not: "
            "compare judging runs with each other, and runs with scores with each other"
        )
    firsts, seconds = (set(side) for side in zip(*(sides_of(one.manifest) for one in judging), strict=True))
    if len(firsts) > 1 and len(seconds) > 1:
        raise ConfigError(
            f"{' and '.join(f'{one.id} ({one.target})' for one in judging)} share neither side, so their preferences "
            "cannot be held against each other: steelyard report shows several pairs and ranks their targets"
        )


_KINDS: Final = ("wrong", "unparsed", "refused", "not-applicable", "errors", "all")


def _state(run: Run) -> str:
    """A run that ended before its last sample was stopped by its own rule, or by that of the pairs it answers for."""
    return "stopped early" if run.state == "finished" and run.done < run.planned else run.state


def _row(run: Run) -> dict[str, Any]:
    names = ("id", "suite", "kind", "target", "state", "reason", "planned", "done", "errors", "from_journal", "seconds")
    created = run.created.isoformat(timespec="seconds")
    return {**{name: getattr(run, name) for name in names}, "created": created, "tags": dict(run.tags)}


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Which records are listed: their kind, how many, and of which sample ("" is any)."""

    only: str
    most: int
    sample: str = ""


def _listed(run: Run, wanted: _Wanted) -> Iterator[Record]:
    """The first records of a kind.

    Raises:
        ConfigError: the run has no such sample.
    """
    if wanted.sample and wanted.sample not in (known := run.sample_hashes()):
        near = did_you_mean(wanted.sample, known)
        raise ConfigError(f"run {run.id} has no sample {wanted.sample!r}{near if near.startswith(':') else ''}")
    given = 0
    for record in run.records():
        if wanted.sample not in {"", record.sample.id}:
            continue
        if wanted.only == "all" or wanted.only in _kinds_of(record):
            yield record
            given += 1
            if given == wanted.most:
                return


def _kinds_of(record: Record) -> set[str]:
    kinds = {one.outcome.replace("_", "-") for one in record.scores if one.outcome != "scored"}
    wrong = {"wrong" for one in record.scores if one.outcome == "scored" and one.passed is False}
    return {*kinds, *wrong, *({"errors"} if record.failure else ())}


def _plain(record: Record, labels: _Labels) -> dict[str, Any]:
    from steelyard.report.export import plain_record

    return plain_record(record, labels.get((record.sample.id, record.repeat), ()))


def _print_samples(run: Run, wanted: _Wanted) -> None:
    from steelyard.cli.notes import label_line
    from steelyard.cli.samples import sample_lines
    from steelyard.cli.tables import console, say
    from steelyard.store.labels import by_record

    to = console()
    none = True
    labels = by_record(run.remarks().labels)
    for record in _listed(run, wanted):
        if not none:
            to.print()
        none = False
        for line in sample_lines(record):
            say(to, line)
        for one in labels.get((record.sample.id, record.repeat), ()):
            say(to, label_line(one))
    if none:
        say(to, _why_none(run, wanted.only))


def _why_none(run: Run, only: str) -> str:
    """Why nothing is listed; that no sample is wrong is said only where one could have been."""
    if only == "all":
        return "this run has no records"
    nothing = f"no sample of run {run.id} ({run.target}) is {only}"
    if only != "wrong":
        return nothing
    telling = dict.fromkeys(score.name for one in run.records() for score in one.scores if score.passed is not None)
    if telling:
        return f"{nothing}; right or wrong is said by {', '.join(telling)} alone"
    return f"{nothing}: none of its scores tells right from wrong, as none has a threshold; --only all lists samples"
