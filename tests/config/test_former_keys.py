"""Keys that were renamed: the former name is still read, with a note, and everything written has the present one."""

from __future__ import annotations

import dataclasses

import pytest

from steelyard.config.effective import settings
from steelyard.config.load import load, load_plain
from steelyard.config.schema import json_schema
from steelyard.errors import ConfigError
from steelyard.registry import FORMER_KEYS, describe, find, with_present_keys
from steelyard.scorers.choice import Choice
from steelyard.scorers.lexical import Contains

RENAMED = [
    (kind, name, former, present)
    for kind, classes in FORMER_KEYS.items()
    for name, keys in classes.items()
    for former, present in keys.items()
]
EXAM = """suite: choice
samples: {file: exam.csv}
targets:
  one: {prompt: {template: en/four_options, model: {scripted: {default: A}}}}
scoring:
  beside: [last_letter]
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "exam.csv").write_text("question,A,B,answer\n1 + 1?,2,3,A\n", encoding="utf-8")
    return tmp_path


def loaded(folder, text):
    path = folder / "exam.yaml"
    path.write_text(text, encoding="utf-8")
    return load(path, environ={})


@pytest.mark.parametrize(("kind", "name", "former", "present"), RENAMED)
def test_the_present_name_is_a_field_and_the_former_one_is_none(kind, name, former, present):
    fields = {field.name for field in dataclasses.fields(find(kind, name))}
    assert present in fields
    assert former not in fields


def test_a_former_key_is_read_and_noted_with_its_line(folder):
    exam = loaded(folder, EXAM)
    assert exam.described.scoring.also_scored == ("last_letter",)
    assert exam.notes == ("exam.yaml:6: the new name of beside is also_scored",)


def test_what_is_stored_and_shown_has_the_present_key(folder):
    exam = loaded(folder, EXAM)
    assert exam.plain["scoring"] == {"also_scored": ["last_letter"]}
    assert exam.suite.scorers_for("one")[0] == Choice(also_scored=("last_letter",))
    shown = {setting.key: setting.origin for setting in settings(exam.described, exam.tree)}
    assert shown["scoring.choice.also_scored"] == "exam.yaml:6"


def test_a_stored_configuration_with_a_former_key_is_read_without_a_note(folder):
    stored = {**loaded(folder, EXAM).plain, "scoring": {"beside": ["last_letter"]}}
    again = load_plain(stored, folder, environ={})
    assert again.described.scoring.also_scored == ("last_letter",)
    assert again.notes == ()


def test_a_file_without_former_keys_gets_no_note(folder):
    assert loaded(folder, EXAM.replace("beside", "also_scored")).notes == ()


def test_a_matrix_notes_a_key_once(folder):
    text = EXAM.replace("  one: {", "  'one {{k}}': {").replace("default: A", "default: '{{k}}'")
    assert len(loaded(folder, "matrix: {k: [A, B]}\n" + text).notes) == 1


def test_a_key_under_both_of_its_names_is_refused_with_its_place(folder):
    with pytest.raises(ConfigError, match="'beside' is the former name of 'also_scored'; give one") as caught:
        loaded(folder, EXAM + "  also_scored: []\n")
    assert (caught.value.location.line, caught.value.location.column) == (6, 3)


def test_a_mistake_below_a_former_key_has_its_place(folder):
    with pytest.raises(ConfigError, match="last_letter") as caught:
        loaded(folder, EXAM.replace("[last_letter]", "[last_leter]"))
    assert caught.value.location.line == 6


def test_the_schema_has_the_former_key_as_deprecated():
    fields = json_schema()["$defs"]["scorer contains"]["properties"]
    assert fields["need"]["deprecated"]
    assert fields["need"]["anyOf"] == fields["mode"]["anyOf"]


def test_the_former_keyword_works_in_python_with_a_warning():
    with pytest.warns(DeprecationWarning, match="need= was renamed to mode="):
        scorer = Contains(need="all")
    assert scorer == Contains(mode="all")


def test_a_manifest_of_an_older_version_is_read_with_the_present_keys():
    present = {"scorers": {"contains": describe(Contains(mode="all"))}}
    former = {"scorers": {"contains": {"contains": dict(present["scorers"]["contains"]["contains"])}}}
    former["scorers"]["contains"]["contains"]["need"] = former["scorers"]["contains"]["contains"].pop("mode")
    assert with_present_keys(former) == present
