"""The pairwise suite: who is compared with whom, who judges, and whole runs from answers to preferences."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime

import pytest

from steelyard import Judge, Label, Sample, Scripted, Store, evaluate, evaluate_suite
from steelyard.analysis.preferences.standings import standings
from steelyard.analysis.preferences.win_rates import preferences
from steelyard.config.load import load
from steelyard.data.sample_files import SampleFiles
from steelyard.errors import ConfigError
from steelyard.people.labels import add_labels
from steelyard.report.sections.preferences import preferences_section
from steelyard.suites.pairwise import PairwiseSuite, pair_names, pairs_of
from steelyard.targets.pair import Pair

ROWS = [
    {"id": f"q{no}", "question": f"How long is route {no}?", "reference": f"{no} miles", "group": f"by {no % 2}"}
    for no in range(1, 7)
]
SAID = {
    "right": [f"{no} miles" for no in range(1, 7)],
    "vague": ["Some miles."] * 5 + ["6 miles"],
    "wrong": ["No idea."] * 6,
}
JUDGE = """
judge:
  model:
    scripted:
      default: "Clear.\\n[[A]]"
"""
TARGETS = "targets: {right: {replay: right.jsonl}, vague: {replay: vague.jsonl}, wrong: {replay: wrong.jsonl}}\n"
TWO = "targets: {right: {replay: right.jsonl}, vague: {replay: vague.jsonl}}\n"
LEXICAL = "scorers: [lexical_preference]\n"


@pytest.fixture
def configured(tmp_path):
    def configure(text, samples="samples: {file: q.jsonl}\n", **files):
        message = {
            f"{name}.jsonl": [{"id": f"q{no}", "output": entry} for no, entry in enumerate(texts, start=1)]
            for name, texts in SAID.items()
        }
        for name, rows in {"q.jsonl": ROWS, **message}.items():
            (tmp_path / name).write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        for name, content in files.items():
            (tmp_path / f"{name}.csv").write_text(content, encoding="utf-8")
        file = tmp_path / "pairwise.yaml"
        file.write_text(f"suite: pairwise\n{samples}{text}", encoding="utf-8")
        return load(file, environ=os.environ).suite

    return configure


def rows_of(run):
    return {row.sample: row for row in run.data().scores.judged_rows("preference")}


def test_targets_come_first_and_each_pair_of_them_after(configured):
    suite = configured(TARGETS + LEXICAL)
    assert list(suite.targets) == [
        *("right", "vague", "wrong"),
        *("right vs vague", "right vs wrong", "vague vs wrong"),
    ]
    assert suite.targets["right vs wrong"] == Pair("right", "wrong")
    assert (suite.kind, suite.name, suite.scorers) == ("pairwise", "q", ())
    assert set(suite.scorers_of) == {"right vs vague", "right vs wrong", "vague vs wrong"}


def test_a_baseline_is_side_b_of_every_pair(configured):
    suite = configured(TARGETS + LEXICAL + "against: vague\n")
    assert list(suite.targets)[3:] == ["right vs vague", "wrong vs vague"]


def test_pairs_can_be_named(configured):
    suite = configured(TARGETS + LEXICAL + "pairs: [[wrong, right], [vague, wrong]]\n")
    assert list(suite.targets)[3:] == ["wrong vs right", "vague vs wrong"]


@pytest.mark.parametrize(
    ("sides", "pairs", "against", "message"),
    [
        (["a"], "round_robin", "", "needs two or more targets or runs, not 1"),
        (["base", "b"], "round_robin", "bse", "against: there is no target or run 'bse': did you mean 'base'"),
        (["a", "b"], "all", "", "expected 'round_robin' or a list"),
        (["a", "b"], [["a", "b"]], "a", "pairs or against, not both"),
        (["a", "b"], [["a", "c"]], "", "no target or run 'c'"),
        (["a", "b"], [["a", "b"], ["b", "a"]], "", "named twice"),
        (["a", "b"], [["a", "a"]], "", "two different names"),
        (["a", "b"], ["ab"], "", "two different names"),
        (["a", "b"], [], "", "the list is empty"),
    ],
)
def test_pairs_that_cannot_be_meant_are_refused(sides, pairs, against, message):
    with pytest.raises(ConfigError, match=message):
        pairs_of(sides, pairs, against)


@pytest.mark.parametrize(
    ("pairs", "sides", "message"),
    [
        ([("a", "b vs c"), ("a vs b", "c")], [], "two runs would be named 'a vs b vs c'"),
        ([("a", "b")], ["a", "b", "a vs b"], "two runs would be named 'a vs b'"),
        ([("x" * 80, "y" * 80)], [], "longer than 150 bytes"),
    ],
)
def test_names_of_judging_runs_are_told_apart(pairs, sides, message):
    with pytest.raises(ConfigError, match=message):
        pair_names(pairs, sides)


def test_a_judge_is_asked_by_the_criteria_and_in_the_orders_of_the_suite(configured):
    suite = configured(
        TWO + JUDGE + "criteria: [Is short., Is kind.]\nreference: false\norders: random\noptions: {seed: 7}\n"
    )
    [(scorer,)] = suite.scorers_of.values()
    assert (scorer.criteria, scorer.reference, scorer.orders, scorer.seed) == (
        ("Is short.", "Is kind."),
        False,
        "random",
        7,
    )
    assert isinstance(scorer.judge.model, Scripted)


def test_scorers_of_preferences_judge_the_pairs_and_all_others_the_answers(configured):
    suite = configured(
        TWO + JUDGE + "scorers: [token_f1, {preference: {orders: random}}, {lexical_preference: {name: words}}]\n"
    )
    assert [type(scorer).__name__ for scorer in suite.scorers] == ["TokenF1"]
    [(judged, words)] = suite.scorers_of.values()
    assert (judged.orders, judged.judge.model is not None, words.name) == ("random", True, "words")
    runs = {run.target: run.summary() for run in evaluate_suite(suite)}
    assert [score.name for score in runs["right"].scores] == ["token_f1"]
    assert [score.name for score in runs["right vs vague"].scores] == ["preference", "words"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TWO, "no judge is named: name one"),
        ("targets: {right: {replay: right.jsonl}}\n" + LEXICAL, "needs two or more targets or runs, not 1"),
        (TWO + LEXICAL + "criteria: tone\n", "criteria: the scorers decide how pairs are judged"),
        (TWO + LEXICAL + "preferences: votes.csv\n", "preferences: the scorers decide how pairs are judged"),
        (TWO + JUDGE + "preferences: votes.csv\n", "votes replace the judge"),
        (TWO + LEXICAL + "runs: {right: abc}\n", "'right' is the name of a target and of a run"),
        (LEXICAL + "runs: {old: abc, new: abc}\n", "abc is named twice"),
        (LEXICAL + "runs: {old: abc, new: ' '}\n", "new names no run"),
        (TWO + LEXICAL + "against: vage\n", "did you mean 'vague'"),
        (
            "targets: {right: {replay: right.jsonl}, p: {pair: {first: right, second: x}}}\n" + LEXICAL,
            "the suite makes the pairs",
        ),
        (TWO + LEXICAL + "store: old.db\n", "store: there are no stored runs to look for"),
        (LEXICAL + "runs: {old: abc, new: abd}\nstore: old.db\n", "with its own samples"),
        (TWO + JUDGE + "reference: sometimes\n", "reference: expected 'auto' or true or false"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_asked(configured, text, message):
    with pytest.raises(ConfigError, match=message):
        configured(text, votes="id,preferred\nq1,A\n")


@pytest.mark.parametrize(
    ("line", "column"), [("against: vage", 10), ("pairs: [[right, vage]]", 17), ("pairs: [[right, right]]", 10)]
)
def test_a_name_that_is_no_side_is_shown_where_it_stands(configured, line, column):
    with pytest.raises(ConfigError) as failed:
        configured(TWO + LEXICAL + line + "\n")
    assert failed.value.location.text.strip() == line
    assert failed.value.location.column == column


def test_without_samples_and_runs_there_is_nothing_to_ask(configured):
    with pytest.raises(ConfigError, match="the questions are missing"):
        configured(TWO + LEXICAL, samples="")


def test_a_whole_run_answers_and_then_judges_without_a_model(configured):
    runs = {run.target: run for run in evaluate_suite(configured(TARGETS + LEXICAL))}
    assert [run.state for run in runs.values()] == ["finished"] * 6
    rows = rows_of(runs["right vs vague"])
    assert [row.value for row in rows.values()] == [1.0] * 5 + [0.5]
    assert rows["q6"].detail["alike"] is True
    assert {row.group for row in rows.values()} == {"by 0", "by 1"}
    assert [row.detail["label"] for row in rows_of(runs["vague vs wrong"]).values()] == ["A"] * 6
    assert runs["right vs wrong"].manifest["target"]["pair"]["first"] == "right"


def prefers_numbers(messages):
    """A judge that prefers the answer with a number in it, and the first where both or none have one."""
    text = messages[-1]["content"]
    first, second = (text.split(f"Answer {position}:\n")[1].split("</answer")[0].split("\n")[1] for position in "AB")
    has = [any(mark.isdigit() for mark in entry) for entry in (first, second)]
    return "Numbers help.\n" + ("[[B]]" if has[1] and not has[0] else "[[A]]")


def suite_of(tmp_path, targets, **fields):
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    return PairwiseSuite(SampleFiles(tmp_path / "q.jsonl"), targets, **fields).build()


def test_a_judge_with_a_bias_for_the_first_place_is_found_out_in_a_whole_run(tmp_path):
    targets = {
        "exact": lambda sample: sample.reference,
        "mixed": lambda sample: sample.reference if sample.id in {"q1", "q2"} else "Some miles.",
    }
    suite = suite_of(tmp_path, targets, judge=Judge(Scripted(function=prefers_numbers)))
    *_, run = evaluate_suite(suite)
    rows = rows_of(run)
    assert [row.detail["label"] for row in rows.values()] == ["inconsistent"] * 2 + ["A"] * 4
    assert [order["slot"] for row in rows.values() for order in row.detail["orders"]] == [1, 1] * 2 + [1, 2] * 4
    assert run.summary().score("preference").headline.value == pytest.approx(5 / 6)


def test_lengths_style_and_difficulty_of_a_stored_run_stand_beside_its_preference(tmp_path):
    file = tmp_path / "questions.jsonl"
    rows = [{"id": f"q{no}", "question": f"How? {no}", "instruction_difficulty": no / 10} for no in range(16)]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")

    def answer(sample, *, at):
        long = int(sample.id[1:]) % 2 == at
        return f"- It takes {sample.id} minutes.\n- Then **stop**." if long else f"{sample.id} minutes"

    targets = {"a": lambda sample: answer(sample, at=0), "b": lambda sample: answer(sample, at=1)}

    def judge(messages):
        first = messages[-1]["content"].split("Answer A:")[-1].split("Answer B:")[0]
        long_is_better = int(re.search(r"q(\d+) minutes", first)[1]) % 3 != 0
        return "[[A]]" if ("stop" in first) is long_is_better else "[[B]]"

    suite = PairwiseSuite(
        samples=SampleFiles(file), targets=targets, judge=Judge(Scripted(function=judge)), style=True
    ).build()
    effect = preferences(evaluate_suite(suite, store=tmp_path / "store.db")[-1]).length
    assert (effect.n, effect.unequal, effect.longer_won, effect.longer_pairs) == (16, 16, 10, {"A": 8, "B": 8})
    assert effect.with_difficulty
    assert effect.controlled.value == pytest.approx(0.5, abs=0.02)
    assert effect.style_controlled is not None


def test_a_side_that_fails_is_counted_and_never_judged(tmp_path):
    requests = []

    def judge(messages):
        requests.append(messages)
        return "[[A]]"

    def shaky(sample):
        if sample.id == "q1":
            raise ValueError("on purpose")
        return "Some miles."

    targets = {"exact": lambda sample: sample.reference, "shaky": shaky}
    suite = suite_of(tmp_path, targets, judge=Judge(Scripted(function=judge)))
    *_, run = evaluate_suite(suite)
    first = rows_of(run)["q1"]
    assert (first.outcome, first.detail["side"], first.detail["why"]) == ("not_applicable", "B", "error")
    assert len(requests) == 2 * 5


def test_an_agents_mapping_is_judged_by_its_output(tmp_path):
    targets = {
        "agent": lambda sample: {"output": f"{sample.reference}, by road.", "intermediate_steps": ["[[B]]", 7]},
        "plain": lambda sample: "Some miles.",
    }
    suite = suite_of(tmp_path, targets, judge=Judge(Scripted(function=prefers_numbers)))
    *_, run = evaluate_suite(suite)
    assert {row.detail["label"] for row in rows_of(run).values()} == {"A"}
    assert next(iter(run.records())).output.value["A"] == "1 miles, by road."


def test_stored_runs_are_judged_by_their_own_samples_and_nothing_is_asked_again(configured):
    samples = [Sample(row["id"], row["question"], row["reference"]) for row in ROWS]
    calls = []

    def target(sample):
        calls.append(sample.id)
        return sample.reference if len(calls) > len(ROWS) else "Some miles."

    old, new = (evaluate(target, samples, []) for _ in range(2))
    suite = configured(LEXICAL + f"runs: {{old: {old.id}, new: {new.id}}}\n", samples="")
    assert list(suite.targets) == ["old vs new"]
    [run] = evaluate_suite(suite)
    assert len(calls) == 2 * len(ROWS)
    assert {row.detail["label"] for row in rows_of(run).values()} == {"B"}
    assert preferences(run).title == "old vs new"


def test_stored_runs_may_be_in_another_store(configured, tmp_path):
    samples = [Sample(row["id"], row["question"], row["reference"]) for row in ROWS]
    answers = (lambda sample: sample.reference), (lambda sample: "Some miles.")
    first, second = (evaluate(answer, samples, [], store=tmp_path / "old.db") for answer in answers)
    runs = f"runs: {{first: {first.id}, second: {second.id}}}\nstore: old.db\n"
    [run] = evaluate_suite(configured(LEXICAL + runs, samples=""))
    assert {row.detail["label"] for row in rows_of(run).values()} == {"A"}


def test_a_stored_run_stands_beside_a_new_target(configured):
    samples = [Sample(row["id"], row["question"], row["reference"]) for row in ROWS[:4]]
    old = evaluate(lambda sample: "Some miles.", samples, [])
    suite = configured("targets: {right: {replay: right.jsonl}}\n" + LEXICAL + f"runs: {{old: {old.id}}}\n")
    *_, run = evaluate_suite(suite)
    rows = rows_of(run)
    assert [rows[f"q{no}"].detail.get("label") for no in range(1, 7)] == ["A"] * 4 + [None] * 2
    assert (rows["q6"].detail["side"], rows["q6"].detail["why"]) == ("B", "missing")


def test_a_limit_on_stored_runs_is_refused_and_not_passed_over(tmp_path):
    (tmp_path / "p.yaml").write_text(f"suite: pairwise\nruns: {{a: x, b: y}}\n{LEXICAL}", encoding="utf-8")
    with pytest.raises(ConfigError, match="--limit takes the first samples of a file"):
        load(tmp_path / "p.yaml", environ={}, limit=3)


def test_people_take_the_judges_place_in_every_pair(configured):
    votes = (
        "id,first,second,preferred,annotator\nq1,right,vague,right,Ann\nq1,vague,right,B,Bo\n"
        "q2,right,vague,tie,Ann\nq1,wrong,right,right,Ann\nq1,vague,wrong,A,Ann\n"
    )
    runs = {run.target: run for run in evaluate_suite(configured(TARGETS + "preferences: votes.csv\n", votes=votes))}
    rows = {row.sample: row for row in runs["right vs vague"].detailed_rows("preference")}
    assert (rows["q1"].detail["label"], rows["q1"].detail["votes"]) == ("A", {"A": 2, "B": 0, "tie": 0})
    assert rows["q2"].detail["label"] == "tie"
    assert rows["q3"].outcome == "not_applicable"
    assert rows_of(runs["right vs wrong"])["q1"].detail["label"] == "A"


def test_a_vote_for_nobody_is_refused_with_its_line_before_anything_is_asked(configured):
    with pytest.raises(ConfigError, match=r"votes\.csv line 3 column B: 'somebody' is neither 'right' nor 'vague'"):
        configured(TWO + "preferences: votes.csv\n", votes="id,preferred\nq1,right\nq2,somebody\n")


def test_judging_again_takes_every_reply_from_the_journal(tmp_path):
    targets = {"exact": lambda sample: sample.reference, "vague": lambda sample: "Some miles."}
    suite = suite_of(tmp_path, targets, judge=Judge(Scripted(function=prefers_numbers)))
    (*_, first), (*_, again) = evaluate_suite(suite), evaluate_suite(suite)
    cached = [
        [reply.cached for record in run.records() for reply in record.replies["preference"]] for run in (first, again)
    ]
    assert cached == [[False] * 12, [True] * 12]
    with Store() as store:
        assert [row.detail["label"] for row in rows_of(store.run(again.id)).values()] == ["A"] * 6


def test_several_judges_prefer_and_their_jury_is_held_to_peoples_preferences(tmp_path):
    def judge(wrong):
        """Prefers the longer answer, but in pairs whose number can be divided by `wrong`."""

        def prefer(messages):
            first = re.findall(r"\nLONG|\nSHORT", messages[-1]["content"])[-2].strip()
            number = int(re.search(r"Pair (\d+)\?", messages[-1]["content"])[1])
            longer = "A" if first == "LONG" else "B"
            other = "B" if longer == "A" else "A"
            return f"[[{other if number % wrong == 0 else longer}]]"

        return Judge(Scripted(function=prefer))

    samples = [{"id": f"p{at}", "question": f"Pair {at}?"} for at in range(1, 41)]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, samples)), encoding="utf-8")
    judges = {"two": judge(2), "three": judge(3), "five": judge(5)}
    targets = {"long": lambda _: "LONG", "short": lambda _: "SHORT"}
    suite = PairwiseSuite(SampleFiles(tmp_path / "q.jsonl"), targets, judges=judges, jury="majority")
    *answers, run = evaluate_suite(suite, store=tmp_path / "s.db")
    assert [each.summary().raters.panels for each in answers] == [(), ()]
    assert [score.name for score in run.summary().scores] == ["preference_two", "preference_three", "preference_five"]
    at = datetime(2026, 3, 1, tzinfo=UTC)
    with Store(tmp_path / "s.db") as store:
        said = [Label(f"p{no}", "preference", "A", "ann", at, kind="preference") for no in range(1, 41)]
        add_labels(store, store.run(run.id), said)
        (panel,) = store.run(run.id).summary().raters.panels
    # Two of three are wrong where two of 2, 3 and 5 divide the number.
    wrong = sum(sum(no % of == 0 for of in (2, 3, 5)) > 1 for no in range(1, 41))
    close = {one.name: one.right.value for one in panel.judges}
    assert close == pytest.approx({"two": 0.5, "three": 27 / 40, "five": 0.8, "jury": 1 - wrong / 40})
    assert panel.against == "preference"
    with Store(tmp_path / "s.db") as store:
        stored = store.run(run.id)
        found, ranking = preferences(stored), standings([stored])
        first = preferences(stored, score="preference_two")
        assert preferences(stored) == found
    assert (found.score, found.by) == ("preference_jury", "jury")
    assert (found.tally.a, found.tally.b) == (40 - wrong, wrong)
    assert (first.score, first.tally.a) == ("preference_two", 20)
    assert ranking.standings[0].wins == 40 - wrong
    assert ranking.notes[0] == "Ranked by the jury of all judges."
    told = [note.text for section in walked(preferences_section([found])) for note in section.notes]
    assert f"Run {stored.id}: 40 pairs judged by the jury of all judges" in told


def walked(section):
    return [section, *(each for part in section.parts for each in walked(part))]


@pytest.mark.parametrize(
    ("members", "tally"),
    [
        (("LONG", "SHORT"), (0, 0, 0, 1)),
        (("LONG", "LONG"), (1, 0, 0, 0)),
        (("[[C]]", "[[C]]"), (0, 1, 0, 0)),
        (("[[A]]", "[[A]]"), (0, 0, 1, 0)),
        (("LONG", "[[C]]", "[[C]]"), (0, 1, 0, 0)),
        (("no idea", "no idea", "LONG"), (0, 0, 0, 1)),
    ],
)
def test_a_jury_without_a_majority_has_no_verdict_and_ties_stay_apart_from_contradictions(tmp_path, members, tally):
    """Who always prefers the first place contradicts itself, which counts half as a tie does."""

    def says(wanted):
        def reply(messages):
            first = re.findall(r"\nLONG|\nSHORT", messages[-1]["content"])[-2].strip()
            return f"[[{'A' if first == wanted else 'B'}]]" if wanted in {"LONG", "SHORT"} else wanted

        return Judge(Scripted(function=reply))

    (tmp_path / "q.jsonl").write_text('{"id": "p1", "question": "Pair?"}', encoding="utf-8")
    targets = {"long": lambda _: "LONG", "short": lambda _: "SHORT"}
    judges = {f"j{at}": says(wanted) for at, wanted in enumerate(members)}
    suite = PairwiseSuite(SampleFiles(tmp_path / "q.jsonl"), targets, judges=judges, jury="majority")
    *_, run = evaluate_suite(suite, store=tmp_path / "s.db")
    found = preferences(run).tally
    assert (found.a, found.tie, found.inconsistent, found.unparsed) == tally
