from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from steelyard import compare
from steelyard.analysis.run_data import RunCounts
from steelyard.analysis.scores.score_columns import ScoreRow
from steelyard.analysis.scores.score_summary import summarize
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.report.charts.canvas import SIZE, AxisScale, shape, width_of, wrapped
from steelyard.report.charts.chart import ChartPoint, MatrixChart, RowChart, SequenceChart, TimelineChart, TimelinePoint
from steelyard.report.charts.svg import drawing, svg
from steelyard.report.page_runs import PageRuns
from steelyard.report.sections.comparison import difference_chart
from steelyard.report.sections.scores import group_chart, groups_section
from steelyard.report.sections.targets import rate_chart


def summary(target="model", right=5, n=10, *, groups=("",), run="aaaaaa", name="solve_rate", values=None):
    rows = [
        ScoreRow(f"{group}{no}", group, "", 0, name, "scored", values[no] if values else float(no < right))
        for group in groups
        for no in range(n)
    ]
    counts = RunCounts(n, n)
    return RunSummary(run, "exam", target, {}, "finished", "2026-01-01T00:00:00", counts, *summarize(rows), name)


def marks(chart, **width):
    """Where the marks of a chart stand, in percent of the width, from the left, with whether they are hollow."""
    layers = drawing(chart, **width).layers
    return sorted((float(mark.x[:-1]), mark.hollow) for layer in layers for mark in layer.marks)


def texts(chart, **width):
    return [text for layer in drawing(chart, **width).layers for text in layer.texts]


def test_groups_beyond_those_of_a_readable_chart_are_a_table_only():
    few, many = (
        groups_section(
            PageRuns([summary(n=2, groups=tuple(f"g{no}" for no in range(groups)))], ["model"]), "solve_rate"
        )
        for groups in (60, 61)
    )
    assert (len(few.table.rows), few.chart is None) == (60, False)
    assert (len(many.table.rows), many.chart is None) == (61, True)


def test_a_dot_stands_at_its_rate_and_its_interval_around_it():
    chart = rate_chart([summary("none", 0), summary("half", 5), summary("all", 10)])
    left, middle, right = (x for x, _ in marks(chart))
    assert middle == pytest.approx((left + right) / 2, abs=0.01)
    intervals = [line for layer in drawing(chart).layers if layer.kind in {"s0", "s1", "s2"} for line in layer.lines]
    share = {line.y1: [(float(x[:-1]) - left) / (right - left) * 100 for x in (line.x1, line.x2)] for line in intervals}
    ends = [share[y] for y in sorted(share)]
    assert ends == [pytest.approx(pair, abs=0.1) for pair in ([0, 27.8], [23.7, 76.3], [72.2, 100])]


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
    assert not re.search(r"(href|src)=|url\(|@import|<script|style=|<style|\son\w+=", first)


@pytest.mark.parametrize("target", ["\ud800", "</svg><script>x</script>", "'; alert(1) //", "\x1b[31m", "a\nb"])
def test_hostile_names_are_only_text(target):
    text = svg(group_chart([summary(target, groups=("g", target)), summary("other", groups=("g",))]))
    text.encode("utf-8")
    root = ET.fromstring(text)
    assert {element.tag.rpartition("}")[2] for element in root.iter()} <= {
        "svg",
        "title",
        "desc",
        "g",
        "line",
        "path",
        "text",
    }
    assert "\x1b" not in text


def test_equal_labels_stay_two_rows():
    long = "a target whose name is long enough to be cut somewhere near its end, version "
    chart = rate_chart([summary(f"{long}1", 2), summary(f"{long}2", 8)])
    rows = [text for text in texts(chart, width=340) if text.text.startswith("a target")]
    assert len({text.text for text in rows}) == 1
    assert len({text.y for text in rows}) == len(marks(chart, width=340)) == 2


def test_a_chart_of_groups_grows_with_groups_and_targets():
    def height(groups, targets):
        names = tuple(f"g{no}" for no in range(groups))
        return drawing(group_chart([summary(f"t{no}", groups=names) for no in range(targets)])).height

    assert height(12, 3) - height(1, 3) == 11 * (height(2, 3) - height(1, 3)) > 0
    assert height(3, 6) > height(3, 3)


def test_without_groups_there_is_no_chart_of_groups():
    assert group_chart([summary()]) is None


def test_series_differ_in_shape_as_well_as_colour():
    points = tuple(ChartPoint(no, no, 50.0, "50") for no in range(36))
    chart = RowChart("t", "d", tuple(f"r{no}" for no in range(36)), points)
    looks = [(layer.kind, mark.path) for layer in drawing(chart).layers for mark in layer.marks]
    assert len(looks) == len(set(looks)) == 36
    assert len({shape(number) for number in range(6)}) == 6


def test_a_difference_that_is_not_decided_has_a_hollow_mark(make_runs):
    base, same, better = make_runs(
        {"base": lambda _: "A", "same": lambda _: "B", "better": lambda sample: sample.reference}, 40
    )
    chart = difference_chart(compare(base, same, better))
    assert [hollow for _, hollow in marks(chart)] == [True, False]
    assert [point.text for point in chart.points] == ["0.0", "+75.0"]
    low, high = chart.domain
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
    assert len(marks(rate_chart([summary("some", 5), nothing], score="solve_rate"))) == 1


MATRIX = MatrixChart("Shares", "words", tuple(f"model {no}" for no in range(12)), ((50.0,) * 12,) * 12)


@pytest.mark.parametrize("width", [320, 640, 1200])
@pytest.mark.parametrize(
    "chart",
    [
        rate_chart([summary("a target with a name that is long", 3), summary("b")], chance=0.25),
        group_chart([summary(f"target {no}", groups=("one group", "another", "组")) for no in range(4)]),
        MATRIX,
    ],
    ids=["rate", "groups", "matrix"],
)
def test_no_text_of_a_chart_covers_another_or_is_below_12_pixels(chart, width):
    drawn = drawing(chart, width=width)
    assert all(text.size >= 12 for text in texts(chart, width=width))
    boxes = []
    for text in texts(chart, width=width):
        at = float(text.x.rstrip("%")) / 100 * max(width, drawn.least) + text.dx
        size = width_of(text.text) * text.size / SIZE * 0.9
        begin = at - {"start": 0, "middle": size / 2, "end": size}[text.anchor]
        boxes.append((begin, begin + size, text.y, text.text))
        assert begin > -12
        assert begin + size < max(width, drawn.least) + 12
        assert text.y <= drawn.height
    for number, (begin, end, y, _) in enumerate(boxes):
        others = [other for other in boxes[number + 1 :] if abs(other[2] - y) < 12]
        assert not [other for other in others if begin < other[1] and other[0] < end]


def test_a_series_is_named_beside_its_marks():
    chart = group_chart([summary("first", groups=("a", "b")), summary("second", groups=("a", "b"))])
    names = [text for text in texts(chart) if text.text in {"first", "second"}]
    assert [text.text for text in names] == ["first", "second"] * 2
    heights = sorted({mark.y for layer in drawing(chart).layers for mark in layer.marks})
    assert [text.y - 4.5 for text in names] == heights


def test_a_bar_begins_at_zero_and_is_as_long_as_its_value():
    points = (ChartPoint(0, 0, 80.0, "80 %"), ChartPoint(1, 0, 20.0, "20 %"), ChartPoint(2, 0, None, "–"))
    chart = RowChart("t", "d", ("a", "b", "c"), points, "bars", domain=(0, 100))
    bars = [bar for layer in drawing(chart).layers for bar in layer.bars]
    assert bars[0].x == bars[1].x
    assert float(bars[0].width[:-1]) == pytest.approx(4 * float(bars[1].width[:-1]), abs=0.05)


def test_names_at_the_ends_of_lines_never_cover_each_other():
    points = tuple(TimelinePoint(day, no, 50.0, None, None, "", False) for day in (0, 1) for no in range(6))
    chart = TimelineChart("t", "d", tuple(f"target {no}" for no in range(6)), points, (0, 100), ((0, "2026-01-01"),))
    heights = sorted(text.y for text in texts(chart) if text.text.startswith("target"))
    assert len(heights) == 6
    assert min(below - above for above, below in pairwise(heights)) >= 13


def test_a_sequence_of_one_look_is_a_dot_and_of_several_a_line():
    def chart(n):
        points = tuple((10 * (look + 1), 50.0, 40.0, 60.0) for look in range(n))
        return drawing(SequenceChart("title", "d", points, (0, 100), 100, 50.0, None))

    assert [len([path for layer in chart(n).layers for path in layer.paths]) for n in (1, 3)] == [0, 2]
    assert [len([mark for layer in chart(n).layers for mark in layer.marks]) for n in (1, 3)] == [1, 0]


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(2, 6))
def test_ticks_are_few_round_and_within_the_axis(low, span, n):
    ticks = AxisScale(low, low + span).ticks(n)
    assert len(ticks) <= 2 * n + 1
    assert all(low - 1e-6 * span <= tick <= low + span * (1 + 1e-6) for tick in ticks)


@example("000\x1f_", 49)
@given(st.text(st.characters(), max_size=60), st.integers(20, 300))
def test_a_wrapped_label_fits_its_room(text, room):
    lines = wrapped(text, room).split("\n")
    assert len(lines) <= 2
    assert all(width_of(line) <= max(room, 2 * SIZE) for line in lines)


@given(st.text("ab 易经-", min_size=1, max_size=30))
def test_a_label_with_room_stays_whole(text):
    assert wrapped(text, 10_000) == " ".join(text.split())
