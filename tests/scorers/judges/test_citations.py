"""Citation marks in answers, and whether the cited passages support their sentences, by a scripted server."""

from __future__ import annotations

import re

import pytest
from tests.scorers.judges.judge_server import judged, sample

from steelyard import ConfigError
from steelyard.constraints import check_options
from steelyard.replies.citations import read_citations
from steelyard.scorers.judges.citations import Citations, statements

FOUND = ("The gate is red.", "The wall is tall.", "The moat is deep.")


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Red [1].", [(1,)]),
        ("Red[1][3].", [(1,), (3,)]),
        ("Red [2, 5; 7].", [(2, 5, 7)]),
        ("Red [2-4].", [(2, 3, 4)]),
        ("Red 【2】。", [(2,)]),
        ("Red【4†source】.", [(4,)]),
        ("Red.[^3]", [(3,)]),
        ("Red (passage 2), (Sources 1, 3).", [(2,), (1, 3)]),
        ("大门是红的[资料2]。", [(2,)]),
        ("The answer is [5].", []),
        ("**Rating:** [4]\nIt rains [1].", [(1,)]),
        ("答案是【5】。", []),
        ("x = [3, 5]", []),
        ("The survey gave mixed results [1].", [(1,)]),
        ("According to [1], it rains.", [(1,)]),
        ("Refer to [3].", [(3,)]),
        ("It is [1] red, and the answer is [2] clear.", [(1,), (2,)]),
        ("费用上涨的结果[1]。", [(1,)]),
        ("In [2019] and (1) and [a] and [12345].", []),
        ("Red [9-2], [1-999].", [(9, 2), (1, 999)]),
    ],
)
def test_marks_are_read(text, numbers):
    assert [mark.numbers for mark in read_citations(text)] == numbers


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Red [1]. Tall.", [("Red.", (0,)), ("Tall.", ())]),
        ("Red. [1] Tall. [2]", [("Red.", (0,)), ("Tall.", (1,))]),
        ("[1] It is red.", [("It is red.", (0,))]),
        ("Is it? It is red [1].", [("It is red.", (0,))]),
        ("大门是红的[1]。墙很高[2]。", [("大门是红的。", (0,)), ("墙很高。", (1,))]),
        ("Red [1][1].", [("Red.", (0,))]),
        ("- [1]\n***", []),
        ("Summary:\n[1] It rains.\n[2] Wind blows.", [("It rains.", (0,)), ("Wind blows.", (1,))]),
        ("It rains.\n[1]\nWind blows.\n[2]", [("It rains.", (0,)), ("Wind blows.", (1,))]),
        ("Red.\r\n[1][2] It is tall.\r\n- [3] Deep.", [("Red.", ()), ("It is tall.", (0, 1)), ("- Deep.", (2,))]),
        (
            "[1] It rains on the hill and on the old castle\n[2] Wind blows",
            [("It rains on the hill and on the old castle", (0,)), ("Wind blows", (1,))],
        ),
        (
            "It rains on the hill and on the old castle\n[1] and in town.",
            [("It rains on the hill and on the old castle and in town.", (0,))],
        ),
        ("大门：\n[1]大门是红的。\n[2]墙很高。", [("大门是红的。", (0,)), ("墙很高。", (1,))]),
        ("According to [2]:\nIt is red.", [("It is red.", (1,))]),
        ("[1]: It is red.", [("It is red.", (0,))]),
    ],
)
def test_a_mark_belongs_to_the_sentence_that_it_stands_in_or_behind(answer, expected):
    assert [(stated.text, stated.cited) for stated in statements(answer, 3)] == expected


@pytest.mark.parametrize(
    "sources",
    [
        "Sources:\n[1] Handbook\n[2] Bulletin",
        "## Sources\n\n1. Handbook\n\n2. Bulletin [2]",
        "**References**\n- [1] Handbook, page 3. Second edition.",
        "Sources:\n* [1] Handbook\n  https://example.org\n* [2] Bulletin",
        "[^1]: Handbook\n[^2]: Bulletin,\n    second edition",
        "[1]: https://example.org/handbook",
        "Sources: [1] Handbook, [2] Bulletin",
        "参考资料：\n[1] 手册\n[2] 公报",
    ],
)
def test_a_list_of_sources_behind_the_text_is_dropped(sources):
    answer = f"It is red [1].\n\n{sources}\n\nIt is tall [2]."
    assert [(stated.text, stated.cited) for stated in statements(answer, 3)] == [
        ("It is red.", (0,)),
        ("It is tall.", (1,)),
    ]


def test_sources_named_by_their_marks_alone_belong_to_the_text_and_sources_asked_for_are_the_answer():
    for sources in ("Sources: [1], [3]", "(Source: [1][3])", "来源：【1】【3】"):
        [stated] = statements(f"It is red.\n{sources}", 3)
        assert (stated.text, stated.cited) == ("It is red.", (0, 2))
    assert [stated.cited for stated in statements("Sources:\n- Taxes [1].\n- Fees [2].", 3)] == [(0,), (1,)]


@pytest.mark.parametrize(
    "nothing",
    [
        "## Fees [3]",
        "The fees of the castle and of its gardens in summer:",
        "**Fees:**",
        "| Fee | Age [3] |\n|---|:-:|",
        "```python\nred = items[2]\n# It is tall.\n```",
        "~~~\nIt is tall [2].\n~~~",
        "`items[2]`",
    ],
)
def test_headings_and_code_state_nothing(nothing):
    answer = f"It is red [1].\n\n{nothing}\nIt is tall [2]."
    assert [(stated.text, stated.cited) for stated in statements(answer, 3)] == [
        ("It is red.", (0,)),
        ("It is tall.", (1,)),
    ]


def test_inline_code_holds_no_marks_and_rows_of_tables_are_statements():
    [stated] = statements("The gate is `items[2]` [1].", 3)
    assert (stated.text, stated.cited) == ("The gate is `items[2]`.", (0,))
    assert [stated.cited for stated in statements("|Gate|Fee|\n|-|-|\n|Red|5 [1]|\n|Old|6 [2]|", 3)] == [(0,), (1,)]


@pytest.mark.parametrize("text", ["It rains [1]. ", "[1] It rains.\n", "[1] " * 5 + "It rains.\n"])
def test_an_answer_of_many_marks_is_read_in_time(text):
    assert len(statements(text * 8_000, 3)) == 8_000


def looks(asked):
    """A judge that looks: each word of colour or size must stand in the passages that a line names."""
    passages = dict(re.findall(r"<passage (\d) \w+>\n(.*?)\n</passage", asked.prompt, re.DOTALL))
    lines = re.findall(r"^(\d+)\. \(passage ([\d, ]+)\) (.*)$", asked.prompt, re.MULTILINE)
    lines = [line for line in lines if "opens at nine" not in line[2]]

    def verdict(numbers, text):
        named = " ".join(passages[number] for number in numbers.split(", "))
        return "YES" if all(word in named for word in ("red", "tall", "deep") if word in text) else "NO"

    return "\n".join(f"{no}. Verdict: {verdict(numbers, text)}" for no, numbers, text in lines)


def cited(answer, found=FOUND, make=Citations, reply=looks, **more):
    return judged(make, sample(answer, "What is the castle like?", found=list(found)), reply, **more)


def values(judgement):
    return [judgement.scores["fr"][name].value for name in ("citation_precision", "citation_recall")]


@pytest.mark.parametrize(
    ("answer", "precision", "recall"),
    [
        ("It is red [1]. It is tall [2].", 1.0, 1.0),
        ("It is red [2]. It is tall [2].", 0.5, 0.5),
        ("It is red and tall [1][2].", 1.0, 1.0),  # neither alone, both needed
        ("It is red [1][3].", 0.5, 1.0),  # the third has no part in it
        ("It is red [2][3].", 0.0, 0.0),
        ("It is red, tall [1][2][3].", 2 / 3, 1.0),
        ("It is red [1]. It is tall.", 1.0, 0.5),  # uncited
        ("It is red [1][9].", 0.5, 1.0),  # there is no ninth passage
        ("It is red [7].", 0.0, 0.0),
        ("## Castle\nIn short:\n[1] It is red.\n[2] It is tall.\n\nSources:\n[1] A\n[2] B", 1.0, 1.0),
    ],
)
def test_precision_is_of_citations_and_recall_of_statements(answer, precision, recall):
    assert values(cited(answer)) == [pytest.approx(precision), recall]


def test_an_answer_without_marks_has_no_precision_and_a_recall_of_0_without_a_call():
    judgement = cited("It is red. It is tall.")

    assert values(judgement) == [None, 0.0]
    assert judgement.scores["fr"]["citation_precision"].outcome == "not_applicable"
    assert judgement.asked == []


def test_numbers_may_begin_at_0():
    assert values(cited("It is red [0].", make=lambda judge: Citations(judge, first=0))) == [1.0, 1.0]
    with pytest.raises(ConfigError, match="first"):
        check_options(Citations(first=2))


def test_only_cited_passages_are_shown_under_their_own_numbers():
    [prompt] = cited("It is deep [3].").prompts

    assert re.search(r"<passage 3 \w{12}>\nThe moat is deep\.", prompt)
    assert "The wall is tall." not in prompt
    assert "1. (passage 3) It is deep." in prompt


def test_passages_beyond_a_window_are_asked_about_in_further_calls_and_those_of_a_statement_together():
    found = [f"{text} {'It stands. ' * 20}" for text in FOUND]
    make = lambda judge: Citations(judge, window_tokens=80)  # noqa: E731
    judgement = cited("It is red [1]. It is tall and deep [2][3].", found, make)

    assert values(judgement) == [1.0, 1.0]
    assert [prompt.count("\n<passage ") for prompt in judgement.prompts] == [1, 2]


def test_a_citation_without_any_passage_is_wrong_unless_the_target_returns_none_at_all():
    several = [
        sample("It is red [1].", "The gate?", no="a", found=[FOUND[0]]),
        sample("It is red [1].", "The wall?", no="b"),
    ]
    result = judged(Citations, several, looks).scores
    assert [score.value for score in result["b"].values()] == [0.0, 0.0]
    assert {score.outcome for score in judged(Citations, several[1], looks).scores["b"].values()} == {"not_applicable"}


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (" ", FOUND),
        ("It is red.", ()),
        ("I do not know.", ()),
        ("I do not know.", FOUND),
        ("The documents do not mention the price [1].", FOUND),
        ("## Fees", FOUND),
    ],
)
def test_blank_answers_abstentions_and_those_without_passages_and_marks_do_not_apply(answer, found):
    judgement = cited(answer, found)

    assert {score.outcome for score in judgement.scores["fr"].values()} == {"not_applicable"}
    assert judgement.asked == []


def test_a_verdict_that_cannot_be_read_makes_the_scores_unparsed():
    judgement = cited("It is red [1]. It is tall [2].", reply=lambda asked: "1. Verdict: YES")

    assert {score.outcome for score in judgement.scores["fr"].values()} == {"unparsed"}


def test_a_citation_that_the_support_needs_is_right_though_its_own_verdict_cannot_be_read():
    replies = "1. YES\n3. NO\n4. NO\n5. NO\n6. NO\n7. NO"  # all three; each alone, the first unreadable; each pair

    assert values(cited("It is red, tall and deep [1][2][3].", reply=lambda asked: replies)) == [1.0, 1.0]


def test_repeats_are_averaged():
    replies = iter(["1. YES", "1. NO"])
    judgement = cited("It is red [1].", reply=lambda asked: next(replies), judge={"repeats": 2})

    assert values(judgement) == [0.5, 0.5]


def test_a_chinese_answer_gets_the_chinese_prompt():
    of = sample("大门是红的[1]。", "大门是什么颜色？", found=["大门是红的。"])
    judgement = judged(Citations, of, lambda asked: "1. 资料1说是红的。结论：是")

    assert values(judgement) == [1.0, 1.0]
    assert "1. (passage 1) 大门是红的。" in judgement.prompts[0]
