"""The plug-in of pytest, in a pytest of its own."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import warnings
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from tests.test_architecture import HEAVY

from steelyard import ExactMatch, Sample, evaluate
from steelyard.analysis.comparison.baseline import baseline_text, read_baseline
from steelyard.errors import ConfigError
from steelyard.pytest_plugin import UndecidedWarning, assert_no_regression

pytest_plugins = ("pytester",)

N = 200


def solves(share, *, n=N, name="sums", **options):
    """A run of a target that solves this share of n sums, the first ones."""
    samples = [Sample(f"s{at}", f"{at} + {at}", str(2 * at), group="ab"[at % 2]) for at in range(n)]

    def add(sample):
        return sample.reference if int(sample.id[1:]) < share * n else "?"

    return evaluate(add, samples, [ExactMatch()], name=name, fresh=True, **options)


@pytest.fixture(scope="module")
def lost(tmp_path_factory):
    """A run that solves 80 % and one that solves 70 %, in a store of their own, for tests that only read."""
    with contextlib.chdir(tmp_path_factory.mktemp("lost")):
        return solves(0.8), solves(0.7)


def baseline_file(run, name="baseline.json"):
    Path(name).write_text(baseline_text(run.data()), encoding="utf-8")
    return Path(name)


def test_a_regression_fails_with_a_sentence_that_has_the_numbers(lost):
    old, new = lost
    with pytest.raises(AssertionError, match=r"no_regression exact_match 0\.02 does not hold against") as caught:
        assert_no_regression(new, old)
    assert f"({old.id}): difference -10 points, 95 % CI -14.4 to -5.75" in str(caught.value)
    assert "200 pairs" in str(caught.value)


def test_a_run_that_kept_its_score_passes_and_hands_over_the_verdict():
    old, new = solves(0.8), solves(0.8)
    found = assert_no_regression(new, old)
    assert (found.state, found.value, found.baseline) == ("holds", 0.0, old.id)


def test_a_baseline_is_a_run_a_file_or_a_name(lost):
    old, new = lost
    path = baseline_file(old)
    for baseline in (old, path, str(path), read_baseline(path), old.id, "latest", "add"):
        with pytest.raises(AssertionError, match=f"against add \\({old.id}\\): difference -10 points,"):
            assert_no_regression(new, baseline)


def test_score_group_margin_and_level_are_the_callers(lost):
    old, new = lost
    assert assert_no_regression(new, old, margin=0.2).state == "holds"
    assert assert_no_regression(new, old, score="exact_match[a]", margin=0.3).state == "holds"
    narrow = assert_no_regression(new, old, margin=0.2, level=0.5).interval
    assert narrow.high - narrow.low < 0.05
    with pytest.raises(ConfigError, match="no score 'exactmatch': did you mean 'exact_match'"):
        assert_no_regression(new, old, score="exactmatch")


def test_what_the_data_cannot_decide_fails_unless_the_caller_says_otherwise():
    old, new = solves(0.8, n=20), solves(0.8, n=20)
    with pytest.raises(AssertionError, match=r"cannot be decided against .*compatible with a loss of 2 points"):
        assert_no_regression(new, old)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert assert_no_regression(new, old, undecided="pass").state == "undecided"
    with pytest.warns(UndecidedWarning, match="cannot be decided") as caught:
        assert_no_regression(new, old, undecided="warn")
    assert caught[0].filename == __file__
    with pytest.raises(ConfigError, match="did you mean 'pass'"):
        assert_no_regression(new, old, undecided="passs")


def test_a_regression_fails_whatever_is_done_where_nothing_can_be_decided(lost):
    old, new = lost
    for undecided in ("pass", "warn"):
        with pytest.raises(AssertionError, match="does not hold"):
            assert_no_regression(new, old, undecided=undecided)


def test_an_unfinished_run_fails_whatever_is_done_where_nothing_can_be_decided(lost):
    old, _ = lost

    def breaks(sample):
        raise RuntimeError("no sums today")

    broken = evaluate(breaks, [Sample("s0", "0 + 0", "0")], [ExactMatch()], on_broken="return")
    with pytest.raises(AssertionError, match="is not evaluated, as the run is broken"):
        assert_no_regression(broken, old, undecided="pass")


def test_the_first_run_of_all_is_undecided_with_latest():
    with pytest.raises(AssertionError, match="no run of add in 'sums' was finished before this one"):
        assert_no_regression(solves(0.8), "latest")
    assert assert_no_regression(solves(0.8, name="others"), "latest", undecided="pass").state == "undecided"


def test_a_baseline_that_is_not_there_is_a_mistake_and_never_undecided():
    run = solves(0.8)
    for name, words in (("gone.json", "cannot be read"), ("zzz", "there is no run 'zzz'"), (run.id, "with itself")):
        with pytest.raises(ConfigError, match=words):
            assert_no_regression(run, name, undecided="pass")
    kept = read_baseline(baseline_file(run))
    with pytest.raises(ConfigError, match="is not in a store, so the baseline 'latest' cannot be found"):
        assert_no_regression(kept, "latest")


TESTS = """
from steelyard import ExactMatch, Sample, evaluate

SAMPLES = [Sample(f"s{at}", str(at), str(at)) for at in range(200)]


def run_of(store, known):
    def digits(sample):
        return sample.reference if int(sample.id[1:]) < known else "?"
    return evaluate(digits, SAMPLES, [ExactMatch()], name="digits", store=store.path, fresh=True)


def test_kept(steelyard_store, assert_no_regression):
    old, new = run_of(steelyard_store, 150), run_of(steelyard_store, 150)
    assert assert_no_regression(new, "latest").baseline == old.id
    assert [one.id for one in steelyard_store.runs()] == [new.id, old.id]


def test_lost(steelyard_store, assert_no_regression):
    old, new = run_of(steelyard_store, 150), run_of(steelyard_store, 120)
    assert_no_regression(new, old)
"""
REWRITTEN = "ignore::pytest.PytestAssertRewriteWarning"
PLUGIN = ("-p", "steelyard.pytest_plugin", "-p", "no:cacheprovider", "-W", "error", "-W", REWRITTEN)
"""Loaded by name and alone, so that these tests say the same whatever is installed beside it."""


@pytest.fixture
def alone(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return pytester


def test_the_fixtures_give_a_store_and_the_check(alone):
    alone.makepyfile(TESTS)
    result = alone.runpytest_inprocess(*PLUGIN)
    result.assert_outcomes(passed=1, failed=1)
    assert (alone.path / ".steelyard" / "steelyard.db").exists()
    result.stdout.fnmatch_lines(["*AssertionError: digits: no_regression exact_match 0.02 does not hold against*"])


def test_a_failure_shows_the_line_of_the_test(alone):
    alone.makepyfile(TESTS)
    out = alone.runpytest_inprocess(*PLUGIN, "-k", "lost").stdout.str()
    assert any(line.startswith(">") and line.endswith(" assert_no_regression(new, old)") for line in out.splitlines())
    assert "pytest_plugin.py" not in out


def test_the_store_is_named_by_an_option_or_in_the_configuration(alone):
    alone.makepyfile(TESTS)
    alone.makeini("[pytest]\nsteelyard_store = kept/runs.db\n")
    alone.runpytest_inprocess(*PLUGIN, "-k", "kept").assert_outcomes(passed=1)
    assert (alone.path / "kept" / "runs.db").exists()
    alone.runpytest_inprocess(*PLUGIN, "-k", "kept", "--steelyard-store", "mine.db").assert_outcomes(passed=1)
    assert (alone.path / "mine.db").exists()


RUNS = """
from steelyard import Scripted

ROWS = [{"text": f"Ticket {no}", "label": ("bug", "billing")[no % 2]} for no in range(8)]


def test_sorted(steelyard_run):
    run = steelyard_run("{{text}}", ROWS, ["label"], model=Scripted(default="bug"), name="tickets")
    assert run.score("accuracy").headline.value == 0.5
"""


def test_what_has_no_run_yet_is_run_only_when_asked_and_within_a_budget(alone):
    alone.makepyfile(RUNS)
    skipped = alone.runpytest_inprocess(*PLUGIN, "-rs")
    skipped.assert_outcomes(skipped=1)
    skipped.stdout.fnmatch_lines(["*tickets: no finished run of scripted as it is now; pytest --steelyard-run*"])
    without = alone.runpytest_inprocess(*PLUGIN, "--steelyard-run")
    without.assert_outcomes(failed=1)
    without.stdout.fnmatch_lines(["*scripted is run only with a budget: add --steelyard-budget CALLS*"])
    short = alone.runpytest_inprocess(*PLUGIN, "--steelyard-run", "--steelyard-budget", "3")
    short.assert_outcomes(failed=1)
    short.stdout.fnmatch_lines(["*the run of scripted is interrupted: the budget of 3 calls is used up*"])
    alone.runpytest_inprocess(*PLUGIN, "--steelyard-run", "--steelyard-budget", "20").assert_outcomes(passed=1)
    alone.runpytest_inprocess(*PLUGIN).assert_outcomes(passed=1)


def test_another_prompt_or_dataset_has_no_run_yet(alone):
    alone.makepyfile(RUNS)
    alone.runpytest_inprocess(*PLUGIN, "--steelyard-run", "--steelyard-budget", "20").assert_outcomes(passed=1)
    for changed in (RUNS.replace("{{text}}", "Sort: {{text}}"), RUNS.replace("range(8)", "range(6)")):
        alone.makepyfile(changed)
        alone.runpytest_inprocess(*PLUGIN).assert_outcomes(skipped=1)


def test_a_configuration_is_run_likewise_and_gives_every_target(alone):
    (alone.path / "tickets.csv").write_text("text,label\nA,bug\nB,billing\nC,bug\n", "utf-8")
    (alone.path / "tickets.yaml").write_text(
        "samples: tickets.csv\nprompts: '{{text}}'\nscorers: [exact_match]\n"
        "models: {bug: {scripted: {default: bug}}, none: {scripted: {default: no}}}\n"
        "options: {budget: {calls: 10}}\n",
        "utf-8",
    )
    alone.makepyfile(
        "def test_rates(steelyard_run):\n"
        "    runs = steelyard_run('tickets.yaml')\n"
        "    assert [run.score().headline.value for run in runs] == [2 / 3, 0.0]\n"
    )
    alone.runpytest_inprocess(*PLUGIN).assert_outcomes(skipped=1)
    alone.runpytest_inprocess(*PLUGIN, "--steelyard-run").assert_outcomes(passed=1)
    alone.runpytest_inprocess(*PLUGIN).assert_outcomes(passed=1)


def test_the_fixtures_and_the_option_are_described(alone):
    out = alone.runpytest_inprocess(*PLUGIN, "--fixtures", "--help").stdout.str()
    assert "--steelyard-store=FILE" in out
    listed = alone.runpytest_inprocess(*PLUGIN, "--fixtures").stdout.str()
    assert "steelyard_store" in listed
    assert "assert_no_regression" in listed


def test_a_pytest_that_uses_none_of_it_loads_nothing_heavy(alone):
    alone.makepyfile("import sys\n\ndef test_nothing():\n    print(*sys.modules)\n")
    out = alone.runpytest_subprocess(*PLUGIN, "-s").stdout.str().split()
    assert "steelyard.pytest_plugin" in out
    assert [
        one for one in (*HEAVY, "steelyard.store", "steelyard.analysis.comparison.compare_runs") if one in out
    ] == []


def test_the_check_serves_where_no_pytest_is_installed(lost):
    for run, name in zip(lost, ("old.json", "new.json"), strict=True):
        baseline_file(run, name)
    script = (
        "import sys; sys.modules['pytest'] = None\n"
        "from pathlib import Path\n"
        "from steelyard.analysis.comparison.baseline import read_baseline\n"
        "from steelyard.pytest_plugin import assert_no_regression\n"
        "new = read_baseline(Path('new.json'))\n"
        "print(assert_no_regression(new, 'old.json', margin=0.5).state)\n"
        "assert_no_regression(new, 'old.json')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("holds", 1)
    assert "AssertionError: add: no_regression exact_match 0.02 does not hold" in done.stderr


def test_the_package_brings_it_to_pytest_by_itself():
    (point,) = [one for one in entry_points(group="pytest11") if one.name == "steelyard"]
    assert point.load().assert_no_regression is assert_no_regression
