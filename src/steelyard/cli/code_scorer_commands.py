"""The commands that turn codes into scorers: try a scorer on notes, install it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from steelyard.analysis.numbers import count_text
from steelyard.cli.errors_commands import AuthorOption, CodeArgument
from steelyard.cli.estimates import print_estimate, run_with_cost
from steelyard.cli.exit_codes import exit_code
from steelyard.cli.options import (
    BaseUrlOption,
    BudgetOption,
    DryRunOption,
    FreshOption,
    JsonOption,
    KeyOption,
    LanguageOption,
    MarkdownOption,
    ModelConfigOption,
    ModelOption,
    NoEnvOption,
    QuietOption,
    StoreOption,
    model_and_config,
    same_command,
    store_option,
)
from steelyard.cli.output import print_lines, write_text
from steelyard.errors import ConfigError
from steelyard.escaping import visible
from steelyard.generate.code_trial import CodeTrial, TrialPlan, trial_suite, try_code
from steelyard.people.code_scorer import judge_config, pattern_config, score_name, scorer_yaml
from steelyard.people.codings import NamedCode, change_code, find_code
from steelyard.plain_json import field_values
from steelyard.report.coding_page import CodingPage
from steelyard.report.render.markdown import markdown_page
from steelyard.report.render.terminal import console, print_json, print_sections, say
from steelyard.report.run_texts import reason_suffix
from steelyard.scorers.judges.judge import Judge
from steelyard.store import Store


def errors_try(
    code: CodeArgument,
    model: ModelOption = "",
    base_url: BaseUrlOption = "",
    api_key_env: KeyOption = "",
    model_config: ModelConfigOption = None,
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
    language: LanguageOption = "auto",
    budget_calls: BudgetOption = None,
    store: StoreOption = None,
    fresh: FreshOption = False,
    dry_run: DryRunOption = False,
    no_env: NoEnvOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
    markdown: MarkdownOption = None,
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
    author: AuthorOption,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the scorer of a code for a configuration, and mark it installed.

    The scorer must have been tried before (codes try). No configuration is changed: copy the printed lines into yours.
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
        lines = scorer_yaml(scorer.config)
        if not as_json:
            _print_sections(page, named)
            print_lines([f"\n{lines}\n\n"])  # to be copied: without colours, and lines are not broken
        if not yes:
            _confirm(named)
        change_code(opened, named.coding, "install", named.code.id, author=author)
    if as_json:
        trial = page.trials.get(named.code.id)
        print_json({"code": named.address, "yaml": lines, "trial": trial})
        return
    say(console(), f"{named.code.name} is marked as installed by {author}; put these lines into your configuration")


def _new_scorer(
    store: Store, code: str, options: tuple[str, int | None, str], author: str
) -> tuple[Mapping[str, Any] | None, tuple[int, ...]]:
    """The scorer that the options describe, and the items whose notes are its examples; None without such options.

    Raises:
        ConfigError: both kinds of scorer, no author, or an unknown code.
    """
    pattern, examples, definition = options
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
        say(console(), f"{trial.state}{reason_suffix(trial.state, trial.reason)}")
        say(console(), f"resume with: {same_command(trial.reason)}")
        return
    _print_sections(page, named)
    cached = f", {count_text(trial.from_journal, 'reply')} cached" if trial.from_journal else ""
    say(console(), f"run {trial.run}: {count_text(trial.records, 'record')}{cached}")
    say(console(), f"install with: steelyard errors install {named.address} --author NAME{store_option(store)}")


def _print_sections(page: CodingPage, named: NamedCode) -> None:
    if named.code.id in page.trials:
        print_sections(console(), [page.trial_section(named.code.id)])


def _confirm(named: NamedCode) -> None:
    """Ask the user to confirm the installation.

    Raises:
        ConfigError: there is no terminal to ask on.
        Abort: the user says no.
    """
    if not sys.stdin.isatty():
        raise ConfigError("installing a scorer needs confirmation: answer on a terminal, or add --yes")
    typer.confirm(f"mark the scorer of {visible(named.code.name)} as installed?", abort=True)
