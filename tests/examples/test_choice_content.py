"""The exam of the demo is sound: its keys are balanced, its options distinct, its document does not quote it."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from steelyard.config.load import load

EXAMPLE = Path(__file__).parents[2] / "examples" / "choice"
PROMPTS = Path(__file__).parents[2] / "src" / "steelyard" / "prompts"


@dataclass(frozen=True)
class Question:
    stem: str
    options: tuple[str, ...]
    key: str
    category: str

    @property
    def right(self) -> str:
        return self.options["ABCD".index(self.key)]

    @property
    def wrong(self) -> tuple[str, ...]:
        return tuple(option for option in self.options if option != self.right)


def plain(text: str) -> str:
    """Letters and digits only, so that a quotation is found whatever its punctuation."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text)).casefold()


@pytest.fixture(scope="module")
def sheet() -> list[list[str]]:
    from python_calamine import CalamineWorkbook

    return CalamineWorkbook.from_path(str(EXAMPLE / "zhouyi.xlsx")).get_sheet_by_name("题库").to_python()


@pytest.fixture(scope="module")
def exam(sheet) -> list[Question]:
    return [Question(row[0], tuple(row[1:5]), row[5], row[6]) for row in sheet[1:]]


@pytest.fixture(scope="module")
def document() -> str:
    return (EXAMPLE / "zhouyi.md").read_text("utf-8")


def test_sheet_has_the_headers_that_the_configurations_name(sheet):
    assert sheet[0] == ["题目", "A", "B", "C", "D", "答案", "类别"]


def test_every_cell_is_text_without_blanks_at_its_ends(sheet):
    assert [
        cell for row in sheet for cell in row if not isinstance(cell, str) or not cell or cell != cell.strip()
    ] == []


def test_exam_has_enough_questions_in_enough_categories(exam):
    sizes = Counter(question.category for question in exam)
    assert len(exam) >= 120
    assert len(sizes) >= 6
    assert min(sizes.values()) >= 10


def test_first_rows_hold_every_category(exam):
    categories = {question.category for question in exam}
    assert {question.category for question in exam[: len(categories)]} == categories


def test_no_question_is_asked_twice(exam):
    assert [stem for stem, times in Counter(plain(question.stem) for question in exam).items() if times > 1] == []


def test_four_options_of_a_question_differ_beyond_punctuation(exam):
    assert [question.stem for question in exam if len({plain(option) for option in question.options}) != 4] == []


def test_every_key_is_one_of_the_four_letters(exam):
    assert {question.key for question in exam} == set("ABCD")


def test_keys_are_balanced_over_the_letters(exam):
    shares = {key: times / len(exam) for key, times in Counter(question.key for question in exam).items()}
    assert all(0.22 <= share <= 0.28 for share in shares.values()), shares


def test_keys_follow_no_cycle(exam):
    keys = [question.key for question in exam]
    for step in range(1, 9):
        repeated = sum(one == other for one, other in zip(keys, keys[step:], strict=False)) / (len(keys) - step)
        assert repeated < 0.45, f"every key equals the one {step} rows above it in {repeated:.0%} of the rows"


def test_length_does_not_give_the_key_away(exam):
    lengths = [(len(question.right), [len(option) for option in question.wrong]) for question in exam]
    assert sum(right > max(wrong) for right, wrong in lengths) <= 0.35 * len(exam)
    assert sum(right < min(wrong) for right, wrong in lengths) <= 0.35 * len(exam)


def test_right_option_does_not_stand_in_its_question(exam):
    assert [question.stem for question in exam if plain(question.right) in plain(question.stem)] == []


def test_document_is_an_introduction_of_some_length(document):
    assert 8_000 <= len(document) <= 14_000
    assert len(re.findall(r"^## ", document, re.MULTILINE)) >= 7


def test_document_quotes_no_question(exam, document):
    text = plain(document)
    assert [question.stem for question in exam if plain(question.stem) in text] == []


def test_document_lists_no_options(exam, document):
    text = plain(document)
    assert [question.stem for question in exam if plain("".join(question.options)) in text] == []


def test_document_names_the_right_option_of_most_questions(exam, document):
    text = plain(document)
    assert sum(plain(question.right) in text for question in exam) >= 0.7 * len(exam)


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
def test_configuration_asks_every_question_with_its_four_options(name, exam):
    suite = load(EXAMPLE / name, environ={"ZHIPU_API_KEY": "not-a-real-key"}, use_dotenv=False).suite
    asked = list(suite.samples)
    assert [sample.input for sample in asked] == [question.stem for question in exam]
    assert [sample.choices["ABCD".index(sample.reference)] for sample in asked] == [question.right for question in exam]
    assert {tags["knowledge_base"] for tags in suite.tags.values()} == {"yes", "no"}
