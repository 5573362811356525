import json

import jmespath
import pytest

from steelyard.constraints import check_options
from steelyard.errors import ConfigError
from steelyard.models import response
from steelyard.models.base import Answer, Fault
from steelyard.models.response import MAX_EXPRESSION, PathSearch, ResponseMap, reply_in

REPLY = {
    "answer": "yes",
    "n": [3, 1, 2],
    "docs": [{"text": "a", "id": 1, "tags": ["x", "y"]}, {"text": "b", "id": 2, "tags": []}, {"id": 3, "tags": ["z"]}],
    "by": {"a": {"v": 1}, "b": {"v": 2}},
}
TWICE = ["[@,@]", "{a:@,b:@}", "[@,@][]", "join('',[to_string(@),to_string(@)])", "[to_array(@),to_array(@)]"]


@pytest.mark.parametrize("step", TWICE)
def test_an_expression_that_doubles_its_value_ends_in_an_error(step, monkeypatch):
    monkeypatch.setattr(response, "MAX_WORK", 100_000)
    search = PathSearch("|".join([step] * 40))
    with pytest.raises(ValueError, match="takes too much work on this reply"):
        search({"a": [1, 2, 3]})


@pytest.mark.parametrize("step", ["[@[],@[]]", "@[?@==@]", "sort_by(@,&a)", "map(&[@,@],@)", "@[*].{a:a,b:@}"])
def test_work_on_a_large_reply_is_counted(step, monkeypatch):
    monkeypatch.setattr(response, "MAX_WORK", 100_000)
    search = PathSearch("|".join([step] * 30))
    with pytest.raises(ValueError, match="too much work"):
        search([{"a": number} for number in range(2_000)])


def test_the_work_is_counted_over_all_values_of_a_reply():
    search = PathSearch("|".join(["[@,@]"] * 16))
    with pytest.raises(ValueError, match="too much work"):
        [search(number) for number in range(100)]


def test_an_error_of_a_reply_names_the_expression():
    expression = "|".join(["[@,@]"] * 22)
    answer = Answer(200, {}, b'{"answer": "x"}')
    with pytest.raises(Fault) as error:
        reply_in(answer, ResponseMap(text=expression))
    assert (error.value.kind, error.value.retry) == ("malformed", False)
    assert str(error.value).startswith(f"{expression!r} cannot be read from the reply: it takes too much work")


def test_a_message_does_not_hold_the_reply():
    with pytest.raises(Fault) as error:
        reply_in(Answer(200, {}, json.dumps({"answer": "x" * 10_000}).encode()), ResponseMap(text="abs(answer)"))
    assert len(str(error.value)) < 500


@pytest.mark.parametrize("expression", ["(" * 900 + "a" + ")" * 900, "a" * (MAX_EXPRESSION + 1), "a[", "nothing(@"])
def test_what_is_no_expression_is_refused_before_the_run(expression):
    with pytest.raises(ConfigError, match=r"response.text: .* is not a JMESPath expression"):
        check_options(ResponseMap(text=expression), within="response.")


def test_an_honest_large_reply_is_read():
    passages = [{"text": "word " * 200, "id": number, "file": f"{number}.md"} for number in range(3_000)]
    assert len(PathSearch("docs[*].text")({"docs": passages})) == 3_000
    assert len(PathSearch("docs[*].{id: id, document: file}")({"docs": passages})) == 3_000


@pytest.mark.parametrize(
    "expression",
    [
        *("answer", "docs[0].text", "docs[*].text", "docs[?id > `1`].id", "docs[].tags[]", "by.*.v", "n[1:]", "@"),
        *("{a: answer, b: n}", "[answer, n[0]]", "not_null(none, answer)", "docs[?text == 'b'] | [0].id", "sort(n)"),
        *("docs[?tags == `[]`].id", "n == `[3, 1, 2]`", "length(docs)", "answer && n", "!none", "contains(n, `1`)"),
        "max_by(docs, &id)",
    ],
)
def test_an_expression_finds_what_jmespath_finds(expression):
    assert PathSearch(expression)(REPLY) == jmespath.search(expression, REPLY)
