"""The command that makes datasets: `generate qa`, a question set from documents."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

import typer

from steelyard.cli.options import JsonOption, NoEnvOption, QuietOption, StoreOption
from steelyard.cli.qa_command import QaCommand, check_writer, model_of_flags
from steelyard.errors import ConfigError, DataError, did_you_mean

if TYPE_CHECKING:
    from steelyard.generate.collected import QaReport, QaSet, ShortChunk
    from steelyard.store import Run
    from steelyard.suite import Suite

_BROKEN: Final = 4
_INTERRUPTED: Final = 130
_MOST_LINES: Final = 8

KindArgument = Annotated[str, typer.Argument(metavar="KIND", help="What to make: qa, questions with answers.")]
MorePaths = Annotated[
    list[Path] | None, typer.Argument(metavar="PATH...", help="More documents, as a shell puts them behind a *.")
]
DocumentsOption = Annotated[
    list[Path] | None,
    typer.Option("--documents", metavar="PATH", help="A file or folder: PDF, Markdown, text, HTML. May be repeated."),
]
OutOption = Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the set goes: .jsonl or .csv.")]
PerChunkOption = Annotated[int, typer.Option("--per-chunk", metavar="N", help="Questions asked for of each chunk.")]
ChunksOption = Annotated[
    int | None,
    typer.Option("--chunks", metavar="N", help="Draw so many chunks, spread over the documents; all by default."),
]
ChunkTokensOption = Annotated[
    int, typer.Option("--chunk-tokens", metavar="N", help="Tokens of a chunk at most, estimated.")
]
SeedOption = Annotated[int, typer.Option("--seed", metavar="N", help="Of everything that is drawn.")]
LanguageOption = Annotated[
    str, typer.Option("--language", metavar="auto|en|zh", help="Of the prompts; auto is that of each chunk.")
]
ModelOption = Annotated[
    str, typer.Option("--model", metavar="NAME", help="The model that writes, as its endpoint knows it.")
]
BaseUrlOption = Annotated[
    str, typer.Option("--base-url", metavar="URL", help="Its endpoint, OpenAI-compatible; OpenAI's by default.")
]
KeyOption = Annotated[
    str, typer.Option("--api-key-env", metavar="NAME", help="The environment variable that holds its key.")
]
ModelConfigOption = Annotated[
    Path | None,
    typer.Option("--model-config", metavar="FILE", help="YAML or JSON with a key model, for any other model."),
]
CheckOption = Annotated[
    bool, typer.Option("--check-answerable", help="One more call per question: does its chunk alone answer it?")
]
MetadataOption = Annotated[
    bool, typer.Option("--metadata", help="Show the model the document's name, page and headings too.")
]
BaselineOption = Annotated[
    str, typer.Option("--baseline", metavar="cloze", help="No model: sentences with a phrase left out.")
]
FreshOption = Annotated[bool, typer.Option("--fresh", help="Ask again what the journal could answer.")]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace the file if it is there already.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Count calls and tokens; send nothing.")]
BudgetOption = Annotated[
    int | None, typer.Option("--budget-calls", metavar="N", help="Send at most so many calls, resumes included.")
]


def generate(
    kind: KindArgument,
    paths: MorePaths = None,
    *,
    out: OutOption,
    documents: DocumentsOption = None,
    per_chunk: PerChunkOption = 10,
    chunks: ChunksOption = None,
    chunk_tokens: ChunkTokensOption = 1024,
    seed: SeedOption = 0,
    language: LanguageOption = "auto",
    model: ModelOption = "",
    base_url: BaseUrlOption = "",
    api_key_env: KeyOption = "",
    model_config: ModelConfigOption = None,
    check_answerable: CheckOption = False,
    metadata: MetadataOption = False,
    baseline: BaselineOption = "",
    budget_calls: BudgetOption = None,
    store: StoreOption = None,
    fresh: FreshOption = False,
    overwrite: OverwriteOption = False,
    dry_run: DryRunOption = False,
    no_env: NoEnvOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make questions with answers and sources from documents.

    The same command again goes on with what was interrupted, and pays for no reply twice. Exit code 4 where no
    question came out of it or too many calls failed; what there is is saved.
    """
    if kind != "qa":
        raise ConfigError(f"generate makes qa, not {kind!r}{did_you_mean(kind, ['qa'])}")
    cut = {"chunk_tokens": chunk_tokens, "seed": seed, "language": language}
    command = QaCommand(
        documents=tuple(str(one.absolute()) for one in [*(documents or ()), *(paths or ())]),
        out=str(out.absolute()),
        per_chunk=per_chunk,
        chunks=chunks,
        settings={**cut, "check_answerable": check_answerable, "show_metadata": metadata},
        model=model_of_flags(model, base_url, api_key_env),
        model_config=str(model_config.absolute()) if model_config else "",
        budget_calls=budget_calls,
    )
    check_writer(command, baseline)
    suite, values = command.suite(use_dotenv=not no_env)
    if dry_run:
        from steelyard.cli.estimates import print_estimate

        print_estimate(suite, store, fresh=fresh, as_json=as_json)
        return
    from steelyard.generate.qa import unfinished

    before = None if fresh else unfinished(suite, store)
    _check_out(Path(command.out), before, suite, overwrite=overwrite)
    how = {"store": store, "fresh": fresh, "resume": before.id if before else "", "environment": values}
    _make(command, suite, how, quiet=quiet, as_json=as_json)


def go_on(
    run: Run, *, store: str | None, allow_changed: bool, use_dotenv: bool, quiet: bool, as_json: bool
) -> NoReturn:
    """Go on with an unfinished run of `generate qa`, and exit with the code that says what came out.

    Raises:
        ConfigError: it was started from Python, its inputs have changed, or its file was taken by another.
    """
    kept = run.manifest.get("config")
    if kept is None:
        raise ConfigError(f"run {run.id} was started from Python: call generate_qa() there again, and it goes on")
    command = QaCommand(**kept["generate"])
    suite, values = command.suite(use_dotenv=use_dotenv)
    _check_out(Path(command.out), run, suite, overwrite=False)
    how = {"store": store, "resume": run.id, "allow_changed": allow_changed, "environment": values}
    _make(command, suite, how, quiet=quiet, as_json=as_json)


def _check_out(path: Path, before: Run | None, suite: Suite, *, overwrite: bool) -> None:
    """Refuse a file that is there, unless it holds nothing but questions of the run that goes on.

    Raises:
        ConfigError: it is there, or could not be written.
    """
    from steelyard.generate.qa import questions_of
    from steelyard.generate.rows import check_target, read_rows

    check_target(path)
    if overwrite or not path.exists():
        return
    own = {one.id for one in questions_of(before, suite).rows} if before else set()
    try:
        if own and {one.id for one in read_rows(path)} <= own:
            return
    except DataError:
        pass  # it holds something else, so it is not ours to replace
    raise ConfigError(f"{path} is there already; name another file, or replace it with --overwrite")


def _make(command: QaCommand, suite: Suite, how: Mapping[str, Any], *, quiet: bool, as_json: bool) -> NoReturn:
    """Run, save, tell, and exit with the code that says what came out."""
    from steelyard.cli.pipes import while_read
    from steelyard.cli.running import run_suite
    from steelyard.generate.qa import questions_of
    from steelyard.suite import How

    (run,) = run_suite(suite, How(**how, config={"generate": asdict(command)}), quiet=quiet)
    found = questions_of(run, suite)
    out = Path(command.out)
    if found.rows:
        found.save(out)
    with while_read():
        _tell(found, out, suite, store=how["store"], as_json=as_json)
    if run.state == "broken" or (run.state == "finished" and not found.rows):
        raise typer.Exit(_BROKEN)
    raise typer.Exit(0 if run.state == "finished" else _INTERRUPTED)


def _tell(found: QaSet, out: Path, suite: Suite, *, store: str | None, as_json: bool) -> None:
    from steelyard.cli.tables import console, print_json, say, table

    report = found.report
    if as_json:
        print_json({"file": str(out) if found.rows else None, **report.to_json(), "notes": list(suite.notes)})
        return
    to = console()
    for line in _lines(found, out, suite):
        say(to, line)
    if report.short:
        rows = [_short_row(one) for one in report.short[:_MOST_LINES]]
        to.print()
        to.print(table(["fewer than asked", "page", "made", "why"], rows, right=(1, 2), elastic=3))
        if len(report.short) > _MOST_LINES:
            say(to, f"and {len(report.short) - _MOST_LINES} more chunks; --json has all")
    for line in _next_steps(report, out, store):
        say(to, line)


def _lines(found: QaSet, out: Path, suite: Suite) -> Iterator[str]:
    report = found.report
    what = f"{out.name}: " if found.rows else "nothing was written: "
    yield f"{what}{report.made} of {report.asked} questions asked for, from {report.chunks} chunks"
    if report.state != "finished":
        about = f": {report.reason}" if report.reason not in {"", report.state} else ""
        missing = f", {report.not_reached} chunks not reached" if report.not_reached else ""
        yield f"{report.state}{missing}{about}"
    if report.errors:
        yield f"chunks that failed for good and have no questions: {report.errors}"
    if report.dropped:
        yield f"dropped: {_words(report.dropped)}"
    if report.unread_checks:
        yield f"{report.unread_checks} checks could not be read; their questions are kept with answerable blank"
    if report.from_journal:
        yield f"{report.from_journal} replies came from the journal"
    yield from (f"note: {one}" for one in suite.notes)


def _short_row(one: ShortChunk) -> list[str]:
    why = ", ".join(part for part in (one.problem, _words(one.dropped)) if part)
    return [one.document, str(one.page or ""), str(one.made), why]


def _words(dropped: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in dropped.items())


def _next_steps(report: QaReport, out: Path, store: str | None) -> Iterator[str]:
    where = f" --store {shlex.quote(store)}" if store else ""
    if report.state == "interrupted" and "budget" in report.reason:
        yield "go on with: the same command with a larger --budget-calls"
    elif report.state in {"interrupted", "broken"}:
        yield f"go on with: steelyard resume {report.run}{where}"
        yield "        or: the same command again"
    elif report.made:
        yield f"more: steelyard check {shlex.quote(out.name)} --suite rag"
    else:
        yield f"what was replied: steelyard report {report.run}{where}"
