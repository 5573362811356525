"""`agree`: a run's judge compared with people's labels, and what is refused."""

import random
from datetime import UTC, datetime

import pytest
from tests.cli.sheets import labelled

from steelyard import Judge, Label, Sample, Scripted, evaluate
from steelyard.analysis.label_forms import LabelForm
from steelyard.people.draw import draw_records
from steelyard.people.labels import add_labels
from steelyard.people.queue_values import QueueDesign
from steelyard.people.queues import create_queue, named_queue, queue_items
from steelyard.plain_json import json_value
from steelyard.report.page import ReportContent, report_sections
from steelyard.report.render.html import html_report
from steelyard.report.section import RecordLink
from steelyard.scorers import Correctness
from steelyard.store import Store

AT = datetime(2026, 3, 1, tzinfo=UTC)
SAMPLES = [Sample(f"q{at}", f"Question number {at:03} of the exam?", "the answer") for at in range(200)]


def judged_run(name, rate, *, template=None):
    """A run whose judge is right in nine of ten cases, and the truth by sample."""
    rng = random.Random(name)
    truth = {sample.id: rng.random() < rate for sample in SAMPLES}
    replies = {
        sample.input: "5" if truth[sample.id] == (rng.random() < 0.9) else "1" for sample in SAMPLES
    }  # fmt: skip

    def target(_):
        return "an answer"

    target.__name__ = name
    options = {"template": str(template)} if template else {}
    scorer = Correctness(Judge(Scripted(replies), name="large"), **options)
    return evaluate(target, SAMPLES, [scorer]), truth


def label(run, truth, n, *, drawn=True, authors=("ann",)):
    """Labels of `n` records, drawn by a queue or the first ones."""
    with Store() as store:
        stored = store.runs_named([run.id])[0][0]
        names = [sample.id for sample in SAMPLES[:n]]
        if drawn:
            items, how = draw_records([stored], n=n, seed=3)
            form = LabelForm("pass_fail", "correct_large", counted=True)
            create_queue(store, QueueDesign("Right?", form, drawn=how), items, author="lead")
            names = [item.sample for item in items]
        said = [
            Label(name, "correct_large", "pass" if truth[name] else "fail", author, AT, kind="pass_fail")
            for author in authors
            for name in names
        ]
        add_labels(store, stored, said)


@pytest.fixture
def run(once):
    """A run with 60 labelled records."""

    def make():
        found, truth = judged_run("first", 0.8)
        label(found, truth, 60)
        return found.id

    found = once(make)
    with Store() as store:
        return store.run(found)


@pytest.fixture
def bare(once):
    """A run without labels, and the truth by sample."""

    def make():
        found, truth = judged_run("bare", 0.8)
        return found.id, truth

    found, truth = once(make)
    with Store() as store:
        return store.run(found), truth


def test_the_corrected_figure_stands_beside_the_judged_one(steelyard, run):
    out = " ".join(steelyard("agree", run.id, code=0).out.split())
    assert "people say (estimated)" in out
    assert "60 labels by people" in out
    assert "TPR" in out
    assert "Labels needed: to know the rate to ±5 points: you need more than these 200 samples" in out
    assert "not drawn at random" not in out
    assert "how far people agree with each other is not known" in out


def test_json_has_every_figure(steelyard, run):
    plain = steelyard("agree", run.id, "--half-width", "0.1", "--json", code=0).json()
    (score,) = plain["scores"]
    assert (score["score"], score["records"], score["labelled"], score["half_width"]) == ("correct_large", 200, 60, 0.1)
    low, high = score["corrected"]["interval"]
    assert low < score["corrected"]["value"] < high
    assert sum(count["n"] for count in score["table"]) == 60


def test_two_runs_have_a_corrected_difference(steelyard, run):
    second, truth = judged_run("second", 0.4)
    label(second, truth, 60)
    out = steelyard("agree", run.id, "--versus", second.id, code=0).out
    assert "First minus second: +" in out
    assert f"it is run {run.id} itself" in steelyard("agree", run.id, "--versus", run.id, code=2).err


def test_a_half_width_in_points_is_refused_with_what_was_meant(steelyard, run):
    refused = steelyard("agree", run.id, "--half-width", "5", code=2).err
    assert "the score goes from 0 to 1, so that 5 points are 0.05" in " ".join(refused.split())


@pytest.mark.parametrize("width", ["inf", "nan"])
def test_a_half_width_is_a_finite_number(steelyard, run, width):
    assert "--half-width" in steelyard("agree", run.id, "--half-width", width, code=2).err


def test_labels_picked_by_hand_are_warned_of(steelyard, bare):
    found, truth = bare
    label(found, truth, 40, drawn=False)
    assert "40 of 40 labelled records were not drawn at random" in " ".join(steelyard("agree", found.id).out.split())


def test_labels_of_examples_in_the_judges_prompt_do_not_count(steelyard, tmp_path):
    template = tmp_path / "marks.txt"
    template.write_text(
        "{{question}} {{reference}} {{answer}}\nAn example: Question number 003 of the exam?\nRating: 5\nRate 1 to 5."
    )
    found, truth = judged_run("shots", 0.8, template=template)
    label(found, truth, 40, drawn=False)
    (score,) = steelyard("agree", found.id, "--json", code=0).json()["scores"]
    assert (score["labelled"], score["examples"]) == (39, [["q3", 0]])


def test_the_rate_as_judged_has_an_interval_beside_the_corrected_one(steelyard, run):
    (score,) = steelyard("agree", run.id, "--json", code=0).json()["scores"]
    low, high = score["corrected"]["raw_interval"]
    assert low < score["corrected"]["raw"] < high
    limits = f"{100 * low:.1f} to {100 * high:.1f}"
    terminal = next(line for line in steelyard("agree", run.id, code=0).out.splitlines() if "the judge says" in line)
    assert limits in terminal
    page = html_report([run])
    assert limits in page[page.index("the judge says") : page.index("people say (estimated)")]


def test_without_labels_and_a_score_the_way_on_names_the_headline(steelyard, bare):
    found, _ = bare
    told = " ".join(steelyard("agree", found.id, code=2).err.split())
    assert "nobody labelled any score of run" in told
    way = f"Let people label correctness_large, the run's headline: steelyard queue create {found.id} --score"
    assert f"{way} correctness_large --draw 100" in told


def test_what_cannot_be_held_to_labels_is_refused_with_a_way_on(steelyard, run):
    assert "has no score 'corect_large': did you mean correct_large?" in steelyard(
        "agree", run.id, "--score", "corect_large", code=2
    ).err.replace("'correct_large'", "correct_large")
    told = steelyard("agree", run.id, "--score", "correctness_large", code=2).err
    assert "nobody labelled score 'correctness_large'" in told
    assert "there are labels named correct_large" in told
    assert "steelyard queue create" in told


def test_an_imported_label_that_is_no_number_is_refused_with_its_row(steelyard, run, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(f"run,sample,repeat,name,value,author,at\n{run.id},q1,0,correct_large,NaN,ann,2026-03-01\n")
    told = steelyard("label", run.id, "--from", path, code=2).err
    assert "labels.csv row 2: value is nan; expected a finite number" in told


def test_a_run_without_a_score_is_told_how_judges_score_it(steelyard):
    found = evaluate(lambda sample: "an answer", SAMPLES[:3], [])
    told = " ".join(steelyard("agree", found.id, code=2).err.split())
    assert f"run {found.id} has no score to compare with people: steelyard judges {found.id} --judges FILE" in told


def test_an_unfinished_run_says_so_with_its_counts(steelyard, run):
    with Store() as store:
        store.writer.change(lambda batch: batch.connection.execute("UPDATE run SET state = 'interrupted'"))
    out = " ".join(steelyard("agree", run.id, code=0).out.split())
    assert "this run was interrupted: 200 of 200 records done, 0 errors." in out
    assert "interrupted" in steelyard("agree", run.id, "--json", code=0).json()["unfinished"]


def test_few_labels_are_only_counted(steelyard, bare):
    found, truth = bare
    label(found, truth, 12)
    out = " ".join(steelyard("agree", found.id, code=0).out.split())
    assert "Labelled: 12 of 200 records, by ann" in out
    assert "12 records with a verdict and a label; agreement is shown from 30 on" in out
    assert "kappa" not in out


def test_every_report_of_a_labelled_run_has_the_section(run):
    with Store() as store:
        stored = store.runs_named([run.id])[0][0]
        section = next(
            each for each in report_sections(ReportContent.of([stored]), "html") if each.key == "held_to_people"
        )
        page = html_report([stored])
    cells = [row[0] for part in section.parts if part.folded for row in part.table.rows]
    assert cells
    assert all(cell.link == RecordLink(run.id, cell.text) for cell in cells)
    assert "Does the judge agree with people?" in page


def test_uncertain_records_are_drawn_with_weights_that_agree_uses(steelyard, run):
    options = ("--title", "Next", "--author", "lead", "--draw", "100", "--score", "correct_large")
    made = steelyard("queue", "create", run.id, *options, "--uncertain", "--json", code=0).json()
    assert (made["items"], made["drawn"]["method"], made["drawn"]["score"]) == (100, "uncertain", "correctness_large")
    with Store() as store:
        weights = {item.weight for item in queue_items(store, named_queue(store, made["queue"]))}
    assert len(weights) == 2
    assert min(weights) > 1
    told = steelyard("queue", "create", run.id, *options, "--uncertain", "--stratified", code=2).err
    assert "two ways to draw" in told


def several_judges(jury=""):
    """A run with three judges, each of which fails other answers; no label yet."""
    judges = {
        name: Judge(Scripted({sample.input: "1" for sample in SAMPLES[::every]}, default="5"), name=name)
        for name, every in {"a": 3, "b": 4, "c": 5}.items()
    }
    return evaluate(lambda _: "an answer", SAMPLES, [Correctness(judge) for judge in judges.values()], jury=jury)


@pytest.fixture
def judged_by_three(once):
    found = once(lambda: several_judges().id)
    with Store() as store:
        return store.run(found)


@pytest.fixture
def jury_of_three(once):
    found = once(lambda: several_judges("majority").id)
    with Store() as store:
        return store.run(found)


def people_say(run, name, n=40):
    with Store() as store:
        stored = store.runs_named([run.id])[0][0]
        said = [Label(sample.id, name, "pass", "ann", AT, kind="pass_fail") for sample in SAMPLES[:n]]
        add_labels(store, stored, said)


def test_what_several_judges_rate_is_labelled_by_its_own_name(steelyard, judged_by_three):
    run = judged_by_three
    labelled(steelyard, run.id, "q1", "pass", "--score", "correct", "--author", "ann")
    made = ["queue", "create", run.id, "--score", "correct", "--draw", "50", "--title", "Right?", "--author", "lead"]
    queue = steelyard(*made, "--json", code=0).json()["queue"]
    with Store() as store:
        assert queue_items(store, named_queue(store, queue))
    assert 0 < steelyard(*made, "--uncertain", "--json", code=0).json()["items"] < 200
    people_say(run, "correct")
    found = {each["score"]: each for each in steelyard("agree", run.id, "--json", code=0).json()["scores"]}
    assert {name: each["labelled"] for name, each in found.items()} == dict.fromkeys(
        ("correct_a", "correct_b", "correct_c"), 40
    )
    rated = steelyard("agree", run.id, "--score", "correct", "--json", code=0).json()["scores"]
    assert [each["score"] for each in rated] == ["correct_a", "correct_b", "correct_c"]
    with Store() as store:
        counted = store.runs_named([run.id])[0][0].with_labels().summary()
    assert counted.raters.labelled.uncounted == {}
    assert counted.score("correct_b").headline.value > run.summary().score("correct_b").headline.value


def test_labels_of_one_judges_score_serve_the_others_until_what_they_rate_is_labelled(steelyard, judged_by_three):
    run = judged_by_three
    people_say(run, "correct_a", 35)
    (found,) = steelyard("agree", run.id, "--score", "correct_b", "--json", code=0).json()["scores"]
    assert (found["against"], found["labelled"]) == ("correct_a", 35)
    people_say(run, "correct", 50)
    (found,) = steelyard("agree", run.id, "--score", "correct_b", "--json", code=0).json()["scores"]
    assert (found["against"], found["labelled"]) == ("correct", 50)


def test_what_to_label_is_named_with_the_command_that_draws_it(steelyard, jury_of_three):
    run = jury_of_three
    told = " ".join(steelyard("agree", run.id, "--score", "correct_b", code=2).err.split())
    assert f"steelyard queue create {run.id} --score correct --draw 100" in told
    told = " ".join(steelyard("agree", run.id, "--score", "correct_jury", code=2).err.split())
    assert f"nobody labelled score 'correct_jury' of run {run.id}" in told
    assert f"steelyard queue create {run.id} --score correct --draw 100" in told
    single, _ = judged_run("single", 0.8)
    told = " ".join(steelyard("agree", single.id, "--score", "correctness_large", code=2).err.split())
    assert f"steelyard queue create {single.id} --score correctness_large --draw 100" in told


def test_a_jury_is_compared_with_people_as_one_judge(steelyard, jury_of_three):
    run = jury_of_three
    people_say(run, "correct")
    (found,) = steelyard("agree", run.id, "--score", "correct_jury", "--json", code=0).json()["scores"]
    with Store() as store:
        panels = store.runs_named([run.id])[0][0].summary().raters.panels
    (as_reported,) = (json_value(panel.jury.agreement) for panel in panels if panel.votes.score == "correct_jury")
    assert (found["score"], found["against"], found["labelled"], found["both"]) == ("correct_jury", "correct", 40, 40)
    assert found["corrected"] == as_reported["corrected"]
    assert found["table"] == as_reported["table"]
    # Of 40 answers that people pass, the judges fail every third, fourth and fifth: two of three fail 0, 12, 15, 20,
    # 24, 30 and 36, so that the jury passes 33.
    assert found["equal"]["value"] == 33 / 40
    told = steelyard("agree", run.id, "--score", "correct_jury", code=0).out
    assert "people say (estimated)" in told
    narrow = steelyard("agree", run.id, "--score", "correct_jury", "--half-width", "0.02", "--json", code=0).json()
    assert narrow["scores"][0]["half_width"] == 0.02


def test_the_juries_of_two_runs_are_compared_after_correction(steelyard):
    first, second = several_judges("majority"), several_judges("majority")
    for run in (first, second):
        people_say(run, "correct", 60)
    plain = steelyard("agree", first.id, "--score", "correct_jury", "--versus", second.id, "--json", code=0).json()
    assert plain["difference"]["value"] == pytest.approx(0)


def test_a_jury_of_two_says_on_how_many_records_it_has_no_verdict(steelyard):
    judges = [
        Judge(Scripted({sample.input: "1" for sample in SAMPLES[::every]}, default="5"), name=name)
        for name, every in {"a": 3, "b": 4}.items()
    ]
    run = evaluate(lambda _: "an answer", SAMPLES, [Correctness(judge) for judge in judges], jury="majority")
    people_say(run, "correct", 60)
    (found,) = steelyard("agree", run.id, "--score", "correct_jury", "--json", code=0).json()["scores"]
    assert any("no verdict had the most votes" in warning for warning in found["warnings"])
    assert found["both"] < found["labelled"] == 60


def test_a_file_of_labels_names_the_scores_that_its_labels_count_in(steelyard, run, tmp_path):
    path = tmp_path / "labels.csv"
    with Store() as store:
        sample = next(iter(store.run(run.id).places()))
    path.write_text(f"sample,name,value,author\n{sample},nothing_here,1,ann\n", encoding="utf-8")
    assert "--with-labels" not in steelyard("label", run.id, "--from", path, code=0).out
