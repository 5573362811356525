"""What a reader is warned of where runs differ in more than their target."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.analysis.stored_run import stored

from steelyard import compare
from steelyard.analysis.stopping import Stopping
from steelyard.stats.intervals import Interval


def judge(model="gpt", prompt="Rate it.", **parameters):
    asked = {"model": {"openai_compatible": {"name": model, "base_url": "http://x/v1"}}, "parameters": parameters}
    return {"correctness": {"correctness": {"judge": asked, "prompt": prompt, "scale": [1, 5]}}}


def prompt(model="m", text="Q: {{question}}", **parameters):
    return {"prompt": {"model": {"openai_compatible": {"name": model}}, "text": text, "parameters": parameters}}


def warnings(before, after):
    """Of two runs with these manifests and equal values."""
    first, second = (replace(stored(name, s=[0, 1]), manifest=of) for name, of in (("a", before), ("b", after)))
    (pair,) = compare(first, second).pairs
    return pair.warnings


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"model": "glm"}, "model: gpt → glm"),
        ({"temperature": 0.7}, "temperature: none → 0.7"),
        ({"prompt": "Rate it strictly."}, "prompt: Rate it. → Rate it strictly."),
    ],
)
def test_another_judge_is_named_with_what_differs(changed, said):
    (warning,) = warnings({"scorers": judge()}, {"scorers": judge(**changed)})
    assert warning == (
        "The two runs were scored by different scorers: the judge of correctness differs "
        f"({said}), so a difference may be the scorers'."
    )


def test_a_long_prompt_is_not_quoted():
    (warning,) = warnings({"scorers": judge()}, {"scorers": judge(prompt="Rate it. " * 20)})
    assert "differs (prompt: 0 words removed, 38 added)" in warning


def test_an_equal_judge_and_a_scorer_more_are_no_warning():
    assert warnings({"scorers": judge()}, {"scorers": {**judge(), "rouge_l": {"rouge_l": {}}}}) == ()


def test_a_scorer_without_a_judge_is_no_judge():
    before, after = ({"scorers": {"f1": {"token_f1": {"threshold": n}}}} for n in (0.5, 0.7))
    assert "the f1 differs (threshold: 0.5 → 0.7)" in warnings(before, after)[0]


def test_runs_without_a_scorer_in_common_are_warned_of():
    (warning,) = warnings({"scorers": judge()}, {"scorers": {"f1": {"token_f1": {}}}})
    assert warning == "The two runs were scored by different scorers, so a difference may be the scorers'."


def test_model_and_prompt_that_both_differ_are_warned_of_and_one_alone_is_what_was_meant():
    both = warnings({"target": prompt()}, {"target": prompt(model="n", text="Please: {{question}}")})
    assert both == ("Model and prompt both differ; a difference may be the effect of either.",)
    assert warnings({"target": prompt()}, {"target": prompt(model="n")}) == ()
    assert warnings({"target": prompt()}, {"target": prompt(text="Please: {{question}}")}) == ()


def test_other_datasets_are_warned_of_where_single_samples_cannot_be_held_against_each_other():
    before, after = ({"samples": {"n": 2, "digest": digest}} for digest in ("aa", "bb"))
    assert warnings(before, after) == ("The two runs have different datasets; which samples differ is not known.",)
    assert warnings(before, before) == ()


def test_a_run_that_was_stopped_early_is_warned_of():
    stopping = Stopping("full", "s", 0.5, 0.95, "", 805, 212, 3, "above", Interval(0.55, 0.9))
    runs = stored("a", s=[0, 1]), replace(stored("b", s=[0, 1]), stopping=stopping)
    (pair,) = compare(*runs).pairs
    (warning,) = pair.warnings
    assert warning.startswith("b was stopped early, after 212 of 805 samples, by its rule on s: ")
    assert "do not hold" in warning
    whole = replace(stopping, used=805)
    assert compare(runs[0], replace(runs[1], stopping=whole)).pairs[0].warnings == ()


def test_many_differences_are_cut_and_counted():
    first, second = (
        replace(stored(name, s=[0, 1]), manifest={"target": {"f": {str(no): side * no for no in range(1, 15)}}})
        for side, name in ((1, "a"), (2, "b"))
    )
    (pair,) = compare(first, second).pairs
    assert (len(pair.differs), pair.differs[-1]) == (9, "and 6 more")
    assert len(pair.settings) == 14
