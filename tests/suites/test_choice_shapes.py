"""Shapes of exam files: options in the question's cell or one a row, true or false by the key, kept duplicates."""

import json

import openpyxl
import pytest

from steelyard.data.sample_files import SampleFiles
from steelyard.errors import ConfigError, DataError
from steelyard.scorers.choice import Choice
from steelyard.suites.choice.keys import read_key
from steelyard.suites.choice.options import cut_question
from steelyard.suites.choice.orders import rotated
from steelyard.suites.choice.rows import examine_choice, load_choice
from steelyard.types import Output, Sample

PLANETS = ["太阳", "火星", "月球", "彗星"]


def rows_of(rows, **fields):
    return load_choice(SampleFiles.of(rows, **fields))


def csv(tmp_path, *lines, **fields):
    (tmp_path / "exam.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return SampleFiles(tmp_path / "exam.csv", **fields)


def read(files):
    return [(sample.input, sample.choices, sample.reference) for sample in load_choice(files).samples]


@pytest.mark.parametrize(
    ("cell", "stem", "texts"),
    [
        ("哪个是行星？\nA. 太阳\nB. 火星\nC. 月球", "哪个是行星？", ["太阳", "火星", "月球"]),
        ("哪个是行星？ A.太阳 B.火星 C.月球", "哪个是行星？", ["太阳", "火星", "月球"]),
        ("哪个是行星？\nA. 太阳  B. 火星\nC. 月球  D. 彗星", "哪个是行星？", PLANETS),
        ("哪个是行星？\n（A）太阳\n（B）火星", "哪个是行星？", ["太阳", "火星"]),
        ("哪个是行星？\nＡ．太阳\nＢ．火星", "哪个是行星？", ["太阳", "火星"]),
        ("哪个是行星？①太阳②火星③月球", "哪个是行星？", ["太阳", "火星", "月球"]),
        (
            "¿Cuál es un planeta?\n1. El Sol\n2. Marte\n3. La Luna",
            "¿Cuál es un planeta?",
            ["El Sol", "Marte", "La Luna"],
        ),
        ("Which is one?\na) the Sun\nb) Mars", "Which is one?", ["the Sun", "Mars"]),
        ("Which is one?\nA the Sun\nB Mars\nC the Moon", "Which is one?", ["the Sun", "Mars", "the Moon"]),
        ("Which vitamin A. fact holds?\nA. vitamin A. helps\nB. none", "Which vitamin A. fact holds?", None),
        ("有①②③三种说法：\nA. ①②\nB. ②③", "有①②③三种说法：", ["①②", "②③"]),
        ("\n".join(["Pick one."] + [f"{chr(65 + at)}. text {at}" for at in range(26)]), "Pick one.", None),
    ],
)
def test_options_are_cut_from_the_end_of_the_question(cell, stem, texts):
    cut = cut_question(cell)
    assert cut[0] == stem
    assert len(cut[1]) >= 2
    assert texts is None or cut[1] == texts


@pytest.mark.parametrize(
    "cell", ["Vitamin A. and C. help?", "Only A. one", "B. x\nC. y", "A. x B. y B. z", "The value is 1.5 or 2.5", ""]
)
def test_a_question_without_a_clear_list_of_options_is_not_cut(cell):
    assert cut_question(cell) == (cell, [])


def test_a_sheet_without_a_column_of_options_is_read_from_its_questions(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["题干", "答案"])
    book.active.append(["哪个是行星？\nA. 太阳\nB. 火星", "B"])
    book.active.append(["哪个是卫星？\nA. 太阳\nB. 火星\nC. 月球", "选C"])
    book.save(tmp_path / "exam.xlsx")
    data = load_choice(SampleFiles(tmp_path / "exam.xlsx"))
    assert [(sample.input, sample.choices, sample.reference) for sample in data.samples] == [
        ("哪个是行星？", ("太阳", "火星"), "B"),
        ("哪个是卫星？", ("太阳", "火星", "月球"), "C"),
    ]
    assert "no column of options" in data.notes[0]


def test_a_row_whose_options_are_in_its_question_stands_among_rows_with_columns(tmp_path):
    files = csv(tmp_path, "question,A,B,answer", "Which?,Sun,Mars,B", '"Which moon?\nA. Mars\nB. Luna",,,B')
    assert read(files)[1] == ("Which moon?", ("Mars", "Luna"), "B")


def test_a_question_that_gives_its_answer_away_is_a_defect():
    rows = [{"question": "哪个是行星？\nA. 太阳\nB. 火星\n答案：B", "answer": "B"}]
    with pytest.raises(DataError, match="also gives the answer"):
        rows_of(rows)


def test_a_table_without_any_options_still_names_the_missing_column(tmp_path):
    with pytest.raises(ConfigError, match="no column for options"):
        load_choice(csv(tmp_path, "question,answer", "Which?,B", "What?,C"))


def test_merged_cells_with_one_option_a_row_are_one_question(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["题目", "选项", "答案"])
    for question, key in (("哪个是行星？", "B"), ("哪个是恒星？", "A")):
        start = sheet.max_row + 1
        for at, text in enumerate(PLANETS[: 3 + (key == "A")]):
            sheet.append([question if at == 0 else None, f"{'ABCD'[at]}. {text}", key if at == 0 else None])
        sheet.merge_cells(start_row=start, end_row=sheet.max_row, start_column=1, end_column=1)
        sheet.merge_cells(start_row=start, end_row=sheet.max_row, start_column=3, end_column=3)
    book.save(tmp_path / "exam.xlsx")
    data = load_choice(SampleFiles(tmp_path / "exam.xlsx"))
    assert [(sample.id, sample.choices, sample.reference) for sample in data.samples] == [
        ("Sheet!2", tuple(PLANETS[:3]), "B"),
        ("Sheet!5", tuple(PLANETS), "A"),
    ]
    assert any("one option a row" in note for note in data.notes)


def test_marks_beside_the_options_are_the_key(tmp_path):
    files = csv(
        tmp_path,
        *("question,option,correct", "Planet?,Sun,0", "Planet?,Mars,1", "Planet?,Moon,0"),
        *("Even?,2,TRUE", ",3,FALSE", ",4,TRUE", "Moon?,Mars,", ",Luna,√"),
    )
    assert [row[2] for row in read(files)] == ["B", "AC", "B"]


def test_two_keys_of_one_question_are_a_defect_with_its_line(tmp_path):
    files = csv(tmp_path, "question,options,answer", "Planet?,Sun,A", ",Mars,B", ",Moon,")
    with pytest.raises(DataError, match="line 2 column C: the key 'A and also B'"):
        load_choice(files)


def test_a_column_of_letters_is_not_taken_for_the_options(tmp_path):
    with pytest.raises(ConfigError, match="holds only the letters A to C"):
        load_choice(csv(tmp_path, "题目,选项,内容,答案", "行星？,A,太阳,B", ",B,火星,", ",C,月球,"))


@pytest.mark.parametrize(
    ("key", "letters"),
    [
        ("选D", "D"),
        ("答案：A", "A"),
        ("正确答案是 C", "C"),
        ("故选：BC", "BC"),
        ("B、火星", "B"),
        ("D:彗星", "D"),
        ("(C) 月球", "C"),
        ("Answer: B", "B"),
        ("option c", "C"),
        ("C项", "C"),
        ("정답: 2", "B"),
        ("A和C", "AC"),
        ("A. 太阳\nC. 月球", "AC"),
        ("A or C", "A or C"),
        ("A或C", "A or C"),
        ("C/A", "A or C"),
        ("答案：A或者BC", "A or BC"),
        ("1/3", "A or C"),
        ("Ａ 或 Ｂ", "A or B"),
    ],
)
def test_keys_as_people_write_them(key, letters):
    assert read_key(key, PLANETS) == letters


@pytest.mark.parametrize("key", ["B、太阳", "选E", "答案", "A或E", "D:火星", "answer"])
def test_a_key_that_contradicts_itself_or_names_nothing_is_refused(key):
    with pytest.raises(ValueError, match="is neither a letter A to D"):
        read_key(key, PLANETS)


def with_keys(*keys, options=("5", "4", "3", "2", "10")):
    return [{"question": f"Question {at}?", "options": list(options), "answer": key} for at, key in enumerate(keys)]


def test_a_digit_is_a_text_where_the_other_keys_are_texts():
    rows = [
        {"question": "Continents?", "options": ["five", "six", "seven"], "answer": "seven"},
        {"question": "Fingers?", "options": ["3", "2", "5"], "answer": "3"},
        {"question": "Wheels?", "options": ["two", "three", "four"], "answer": "four"},
    ]
    assert [sample.reference for sample in rows_of(rows).samples] == ["C", "A", "C"]
    with pytest.raises(DataError, match="may mean"):
        rows_of([rows[1], {**rows[0], "answer": "C"}, {**rows[2], "answer": "A"}])


def test_a_letter_is_a_text_where_the_other_keys_are_texts():
    rows = [
        {"question": "Rarest group?", "options": ["O", "A", "B", "AB"], "answer": "AB"},
        {"question": "Group without antigens?", "options": ["A", "B", "O", "AB"], "answer": "O"},
        {"question": "Group of this donor?", "options": ["O", "AB", "A", "B"], "answer": "A"},
        {"question": "Where?", "options": ["Rome", "Bern", "Oslo", "Kyiv"], "answer": "Oslo"},
    ]
    assert [sample.reference for sample in rows_of(rows).samples] == ["D", "C", "C", "C"]
    lettered = [rows[2], {**rows[3], "answer": "C"}, {**rows[1], "answer": "C"}]
    assert [sample.reference for sample in rows_of(lettered).samples] == ["A", "C", "C"]


def test_a_number_is_a_place_where_the_other_keys_can_only_be_places():
    rows = [*with_keys("1", "2", options=("Rome", "Oslo")), *with_keys("2")]
    rows[2]["question"] = "How many?"
    assert [sample.reference for sample in rows_of(rows).samples] == ["A", "B", "B"]


@pytest.mark.parametrize(
    ("keys", "options"),
    [
        (["对", "错"], ("对", "错")),
        (["正确", "错误"], ("正确", "错误")),
        (["√", "×"], ("对", "错")),
        (["T", "F"], ("对", "错")),
        (["True", "False"], ("True", "False")),
        (["Yes", "No"], ("Yes", "No")),
        ([True, False], ("True", "False")),
    ],
)
def test_true_or_false_needs_no_column_of_kinds(keys, options):
    data = rows_of([{"question": f"第{at}句。", "answer": key} for at, key in enumerate(keys)])
    assert [(sample.choices, sample.reference) for sample in data.samples] == [(options, "A"), (options, "B")]


def test_a_letter_of_lost_options_is_not_read_as_false(tmp_path):
    header = "question,A,B,C,D,E,F,answer"
    with pytest.raises(DataError, match="0 options"):
        load_choice(csv(tmp_path, header, "q1,a,b,c,d,e,f,F", "q2,,,,,,,F"))


def test_alternatives_are_told_from_sets():
    files = SampleFiles.of(with_keys("A or C", "B", "AC", options=PLANETS))
    assert load_choice(files, several_answers=True).key_histogram == {"A or C": 1, "AC": 1, "B": 1}
    assert load_choice(SampleFiles.of(with_keys("A or C", "B", "B", options=PLANETS))).notes == ()


@pytest.mark.parametrize(
    ("reply", "value"), [("The answer is A.", 1.0), ("The answer is C.", 1.0), ("The answer is B.", 0.0)]
)
def test_any_alternative_solves_the_question(reply, value):
    score = Choice()(Sample("q", "?", "A or C", tuple(PLANETS)), Output(reply))
    assert (score.value, score.detail["wanted"]) == (value, "A or C")


def test_both_alternatives_at_once_are_no_answer():
    score = Choice()(Sample("q", "?", "A or C", tuple(PLANETS)), Output("The answer is A or C."))
    assert (score.outcome, score.detail["kind"]) == ("unparsed", "several")


def test_alternatives_move_with_their_options():
    keys = [sample.reference for sample in rotated(Sample("q", "Where?", "A or C", tuple(PLANETS)))]
    assert keys == ["A or C", "B or D", "A or C", "B or D"]


def test_a_second_column_that_may_be_the_key_is_named_with_the_first_difference(tmp_path):
    lines = ("question,A,B,answer,label", "q1,x,y,A,B", "q2,x,y,B,B", "q3,x,y,B,A")
    note = load_choice(csv(tmp_path, *lines)).notes[0]
    assert "column label may be the answer too (another key, or none, in 2 of 3 rows, first exam.csv line 2" in note
    assert note.endswith("answer is used; to choose it: columns: {answer: label}")
    chosen = load_choice(csv(tmp_path, *lines, columns={"answer": "label"})).notes
    assert [note for note in chosen if "may be" in note] == []


def test_a_second_column_with_the_same_keys_in_another_form_is_not_worth_a_note(tmp_path):
    lines = ("question,A,B,answer,answer_idx", "q1,one,two,one,A", "q2,one,two,two,B", "q3,one,three,three,B")
    assert [note for note in load_choice(csv(tmp_path, *lines)).notes if "may be" in note] == []


def test_a_second_column_for_the_question_is_named(tmp_path):
    lines = ("question,prompt,A,B,answer", "q1,ask 1,x,y,A", "q2,ask 2,x,y,B")
    assert "column prompt may be the question too, and question is used" in load_choice(csv(tmp_path, *lines)).notes[0]


COPIES = (
    *("id,question,A,B,answer", "1,Which?,Sun,Mars,A", "2,What?,Sun,Mars,B", "1,Which?,Sun,Mars,A"),
    *("1#2,Who?,Sun,Mars,A", "1,Which?,Mars,Sun,B"),
)


def test_duplicates_are_kept_on_request_with_ids_of_their_own_and_as_one_cluster(tmp_path):
    with pytest.raises(DataError, match="4 defects"):
        load_choice(csv(tmp_path, *COPIES))
    data = load_choice(csv(tmp_path, *COPIES, duplicates="keep"))
    assert [(sample.id, sample.cluster) for sample in data.samples] == [
        *(("1", "1"), ("2", ""), ("1#3", "1")),
        *(("1#2", ""), ("1#4", "1")),
    ]
    assert data.notes[-1].startswith("questions that occur more than once are kept: 1, with 2 copies")
    assert data.notes[-1].endswith("repeated ids that got a number, as in id#2: 2")


def test_copies_without_ids_have_the_ids_of_their_places(tmp_path):
    lines = [line.partition(",")[2] for line in COPIES]
    samples = list(load_choice(csv(tmp_path, *lines, duplicates="keep")).samples)
    assert [(sample.id, sample.cluster) for sample in samples][::2] == [
        *(("line:2", "line:2"), ("line:4", "line:2"), ("line:6", "line:2"))
    ]


def test_another_word_for_duplicates_is_refused():
    with pytest.raises(ConfigError, match="expected refuse or keep"):
        SampleFiles.of([{"question": "q"}], duplicates="drop")


def test_ragged_rows_of_four_five_and_six_options_are_meant(tmp_path):
    lines = ["question,A,B,C,D,E,F,answer"]
    for at, count in enumerate([5] * 5 + [6] * 5 + [4]):
        texts = [f"text {at} {no}" if no < count else "" for no in range(6)]
        lines.append(f"Question {at} of {count}?,{','.join(texts)},A")
    data = examine_choice(csv(tmp_path, *lines))
    assert (data.n, data.defects) == (11, ())
    assert sorted({len(sample.choices) for sample in data.samples}) == [4, 5, 6]


def test_json_lines_with_options_in_the_question_and_a_list_as_key(tmp_path):
    path = tmp_path / "exam.jsonl"
    rows = [
        {"question": f"{at}. 选（ ）\nA. 甲{at}\nB. 乙{at}\nC. 丙", "answer": ["AC" if at else "B"]} for at in (0, 1)
    ]
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    assert [sample.reference for sample in load_choice(SampleFiles(path)).samples] == ["B", "AC"]


def test_a_set_of_letters_that_is_also_a_text_is_a_defect_and_no_crash():
    rows = [{"question": "q1", "options": ["AC", "DC", "x"], "answer": "C"}, *with_keys("B", options=PLANETS)]
    assert [sample.reference for sample in rows_of(rows).samples] == ["C", "B"]
    rows[0]["answer"] = "AC"
    with pytest.raises(DataError, match="may mean A or AC"):
        rows_of(rows)


def test_single_choice_true_or_false_and_options_in_the_question_stand_in_one_sheet(tmp_path):
    files = csv(
        tmp_path,
        *("题目,A,B,C,D,答案", "单选1,甲,乙,丙,丁,选B", "单选2,甲,乙,丙,丁,B或C", "判断1,,,,,√", "判断2,,,,,错"),
        "题里有 A.甲 B.乙 C.丙,,,,,C",
    )
    assert [(len(choices), key) for _, choices, key in read(files)] == [
        *((4, "B"), (4, "B or C"), (2, "A"), (2, "B"), (3, "C"))
    ]


def test_a_missing_question_is_named_with_the_columns_that_an_exam_has():
    with pytest.raises(ConfigError, match=r"no column for question; .*options: KEY, answer: KEY\}$"):
        rows_of([{"statement": "q", "option_list": {"A": "x", "B": "y"}, "answer": "A"}])


def test_options_that_are_letters_are_not_yes_and_no():
    with pytest.raises(DataError, match="neither a letter A to B"):
        rows_of([{"question": "Which unknown?", "options": ["x", "y"], "answer": "n"}])
    rows = [{"question": "Is it?", "options": ["正确", "错误"], "answer": "×"}]
    assert [sample.reference for sample in rows_of(rows).samples] == ["B"]
