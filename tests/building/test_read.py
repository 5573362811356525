import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.building.nodes import from_plain, plain
from steelyard.building.read import MAX_BYTES, read
from steelyard.errors import ConfigError


def error_of(path):
    with pytest.raises(ConfigError) as caught:
        read(path)
    return caught.value


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_bytes("\ufeffa: 周\n".encode())
    assert plain(read(path)[1]) == {"a": "周"}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("a: 周".encode("utf-16"), "UTF-16"),
        (b"a: 1\nb: \xd6\xdc\n", "byte 0xd6 is not UTF-8"),
        (b"a: 1\nb: \x00\n", "NUL byte"),
    ],
)
def test_other_encodings_and_binary_files_are_named(tmp_path, data, words):
    path = tmp_path / "a.yaml"
    path.write_bytes(data)
    error = error_of(path)
    assert words in str(error)
    assert error.location.file == str(path)


def test_a_file_too_large_is_refused_unread(tmp_path):
    path = tmp_path / "a.yaml"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    assert "larger than 5 MB" in str(error_of(path))


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    assert "No such file" in str(error_of(tmp_path / "none.yaml"))
    assert "not a regular file" in str(error_of(tmp_path))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(VALUES)
def test_plain_values_survive_the_way_into_nodes_and_back(value):
    assert plain(from_plain(value, "memory")) == value


def test_places_of_stored_values_name_their_path():
    node = from_plain({"a": [{"b": 1}]}, "stored configuration")
    assert str(node.entries["a"].node.value[0].entries["b"].node.location) == "stored configuration, a[0].b"
