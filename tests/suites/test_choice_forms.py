"""The forms in which other tools' exams write options and keys."""

import json

import openpyxl
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.thorough import times

from steelyard.data.parquet import ClassName
from steelyard.data.sample_files import SampleFiles
from steelyard.errors import ConfigError, DataError
from steelyard.suites.choice.keys import LETTERS, key_of_class, key_of_label
from steelyard.suites.choice.options import options_of
from steelyard.suites.choice.rows import load_choice
from steelyard.suites.choice.suite import ChoiceSuite


def questions(files):
    return [(sample.input, sample.choices, sample.reference) for sample in load_choice(files).samples]


def keys(rows, **fields):
    return [sample.reference for sample in load_choice(SampleFiles.of(rows, **fields)).samples]


def defects_of(files):
    with pytest.raises(DataError) as caught:
        load_choice(files)
    return list(caught.value.defects)


def write(tmp_path, *lines):
    (tmp_path / "exam.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return SampleFiles(tmp_path / "exam.csv")


@pytest.mark.parametrize(
    ("cell", "wanted"),
    [
        ("A.天 B.地 C.雷", ["天", "地", "雷"]),
        ("A.天B.地C.雷D.风", ["天", "地", "雷", "风"]),
        ("A、天；B、地", ["天", "地"]),
        ("(A) heaven (B) earth", ["heaven", "earth"]),
        ("a) heaven\nb) earth\nc) thunder", ["heaven", "earth", "thunder"]),
        ("Ａ．天\u3000Ｂ．地", ["天", "地"]),
        ("天\n地\n\n雷", ["天", "地", "雷"]),
        ("天|地|雷", ["天", "地", "雷"]),
        ('["天", "地"]', ["天", "地"]),
        ("['天', '地']", ["天", "地"]),
        ('{"A": "天", "B": "地"}', ["天", "地"]),
        ("{'A': 'Report', 'B': \"The attending's\", 'C': None}", ["Report", "The attending's"]),  # MedQA, by pandas
        ('{"text": ["天", "地"], "label": ["A", "B"]}', ["天", "地"]),
    ],
)
def test_options_in_one_cell_are_told_apart(cell, wanted):
    assert list(options_of(cell).texts) == wanted


@pytest.mark.parametrize(
    "cell",
    [
        "天 地 雷",
        "B. 天 C. 地",
        "A. vitamins A. and B. help",
        "A. 天 C. 地",
        "A. only",
        "天；地",
        "A.天\n地",
        "{A: 天}",
        "{'text': array(['a', 'b'], dtype=object), 'label': array(['A', 'B'], dtype=object)}",  # ARC, by pandas
        "5",
    ],
)
def test_options_that_may_be_cut_in_two_ways_are_not_cut(cell):
    with pytest.raises(ValueError, match=r"cannot be separated|not JSON|keys"):
        options_of(cell)


def test_options_in_one_column_of_a_sheet_are_read_by_row(tmp_path):
    files = write(tmp_path, "题干,选项,答案", "为天者,A.乾 B.坤,B", '为雷者,"[""震"", ""巽"", ""坎""]",震')
    assert questions(files) == [("为天者", ("乾", "坤"), "B"), ("为雷者", ("震", "巽", "坎"), "A")]


def test_texts_and_labels_of_arc_are_options_and_keys():
    rows = [
        {"question": "one", "choices": {"text": ["x", "y", "z"], "label": ["A", "B", "C"]}, "answerKey": "C"},
        {"question": "two", "choices": {"text": ["x", "y", "z"], "label": ["1", "2", "3"]}, "answerKey": "2"},
        {"question": "three", "choices": [{"label": "A", "text": "x"}, {"label": "B", "text": "y"}], "answerKey": "B"},
        {"question": "four", "choices": {"text": ["x", "y"], "label": ["0", "1"]}, "answerKey": 0},
    ]
    assert keys(rows) == ["C", "B", "B", "A"]


@pytest.mark.parametrize("options", ["true:false 2", ["false 1", "true", "false 2"]])
def test_the_column_of_the_right_option_may_be_the_key(options):
    row = {"question": "Prime?", "true": "3", "false 1": "1", "false 2": "4"}
    columns = {"options": options, "answer": "true"}
    wanted = "A" if isinstance(options, str) else "B"
    assert keys([row, {**row, "question": "Odd?", "true": "A"}], columns=columns) == [wanted, wanted]
    zeros = [{**row, "question": f"{n} times nothing?", "true": "0"} for n in range(1, 4)]
    assert "count from 0" not in str(load_choice(SampleFiles.of(zeros, columns=columns)).notes)
    with pytest.raises(ConfigError, match="column false 1 is used for options and question; write each into a column"):
        keys([row], columns={**columns, "question": "false 1"})


@pytest.mark.parametrize("labels", [["0", "1", "2"], ["3", "4", "5"]])
def test_under_labels_a_number_is_never_a_place(labels):
    with pytest.raises(ValueError, match="neither a label"):
        key_of_label("2" if labels[0] == "3" else "3", ["x", "y", "z"], labels)


def test_labels_that_do_not_fit_their_texts_are_a_defect():
    rows = [{"question": "q", "choices": {"text": ["x", "y"], "label": ["A"]}, "answer": "A"}]
    assert "2 texts of options, and not as many labels" in defects_of(SampleFiles.of(rows))[0]


@pytest.mark.parametrize(
    ("names", "number", "options", "letter"),
    [
        ("ABCD", 3, "wxyz", "D"),
        ("0123", 2, "wxyz", "C"),
        ("1234", 0, "wxyz", "A"),
        (["no", "yes"], 1, ["yes", "no"], "A"),
        (["entailment", "neutral"], 1, ["follows", "may be"], "B"),
    ],
)
def test_a_class_is_read_by_its_name_else_by_its_number(names, number, options, letter):
    assert key_of_class(ClassName.of(number, list(names)), list(options)) == letter


def test_a_class_beyond_the_options_is_a_defect():
    with pytest.raises(ValueError, match="the key is class 3"):
        key_of_class(ClassName.of(3, list("0123")), ["x", "y"])


def test_numbers_count_from_one_unless_the_whole_table_counts_from_zero(tmp_path):
    def rows(*numbers):
        return [{"question": f"q{n}", "options": ["x", "y", "z"], "answer": key} for n, key in enumerate(numbers)]

    assert keys(rows(1, 2, 3)) == ["A", "B", "C"]
    assert keys(rows(0, 1, 2, 0)) == ["A", "B", "C", "A"]
    assert keys(rows([0], [1], [2], [0, 1])) == ["A", "B", "C", "AB"]
    assert "the numbers of the keys count from 0, so 0 is A" in str(load_choice(SampleFiles.of(rows(0, 1, 0))).notes)
    # As MMLU on the hub, of which somebody kept the questions whose keys are neither 0 nor 3.
    assert "neither 0 nor the number of a last option" in str(load_choice(SampleFiles.of(rows(1, 2, 1))).notes)
    assert not load_choice(SampleFiles.of(rows(1, 2, 3))).notes
    assert "numbers count from 1" in defects_of(SampleFiles.of(rows(0, 2, 3)))[0]
    # One of these keys is wrong, and which one decides what all others mean.
    assert len(defects_of(SampleFiles.of(rows(0, 0, 1, 2, 3)))) == 5
    assert len(defects_of(SampleFiles.of(rows(0, 0, 1, 2, 4)))) == 1
    # A single 0 tells nothing of the others: without its row they would all be read, perhaps one off.
    doubtful = defects_of(SampleFiles.of(rows(0, 1, 2)))
    assert len(doubtful) == 3
    assert all("may count from 0 or from 1" in defect for defect in doubtful)
    assert "may count from 0 or from 1" in defects_of(SampleFiles.of(rows(0, 0, *[1] * 60)))[3]
    assert "the key '0'" in defects_of(SampleFiles.of(rows([1, 0, 0], [0, 1, 1])))[0]
    prices = [{"question": f"q{key}", "options": ["0", "5", "10"], "answer": key} for key in ("0", "5", "10")]
    assert keys([*prices, {**prices[0], "question": "free?"}]) == ["A", "B", "C", "A"]
    # A key that names nothing is left out alone, and does not shift the others.
    data = load_choice(SampleFiles.of(rows(0, 1, "?", 2, 0), skip_bad=True))
    assert [sample.reference for sample in data.samples] == ["A", "B", "C", "A"]


def test_judgements_need_no_options_where_the_sheet_says_what_they_are(tmp_path):
    files = write(
        tmp_path,
        "题型,题目,A,B,C,D,答案",
        "单选题,为天者,乾,坤,震,巽,A",
        "单选题,为地者,乾,坤,震,巽,B",
        "判断题,乾为天,,,,,√",
        "判断,坤为天,,,,,错",
        "判断题,震为雷,正确,错误,,,对",
        "是非题,巽为风,,,,,A",
    )
    result = load_choice(files)
    assert [(sample.choices, sample.reference, sample.group) for sample in result.samples][2:] == [
        (("对", "错"), "A", "判断题"),
        (("对", "错"), "B", "判断"),
        (("正确", "错误"), "A", "判断题"),
        (("对", "错"), "A", "是非题"),
    ]


def test_a_sheet_of_judgements_alone_needs_no_column_of_options(tmp_path):
    files = write(
        tmp_path, "question,question type,category,answer", "Water is wet,True/False,x,T", "Ice is hot,T/F,y,false"
    )
    assert questions(files) == [("Water is wet", ("True", "False"), "A"), ("Ice is hot", ("True", "False"), "B")]
    assert [sample.group for sample in load_choice(files).samples] == ["x", "y"]


def test_other_questions_without_options_are_a_defect(tmp_path):
    files = write(tmp_path, "题型,题目,答案", "判断题,乾为天,对", "简答题,何为乾,天")
    (result,) = defects_of(files)
    assert result.startswith("exam.csv line 3 column B: there is no column of options")


def test_a_key_that_is_no_yes_or_no_of_a_judgement_is_a_defect(tmp_path):
    (result,) = defects_of(write(tmp_path, "题型,题目,答案", "判断题,乾为天,或许"))
    assert "the key '或许' is neither a letter A to B" in result


@pytest.mark.parametrize("header", ["同题组", "cluster", "paraphrase_of", "Variant of"])
def test_paraphrases_of_a_question_share_its_cluster(tmp_path, header):
    files = write(tmp_path, f"id,question,A,B,answer,{header}", "q1,one,x,y,A,", "q1b,uno,x,y,A,q1", "q2,two,x,y,B,")
    assert [sample.cluster for sample in load_choice(files).samples] == ["q1", "q1", "q2"]


def test_without_a_column_for_it_no_sample_has_a_cluster(tmp_path):
    files = write(tmp_path, "id,question,A,B,answer", "q1,one,x,y,A")
    assert [sample.cluster for sample in load_choice(files).samples] == [""]


@pytest.mark.parametrize(
    "header",
    [
        "题目（单选）,选项A内容,B,答案(请填字母)",
        "题干,选项一,选项二,标准答案",
        "试题,甲,乙,参考答案",
        "stem,opa,opb,cop",
        "question_text,ending0,ending1,gold_label",
        "Problem,answerA,answerB,target",
        "【题目】,【A】,【B】,【正确答案】",
    ],
)
def test_headers_of_many_kinds_are_found(tmp_path, header):
    files = write(tmp_path, header.replace("选项A内容", "选项A（内容）"), "为天者,乾,坤,B")
    assert questions(files) == [("为天者", ("乾", "坤"), "B")]


def test_a_category_wins_over_the_difficulty_which_wins_over_nothing(tmp_path):
    assert load_choice(write(tmp_path, "题目,A,B,答案,难度,类别", "q,x,y,A,易,卦")).mapping["group"] == "F 类别"
    assert load_choice(write(tmp_path, "题目,A,B,答案,难度", "q,x,y,A,易")).mapping["group"] == "E 难度"


def test_keyed_sources_have_no_letters_and_say_which_columns_there_are():
    rows = [{"stem": "q", "options": ["x", "y"], "answer": "A"}]
    with pytest.raises(ConfigError, match="frame has no column 'A'; found: stem, options, answer"):
        load_choice(SampleFiles.of(rows, columns={"question": "A", "options": "B"}))
    ranged = [{"frage": "q", "eins": "x", "zwei": "y", "drei": "z", "key": "C"}]
    (sample,) = load_choice(SampleFiles.of(ranged, columns={"question": "frage", "options": "eins:drei"})).samples
    assert (sample.choices, sample.reference) == (("x", "y", "z"), "C")


def test_a_blank_question_beside_a_list_is_a_defect_and_no_crash():
    (result,) = defects_of(SampleFiles.of([{"question": "", "options": ["x", "y"], "answer": "A"}]))
    assert result == "frame entry 1 key question: the question is blank, or is not text"


def test_a_frame_is_the_dataset_of_a_suite_and_gives_it_a_name():
    frame = pl.DataFrame({"question": ["q"], "options": [["x", "y"]], "answer": ["B"]})
    suite = ChoiceSuite(SampleFiles.of(frame, name="pilot"), {}).build()
    assert (suite.name, [sample.reference for sample in suite.samples]) == ("pilot", ["B"])


_TEXT = st.text(st.characters(min_codepoint=33, max_codepoint=0x9FFF, categories=["L", "N"]), min_size=1, max_size=6)
_QUESTION = st.lists(_TEXT, min_size=2, max_size=4, unique=True).flatmap(
    lambda options: st.tuples(_TEXT, st.just(options), st.sampled_from(LETTERS[: len(options)]))
)


def as_sheet(path, rows):
    book = openpyxl.Workbook()
    book.active.append(["题目", "A", "B", "C", "D", "答案"])
    for text, options, key in rows:
        book.active.append([text, *[*options, None, None][:4], key])
    for row in book.active.iter_rows():
        for cell in row:
            cell.data_type = "s" if cell.value is not None else cell.data_type
    book.save(path)


def assert_read_back(folder, rows, suffixes):
    size = min(len(options) for _, options, _ in rows)
    rows = [(text, options[:size], LETTERS[min(LETTERS.index(key), size - 1)]) for text, options, key in rows]
    entries = [{"question": text, "options": options, "answer": key} for text, options, key in rows]
    flat = pl.DataFrame([{"question": q, **dict(zip("ABCD", o, strict=False)), "answer": k} for q, o, k in rows])
    as_sheet(folder / "a.xlsx", rows)
    flat.write_csv(folder / "a.csv")
    flat.write_csv(folder / "a.tsv", separator="\t")
    pl.DataFrame(entries).write_parquet(folder / "a.parquet")
    (folder / "a.json").write_text(json.dumps(entries), encoding="utf-8")
    (folder / "a.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    wanted = [(text, tuple(options), key) for text, options, key in rows]
    for suffix in suffixes:
        assert questions(SampleFiles(folder / f"a.{suffix}")) == wanted, suffix
    assert questions(SampleFiles.of(flat)) == questions(SampleFiles.of(entries)) == wanted


_ROWS = st.lists(_QUESTION, min_size=1, max_size=4, unique_by=lambda row: row[0])


@given(_ROWS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=times(8, 300))
def test_what_is_written_gives_the_same_questions_in_every_format(tmp_path, rows):
    assert_read_back(tmp_path, rows, ("csv", "tsv", "json", "jsonl", "xlsx"))


@given(_ROWS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=times(1, 50))
def test_what_is_written_as_parquet_gives_the_same_questions(tmp_path, rows):
    assert_read_back(tmp_path, rows, ("parquet",))  # by two processes of a second each


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 30) | st.floats() | st.text(max_size=12) | st.sampled_from("ABCDab√对"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["A", "B", "text", "label"]), inner),
    max_leaves=8,
)


@given(
    st.lists(
        st.fixed_dictionaries({"question": _ANY, "options": _ANY, "answer": _ANY, "题型": _ANY}), min_size=1, max_size=4
    )
)
def test_whatever_a_row_holds_its_key_is_an_option_or_a_defect(rows):
    try:
        samples = list(load_choice(SampleFiles.of(rows, skip_bad=True)).samples)
    except DataError:
        return
    for sample in samples:
        assert 2 <= len(sample.choices) <= 26
        assert set(sample.reference) <= set(LETTERS[: len(sample.choices)])
        assert sample.reference


def test_a_list_of_no_keys_is_a_blank_key():
    rows = [{"question": "Which?", "options": ["one", "two"], "answer": []}]
    (defect,) = defects_of(SampleFiles.of(rows))
    assert defect == "frame entry 1 key answer: the key is blank"


def test_a_number_without_end_is_no_key_and_counts_no_rows(tmp_path):
    endless = "9" * 5_000
    files = write(tmp_path, f"{endless},Which?,one,two,A", f"{endless},Who?,one,two,{endless}")
    (defect,) = defects_of(
        SampleFiles(files.file, header="none", columns={"question": "B", "options": "C:D", "answer": "E"})
    )
    assert "is neither a letter A to B nor an option's text" in defect
    with pytest.raises(DataError, match="more than 4,200 digits"):
        keys([{"question": "Which?", "options": ["one", "two"], "answer": 10**5_000}])


def test_a_sheet_without_headers_may_begin_with_numbers_without_end(tmp_path):
    endless = "9" * 5_000
    files = write(tmp_path, f"{endless}1,one,two,A", f"{endless}2,one,two,B")
    assert [sample.reference for sample in load_choice(SampleFiles(files.file, header="none")).samples] == ["A", "B"]
