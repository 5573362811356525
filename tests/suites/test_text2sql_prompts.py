"""What prompts of SQL show: the schema in its forms, rows, solved questions; and targets that correct their SQL."""

import asyncio
import json
import sqlite3

import pytest
from tests.loopback import http, peer, said

from steelyard import Prompt, Sample, compare
from steelyard.data.sample_files import SampleFiles
from steelyard.errors import ConfigError
from steelyard.evaluation import RunConfig, aevaluate_suite, evaluate_suite
from steelyard.evaluation.dry_run import estimate
from steelyard.models.embeddings import Embeddings
from steelyard.models.openai_compatible import OpenAICompatible
from steelyard.scorers.sql import SqlResult
from steelyard.suites.text2sql.few_shot import SqlFewShot, draw_sql_examples, gives_sql_away
from steelyard.suites.text2sql.rows import load_text2sql
from steelyard.suites.text2sql.self_correction import SelfCorrection
from steelyard.suites.text2sql.shown_schema import SchemaPrompt, ShownSchema
from steelyard.suites.text2sql.suite import Text2SqlSuite

FLEET = """
CREATE TABLE boat (id INT PRIMARY KEY, boatName TEXT, -- painted on the bow
  length REAL);
CREATE TABLE crew (boat_id INT REFERENCES boat (id), sailor_id INT REFERENCES sailor (id));
CREATE TABLE sailor (id INT PRIMARY KEY, name TEXT);
CREATE TABLE harbour (town TEXT, depth REAL);
INSERT INTO boat VALUES (1, 'Wren', 7.5), (2, 'Heron */ 9', NULL), (3, 'Tern', 5.0);
INSERT INTO sailor VALUES (1, 'Ann');
"""
SHOP = "CREATE TABLE item (name TEXT, price REAL); INSERT INTO item VALUES ('pen', 1.5), ('ink', 4.0);"
ROWS = [
    {"id": "f1", "db_id": "fleet", "question": "Which sailors are on the boat Wren?",
     "SQL": "SELECT name FROM sailor WHERE id = 1"},
    {"id": "f2", "db_id": "fleet", "question": "How many boats are there?", "SQL": "SELECT count(*) FROM boat"},
    {"id": "s1", "db_id": "shop", "question": "How many items are there?", "SQL": "SELECT count(*) FROM item"},
    {"id": "s2", "db_id": "shop", "question": "What is the price of ink?",
     "SQL": "SELECT price FROM item WHERE name = 'ink'"},
]  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "dbs").mkdir()
    for name, script in (("fleet", FLEET), ("shop", SHOP)):
        with sqlite3.connect(tmp_path / f"dbs/{name}.sqlite") as opened:
            opened.executescript(script)
        opened.close()
    (tmp_path / "dev.json").write_text(json.dumps(ROWS), encoding="utf-8")
    return tmp_path / "dbs"


def suite(folder, targets, **fields):
    return Text2SqlSuite(SampleFiles(folder.parent / "dev.json"), targets, databases=folder, **fields).build()


def prompts_of(folder, template="{{metadata.schema}}\n\n{{question}}", reply="", **fields):
    """What a model is sent for each question, by its last line but the template's own."""

    async def run():
        async with peer(lambda _, asked: said("SELECT 1")) as server:
            target = Prompt(OpenAICompatible("m", server.url), template, reply=reply)
            how = RunConfig(store=folder.parent / "s.db")
            [result] = await aevaluate_suite(suite(folder, {"m": target}, **fields), how=how)
            return result, [asked.prompt for asked in server.asked]

    result, prompts = asyncio.run(run())
    by_id = {row["id"]: text for row in ROWS for text in prompts if text.endswith(row["question"])}
    return result, by_id


def test_compact_form_shows_keys_comments_and_sample_rows(folder):
    _, prompts = prompts_of(folder, schema=SchemaPrompt("compact", rows=2))
    assert prompts["f2"].split("\n\n")[0] == (
        "boat(id INT *, boatName TEXT /* painted on the bow */, length REAL)\n"
        "-- 2 rows of boat: id | boatName | length\n"
        "-- 1 | 'Wren' | 7.5\n"
        "-- 2 | 'Heron */ 9' | NULL\n"
        "crew(boat_id INT -> boat.id, sailor_id INT -> sailor.id)\n"
        "sailor(id INT *, name TEXT)\n"
        "-- 1 row of sailor: id | name\n"
        "-- 1 | 'Ann'\n"
        "harbour(town TEXT, depth REAL)"
    )


def test_a_list_in_a_sample_row_is_shown_by_the_beginning_of_its_json(folder):
    (folder / "fleet.sqlite").unlink()
    (folder / "fleet").mkdir()
    boats = [{"name": "Wren", "crew": [{"name": "Ann", "years": 3}], "notes": ["x" * 80]}]
    (folder / "fleet/boat.jsonl").write_text(json.dumps(boats[0]), encoding="utf-8")
    _, prompts = prompts_of(folder, schema=SchemaPrompt("compact", rows=1))
    shown = prompts["f2"].split("\n\n")[0].splitlines()[-1]
    assert shown.startswith("""-- 'Wren' | '[{"name": "Ann", "years": 3}]' | '["xxx""")
    assert shown.endswith("…'")


def test_tables_alike_the_question_are_shown_with_what_joins_them(folder):
    result, prompts = prompts_of(folder, schema=SchemaPrompt(tables=3))
    shown = prompts["f1"]
    assert [name in shown for name in ("boat (", "crew (", "sailor (", "harbour (")] == [True, True, True, False]
    assert "-- painted on the bow" in shown, "statements stay as they are written"
    records = {record.sample.id: record for record in result.records()}
    assert records["f1"].output.metadata["schema_tables"] == ["boat", "crew", "sailor"]
    assert "schema_tables" not in records["s1"].output.metadata, "all tables of the shop are shown"
    assert "harbour" in records["f1"].sample.metadata["schema"], "the sample itself keeps the whole schema"


def test_tables_are_found_by_vectors_which_are_asked_for_once(folder):
    def answer(_, asked):
        body = json.loads(asked.body)
        if "input" not in body:
            return said("SELECT 1")
        vectors = [[1.0, 0.0] if "harbour" in text or "boats" in text else [0.0, 1.0] for text in body["input"]]
        data = [{"index": at, "embedding": vector} for at, vector in enumerate(vectors)]
        return http(200, {"data": data, "model": "e", "usage": {"prompt_tokens": 1}})

    async def run():
        async with peer(answer) as server:
            targets = {"m": Prompt(OpenAICompatible("m", server.url), "{{metadata.schema}} {{question}}")}
            schema = SchemaPrompt("compact", tables=1, embeddings=Embeddings("e", server.url))
            await aevaluate_suite(suite(folder, targets, schema=schema), how=RunConfig(store=folder.parent / "s.db"))
            return [json.loads(asked.body) for asked in server.asked]

    bodies = asyncio.run(run())
    prompts = [body["messages"][-1]["content"] for body in bodies if "messages" in body]
    assert "harbour(town TEXT, depth REAL) How many boats are there?" in prompts
    assert sum(len(body.get("input", ())) == 4 for body in bodies) == 1


def test_a_dry_run_counts_the_calls_for_vectors(folder):
    schema = SchemaPrompt(tables=1, embeddings=Embeddings("e", "http://127.0.0.1:9"))
    target = Prompt(OpenAICompatible("m", "http://127.0.0.1:9"), "{{metadata.schema}} {{question}}")
    [estimated] = asyncio.run(estimate(suite(folder, {"m": target}, schema=schema), store=folder.parent / "s.db"))
    assert estimated.stages[0].embedding_calls == 3, "the tables of the fleet, and its two questions"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"schema": SchemaPrompt(embeddings=Embeddings("e", "http://127.0.0.1:9"))}, "say how many"),
        ({"schema": SchemaPrompt(tables=2, embeddings=OpenAICompatible("m", "http://127.0.0.1:9"))}, "embeds no texts"),
        ({"schema": SchemaPrompt(tables=-1)}, "tables"),
        ({"schema": SchemaPrompt("compact")}, "no target shows"),
        ({"few_shot": SqlFewShot()}, "neither"),
        ({"few_shot": SqlFewShot(held_out=4)}, "leaves no sample"),
        ({"few_shot": SqlFewShot(held_out=1)}, "en/sql_query_examples"),
    ],
)
def test_settings_that_cannot_work_are_refused_before_anything_is_asked(folder, fields, words):
    target = Prompt(OpenAICompatible("m", "http://127.0.0.1:9"), "{{question}}")
    with pytest.raises(ConfigError, match=words):
        suite(folder, {"m": target}, **fields)


def test_schemas_of_any_text_are_shown_without_an_error():
    view = ShownSchema(SchemaPrompt("compact", tables=1), {})

    async def shown(schema):
        sample, _ = await view.view(Sample("a", "Which t?", metadata={"schema": schema}), None)
        return sample.metadata["schema"]

    texts = ["", " ", "CREATE TABLE", "((((", "no schema at all", "CREATE TABLE t (a); CREATE TABLE t (b)", 7, None]
    assert [asyncio.run(shown(text)) for text in texts] == ["", " ", "", "", "", "t(a)", 7, None]


def test_examples_are_of_other_databases_and_the_nearest_comes_first(folder):
    few_shot = SqlFewShot(file=folder.parent / "dev.json", n=2)
    _, prompts = prompts_of(folder, "{{examples}}\n\n{{question}}", few_shot=few_shot)
    assert prompts["f2"] == (
        "Question: How many items are there?\nAnswer: SELECT count(*) FROM item\n\n"
        "Question: What is the price of ink?\nAnswer: SELECT price FROM item WHERE name = 'ink'\n\n"
        "How many boats are there?"
    )


def test_examples_of_the_same_database_never_hold_the_question_itself(folder):
    few_shot = SqlFewShot(file=folder.parent / "dev.json", n=4, same_database=True)
    _, prompts = prompts_of(folder, "{{examples}}\n\n{{question}}", few_shot=few_shot)
    assert prompts["f2"].count("How many boats are there?") == 1
    assert "How many items are there?" in prompts["f2"]
    assert "Which sailors" in prompts["f2"]


def test_packaged_prompt_shows_examples_as_the_json_that_it_asks_for(folder):
    few_shot = SqlFewShot(file=folder.parent / "dev.json", n=1)
    target = Prompt(OpenAICompatible("m", "http://127.0.0.1:9"), "en/sql_query_examples", reply="sql")
    built = suite(folder, {"m": target}, few_shot=few_shot)
    [sample] = [sample for sample in built.samples if sample.id == "f2"]
    [message] = built.targets["m"].messages(sample)
    assert 'Answer: {"sql": "SELECT count(*) FROM item"}' in message["content"]


def test_held_out_questions_are_not_asked(folder):
    result, _ = prompts_of(folder, "{{examples}}\n\n{{question}}", few_shot=SqlFewShot(held_out=2, same_database=True))
    assert len(list(result.records())) == 2
    assert result.manifest["samples"]["source"]["few_shot"]["held_out"] == 2


def test_one_database_leaves_no_example_unless_it_may_be_the_same(folder):
    rows = [row for row in ROWS if row["db_id"] == "fleet"]
    (folder.parent / "dev.json").write_text(json.dumps(rows), encoding="utf-8")
    with pytest.raises(ConfigError, match="same_database: true"):
        prompts_of(folder, "{{examples}}\n\n{{question}}", few_shot=SqlFewShot(held_out=1))


def test_same_sql_or_a_paraphrase_gives_an_answer_away():
    def asked(name, question, sql, **more):
        return Sample(name, question, sql, metadata={"db_id": more.pop("db", "d")}, **more)

    first = asked("1", "How many?", "SELECT 1", cluster="c")
    assert gives_sql_away(first, asked("2", "Count them.", "select  1;"))
    assert gives_sql_away(first, asked("3", "Count them.", "SELECT 2", cluster="c"))
    assert gives_sql_away(first, asked("4", "Count them.", "SELECT 1", db="e")), "the same database by another name"
    assert not gives_sql_away(first, asked("5", "Count them.", "SELECT 2"))


def test_databases_whose_schemas_differ_in_case_or_rows_alone_are_the_same(folder):
    def row(name, schema, question, sql):
        return {"id": name, "schema": schema, "question": question, "SQL": sql}

    rows = [
        row("1", "CREATE TABLE item (price REAL)", "How many?", "SELECT count(*) FROM item"),
        row(
            "2",
            "create table ITEM\n(price REAL); INSERT INTO item VALUES (2)",
            "Dearest?",
            "SELECT max(price) FROM item",
        ),
    ]
    (folder.parent / "dev.json").write_text(json.dumps(rows), encoding="utf-8")
    data = load_text2sql(SampleFiles(folder.parent / "dev.json"))
    drawn = draw_sql_examples(SqlFewShot(file=folder.parent / "dev.json"), data, 0)
    assert [drawn.draw(sample) for sample in data.samples] == [(), ()]


@pytest.mark.parametrize(
    ("question", "table"),
    [("Show each album", "albums"), ("Show all boxes", "box"), ("Which cities?", "city"), ("Name a house", "houses")],
)
def test_a_plural_and_its_singular_are_one_word(question, table):
    others = "".join(f"CREATE TABLE other{at} (a INT); " for at in range(5))
    sample = Sample("a", question, metadata={"schema": f"{others}CREATE TABLE {table} (b INT)"})
    shown, _ = asyncio.run(ShownSchema(SchemaPrompt(tables=1), {}).view(sample, None))
    assert f"CREATE TABLE {table} " in shown.metadata["schema"]


class Model:
    """Answers by how often the conversation was corrected: an unknown column, no row, then right."""

    def __init__(self, *texts):
        self.texts = texts

    def __call__(self, _, asked):
        messages = json.loads(asked.body)["messages"]
        attempt = sum(message["role"] == "assistant" for message in messages)
        return said(self.texts[min(attempt, len(self.texts) - 1)])


def corrected(folder, model, **fields):
    (folder.parent / "dev.json").write_text(json.dumps(ROWS[3:]), encoding="utf-8")

    async def run():
        async with peer(model) as server:
            prompt = Prompt(OpenAICompatible("m", server.url), "en/sql_query")
            targets = {"once": prompt, "corrected": SelfCorrection(prompt, **fields)}
            runs = await aevaluate_suite(suite(folder, targets), how=RunConfig(store=folder.parent / "s.db"))
            return runs, [json.loads(asked.body)["messages"] for asked in server.asked]

    return asyncio.run(run())


WRONG = '{"sql": "SELECT cost FROM item WHERE name = \'ink\'"}'
EMPTY = '{"sql": "SELECT price FROM item WHERE name = \'Ink\'"}'
RIGHT = '{"sql": "SELECT price FROM item WHERE name = \'ink\'"}'


def test_errors_and_empty_results_go_back_and_each_attempt_is_scored(folder):
    (once, several), conversations = corrected(folder, Model(WRONG, EMPTY, RIGHT))
    [record] = several.records()
    attempts = record.output.metadata["attempts"]
    assert [attempt["reply"] for attempt in attempts] == [WRONG, EMPTY, RIGHT]
    assert "no such column: cost" in attempts[0]["problem"]
    assert [attempt["problem"] for attempt in attempts[1:]] == ["The statement runs, and returns no row.", ""]
    longest = max(conversations, key=len)
    assert [message["role"] for message in longest] == ["user", "assistant", "user", "assistant", "user"]
    assert "no such column: cost" in longest[2]["content"]
    assert longest[4]["content"].startswith("The statement runs, and returns no row.")
    scores = {score.name: score.value for score in record.scores}
    assert [scores[f"result_within_{number}"] for number in (1, 2, 3)] == [0.0, 0.0, 1.0]
    assert [scores[f"execution_within_{number}"] for number in (1, 2, 3)] == [0.0, 1.0, 1.0]
    assert scores["result"] == 1.0
    assert [compare(once, several, score=f"result_within_{number}").pairs[0].headline.table for number in (1, 3)] == [
        (0, 0, 0, 1),
        (0, 1, 0, 0),
    ]


def test_a_model_that_insists_is_not_asked_again(folder):
    (_, several), conversations = corrected(folder, Model(EMPTY), attempts=5)
    [record] = several.records()
    assert len(record.output.metadata["attempts"]) == 2
    assert len(conversations) == 2, "the first attempt is shared with the target that makes one"


def test_replies_without_sql_go_back_and_empty_results_need_not(folder):
    (_, several), _ = corrected(folder, Model("I cannot.", EMPTY), empty=False)
    [record] = several.records()
    attempts = record.output.metadata["attempts"]
    assert attempts[0]["problem"].startswith("No SQL statement could be read of the reply")
    assert [attempt["problem"] for attempt in attempts[1:]] == [""]


def test_a_function_corrects_itself_from_the_conversation(folder):
    seen = []

    def agent(sample):
        seen.append(sample.input)
        return "SELECT nothing" if isinstance(sample.input, str) else "SELECT price FROM item WHERE name = 'ink'"

    (folder.parent / "dev.json").write_text(json.dumps(ROWS[3:]), encoding="utf-8")
    [run] = evaluate_suite(suite(folder, {"f": SelfCorrection(agent)}), how=RunConfig(store=folder.parent / "s.db"))
    [record] = run.records()
    assert {score.name: score.value for score in record.scores}["result"] == 1.0
    assert [message["role"] for message in seen[1]] == ["user", "assistant", "user"]
    assert seen[1][1]["content"] == "SELECT nothing"


def test_what_is_said_is_in_the_language_of_the_question(folder):
    rows = [{**ROWS[3], "question": "墨水的价格是多少？"}]
    (folder.parent / "dev.json").write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    seen = []

    def agent(sample):
        seen.append(sample.input)
        return "SELECT nothing"

    evaluate_suite(suite(folder, {"f": SelfCorrection(agent)}), how=RunConfig(store=folder.parent / "s.db"))
    assert seen[1][2]["content"].startswith("该语句无法执行：")


def test_correction_of_a_correction_and_odd_templates_are_refused():
    inner = SelfCorrection(Prompt(OpenAICompatible("m", "http://127.0.0.1:9"), "{{question}}"))
    with pytest.raises(ConfigError, match="cannot correct itself"):
        SelfCorrection(inner).check()
    with pytest.raises(ConfigError, match="problem"):
        SelfCorrection(inner.target, template="again, {{question}}").check()


def test_settings_of_the_scoring_are_those_of_the_correction(folder):
    target = Prompt(OpenAICompatible("m", "http://127.0.0.1:9"), "{{question}}")
    built = suite(folder, {"c": SelfCorrection(target)}, scoring=SqlResult(key="result.query"))
    assert (built.targets["c"].key, built.targets["c"].databases) == ("result.query", folder)
    assert [type(scorer).__name__ for scorer in built.scorers] == ["SqlResult", "SqlAttempts"]
    assert built.scorers[1].key == "result.query"
