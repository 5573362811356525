"""In which settings two runs differ: keys by their meaning, values in full, and the changed words of prompts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.analysis.comparison.settings import (
    scorer_differences,
    setting_differences,
    target_differences,
    word_changes,
)

TEMPLATE = "Here is a question.\n\nQuestion: {{question}}\n\nAnswer with the letter only."


def model(name="glm-4", **more):
    return {"openai_compatible": {"name": name, "base_url": "http://x/v1", "parameters": {}, **more}}


def prompt(text=TEMPLATE, **more):
    fields = {"model": model(), "template": "v1.txt", "system": "", "parameters": {}, "examples": None, "text": text}
    return {"prompt": {**fields, **more}}


def http(text=TEMPLATE, answer="answer"):
    return {"http": {"url": "http://kb", "template": "v1.txt", "response": {"text": answer}, "text": text}}


def phrases(before, after):
    return [difference.phrase for difference in target_differences(before, after)]


def test_equal_prompts_of_an_application_and_a_model_are_no_difference():
    """The case of a knowledge base: `response.text` is where the answer stands, not a prompt."""
    assert phrases(prompt(), http()) == ["target: prompt → http"]
    assert phrases(http(), http(answer="data.answer")) == ["response.text: answer → data.answer"]


def test_another_prompt_behind_another_kind_of_target_is_named():
    changed = target_differences(prompt(), http(TEMPLATE.replace("only", "alone")))
    assert [change.phrase for change in changed] == ["target: prompt → http", "prompt: 1 word removed, 1 added"]
    assert changed[1].marked.endswith("Answer with the letter [-only-]{+alone+}.")
    assert changed[1].before == TEMPLATE


def test_equal_words_from_another_file_are_no_difference():
    assert phrases(prompt(), prompt(template="v2.txt")) == []


@pytest.mark.parametrize(
    ("changes", "phrase"),
    [
        ({"model": model("qwen")}, "model: glm-4 → qwen"),
        ({"model": model(base_url="http://y/v1")}, "endpoint: http://x/v1 → http://y/v1"),
        ({"model": model(parameters={"temperature": 0.7})}, "temperature: none → 0.7"),
        ({"parameters": {"max_tokens": 5}}, "max tokens: none → 5"),
        ({"system": "Be brief."}, "system prompt: none → Be brief."),
        ({"model": {"scripted": {"default": "A"}}}, "kind of model: openai_compatible → scripted"),
        ({"examples": {"n": 3}}, "examples.n: none → 3"),
    ],
)
def test_each_setting_is_named_with_both_values(changes, phrase):
    assert phrase in phrases(prompt(), prompt(**changes))


def test_an_empty_value_is_the_same_as_none():
    assert phrases(prompt(system="", parameters={}), prompt(system=None, reply="", examples=[])) == []


def test_settings_of_one_name_are_told_apart_by_their_paths():
    two = [
        {
            "rag": {
                "model": model(name),
                "reranker": {"judged": {"model": model(name)}},
                "embeddings": {"openai": {"name": name}},
            }
        }
        for name in ("a", "b")
    ]
    assert phrases(*two) == ["model.name: a → b", "reranker.model.name: a → b", "embeddings.name: a → b"]


def test_a_judges_prompt_and_model_are_named_with_the_scorer():
    def judge(name, text):
        prompts = {"correctness": {"en": {"hash": str(hash(text)), "text": text}}}
        return {"correctness": {"correctness": {"judge": {"model": model(name)}, "template": "", "prompts": prompts}}}

    changed = scorer_differences(judge("gpt", TEMPLATE), judge("glm", TEMPLATE + " Be strict."))
    assert [change.phrase for change in changed] == [
        "correctness: model: gpt → glm",
        "correctness: prompt: 0 words removed, 2 added",
    ]


def test_scorers_that_only_one_run_has_are_named():
    (change,) = scorer_differences({"f1": {"token_f1": {}}}, {"rouge": {"rouge_l": {}}})
    assert change.phrase == "scorers: f1 → rouge"


def test_datasets_are_compared_by_their_digests_and_repeats_by_number():
    before = {"samples": {"n": 20, "digest": "aa"}, "options": {"repeats": 1}}
    after = {"samples": {"n": 30, "digest": "bb"}, "options": {"repeats": 3}}
    assert [change.phrase for change in setting_differences(before, after)] == [
        "dataset: 20 samples → 30 samples",
        "repeats: 1 → 3",
    ]
    assert setting_differences(before, before) == ()
    (change,) = setting_differences(before, {**before, "samples": {"n": 20, "digest": "bb"}})
    assert change.phrase == "dataset: digest aa → digest bb"


def test_an_unchanged_passage_far_from_a_change_is_left_out_of_the_diff():
    long = " ".join(f"word{number}" for number in range(200))
    (change,) = target_differences(prompt(f"{long} old"), prompt(f"{long} new"))
    assert change.marked.endswith(" word199 [-old-]{+new+}")
    assert "word100" not in change.marked
    assert len(change.marked) < 200


def test_chinese_is_compared_by_character():
    changed = [tuple(part) for part in word_changes("请只回答字母。", "请回答字母并说明。")]
    assert changed == [("same", "请"), ("removed", "只"), ("same", "回答字母"), ("added", "并说明"), ("same", "。")]


@given(st.text(st.sampled_from("ab \n.題{}"), max_size=60), st.text(st.sampled_from("ab \n.題{}"), max_size=60))
def test_both_texts_can_be_read_back_from_their_diff(before, after):
    changes = word_changes(before, after)
    assert "".join(part.text for part in changes if part.kind != "added") == before
    assert "".join(part.text for part in changes if part.kind != "removed") == after


def test_digests_are_shown_by_their_beginning_and_kept_whole():
    digests = [letter * 32 for letter in "ab"]
    (change,) = setting_differences(*({"samples": {"n": 3, "digest": digest}} for digest in digests))
    assert change.phrase == "dataset: digest aaaaaaaa → digest bbbbbbbb"
    assert (change.before, change.after) == tuple(f"digest {digest}" for digest in digests)
