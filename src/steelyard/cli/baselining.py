"""`baseline`: keep a run's scores in a file beside the code."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from steelyard.cli.options import RunArgument, StoreOption


def baseline(
    run: RunArgument,
    to: Annotated[
        Path,
        typer.Option("--to", metavar="FILE", help="The file to write, ending in .json; an older baseline in it goes."),
    ] = Path("baseline.json"),
    store: StoreOption = None,
) -> None:
    """Keep a run's scores in a file that later runs are held against.

    It is made to be kept in git: a line a sample, no questions and no answers. A configuration names it under gate:
    as baseline, beside no_regression.
    """
    from steelyard.cli.outcome import write
    from steelyard.gate.baseline_file import baseline_text, check_replaceable, read_baseline
    from steelyard.store import Store

    check_replaceable(to)
    with Store(store) as opened:
        found = opened.run(run)
        write(to, baseline_text(found))
    kept = read_baseline(to)
    typer.echo(f"wrote {to}: {len(kept.samples)} samples of {kept.target} (run {kept.id})")
