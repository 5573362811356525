"""The rag suite: what is scored by default, whose judge is asked, and what a report is told to show."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from steelyard import Judge, Scripted, evaluate_suite
from steelyard.config.load import load
from steelyard.errors import ConfigError
from steelyard.evaluation.dry_run import estimate
from steelyard.evaluation.survey import check_suite
from steelyard.scorers import Correctness, TokenF1
from steelyard.suites.rag import RagSuite, SampleFiles

ROWS = [
    {"id": "a", "question": "How high is it?", "answer": "1.25 m", "document": "x.md", "source": "It is 1.25 m high."},
    {"id": "b", "question": "Who reads it?", "answer": "Ann", "document": "y.md", "source": "The keeper reads it."},
    {"id": "c", "question": "Why?", "document": "y.md"},
]  # fmt: skip
SAID = [
    {"id": "a", "output": "It is 1.25 m.", "contexts": ["It is 1.25 m high."]},
    {"id": "b", "output": "The mayor.", "contexts": ["The keeper reads it."]},
    {"id": "c", "output": "Because.", "contexts": []},
]
JUDGE = """
judge:
  model:
    scripted:
      replies: {"1.25 m.": "5\\nYES 1. YES 2. YES", "mayor": "2\\nNO"}
      default: "3"
"""


@pytest.fixture
def configured(tmp_path):
    def configure(text="", rows=ROWS, targets="old: {replay: said.jsonl}"):
        for name, lines in (("q.jsonl", rows), ("said.jsonl", SAID)):
            (tmp_path / name).write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        (tmp_path / "x.md").write_text("The gate is painted white.", encoding="utf-8")
        file = tmp_path / "rag.yaml"
        file.write_text(f"suite: rag\nsamples: {{file: q.jsonl}}\ntargets: {{{targets}}}\n{text}", encoding="utf-8")
        return load(file, environ=os.environ).suite

    return configure


def names(suite):
    return [type(scorer).__name__ for scorer in suite.scorers]


def test_without_a_judge_words_and_retrieval_are_scored(configured):
    suite = configured()
    assert names(suite) == ["TokenF1", "RougeL", "Retrieval"]
    assert suite.crossed == ()
    assert suite.breakdowns == ("document",)


def test_questions_without_sources_have_no_retrieval_scores(configured):
    assert names(configured(rows=[{"question": "Who?", "answer": "Ann"}])) == ["TokenF1", "RougeL"]


def test_a_suites_judge_serves_every_scorer_without_one_of_its_own(configured):
    suite = configured(JUDGE)
    assert names(suite) == ["Correctness", "Faithfulness", "AnswerRelevancy", "TokenF1", "RougeL", "Retrieval"]
    assert suite.crossed == (("correct", "faithfulness"),)
    assert all(scorer.judge == suite.scorers[0].judge for scorer in suite.scorers[:3])
    own = configured(
        JUDGE + "scorers:\n  - correctness: {judge: {model: {scripted: {default: '4'}}}}\n  - faithfulness\n"
    )
    assert own.scorers[0].judge == Judge(Scripted({}, default="4"))
    assert own.scorers[1].judge.model.default == "3"


def test_a_scorer_that_wants_a_judge_and_has_none_is_refused_when_the_configuration_is_checked(configured):
    with pytest.raises(ConfigError, match="faithfulness: it has no model to ask") as refused:
        configured("scorers: [token_f1, faithfulness]\n")
    assert (refused.value.location.line, refused.value.location.column) == (4, 10)


def test_a_headline_that_no_scorer_gives_is_refused_when_the_configuration_is_checked(configured):
    with pytest.raises(ConfigError, match="there is no score 'token_f': did you mean 'token_f1'"):
        configured("scorers: [rouge_l, token_f1]\nprimary: token_f\n")
    assert configured("scorers: [rouge_l, token_f1]\nprimary: token_f1\n").primary == "token_f1"


@pytest.mark.parametrize(
    ("scorers", "headline"),
    [
        ("[retrieval, token_f1, rouge_l]", "token_f1"),
        ("[retrieval, rouge_l]", "rouge_l"),
        ("[faithfulness, token_f1, correctness]", "correctness"),
        ("[retrieval]", "recall"),
    ],
)
def test_the_answers_own_score_is_the_headline_and_retrieval_is_not(configured, scorers, headline):
    (run,) = evaluate_suite(configured(f"{JUDGE}scorers: {scorers}\n"))
    assert run.summary().primary == headline


def test_stored_outputs_are_judged_and_crossed(configured):
    (run,) = evaluate_suite(configured(JUDGE + "scorers: [correctness, faithfulness, retrieval]\n"))
    summary = run.summary()
    assert summary.primary == "correctness"
    assert summary.score("correctness").not_applicable == 1
    assert summary.score("hit_rate").scored == 2
    assert {stage.stage for stage in summary.calls.stages if stage.calls} == {"correctness", "faithfulness"}
    (cross,) = summary.details.contingency_tables
    assert (cross.rows_score, cross.columns_score) == ("correct", "faithfulness")


@pytest.mark.parametrize(
    ("questions", "language"),
    [
        (("貸出期間は何日間ですか。", "図書館開館時間"), "en"),
        (("门在哪里开着？", "Where is the gate?"), "zh"),
        (("Where is the gate?", "门？"), "en"),
    ],
)
def test_the_prompts_of_one_set_are_in_one_language(configured, questions, language):
    rows = [{"id": str(no), "question": text, "answer": "1"} for no, text in enumerate(questions)]
    engine = "engine: {retrieval: {documents: x.md, model: {scripted: {default: a}}}}"
    suite = configured(JUDGE + "scorers: [correctness]\n", rows=rows, targets=engine)
    assert suite.scorers[0].judge.language == suite.targets["engine"].language == language


def test_a_language_that_was_set_stays(configured):
    suite = configured("judge: {language: zh, model: {scripted: {default: a}}}\nscorers: [correctness]\n")
    assert suite.scorers[0].judge.language == "zh"


def chunked(rows=8, **more):
    """Eight questions on each of eight chunks, of which every other one is found."""
    texts = [
        f"Chapter {c}: " + " ".join(f"item {c}-{i} costs {c * 10 + i} euros." for i in range(8)) for c in range(rows)
    ]
    questions = [
        {"id": f"{c}-{i}", "question": f"What does item {c}-{i} cost?", "source": text, "chunk": f"c{c}", **more}
        for c, text in enumerate(texts)
        for i in range(8)
    ]
    said = [{"id": row["id"], "output": "x", "contexts": [row["source"] if int(row["id"][0]) % 2 else "no"]}
            for row in questions]  # fmt: skip
    return questions, said


def test_questions_on_one_chunk_count_as_one_in_intervals(configured, tmp_path):
    questions, said = chunked()
    suite = configured("scorers: [retrieval]\n", rows=questions)
    (tmp_path / "said.jsonl").write_text("\n".join(map(json.dumps, said)), encoding="utf-8")
    (run,) = evaluate_suite(suite)
    score = run.summary().score("hit_rate")
    low, high = score.headline.interval
    assert (score.headline.value, round(low, 2), round(high, 2)) == (0.5, 0.17, 0.83)
    assert "8 independent clusters" in score.note


@pytest.mark.parametrize(
    ("more", "clusters"),
    [({"cluster": "own"}, {"own"}), ({"chunk": ["a", "b"], "source": ["one", "two"]}, {""}), ({"chunk": "c1"}, {"c1"})],
)
def test_a_column_for_clusters_comes_before_the_chunk(configured, more, clusters):
    questions, _ = chunked(**more)
    assert {sample.cluster for sample in configured(rows=questions).samples} == clusters


def test_a_run_on_long_sources_warns_that_hits_are_easy(configured, tmp_path):
    questions, said = chunked()
    said = [row | {"contexts": [row["contexts"][0][:60]]} for row in said]
    suite = configured("scorers: [retrieval]\n", rows=questions)
    (tmp_path / "said.jsonl").write_text("\n".join(map(json.dumps, said)), encoding="utf-8")
    (run,) = evaluate_suite(suite)
    assert run.summary().records.matched.long_share == 1
    assert "hits are easy: in 100 % of the pairs" in run.summary().matching_warning()


def test_the_headline_is_a_score_of_the_answer_where_others_come_first(configured):
    scorers = "scorers: [retrieval, context_recall, {context_relevance: {by_reference: true}}, claim_correctness]\n"
    assert configured(JUDGE + scorers).primary == "claim_f1"
    assert configured(JUDGE + "scorers: [context_recall]\n").primary == ""


def test_a_dry_run_counts_the_calls_of_each_judge(configured):
    """Of an answer without passages faithfulness asks whether it claims anything."""
    (result,) = asyncio.run(estimate(configured(JUDGE + "scorers: [correctness, faithfulness, context_relevance]\n")))
    assert {stage.stage: stage.calls for stage in result.stages} == {
        "correctness": 2,
        "faithfulness": 3,
        "context_relevance": 2,
    }


HANDBOOK = "The gate is painted white. The station is read at nine in the morning, whatever the weather. Rain is rare."
RANGE = {"id": "a", "question": "When is it read?", "document": "handbook.txt", "start": 27, "end": 92}


@pytest.fixture
def handbook(tmp_path):
    (tmp_path / "handbook.txt").write_text(HANDBOOK, encoding="utf-8")


def source_of(suite):
    (sample,) = suite.samples
    return sample.metadata["sources"][0]


@pytest.mark.parametrize(
    ("more", "target"),
    [
        ("documents: handbook.txt\n", "old: {replay: said.jsonl}"),
        ("documents: [handbook.txt]\n", "old: {replay: said.jsonl}"),
        ("", "floor: {baseline: extractive, knowledge: handbook.txt}"),
        ("", "own: {retrieval: {documents: handbook.txt, model: {scripted: {default: x}}}}"),
    ],
)
def test_a_source_that_is_a_range_alone_gets_its_text_from_the_documents(configured, handbook, more, target):
    suite = configured(f"{more}scorers: [retrieval]\n", rows=[RANGE], targets=target)
    assert source_of(suite)["text"] == "The station is read at nine in the morning, whatever the weather."
    assert suite.notes == ("1 of 1 questions have no reference answer",)


def test_passages_of_any_system_are_compared_with_a_range_once_its_text_is_known(configured, handbook, tmp_path):
    text = "scorers: [retrieval]\n"
    (blind,) = evaluate_suite(configured(text, rows=[RANGE]))
    assert blind.summary().score("hit_rate").not_applicable == 1
    passage = "station is read at nine in the\nmorning, whatever the wea-\nther."
    message = {"id": "a", "output": "At nine.", "contexts": [passage]}
    (tmp_path / "other.jsonl").write_text(json.dumps(message), encoding="utf-8")
    suite = configured(f"documents: handbook.txt\n{text}", rows=[RANGE], targets="other: {replay: other.jsonl}")
    (other,) = evaluate_suite(suite)
    assert other.summary().score("hit_rate").headline.value == 1.0


@pytest.mark.parametrize(
    ("more", "row", "note"),
    [
        ("", {}, "1 source is a range of handbook.txt without its text: name `documents`"),
        ("documents: handbook.txt\n", {"document": "b.txt"}, "1 source is a range of b.txt without its text"),
        ("documents: handbook.txt\n", {"end": 5000}, "1 source is a range of handbook.txt that is not on the page"),
    ],
)
def test_a_range_whose_text_cannot_be_had_is_noted(configured, handbook, more, row, note):
    suite = configured(f"{more}scorers: [retrieval]\n", rows=[RANGE | row])
    assert "text" not in source_of(suite)
    assert any(entry.startswith(note) for entry in suite.notes)


def test_a_range_of_another_reading_of_a_pdf_is_known_by_its_page(configured):
    file = Path(__file__).parents[2] / "examples" / "rag" / "handbook.pdf"
    row = {**RANGE, "document": "handbook.pdf", "start": 389, "end": 580}
    text = f"documents: {json.dumps(str(file))}\nscorers: [retrieval]\n"
    assert "text" in source_of(configured(text, rows=[row | {"page": 1}]))
    moved = configured(text, rows=[row | {"page": 4}])
    assert "text" not in source_of(moved)
    assert any("is not on the page" in note for note in moved.notes)


def test_a_page_of_a_document_is_a_source(configured):
    row = {"id": "a", "question": "?", "document": "x.pdf", "page": 3}
    assert source_of(configured("scorers: [retrieval]\n", rows=[row])) == {"document": "x.pdf", "page": 3}


def test_columns_for_agents_and_those_without_a_role_go_to_the_metadata(configured):
    rows = [
        {"id": "a", "question": "Book it.", "expected_tools": ["search", {"name": "book"}], "plan": "Search, book."},
        {"id": "b", "question": "When?", "goal": "Know when.", "persona": "In a hurry.", "mood": "x"},
    ]
    metadata = [sample.metadata for sample in configured("scorers: [tool_calls]", rows=rows).samples]
    assert metadata == [
        {"mood": "", "position": 0, "tools": ["search", {"name": "book"}], "plan": "Search, book."},
        {"mood": "x", "position": 1, "goal": "Know when.", "persona": "In a hurry."},
    ]


def test_several_judges_are_asked_by_every_scorer_that_has_none_of_its_own(tmp_path):
    file = tmp_path / "questions.jsonl"
    file.write_text('{"id": "a", "question": "Who?", "answer": "She."}\n', encoding="utf-8")
    judges = {"small": Judge(Scripted(default="4")), "large": Judge(Scripted(default="5"))}
    options = {"samples": SampleFiles(file), "targets": {"t": lambda _: "She."}, "judges": judges}
    suite = RagSuite(**options, scorers=(Correctness(),), jury="mean").build()
    assert [scorer.judge.name for scorer in suite.scorers] == ["small", "large"]
    assert suite.jury == {"vote": "mean"}
    with pytest.raises(ConfigError, match="one judge, or several by their names"):
        RagSuite(**options, judge=judges["small"]).build()
    alone = options | {"judges": {"small": judges["small"]}}
    with pytest.raises(ConfigError, match="needs two judges or more"):
        check_suite(RagSuite(**alone, jury="majority").build())
    with pytest.raises(ConfigError, match="judges: no scorer uses them"):
        RagSuite(**options, scorers=(TokenF1(),)).build()
    with pytest.raises(ConfigError, match="a judge is named 'jury'"):
        check_suite(RagSuite(**options | {"judges": judges | {"jury": judges["small"]}}, jury="majority").build())
    assert RagSuite(**options).build().primary == "correctness_small"
