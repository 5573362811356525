"""`mark`, and what its marks do to `runs` and `compare`."""

import pytest

from steelyard import ExactMatch, Sample, Store, evaluate


@pytest.fixture
def two(once):
    """Ids of two runs of one suite, older first."""
    samples = [Sample(f"q{n}", "?", "A") for n in range(4)]
    return once(lambda: [evaluate(lambda sample: "A", samples, [ExactMatch()], name="t").id for _ in range(2)])


def listed(steelyard, *options):
    return [run["id"] for run in steelyard("runs", "--json", *options, code=0).json()]


def test_archived_runs_are_listed_when_asked_for(steelyard, two):
    first, second = two
    assert "archived; tags old" in steelyard("mark", first, "--archive", "--tag", "old", code=0).out
    assert listed(steelyard) == [second]
    assert listed(steelyard, "--archived") == [second, first]
    assert listed(steelyard, "--archived", "--tag", "old") == [first]
    assert "and 1 archived: --archived lists them too" in steelyard("runs", code=0).out
    steelyard("mark", first, "--unarchive", "--untag", "old", code=0)
    assert listed(steelyard) == [second, first]
    assert "no marks" in steelyard("mark", first, code=0).out


def test_one_run_is_compared_with_the_pinned_baseline(steelyard, two):
    first, second = two
    assert "has none (steelyard mark RUN --pin)" in steelyard("compare", second, code=2).err
    steelyard("mark", first, "--pin", code=0)
    [pair] = steelyard("compare", second, "--json", code=0).json()["comparison"]["pairs"]
    assert (pair["baseline"], pair["other"]) == (first, second)
    assert "is the pinned baseline of its suite" in steelyard("compare", first, code=2).err


def test_a_suite_gets_one_baseline(steelyard, two):
    assert "a suite has one baseline" in steelyard("mark", *two, "--pin", code=2).err
    steelyard("mark", two[0], "--pin", code=0)
    assert steelyard("mark", two[1], "--pin", "--json", code=0).json() == [
        {"run": two[1], "baseline": True, "archived": False, "tags": []}
    ]
    assert "no marks" in steelyard("mark", two[0], code=0).out


def test_a_word_that_is_no_tag_is_refused_before_the_store_is_opened(steelyard, two):
    assert "holds a blank" in steelyard("mark", two[0], "--tag", "two words", code=2).err
    with Store() as store:
        assert len(store.runs()) == 2
