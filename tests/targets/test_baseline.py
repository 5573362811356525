from collections import Counter
from pathlib import Path
from typing import get_type_hints

import pytest

from steelyard.constraints import check_options
from steelyard.errors import ConfigError
from steelyard.targets.baseline import Baseline
from steelyard.types import Sample

KNOWLEDGE = """# Trigrams
## Qian
Qian stands for heaven and for the father.
## Kun
Kun stands for earth and for the mother.
## Zhen
Zhen stands for thunder.
"""


@pytest.fixture
def retrieval(tmp_path):
    (tmp_path / "k.md").write_text(KNOWLEDGE)
    return Baseline("retrieval", tmp_path / "k.md", seed=7)


def sample(question, *choices, id="s1"):  # noqa: A002 - the field's name
    return Sample(id, question, "A", choices)


def test_retrieval_takes_the_option_that_the_document_supports(retrieval):
    output = retrieval(sample("What does Kun stand for?", "heaven", "thunder", "earth", "water"))
    assert output.value == "C"
    assert output.contexts[0] == "Trigrams > Kun\nKun stands for earth and for the mother."
    assert output.metadata["evidence"] == "passage"
    scores = output.metadata["scores"]
    assert scores["D"] is None
    assert scores["C"] == max(score for score in scores.values() if score is not None)


def test_a_passage_must_share_a_word_with_the_question_and_one_with_the_option(retrieval):
    output = retrieval(sample("Which trigram is of the mother?", "the of", "water", "Kun"))
    assert output.metadata["scores"]["A"] is None
    assert output.metadata["scores"]["B"] is None
    assert output.value == "C"


def test_without_evidence_an_option_is_drawn_and_the_output_says_so(retrieval):
    outputs = [retrieval(sample("Capital of France?", "Paris", "Rome", id=f"s{n}")) for n in range(40)]
    assert {output.value for output in outputs} == {"A", "B"}
    assert all(output.metadata["evidence"] == "none" and output.contexts == () for output in outputs)


def test_a_tie_is_drawn_among_its_options_alone(retrieval):
    outputs = [
        retrieval(sample("What does Qian stand for?", "water", "heaven", "father", id=f"s{n}")) for n in range(40)
    ]
    assert {output.value for output in outputs} == {"B", "C"}
    assert {output.metadata["evidence"] for output in outputs} == {"tie"}


def test_retrieval_reads_chinese(tmp_path):
    (tmp_path / "k.txt").write_text("乾卦象征天，其德刚健。坤卦象征地，其德柔顺。\n\n震卦象征雷，其德动。", "gb18030")
    output = Baseline("retrieval", tmp_path / "k.txt")(sample("震卦象征什么？", "火", "水", "雷", "山"))
    assert output.value == "C"


def test_a_changed_document_is_indexed_anew(tmp_path):
    path = tmp_path / "k.md"
    question = sample("Which colour is the gate?", "red", "green")
    path.write_text("The gate is red.")
    assert Baseline("retrieval", path)(question).value == "A"
    path.write_text("The gate was painted green.")
    assert Baseline("retrieval", path)(question).value == "B"


def test_a_list_of_messages_is_read_as_its_text(retrieval):
    messages = [{"role": "user", "content": "What does Zhen stand for?"}]
    assert retrieval(sample(messages, "earth", "thunder")).value == "B"


def test_random_depends_on_seed_and_id_and_nothing_else():
    ids = [f"s{n}" for n in range(400)]
    questions = [sample("q", "w", "x", "y", "z", id=question) for question in ids]
    drawn = {question.id: Baseline("random", seed=1)(question).value for question in questions}
    assert {question.id: Baseline("random", seed=1)(question).value for question in reversed(questions)} == drawn
    assert {question.id: Baseline("random", seed=2)(question).value for question in questions} != drawn
    assert all(60 <= count <= 140 for count in Counter(drawn.values()).values())
    assert set(drawn.values()) == set("ABCD")


def test_longest_takes_the_first_of_the_longest_options():
    assert Baseline("longest")(sample("q", "aa", "bbbb", "cccc", "d")).value == "B"


def test_retrieval_without_knowledge_and_others_with_it_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="retrieval needs knowledge"):
        check_options(Baseline("retrieval"))
    with pytest.raises(ConfigError, match="random uses no knowledge"):
        check_options(Baseline("random", tmp_path / "k.md"))
    with pytest.raises(ConfigError, match=r"baseline: expected .*, but got 'best'"):
        check_options(Baseline("best"))
    with pytest.raises(ConfigError, match="there is no file"):
        check_options(Baseline("retrieval", tmp_path / "k.md"))


@pytest.mark.parametrize("baseline", ["random", "longest"])
def test_a_sample_without_choices_is_refused_by_its_id(baseline):
    with pytest.raises(ValueError, match="sample 's1' has 0 choices"):
        Baseline(baseline)(sample("q"))


def test_field_types_resolve_for_the_configuration():
    assert get_type_hints(Baseline)["knowledge"] == Path | tuple[Path, ...] | None
    assert Baseline.stage_info.inline
