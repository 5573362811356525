import datetime as dt
import json

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.data.load import read_tables
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import column_index, column_letter, render
from steelyard.errors import ConfigError, DataError


def rows(path, **keys):
    (table,), _ = read_tables(SampleFiles(path, **keys))
    return [(row.number, row.cells) for row in table]


@given(st.integers(0, 20_000))
def test_column_letters_and_indices_are_inverse(index):
    assert column_index(column_letter(index)) == index


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        (1.0, "1"),
        (-3.0, "-3"),
        (2.5, "2.5"),
        (1e20, "1e+20"),
        (True, "TRUE"),
        (False, "FALSE"),
        (None, ""),
        (7, "7"),
        (dt.date(2024, 2, 29), "2024-02-29"),
        (dt.datetime.fromisoformat("2024-02-29T13:05:00"), "2024-02-29 13:05:00"),
        ("\u3000 乾 \n", "乾"),
    ],
)
def test_a_cell_is_rendered_as_its_sheet_shows_it(cell, shown):
    assert render(cell) == shown


def test_sheet_rows_keep_their_real_numbers_and_columns_behind_an_empty_margin(tmp_path):
    book = openpyxl.Workbook()
    book.active["C5"] = "question"
    book.active["D6"] = 2
    book.save(tmp_path / "a.xlsx")
    assert rows(tmp_path / "a.xlsx") == [(5, ["", "", "question", ""]), (6, ["", "", "", 2.0])]


def test_hidden_sheets_are_left_out_and_said_to_be(tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "seen"
    book.active["A1"] = "x"
    hidden = book.create_sheet("draft")
    hidden["A1"] = "y"
    hidden.sheet_state = "hidden"
    book.save(tmp_path / "a.xlsx")
    tables, notes = read_tables(SampleFiles(tmp_path / "a.xlsx"))
    assert [table.sheet for table in tables] == ["seen"]
    assert notes == ("a.xlsx: hidden sheet draft left out; name it under sheets to read it",)
    (named,), notes = read_tables(SampleFiles(tmp_path / "a.xlsx", sheets=("draft",)))
    assert named.sheet == "draft"
    assert notes == ()


def test_a_blank_sheet_is_no_table_unless_it_is_named(tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "empty"
    book.create_sheet("full")["A1"] = "x"
    book.save(tmp_path / "a.xlsx")
    assert [table.sheet for table in read_tables(SampleFiles(tmp_path / "a.xlsx"))[0]] == ["full"]
    (named,), _ = read_tables(SampleFiles(tmp_path / "a.xlsx", sheets=("empty",)))
    assert (named.title, list(named)) == ("a.xlsx empty", [])


def test_a_wrong_sheet_name_is_suggested_the_right_one(tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "questions"
    book.save(tmp_path / "a.xlsx")
    with pytest.raises(ConfigError, match=r"no sheet 'question': did you mean 'questions'\?"):
        read_tables(SampleFiles(tmp_path / "a.xlsx", sheets=("question",)))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gbk", "gb18030", "utf-16", "utf-16-le+bom", "utf-32"])
def test_csv_is_read_in_every_usual_encoding(tmp_path, encoding):
    text = "题目,答案\n乾卦象征什么？,天\n"
    data = b"\xff\xfe" + text.encode("utf-16-le") if "+" in encoding else text.encode(encoding)
    (tmp_path / "a.csv").write_bytes(data)
    assert rows(tmp_path / "a.csv") == [(1, ["题目", "答案"]), (2, ["乾卦象征什么？", "天"])]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json"])
@pytest.mark.parametrize(
    ("encoding", "said", "text"),
    [
        ("gbk", "GB18030", "乾卦象征什么？"),
        ("cp1252", "Windows-1252", "Größe der Übung – „fünf“, 3 €"),
        ("cp1252", "Windows-1252", "C’est l’été à « Évry », ça coûte 5 €"),
        ("cp1252", "Windows-1252", "¿Dónde está el niño?"),
        ("cp1252", "Windows-1252", "até amanhã, três corações"),
    ],
)
def test_an_encoding_that_the_text_alone_tells_is_said_in_a_note(tmp_path, name, encoding, said, text):
    content = {"a.csv": f'q\n"{text}"\n', "a.jsonl": f'{{"q": "{text}"}}\n', "a.json": f'[{{"q": "{text}"}}]'}[name]
    (tmp_path / name).write_bytes(content.encode(encoding))
    (table,), notes = read_tables(SampleFiles(tmp_path / name))
    assert notes == (f"{name}: read as {said}",)
    assert text in str([list(row.cells.values()) if table.keyed else row.cells for row in table])


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1250", "Stolica Polski to Łódź, więc się myli"),
        ("cp1250", "Příliš žluťoučký kůň"),
        ("cp1250", "Árvíztűrő tükörfúrógép"),
        ("cp1250", "Ce mai faci în această dimineaţă"),
        ("cp1254", "Kuş uçuşu yağmur çiğ"),
        ("cp1251", "Столица России"),
        ("mac_roman", "Größe der Übung für Käse"),
        ("cp850", "Größe der Übung für Käse"),
    ],
)
def test_text_of_other_encodings_of_one_byte_is_refused(tmp_path, encoding, text):
    (tmp_path / "a.csv").write_bytes(f"q\n{text}\n".encode(encoding))
    with pytest.raises(DataError, match="save the file as UTF-8"):
        read_tables(SampleFiles(tmp_path / "a.csv"))


def test_utf8_and_windows_1252_in_one_file_are_refused(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"q\ncaf\xe9 noir\ncaf\xc3\xa9 noir\n")
    with pytest.raises(DataError, match="save the file as UTF-8"):
        read_tables(SampleFiles(tmp_path / "a.csv"))


@pytest.mark.parametrize(
    ("encoding", "name", "text"),
    [
        ("shift_jis", "Shift-JIS", "問題,答え\n日本の首都として正しいものはどれですか,東京\n"),
        ("euc_jp", "EUC-JP", "問題,答え\n日本の首都として正しいものはどれですか,東京\n"),
        ("big5", "Big5", "題目,答案\n下列何者是臺灣最高的山峰?關於原子結構的敘述,何者正確\n"),
        ("euc_kr", "EUC-KR", "문제,정답\n다음 중 우리나라의 수도로 옳은 것은 무엇인가,서울\n"),
    ],
)
@pytest.mark.parametrize("times", [1, 8])
def test_other_encodings_of_east_asia_are_named_and_not_read_as_nonsense(tmp_path, encoding, name, text, times):
    (tmp_path / "a.csv").write_bytes((times * text).encode(encoding))
    with pytest.raises(DataError, match=f"but perhaps {name} .*; save the file as UTF-8"):
        read_tables(SampleFiles(tmp_path / "a.csv"))


@pytest.mark.parametrize(
    "text",
    [
        "題目,答案\n下列何者是臺灣最高的山峰,玉山\n",
        "题目,答案\n日语单词「です」的意思是什么,是\n",
        "题目,答案\n请选择日语「ありがとう」的意思：谢谢、再见、你好,谢谢\n",
        "题目,答案\n肺癌、肺炎、肺结核和肺气肿中哪个是肿瘤,肺癌\n",
        "题目,答案\n古巴、巴西、巴拿马、巴黎、巴基斯坦哪个是城市,巴黎\n",
        "题目,答案\n狼和羊的故事：大灰狼来了，小羊跑了,狼\n",
        "题目,答案\n朱镕基总理在北京市,对\n",
        "编号,答案\n" + 7 * "大,对\n小,错\n",
    ],
)
@pytest.mark.parametrize("times", [1, 8])
def test_chinese_of_any_subject_in_gb18030_is_read(tmp_path, text, times):
    text = times * text
    (tmp_path / "a.csv").write_bytes(text.encode("gb18030"))
    assert rows(tmp_path / "a.csv")[1][1] == text.splitlines()[1].split(",")


def test_damaged_utf8_is_not_taken_for_gb18030(tmp_path):
    good = "题目,答案\n乾卦象征什么东西,天\n".encode()
    (tmp_path / "a.csv").write_bytes(good + "坤卦".encode()[:-1])
    with pytest.raises(DataError, match=r"a\.csv:3: damaged UTF-8 \(byte 0xe5\)"):
        read_tables(SampleFiles(tmp_path / "a.csv"))


@pytest.mark.parametrize("mark", [";", "\t"])
def test_semicolons_and_tabs_are_found_in_a_csv(tmp_path, mark):
    (tmp_path / "a.csv").write_text(f"q{mark}a\none, two{mark}B\n")
    assert rows(tmp_path / "a.csv") == [(1, ["q", "a"]), (2, ["one, two", "B"])]


def test_first_line_that_names_the_delimiter_is_followed_and_is_no_row(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xef\xbb\xbfsep=;\r\nq,1;a\r\nx,y;z\r\n")
    assert rows(path) == [(2, ["q,1", "a"]), (3, ["x,y", "z"])]


def test_bars_separate_cells_only_where_nothing_else_does(tmp_path):
    (tmp_path / "a.csv").write_text("q|a\none|B\n")
    assert rows(tmp_path / "a.csv") == [(1, ["q", "a"]), (2, ["one", "B"])]
    (tmp_path / "b.csv").write_text("q,options\none,x|y|z\n")
    assert rows(tmp_path / "b.csv") == [(1, ["q", "options"]), (2, ["one", "x|y|z"])]


def test_a_row_after_a_cell_with_line_breaks_has_its_own_line(tmp_path):
    (tmp_path / "a.csv").write_text('q,a\n"two\nlines",B\nlast,C\n')
    assert rows(tmp_path / "a.csv") == [(1, ["q", "a"]), (2, ["two\nlines", "B"]), (4, ["last", "C"])]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_a_streaming_table_is_read_again_by_each_pass(tmp_path, name):
    (tmp_path / name).write_text('{"q": 1}\n\n{"q": 2}\n')
    (table,), _ = read_tables(SampleFiles(tmp_path / name))
    assert list(table) == list(table)
    assert [row.number for row in table if row.cells] == [1, 3]


def test_a_file_that_changes_between_passes_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("q,a\n")
    (table,), _ = read_tables(SampleFiles(path))
    path.write_text("q,a\nanother,B\n")
    with pytest.raises(DataError, match="changed while it was being read"):
        list(table)


def test_json_lists_and_lines_have_the_same_cells(tmp_path):
    entries = [{"question": "一", "n": 1}, {"question": "二", "n": None}]
    (tmp_path / "a.json").write_text(json.dumps(entries))
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps(entry) for entry in entries))
    assert rows(tmp_path / "a.json") == rows(tmp_path / "a.jsonl") == [(1, entries[0]), (2, entries[1])]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.csv", b"", "a.csv is empty"),
        ("a.csv", b"q,a\nx\0y,B\n", r"a\.csv:2: a NUL character"),
        ("a.csv", b'q,a\n"never closed,B\n', r"a\.csv:2: a quote opens here and is never closed"),
        ("a.csv", b'q,a\n"he said "no" to it",B\n', r"a\.csv:2: there is a quote inside a quoted cell"),
        ("a.csv", b"q,a\n" + b"x" * 200_000 + b",B\n", r"a\.csv:2: a cell is longer than 131,072"),
        ("a.csv", b"q,a\ncaf\xe9 \xff\xff,B\n", r"a\.csv:2: neither UTF-8 nor GB18030"),
        ("a.csv", b"PK\x03\x04rest", "a zip archive"),
        ("a.jsonl", b'{"q": 1}\n{"q": }\n', r"a\.jsonl:2: Expecting value at column 7"),
        ("a.jsonl", b'{"q": 1}\n[1]\n', r"a\.jsonl:2: expected an object, but it is a list"),
        ("a.jsonl", b'{"q": "\\ud83d"}\n', r"a\.jsonl:1: \\ud83d is half a character"),
        ("a.jsonl", b'{"q": "a\\u0000b"}\n', r"a\.jsonl:1: a NUL character"),
        ("a.jsonl", b'{"q": 1, "q": 2}\n', r"a\.jsonl:1: the key 'q' occurs twice"),
        ("a.jsonl", b'{"q": NaN}\n', r"a\.jsonl:1: NaN is not a JSON value"),
        ("a.jsonl", b'{"q": ' + b"9" * 5000 + b"}\n", r"a\.jsonl:1: a number of 5,000 digits"),
        ("a.jsonl", b"[" * 200_000 + b"\n", r"a\.jsonl: nested too deeply"),
        ("a.jsonl", b'{"q": "' + b"x" * 5_000_000 + b'"}\n', r"a\.jsonl:1: the line is longer than 4,000,000"),
        ("a.json", b'{"q": 1}', "expected a list of objects, but it holds an object"),
        ("a.json", b'{"cases": [{"q": 1}], "scores": [{"s": 1}]}', "with the lists 'cases', 'scores'; save one"),
        ("a.csv", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "git lfs pull"),
        ("a.json", b'[{"q": 1}, 2]', "entry 2: expected an object, but it is a number"),
        ("a.xlsx", b"question,answer\n", r"a\.xlsx is not an? \.xlsx workbook"),
        ("a.xlsx", b"PK\x03\x04 cut off", "damaged or cut off"),
        ("a.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "encrypted, or an old .xls"),
        ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "cannot be read as a workbook"),
    ],
)
def test_an_unreadable_file_is_named_with_its_line_and_reason(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError, match=message):
        rows(tmp_path / name)


def test_escaped_backslashes_are_not_taken_for_broken_characters(tmp_path):
    (tmp_path / "a.jsonl").write_text(r'{"q": "\\u0000 and \\ud83d", "e": "\ud83d\ude00"}' + "\n")
    assert rows(tmp_path / "a.jsonl") == [(1, {"q": r"\u0000 and \ud83d", "e": "😀"})]


def test_a_missing_file_is_suggested_its_neighbour(tmp_path):
    (tmp_path / "exam.xlsx").touch()
    with pytest.raises(ConfigError, match=r"did you mean 'exam\.xlsx'"):
        read_tables(SampleFiles(tmp_path / "exm.xlsx"))


def test_a_folder_without_data_and_an_unknown_kind_of_file_are_refused(tmp_path):
    (tmp_path / "a.pdf").touch()
    (tmp_path / "b.csv").mkdir()
    with pytest.raises(ConfigError, match="a file of samples ends in"):
        read_tables(SampleFiles(tmp_path / "a.pdf"))
    with pytest.raises(ConfigError, match=r"b\.csv has no data files"):
        read_tables(SampleFiles(tmp_path / "b.csv"))


def test_sheets_of_a_file_without_sheets_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("q,a\n")
    with pytest.raises(ConfigError, match="has no sheets"):
        read_tables(SampleFiles(tmp_path / "a.csv", sheets=("one",)))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"first": 2, "random": 3}, "not first and random"),
        ({"last": 0}, "last must be a whole number of 1 or more, not 0"),
        ({"header": 0}, "header is 0"),
        ({"file": ()}, "name a file, or a dataset"),
    ],
)
def test_contradicting_keys_are_refused(keys, message):
    with pytest.raises(ConfigError, match=message):
        SampleFiles(**{"file": "a.csv", **keys})


def test_a_random_selection_is_stable_and_without_repeats():
    files = SampleFiles("a.csv", random=5, seed=3)
    chosen = sorted(files.selected(50))
    assert len(chosen) == 5
    assert chosen == sorted(files.selected(50))
    assert chosen != sorted(SampleFiles("a.csv", random=5, seed=4).selected(50))
