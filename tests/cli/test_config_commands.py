import contextlib
import json
import re
import sqlite3

import jsonschema
import pytest
import typer
from typer.testing import CliRunner

from steelyard.cli import config_commands
from steelyard.config.load import load
from steelyard.errors import ConfigError, DataError


@pytest.fixture
def command():
    app = typer.Typer(pretty_exceptions_enable=False)
    for name in ("check", "schema", "init"):
        app.command(name)(getattr(config_commands, name))

    def run(*arguments):
        return CliRunner().invoke(app, [str(one) for one in arguments], standalone_mode=False)

    return run


@pytest.fixture
def started(command, tmp_path):
    assert command("init", tmp_path / "quiz", "--suite", "choice").exception is None
    return tmp_path / "quiz"


def test_init_writes_a_configuration_that_loads_without_key_or_network(started):
    loaded = load(started / "choice.yaml", environ={}, use_dotenv=False)
    samples = list(loaded.suite.samples)
    assert len(samples) == 20
    assert {sample.group for sample in samples} == {"nature", "places", "history", "numbers"}
    assert list(loaded.suite.targets) == ["guess", "notes"]
    assert loaded.suite.tags == {"guess": {"notes": "no"}, "notes": {"notes": "yes"}}
    assert (started / ".gitignore").read_text(encoding="utf-8").split("\n")[1:] == [".steelyard/", ".env", ""]


def test_every_answer_of_the_first_dataset_occurs_about_equally_often(started):
    samples = list(load(started / "choice.yaml", environ={}).suite.samples)
    counts = [sum(sample.reference == letter for sample in samples) for letter in "ABCD"]
    assert sum(counts) == 20
    assert min(counts) >= 4
    assert all(len(set(sample.choices)) == 4 for sample in samples)


def test_the_notes_answer_more_than_a_guess_would(started):
    suite = load(started / "choice.yaml", environ={}).suite
    solved = sum(suite.targets["notes"](sample).value == sample.reference for sample in suite.samples)
    assert solved >= 12


def test_the_commented_model_is_sound_once_uncommented(started):
    path = started / "choice.yaml"
    lines = path.read_text(encoding="utf-8").splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("  # glm-4:"))
    lines[begin : begin + 5] = [line.replace("# ", "", 1) for line in lines[begin : begin + 5]]
    path.write_text("\n".join(lines).replace("# gate:", "gate:"), encoding="utf-8")
    suite = load(path, environ={"ZHIPU_API_KEY": "not-a-real-key"}).suite
    assert suite.targets["glm-4"].model.name == "glm-4"
    assert suite.gate == {"solve_rate": ">= 0.6"}


def test_init_says_what_to_type_next(command, tmp_path):
    output = command("init", tmp_path / "quiz").output
    assert f"cd {tmp_path / 'quiz'}\n    steelyard run general.yaml" in output
    output = command("init", tmp_path / "exam", "--suite", "choice").output
    assert f"cd {tmp_path / 'exam'}\n    steelyard run choice.yaml" in output


def test_init_overwrites_nothing(command, tmp_path):
    (tmp_path / ".gitignore").write_text("mine\n", encoding="utf-8")
    result = command("init", tmp_path)
    assert isinstance(result.exception, ConfigError)
    assert "has .gitignore already; nothing was written" in str(result.exception)
    assert [one.name for one in tmp_path.iterdir()] == [".gitignore"]


def test_init_refuses_an_unknown_suite_and_a_folder_that_is_a_file(command, tmp_path):
    assert "did you mean 'choice'?" in str(command("init", tmp_path, "--suite", "choise").exception)
    (tmp_path / "rows.csv").write_text("", encoding="utf-8")
    result = command("init", tmp_path / "rows.csv")
    assert isinstance(result.exception, ConfigError)
    assert f"a dataset is named by --samples {tmp_path / 'rows.csv'}" in str(result.exception)


@pytest.mark.parametrize("suite", ["general", "choice", "text2sql", "tables", "rag", "pairwise"])
def test_chinese_starter_is_the_english_one_with_chinese_texts(command, tmp_path, suite):
    suites = {}
    for language in ("en", "zh"):
        assert command("init", tmp_path / language, "--suite", suite, "--language", language).exception is None
        suites[language] = load(tmp_path / language / f"{suite}.yaml", environ={}, use_dotenv=False).suite
    english, chinese = suites["en"], suites["zh"]
    assert list(chinese.targets) == list(english.targets)
    samples = list(chinese.samples)
    assert [sample.id for sample in samples] == [sample.id for sample in english.samples]
    assert all(re.search(r"[\u4e00-\u9fff]", sample.input) for sample in samples if sample.input[0] != "1")


def test_init_refuses_a_language_that_has_no_starter(command, tmp_path):
    assert "'fr' is not one of 'en', 'zh'" in str(command("init", tmp_path / "new", "--language", "fr").exception)


def test_check_tells_what_a_configuration_holds(command, started):
    result = command("check", started / "choice.yaml")
    assert "is valid: suite choice, 20 samples" in result.output
    assert "target guess (notes=no)" in result.output
    found = json.loads(command("check", started / "choice.yaml", "--json").output)
    assert found["samples"] == 20
    guess = found["targets"]["guess"]["baseline"]
    assert (guess["baseline"], guess["knowledge"], guess["seed"]) == ("random", None, 0)


def test_check_refuses_a_configuration_with_a_mistake(command, started):
    path = started / "choice.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("seed: 7", "sed: 7"), encoding="utf-8")
    assert "did you mean 'seed'?" in str(command("check", path).exception)


def test_check_shows_columns_keys_and_defects_of_a_dataset(command, started):
    path = started / "questions.csv"
    result = command("check", path)
    assert result.return_value == 0
    assert "20 samples" in result.output
    assert "keys: A " in result.output
    path.write_text(path.read_text(encoding="utf-8") + "Which?,one,two,three,four,E,odd\n", encoding="utf-8")
    result = command("check", path)
    assert result.return_value == 2
    assert "1 defect:" in result.output
    found = json.loads(command("check", path, "--json").output)
    assert [one["place"] for one in found["defects"]] != []
    assert found["samples"] == 20


@pytest.mark.parametrize(("suite", "samples"), [("text2sql", 20), ("tables", 12), ("pairwise", 16)])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_suite_has_a_beginning_that_loads_and_a_dataset_that_is_checked(
    command, tmp_path, suite, samples, language
):
    assert command("init", tmp_path / "new", "--suite", suite, "--language", language).exception is None
    assert len(list(load(tmp_path / "new" / f"{suite}.yaml", environ={}, use_dotenv=False).suite.samples)) == samples
    (data,) = (one for one in (tmp_path / "new").glob("*.jsonl") if one.stem in {"questions", "predictions"})
    result = command("check", data, "--suite", suite)
    assert (result.return_value, f"{samples} samples" in result.output) == (0, True)
    bad = '{"id": "b1", "question": ""}\n' if suite == "pairwise" else '{"id": "b1", "question": "?"}\n'
    data.write_text(data.read_text(encoding="utf-8") + bad, encoding="utf-8")
    result = command("check", data, "--suite", suite, "--json")
    assert result.return_value == 2
    first = json.loads(result.output)["defects"][0]
    assert str(samples + 1) in first["place"]


def test_check_counts_the_databases_that_rows_name(command, tmp_path):
    (tmp_path / "dbs" / "shop").mkdir(parents=True)
    with contextlib.closing(sqlite3.connect(tmp_path / "dbs" / "shop" / "shop.sqlite")) as connection:
        connection.execute("CREATE TABLE item (name TEXT)")
    asked = [{"question": "How many?", "query": "SELECT count(*) FROM item", "db_id": name} for name in ("shop", "shp")]
    (tmp_path / "dev.json").write_text(json.dumps(asked), encoding="utf-8")
    result = command("check", tmp_path / "dev.json", "--suite", "text2sql", "--databases", tmp_path / "dbs")
    assert "databases: shop 1" in result.output
    assert "did you mean 'shop'?" in result.output


def test_check_of_a_dataset_is_by_the_suite_that_its_columns_are_for(command, tmp_path):
    (tmp_path / "q.jsonl").write_text('{"question": "How many?", "sql": "SELECT 1"}\n', encoding="utf-8")
    assert "1 sample, suite text2sql" in command("check", tmp_path / "q.jsonl").output
    assert "--suite tables" not in str(command("check", tmp_path / "q.jsonl", "--suite", "choice").exception)


def test_check_of_an_unknown_suite_or_of_databases_without_a_use_is_refused(command, started):
    data = started / "questions.csv"
    assert "did you mean 'tables'?" in str(command("check", data, "--suite", "table").exception)
    assert "--databases belongs to" in str(command("check", data, "--databases", started).exception)


def test_a_json_array_is_a_dataset_and_a_json_object_a_configuration(tmp_path):
    (tmp_path / "a.json").write_text("\ufeff [{}]", encoding="utf-8")
    (tmp_path / "b.json").write_text('{"suite": "choice"}', encoding="utf-8")
    (tmp_path / "lines.json").write_text('{"id": 1}\n{"id": 2}\n')
    (tmp_path / "torn.json").write_text('{\n"suite": "choice"\n')
    files = ("a.json", "b.json", "c.yml", "d.csv", "lines.json", "torn.json")
    assert [config_commands.is_configuration(tmp_path / one) for one in files] == [
        False,
        True,
        True,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(
    "content",
    [
        '{"question":{"0":"One?","1":"Two?"},"answer":{"0":"1","1":"2"}}',
        '{"0":{"question":"One?","answer":"1"},"1":{"question":"Two?","answer":"2"}}',
        '{"columns":["question","answer"],"index":[0],"data":[["One?","1"]]}',
        '{"columns":["question","answer"],"data":[["One?","1"]]}',
        '{"question":["One?","Two?"],"answer":["1","2"]}',
    ],
)
def test_a_data_frame_that_is_written_by_columns_is_named_as_one(command, tmp_path, content):
    (tmp_path / "frame.json").write_text(content, encoding="utf-8")
    error = str(command("check", tmp_path / "frame.json").exception)
    assert "looks like a data frame of pandas" in error
    assert error.endswith('orient="records", lines=True)')
    (tmp_path / "nested.json").write_text('{"data": {"version": "1", "examples": []}}', encoding="utf-8")
    assert "data frame" not in str(command("check", tmp_path / "nested.json").exception)


def test_a_json_object_that_holds_rows_is_checked_as_a_dataset(command, tmp_path):
    rows = '{"version": "1.1", "data": [{"question": "One?", "answer": "1"}]}'
    (tmp_path / "rows.json").write_text(rows, encoding="utf-8")
    assert "1 sample, suite general" in command("check", tmp_path / "rows.json").output


def test_check_of_what_is_not_there_is_the_users_mistake(command, tmp_path):
    for name in ("none.yaml", "none.csv", "none.json"):
        assert isinstance(command("check", tmp_path / name).exception, ConfigError | DataError)


def test_schema_accepts_the_first_configuration(command, started):
    document = json.loads(command("schema").output)
    jsonschema.Draft202012Validator.check_schema(document)
    loaded = load(started / "choice.yaml", environ={})
    assert list(jsonschema.Draft202012Validator(document).iter_errors(loaded.plain)) == []
