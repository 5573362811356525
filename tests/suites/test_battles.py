"""A ranking from battles of one's own: what counts as a battle, who won it, and what is refused."""

import csv
import math

import pandas as pd
import polars as pl
import pytest

from steelyard import ConfigError, rank
from steelyard.analysis.preferences.standings import NamedBattle, standings_of_battles
from steelyard.errors import DataError
from steelyard.plain_json import json_value
from steelyard.stats import bradley_terry

BATTLES = [
    *[("a", "b", "a")] * 6, *[("a", "b", "b")] * 3, ("a", "b", "tie"),
    *[("b", "c", "b")] * 5, *[("c", "b", "c")] * 4,
    *[("a", "c", "a")] * 7, *[("c", "a", "c")] * 2, ("c", "a", "draw"),
]  # fmt: skip


def named(result):
    return {place.target: place for place in result.standings}


def test_ratings_are_those_of_bradley_and_terry():
    wins = [[0, 6.5, 7.5], [3.5, 0, 5], [2.5, 4, 0]]
    strengths = bradley_terry(wins).strengths
    found = named(rank(BATTLES))
    assert [found[name].rating for name in "abc"] == pytest.approx(strengths.tolist())
    assert (found["a"].wins, found["a"].losses, found["a"].ties, found["a"].battles) == (13, 5, 2, 20)


def test_two_names_are_apart_by_the_log_odds_of_their_wins():
    found = rank([("x", "y", "x")] * 30 + [("x", "y", "y")] * 10)
    first, second = found.standings
    assert first.rating - second.rating == pytest.approx(math.log(3))
    assert first.interval.low < first.rating < first.interval.high
    assert "x leads" in found.sentence


def test_the_order_of_battles_and_of_both_sides_does_not_matter():
    other = [(second, first, winner) for first, second, winner in reversed(BATTLES)]
    ratings = [{name: place.rating for name, place in named(rank(rows)).items()} for rows in (BATTLES, other)]
    assert ratings[0] == pytest.approx(ratings[1])


@pytest.mark.parametrize(
    ("winner", "score"),
    [
        ("gpt", 1), ("glm", 0), ("GPT ", 1), ("model_a", 1), ("model_b", 0), ("tie (bothbad)", 0.5), ("平局", 0.5),
        (1, 1), (0, 0), (0.5, 0.5), ("1.0", 1), ("2", 0), (True, 1), (False, 0), ("[[B]]", 0),
    ],
)  # fmt: skip
def test_the_winner_is_a_name_a_word_or_the_firsts_score(winner, score):
    found = named(rank([("gpt", "glm", winner), ("gpt", "glm", "tie")]))
    assert found["gpt"].win_rate == pytest.approx((score + 0.5) / 2)


def test_a_name_wins_over_the_word_that_it_is():
    assert named(rank([("b", "a", "a")]))["a"].wins == 1
    assert named(rank([("2", "1", "1")]))["1"].wins == 1


def test_a_blank_winner_is_left_out_and_counted():
    found = rank([*BATTLES, ("a", "b", None), ("a", "b", " "), ("a", "c", math.nan)])
    assert (found.battles, found.left_out["not_applicable"]) == (len(BATTLES), 3)
    assert any("3 pairs" in note for note in found.notes)


def test_battles_on_one_sample_are_not_independent():
    alone = rank([(*battle, f"q{number}") for number, battle in enumerate(BATTLES)])
    together = rank([(*battle, f"q{number}") for number, battle in enumerate(BATTLES) for _ in range(5)])
    plain = rank([battle for battle in BATTLES for _ in range(5)])
    assert (together.clusters, plain.clusters) == (len(BATTLES), 5 * len(BATTLES))
    width = [found.standings[0].interval.high - found.standings[0].interval.low for found in (alone, together, plain)]
    assert width[1] == pytest.approx(width[0], rel=0.1)
    assert width[2] < 0.6 * width[1]


def rows():
    return [
        {"model_a": first, "model_b": second, "winner": {"a": "model_a", "b": "model_b"}.get(where, where)}
        for first, second, where in [("x", "y", "a"), ("y", "x", "a"), ("x", "y", "tie"), ("x", "y", "a")]
    ]


@pytest.mark.parametrize("form", ["mappings", "pandas", "polars", "csv", "jsonl", "path as text"])
def test_mappings_frames_and_files_say_the_same_as_tuples(form, tmp_path):
    expected = rank([("x", "y", "x"), ("y", "x", "y"), ("x", "y", "tie"), ("x", "y", "x")])
    if form == "mappings":
        source = rows()
    elif form in {"pandas", "polars"}:
        source = {"pandas": pd, "polars": pl}[form].DataFrame(rows())
    elif form == "jsonl":
        source = tmp_path / "battles.jsonl"
        source.write_text("\n".join(str(row).replace("'", '"') for row in rows()))
    else:
        source = tmp_path / "battles.csv"
        with source.open("w", newline="") as opened:
            writer = csv.DictWriter(opened, ["model_a", "model_b", "winner"])
            writer.writeheader()
            writer.writerows(rows())
        source = str(source) if form == "path as text" else source
    assert json_value(rank(source)) == json_value(expected)


def test_columns_may_be_named():
    frame = pd.DataFrame({"left side": ["x", "x"], "right side": ["y", "y"], "better one": [1, 0.5]})
    columns = {"first": "left side", "second": "right side", "winner": "better one"}
    assert named(rank(frame, columns=columns))["x"].win_rate == 0.75
    with pytest.raises(ConfigError, match="winner"):
        rank(frame.drop(columns="better one"))


def test_every_battle_that_cannot_be_counted_is_named():
    with pytest.raises(DataError) as refused:
        rank([("a", "b", "a"), ("a", "b", "bb"), ("a", "a", "a"), ("a", "", "a"), ("a", "b"), "ab"])
    text = str(refused.value)
    assert "5 battles cannot be counted" in text
    assert "battle 2: the winner 'bb' is neither 'a' nor 'b' nor a tie" in text
    assert "battle 3: 'a' against itself" in text
    assert "battle 4: a battle has two names" in text
    assert "battle 5: expected (first, second, winner)" in text


@pytest.mark.parametrize("winner", [2, -1, 0.7, 2.0])
def test_a_number_that_is_no_score_is_refused(winner):
    with pytest.raises(DataError, match=r"nor a tie, and not 1, 0\.5 or 0"):
        rank([("a", "b", winner)])


def test_a_defect_in_a_file_has_its_line(tmp_path):
    path = tmp_path / "b.csv"
    path.write_text("model_a,model_b,winner\nx,y,x\nx,y,z\n")
    with pytest.raises(DataError, match=r"b\.csv.*3"):
        rank(path)


def test_nothing_to_rank_is_refused():
    for battles in ([], [("a", "b", None)]):
        with pytest.raises(ConfigError, match="one battle with a verdict"):
            rank(battles)
    with pytest.raises(ConfigError, match="between 0 and 1"):
        rank(BATTLES, level=95)
    with pytest.raises(ConfigError, match=r"nowhere\.csv"):
        rank("nowhere.csv")


def test_battles_may_have_any_score_between_won_and_lost():
    found = named(standings_of_battles([NamedBattle("a", "b", 0.75)] * 4))
    assert found["a"].win_rate == 0.75
