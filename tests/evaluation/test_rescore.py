"""Scoring stored outputs again: no call, the earlier scores stay, what is damaged is counted."""

import sqlite3
from contextlib import closing

import pytest

from steelyard import ConfigError, ExactMatch, Prompt, Sample, Score, ScoreInfo, Scripted, evaluate
from steelyard.evaluation.rescore import rescore
from steelyard.store import Store

SAMPLES = [Sample(f"q{n}", f"question {n}", "YES") for n in range(60)]


def shouted(sample, output):
    return output.value.upper() == sample.reference


@pytest.fixture
def run():
    return evaluate(Prompt(Scripted({}, default="yes")), SAMPLES, [ExactMatch()], store="s.db")


def test_another_scorer_reads_the_stored_outputs_and_the_first_scores_stay(run):
    assert run.summary().scores[0].answered.value == 0
    with Store("s.db") as store:
        again, damaged = rescore(store, store.run(run.id), [shouted])
    assert (again.scoring_version, damaged) == (1, 0)
    assert again.summary().scores[0].name == "shouted"
    assert again.summary().scores[0].answered.value == 1
    with closing(sqlite3.connect("s.db")) as connection:
        assert connection.execute(
            "SELECT scoring_version, count(*) FROM score GROUP BY scoring_version"
        ).fetchall() == [(0, 60), (1, 60)]


class Judged:
    """Asks for its steps once and for each verdict twice; reads a verdict with a function that may change."""

    score_infos = (ScoreInfo("judged"),)

    def __init__(self, read, question="is it shouted?"):
        self.read = read
        self.question = question

    async def __call__(self, sample, output, ask):
        steps = await ask.once(JUDGE, "the steps, please")
        asked = f"{steps.text} {self.question} {sample.input}: {output.value}"
        return self.read((await ask(JUDGE, asked)).text + (await ask(JUDGE, asked)).text)


JUDGE = Scripted({"the steps": "look"}, default="4")


def test_a_judges_stored_replies_are_read_again_without_a_call():
    judged = evaluate(Prompt(Scripted({}, default="yes")), SAMPLES, [Judged(float)], store="s.db")
    assert judged.summary().scores[0].answered.value == 44
    with Store("s.db") as store:
        before = store.spending(judged.evaluation), judged.replies
        again, _ = rescore(store, store.run(judged.id), [Judged(lambda text: float(text[0]))])
        assert (store.spending(judged.evaluation), again.replies) == before
    assert again.summary().scores[0].answered.value == 4


def test_a_judge_that_would_have_to_ask_is_refused_with_the_number_of_records(run):
    with Store("s.db") as store:
        with pytest.raises(ConfigError, match="no reply to what is asked by scorer 'judged' for 60 of 60 records"):
            rescore(store, store.run(run.id), [Judged(len)])
        assert store.run(run.id).scoring_version == 0


def test_a_judge_with_another_question_is_refused():
    judged = evaluate(Prompt(Scripted({}, default="yes")), SAMPLES, [Judged(float)], store="s.db")
    with Store("s.db") as store, pytest.raises(ConfigError, match="prompt, model or parameters have changed"):
        rescore(store, store.run(judged.id), [Judged(float, "is it said twice?")])


def test_a_record_whose_judge_had_failed_has_no_score_when_scored_again():
    def fails_once(messages):
        if "question 7:" in messages[0]["content"]:
            raise ValueError("down")
        return "4"

    class Failing(Judged):
        async def __call__(self, sample, output, ask):
            return self.read((await ask(Scripted(function=fails_once), f"{sample.input}: {output.value}")).text)

    target = Prompt(Scripted({}, default="yes"))
    judged = evaluate(target, SAMPLES, [Failing(float)], store="s.db", max_errors=0.5)
    assert judged.summary().scores[0].errors == 1
    with Store("s.db") as store:
        again, _ = rescore(store, store.run(judged.id), [Failing(lambda text: float(text) + 1)])
    scores = again.summary().scores[0]
    assert (scores.scored, scores.errors, scores.answered.value) == (59, 1, 5)


def test_a_record_whose_judges_both_failed_does_not_keep_the_others_from_being_scored_again():
    def down(messages):
        if "question 7:" in messages[0]["content"]:
            raise ValueError("down")
        return "4"

    class Failing(Judged):
        def __init__(self, name, read):
            super().__init__(read, name)
            self.score_infos = (ScoreInfo(name),)

        async def __call__(self, sample, output, ask):
            requests = f"{self.question} {sample.input}: {output.value}"
            return self.read((await ask(Scripted(function=down), requests)).text)

    judges = [Failing("right", float), Failing("supported", float)]
    judged = evaluate(Prompt(Scripted({}, default="yes")), SAMPLES, judges, store="s.db", max_errors=0.5)
    with Store("s.db") as store:
        again, _ = rescore(store, store.run(judged.id), judges)
    counts = {score.name: (score.scored, score.errors) for score in again.summary().scores}
    assert counts == {"right": (59, 1), "supported": (59, 1)}


class Rated:
    """A rating of 1 to 5 that cannot be read for every tenth question."""

    score_infos = (ScoreInfo("rating", (1, 5), histogram=True),)

    def __call__(self, sample, output):
        if sample.id.endswith("0"):
            return Score("rating", None, outcome="unparsed", detail={"kind": "none"})
        return Score("rating", 4.0)


def test_a_new_scorer_is_read_on_its_own_scale_and_replaces_what_the_manifest_says_of_the_first(run):
    with Store("s.db") as store:
        again, _ = rescore(store, store.run(run.id), [Rated()])
        summary = again.summary()
        rating = summary.score("rating")
        assert (rating.over, rating.answered.value) == ("scored", 4.0)
        assert rating.bounds == pytest.approx(((54 * 4 + 6 * 1) / 60, (54 * 4 + 6 * 5) / 60))
        assert (summary.primary, list(summary.details.spreads)) == ("rating", ["rating"])
        assert list(again.manifest["scorers"]) == ["rating"]
        assert list(again.first_manifest["scorers"]) == ["exact_match"]
        back, _ = rescore(store, again, [ExactMatch()])
        assert (back.summary().primary, back.summary().details.spreads) == ("exact_match", {})


def test_a_run_that_was_scored_again_goes_on_with_the_scorers_that_it_was_made_with():
    calls = []

    def failing(sample):
        calls.append(sample.id)
        if len(calls) > 10:
            raise ValueError("down")
        return "YES"

    first = evaluate(failing, SAMPLES, [ExactMatch()], store="s.db", concurrency=1, on_broken="return")
    assert first.state == "broken"
    with Store("s.db") as store:
        rescore(store, store.run(first.id), [Rated()])
    calls.clear()
    on = evaluate(failing, SAMPLES, [ExactMatch()], store="s.db", concurrency=1, resume=first.id, on_broken="return")
    assert list(on.manifest["scorers"]) == ["exact_match"]


def test_a_damaged_reply_spoils_its_own_record_alone_and_is_counted(run):
    with closing(sqlite3.connect("s.db")) as connection, connection:
        keys = [key for (key,) in connection.execute("SELECT key FROM reply ORDER BY num")]
        connection.execute("UPDATE reply SET body = x'01ff00ff' WHERE key = ?", [keys[3]])
        connection.execute("DELETE FROM reply WHERE key = ?", [keys[5]])
    with Store("s.db") as store:
        records = list(store.run(run.id).records())
        broken = [record for record in records if record.failure is not None]
        assert len(records) == 60
        assert {record.failure.kind for record in broken} == {"damaged"}
        assert len(broken) == 2
        assert all(record.sample.id in record.failure.message for record in broken)
        again, damaged = rescore(store, store.run(run.id), [shouted])
    assert damaged == 2
    assert again.summary().scores[0].n == 58


def test_a_scorer_that_runs_sql_is_prepared_and_given_a_sandbox(run):
    prepared = []

    class Counting:
        score_infos = (ScoreInfo("counting"),)

        def prepare(self, sandbox):
            prepared.append(sandbox)

        async def __call__(self, sample, output, sandbox):
            return float(sandbox is prepared[0])

    with Store("s.db") as store:
        again, _ = rescore(store, store.run(run.id), [Counting()])
    assert again.summary().scores[0].answered.value == 1
    assert len(prepared) == 1
