"""Whether an answer is supported by its contexts, by create and refine, judged by a scripted server."""

from __future__ import annotations

import asyncio
import re

import pytest
from tests.loopback import peer
from tests.loopback import said as spoken
from tests.scorers.judges.judge_server import answer_of_the_sample, judged, said, sample

from steelyard import OpenAICompatible, aevaluate
from steelyard.scorers.judges.faithfulness import Faithfulness
from steelyard.scorers.judges.judge import Judge

LONG = tuple(f"Passage {letter}. " + "It tells of the tower. " * 12 for letter in "abc")


def faithfulness(*replies, found=("Paris is the capital of France.",), tokens=100, answer="Paris", **more):
    """What the judge was asked and said, the replies given in order of arrival."""
    given = iter(replies)
    of = sample(answer, found=list(found))
    return judged(lambda judge: Faithfulness(judge, tokens), of, lambda asked: next(given), **more)


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("YES", 1.0),
        ("YES\nThe passage says so.", 1.0),
        ("No, yesterday's report says otherwise.", 0.0),
        ("**NO**\nThe eyes of the passage are elsewhere: yes, it never says it.", 0.0),
        ("Verdict: yes", 1.0),
        ("是\n资料中有。", 1.0),
    ],
)
def test_the_verdict_is_read_and_not_searched_for(reply, value):
    score = faithfulness(reply).only

    assert score.value == value
    assert score.passed is (value == 1.0)


def test_contexts_that_fit_one_window_are_asked_about_once():
    judgement = faithfulness("YES", found=("Paris is the capital.", "Rome is not."))

    assert len(judgement.asked) == 1
    [first, second] = re.findall(r"\n<passage \d \w{12}>\n.*\n</passage \d \w{12}>\n", judgement.prompts[0])
    assert re.fullmatch(r"\n<passage 1 (\w{12})>\nParis is the capital.\n</passage 1 \1>\n", first)
    assert re.fullmatch(r"\n<passage 2 (\w{12})>\nRome is not.\n</passage 2 \1>\n", second)


def test_a_further_window_can_turn_no_into_yes_and_ends_there():
    judgement = faithfulness("NO\nThe year is missing.", "YES\nNow it is there.", found=LONG)

    assert judgement.only.value == 1.0
    assert len(judgement.asked) == 2
    assert judgement.only.detail["trace"] == [
        {"contexts": [1], "verdict": "no", "reason": "The year is missing.", "outcome": "scored"},
        {"contexts": [2], "verdict": "yes", "reason": "Now it is there.", "outcome": "scored"},
    ]


def test_an_answer_that_no_window_supports_is_unsupported():
    judgement = faithfulness("NO", "NO", "NO\nNone of them says it.", found=LONG)

    assert judgement.only.value == 0.0
    assert [step["contexts"] for step in judgement.only.detail["trace"]] == [[1], [2], [3]]


def test_a_further_window_is_shown_with_the_reasons_so_far_and_its_own_contexts_alone():
    judgement = faithfulness("NO\nOnly the year is missing.", "YES", found=LONG)

    first, second = judgement.prompts
    assert "Only the year is missing." in second
    assert "Passage b." in second
    assert "Passage a." not in second
    assert "So far the verdict is NO" in second
    assert "So far" not in first


def test_a_chinese_answer_is_refined_in_chinese():
    given = iter(["否\n没有提到年份。", "是\n补上了。"])
    of = sample("塔建于一一二〇年。", "塔建于哪一年？", found=["塔在山上。" * 30, "塔建于一一二〇年。" * 20])
    judgement = judged(lambda judge: Faithfulness(judge, 200), of, lambda asked: next(given))

    assert judgement.only.value == 1.0
    assert "目前的判断是“否”" in judgement.prompts[1]


def test_a_step_that_cannot_be_read_counts_for_nothing_where_another_says_yes():
    judgement = faithfulness("Well.", "YES", found=LONG)

    assert judgement.only.value == 1.0
    assert [step["outcome"] for step in judgement.only.detail["trace"]] == ["unparsed", "scored"]


def test_a_step_that_cannot_be_read_might_have_been_yes():
    judgement = faithfulness("NO", said("Let me see whether", finish="length"), "NO", found=LONG)

    assert judgement.only.outcome == "unparsed"
    assert judgement.only.detail["kind"] == "truncated"
    assert judgement.only.value is None


def test_where_no_step_was_read_the_next_window_is_asked_as_the_first():
    judgement = faithfulness("Well.", "NO", "NO", found=LONG)

    assert ["So far the verdict is NO" in prompt for prompt in judgement.prompts] == [False, False, True]
    assert judgement.only.detail["kind"] == "none"


@pytest.mark.parametrize("reply", ["Partially.", "YES and NO, it depends."])
def test_a_verdict_in_between_is_ambiguous(reply):
    assert faithfulness(reply).only.detail["kind"] == "ambiguous"


@pytest.mark.parametrize("contexts", [(), ("", " \n")])
@pytest.mark.parametrize(("reply", "claims"), [("Verdict: YES", True), ("Verdict: NO", False)])
def test_what_is_claimed_without_contexts_is_marked(contexts, reply, claims):
    """The run has no other record, so that in the end the score does not apply."""
    judgement = faithfulness(reply, found=contexts)

    assert judgement.only.outcome == "not_applicable"
    assert judgement.only.detail.get("nothing_retrieved", False) is claims
    assert len(judgement.asked) == 1


def test_a_reply_without_a_verdict_on_the_claims_is_unparsed():
    assert faithfulness("Perhaps.", found=()).only.outcome == "unparsed"


@pytest.mark.parametrize("answer", ["I do not know.", "抱歉，资料中没有提到。"])
def test_an_abstention_without_contexts_needs_no_call(answer):
    judgement = faithfulness("YES", found=(), answer=answer)

    assert (judgement.only.outcome, judgement.asked) == ("not_applicable", [])


def test_a_blank_answer_claims_nothing():
    judgement = faithfulness("YES", answer=" ")

    assert judgement.only.outcome == "not_applicable"
    assert "no claims" in judgement.only.reason
    assert judgement.asked == []


def test_repeats_repeat_the_whole_procedure():
    def reply(asked):
        return "NO\nIt is missing." if "Passage a." in asked.prompt else "YES"

    of = sample(found=list(LONG))
    judgement = judged(lambda judge: Faithfulness(judge, 100), of, reply, judge={"repeats": 3})

    assert judgement.only.value == 1.0
    assert judgement.only.detail["sd"] == 0.0
    assert judgement.only.detail["flip_rate"] == 0.0
    assert [step["repeat"] for step in judgement.only.detail["trace"]] == [1, 1, 2, 2, 3, 3]
    assert len(judgement.asked) == 6


def test_the_majority_of_repeats_is_taken_and_how_sure_it_is_is_kept():
    judgement = faithfulness("YES", "YES", "NO", judge={"repeats": 3})

    assert judgement.only.value == 1.0
    assert judgement.only.passed is True
    assert judgement.only.detail["how"] == "majority of 3 repeats"
    assert judgement.only.detail["sd"] == pytest.approx(3**-0.5)
    assert judgement.only.detail["flip_rate"] == pytest.approx(1 / 3)


def test_a_draw_of_repeats_is_no():
    judgement = faithfulness("YES", "NO", judge={"repeats": 2})

    assert judgement.only.value == 0.0
    assert judgement.only.passed is False


def test_a_second_run_finds_every_repeat_in_the_journal_where_the_first_had_it():
    refined = iter(["YES\nOne.", "NO\nTwo.", "YES\nThree.", "NO\nFour."])
    answered = [asyncio.Event() for _ in range(5)]
    answered[4].set()

    async def answer(no, asked):
        if "So far the verdict is NO" in asked.prompt:
            return spoken(next(refined))
        await answered[no + 1].wait()  # the first repeat's reply comes last
        answered[no].set()
        return spoken("NO\nThe same for all.")

    async def work():
        async with peer(answer) as server:
            scorer = Faithfulness(Judge(OpenAICompatible("judge", server.url), repeats=4), 100)
            of = sample(found=list(LONG[:2]))
            runs = [await aevaluate(answer_of_the_sample, [of], [scorer]) for _ in range(2)]
            return runs, len(server.asked)

    (first, again), asked = asyncio.run(work())

    assert asked == 8
    traces = [[record.scores[0].detail["trace"] for record in run.records()] for run in (first, again)]
    assert traces[0] == traces[1]
