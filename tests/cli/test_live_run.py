"""Progress on a terminal and elsewhere."""

import asyncio
import io
import re

from rich.console import Console

from steelyard.cli.live_run import shown
from steelyard.runner import Progress


def watch(progress, *, terminal, quiet=False, height=24):
    out = io.StringIO()
    to = Console(file=out, force_terminal=terminal, width=80, height=height, markup=False)

    async def work():
        async with shown(to, progress, quiet=quiet):
            await asyncio.sleep(0)

    asyncio.run(work())
    return out.getvalue()


def test_a_terminal_shows_a_line_per_target_and_clears_them_away():
    out = watch([Progress("a", 20, 7, errors=2), Progress("b", 20)], terminal=True)
    assert "7/20" in out
    assert "0/20" in out
    assert out.rstrip().endswith("\x1b[2K"), "what was drawn is erased in the end"


def test_more_targets_than_lines_show_those_around_the_one_at_work():
    many = [Progress(f"target-{n}", 20, 20 if n < 30 else 0) for n in range(60)]
    out = watch(many, terminal=True)
    assert "target-30 " in out
    assert "target-0 " not in out
    assert len(set(re.findall(r"target-\d+", out))) == 20


def test_elsewhere_a_target_that_has_come_to_its_end_is_told_of_once():
    out = watch([Progress("a", 20, 20, errors=1), Progress("b\x1b[2J", 20, 20), Progress("c", 20, 3)], terminal=False)
    assert out.splitlines() == ["a: 20 of 20 done, 1 errors", "b\\x1b[2J: 20 of 20 done, 0 errors"]


def test_quiet_is_quiet():
    assert watch([Progress("a", 20, 20)], terminal=True, quiet=True) == ""


def test_a_run_that_a_rule_ended_says_so_and_is_not_waited_for():
    ended = Progress("a", 70, 27, ended_early=True)
    assert "a: 27 of 70 done, ended early, 0 errors" in watch([ended, Progress("b", 70, 3)], terminal=False)
    assert "27/70" in watch([ended], terminal=True)
    assert ended.is_over
    assert not Progress("b", 70, 3).is_over
