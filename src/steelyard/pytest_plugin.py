"""A pytest plug-in: tests on stored runs, and a check that a score has not regressed against its baseline.

    def test_tickets_are_sorted(steelyard_run):
        run = steelyard_run("{{text}}", "tickets.csv", ["label"], model=small)
        assert run.score("accuracy").headline.value >= 0.8

    def test_the_new_prompt_is_no_worse(steelyard_store, assert_no_regression):
        run = evaluate(my_target, samples, [ExactMatch()], store=steelyard_store.path)
        assert_no_regression(run, "baseline.json", margin=0.02)

pytest loads this file at every start, whether or not a test uses it, so nothing heavy is imported at its top. pytest
itself is not either, so that `assert_no_regression` works outside of tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from steelyard.analysis.gate.gate_results import RuleResult
    from steelyard.analysis.run_data import RunData
    from steelyard.store import Run

_UNDECIDED = ("fail", "pass", "warn")


class UndecidedWarning(UserWarning):
    """The data cannot decide whether a score has regressed."""


def assert_no_regression(
    run: Run | RunData,
    baseline: Run | RunData | Path | str,
    *,
    score: str | None = None,
    margin: float = 0.02,
    level: float = 0.95,
    undecided: Literal["fail", "pass", "warn"] = "fail",
) -> RuleResult:
    """Fail unless `run` has kept `score` within `margin` of the baseline.

    It passes if the lower limit of the difference (run - baseline, paired by sample) is above -margin, and fails if it
    is not and the upper limit is below 0. Between the two the data cannot decide.

    Args:
        run: the run to test.
        baseline: another run; the path of a file that `steelyard baseline` wrote; the name of a stored run: its id,
            its target or `latest`, the newest earlier one of the same target.
        score: None is the baseline's headline score. `score[group]` and `score.answered` as in a gate.
        margin: the largest loss that is tolerated, 0 or more, in units of the score (0.02 is two points of a rate).
        level: of the interval, in (0, 1).
        undecided: what happens if the data cannot decide: `fail` the test, `pass` it, or `warn` and pass it.

    Returns:
        The verdict with its numbers, if the test passes.

    Raises:
        AssertionError: the score has regressed, or whether it has cannot be decided; the message is a sentence.
        ConfigError: an argument is wrong, or there is no such baseline.
    """
    __tracebackhide__ = True  # pytest shows the line of the test, not this one
    from steelyard.errors import ConfigError, did_you_mean

    if undecided not in _UNDECIDED:
        raise ConfigError(f"undecided={undecided!r}{did_you_mean(str(undecided), _UNDECIDED)}")
    result = _verdict(run, baseline, score, margin, level)
    message = " ".join([result.sentence, *(f"Note: {note}" for note in result.notes)])
    if result.state == "holds":
        return result
    if result.state == "undecided" and undecided != "fail":
        if undecided == "warn":
            import warnings

            warnings.warn(message, UndecidedWarning, stacklevel=2)
        return result
    raise AssertionError(message)


def _verdict(
    run: Run | RunData, baseline: Run | RunData | Path | str, score: str | None, margin: float, level: float
) -> RuleResult:
    from steelyard.analysis.comparison.compare_runs import compare
    from steelyard.analysis.gate.gate_results import judge_margin, unfit_baseline
    from steelyard.analysis.gate.gate_rules import parse_margin
    from steelyard.analysis.run_data import data_of
    from steelyard.analysis.summary.run_summary import summarize_run
    from steelyard.errors import ConfigError
    from steelyard.store.related_runs import NoEarlierRunError

    data = data_of(run)
    summary = summarize_run(data)
    try:
        earlier = _baseline(run, baseline)
    except NoEarlierRunError as error:
        return judge_margin(parse_margin(score or summary.primary, margin), summary, str(error))
    if earlier.id == data.id:
        raise ConfigError(f"run {data.id} is compared with itself: name another run as its baseline")
    rule = parse_margin(score or earlier.primary or summary.primary, margin)
    comparison = compare(earlier, data, score=rule.score, level=level)
    return judge_margin(rule, summary, unfit_baseline(comparison.baseline) or comparison.pairs[0])


def _baseline(run: Run | RunData, baseline: Run | RunData | Path | str) -> RunData:
    from pathlib import Path

    from steelyard.analysis.comparison.baseline import is_baseline_file, read_baseline
    from steelyard.analysis.run_data import RunData, data_of
    from steelyard.errors import ConfigError
    from steelyard.store import Store
    from steelyard.store.related_runs import find_baseline

    if isinstance(baseline, Path) or (isinstance(baseline, str) and is_baseline_file(baseline)):
        return read_baseline(Path(baseline))
    if not isinstance(baseline, str):
        return data_of(baseline)
    if isinstance(run, RunData) or not isinstance(run.store, Store):
        raise ConfigError(
            f"run {run.id} is not in a store, so the baseline {baseline!r} cannot be found; pass the baseline run"
        )
    return find_baseline(baseline, run, run.store.runs)


def pytest_addoption(parser: Any) -> None:
    """Add the options and the setting of the fixtures."""
    what = "the store of the fixture steelyard_store; .steelyard/steelyard.db in pytest's root directory by default"
    parser.getgroup("steelyard").addoption("--steelyard-store", metavar="FILE", default=None, help=what)
    parser.addini("steelyard_store", what, default="")
    run = "let the fixture steelyard_run evaluate what has no run in the store yet; else such tests are skipped"
    parser.getgroup("steelyard").addoption("--steelyard-run", action="store_true", default=False, help=run)
    budget = "the most calls of an evaluation that steelyard_run starts"
    parser.getgroup("steelyard").addoption("--steelyard-budget", metavar="CALLS", type=int, default=None, help=budget)


def pytest_configure(config: Any) -> None:
    """Register the fixtures; they are defined here, because pytest can only be imported once it runs."""
    from types import ModuleType

    import pytest

    @pytest.fixture(scope="session")
    def steelyard_store(pytestconfig: pytest.Config) -> Any:
        """The store of `--steelyard-store`, created if it does not exist; closed after the last test."""
        from steelyard.store import Store

        with Store(_store_path(pytestconfig), create_missing=True) as opened:
            yield opened

    @pytest.fixture(scope="session")
    def steelyard_run(steelyard_store: Any, pytestconfig: pytest.Config) -> Any:
        """The finished run of an evaluation or of a configuration; made only with --steelyard-run and a budget."""
        import os

        from steelyard.from_python.kept_runs import NotRunError, kept_or_run

        told = {"may_run": pytestconfig.getoption("--steelyard-run"), "environ": os.environ}
        told["calls"] = pytestconfig.getoption("--steelyard-budget")

        def run(*given: Any, **options: Any) -> Any:
            __tracebackhide__ = True
            try:
                return kept_or_run(given, options, steelyard_store, **told)
            except NotRunError as error:
                if told["may_run"]:
                    pytest.fail(str(error))
                pytest.skip(str(error))

        return run

    @pytest.fixture(scope="session", name="assert_no_regression")
    def regression_check() -> Any:
        """The function of that name, so that a test need not import it."""
        return assert_no_regression

    fixtures = ModuleType("steelyard_fixtures", "Fixtures that Steelyard provides.")
    vars(fixtures).update(
        steelyard_store=steelyard_store, steelyard_run=steelyard_run, assert_no_regression=regression_check
    )
    config.pluginmanager.register(fixtures, "steelyard-fixtures")


def _store_path(config: Any) -> str:
    option: str = config.getoption("--steelyard-store")
    if option:
        return option if "://" in option else str(config.invocation_params.dir / option)
    return str(config.rootpath / (config.getini("steelyard_store") or ".steelyard/steelyard.db"))
