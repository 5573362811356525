"""The English exam is sound: keys balanced, options distinct, workbook and text alike, no question in the handbook."""

from __future__ import annotations

import csv
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from steelyard.config.load import load
from steelyard.evaluation.evaluate import RunConfig, evaluate_suite

EXAMPLE = Path(__file__).parents[2] / "examples" / "exam_en"
LETTERS = "ABCDEF"


@dataclass(frozen=True)
class Question:
    category: str
    stem: str
    options: tuple[str, ...]
    key: str

    @property
    def right(self) -> tuple[str, ...]:
        return tuple(self.options[LETTERS.index(letter)] for letter in self.key)

    @property
    def wrong(self) -> tuple[str, ...]:
        return tuple(option for option in self.options if option not in self.right)


def plain(text: str) -> str:
    """Letters and digits only, so that a quotation is found whatever its punctuation."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text)).casefold()


@pytest.fixture(scope="module")
def exam() -> list[Question]:
    with (EXAMPLE / "questions.csv").open(encoding="utf-8", newline="") as file:
        return [
            Question(
                row["Category"], row["Question"], tuple(filter(None, (row[one] for one in LETTERS))), row["Answer"]
            )
            for row in csv.DictReader(file)
        ]


@pytest.fixture(scope="module")
def single(exam) -> list[Question]:
    return [question for question in exam if len(question.key) == 1]


@pytest.fixture(scope="module")
def examples() -> list[dict[str, str]]:
    from openpyxl import load_workbook

    header, *rows = load_workbook(EXAMPLE / "questions.xlsx")["examples"].iter_rows(values_only=True)
    return [dict(zip(header, row, strict=True)) for row in rows]


@pytest.fixture(scope="module")
def document() -> str:
    return (EXAMPLE / "field.md").read_text("utf-8")


def asked_by(name: str):
    environ = {"OPENAI_API_KEY": "not-a-real-key"}
    return list(load(EXAMPLE / name, environ=environ, use_dotenv=False).suite.samples)


def test_workbook_is_read_as_the_text_file_says(exam):
    assert [
        Question(sample.group, sample.input, tuple(sample.choices), sample.reference)
        for sample in asked_by("exam.yaml")
    ] == exam


def test_workbook_has_a_title_row_and_merged_categories(exam):
    from openpyxl import load_workbook

    sheet = load_workbook(EXAMPLE / "questions.xlsx")["questions"]
    merged = sorted(str(cells) for cells in sheet.merged_cells.ranges)
    assert len(merged) == 1 + len({question.category for question in exam})
    assert "A1:I1" in merged
    assert sheet["B2"].value == "Question"


def test_exam_has_enough_questions_in_enough_categories(exam):
    sizes = Counter(question.category for question in exam)
    assert len(exam) >= 66
    assert len(sizes) >= 5
    assert min(sizes.values()) >= 10


def test_some_questions_have_three_five_and_six_options(exam):
    assert set(Counter(len(question.options) for question in exam)) == {3, 4, 5, 6}


def test_several_questions_have_several_right_answers_and_a_wrong_one(exam):
    several = [question for question in exam if len(question.key) > 1]
    assert len(several) >= 8
    assert all(question.wrong for question in several)


def test_no_question_is_asked_twice(exam, examples):
    stems = Counter(plain(stem) for stem in [*(one.stem for one in exam), *(one["Question"] for one in examples)])
    assert [stem for stem, times in stems.items() if times > 1] == []


def test_options_of_a_question_differ_beyond_punctuation(exam):
    assert [one.stem for one in exam if len({plain(option) for option in one.options}) != len(one.options)] == []


def test_keys_are_balanced_over_the_letters(single):
    found = Counter(question.key for question in single)
    for letter in "ABCD":
        expected = sum(1 / len(one.options) for one in single if len(one.options) > LETTERS.index(letter))
        assert abs(found[letter] - expected) <= 3, (letter, found, expected)


def test_keys_follow_no_cycle(exam):
    keys = [question.key for question in exam]
    for step in range(1, 9):
        repeated = sum(one == other for one, other in zip(keys, keys[step:], strict=False)) / (len(keys) - step)
        assert repeated < 0.45, f"every key equals the one {step} rows above it in {repeated:.0%} of the rows"


def test_length_does_not_give_the_key_away(single):
    lengths = [(len(*question.right), [len(option) for option in question.wrong]) for question in single]
    assert sum(right > max(wrong) for right, wrong in lengths) <= 0.3 * len(single)
    assert sum(right < min(wrong) for right, wrong in lengths) <= 0.3 * len(single)


def test_right_option_does_not_stand_in_its_question(exam):
    assert [one.stem for one in exam for right in one.right if plain(right) in plain(one.stem)] == []


def test_document_quotes_no_question(exam, examples, document):
    text = plain(document)
    assert [one.stem for one in exam if plain(one.stem) in text] == []
    assert [one["Question"] for one in examples if plain(one["Question"]) in text] == []


def test_document_names_the_right_options_of_most_questions(exam, document):
    text = plain(document)
    named = sum(all(plain(right) in text for right in question.right) for question in exam)
    assert 0.7 * len(exam) <= named < len(exam)


def test_examples_give_a_reason_for_each_answer_in_every_category(exam, examples):
    assert len(examples) == 10
    assert {one["Category"] for one in examples} == {question.category for question in exam}
    assert [one["Question"] for one in examples if not one["Rationale"]] == []


def test_keys_of_the_examples_are_options_of_theirs(examples):
    assert [one["Question"] for one in examples if not all(one[letter] for letter in one["Answer"])] == []


def test_configuration_for_models_asks_every_question_in_all_its_rotations(exam):
    asked = asked_by("models.yaml")
    assert len(asked) == sum(len(question.options) for question in exam)
    right = {
        (sample.input, frozenset(sample.choices[LETTERS.index(letter)] for letter in sample.reference))
        for sample in asked
    }
    assert right == {(question.stem, frozenset(question.right)) for question in exam}


def test_budget_of_the_configuration_for_models_is_enough_for_it(exam):
    suite = load(EXAMPLE / "models.yaml", environ={"OPENAI_API_KEY": "not-a-real-key"}, use_dotenv=False).suite
    models = [name for name, tags in suite.tags.items() if tags["knowledge_base"] == "no"]
    assert len(models) * sum(len(question.options) for question in exam) <= suite.options.budget.calls


def test_baselines_solve_what_the_readme_says(tmp_path):
    suite = load(EXAMPLE / "exam.yaml", environ={}, use_dotenv=False).suite
    found = {}
    for run in evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db")):
        summary = run.summary()
        (score,) = [one for one in summary.scores if one.name == "solve_rate"]
        found[summary.target] = f"{100 * score.headline.value:.1f}"
    told = re.findall(r"^\| (\w+) \| ([\d.]+) % \|", (EXAMPLE / "README.md").read_text("utf-8"), re.MULTILINE)
    assert dict(told) == found
    assert float(found["retrieval"]) > 50 > float(found["longest"])
