"""The lists that models write."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.text.listed import distinct_texts, read_list, read_listing

LISTS = [
    (
        "Sure, here are 10 questions:\n1. Who wrote Emma?\n2. When was it published?\n",
        ["Who wrote Emma?", "When was it published?"],
    ),
    ("1) Who?\n2) When?\n", ["Who?", "When?"]),
    ("(1) Who?\n(2) When?\n", ["Who?", "When?"]),
    ("Q1: Who?\nQ2: When?\n", ["Who?", "When?"]),
    ("Question 1: Who?\n\nQuestion 2: When?\n", ["Who?", "When?"]),
    ("**Question 1:** Who?\n\n**Question 2:** When?\n", ["Who?", "When?"]),
    ("**Q1.** Who?\n**A1.** Me.\n**Q2.** When?\n**A2.** Now.", ["Who?", "When?"]),
    ("问题1：谁写了《红楼梦》？\n问题2：写于何时？", ["谁写了《红楼梦》？", "写于何时？"]),
    (
        "以下是10个问题：\n1、谁写了《红楼梦》？\n2、写于何时？\n\n希望这些问题对您有帮助！",
        ["谁写了《红楼梦》？", "写于何时？"],
    ),
    ("① 天\n② 地", ["天", "地"]),
    ("一、天是什么？\n二、地是什么？\n三、人呢？", ["天是什么？", "地是什么？", "人呢？"]),
    ("- Paris is in France.\n- It has two million people.\n", ["Paris is in France.", "It has two million people."]),
    (
        "Here are the claims:\n\n* Paris is in France.\n* It is big.\n\nLet me know if you need more!",
        ["Paris is in France.", "It is big."],
    ),
    ("Paris is in France.\nIt has two million people.", ["Paris is in France.", "It has two million people."]),
    (
        "Here are the claims\nParis is in France.\nIt has two million people.",
        ["Paris is in France.", "It has two million people."],
    ),
    ("Based on the context provided, the questions are:\nWho wrote it?\nWhen?", ["Who wrote it?", "When?"]),
    ('["Who?", "When?"]', ["Who?", "When?"]),
    ('```json\n["Who?", "When?"]\n```', ["Who?", "When?"]),
    ('Sure!\n```json\n[\n  "Who?",\n  "When?",\n  "Whe', ["Who?", "When?"]),
    ('[{"question": "Who?"}, {"question": "When?"}]', ["Who?", "When?"]),
    ('{"claims": ["a b", "c d"]}', ["a b", "c d"]),
    ('{"claims": ["a b", "c d", "e', ["a b", "c d"]),
    ('{"claims": [{"claim": "a b", "source": "p1"}, {"claim": "c d", "source":"p2"}]}', ["a b", "c d"]),
    ("['It is big.', \"It's old.\"]", ["It is big.", "It's old."]),
    ('{"question": "Who?"}\n{"question": "When?"}', ["Who?", "When?"]),
    ('{"1": "Who?", "2": "When?"}', ["Who?", "When?"]),
    ("[]", []),
    ("None", []),
    ("No claims", []),
    ("无", []),
    ("There are no verifiable claims in this text.", []),
    ('{"claims": []}', []),
    ("没有可验证的陈述。", []),
    ("- None", []),
    ("Claims:\nNone", []),
    ("The answer does not contain any factual claims.", []),
    (
        "1. What is the long question that\nwraps onto a second line?\n2. When?",
        ["What is the long question that wraps onto a second line?", "When?"],
    ),
    ("1. 这是一个很长的\n问题吗？\n2. 是吗？", ["这是一个很长的问题吗？", "是吗？"]),
    ("Sure! Here are three: 1. Who? 2. When? 3. Where?", ["Who?", "When?", "Where?"]),
    ("1. Who? 2. When? 3. Where?", ["Who?", "When?", "Where?"]),
    ("1.\nWho wrote it?\n\n2.\nWhen?", ["Who wrote it?", "When?"]),
    (
        "## Questions\n\n1. **Who wrote Emma?**\n2. **When?**\n\n---\nThese questions cover the whole text.",
        ["Who wrote Emma?", "When?"],
    ),
    ("1. Easy questions:\n- Who?\n- When?\n2. Hard questions:\n- Why?", ["Who?", "When?", "Why?"]),
    ('1. "Who wrote Emma?"\n2. "When?"', ["Who wrote Emma?", "When?"]),
    ("I'm sorry, but I can't help with that.", []),
    ("", []),
    ("<think>1. Who?</think>\n1. When?", ["When?"]),
    ("<think>1. Who?", []),
    (
        "1. In 1.5 million years, what happens?\n2. 12:30 is when?",
        ["In 1.5 million years, what happens?", "12:30 is when?"],
    ),
    ("1984 was written by whom?\nWho wrote Emma?", ["1984 was written by whom?", "Who wrote Emma?"]),
    ("1. Who?\n1. Who?", ["Who?", "Who?"]),
    ("[1] Who?\n[2] When?", ["Who?", "When?"]),
    ("Claim 1: Paris is big.\nClaim 2: Rome is old.", ["Paris is big.", "Rome is old."]),
    ("Question: Who?\nQuestion: When?", ["Who?", "When?"]),
    ("The company has never had a claim.", ["The company has never had a claim."]),
    ("该公司没有发表声明。", ["该公司没有发表声明。"]),
    ("1. Who wrote it?\n   - Hint: an Englishwoman\n2. When?", ["Who wrote it? - Hint: an Englishwoman", "When?"]),
    (
        "Certainly! Here are questions a teacher could ask:\n\n1. Who?\n2. When?\n\nNote: there is no more.",
        ["Who?", "When?"],
    ),
    ("步骤1：阅读文本\n步骤2：比较", ["阅读文本", "比较"]),
    ("Step 1: Read the text.\nStep 2: Compare.", ["Read the text.", "Compare."]),
    (
        "1. Read the summary carefully.\n2. Compare it:\n   a) main topic\n   b) key points\n3. Assign a score.",
        ["Read the summary carefully.", "Compare it: a) main topic b) key points", "Assign a score."],
    ),
    ("好的，以下是问题：\n谁写的？\n什么时候写的？", ["谁写的？", "什么时候写的？"]),
    ("第1题：谁写的？\n第2题：何时？", ["谁写的？", "何时？"]),
]

NOTHING = [
    "[]",
    "None",
    "No claims",
    "无",
    "There are no verifiable claims in this text.",
    '{"claims": []}',
    "没有可验证的陈述。",
    "- None",
    "Claims:\nNone",
    "The answer does not contain any factual claims.",
    "文中没有可核实的陈述。",
    "无可验证的主张",
    "No factual claims were made.",
    "N/A",
]


@pytest.mark.parametrize(("text", "expected"), LISTS)
def test_a_list_is_read_without_what_stands_around_it(text, expected):
    assert list(read_list(text)) == expected


@pytest.mark.parametrize("text", NOTHING)
def test_an_empty_list_that_was_said_is_told_from_none(text):
    assert read_listing(text).entries == ()
    assert read_listing(text).empty_said


@pytest.mark.parametrize(
    "text", ["", "I'm sorry, but I can't help with that.", "<think>1. Who?", '["Who', '{"claims": ']
)
def test_where_no_list_can_be_read_nothing_is_claimed(text):
    assert read_listing(text).entries == ()
    assert not read_listing(text).empty_said


def test_at_most_so_many_entries_are_given():
    assert read_list("1. a\n2. b\n3. c", most=2) == ("a", "b")


def test_texts_that_differ_in_case_width_and_punctuation_only_are_the_same():
    assert distinct_texts(["Who wrote Emma?", "who wrote  emma", "ＷＨＯ wrote 'Emma'?!", "Who?"]) == (
        "Who wrote Emma?",
        "Who?",
    )
    assert distinct_texts(["是谁？", "是谁", "他是谁？"]) == ("是谁？", "他是谁？")


@pytest.mark.parametrize(
    "pair", [("Is it 1.5?", "Is it 15?"), ("x = -1", "x = 1"), ("C", "C#"), ("a < b", "a > b"), ("5%", "5"), ("?", "!")]
)
def test_texts_that_mean_something_else_are_kept(pair):
    assert distinct_texts(pair) == pair


ENTRY = st.text(alphabet="abcdefghij xyz", min_size=1, max_size=40).map(lambda text: f"What is {text.strip()}x?")


@given(
    st.lists(ENTRY, min_size=1, max_size=30),
    st.sampled_from(["{n}. {e}", "{n}) {e}", "({n}) {e}", "Q{n}: {e}", "{n}、{e}", "- {e}", "**{n}.** {e}"]),
)
def test_every_entry_comes_back_in_order_whatever_its_mark(entries, mark):
    text = "\n".join(mark.format(n=number, e=entry) for number, entry in enumerate(entries, 1))
    assert read_list(f"Sure, here they are:\n{text}\n\nLet me know if you need more.") == tuple(entries)


@given(st.lists(ENTRY, min_size=1, max_size=10), st.data())
def test_a_list_in_json_that_broke_off_gives_its_whole_entries(entries, data):
    whole = json.dumps(entries)
    cut = data.draw(st.integers(2, len(whole)))
    found = read_list(whole[:cut])
    assert found == tuple(entries[: len(found)])
    assert len(found) >= whole[:cut].count('", "')


@given(st.text())
def test_no_text_raises(text):
    assert all(one.strip() for one in read_list(text))
    assert len(distinct_texts([text, text])) == 1


@pytest.mark.parametrize(
    "piece",
    [
        "1. ",
        "1",
        "- ",
        "[",
        '["',
        '{"a":',
        "{",
        "\n",
        " ",
        "1. a 2. b ",
        "**",
        "无",
        "Q1: ",
        '"a",',
        "```\n",
        "1. yes\n",
        "a a\n",
        "1. a" + "\nb" * 5000,
    ],
)
def test_hostile_text_is_read_in_time_that_grows_with_its_length(piece):
    def seconds(count):
        text = piece * (count // len(piece))
        start = time.process_time()
        read_list(text)
        return time.process_time() - start

    assert seconds(200_000) < 2 + 30 * seconds(20_000)


def test_a_reply_of_megabytes_is_read_as_far_as_a_list_may_go():
    claims = "\n".join(f"{number}. It rained on day {number}." for number in range(1, 100_000))
    assert read_list(claims, most=2) == ("It rained on day 1.", "It rained on day 2.")
