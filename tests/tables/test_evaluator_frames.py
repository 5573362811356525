"""Frames of three libraries: columns read, columns added, nothing changed that was given."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from steelyard.errors import ConfigError
from steelyard.tables.evaluator import EagerFrame, check_key

DATA = {"query": ["a", "b"], "prediction": [[["x"]], None]}
KINDS = [pd.DataFrame, pl.DataFrame, pa.table]


@pytest.mark.parametrize("make", KINDS)
def test_the_same_kind_comes_back_with_the_columns_added(make):
    given = make(DATA)
    extended = EagerFrame(given).with_columns({"recall": [0.5, None]})
    assert type(extended) is type(given)
    read = EagerFrame(extended)
    assert read.columns == ["query", "prediction", "recall"]
    assert read.cells("recall")[0] == 0.5
    last = read.cells("recall")[1]
    assert last is None or math.isnan(last)


@pytest.mark.parametrize("make", KINDS)
def test_the_given_frame_is_not_changed(make):
    given = make(DATA)
    EagerFrame(given).with_columns({"recall": [0.5, None]}, drop=["query"])
    assert EagerFrame(given).columns == ["query", "prediction"]


@pytest.mark.parametrize("make", KINDS)
def test_a_column_can_be_dropped(make):
    assert EagerFrame(EagerFrame(make(DATA)).with_columns({"m": [1.0, 0.0]}, drop=["query"])).columns == [
        "prediction",
        "m",
    ]


@pytest.mark.parametrize("make", KINDS)
def test_a_column_that_exists_is_replaced(make):
    again = EagerFrame(make({"query": ["a", "b"], "m": [9.0, 9.0]})).with_columns({"m": [1.0, 0.0]})
    assert EagerFrame(again).columns == ["query", "m"]
    assert EagerFrame(again).cells("m") == [1.0, 0.0]


@pytest.mark.parametrize("make", KINDS)
def test_a_missing_column_is_refused_with_the_nearest_and_all_there_are(make):
    with pytest.raises(
        ConfigError, match=r"no column 'qury': did you mean 'query'\? The columns are query, prediction"
    ):
        EagerFrame(make(DATA)).cells("qury")


def test_a_column_that_is_like_no_other_is_refused_with_all_there_are():
    with pytest.raises(ConfigError, match="no column 'xyz', to join; the columns are query"):
        check_key("xyz", ["query"], "to join")


def test_an_index_of_pandas_is_kept():
    given = pd.DataFrame(DATA, index=[7, 7])
    extended = EagerFrame(given).with_columns({"m": [1.0, 0.0]})
    assert list(extended.index) == [7, 7]
    assert list(extended["m"]) == [1.0, 0.0]


def test_a_text_index_out_of_order_keeps_rows_together():
    given = pd.DataFrame(DATA, index=["z", "a"])
    extended = EagerFrame(given).with_columns({"m": [1.0, 0.0]})
    assert extended.loc["z", "m"] == 1.0


def test_columns_of_pandas_that_are_numbers_stay():
    extended = EagerFrame(pd.DataFrame({0: [1], 1: [2]})).with_columns({"m": [1.0]})
    assert list(extended.columns) == [0, 1, "m"]


@pytest.mark.parametrize("make", KINDS)
def test_a_frame_without_rows_gets_columns_without_rows(make):
    empty = EagerFrame(make(DATA)).with_columns({})
    none = empty[:0] if not isinstance(empty, pa.Table) else empty.slice(0, 0)
    assert EagerFrame(EagerFrame(none).with_columns({"m": []})).columns == ["query", "prediction", "m"]


@pytest.mark.parametrize("given", [[["a"]], {"a": [1]}, None, "text", np.zeros((2, 2))])
def test_what_is_no_frame_is_refused(given):
    with pytest.raises(ConfigError, match="expected a pandas or polars data frame or a pyarrow table"):
        EagerFrame(given)


def test_a_lazy_frame_is_refused_with_what_to_do():
    with pytest.raises(ConfigError, match=r"\.collect\(\)"):
        EagerFrame(pl.LazyFrame(DATA))


def test_two_columns_of_one_name_are_refused():
    with pytest.raises(ConfigError, match="'a' 2 times"):
        EagerFrame(pd.DataFrame([[1, 2]], columns=["a", "a"]))
