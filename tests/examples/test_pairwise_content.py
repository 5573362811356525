"""The questions, references and handbooks of the `pairwise` example agree with each other, and with its README."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from steelyard.analysis.preferences.win_rates import preferences
from steelyard.config.load import load
from steelyard.evaluation import evaluate_suite

EXAMPLE = Path(__file__).parents[2] / "examples" / "pairwise"
GROUPS = {"cooking", "repair", "office", "garden", "computer", "household"}
NUMBER_WORDS = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "twelve",
    "fifteen",
    "twenty",
    "thirty",
    "half",
    "twice",
    "third",
    "quarter",
]
COPIED = 10
"""So many words in a row are a sentence, not the name of a thing or of a step."""


def words(text):
    return re.findall(r"[a-z]+|\d+", text.casefold())


def stems(text):
    """The first five letters of the longer words: `thinned` and `thin` are told apart, `boiling` and `boil` are not."""
    return {one[:5] for one in words(text) if len(one) >= 4}


def pairs_of(text):
    """Chinese characters two by two."""
    found = re.findall(r"[\u4e00-\u9fff]+", text)
    return {run[at : at + 2] for run in found for at in range(len(run) - 1)}


def sections_of(name, mark):
    """Heading -> (heading of its group, text)."""
    found, group = {}, ""
    for part in re.split(r"^(?=#)", (EXAMPLE / name).read_text("utf-8"), flags=re.MULTILINE):
        head, _, text = part.partition("\n")
        if head.startswith(f"{mark} "):
            assert head[len(mark) + 1 :] not in found, "a section stands twice"
            found[head[len(mark) + 1 :]] = (group, " ".join(text.split()))
        elif head.startswith("## "):
            group = head[3:].casefold()
    return found


@pytest.fixture(scope="module")
def rows():
    return [json.loads(line) for line in (EXAMPLE / "questions.jsonl").read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def english(rows):
    return [row for row in rows if not row["id"].startswith("zh-")]


@pytest.fixture(scope="module")
def chinese(rows):
    return [row for row in rows if row["id"].startswith("zh-")]


@pytest.fixture(scope="module")
def sections():
    return sections_of("handbook.md", "###")


@pytest.fixture(scope="module")
def chinese_sections():
    return sections_of("handbook.zh.md", "##")


def test_there_are_sixty_questions_in_english_and_ten_in_chinese(english, chinese):
    assert Counter(row["group"] for row in english) == dict.fromkeys(GROUPS, 10)
    assert len(chinese) == 10
    assert {row["group"] for row in chinese} == GROUPS
    assert all(pairs_of(row["question"]) and pairs_of(row["reference"]) for row in chinese)


def test_ids_questions_and_references_are_unique_and_none_is_empty(rows):
    for key in ("id", "question", "reference"):
        texts = [row[key].strip() for row in rows]
        assert len(set(texts)) == len(rows)
        assert all(texts)
    assert all(row["question"].endswith(("?", "？")) for row in rows)
    assert all(set(row) == {"id", "question", "reference", "group", "section"} for row in rows)


def test_the_first_questions_are_of_every_group(rows):
    """`--limit 6` shows one of each."""
    assert {row["group"] for row in rows[:6]} == GROUPS


def test_each_section_is_asked_about_once_and_stands_under_its_group(english, chinese, sections, chinese_sections):
    assert sorted(row["section"] for row in english) == sorted(sections)
    assert sorted(row["section"] for row in chinese) == sorted(chinese_sections)
    assert [row["id"] for row in english if sections[row["section"]][0] != row["group"]] == []


def test_every_reference_is_answered_by_its_section(english, sections):
    """Of its longer words at least two thirds stand there, and every number does."""
    for row in english:
        text = " ".join((row["section"], row["question"], sections[row["section"]][1]))
        said, told = stems(row["reference"]), stems(text)
        assert len(said & told) >= 0.66 * len(said), (row["id"], sorted(said - told))
        numbers = {one for one in words(row["reference"]) if one.isdigit() or one in NUMBER_WORDS[2:]}
        assert numbers <= set(words(text)), (row["id"], numbers - set(words(text)))


def test_no_other_section_answers_as_well(english, sections):
    for row in english:
        asked = stems(f"{row['question']} {row['reference']}")
        shared = {name: len(asked & stems(f"{name} {text}")) for name, (_, text) in sections.items()}
        best = max(shared.values())
        assert [name for name, count in shared.items() if count == best] == [row["section"]], row["id"]


def test_chinese_references_are_answered_by_their_sections(chinese, chinese_sections):
    for row in chinese:
        said = pairs_of(row["reference"])
        told = pairs_of(chinese_sections[row["section"]][1] + row["question"])
        assert len(said & told) >= 0.6 * len(said), row["id"]
        numbers = set(re.findall("[一二三四五六七八九十]+", row["reference"]))
        assert all(one in chinese_sections[row["section"]][1] for one in numbers), row["id"]


def test_a_reference_says_it_in_words_of_its_own(english, sections):
    """A reader that copies the right sentence is near it, and does not repeat it to the letter."""
    for row in english:
        told = words(sections[row["section"]][1])
        runs = {tuple(told[at : at + COPIED]) for at in range(len(told) - COPIED + 1)}
        said = words(row["reference"])
        copied = [
            said[at : at + COPIED] for at in range(len(said) - COPIED + 1) if tuple(said[at : at + COPIED]) in runs
        ]
        assert copied == [], row["id"]


def test_sections_are_short(sections):
    lengths = [len(words(text)) for _, text in sections.values()]
    assert 30 <= min(lengths) <= max(lengths) <= 70


def test_the_baselines_come_to_what_the_readme_says(tmp_path):
    loaded = load(EXAMPLE / "pairwise.yaml", environ={}, use_dotenv=False)
    runs = evaluate_suite(loaded.suite)
    assert [(one.target, one.state, one.errors) for one in runs] == [
        ("sentences", "finished", 0),
        ("sections", "finished", 0),
        ("sentences vs sections", "finished", 0),
    ]
    values = Counter(row.value for row in runs[-1].data().scores.rows())
    told = (EXAMPLE / "README.md").read_text("utf-8")
    assert f"| {values[1.0]} | {values[0.5]} | {values[0.0]} |" in told
    assert sum(values.values()) == 70
    decided = values[1.0] + values[0.0]
    assert f"wins {values[0.0]} of the {decided} decided pairs, {100 * values[0.0] / decided:.0f} %" in told
    assert "sections is preferred to sentences" in preferences(runs[-1]).sentence


def test_the_configuration_for_models_needs_their_keys_alone():
    keys = {"OPENAI_API_KEY": "not-a-real-key", "ZHIPU_API_KEY": "not-a-real-key"}
    suite = load(EXAMPLE / "models.yaml", environ=keys, use_dotenv=False).suite
    assert list(suite.targets) == ["gpt-4.1-mini", "glm-4-flash", "gpt-4.1-mini vs glm-4-flash"]
    (judging,) = suite.scorers_of["gpt-4.1-mini vs glm-4-flash"]
    assert judging.orders == "both"
    assert len(list(suite.samples)) == 70
    written = (EXAMPLE / "models.yaml").read_text("utf-8")
    assert set(re.findall(r"api_key: (.+)", written)) == {f'"${{{name}}}"' for name in keys}
