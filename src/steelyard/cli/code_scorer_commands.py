"""The commands that turn codes into scorers: propose codes by a model, try a scorer on notes, install it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from steelyard.cli.codes_commands import AuthorOption, CodeArgument, CodingArgument
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
    exit_code,
    load_model,
    store_option,
)
from steelyard.errors import ConfigError
from steelyard.plain_json import field_values

if TYPE_CHECKING:
    from steelyard.generate.code_proposals import CodeProposals
    from steelyard.generate.code_trial import CodeTrial
    from steelyard.models.base import Model
    from steelyard.people.codings import NamedCode
    from steelyard.report.coding_page import CodingPage
    from steelyard.store import Run, Store
    from steelyard.suite import RunConfig, Suite


def codes_propose(
    analysis: CodingArgument,
    model: ModelOption = "",
    base_url: BaseUrlOption = "",
    api_key_env: KeyOption = "",
    model_config: ModelConfigOption = None,
    language: LanguageOption = "auto",
    budget_calls: BudgetOption = None,
    store: StoreOption = None,
    fresh: FreshOption = False,
    dry_run: DryRunOption = False,
    no_env: NoEnvOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Let a model propose codes for notes without a code.

    The model sees only the notes. A proposed code counts once a person adopts it in the viewer.
    Repeating the command resumes an interrupted proposal; no reply is paid for twice.
    """
    from steelyard.cli.estimates import print_estimate
    from steelyard.generate.code_proposals import ProposalPlan, ask_for_codes, proposal_suite
    from steelyard.generate.reviewer import CauseFinder
    from steelyard.report.render.terminal import print_json
    from steelyard.store import Store

    proposer, how = _model((model, base_url, api_key_env), model_config, store, fresh=fresh, no_env=no_env)
    if proposer is None:
        raise ConfigError("codes propose needs a model: add --model NAME or --model-config FILE")
    finder = CauseFinder(proposer, cast("Literal['auto', 'en', 'zh']", language))
    finder.check()
    plan = ProposalPlan(analysis, finder, budget_calls)
    with Store(store) as opened:
        suite = proposal_suite(opened, plan)
    if dry_run:
        print_estimate([suite], store, fresh=fresh, as_json=as_json)
        return
    result = ask_for_codes(store, plan, how=how, evaluate=_Evaluating(store, fresh=fresh, quiet=quiet))
    if as_json:
        print_json(
            {
                **{name: value for name, value in asdict(result).items() if name != "codes"},
                "codes": [
                    {
                        "id": code.id,
                        "name": code.name,
                        "definition": code.definition,
                        "items": list(code.proposed_items),
                    }
                    for code in result.codes
                ],
            }
        )
    else:
        _print_proposals(result, store)
    raise typer.Exit(exit_code(result.state, has_result=result.unplaced < result.notes))


def codes_try(
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
    from steelyard.cli.estimates import print_estimate
    from steelyard.generate.code_trial import TrialPlan, trial_suite, try_code
    from steelyard.scorers.judges.judge import Judge
    from steelyard.store import Store

    judge_model, how = _model((model, base_url, api_key_env), model_config, store, fresh=fresh, no_env=no_env)
    judge = None if judge_model is None else Judge(judge_model, language=cast("Literal['auto', 'en', 'zh']", language))
    with Store(store) as opened:
        config, items = _new_scorer(opened, code, (pattern, examples, definition), author)
        plan = TrialPlan(code, judge, budget_calls, config, items)
        suite = trial_suite(opened, plan)
    if dry_run:
        print_estimate([suite], store, fresh=fresh, as_json=as_json)
        return
    evaluate = _Evaluating(store, fresh=fresh, quiet=quiet)
    trial = try_code(store, plan, author=author, how=how, evaluate=evaluate)
    _print_trial(trial, store, (markdown, as_json))
    raise typer.Exit(exit_code(trial.state, has_result=trial.errors < trial.records))


def codes_install(
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
    from steelyard.cli.output import print_lines
    from steelyard.people.code_scorer import scorer_yaml
    from steelyard.people.codings import change_code, find_code
    from steelyard.report.coding_page import CodingPage
    from steelyard.report.render.terminal import console, print_json, say
    from steelyard.store import Store

    with Store(store) as opened:
        named = find_code(opened, code)
        scorer = named.code.scorer
        if scorer is None or not scorer.run:
            raise ConfigError(
                f"the scorer of {named.code.name!r} was not tried yet: "
                f"steelyard codes try {named.address}{store_option(store)}"
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


class _Evaluating:
    """Prints the expected cost of a suite, then runs it with progress."""

    def __init__(self, store: str | None, *, fresh: bool, quiet: bool) -> None:
        self._store = store
        self._fresh = fresh
        self._quiet = quiet

    def __call__(self, suite: Suite, *, how: RunConfig) -> Sequence[Run]:
        from steelyard.cli.estimates import say_cost
        from steelyard.cli.live_run import run_suite

        if not self._quiet:
            say_cost(suite, self._store, fresh=self._fresh)
        return run_suite(suite, how, quiet=self._quiet)


def _model(
    flags: tuple[str, str, str], file: Path | None, store: str | None, *, fresh: bool, no_env: bool
) -> tuple[Model | None, RunConfig]:
    """The model that flags or a file describe (None for none), and the configuration of runs.

    Raises:
        ConfigError: both, or a mistake in one of them.
    """
    from steelyard.config.model_file import model_of_flags
    from steelyard.suite import RunConfig

    described = model_of_flags(*flags)
    if described and file:
        raise ConfigError("--model NAME or --model-config FILE: give one of them")
    model, values = load_model(described, file.absolute() if file else None, no_env=no_env)
    return model, RunConfig(store=store, fresh=fresh, environment=values)


def _new_scorer(
    store: Store, code: str, options: tuple[str, int | None, str], author: str
) -> tuple[Mapping[str, Any] | None, tuple[int, ...]]:
    """The scorer that the options describe, and the items whose notes are its examples; None without such options.

    Raises:
        ConfigError: both kinds of scorer, no author, or an unknown code.
    """
    from steelyard.people.code_scorer import judge_config, pattern_config, score_name
    from steelyard.people.codings import find_code

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
    from steelyard.analysis.numbers import count_text
    from steelyard.cli.output import write_text
    from steelyard.people.codings import find_code
    from steelyard.report.coding_page import CodingPage
    from steelyard.report.render.markdown import markdown_page
    from steelyard.report.render.terminal import console, print_json, say
    from steelyard.report.run_texts import reason_suffix
    from steelyard.store import Store

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
        larger = " and a larger --budget-calls" if "budget" in trial.reason else ""
        say(console(), f"resume with: the same command{larger or ' again'}")
        return
    _print_sections(page, named)
    cached = f", {count_text(trial.from_journal, 'reply')} cached" if trial.from_journal else ""
    say(console(), f"run {trial.run}: {count_text(trial.records, 'record')}{cached}")
    say(console(), f"install with: steelyard codes install {named.address} --author NAME{store_option(store)}")


def _print_sections(page: CodingPage, named: NamedCode) -> None:
    from steelyard.report.render.terminal import console, print_sections

    if named.code.id in page.trials:
        print_sections(console(), [page.trial_section(named.code.id)])


def _print_proposals(result: CodeProposals, store: str | None) -> None:
    from steelyard.analysis.numbers import count_text
    from steelyard.report.render.terminal import console, say
    from steelyard.report.run_texts import reason_suffix

    to = console()
    if result.state != "finished":
        say(to, f"{result.state}{reason_suffix(result.state, result.reason)}")
        say(to, "resume with: the same command again")
        return
    proposed, shown = count_text(len(result.codes), "code"), count_text(result.notes, "note")
    say(to, f"error analysis {result.analysis}: {proposed} proposed for {shown}")
    for code in result.codes:
        say(to, f"  {code.id}  {code.name}: {count_text(len(code.proposed_items), 'note')}. {code.definition}")
    if result.unplaced:
        say(to, f"notes under no proposed code: {result.unplaced:,}")
    if result.codes:
        say(to, "A proposed code counts once a person adopts it, in the browser:")
        say(to, f"  steelyard view{store_option(store)}")


def _confirm(named: NamedCode) -> None:
    """Ask the user to confirm the installation.

    Raises:
        ConfigError: there is no terminal to ask on.
        Abort: the user says no.
    """
    from steelyard.escaping import visible

    if not sys.stdin.isatty():
        raise ConfigError("installing a scorer needs confirmation: answer on a terminal, or add --yes")
    typer.confirm(f"mark the scorer of {visible(named.code.name)} as installed?", abort=True)
