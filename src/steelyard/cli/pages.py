"""Commands that write files: `report`, `export`, `convert`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from steelyard.cli.options import HtmlOption, JUnitOption, MarkdownOption, RunsArgument, StoreOption, WithLabelsOption
from steelyard.errors import ConfigError, Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from steelyard.store import Run


def report(
    run: RunsArgument,
    store: StoreOption = None,
    html: HtmlOption = None,
    markdown: MarkdownOption = None,
    junit: JUnitOption = None,
    with_labels: WithLabelsOption = False,
) -> None:
    """Write a report of one run, or of several against the first.

    It goes to report.html where no other file is named.
    """
    from steelyard.cli.outcome import check_pages, weigh, write_pages
    from steelyard.store import Store

    if html is None and markdown is None and junit is None:
        html = Path("report.html")
    check_pages(html, markdown, junit)
    with Store(store) as opened:
        outcome = weigh([opened.run(name) for name in run], with_labels=with_labels)
        write_pages(outcome, html=html, markdown=markdown, junit=junit)


def export(
    run: RunsArgument,
    store: StoreOption = None,
    form: Annotated[
        str,
        typer.Option(
            "--format", metavar="FORMAT", help="jsonl, csv, xlsx or parquet; by default what the file's name says."
        ),
    ] = "",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write there, not to standard output.")
    ] = None,
    json_dir: Annotated[
        Path | None,
        typer.Option("--json-dir", metavar="DIR", help="Write one JSON list per target, a row a question."),
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="CSV cells as they are, formulas live.")] = False,
) -> None:
    """Write the records of a run as rows.

    A workbook (.xlsx) takes several runs, each on a sheet of its own, and begins with their summaries.
    """
    from steelyard.cli.outcome import say_unfinished
    from steelyard.report import export as rows
    from steelyard.store import Store

    form = form or _form_named(out)
    if form not in _FORMS:
        raise ConfigError(f"--format {form!r}: expected {', '.join(_FORMS)}")
    if len(run) > 1 and form != "xlsx":
        raise ConfigError("several runs go into a workbook only: name an .xlsx file with --out, or a single run")
    with Store(store) as opened:
        found = [opened.run(name) for name in run]
        for one in found:
            say_unfinished(one)
        if json_dir is not None:
            _write_json_dir(opened.runs_of(found[0].evaluation), json_dir)
        elif form == "jsonl":
            _write_lines(rows.jsonl(found[0]), out)
        elif form == "csv":
            _write_lines(rows.csv(found[0], raw=raw), out)
        else:
            _write_table(found, form, out)


_FORMS: Final = ("jsonl", "csv", "xlsx", "parquet")


def _form_named(out: Path | None) -> str:
    """What a file's name says it is to hold; JSON lines where it has no end.

    Raises:
        ConfigError: its end is that of no form.
    """
    form = "" if out is None else out.suffix.lower()[1:]
    if form and form not in _FORMS:
        raise ConfigError(f".{form} is not written; name a .xlsx, .csv, .parquet or .jsonl file, or say --format")
    return form or "jsonl"


def _write_table(runs: Sequence[Run], form: str, out: Path | None) -> None:
    """A workbook or a Parquet file, which have to be files.

    Raises:
        ConfigError: no file was named, or it cannot be written.
    """
    from steelyard.report.export_parquet import write_parquet
    from steelyard.report.export_workbook import write_workbook

    if out is None:
        raise ConfigError(f"{form} is no text: name a file with --out")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if form == "xlsx":
            write_workbook(runs, out)
        else:
            write_parquet(runs[0], out)
    except OSError as error:
        raise ConfigError(f"{out} cannot be written: {error.strerror}") from error
    typer.echo(f"wrote {out}")


def convert(
    old: Annotated[Path, typer.Argument(metavar="OLD.json", help="A configuration of the older shape.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write there, not to standard output.")
    ] = None,
) -> None:
    """Turn an exam configuration of the older shape into ours.

    The older shape is one JSON file with sources, targets, prompt and test_args.
    """
    from steelyard.cli.outcome import write
    from steelyard.config.convert import convert as converted

    try:
        read = json.loads(old.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{old} cannot be read: {error.strerror}") from error
    except ValueError as error:
        line, column = getattr(error, "lineno", 0), getattr(error, "colno", 0)
        raise ConfigError(f"not JSON: {error}", Place(str(old), line, column)) from error
    text = converted(read, old.stem)
    if out is None:
        sys.stdout.write(text)
        return
    if out.exists():
        raise ConfigError(f"{out} exists already; name another file with --out")
    write(out, text)
    typer.echo(f"wrote {out}; look it over, then: steelyard check {out}")


def _write_json_dir(runs: Iterable[Run], folder: Path) -> None:
    from steelyard.cli.outcome import write
    from steelyard.report.legacy import legacy_rows

    for one in runs:
        rows = legacy_rows(one.records())
        name = "".join(mark if mark.isalnum() or mark in "-_.[]=," else "_" for mark in one.target)
        path = folder / f"{name}.json"
        write(path, json.dumps(rows, ensure_ascii=False, indent=2) + "\n")
        typer.echo(f"wrote {path}: {len(rows)} rows")


def _write_lines(lines: Iterable[str], out: Path | None) -> None:
    from steelyard.cli.outcome import write_lines

    if out is None:
        for line in lines:
            sys.stdout.write(line.encode("utf-8", "replace").decode())
        return
    write_lines(out, lines)
    typer.echo(f"wrote {out}")
