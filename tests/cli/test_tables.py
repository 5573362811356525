"""Tables in 80 columns: numbers are never cut, names give way."""

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from steelyard.report.render.terminal import table


def printed(made, width=80):
    out = io.StringIO()
    Console(file=out, width=width, markup=False).print(made)
    return out.getvalue().splitlines()


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf", "Mn", "Me", "Zl", "Zp", "Zs"]), max_size=200)


@given(NAMES, st.integers(0, 10**9))
def test_a_number_is_whole_whatever_the_name_beside_it(name, number):
    columns = ["run", "target", "solve_rate", "95 %", "n"]
    row = ["abcdef", name, "100.0 %", "12.3 to 100.0", str(number)]
    lines = printed(table(columns, [row], right=(2, 4), elastic=1))
    assert max(cell_len(line) for line in lines) <= 80
    assert len(lines) <= 3
    for cell in (row[0], *row[2:]):
        assert cell in lines[1]


def test_numbers_that_leave_a_name_little_space_are_whole():
    columns = ["score", "baseline", "other", "difference", "95 % CI", "p", "better", "worse"]
    row = ["Cost (currency of prices)", "0.00", "0.000022", "+0.000022", "+0.000021 to +0.000023", "< 0.001", "0", "38"]
    head, line, *_ = printed(table(columns, [row], right=(1, 2, 3, 5, 6, 7)))
    assert all(column in head for column in columns)
    assert line.split()[1:] == [*row[1:4], *row[4].split(), *row[5].split(), "0", "38"]


def test_a_long_name_keeps_its_begin_and_its_end():
    name = "chatglm3-6b[knowledge_base=zhouyi," + "x" * 100 + ",top_k=20]"
    lines = printed(table(["target", "n"], [[name, "1" * 50]]))
    text = "".join(line.replace("1" * 50, "").strip() for line in lines[1:])
    assert text.startswith("chatglm3-6b[")
    assert text.endswith("top_k=20]")
    assert "…" in text


def test_columns_move_together_before_one_of_them_is_cut():
    columns = ["run", "target", "solve_rate", "95 % CI", "n", "unparsed", "refused", "errors"]
    row = ["3qmte9", "guess\ninterrupted 63464/100000", "24.8 %", "24.5 to 25.2", "63,464", "0", "0", "123"]
    head, *lines = printed(table(columns, [row], right=(2, 4, 5, 6, 7), elastic=1))
    assert head.endswith(" errors")
    assert lines[0].endswith(" 123")
    assert "63464/100000" in "\n".join(lines)


def test_wide_characters_count_twice():
    lines = printed(table(["target", "n"], [["周易知识库问答系统" * 6, "1"], ["glm-4", "22"]], right=(1,)))
    assert {cell_len(line.rstrip()) for line in lines if line.rstrip().endswith(("1", "22"))} == {80}


def test_a_second_part_keeps_its_own_line():
    lines = printed(table(["target", "n"], [["name\ninterrupted 7/20", "1"]]))
    assert [line.split() for line in lines[1:]] == [["name", "1"], ["interrupted", "7/20"]]


def test_a_name_is_broken_between_words_where_the_rest_still_fits():
    lines = printed(table(["category", "n"], [["not in the handbook", "1" * 60]]))
    assert [line.replace("1" * 60, "").strip() for line in lines[1:]] == ["not in the", "handbook"]
    score = printed(table(["score", "n"], [["ex_spider_keep_distinct", "1" * 56]]))
    assert [line.replace("1" * 56, "").strip() for line in score[1:]] == ["ex_spider_keep_", "distinct"]
    tight = printed(table(["category", "n"], [["a handbook_of_weather_stations", "1" * 60]]))
    assert "".join(line.replace("1" * 60, "").strip() for line in tight[1:]) == "a handbook_of_weather_stations"


def test_the_widest_text_is_cut_with_a_sign_before_any_number_is():
    rows = [
        ["kx27ab", "2026-11-22 13:51", "Boats and harbours of the northern coast, second edition", "glm", "140/140"]
    ]
    lines = printed(table(["run", "started (UTC)", "suite", "target", "done"], rows, right=(4,), elastic=3))
    [line] = [line for line in lines if line.startswith("kx27ab")]
    assert len(line.rstrip()) <= 80
    assert line.rstrip().endswith("140/140")
    assert line.split()[:4] == ["kx27ab", "2026-11-22", "13:51", "Boats"]
    assert "…" in line


def test_a_column_of_moments_is_kept_whole_and_a_wide_name_is_cut_instead():
    rows = [["abc123", "2026-11-23 08:02", "a suite with a long title", "a target with a long name", "70/70"]]
    columns = ["run", "started (UTC)", "suite", "target", "done"]
    lines = printed(table(columns, rows, right=(4,), elastic=3, width=60), 60)
    assert lines[1].startswith("abc123 2026-11-23 08:02 ")
    assert "…" in lines[1]
    assert "a suite with a long title" not in " ".join(lines)
