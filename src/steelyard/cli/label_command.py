"""The command `label`: stores people's verdicts on records, for one record, interactively, or from a file."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from steelyard.cli.options import (
    JsonOption,
    LabelKindOption,
    LabelScoreOption,
    OrderSeedOption,
    RunArgument,
    StoreOption,
    named_run,
)
from steelyard.errors import ConfigError

if TYPE_CHECKING:
    from steelyard.analysis.label_forms import LabelForm
    from steelyard.report.review_sheet import ReviewView, TypedVerdict
    from steelyard.store import Run, Store
    from steelyard.store.review import ReviewEntry
    from steelyard.types import Label

_COMMENT: Final = "#"
"""Starts a comment in place of a verdict."""
_KEYS: Final = "Enter skips, # TEXT comments, back goes back, q ends"


@dataclass(frozen=True, slots=True)
class _Request:
    """A request to label: which run and records, which kind of label, which author."""

    sample: str
    value: str
    author: str
    repeat: int
    withdraw: bool
    comment: str
    from_file: Path | None
    everything: bool
    seed: int

    @property
    def is_single(self) -> bool:
        """Whether the arguments label one record."""
        return bool(self.sample)

    def check(self) -> None:
        """Reject arguments that are incomplete or contradict each other.

        Raises:
            ConfigError: what is missing.
        """
        if self.author.startswith("model:"):
            raise ConfigError(
                f"--author {self.author}: the author is a person; names that begin with model: are reserved for models"
            )
        verdicts = [bool(self.value), self.withdraw]
        fits_single = sum(verdicts) == 1 or (not any(verdicts) and bool(self.comment))
        fits_file = not (self.sample or self.withdraw or self.comment)
        if (self.is_single and (not fits_single or self.from_file)) or (self.from_file and not fits_file):
            raise _incomplete()
        if not self.is_single and not self.from_file and (self.withdraw or self.comment or not sys.stdin.isatty()):
            raise _incomplete()


def _incomplete() -> ConfigError:
    return ConfigError(
        "type the sample and the verdict on it (steelyard label RUN q7 B --author NAME), --withdraw in place of the "
        "verdict, or --from FILE alone; without a sample, records are shown one by one on a terminal"
    )


def label(
    run: RunArgument,
    sample: Annotated[str, typer.Argument(metavar="SAMPLE", help="The sample's id.")] = "",
    value: Annotated[
        str,
        typer.Argument(
            metavar="VERDICT",
            help="The verdict: letters (B, AC, none), pass or fail, a number, A, B or tie, or a text.",
            show_default=False,
        ),
    ] = "",
    author: Annotated[str, typer.Option("--author", metavar="NAME", help="Who gives the verdict; required.")] = "",
    kind: LabelKindOption = "",
    score: LabelScoreOption = "",
    repeat: Annotated[int, typer.Option("--repeat", metavar="N", help="Which repeat, from 0.", min=0)] = 0,
    comment: Annotated[str, typer.Option("--comment", metavar="TEXT", help="A remark, stored as its own label.")] = "",
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Withdraw the author's verdict on the record.")] = False,
    from_file: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="A filled-in CSV of review --csv, or a file of export --labels."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="One by one: show every record, not only those that need review.")
    ] = False,
    seed: OrderSeedOption = 0,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Store a person's verdict on a record.

    The kind of verdict follows the score: letters for an exam, pass or fail, a rating, or A, B or tie for a pair, whose
    answers are shown without names in a random order. Without a sample, the records that need review are shown one by
    one. No score changes; --with-labels counts labels, in every run alike.
    """
    from steelyard.analysis.label_forms import label_form
    from steelyard.report.render.terminal import print_json
    from steelyard.store import Store

    request = _Request(sample, value, author, repeat, withdraw, comment, from_file, everything, seed)
    request.check()
    is_export = from_file is not None and not _is_sheet(from_file)
    if not author.strip() and not is_export:
        raise ConfigError("--author NAME is missing: reports name the author of a verdict")
    with Store(store) as opened:
        stored = named_run(opened, run)
        form = label_form(stored.manifest, stored.score_infos, score=score, kind=kind)
        if not request.is_single and from_file is None:
            _label_one_by_one(opened, stored, form, request)
            return
        labels, written = _store_labels(opened, stored, form, request, is_export=is_export)
    authors = list(dict.fromkeys(entry.author for entry in labels))
    if as_json:
        counts = {"run": stored.id, "given": len(labels), "written": written, "author": " and ".join(authors)}
        print_json({**counts, "kind": form.kind, "name": form.name, "counted": form.counted})
        return
    _print_result(stored, form, (labels, written), authors)


def _print_result(run: Run, form: LabelForm, stored: tuple[Sequence[Label], int], authors: Sequence[str]) -> None:
    from steelyard.analysis.numbers import count_text
    from steelyard.report.render.terminal import console, say

    labels, written = stored
    same = f"; {count_text(len(labels) - written, 'verdict')} stored already" if written < len(labels) else ""
    who = " and ".join(authors)
    say(console(), f"run {run.id} ({run.target}): {count_text(written, 'verdict')} by {who} stored{same}")
    if about := _counted_scores(run, form, labels):
        say(console(), f"about {', '.join(about)}: --with-labels counts {'it' if len(about) == 1 else 'them'}")
    if note := _uncounted_note(form, labels):
        say(console(), note)


def _counted_scores(run: Run, form: LabelForm, labels: Sequence[Label]) -> list[str]:
    """The scores that count the labels; labels from a file may belong to other scores than `form`."""
    from steelyard.analysis.label_forms import counted_forms

    forms = counted_forms(run.manifest, run.score_infos) | ({form.name: form} if form.counted else {})
    names = dict.fromkeys(label.name for label in labels)
    return [name for name in names if name in forms and forms[name].kind != "choice"]


def _uncounted_note(form: LabelForm, labels: Sequence[Label]) -> str:
    """A note if no score counts the labels, so that nobody expects a rate to change; else ""."""
    if form.counted or form.kind == "text" or not any(entry.name == form.name for entry in labels):
        return ""
    return (
        f"labels named {form.name} are stored and exported; no score of this run counts them (--score NAME names one)"
    )


def _is_sheet(path: Path) -> bool:
    """Whether a file is a sheet of `review --csv` and not an export of labels."""
    from steelyard.errors import DataError
    from steelyard.report.label_files import REQUIRED
    from steelyard.report.review_sheet import table_rows

    try:
        next(table_rows(path, REQUIRED, ""), None)
    except DataError:
        return True
    return False


def _store_labels(
    store: Store, run: Run, form: LabelForm, request: _Request, *, is_export: bool
) -> tuple[Sequence[Label], int]:
    """Store the labels of the arguments or of a file; returns them, and how many of them were new."""
    from steelyard.report.label_files import read_labels
    from steelyard.report.review_sheet import GivenBy, read_sheet, verdict_labels
    from steelyard.store.labels import add_labels

    labels: Sequence[Label]
    if is_export and request.from_file:
        labels = read_labels(run, request.from_file)
    else:
        origin = GivenBy(request.author, datetime.now(UTC))
        typed = read_sheet(run, request.from_file) if request.from_file else [_typed(request)]
        labels = verdict_labels(run, typed, form, origin)
    return labels, add_labels(store, run, labels)


def _typed(request: _Request) -> TypedVerdict:
    from steelyard.report.review_sheet import TypedVerdict

    value = None if request.withdraw else request.value
    return TypedVerdict(request.sample, request.repeat, value, comment=request.comment, seed=request.seed)


def _label_one_by_one(store: Store, run: Run, form: LabelForm, request: _Request) -> None:
    """Show records and ask for verdicts; each is on disk before the next record is shown."""
    from steelyard.analysis.numbers import count_text
    from steelyard.report.render.terminal import console, say
    from steelyard.report.review_sheet import ReviewView, author_verdicts
    from steelyard.store.review import review_entries

    to = console()
    verdicts = author_verdicts(run.labels(), form)
    entries = [
        entry
        for entry in review_entries(run, everything=request.everything)
        if request.author not in verdicts.get(entry.key, {})
    ]
    if not entries:
        more = "" if request.everything else "; --all shows every record"
        say(to, f"run {run.id} ({run.target}): no record left for {request.author} to label{more}")
        return
    say(to, f"run {run.id} ({run.target}): {count_text(len(entries), 'record')} to label. {_KEYS}.")
    # Other people's verdicts and the right answer of an exam are hidden, because they would influence the verdict.
    session = _Labelling(store, run, ReviewView(form, {}, seed=request.seed, full=True), request.author)
    try:
        session.go_through(entries)
    finally:
        say(to, f"{count_text(session.written, 'label')} by {request.author} stored")
        if not form.counted and session.written:
            say(to, f"no score of this run counts labels named {form.name}")


class _Labelling:
    """A dialogue in which one person labels the records of a run one by one; it counts the labels written."""

    def __init__(self, store: Store, run: Run, view: ReviewView, author: str) -> None:
        self._store = store
        self._run = run
        self._view = view
        self._author = author
        self.written = 0

    def go_through(self, entries: Sequence[ReviewEntry]) -> None:
        """Ask for each record until all are labelled or the person ends."""
        from steelyard.report.render.terminal import console, say

        to, index = console(), 0
        while index < len(entries):
            to.print()
            say(to, f"{index + 1} of {len(entries)}: {entries[index].record.sample.id}")
            for line in _shown_lines(entries[index], self._view):
                say(to, line)
            answer = self._ask(entries[index])
            if answer == "q":
                return
            index = max(0, index - 1) if answer == "back" else index + 1

    def _ask(self, entry: ReviewEntry) -> str:
        """Ask until a verdict is stored, or return "" (skipped), "back" or "q"; a comment does not end the question."""
        from steelyard.report.render.terminal import console, say

        form = self._view.form
        # The person must know what to judge: the result, the correctness, or another score.
        about = "" if form.kind in {"choice", "text"} else f"{form.name}, "
        hint = about + form.hint(len(entry.record.sample.choices))
        while True:
            try:
                typed = input(f"{hint}: ").strip()
            except EOFError:
                return "q"
            if typed in {"", "back", "q"}:
                return typed
            try:
                self._keep(entry, typed)
            except ConfigError as error:
                say(console(), str(error))
                continue
            if not typed.startswith(_COMMENT):
                return "stored"

    def _keep(self, entry: ReviewEntry, typed: str) -> None:
        from steelyard.report.review_sheet import GivenBy, TypedVerdict, verdict_labels
        from steelyard.store.labels import add_labels

        sample, repeat = entry.key
        comment = typed.removeprefix(_COMMENT).strip() if typed.startswith(_COMMENT) else ""
        verdict = TypedVerdict(sample, repeat, "" if comment else typed, comment=comment, seed=self._view.seed)
        origin = GivenBy(self._author, datetime.now(UTC))
        self.written += add_labels(
            self._store, self._run, verdict_labels(self._run, [verdict], self._view.form, origin)
        )


def _shown_lines(entry: ReviewEntry, view: ReviewView) -> Iterator[str]:
    """The record as `review` shows it, without the line that names sample and reasons."""
    from steelyard.report.review_sheet import entry_lines

    _, *lines = entry_lines(entry, view)
    return iter(lines)
