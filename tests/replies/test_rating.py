import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.replies.families import assert_read_as_meant, stored

from steelyard.replies.judge_reply import Scale, Verdict
from steelyard.replies.rating import is_refusal, read_rating
from steelyard.replies.rating_numbers import WORDS, numbers, value_of

REPLIES = stored("ratings")
LEAST = {
    "English: the number alone": 1.0,
    "English: opens the reply": 1.0,
    "English: closes the reply": 0.88,
    "English: behind a label": 0.99,
    "English: in a sentence": 0.98,
    "English: a level's name": 1.0,
    "English: marks": 1.0,
    "English: JSON": 1.0,
    "English: two ratings or a foreign scale": 0.96,
    "English: no rating": 0.98,
    "English: refused": 0.94,
    "Chinese: rated": 0.99,
    "Chinese: two ratings or a foreign scale": 1.0,
    "Chinese: no rating": 0.92,
    "Chinese: refused": 1.0,
    "corrected or final": 1.0,
    "numbers of lists, forms and counts": 1.0,
    "beside counts and lists": 0.85,
    "what others got": 1.0,
    "decimal commas": 1.0,
    "citation marks": 1.0,
    "range of fractions": 1.0,
}
"""Per family of replies that people wrote as judges do: the share that is read as they meant it."""
PUBLISHED = [
    ("G-Eval, scores only", "Coherence", (1, 5), "- Coherence: 4", 4),
    ("G-Eval, scores only", "Coherence", (1, 5), " 4", 4),
    ("G-Eval, at temperature 1", "Engagingness", (1, 3), "1. Dull", 1),
    ("G-Eval, at temperature 1", "Engagingness", (1, 3), "2: Somewhat interesting", 2),
    ("G-Eval, four aspects", "Fluency", (1, 3), "- Coherence: 4\n- Consistency: 5\n- Fluency: 2\n- Relevance: 3", 2),
    ("G-Eval, with reasons", "Relevance", (1, 5), "Rating: 3\n\nThe summary leaves out 2 of the 4 points.", 3),
    ("G-Eval, analysis first", "Consistency", (1, 5), "The summary names 3 of 5 facts.\n\nRating: 2", 2),
    ("SummEval, a sentence", "coherence", (1, 5), "I would rate the coherence of this summary a 3 out of 5.", 3),
    ("Topical-Chat", "groundedness", (0, 1), "- Groundedness: 0\n\nThe response does not use the fact of 1984.", 0),
    ("MT-bench, single", "", (1, 10), "The answer is short and correct.\n\nRating: [[7]]", 7),
    ("Prometheus", "", (1, 5), "Feedback: It meets 3 of the 4 criteria. [RESULT] 4", 4),
    ("Ragas, aspect critic with a score", "", (0, 5), '{"reason": "It follows from the 2 contexts.", "score": 5}', 5),
    ("DeepEval, G-Eval", "", (0, 10), '{\n    "score": 8,\n    "reason": "The output names 3 of 4 steps."\n}', 8),
    ("DeepEval, fenced", "", (0, 10), '```json\n{"score": 8, "reason": "It names all."}\n```', 8),
    ("AlpacaEval, a score", "", (1, 10), "Score: 8/10", 8),
    ("AlpacaEval, a score and a count", "", (1, 10), "It names 3 steps.\n\nScore: 8/10 and 2 misprints", 8),
    ("LlamaIndex, correctness", "", (1, 5), "4.0\nThe generated answer has the same metrics as the reference.", 4),
    ("LangChain, score string", "", (1, 10), "It is clear and correct.\n\nRating: [[10]]", 10),
    ("TruLens", "", (0, 10), "Criteria: It is relevant.\nSupporting Evidence: 2 of 3 claims.\nScore: 7", 7),
    ("TruLens", "", (0, 3), "3", 3),
    ("lm-evaluation-harness, a judge", "", (1, 10), "Rating: [[9]]", 9),
    ("OpenAI evals, a tag", "", (1, 5), "<score>2</score>", 2),
]
PIECES = st.sampled_from(
    [
        *"0123456789", "10", "2.5", "100", " ", "\n", ". ", ", ", "/5", "/10", " out of 5", "%", "-", "–", "Rating: ",
        "Score", "Coherence: ", "Fluency: ", "I would rate it ", "a ", "four", "one", " stars", "★★★☆☆", "评分：", "三",
        "分",
        "半", "给", "满分", "[[", "]]", "[RESULT] ", "\\boxed{", "}", "{", '"score": ', '"', "'", "```json\n", "| 4 |",
        "|---|",
        "<think>", "</think>", "<score>", "</score>", "**", "(", ")", "between ", " and ", "not ", "because",
        "I cannot rate",
        "N/A", "Evaluation Form (scores ONLY):", "1. ", "2. ", "GPT-4", "2015", "\0", "\ud800", "\u200b", "😀", "“",
        "”", ",",
    ]
)  # fmt: skip
WORDY = st.sampled_from(
    [
        "The summary follows the article and leaves nothing out.",
        "It could be better ordered, but every sentence is clear.",
        "This is because the answer names the cause and the effect.",
        "整体表达清楚，但是缺少例子。",
    ]
)
FORMS = [
    "{}", "{}.", " {}\n", "**{}**", "Rating: {}", "Score: {}", "Score = {}", "- Coherence: {}",
    "Coherence: {}/{high}", "{}/{high}",
    "{} out of {high}", "Rating: [[{}]]", "[RESULT] {}", "\\boxed{{{}}}", "<score>{}</score>", '{{"score": {}}}',
    '{{"score": "{}"}}',
    '```json\n{{\n  "coherence": {},\n}}\n```', "I would rate the coherence of this summary a {} out of {high}.",
    "评分：{}分",
    "我给{}分（满分{high}分）", "The summary is clear.\n\nFinal rating: {}",
    "| Aspect | Score |\n|---|---|\n| Coherence | {} |",
    "Therefore, I give it a score of {}.", "{}\n\nThe summary is clear.", "Rating: {}\n\nThe summary is clear.",
    "<think>Perhaps 3, or rather 2?</think>Rating: {}", "My rating is {} because the 2nd sentence is vague.",
    "1. It is short.\n2. It is right.\n\nScore: {}", "得分为{}。", "综上，连贯性评为{}分。",
    "Overall, it deserves a rating of {} (out of {high}).",
]  # fmt: skip


def got(verdict):
    if verdict.outcome == "scored":
        return verdict.value
    return "refused" if verdict.outcome == "refused" else verdict.kind


def read(row):
    scale = Scale(*row["scale"])
    return got(read_rating(row["text"], scale, name=row.get("name", ""), finish=row.get("finish", "stop")))


def test_replies_of_a_family_are_read_as_meant():
    assert_read_as_meant(REPLIES, LEAST, lambda row: read(row) == row["value"])


def test_every_outcome_stands_in_a_family():
    outcomes = {row["value"] for row in REPLIES if isinstance(row["value"], str)}
    assert outcomes == {"refused", "empty", "truncated", "out_of_scale", "ambiguous", "none"}


def test_no_rating_is_read_where_none_is_given():
    told = [row for row in REPLIES if isinstance(row["value"], str) and row["value"] != "ambiguous"]
    invented = [row["text"] for row in told if isinstance(read(row), float)]
    assert not invented


@pytest.mark.parametrize(("name", "scale", "text", "value"), [row[1:] for row in PUBLISHED])
def test_what_published_prompts_ask_for_is_read(name, scale, text, value):
    assert got(read_rating(text, Scale(*scale), name=name)) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The summary only mentions the date, resulting in a score of 2.", 2),
        ("The response covers all points, earning a 5.", 5),
        ("The text says nothing of the cause, which deserves a score of 1.", 1),
        ("According to the article the summary is right, so it gets a 4.", 4),
    ],
)
def test_a_sentence_that_reports_and_concludes_gives_its_rating(text, value):
    assert read_rating(text, Scale(1, 5)).value == value


@pytest.mark.parametrize("text", ["1. Curt", "1. Dull", "1. It is short.", "2. Terse", "3. Civil"])
def test_a_rating_that_opens_the_reply_is_read_whatever_its_value(text):
    assert read_rating(text, Scale(1, 5)).value == int(text[0])
    assert read_rating("1. It is short.\n2. It is clear.", Scale(1, 5)).value is None


@pytest.mark.parametrize("written", ["3.6667", "3.66667", "3.6666666666666665", "4.33333333"])
def test_decimals_of_any_length_are_read(written):
    assert read_rating(f"Rating: {written}", Scale(1, 5)).value == float(written)


@pytest.mark.parametrize(
    "text",
    [
        "It lacks the detail to make it a perfect 5.",
        "More detail is needed to be a 5.",
        "To be a 5, it would have to name the year.",
        "Had it named the year, it would be a 4.",
        'Rating: "4" or "5"',
        'Rating: "4" if the year counts',
        "评分理由：3个事实正确。",
    ],
)
def test_what_would_make_a_rating_is_none(text):
    assert read_rating(text, Scale(1, 5)).value is None


@pytest.mark.parametrize(
    "text",
    [
        "Rating: 3\n\nBreakdown:\n- Accuracy: 4\n- Completeness: 2\n- Style: 3",
        "Overall: 3\nClarity 5, depth 4, accuracy 4",
        "3\n\nBreakdown: accuracy 2/2, style 1/1, depth 1/2",
        "Score: 3 (accuracy: 2, clarity: 4)",
    ],
)
def test_a_breakdown_behind_the_rating_is_not_read_instead_of_it(text):
    assert read_rating(text, Scale(1, 5)).value == 3


@pytest.mark.parametrize(
    "listed",
    [
        "relevance - 2, coherence - 3, consistency - 1, readability - 4",
        "relevance – 2/5, coherence – 3/5, consistency – 1/5 and readability – 4/5",
        "relevance - 2, coherence - 3.5, consistency - 1, and readability - 4",
    ],
)
def test_each_aspect_of_a_list_in_one_line_has_its_own_number(listed):
    reply = f"The summary leaves out the dates. All in all, the ratings are as follows: {listed}."
    names = ("relevance", "consistency", "readability")
    assert [read_rating(reply, Scale(1, 5), name=name).value for name in names] == [2, 1, 4]
    reply = "I'd give (4) to fluency and (3) to coherence."
    assert [read_rating(reply, Scale(1, 5), name=name).value for name in ("fluency", "coherence")] == [4, 3]
    assert read_rating("Score on a scale of 1 - 5, with 5 as the best: 4", Scale(1, 5)).value == 4
    reply = "I would rate fluency a 4, but coherence is 2 while overall it is 3."
    assert [read_rating(reply, Scale(1, 5), name=name).value for name in ("coherence", "")] == [2, 3]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The summary is short and clear.\n\n3 - Good", 3),
        ("One of the facts is missing.\n5 (Excellent)", 5),
        ("It repeats 2 of the facts. 4 (on a scale of 1-5)", 4),
        ("There are errors in sentences 1 and 3. 2", 2),
        ("The summary names one of the facts.\n\nResponse: 3", 3),
        ("Output: 4\nExplanation: all 3 points are named.", 4),
        ("### Rating\n4 - The summary is clear.", 4),
    ],
)
def test_a_number_with_its_level_or_scale_closes_an_analysis(text, value):
    assert read_rating(text, Scale(1, 5)).value == value


@pytest.mark.parametrize(
    "text",
    [
        "If it named the year, it would be a 4.",
        "A perfect summary would score 5.",
        "Rating: The user asks for 3 examples and gets 2.",
        "Let me evaluate the coherence (1-5) of this summary.",
        "Response #2 is shorter.",
        "Response 3 is the longest.",
        "It names the sum: 2 + 2 equals 4.",
        "Well done! 🌟",
        "Scores: 4, 5, 3",
        "Points covered: 2, 3 and 5.",
        "⭐ It covers the text.",
    ],
)
def test_what_is_only_supposed_or_names_a_thing_is_no_rating(text):
    assert read_rating(text, Scale(1, 10)).outcome == "unparsed"


@pytest.mark.parametrize(
    ("value", "scale"),
    [("1", (1, 3)), ("2", (1, 5)), ("2.5", (1, 5)), ("5", (1, 5)), ("7", (1, 10)), ("0", (0, 4)), ("85", (0, 100))],
)
def test_a_known_form_never_changes_the_value(value, scale):
    texts = [form.format(value, high=scale[1]) for form in FORMS]
    read = {text: got(read_rating(text, Scale(*scale), name="Coherence")) for text in texts}
    assert {text: found for text, found in read.items() if found != float(value)} == {}


@given(
    st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=30).map("".join)),
    st.sampled_from(["", "Coherence", "连贯性", "(", "a b"]),
)
def test_any_text_is_read_without_an_error_and_what_is_scored_stands_there(text, name):
    scale = Scale(1, 5)
    verdict = read_rating(text, scale, name=name)
    assert verdict == read_rating(text, scale, name=name)
    assert (verdict.outcome == "scored") == (verdict.value is not None) == (verdict.span is not None)
    assert (verdict.outcome == "unparsed") == bool(verdict.kind)
    if verdict.span:
        start, end = verdict.span
        assert 1 <= verdict.value <= 5
        assert stands(text[start:end], verdict.value)


def stands(written, value):
    """Whether the text of a verdict writes its value; marks of emphasis may stand inside."""
    from steelyard.replies.clean import fold

    plain = fold(written).strip().lower()
    if any(star in plain for star in "★⭐🌟"):
        return abs(sum(character in "★⭐🌟" for character in plain) - value) <= 0.5
    half = any(mark in plain for mark in ("½", "半", "half"))
    first = plain.split()[0].rstrip("½半").replace("分", "").replace("星", "").lstrip("+")
    return value_of(first if first in WORDS or first else plain) + (0.5 if half else 0) == value


RATED = [
    row
    for row in REPLIES
    if "finish" not in row and '"' not in row["text"] and "|--" not in row["text"] and read(row) == row["value"]
    if not isinstance(row["value"], str)
]


@given(st.sampled_from(RATED), WORDY)
def test_an_explanation_without_numbers_never_changes_a_rating(row, words):
    assert read({**row, "text": f"{row['text']}\n\n{words}"}) == row["value"]


@given(st.text(max_size=60).filter(lambda text: not any(character.isnumeric() for character in text)))
def test_a_text_without_any_number_is_never_scored(text):
    if not any(word in text.lower() for word in WORDS) and not any(star in text for star in "★⭐🌟"):
        assert read_rating(text, Scale(1, 5)).outcome != "scored"


@pytest.mark.parametrize(
    "text",
    [
        "9" * 200_000, "Rating: " * 25_000, "[" * 200_000, "(" * 200_000, "-" * 200_000, " " * 200_000, "\n" * 200_000,
        "评分给分" * 50_000, "三" * 200_000, '{"a":' * 40_000, "4 " * 100_000, "4 to " * 40_000, "1. x\n" * 40_000,
        "|4|4|\n|--|--|\n" * 13_000, "<think>" * 28_000, "</think>" * 25_000, "I would rate " * 15_000, "★" * 200_000,
        "(4" * 100_000, '"' * 200_000, "not " * 50_000, "很好，" * 60_000, "score of " * 22_000, '\\"' * 100_000,
    ],
    ids=lambda text: repr(text[:12]),
)  # fmt: skip
def test_hostile_texts_of_200_kilobytes_are_read_to_an_outcome(text):
    verdict = read_rating(text, Scale(0, 4), name="Coherence", finish="length")
    assert verdict.outcome == "unparsed" or 0 <= verdict.value <= 4


def test_the_work_is_bounded_by_a_window_and_a_count_of_numbers():
    filling = "The summary names 3 facts. " * 700
    verdict = read_rating("Rating: 4\n" + filling, Scale(1, 5))
    longer = read_rating("Rating: 4\n" + filling * 50, Scale(1, 5))
    assert (verdict.value, verdict.span) == (longer.value, longer.span) == (4, (8, 9))
    assert len(numbers("4 " * 5_000)) <= 100


@pytest.mark.parametrize("text", ["4", " 4.5\n", "Coherence: 4", "- Coherence: 4", "Score = 3", "4/5", "2 out of 5."])
def test_a_bare_number_is_read_as_the_same_with_an_empty_line_of_emphasis_is(text):
    bare, closer = (read_rating(reply, Scale(1, 5), name="Coherence") for reply in (text, f"{text}\n**"))
    assert (bare.value, bare.span, bare.form) == (closer.value, closer.span, closer.form)


def test_a_refusal_is_told_from_a_limit():
    assert is_refusal("I cannot evaluate this summary.")
    assert not is_refusal("It cannot be rated higher than 3.")


def test_the_span_leads_back_to_the_reply_as_it_came():
    text = "<think>5?</think>\n**评分**：４分，理由充分。"
    verdict = read_rating(text, Scale(1, 5))
    assert text[slice(*verdict.span)] == "４"


def test_the_span_of_a_long_reply_lies_behind_its_middle():
    text = "The summary is clear. " * 5000 + "\n\nFinal rating: 4"
    verdict = read_rating(text, Scale(1, 5))
    assert (verdict.value, text[slice(*verdict.span)]) == (4, "4")


def test_the_reason_is_the_reply_without_its_verdict():
    assert read_rating("Rating: 4\n\nIt is clear.", Scale(1, 5)).reason == "It is clear."
    assert read_rating("It is clear.\n\n**Score: 4**", Scale(1, 5)).reason == "It is clear."
    assert read_rating('{"score": 2, "reason": "One claim is false."}', Scale(1, 5)).reason == "One claim is false."
    assert read_rating("Rating: 9", Scale(1, 5)) == Verdict("unparsed", kind="out_of_scale")


def test_a_digit_at_a_cut_may_be_the_first_of_two():
    assert read_rating("Score: 8", Scale(0, 100), finish="length").kind == "truncated"
    assert read_rating("Score: 8", Scale(0, 100)).value == 8
    assert read_rating("Score: 8", Scale(1, 10), finish="length").value == 8


@pytest.mark.parametrize(("low", "high"), [(5, 1), (1, 1), (float("nan"), 5), (1, float("inf"))])
def test_a_scale_runs_from_a_lower_to_a_higher_number(low, high):
    with pytest.raises(ValueError, match="scale runs from"):
        Scale(low, high)
