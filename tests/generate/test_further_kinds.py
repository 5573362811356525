"""Questions over two chunks and without an answer: what is asked, what is dropped, and how the rows are scored."""

from __future__ import annotations

import json
import re

import pytest
from tests.generate.exam_server import exam_server, fenced, numbered, said, step_of

from steelyard import ConfigError
from steelyard.data.documents import read_document
from steelyard.data.sample_files import SampleFiles
from steelyard.generate.qa import generate_qa
from steelyard.generate.question_set import read_rows
from steelyard.generate.selection import TWO_CHUNKS, UNANSWERABLE, related_pairs
from steelyard.models.openai_compatible import OpenAICompatible
from steelyard.prompts.template import load_template, placeholders
from steelyard.retrieval.chunk import split_chunks
from steelyard.retrieval.stored import ChunkIndex
from steelyard.suites.rag import load_rag

RIM = "The rim of the copper gauge stands 30 cm above the ground at the northern gate of the old observatory."
KEEPER = "The keeper reads the copper gauge at nine each morning, and at noon on Sundays, before the gate opens."
MOON = "Eclipses of the moon are drawn by hand on yellow paper, and the drawings are kept in the tower for a century."
PAIR = ["How high is the gauge that is read at nine?", "When is the gauge read that stands at the gate?"]
NONE = ["Who forged the copper gauge?", "When does the keeper read the gauge?"]


def kind_of(prompt):
    if "<first " in prompt:
        return TWO_CHUNKS
    return UNANSWERABLE if "that it does not answer" in prompt else step_of(prompt)


class Teacher:
    """Writes PAIR and NONE, and answers from the texts: what is read from the keeper's, heights from the rim's."""

    def __init__(self):
        self.alone = "no"

    def __call__(self, prompt):
        kind = kind_of(prompt)
        if kind in {TWO_CHUNKS, UNANSWERABLE}:
            return numbered(PAIR if kind == TWO_CHUNKS else NONE)
        if kind == "questions":
            return f"1. What does {fenced(prompt, 'text').split()[-1].strip('.')} mean here?"
        question, text = fenced(prompt, "question"), fenced(prompt, "text")
        if kind == "check":
            whole = RIM in text and KEEPER in text
            return f"So it is.\nVerdict: {'YES' if whole or self.alone == question else 'NO'}"
        if question == NONE[0]:
            return "NO ANSWER"
        if question == NONE[1] and KEEPER not in text:
            return "NO ANSWER"
        return f"30 cm, at nine.\nSource: {RIM} {KEEPER}"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "docs").mkdir()
    for name, text in (("rim.md", RIM), ("keeper.md", KEEPER), ("moon.md", MOON)):
        (tmp_path / "docs" / name).write_text(text, encoding="utf-8")
    return tmp_path / "docs"


def made(folder, teacher=None, **options):
    with exam_server(teacher or Teacher()) as server:
        model = OpenAICompatible("exam", server.url)
        return generate_qa(folder, model, per_chunk=2, **options), server.asked


def of_kind(found, kind):
    return [row for row in found.rows if row.kind == kind]


def test_chunks_are_paired_with_those_that_share_their_words(folder):
    chunks = [
        chunk
        for path in sorted(folder.iterdir())
        for chunk in split_chunks(read_document(path).text, document=path.name, tokens=1024, overlap=0)
    ]
    assert len(related_pairs(chunks, 1, seed=0)) == 1
    pairs = related_pairs(chunks, 99, seed=0)
    assert {"keeper.md", "rim.md"} in [{chunk.document for chunk in pair} for pair in pairs]
    assert len({frozenset(chunk.id for chunk in pair) for pair in pairs}) == len(pairs) <= 3
    assert related_pairs(chunks, 2, seed=5) == related_pairs(chunks, 2, seed=5)


def test_the_neighbours_of_a_chunk_are_searched_once(monkeypatch):
    searched = []
    search = ChunkIndex.search
    monkeypatch.setattr(ChunkIndex, "search", lambda index, *args: searched.append(args[0]) or search(index, *args))
    texts = (RIM, KEEPER, MOON)
    chunks = [chunk for text in texts for chunk in split_chunks(text, document=text[:9], tokens=1024, overlap=0)]
    related_pairs(chunks, 99, seed=0)
    assert sorted(searched) == sorted(texts)


def test_a_question_over_two_chunks_has_both_sources_and_needs_both(folder):
    teacher = Teacher()
    found, asked = made(folder, teacher, pairs=3)
    rows = of_kind(found, TWO_CHUNKS)
    keeper_and_rim = [row for row in rows if len(row.source_texts) == 2 and set(row.source_texts) == {RIM, KEEPER}]
    assert keeper_and_rim, [row.source_texts for row in rows]
    row = keeper_and_rim[0]
    sources = json.loads(row.source)
    assert {(source["document"], source["start"], source["text"]) for source in sources} == {
        ("rim.md", 0, RIM),
        ("keeper.md", 0, KEEPER),
    }
    assert (row.start, row.end, row.group, row.answer) == (None, None, TWO_CHUNKS, "30 cm, at nine.")
    # Each question is checked against each chunk alone.
    assert sum(kind_of(prompt) == "check" for prompt in asked) % 2 == 0


def test_a_question_that_one_chunk_answers_is_dropped(folder):
    teacher = Teacher()
    teacher.alone = PAIR[1]
    found, _ = made(folder, teacher, pairs=1)
    assert [row.question for row in of_kind(found, TWO_CHUNKS)] == PAIR[:1]
    assert found.report.dropped["one_chunk_enough"] == 1
    assert found.report.kinds == {"generated": 3, TWO_CHUNKS: 1}


def test_a_question_is_unanswerable_only_if_no_document_answers_it(folder):
    """The second question is not answered by the chunk of the rim, but by that of the keeper, which is searched."""
    found, asked = made(folder, unanswerable=3)
    (row,) = of_kind(found, UNANSWERABLE)
    assert (row.question, row.answer, row.answerable) == (NONE[0], "The documents do not say.", "no")
    assert (row.source, row.chunk, row.page, row.start, row.end) == ("", "", None, None, None)
    assert row.cluster
    assert found.report.dropped["answered"] == 3
    shown = [fenced(prompt, "text") for prompt in asked if step_of(prompt) == "answer" and NONE[1] in prompt]
    assert all(KEEPER in text for text in shown)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (said("It was", finish="length"), "answer_truncated"),
        ("I'm sorry, but I cannot help with that.", "answer_refused"),
    ],
)
def test_a_check_that_cannot_be_read_shows_nothing_so_the_question_is_dropped(folder, reply, reason):
    class Silent(Teacher):
        def __call__(self, prompt):
            return reply if step_of(prompt) == "answer" and NONE[0] in prompt else super().__call__(prompt)

    found, _ = made(folder, Silent(), unanswerable=1)
    assert of_kind(found, UNANSWERABLE) == []
    assert found.report.dropped[reason] == 1


@pytest.mark.parametrize("name", ["q.jsonl", "q.csv"])
def test_the_rag_suite_reads_the_kinds_as_groups_with_their_sources(folder, tmp_path, name):
    found, _ = made(folder, pairs=3, unanswerable=1)
    found.save(tmp_path / name)
    assert read_rows(tmp_path / name) == found.rows
    samples = {sample.id: sample for sample in load_rag(SampleFiles(tmp_path / name)).samples}
    assert {sample.group for sample in samples.values()} == {"generated", TWO_CHUNKS, UNANSWERABLE}
    for row in found.rows:
        sample = samples[row.id]
        assert len(sample.metadata.get("sources", ())) == {TWO_CHUNKS: 2, UNANSWERABLE: 0}.get(row.kind, 1)
        assert sample.metadata.get("answerable", True) is (row.kind != UNANSWERABLE)
        assert sample.cluster == row.cluster


def test_a_set_of_one_kind_keeps_its_headings_as_groups(folder):
    found, _ = made(folder)
    assert {row.group for row in found.rows} == {"keeper.md", "moon.md", "rim.md"}
    assert found.report.kinds == {}


def test_more_than_there_are_is_noted_and_what_cannot_be_is_refused(folder, tmp_path):
    with pytest.raises(ConfigError, match="pairs must be"):
        made(folder, pairs=-1)
    with pytest.raises(ConfigError, match="need a model"):
        generate_qa(folder, None, pairs=1)
    with pytest.raises(ConfigError, match="pairs needs two chunks"):
        made(folder / "rim.md", pairs=1)


@pytest.mark.parametrize("kind", [TWO_CHUNKS, UNANSWERABLE])
def test_both_languages_show_the_same_and_ask_for_a_list(kind):
    texts = [load_template(f"{language}/generate_{kind}") for language in ("en", "zh")]
    english, chinese = ({name for name, _ in placeholders(text)} for text in texts)
    assert english == chinese
    assert all(re.search(r"Reply with a numbered list|带编号的列表", text) for text in texts)
