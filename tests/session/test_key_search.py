"""Any eight characters of a key are masked, whatever a server made of them, and nothing else is."""

import json
import random
import string
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.session.clothes import CLOTHES, base64
from tests.thorough import times

from steelyard.session.key_search import KeySearch

KEYS = {
    "long": "sk-Zq7Xw9Lm3Pt5Rv8Yb2Nc4Kd6Hf1Jg0",
    "short": "aB3dE6gH",
    "of a person": "Tr0ub4dor&3",
    "with symbols": "pa$sw@rd! long/one+two=three&four",
    "with quotes": 'abc"def\\ghi<jkl>mno',
    "foreign": "schlüssel-ñandú-123456",
    "of a project": "sk-proj-AbC/d+Ef?9>1~2",
    "token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jK7",
    "words": "correcthorsebatterystaple",
    "digits": "0123456789abcdef0123456789abcdef",
}
ROOT = Path(__file__).parents[2]
HIGHEST_SHARE_LEFT = 0.4
"""Of a form, at its ends: digits of base64 that encode bits of a neighbour, and padding."""


def left_of(text):
    return text.replace("[secret K]", "")


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_a_key_is_masked_in_any_clothes_and_what_stands_around_it_stays(key):
    search = KeySearch({"K": key})
    for name, dress in CLOTHES.items():
        dressed = dress(key)
        for around in ("《{}》", "<<{}>>", "... {} ..."):
            before, after = around.split("{}")
            masked = search.mask_text(f"{before}{dressed}{after}")
            assert "[secret K]" in masked, name
            assert masked.startswith(before), name
            assert masked.endswith(after), name
            assert len(left_of(masked)) - len(left_of(around)) <= max(16, HIGHEST_SHARE_LEFT * len(dressed)), name


ALPHABET = string.ascii_letters + string.digits


@given(
    st.text(ALPHABET, min_size=12, max_size=60).filter(lambda key: len(set(key)) > 6),
    st.data(),
    st.sampled_from([name for name in CLOTHES if name != "middle starred"]),
    st.text(st.characters(exclude_categories=["C"], exclude_characters=ALPHABET), max_size=20),
)
def test_any_run_of_eight_characters_is_masked_in_any_clothes(key, data, clothes, around):
    start = data.draw(st.integers(0, len(key) - 8))
    run = key[start : data.draw(st.integers(start + 8, len(key)))]
    masked = KeySearch({"K": key}).mask_text(f"{around}\n{CLOTHES[clothes](run)}\n")
    assert "[secret K]" in masked
    letters = "".join(mark for mark in left_of(masked) if mark.isalnum()).lower()
    assert not any(key[at : at + 8].lower() in letters for at in range(len(key) - 7))


def realistic_key(seed):
    draw = random.Random(seed)
    kinds = [
        ("sk-proj-", string.ascii_letters + string.digits + "_-", 120),
        ("sk-ant-api03-", string.ascii_letters + string.digits + "_-", 95),
        ("sk-", ALPHABET, 48),
        ("gsk_", ALPHABET, 52),
        ("", string.hexdigits[:16], 32),
        ("hf_", string.ascii_letters, 34),
        ("", ALPHABET, 10),
        ("Pw!", ALPHABET + "$@!&=+", 12),
    ]
    prefix, alphabet, length = kinds[seed % len(kinds)]
    return prefix + "".join(draw.choices(alphabet, k=length))


@given(st.text(), st.integers(0, 1 << 32).map(realistic_key))
def test_a_text_without_a_run_stays_as_it_is(text, key):
    search = KeySearch({"K": key})
    assert search.mask_text(text) is text
    assert search.mask(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass") == text


def test_realistic_keys_mask_nothing_in_the_documentation():
    texts = [path.read_text() for path in [*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md")]]
    pages = [page for text in texts for page in text.split("\n## ") if "sk-" not in page]
    joined = "\n\n".join(pages)
    search = KeySearch({f"K{seed}": realistic_key(seed) for seed in range(times(16, 64))})
    assert len(joined) > 100_000
    assert search.mask_text(joined) == joined
    assert search.mask(json.dumps(joined).encode()) == json.dumps(joined).encode()


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("not-needed", "A key is not needed here, Not-Needed."),
        ("LM-Studio", "lm studio and lm-studio"),
        ("password", "The Password is secret."),
        ("EMPTY", "It is EMPTY, and so is base64 RU1QVFk=."),
        ("none", "none of them"),
        ("sk-proj-Xy7Zk2mQ9pLw", "OpenAI's keys begin with sk-proj-, Anthropic's with sk-ant-api03-."),
        ("sk-ant-api03-Xy7Zk2mQ9pLw", "OpenAI's keys begin with sk-proj-, Anthropic's with sk-ant-api03-."),
        ("sk-no-key-for-us", "There is a risk: no key."),
    ],
)
def test_a_word_that_serves_as_key_and_a_public_beginning_do_not_damage_a_reply(key, text):
    assert KeySearch({"K": key}).mask_text(text) == text


def test_a_reply_with_a_key_keeps_its_other_words_and_its_form():
    search = KeySearch({"K": KEYS["long"]})
    sent = {"n": 5, "text": f"It is\n{KEYS['long']}!", "list": list(KEYS["long"]), "x": {"y": "ok"}}
    body = json.loads(search.mask(json.dumps(sent).encode()))
    assert body == {"n": 5, "text": "It is\n[secret K]!", "list": ["[secret K]"], "x": {"y": "ok"}}


@pytest.mark.parametrize("odd", ['["%s", ["%s"]]', '{"a": "%s", "b": ["%s"]}', '[{"a": ["%s"]}, "%s"]'])
def test_json_with_a_key_over_several_strings_remains_json(odd):
    key = KEYS["long"]
    masked = KeySearch({"K": key}).mask((odd % (key[:9], key[9:])).encode())
    assert "[secret K]" in json.dumps(json.loads(masked))


def test_numbers_of_a_keys_characters_are_masked_and_the_body_remains_json():
    key = KEYS["long"]
    masked = KeySearch({"K": key}).mask(json.dumps({"n": list(key.encode())}).encode())
    assert json.loads(masked) == "[secret K]"


def test_of_several_keys_each_is_named_and_of_equal_parts_the_shorter():
    search = KeySearch({"A": "sk-abcdef12345", "B": "sk-abcdef12345-zyx98", "C": "Qw9Er8Ty7Ui6"})
    text = "1 sk-abcdef12345-zyx98 2 sk-abcdef12345 3 Qw9Er8Ty7Ui6"
    assert search.mask_text(text) == "1 [secret B] 2 [secret A] 3 [secret C]"


def test_the_ends_that_a_provider_shows_are_masked_as_far_as_they_are_runs():
    search = KeySearch({"K": KEYS["long"]})
    assert search.mask_text("sk-Zq7Xw********6Hf1Jg0") == "[secret K]********6Hf1Jg0"
    assert search.mask_text("sk-Zq7Xw********d6Hf1Jg0") == "[secret K]********[secret K]"


def test_a_layer_of_encoding_inside_another_is_masked():
    key = KEYS["long"]
    for dressed in (f"user:{key}", f'{{"api_key": "{key}"}}'):
        masked = KeySearch({"K": key}).mask_text(base64(dressed))
        assert len(left_of(masked)) < len(base64(dressed)) - len(key)


HOSTILE = {
    "copies of a key": KEYS["long"].encode(),
    "ends of a key": b"Zq7Xw9L ",
    "percent": b"%2525",
    "backslashes": b"\\",
    "escapes": b"\\\\u0073",
    "ampersands": b"&#",
    "zeros": b"%\0\0\0",
    "full-width": "ｓ".encode(),
    "half a character": b"\xef\xbd",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_the_time_for_a_hostile_body_grows_with_its_length_alone(what):
    search = KeySearch({"K": KEYS["long"]})
    seconds = []
    for size in (50_000, 400_000):
        body = HOSTILE[what] * (size // len(HOSTILE[what]))
        begun = time.process_time()
        search.mask(body)
        seconds.append(time.process_time() - begun)
    assert seconds[1] < 30 * seconds[0] + 0.1  # 8 where it is linear, 64 where it is quadratic


def test_a_key_of_two_thousand_characters_is_searched_for_too():
    key = "eyJ" + "".join(random.Random(1).choices(ALPHABET + "-_.", k=2000))
    search = KeySearch({"K": key})
    assert left_of(search.mask_text(f"x {base64(key)} y")).startswith("x ")
    assert len(left_of(search.mask_text(f"x {key[700:720]} y"))) <= len("x _ y")
