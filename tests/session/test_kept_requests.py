"""What the journal keeps of a request: no secret, whatever form it has, still JSON, and in linear time."""

import json
import time

import pytest

from steelyard.models.base import SENT, Request
from steelyard.session.kept_requests import LONGEST, LONGEST_TEXT, with_request
from steelyard.types import Reply

HASH = "9f86d081884c7d659a2feaa0c55ad015"


def kept(body, url="http://h/v1", redact=lambda text: text):
    """Address and body as they are kept."""
    payload = body if isinstance(body, bytes) else json.dumps(body).encode()
    reply = with_request(Reply("00", "B"), Request("http://h", url, payload), redact)
    address, _, text = reply.metadata[SENT].partition("\n")
    return address, text


def said(text):
    """The text of a message as it is kept."""
    return json.loads(kept({"messages": [{"role": "user", "content": text}]})[1])["messages"][0]["content"]


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ({"password": {"value": "horse"}}, {"password": {"value": "*****"}}),
        ({"passwords": ["horse", {"old": "mule"}]}, {"passwords": ["*****", {"old": "****"}]}),
        ({"secrets": ["hunter2"], "auth": ["u", "p"]}, {"secrets": ["*******"], "auth": ["*", "*"]}),
        ({"token": 1234567, "secret": True, "password": None}, {"token": "*******", "secret": True, "password": None}),
        ({"headers": [{"name": "Authorization", "value": "Basic dTpw"}]},
         {"headers": [{"name": "Authorization", "value": "**********"}]}),
        ({"key": "x-api-key", "value": ["abc"]}, {"key": "x-api-key", "value": ["***"]}),
        ({"pass": "abc", "pw": "abc", "db_pw": "abc", "jwt": "abc", "session_id": "abc", "sessionId": "abc",
          "signature": "abc", "passcode": 123},
         dict.fromkeys(["pass", "pw", "db_pw", "jwt", "session_id", "sessionId", "signature", "passcode"], "***")),
        ({"ghp_" + "a1" * 18: 1}, {"*" * 40: 1}),
        ([{"a": [{"cookie": "abc"}]}], [{"a": [{"cookie": "***"}]}]),
        ("ghp_" + "a1" * 18, "*" * 40),
    ],
)  # fmt: skip
def test_every_text_and_number_below_a_secrets_name_is_masked(body, shown):
    assert json.loads(kept(body)[1]) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("my key:\nAKIAIOSFODNN7EXAMPLE", "my key:\n" + "*" * 20),
        ("see\nsk-proj-abcDEF123", "see\n" + "*" * 17),
        ("see\tghp_" + "a1" * 18, "see\t" + "*" * 40),
        (f"digest\n{HASH}", "digest\n" + "*" * 32),
        ("postgres://u:pa$s@h/d", "postgres://u:****@h/d"),
        ("postgres://u:p/w@h/d", "postgres://u:***@h/d"),
        ("postgres://u:p#1?@h/d", "postgres://u:****@h/d"),
        ("postgres://u:p@s@h/d", "postgres://u:***@h/d"),
        ("mysql://root:se{cret@h", "mysql://root:*******@h"),
        ("git clone https://tok123@h/x and https://tok123:@h", "git clone https://******@h/x and https://******:@h"),
        ("https://h/x?a=1&sig=ab%2B&code=abc then", "https://h/x?a=1&sig=*****&code=*** then"),
        ("DB_PASS=horse\n", "DB_PASS=*****\n"),
        ("password: correct horse\nWhat is next?", "password: *************\nWhat is next?"),
        ('so {"pass": "ab", \\"token\\": \\"ab\\", \\"n\\": 1', 'so {"pass": "**", \\"token\\": \\"**\\", \\"n\\": 1'),
    ],
)  # fmt: skip
def test_secrets_in_the_text_of_a_message_are_masked(text, shown):
    assert said(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "See https://medium.com/@user/post, https://unpkg.com/@scope/pkg@1.2.3 and http://localhost:8080/@me?to=a@b.",
        "The author: Zhu Xi. Pass: 3 of 5, signature: def f(code=1): return code",
        "session id of the sonnet? The key: A minor. max_tokens=5",
        "Mail me@example.org; 12:30, http://h:80/a, http://[::1]:80/@a, f'http://{user}:{password}@h', http://${A}:${B}@h",
        '{"question": "Who?",\n "options": ["a", "b"], "n": 1.0}',
        "[1] is a reference, {a} a placeholder",
        '"Why?" she said',
    ],
)  # fmt: skip
def test_ordinary_text_stays_as_it_is(text):
    assert said(text) == text


def test_the_arguments_of_a_tool_call_are_masked_by_their_values():
    arguments = json.dumps({"api_key": "hunter2-hunter2", "q": 'a "b"', "deep": json.dumps({"password": "horse"})})
    call = {"type": "function", "function": {"name": "f", "arguments": arguments}}
    shown = json.loads(kept({"messages": [{"role": "assistant", "tool_calls": [call]}]})[1])
    shown_arguments = json.loads(shown["messages"][0]["tool_calls"][0]["function"]["arguments"])
    assert shown_arguments == {"api_key": "*" * 15, "q": 'a "b"', "deep": '{"password":"*****"}'}


def test_a_tool_that_takes_a_password_shows_stars_for_what_its_schema_says_of_it():
    about = {"type": "string", "default": "horse"}
    schema = {"type": "object", "required": ["password"], "properties": {"password": about, "n": {"type": "integer"}}}
    starred = {"type": "******", "default": "*****"}
    shown = {**schema, "properties": {"password": starred, "n": {"type": "integer"}}}
    assert json.loads(kept(schema)[1]) == shown


def test_the_address_and_a_body_that_is_no_json_are_masked_as_texts():
    address, text = kept(b"code=abc&n=1&pass=horse", "http://h/x?sig=abc&n=1")
    assert (address, text) == ("POST http://h/x?sig=***&n=1", "code=***&n=1&pass=*****")
    assert kept(b'{"token": "abc", \\nsk-proj-abcDEF123')[1] == '{"token": "***", \\n' + "*" * 17
    assert kept(b"\xff{")[1] == "�{"
    deep = b'{"a":' * 100_000
    assert kept(deep)[1].startswith('{"a":')


def test_a_value_of_the_environment_is_replaced_by_its_name_in_texts_keys_and_numbers():
    def redact(text):
        return text.replace("1234567890", "[secret K]")

    body = {"a1234567890": ["x1234567890y", 1234567890, 12, True, None]}
    assert json.loads(kept(body, redact=redact)[1]) == {"a[secret K]": ["x[secret K]y", "[secret K]", 12, True, None]}


def test_a_secret_at_the_cut_of_a_long_text_is_masked():
    key = "sk-proj-" + "Zq7" * 40
    for at in range(LONGEST_TEXT // 2 - 150, LONGEST_TEXT // 2 + 20, 10):
        for text in ("x " * (at // 2) + key + " x" * LONGEST, "x " * LONGEST + key + " x" * (at // 2)):
            shown = said(text)
            assert "Zq7" not in shown
            assert f"{len(text) - LONGEST_TEXT:,} characters left out" in shown


LONG = {
    "letters": "a" * 64_000,
    "nucleotides": "ACGT" * 16_000,
    "names": "x:y:" * 16_000,
    "references": "token:${A}" * 6_400,
    "quoted references": 'token:"${A}' * 6_400,
    "escaped references": 'token:\\"${A}' * 6_400,
    "words": "token." * 10_000 + "max: 1",
    "addresses": "http://u:p" * 6_400,
    "spaces": "x " * 100 + " " * 64_000,
    "quotes": "x:\"y:'" * 10_000,
    "brackets": "[" * 64_000,
    "nested": '{"a":' * 12_000,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_masking_takes_linear_time(text):
    started = time.process_time()
    kept({"messages": [{"role": "user", "content": text}]})
    kept(text.encode())
    assert time.process_time() - started < 2, "quadratic time took 6 s and more"
