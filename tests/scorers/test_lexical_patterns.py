"""A pattern is decided in bounded time, whatever the text."""

import threading
import time

import pytest

from steelyard import Output, Sample
from steelyard.constraints import check_options
from steelyard.errors import ConfigError
from steelyard.scorers.formats import Regex
from steelyard.types import DescribesStage

SAMPLE = Sample("1", "q")
HOSTILE = "a" * 5000 + "b"


def score(pattern, text, *, finish="stop", **options):
    return Regex(pattern, **options)(SAMPLE, Output(text, metadata={"finish": finish}))


@pytest.mark.parametrize(
    ("pattern", "text", "options", "value"),
    [
        (r"\d{4}", "in 1789", {}, 1.0),
        (r"\d{4}", "in 1789", {"mode": "fullmatch"}, 0.0),
        (r"[A-D]", " B\n", {"mode": "fullmatch"}, 1.0),
        ("paris", "Paris", {}, 0.0),
        ("paris", "Paris", {"flags": ("ignore_case",)}, 1.0),
        ("^b", "a\nb", {}, 0.0),
        ("^b", "a\nb", {"flags": ("multiline",)}, 1.0),
        ("a.b", "a\nb", {"flags": ("dot_all",)}, 1.0),
        ("a b # two", "ab", {"flags": ("verbose", "ignore_case")}, 1.0),
        ("[一-龥]+卦", "共六十四卦", {}, 1.0),
        (r'"a": 1', {"a": 1}, {}, 1.0),
        ("x", None, {}, 0.0),
        ("^$", "", {}, 1.0),
    ],
)
def test_an_output_matches_or_does_not(pattern, text, options, value):
    scored = score(pattern, text, **options)
    assert (scored.value, scored.passed) == (value, value == 1)


def test_the_reason_quotes_what_was_found():
    assert score(r"\d+", "in 1789 or 1792").reason == "found '1789'"
    assert score(r"\d+", "never").reason == "the pattern is not found"


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(a|a?)+$"])
def test_a_match_that_takes_too_long_is_unparsed(pattern):
    scored = score(pattern, HOSTILE, timeout_s=0.05)
    assert (scored.value, scored.outcome, scored.detail) == (None, "unparsed", {"kind": "timeout"})
    assert scored.reason == "the pattern was not decided within 0.05 s"


def test_others_go_on_while_a_pattern_is_matched():
    """With the interpreter's lock held, as `re` holds it, this thread would run in the first and last moment alone."""
    found, moments = [], set()
    thread = threading.Thread(target=lambda: found.append(score("(a+)+$", HOSTILE, timeout_s=0.3)))
    thread.start()
    while thread.is_alive():
        moments.add(int(time.perf_counter() / 0.01))
    assert found[0].outcome == "unparsed"
    assert len(moments) > 3


def test_it_runs_beside_the_event_loop():
    assert not isinstance(Regex("a"), DescribesStage)


def test_a_reply_that_a_filter_stopped_is_refused():
    assert score("x", "", finish="content_filter").outcome == "refused"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pattern": "("}, "is not a regular expression"),
        ({"pattern": "x", "mode": "match"}, "mode: expected search or fullmatch"),
        ({"pattern": "x", "flags": ("ignorecase",)}, "ignore_case"),
        ({"pattern": "x", "timeout_s": 0}, "timeout_s"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        check_options(Regex(**options))
    assert check_options(Regex("x")) is None
