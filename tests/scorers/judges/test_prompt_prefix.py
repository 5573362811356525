"""What all samples share stands first in every prompt of a judge, so that endpoints can serve it from their cache."""

from __future__ import annotations

import re
from itertools import takewhile

import pytest

from steelyard.prompts.fenced_prompt import FencedPrompt
from steelyard.prompts.template import load_template, packaged_prompts, placeholders
from steelyard.scorers.judges.criteria import Correctness, ErrorJudge
from steelyard.scorers.judges.judge import Judge
from steelyard.scorers.judges.relevance import Relevance

NAMES = sorted(name.removeprefix("en/judge_") for name in packaged_prompts() if name.startswith("en/judge_"))
OF_THE_SCORER = {"criteria", "criterion", "definition", "examples", "guidelines", "high", "levels", "low", "metric"} | {
    "steps",
    "task",
}
"""Values that are the same for all samples; `steps` are the agent's own in one prompt, `count` in all but one."""
ORDER = ("question", "goal", "plan", "reference", "schema", "contexts", "transcript", "answer")
"""In which order the parts of a sample stand; a part that is read against another stands behind that."""
OWN_ORDER = {
    "citations": ("question", "contexts", "claims"),
    "claims_in_text": ("question", "text", "claims"),
    "faithfulness_refine": ("question", "answer", "reason", "contexts"),
    "claim_verdicts": ("contexts", "claims"),
    "preference": ("question", "reference", "answer_a", "answer_b"),
    "steps_justified": ("question", "transcript", "steps"),
}


def common_prefix(first, second):
    return "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


def of_the_scorer(name):
    if name == "steps_justified":
        return OF_THE_SCORER - {"steps"}
    return OF_THE_SCORER | {"count"} if name == "guideline" else OF_THE_SCORER


def prompt_of(name, language, sample):
    """What a prompt sends for a sample whose every value differs from any other sample's in its first character."""
    values = [value for value, _ in placeholders(load_template(f"{language}/judge_{name}")) if value != "mark"]
    shared = of_the_scorer(name)
    plain = {value for value in values if value in {*OF_THE_SCORER, "count", "left_out"}} - {"examples"}
    plain -= {"steps"} if name == "steps_justified" else set()
    fenced = tuple(value for value in values if value not in plain)
    prompt = FencedPrompt(f"judge_{name}", "", fenced, tuple(plain), shared=("examples",))
    filled = {value: f"the {value}" if value in shared else f"{sample} {value}" for value in values}
    return prompt.messages(language, filled)[0]["content"]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", NAMES)
def test_two_samples_share_all_that_is_fixed_before_their_material(name, language):
    first, second = (prompt_of(name, language, sample) for sample in ("one", "two"))
    shared = common_prefix(first, second)
    if name == "g_eval_steps":
        assert shared == first == second, "the steps are written once for all samples"
        return
    heading = {"en": "The material follows, between <", "zh": "以下是材料，夹在 <"}[language]
    fixed = first[: first.index(heading) + len(heading)]
    assert len(shared) >= len(fixed)
    closing = first[first.rindex({"en": "The material ends here.", "zh": "材料到此为止"}[language]) :]
    assert len(fixed) > 2 * len(closing), "the instructions, the scale and the example stand first"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "g_eval_steps"])
def test_the_values_of_the_scorer_stand_before_those_of_the_sample(name, language):
    text = load_template(f"{language}/judge_{name}")
    heading = text.index({"en": "The material follows,", "zh": "以下是材料"}[language])
    closing = text.index({"en": "The material ends here.", "zh": "材料到此为止"}[language])
    shared = of_the_scorer(name)
    early = {value for value, at in placeholders(text) if at < heading}
    late = [value for value, at in placeholders(text) if heading < at < closing and value != "mark"]
    assert early <= shared
    assert not shared & set(late)
    parts = [value for value in late if value not in {"count", "left_out"}]
    order = OWN_ORDER.get(name, ORDER)
    assert parts == [value for value in order if value in parts]


def test_the_examples_of_an_error_have_the_same_marks_for_all_samples():
    scorer = ErrorJudge(Judge(), name="rude", definition="Is rude.", examples=("Go away.",))
    values = {"examples": "- Go away.", "definition": "Is rude.", "contexts": ""}
    texts = [
        scorer.prompts["error_code"].messages("en", values | {"question": f"q{n}", "answer": f"a{n}"})[0]["content"]
        for n in range(2)
    ]
    examples = [re.search(r"<examples (\w{12})>\n- Go away\.\n</examples \1>", text) for text in texts]
    answers = [re.search(r"<answer (\w{12})>\na\d\n</answer \1>", text) for text in texts]
    assert examples[0][1] == examples[1][1]
    assert answers[0][1] != answers[1][1] != examples[0][1]
    assert len(common_prefix(*texts)) > examples[0].end() + 400


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("{{question}}\n{{answer}}\nRate it from 1 to 5.", "question"),
        ("Question: {{question}}\nAnswer: {{answer}}\nRate it from 1 to 5.", "question"),
        ("Rate from 1 to 5 how well the answer meets the question.\n{{question}}\n{{answer}}\nRating:", ""),
        ("", ""),
    ],
)
def test_a_prompt_of_ones_own_that_begins_with_a_sample_is_named(template, name):
    assert Relevance(Judge(), template=template).prompts["relevance"].varies_early() == name


def test_the_value_is_named_as_the_template_names_it():
    rating = "from 1 to 5, where 5 is right in every respect"
    first = f"{{{{generated_answer}}}} against {{{{reference_answer}}}} of {{{{query}}}}: rate it {rating}."
    assert Correctness(Judge(), template=first).prompts["correctness"].varies_early() == "generated_answer"
    last = f"Rate {rating}: {{{{query}}}} {{{{reference_answer}}}} {{{{generated_answer}}}}"
    assert Correctness(Judge(), template=last).prompts["correctness"].ends_with() == "generated_answer"
