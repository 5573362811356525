"""A pytest plugin that lists tests which passed without one assertion: a loop was empty, or a condition never held.

    python -m pytest -q -p tools.test_assertions -o enable_assertion_pass_hook=true tests/stats

Tests that use `pytest.raises` are not listed. Run it with an empty PYTHONPYCACHEPREFIX: rewritten tests are kept.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator

import pytest

_ASSERTED: pytest.StashKey[Counter[str]] = pytest.StashKey()


def pytest_configure(config: pytest.Config) -> None:
    """Begin to count."""
    config.stash[_ASSERTED] = Counter()


def pytest_assertion_pass(item: pytest.Item) -> None:
    """Count an assertion that held."""
    item.config.stash[_ASSERTED][item.nodeid] += 1


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Know the test, also where it asserts nothing."""
    if isinstance(item, pytest.Function) and "raises" not in inspect.getsource(item.function):
        item.config.stash[_ASSERTED].setdefault(item.nodeid, 0)
    return (yield)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the tests without an assertion."""
    for name, count in config.stash[_ASSERTED].items():
        if not count:
            terminalreporter.write_line(f"asserted nothing: {name}")
