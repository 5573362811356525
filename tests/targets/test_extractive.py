"""The extractive reader: the best sentence of the best chunks, where it stands, and what it was read in."""

from itertools import pairwise

import pytest

from steelyard import Baseline, ConfigError, Sample, evaluate
from steelyard.constraints import check_options
from steelyard.registry import describe
from steelyard.scorers.retrieval import Retrieval
from steelyard.targets.baseline_readers import ExtractiveReader, QuestionTerms, open_reader
from steelyard.targets.library import ChunkSize

HANDBOOK = """# The library of things

## Borrowing

A card costs nothing. Each card holder may keep three things at a time.
Power tools are lent for 3 days, because many people wait for them.

## Returning

The counter is open on Tuesday and on Saturday. Small things may be put into the green hatch beside the door.
Old Mr. Finch founded the library. The library was founded in March 1987.
"""


@pytest.fixture
def handbook(tmp_path):
    path = tmp_path / "handbook.md"
    path.write_text(HANDBOOK, "utf-8")
    return path


def asked(path, question, **options):
    target = Baseline("extractive", path, **options)
    check_options(target)
    return target(Sample("1", question))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many things may one holder of a card keep?", "Each card holder may keep three things at a time."),
        ("When was the library founded?", "The library was founded in March 1987."),
        ("Who founded the library?", "Old Mr. Finch founded the library."),
        ("Why are power tools lent so shortly?", "Power tools are lent for 3 days, because many people wait for them."),
        ("Where do small things go?", "Small things may be put into the green hatch beside the door."),
    ],
)  # fmt: skip
def test_the_sentence_that_holds_the_kind_of_thing_asked_for_is_the_answer(handbook, question, answer):
    assert asked(handbook, question).value == answer


def test_chinese_is_read_likewise(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("图书馆由老王创办。图书馆创办于一九八七年三月。工具只借三天，因为很多人在等。", "utf-8")
    assert asked(path, "图书馆是什么时候创办的？").value == "图书馆创办于一九八七年三月。"
    assert asked(path, "为什么工具只能借三天？").value == "工具只借三天，因为很多人在等。"


def test_the_score_is_the_share_of_the_questions_weight_and_a_clue_on_top():
    # Of N = 2 sentences each word of the question is in one: every idf is ln(1 + 1.5 / 1.5) = ln 2. The first sentence
    # has 1 of 2 words, the second both; with a number asked for, 4/3 of a mean word are added: (1 + 4/3) / 2.
    reader = ExtractiveReader(None, {"gate": 1, "sheep": 1}, 2)
    who_knows = QuestionTerms.of("The gate, the sheep?")
    assert reader.score(who_knows, "A gate.") == pytest.approx(0.5)
    assert reader.score(who_knows, "Sheep at a gate.") == pytest.approx(1.0)
    several = QuestionTerms.of("How much gate, sheep?")
    weights = [reader.idf(word) for word in ("gate", "sheep", "much")]
    expected = (weights[0] + 4 / 3 * sum(weights) / 3) / sum(weights)
    assert reader.score(several, "7 gates") == pytest.approx(expected)


def test_what_the_question_itself_holds_is_no_answer_to_it():
    reader = ExtractiveReader(None, {}, 10)
    question = QuestionTerms.of("How many tiles fell in 1990?")
    assert reader.score(question, "In 1990 tiles fell.") < reader.score(question, "In 1990 tiles fell: 12.")


def test_sources_say_where_the_chunks_and_the_sentence_stand(handbook):
    output = asked(handbook, "Does the green hatch take the tools?", chunk_tokens=30, top_k=2)
    sources, place = output.metadata["sources"], output.metadata["sentence"]
    assert [HANDBOOK[source["start"] : source["end"]] for source in sources] == list(output.contexts)
    assert {source["document"] for source in sources} == {"handbook.md"}
    assert HANDBOOK[place["start"] : place["end"]] == output.value
    assert output.value in output.contexts[place["rank"] - 1]
    assert output.metadata["scores"] == sorted(output.metadata["scores"], reverse=True)
    assert len(output.contexts) == 2


def test_a_question_without_a_word_of_the_documents_has_a_blank_answer(handbook):
    output = asked(handbook, "Xylophones?")
    assert (output.value, output.contexts, output.metadata["evidence"]) == ("", (), "none")


def test_a_heading_is_no_answer_where_there_is_a_sentence(handbook):
    assert asked(handbook, "borrowing?").value == "A card costs nothing."


def test_pages_of_a_folder_of_documents_are_told_apart(tmp_path):
    folder = tmp_path / "docs"
    (folder / "b").mkdir(parents=True)
    (folder / "a.md").write_text("The red gate leads north.", "utf-8")
    (folder / "b/c.txt").write_text("The green gate leads south.", "utf-8")
    target = Baseline("extractive", folder)
    check_options(target)
    output = target(Sample("1", "Where does the green gate lead?"))
    assert output.metadata["sources"][0]["document"] == "c.txt"
    assert len(output.metadata["sources"]) == 2
    before = describe(target)["baseline"]["documents"]
    assert set(before) == {"a.md", "c.txt"}
    (folder / "a.md").write_text("The red gate leads nowhere now.", "utf-8")
    after = describe(target)["baseline"]["documents"]
    assert [name for name in before if before[name] != after[name]] == ["a.md"]


def test_a_small_chunk_shares_an_eighth_with_the_one_before(handbook):
    assert [ChunkSize(tokens).shared for tokens in (1024, 60, 7)] == [128, 7, 0]
    for tokens in (1, 30, 1024):
        asked(handbook, "Where?", chunk_tokens=tokens)
    chunks = open_reader((handbook,), ChunkSize(30, 15)).index.chunks
    assert any(chunk.start < other.end for other, chunk in pairwise(chunks))


@pytest.mark.parametrize(
    ("options", "said_so"),
    [
        ({"top_k": 0}, "top_k must be a whole number of 1 or more, not 0"),
        ({"chunk_tokens": 0}, "chunk_tokens must be a whole number of 1 or more"),
        ({"chunk_tokens": 10, "overlap_tokens": 6}, "overlap_tokens must be a whole number from 0 to 5, not 6"),
    ],
)
def test_sizes_that_cannot_be_meant_are_refused(handbook, options, said_so):
    with pytest.raises(ConfigError, match=said_so):
        asked(handbook, "?", **options)


def test_options_of_the_reader_are_refused_for_other_baselines(handbook):
    with pytest.raises(ConfigError, match="baseline extractive needs knowledge"):
        check_options(Baseline("extractive"))
    with pytest.raises(ConfigError, match="baseline random retrieves no chunks"):
        check_options(Baseline("random", top_k=3))
    with pytest.raises(ConfigError, match="did you mean 'extractive'"):
        check_options(Baseline("extractiv", handbook))


def test_the_reference_is_the_ceiling_of_retrieval_too():
    sources = [{"document": "a.md", "start": 3, "end": 9, "text": "it rains"}, {"id": "c2", "text": "it snows"}]
    output = Baseline("reference")(Sample("1", "?", ["yes", "it does"], metadata={"sources": sources}))
    assert (output.value, output.contexts) == ("yes", ("it rains", "it snows"))
    scores = Retrieval()(Sample("1", "?", metadata={"sources": sources}), output)
    assert {score.value for score in scores} == {1.0}
    unknown = Sample("1", "?", "yes", contexts=("given",), metadata={"sources": [{"id": "c1"}]})
    assert Baseline("reference")(unknown).contexts == ("given",)
    assert Baseline("reference")(Sample("1", "?", {"rows": [[1]]})).value == {"rows": [[1]]}


def test_a_sample_without_a_reference_is_a_failure_of_its_record_alone():
    run = evaluate(Baseline("reference"), [Sample("1", "q", "A"), Sample("2", "q")], [])
    first, second = run.records()
    assert first.output.value == "A"
    assert (second.failure.kind, second.failure.stage) == ("ValueError", "target")
