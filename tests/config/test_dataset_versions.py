"""What a new row of a dataset is made like."""

from pathlib import Path

from steelyard.config.dataset_versions import like_cells, suggested_cells
from steelyard.data.dataset_file import DatasetFile, DatasetRow
from steelyard.types import Record, Sample


def test_a_row_made_of_a_sample_has_its_input_its_expected_output_and_its_further_values():
    roles = {"input": ("text",), "expected": ("label",)}
    file = DatasetFile(Path("t.csv"), "", ("text", "label", "channel"), (), roles, ())
    sample = Sample("T1", "Where is it?", "bug", metadata={"channel": "mail"})
    assert suggested_cells(file, Record(sample, None)) == {"text": "Where is it?", "label": "bug", "channel": "mail"}


def test_each_column_is_like_its_first_cell_with_something_in_it_whichever_row_has_it():
    columns = ("question", "options", "hint", "never")
    rows = (("What?", "", None, ""), ("Why?", ["a", "b"], None, None), ("Who?", "c", "look", None))
    file = DatasetFile(
        Path("q.json"), "", columns, (), {}, tuple(DatasetRow(str(no), cells) for no, cells in enumerate(rows))
    )
    assert like_cells(file) == {"question": "What?", "options": ["a", "b"], "hint": "look"}
