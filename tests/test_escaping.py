from __future__ import annotations

import csv
import io
import json
import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from steelyard.escaping import cell_text, csv_cell, csv_text, json_in_html, json_line, markdown_cell, visible, writable

any_text = st.text(st.characters(), max_size=60)  # lone surrogates included
hostile = st.text(st.sampled_from("=+-@\t\r\n 1.e\"',;\x00\x1b\u202e\ud800＝"), max_size=12)
separated = st.text(st.sampled_from("=+-@\t\r\n 1\"',;\u3000＝"), max_size=12)


@given(any_text)
def test_no_control_direction_or_hidden_character_reaches_a_terminal(text):
    shown = visible(text)
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]", shown
    )
    shown.encode("utf-8")


@given(any_text)
def test_visible_text_has_one_line_when_nothing_is_kept(text):
    assert len(visible(text, keep="").splitlines()) <= 1


def test_plain_text_of_any_script_stays_as_it_is():
    for text in ("plain", "乾为天。故选（A）", "naïve café", "עברית", "😀", "a\tb\nc"):
        assert visible(text) == text


def test_escapes_name_the_character():
    assert visible("\x1b]8;;x\x07") == "\\x1b]8;;x\\x07"
    assert visible("a\u2066b\u200bc\U000e0041") == "a\\u2066b\\u200bc\\U000e0041"


def test_windows_line_ends_are_line_ends_but_a_lone_return_is_shown():
    assert visible("a\r\nb\rc") == "a\nb\\x0dc"


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd", "-a", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1+1", "＝1", "-1-1", "=HYPERLINK(0)"]
)
def test_a_cell_that_might_be_a_formula_begins_with_an_apostrophe(text):
    assert csv_cell(text).startswith("'")


@pytest.mark.parametrize("text", ["-1", "+2.5", "-1e-3", ".5", "-0"])
def test_a_text_that_is_a_number_stays_a_number(text):
    assert csv_cell(text) == text


def test_values_that_are_no_texts_become_json():
    assert csv_cell({"=x": ["-"]}) == '{"=x": ["-"]}'
    assert csv_cell(-1.5) == "-1.5"
    assert csv_cell(True) == "true"


@given(hostile)
def test_no_csv_cell_is_a_formula_after_it_was_written_and_read(text):
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerow([csv_cell(text)])
    buffer.getvalue().encode("utf-8")
    [[cell]] = csv.reader(io.StringIO(buffer.getvalue(), newline="")) if text else [[""]]
    assert not cell.lstrip(" ")[:1] or cell.lstrip(" ")[0] not in "=+-@\t\r\n＝" or is_number(cell)


@given(st.lists(separated, min_size=1, max_size=4), st.sampled_from([";", "\t"]))
@example(["r1", "a;=cmd|'/C calc'!A0;b"], ";")
@example(["r1", "a\t@SUM(1)"], "\t")
@example(["r1", 'said; "=1+1"'], ";")
@example(["r1", "two lines,\r\n=1+1"], ";")
@example(["r1", "a; \u3000＝1", '";', "-1\n"], ";")
@example(["r1", "a;\t=1"], ";")
@example(["r1", "a\t;=1"], "\t")
def test_no_cell_is_a_formula_where_the_list_separator_is_another(texts, separator):
    """Such a program also takes the line ends within a cell for ends of a row."""
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerow([csv_cell(text) for text in ["first", *texts]])
    rows = csv.reader(io.StringIO(buffer.getvalue(), newline=""), delimiter=separator)
    cells = [cell.lstrip(" \u3000\r\n") for row in rows for cell in row]
    assert not [cell for cell in cells if cell[:1] and cell[0] in "=+-@\t＝＋－＠"]


@given(st.one_of(separated, hostile))
def test_the_text_of_a_cell_is_read_back_unless_it_had_the_apostrophes_itself(text):
    text = writable(text)
    assert csv_text(csv_cell(text)) == text or re.search(r"(^|[;\t\r\n])'", text)


@pytest.mark.parametrize(
    "text", ["a; b", "well - yes", "a;b;c", "x=1; y", "two\nlines", "tab\tbed", "1 + 1 = 2", "'tis"]
)
def test_plain_text_with_separators_gets_no_apostrophe(text):
    assert csv_cell(text) == text


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


@given(any_text)
def test_writable_text_can_be_encoded_and_keeps_line_ends(text):
    done = writable(text)
    done.encode("utf-8")
    assert done.count("\n") == text.count("\n")
    assert "\x00" not in done


@given(any_text)
def test_a_markdown_cell_is_one_line_without_an_open_pipe_or_tag(text):
    cell = markdown_cell(text)
    assert "\n" not in cell
    assert "<" not in cell
    assert not re.search(r"(?<!\\)[|`\[\]]", cell.replace("\\\\", ""))


def test_links_mentions_and_references_are_parted():
    cell = markdown_cell("see https://a.example www.b.example @team #12 ![x](data:y) <b>")
    assert "://" not in cell
    assert "www." not in cell
    assert not re.search(r"@\w|#\d|!\[", cell.replace("#8203", ""))
    assert "&lt;b&gt;" in cell


@pytest.mark.parametrize("text", ["# title", "- entry", "1. entry", "+ x", "> quote", "=== rule", "2) x"])
def test_a_cell_begins_no_block(text):
    assert markdown_cell(text)[:1] in "\\&12"
    assert markdown_cell(text) != text


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | any_text,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
        max_leaves=8,
    )
)
def test_json_in_html_holds_no_markup_and_reads_back(value):
    text = json_in_html(value)
    text.encode("utf-8")
    assert not set("<>&\u2028\u2029") & set(text)
    again = json_in_html(json.loads(text))
    assert again == text


def test_a_script_cannot_be_ended_from_inside():
    assert "</script" not in json_in_html({"</script>": "<!--</ScRiPt>"})
    assert json.loads(json_in_html("\ud800x")) == "\ud800x"
    assert json.loads(json_in_html([float("nan"), float("-inf")])) == ["nan", "-inf"]


@given(any_text)
def test_a_json_line_hides_nothing_and_reads_back(text):
    line = json_line({text: [text]})
    line.encode("utf-8")
    assert len(line.splitlines()) == 1
    assert visible(line, keep="") == line
    assert json.loads(line) == {text: [text]}


def looked_at_in_full(value):
    """A cell of a CSV file by the rule alone, without its short ways for what most cells hold."""
    text = writable(cell_text(value))
    begins = re.match(r"\s*[=+\-@\t\r\n＝＋－＠]", text)
    is_number = re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text)
    return f"'{text}" if begins and not is_number else text


@given(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.text("=+-@ \t1.e\u202e\x00＝", max_size=6) | st.lists(st.integers() | st.text(max_size=3), max_size=2)
)  # fmt: skip
def test_the_short_ways_of_a_csv_cell_lead_to_the_same(value):
    assume(not re.search("[;\t\r\n]", cell_text(value)[1:]))
    assert csv_cell(value) == looked_at_in_full(value)
