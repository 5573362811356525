"""The exams of the examples are sound: keys balanced, options distinct, no question quoted in their documents."""

from __future__ import annotations

import csv
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from openpyxl import load_workbook
from python_calamine import CalamineWorkbook

from steelyard.config.load import load
from steelyard.evaluation.evaluate import RunConfig, evaluate_suite

ROOT = Path(__file__).parents[2]
CHINESE = ROOT / "examples" / "choice"
ENGLISH = ROOT / "examples" / "exam_en"
PROMPTS = ROOT / "src" / "steelyard" / "prompts"
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
def sheet() -> list[list[str]]:
    return CalamineWorkbook.from_path(str(CHINESE / "zhouyi.xlsx")).get_sheet_by_name("题库").to_python()


@pytest.fixture(scope="module")
def chinese(sheet) -> list[Question]:
    return [Question(row[6], row[0], tuple(row[1:5]), row[5]) for row in sheet[1:]]


@pytest.fixture(scope="module")
def english() -> list[Question]:
    with (ENGLISH / "questions.csv").open(encoding="utf-8", newline="") as file:
        return [
            Question(row["Category"], row["Question"], tuple(filter(None, map(row.get, LETTERS))), row["Answer"])
            for row in csv.DictReader(file)
        ]


@pytest.fixture(scope="module")
def examples() -> list[dict[str, str]]:
    header, *rows = load_workbook(ENGLISH / "questions.xlsx")["examples"].iter_rows(values_only=True)
    return [dict(zip(header, row, strict=True)) for row in rows]


@pytest.fixture(scope="module", params=["chinese", "english"])
def exam(request) -> list[Question]:
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def single(exam) -> list[Question]:
    return [question for question in exam if len(question.key) == 1]


@pytest.fixture(scope="module")
def document(exam, chinese) -> str:
    return (CHINESE / "zhouyi.md" if exam is chinese else ENGLISH / "field.md").read_text("utf-8")


def asked_by(name: str):
    environ = {"OPENAI_API_KEY": "not-a-real-key"}
    return list(load(ENGLISH / name, environ=environ, use_dotenv=False).suite.samples)


def test_exam_has_enough_questions_in_enough_categories(exam, chinese):
    sizes = Counter(question.category for question in exam)
    questions, categories = (120, 6) if exam is chinese else (66, 5)
    assert len(exam) >= questions
    assert len(sizes) >= categories
    assert min(sizes.values()) >= 10


def test_no_question_is_asked_twice(exam, examples):
    stems = Counter(plain(stem) for stem in [*(one.stem for one in exam), *(one["Question"] for one in examples)])
    assert [stem for stem, times in stems.items() if times > 1] == []


def test_options_of_a_question_differ_beyond_punctuation(exam):
    assert [one.stem for one in exam if len({plain(option) for option in one.options}) != len(one.options)] == []


def test_keys_are_balanced_over_the_letters(single, chinese):
    found = Counter(question.key for question in single)
    for letter in "ABCD":
        expected = sum(1 / len(one.options) for one in single if len(one.options) > LETTERS.index(letter))
        most = 0.03 * len(single) if single == chinese else 3
        assert abs(found[letter] - expected) <= most, (letter, found, expected)


def test_keys_follow_no_cycle(exam):
    keys = [question.key for question in exam]
    for step in range(1, 9):
        repeated = sum(one == other for one, other in zip(keys, keys[step:], strict=False)) / (len(keys) - step)
        assert repeated < 0.45, f"every key equals the one {step} rows above it in {repeated:.0%} of the rows"


def test_length_does_not_give_the_key_away(single, chinese):
    lengths = [(len(*question.right), [len(option) for option in question.wrong]) for question in single]
    most = (0.35 if single == chinese else 0.3) * len(single)
    assert sum(right > max(wrong) for right, wrong in lengths) <= most
    assert sum(right < min(wrong) for right, wrong in lengths) <= most


def test_right_option_does_not_stand_in_its_question(exam):
    assert [one.stem for one in exam for right in one.right if plain(right) in plain(one.stem)] == []


def test_document_quotes_no_question_and_lists_no_options(exam, examples, document):
    text = plain(document)
    assert [one.stem for one in exam if plain(one.stem) in text or plain("".join(one.options)) in text] == []
    assert [one["Question"] for one in examples if plain(one["Question"]) in text] == []


def test_document_names_the_right_options_of_most_questions(exam, document):
    text = plain(document)
    named = sum(all(plain(right) in text for right in question.right) for question in exam)
    assert 0.7 * len(exam) <= named < len(exam)


def test_sheet_has_the_headers_that_the_configurations_name(sheet):
    assert sheet[0] == ["题目", "A", "B", "C", "D", "答案", "类别"]


def test_every_cell_is_text_without_blanks_at_its_ends(sheet):
    assert [
        cell for row in sheet for cell in row if not isinstance(cell, str) or not cell or cell != cell.strip()
    ] == []


def test_first_rows_hold_every_category(chinese):
    categories = {question.category for question in chinese}
    assert {question.category for question in chinese[: len(categories)]} == categories


def test_every_question_has_four_options_and_one_of_their_letters(chinese):
    assert {len(question.options) for question in chinese} == {4}
    assert {question.key for question in chinese} == set("ABCD")


def test_document_is_an_introduction_of_some_length():
    document = (CHINESE / "zhouyi.md").read_text("utf-8")
    assert 8_000 <= len(document) <= 14_000
    assert len(re.findall(r"^## ", document, re.MULTILINE)) >= 7


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize(
    ("name", "placeholders"),
    [("four_options", ["question", "options"]), ("with_contexts", ["contexts", "question", "options"])],
)
def test_template_has_each_placeholder_once(language, name, placeholders):
    template = (PROMPTS / language / f"{name}.txt").read_text("utf-8")
    assert re.findall(r"\{\{(.*?)\}\}", template) == placeholders


CHOICE_PROMPTS = sorted([*PROMPTS.glob("*/four_options.txt"), *PROMPTS.glob("*/with_contexts.txt")])


@pytest.mark.parametrize("path", CHOICE_PROMPTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_template_names_no_number_of_options(path):
    assert re.findall(r"four|四|ABCD|A-D", path.read_text("utf-8"), re.IGNORECASE) == []


@pytest.mark.parametrize("name", ["exam.yaml", "models.yaml"])
def test_configuration_asks_every_question_with_its_four_options(name, chinese):
    suite = load(CHINESE / name, environ={"ZHIPU_API_KEY": "not-a-real-key"}, use_dotenv=False).suite
    asked = list(suite.samples)
    assert [sample.input for sample in asked] == [question.stem for question in chinese]
    assert [sample.choices["ABCD".index(sample.reference)] for sample in asked] == [
        question.right[0] for question in chinese
    ]
    assert {tags["knowledge_base"] for tags in suite.tags.values()} == {"yes", "no"}


def test_workbook_is_read_as_the_text_file_says(english):
    assert [
        Question(sample.group, sample.input, tuple(sample.choices), sample.reference)
        for sample in asked_by("exam.yaml")
    ] == english


def test_workbook_has_a_title_row_and_merged_categories(english):
    sheet = load_workbook(ENGLISH / "questions.xlsx")["questions"]
    merged = sorted(str(cells) for cells in sheet.merged_cells.ranges)
    assert len(merged) == 1 + len({question.category for question in english})
    assert "A1:I1" in merged
    assert sheet["B2"].value == "Question"


def test_some_questions_have_three_five_and_six_options(english):
    assert set(Counter(len(question.options) for question in english)) == {3, 4, 5, 6}


def test_several_questions_have_several_right_answers_and_a_wrong_one(english):
    several = [question for question in english if len(question.key) > 1]
    assert len(several) >= 8
    assert all(question.wrong for question in several)


def test_examples_give_a_reason_for_each_answer_in_every_category(english, examples):
    assert len(examples) == 10
    assert {one["Category"] for one in examples} == {question.category for question in english}
    assert [one["Question"] for one in examples if not one["Rationale"]] == []


def test_keys_of_the_examples_are_options_of_theirs(examples):
    assert [one["Question"] for one in examples if not all(one[letter] for letter in one["Answer"])] == []


def test_configuration_for_models_asks_every_question_in_all_its_rotations(english):
    asked = asked_by("models.yaml")
    assert len(asked) == sum(len(question.options) for question in english)
    right = {
        (sample.input, frozenset(sample.choices[LETTERS.index(letter)] for letter in sample.reference))
        for sample in asked
    }
    assert right == {(question.stem, frozenset(question.right)) for question in english}


def test_budget_of_the_configuration_for_models_is_enough_for_it(english):
    suite = load(ENGLISH / "models.yaml", environ={"OPENAI_API_KEY": "not-a-real-key"}, use_dotenv=False).suite
    models = [name for name, tags in suite.tags.items() if tags["knowledge_base"] == "no"]
    assert len(models) * sum(len(question.options) for question in english) <= suite.options.budget.calls


def test_baselines_solve_what_the_readme_says(tmp_path):
    suite = load(ENGLISH / "exam.yaml", environ={}, use_dotenv=False).suite
    found = {}
    for run in evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db")):
        summary = run.summary()
        (score,) = [one for one in summary.scores if one.name == "solve_rate"]
        found[summary.target] = f"{100 * score.headline.value:.1f}"
    told = re.findall(r"^\| (\w+) \| ([\d.]+) % \|", (ENGLISH / "README.md").read_text("utf-8"), re.MULTILINE)
    assert dict(told) == found
    assert float(found["retrieval"]) > 50 > float(found["longest"])
