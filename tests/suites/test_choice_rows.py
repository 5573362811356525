import json
import tracemalloc
from dataclasses import replace

import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steelyard.data.sample_files import SampleFiles
from steelyard.errors import ConfigError, DataError
from steelyard.suites.choice.keys import LETTERS, cut_labels, read_key
from steelyard.suites.choice.rows import load_choice
from steelyard.types import Sample

HEADER = ["题目", "A", "B", "C", "D", "答案", "类别"]
OPTIONS = ["乾", "坤", "震", "巽"]


def book(path, *sheets):
    built = openpyxl.Workbook()
    built.remove(built.active)
    for name, rows in sheets:
        sheet = built.create_sheet(name)
        for row in rows:
            sheet.append(row)
    built.save(path)
    return SampleFiles(path)


def one_sheet(path, *rows):
    return book(path / "exam.xlsx", ("题库", [HEADER, *rows]))


def defects_of(files):
    with pytest.raises(DataError) as caught:
        load_choice(files)
    return list(caught.value.defects)


def test_a_sheet_becomes_samples_with_stable_ids(tmp_path):
    data = load_choice(one_sheet(tmp_path, ["为天者", *OPTIONS, "A", "卦象"], [], ["为地者", *OPTIONS, "b", "卦象"]))
    assert list(data.samples) == [
        Sample("题库!2", "为天者", "A", tuple(OPTIONS), group="卦象"),
        Sample("题库!4", "为地者", "B", tuple(OPTIONS), group="卦象"),
    ]
    assert list(data.samples) == list(data.samples)
    assert (data.n, data.defects) == (2, ())
    assert data.key_histogram == {"A": 1, "B": 1}
    assert data.mapping["answer"] == "F 答案"
    assert data.notes == ()


def test_every_defect_is_found_in_one_pass_and_named_with_its_cell(tmp_path):
    files = one_sheet(
        tmp_path,
        ["q2", *OPTIONS, "E", "g"],
        ["", *OPTIONS, "A", "g"],
        ["q4", "乾", "", "震", "巽", "A", "g"],
        ["q5", "乾", "坤"],
        ["good", *OPTIONS, "A", "g"],
        ["good", *reversed(OPTIONS), "A", "g"],
        ["q8", "乾", "坤", "乾", "巽", "B", "g"],
        ["q9", "乾", "", "", "", "A", "g"],
        ["q10", *OPTIONS, None, "g"],
    )
    assert defects_of(files) == [
        "exam.xlsx 题库!F2: the key 'E' is neither a letter A to D nor an option's text",
        "exam.xlsx 题库!A3: the question is blank, or is not text",
        "exam.xlsx 题库!C4: option B is blank",
        "exam.xlsx 题库!5: short row: it ends in column C, column F is needed",
        "exam.xlsx 题库!A7: the same question as exam.xlsx 题库!A6",
        "exam.xlsx 题库!D8: option C is the same as option A: '乾'",
        "exam.xlsx 题库!B9: 1 option; a question has 2 to 26",
        "exam.xlsx 题库!F10: the key is blank",
    ]


def test_headers_below_a_title_are_told_of_and_those_of_the_first_row_are_not(tmp_path):
    rows = [HEADER, ["为天者", *OPTIONS, "A", "卦象"]]
    files = book(
        tmp_path / "exam.xlsx", ("题库", [["期末考试"], *rows]), ("补考", [rows[0], ["为地者", *OPTIONS, "B", "卦象"]])
    )
    assert load_choice(files).notes == ("exam.xlsx 题库: the headers are in row 2",)


def test_one_sheet_is_named_in_a_text_as_in_a_list(tmp_path):
    rows = [HEADER, ["为天者", *OPTIONS, "A", "卦象"]]
    files = book(tmp_path / "exam.xlsx", ("题库", rows), ("例题", rows))
    for named in ("题库", ("题库",), ["题库"]):
        assert [sample.id for sample in load_choice(replace(files, sheets=named)).samples] == ["题库!2"]
    with pytest.raises(ConfigError, match="has no sheet '题'"):
        load_choice(replace(files, sheets="题"))


def test_only_twenty_defects_are_shown_and_the_rest_counted(tmp_path):
    files = one_sheet(tmp_path, *[[f"q{n}", *OPTIONS, "X", "g"] for n in range(25)])
    result = defects_of(files)
    assert len(result) == 21
    assert result[-1] == "and 5 more"


def test_skip_bad_leaves_bad_rows_out_and_counts_them(tmp_path):
    files = one_sheet(tmp_path, ["q", *OPTIONS, "X", "g"], ["good", *OPTIONS, "A", "g"], ["good", *OPTIONS, "A", "g"])
    data = load_choice(replace(files, skip_bad=True))
    assert [sample.id for sample in data.samples] == ["题库!3"]
    assert [defect.kind for defect in data.defects] == ["bad key", "duplicate question"]


def test_skip_bad_does_not_make_an_empty_dataset(tmp_path):
    files = one_sheet(tmp_path, ["q", *OPTIONS, "X", "g"])
    assert len(defects_of(replace(files, skip_bad=True))) == 1
    with pytest.raises(DataError, match="no question below its header"):
        load_choice(one_sheet(tmp_path))


def test_the_same_stem_with_other_options_is_no_duplicate(tmp_path):
    files = one_sheet(tmp_path, ["哪个对", *OPTIONS, "A", "g"], ["哪个对", "坎", "离", "艮", "兑", "A", "g"])
    assert load_choice(files).n == 2


def test_duplicate_ids_are_named_with_the_first_place(tmp_path):
    rows = [{"id": 7, "question": f"q{n}", "options": OPTIONS, "answer": "A"} for n in range(2)]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    files = SampleFiles(tmp_path / "x.jsonl")
    assert defects_of(files) == ["x.jsonl line 2 key id: the same id as x.jsonl line 1 key id: '7'"]


def test_trailing_blank_options_make_fewer_options(tmp_path):
    data = load_choice(one_sheet(tmp_path, ["q", "对", "错", None, " ", "B", "g"]))
    assert next(iter(data.samples)).choices == ("对", "错")


def test_merged_group_cells_are_filled_and_other_blanks_are_not(tmp_path):
    built = openpyxl.Workbook()
    sheet = built.active
    for row in [HEADER, *[[f"q{n}", *OPTIONS, "A", None] for n in range(5)]]:
        sheet.append(row)
    sheet["G2"] = "卦象"
    sheet.merge_cells("G2:G4")
    sheet["G5"] = "爻辞"
    built.save(tmp_path / "exam.xlsx")
    data = load_choice(SampleFiles(tmp_path / "exam.xlsx"))
    assert [sample.group for sample in data.samples] == ["卦象", "卦象", "卦象", "爻辞", ""]


def test_several_sheets_and_files_make_one_dataset_with_unique_ids(tmp_path):
    first = book(
        tmp_path / "a.xlsx", ("一", [HEADER, ["q1", *OPTIONS, "A", "g"]]), ("二", [HEADER, ["q2", *OPTIONS, "B", "g"]])
    )
    (tmp_path / "b.csv").write_text("question,A,B,answer\nq3,x,y,2\n")
    data = load_choice(SampleFiles((first.paths[0], tmp_path / "b.csv")))
    assert [sample.id for sample in data.samples] == ["a.xlsx 一!2", "a.xlsx 二!2", "b.csv line:2"]
    assert [sample.reference for sample in data.samples] == ["A", "B", "B"]
    assert [dict(sample.metadata) for sample in data.samples] == [
        {"source": "a.xlsx", "sheet": "a.xlsx 一"},
        {"source": "a.xlsx", "sheet": "a.xlsx 二"},
        {"source": "b.csv"},
    ]


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path):
    paths = []
    for folder in "xy":
        (tmp_path / folder).mkdir()
        paths.append(tmp_path / folder / "a.csv")
        paths[-1].write_text(f"question,A,B,answer\n{folder},x,y,2\n")
    data = load_choice(SampleFiles(tuple(paths)))
    assert [sample.id for sample in data.samples] == ["x/a.csv line:2", "y/a.csv line:2"]
    assert [dict(sample.metadata) for sample in data.samples] == [{"source": "x/a.csv"}, {"source": "y/a.csv"}]
    with pytest.raises(ConfigError, match=r"samples: a\.csv is named twice"):
        load_choice(SampleFiles((paths[0], paths[0])))


@pytest.mark.parametrize(
    ("limit", "wanted"),
    [({"first": 2}, ["line:2", "line:4"]), ({"last": 1}, ["line:6"]), ({"first": 9}, ["line:2", "line:4", "line:6"])],
)
def test_limits_count_sound_rows_in_the_order_of_the_dataset(tmp_path, limit, wanted):
    (tmp_path / "a.csv").write_text("question,A,B,answer\nq1,x,y,A\nbad,x,y,Z\nq2,x,y,A\n,,,\nq3,x,y,B\n")
    data = load_choice(SampleFiles(tmp_path / "a.csv", skip_bad=True, **limit))
    assert [sample.id for sample in data.samples] == wanted
    assert data.n == len(wanted) == sum(data.key_histogram.values())


def test_a_random_subset_is_in_order_and_the_same_each_time(tmp_path):
    rows = "".join(f"q{n},x,y,A\n" for n in range(40))
    (tmp_path / "a.csv").write_text("question,A,B,answer\n" + rows)
    files = SampleFiles(tmp_path / "a.csv", random=10, seed=7)
    ids = [sample.id for sample in load_choice(files).samples]
    lines = [int(name.removeprefix("line:")) for name in ids]
    assert lines == sorted(set(lines))
    assert len(ids) == 10
    assert ids == [sample.id for sample in load_choice(files).samples]


def test_more_samples_than_there_are_is_noted(tmp_path):
    (tmp_path / "a.csv").write_text("question,A,B,answer\nq1,x,y,A\n")
    assert (
        load_choice(SampleFiles(tmp_path / "a.csv", random=5)).notes[-1]
        == "5 samples were requested, but there are only 1"
    )


def test_ragged_csv_rows_are_named_with_their_line(tmp_path):
    (tmp_path / "a.csv").write_text("question,A,B,answer\none, two,x,y,A\nq2,x\nq3,x,y,A,,\nq4,x,y\n")
    assert defects_of(SampleFiles(tmp_path / "a.csv")) == [
        "a.csv line 2: 5 cells where 4 were expected; is a cell with a comma not in quotes?",
        "a.csv line 3: short row: it ends in column B, column D is needed",
        "a.csv line 5: short row: it ends in column C, column D is needed",
    ]


@pytest.mark.parametrize(
    ("options", "answer", "wanted"),
    [
        (["A:天", "B:地"], "B", (("天", "地"), "B")),
        ({"B": "地", "A": "天"}, "地", (("天", "地"), "B")),
        (["天", "地"], ["B", "A"], (("天", "地"), "AB")),
        (["A. 天", "B. 地"], "B. 地", (("天", "地"), "B")),
        ([1, 2.0, True], 3, (("1", "2", "TRUE"), "C")),
    ],
)
def test_options_of_json_are_lists_objects_or_labelled_texts(tmp_path, options, answer, wanted):
    entry = {"question": "q", "options": options, "correct_answer": answer}
    if answer == 3:
        entry["correct_answer"] = "TRUE"
    (tmp_path / "a.json").write_text(json.dumps([entry]))
    (sample,) = load_choice(SampleFiles(tmp_path / "a.json")).samples
    assert (sample.choices, sample.reference) == wanted


@pytest.mark.parametrize("options", ["天", [["天"], ["地"]], {"x": "天", "y": "地"}, None])
def test_options_of_json_that_are_no_texts_are_named(tmp_path, options):
    (tmp_path / "a.jsonl").write_text(json.dumps({"question": "q", "options": options, "answer": "A"}))
    (result,) = defects_of(SampleFiles(tmp_path / "a.jsonl"))
    assert result.startswith("a.jsonl line 1 key options: ")


@pytest.mark.parametrize(
    ("key", "letters"),
    [
        ("A", "A"),
        ("d", "D"),
        ("Ｃ", "C"),
        (" ( B ) ", "B"),
        ("【ｂ】", "B"),
        ("C.", "C"),
        ("3", "C"),
        ("１", "A"),
        ("②", "B"),
        ("Ⓓ", "D"),
        ("4.0", "D"),
        ("震", "C"),
        ("AC", "AC"),
        ("ca", "AC"),
        ("A,C", "AC"),
        ("D、B", "BD"),
        ("1,3", "AC"),
        ("A B C D", "ABCD"),
    ],
)
def test_a_key_is_read_in_every_form(key, letters):
    assert read_key(key, OPTIONS) == letters


@pytest.mark.parametrize("key", ["E", "0", "5", "AA", "AE", "坎", "A or", "?", "1,9"])
def test_a_key_that_names_no_option_is_refused(key):
    with pytest.raises(ValueError, match="is neither a letter A to D"):
        read_key(key, OPTIONS)


def test_a_key_that_may_mean_two_options_is_refused_and_a_letter_never_is():
    with pytest.raises(ValueError, match="may mean A or B; write the letter"):
        read_key("2", ["2", "4"])
    with pytest.raises(ValueError, match="may mean AB or C"):
        read_key("AB", ["甲", "乙", "AB"])
    assert read_key("B", ["B", "A"]) == "B"
    assert read_key("2", ["1", "2"]) == "B"


def test_options_that_differ_in_case_alone_are_two():
    assert read_key("aa", ["AA", "Aa", "aa", "other"]) == "C"


def test_labels_are_cut_only_where_each_option_has_its_own():
    assert cut_labels(["A. 天", "", "C、雷"]) == ["天", "", "雷"]
    assert cut_labels(["B. 天", "A. 地"]) == ["B. 天", "A. 地"]
    assert cut_labels(["【A】天", "[B] 地"]) == ["天", "地"], "the brackets that separate options in one cell"


@given(st.lists(st.text(max_size=5), min_size=2, max_size=26), st.text(max_size=6))
def test_a_key_is_letters_of_options_or_refused(options, key):
    try:
        letters = read_key(key, options)
    except ValueError:
        return
    assert letters
    assert set(letters) <= set(LETTERS[: len(options)])
    assert letters == "".join(sorted(set(letters)))


def test_options_in_one_cell_that_cannot_be_told_apart_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("question,options,answer\nq,A x B y,A\n")
    (result,) = defects_of(SampleFiles(tmp_path / "a.csv"))
    assert result.startswith(
        "a.csv line 2 column B: the options 'A x B y' cannot be separated; expected a list of texts"
    )


@given(st.sampled_from([".csv", ".tsv", ".jsonl", ".json", ".xlsx", ".xls"]), st.binary(max_size=200), st.text())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_samples_or_an_error_of_ours(tmp_path, suffix, data, text):
    path = tmp_path / f"a{suffix}"
    for content in (data, f"question,A,B,answer\n{text}".encode("utf-8", "replace")):
        path.write_bytes(content)
        try:
            samples = list(load_choice(SampleFiles(path, skip_bad=True)).samples)
        except (ConfigError, DataError):
            continue
        assert samples
        assert all(set(sample.reference) <= set(LETTERS[: len(sample.choices)]) for sample in samples)


@pytest.mark.slow
def test_a_streamed_file_is_iterated_in_flat_memory(tmp_path):
    line = json.dumps({"question": "question {} " + "x" * 300, "options": ["aaaa", "bbbb"], "answer": "A"})
    peaks = []
    for size in (300, 2_000):
        path = tmp_path / f"{size}.jsonl"
        path.write_text("".join(line.replace("{}", str(n)) + "\n" for n in range(size)))
        samples = load_choice(SampleFiles(path)).samples
        tracemalloc.start()
        assert sum(1 for _ in samples) == size
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 500_000
