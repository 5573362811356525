"""Rows from Parquet, folders, datasets saved to disk and data frames: the same table from each."""

import json
import sys
from pathlib import Path

import datasets
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.thorough import times

from steelyard.config.load import load
from steelyard.data import paths
from steelyard.data.load import read_tables
from steelyard.data.parquet import ClassName
from steelyard.data.sample_files import SampleFiles
from steelyard.errors import ConfigError, DataError
from steelyard.evaluation.evaluate import RunConfig, evaluate_suite
from steelyard.suites.choice.suite import ChoiceSuite
from steelyard.targets.baseline import Baseline

ROWS = [
    {"question": "Which?", "choices": ["one", "two"], "answer": 1, "share": 0.5},
    {"question": "Who?", "choices": ["Ann", "Bob", "Cy"], "answer": 0, "share": None},
]


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    datasets.disable_progress_bars()


def labelled():
    """A dataset whose answers are classes called A to D."""
    features = datasets.Features(
        {
            "question": datasets.Value("string"),
            "choices": datasets.List(datasets.Value("string")),
            "answer": datasets.ClassLabel(names=list("ABCD")),
            "share": datasets.Value("float64"),
        }
    )
    return datasets.Dataset.from_list(ROWS, features=features)


def cells(files):
    (table,), _ = read_tables(files)
    assert list(table) == list(table)
    return [row.cells for row in table]


@pytest.mark.parametrize(
    "frame",
    [
        lambda: ROWS,
        lambda: pd.DataFrame(ROWS),
        lambda: pl.DataFrame(ROWS),
        lambda: pl.LazyFrame(ROWS),
        lambda: pa.Table.from_pylist(ROWS),
        lambda: datasets.Dataset.from_list(ROWS),
    ],
    ids=["mappings", "pandas", "polars", "lazy", "pyarrow", "datasets"],
)
def test_every_frame_gives_the_same_rows(frame):
    assert cells(SampleFiles.of(frame())) == ROWS


def test_cells_of_pandas_are_pythons_own(tmp_path):
    pd.DataFrame(ROWS).to_parquet(tmp_path / "a.parquet")
    frame = pd.read_parquet(tmp_path / "a.parquet").assign(
        missing=pd.array([1, None], dtype="Int64"),
        day=[pd.Timestamp("2024-02-29"), pd.NaT],
        kind=pd.Categorical(["x", None]),
    )
    first, second = cells(SampleFiles.of(frame))
    assert first["choices"] == ["one", "two"]
    assert (second["missing"], second["day"], second["kind"]) == (None, None, None)


def test_numbers_of_32_bits_are_those_that_were_written(tmp_path):
    numbers = [2.4, None, 1e-7, 3.0]
    table = pa.table({"label": pa.array(numbers, pa.float32())})
    pq.write_table(table, tmp_path / "a.parquet")
    sources = [table, table.to_pandas(), pl.from_arrow(table), datasets.Dataset(table)]
    for files in (*map(SampleFiles.of, sources), SampleFiles(tmp_path / "a.parquet")):
        assert [row["label"] for row in cells(files)] == numbers


def test_a_frame_has_a_name_for_addresses_and_the_suite():
    files = SampleFiles.of(pl.DataFrame(ROWS), name="exam")
    (table,), _ = read_tables(files)
    assert (files.title, table.location(2, "answer")) == ("exam", "exam entry 2 key answer")
    assert str(files.frame) == "exam: a frame of polars, 2 rows, 4 columns"


@pytest.mark.parametrize("frame", ["a.csv", 7, {"a": [1]}, [{"a": 1}, 2]])
def test_what_is_no_frame_is_refused(frame):
    with pytest.raises(ConfigError, match="expected a"):
        SampleFiles.of(frame)


@pytest.mark.parametrize("text", ["a\0b", "\ud83d"])
def test_a_text_that_no_file_may_hold_is_named_with_its_row(text):
    with pytest.raises(DataError, match=r"frame entry 2: (a NUL|half a)"):
        cells(SampleFiles.of([{"q": "fine"}, {"q": [text]}]))


def test_a_cell_that_holds_itself_is_named_with_its_row():
    endless = []
    endless.append(endless)
    with pytest.raises(DataError, match="frame entry 1: nested too deeply"):
        cells(SampleFiles.of([{"q": endless}]))


@pytest.mark.parametrize(
    "frame",
    [
        lambda: pd.DataFrame([["Which?", "B", "A"]], columns=["question", "answer", "answer"]),
        lambda: pa.table([pa.array(["A"]), pa.array(["B"])], names=["answer", "answer"]),
    ],
    ids=["pandas", "pyarrow"],
)
def test_two_columns_of_one_name_are_refused(frame):
    with pytest.raises(DataError, match="two columns"):
        SampleFiles.of(frame())


def test_two_columns_of_one_name_in_a_parquet_file_are_refused(tmp_path):
    table = pa.table([pa.array(["Which?"]), pa.array(["A"]), pa.array(["B"])], names=["question", "answer", "answer"])
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a\.parquet: two columns are called 'answer'; rename one"):
        cells(SampleFiles(tmp_path / "a.parquet"))


@pytest.mark.parametrize(
    "days", [pa.array([10**9], pa.int32()).cast(pa.date32()), pa.array([10**15], pa.timestamp("s"))]
)
def test_a_date_beyond_the_calendar_is_an_error_of_the_data(tmp_path, days):
    table = pa.table({"question": ["Which?"], "day": days})
    pq.write_table(table, tmp_path / "a.parquet")
    for files in (SampleFiles(tmp_path / "a.parquet"), SampleFiles.of(table), SampleFiles.of(datasets.Dataset(table))):
        with pytest.raises(DataError):
            cells(files)


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet", ""])
def test_a_name_that_no_file_system_takes_is_an_error_of_ours(suffix):
    for keys in ({"file": "a" * 300 + suffix}, {"dataset": Path("a" * 300 + suffix)}):
        with pytest.raises(ConfigError, match=r"cannot be opened: File name too long|a file of samples ends in"):
            read_tables(SampleFiles(**keys))


def test_a_split_dataset_asks_for_one_of_its_splits():
    with pytest.raises(ConfigError, match="has the splits train, test; give one of them"):
        SampleFiles.of(datasets.DatasetDict({"train": labelled(), "test": labelled()}))


def test_parquet_streams_lists_structs_and_missing_cells(tmp_path):
    rows = [
        {"q": f"q{n}", "o": {"text": ["x", "y"], "label": ["A", "B"]}, "n": None if n % 2 else n} for n in range(3_000)
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet", row_group_size=700)
    assert cells(SampleFiles(tmp_path / "a.parquet")) == rows


def test_class_labels_of_a_parquet_file_are_their_names(tmp_path):
    labelled().to_parquet(tmp_path / "a.parquet")
    answers = [row["answer"] for row in cells(SampleFiles(tmp_path / "a.parquet"))]
    assert answers == ["B", "A"]
    assert [answer.number for answer in answers] == [1, 0]


def test_a_row_without_a_class_has_no_label():
    assert ClassName.of(-1, ["A", "B"]) is None
    assert ClassName.of(None, ["A", "B"]) is None


def test_columns_of_bytes_are_left_out_and_said_to_be(tmp_path):
    rows = [{"q": "x", "image": {"bytes": b"\x89PNG", "path": None}, "raw": b"\x00"}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    (table,), notes = read_tables(SampleFiles(tmp_path / "a.parquet"))
    assert [row.cells for row in table] == [{"q": "x"}]
    assert notes == ("a.parquet: image, raw left out, as bytes are not text",)


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1" + b"\xff" * 200 + b"PAR1", b"q,a\nx,B\n"])
def test_a_damaged_parquet_file_is_named(tmp_path, data):
    (tmp_path / "a.parquet").write_bytes(data)
    with pytest.raises(DataError, match=r"a\.parquet is not a valid Parquet file"):
        cells(SampleFiles(tmp_path / "a.parquet"))


def test_a_parquet_file_that_is_cut_or_changed_anywhere_is_an_error_of_ours(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS * 50), path)
    whole = path.read_bytes()
    for end in range(0, len(whole), len(whole) // times(3, 24)):  # each file starts a reader, or two
        for data in (whole[:end], whole[:end] + bytes([whole[end] ^ 0x55]) + whole[end + 1 :]):
            path.write_bytes(data)
            try:
                cells(SampleFiles(path))
            except DataError:
                continue


def test_parquet_without_its_package_names_the_extra(tmp_path, monkeypatch):
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match=r"pip install 'pyarrow>="):
        read_tables(SampleFiles(tmp_path / "a.parquet"))


def test_a_dataset_without_its_package_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ConfigError, match=r"owner/name needs the package datasets: pip install 'datasets>="):
        read_tables(SampleFiles(dataset="owner/name"))


def test_a_dataset_that_cannot_be_reached_is_named():
    with pytest.raises(DataError, match="the dataset owner/no-such-exam cannot be loaded: "):
        read_tables(SampleFiles(dataset="owner/no-such-exam", split="test"))


@pytest.mark.parametrize("key", ["file", "dataset"])
def test_a_saved_dataset_is_read_with_the_names_of_its_classes(tmp_path, key):
    labelled().save_to_disk(tmp_path / "exam")
    found = cells(SampleFiles(**{key: tmp_path / "exam"}))
    assert [row["answer"] for row in found] == ["B", "A"]
    assert cells(SampleFiles(dataset=str(tmp_path / "exam"))) == found


def test_splits_of_a_saved_dataset_are_named_and_suggested(tmp_path):
    datasets.DatasetDict({"train": labelled(), "test": labelled().select([1])}).save_to_disk(tmp_path / "exam")
    assert len(cells(SampleFiles(tmp_path / "exam", split="test"))) == 1
    with pytest.raises(ConfigError, match="exam has the splits train, test; name one, as split: test"):
        read_tables(SampleFiles(tmp_path / "exam"))
    with pytest.raises(ConfigError, match="has no split 'tset': did you mean 'test'"):
        read_tables(SampleFiles(tmp_path / "exam", split="tset"))


def test_a_damaged_folder_of_a_dataset_is_named(tmp_path):
    labelled().save_to_disk(tmp_path / "exam")
    next((tmp_path / "exam").glob("*.arrow")).write_bytes(b"no arrow")
    with pytest.raises(DataError, match="exam is not a valid folder of a dataset"):
        read_tables(SampleFiles(tmp_path / "exam"))


@pytest.mark.parametrize("how", ["dots", "link"])
def test_a_saved_dataset_with_data_outside_its_folder_is_refused(tmp_path, how):
    for name in ("private", "exam"):
        labelled().save_to_disk(tmp_path / name)
    data = next((tmp_path / "exam").glob("*.arrow"))
    if how == "link":
        data.unlink()
        data.symlink_to(tmp_path / "private" / data.name)
    else:
        state = tmp_path / "exam/state.json"
        state.write_text(state.read_text().replace(data.name, f"../private/{data.name}"))
    with pytest.raises(ConfigError, match=r"leads out of the folder .*exam, .* to .*private"):
        read_tables(SampleFiles(tmp_path / "exam"))


def folder_of(tmp_path, *names):
    for name in names:
        path = tmp_path / "exams" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"question": name}) + "\n", encoding="utf-8")
    return tmp_path / "exams"


@pytest.mark.parametrize("split", ["dev", "validation", "val"])
def test_a_folder_of_data_files_is_read_by_split_under_any_of_its_names(tmp_path, split):
    folder = folder_of(tmp_path, "dev/law_dev.jsonl", "dev/art_dev.jsonl", "test/law_test.jsonl", ".git/x.jsonl")
    tables, _ = read_tables(SampleFiles(folder, split=split))
    assert [table.name for table in tables] == ["dev/art_dev.jsonl", "dev/law_dev.jsonl"]


def test_a_link_that_leads_out_of_a_folder_of_data_files_is_refused(tmp_path):
    folder = folder_of(tmp_path, "test/law.jsonl")
    (tmp_path / "private.jsonl").write_text('{"question": "private"}\n', encoding="utf-8")
    (folder / "test/art.jsonl").symlink_to("../../private.jsonl")
    with pytest.raises(ConfigError, match=r"art\.jsonl leads out of the folder .*exams, .* to .*private\.jsonl"):
        read_tables(SampleFiles(folder))
    (table,), _ = read_tables(SampleFiles(folder / "test/art.jsonl"))
    assert [row.cells["question"] for row in table] == ["private"]


def test_a_folder_with_several_parts_asks_which(tmp_path):
    folder = folder_of(tmp_path, "all/test-00000-of-00001.jsonl", "all/dev-00000-of-00001.jsonl", "law/test-0.jsonl")
    with pytest.raises(ConfigError, match=r"is in several folders \(all, law\); name one"):
        read_tables(SampleFiles(folder, split="test"))
    with pytest.raises(ConfigError, match="has the splits test, validation; name one"):
        read_tables(SampleFiles(folder, subset="all"))
    (table,), _ = read_tables(SampleFiles(folder, subset="all", split="test"))
    assert table.name == "all/test-00000-of-00001.jsonl"
    with pytest.raises(ConfigError, match="no file called 'lw': did you mean 'law'"):
        read_tables(SampleFiles(folder, subset="lw", split="test"))


def test_a_folder_with_more_files_than_are_looked_at_is_refused_and_not_read_in_part(tmp_path, monkeypatch):
    folder = folder_of(tmp_path, "a.jsonl", "b.jsonl", "c.jsonl")
    monkeypatch.setattr(paths, "MOST_ENTRIES", 2)
    with pytest.raises(ConfigError, match="more than 2 files; name a folder that has only the data"):
        read_tables(SampleFiles(folder))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"file": "a.csv", "dataset": "owner/name"}, "not file and dataset"),
        ({}, "name a file, or a dataset of the Hugging Face hub"),
        ({"file": "a.csv", "revision": "main"}, "revision belongs to a dataset"),
    ],
)
def test_contradicting_sources_are_refused(keys, message):
    with pytest.raises(ConfigError, match=message):
        SampleFiles(**keys)


def test_a_split_of_a_file_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("q,a\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"split and subset belong to a dataset or a folder, and a\.csv is a file"):
        read_tables(SampleFiles(tmp_path / "a.csv", split="test"))


_CELLS = st.one_of(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8), st.none())


@given(st.lists(st.tuples(_CELLS, st.lists(_CELLS, max_size=3)), min_size=1, max_size=5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read_again_from_every_keyed_source(tmp_path, drawn):
    rows = [{"q": text, "o": options} for text, options in drawn]
    schema = pa.schema({"q": pa.string(), "o": pa.list_(pa.string())})
    table = pa.Table.from_pylist(rows, schema=schema)
    (tmp_path / "a.json").write_text(json.dumps(rows), encoding="utf-8")
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for files in (
        *(SampleFiles(tmp_path / f"a{suffix}") for suffix in (".json", ".jsonl")),
        *map(SampleFiles.of, (rows, table, pl.from_arrow(table), table.to_pandas(), datasets.Dataset(table))),
    ):
        assert cells(files) == rows


@given(st.lists(st.tuples(_CELLS, st.lists(_CELLS, max_size=3)), min_size=1, max_size=50))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=times(2, 20))
def test_what_is_written_to_a_parquet_file_is_read_again(tmp_path, drawn):
    rows = [{"q": text, "o": options} for text, options in drawn]
    schema = pa.schema({"q": pa.string(), "o": pa.list_(pa.string())})
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), tmp_path / "a.parquet")
    assert cells(SampleFiles(tmp_path / "a.parquet")) == rows


def test_a_configuration_names_a_folder_beside_it_as_a_dataset(tmp_path, monkeypatch):
    rows = [{"question": "Which?", "choices": ["one", "two"], "answer": 1}] * 1
    features = datasets.Features(
        {
            "question": datasets.Value("string"),
            "choices": datasets.List(datasets.Value("string")),
            "answer": datasets.ClassLabel(names=["A", "B"]),
        }
    )
    (tmp_path / "conf").mkdir()
    datasets.Dataset.from_list(rows, features=features).save_to_disk(tmp_path / "conf" / "saved")
    path = tmp_path / "conf" / "exam.yaml"
    for key in ("dataset", "file"):
        path.write_text(
            f"suite: choice\nsamples: {{{key}: saved}}\ntargets: {{guess: {{baseline: random}}}}\n", "utf-8"
        )
        suite = load(path, environ={}, use_dotenv=False).suite
        assert (suite.name, [sample.reference for sample in suite.samples]) == ("saved", ["B"])


def test_a_folder_called_like_a_packaged_reply_does_not_hide_it(tmp_path):
    (tmp_path / "choice").mkdir()
    (tmp_path / "exam.csv").write_text("question,A,B,answer\nWhich?,one,two,A\n", encoding="utf-8")
    prompt = {"template": "zh/choice", "reply": "choice", "model": {"scripted": {"default": "A"}}}
    path = tmp_path / "exam.json"
    path.write_text(
        json.dumps({"suite": "choice", "samples": {"file": "exam.csv"}, "targets": {"m": {"prompt": prompt}}})
    )
    assert load(path, environ={}, use_dotenv=False).suite.targets["m"].reply == "choice"


def test_a_run_of_a_frame_says_in_its_manifest_what_it_was(tmp_path):
    rows = [{"question": "Which?", "options": ["one", "two"], "answer": "B"}]
    suite = ChoiceSuite(SampleFiles.of(rows, name="pilot"), {"guess": Baseline("random")}).build()
    assert suite.name == "pilot"
    (run,) = evaluate_suite(suite, how=RunConfig(store=tmp_path / "a.db"))
    assert run.manifest["samples"]["source"]["frame"] == "pilot: a list of 1 rows"
