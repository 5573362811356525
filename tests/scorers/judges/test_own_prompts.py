"""Prompts of the user's own: a system message, values anywhere, and templates as other tools have them."""

import pytest
from tests.scorers.judges.judge_server import judged, sample

from steelyard import ConfigError, ExactMatch, Judge, Sample, Scripted, evaluate
from steelyard.constraints import check_options
from steelyard.evaluation.judge_prompts import judge_prompts
from steelyard.evaluation.scorer_infos import prompt_hints
from steelyard.registry import find, names
from steelyard.scorers import Correctness, Faithfulness, GEval, Guideline, Relevance

SYSTEM = "You mark exams. Say a number from 1 to 5 in the first line, and why in the second."
LONG = ["The shop opens at nine. " * 10, "Paris is the capital of France. " * 8]


def messages(judgement, no=0):
    return judgement.asked[no].body["messages"]


def test_a_system_message_comes_before_the_template_which_may_end_with_the_answer():
    template = "# Asked\n{{query}}\n# Expected\n{{reference_answer}}\n# Given\n{{generated_answer}}"
    judgement = judged(
        lambda judge: Correctness(judge, template=template, system=SYSTEM), sample(), lambda asked: "4.0\nGood."
    )
    system, user = messages(judgement)
    assert (system["role"], system["content"], user["role"]) == ("system", SYSTEM, "user")
    assert "Capital of France?" in user["content"]
    assert user["content"].count("Paris") == 2
    assert {score.name: score.value for score in judgement.records[0].scores} == {"correctness": 4, "correct": 1}


def test_braces_of_python_templates_are_placeholders_where_no_other_are():
    template = 'Asked: {query}\nExpected: {reference_answer}\nGiven: {generated_answer}\nReply as {{"rating": 1}}.'
    judgement = judged(lambda judge: Correctness(judge, template=template), sample(), lambda asked: '{"rating": 5}')
    [user] = messages(judgement)
    assert 'Reply as {"rating": 1}.' in user["content"]
    assert "{query}" not in user["content"]
    assert judgement.records[0].scores[0].value == 5


def test_single_braces_beside_our_placeholders_are_text():
    template = "{query} {{question}} {{reference}} {{answer}}: a number, as {x}?"
    judgement = judged(lambda judge: Correctness(judge, template=template), sample(), lambda asked: "5")
    assert messages(judgement)[0]["content"].startswith("{query} <question")
    assert messages(judgement)[0]["content"].endswith("as {x}?")


@pytest.mark.parametrize("braces", [("{{", "}}"), ("{", "}")])
def test_a_faithfulness_prompt_of_llama_index_asks_about_the_answer_and_refines_the_verdict(braces):
    left, right = braces
    create = (
        f"Is it supported, YES or NO?\nInformation: {left}query_str{right}\nContext: {left}context_str{right}\nAnswer: "
    )
    refine = (
        f"Is this in the text: {left}query_str{right}\nSo far: {left}existing_answer{right}\n"
        f"---\n{left}context_msg{right}\n---\nYES stays YES."
    )
    judgement = judged(
        lambda judge: Faithfulness(judge, window_tokens=50, template=create, refine_template=refine),
        sample(found=LONG),
        lambda asked: "YES" if "capital of France" in asked.prompt else "NO",
    )
    first, second = judgement.prompts[0], judgement.prompts[-1]
    assert "Information: <answer" in first
    assert "\nParis\n" in first
    assert "So far: NO\n" in second
    assert "capital of France" in second
    assert judgement.only.value == 1


def test_a_g_eval_form_of_openai_names_request_queries_and_metric():
    template = "Rate it.\n{criteria}\n{steps}\nRequest:\n{request}\nQueries:\n{queries}\nForm:\n- {metric_name}\n"
    judgement = judged(
        lambda judge: GEval(judge, "relevance", "Relevance(1-5)", steps=("Read.",), template=template),
        sample(),
        lambda asked: "4",
    )
    prompt = judgement.prompts[0]
    assert "Relevance(1-5)\n1. Read." in prompt
    assert prompt.index("Capital of France?") < prompt.index("Queries:") < prompt.index("\nParis\n")
    assert prompt.rstrip().endswith("- relevance")
    assert judgement.only.value == 4


def test_a_name_in_single_braces_that_the_scorer_does_not_have_is_refused():
    template = "Rate it.\n{criteria}\nRequest:\n{request}\nQueries:\n{queries}\n"
    with pytest.raises(ConfigError, match=r"unknown placeholder \{\{criteria\}\}"):
        check_options(Relevance(template=template))


def test_the_system_message_of_the_judge_holds_for_every_scorer_without_one(tmp_path):
    file = tmp_path / "system.txt"
    file.write_text(SYSTEM)
    judgement = judged(
        lambda judge: [
            Correctness(judge),
            Guideline(judge, guidelines=("Short.",), system="Be strict about {{count}}."),
        ],
        sample(),
        lambda asked: "1. YES" if "strict" in str(asked.body) else "5",
        judge={"system": file},
    )
    assert sorted(asked.body["messages"][0]["content"] for asked in judgement.asked) == ["Be strict about 1.", SYSTEM]
    assert (
        judgement.run.manifest["scorers"]["correctness"]["correctness"]["prompts"]["correctness"]["system"]["text"]
        == SYSTEM
    )
    shown = judge_prompts(judgement.run, judgement.records[0])
    assert {prompt[0]["content"] for prompt in shown.values()} == {"Be strict about 1.", SYSTEM}


def test_a_prompt_that_ends_with_the_answer_is_used_and_named_in_a_note():
    scorer = Correctness(Judge(Scripted(default="5")), template="Right? Say 1 to 5. {{reference}} / {{answer}}")
    check_options(scorer)
    assert [hint for hint in prompt_hints([scorer]) if "ends with {{answer}}" in hint]
    assert not [*prompt_hints([Correctness(Judge(Scripted(default="5")))])]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"template": "Is {{nothing}} right? {{answer}} ?"}, "unknown placeholder"),
        ({"template": "Is it right, yes or no?\n"}, "shows nothing to judge"),
        ({"system": "Mind the {{colour}}."}, "unknown placeholder"),
        ({"system": "no/such/file.txt"}, "looks like the name of a file"),
    ],
)
def test_a_prompt_that_cannot_be_used_is_refused_before_anything_is_sent(options, words):
    with pytest.raises(ConfigError, match=words):
        check_options(Correctness(Judge(Scripted(default="5")), **options))


@pytest.mark.parametrize(
    "name",
    [name for name in names("scorer") if "judge" in find("scorer", name).__dataclass_fields__ and name != "checks"],
)
def test_a_model_is_taken_where_a_judge_is_expected(name):
    model = Scripted(default="5")
    assert find("scorer", name)(model).judge == Judge(model)
    assert find("scorer", name)(judge=Judge(model, repeats=2)).judge == Judge(model, repeats=2)


def test_a_model_is_taken_as_the_target_and_asked_the_question():
    run = evaluate(
        Scripted({"Capital of France?": "Paris"}), [Sample("fr", "Capital of France?", "Paris")], [ExactMatch()]
    )
    assert [record.scores[0].value for record in run.records()] == [1]


def test_something_that_is_no_model_is_still_refused():
    with pytest.raises(ConfigError, match="is not a model"):
        check_options(Judge("gpt-4"))
