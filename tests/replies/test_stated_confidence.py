"""Confidences as replies state them: percent or probability, in a sentence or in JSON, in English and Chinese."""

import pytest

from steelyard.replies.answer_text import read_confidence


@pytest.mark.parametrize(
    ("reply", "confidence"),
    [
        ("The answer is B. Confidence: 85%", 0.85),
        ("Answer: B\nConfidence: 0.85", 0.85),
        ('{"answer": "B", "confidence": 0.6}', 0.6),
        ("**Confidence:** 95 %", 0.95),
        ("Confidence level: 100", 1.0),
        ("My confidence is about 70%.", 0.7),
        ("confidence: 1", 1.0),
        ("答案：B\n置信度：90％", 0.9),
        ("选B，把握为95%", 0.95),
        ("Confidence: 60%. No, wait. Answer: C. Confidence: 80%", 0.8),
    ],
)
def test_the_last_confidence_is_read(reply, confidence):
    assert read_confidence(reply) == pytest.approx(confidence)


@pytest.mark.parametrize(
    "reply",
    [
        "B",
        "I am confident that it is B.",
        "Confidence: high",
        "Confidence: 150 %",
        "Confidence: 7 out of 10",
        "Confidence: 7/10",
        "confidence: 2 of the options fit",
        "a confidence interval of 95 %",
        "Confidence: 12 to 30",
        "confidence: 2024.5",
    ],
)
def test_what_is_no_probability_is_not_guessed(reply):
    assert read_confidence(reply) is None
