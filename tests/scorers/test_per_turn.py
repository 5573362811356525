"""Scores of single turns: what a turn is, what becomes of a conversation, and rates by conversation in a run."""

from __future__ import annotations

import asyncio
import json

import pytest

from steelyard import ConfigError, Output, Prompt, Sample, Score, Scripted, Suite, compare, evaluate
from steelyard.analysis.comparison.history import history_of
from steelyard.analysis.gate.gate_results import judge_gate
from steelyard.constraints import check_options
from steelyard.evaluation.dry_run import estimate
from steelyard.plain_json import json_value
from steelyard.report.render.html import html_report
from steelyard.report.sections.history import history_sections
from steelyard.scorers import ErrorJudge, ExactMatch, Judge, PerTurn, ToolCalls
from steelyard.scorers.per_turn import conversation_turns
from steelyard.stats.intervals import wilson_clustered
from steelyard.stats.means import clustered_difference
from steelyard.targets import SimulatedUser
from steelyard.types import ScoreInfo


def user(*texts):
    return [{"role": "user", "content": text} for text in texts]


def talk(name, *wanted, **metadata):
    """A sample whose turns each ask for a word, and of which each turn's reference is that word."""
    return Sample(name, user(*wanted), metadata={"turn_references": list(wanted), **metadata})


def parrot(sample):
    """Says the user's last word again; a word in capitals is said wrongly."""
    word = sample.input[-1]["content"]
    return "wrong" if word.isupper() else word


def worse(sample):
    return "wrong" if len(sample.input) > 1 else parrot(sample)


CONVERSATIONS = [talk("a", "x", "y", "Z"), talk("b", "X"), talk("c", "x", "Y"), talk("d", "x", "x", "x", "x")]


def scored(target, *scorers, samples=CONVERSATIONS, **options):
    return evaluate(SimulatedUser(target), samples, list(scorers), on_broken="return", **options)


def test_each_answer_is_scored_with_what_was_said_before_it():
    seen = []

    def note(sample, output):
        seen.append(([message["content"] for message in sample.input], sample.reference, output.value))
        return 1.0

    sample = Sample(
        "1", [{"role": "system", "content": "Be brief."}, *user("x", "Y")], metadata={"turn_references": ["x", None]}
    )
    scored(parrot, PerTurn(note), samples=[sample])
    assert seen == [(["Be brief.", "x"], "x", "x"), (["Be brief.", "x", "x", "Y"], None, "wrong")]


def test_turns_of_a_conversation_with_answers_in_its_input_follow_these():
    given = [*user("a"), {"role": "assistant", "content": "b"}, *user("c")]
    said = [*user("c"), {"role": "assistant", "content": "d"}]
    output = Output("d", metadata={"messages": said, "conversation": {"turns": 1}})
    [turn] = conversation_turns(Sample("1", given), output)
    assert [message["content"] for message in turn.sample.input] == ["a", "b", "c"]


def test_a_turn_has_the_calls_of_tools_that_were_made_for_it():
    def agent(sample):
        call = {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"name": sample.input[-1]["content"], "arguments": {}}],
        }
        return {"messages": [*sample.input, call, {"role": "assistant", "content": "done"}]}

    [record] = scored(agent, PerTurn(ToolCalls(("look",))), samples=[Sample("1", user("look", "read"))]).records()
    scores = {score.name: score for score in record.scores}
    assert [turn["value"] for turn in scores["tool_calls_per_turn"].detail["turns"]] == [1.0, 0.0]
    assert scores["tool_precision_per_turn"].value == 0.5


def test_an_output_without_a_conversation_has_one_turn_with_the_samples_reference():
    run = evaluate(lambda sample: "x", [Sample("1", "?", "x"), Sample("2", "?", "y")], [PerTurn(ExactMatch())])
    assert [record.scores[0].value for record in run.records()] == [1.0, 0.0]


def test_a_conversation_is_scored_by_the_mean_of_its_turns_and_passes_where_all_do():
    records = list(scored(parrot, PerTurn(ExactMatch())).records())
    assert [record.scores[0].value for record in records] == [pytest.approx(2 / 3), 0.0, 0.5, 1.0]
    assert [record.scores[0].passed for record in records] == [False, False, False, True]


def test_the_rate_over_all_turns_has_an_interval_by_conversation():
    [turns] = scored(parrot, PerTurn(ExactMatch())).summary().details.turns
    values = [1, 1, 0, 0, 1, 0, 1, 1, 1, 1]
    clusters = [0, 0, 0, 1, 2, 2, 3, 3, 3, 3]
    assert (turns.conversations, turns.score.scored) == (4, 10)
    assert turns.score.headline.value == pytest.approx(0.7)
    assert turns.score.headline.interval == pytest.approx(wilson_clustered(values, clusters=clusters))
    assert [(group.group, group.scored) for group in turns.by_turn] == [
        ("turn 1", 4), ("turn 2", 3), ("turn 3", 2), ("turn 4", 1),
    ]  # fmt: skip


def test_repeats_and_clusters_of_samples_are_one_cluster_of_turns():
    [turns] = scored(parrot, PerTurn(ExactMatch()), repeats=2).summary().details.turns
    assert "20 rows in 4 independent clusters" in turns.score.note
    together = [Sample(one.id, one.input, cluster="k", metadata=one.metadata) for one in CONVERSATIONS]
    [turns] = scored(parrot, PerTurn(ExactMatch()), samples=together).summary().details.turns
    assert turns.score.headline.interval == (0, 1), "a single cluster tells nothing"


def test_two_runs_are_compared_by_conversation_whatever_their_lengths():
    long = [talk("a", "x", "y"), talk("b", "x"), talk("c", "x", "x", "Y")]
    first = scored(parrot, PerTurn(ExactMatch()), samples=[*long, talk("only here", "x")])
    second = evaluate(SimulatedUser(worse, most_turns=2), long, [PerTurn(ExactMatch())])
    [pair] = compare(first, second).pairs
    [turn] = pair.further.turns
    wanted = clustered_difference(
        ([1, 0, 1, 1, 0], [0, 0, 1, 2, 2]), ([1, 1, 1, 1, 1, 0], [0, 0, 1, 2, 2, 2]), rate=True
    )
    assert (turn.score, turn.difference.n) == ("exact_match_per_turn", 3)
    assert (turn.difference.baseline, turn.difference.other) == (pytest.approx(5 / 6), pytest.approx(3 / 5))
    assert turn.difference.interval == pytest.approx(wanted.interval)
    assert turn.difference.p == wanted.p
    assert json.loads(json.dumps(json_value(pair)))["turns"][0]["score"] == "exact_match_per_turn"
    # One of both decides: 5 of 6 turns and 3 of 5; the means of conversations are 1, 1, 2/3 and 1/2, 1, 1/2.
    assert (pair.headline, pair.verdict) == (turn.difference, turn.verdict)
    assert pair.further.by_conversation.difference == pytest.approx(2 / 3 - 8 / 9)
    assert json_value(pair)["by_conversation"]["n"] == pair.overlap.n_paired == 3
    assert "over all turns, which decides; with each of the 3 conversations counted once" in pair.conclusion.sentence
    told = html_report([first, second], compare(first, second))
    assert "all turns (decides)" in told
    assert "means of conversations" in told


def judge(text):
    return Judge(Scripted(default=text))


def tone(given):
    return PerTurn(ErrorJudge(given, "tone", "The answer is rude."))


def only_good(messages):
    """A judge that finds nothing wrong with a good answer, and has no verdict on any other."""
    return "Verdict: NO" if "good" in messages[-1]["content"].rsplit("<answer", 1)[1].split("</answer")[0] else "Hm."


def test_a_gate_on_turns_is_over_all_turns_with_an_interval_by_conversation():
    first, second = (scored(target, PerTurn(ExactMatch())) for target in (parrot, worse))
    of_turns = first.summary().details.turns[0].score.headline
    assert of_turns.value == 0.7, "7 of 10 turns, and the mean over conversations is 0.54"
    rules = {
        "exact_match_per_turn": ">= 0.65",
        "exact_match_per_turn[turn 1]": ">= 0.8",
        "no_regression": {"exact_match_per_turn": 0.1},
        "baseline": first.id,
    }
    summaries = [run.summary() for run in (first, second)]
    compared = {
        (second.id, "exact_match_per_turn"): compare(first, second, score="exact_match_per_turn").pairs[0],
        (first.id, "exact_match_per_turn"): None,
    }
    found = judge_gate(rules, summaries, compared=compared).results
    whole, _, by_turn, _, regression = found
    assert (whole.state, whole.value, whole.interval) == ("holds", 0.7, of_turns.interval)
    assert whole.sentence.endswith("n=10 turns of 4 conversations).")
    assert (by_turn.state, by_turn.value) == ("fails", 0.75)
    assert regression.value == pytest.approx(-0.4), "3 of 10 turns less 7 of 10"


def test_a_history_of_turns_is_over_all_turns_and_paired_by_conversation():
    runs = [scored(target, PerTurn(ExactMatch())) for target in (parrot, parrot)]
    found = history_of([(run, run.summary()) for run in runs], {})
    assert [past.value for past in found.runs] == [0.7, 0.7]
    assert found.runs[0].interval == runs[0].summary().details.turns[0].score.headline.interval
    assert (found.runs[1].change.paired, found.runs[1].change.n, found.runs[1].change.difference) == (True, 4, 0.0)
    (table,) = history_sections(found)[-1].parts or history_sections(found)[0].parts
    assert "over all turns of its conversations" in table.table.caption


def test_a_turn_has_the_passages_that_were_retrieved_for_it():
    def retrieving(sample):
        word = sample.input[-1]["content"]
        return Output(word, contexts=("always", f"about {word}") if word != "z" else ())

    seen = []

    def note(sample, output):
        seen.append(output.contexts)
        return 1.0

    run = scored(retrieving, PerTurn(note), samples=[talk("a", "x", "y", "z")])
    assert seen == [("always", "about x"), ("always", "about y"), ()]
    (record,) = run.records()
    assert record.output.contexts == ("always", "about x", "about y")


@pytest.mark.parametrize("by_turn", [None, "x", [[7]], [["0"]], [[0]], 3])
def test_passages_of_turns_that_are_not_told_apart_are_those_of_the_conversation(by_turn):
    said = [*user("a"), {"role": "assistant", "content": "b"}]
    output = Output("b", ("one",), {"messages": said, "conversation": {"turns": 1, "contexts": by_turn}})
    [turn] = conversation_turns(Sample("1", "a"), output)
    assert turn.output.contexts == ("one",)


def test_a_turn_without_a_verdict_leaves_its_conversation_without_a_score_and_counts_in_the_rate():
    scorer = tone(Judge(Scripted(function=only_good)))
    run = scored(parrot, scorer, samples=[talk("a", "good", "bad"), talk("b", "good")])
    assert [record.scores[0].outcome for record in run.records()] == ["unparsed", "scored"]
    [turns] = run.summary().details.turns
    assert (turns.score.scored, turns.score.unparsed, turns.score.answered.value) == (2, 1, 1.0)


def test_a_comparison_of_turns_is_never_surer_than_its_unparsed_verdicts_allow():
    samples = [talk(str(no), "good", "bad") for no in range(8)]
    mixed = scored(parrot, tone(Judge(Scripted(function=only_good))), samples=samples)
    rude, free = (scored(parrot, tone(judge(f"Verdict: {said}")), samples=samples) for said in ("YES", "NO"))
    [turn] = compare(mixed, rude).pairs[0].further.turns
    assert turn.difference.missing.bounds == (-1.0, -0.5), "8 of 16 verdicts may be 0 or 1, the others are 1"
    assert turn.verdict == "worse"
    [turn] = compare(mixed, free).pairs[0].further.turns
    assert turn.difference.missing.bounds == (0.0, 0.5)
    assert turn.verdict == "inconclusive"


def test_a_judge_is_passed_on_and_asked_once_a_turn():
    from steelyard.scorers.judges.judge import with_judge, with_judges

    [scorer] = with_judge([tone(Judge())], judge("Verdict: NO"))
    run = scored(parrot, scorer, samples=[talk("a", "x", "y"), talk("b", "x")])
    assert {stage.stage: stage.calls for stage in run.summary().calls.stages}["tone_per_turn"] == 3
    named = with_judges([tone(Judge())], {"small": judge("Verdict: NO"), "large": judge("Verdict: YES")})
    run = scored(parrot, *named, samples=[talk("a", "x", "y")])
    scores = {score.name: score.value for score in next(iter(run.records())).scores}
    assert scores == {"tone_per_turn_small": 1.0, "tone_per_turn_large": 0.0}
    assert len(run.summary().details.turns) == 2


def test_a_dry_run_counts_a_call_of_the_judge_for_each_turn(tmp_path):
    app = Prompt(Scripted(default="ok"))
    suite = Suite("s", "custom", [talk("a", "x", "y", "z")], {"t": SimulatedUser(app)}, (tone(judge("x")),))
    assert asyncio.run(estimate(suite, store=str(tmp_path / "s.db")))[0].calls == 6


@pytest.mark.parametrize("given", ["{", "7", 7, {"a": 1}])
def test_references_that_are_no_list_are_an_error_of_the_record(given):
    run = scored(parrot, PerTurn(ExactMatch()), samples=[Sample("1", "x", metadata={"turn_references": given})])
    [record] = run.records()
    assert (record.failure.kind, record.scores) == ("DataError", ())
    assert "turn_references" in record.failure.message
    assert run.summary().details.turns == ()


@pytest.mark.parametrize(
    "scorer", [PerTurn(PerTurn(ExactMatch())), PerTurn(ExactMatch), PerTurn("exact_match"), PerTurn(None)]
)
def test_a_scorer_that_cannot_score_a_turn_is_refused(scorer):
    with pytest.raises(ConfigError, match="scorer"):
        check_options(scorer)


@pytest.mark.parametrize("messages", [None, "x", [], [{"role": "user", "content": "x"}], [{"role": 7}]])
def test_a_conversation_that_cannot_be_read_is_not_applicable(messages):
    output = Output("x", metadata={"messages": messages, "conversation": {"turns": 1}})
    assert conversation_turns(Sample("1", "?"), output) == (
        "the output's messages are not a list of chat messages with one of the assistant"
    )


def test_turns_that_a_foreign_scorer_wrote_in_another_form_are_errors_and_no_numbers():
    def odd(sample, output):
        return Score(
            "odd", 1.0, detail={"turns": [{"outcome": "scored"}, 7, {"outcome": "scored", "value": True}, None]}
        )

    odd.score_infos = (ScoreInfo("odd", (0, 1), per_turn=True),)
    [turns] = evaluate(lambda sample: "x", [Sample("1", "?")], [odd]).summary().details.turns
    assert (turns.score.scored, turns.score.errors, turns.score.headline.value) == (0, 4, None)


def test_pages_and_comparisons_show_the_turns():
    runs = [scored(parrot, PerTurn(ExactMatch())), scored(worse, PerTurn(ExactMatch()))]
    page = html_report(runs, compare(*runs))
    assert "Turns of conversations" in page
    assert "Turns of conversations</h" in page
    assert "4 independent" in page or "turn 4" in page


CONFIG = """
suite: rag
samples: {file: talks.jsonl}
judge: {model: {scripted: {default: "Verdict: NO"}}}
targets:
  bot: {simulated_user: {target: {prompt: {model: {scripted: {default: x}}}}}}
scorers:
  - per_turn: exact_match
  - per_turn: {scorer: {error_code: {name: tone, definition: The answer is rude.}}}
"""


def test_a_configuration_names_the_scorer_of_turns_and_a_run_is_scored_again_from_the_journal(tmp_path):
    from steelyard import Store, evaluate_suite
    from steelyard.config.load import load
    from steelyard.evaluation import rescore

    rows = [{"id": "a", "question": user("x", "y"), "turn_references": ["x", "y"]}]
    (tmp_path / "talks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "talk.yaml").write_text(CONFIG, encoding="utf-8")
    suite = load(tmp_path / "talk.yaml", environ={}).suite
    [run] = evaluate_suite(suite, store=tmp_path / "s.db")
    assert [score.value for score in next(iter(run.records())).scores] == [0.5, 1.0]
    described = run.manifest["scorers"]["tone_per_turn"]["per_turn"]["scorer"]["error_code"]
    assert set(described["prompts"]) == {"error_code"}
    with Store(tmp_path / "s.db") as store:
        again, damaged = rescore.rescore(store, store.run(run.id), suite.scorers_for("bot"))
        assert damaged == 0
        assert [json_value(turns) for turns in again.summary().details.turns] == [
            json_value(turns) for turns in store.run(run.id).summary().details.turns
        ]
        assert len(again.summary().details.turns) == 2


def test_a_run_is_scored_again_with_the_prompt_that_its_turns_were_judged_with():
    from steelyard.registry import describe
    from steelyard.scorers.judges.judge import with_stored_prompts

    seen = []

    def note(messages):
        seen.append(messages[-1]["content"])
        return "Verdict: NO"

    scorer = tone(Judge(Scripted(function=note)))
    described = json.loads(json.dumps(describe(scorer)))
    stored = described["per_turn"]["scorer"]["error_code"]["prompts"]["error_code"]["en"]
    stored |= {"text": "As it was. " + stored["text"], "hash": "0" * 16}
    scored(parrot, with_stored_prompts(scorer, described), samples=[talk("a", "x", "y")])
    assert [text.startswith("As it was. ") for text in seen] == [True, True]
