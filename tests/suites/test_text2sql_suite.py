"""The suite whole: two prompt versions of one model behind a real server, predictions of other tools, the store."""

import asyncio
import json
import sqlite3

import pytest
from tests.loopback import peer, said

from steelyard import Options, Prompt, Scripted, compare
from steelyard.config.load import load
from steelyard.data.sample_files import SampleFiles
from steelyard.errors import ConfigError
from steelyard.evaluation import RunConfig, aevaluate_suite, evaluate_suite
from steelyard.evaluation.dry_run import estimate
from steelyard.models.openai_compatible import OpenAICompatible
from steelyard.scorers.sql import PUBLISHED, SqlResult
from steelyard.suites.text2sql.suite import Text2SqlSuite
from steelyard.targets.replay import Replay

ROWS = [
    {"question_id": 7, "db_id": "shop", "question": "How many items?", "SQL": "SELECT count(*) FROM item"},
    {"question_id": 8, "db_id": "shop", "question": "Which names?", "SQL": "SELECT name FROM item ORDER BY price"},
    {"question_id": 9, "db_id": "shop", "question": "Which is dearest?", "SQL": "SELECT max(price) FROM item"},
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "dbs/shop").mkdir(parents=True)
    with sqlite3.connect(tmp_path / "dbs/shop/shop.sqlite") as opened:
        opened.execute("CREATE TABLE item (name TEXT, price REAL)")
        opened.execute("INSERT INTO item VALUES ('pen', 1.5), ('ink', 4.0)")
    opened.close()
    (tmp_path / "dev.json").write_text(json.dumps(ROWS), encoding="utf-8")
    return tmp_path / "dbs"


def suite(folder, targets, **fields):
    samples = SampleFiles(fields.pop("file", folder.parent / "dev.json"))
    return Text2SqlSuite(samples, targets, databases=folder, **fields).build()


def answer(_, asked):
    """What a model might say: right SQL to the prompt that shows the schema, something else to the other."""
    prompt = asked.prompt
    if "CREATE TABLE item" not in prompt:
        return said("I do not know your tables." if "dearest" in prompt else "```sql\nSELECT 2\n```")
    row = next(row for row in ROWS if row["question"] in prompt)
    return said(json.dumps({"sql": row["SQL"]}))


def test_two_prompt_versions_are_asked_by_schema_scored_and_compared(folder, tmp_path):
    async def run():
        async with peer(answer) as server:
            model = OpenAICompatible("m", server.url)
            targets = {
                "bare": Prompt(model, "{{question}} Answer with SQL."),
                "schema": Prompt(model, "en/sql_query", reply="sql"),
            }
            runs = await aevaluate_suite(suite(folder, targets), how=RunConfig(store=tmp_path / "s.db"))
            return runs, [json.loads(request.body) for request in server.asked]

    (bare, schema), bodies = asyncio.run(run())
    with_schema = [body for body in bodies if "response_format" in body]
    assert len(bodies) == 6
    assert [entry["response_format"]["json_schema"]["name"] for entry in with_schema] == ["sql"] * 3
    assert "CREATE TABLE item (name TEXT, price REAL);" in with_schema[0]["messages"][0]["content"]
    means = {name: [run.summary().score(name).headline.value for run in (bare, schema)] for name in PUBLISHED}
    assert means == {name: [1 / 3, 1.0] for name in PUBLISHED}
    assert bare.summary().details.labels["execution"] == {"SQL correct": 2, "format incorrect": 1}
    assert schema.summary().details.labels == {"execution": {"SQL correct": 3}, "result": {"same": 3}}
    assert schema.manifest["primary"] == "result"
    assert schema.manifest["target"]["prompt"]["reply_schema"]["required"] == ["sql"]
    frame = schema.to_frame()
    assert list(frame["sql"]) == [row["SQL"] for row in ROWS]
    assert {"question", "response", "format", "sql", "result", "label", "run", "model"} <= set(frame.columns)
    (pair,) = compare(bare, schema).pairs
    assert (pair.score, tuple(pair.headline.table)) == ("result", (1, 2, 0, 0))


def test_a_run_again_gives_the_same_scores_at_any_concurrency(folder, tmp_path):
    replies = {row["question"]: f"```sql\n{row['SQL']}\n```" for row in ROWS[:2]}
    targets = {"m": Prompt(Scripted(replies, default="SELECT nothing;"), "{{question}}")}
    runs = [
        evaluate_suite(
            suite(folder, targets, options=Options(concurrency=no)), how=RunConfig(store=tmp_path / f"{no}.db")
        )[0]
        for no in (1, 16)
    ]
    first, second = ([record.scores for record in run.records()] for run in runs)
    assert first == second
    assert [score.value for scores in first for score in scores if score.name == "result"] == [1, 1, 0]


def test_predictions_of_other_tools_are_scored_as_they_are(folder, tmp_path):
    (tmp_path / "gold.sql").write_text("".join(f"{row['SQL']}\tshop\n" for row in ROWS), encoding="utf-8")
    (tmp_path / "pred.txt").write_text("SELECT count(name) FROM item\n\nSELECT 4.0\n", encoding="utf-8")
    bird = {str(no): f"{row['SQL']}\t----- bird -----\tshop" for no, row in enumerate(ROWS)}
    (tmp_path / "predict.json").write_text(json.dumps(bird, indent=1), encoding="utf-8")
    targets = {"lines": Replay(tmp_path / "pred.txt"), "bird": Replay(tmp_path / "predict.json")}
    for file in ("gold.sql", "dev.json"):
        built = suite(folder, targets, file=tmp_path / file)
        lines, complete = evaluate_suite(built, how=RunConfig(store=tmp_path / f"{file}.db"))
        assert [record.failure for run in (lines, complete) for record in run.records()] == [None] * 6
        assert lines.summary().details.labels["execution"] == {"SQL correct": 2, "format incorrect": 1}
        assert [run.summary().score("result").headline.value for run in (lines, complete)] == [2 / 3, 1.0]


def test_a_dataset_of_schemas_alone_is_headed_by_what_runs(tmp_path):
    row = {"question": "How many?", "context": "CREATE TABLE t (a)", "answer": "SELECT count(*) FROM t"}
    (tmp_path / "rows.json").write_text(json.dumps([row]), encoding="utf-8")
    built = Text2SqlSuite(
        SampleFiles(tmp_path / "rows.json"), {"m": Prompt(Scripted(default="SELECT a FROM t;"))}
    ).build()
    assert built.primary == "execution"
    assert "results cannot be compared" in built.notes[0]
    (run,) = evaluate_suite(built, how=RunConfig(store=tmp_path / "s.db"))
    assert run.summary().score("execution").headline.value == 1
    assert run.summary().score("result").not_applicable == 1


def test_the_folder_of_databases_is_named_once(folder, tmp_path):
    scoring = SqlResult(databases=tmp_path)
    with pytest.raises(ConfigError, match="two different folders"):
        suite(folder, {"m": Prompt(Scripted())}, scoring=scoring)
    built = Text2SqlSuite(SampleFiles(tmp_path / "dev.json"), {}, scoring=SqlResult(databases=folder)).build()
    assert built.scorers[0].databases == folder
    assert next(iter(built.samples)).metadata["schema"] == "CREATE TABLE item (name TEXT, price REAL);"


def test_relevance_is_a_fourth_stage_with_the_suites_judge(tmp_path):
    rows = [
        {"question": "How many books?", "answer": "SELECT count(*) FROM b", "context": "CREATE TABLE b (t TEXT)"},
        {"question": "Which titles?", "answer": "SELECT t FROM b", "context": "CREATE TABLE b (t TEXT)"},
    ]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (tmp_path / "exam.yaml").write_text(
        """
suite: text2sql
samples: {file: q.jsonl}
targets: {ceiling: {baseline: reference}}
judge: {model: {scripted: {replies: {"count(*)": "5"}, default: "Relevance: 2"}}}
scorers: [relevance]
""",
        encoding="utf-8",
    )
    suite = load(tmp_path / "exam.yaml", environ={}).suite
    (run,) = evaluate_suite(suite)
    summary = run.summary()
    assert [record.scores[-1].value for record in run.records()] == [5.0, 2.0]
    assert summary.score("relevance").answered.value == 3.5
    assert summary.score("execution").answered.value == 1.0
    assert [(stage.stage, stage.calls) for stage in summary.calls.stages if stage.calls] == [("relevance", 2)]


def test_several_judges_rate_the_sql_and_their_jury_stands_beside_them(tmp_path):
    rows = [
        {"question": f"How many of {at:02}?", "answer": f"SELECT {at}", "context": "CREATE TABLE b (t TEXT)"}
        for at in range(6)
    ]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (tmp_path / "exam.yaml").write_text(
        """
suite: text2sql
samples: {file: q.jsonl}
targets: {ceiling: {baseline: reference}}
judges:
  mild: {model: {scripted: {default: "5"}}}
  strict: {model: {scripted: {default: "2"}}}
  third: {model: {scripted: {replies: {"of 00": "5"}, default: "2"}}}
jury: majority
scorers: [relevance]
""",
        encoding="utf-8",
    )
    (run,) = evaluate_suite(load(tmp_path / "exam.yaml", environ={}).suite)
    (panel,) = run.summary().raters.panels
    assert (panel.thing, panel.votes.vote) == ("relevance", "majority")
    assert [(judge.name, judge.mean, judge.calls) for judge in panel.judges] == [
        ("mild", 5.0, 6),
        ("strict", 2.0, 6),
        ("third", 2.5, 6),
        ("jury", 2.5, 18),
    ]
    assert [judge.with_jury.value for judge in panel.judges[:-1]] == pytest.approx([1 / 6, 5 / 6, 1.0])


def test_every_scorer_uses_the_sql_that_format_reads(folder, tmp_path):
    """A judge is asked of no record whose format is incorrect, and `tables` needs no settings of its own."""
    (tmp_path / "replies.jsonl").write_text(
        "\n".join(
            json.dumps({"id": str(number), "output": reply})
            for number, reply in (
                (7, json.dumps({"wanted": "SELECT count(*) FROM item", "other": "SELECT 1"})),
                (8, json.dumps({"wanted": "```sql\nSELECT name, price FROM item ORDER BY price\n```"})),
                (9, "SELECT max(price) FROM item"),
            )
        ),
        encoding="utf-8",
    )
    (tmp_path / "run.yaml").write_text(
        """
suite: text2sql
samples: {file: dev.json}
databases: dbs
scoring: {key: wanted}
judge: {model: {scripted: {default: "5"}}}
targets: {stored: {replay: replies.jsonl}}
scorers:
  - tables
  - relevance
  - g_eval: {name: style, criteria: "Is the query short?", steps: ["Count its words."]}
""",
        encoding="utf-8",
    )
    [run] = evaluate_suite(load(tmp_path / "run.yaml", environ={}).suite, how=RunConfig(store=tmp_path / "s.db"))
    scores = {record.sample.id: {score.name: score for score in record.scores} for record in run.records()}
    assert [scores[name]["format"].value for name in "789"] == [1, 1, 0]
    assert [scores[name]["execution_accuracy"].value for name in "789"] == [1, 0, 0]
    assert scores["8"]["cell_recall"].value == 1
    for judge in ("relevance", "style"):
        assert [scores[name][judge].outcome for name in "789"] == ["scored", "scored", "not_applicable"]
        assert "no key wanted" in scores["9"][judge].reason or "no JSON object" in scores["9"][judge].reason
    summary = run.summary()
    assert {stage.stage: stage.calls for stage in summary.calls.stages if stage.calls} == {"relevance": 2, "style": 2}


def test_tables_runs_on_the_schemas_of_the_samples(tmp_path):
    row = {
        "question": "Names?",
        "answer": "SELECT name, m FROM boat",
        "context": "CREATE TABLE boat (name TEXT, m INT); ",
    }
    row["context"] += "INSERT INTO boat VALUES ('Wren', 7)"
    (tmp_path / "dev.jsonl").write_text(json.dumps(row), encoding="utf-8")
    (tmp_path / "replies.sql").write_text("SELECT name FROM boat\n", encoding="utf-8")
    (tmp_path / "run.yaml").write_text(
        "suite: text2sql\nsamples: {file: dev.jsonl}\ntargets: {stored: {replay: replies.sql}}\nscorers: [tables]\n",
        encoding="utf-8",
    )
    [run] = evaluate_suite(load(tmp_path / "run.yaml", environ={}).suite, how=RunConfig(store=tmp_path / "s.db"))
    [record] = run.records()
    assert {score.name: score.value for score in record.scores}["cell_recall"] == 0.5


@pytest.mark.parametrize(
    "scoring",
    [
        "{key: result.query}",
        "{form: sql_json}",
        "{form: create_select}",
        "{form: create_select_strict}",
        "{form: block}",
    ],
)
def test_a_dry_run_counts_the_calls_of_judges_whatever_form_is_wanted(folder, tmp_path, scoring):
    (tmp_path / "run.yaml").write_text(
        f"""
suite: text2sql
samples: {{file: dev.json}}
databases: dbs
scoring: {scoring}
judge: {{model: {{scripted: {{default: "5"}}}}}}
targets: {{m: {{prompt: {{template: "{{{{question}}}}", model: {{scripted: {{default: x}}}}}}}}}}
scorers:
  - relevance
  - g_eval: {{name: style, criteria: "Is the query short?", steps: ["Count its words."]}}
""",
        encoding="utf-8",
    )
    [planned] = asyncio.run(estimate(load(tmp_path / "run.yaml", environ={}).suite))
    assert {stage.stage: stage.calls for stage in planned.stages} == {"target": 3, "relevance": 3, "style": 3}
