"""A key that is written out is refused wherever it stands, from Python as from a file."""

import pytest

from steelyard import ConfigError, ExactMatch, OpenAICompatible, Prompt, Sample, Scripted, evaluate
from steelyard.constraints import check_options
from steelyard.models.embeddings import Embeddings
from steelyard.models.http import HttpModel
from steelyard.models.openai_compatible import Completions
from steelyard.models.references import references, without_query
from steelyard.models.response import ResponseMap

HEX = "9f86d081884c7d659a2feaa0c55ad015"


def http(**fields):
    return HttpModel(**{"url": "http://h/x", "body": {"q": "{{prompt}}"}, "response": ResponseMap(text="a")} | fields)


@pytest.mark.parametrize(
    "model",
    [
        OpenAICompatible("m", headers={"X-Auth": "sk-live"}),
        OpenAICompatible("m", headers={"X-Team": HEX}),
        OpenAICompatible("m", parameters={"extra": {"token": "abcdefgh"}}),
        OpenAICompatible("m", parameters={"user": "sk-3f9a0c1e5b"}),
        OpenAICompatible("m", "http://h/v1?token=abc"),
        Prompt(Scripted(), parameters={"password": "hunter22"}),
        http(headers={"X-Auth": "abc"}),
        http(headers={"X-Session": "Bearer abcdef0123456789"}),
        http(body={"q": "{{prompt}}", "token": "abcdefgh"}),
        http(parameters={"api_key": "abcdefgh"}),
        http(url="http://h/x?key=abc"),
        http(url=f"http://h/x?sig={HEX}"),
    ],
)
def test_a_key_written_out_is_refused_and_not_shown(model):
    with pytest.raises(ConfigError, match="would be stored") as caught:
        check_options(model)
    assert not any(part in str(caught.value) for part in ("sk-live", "abcdef", "hunter22", "=abc", HEX, "sk-3f"))


@pytest.mark.parametrize("model", [OpenAICompatible, Completions, Embeddings, http])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-A", "a\r\nEvil: 1"),
        ("X-A", "a\nb"),
        ("X-A", "a\rb"),
        ("X-A", "a\0b"),
        ("X-A", "\x1b[31m"),
        ("X-A", "${NAME}\r\nEvil: ${OTHER}"),
        ("X-A", "a\x85b"),
        ("X-A", "a\ud800"),
        ("X-A\r\nEvil", "1"),
        ("X\0", "1"),
        ("X A", "1"),
        ("X:A", "1"),
        ("Ä", "1"),
        ("", "1"),
    ],
)
def test_a_header_that_http_cannot_carry_is_refused_by_name(model, name, value):
    given = {} if model is http else {"name": "m", "base_url": "http://h/v1"}
    with pytest.raises(ConfigError, match="headers: ") as caught:
        check_options(model(**given, headers={name: value}))
    assert repr(name)[1:-1] in str(caught.value)
    check_options(model(**given, headers={"X-A": "tabs\tand é are allowed", "X_b.1": ""}))


def test_a_method_that_is_none_is_refused():
    with pytest.raises(ConfigError, match="method: "):
        check_options(http(method="POST\r\nEvil: 1"))


@pytest.mark.parametrize("url", ["htp://h/v1?token=hush-hush", "ftp://h?n=1&key=hush-hush"])
def test_an_address_that_is_none_is_quoted_without_its_key(url):
    for model in (OpenAICompatible("m", url), http(url=url)):
        with pytest.raises(ConfigError, match=r"http\(s\) address") as caught:
            check_options(model)
        assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    "model",
    [
        OpenAICompatible("m", parameters={"user": "${K}"}),
        Prompt(Scripted(), parameters={"extra": ["${K}"]}),
        http(body={"q": "{{prompt}}", "k": "${K}"}),
        http(parameters={"k": "${K}"}),
    ],
)
def test_a_reference_that_would_be_sent_as_it_stands_is_refused(model):
    with pytest.raises(ConfigError, match=r"\$\{K\} in \w+ is not resolved: a key belongs in a header"):
        check_options(model)


@pytest.mark.parametrize(
    "model",
    [
        OpenAICompatible("m", parameters={"max_tokens": 100000000, "stop": ["one long stop word"], "user": "reader-7"}),
        OpenAICompatible("m", headers={"X-Auth": "${A}", "X-Trace": "123e4567-e89b-12d3-a456-426614174000"}),
        http(url="http://h/x?key=${A}&n=1"),
        http(headers={"Authorization": "Bearer ${A}", "User-Agent": "lab/1.0"}),
    ],
)
def test_references_and_ordinary_settings_pass(model):
    assert check_options(model) is None


def test_evaluating_from_python_refuses_it_before_anything_is_stored(tmp_path):
    target = Prompt(OpenAICompatible("m", "http://127.0.0.1:9/v1", headers={"X-Auth": "hush-hush"}))
    with pytest.raises(ConfigError, match="header X-Auth"):
        evaluate(target, [Sample("1", "q", "A")], [ExactMatch()])
    assert not list(tmp_path.rglob("*.db"))


def test_braces_with_a_dollar_in_a_template_are_text():
    target = Prompt(Scripted(default="A"), "{{question}} costs ${price}", "Say ${price}")
    assert target.messages(Sample("1", "It"))[1]["content"] == "It costs ${price}"
    run = evaluate(target, [Sample("1", "It costs ${cost}", "A")], [ExactMatch()])
    assert run.state == "finished"


def test_references_are_those_around_a_question_and_none_in_its_words():
    target = {
        "prompt": {
            "template": "It costs ${price}",
            "system": "${also}",
            "text": "${also}",
            "parameters": {"user": "${also}"},
            "model": {"openai_compatible": {"api_key": "${KEY}", "headers": {"X": ["a ${TEAM}"]}}},
        }
    }
    assert list(references([target])) == ["KEY", "TEAM"]


def test_a_long_text_without_an_address_is_read_once():
    """A server chooses the address of a redirect; read from each of its letters, this one took hours."""
    assert without_query("a" * 1_000_000) == "a" * 1_000_000
