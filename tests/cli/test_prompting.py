"""`steelyard prompts`: listed, printed, copied, and a copy is used like the packaged one."""

import json

import pytest

from steelyard.cli.app import run_app
from steelyard.prompts.reply_schema import packaged_replies, response_format
from steelyard.prompts.template import load_template, packaged_prompts


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        run_app(["prompts", *arguments])
    said = capsys.readouterr()
    return ended.value.code, said.out, said.err


def test_every_packaged_prompt_is_listed_with_what_it_is_filled_with(capsys):
    code, out, _ = run(capsys)
    listed = {line.split()[0]: line.partition(" ")[2].strip() for line in out.splitlines()}
    assert code == 0
    assert set(listed) == {*packaged_prompts(), *(f"replies/{one}" for one in packaged_replies())}
    assert listed["zh/choice_examples"] == "examples, question, options, letters"


@pytest.mark.parametrize("name", packaged_prompts())
def test_a_prompt_is_printed_as_it_is(capsys, name):
    assert run(capsys, name) == (0, load_template(name) + "\n", "")


def test_a_copy_is_a_template_of_ones_own_and_an_old_file_is_kept(capsys, tmp_path):
    path = tmp_path / "mine.txt"
    code, out, _ = run(capsys, "zh/choice_cot", "--to", str(path))
    assert (code, load_template(path)) == (0, load_template("zh/choice_cot"))
    assert "name it as template" in out
    path.write_text("my own", encoding="utf-8")
    code, _, err = run(capsys, "zh/choice_cot", "--to", str(path))
    assert code == 2
    assert "exists already" in err
    assert path.read_text(encoding="utf-8") == "my own"


def test_a_copied_schema_still_takes_the_letters_of_each_question(capsys, tmp_path):
    path = tmp_path / "mine.json"
    assert run(capsys, "replies/choice", "--to", str(path))[0] == 0
    assert response_format(path, ["A", "B"])["json_schema"]["schema"]["properties"]["answer"]["enum"] == ["A", "B"]
    assert json.loads(path.read_text(encoding="utf-8"))["type"] == "object"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["zh/choise"], "did you mean 'zh/choice'"),
        (["--to", "x.txt"], "copies one prompt"),
        (["../errors"], "there is no prompt"),
        (["zh/choice", "--to", "no/such/folder/x.txt"], "cannot be written"),
    ],
)
def test_a_mistake_is_said_and_nothing_is_written(capsys, arguments, said):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert said in err
