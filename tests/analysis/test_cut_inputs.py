"""Inputs that an endpoint cut are seen, and clean runs in any script raise no alarm."""

import random

import pytest

from steelyard import Record, Reply, Sample
from steelyard.analysis.model_calls import InputCount, cut_inputs, cut_sentences
from steelyard.store.ended_runs import calls_of
from steelyard.types import Usage

CHARS_PER_TOKEN = {
    "Latin": (3.6, 4.9, 1, 1.0),
    "Chinese": (0.9, 1.6, 3, 0.0),
    "Cyrillic": (1.9, 3.4, 2, 0.15),
    "Arabic": (1.6, 3.3, 2, 0.15),
    "Thai and Japanese": (0.8, 2.4, 3, 0.05),
}
"""Script -> characters of a token in the vocabularies of common models, from the worst to the best; bytes of a letter
in UTF-8; share of ASCII, as blanks."""
WORDS = 120
"""Characters of the English words of a prompt around a text."""


def sent_call(rng, script, length, ratio, limit=None, record=0):
    """A call with a text of `length` characters at `ratio` characters a token, a little different for each text."""
    _, _, letter_bytes, ascii_share = CHARS_PER_TOKEN[script]
    read = round(WORDS / 4.4 + length / (ratio * rng.uniform(0.93, 1.07)))
    estimate = int(WORDS / 4 + length * (1 - ascii_share) + length * ascii_share / 4)
    size = WORDS + length * ((1 - ascii_share) * letter_bytes + ascii_share)
    return InputCount("judge", record, estimate, min(read, limit) if limit else read, size < 3.6 * estimate)


@pytest.mark.parametrize("script", CHARS_PER_TOKEN)
@pytest.mark.parametrize("lengths", [(200, 900), (300, 20_000), (9_000, 12_000), (10_000, 10_040)])
def test_20_clean_runs_raise_no_alarm(script, lengths):
    rng = random.Random(f"{script} {lengths}")
    low, high = CHARS_PER_TOKEN[script][:2]
    for _ in range(20):
        ratio = rng.uniform(low, high)
        calls = [
            sent_call(rng, script, rng.randint(*lengths), ratio, record=no) for no in range(rng.choice([8, 40, 150]))
        ]
        assert cut_inputs(calls) == ()


@pytest.mark.parametrize("seed", range(4))
def test_a_clean_run_over_several_scripts_raises_none(seed):
    rng = random.Random(seed)
    ratios = {script: rng.uniform(*limits[:2]) for script, limits in CHARS_PER_TOKEN.items()}
    calls = []
    for no in range(60):
        script = rng.choice([*CHARS_PER_TOKEN])
        calls.append(sent_call(rng, script, rng.randint(100, 9_000), ratios[script], record=no))
    assert cut_inputs(calls) == ()


@pytest.mark.parametrize("script", CHARS_PER_TOKEN)
def test_long_inputs_at_a_limit_are_cut_whatever_their_script(script):
    rng = random.Random(script)
    ratio = sum(CHARS_PER_TOKEN[script][:2]) / 2
    lengths = [int(ratio * tokens) for tokens in (300, 500, 900, 1_200, 3_000, 3_600, 4_000, 5_000, 9_000, 2_600)]
    calls = [sent_call(rng, script, length, ratio, limit=2_048, record=no) for no, length in enumerate(lengths)]
    [cut] = cut_inputs(calls)
    assert (cut.read, cut.calls, cut.of, cut.records) == (2_048, 6, 10, 6)
    assert cut.sentence.startswith("judge: the endpoint read 2,048 of about ")
    assert "tokens in 6 of 10 calls" in cut.sentence


def test_a_limit_without_short_calls_shows_by_inputs_of_different_length():
    calls = [InputCount("judge", no, 3_000 + 400 * no, 1_900, dense=True) for no in range(8)]
    assert [(cut.read, cut.calls) for cut in cut_inputs(calls)] == [(1_900, 8)]


def test_inputs_of_one_length_are_cut_where_the_count_is_one_that_people_set():
    calls = [InputCount("faithfulness", no, 2_900 + no, 2_048) for no in range(8)]
    assert [cut.calls for cut in cut_inputs(calls)] == [8]
    assert cut_inputs([InputCount("faithfulness", no, 2_900 + no, 2_700) for no in range(8)]) == ()


def test_short_calls_of_another_stage_calibrate_and_one_long_input_is_enough():
    short = [InputCount("target", no, 100 + 20 * no, 95 + 19 * no) for no in range(12)]
    [cut] = cut_inputs([*short, InputCount("judge", 0, 9_000, 4_096)])
    assert (cut.stage, cut.calls, cut.of, cut.sent > 8_000) == ("judge", 1, 1, True)


def test_replies_from_a_prefix_cache_that_counts_the_rest_alone_are_no_alarm():
    calls = [InputCount("judge", 0, 3_000, 2_900), *(InputCount("judge", no, 3_000, 30 + no) for no in range(1, 9))]
    assert cut_inputs(calls) == ()


@pytest.mark.parametrize(
    ("text", "tokens", "finish", "is_said"),
    [
        ("It may be", 40, "length", True),
        ("", 3, "length", True),
        ("B", 1, "length", False),  # a limit that is meant
        ("It may be", 40, "stop", False),
    ],
)
def test_replies_of_the_target_that_ended_at_the_limit_of_tokens_are_said(text, tokens, finish, is_said):
    cut = Reply("", text, finish=finish, usage=Usage(9, tokens))
    records = [
        Record(Sample(str(n), "q"), None, replies={"target": (cut if n < 2 else Reply("", "b"),)}) for n in range(20)
    ]
    said = ("2 of the first 20 replies ended at the limit of tokens: raise max_tokens",) if is_said else ()
    assert cut_sentences(calls_of(records, {})) == said
    assert cut_sentences(calls_of(records * 20 + records[2:] * 30, {})) == ()
