"""The command `generate qa`: generates a question set from documents in a run that can be resumed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer

from steelyard.analysis.numbers import count_text
from steelyard.cli import options
from steelyard.cli.live_run import print_estimate, run_suite
from steelyard.cli.options import load_model, same_command, store_option
from steelyard.cli.output import INTERRUPTED, exit_code, while_read
from steelyard.cli.question_review import review_rows
from steelyard.cli.stored_configuration import check_trusted
from steelyard.config.environment import Environment
from steelyard.config.given import note_given, was_given
from steelyard.config.model_file import model_of_flags
from steelyard.errors import ConfigError, DataError, boundary, did_you_mean
from steelyard.evaluation import Options, RunConfig, Suite
from steelyard.generate.qa import CHUNK_TIMEOUT_S, QaSettings, qa_suite, questions_of, writer_of
from steelyard.generate.question_set import QaReport, QaSet, ShortChunk, check_target, read_rows
from steelyard.generate.resuming import newest_run
from steelyard.models.budget import Budget
from steelyard.report.render.terminal import console, print_json, say, table
from steelyard.report.run_texts import state_text
from steelyard.store import Run

_MOST_LINES: Final = 8
_PROMPTS: Final = frozenset({"questions_prompt", "questions_system", "answer_prompt"})
"""Settings that are files, by absolute path."""


_MorePaths = Annotated[
    list[Path] | None,
    typer.Argument(metavar="PATH...", help="Further documents; allows shell patterns such as docs/*.pdf."),
]
_DocumentsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--documents",
        metavar="PATH",
        help="A file or folder: PDF, Word, PowerPoint, Markdown, text, HTML. May be repeated.",
    ),
]
_PerChunkOption = Annotated[int, typer.Option("--per-chunk", metavar="N", help="Questions requested per chunk.")]
_ChunksOption = Annotated[
    int | None,
    typer.Option(
        "--chunks", metavar="N", help="Use N randomly sampled chunks, spread over the documents; all by default."
    ),
]
_ChunkTokensOption = Annotated[
    int, typer.Option("--chunk-tokens", metavar="N", help="Maximum size of a chunk in estimated tokens.")
]
_CheckOption = Annotated[
    bool,
    typer.Option(
        "--check-answerable", help="Check with one more call per question whether its chunk alone answers it."
    ),
]
_PairsOption = Annotated[
    int,
    typer.Option("--pairs", metavar="N", help="Ask about N pairs of related chunks too, by questions that need both."),
]
_UnanswerableOption = Annotated[
    int,
    typer.Option(
        "--unanswerable",
        metavar="N",
        help="Write questions for N chunks too that the documents do not answer; each is checked.",
    ),
]
_MetadataOption = Annotated[
    bool, typer.Option("--metadata", help="Include the document's name, page and headings in the prompt.")
]
_QuestionsPromptOption = Annotated[
    Path | None,
    typer.Option("--questions-prompt", metavar="FILE", help="Your own prompt for questions: {{text}}, {{count}}."),
]
_QuestionsSystemOption = Annotated[
    Path | None,
    typer.Option("--questions-system", metavar="FILE", help="A system message before it; it may have the same values."),
]
_AnswerPromptOption = Annotated[
    Path | None,
    typer.Option("--answer-prompt", metavar="FILE", help="Your own prompt for an answer: {{text}}, {{question}}."),
]
_BaselineOption = Annotated[
    str,
    typer.Option("--baseline", metavar="cloze", help="Use no model: questions are sentences with a phrase left out."),
]
_PagesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--pages", metavar="RANGE", help="Use only these pages: 1-40,55 or handbook.pdf:1-40. May be repeated."
    ),
]
_ExcludePagesOption = Annotated[
    list[str] | None, typer.Option("--exclude-pages", metavar="RANGE", help="Leave these pages out. May be repeated.")
]
_ExcludeHeadingOption = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude-heading",
        metavar="TITLE",
        help="Leave the sections of this title out; * is any text. May be repeated.",
    ),
]
_BoilerplateOption = Annotated[
    bool,
    typer.Option(
        "--keep-boilerplate", help="Use licences, tables of contents, indexes, references and copyright pages too."
    ),
]
_ReviewOption = Annotated[
    bool,
    typer.Option(
        "--review",
        help="Accept or reject each question at the terminal; only accepted ones are written. Can be resumed.",
    ),
]
_OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")]


def generate(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="What to generate: qa (questions with answers).")],
    paths: _MorePaths = None,
    *,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The file to write: .jsonl or .csv.")],
    documents: _DocumentsOption = None,
    per_chunk: _PerChunkOption = 10,
    chunks: _ChunksOption = None,
    chunk_tokens: _ChunkTokensOption = 1024,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of all random choices.")] = 0,
    language: options.LanguageOption = "auto",
    model: options.ModelOption = "",
    base_url: options.BaseUrlOption = "",
    api_key_env: options.KeyOption = "",
    model_config: options.ModelConfigOption = None,
    check_answerable: _CheckOption = False,
    pairs: _PairsOption = 0,
    unanswerable: _UnanswerableOption = 0,
    metadata: _MetadataOption = False,
    questions: _QuestionsPromptOption = None,
    questions_system: _QuestionsSystemOption = None,
    answer: _AnswerPromptOption = None,
    baseline: _BaselineOption = "",
    pages: _PagesOption = None,
    exclude_pages: _ExcludePagesOption = None,
    exclude_heading: _ExcludeHeadingOption = None,
    keep_boilerplate: _BoilerplateOption = False,
    review: _ReviewOption = False,
    budget_calls: options.BudgetOption = None,
    store: options.StoreOption = None,
    fresh: options.FreshOption = False,
    overwrite: _OverwriteOption = False,
    dry_run: options.DryRunOption = False,
    no_env: options.NoEnvOption = False,
    quiet: options.QuietOption = False,
    as_json: options.JsonOption = False,
) -> None:
    """Generate questions with answers and sources from documents.

    Repeating the command resumes an interrupted run; no reply is paid for twice. Exit code 4 if no question was
    generated or too many calls failed; questions that were generated are saved in any case.
    """
    settings = {"chunk_tokens": chunk_tokens, "seed": seed, "language": language, "check_answerable": check_answerable}
    settings |= {"show_metadata": metadata, "pages": pages or [], "exclude_pages": exclude_pages or []}
    settings |= {"exclude_headings": exclude_heading or [], "keep_boilerplate": keep_boilerplate}
    settings |= {"pairs": pairs, "unanswerable": unanswerable}
    prompts = {"questions_prompt": questions, "questions_system": questions_system, "answer_prompt": answer}
    settings |= {name: str(file.absolute()) for name, file in prompts.items() if file is not None}
    inputs = tuple(str(path.absolute()) for path in [*(documents or ()), *(paths or ())])
    flags, file = model_of_flags(model, base_url, api_key_env), str(model_config.absolute()) if model_config else ""
    request = _QaRequest(
        inputs, str(out.absolute()), per_chunk, chunks, settings, flags, file, budget_calls, review=review
    )
    _check_request(request, kind, baseline, as_json=as_json)
    suite, values = request.suite(no_env=no_env)
    if dry_run:
        print_estimate([suite], store, fresh=fresh, as_json=as_json)
    else:
        _begin(request, suite, values, store=store, fresh=fresh, overwrite=overwrite, quiet=quiet, as_json=as_json)


def _begin(
    request: _QaRequest,
    suite: Suite,
    environment: Environment,
    *,
    store: str | None,
    fresh: bool,
    overwrite: bool,
    quiet: bool,
    as_json: bool,
) -> NoReturn:
    """Run the suite or resume its newest run, and exit with the code; a finished one is only reviewed."""
    note_given(asdict(request))
    earlier = None if fresh else newest_run(suite, store)
    if earlier is not None and earlier.state == "finished" and not request.review:
        earlier = None  # start a new run, whose replies come from the journal; only a review uses the finished one
    _check_out(Path(request.out), earlier, suite, overwrite=overwrite)
    if earlier is not None and earlier.state == "finished":
        _report(request, questions_of(earlier, suite), suite, store=store, as_json=False)
    run_options = {"store": store, "fresh": fresh, "resume": earlier.id if earlier else "", "environment": environment}
    _generate(request, suite, run_options, quiet=quiet, as_json=as_json)


def resume_generate(
    run: Run, *, store: str | None, allow_changed: bool, trust_store: bool, no_env: bool, quiet: bool, as_json: bool
) -> NoReturn:
    """Resume an unfinished run of `generate qa`, and exit with its code.

    Raises:
        ConfigError: it was started from Python, its request is none of this person's and the store is not trusted, its
            inputs have changed, or its file holds other rows now.
    """
    stored = run.manifest.get("config")
    if stored is None:
        raise ConfigError(f"run {run.id} was started from Python: call generate_qa() there again to resume it")
    with boundary("config", f"the request of run {run.id} in the store cannot be read"):
        asked = stored["generate"]
        request = _QaRequest(**asked)
    if not was_given(asked):
        why = f"the request of run {run.id} is not one that you gave to steelyard here"
        check_trusted(asked, why, "type the command generate again", trust_store=trust_store)
        no_env = True
    suite, values = request.suite(no_env=no_env)
    _check_out(Path(request.out), run, suite, overwrite=False)
    run_options = {"store": store, "resume": run.id, "allow_changed": allow_changed, "environment": values}
    _generate(request, suite, run_options, quiet=quiet, as_json=as_json)


@dataclass(frozen=True, slots=True)
class _QaRequest:
    """The arguments that determine the question set, stored with the run so that `resume` can rebuild its suite.

    Args:
        documents: absolute paths.
        out: an absolute path.
        per_chunk: questions requested per chunk.
        chunks: how many are sampled; None takes all.
        settings: fields of `QaSettings`, prompts as absolute paths.
        model: a configuration with the key `model`; empty with a model's file, or without a model.
        model_config: absolute path of the model's file, or "".
        budget_calls: calls that may be sent, or None.
        review: whether each question is accepted or rejected before it is written.
    """

    documents: tuple[str, ...]
    out: str
    per_chunk: int
    chunks: int | None
    settings: Mapping[str, Any]
    model: Mapping[str, Any]
    model_config: str
    budget_calls: int | None
    review: bool = False

    def suite(self, *, no_env: bool) -> tuple[Suite, Environment]:
        """The suite that generates the set, and the values behind its references.

        Raises:
            ConfigError: arguments that contradict each other, or a mistake in the model's description.
            DataError: a document cannot be read.
        """
        file = Path(self.model_config) if self.model_config else None
        model, values = load_model(self.model, file, no_env=no_env)
        files = {name: Path(self.settings[name]) for name in _PROMPTS & self.settings.keys()}
        settings = QaSettings(**{**self.settings, **files})
        writer = writer_of(model, self.per_chunk, settings)
        budget = Budget(calls=self.budget_calls)
        run_options = Options(seed=settings.seed, budget=budget, sample_timeout_s=CHUNK_TIMEOUT_S, max_errors=0.0)
        paths = [Path(path) for path in self.documents]
        return qa_suite(paths, writer, chunks=self.chunks, settings=settings, options=run_options), values


def _check_request(request: _QaRequest, kind: str, baseline: str, *, as_json: bool) -> None:
    """Reject another kind, no documents, no model or several, or options that exclude each other.

    Raises:
        ConfigError: which options.
    """
    if kind != "qa":
        raise ConfigError(f"unknown kind {kind!r}: generate supports qa{did_you_mean(kind, ['qa'])}")
    if request.review and as_json:
        raise ConfigError("--review asks at the terminal; --json prints nothing but the report: leave one of them out")
    if not request.documents:
        raise ConfigError("name the documents: --documents PATH")
    if baseline and baseline != "cloze":
        raise ConfigError(f"unknown baseline {baseline!r}{did_you_mean(baseline, ['cloze'])}")
    writers = [bool(request.model), bool(request.model_config), bool(baseline)]
    if sum(writers) != 1:
        what = "give only one of them" if sum(writers) else "one of them is required"
        raise ConfigError(f"--model NAME, --model-config FILE or --baseline cloze: {what}")
    prompts = _PROMPTS & request.settings.keys()
    if baseline and (request.settings["check_answerable"] or request.settings["show_metadata"] or prompts):
        raise ConfigError("--check-answerable, --metadata and prompts need a model; --baseline cloze uses none")


def _check_out(path: Path, earlier: Run | None, suite: Suite, *, overwrite: bool) -> None:
    """Reject an existing file, unless all its questions come from the run that is resumed.

    Raises:
        ConfigError: it exists, or could not be written.
    """
    check_target(path)
    if overwrite or not path.exists():
        return
    own = {row.id for row in questions_of(earlier, suite).rows} if earlier else set()
    try:
        if own and {row.id for row in read_rows(path)} <= own:
            return
    except DataError:
        pass  # not a question set, so it must not be replaced
    raise ConfigError(f"{path} exists already; name another file, or replace it with --overwrite")


def _generate(
    request: _QaRequest, suite: Suite, run_options: Mapping[str, Any], *, quiet: bool, as_json: bool
) -> NoReturn:
    """Run, save, report, and exit with the code of the run."""
    (run,) = run_suite(suite, RunConfig(**run_options, config={"generate": asdict(request)}), quiet=quiet)
    _report(request, questions_of(run, suite), suite, store=run_options["store"], as_json=as_json)


def _report(request: _QaRequest, questions: QaSet, suite: Suite, *, store: str | None, as_json: bool) -> NoReturn:
    """Save the questions or let a person review them, print the report, and exit with the code of the run."""
    out = Path(request.out)
    state = questions.report.state
    reviewed = request.review and bool(questions.rows) and state != "interrupted"
    if questions.rows and not request.review:
        questions.save(out)
    with while_read():
        _print(questions, None if request.review else out, suite, store=store, as_json=as_json)
    if reviewed and not review_rows(questions.rows, out, console()):
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(exit_code(state, has_result=bool(questions.rows)))


def _print(questions: QaSet, out: Path | None, suite: Suite, *, store: str | None, as_json: bool) -> None:
    """Print how many questions were generated and dropped; `out` is None if they are reviewed next."""
    report = questions.report
    if as_json:
        print_json({"file": str(out) if questions.rows else None, **report.json_fields(), "notes": list(suite.notes)})
        return
    to = console()
    for line in _lines(questions, out, suite):
        say(to, line)
    if report.short:
        rows = [_short_row(chunk) for chunk in report.short[:_MOST_LINES]]
        to.print()
        to.print(table(["fewer than requested", "page", "generated", "reason"], rows, right=(1, 2), elastic=3))
        if len(report.short) > _MOST_LINES:
            say(to, f"and {len(report.short) - _MOST_LINES} more chunks; --json has all")
    for line in _next_steps(report, out, store):
        say(to, line)


def _lines(questions: QaSet, out: Path | None, suite: Suite) -> Iterator[str]:
    report = questions.report
    written = f"{out.name}: " if out else ""
    what = written if questions.rows else "nothing was written: "
    yield f"{what}{report.made} of {report.asked} requested questions, from {count_text(report.chunks, 'chunk')}"
    if report.state != "finished":
        missing = f", {count_text(report.not_reached, 'chunk')} not reached" if report.not_reached else ""
        yield f"{state_text(report.state, report.reason)}{missing}"
    if report.errors:
        yield f"chunks without questions because their calls failed: {report.errors}"
    if report.kinds:
        yield f"kinds: {_counts(report.kinds)}"
    if report.dropped:
        yield f"dropped: {_counts(report.dropped)}"
    if report.unread_checks:
        checks = count_text(report.unread_checks, "check")
        yield f"{checks} could not be read: such a question is kept with answerable blank"
    if report.whole_chunks:
        questions_text = count_text(report.whole_chunks, "question")
        yield f"the sentence that holds the answer was not found for {questions_text}: the source is the whole chunk"
    if report.from_journal:
        yield f"{count_text(report.from_journal, 'reply')} cached"
    yield from (f"note: {note}" for note in suite.notes)


def _short_row(chunk: ShortChunk) -> list[str]:
    why = ", ".join(part for part in (chunk.problem, _counts(chunk.dropped)) if part)
    return [chunk.document, str(chunk.page or ""), str(chunk.made), why]


def _counts(dropped: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in dropped.items())


def _next_steps(report: QaReport, out: Path | None, store: str | None) -> Iterator[str]:
    where = store_option(store)
    if report.state == "interrupted" and "budget" in report.reason:
        yield f"resume with: {same_command(report.reason)}"
    elif report.state in {"interrupted", "broken"}:
        yield f"resume with: steelyard resume {report.run}{where}"
        yield f"         or: {same_command()}"
    elif report.made:
        if out:
            yield f"next: steelyard check {shlex.quote(out.name)} --suite rag"
    else:
        yield f"the replies: steelyard report {report.run}{where}"
