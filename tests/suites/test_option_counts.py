"""Questions with fewer options than columns: meant so, or a cell that was lost."""

import openpyxl
import pytest

from steelyard.data.sample_files import SampleFiles
from steelyard.errors import DataError
from steelyard.suites.choice.rows import load_choice


def sheet(tmp_path, *options):
    """A CSV of questions with these options, columns A to D; the key is A."""
    rows = [f"q{n},{','.join([*given, '', '', ''][:4])},A" for n, given in enumerate(options)]
    path = tmp_path / "exam.csv"
    path.write_text("\n".join(["question,A,B,C,D,answer", *rows]), encoding="utf-8")
    return SampleFiles(path)


def defects_of(files):
    with pytest.raises(DataError) as caught:
        load_choice(files)
    return list(caught.value.defects)


def counts_of(files):
    data = load_choice(files)
    return [len(sample.choices) for sample in data.samples], [note for note in data.notes if "fewer options" in note]


FOUR, THREE, TWO = ["a", "b", "c", "d"], ["a", "b", "c"], ["yes", "no"]


@pytest.mark.parametrize("whole", [1, 30])
def test_an_option_that_nearly_all_others_have_was_lost(tmp_path, whole):
    files = sheet(tmp_path, *[FOUR] * whole, THREE)
    assert defects_of(files) == [
        f"exam.csv line {whole + 2} column E: option D is blank, but filled in {whole} of {whole} other rows"
    ]


def test_a_cell_with_an_error_of_the_spreadsheet_is_no_blank_one(tmp_path):
    built = openpyxl.Workbook()
    for row in [["question", "A", "B", "C", "D", "answer"], *[[f"q{n}", *FOUR, "A"] for n in range(4)]]:
        built.active.append(row)
    built.active["E4"] = "#DIV/0!"
    built.active["E4"].data_type = "e"
    built.save(tmp_path / "exam.xlsx")
    assert defects_of(SampleFiles(tmp_path / "exam.xlsx")) == [
        "exam.xlsx Sheet!E4: the cell holds the error #DIV/0!; correct its formula, or write the value"
    ]


def test_true_or_false_among_four_options_is_meant_and_noted(tmp_path):
    lengths, notes = counts_of(sheet(tmp_path, *[FOUR] * 36, TWO, TWO))
    assert lengths == [4] * 36 + [2, 2]
    (note,) = notes
    assert note.startswith("2 questions have fewer options than there are columns: ")
    assert note.endswith("blank from exam.csv line 38 column D, exam.csv line 39 column D")


def test_below_one_in_twenty_they_are_lost(tmp_path):
    assert len(defects_of(sheet(tmp_path, *[FOUR] * 39, TWO, TWO))) == 2


def test_each_length_is_judged_by_itself(tmp_path):
    files = sheet(tmp_path, *[FOUR] * 10, TWO, TWO, TWO, TWO, THREE)
    assert defects_of(files) == ["exam.csv line 16 column E: option D is blank, but filled in 10 of 14 other rows"]


def test_an_option_that_few_questions_have_may_be_blank_in_the_others(tmp_path):
    lengths, notes = counts_of(sheet(tmp_path, THREE, TWO, TWO, FOUR))
    assert lengths == [3, 2, 2, 4]
    assert notes[0].startswith("3 questions have fewer options")


def test_a_sheet_of_which_no_row_fills_the_last_column_has_one_option_fewer(tmp_path):
    lengths, notes = counts_of(sheet(tmp_path, *[THREE] * 5))
    assert lengths == [3] * 5
    assert notes[0].endswith("exam.csv line 2 column E, exam.csv line 3 column E, exam.csv line 4 column E ...")


def test_rows_with_a_lost_option_are_left_out_where_bad_ones_are(tmp_path):
    files = sheet(tmp_path, FOUR, THREE, FOUR, ["a", "", "c", "d"])
    data = load_choice(SampleFiles(files.paths[0], skip_bad=True))
    assert [sample.input for sample in data.samples] == ["q0", "q2"]
    assert (data.n, len(data.defects), sum(data.key_histogram.values())) == (2, 2, 2)
    assert [str(defect).partition(":")[0] for defect in data.defects] == [
        "exam.csv line 3 column E",
        "exam.csv line 5 column C",
    ]
