"""What a viewer holds of large runs after it has computed with them is bounded by their records."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from steelyard.viewer.pages import Pages


def run_of(ident, done):
    """As much of a run as keeping something computed of it needs."""
    counters = {"scoring_version": 0, "errors": 0, "replies": done, "seconds": 1.0}
    return SimpleNamespace(id=ident, state="finished", done=done, **counters)


@pytest.fixture
def pages():
    made = Pages(None, root_path="", read_only=True, static=lambda name: name)
    yield made
    made.close()


@pytest.mark.parametrize(("done", "kept"), [(400_000, 2), (5_000_000, 1), (100, 12)])
def test_what_is_kept_is_bounded_by_the_records_it_was_computed_of(pages, done, kept):
    runs = [run_of(f"run {number}", done) for number in range(20)]
    computed = []
    for run in [*runs, *reversed(runs)]:
        assert pages.kept("comparison", [run], None, lambda run=run: computed.append(run.id) or run.id) == run.id
    # Asked again from the newest on: only what had been let go is computed a second time.
    again = computed[len(runs) :]
    assert again == [run.id for run in reversed(runs[: len(runs) - kept])]


def test_what_is_still_computed_is_found_by_who_waits_for_it(pages):
    outer, inner = [run_of("a", 900_000)], [run_of("b", 900_000)]
    computed = []

    def compute():
        computed.append("outer")
        pages.kept("inner", inner, None, lambda: computed.append("inner"))
        return len(computed)

    assert pages.kept("outer", outer, None, compute) == 2
    assert pages.kept("outer", outer, None, compute) == 2
    assert computed == ["outer", "inner"]
