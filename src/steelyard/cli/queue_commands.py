"""The commands for queues: create one from runs, show its progress, label its records in a sheet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from steelyard.analysis.judges.rater_agreement import label_agreement
from steelyard.analysis.judges.rater_findings_values import FEWEST
from steelyard.analysis.label_forms import LabelForm, label_form
from steelyard.analysis.numbers import count_text
from steelyard.cli import options
from steelyard.cli.options import named_runs, store_option
from steelyard.cli.output import write_text
from steelyard.errors import ConfigError, DataError
from steelyard.people.draw import DrawMethod, DrawnItem, DrawnRecord, draw_records, item_record
from steelyard.people.queue_values import (
    BlindRecord,
    LabelQueue,
    QueueDesign,
    QueueProgress,
    RaterVerdict,
    read_queue_sheet,
)
from steelyard.people.queue_values import queue_sheet as sheet_of
from steelyard.people.queues import (
    check_verdict,
    checked_rater,
    create_queue,
    label_item,
    named_queue,
    open_items,
    queue_item,
    queues,
    rater_order,
    read_progress,
    run_of,
)
from steelyard.plain_json import field_values
from steelyard.report.render.terminal import console, print_data, print_json, print_sections, say
from steelyard.report.run_texts import stratum_text
from steelyard.report.sections.judge_agreement import rater_sections
from steelyard.store import Run, Store

_CANNOT_TELL: Final = "?"
_QueueArgument = Annotated[str, typer.Argument(metavar="QUEUE", help="The queue's id (steelyard queue list).")]
_AuthorOption = Annotated[
    str, typer.Option("--author", metavar="NAME", help="Your name; reports show it.", show_default=False)
]


def queue_create(
    runs: options.RunsArgument,
    *,
    title: Annotated[str, typer.Option("--title", metavar="TEXT", help="The title in the list of queues.")],
    author: _AuthorOption,
    question: Annotated[
        str, typer.Option("--question", metavar="TEXT", help="The question about each record, in a sentence.")
    ] = "",
    draw: Annotated[int, typer.Option("--draw", metavar="N", help="Draw N records; 0 takes all.", min=0)] = 0,
    stratified: Annotated[
        bool,
        typer.Option(
            "--stratified", help="Draw equally many failures, passes and unreadable replies; keeps their weights."
        ),
    ] = False,
    uncertain: Annotated[
        bool,
        typer.Option("--uncertain", help="Draw records with an uncertain judge more often; keeps weights."),
    ] = False,
    where: Annotated[
        str, typer.Option("--where", metavar="EXPR", help="Only these records; the syntax of collect --where.")
    ] = "",
    score: options.LabelScoreOption = "",
    kind: options.LabelKindOption = "",
    raters: Annotated[int, typer.Option("--raters", metavar="N", help="People per record of the overlap, 1 to 5.")] = 2,
    overlap: Annotated[
        float, typer.Option("--overlap", metavar="SHARE", help="Share of the records that several people label.")
    ] = 0.2,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the draw and of all orders.", min=0)] = 0,
    show_reference: Annotated[
        bool, typer.Option("--show-reference", help="Show raters the expected answer; hidden by default.")
    ] = False,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Create a queue: draw records of runs for people to label.

    Raters see question and answer without target, scores and other people's labels, each rater in a different order.
    How the records were drawn is stored with the queue.
    """
    method = _draw_method(runs, draw, stratified=stratified, uncertain=uncertain)
    with Store(store) as opened:
        named = named_runs(opened, runs)
        form = _common_form(named, score, kind)
        items, how = draw_records(named, n=draw, where=where, method=method, seed=seed, score=score)
        design = QueueDesign(title, form, question, raters, overlap, seed, show_reference, how)
        queue = create_queue(opened, design, items, author=author)
    if as_json:
        print_json({"queue": queue.id, "items": len(items), **field_values(design)})
        return
    _print_created(queue, items, store)


def _draw_method(runs: Sequence[str], draw: int, *, stratified: bool, uncertain: bool) -> DrawMethod:
    """The method that the options choose.

    Raises:
        ConfigError: two methods, no number of records, or several runs for --uncertain.
    """
    if stratified and uncertain:
        raise ConfigError("--stratified and --uncertain are two ways to draw: use one of them")
    if (stratified or uncertain) and not draw:
        option = "--stratified" if stratified else "--uncertain"
        raise ConfigError(f"{option} needs a number of records, for example --draw 100")
    if uncertain and len(runs) != 1:
        raise ConfigError("--uncertain draws from one run")
    return "uncertain" if uncertain else "stratified" if stratified else "random"


def _print_created(queue: LabelQueue, items: Sequence[DrawnItem], store: str | None) -> None:
    form, to, where = queue.design.form, console(), store_option(store)
    say(to, f"queue {queue.id}: {count_text(len(items), 'record')}, {form.name} ({form.kind.replace('_', ' ')})")
    for name, count in Counter(item.stratum for item in items if item.stratum).items():
        say(to, f"  {count:,} of the {stratum_text(name)}")
    say(to, "Label in the browser, under Queues:")
    say(to, f"  steelyard view{where}")
    say(to, "or in a sheet:")
    say(to, f"  steelyard queue sheet {queue.id} --author NAME --out sheet.csv{where}")


def _common_form(runs: Sequence[Run], score: str, kind: str) -> LabelForm:
    """The form of the labels, which must fit every run.

    Raises:
        ConfigError: the runs take labels of different forms.
    """
    forms = {run.id: label_form(run.manifest, run.score_infos, score=score, kind=kind) for run in runs}
    if len(set(forms.values())) > 1:
        listed = ", ".join(f"{ident} {form.name} ({form.kind})" for ident, form in forms.items())
        raise ConfigError(f"these runs take different labels: {listed}. Name a --score that all have, or a kind (--as)")
    return next(iter(forms.values()))


def queue_list(store: options.StoreOption = None, as_json: options.JsonOption = False) -> None:
    """List the queues of a store and their progress."""
    with Store(store) as opened:
        listed = [(queue, read_progress(opened, queue)[0]) for queue in queues(opened)]
    if as_json:
        print_json([_plain(queue, progress) for queue, progress in listed])
        return
    for queue, progress in listed:
        say(console(), f"{queue.id}  {progress.done:,} of {progress.items:,} done  {queue.design.title}")
    if not listed:
        say(console(), "there is no queue: create one with")
        say(console(), f"  steelyard queue create RUN --title TEXT --author NAME --draw 50{store_option(store)}")


def queue_show(queue: _QueueArgument, store: options.StoreOption = None, as_json: options.JsonOption = False) -> None:
    """Show the progress of a queue, the labels of each rater, and how far raters agree.

    Agreement is shown from 30 records with labels of two or more people.
    """
    with Store(store) as opened:
        shown = named_queue(opened, queue)
        progress, verdicts = read_progress(opened, shown)
        agreement = label_agreement(shown.design.form.name, verdicts)
    if as_json:
        print_json({**_plain(shown, progress), "agreement": agreement})
        return
    to = console()
    say(to, f"queue {shown.id}: {shown.design.title}")
    say(to, f"{progress.done:,} of {count_text(progress.items, 'record')} done, {count_text(progress.labels, 'label')}")
    for rater, labels in progress.by_rater.items():
        say(to, f"  {rater}: {labels:,}")
    if progress.unsure:
        say(to, f"{progress.unsure:,} of the labels are: cannot tell")
    several = f"{count_text(progress.overlapping, 'record')} labelled by 2 people or more"
    hint = f"; agreement is shown from {FEWEST} on" if agreement is None else ""
    say(to, f"{several}, {progress.conflicting:,} on which they disagree{hint}")
    if agreement is not None:
        print_sections(to, rater_sections(agreement))


def _plain(queue: LabelQueue, progress: QueueProgress) -> dict[str, Any]:
    creation = {"author": queue.author, "created": queue.created.isoformat()}
    return {"queue": queue.id, **creation, **field_values(queue.design), "progress": progress}


def queue_sheet(
    queue: _QueueArgument,
    *,
    author: _AuthorOption,
    out: options.OutOption = None,
    store: options.StoreOption = None,
) -> None:
    """Write the records that are left for a rater as a CSV to fill in.

    Steelyard reads it back with queue label --from. Records in a sheet are not reserved: others may label them as well.
    """
    with Store(store) as opened:
        named, rater = named_queue(opened, queue), checked_rater(author)
        text = sheet_of(named.id, [_blind(opened, named, item, rater) for item in open_items(opened, named, rater)])
    if out is None:
        print_data([text])
    else:
        write_text(out, text)


def _blind(store: Store, queue: LabelQueue, item: DrawnRecord, rater: str) -> BlindRecord:
    record = item_record(run_of(store, item), item)
    return BlindRecord.of(queue.design, item, record, rater_order(queue, item, rater))


def queue_label(
    queue: _QueueArgument,
    *,
    from_file: Annotated[
        Path, typer.Option("--from", metavar="FILE", help="A filled-in CSV of queue sheet.", show_default=False)
    ],
    author: _AuthorOption,
    store: options.StoreOption = None,
) -> None:
    """Store the verdicts of a filled-in sheet of a queue.

    A sheet with a mistake is rejected as a whole.
    """
    with Store(store) as opened:
        _store_sheet(opened, named_queue(opened, queue), checked_rater(author), from_file)


def _store_sheet(store: Store, queue: LabelQueue, rater: str, path: Path) -> None:
    rows = read_queue_sheet(queue.id, path)
    verdicts = []
    for number, verdict, comment, location in rows:
        try:
            item = queue_item(store, queue, number)
            rater_verdict = RaterVerdict(rater, None if verdict == _CANNOT_TELL else verdict, comment)
            check_verdict(store, queue, item, rater_verdict)
        except ConfigError as error:
            raise DataError(f"{location}{error}") from error
        verdicts.append((item, rater_verdict))
    for item, rater_verdict in verdicts:
        label_item(store, queue, item, rater_verdict)
    say(console(), f"queue {queue.id}: {count_text(len(verdicts), 'row')} of {path.name} stored by {rater}")
