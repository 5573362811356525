"""What a secret looks like: one rule for refusing it and for masking it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.models.references import is_written_out, looks_secret, masked, names_masked, names_secret, written_out

HEX = "9f86d081884c7d659a2feaa0c55ad015"


@pytest.mark.parametrize(
    "name",
    ["Authorization", "X-Auth", "x-api-key", "apiKey", "APIKEY", "api_keys", "access_token", "authToken", "token",
     "refreshToken", "secret", "client-secret", "password", "db_passwd", "credentials", "Cookie", "Set-Cookie",
     "bearer", "jwt", "passcode", "pw", "Ocp-Apim-Subscription-Key", "private_key", "API-KEY"],
)  # fmt: skip
def test_a_word_of_its_name_tells_a_secret(name):
    assert names_secret(name)


@pytest.mark.parametrize(
    "name",
    ["max_tokens", "maxTokens", "prompt_tokens", "tokens", "token_count", "max_token", "eos_token", "tokenizer",
     "author", "authored_by", "authority", "key", "primary_key", "keyboard", "question", "token_f1", "monkey"],
)  # fmt: skip
def test_counts_of_tokens_authors_and_other_keys_are_no_secrets(name):
    assert not names_secret(name)


def test_names_that_may_be_a_setting_are_masked_and_not_refused():
    for name in ("pass", "db_pass", "session_id", "sessionId", "PHPSESSID", "signature"):
        assert names_masked(name)
        assert not names_secret(name)
    for name in ("pass_rate", "bypass", "session", "signature_algorithm", "code", "id"):
        assert not names_masked(name)
    assert names_masked("code", in_address=True)


def test_key_alone_is_a_secrets_name_in_an_address_only():
    assert names_secret("key", bare_key=True)
    assert names_secret("X-Key", bare_key=True)
    assert not names_secret("keyword", bare_key=True)


@pytest.mark.parametrize(
    "text",
    ["sk-3f9a0c1e5b", "use sk-proj-abcDEF123", "Bearer abcdef.0123456789", "bearer abcdef0123456789",
     f"{HEX}.AbCdEfGhIjKlMnOp", "AKIAIOSFODNN7EXAMPLE", "ghp_" + "a1" * 18, "eyJhbGciOiJI.eyJzdWIiOiIx.c2ln",
     "sk-3f9a0c1e5b ${KEY}"],
)  # fmt: skip
def test_a_key_of_a_known_form_is_a_secret_whatever_it_is_called(text):
    assert looks_secret(text)
    assert is_written_out("anything", text)


@pytest.mark.parametrize("text", ["Bearer ${KEY}", "task-force-one-and-two", "sk-", "the bearer of news", HEX, "glm-4"])
def test_other_texts_are_none(text):
    assert not looks_secret(text)


def test_long_random_digits_are_a_secret_in_a_header_alone():
    assert looks_secret(HEX, digits=True)
    assert looks_secret("Zm9vYmFyMTIzNDU2Nzg5MGFiY2RlZmdoaWprbA==", digits=True)
    for harmless in ("123e4567-e89b-12d3-a456-426614174000", "application/vnd.openxmlformats-officedocument", "a" * 64):
        assert not looks_secret(harmless, digits=True)


def test_a_short_setting_is_no_secret_but_in_a_header():
    assert not is_written_out("auth", "basic")
    assert not is_written_out("token", True)
    assert is_written_out("X-Auth", "abc", outside=True)
    assert is_written_out("password", 1234567890)
    assert not is_written_out("token", "Token ${KEY} for all")


def test_the_first_secret_of_a_nested_value_is_named():
    assert written_out({"extra": [{"n": 1, "token": "abcdefgh"}]}) == "token"
    assert written_out({"secrets": ["abcdefgh"]}) == "secrets"
    assert written_out({"max_tokens": 123456789, "stop": ["a long stop word"], "user": "someone-else"}) is None


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ('headers: {X-Auth: "hush-hush", Accept: json}', 'headers: {X-Auth: "*********", Accept: json}'),
        ("{X-Auth: hush hush, modl: m}", "{X-Auth: *********, modl: m}"),
        ('{"token": "a\\"b", "n": 1}', '{"token": "****", "n": 1}'),
        ("password: 'it is, so'", "password: '*********'"),
        ("  Authorization: Bearer 12345678", "  Authorization: ***************"),
        ('api_key: "sk-open', 'api_key: "*******'),
        ("- sk-3f9a0c1e5b", "- *************"),
        (f"  {HEX}", "  " + "*" * 32),
        ("url: https://h/x?token=abc&n=1", "url: https://h/x?token=***&n=1"),
        ("url: https://me:pw@h/x", "url: https://me:**@h/x"),
        ('api_key: "${KEY}", max_tokens: 4096', 'api_key: "${KEY}", max_tokens: 4096'),
        ("author: Zhu Xi, key: A", "author: Zhu Xi, key: A"),
    ],
)
def test_every_secret_of_a_line_is_masked_at_its_place(line, shown):
    assert masked(line) == shown


@given(st.text(max_size=60))
def test_a_masked_line_is_as_long_as_it_was(line):
    assert len(masked(line)) == len(line)


@given(st.sampled_from(["", "modl: m, ", "a: [1, 2], "]), st.from_regex(r"[A-Za-z][A-Za-z0-9]{5,30}", fullmatch=True))
def test_no_value_of_a_secret_is_left_on_a_line(before, value):
    assert value not in masked(f"{{{before}X-Auth: {value}, x: y}}")
