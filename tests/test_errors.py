"""The one vocabulary of errors: what a person reads, and what keeps its cause."""

import asyncio

import pytest

from steelyard import ConfigError, SteelyardError
from steelyard.errors import (
    DataError,
    Location,
    ModelError,
    ScorerError,
    StoreError,
    TargetError,
    boundary,
    bounded,
    did_you_mean,
    expect_number,
)


def test_every_error_is_one_of_ours():
    for kind in (ConfigError, DataError, ModelError, ScorerError, StoreError, TargetError):
        assert issubclass(kind, SteelyardError)


def test_a_place_is_shown_as_file_line_and_column_without_what_is_unknown():
    assert str(Location("a.yaml", 3, 7)) == "a.yaml:3:7"
    assert str(Location("a.yaml", 3)) == "a.yaml:3"
    assert str(Location("a.yaml")) == "a.yaml"
    assert str(ConfigError("no", Location("a.yaml", 3))) == "a.yaml:3: no"
    assert str(ConfigError("no")) == "no"


@pytest.mark.parametrize(
    ("text", "column", "blanks"),
    [
        ("targets: x", 1, ""),
        ("targets: x", 10, " " * 9),
        ("模型: x", 5, " " * 6),
        ("ＡＢ: x", 3, " " * 4),
        ("e\u0301te: x", 5, " " * 3),
        ("\tkey: x", 2, "\t"),
        ("x", 0, ""),
        ("x", 9, " "),
    ],
)
def test_the_caret_stands_under_the_mark_however_wide_what_is_before_it(text, column, blanks):
    lines = str(ConfigError("no", Location("a.yaml", 1, column, text))).split("\n")
    assert lines[1:] == [f"    {text}", f"    {blanks}^"]


def test_defects_follow_the_message_line_by_line():
    error = DataError("two defects", ["a.csv:1: blank", "a.csv:2: double"])
    assert str(error) == "two defects\n  a.csv:1: blank\n  a.csv:2: double"
    assert error.defects == ("a.csv:1: blank", "a.csv:2: double")


def test_of_many_defects_the_first_twenty_are_kept_and_the_others_counted():
    error = DataError("defects", [f"row {number}" for number in range(300_000)])
    assert error.defects[-2:] == ("row 19", "and 299980 more")
    assert len(str(error).split("\n")) == 22


@pytest.mark.parametrize("kind", [ConfigError, DataError, ScorerError, StoreError, TargetError])
def test_a_long_value_in_a_message_is_cut_and_what_to_do_at_its_end_is_kept(kind):
    message = str(kind(f"there is no column {'易' * 2_000_000!r}: did you mean 'question'?"))
    assert len(message) < 1100
    assert message.startswith("there is no column '易易")
    assert message.endswith("易': did you mean 'question'?")
    assert "characters left out" in message


def test_a_message_has_a_limit_of_lines_and_a_short_one_is_unchanged():
    assert bounded("line\n" * 300_000).split("\n")[-2:] == ["line", "... and 299801 more lines"]
    assert bounded("line\n" * 199) == "line\n" * 199
    defects = [str(number) * 100_000 for number in range(300)]
    assert len(str(DataError("defects", defects))) < 25_000


def test_a_long_word_is_compared_with_known_ones_in_bounded_time():
    assert did_you_mean("k" * 5_000_000, ["question", "answer"]) == "; known: answer, question"


@pytest.mark.parametrize(
    ("stage", "kind"),
    [
        ("target", TargetError),
        ("scorer", ScorerError),
        ("store", StoreError),
        ("data", DataError),
        ("config", ConfigError),
    ],
)
def test_what_is_raised_inside_gets_the_class_of_its_stage_and_keeps_its_cause(stage, kind):
    cause = KeyError("k")
    with pytest.raises(kind, match=r"^thing: KeyError: 'k'$") as caught, boundary(stage, "thing"):
        raise cause
    assert caught.value.__cause__ is cause


def test_an_error_without_words_is_named():
    with pytest.raises(TargetError, match=r"^ValueError$"), boundary("target"):
        raise ValueError


@pytest.mark.parametrize(
    "error",
    [StoreError("s"), ModelError("m", kind="auth"), asyncio.CancelledError(), KeyboardInterrupt(), SystemExit(3)],
)
def test_our_own_errors_and_those_that_end_a_process_pass_unchanged(error):
    with pytest.raises(type(error)) as caught, boundary("target", "thing"):
        raise error
    assert caught.value is error


def test_the_nearest_word_is_suggested_or_all_are_told():
    assert did_you_mean("anwser", ["answer", "question"]) == ": did you mean 'answer'?"
    assert did_you_mean("ANSWER", ["answer"]) == ": did you mean 'answer'?"
    assert did_you_mean("zzz", ["b", "a", 3]) == "; known: 3, a, b"
    assert did_you_mean("zzz", []) == ""
    assert did_you_mean("zzz", range(100, 200)).endswith(", 122, 123 and 76 more")


@pytest.mark.parametrize(
    ("value", "options"), [(1, {}), (0, {}), (0.5, {}), (10**18, {"whole": True}), (1, {"most": 1}), (1.0, {"most": 1})]
)
def test_a_number_within_its_range_passes(value, options):
    assert expect_number("n", value, 0, **options) is None


@pytest.mark.parametrize(
    ("value", "options", "said_so"),
    [
        (-1, {}, "n must be a number of 0 or more, not -1"),
        (float("nan"), {}, "n must be a number of 0 or more, not nan"),
        (float("inf"), {}, "n must be a number of 0 or more, not inf"),
        (True, {}, "n must be a number of 0 or more, not True"),
        ("3", {}, "n must be a number of 0 or more, not '3'"),
        (None, {}, "n must be a number of 0 or more, not None"),
        (1.5, {"most": 1}, "n must be a number from 0 to 1, not 1.5"),
        (1.5, {"whole": True}, "n must be a whole number of 0 or more, not 1.5"),
    ],
)
def test_anything_else_is_refused_with_what_was_expected(value, options, said_so):
    with pytest.raises(ConfigError) as caught:
        expect_number("n", value, 0, **options)
    assert str(caught.value) == said_so
