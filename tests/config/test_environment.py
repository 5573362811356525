import pytest

from steelyard.building.keys import described
from steelyard.building.read import parse
from steelyard.config.environment import environment, read_dotenv
from steelyard.config.load import load
from steelyard.errors import ConfigError


def values_of(text, environ=None, dotenv=None):
    return environment(parse(text, "a.yaml"), environ or {}, dotenv)


def error_of(text, environ=None, dotenv=None):
    with pytest.raises(ConfigError) as caught:
        values_of(text, environ, dotenv)
    return caught.value


def test_references_are_found_in_every_text(tmp_path):
    found = values_of('a: ["x ${ONE} y", {b: "${TWO}${ONE}"}]', {"ONE": "1", "TWO": "2", "THREE": "3"})
    assert dict(found) == {"ONE": "1", "TWO": "2"}


def test_the_environment_wins_over_the_file_beside(tmp_path):
    dotenv = tmp_path / ".env"
    dotenv.write_text("ONE=file\nTWO=file\n", encoding="utf-8")
    assert dict(values_of('a: "${ONE} ${TWO}"', {"ONE": "shell"}, dotenv)) == {"ONE": "shell", "TWO": "file"}


def test_values_are_never_shown():
    found = values_of('a: "${KEY}"', {"KEY": "hush-hush"})
    assert "hush" not in repr(found) + str(found) + f"{found}"
    assert repr(found) == "Environment(KEY)"


def test_every_missing_reference_is_named_at_its_place(tmp_path):
    error = error_of('a: 1\nb: "${ZHIPU_API_KEY}"\nc: "${OTHER}"\n', {"OTHER": ""}, tmp_path / ".env")
    assert f"a.yaml:2:4: set ZHIPU_API_KEY or put it into {tmp_path / '.env'}" in str(error)
    assert "a.yaml:3:4: set OTHER" in str(error)


@pytest.mark.parametrize("value", ["a\nb", "a\r\nEvil: 1", "a\0b", "a\x7f", "\x1b[2J"])
def test_a_value_with_a_control_character_is_refused_at_its_reference_and_not_shown(tmp_path, value):
    text = 'targets:\n  t: {http: {headers: {X-A: "Bearer ${KEY}"}}}\n'
    error = error_of(text, {"KEY": value})
    assert "a.yaml:2:29: the value of KEY holds a line break or another control character" in str(error)
    (tmp_path / ".env").write_text('KEY="hush\\nhush"\n', encoding="utf-8")
    error = error_of(text, {}, tmp_path / ".env")
    assert "a.yaml:2:29: the value of KEY" in str(error)
    assert "hush" not in str(error)


def test_a_secret_that_is_written_out_is_refused_and_not_shown():
    error = error_of('model:\n  auth_token: "sk-0123456789"\n  headers: {Authorization: Bearer 12345678}\n')
    assert 'put AUTH_TOKEN=... into .env and write "${AUTH_TOKEN}"' in str(error)
    assert "a.yaml:3:13: Authorization:" in str(error)
    assert "sk-0123456789" not in str(error)
    assert "12345678" not in str(error)
    assert not values_of("model: {api_key: EMPTY}")


def test_a_key_that_is_written_out_is_one_mistake_at_its_value(tmp_path):
    (tmp_path / "q.csv").write_text("question,A,B,answer\n1+1?,2,3,A\n", "utf-8")
    text = """suite: choice
samples: {file: q.csv}
targets:
  m: {prompt: {template: en/four_options, model: {openai_compatible: {name: m, api_key: sk-0123456789abcdefghij}}}}
"""
    (tmp_path / "a.yaml").write_text(text, "utf-8")
    with pytest.raises(ConfigError) as caught:
        load(tmp_path / "a.yaml", environ={}, use_dotenv=False)
    assert (caught.value.location.line, caught.value.location.column) == (4, 89)
    assert caught.value.message.startswith("api_key: a key is not written out here")
    assert "sk-0123" not in str(caught.value)


def test_a_secret_is_refused_under_every_name_and_in_every_form():
    text = """
targets:
  a: {http: {headers: {X-Auth: sk-0123456789, X-Team: blue}, body: {token: abcdefgh, max_tokens: 100000000}}}
  b: {prompt: {system: "say sk-0123456789", parameters: {extra: [{password: hunter22}], author: "Zhu Xi himself"}}}
"""
    error = error_of(text)
    assert [(one.location.line, one.message.partition(":")[0]) for one in error.errors] == [
        (3, "X-Auth"), (3, "token"), (4, "password")]  # fmt: skip
    assert 'not resolved in body: send it in a header as "${NAME}"' in str(error)
    assert not any(one in str(error) for one in ("sk-0123456789, X", "abcdefgh", "hunter22"))


def test_another_mistake_on_the_line_of_a_secret_does_not_show_it():
    place = parse('a: {X-Auth: "hush-hush", modl: m}', "a.yaml").entries["a"].node.entries["modl"].key.location
    assert place.text == 'a: {X-Auth: "*********", modl: m}'


def test_a_secret_of_the_wrong_type_is_described_without_it():
    assert described(parse("sk-0123456789", "a.yaml")) == "the text '*************'"
    assert described(parse('"X-Auth: hush-hush"', "a.yaml")) == "the text 'X-Auth: *********'"


def test_names_of_scores_and_columns_are_no_secrets():
    assert not values_of('gate: {token_accuracy: ">= 0.654"}\nsamples: {columns: {token: "the token"}}')


def test_the_words_that_are_asked_are_data_and_references_elsewhere_are_looked_up():
    text = """
matrix: {words: ["${price} a", "${price} b"], key: ["${ONE}"]}
targets:
  body: {prompt: {template: "{{words}} costs ${price}", system: "${price}", model: {m: {api_key: "{{key}}"}}}}
  kb: {http: {url: "http://h?k=${TWO}", body: {q: "${price}"}, headers: {X: "${THREE}"}}}
samples: {file: "${price}"}
"""
    assert sorted(values_of(text, {"ONE": "1", "TWO": "2", "THREE": "3"})) == ["ONE", "THREE", "TWO"]


def test_a_password_in_an_address_is_refused_and_not_shown():
    error = error_of('url: "https://me:hunter22@host/v1"')
    assert "a password is not allowed in an address" in str(error)
    assert "hunter22" not in str(error)


DOTENV = """
# a comment
PLAIN=a b # comment
export EXPORTED = x
QUOTED="a # \\"b\\"\\nc" # comment
SINGLE='$a\\n'
EMPTY=
HASH=a#b
"""


def test_the_usual_forms_of_a_dotenv_file(tmp_path):
    (tmp_path / ".env").write_text(DOTENV, encoding="utf-8")
    assert read_dotenv(tmp_path / ".env") == {
        "PLAIN": "a b",
        "EXPORTED": "x",
        "QUOTED": 'a # "b"\nc',
        "SINGLE": "$a\\n",
        "EMPTY": "",
        "HASH": "a#b",
    }


@pytest.mark.parametrize("line", ["just-a-secret", 'A="open', "A='x' y", "1A=b", "=hunter22"])
def test_a_line_that_is_no_assignment_is_named_but_not_shown(tmp_path, line):
    (tmp_path / ".env").write_text(f"OK=1\n{line}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_dotenv(tmp_path / ".env")
    assert str(caught.value) == f'{tmp_path / ".env"}:2: expected NAME=value, or NAME="value"'
