"""The section on raters: means, pairs with their coefficients, and what is left out, for every medium."""

from datetime import UTC, datetime
from io import StringIO

import pytest
from rich.console import Console
from tests.report.sections_read import notes, rows

from steelyard import Judge, Label, Sample, Scripted, Store, evaluate
from steelyard.analysis.numbers import MISSING
from steelyard.people.labels import add_labels
from steelyard.report.page import ReportContent, report_sections
from steelyard.report.page_runs import PageRuns
from steelyard.report.render.html import html_report
from steelyard.report.render.markdown import markdown_report
from steelyard.report.render.terminal import print_sections
from steelyard.report.section import section_json
from steelyard.report.sections.judge_agreement import agreement_section, held_to_people_section
from steelyard.scorers import Correctness

AT = datetime(2026, 3, 1, tzinfo=UTC)
SAMPLES = [Sample(f"q{number}", f"question {number:02}", "the answer") for number in range(12)]
LARGE = [5, 4, 4, 2, 1, 3, 5, 5, 2, 4, 1, 3]
SMALL = [4, 4, 3, 2, 1, 2, 5, 4, 1, 4, 2, 3]
PEOPLE = [True, True, True, False, False, False, True, True, False, True]


def judge(name, ratings):
    replies = {sample.input: str(rating) for sample, rating in zip(SAMPLES, ratings, strict=True)}
    return Correctness(Judge(Scripted(replies), name=name))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    run = evaluate(lambda sample: "x", SAMPLES, [judge("large", LARGE), judge("small", SMALL)], store=folder / "s.db")
    with Store(folder / "s.db") as store:
        said = [Label(f"q{number}", "correct", passed, "ann", AT) for number, passed in enumerate(PEOPLE)]
        add_labels(store, run, said)
    return run


@pytest.fixture
def section(run):
    return agreement_section(PageRuns([run.summary()], ["target"]))


def terminal(section):
    to = Console(width=80, file=StringIO(), markup=False, highlight=False, emoji=False)
    print_sections(to, [section])
    return to.file.getvalue()


def test_every_rater_has_its_mean_over_what_it_rated(section):
    assert rows(section, "Raters of correctness") == {
        "large": ["scorer", "3.25", "2.31 to 4.19", "12"],
        "small": ["scorer", "2.92", "2.08 to 3.75", "12"],
    }
    people = rows(section, "Raters of correct")["ann"]
    assert people == ["labels", "60.0 %", "31.3 to 83.2", "10"]  # Wilson of 6 of 10


def test_every_pair_has_its_coefficients_with_their_intervals(section, run):
    found = next(of for of in run.summary().raters.agreement if of.rated == "correctness").pairs[0]
    cells = rows(section, "Agreement on correctness")["large / small"]
    assert cells[:2] == ["12", "50.0 %"]
    for cell, coefficient in zip(cells[2:], found.coefficients, strict=True):
        assert cell == "{:.2f}, {:.2f} to {:.2f}".format(coefficient.value, *coefficient.interval)


def test_people_are_held_against_each_judge(section):
    pairs = rows(section, "Agreement on correct")
    assert list(pairs) == ["large / small", "large / ann", "small / ann"]
    # Of ten records the judge `large` passes 0, 1, 2, 6, 7, 9, and Ann the same: 0.6 and 0.6.
    assert pairs["large / ann"] == ["10", "100.0 %", "1.00"]
    assert "large / ann: no interval: every resample gives the same value" in notes(section)
    assert any(note.startswith("2 records that only one of large and ann rated") for note in notes(section))


def test_a_terminal_of_80_columns_shows_every_number_whole(section):
    printed = terminal(section)
    assert max(map(len, printed.splitlines())) <= 80
    assert "Raters of correct" in printed
    assert "large / small" in printed
    assert "…" not in printed
    assert "Krippendorff's alpha: 0." in printed


def test_pages_and_json_have_the_section_after_the_scores(run):
    content = ReportContent.of([run])
    for medium in ("terminal", "markdown", "html"):
        keys = [section.key for section in report_sections(content, medium)]
        assert keys.index("agreement") > keys.index("scores")
    assert "Cohen's kappa" in markdown_report([run])
    assert "Agreement of raters" in html_report([run])
    plain = next(part for part in section_json(report_sections(content, "html")) if part["key"] == "agreement")
    assert plain["parts"][0]["title"].startswith("Raters of")


def test_a_run_of_one_judge_has_no_such_section(tmp_path):
    alone = evaluate(lambda sample: "x", SAMPLES, [judge("", LARGE)], store=tmp_path / "s.db")
    assert not agreement_section(PageRuns([alone.summary()], ["target"]))
    assert alone.summary().raters.agreement == ()


def test_labels_that_count_in_place_of_scores_do_not_agree_with_themselves(run):
    said = [Label(f"q{number}", "correct_small", "pass", "bob", AT, kind="pass_fail") for number in range(12)]
    with Store(run.store.path) as store:
        add_labels(store, run, said)
    counted = run.with_labels()
    assert counted.summary().score("correct_small").headline.value == 1.0
    assert counted.summary().raters.agreement == run.summary().raters.agreement


def test_agreement_by_group_has_an_interval_from_30_labels_on(tmp_path):
    samples = [
        Sample(f"q{number}", f"question {number}", "the answer", group="ab"[number >= 40]) for number in range(45)
    ]
    judge_of_all = Correctness(Judge(Scripted({}, default="5"), name="large"))
    run = evaluate(lambda sample: "x", samples, [judge_of_all], store=tmp_path / "s.db")
    said = [
        Label(sample.id, "correct_large", "fail" if number < 4 else "pass", "ann", AT, kind="pass_fail")
        for number, sample in enumerate(samples)
    ]
    with Store(tmp_path / "s.db") as store:
        add_labels(store, run, said)
    cells = rows(held_to_people_section(PageRuns([run.with_labels().summary()], ["target"])), "agreement by group")
    assert cells["a"][:3] == ["40", "90.0 %", "76.9 to 96.0"]  # Wilson of 36 of 40
    assert cells["b"][:3] == ["5", MISSING, MISSING]
