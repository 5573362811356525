"""Options that cannot be meant are refused before anything is sent, wherever they come from."""

import json

import pytest

from steelyard import Budget, ConfigError, ExactMatch, Options, Sample, Store, evaluate
from steelyard.config.load import load
from steelyard.models import Retry

WRONG = [
    ("concurrency", 0, "concurrency must be a whole number of 1 or more, not 0"),
    ("concurrency", 2.5, "concurrency must be a whole number of 1 or more, not 2.5"),
    ("concurrency", "8", "concurrency must be a whole number of 1 or more, not '8'"),
    ("repeats", 0, "repeats must be a whole number of 1 or more, not 0"),
    ("repeats", True, "repeats must be a whole number of 1 or more, not True"),
    ("seed", -1, "seed must be a whole number of 0 or more, not -1"),
    ("max_errors", 1.01, "max_errors must be a number from 0 to 1, not 1.01"),
    ("max_errors", -0.1, "max_errors must be a number from 0 to 1, not -0.1"),
    ("max_errors", float("nan"), "max_errors must be a number from 0 to 1, not nan"),
    ("sample_timeout_s", 0, "sample_timeout_s must be a number of 0.001 or more, not 0"),
    ("sample_timeout_s", -5, "sample_timeout_s must be a number of 0.001 or more, not -5"),
    ("retry", {"attempts": 3}, "retry must be a Retry, not {'attempts': 3}"),
    ("retry", Retry(attempts=0), "retry.attempts must be a whole number of 1 or more, not 0"),
    ("budget", 50, "budget must be a Budget, not 50"),
    ("budget", Budget(calls=-1), "budget.calls must be a whole number of 0 or more, not -1"),
    ("durability", "high", "durability must be 'normal' or 'full', not 'high'"),
]


def test_the_defaults_pass():
    assert Options().check() is None
    assert Options(max_errors=0, seed=0, budget=Budget(calls=0, tokens=0), durability="full").check() is None


@pytest.mark.parametrize(("name", "value", "said_so"), WRONG)
def test_an_option_that_cannot_be_meant_is_refused_by_evaluate(name, value, said_so):
    with pytest.raises(ConfigError) as caught:
        evaluate(lambda sample: "A", [Sample("1", "q", "A")], [ExactMatch()], **{name: value})
    assert str(caught.value) == said_so
    with pytest.raises(ConfigError, match="there is no store"):
        Store()


@pytest.mark.parametrize(
    ("options", "said_so"),
    [
        ({"concurrency": 0}, "options: concurrency must be a whole number of 1 or more, not 0"),
        ({"retry": {"attempts": 0}}, "retry: retry.attempts must be a whole number of 1 or more, not 0"),
        ({"budget": {"calls": -1}}, "budget: budget.calls must be a whole number of 0 or more, not -1"),
        ({"max_errors": 3}, "options: max_errors must be a number from 0 to 1, not 3"),
    ],
)
def test_the_same_is_told_of_a_configuration_with_its_line(tmp_path, options, said_so):
    (tmp_path / "exam.csv").write_text("id,question,A,B,answer\n1,q,x,y,A\n", encoding="utf-8")
    config = {
        "suite": "choice",
        "samples": {"file": "exam.csv"},
        "targets": {"r": {"baseline": "random"}},
        "options": options,
    }
    (tmp_path / "exam.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"exam\.json:\d+:\d+: ") as caught:
        load(tmp_path / "exam.json", environ={})
    assert said_so.partition(": ")[2] in str(caught.value)
