"""Commands that run: `run`, `resume`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

import typer

from steelyard.cli.choosing import FromOption, OnlyOption, choice_of, choose
from steelyard.cli.options import (
    ConfigArgument,
    HtmlOption,
    JsonOption,
    JUnitOption,
    MarkdownOption,
    NoEnvOption,
    QuietOption,
    StoreOption,
    UnsafeSqlOption,
)
from steelyard.cli.reloading import reload_config
from steelyard.errors import ConfigError

if TYPE_CHECKING:
    from steelyard.config.environment import Environment
    from steelyard.config.load import Loaded
    from steelyard.config.positions import Node
    from steelyard.store import Run
    from steelyard.suite import Control, How, Suite

_BROKEN: Final = 4
_INTERRUPTED: Final = 130


def run(
    config: ConfigArgument,
    store: StoreOption = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", help="Only the first so many samples.", min=1)
    ] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out rows with a defect, and count them.")] = False,
    only: OnlyOption = "",
    from_run: FromOption = "",
    fresh: Annotated[bool, typer.Option("--fresh", help="Ask again what the journal could answer.")] = False,
    stop_when_decided: Annotated[
        str,
        typer.Option(
            "--stop-when-decided",
            metavar="full|population",
            help="End when it is clear what the full set would say, or what holds beyond it.",
        ),
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count calls and tokens; send nothing.")] = False,
    unsafe_sql: UnsafeSqlOption = False,
    no_env: NoEnvOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
    html: HtmlOption = None,
    markdown: MarkdownOption = None,
    junit: JUnitOption = None,
) -> None:
    """Run every target of a configuration and compare them."""
    from steelyard.config.load import load

    wanted = choice_of(only, from_run)
    loaded = load(config, environ=os.environ, use_dotenv=not no_env, limit=limit, skip_bad=skip_bad)
    loaded, chosen = choose(loaded, wanted, store)
    if stop_when_decided:
        loaded = _until_decided(loaded, question=stop_when_decided)
    if not quiet:
        _say_notes(loaded.suite)
    if dry_run:
        from steelyard.cli.estimates import print_estimate

        print_estimate(loaded.suite, store, fresh=fresh, as_json=as_json)
        return
    from steelyard.cli.gating import check_before

    outlet = _Outlet(store, as_json, html, markdown, junit)
    outlet.check()
    check_before(loaded.suite, store)
    how = _how(loaded, store, chosen, fresh=fresh, unsafe_sql=unsafe_sql)
    outlet.finish(run_suite(loaded.suite, how, quiet=quiet))


def resume(
    run: Annotated[
        str, typer.Argument(metavar="[RUN]", help="A run of what was interrupted; the newest by default.")
    ] = "",
    store: StoreOption = None,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="The configuration, where it has moved.")
    ] = None,
    allow_changed: Annotated[
        bool, typer.Option("--allow-changed", help="Go on although inputs have changed since the start.")
    ] = False,
    unsafe_sql: UnsafeSqlOption = False,
    no_env: NoEnvOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
    html: HtmlOption = None,
    markdown: MarkdownOption = None,
    junit: JUnitOption = None,
) -> None:
    """Go on with what was interrupted or broke.

    What was answered is not asked again.
    """
    from steelyard.store import Store

    outlet = _Outlet(store, as_json, html, markdown, junit)
    outlet.check()
    with Store(store) as opened:
        found = opened.run(run) if run else _unfinished(opened.runs())
        together = opened.runs_of(found.evaluation)
    if all(one.state == "finished" for one in together):
        typer.echo(f"nothing to resume: run {found.id} is finished", err=True)
        outlet.finish(together)
    if found.kind == "generate":
        from steelyard.cli.generating import go_on

        go_on(found, store=store, allow_changed=allow_changed, use_dotenv=not no_env, quiet=quiet, as_json=as_json)
    loaded = _until_decided(reload_config(found, config, use_dotenv=not no_env), **_rule_of(found))
    loaded, chosen = choose(loaded, (found.manifest["config"] or {}).get("chosen", {}), store)
    how = _how(loaded, store, chosen, resume=found.id, allow_changed=allow_changed, unsafe_sql=unsafe_sql)
    outlet.finish(run_suite(loaded.suite, how, quiet=quiet))


def _until_decided(loaded: Loaded, **rule: Any) -> Loaded:
    """The configuration with another rule of when to stop.

    Raises:
        ConfigError: one that cannot be meant.
    """
    from steelyard.suite.survey import check_stop

    options = loaded.suite.options
    options = replace(options, stop_when_decided=replace(options.stop_when_decided, **rule))
    options.check()
    suite = replace(loaded.suite, options=options)
    check_stop(suite)
    return replace(loaded, suite=suite)


def _rule_of(run: Run) -> dict[str, Any]:
    """The question that was set when the run was begun: its configuration may not say it."""
    rule = run.manifest["options"].get("stop_when_decided") or {}
    return {"question": rule["question"]} if "question" in rule else {}


def _say_notes(suite: Suite) -> None:
    """What is odd about the samples, before a call is paid for: rows left out, a template that does not fit."""
    from steelyard.cli.tables import console, say

    to = console(stderr=True)
    for note in suite.notes:
        say(to, f"note: {note}")


def _how(loaded: Loaded, store: str | None, chosen: Mapping[str, str], **more: Any) -> How:
    from steelyard.suite import How

    config = {"path": str(loaded.path.absolute()), "plain": loaded.plain} | ({"chosen": chosen} if chosen else {})
    return How(store=store, environment=loaded.environment, config=config, **more)


def _unfinished(runs: Sequence[Run]) -> Run:
    """The newest run that can go on; the newest of all where none can."""
    if not runs:
        raise ConfigError("the store holds no runs")
    return next((one for one in runs if one.state in {"interrupted", "broken"}), runs[0])


def known_environment(root: Node, folder: Path, *, use_dotenv: bool) -> Environment:
    """The values behind the references below `root`, from this process or the `.env` in `folder`.

    Raises:
        ConfigError: a reference without a value, or a secret that is written out.
    """
    from steelyard.config.environment import environment

    return environment(root, os.environ, folder / ".env" if use_dotenv else None)


def run_suite(suite: Suite, how: How, *, quiet: bool) -> tuple[Run, ...]:
    """Run every target of a suite with progress; Ctrl-C finishes what is in flight.

    Raises:
        KeyboardInterrupt: it was stopped at once.
    """
    from steelyard.cli.progress import shown
    from steelyard.cli.tables import console
    from steelyard.suite import Control, aevaluate_suite

    async def work() -> tuple[Run, ...]:
        control = Control()
        with _stopping(control):
            async with shown(console(stderr=True), control.progress, quiet=quiet):
                return await aevaluate_suite(suite, how=how, control=control)

    try:
        return asyncio.run(work())
    except asyncio.CancelledError as stopped:
        said = f"stopped at once; what was answered is kept. Go on with: steelyard resume{_store_option(how.store)}"
        typer.echo(said, err=True)
        raise KeyboardInterrupt from stopped


def _store_option(store: str | Path | None) -> str:
    """`--store` as it is to be typed again, but for a password.

    >>> _store_option("postgresql://me:abc@h/exams"), _store_option("my exams.db"), _store_option(None)
    (' --store postgresql://me@h/exams', " --store 'my exams.db'", '')
    """
    from steelyard.store.address import has_password, locate

    if not store:
        return ""
    return f" --store {shlex.quote(str(locate(store) if has_password(store) else store))}"


@contextlib.contextmanager
def _stopping(control: Control) -> Iterator[None]:
    """First Ctrl-C (or SIGTERM): finish what is in flight; the second: stop at once."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def stop() -> None:
        for signum in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(signum)
            loop.add_signal_handler(signum, at_once)
        if control.stop is None:
            at_once()
            return
        in_flight = sum(one.in_flight for one in control.progress)
        typer.echo(f"\nfinishing {in_flight} samples in flight; again to stop at once", err=True)
        control.stop("interrupted")

    def at_once() -> None:
        if task is not None:
            task.cancel()

    for signum in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signum, stop)
    try:
        yield
    finally:
        for signum in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(signum)


@dataclass(frozen=True, slots=True)
class _Outlet:
    """Where what came out goes: the store that was named, and whether and where it is written down."""

    store: str | None
    as_json: bool
    html: Path | None
    markdown: Path | None
    junit: Path | None

    def check(self) -> None:
        """Refuse a file that cannot be written before anything is paid for."""
        from steelyard.cli.outcome import check_pages

        check_pages(self.html, self.markdown, self.junit)

    def finish(self, runs: Sequence[Run]) -> NoReturn:
        """Print and write what came out, then exit with the code that says it, also where nobody reads it."""
        from steelyard.cli.outcome import print_outcome, weigh, write_pages
        from steelyard.cli.pipes import while_read

        outcome = weigh(runs, store=self.store)
        with while_read():
            print_outcome(outcome, as_json=self.as_json, reported=self.html is not None)
        write_pages(outcome, html=self.html, markdown=self.markdown, junit=self.junit)
        if any(one.state == "broken" for one in runs):
            raise typer.Exit(_BROKEN)
        if any(one.state != "finished" for one in runs):
            raise typer.Exit(_INTERRUPTED)
        raise typer.Exit(outcome.gate.exit_code if outcome.gate else 0)
