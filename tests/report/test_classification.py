"""The classification report of runs, computed from stored scores and shown in every medium."""

from __future__ import annotations

import pytest

from steelyard import Sample, Suite, evaluate_suite
from steelyard.evaluation.objects import Options
from steelyard.plain_json import json_value
from steelyard.report.page_runs import PageRuns
from steelyard.report.render.html import html_report
from steelyard.report.render.markdown import markdown_report
from steelyard.report.sections.classification import classification_section
from steelyard.scorers import LabelMatch

LABELS = ["billing", "bug", "other"]
REPLIES = {
    "billing": ["billing"] * 9 + ["bug"],
    "bug": ["bug"] * 8 + ["billing", "bug or other"],
    "other": ["other"] * 7 + ["bug", "?", "no"],
}


def answer(sample):
    label, _, number = sample.id.partition("-")
    return REPLIES[label][int(number) % 10]


@pytest.fixture
def runs(tmp_path):
    samples = [Sample(f"{label}-{no}", "?", label) for no in range(20) for label in LABELS]
    targets = {"a": answer, "always bug": lambda _: "bug"}
    return evaluate_suite(Suite("S", "custom", samples, targets, (LabelMatch(),)), store=tmp_path / "s.db")


def test_the_report_counts_what_was_read_of_what_was_expected(runs):
    (report,) = runs[0].summary().details.classifications
    assert report.classes == tuple(LABELS)
    assert report.confusion == ((18, 2, 0, 0), (2, 16, 0, 2), (0, 2, 14, 4))
    assert report.figures.accuracy == runs[0].summary().score("accuracy").headline.value == 0.8
    assert report.figures.classes[1].f1 == pytest.approx(2 * 16 / (20 + 20))
    assert (report.figures.unread, report.clustered) == (6, False)
    plain = json_value(runs[0].summary())["classifications"][0]
    assert plain["figures"]["classes"]["bug"]["precision"] == pytest.approx(0.8)
    assert plain["figures"]["macro_f1_interval"] is not None


def test_repeats_are_resampled_with_their_samples(tmp_path):
    samples = [Sample(f"{label}-{no}", "?", label) for no in range(10) for label in LABELS]
    suite = Suite("S", "custom", samples, {"a": answer}, (LabelMatch(),), Options(repeats=3))
    (run,) = evaluate_suite(suite, store=tmp_path / "r.db")
    (report,) = run.summary().details.classifications
    assert (report.figures.n, report.clustered) == (90, True)


def test_the_section_has_all_runs_side_by_side_and_each_label(runs):
    section = classification_section(PageRuns([run.summary() for run in runs], ["a", "always bug"]))
    over_all, *of_runs = section.parts
    assert [[cell.text for cell in row] for row in over_all.table.rows][-3:] == [
        ["Cohen's kappa", "0.71", "0.00"],
        ["always the most frequent label", "33.3 %", "33.3 %"],
        ["unreadable or refused", "6", "0"],
    ]
    assert [part.title for part in of_runs] == [
        "Each label: a", "Confusion matrix: a", "Each label: always bug", "Confusion matrix: always bug"
    ]  # fmt: skip
    assert [cell.text for cell in of_runs[1].table.rows[2]] == ["other", "·", "2", "14", "4"]
    assert "unread" not in [column.title for column in of_runs[3].table.columns]


def test_few_references_of_a_label_leave_the_means_without_interval(tmp_path):
    samples = [Sample(f"{label}-{no}", "?", label) for no in range(9) for label in LABELS]
    (run,) = evaluate_suite(Suite("S", "custom", samples, {"a": answer}, (LabelMatch(),)), store=tmp_path / "f.db")
    section = classification_section(PageRuns([run.summary()], ["a"]))
    assert section.parts[0].table.rows[0][1].more == ()
    assert section.parts[0].notes[0].text == (
        "macro F1 and balanced accuracy have an interval only with 10 references of every label: "
        "billing 9, bug 9, other 9"
    )


def test_pages_and_comments_show_it(runs):
    assert "Accuracy by label" in html_report(runs)
    for text in (markdown_report(runs[:1]), html_report(runs)):
        assert "Confusion matrix" in text
        assert "macro F1" in text
