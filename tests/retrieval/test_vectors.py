"""Nearest vectors and the file that keeps them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from steelyard.retrieval.vectors import VectorIndex, keep_vectors, kept_vectors, unit_rows, vectors_path

NUMBERS = st.floats(-8, 8, width=16)


@given(arrays.arrays(np.float32, st.tuples(st.integers(1, 8), st.just(3)), elements=NUMBERS), st.integers(0, 9))
def test_the_nearest_are_those_of_a_plain_loop(rows, k):
    query = np.array([1.0, 2.0, -1.0])
    index = VectorIndex(unit_rows(rows))
    wanted = []
    for position, row in enumerate(rows.astype(float)):
        if row.any():
            wanted.append((position, float(row @ query / np.linalg.norm(row) / np.linalg.norm(query))))
    hits = index.search(query, k)
    assert len(hits) == min(k, len(wanted))
    assert [cosine for _, cosine in hits] == pytest.approx(
        sorted((one for _, one in wanted), reverse=True)[:k], abs=1e-6
    )
    assert all(dict(wanted)[place] == pytest.approx(cosine, abs=1e-6) for place, cosine in hits)


def test_equal_ones_stand_in_order_and_zeros_never_win():
    index = VectorIndex(unit_rows([[0, 0], [0, 2], [-1, 0], [0, 5], [0, 1]]))
    assert index.search([0.0, 1.0], 2) == [(1, 1.0), (3, 1.0)]
    assert [position for position, _ in index.search([0.0, 1.0], 9)] == [1, 3, 4, 2]
    assert [position for position, _ in index.search([0.0, -1.0], 9)] == [2, 1, 3, 4]
    assert index.search([0.0, 0.0], 2) == []


def test_very_large_and_very_small_numbers_keep_their_direction():
    rows = unit_rows([[1e300, 1e300], [1e-300, 0.0]])
    assert rows == pytest.approx(np.array([[0.5**0.5, 0.5**0.5], [1, 0]]))


@pytest.mark.parametrize("rows", [[[1.0, float("nan")]], [[float("inf")]], [[1.0], [1.0, 2.0]], [[[1.0]]]])
def test_what_is_no_vector_is_refused(rows):
    with pytest.raises(ValueError, match=r"vectors are rows|inhomogeneous|shape"):
        unit_rows(rows)


def test_a_query_of_another_dimension_is_refused():
    index = VectorIndex(unit_rows([[1, 2, 3]]))
    assert (len(index), index.dimension) == (1, 3)
    with pytest.raises(ValueError, match="a query of 2 dimensions; the index has 3"):
        index.search([1.0, 2.0])


def test_vectors_are_kept_and_mapped_into_memory(tmp_path):
    rows = unit_rows([[1, 2], [3, 4]])
    path = vectors_path(tmp_path / "new", ["a", "b"], "model")
    assert kept_vectors(path, 2) is None
    assert keep_vectors(path, rows)
    found = kept_vectors(path, 2)
    assert isinstance(found, np.memmap)
    assert (found == rows).all()
    assert VectorIndex(found).search([3.0, 4.0], 1)[0][0] == 1
    assert (np.load(path, allow_pickle=False) == rows).all()


def test_other_texts_and_another_model_are_other_files(tmp_path):
    paths = {vectors_path(tmp_path, texts, model) for texts in (["a", "b"], ["b", "a"], ["ab"]) for model in ("m", "n")}
    assert len(paths) == 6


@pytest.mark.parametrize(
    "spoil",
    [lambda body: body[:-1], lambda body: body[:20], lambda body: b"", lambda body: b"\x93NUMPY\x01\x00\xff\xff{("],
)
def test_a_damaged_file_counts_as_missing(tmp_path, spoil):
    path = tmp_path / "v.npy"
    keep_vectors(path, unit_rows([[1, 2], [3, 4]]))
    path.write_bytes(spoil(path.read_bytes()))
    assert kept_vectors(path, 2) is None


def test_pickles_and_other_shapes_are_not_read(tmp_path):
    path = tmp_path / "v.npy"
    for foreign in (
        np.array([{"a": 1}], dtype=object),
        np.zeros((2, 2)),
        np.zeros((3, 2), np.float32),
        np.zeros(2, np.float32),
    ):
        np.save(path, foreign, allow_pickle=True)
        assert kept_vectors(path, 2) is None


def test_vectors_that_cannot_be_kept_are_no_failure(tmp_path):
    (tmp_path / "file").write_text("in the way")
    assert not keep_vectors(tmp_path / "file" / "v.npy", unit_rows([[1, 2]]))
