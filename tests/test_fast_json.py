"""JSON with and without orjson: the same bodies, the same values, and a run that works without it."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard import fast_json
from steelyard.models.json_bodies import encode_body, parse_body
from steelyard.session.replies import pack_reply, unpack_reply
from steelyard.types import Reply, Usage

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


def both(make):
    """What `make` gives with orjson and without it."""
    with_orjson = make()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast_json, "dumps", fast_json.standard_dumps)
        patch.setattr(fast_json, "loads", fast_json.standard_loads)
        return with_orjson, make()


@given(VALUES)
def test_a_body_has_the_same_bytes_so_that_the_journal_finds_it_again(value):
    first, second = both(lambda: encode_body({"a": value}))
    assert first == second
    assert parse_body(first) == {"a": value}
    assert both(lambda: parse_body(first)) == ({"a": value}, {"a": value})


@given(st.text(), st.integers(0, 10**6))
def test_a_reply_packed_by_one_is_read_after_the_other(text, tokens):
    reply = Reply("", text, usage=Usage(tokens, 1, cache_read=tokens // 2), metadata={"model": "易"})
    first, second = both(lambda: pack_reply(reply))
    assert unpack_reply("", first) == unpack_reply("", second)
    assert unpack_reply("", first).usage == reply.usage


@pytest.mark.parametrize("text", [b"{", b"[" * 100_000, b'{"a": \xff}', b""])
def test_what_is_not_json_is_one_error_for_both(text):
    def read():
        with pytest.raises(ValueError):  # noqa: PT011  # the words are of two packages
            fast_json.loads(text)

    both(read)


def test_a_run_works_where_orjson_is_not_installed(tmp_path):
    program = (
        "import sys; sys.modules['orjson'] = None\n"
        "from steelyard import ExactMatch, Sample, evaluate, fast_json\n"
        "samples = [Sample(f'q{n}', f'question {n}', '易') for n in range(5)]\n"
        "run = evaluate(lambda sample: '易', samples, [ExactMatch()])\n"
        "print(fast_json.loads is fast_json.standard_loads, run.summary().counts.done)\n"
    )
    out = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert out.stdout.split()[-2:] == ["True", "5"], out.stderr
