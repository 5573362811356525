"""The packaged prompts of judges: alike in both languages, and the instruction behind what is judged."""

import re

import pytest

from steelyard.prompts.fenced_prompt import FencedPrompt
from steelyard.prompts.template import load_template, packaged_prompts, placeholders

NAMES = sorted(name.removeprefix("en/judge_") for name in packaged_prompts() if name.startswith("en/judge_"))
MATERIAL = {"question", "answer", "reference", "contexts", "schema", "claims", "context", "passage", "passages"}


def names_of(language, name):
    return sorted({one for one, _ in placeholders(load_template(f"{language}/judge_{name}"))})


def test_there_is_a_prompt_in_each_language_for_every_judge():
    chinese = sorted(name.removeprefix("zh/judge_") for name in packaged_prompts() if name.startswith("zh/judge_"))
    assert chinese == NAMES
    assert {"g_eval", "g_eval_reasons", "g_eval_steps", "relevance", "rubric", "guideline"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_both_languages_show_the_same_values(name):
    assert names_of("en", name) == names_of("zh", name)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_judged_is_fenced_first_and_stands_before_the_instruction(name, language):
    text = load_template(f"{language}/judge_{name}")
    material = [at for name, at in placeholders(text) if name in MATERIAL]
    if not material:
        assert name == "g_eval_steps", "a judge sees what it judges"
        return
    warned = re.search(r"<(\w+) \{\{mark\}\}>.*?</\1 \{\{mark\}\}>", text)
    assert warned
    assert warned.end() < min(material)
    assert warned[1] in names_of(language, name)
    assert len(text) - max(material) > (150 if language == "en" else 60), "the task stands last"


@pytest.mark.parametrize("name", NAMES)
def test_the_chinese_prompt_is_written_in_chinese(name):
    text = re.sub(r"\{\{.*?\}\}|</?name|SQL|JSON", "", load_template(f"zh/judge_{name}"))
    han = len(re.findall("[\u4e00-\u9fff]", text))
    latin = len(re.findall("[A-Za-z]", text))
    assert han > 100
    assert latin < han / 5


def test_the_words_that_are_sent_are_in_the_manifest_with_their_hash():
    told = FencedPrompt("judge_relevance", "", ("question", "schema", "answer")).manifest()
    assert set(told) == {"en", "zh"}
    assert told["en"]["text"] == load_template("en/judge_relevance")
    assert len({prompt["hash"] for prompt in told.values()}) == 2
    own = FencedPrompt(
        "judge_relevance", "Rate {{answer}} now, from 1 to 5.", ("question", "schema", "answer")
    ).manifest()
    assert own["own"]["text"] == "Rate {{answer}} now, from 1 to 5."
