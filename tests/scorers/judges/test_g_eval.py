"""G-Eval through the real path: form, steps, weighting and what its score says of them."""

import pytest
from tests.scorers.judges.judge_server import failed, judged, refused, said, sample, token

from steelyard import ConfigError
from steelyard.constraints import check_options
from steelyard.scorers.judges.g_eval import GEval
from steelyard.scorers.judges.judge import Judge
from steelyard.types import ScoreInfo

STEPS = ("Read the answer.", "Compare it with the request.")
FIVE = {"5": 0.5, "4": 0.3, "3": 0.1, "Well": 0.1}


def coherent(judge, **fields):
    return GEval(
        judge, **({"name": "coherence", "criteria": "Do the sentences hang together?", "steps": STEPS} | fields)
    )


def one(reply, given=None, *, judge=None, model=None, **fields):
    """The result of one sample under a judge that says `reply`, or what `reply` makes of the call."""
    answer = reply if callable(reply) else lambda asked: reply
    return judged(
        lambda configured: coherent(configured, **fields), given or sample(), answer, judge=judge, model=model
    )


def weighted(text="5", alternatives=FIVE):
    return said(text, logprobs=[token(text, alternatives)])


class TestTheForm:
    def test_it_holds_metric_scale_criteria_task_and_steps(self):
        prompt = one("4", task="The application tutors children.", high=7).prompts[0]
        for part in (
            "coherence (1 to 7):",
            "from 1 (worst) to 7 (best)",
            "Do the sentences hang together?",
            "The application tutors children.",
            "1. Read the answer.\n2. Compare it with the request.",
        ):
            assert part in prompt

    def test_the_request_and_the_answer_stand_fenced_between_the_task_and_the_form(self):
        prompt = one("4", sample("It is Paris.", "What is the capital?")).prompts[0]
        places = [
            prompt.index(part) for part in ("Rate the answer", "What is the capital?", "It is Paris.", "coherence (")
        ]
        assert places == sorted(places)
        mark = prompt.rpartition("<question ")[2].partition(">")[0]
        assert f"<answer {mark}>\nIt is Paris.\n</answer {mark}>" in prompt

    def test_the_reference_is_not_shown(self):
        assert "SECRET" not in one("4", sample(reference="SECRET")).prompts[0]

    def test_it_is_asked_steadily_and_for_few_tokens(self):
        body = one("4").asked[0].body
        wanted = {"temperature": 0, "top_p": 1, "frequency_penalty": 0, "presence_penalty": 0, "max_tokens": 12}
        assert {name: body[name] for name in wanted} == wanted
        assert (body["logprobs"], body["top_logprobs"]) == (True, 20)

    def test_with_reasoning_the_reasons_follow_and_are_kept(self):
        judgement = one("4\nThe second sentence repeats the first.", reasoning=True)
        assert judgement.asked[0].body["max_tokens"] == 512
        assert "your reasons" in judgement.prompts[0]
        assert (judgement.only.value, judgement.only.reason) == (4, "The second sentence repeats the first.")

    def test_a_chinese_answer_is_judged_in_chinese(self):
        judgement = one("4", sample("巴黎是法国的首都。", "法国的首都是哪里？"))
        assert "请只就“coherence”这一项指标" in judgement.prompts[0]
        assert judgement.only.value == 4
        assert "Rate the answer" in one("4", sample("巴黎", "法国的首都？"), judge={"language": "en"}).prompts[0]


class TestSteps:
    def written(self, reply, **more):
        return lambda asked: reply if "Do not rate anything yourself" in asked.prompt else "4"

    def test_they_are_written_once_for_all_samples_and_kept_on_each_score(self):
        several = [sample(no=f"q{n}", question=f"Question {n}?") for n in range(8)]
        judgement = judged(
            lambda judge: [coherent(judge, steps=(), task="Tutoring."), coherent(judge, name="clarity", steps=())],
            several,
            self.written("Sure!\n1. Look at each sentence.\n2. Count the breaks."),
            repeats=2,
        )
        asked = [prompt for prompt in judgement.prompts if "Do not rate anything yourself" in prompt]
        assert len(asked) == 2
        assert len(judgement.prompts) == 2 + 8 * 2 * 2
        assert "Tutoring." in asked[0] + asked[1]
        assert all(
            "1. Look at each sentence.\n2. Count the breaks." in prompt
            for prompt in set(judgement.prompts) - set(asked)
        )
        for scores in judgement.scores.values():
            assert scores["coherence"].detail["steps"] == ["Look at each sentence.", "Count the breaks."]
            assert scores["clarity"].value == 4

    @pytest.mark.parametrize(
        ("reply", "outcome", "kind"),
        [
            ("", "unparsed", "empty"),
            (said("1. Look at", finish="length"), "unparsed", "truncated"),
            ("I'm sorry, but I cannot help with that.", "refused", None),
            (refused(), "refused", None),
            (said("1. Look at", finish="content_filter"), "refused", None),
        ],
    )
    def test_steps_that_cannot_be_read_leave_no_score_and_nothing_else_is_asked(self, reply, outcome, kind):
        judgement = one(self.written(reply), steps=())
        assert (judgement.only.outcome, judgement.only.detail.get("kind")) == (outcome, kind)
        assert "steps" in judgement.only.reason
        assert len(judgement.asked) == 1

    def test_given_steps_cost_no_call(self):
        assert len(one("4").asked) == 1


class TestWeighting:
    def test_auto_takes_the_probabilities_where_there_are_any(self):
        score = one(weighted()).only
        assert score.value == pytest.approx((0.5 * 5 + 0.3 * 4 + 0.1 * 3) / 0.9)
        assert score.detail["how"] == "probability-weighted"
        assert score.detail["mass"] == pytest.approx(0.9)
        assert score.detail["distribution"] == pytest.approx({"3": 0.1, "4": 0.3, "5": 0.5})
        assert score.detail["n"] == 1
        assert "fallback" not in score.detail

    def test_auto_says_that_an_endpoint_gave_none(self):
        score = one("4").only
        assert (score.value, score.detail["how"]) == (4, "single rating")
        assert score.detail["fallback"] == "the endpoint gave no token probabilities"
        assert "mass" not in score.detail

    def test_auto_asks_again_without_where_the_endpoint_refuses_them_and_says_so(self):
        judgement = one(lambda asked: failed(400, "logprobs is not supported") if "logprobs" in asked.body else "4")
        assert (judgement.only.value, judgement.only.detail["how"]) == (4, "single rating")
        assert "logprobs is not supported" in judgement.only.detail["fallback"]
        assert "top_logprobs" not in judgement.asked[1].body
        assert len(judgement.asked) == 2

    def test_a_refusal_of_probabilities_is_found_out_once_for_all_repeats(self):
        judgement = one(
            lambda asked: failed(400) if "logprobs" in asked.body else str(asked.no % 2 + 3), judge={"repeats": 2}
        )
        assert ["logprobs" in asked.body for asked in judgement.asked] == [True, False, False]
        assert sorted(judgement.only.detail["repeats"]) == [3, 4]
        assert judgement.only.detail["how"] == "single rating"

    def test_repeats_that_were_taken_in_two_ways_name_both(self):
        judgement = one(lambda asked: weighted() if asked.no else "4", judge={"repeats": 2}).only
        assert judgement.detail["how"] in {
            "single rating and probability-weighted",
            "probability-weighted and single rating",
        }
        assert judgement.detail["fallback"] == "the endpoint gave no token probabilities"

    @pytest.mark.parametrize("tokens", [[], ["4"], [{}], [{"token": "5"}], [{"token": "4", "logprob": "x"}]])
    def test_token_probabilities_that_cannot_be_read_leave_the_rating_as_it_was_read(self, tokens):
        score = one(said("4", logprobs=tokens)).only
        assert (score.value, score.detail["how"]) == (4, "single rating")
        assert score.detail["fallback"]

    def test_a_fault_that_passes_is_no_reason_to_ask_without(self):
        judgement = one(lambda asked: failed(500))
        assert judgement.failure.kind == "server"
        assert len(judgement.asked) == 1

    def test_logprobs_that_are_wanted_and_refused_end_the_run_with_one_call(self):
        judgement = one(lambda asked: failed(400, "logprobs is not supported"), weighting="logprobs")
        assert (judgement.run.state, len(judgement.asked)) == ("broken", 1)
        assert "set weighting to auto, samples or single" in judgement.run.reason

    def test_logprobs_that_are_wanted_and_missing_end_the_run_with_one_call(self):
        judgement = one("4", weighting="logprobs")
        assert (judgement.run.state, len(judgement.asked)) == ("broken", 1)
        assert "gave no token probabilities" in judgement.run.reason

    def test_too_little_mass_is_a_single_rating_with_the_mass(self):
        sparse = {"5": 0.3, "4": 0.1, "Well": 0.6}
        score = one(weighted(alternatives=sparse)).only
        assert (score.value, score.detail["how"]) == (5, "single rating")
        assert score.detail["mass"] == pytest.approx(0.4)
        assert "only 0.4 of the probability" in score.detail["fallback"]
        assert one(weighted(alternatives=sparse), min_probability_mass=0.4).only.value == pytest.approx(4.75)

    def test_single_asks_for_no_probabilities(self):
        judgement = one("3", weighting="single")
        assert "logprobs" not in judgement.asked[0].body
        assert (judgement.only.value, judgement.only.detail["how"]) == (3, "single rating")
        assert "fallback" not in judgement.only.detail

    def test_samples_are_drawn_at_temperature_1_and_their_mean_is_the_score(self):
        judgement = one(lambda asked: "5" if asked.no % 4 == 0 else "3", weighting="samples", samples=8)
        assert len(judgement.asked) == 8
        assert {call.body["temperature"] for call in judgement.asked} == {1}
        assert judgement.only.value == pytest.approx((2 * 5 + 6 * 3) / 8)
        assert judgement.only.detail["how"] == "mean of 8 samples"
        assert judgement.only.detail["n"] == 8
        assert judgement.only.detail["distribution"] == {"3": 0.75, "5": 0.25}

    def test_samples_that_cannot_be_read_are_counted_and_never_0(self):
        judgement = one(lambda asked: "4" if asked.no % 2 else "no idea", weighting="samples", samples=6)
        assert judgement.only.value == 4
        assert (judgement.only.detail["n"], judgement.only.detail["unread"]) == (3, 3)
        assert judgement.only.detail["how"] == "mean of 3 samples"

    def test_where_no_sample_can_be_read_there_is_no_number(self):
        judgement = one("9", weighting="samples", samples=3).only
        assert (judgement.value, judgement.outcome, judgement.detail["kind"]) == (None, "unparsed", "out_of_scale")
        assert judgement.detail["unread"] == 3

    def test_repeats_of_samples_are_means_of_their_own(self):
        judgement = one(
            lambda asked: "5" if asked.no < 4 else "3", weighting="samples", samples=4, judge={"repeats": 2}
        )
        assert sorted(judgement.only.detail["repeats"]) == [3, 5]
        assert judgement.only.value == 4
        assert judgement.only.detail["n"] == 8

    def test_ten_values_are_weighed_over_tokens_of_one_digit(self):
        tokens = [token("1", {"1": 0.9, "9": 0.1}), token("0", {"0": 1.0})]
        score = one(said("10", logprobs=tokens), high=10).only
        assert score.value == pytest.approx(9.9)

    def test_how_it_was_taken_is_a_column_of_the_data_frame(self):
        frame = one(weighted()).run.to_frame().to_dict("list")
        assert frame["coherence_how"] == ["probability-weighted"]


def test_repeats_give_the_spread_and_the_flips_of_whole_ratings():
    replies = ["5", "4", "4", "4"]
    score = one(lambda asked: replies[asked.no], weighting="single", judge={"repeats": 4}).only
    assert score.value == 4.25
    assert score.detail["sd"] == pytest.approx(0.5)
    assert score.detail["flip_rate"] == 0.25
    assert len(score.detail["repeats"]) == 4


def test_expectations_that_differ_by_little_are_no_flips():
    shares = [0.90, 0.91, 0.92]
    score = one(
        lambda asked: weighted("4", {"4": shares[asked.no], "5": 1 - shares[asked.no]}), judge={"repeats": 3}
    ).only
    assert score.detail["flip_rate"] == 0
    assert score.detail["sd"] > 0


def test_a_threshold_passes_what_reaches_it():
    assert [one(reply, threshold=4).only.passed for reply in ("4", "3")] == [True, False]
    assert one("4").only.passed is None


def test_two_metrics_stand_side_by_side_under_their_names_with_their_scales():
    judgement = judged(
        lambda judge: [coherent(judge), coherent(judge, name="tone", low=0, high=10)],
        sample(),
        lambda asked: "9" if "tone (0 to 10):" in asked.prompt else "4",
    )
    assert {name: score.value for name, score in judgement.scores["fr"].items()} == {"coherence": 4, "tone": 9}
    assert coherent(Judge(), low=0, high=10).score_infos == (ScoreInfo("coherence", (0, 10), histogram=True),)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"criteria": " "}, "describe what is judged"),
        ({"name": ""}, "a printable name"),
        ({"steps": "Read it."}, "a list of texts"),
        ({"steps": ("Read it.", " ")}, "steps: each must be a text that is not blank"),
        ({"low": 1.5}, "low must be a whole number"),
        ({"low": 5}, "high must be a whole number of 6|high must be a whole number from 6"),
        ({"weighting": "logprob"}, "did you mean 'logprobs'"),
        ({"samples": 1}, "samples must be"),
        ({"min_probability_mass": 2}, "min_probability_mass must be"),
        ({"threshold": 6}, "threshold must be a number from 1 to 5, not 6"),
        ({"template": "Rate it by {{criteria}}."}, "nothing to judge"),
        ({"template": "{{answer}} {{reference}}: rate it."}, "reference"),
        ({"steps": (), "steps_template": "{{answer}}: write steps."}, "answer"),
        ({"weighting": "samples", "judge": Judge(parameters={"temperature": 0})}, "a temperature above 0"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_sent(fields, message):
    with pytest.raises(ConfigError, match=message):
        check_options(coherent(**({"judge": Judge()} | fields)))


def test_the_prompts_are_in_the_manifest():
    told = coherent(Judge(), steps=(), reasoning=True).manifest()["prompts"]
    assert "First write your reasons" in told["g_eval"]["en"]["text"]
    assert "Do not rate anything yourself" in told["steps"]["en"]["text"]
    assert "steps" not in coherent(Judge()).manifest()["prompts"]
