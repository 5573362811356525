"""The commands of error analysis: draw records, note in a sheet what is wrong with them, and see the codes."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final

import typer

from steelyard.analysis.numbers import count_text
from steelyard.cli.options import (
    JsonOption,
    MarkdownOption,
    OutOption,
    RunsArgument,
    StoreOption,
    named_run,
    named_runs,
    store_option,
)
from steelyard.cli.output import print_lines, write_text
from steelyard.people.coding_sheet import coding_sheet, read_coding_sheet, store_notes
from steelyard.people.codings import codings, draw_coding, find_coding, read_coding
from steelyard.report.coding_page import CodingPage
from steelyard.report.render.markdown import markdown_page
from steelyard.report.render.terminal import console, print_json, print_sections, say
from steelyard.store import Store

_DRAWN: Final = 100
CodingArgument = Annotated[
    str, typer.Argument(metavar="ANALYSIS", help="Id of an error analysis, or a run: its newest error analysis.")
]
CodeArgument = Annotated[
    str, typer.Argument(metavar="CODE", help="A code's name or id; ANALYSIS/CODE if several analyses have this code.")
]
AuthorOption = Annotated[
    str, typer.Option("--author", metavar="NAME", help="Your name; it is stored with the change.", show_default=False)
]


def errors_draw(
    runs: RunsArgument,
    *,
    author: AuthorOption,
    n: Annotated[int, typer.Option("--n", "-n", metavar="N", help="Records in all.", min=1)] = _DRAWN,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Seed of the draw; the same seed draws the same records.", min=0)
    ] = 0,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draw records of runs to read and note what is wrong with them.

    The same number of records is drawn from each run: equally many failures, passes and unparsed replies. The sizes of
    these groups are kept, so that shares of codes are estimates for all records.
    """
    with Store(store) as opened:
        coding = draw_coding(opened, named_runs(opened, runs), n=n, seed=seed, author=author)
    if as_json:
        print_json({"analysis": coding.id, "records": len(coding.items), "drawn": dict(coding.drawn)})
        return
    to, where = console(), store_option(store)
    say(to, f"error analysis {coding.id}: {count_text(len(coding.items), 'record')}")
    for name, count in sorted(Counter(item.stratum for item in coding.items).items()):
        say(to, f"  {count:,} of the {name}")
    say(to, "Note the first thing that is wrong with each, in the browser:")
    say(to, f"  steelyard view{where}")
    say(to, "or in a sheet:")
    say(to, f"  steelyard errors sheet {coding.id} --out notes.csv{where}")


def errors_list(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Only error analyses of this run.")] = "",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List error analyses and their progress."""
    with Store(store) as opened:
        analyses = codings(opened, named_run(opened, run) if run else None)
        states = [(coding, read_coding(opened, coding)) for coding in analyses]
        targets = {stored.id: stored.target for stored in opened.runs()}
    if as_json:
        print_json(
            [
                {
                    "analysis": coding.id,
                    "author": coding.author,
                    "created": coding.created.isoformat(),
                    "runs": list(coding.drawn),
                    "records": len(coding.items),
                    "noted": len(state.notes),
                    "codes": len(state.adopted),
                    "proposed": len(state.proposed),
                }
                for coding, state in states
            ]
        )
        return
    for coding, state in states:
        target_names = ", ".join(targets.get(ident, f"{ident} (deleted)") for ident in coding.drawn)
        counts = f"{len(state.notes):,} of {len(coding.items):,} noted, {len(state.adopted)} codes"
        say(console(), f"{coding.id}  {counts}  {target_names}")
    if not states:
        say(console(), "there is no error analysis: draw one with")
        say(console(), f"  steelyard errors draw RUN --author NAME{store_option(store)}")


def errors_show(
    analysis: CodingArgument,
    store: StoreOption = None,
    as_json: JsonOption = False,
    markdown: MarkdownOption = None,
) -> None:
    """Show codes with their shares, what scorers find, and proposals.

    Shares are estimates for all records of the run that have an output.
    """
    with Store(store) as opened:
        page = CodingPage.of(opened, find_coding(opened, analysis))
    title = f"error analysis {page.coding.id}"
    if markdown is not None:
        write_text(markdown, markdown_page(title.capitalize(), page.sections()))
    if as_json:
        print_json(page)
    elif markdown is None:
        say(console(), title)
        print_sections(console(), page.sections())


def errors_sheet(
    analysis: CodingArgument,
    out: OutOption = None,
    store: StoreOption = None,
) -> None:
    """Write the drawn records as a CSV with columns for note and code.

    Note the first thing that is wrong, or ok if nothing is. Notes with the same name in the column code belong to one
    code. Steelyard reads the sheet back with codes note.
    """
    with Store(store) as opened:
        coding = find_coding(opened, analysis)
        text = coding_sheet(opened, coding, read_coding(opened, coding))
    if out is None:
        print_lines([text])
        return
    write_text(out, text)
    say(console(), f"wrote {out}: {count_text(len(coding.items), 'record')}; fill its columns note and code")


def errors_note(
    analysis: CodingArgument,
    *,
    from_file: Annotated[
        Path, typer.Option("--from", metavar="FILE", help="A filled-in sheet of codes sheet.", show_default=False)
    ],
    author: AuthorOption,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Store the notes and codes of a filled-in sheet.

    Notes that are stored already stay as they are. A sheet with a mistake is rejected as a whole.
    """
    with Store(store) as opened:
        coding = find_coding(opened, analysis)
        result = store_notes(opened, coding, read_coding_sheet(coding, from_file), author=author)
    if as_json:
        print_json({"analysis": coding.id, **asdict(result)})
        return
    say(
        console(),
        f"error analysis {coding.id}: {count_text(result.notes, 'note')} of {from_file.name} stored by {author}, "
        f"{result.assigned:,} put under a code",
    )
    if result.codes:
        say(console(), f"new: {', '.join(result.codes)}")
