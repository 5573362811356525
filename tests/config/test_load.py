import json

import pytest

from steelyard.building.nodes import ConfigErrors
from steelyard.config.load import load, load_plain
from steelyard.errors import ConfigError

pytestmark = pytest.mark.usefixtures("toys")

TEXT = """
suite: toy
name: two birds
samples: {file: lines.txt}
matrix: {bird: [polly, coco]}
targets:
  bird: {toy: {model: {parrot: "{{bird}}", api_key: "${BIRD_KEY}"}}, tags: {loud: no, version: 2}}
  floor: echo
scorers: [extent]
options: {concurrency: 4, budget: {calls: 10}}
gate: {extent: ">= 0.5"}
"""


def written(folder, text, name="toy.yaml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def error_of(folder, text, **options):
    with pytest.raises(ConfigError) as caught:
        load(written(folder, text), environ={"BIRD_KEY": "tweet-tweet"}, **options)
    return caught.value


def test_a_file_becomes_a_suite_with_named_targets_and_tags(folder):
    loaded = load(written(folder, TEXT), environ={"BIRD_KEY": "tweet-tweet"})
    suite = loaded.suite
    assert list(suite.targets) == ["bird[bird=polly]", "bird[bird=coco]", "floor"]
    assert suite.tags == {
        "bird[bird=polly]": {"bird": "polly", "loud": "no", "version": "2"},
        "bird[bird=coco]": {"bird": "coco", "loud": "no", "version": "2"},
    }
    assert suite.targets["bird[bird=coco]"].model.name == "coco"
    assert (suite.options.concurrency, suite.options.budget.calls) == (4, 10)
    assert suite.gate == {"extent": ">= 0.5"}
    assert [sample.input for sample in suite.samples] == ["one", "two", "three"]


def test_a_secret_stays_a_reference_everywhere_but_in_the_environment(folder):
    loaded = load(written(folder, TEXT), environ={"BIRD_KEY": "tweet-tweet"})
    assert dict(loaded.environment) == {"BIRD_KEY": "tweet-tweet"}
    assert "tweet" not in repr(loaded)
    assert loaded.suite.targets["bird[bird=coco]"].model.api_key == "${BIRD_KEY}"
    assert "${BIRD_KEY}" in json.dumps(loaded.plain)


def test_the_dotenv_beside_the_file_is_read_unless_left_out(folder):
    (folder / ".env").write_text("BIRD_KEY=tweet-tweet\n", encoding="utf-8")
    path = written(folder, TEXT)
    assert load(path, environ={}).environment["BIRD_KEY"] == "tweet-tweet"
    with pytest.raises(ConfigError, match=r"toy\.yaml:7:53: set BIRD_KEY"):
        load(path, environ={}, use_dotenv=False)


def test_yaml_and_json_give_the_same_suite(folder):
    yaml = load(written(folder, TEXT), environ={"BIRD_KEY": "tweet-tweet"})
    path = written(folder, json.dumps({**yaml.plain, "$schema": "schema.json"}), "toy.json")
    loaded = load(path, environ={"BIRD_KEY": "tweet-tweet"})
    assert loaded.suite.targets == yaml.suite.targets
    assert loaded.suite.tags == yaml.suite.tags


def test_a_stored_configuration_makes_the_same_suite_when_its_file_is_gone(folder):
    path = written(folder, TEXT)
    loaded = load(path, environ={"BIRD_KEY": "tweet-tweet"}, limit=2)
    path.unlink()
    stored = json.loads(json.dumps(loaded.plain))
    again = load_plain(stored, folder, environ={"BIRD_KEY": "tweet-tweet"})
    assert again.suite == loaded.suite
    assert again.plain == loaded.plain


def test_mistakes_of_a_stored_configuration_name_the_key(folder):
    stored = {"suite": "toy", "samples": {"file": "lines.txt"}, "targets": {"t": {"toy": {"count": "x"}}}}
    with pytest.raises(ConfigError, match=r"^stored configuration, targets\.t\.toy\.count: count: expected a whole"):
        load_plain(stored, folder, environ={})


@pytest.mark.parametrize(
    ("samples", "limit", "expected"),
    [
        ({}, 2, {"first": 2}),
        ({"first": 1}, 2, {"first": 1}),
        ({"last": 3}, 2, {"last": 2}),
        ({"random": 50}, 2, {"random": 2}),
    ],
)
def test_a_limit_takes_the_first_of_what_the_file_selects(folder, samples, limit, expected):
    text = json.dumps({"suite": "toy", "samples": {"file": "lines.txt", **samples}, "targets": {"t": "echo"}})
    loaded = load(written(folder, text, "toy.json"), environ={}, limit=limit)
    assert loaded.plain["samples"] == {"file": "lines.txt", **expected}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "suite: choice\nscorers: []\n",
            "unknown key 'scorers': suites that have it: general, pairwise, rag, text2sql; keys of choice: few_shot,",
        ),
        ("suite: text2sql\nscorer: []\n", "unknown key 'scorer': did you mean 'scorers'?"),
        ("suite: rag\ndocument: []\n", "unknown key 'document': did you mean 'documents'?"),
    ],
)
def test_a_key_of_another_suite_is_not_taken_for_a_misspelling_of_a_distant_one(folder, text, words):
    assert words in str(error_of(folder, text))


HEAD = "suite: toy\nsamples: {file: lines.txt}\n"


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("- a\n", "1:1", "expected a mapping with the key 'samples', but got a list"),
        ("samples: {file: lines.txt}\n", "1:1", "there is no target: name models and their endpoint"),
        ("suit: toy\n", "1:1", "the key 'suite' is missing (did you mean 'suit'?)"),
        ("store: runs.db\nsamples: {file: lines.txt}\n", "1:1", "unknown key 'store'"),
        (HEAD + "targets: {t: toy}\noptions: {prices: none.csv}\n", "4:19", "prices: none.csv cannot be read"),
        ("suite: tox\n", "1:8", "there is no suite 'tox': did you mean 'toy'?"),
        ("suite: [toy]\n", "1:8", "suite: expected one of"),
        ("suite: broken_suite\n", "1:8", "has no attribute 'NoSuchSuite'"),
        (HEAD, "1:1", "the key 'targets' is missing"),
        (HEAD + "targets:\n", "3:1", "there is no target; name at least one"),
        (HEAD + "targets: {}\n", "3:10", "there is no target; name at least one"),
        (HEAD + "targets: [echo]\n", "3:10", "targets: expected a mapping"),
        (HEAD + "targets: {a: echo, A: echo}\n", "3:20", "'a' and 'A' differ only in case"),
        (HEAD + "targets: {\u00e9: echo, e\u0301: echo}\n", "3:20", "differ only in case"),
        (HEAD + "targets: {a/b: echo}\n", "3:11", "cannot contain '/'; use '-'"),
        (HEAD + "targets: {'a ': echo}\n", "3:11", "cannot begin or end with a space"),
        (HEAD + "targets: {..: echo}\n", "3:11", "cannot begin or end with a space or a dot"),
        (HEAD + "targets: {nul: echo}\n", "3:11", "reserved by Windows"),
        (HEAD + f"targets: {{{'周' * 60}: echo}}\n", "3:11", "longer than 150 bytes"),
        (HEAD + "targets: {a: {tags: {}}}\n", "3:14", "expected a target; known:"),
        (HEAD + "targets: {a: {toy: {}, tags: [x]}}\n", "3:30", "expected a mapping of column to text"),
        (HEAD + "targets: {a: {toy: {}, tags: {x: 1.10}}}\n", "3:34", "put it into quotes"),
        (HEAD + "targets: {a: echo}\ntags: {}\n", "4:1", "tags belong to a target"),
        (HEAD + "targets: {a: echo}\nsampels: {}\n", "4:1", "unknown key 'sampels': did you mean 'samples'?"),
        (HEAD + "targets: {a: echo}\nname: refused\n", "2:1", "this suite is refused"),
        (HEAD + "targets: {a: echo}\ngate: {extent: 0.6 or so}\n", "4:16", "gate:"),
        (HEAD + "targets: {a: echo}\noptions: {budget: {call: 1}}\n", "4:20", "did you mean 'calls'?"),
    ],
)
def test_a_mistake_is_told_at_its_place(folder, text, place, words):
    error = error_of(folder, text)
    assert words in str(error)
    assert str(error.location) == f"{folder / 'toy.yaml'}:{place}"


def test_missing_references_and_wrong_keys_are_told_together(folder):
    text = HEAD + 'targets: {a: {toy: {toy: "${GONE}", cuont: 1}}}\noptions: {seed: x}\n'
    error = error_of(folder, text)
    assert isinstance(error, ConfigErrors)
    assert [one.location.line for one in error.errors] == [3, 3, 4]


def test_what_a_suite_says_of_a_column_is_told_where_the_column_is_named(folder):
    (folder / "exam.csv").write_text("question,A,B,answer\nWhich?,one,two,B\n", encoding="utf-8")
    text = (
        "suite: choice\nsamples:\n  file: exam.csv\n  columns: {question: quesion}\ntargets: {a: {baseline: random}}\n"
    )
    error = error_of(folder, text)
    assert str(error.location) == f"{folder / 'toy.yaml'}:4:23"
    assert "quesion" in error.message


def test_a_limit_below_one_is_refused(folder):
    with pytest.raises(ConfigError, match="--limit is 0"):
        load(written(folder, TEXT), environ={}, limit=0)


def test_another_kind_of_file_is_refused_by_its_name(folder):
    (folder / "exam.xlsx").touch()
    with pytest.raises(ConfigError, match=r"ends in \.json, \.toml, \.yaml, \.yml"):
        load(folder / "exam.xlsx", environ={})
    with pytest.raises(ConfigError, match="For a dataset: steelyard check checks it, and steelyard init writes"):
        load(folder / "exam.xlsx", environ={})


def test_a_missing_configuration_is_answered_with_those_that_stand_beside_it(folder):
    written(folder, TEXT)
    with pytest.raises(ConfigError, match=r"toi\.yaml: there is no such file: did you mean 'toy\.yaml'"):
        load(folder / "toi.yaml", environ={})


def test_a_gate_on_a_score_that_no_scorer_gives_is_refused_before_anything_is_asked(folder):
    text = TEXT.replace('gate: {extent: ">= 0.5"}', 'gate: {exent: ">= 0.5"}')
    with pytest.raises(ConfigError, match=r"toy\.yaml:11:8.*no score 'exent': did you mean 'extent'"):
        load(written(folder, text), environ={"BIRD_KEY": "tweet-tweet"})


def test_a_gate_may_name_a_jury_and_a_corrected_score(folder):
    (folder / "q.jsonl").write_text('{"id": "a", "question": "Who?", "answer": "She."}\n', encoding="utf-8")
    suite = """
suite: rag
samples: {file: q.jsonl}
targets: {t: {baseline: reference}}
judges: {a: {model: {scripted: {default: "5"}}}, b: {model: {scripted: {default: "4"}}}}
jury: majority
scorers: [correctness]
"""

    def loaded(gate):
        (folder / "exam.yaml").write_text(f"{suite}gate: {gate}\n", encoding="utf-8")
        return load(folder / "exam.yaml", environ={}).suite

    gate = '{correct_jury: ">= 0.8", correct_a.corrected: ">=! 0.8", correct_jury.corrected: "> 0.5"}'
    assert list(loaded(gate).gate) == ["correct_jury", "correct_a.corrected", "correct_jury.corrected"]
    refused = {
        '{correct_juri: ">= 0.8"}': "there is no score 'correct_juri': did you mean 'correct_jury'",
        '{"correct_a.corrected[g]": ">= 0.8"}': "corrected by labels over the whole run, not over a group",
        '{correct: ">= 0.8"}': "(correct_a, correct_b); name one of them, or correct_jury, their joint verdict",
        "{no_regression: {correct_a.corrected: 0.1}, baseline: latest}": "not for .with_errors, .corrected",
    }
    for gate, message in refused.items():
        with pytest.raises(ConfigError) as caught:
            loaded(gate)
        assert message in str(caught.value)
    margin = "{no_regression: {correct_jury: 0.1}, baseline: latest}"
    assert loaded(margin).gate["no_regression"] == {"correct_jury": 0.1}
    suite = suite.replace("jury: majority\n", "")
    with pytest.raises(ConfigError, match="name one of them, or set jury: majority, and name correct_jury"):
        loaded('{correct: ">= 0.8"}')


def test_a_gate_on_repeats_and_on_cost_needs_them_before_anything_is_asked(folder):
    def loaded(gate, options="{}"):
        text = TEXT.replace('gate: {extent: ">= 0.5"}', f"gate: {gate}").replace(
            "options: {concurrency: 4, budget: {calls: 10}}", f"options: {options}"
        )
        return load(written(folder, text), environ={"BIRD_KEY": "tweet-tweet"}).suite

    with pytest.raises(ConfigError, match=r"pass\^3 needs at least 3 repeats"):
        loaded('{"pass^3": ">= 0.5"}', "{repeats: 2}")
    with pytest.raises(ConfigError, match="cost needs the prices of the models"):
        loaded('{cost: "<= 0.5"}')
    with pytest.raises(ConfigError, match="no score 'extnet': did you mean 'extent'"):
        loaded('{extnet.each: ">= 0.5"}')
    with pytest.raises(ConfigError, match="pass_k"):
        loaded('{extent: ">= 0"}', "{repeats: 2, pass_k: 3}")
    gate = '{"pass@3": ">= 0.5", extent.each: ">= 0.5", latency.p95: "<= 2"}'
    assert list(loaded(gate, "{repeats: 3, pass_k: 2}").gate) == ["pass@3", "extent.each", "latency.p95"]


def test_a_gate_on_a_group_that_no_sample_has_is_refused_unless_only_a_part_is_asked(folder):
    text = TEXT.replace('gate: {extent: ">= 0.5"}', 'gate: {"extent[owls]": ">= 0.5"}')
    with pytest.raises(ConfigError, match="no sample is of group 'owls'"):
        load(written(folder, text), environ={"BIRD_KEY": "tweet-tweet"})
    assert load(written(folder, text), environ={"BIRD_KEY": "tweet-tweet"}, limit=2).suite.gate


def test_a_gate_on_a_turn_is_taken_of_scores_of_turns_alone(folder):
    (folder / "q.jsonl").write_text('{"id": "a", "question": "Who?", "answer": "She."}\n', encoding="utf-8")
    suite = """
suite: rag
samples: {file: q.jsonl}
targets: {t: {baseline: reference}}
judge: {model: {scripted: {default: "5"}}}
scorers: [correctness, per_turn: {scorer: {guideline: {name: polite, guidelines: [Is polite.]}}}]
"""

    def loaded(gate):
        (folder / "exam.yaml").write_text(f"{suite}gate: {gate}\n", encoding="utf-8")
        return load(folder / "exam.yaml", environ={}).suite

    assert loaded('{"polite_per_turn[turn 1]": ">=! 0.5"}').gate == {"polite_per_turn[turn 1]": ">=! 0.5"}
    for gate, group in {
        '{"polite_per_turn[turn 0]": ">= 0.5"}': "turn 0",
        '{"correct[turn 1]": ">= 0.5"}': "turn 1",
        '{no_regression: {"polite_per_turn[turn 1]": 0.1}, baseline: latest}': "turn 1",
    }.items():
        with pytest.raises(ConfigError, match=f"no sample is of group '{group}'"):
            loaded(gate)
