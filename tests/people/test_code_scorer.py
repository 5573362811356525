"""The scorer of an error code: its configuration, its trial, and shares of codes weighted back to the strata."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.browser.hostile_texts import TEXTS
from tests.people.test_error_codes import code, events, note
from tests.thorough import times

from steelyard.building.nodes import plain
from steelyard.building.read import parse
from steelyard.models.references import references
from steelyard.people.code_scorer import code_shares, judge_config, pattern_config, score_name, scorer_yaml
from steelyard.people.draw import _allocation
from steelyard.people.error_codes import folded
from steelyard.stats.stratified import SampledStratum, stratified_share


def as_stored(text):
    """A text as the viewer stores it: a half of a surrogate pair is not a letter."""
    return text.encode("utf-8", "replace").decode()


@pytest.mark.parametrize("text", TEXTS)
def test_the_lines_hold_what_was_written(text):
    text = as_stored(text)
    for config in (judge_config("late", text, [text, "plain"]), pattern_config("late", text, ["ignore_case"])):
        assert plain(parse(scorer_yaml(config), "copied.yaml")) == {"scorers": [config]}


def test_no_examples_are_an_empty_list():
    config = judge_config("late", "A day late.", [])
    assert plain(parse(scorer_yaml(config), "copied.yaml")) == {"scorers": [config]}


def test_the_name_of_a_score_can_stand_in_a_condition():
    assert [score_name(as_stored(text)) for text in ("Wrong unit", "<b>", "\n", "编造 来源")] == [
        "wrong_unit",
        "b",
        "error",
        "编造_来源",
    ]


def test_what_looks_like_a_reference_to_a_secret_stays_text():
    config = judge_config("late", "Says ${NAME} to the user.", ["Dear ${NAME}"])
    root = parse(scorer_yaml(config), "copied.yaml")
    assert list(references(plain(root))) == []
    assert list(references({"scorers": [{"other": {"name": "${NAME}"}}]})) == ["NAME"]


@dataclass(frozen=True)
class Drawn:
    num: int
    stratum: str
    run: int = 1


def coded(kinds):
    """A state in which item i has the i-th kind: None not noted, "" nothing wrong, "-" under no code, else a code."""
    notes = [note(item, "bad" if kind else "") for item, kind in enumerate(kinds) if kind is not None]
    codes = [
        code(name, *(item for item, kind in enumerate(kinds) if kind == name))
        for name in sorted({kind for kind in kinds if kind not in {None, "", "-"}})
    ]
    return folded(events(*notes, *codes), range(len(kinds)))


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "", "-", None]), st.sampled_from("fp")), max_size=30))
def test_shares_of_codes_add_up_to_the_share_of_records_with_an_error(kinds):
    items = [Drawn(at, stratum) for at, (_, stratum) in enumerate(kinds)]
    sizes = {name: {"records": 10 + sum(item.stratum == name for item in items)} for name in "fp"}
    state = coded([kind for kind, _ in kinds])
    shares = code_shares(state, items, sizes)
    assert set(shares) == {*(code.id for code in state.adopted), ""}
    noted = {name: [kind for kind, stratum in kinds if stratum == name and kind is not None] for name in "fp"}
    whole = stratified_share(
        [SampledStratum(sizes[name]["records"], len(of), sum(map(bool, of))) for name, of in noted.items()]
    )
    if whole.value is None:
        assert {share.share.value for share in shares.values()} == {None}
    else:
        assert sum(share.share.value for share in shares.values()) == pytest.approx(whole.value)
    assert sum(share.notes for share in shares.values()) == sum(bool(kind) for kind, _ in kinds)


def test_a_record_that_nobody_noted_is_not_free_of_errors():
    items = [Drawn(at, "f" if at < 4 else "p") for at in range(8)]
    sizes = {"f": {"records": 10}, "p": {"records": 90}}
    # Of two failures that were noted one has it, of one pass none: 10 * 1/2 of 100.
    shares = code_shares(coded(["a", "", None, None, "", None, None, None]), items, sizes)
    assert shares["a"].share.value == pytest.approx(0.05)
    assert shares["a"].share.interval.high > 0.5, "one pass says little of ninety"


def test_a_run_that_was_read_whole_has_no_error():
    share = stratified_share([SampledStratum(10, 10, 4), SampledStratum(30, 30, 2)])
    assert (share.value, tuple(share.interval)) == (pytest.approx(0.15), (pytest.approx(0.15), pytest.approx(0.15)))


@pytest.mark.parametrize("strata", [[(10, 11, 0)], [(10, 5, 6)], [(10, -1, 0)]])
def test_counts_that_are_none_are_refused(strata):
    with pytest.raises(ValueError, match=r"successes must lie|cannot have 11 inspected units"):
        stratified_share([SampledStratum(*stratum) for stratum in strata])


def coverage(strata, seen, draws, rng):
    """How often the interval of (size, having) strata holds the share, over draws without replacement."""
    truth = sum(having for _, having in strata) / sum(size for size, _ in strata)
    having = np.stack(
        [
            rng.hypergeometric(with_it, size - with_it, n, draws) if n else np.zeros(draws, int)
            for (size, with_it), n in zip(strata, seen, strict=True)
        ],
        axis=1,
    )
    held = 0
    for counts, repeats in zip(*np.unique(having, axis=0, return_counts=True), strict=True):
        parts = [SampledStratum(size, n, int(k)) for (size, _), n, k in zip(strata, seen, counts, strict=True)]
        low, high = stratified_share(parts).interval
        held += repeats * (low - 1e-9 <= truth <= high + 1e-9)
    return held / draws


def test_95_of_100_intervals_hold_the_share_of_runs_of_many_kinds():
    """100 records of runs with few or many failures, codes rare or frequent."""
    rng = np.random.default_rng(5)
    rates = []
    for _ in range(times(60, 200)):
        sizes = rng.integers([20, 100, 0], [400, 3000, 100]).tolist()
        chances = [rng.beta(1, 2), rng.beta(0.5, 10), rng.beta(1, 4)]
        strata = [(size, int(rng.binomial(size, chance))) for size, chance in zip(sizes, chances, strict=True)]
        seen = list(_allocation(dict(enumerate(sizes)), 100).values())
        rates.append(coverage(strata, seen, 400, rng))
    assert np.mean(rates) > 0.95
    assert min(rates) > 0.94 - 3 * np.sqrt(0.94 * 0.06 / 400)


@pytest.mark.parametrize(
    ("strata", "seen"),
    [
        ([(60, 24), (340, 10)], [50, 50]),
        ([(60, 24), (340, 0)], [50, 50]),
        ([(1000, 300), (9000, 900)], [50, 50]),
        ([(200, 100), (1800, 360), (100, 20)], [34, 33, 33]),
        ([(9700, 8), (300, 2)], [50, 50]),
        ([(500, 5), (60, 3)], [15, 15]),
    ],
)
def test_intervals_hold_for_frequent_and_rare_codes(strata, seen):
    draws = 4000
    error = 2 * np.sqrt(0.95 * 0.05 / draws)
    assert coverage(strata, seen, draws, np.random.default_rng(3)) > 0.94 - error


def test_shares_that_are_not_weighted_back_would_be_wrong():
    """The check of the check: the plain share of the records that were read holds the truth almost never."""
    rng = np.random.default_rng(3)
    having = rng.hypergeometric(24, 36, 50, 1000) + rng.hypergeometric(10, 330, 50, 1000)
    plain = [stratified_share([SampledStratum(400, 100, int(k))]).interval for k in having]
    assert np.mean([low <= 34 / 400 <= high for low, high in plain]) < 0.1
