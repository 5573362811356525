import pytest

from steelyard.data.columns import find_layout
from steelyard.data.headers import Role, normalized
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import Row, Table
from steelyard.errors import ConfigError, DataError

ROLES = (
    Role("question"),
    Role("options", several=True),
    Role("answer", likeness=lambda text: float(text in set("ABCDE"))),
    Role("group", required=False),
    Role("id", required=False, by_position=False),
)


def grid(*rows):
    return Table("t.xlsx", lambda: iter([Row(number, list(row)) for number, row in enumerate(rows, 1)]), sheet="s")


def layout(*rows, columns=None, header="auto", roles=ROLES):
    return find_layout(grid(*rows), roles, SampleFiles("t.xlsx", columns=columns or {}, header=header))


HEADER = ("题目", "A", "B", "C", "D", "答案", "类别")
BODY = ("乾卦象征什么", "天", "地", "雷", "风", "A", "卦象")
WANTED = {"question": (0,), "options": (1, 2, 3, 4), "answer": (5,), "group": (6,)}


@pytest.mark.parametrize(
    "header",
    [
        HEADER,
        ("Question", "Option A", "Option B", "Option C", "Option D", "Correct_Answer", "Category"),
        ("试题内容", "选项1", "选项2", "选项3", "选项4", "【正确答案】", "知识点"),
        (" 题干 ", "Ａ", "Ｂ", "Ｃ", "Ｄ", "标准答案：", "科目"),
        ("stem", "choice_0", "choice_1", "choice_2", "choice_3", "key", "topic"),
        ("问题", "a选项", "b选项", "c选项", "d选项", "答案", "章节"),
    ],
)
def test_headers_are_found_by_their_synonyms(header):
    found = layout(header, BODY)
    assert found.columns == WANTED
    assert found.header_row == 1


def test_one_header_spans_the_columns_of_options_with_or_without_a_row_of_letters():
    header = ("题目", "选项", "", "", "", "答案", "类别")
    found = layout(header, BODY)
    assert (found.columns, found.header_row) == (WANTED, 1)
    found = layout(header, ("", "A", "B", "C", "D", "", ""), BODY)
    assert (found.columns, found.header_row) == (WANTED, 2)
    one_cell = layout(("题目", "选项", "", "答案"), ("何为主刑", "A.死刑 B.罚金", "", "A"))
    assert one_cell.columns["options"] == (1,)


def test_a_title_and_blank_rows_above_are_not_the_header():
    found = layout(("周易题目与答案", *[""] * 6), [""] * 7, ("问题类别说明",), HEADER, BODY)
    assert (found.columns, found.header_row) == (WANTED, 4)


def test_a_leading_unnamed_index_column_is_no_role():
    found = layout(("", *HEADER), ("0", *BODY), ("1", *BODY))
    assert found.columns == {role: tuple(column + 1 for column in columns) for role, columns in WANTED.items()}


def test_without_a_header_columns_go_by_position():
    found = layout(BODY, BODY)
    assert (found.columns, found.header_row) == (WANTED, None)


def test_without_a_header_a_missing_group_is_seen_by_the_keys():
    found = layout(BODY[:6], BODY[:6])
    assert found.columns == {role: WANTED[role] for role in ("question", "options", "answer")}


def test_without_a_header_a_counting_first_column_is_left_out():
    found = layout(("1", *BODY), ("2", *BODY))
    assert found.columns["question"] == (1,)
    assert found.columns["answer"] == (6,)


def test_two_to_five_options_are_counted_by_position():
    assert layout(("q", "yes", "no", "B")).columns["options"] == (1, 2)
    assert layout(("q", "1", "2", "3", "4", "5", "E", "g")).columns["options"] == (1, 2, 3, 4, 5)


def test_rows_that_fit_no_arrangement_ask_for_names():
    with pytest.raises(ConfigError, match="no column for question and options and answer; no header was found"):
        layout(("just", "some", "words", "here"))


@pytest.mark.parametrize(
    "named",
    [
        {"question": "A", "options": "B:E", "answer": "F", "group": "G"},
        {"question": "题目", "options": ["A", "B", "C", "D"], "answer": "答案"},
        {"question": "题目", "options": "A:D", "answer": "答案"},
        # None is headed E, so B:E cannot mean the headers B and E, and must not mean the header B and the letter E.
        {"question": "题目", "options": "B:E", "answer": "答案"},
    ],
)
def test_letters_are_headers_beside_a_header_name_and_spreadsheet_columns_elsewhere(named):
    found = layout(HEADER, BODY, columns=named)
    assert found.columns == WANTED
    assert found.header_row == 1


def test_headers_that_no_synonym_knows_are_found_when_named():
    header = ("Aufgabe", "eins", "zwei", "Lösung")
    named = {"question": "Aufgabe", "options": "eins:zwei", "answer": "lösung"}
    found = layout(("Prüfung",), header, ("q", "x", "y", "A"), columns=named)
    assert found.columns == {"question": (0,), "options": (1, 2), "answer": (3,)}
    assert found.header_row == 2


def test_roles_that_are_not_named_are_found_by_their_headers():
    header = ("text", "A", "B", "答案")
    found = layout(header, ("q", "x", "y", "A"), columns={"question": "text"})
    assert found.columns == {"question": (0,), "options": (1, 2), "answer": (3,)}


def test_a_wrong_column_name_is_answered_with_those_found():
    with pytest.raises(ConfigError, match=r"no column 'Anser': did you mean 'Answer'\? Found: Question, A, B, Answer"):
        layout(("Question", "A", "B", "Answer"), ("q", "x", "y", "A"), columns={"answer": "Anser"})


def test_a_wrong_role_is_answered_with_the_right_one():
    with pytest.raises(ConfigError, match=r"there is no role 'qustion': did you mean 'question'\?"):
        layout(HEADER, columns={"qustion": "A"})


def test_one_column_with_two_roles_is_refused():
    with pytest.raises(ConfigError, match="column A is used for question and options"):
        layout(HEADER, BODY, columns={"question": "A", "options": "A:D", "answer": "F"})


def test_a_header_that_names_two_roles_by_words_says_which_one_it_lacks():
    header, row = ("id", "questio", "A", "B", "C", "D", "answer"), ("q1", "Which?", "w", "x", "y", "z", "A")
    with pytest.raises(
        ConfigError, match="no column for question; the columns found are id, questio, A, B, C, D, answer"
    ):
        layout(header, row, row)


def test_header_none_takes_the_first_row_for_data_and_a_number_names_the_row():
    assert layout(BODY, BODY, header="none").header_row is None
    found = layout(("note",), HEADER, BODY, header=2)
    assert (found.header_row, found.columns) == (2, WANTED)
    with pytest.raises(ConfigError, match="has no row 9"):
        layout(HEADER, BODY, header=9)


def test_a_missing_role_names_the_headers_that_are_there():
    with pytest.raises(ConfigError, match="no column for answer; the columns found are 题目, A, B, C"):
        layout(("题目", "A", "B", "C"), ("q", "x", "y", "z"))


def test_keys_of_json_are_found_and_named_like_headers():
    entries = [{"question": "q", "options": ["x", "y"], "correct_answer": "A", "type": "t"}]
    table = Table("t.jsonl", lambda: iter([Row(1, entries[0])]), "line", keyed=True)
    wanted = {"question": ("question",), "options": ("options",), "answer": ("correct_answer",), "group": ("type",)}
    assert find_layout(table, ROLES, SampleFiles("t.jsonl")).columns == wanted
    named = SampleFiles("t.jsonl", columns={"group": "question", "question": "type"})
    assert find_layout(table, ROLES, named).columns["question"] == ("type",)


def test_another_suite_may_ask_for_other_roles():
    roles = (Role("question"), Role("reference"))
    found = layout(("how many?", "3"), ("how long?", "4"), roles=roles)
    assert found.columns == {"question": (0,), "reference": (1,)}


def test_a_header_is_compared_without_width_case_and_punctuation():
    assert normalized("（正确）ＡNSWER_key") == "正确answerkey"


@pytest.mark.parametrize(
    ("header", "role", "cells"),
    [
        (("题目", "A", "B", "C", "D", "答案", "题目"), "question", ("t.xlsx s!A1", "t.xlsx s!G1")),
        (("题目", "A", "B", "C", "D", "答案", "题 目："), "question", ("t.xlsx s!A1", "t.xlsx s!G1")),
        (("Question", "A", "B", "C", "D", "Answer", "ANSWER "), "answer", ("t.xlsx s!F1", "t.xlsx s!G1")),
        (("question", "A", "B", "C", "D", "answer", "B"), "options", ("t.xlsx s!C1", "t.xlsx s!G1")),
        (("question", "A", "B", "C", "D", "答案(一)", "答案(二)"), "answer", ("t.xlsx s!F1", "t.xlsx s!G1")),
    ],
)
def test_a_header_that_stands_twice_and_that_a_role_uses_is_refused_with_both_cells(header, role, cells):
    with pytest.raises(ConfigError) as refused:
        layout(header, BODY)
    assert all(cell in str(refused.value) for cell in cells)
    assert f"either column may be the {role}" in str(refused.value)


def test_a_header_that_stands_twice_is_fine_where_no_role_uses_it():
    found = layout((*HEADER, "备注", "备注", "", ""), (*BODY, "x", "y", "", ""))
    assert found.columns == WANTED


def test_a_name_that_stands_twice_is_refused_with_both_cells_and_a_letter_says_which():
    header = ("t", "A", "B", "C", "D", "k", "t")
    names = {"question": "t", "options": "A:D", "answer": "k"}
    with pytest.raises(ConfigError, match=r"header 't' occurs twice, in t\.xlsx s!A1 and in t\.xlsx s!G1") as refused:
        layout(header, BODY, columns=names)
    assert "the question as A or G" in str(refused.value)
    letters = {"question": "G", "options": "B:E", "answer": "F"}
    assert layout(header, BODY, columns=letters, header=1).columns["question"] == (6,)


def test_an_exact_name_beside_one_that_only_resembles_it_is_meant():
    header = ("题目", "A", "B", "C", "D", "答案", "【题目】")
    names = {"question": "题目", "options": "A:D", "answer": "答案"}
    assert layout(header, BODY, columns=names).columns["question"] == (0,)


def test_two_keys_of_one_name_are_refused_and_a_named_one_is_meant():
    rows = [Row(1, {"question": "q", "A": "x", "B": "y", "answer": "A", "Answer": "B"})]
    table = Table("t.jsonl", lambda: iter(rows), "line", keyed=True)
    with pytest.raises(ConfigError, match="keys 'Answer' and 'answer' have the same name"):
        find_layout(table, ROLES, SampleFiles("t.jsonl"))
    named = SampleFiles("t.jsonl", columns={"answer": "Answer"})
    assert find_layout(table, ROLES, named).columns["answer"] == ("Answer",)


def test_a_key_that_only_a_late_object_has_gets_its_role():
    entries = [{"question": f"q{n}", "A": "x", "B": "y", "answer": "A"} for n in range(40)]
    entries[30]["category"] = "rain"
    table = Table("t.jsonl", lambda: (Row(n, entry) for n, entry in enumerate(entries, 1)), "line", keyed=True)
    assert find_layout(table, ROLES, SampleFiles("t.jsonl")).columns["group"] == ("category",)


def test_a_broken_line_behind_the_first_ones_is_left_to_whoever_reads_it():
    def rows():
        for n in range(1, 21):
            yield Row(n, {"question": f"q{n}", "A": "x", "B": "y", "answer": "A"})
        raise DataError("t.jsonl:21: no JSON")

    table = Table("t.jsonl", rows, "line", keyed=True)
    assert find_layout(table, ROLES, SampleFiles("t.jsonl")).columns["question"] == ("question",)
