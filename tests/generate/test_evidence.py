"""Where a chunk holds an answer: quotations as models write them, and answers without one."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from steelyard import Baseline, Sample, Scripted
from steelyard.generate import generate_qa
from steelyard.generate.evidence import locate, split_quotation
from steelyard.retrieval.bm25 import is_stop
from steelyard.retrieval.chunk import sentences
from steelyard.scorers import Retrieval

TEXT = (
    "The station is read at nine in the morning.\n\nThe rim of the rain gauge stands 30 cm above the\nground – never "
    "lower. Its funnel is 12 cm wide. A figure that was not read is left out, “never guessed”. Dogs are not allowed "
    "inside. 雨量筒的口沿离地面三十厘米。它由铜制成。"
)
RIM = "The rim of the rain gauge stands 30 cm above the\nground – never lower."
FUNNEL = "Its funnel is 12 cm wide."
GUESSED = "A figure that was not read is left out, “never guessed”."
HANDBOOK = Path(__file__).parents[2] / "examples/rag/handbook.pdf"


def found(quotation="", *, question="What?", answer="x"):
    span = locate(TEXT, quotation, question=question, answer=answer)
    return None if span is None else TEXT[slice(*span)]


@pytest.mark.parametrize(
    ("quotation", "expected"),
    [
        (FUNNEL, FUNNEL),
        ("The rim of the rain gauge stands 30 cm above the ground - never lower.", RIM),
        ("the rim of the rain gauge stands 30 cm above the ground", RIM),
        ("The rain gauge's rim stands 30 cm above ground, never lower", RIM),
        ('A figure that was not read is left out, "never guessed".', GUESSED),
        ("... a figure that was not read is left out ...", GUESSED),
        (f"{RIM} {FUNNEL}", f"{RIM} {FUNNEL}"),
        (f"- {FUNNEL}\n- {GUESSED}", f"{FUNNEL} {GUESSED}"),
        (f"Its funnel is 12 cm wide. […] {GUESSED}", f"{FUNNEL} {GUESSED}"),
        ("雨量筒的口沿离地面三十厘米", "雨量筒的口沿离地面三十厘米。"),
        ("Its funnel is 15 cm wide.", None),
        ("The mayor opens the fair in May.", None),
        ("", None),
    ],
)
def test_a_quotation_is_found_however_it_was_copied(quotation, expected):
    assert found(quotation) == expected


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        ("How wide is the funnel?", "12 cm.", FUNNEL),
        ("How high is the rim?", "It stands 30 cm above the ground.", RIM),
        ("Are dogs allowed inside?", "No.", "Dogs are not allowed inside."),
        ("What becomes of a figure that was not read?", "It is left out.", GUESSED),
        ("口沿离地面多高？", "三十厘米。", "雨量筒的口沿离地面三十厘米。"),
        ("Who opens the fair?", "The mayor.", None),
    ],
)
def test_without_a_quotation_the_sentence_that_says_the_answer_is_taken(question, answer, expected):
    assert found(question=question, answer=answer) == expected
    assert found("Nothing of the kind stands there.", question=question, answer=answer) == expected


@pytest.mark.parametrize(
    ("reply", "answer", "quotation"),
    [
        ("30 cm.\nSource: It is 30 cm.", "30 cm.", "It is 30 cm."),
        ("30 cm.\n\n**Source:** “It is 30 cm.”", "30 cm.", "It is 30 cm."),
        ("Answer: 30 cm.\nEvidence: It is 30 cm.", "Answer: 30 cm.", "It is 30 cm."),
        ("Source: It is 30 cm.\nAnswer: 30 cm.", "30 cm.", "It is 30 cm."),
        ("三十厘米。\n出处：“口沿高三十厘米。”", "三十厘米。", "口沿高三十厘米。"),
        ('```json\n{"answer": "30 cm.", "source": ["It is 30 cm."]}\n```', "30 cm.", "It is 30 cm."),
        ("The source: a spring.", "The source: a spring.", ""),
        ("The main source of heat is the sun.", "The main source of heat is the sun.", ""),
        ("{30} cm", "{30} cm", ""),
    ],
)
def test_a_reply_is_parted_into_answer_and_quotation(reply, answer, quotation):
    assert split_quotation(reply) == (answer, quotation)


def words(text):
    return " ".join(re.findall(r"\w+", text.casefold()))


def examiner(truth, reply):
    """A model that asks of drawn sentences by three of their words, and notes which sentence each question is of."""

    def answered(messages):
        prompt = messages[-1]["content"]
        if "<question" in prompt:
            question = re.search(r"<question \w+>\n(.*?)\n</question", prompt, re.DOTALL)[1]
            return reply(truth[question])
        text = re.search(r"<text \w+>\n(.*?)\n</text", prompt, re.DOTALL)[1]
        whole = [text[start:end] for start, end in sentences(text) if 9 <= len(text[start:end].split()) <= 40]
        draw = random.Random(text)
        asked = []
        for sentence in draw.sample(whole, min(3, len(whole))):
            telling = [
                word for word in dict.fromkeys(re.findall(r"[A-Za-z]{3,}", sentence)) if not is_stop(word.lower())
            ]
            asked.append(f"What is said of {', '.join(draw.sample(telling, min(3, len(telling))))} here?")
            truth[asked[-1]] = sentence
        return "\n".join(f"{no}. {question}" for no, question in enumerate(asked, start=1))

    return Scripted(function=answered)


@pytest.mark.parametrize(
    "reply",
    [
        lambda sentence: f"{sentence.split()[-1]}\nSource: {' '.join(sentence.split())}",
        lambda sentence: " ".join(sentence.split()[-6:]),
    ],
)
def test_hit_rates_of_chunk_sizes_are_the_shares_of_passages_with_the_sentence(reply):
    truth = {}
    made = generate_qa(HANDBOOK, examiner(truth, reply), per_chunk=3)
    rates = {}
    for tokens in (64, 512, 1024):
        target = Baseline("extractive", HANDBOOK, top_k=2, chunk_tokens=tokens)
        hits = holds = 0
        for row in made.rows:
            source = {"document": row.document, "start": row.start, "end": row.end, "text": row.source}
            sample = Sample(row.id, row.question, metadata={"sources": [source]})
            output = target(sample)
            hits += Retrieval()(sample, output)[0].value
            holds += any(words(truth[row.question]) in words(passage) for passage in output.contexts)
        rates[tokens] = hits / len(made.rows), holds / len(made.rows)
    assert len(made.rows) >= 15
    assert all(abs(hit - hold) <= 0.05 for hit, hold in rates.values()), "one question of 21"
    assert rates[64][0] > rates[512][0] > rates[1024][0]
    assert rates[64][1] > rates[512][1] > rates[1024][1]
