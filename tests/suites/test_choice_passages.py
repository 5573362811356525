"""A passage is part of what is asked, shown once, and can be placed by a template of one's own."""

import json

import openpyxl
import pytest

from steelyard import Prompt, Sample, Scripted
from steelyard.data.sample_files import SampleFiles
from steelyard.prompts.sample_values import own_question, passage_of, with_passage, without_passage
from steelyard.suites.choice.orders import rotated
from steelyard.suites.choice.rows import examine_choice, load_choice
from steelyard.targets.http import HttpEndpoint
from steelyard.targets.likelihood import Likelihood

RAIN = "It rains in the valley, and the river rises every day."
QUESTION = {"question": "What rises?", "options": ["the river", "the sun"], "answer": "A"}


def load(path, *rows, **keys):
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), "utf-8")
    return load_choice(SampleFiles(path, **keys))


def sent(target, sample):
    return "\n".join(message["content"] for message in target.messages(sample))


@pytest.mark.parametrize(
    "header",
    ["passage", "Context", "article", "材料", "阅读材料", "背景", "text", "Passage (en)", "premise", "narrative"],
)  # those of COPA and MuSR too
def test_a_passage_is_found_by_its_header_and_stands_above_the_question(tmp_path, header):
    data = load(tmp_path / "a.jsonl", {**QUESTION, header: RAIN})
    (sample,) = data.samples
    assert sample.input == f"{RAIN}\n\nWhat rises?"
    assert data.mapping["passage"] == header
    assert data.columns == ()


def test_a_merged_passage_stands_above_each_of_its_questions(tmp_path):
    book = openpyxl.Workbook()
    rows = [[RAIN, "What rises?", "the river", "the sun", "A"], [None, "What falls?", "snow", "rain", "B"]]
    for row in (["passage", "question", "A", "B", "answer"], *rows, [None, "What shines?", "the sun", "mud", "A"]):
        book.active.append(row)
    book.active.merge_cells("A2:A3")
    book.save(tmp_path / "a.xlsx")
    inputs = [sample.input for sample in load_choice(SampleFiles(tmp_path / "a.xlsx")).samples]
    assert inputs == [f"{RAIN}\n\nWhat rises?", f"{RAIN}\n\nWhat falls?", "What shines?"]


@pytest.mark.parametrize("roles", [{"passage": ["a", "b"]}, {"question": ["a", "b", "ask"]}])
def test_joined_merged_cells_stand_above_each_question_and_in_its_metadata(tmp_path, roles):
    book = openpyxl.Workbook()
    book.active.append(["shelf", "a", "b", "ask", "A", "B", "answer", "kind"])
    book.active.append(["One", RAIN, "Snow.", "What rises?", "the river", "the sun", "A", "单选题"])
    book.active.append([None, None, None, "What falls?", "snow", "rain", "B"])
    for column in "ABCH":
        book.active.merge_cells(f"{column}2:{column}3")
    book.save(tmp_path / "a.xlsx")
    columns = {"question": "ask", "options": ["A", "B"], "answer": "answer", "kind": "kind", **roles}
    data = load_choice(SampleFiles(tmp_path / "a.xlsx", columns=columns))
    first, second = data.samples
    assert [first.input, second.input] == [f"{RAIN}\n\nSnow.\n\nWhat {verb}?" for verb in ("rises", "falls")]
    assert {sample.metadata["shelf"] for sample in (first, second)} == {"One"}
    assert {sample.group for sample in (first, second)} == {"单选题"}
    assert not [note for note in data.notes if "blank" in note]


@pytest.mark.parametrize("roles", [{}, {"question": ["passage", "question"]}])
def test_a_passage_that_is_written_once_for_several_rows_is_named_with_its_blank_cells(tmp_path, roles):
    rows = ["passage,question,A,B,answer", ",What?,x,y,A", f"{RAIN[:20]},Why?,x,y,A", ",Who?,x,y,A", " ,How?,x,y,A"]
    (tmp_path / "a.csv").write_text("\n".join(rows), "utf-8")
    data = load_choice(SampleFiles(tmp_path / "a.csv", columns=roles))
    (note,) = [note for note in data.notes if "blank" in note]
    assert note.startswith("a.csv: A passage is blank in 2 of 4 questions, which are asked without it: a.csv line 4 ")
    assert "a.csv line 5 column A; where the text above holds for them too, repeat it in each row" in note


@pytest.mark.parametrize("blank", [None, "", " "])
def test_a_question_without_a_passage_is_asked_as_before(tmp_path, blank):
    (sample, other) = load(tmp_path / "a.jsonl", {**QUESTION, "passage": blank}, {**QUESTION, "passage": RAIN}).samples
    assert (sample.input, sample.metadata) == ("What rises?", {})
    assert other.metadata == {"passage": RAIN}


@pytest.mark.parametrize(
    "template",
    [
        "{{question}}\n{{options}}",
        "{{passage}}\n{{question}}\n{{options}}",
        "{{metadata.passage}}|{{question}}",
        "en/choice",
    ],
)
def test_a_prompt_shows_the_passage_once(tmp_path, template):
    (sample,) = load(tmp_path / "a.jsonl", {**QUESTION, "passage": RAIN}).samples
    text = sent(Prompt(Scripted(), template=template), sample)
    assert text.count(RAIN) == 1
    assert text.count("What rises?") == 1
    assert text.index(RAIN) < text.index("What rises?")


def test_a_passage_in_the_system_message_is_not_repeated_with_the_question(tmp_path):
    (sample,) = load(tmp_path / "a.jsonl", {**QUESTION, "passage": RAIN}).samples
    target = Prompt(Scripted(), template="{{question}} {{options}}", system="Read this: {{passage}}")
    system, user = target.messages(sample)
    assert system["content"] == f"Read this: {RAIN}"
    assert user["content"].startswith("What rises?")


def test_endpoints_and_likelihoods_show_it_too(tmp_path):
    (sample,) = load(tmp_path / "a.jsonl", {**QUESTION, "passage": RAIN}).samples
    endpoint = HttpEndpoint("http://127.0.0.1:1/", body={"about": "{{passage}}", "ask": "{{prompt}}"})
    assert RAIN not in str(endpoint.messages(sample))
    assert RAIN in str(HttpEndpoint("http://127.0.0.1:1/", body={"ask": "{{prompt}}"}).messages(sample))
    assert sent(Likelihood(Scripted()), sample).count(RAIN) == 1


def test_a_conversation_has_the_passage_in_its_last_question():
    turns = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi."}]
    sample = with_passage(Sample("1", [*turns, {"role": "user", "content": "What rises?"}]), RAIN)
    assert sample.input[-1]["content"] == f"{RAIN}\n\nWhat rises?"
    assert (passage_of(sample), own_question(sample)) == (RAIN, "What rises?")
    parts = [{"type": "text", "text": "What rises?"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    sample = with_passage(Sample("1", [{"role": "user", "content": parts}]), RAIN)
    assert (passage_of(sample), own_question(sample)) == (RAIN, "What rises?")


def test_pages_show_the_passage_with_the_question_and_not_again(tmp_path):
    (sample,) = load(tmp_path / "a.jsonl", {**QUESTION, "passage": RAIN, "year": 1}).samples
    assert without_passage(sample.metadata, sample.input) == {"year": 1}
    assert without_passage({"passage": "another"}, "What?") == {"passage": "another"}


def test_one_question_on_two_passages_is_no_duplicate(tmp_path):
    data = load(tmp_path / "a.jsonl", {**QUESTION, "passage": RAIN}, {**QUESTION, "passage": "Snow."})
    assert data.n == 2
    again = examine_choice(SampleFiles(tmp_path / "a.jsonl"))
    assert again.defects == ()


def test_words_of_a_passage_do_not_fix_the_order_of_the_options(tmp_path):
    (sample,) = load(tmp_path / "a.jsonl", {**QUESTION, "passage": "Option A was refused by the council."}).samples
    assert len(list(rotated(sample))) == 2


def test_a_text_that_holds_the_question_is_not_its_passage(tmp_path):
    rows = [
        {**QUESTION, "question": f"What rises at {no}?", "text": f"Q: What rises at {no}? Answer: A"} for no in range(3)
    ]
    data = load(tmp_path / "a.jsonl", *rows)
    assert [sample.input for sample in data.samples] == [row["question"] for row in rows]
    assert data.columns == ("text",)
    assert "a.jsonl: column text contains the questions, so it is not read as their passage" in data.notes
    named = load(tmp_path / "a.jsonl", *rows, columns={"passage": "text"})
    assert all(passage_of(sample) for sample in named.samples)
