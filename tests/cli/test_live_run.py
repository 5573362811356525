"""Progress on a terminal and elsewhere."""

import asyncio
import io
import re

import pytest
from rich.console import Console

from steelyard.analysis.scores.score_infos import RunningScore
from steelyard.cli.live_run import shown
from steelyard.evaluation import RunHandle
from steelyard.models.budget import Budget, BudgetMeter
from steelyard.models.prices import Spent
from steelyard.runner import Progress


def watch(progress, *, terminal, quiet=False, height=24, width=80, retries=None, meter=None):
    out = io.StringIO()
    to = Console(file=out, force_terminal=terminal, width=width, height=height, markup=False)

    async def work():
        async with shown(to, RunHandle(list(progress), retries or {}, meter), quiet=quiet):
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
    assert len(set(re.findall(r"target-\d+", out))) == 19


def test_elsewhere_a_target_that_has_come_to_its_end_is_told_of_once():
    out = watch([Progress("a", 20, 20, errors=1), Progress("b\x1b[2J", 20, 20), Progress("c", 20, 3)], terminal=False)
    assert out.splitlines() == [
        "a: 20 of 20 done (100 %), 1 error",
        "b\\x1b[2J: 20 of 20 done (100 %), 0 errors",
    ]


def scored(target, planned, done, **more):
    running = RunningScore(scored=done, total=0.75 * done)
    return Progress(target, planned, done, done, score="solve_rate", running=running, **more)


def drawn(out):
    """The lines that were drawn first, without codes of the terminal."""
    return [line.rstrip() for line in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out).splitlines()]


def test_each_target_has_a_bar_a_share_and_its_score_so_far_and_all_have_a_row():
    lines = drawn(watch([scored("a", 400, 200, errors=2, cost=0.5), Progress("b", 400)], terminal=True))
    head, first, second, total = lines[:4]
    assert head.split() == ["target", "done", "so", "far", "errors", "cost"]
    assert first.split() == ["a", "█████░░░░░", "50", "%", "200/400", "75.0", "%", "2", "0.50"]
    assert second.split() == ["b", "░░░░░░░░░░", "0", "%", "0/400"]
    assert total.split() == ["all", "██░░░░░░░░", "25", "%", "200/800", "2", "0.50"]


def test_what_is_empty_for_every_target_has_no_column():
    assert drawn(watch([Progress("a", 20, 7, 7)], terminal=True))[0].split() == ["target", "done"]


def test_below_the_targets_stand_retries_budget_and_the_last_error():
    meter = BudgetMeter(Budget(calls=100, money=2.0), Spent(25, 0, 500_000_000, 0), None, currency="EUR")
    running = scored("a", 400, 200, last_error="target: bad \x1b[2J thing")
    lines = drawn(watch([running], terminal=True, retries={"rate_limit": 12, "timeout": 1}, meter=meter))
    assert "13 retries (429 too many requests 12, timeout 1)" in lines
    assert "budget: calls 25 of 100 (25 %), money 0.50 of 2.00 EUR (25 %)" in lines
    assert "last error: target: bad \\x1b[2J thing" in lines


def test_elsewhere_retries_of_all_targets_have_a_line_of_their_own():
    ended = scored("a", 20, 20, cost=0.25)
    ended.before = 0
    lines = watch([ended], terminal=False, retries={"rate_limit": 1}).splitlines()
    assert lines == [
        "a: 20 of 20 done (100 %), solve rate 75.0 %, 0 errors, 0.25",
        "all targets: 1 retry (429 too many requests 1)",
    ]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_longer_than_the_terminal_and_no_number_is_cut(width):
    many = [scored(f"a-target-with-a-long-name-{n}", 100_000, 12_345, errors=123, cost=12.5) for n in range(2)]
    out = watch(many, terminal=True, width=width, retries={"rate_limit": 1234})
    assert max(map(len, drawn(out))) <= width
    assert "12345/100000" in out


def test_quiet_is_quiet():
    assert watch([Progress("a", 20, 20)], terminal=True, quiet=True) == ""


def test_a_run_that_a_rule_ended_says_so_and_is_not_waited_for():
    ended = Progress("a", 70, 27, ended_early=True)
    assert "a: 27 of 70 done (38 %), ended early, 0 errors" in watch([ended, Progress("b", 70, 3)], terminal=False)
    assert "27/70" in watch([ended], terminal=True)
    assert ended.is_over
    assert not Progress("b", 70, 3).is_over
