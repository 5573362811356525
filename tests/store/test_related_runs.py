"""The run or the file that the name of a baseline means."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from steelyard import ExactMatch, Sample, Store, evaluate
from steelyard.errors import ConfigError
from steelyard.store.related_runs import NoEarlierRunError, check_baseline, find_baseline


@dataclass
class Listed:
    num: int
    id: str
    evaluation: int
    target: str
    state: str = "finished"
    suite: str = "exam"

    def data(self):
        return self


RUNS = [
    Listed(1, "aaa", 1, "glm"),
    Listed(2, "bbb", 2, "glm"),
    Listed(3, "ccc", 3, "glm", state="broken"),
    Listed(4, "ddd", 4, "qwen", suite="other"),
    Listed(5, "eee", 5, "glm"),
    Listed(6, "fff", 5, "qwen"),
    Listed(7, "ggg", 6, "glm"),
]


def baseline_of(name, num):
    return find_baseline(name, RUNS[num - 1], lambda: RUNS[::-1]).id


@pytest.mark.parametrize(
    ("name", "num", "wanted"),
    [
        ("aaa", 7, "aaa"),
        ("ccc", 7, "ccc"),
        ("latest", 7, "eee"),
        ("latest", 5, "bbb"),
        ("latest", 2, "aaa"),
        ("glm", 7, "eee"),
        ("qwen", 7, "fff"),
        ("glm", 6, "eee"),
        ("glm", 5, "eee"),
        ("ggg", 2, "ggg"),
    ],
)
def test_a_name_means_a_run(name, num, wanted):
    """An id; beside it in one evaluation; the newest finished one of that target, begun before, of the same suite."""
    assert baseline_of(name, num) == wanted


@pytest.mark.parametrize(("name", "num"), [("latest", 1), ("latest", 6), ("qwen", 2)])
def test_the_first_run_of_a_target_has_no_baseline(name, num):
    with pytest.raises(NoEarlierRunError, match="was finished before this one"):
        baseline_of(name, num)


def test_a_name_of_nothing_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match=r"there is no run 'qwem': did you mean 'qwen'\?"):
        baseline_of("qwem", 7)


def test_a_baseline_that_will_never_be_found_is_refused_before_anything_is_asked():
    for name in ("", "latest", "glm", "aaa", "new"):
        check_baseline(name, ["new"], lambda: RUNS)
    with pytest.raises(ConfigError, match="gate: baseline: there is no run 'gml': did you mean 'glm'"):
        check_baseline("gml", ["new"], lambda: RUNS)
    with pytest.raises(ConfigError, match="cannot be read"):
        check_baseline("gone.json", ["new"], lambda: RUNS)


def test_stored_runs_are_chosen_from_their_store():
    first, _, third = (
        evaluate(lambda sample: "!", [Sample("q", "?", "!")], [ExactMatch()], name=name, fresh=True)
        for name in ("atlas", "other atlas", "atlas")
    )
    assert find_baseline("latest", third, third.store.runs).id == first.id
    with Store() as store, pytest.raises(NoEarlierRunError):
        find_baseline("latest", first, store.runs)
