from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from steelyard import compare
from steelyard.analysis.score_columns import ScoreRow
from steelyard.analysis.summary import summarize
from steelyard.analysis.summary_values import RunSummary
from steelyard.report import chart_layout as layout
from steelyard.report.chart_drawing import draw, svg
from steelyard.report.comparison import difference_chart
from steelyard.report.scores import group_chart
from steelyard.report.targets import rate_chart


def summary(target="model", right=5, n=10, *, groups=("",), run="aaaaaa", name="solve_rate", values=None):
    rows = [
        ScoreRow(f"{group}{no}", group, "", 0, name, "scored", values[no] if values else float(no < right))
        for group in groups
        for no in range(n)
    ]
    scores, groups = summarize(rows)
    return RunSummary(
        run, "exam", target, {}, "finished", n, n, 0, 0, 0, 0, 1.0, "2026-01-01T00:00:00", scores, groups, name
    )  # fmt: skip


def dots(text):
    """Where the marks of a chart stand, from the left."""
    marks = re.search(r'class="mark-symbol role-mark.*?</g>', text, re.DOTALL)[0]
    return [float(position) for position in re.findall(r'transform="translate\(([-\d.]+),', marks)]


def test_a_dot_stands_at_its_rate_and_its_interval_around_it():
    chart = rate_chart([summary("none", 0), summary("half", 5), summary("all", 10)])
    rows = draw(chart).to_dict()["datasets"]
    [values] = [rows[name] for name in rows]
    assert [row["value"] for row in values] == [0, 50, 100]
    assert [(round(row["low"], 1), round(row["high"], 1)) for row in values] == [(0, 27.8), (23.7, 76.3), (72.2, 100)]
    left, middle, right = dots(svg(chart))
    assert middle == pytest.approx((left + right) / 2)


def test_rows_keep_the_given_order_and_write_their_value():
    text = svg(rate_chart([summary("zulu", 9), summary("alpha", 1)]))
    assert text.index(">zulu<") < text.index(">alpha<")
    assert "90.0 %" in text
    assert "10.0 %" in text


def test_chance_is_drawn_only_when_it_is_known():
    assert "chance 25.0 %" in svg(rate_chart([summary()], chance=0.25))
    assert "chance" not in svg(rate_chart([summary()]))


def test_a_chart_names_and_describes_itself_for_those_who_do_not_see_it():
    text = svg(rate_chart([summary("a <b> & \u202e", 5)]))
    title, words = (re.search(rf"<{tag} id=\"(\w+)\">(.*?)</{tag}>", text) for tag in ("title", "desc"))
    assert f'role="img" aria-labelledby="{title[1]} {words[1]}"' in text
    assert title[2] == "Solve rate with 95 % CI"
    assert words[2] == "a &lt;b&gt; &amp; \\u202e: 50.0 % (23.7 to 76.3)"


def test_equal_charts_give_equal_text_and_load_nothing():
    first, second = (svg(group_chart([summary("模型", 3, groups=("卦象", "爻辞"))])) for _ in range(2))
    assert first == second
    assert not re.search(r"(href|src)=|url\(|@import|<script|style=", first)


@pytest.mark.parametrize("target", ["\ud800", "</svg><script>x</script>", "'; alert(1) //", "\x1b[31m", "a\nb"])
def test_hostile_names_are_only_text(target):
    text = svg(group_chart([summary(target, groups=("g", target)), summary("other", groups=("g",))]))
    text.encode("utf-8")
    assert "<script" not in text
    assert text.count("</svg>") == 1
    assert "\x1b" not in text


def test_equal_labels_stay_two_rows():
    long = "a target whose name is long enough to be cut somewhere near its end, version "
    chart = rate_chart([summary(f"{long}1", 2), summary(f"{long}2", 8)])
    [values] = draw(chart, width=340).to_dict()["datasets"].values()
    assert len({row["label"] for row in values}) == 2


def test_a_chart_of_groups_grows_with_groups_and_targets():
    def height(groups, targets):
        names = tuple(f"g{no}" for no in range(groups))
        return draw(group_chart([summary(f"t{no}", groups=names) for no in range(targets)])).to_dict()["height"]

    assert height(12, 3) == 12 * height(1, 3)
    assert height(3, 6) > height(3, 3)


def test_without_groups_there_is_no_chart_of_groups():
    assert group_chart([summary()]) is None


def test_series_differ_in_shape_as_well_as_colour():
    assert len({(layout.colour(number), layout.shape(number)) for number in range(36)}) == 36
    assert len({layout.shape(number) for number in range(6)}) == 6


def test_a_difference_that_is_not_decided_has_a_hollow_mark(make_runs):
    base, same, better = make_runs(
        {"base": lambda _: "A", "same": lambda _: "B", "better": lambda sample: sample.reference}, 40
    )
    chart = draw(difference_chart(compare(base, same, better)))
    [values] = [rows for rows in chart.to_dict()["datasets"].values() if "label" in rows[0]]
    assert [row["decided"] for row in values] == [False, True]
    assert [row["text"] for row in values] == ["0.0", "+75.0"]
    low, high = chart.to_dict()["layer"][2]["encoding"]["x"]["scale"]["domain"]
    assert low == -high


def test_a_score_that_is_no_share_keeps_its_unit():
    text = svg(rate_chart([summary(name="length", values=[3.0, 5.0, 10.0], n=3)]))
    assert "6.00" in text
    assert "Length with 95 % CI" in text


def test_a_run_without_the_score_has_a_row_without_a_mark():
    nothing = replace(summary("nothing"), scores=(), groups={})
    text = svg(rate_chart([summary("some", 5), nothing], score="solve_rate"))
    assert ">nothing<" in text
    assert ">–<" in text
    assert len(dots(text)) == 1


@example("000\x1f_", 49)
@given(st.text(st.characters(), max_size=60), st.integers(20, 300))
def test_a_wrapped_label_fits_its_room(text, room):
    lines = layout.wrapped(text, room).split("\n")
    assert len(lines) <= 2
    assert all(layout.width_of(line) <= max(room, 2 * layout.SIZE) for line in lines)


@given(st.text("ab 易经-", min_size=1, max_size=30))
def test_a_label_with_room_stays_whole(text):
    assert layout.wrapped(text, 10_000) == " ".join(text.split())
