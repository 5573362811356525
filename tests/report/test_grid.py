"""Prompts x models on a terminal, in Markdown, HTML, JSON and the viewer: which to ship."""

from __future__ import annotations

import json
import re

import pytest
from tests.report.sections_read import notes, rows

from steelyard import Options, Sample, Scripted, Store, Suite, compare, evaluate, evaluate_suite
from steelyard.cli.outcome import evaluate_runs, print_outcome
from steelyard.models.prices import Price, PriceTable
from steelyard.report.page import report_sections
from steelyard.report.render.html import html_report
from steelyard.report.render.markdown import markdown_report
from steelyard.report.section import RunLink
from steelyard.report.sections.grid import grid_details_section, grid_section
from steelyard.targets import Prompt

SAMPLES = [Sample(f"q{no}", f"Question {no}?", "A" if no % 10 else "B") for no in range(200)]


def right(output, expected):
    return output == expected


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two prompts on two models that differ in what they answer to each tenth question."""
    path = tmp_path_factory.mktemp("grid") / "s.db"
    targets, tags = {}, {}
    for prompt, template in {"terse": "{{question}}", "chatty": "Well: {{question}}"}.items():
        for model, reply in {"small": "B", "large": "A"}.items():
            name = f"{prompt}@{model}"
            targets[name] = Prompt(Scripted(default=reply), template=template)
            tags[name] = {"prompt": prompt, "model": model}
    prices = PriceTable({"small": Price(1, 2)}, "USD")
    suite = Suite("tickets", "custom", SAMPLES, targets, (right,), Options(prices=prices), tags=tags)
    return evaluate_suite(suite, store=path, progress=False)


def test_the_matrix_leads_to_each_run_and_a_row_to_its_comparison(runs):
    section = grid_section(compare(*runs).grid)
    assert {row: [cell.split(",")[0] for cell in cells] for row, cells in rows(section, "prompt").items()} == {
        "terse": ["10.0 %", "90.0 %"],
        "chatty": ["10.0 %", "90.0 %"],
    }
    (matrix,) = section.parts
    assert [cell.link for cell in matrix.table.rows[0][1:]] == [RunLink(runs[0].id), RunLink(runs[1].id)]
    chatty = matrix.table.rows[1][0].link
    assert (chatty.against, {chatty.run, *chatty.others}) == (runs[0].id, {run.id for run in runs[1:]})
    assert matrix.table.rows[0][0].link is None
    details = grid_details_section(compare(*runs).grid)
    on_large = details.parts[-1].table.rows[-1]
    assert on_large[1].link == RunLink(runs[3].id, runs[1].id)
    assert rows(details, "target")["terse@small"][-1] == "no"
    assert rows(details, "target")["chatty@large"][-1] == "yes"


def test_a_single_model_makes_the_row_of_a_prompt_lead_to_its_comparison(runs):
    section = grid_section(compare(runs[0], runs[2]).grid)
    (matrix,) = section.parts
    assert matrix.table.rows[1][0].link == RunLink(runs[2].id, runs[0].id, "right")


def test_unreadable_replies_of_cells_are_counted_below_the_rates():
    replies = {"Question 0?": "Hm.", "Question 1?": "I'm sorry, but I can't help with that."}
    models = {"small": Scripted(replies, default="A"), "large": Scripted(default="A")}
    labels = {"label": {"labels": ["A", "B"]}}
    several = evaluate({"a": "{{input}}", "b": "Tell: {{input}}"}, SAMPLES[:20], [labels], model=models, progress=False)
    (matrix,) = grid_section(several.compare().grid).parts
    assert [note.text for note in matrix.notes][1:] == [
        "Unreadable replies: 1 of a@small, 1 of b@small.",
        "Refused replies: 1 of a@small, 1 of b@small.",
    ]


def test_many_models_are_rows_and_their_prompts_columns():
    models = {f"m{no}": Scripted(default="A") for no in range(5)}
    several = evaluate({"a": "{{input}}", "b": "Hm. {{input}}"}, SAMPLES[:20], [right], model=models, progress=False)
    section = grid_section(several.compare().grid)
    assert list(rows(section, "model")) == list(models)
    assert [column.title for column in section.parts[0].table.columns] == ["model", "a", "b"]
    single = evaluate({"a": "{{input}}", "b": "Hm. {{input}}"}, SAMPLES, [right], model=models["m0"], progress=False)
    assert rows(grid_details_section(single.compare().grid), "against a")["b"][0] == "scripted"


def test_a_run_prints_the_grid_in_place_of_pairs_within_80_columns(runs, capsys):
    outcome = evaluate_runs(runs)
    print_outcome(outcome, as_json=False)
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    assert "regressions" not in printed
    assert "Cost by stage" not in printed
    assert f"steelyard compare {' '.join(run.target for run in runs)}" in printed
    assert re.search(r"terse\s+10\.0 % \(.*\)\s+90\.0 % \(.*\)", printed)
    assert "is one of 2 cells shown to be within 3 points of the best" in " ".join(printed.split())


@pytest.mark.parametrize("compared", [False, True])
def test_two_cells_end_with_their_difference_its_interval_and_p(runs, capsys, compared):
    for other, verdict in {1: r"✓ \S+ is better: \+80.0 points", 2: r"\? Not decided: 0.0 points"}.items():
        print_outcome(evaluate_runs([runs[0], runs[other]]), as_json=False, compared=compared)
        printed = " ".join(capsys.readouterr().out.split())
        assert re.search(verdict + r" \(95 % CI \S+ to \S+, p [=<] \S+\)", printed), printed
        assert "to be within 3 points" not in printed
        assert "20/200" in printed


def test_pages_begin_with_what_to_ship_and_keep_the_pairs_folded(runs):
    compared = compare(*runs)
    html = html_report(runs, compared)
    assert html.index('id="grid"') < html.index('id="targets"') < html.index('id="comparison"')
    text = markdown_report(runs, compared)
    assert "| terse | 10.0 %" in text
    keys = [section.key for section in report_sections(evaluate_runs(runs), "html")]
    assert keys[:2] == ["grid", "grid_details"]


def test_a_page_of_two_cells_begins_with_their_difference(runs):
    two = runs[:2]
    page = markdown_report(two, compare(*two))
    assert "80.0 points more" in page[:200]
    assert "Which to ship" not in page
    assert "the cheapest" not in str(compare(*two))


def test_what_is_doubtful_about_the_pairs_of_a_grid_is_said(tmp_path, capsys):
    rows = [{"id": f"q{no}", "text": f"Question {no}?", "label": "A"} for no in range(12)]
    edited = [{**rows[0], "text": "Another?"}, *rows[1:-2]]
    runs = []
    for name, samples in {"a": rows, "b": edited, "c": edited}.items():
        model = {name: Scripted(default="A")}
        runs += evaluate("{{text}}", samples, ["exact_match"], model=model, store=tmp_path / "s.db", progress=False)
    compared = compare(*runs)
    assert "on the 9 samples with a value in every cell" in compared.grid.sentence
    print_outcome(evaluate_runs(runs), as_json=False)
    for text in (capsys.readouterr().out, markdown_report(runs, compared)):
        words = " ".join(text.split())
        assert words.count("1 sample kept the id but changed content") == 1
        assert "2 only in a" in words


def test_json_has_the_grid_once(runs, capsys):
    print_outcome(evaluate_runs(runs), as_json=True)
    plain = json.loads(capsys.readouterr().out)
    grid = plain["comparison"]["grid"]
    assert [cell["state"] for cell in grid["cells"]] == ["worse", "within", "worse", "within"]
    assert grid["prompts"][0]["verdict"] == "no_evidence"
    assert json.dumps(plain).count('"margin": 0.03, "n"') == 1


def test_the_conclusion_of_a_grid_is_its_own_sentence(runs):
    sections = report_sections(evaluate_runs(runs), "markdown")
    conclusions = [text for section in sections for text in notes(section, "conclusion")]
    assert len(conclusions) == 1
    assert conclusions[0].startswith("terse@large is one of 2 cells")


def test_the_store_holds_what_the_grid_needs(runs):
    with Store(runs[0].store.path) as store:
        again = compare(*(store.run(run.id) for run in runs)).grid
    assert again == compare(*runs).grid
