"""A history: each run beside the one before of its target, with what differs, what was noted, and a chart."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.sections_read import part

from steelyard import ConfigError, Options, Sample, Score, Store, Suite, evaluate_suite
from steelyard.analysis.comparison import history as module
from steelyard.analysis.comparison.history import history_of
from steelyard.evaluation.evaluate import RunConfig
from steelyard.evaluation.objects import StopWhen
from steelyard.people.labels import add_note, read_notes
from steelyard.plain_json import json_value
from steelyard.report.charts.svg import drawing, svg
from steelyard.report.render.html import html_history
from steelyard.report.render.markdown import markdown_history
from steelyard.report.sections.history import (
    change_method,
    history_chart,
    history_sections,
    history_title,
    remarks_of,
    time_ticks,
)
from steelyard.scorers.choice import Choice

CHOICE = (Choice(),)
AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


def exam(n):
    return [Sample(f"q{no}", f"Question {no}?", "ABCD"[no % 4], tuple("wxyz"), group=f"g{no % 2}") for no in range(n)]


def knows(share, n):
    """Right on the first `share` of n questions, wrong on the others."""
    return lambda sample: sample.reference if int(sample.id[1:]) < share * n else "ABCD"[(int(sample.id[1:]) + 1) % 4]


@pytest.fixture
def past(tmp_path):
    """Runs one after the other: past(("glm", 0.5, 40), ...) -> their ids, and the history of them all."""

    def made(*runs, notes=(), scorers=CHOICE, title="exam", **options):
        ids = []
        for name, share, n in runs:
            suite = Suite(title, "choice", exam(n), {name: knows(share, n)}, scorers)
            ids.append(evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))[0].id)
        with Store(tmp_path / "s.db") as store:
            stored = store.runs()[::-1]
            for at, text in notes:
                add_note(store, store.run(ids[at]), text, author="ann", at=AT)
            return history_of([(run, run.summary()) for run in stored], read_notes(store, stored), **options)

    return made


def test_a_run_is_held_against_the_one_before_of_its_own_target(past):
    history = past(("glm", 0.5, 40), ("qwen", 0.2, 40), ("glm", 0.9, 40), ("qwen", 0.2, 40))
    glm, qwen, better, same = history.runs
    assert (glm.change, qwen.change) == (None, None)
    assert (better.change.before, better.change.verdict, better.change.paired) == (glm.run, "better", True)
    assert better.change.difference == pytest.approx(0.4)
    assert better.change.n == 40
    assert better.change.interval.low > 0
    assert (same.change.before, same.change.verdict, same.change.difference) == (qwen.run, "no_evidence", 0.0)
    assert history.targets == ("glm", "qwen")
    assert (history.score, history.share, history_title(history)) == ("solve_rate", True, "Solve rate")


def test_a_fall_is_worse_and_a_small_one_is_no_evidence(past):
    history = past(("glm", 0.9, 40), ("glm", 0.5, 40), ("glm", 0.475, 40))
    assert [one.change.verdict for one in history.runs[1:]] == ["worse", "no_evidence"]
    changes = [row[6] for row in part(history_sections(history)[1], "every run").table.rows]
    assert [cell.text for cell in changes] == ["–", "-40.0 worse", "-2.5 not decided"]
    assert "Of 2 such tests, one in 20" in change_method(history)


def test_the_score_of_one_group_is_compared_within_the_group(past):
    history = past(("glm", 0.5, 40), ("glm", 0.9, 40), group="g1")
    assert [one.score.headline.n for one in history.runs] == [20, 20]
    assert history.runs[1].change.n == 20
    assert history_title(history) == "Solve rate of g1"


def test_large_runs_are_told_apart_by_intervals_and_it_is_said(past, monkeypatch):
    monkeypatch.setattr(module, "PAIRED_RECORDS", 39)
    history = past(("glm", 0.5, 40), ("glm", 0.9, 40), ("glm", 0.8, 40), ("glm", 0.2, 40))
    assert [one.change.verdict for one in history.runs[1:]] == ["better", "no_evidence", "worse"]
    assert {one.change.paired for one in history.runs[1:]} == {False}
    assert [*remarks_of(history.runs[1])] == ["judged by intervals, not by pairs"]
    assert "where runs are small enough" in change_method(history)


def test_other_samples_another_target_and_other_scorers_are_marked(past, tmp_path):
    first = past(("glm", 0.5, 40), ("glm", 0.5, 50), ("qwen", 0.5, 50))
    grown = first.runs[1]
    assert grown.changed == {"samples": ("50 samples",)}
    assert [*remarks_of(grown)] == ["other samples (50 samples)", "change over 40 samples in both"]
    assert first.runs[2].changed == {}, "it is the first of its target"
    history = past(("glm", 0.5, 50), scorers=(Choice(), length))
    assert history.runs[-1].changed == {"scorers": ("scorers: none → length",)}


def length(sample, output):
    return Score("length", float(2 + len(output.value)))


def test_a_score_that_a_run_lacks_has_no_value_and_no_change(past):
    past(("glm", 0.5, 20))
    history = past(("glm", 0.5, 20), scorers=(Choice(), length), score="length")
    assert [one.value for one in history.runs] == [None, 3.0]
    assert (history.runs[1].change.verdict, history.runs[1].change.difference) == ("", None)
    assert not history.share
    assert "| **–** | 0 |" in markdown_history(history)


def test_an_unfinished_run_says_so(past, tmp_path):
    from steelyard import Budget, Prompt, Scripted

    target = {"glm": Prompt(Scripted(default="A"))}
    suite = Suite("exam", "choice", exam(20), target, (Choice(),), Options(budget=Budget(calls=5), concurrency=1))
    evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    history = past(("qwen", 0.5, 20))
    assert [*remarks_of(history.runs[0])] == ["interrupted, 5 of 20 done"]
    assert json_value(history.runs[0])["state"] == "interrupted"


def test_a_run_that_was_stopped_early_says_so_and_what_its_interval_is(past, tmp_path):
    rule = StopWhen("full", score="solve_rate", threshold=0.5)
    suite = Suite("exam", "choice", exam(60), {"glm": knows(1, 60)}, CHOICE, Options(stop_when_decided=rule))
    (run,) = evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    history = past(("qwen", 0.5, 20))
    assert [*remarks_of(history.runs[0])] == [
        f"stopped early, {run.stopping.used} of 60 samples used (interval: {history.runs[0].score.note})"
    ]
    assert history.runs[0].interval == run.stopping.interval
    assert json_value(history.runs[0])["stopping"]["used"] == run.stopping.used < 60
    assert json_value(history.runs[1])["stopping"] is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"score": "solve_rat"}, "no run has a score 'solve_rat': did you mean 'solve_rate'"),
        ({"group": "g3"}, "no run has a group 'g3'; known: g0, g1"),
    ],
)
def test_what_no_run_has_is_refused(past, options, said):
    with pytest.raises(ConfigError, match=re.escape(said)):
        past(("glm", 0.5, 20), **options)


def test_json_has_every_number_and_note(past):
    plain = json_value(past(("glm", 0.5, 40), ("glm", 0.9, 40), notes=[(1, "new prompt")]))
    first, second = plain["runs"]
    assert first["change"] is None
    assert second["change"]["verdict"] == "better"
    assert second["score"]["headline"]["value"] == pytest.approx(0.9)
    assert second["notes"] == [{"at": "2026-03-01T09:30:00+00:00", "author": "ann", "text": "new prompt"}]
    assert first["digest"] == second["digest"]


def dates_below(chart, width):
    """The dates below the axis of a chart."""
    dates = {date for _, date in chart.ticks}
    return [text.text for layer in drawing(chart, width=width).layers for text in layer.texts if text.text in dates]


def test_the_chart_has_a_band_a_point_and_a_numbered_flag(past):
    history = past(("glm", 0.5, 40), ("qwen", 0.2, 40), ("glm", 0.9, 40), notes=[(2, "first"), (2, "second"), (0, "x")])
    numbered = [(one.term.split()[0], one.text.split()[0]) for one in history_sections(history)[-1].notes]
    assert numbered == [("1.", "x"), ("2.", "first"), ("3.", "second")]
    chart = history_chart(history)
    layers = drawing(chart).layers
    glm, qwen = ([layer for layer in layers if layer.kind == kind] for kind in ("s0", "s1"))
    counts = [
        [sum(len(getattr(layer, name)) for layer in series) for name in ("paths", "lines", "marks")]
        for series in (glm, qwen)
    ]
    assert counts == [[2, 2, 3], [0, 1, 2]], "a band and a line need two runs; one mark stands before the name"
    assert [point.value for point in chart.points] == [50.0, 20.0, 90.0]
    assert all(point.low < point.value < point.high for point in chart.points)
    assert [point.series for point in chart.points] == [0, 1, 0]
    flags = [text.text for layer in layers for text in layer.texts if text.text in {"1", "2, 3"}]
    assert flags == ["1", "2, 3"]
    assert "glm: 90.0 % (" in chart.description


def test_other_samples_are_a_dashed_line_once_for_all_targets(past):
    history = past(("glm", 0.5, 40), ("qwen", 0.5, 40), ("glm", 0.5, 50), ("qwen", 0.5, 50), ("glm", 0.5, 50))
    chart = history_chart(history)
    [line] = [line for layer in drawing(chart).layers for line in layer.lines if line.dashed]
    second, third = sorted(
        float(mark.x[:-1]) for layer in drawing(chart).layers if layer.kind != "ink" for mark in layer.marks
    )[1:3]
    assert line.x1 == line.x2
    assert float(line.x1[:-1]) == pytest.approx((second + third) / 2, abs=0.02)


@pytest.mark.parametrize("shares", [(1.0, 1.0), (0.0,), (0.5, 0.52), (0.0, 1.0)])
def test_the_axis_holds_every_interval_stays_a_share_and_is_no_sliver(past, shares):
    history = past(*(("glm", share, 40) for share in shares))
    chart = history_chart(history)
    low, high = chart.domain
    assert 0 <= low <= min(point.low for point in chart.points)
    assert max(point.high for point in chart.points) <= high <= 100
    assert high - low >= 20
    for width in (340, 720):
        assert f'width="{width}"' in svg(chart, width=width)


def test_many_runs_have_dates_that_do_not_touch(past):
    history = past(("glm", 0.5, 4), ("glm", 0.5, 4))
    days = [f"2026-{1 + no // 28:02}-{1 + no % 28:02}" for no in range(30)]
    history = dated(replace(history, runs=history.runs * 15), *days)
    narrow, wide = (dates_below(history_chart(history), width) for width in (340, 720))
    assert (len(narrow), len(wide)) == (3, 6)
    assert set(narrow) <= set(wide)


EVIL = "<script>alert(1)</script> [x](http://evil.example) | \u202egnp @team\x1b[2J"


def test_what_was_noted_is_inert_on_the_page_and_in_markdown(past):
    history = past((EVIL.replace("\u202e", "").replace("\x1b", ""), 0.5, 8), notes=[(0, EVIL)], title=f"exam {EVIL}")
    page, text = html_history(history), markdown_history(history)
    assert "<script" not in page
    assert "script-src" not in page
    assert "default-src 'none'" in page
    assert "&lt;script&gt;alert(1)" in page
    assert not set(page + text) & {"\u202e", "\x1b"}
    assert "<script" not in text
    assert "[x](" not in text
    assert "@team" not in text
    assert [line.count(" | ") for line in text.splitlines() if line.startswith("| 2")] == [5], "six cells"


def test_the_page_is_one_file_that_loads_nothing(past):
    page = html_history(past(("glm", 0.5, 40), ("glm", 0.9, 40), notes=[(1, "new prompt")]))
    assert page.count("<svg xmlns") == 2
    assert "+40.0 better" in page
    assert "1. " in page
    assert "new prompt" in page
    without_namespaces = re.sub(r'xmlns(:\w+)?="[^"]+"', "", page)
    assert not re.search(r"https?://", without_namespaces)


def test_markdown_is_sized_for_a_comment(past):
    history = past(("glm", 0.5, 4), ("glm", 0.5, 4), notes=[(1, "x" * 5000), (0, "long ago")])
    text = markdown_history(replace(history, runs=(history.runs[0], *(history.runs[1:] * 44))))
    assert "5 older ones are left out; --last 45 shows all." in text
    assert "long ago" not in text
    assert len(re.findall(r"^- \d+\\\. \w+: x", text, re.MULTILINE)) == 10, "the newest of 44"
    assert len(re.findall(r"^\| 2", text, re.MULTILINE)) == 40
    assert max(map(len, text.splitlines())) < 400


def dated(history, *days):
    """The same history with its runs started on these days."""
    runs = (replace(run, created=f"{day}T12:00:00+00:00") for run, day in zip(history.runs, days, strict=True))
    return replace(history, runs=tuple(runs))


def test_runs_of_one_day_show_their_time(past):
    history = dated(past(*[("glm", 0.5, 8)] * 3), "2026-03-01", "2026-03-02", "2026-03-02")
    runs = [row[0].text for row in part(history_sections(history)[1], "started").table.rows]
    assert runs == ["2026-03-01", "2026-03-02 12:00", "2026-03-02 12:00"]
    assert "2026-03-02 12:00 glm" in history_chart(history).description


def test_distances_in_the_chart_are_those_in_time(past):
    history = dated(past(*[("glm", 0.5, 8)] * 4), "2026-03-01", "2026-03-02", "2026-03-31", "2026-12-01")
    chart = history_chart(history)
    assert [point.days for point in chart.points] == [0, 1, 30, 275]
    assert [text for _, text in chart.ticks][::5] == ["2026-03-01", "2026-12-01"]
    at = [float(mark.x[:-1]) for layer in drawing(chart).layers for mark in layer.marks]
    assert [(x - at[0]) / (at[-1] - at[0]) * 275 for x in at] == pytest.approx([0, 1, 30, 275], abs=0.1)
    assert dates_below(chart, 720) == [text for _, text in chart.ticks]


@pytest.mark.parametrize(
    ("first", "last", "texts"),
    [
        ("2026-03-01T09:30", "2026-03-01T09:30", ["2026-03-01"]),
        ("2026-03-01T09:30:10", "2026-03-01T09:30:40", ["03-01 09:30"]),
        ("2026-03-01T09:00", "2026-03-01T10:40", ["03-01 09:00", "03-01 09:20", "03-01 09:40", "03-01 10:00"]),
        ("2026-12-30T00:00", "2027-01-09T00:00", ["2026-12-30", "2027-01-01", "2027-01-03", "2027-01-05"]),
    ],
)
def test_ticks_are_at_equal_distances_and_say_days_or_times(first, last, texts):
    ends = [datetime.fromisoformat(end).replace(tzinfo=UTC) for end in (first, last)]
    ticks = time_ticks(*ends)
    assert [text for _, text in ticks][:4] == texts
    assert all(ends[0] <= moment <= ends[1] for moment, _ in ticks)


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_an_axis_has_one_to_six_ticks_in_order_between_its_ends(start, seconds):
    first = datetime.fromtimestamp(start, tz=UTC)
    last = first + timedelta(seconds=seconds)
    moments = [moment for moment, _ in time_ticks(first, last)]
    assert 1 <= len(moments) <= 6
    assert moments == sorted(set(moments))
    assert first <= moments[0] <= moments[-1] <= last


def test_two_targets_of_one_suite_are_held_against_each_other(past):
    """Two versions of a prompt that are two targets: the newer one is compared with the newest run of the older."""
    found = past(("v1", 0.2, 40), ("v2", 0.9, 40), ("v1", 0.5, 40))
    (compared,) = found.targets_compared
    assert (compared.target, compared.against_target, compared.against) == ("v2", "v1", found.runs[0].run)
    assert (compared.change.verdict, compared.change.n) == ("better", 40)
    assert compared.change.difference == pytest.approx(0.7)
    table = next(section for section in history_sections(found) if section.key == "targets").table
    assert [cell.text for cell in table.rows[0][:3]] == ["v2", "better", "+70.0"]
    turned = past(against="v2")
    assert [(one.target, one.against_target) for one in turned.targets_compared] == [("v1", "v2")]
    assert turned.targets_compared[0].change.difference == pytest.approx(-0.4)


def test_a_history_of_one_target_compares_no_targets(past):
    found = past(("v1", 0.2, 8), ("v1", 0.9, 8))
    assert found.targets_compared == ()
    assert "targets" not in [section.key for section in history_sections(found)]
    with pytest.raises(ConfigError, match="no run is of target 'v3'"):
        past(against="v3")
