"""The command `label`: stores people's verdicts on records from a filled-in sheet or an export of labels."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from steelyard.analysis.label_forms import LabelForm, counted_forms, label_form
from steelyard.analysis.numbers import count_text
from steelyard.cli.options import JsonOption, LabelKindOption, LabelScoreOption, RunArgument, StoreOption, named_run
from steelyard.errors import ConfigError, DataError
from steelyard.people.labels import add_labels
from steelyard.people.queues import checked_rater
from steelyard.people.review import GivenBy, read_sheet, verdict_labels
from steelyard.people.sheets import REQUIRED, read_labels, table_rows
from steelyard.report.render.terminal import console, print_json, say
from steelyard.store import Run, Store
from steelyard.types import Label


def label(
    run: RunArgument,
    *,
    from_file: Annotated[
        Path,
        typer.Option(
            "--from",
            metavar="FILE",
            help="A filled-in CSV of review --csv, or a file of export --labels.",
            show_default=False,
        ),
    ],
    author: Annotated[
        str, typer.Option("--author", metavar="NAME", help="Who gives the verdicts; required for a sheet.")
    ] = "",
    kind: LabelKindOption = "",
    score: LabelScoreOption = "",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Store people's verdicts on records from a sheet.

    The kind of verdict follows the score: letters for an exam, pass or fail, a rating, or A, B or tie for a pair. A
    sheet needs only the columns sample and verdict; one with a mistake is rejected as a whole. Records are labelled
    one by one in the browser (steelyard queue create). No score changes; --with-labels counts labels, in every run
    alike.
    """
    with Store(store) as opened:
        stored = named_run(opened, run)
        form = label_form(stored.manifest, stored.score_infos, score=score, kind=kind)
        labels = _read(stored, form, from_file, author)
        written = add_labels(opened, stored, labels)
    authors = " and ".join(dict.fromkeys(entry.author for entry in labels))
    if as_json:
        counts = {"run": stored.id, "given": len(labels), "written": written, "author": authors}
        print_json({**counts, "kind": form.kind, "name": form.name, "counted": form.counted})
        return
    _print_result(stored, form, (labels, written), authors)


def _read(run: Run, form: LabelForm, path: Path, author: str) -> list[Label]:
    """The labels of an export, or of a sheet that `author` filled in."""
    try:
        next(table_rows(path, REQUIRED, ""), None)
    except DataError:  # a sheet of `review --csv` has other columns
        if not author.strip():
            raise ConfigError("--author NAME is missing: reports name the author of a verdict") from None
        given = GivenBy(checked_rater(author), datetime.now(UTC))
        return verdict_labels(run, read_sheet(run, path), form, given)
    return read_labels(run, path)


def _print_result(run: Run, form: LabelForm, stored: tuple[Sequence[Label], int], authors: str) -> None:
    labels, written = stored
    same = f"; {count_text(len(labels) - written, 'verdict')} stored already" if written < len(labels) else ""
    say(console(), f"run {run.id} ({run.target}): {count_text(written, 'verdict')} by {authors} stored{same}")
    if about := _counted_scores(run, form, labels):
        say(console(), f"about {', '.join(about)}: --with-labels counts {'it' if len(about) == 1 else 'them'}")
    if not form.counted and form.kind != "text" and any(entry.name == form.name for entry in labels):
        # so that nobody expects a rate to change
        uncounted = f"labels named {form.name} are stored and exported; no score of this run counts them"
        say(console(), f"{uncounted} (--score NAME names one)")


def _counted_scores(run: Run, form: LabelForm, labels: Sequence[Label]) -> list[str]:
    """The scores that count the labels; labels from a file may belong to other scores than `form`."""
    forms = counted_forms(run.manifest, run.score_infos) | ({form.name: form} if form.counted else {})
    names = dict.fromkeys(label.name for label in labels)
    return [name for name in names if name in forms and forms[name].kind != "choice"]
