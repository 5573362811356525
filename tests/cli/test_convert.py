"""steelyard convert: a configuration of another tool becomes two files, and nothing is replaced."""

import pytest

PROMPTFOO = """
prompts: ["Q: {{question}}"]
providers: [{id: "openai:chat:small", config: {apiBaseUrl: "http://127.0.0.1:9/v1"}}]
tests:
  - vars: {question: "1+1?"}
    assert: [{type: equals, value: "2"}, {type: moderation}]
"""


@pytest.fixture
def promptfoo(tmp_path):
    (tmp_path / "theirs").mkdir()
    path = tmp_path / "theirs" / "promptfooconfig.yaml"
    path.write_text(PROMPTFOO, encoding="utf-8")
    return path


def test_the_configuration_and_its_dataset_stand_beside_the_file(steelyard, promptfoo):
    said = steelyard("convert", "theirs/promptfooconfig.yaml", code=0)
    new = promptfoo.with_name("promptfooconfig.steelyard.yaml")
    assert f"steelyard check theirs/{new.name}" in said.out
    assert "1 thing not taken over" in said.err
    assert "# Not taken over: theirs/promptfooconfig.yaml:6: moderation:" in new.read_text(encoding="utf-8")
    assert '"2"' in new.with_suffix(".jsonl").read_text(encoding="utf-8")
    assert "1 sample" in steelyard("check", f"theirs/{new.name}", code=0).out


def test_a_file_that_exists_is_not_replaced(steelyard, promptfoo, tmp_path):
    (tmp_path / "new.jsonl").write_text("mine", encoding="utf-8")
    assert "new.jsonl exists already" in steelyard("convert", promptfoo, "--out", "new.yaml", code=2).err
    assert (tmp_path / "new.jsonl").read_text(encoding="utf-8") == "mine"
    assert not (tmp_path / "new.yaml").exists()


def test_files_beside_the_folder_are_read_only_where_root_says_so(steelyard, promptfoo, tmp_path):
    (tmp_path / "shared.txt").write_text("from above", encoding="utf-8")
    promptfoo.write_text(PROMPTFOO.replace('"1+1?"', "file://../shared.txt"), encoding="utf-8")
    refused = steelyard("convert", promptfoo, code=2).err
    assert "promptfooconfig.yaml:5:" in refused
    assert "--root" in refused
    steelyard("convert", promptfoo, "--root", ".", "--out", "new.yaml", code=0)
    assert "from above" in (tmp_path / "new.jsonl").read_text(encoding="utf-8")
