"""The commands of error analysis: draw records, note in a sheet what is wrong, see codes, make scorers of them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal, cast

import typer

from steelyard.analysis.numbers import count_text
from steelyard.cli import options
from steelyard.cli.live_run import print_estimate, run_with_cost
from steelyard.cli.options import model_and_config, named_runs, same_command, store_option
from steelyard.cli.output import exit_code, write_text
from steelyard.errors import ConfigError
from steelyard.escaping import visible
from steelyard.generate.code_trial import CodeTrial, TrialPlan, scorer_lines, trial_suite, try_code
from steelyard.people.code_scorer import judge_config, pattern_config, score_name
from steelyard.people.coding_sheet import coding_sheet, read_coding_sheet, store_notes
from steelyard.people.codings import NamedCode, change_code, draw_coding, find_code, find_coding, read_coding
from steelyard.plain_json import field_values
from steelyard.report.coding_page import CodingPage
from steelyard.report.render.markdown import markdown_page
from steelyard.report.render.terminal import console, print_data, print_json, print_sections, say
from steelyard.report.run_texts import state_text, stratum_text
from steelyard.scorers.judges.judge import Judge
from steelyard.store import Store

_DRAWN: Final = 100
CodingArgument = Annotated[
    str, typer.Argument(metavar="ANALYSIS", help="Id of an error analysis, or a run: its newest error analysis.")
]
CodeArgument = Annotated[
    str, typer.Argument(metavar="CODE", help="A code's name or id; ANALYSIS/CODE if several analyses have this code.")
]


def errors_draw(
    runs: options.RunsArgument,
    *,
    author: options.AuthorOption,
    n: Annotated[int, typer.Option("--n", "-n", metavar="N", help="Records in all.", min=1)] = _DRAWN,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Seed of the draw; the same seed draws the same records.", min=0)
    ] = 0,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Draw records of runs to read and note what is wrong with them.

    The same number of records is drawn from each run: equally many failures, passes and unreadable replies. Sizes of
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
        say(to, f"  {count:,} of the {stratum_text(name)}")
    say(to, "Note the first thing that is wrong with each, in the browser:")
    say(to, f"  steelyard view{where}")
    say(to, "or in a sheet:")
    say(to, f"  steelyard errors sheet {coding.id} --out notes.csv{where}")


def errors_show(
    analysis: CodingArgument,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
    markdown: options.MarkdownOption = None,
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
    out: options.OutOption = None,
    store: options.StoreOption = None,
) -> None:
    """Write the drawn records as a CSV with columns for note and code.

    Note the first thing that is wrong, or ok if nothing is. Notes with the same name in the column code belong to one
    code. Steelyard reads the sheet back with errors note.
    """
    with Store(store) as opened:
        coding = find_coding(opened, analysis)
        text = coding_sheet(opened, coding, read_coding(opened, coding))
    if out is None:
        print_data([text])
        return
    write_text(out, text)
    say(console(), f"wrote {out}: {count_text(len(coding.items), 'record')}; fill its columns note and code")


def errors_note(
    analysis: CodingArgument,
    *,
    from_file: Annotated[
        Path, typer.Option("--from", metavar="FILE", help="A filled-in sheet of errors sheet.", show_default=False)
    ],
    author: options.AuthorOption,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
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


def errors_try(
    code: CodeArgument,
    model: options.ModelOption = "",
    base_url: options.BaseUrlOption = "",
    api_key_env: options.KeyOption = "",
    model_config: options.ModelConfigOption = None,
    *,
    pattern: Annotated[
        str,
        typer.Option("--pattern", metavar="REGEX", help="Make the scorer: a regular expression that finds the error."),
    ] = "",
    examples: Annotated[
        int | None,
        typer.Option(
            "--examples", metavar="N", help="Make the scorer: a judge with the definition and the first N notes.", min=0
        ),
    ] = None,
    definition: Annotated[
        str, typer.Option("--definition", metavar="TEXT", help="With --examples: in place of the code's definition.")
    ] = "",
    author: Annotated[
        str, typer.Option("--author", metavar="NAME", help="Your name; it is stored.", show_default=False)
    ] = "",
    language: options.LanguageOption = "auto",
    budget_calls: options.BudgetOption = None,
    store: options.StoreOption = None,
    fresh: options.FreshOption = False,
    dry_run: options.DryRunOption = False,
    no_env: options.NoEnvOption = False,
    quiet: options.QuietOption = False,
    as_json: options.JsonOption = False,
    markdown: options.MarkdownOption = None,
) -> None:
    """Compare the scorer of a code with people's notes: TPR and TNR.

    The scorer, made here or in the viewer, scores the stored answers of all noted records that are not among its
    examples. A judge calls its model; a pattern needs none. Repeating the command resumes an interrupted trial; no
    reply is paid for twice.
    """
    judge_model, how = model_and_config((model, base_url, api_key_env), model_config, store, fresh=fresh, no_env=no_env)
    judge = None if judge_model is None else Judge(judge_model, language=cast("Literal['auto', 'en', 'zh']", language))
    with Store(store) as opened:
        config, items = _new_scorer(opened, code, (pattern, examples, definition), author)
        plan = TrialPlan(code, judge, budget_calls, config, items)
        suite = trial_suite(opened, plan)
    if dry_run:
        print_estimate([suite], store, fresh=fresh, as_json=as_json)
        return
    trial = try_code(store, plan, author=author, how=how, evaluate=partial(run_with_cost, quiet=quiet))
    _print_trial(trial, store, (markdown, as_json))
    raise typer.Exit(exit_code(trial.state, has_result=trial.errors < trial.records))


def errors_install(
    code: CodeArgument,
    *,
    author: options.AuthorOption,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Print the scorer of a code for a configuration, and mark it installed.

    The scorer must have been tried before (errors try). No configuration is changed: copy the printed lines into yours.
    """
    with Store(store) as opened:
        named = find_code(opened, code)
        scorer = named.code.scorer
        if scorer is None or not scorer.run:
            raise ConfigError(
                f"the scorer of {named.code.name!r} was not tried yet: "
                f"steelyard errors try {named.address}{store_option(store)}"
            )
        page = CodingPage.of(opened, named.coding)
        lines = scorer_lines(scorer.config)
        if not as_json:
            _print_sections(page, named)
            print_data([f"\n{lines}\n\n"])  # to be copied: without colours, and lines are not broken
        if not yes:
            if not sys.stdin.isatty():
                raise ConfigError("installing a scorer needs confirmation: answer on a terminal, or add --yes")
            typer.confirm(f"mark the scorer of {visible(named.code.name)} as installed?", abort=True)
        change_code(opened, named.coding, "install", named.code.id, author=author)
    if as_json:
        trial = page.trials.get(named.code.id)
        print_json({"code": named.address, "yaml": lines, "trial": trial})
        return
    say(console(), f"{named.code.name} is marked as installed by {author}; put these lines into your configuration")


def _new_scorer(
    store: Store, code: str, scorer_options: tuple[str, int | None, str], author: str
) -> tuple[Mapping[str, Any] | None, tuple[int, ...]]:
    """The scorer that the options describe, and the items whose notes are its examples; None without such options.

    Raises:
        ConfigError: both kinds of scorer, no author, or an unknown code.
    """
    pattern, examples, definition = scorer_options
    if not pattern and examples is None:
        return None, ()
    if pattern and examples is not None:
        raise ConfigError("--pattern and --examples make two kinds of scorer: give one of them")
    if definition and examples is None:
        raise ConfigError("--definition is that of a judge: add --examples N, which may be 0")
    if not author.strip():
        raise ConfigError("--author NAME is missing: a scorer needs the name of its author")
    named = find_code(store, code)
    name = score_name(named.code.name)
    if pattern:
        return pattern_config(name, pattern), ()
    notes = [note for note in named.state.notes.values() if note.code == named.code.id]
    shown = sorted(notes, key=lambda note: note.num)[:examples]
    config = judge_config(name, definition or named.code.definition, [note.text for note in shown])
    return config, tuple(note.item for note in shown)


def _print_trial(trial: CodeTrial, store: str | None, to: tuple[Path | None, bool]) -> None:
    markdown, as_json = to
    with Store(store) as opened:
        named = find_code(opened, f"{trial.analysis}/{trial.code}")
        page = CodingPage.of(opened, named.coding)
    result = page.trials.get(trial.code) if trial.state == "finished" else None
    if markdown is not None and result is not None:
        write_text(markdown, markdown_page(f"Trial of {named.code.name}", [page.trial_section(trial.code)]))
    if as_json:
        print_json({**field_values(trial), "trial": result})
        return
    if trial.state != "finished":
        say(console(), state_text(trial.state, trial.reason))
        say(console(), f"resume with: {same_command(trial.reason)}")
        return
    _print_sections(page, named)
    cached = f", {count_text(trial.from_journal, 'reply')} cached" if trial.from_journal else ""
    say(console(), f"run {trial.run}: {count_text(trial.records, 'record')}{cached}")
    say(console(), f"install with: steelyard errors install {named.address} --author NAME{store_option(store)}")


def _print_sections(page: CodingPage, named: NamedCode) -> None:
    if named.code.id in page.trials:
        print_sections(console(), [page.trial_section(named.code.id)])
