"""Tables of sections: what a page leaves out of them, and says instead."""

from steelyard.report.section import SectionTable, TableCell, TableColumn, text_row


def table(*rows, caption=""):
    columns = (TableColumn("run", "name"), TableColumn("errors", count=True), TableColumn("refused", count=True))
    return SectionTable(columns, tuple(tuple(map(TableCell, row)) for row in rows), caption)


def test_counts_that_are_0_in_every_row_are_left_out():
    shown = table(("a", "0", "1"), ("b", "0 / 0", "0"), caption="of 20").without_zeros()
    assert [column.title for column in shown.columns] == ["run", "refused"]
    assert [[cell.text for cell in row] for row in shown.rows] == [["a", "1"], ["b", "0"]]
    assert shown.caption == "of 20"


def test_a_table_without_such_counts_stays_as_it_is():
    whole = table(("a", "1", "0"), ("b", "0", "2"))
    assert whole.without_zeros() == whole


def test_a_page_has_no_column_without_a_text_and_keeps_names_and_runs():
    columns = (
        TableColumn("target", "name"),
        TableColumn("remarks", "remark"),
        TableColumn("p"),
        TableColumn("n"),
        TableColumn("a run", series=True),
    )
    rows = (text_row("", "", "–", "3", "–"), text_row("", "", "", "–", ""))
    shown = SectionTable(columns, rows).without_empty()
    assert [column.title for column in shown.columns] == ["target", "n", "a run"]
    assert [[cell.text for cell in row] for row in shown.rows] == [["", "3", "–"], ["", "–", ""]]
    assert SectionTable(columns, ()).without_empty().columns == columns
