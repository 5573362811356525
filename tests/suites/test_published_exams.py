"""The configurations of published sets, as their page has them, on rows of the same shape that we wrote."""

import json
import re
from pathlib import Path

import pytest

from steelyard import Output, Sample
from steelyard.config.load import load
from steelyard.evaluation.evaluate import RunConfig, evaluate_suite
from steelyard.prompts.sample_values import sample_values
from steelyard.scorers.choice import Choice

PAGE = Path(__file__).parents[2] / "docs/how-to/published-exams.md"
RECIPES = dict(re.findall(r"^## (.+?)\n.*?```yaml\n(.*?)```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL))


def table(head, *rows):
    return "\n".join([head, *rows]) + "\n"


def lines(*rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def mmlu_pro(number, options):
    texts = [f"text {option}" for option in range(options)]
    row = {"question_id": 70 + number, "question": f"Which law holds in case {number}?", "options": texts}
    answer = {"answer": "ABCDEFGHIJ"[options - 1], "answer_index": options - 1}
    return row | answer | {"cot_content": "", "category": ("law", "math")[number % 2], "src": "ours"}


def agieval(question, options, label, passage=None):
    listed = [f"({letter}){text}" for letter, text in zip("ABCDE", options, strict=False)]
    return {"passage": passage, "question": question, "options": listed, "label": label, "answer": None}


def jec(name, key):
    options = {"A": "甲应赔偿", "B": "乙应赔偿", "C": "二人均应赔偿", "D": "二人均不赔偿"}
    return {
        "answer": key,
        "id": name,
        "option_list": options,
        "statement": f"{name}：下列说法正确的是？",
        "type": name[0],
    }


def gaokao(number, score):
    question = f"{number}．（ {score}分）下列河流中第{number}长的是（ 　　） \nA．长江  B．黄河  C．淮河  D．辽河\n"
    return {
        "year": "2020",
        "category": "（样卷）",
        "question": question,
        "answer": ["B"],
        "index": number,
        "score": score,
    }


def m3(question, answer, options, language, level="high", told=()):
    row = {"question_text": question, "background_description": list(told), "answer_text": answer, "options": options}
    return row | {"need_image": "no", "language": language, "level": level, "subject": "social", "year": "2020"}


CMMLU = ",Question,A,B,C,D,Answer"
CEVAL = "id,question,A,B,C,D,answer"
BOATS = ["one", "two", "six", "ten", "nine"]
FILES = {
    "C-Eval": {
        "ceval-exam/val/law_val.csv": table(CEVAL, "0,法之一____。,甲,乙,丙,丁,C", "1,法之二,甲,乙,丙,丁,A"),
        "ceval-exam/val/logic_val.csv": table(CEVAL, "0,逻辑____。,甲,乙,丙,丁,D"),
        "ceval-exam/dev/law_dev.csv": table(f"{CEVAL},explanation", "0,例,甲,乙,丙,丁,A,因为"),
    },
    "CMMLU": {
        "cmmlu/test/agronomy.csv": table(CMMLU, "0,土一,甲,乙,丙,丁,B", "1,土二,甲,乙,丙,丁,B", "2,土二,甲,乙,丙,丁,B"),
        "cmmlu/test/anatomy.csv": table(CMMLU, "0,骨之一,甲,乙,丙,丁,A"),
    },
    "MMLU-Pro": {"mmlu-pro/test.jsonl": lines(mmlu_pro(0, 10), mmlu_pro(1, 4))},
    "AGIEval": {
        "agieval/lsat-ar.jsonl": lines(agieval("Which boat is last?", BOATS, "E", "Ten boats.")),
        "agieval/gaokao-physics.jsonl": lines(agieval("下列正确的是", ["力", "功", "能", "热"], ["A", "C"])),
    },
    "GAOKAO-Bench": {
        "gaokao-bench/Geography_MCQs.json": json.dumps({"keywords": "x", "example": [gaokao(1, 4), gaokao(2, 6)]}),
    },
    "JEC-QA": {
        "0_train.jsonl": lines(jec("0_1", ["B"]), jec("0_2", ["A", "D"])),
        "1_train.jsonl": lines(jec("1_1", ["C"])),
    },
    "MedQA": {
        "medqa/test.jsonl": lines(
            {
                "question": "A 30-year-old is pale. What is low?",
                "answer": "Iron",
                "options": {"A": "Zinc", "B": "Iron", "C": "Salt", "D": "Lead", "E": "Gold"},
                "meta_info": "step1",
                "answer_idx": "B",
            }
        )
    },
    "TMMLU+": {
        "tmmluplus/data/law_test.csv": table("question,A,B,C,D,answer", "法律,甲,乙,丙,丁,C"),
        "tmmluplus/data/art_test.csv": table("question,A,B,C,D,answer", "藝術一,甲,乙,丙,丁,A", "藝術二,甲,乙,丙,丁,A"),
        "tmmluplus/data/art_dev.csv": table("question,A,B,C,D,answer", "例,甲,乙,丙,丁,A"),
    },
    "M3Exam": {
        "m3exam/english-questions-test.json": json.dumps(
            [m3("What falls?", "B", ["(A) sun", "(B) rain", "(C) ice"], "english", told=["Read.", "It rains."])]
        ),
        "m3exam/thai-questions-test.json": json.dumps([m3("ข้อใด", "2", ["1. ก", "2. ข", "3. ค"], "thai", "low")]),
    },
}  # fmt: skip
WANTED = {
    "C-Eval": [("C", "law_val", 4), ("A", "law_val", 4), ("D", "logic_val", 4)],
    "CMMLU": [("B", "agronomy", 4), ("B", "agronomy", 4), ("B", "agronomy", 4), ("A", "anatomy", 4)],
    "MMLU-Pro": [("J", "law", 10), ("D", "math", 4)],
    "AGIEval": [("AC", "gaokao-physics", 4), ("E", "lsat-ar", 5)],
    "GAOKAO-Bench": [("B", "Geography_MCQs", 4), ("B", "Geography_MCQs", 4)],
    "JEC-QA": [("B", "0_train", 4), ("AD", "0_train", 4), ("C", "1_train", 4)],
    "MedQA": [("B", "step1", 5)],
    "TMMLU+": [("A", "art_test", 4), ("A", "art_test", 4), ("C", "law_test", 4)],
    "M3Exam": [("B", "english / high", 3), ("B", "thai / low", 3)],
}


def suite_of(name, folder):
    for path, text in FILES[name].items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    # Rows of JSON lines have the keys of the Parquet file, which needs an extra.
    recipe = RECIPES[name].replace("test.parquet", "test.jsonl")
    (folder / "exam.yaml").write_text(f"suite: choice\n{recipe}targets: {{floor: {{baseline: random}}}}\n", "utf-8")
    return load(folder / "exam.yaml", environ={}).suite


def test_every_set_of_the_page_is_tested():
    assert list(RECIPES) == list(FILES) == list(WANTED)
    listed = re.findall(r"^\| \[(.+?)\]", PAGE.read_text("utf-8"), re.MULTILINE)
    assert listed == list(RECIPES)


@pytest.mark.parametrize("name", FILES)
def test_the_configuration_reads_every_question_with_its_key_and_subject(name, tmp_path):
    samples = list(suite_of(name, tmp_path).samples)
    assert [(sample.reference, sample.group, len(sample.choices)) for sample in samples] == WANTED[name]


@pytest.mark.parametrize("name", ["C-Eval", "CMMLU", "TMMLU+", "AGIEval", "M3Exam"])
def test_sets_that_publish_a_macro_average_have_one(name, tmp_path):
    (run,) = evaluate_suite(suite_of(name, tmp_path), how=RunConfig(store=tmp_path / "s.db"))
    summary = run.summary()
    levels = summary.details.levels.get("solve_rate")
    macro = levels[0].score.macro if levels else summary.score().macro
    groups = {group.split(" / ")[0] for _, group, _ in WANTED[name]}
    assert macro.n == len(groups) == 2


def test_texts_in_front_of_a_question_are_its_passage(tmp_path):
    english, _ = suite_of("M3Exam", tmp_path).samples
    assert english.input == "Read.\n\nIt rains.\n\nWhat falls?"


def test_questions_of_the_gaokao_are_scored_by_their_points(tmp_path):
    suite = suite_of("GAOKAO-Bench", tmp_path)
    assert [sample.metadata["points"] for sample in suite.samples] == [4, 6]
    assert [info.name for info in suite.scorers[0].score_infos] == ["solve_rate", "points", "partial_credit"]


def test_only_all_letters_together_are_right(tmp_path):
    _, several, _ = suite_of("JEC-QA", tmp_path).samples
    assert [Choice()(several, Output(reply)).value for reply in ("AD", "A", "A. 甲应赔偿\nD. 二人均不赔偿")] == [
        1,
        0,
        1,
    ]


def test_a_passage_that_is_neither_text_nor_texts_is_a_defect(tmp_path):
    rows = [{"question": "q?", "options": ["a", "b"], "answer": "A", "passage": {"a": 1}}]
    (tmp_path / "exam.json").write_text(json.dumps(rows))
    (tmp_path / "exam.yaml").write_text("suite: choice\nsamples: {file: exam.json}\ntargets: {f: {baseline: random}}\n")
    with pytest.raises(Exception, match=r"exam.json entry 1 key passage: the passage is neither a text nor a list"):
        load(tmp_path / "exam.yaml", environ={})


def test_a_sample_shows_its_options_as_the_old_script_did():
    sample = Sample("1", "乾？", "A", ("天", "it's", "人"))
    old = [f"{letter}:{text}" for letter, text in zip("ABC", sample.choices, strict=True)]
    assert sample_values(sample)["options_as_list"] == f"{old}"
