"""Groups by file, sheet or columns: averages by level in values, sections and gates, for every suite."""

import csv
import json

import openpyxl
import pytest
from tests.report.sections_read import rows
from tests.suites.test_choice_points import runs_of

from steelyard import ConfigError, compare
from steelyard.analysis.gate.gate_results import judge_gate
from steelyard.config.load import load
from steelyard.data.sample_files import SampleFiles
from steelyard.report.page_runs import PageRuns
from steelyard.report.sections.conclusion import relative_gains
from steelyard.report.sections.exam import levels_section
from steelyard.suites.choice.rows import load_choice
from steelyard.suites.rag import load_rag
from steelyard.suites.text2sql.rows import load_text2sql

HEAD = ("id", "question", "A", "B", "answer", "category", "subject")
SUBJECTS = [
    *("STEM physics A", "STEM physics A", "STEM physics B", "STEM algebra B"),
    *("Humanities history A", "Humanities law A", "Humanities law A"),
]


def exam():
    lines = [
        f"q{no},{no}?,x,y,{key},{category},{subject}"
        for no, (category, subject, key) in enumerate(map(str.split, SUBJECTS))
    ]
    return "\n".join([",".join(HEAD), *lines])


def answers(letter):
    return {f"q{no}": letter for no in range(len(SUBJECTS))}


@pytest.fixture
def runs(tmp_path):
    samples = {"file": "exam.csv", "group_by": ["category", "subject"]}
    return runs_of(tmp_path, exam(), {"a": answers("A"), "b": answers("B")}, samples=samples)


def test_averages_by_level_are_means_of_the_means_of_groups(runs):
    summary = runs[0].summary()
    category, subject = summary.details.levels["solve_rate"]
    assert (category.level, category.score.macro.n, category.score.macro.value) == ("category", 2, 0.75)
    assert (subject.level, subject.score.macro.n) == ("subject", 4)
    assert subject.score.macro.value == pytest.approx((2 / 3 + 0 + 1 + 1) / 4)
    assert [(part.group, part.headline.value, part.macro.value) for part in category.groups] == [
        ("STEM", 0.5, pytest.approx(1 / 3)), ("Humanities", 1, 1)
    ]  # fmt: skip
    assert all(mean.interval for mean in (category.score.macro, category.groups[0].macro))
    assert [group.group for group in summary.groups["solve_rate"]] == [
        "STEM / physics", "STEM / algebra", "Humanities / history", "Humanities / law"
    ]  # fmt: skip


def test_the_section_and_the_json_have_every_level(runs):
    summaries = [run.summary() for run in runs]
    table = rows(levels_section(PageRuns(summaries, ["a", "b"]), "solve_rate"), "Solve rate by level")
    figures = {name: [cell.split(",")[0] for cell in cells] for name, cells in table.items()}
    assert figures == {
        "micro, over questions": ["71.4 %", "28.6 %"],
        "macro, over category (2)": ["75.0 %", "25.0 %"],
        "macro, over subject (4)": ["66.7 %", "33.3 %"],
        "STEM: micro": ["50.0 %", "50.0 %"],
        "STEM: macro over subject": ["33.3 %", "66.7 %"],
        "Humanities: micro": ["100.0 %", "0.0 %"],
        "Humanities: macro over subject": ["100.0 %", "0.0 %"],
    }
    levels = summaries[0].json_fields()["levels"]["solve_rate"]
    assert [level.level for level in levels] == ["category", "subject"]
    assert not levels_section(PageRuns([], []), "solve_rate")


@pytest.mark.parametrize(
    ("rule", "state"),
    [
        ("solve_rate.macro", "fails"),
        ("solve_rate.macro[category]", "holds"),
        ("solve_rate.macro[STEM]", "fails"),
        ("solve_rate[Humanities]", "holds"),
        ("solve_rate.macro[STEM / algebra]", "undecided"),
    ],
)
def test_a_gate_names_a_level_or_a_group_of_any_level(runs, rule, state):
    (result,) = judge_gate({rule: ">= 0.7"}, [runs[0].summary()]).results
    assert result.state == state


def test_a_gate_on_a_group_that_no_level_has_is_refused_before_a_call(tmp_path):
    runs_of(tmp_path, exam(), {"a": answers("A")}, samples={"file": "exam.csv", "group_by": ["category", "subject"]})
    path = tmp_path / "exam.json"
    config = json.loads(path.read_text())
    for group, message in (("STEM", ""), ("category", ""), ("STME", "no sample is of group 'STME': did you mean")):
        path.write_text(json.dumps({**config, "gate": {f"solve_rate.macro[{group}]": ">= 0.5"}}))
        if message:
            with pytest.raises(ConfigError, match=message):
                load(path, environ={})
        else:
            load(path, environ={})


def test_each_file_is_a_subject_with_a_macro_average(tmp_path):
    for name, keys in (("history", "A"), ("maths", "ABB")):
        lines = [f"{name}{no},{name} {no}?,x,y,{key}" for no, key in enumerate(keys)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,question,A,B,answer", *lines]), "utf-8")
    said = {"history0": "A", "maths0": "B", "maths1": "A", "maths2": "A"}
    samples = {"file": ["history.csv", "maths.csv"], "group_by": "file"}
    (run,) = runs_of(tmp_path, "", {"m": said}, samples=samples)
    summary = run.summary()
    score = summary.score()
    assert (score.headline.value, score.macro.value) == (0.25, 0.5)
    assert [group.group for group in summary.groups["solve_rate"]] == ["history", "maths"]
    assert summary.details.breakdowns == {}, "files would be shown twice"


def test_each_sheet_is_a_subject(tmp_path):
    book = openpyxl.Workbook()
    for sheet in (book.active, book.create_sheet()):
        for row in (["question", "A", "B", "answer"], [f"{sheet.title}?", "x", "y", "A"]):
            sheet.append(row)
    book.save(tmp_path / "exam.xlsx")
    data = load_choice(SampleFiles(tmp_path / "exam.xlsx", group_by=("file", "sheet")))
    assert [sample.group for sample in data.samples] == ["exam / Sheet", "exam / Sheet1"]


def write(path, head, *lines):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *lines])
    return SampleFiles(path, group_by=("area", "topic"))


def test_other_suites_have_levels_too(tmp_path):
    rag = load_rag(write(tmp_path / "r.csv", ("question", "answer", "area", "topic"), ("Why?", "So.", "law", "tax")))
    assert [sample.group for sample in rag.samples] == ["law / tax"]
    assert not any("no role" in note for note in rag.notes)
    head = ("question", "sql", "schema", "area", "topic")
    sql = load_text2sql(write(tmp_path / "s.csv", head, ("All?", "SELECT 1", "CREATE TABLE t (a)", "x", "")))
    assert [sample.group for sample in sql.samples] == ["x / (no topic)"]


def test_a_level_that_holds_the_separator_stays_one_level(tmp_path):
    (tmp_path / "a.csv").write_text("question,A,B,answer,area,topic\n1?,x,y,A,arts / crafts,clay\n", "utf-8")
    (sample,) = load_choice(SampleFiles(tmp_path / "a.csv", group_by=("area", "topic"))).samples
    assert sample.group == "arts/crafts / clay"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"group_by": "sheet"}, "group_by: sheet: exam.csv has no sheets; write group_by: file, or a list of columns"),
        ({"group_by": ("category", "sujbect")}, "group_by: exam.csv has no column 'sujbect': did you mean 'subject'"),
        ({"group_by": ("subject", "subject")}, "expected file, sheet, or a list of different columns"),
        ({"group_by": "subject", "columns": {"group": "category"}}, "group_by, not both"),
        ({"group_by": ("A:B",)}, "'A:B' is several columns"),
    ],
)
def test_levels_that_cannot_be_read_are_refused(tmp_path, keys, message):
    (tmp_path / "exam.csv").write_text(exam(), "utf-8")
    with pytest.raises(ConfigError, match=message):
        load_choice(SampleFiles(tmp_path / "exam.csv", **keys))


def tagged(folder, first, second):
    lines = [f"q{no},{no}?,x,y,A" for no in range(170)]
    said = {
        name: {f"q{no}": "A" if no < right else "B" for no in range(170)} for name, right in (("bare", 80), ("kb", 116))
    }
    targets = {"bare": {"replay": "bare.jsonl"}, "kb": {"replay": "kb.jsonl"}}
    targets = {
        name: {**target, "tags": tags} for (name, target), tags in zip(targets.items(), (first, second), strict=True)
    }
    return runs_of(folder, "\n".join(["id,question,A,B,answer", *lines]), said, targets=targets)


def test_the_relative_gain_stands_beside_targets_that_differ_by_one_tag(tmp_path):
    runs = tagged(tmp_path, {"knowledge_base": "no", "model": "m"}, {"knowledge_base": "yes", "model": "m"})
    assert relative_gains(compare(*runs), ["bare", "kb"]) == [
        "kb: with knowledge base from no to yes, solve rate goes from 47.1 % to 68.2 %: Δ +45.0 % of the first."
    ]


def test_targets_that_differ_by_two_tags_have_no_relative_gain(tmp_path):
    runs = tagged(tmp_path, {"knowledge_base": "no", "model": "m"}, {"knowledge_base": "yes", "model": "n"})
    assert relative_gains(compare(*runs), ["bare", "kb"]) == []
