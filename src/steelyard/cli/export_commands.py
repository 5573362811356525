"""Commands that write the contents of runs into files for other programs: `export`, `baseline`, `collect`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import typer

from steelyard.analysis.comparison.baseline import baseline_text, check_replaceable, read_baseline
from steelyard.analysis.conditions import parse_condition
from steelyard.analysis.numbers import count_text
from steelyard.cli import options
from steelyard.cli.options import named_run, named_runs, say_unfinished, store_option
from steelyard.cli.output import write_lines, write_text
from steelyard.cli.salvage import save
from steelyard.errors import ConfigError
from steelyard.files import file_errors, make_private_folder
from steelyard.generate.dataset_additions import add_records
from steelyard.people.labels import all_labels
from steelyard.people.sheets import labels_csv, labels_jsonl
from steelyard.report.exports import records as rows
from steelyard.report.exports.records import legacy_files, write_parquet
from steelyard.report.exports.workbook import write_workbook
from steelyard.report.render.terminal import console, print_data, print_json, say
from steelyard.store import Run, Store
from steelyard.store.reading.pages import matching_records

_FORMATS: Final = ("jsonl", "csv", "xlsx", "parquet")


_ExportedRuns = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="RUN...",
        autocompletion=options.names_of_runs,
        help="Runs: ids or the start of them, targets' names, or 'latest'; all by default with --salvage.",
    ),
]
_FormatOption = Annotated[
    str,
    typer.Option("--format", metavar="FORMAT", help="jsonl, csv, xlsx or parquet; by default from the file's suffix."),
]
_JsonDirOption = Annotated[
    Path | None,
    typer.Option(
        "--json-dir", metavar="DIR", help="Write one JSON list per run, TARGET.json, with a row per question."
    ),
]
_SourceOption = Annotated[
    str,
    typer.Option("--source", metavar="FILE", help="With --json-dir: only questions from this file of the dataset."),
]
_OverwriteOption = Annotated[
    bool, typer.Option("--overwrite", help="With --json-dir: replace files that hold other rows.")
]
_SalvageOption = Annotated[
    bool,
    typer.Option(
        "--salvage", help="Save the readable part of a damaged store: JSON lines, or with --out NEW.db a new store."
    ),
]


def export(
    run: _ExportedRuns = None,
    store: options.StoreOption = None,
    form: _FormatOption = "",
    out: options.OutOption = None,
    json_dir: _JsonDirOption = None,
    source: _SourceOption = "",
    overwrite: _OverwriteOption = False,
    raw: Annotated[bool, typer.Option("--raw", help="Do not escape formulas in CSV.")] = False,
    salvage: _SalvageOption = False,
    labels: Annotated[
        bool, typer.Option("--labels", help="Write the labels of one run (JSON lines or CSV) instead of its records.")
    ] = False,
) -> int:
    """Write the records of a run as rows.

    A workbook (.xlsx) takes several runs, one per sheet, after a sheet with their summaries. --json-dir takes several
    too and writes one file per run; if their dataset has several files, one per file, in folders. --salvage reads a
    copy of a damaged store file row by row, and exits with code 4 if anything is missing. --labels writes the labels of
    people and models, replaced and withdrawn ones too; steelyard label --from reads the file back.
    """
    if salvage:
        return save(run or [], store, out)
    if not run:
        raise ConfigError(f"name the run to export: steelyard runs{store_option(store)} lists them")
    if json_dir is None and (source or overwrite):
        raise ConfigError("--source and --overwrite need --json-dir")
    form = _format(form, out)
    if len(run) > 1 and form != "xlsx" and json_dir is None:
        raise ConfigError(
            "write several runs to a workbook (--out FILE.xlsx) or a folder (--json-dir DIR); or name a single run"
        )
    with Store(store) as opened:
        runs = named_runs(opened, run)
        for stored in runs:
            say_unfinished(stored)
        if labels:
            _write_labels(opened, runs, form, out)
        elif json_dir is not None:
            _write_json_dir(runs, json_dir, source, overwrite=overwrite)
        else:
            _write_rows(runs, form, out, raw=raw)
    return 0


def baseline(
    run: options.RunArgument,
    to: Annotated[
        Path,
        typer.Option("--to", metavar="FILE", help="The file to write, ending in .json; replaces an older baseline."),
    ] = Path("baseline.json"),
    store: options.StoreOption = None,
) -> None:
    """Save a run's scores in a file as the baseline of later runs.

    One line per sample, so it diffs well in git; it holds no questions and no answers. A configuration names it under
    gate: as baseline, with no_regression.
    """
    check_replaceable(to)
    with Store(store) as opened:
        write_text(to, baseline_text(named_run(opened, run).data()))
    saved = read_baseline(to)
    typer.echo(f"wrote {to}: {count_text(len(saved.scores.samples), 'sample')} of {saved.target} (run {saved.id})")


def collect(
    run: options.RunArgument,
    to: Annotated[
        Path, typer.Option("--to", metavar="FILE", help="The test set, .jsonl; created if it does not exist.")
    ],
    where: Annotated[
        str,
        typer.Option(
            "--where",
            metavar="EXPR",
            help="Which samples: failed, wrong, errors, unparsed, refused, solve_rate<1, group=..., label:cause=..., "
            "joined by and.",
        ),
    ] = "failed",
    store: options.StoreOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be added; write nothing.")] = False,
    as_json: options.JsonOption = False,
) -> None:
    """Copy samples of a run into a test set, with their origin.

    Samples that the file already has are not added again, and its lines stay as they are. The run's suite reads the
    file: samples: {file: FILE}.
    """
    with Store(store) as opened:
        stored = named_run(opened, run)
        say_unfinished(stored)
        condition = parse_condition(where, stored.manifest)
        records = (record for _, record in matching_records(stored, condition))
        collection = add_records(stored, records, to, where=where, at=datetime.now(UTC))
    if not dry_run:
        collection.save()
    if as_json:
        print_json({**collection.json_fields(), "dry_run": dry_run})
        return
    out = console()
    verb = "would be added" if dry_run else "added"
    counts = f"{len(collection.rows)} {verb}, {len(collection.known)} already in the file"
    say(out, f"{to}: {counts}; {collection.fitting} of run {stored.id} match")
    if not collection.fitting:
        say(out, f"no sample of run {stored.id} ({stored.target}) matches {where}")
    elif dry_run:
        for row in collection.rows:
            say(out, f"  {row['id']}")


def _format(option: str, out: Path | None) -> str:
    """The format that `--format` names, else that of the file's suffix, else JSON lines.

    Raises:
        ConfigError: there is no such format.
    """
    if option:
        if option not in _FORMATS:
            raise ConfigError(f"--format {option!r}: expected {', '.join(_FORMATS)}")
        return option
    suffix = "" if out is None else out.suffix.lower()[1:]
    if suffix and suffix not in _FORMATS:
        raise ConfigError(
            f".{suffix} files cannot be written; name a .xlsx, .csv, .parquet or .jsonl file, or add --format"
        )
    return suffix or "jsonl"


def _write_rows(runs: Sequence[Run], form: str, out: Path | None, *, raw: bool) -> None:
    if form in {"xlsx", "parquet"}:
        _write_binary(runs, form, out)
        return
    lines: Iterable[str] = rows.csv(runs[0], raw=raw) if form == "csv" else rows.jsonl(runs[0])
    _print_or_write(lines, out)


def _print_or_write(lines: Iterable[str], out: Path | None, what: str = "") -> None:
    if out is None:
        print_data(lines)
        return
    write_lines(out, lines)
    typer.echo(f"wrote {out}{what}")


def _write_binary(runs: Sequence[Run], form: str, out: Path | None) -> None:
    """Write a workbook or a Parquet file.

    Raises:
        ConfigError: no file was named, or it cannot be written.
    """
    if out is None:
        raise ConfigError(f"{form} is a binary format: name a file with --out")
    with file_errors(out, "written"):
        make_private_folder(out.parent)
        if form == "xlsx":
            write_workbook(runs, out)
        else:
            write_parquet(runs[0], out)
    typer.echo(f"wrote {out}")


def _write_labels(store: Store, runs: Sequence[Run], form: str, out: Path | None) -> None:
    """Write all labels of a run, also replaced and withdrawn ones, in a form that `steelyard label --from` reads.

    Raises:
        ConfigError: several runs, or another format than JSON lines and CSV.
    """
    if len(runs) > 1 or form not in {"jsonl", "csv"}:
        raise ConfigError("--labels writes the labels of one run as jsonl or csv")
    labels = all_labels(store, runs[0])
    lines = [labels_csv(runs[0], labels)] if form == "csv" else labels_jsonl(runs[0], labels)
    _print_or_write(lines, out, f": {count_text(len(labels), 'label')}")


def _write_json_dir(runs: Sequence[Run], folder: Path, source: str, *, overwrite: bool) -> None:
    """Write one file per run, or none if one of them would replace other rows.

    Raises:
        ConfigError: a run has no questions of that source, or a file holds other rows already.
    """
    files = legacy_files(list({run.id: run for run in runs}.values()), source)
    texts = {folder / name: json.dumps(rows, ensure_ascii=False, indent=2) + "\n" for name, rows in files.items()}
    for path, text in texts.items():
        if not overwrite and path.is_file() and path.read_bytes() != text.encode("utf-8", "replace"):
            raise ConfigError(f"{path} holds other rows: name another folder, or --overwrite; nothing was written")
    for (path, text), written in zip(texts.items(), files.values(), strict=True):
        write_text(path, text)
        typer.echo(f"wrote {path}: {len(written)} row{'' if len(written) == 1 else 's'}")
