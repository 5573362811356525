"""compare as a person and as a program read it: options, tables within 80 columns, costs."""

from __future__ import annotations

import re

import pytest

from steelyard import Options, Prompt, Sample, Store, Suite, compare, evaluate_suite
from steelyard.evaluation.evaluate import RunConfig
from steelyard.evaluation.objects import StopWhen
from steelyard.models.scripted import Scripted
from steelyard.scorers.lexical import ChrF, Contains, ExactMatch, RougeL, TokenF1

SCORERS = (ExactMatch(), TokenF1(), RougeL(), ChrF(), Contains())
FURTHER = ["token_f1", "rouge_l", "chrf", "contains"]
ANSWERS = {f"Question {no}?": f"it is {no}" for no in range(30)}


@pytest.fixture
def answered(tmp_path, monkeypatch):
    """answered({"a": 7, "b": 12}): a run per target, which answers the first so many of 30 questions rightly."""
    monkeypatch.chdir(tmp_path)

    def run(right, ids="q"):
        samples = [
            Sample(f"{ids}{no}", question, answer, group=f"group {no % 2}", metadata={"code": f"c{no}"})
            for no, (question, answer) in enumerate(ANSWERS.items())
        ]
        models = {target: Scripted(dict(list(ANSWERS.items())[:n]), f"{target}?") for target, n in right.items()}
        targets = {target: Prompt(model, "{{question}}") for target, model in models.items()}
        return evaluate_suite(Suite("quiz", "custom", samples, targets, SCORERS, options=Options(concurrency=4)))

    return run


def test_sentence_categories_scores_and_costs_stand_in_this_order_within_80_columns(steelyard, answered):
    answered({"old": 10, "new": 26})
    out = steelyard("compare", "old", "new", "--full", code=0).out
    assert max(map(len, out.splitlines())) <= 80
    places = [
        out.index(words) for words in ("new scores 53.3 points more", "pairs ", "Other scores", "Costs per sample")
    ]
    assert places == sorted(places)
    (line,) = [line.split() for line in out.splitlines() if line.startswith("Contains ") and "+" in line]
    assert line[:6] == ["Contains", "33.3", "%", "86.7", "%", "+53.3"]
    assert line[-2:] == ["16", "0"]
    assert [line.split()[:4] for line in out.splitlines() if line.startswith("calls")] == [
        ["calls", "1.00", "1.00", "0.00"]
    ]


def test_a_higher_level_widens_the_interval_and_is_named(steelyard, answered):
    answered({"old": 10, "new": 16})
    narrow, wide = (
        steelyard("compare", "old", "new", "--level", level, "--json", code=0).json()["comparison"]["pairs"][0]
        for level in ("0.8", "0.99")
    )
    assert wide["headline"]["interval"][0] < narrow["headline"]["interval"][0]
    assert (narrow["verdict"], wide["verdict"]) == ("better", "no_evidence")
    assert "99 %" in steelyard("compare", "old", "new", "--level", "0.99", code=0).out
    assert "0.95 for 95 %" in steelyard("compare", "old", "new", "--level", "95", code=2).err


def test_only_a_group_is_compared_where_one_is_named(steelyard, answered):
    answered({"old": 10, "new": 26})
    found = steelyard("compare", "old", "new", "--group", "group 1", "--json", code=0).json()["comparison"]
    assert (found["only_groups"], found["pairs"][0]["n_paired"]) == (["group 1"], 15)
    assert "Only samples of group 1." in steelyard("compare", "old", "new", "--group", "group 1", code=0).out
    both = ("--group", "group 0", "--group", "group 1")
    assert (
        steelyard("compare", "old", "new", *both, "--json", code=0).json()["comparison"]["pairs"][0]["n_paired"] == 30
    )
    assert "did you mean 'group 1'?" in steelyard("compare", "old", "new", "--group", "grup 1", code=2).err


def test_samples_of_other_ids_are_paired_by_content_or_by_the_key_that_is_named(steelyard, answered):
    answered({"old": 10}, ids="q")
    answered({"new": 26}, ids="r")
    out = " ".join(steelyard("compare", "old", "new", "--full", code=0).out.split())
    assert "share none of their samples' ids, so samples with equal content are paired" in out
    assert "new scores 53.3 points more" in out
    found = steelyard("compare", "old", "new", "--align", "code", "--json", code=0).json()["comparison"]["pairs"][0]
    assert (found["aligned"], found["n_paired"], found["other_ids"]["q10"]) == ("code", 30, "r10")
    assert "share no sample" in steelyard("compare", "old", "new", "--align", "id", code=0).out
    assert "did you mean 'code'?" in steelyard("compare", "old", "new", "--align", "cod", code=2).err


def test_regressions_of_runs_with_other_ids_are_listed(steelyard, answered):
    answered({"old": 26}, ids="q")
    answered({"new": 20}, ids="r")
    listed = "q20  ✓ it is 20 → ✗ new? · correct it is 20  Question 20?"
    assert listed in steelyard("compare", "old", "new", "--full", code=0).out
    assert "worse     q20 ✓ it is 20 to ✗ new?" in steelyard("compare", "old", "new", code=0).out


def test_what_cannot_be_told_exits_with_0_and_says_what_could_have_been_shown(steelyard, answered):
    answered({"old": 10, "new": 12})
    short = steelyard("compare", "old", "new", code=0).out
    assert "? Not decided: +7 points (95 % CI " in short
    assert re.search(
        r"^  30 samples find \d\d points in 80 % of cases; 7 points need about \d+\.$", short, re.MULTILINE
    )
    out = " ".join(steelyard("compare", "old", "new", "--full", code=0).out.split())
    assert "No clear difference" in out
    assert "are found reliably" in out
    answered({"third": 11})
    assert "in 80 % of cases" not in steelyard("compare", "old", "new", "third", code=0).out


def test_twelve_runs_and_five_scores_fit_80_columns_with_a_line_each(steelyard, answered):
    names = {f"target-{no}": 5 + 2 * no for no in range(12)}
    answered(names)
    out = steelyard("compare", *names, "--full", code=0).out
    assert max(map(len, out.splitlines())) <= 80
    assert "p (Holm)" in out
    assert "11 runs are compared with one baseline" in out


def test_json_holds_every_field_of_scores_and_costs_by_name(steelyard, answered):
    answered({"old": 10, "new": 26})
    (pair,) = steelyard("compare", "old", "new", "--json", code=0).json()["comparison"]["pairs"]
    assert [one["score"] for one in pair["scores"]] == FURTHER
    assert {"p", "p_adjusted", "adjustment", "detectable", "improved", "regressed"} <= set(
        pair["scores"][0]["difference"]
    )
    assert {(one["measure"], one["statistic"]) for one in pair["costs"]} >= {
        ("calls", "mean"),
        ("output_tokens", "mean"),
    }
    assert pair["differs"]


def test_what_was_decided_between_two_runs_is_said_once(steelyard, tmp_path):
    store = tmp_path / "stopped.db"
    samples = [Sample(f"s{n}", "?", "yes") for n in range(200)]
    targets = {"old": lambda sample: "no", "new": lambda sample: "yes"}
    options = Options(stop_when_decided=StopWhen("full"))
    suite = Suite("s", "custom", samples, targets, (ExactMatch(),), options)
    old, new = evaluate_suite(suite, how=RunConfig(store=store))
    out = " ".join(steelyard("compare", old.id, new.id, "--store", store, code=0).out.split())
    assert out.count("over the full set") == 1
    assert "new has more exact match than old over the full set" in out
    alone = " ".join(steelyard("show", new.id, "--store", store, code=0).out.split())
    assert "new: exact_match is above that of old over the full set" in alone


def test_all_pairs_are_a_line_each_within_80_columns_and_in_json_and_markdown(steelyard, answered, tmp_path):
    answered({"old": 5, "new": 15, "newest": 29})
    out = steelyard("compare", "old", "new", "newest", "--all-pairs", "--full", code=0).out
    assert max(map(len, out.splitlines())) <= 80
    rows = [
        line.split()
        for line in out.splitlines()
        if " against " in line and ":" not in line and line.rstrip().endswith("better")
    ]
    assert [row[:3] for row in rows] == [
        ["new", "against", "old"],
        ["newest", "against", "old"],
        ["newest", "against", "new"],
    ]
    assert {row[-1] for row in rows} == {"better"}
    assert "3 of 3 pairs differ (p after Holm's correction for 3 pairs)" in " ".join(out.split())
    assert "Against old the verdicts above decide" in " ".join(out.split())
    found = steelyard("compare", "old", "new", "newest", "--all-pairs", "--json", code=0).json()["comparison"]
    assert [(pair["other_target"], pair["verdict"]) for pair in found["all_pairs"]][2] == ("newest", "better")
    page, text = tmp_path / "all.html", tmp_path / "all.md"
    steelyard("compare", "old", "new", "newest", "--all-pairs", "--html", page, "--markdown", text, code=0)
    assert "All pairs" in page.read_text(encoding="utf-8")
    assert "| newest against new | +46.7 |" in text.read_text(encoding="utf-8")


def test_one_run_stands_for_all_that_were_started_with_it(steelyard, answered):
    answered({"old": 5, "new": 15, "newest": 29})
    found = steelyard("compare", "new", "--all-pairs", "--json", code=0).json()
    assert [run["target"] for run in found["runs"]] == ["old", "new", "newest"]
    compared = found["comparison"]
    assert [compared["baseline"], *compared["others"]] == [run["run"] for run in found["runs"]]
    answered({"alone": 5})
    assert "was started without others" in steelyard("compare", "alone", "--all-pairs", code=2).err


def test_the_words_that_a_prompt_changed_by_are_shown(steelyard, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    samples = [Sample(f"q{no}", question, answer) for no, (question, answer) in enumerate(ANSWERS.items())]
    model = Scripted(dict(ANSWERS), "?")
    texts = {
        "brief": "{{question}}\n\nAnswer in one short sentence.",
        "long": "{{question}}\n\nAnswer in full sentences.",
    }
    targets = {name: Prompt(model, text) for name, text in texts.items()}
    evaluate_suite(Suite("quiz", "custom", samples, targets, SCORERS))
    assert "differs   prompt -3 +2 words" in steelyard("compare", "brief", "long", code=0).out
    out = " ".join(steelyard("compare", "brief", "long", "--full", code=0).out.split())
    assert "What differs between the runs prompt: " in out
    assert "Answer in [-one-]{+full+} [-short sentence-]{+sentences+}." in out
    (setting,) = steelyard("compare", "brief", "long", "--json", code=0).json()["comparison"]["pairs"][0]["settings"]
    assert (setting["key"], setting["before"]) == ("prompt", texts["brief"])
    steelyard("compare", "brief", "long", "--markdown", "out.md", code=0)
    assert "What differs between the runs" in (tmp_path / "out.md").read_text(encoding="utf-8")
    steelyard("compare", "brief", "long", "--html", "out.html", code=0)
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "Answer in <del>one</del><ins>full</ins> <del>short sentence</del><ins>sentences</ins>." in page


def test_commands_refuse_runs_of_two_suites_and_python_is_told_of_them(steelyard, answered, tmp_path):
    answered({"old": 10})
    samples = [Sample(f"q{no}", question, answer) for no, (question, answer) in enumerate(ANSWERS.items())]
    model = Prompt(Scripted(ANSWERS), "{{question}}")
    evaluate_suite(Suite("facts", "custom", samples, {"new": model}, (ExactMatch(),)))
    evaluate_suite(Suite("style", "custom", samples, {"polite": model}, (TokenF1(),)))
    for command in ("compare old new", "report old new --html out.html", "compare new polite"):
        refused = steelyard(*command.split(), code=2).err
        assert "runs of different suites cannot be compared" in refused
        assert "(new) is of suite facts" in refused
        assert "give both the same name (name: in a configuration, name= of evaluate)" in refused
    assert not (tmp_path / "out.html").exists()
    with Store() as store:
        warnings = compare(store.run("old"), store.run("new")).pairs[0].warnings
    assert any(text.startswith("The runs are of two suites, quiz and facts: equal names") for text in warnings)
