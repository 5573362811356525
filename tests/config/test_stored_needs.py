"""What a configuration in a store would use is listed for whoever is asked to trust it."""

from pathlib import Path

import pytest

from steelyard.building.keys import element_of, is_class, keys_of, members, value_of
from steelyard.config.stored import is_shown_whole, stored_needs
from steelyard.errors import ConfigError
from steelyard.registry import BUILT_IN, find


def path_keys(cls, seen):
    """Every key below a class that takes a path."""
    if cls in seen:
        return
    seen.add(cls)
    for key in keys_of(cls).values():
        hints = [key.hint]
        while hints:
            hint = hints.pop()
            if hint is Path:
                yield key.name
            elif is_class(hint):
                yield from path_keys(hint, seen)
            elif len(members(hint)) > 1:
                hints += members(hint)
            else:
                hints += [inner for inner in (element_of(hint), value_of(hint)) if inner is not None]


def test_a_file_is_listed_under_every_key_that_takes_one_whatever_its_name():
    seen = set()
    names = {
        name
        for kind, classes in BUILT_IN.items()
        for registered in classes
        for name in path_keys(find(kind, registered), seen)
    }
    assert {"file", "template", "knowledge", "ca_file"} <= names
    for name in sorted(names):
        assert stored_needs({"targets": {"a": {name: "id_rsa"}}}) == ["files: id_rsa"], name
        assert stored_needs({"a": [{name: ["../my keys/id rsa"]}]}) == ["files: ../my keys/id rsa"], name


@pytest.mark.parametrize(
    ("stored", "listed"),
    [
        ({"template": "en/four_options"}, []),
        ({"template": "{{question}} a/b"}, []),
        ({"system": "Be brief."}, []),
        ({"prompts": {"a": "id_rsa", "b": "Answer: {{text}}"}, "samples": "id_dsa"}, ["files: id_rsa, id_dsa"]),
        ({"endpoint": {"api_key": "${B}"}}, ["endpoints: https://api.openai.com/v1", "keys: B"]),
        ({"endpoint": "http://h/v1"}, ["endpoints: http://h/v1"]),
        (
            {"targets": {"a": {"function": "mod:f"}, "b": {"langchain": {"runnable": "m:chain"}}}},
            ["modules: mod:f, m:chain"],
        ),
        ({"url": "http://u@h/${A}", "api_key": "${B}"}, ["endpoints: http://u@h/${A}", "keys: A, B"]),
        ({"options": {"budget": {"calls": 5, "money": None}}}, ["budgets: calls 5, money None"]),
        ({"budget_calls": 7, "out": "q.jsonl"}, ["files: q.jsonl", "budgets: calls 7"]),
        ({"model": {"openai_compatible": {"name": "m"}}}, ["endpoints: https://api.openai.com/v1"]),
        ({"model": {"openai_compatible": "m", "base_url": "http://h"}}, ["endpoints: http://h"]),
        ({"model": {"litellm": {"name": "m"}}}, ["keys: those that LiteLLM finds in the environment"]),
        ({"file": "/tmp/r3Xk9Qp7/Zb81LmWv5Tq0Yc46Hd2s/a.md"}, ["files: /tmp/r3Xk9Qp7/Zb81LmWv5Tq0Yc46Hd2s/a.md"]),
        (None, []),
    ],
)
def test_endpoints_keys_modules_files_and_budgets_are_listed(stored, listed):
    assert stored_needs(stored) == listed


def test_the_address_of_openai_is_that_of_the_models_that_need_not_name_one():
    for name in BUILT_IN["model"]:
        default = keys_of(find("model", name)).get("base_url")
        listed = stored_needs({"model": {name: {"name": "m"}}})
        assert (f"endpoints: {default and default.default}" in listed) == bool(default and default.default), name


def test_a_deep_value_and_a_long_list_are_listed_in_bounded_length():
    deep = "http://h"
    for _ in range(5_000):
        deep = [{"a": deep}]
    assert stored_needs(deep) == ["endpoints: http://h"]
    (line,) = stored_needs([f"http://h{n}/\x1b" for n in range(1_000)])
    assert line.endswith("http://h19/\\x1b, and 980 more")


def test_nothing_that_is_listed_is_cut_out_of_the_message_that_holds_it():
    addresses = [f"http://h{n}/{'p' * 100}" for n in range(20)]
    message = str(ConfigError("\n".join(stored_needs(addresses))))
    assert [address for address in addresses if address not in message] == []


def test_what_is_too_long_to_be_shown_whole_is_told_apart():
    assert is_shown_whole({"targets": {f"t{n}": {"http": {"url": f"http://h{n}/"}} for n in range(20)}})
    assert not is_shown_whole([f"http://h{n}/" for n in range(21)])
    assert not is_shown_whole({"url": "http://h/" + "p" * 200 + "@elsewhere"})
