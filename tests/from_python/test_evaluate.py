"""`evaluate` takes prompts, functions and models, rows from anywhere, and scorers by name, mapping or function."""

from __future__ import annotations

import asyncio
from dataclasses import fields

import pytest

from steelyard import ConfigError, ExactMatch, Judge, Options, Sample, Scripted, aevaluate, evaluate
from steelyard.errors import RunError
from steelyard.evaluation import RunConfig
from steelyard.from_python.evaluate import EvaluationOptions
from steelyard.from_python.runs import Runs

ROWS = [{"text": f"Ticket {no}", "label": ("bug", "billing")[no % 2], "channel": "web"} for no in range(8)]
BUG = Scripted(default="bug")
BILLING = Scripted(default="billing")


def rate(run):
    return run.score().headline.value


def test_a_prompt_over_rows_is_one_run_scored_by_name():
    run = evaluate("Sort: {{text}} ({{channel}})", ROWS, ["label"], model=BUG, progress=False)
    assert run.score("accuracy").headline.value == 0.5
    assert (run.kind, run.tags["model"]) == ("general", "scripted")
    assert [record.sample.reference for record in run.records()][:2] == ["bug", "billing"]


def test_several_prompts_and_several_models_are_runs_by_name():
    runs = evaluate(
        {"terse": "{{text}}", "chatty": "Hm, {{text}}"}, ROWS, ["label"], model={"a": BUG, "b": BILLING}, progress=False
    )
    assert isinstance(runs, Runs)
    assert [run.target for run in runs] == ["terse@a", "terse@b", "chatty@a", "chatty@b"]
    assert runs["chatty@b"].id == runs[3].id
    assert runs[:2][1].id == runs[1].id
    assert [cell.model for cell in runs.compare().grid.cells] == ["a", "b", "a", "b"]
    with pytest.raises(ConfigError, match="there is no run of 'chatty@c': did you mean 'chatty@"):
        runs["chatty@c"]


def test_a_mapping_of_models_alone_gives_runs_and_a_single_model_a_run():
    assert [run.target for run in evaluate("{{text}}", ROWS, ["label"], model={"a": BUG}, progress=False)] == ["a"]
    assert not isinstance(evaluate("{{text}}", ROWS, ["label"], model=BUG, progress=False), Runs)


def test_prompts_functions_and_models_stand_side_by_side():
    def always(sample):
        return "billing"

    runs = evaluate({"prompt": "{{text}}", "code": always, "alone": BUG}, ROWS, ["label"], model=BUG, progress=False)
    assert {run.target: rate(run) for run in runs} == {"scripted": 0.5, "code": 0.5, "alone": 0.5}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_is_read_as_rows_are(library):
    frame = pytest.importorskip(library).DataFrame(ROWS)
    from_rows, from_frame = (evaluate("{{text}}", rows, ["label"], model=BUG, progress=False) for rows in (ROWS, frame))
    ids = [[record.sample.id for record in run.records()] for run in (from_rows, from_frame)]
    assert ids[0] == ids[1]


def test_a_file_is_read_and_names_the_suite(tmp_path):
    (tmp_path / "tickets.csv").write_text("text,label\nA,bug\nB,billing\nC,bug\n", "utf-8")
    for path in (tmp_path / "tickets.csv", str(tmp_path / "tickets.csv")):
        run = evaluate("{{text}}", path, ["exact_match"], model=BUG, progress=False)
        assert (run.suite, run.done) == ("tickets", 3)


def test_rows_without_ids_keep_theirs_in_another_order_and_equal_rows_are_numbered():
    def ids(rows):
        run = evaluate(lambda sample: "x", rows, ["exact_match"], progress=False)
        return [record.sample.id for record in run.records()]

    first, second, third = ids([ROWS[0], ROWS[1], ROWS[0]])
    assert third == f"{first}#2"
    assert ids([ROWS[1], ROWS[0], ROWS[0]]) == [second, first, third]
    assert ids([{"ID": 7, **ROWS[0]}]) == ["7"]


def test_samples_without_ids_get_one_of_their_content():
    samples = [Sample(input="a", reference="A"), Sample(input="b", reference="B"), Sample("own", "c", "C")]
    run = evaluate(lambda sample: sample.input.upper(), samples, [ExactMatch()], progress=False)
    first, second, own = (record.sample.id for record in run.records())
    assert own == "own"
    assert first != second
    assert len(first) == len(second) == 12
    assert rate(run) == 1


def test_a_prompt_fills_values_of_sample_objects():
    samples = [Sample("a", "Hi", "HI", metadata={"tone": "loud"})]
    echo = Scripted(function=lambda messages: messages[-1]["content"])
    run = evaluate("{{input}} {{tone}}", samples, [ExactMatch()], model=echo, progress=False)
    assert next(run.records()).output.value == "Hi loud"


def test_scorers_are_functions_by_parameter_names_mappings_names_and_objects():
    def says_bug(output):
        return "bug" in output

    def equal(output, expected):
        return output == expected

    def short(sample, output):
        return len(output.value) < len(sample.input)

    def third_class(expected):
        return expected == "bug"

    scorers = [says_bug, equal, short, third_class, {"contains": {"mode": "any"}, "name": "has"}, ExactMatch()]
    run = evaluate("{{text}}", ROWS, scorers, model=BUG, progress=False)
    values = {score.name: score.headline.value for score in run.summary().scores}
    assert values == {
        "says_bug": 1.0, "equal": 0.5, "short": 1.0, "third_class": 0.5, "has": 0.5, "exact_match": 0.5,
    }  # fmt: skip


def test_a_judge_is_given_to_every_scorer_that_has_none():
    judge = Scripted(default="Fine.\nRating: 4")
    scorers = [{"g_eval": "Clear.", "name": "clarity"}]
    for given in (judge, Judge(judge)):
        for samples in (ROWS, [Sample("a", "Why?")]):
            run = evaluate(lambda sample: "So.", samples, scorers, judge=given, progress=False)
            assert run.score("clarity").headline.value == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("{{text}}", ROWS, ["label"]), "a prompt needs a model"),
        (({}, ROWS, ["label"]), "there is no target"),
        ((3, ROWS, ["label"]), "expected a prompt's text, a function or a target, but got 3"),
        (("{{txt}}", ROWS, ["label"], BUG), r"\{\{txt\}\}.*did you mean 'text'"),
        (("{{text}}", ROWS, "label", BUG), r"scorers: expected a list, such as \['label'\]"),
        (("{{text}}", ROWS, ["lable"], BUG), r"scorers\[0\].*did you mean 'label'"),
        (("{{text}}", ROWS, ["label"], "small"), "expected a model such as OpenAICompatible, but got 'small'"),
        ((lambda sample: "a", ROWS, ["label"], BUG), "model= answers prompts, and there is none"),
        ((lambda sample: "a", "tickets.cvs", ["label"]), "tickets.cvs"),
    ],
)
def test_what_cannot_be_used_is_refused_before_anything_is_asked(arguments, message):
    target, samples, scorers, *model = arguments
    with pytest.raises(ConfigError, match=message):
        evaluate(target, samples, scorers, **({"model": model[0]} if model else {}))


def test_a_misspelt_option_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match="no option 'repeat': did you mean 'repeats'"):
        evaluate("{{text}}", ROWS, ["label"], model=BUG, repeat=3)


def test_every_option_is_a_typed_keyword():
    wanted = {field.name for cls in (Options, RunConfig) for field in fields(cls)} - {"store"}
    assert EvaluationOptions.__annotations__.keys() == wanted | {"name", "jury", "workers"}


def test_async_callers_await_the_same():
    run = asyncio.run(aevaluate("{{text}}", ROWS, ["label"], model=BUG, repeats=2, progress=False))
    assert (run.done, run.summary().details.pass_rates[-1].k) == (16, 2)


def test_a_broken_run_is_raised_with_the_run():
    def broken(sample):
        raise RuntimeError("no")

    with pytest.raises(RunError, match="is broken") as caught:
        evaluate({"a": broken, "b": lambda sample: "bug"}, ROWS, ["label"], progress=False)
    assert caught.value.run.target == "a"
    runs = evaluate({"a": broken}, ROWS, ["label"], on_broken="return", progress=False)
    assert [run.state for run in runs] == ["broken"]


def test_a_score_is_asked_for_by_name():
    run = evaluate("{{text}}", ROWS, ["label", "exact_match"], model=BUG, progress=False)
    assert run.score().name == "accuracy"
    assert run.score("exact_match").headline.n == 8
    with pytest.raises(ConfigError, match="no score 'acuracy': did you mean 'accuracy'"):
        run.score("acuracy")
    with pytest.raises(ConfigError, match="no group 'web' of accuracy"):
        run.score("accuracy", "web")


def test_runs_print_rates_and_the_conclusion_and_show_matrix_and_dots_in_a_notebook():
    runs = evaluate("{{text}}", ROWS, ["label"], model={"a": BUG, "<b>": BILLING, "c": BUG}, progress=False)
    lines = str(runs).splitlines()
    assert lines[0].startswith("a: accuracy 0.50 [")
    assert "8 samples do not show which cell is the best" in lines[-1]
    html = runs._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert html.count("<table") == 1
    assert "<svg" in html
    assert repr(runs).startswith("Runs([Run(")


def test_runs_of_functions_are_compared_in_pairs():
    runs = evaluate({"a": lambda sample: "bug", "b": lambda sample: "billing"}, ROWS, ["label"], progress=False)
    assert runs.compare().grid is None
    assert len(runs.compare().pairs) == 1
    assert "<svg" in runs._repr_html_()


def test_runs_are_one_frame_with_a_row_per_record():
    pytest.importorskip("pandas")
    frame = evaluate("{{text}}", ROWS, ["label"], model={"a": BUG, "b": BILLING}, progress=False).to_frame()
    assert list(frame["target"].value_counts()) == [8, 8]
    assert frame["accuracy"].mean() == 0.5
