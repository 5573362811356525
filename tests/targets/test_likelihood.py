"""Likelihoods: letters from what an endpoint lists, texts from the tokens of an echoed prompt."""

import asyncio
import json
import re
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.loopback import completion, http, peer
from tests.thorough import times

from steelyard import ConfigError, OpenAICompatible, Sample, Scripted, aevaluate
from steelyard.constraints import check_options
from steelyard.errors import TargetError
from steelyard.models.openai_compatible import Completions
from steelyard.scorers.choice import Choice, LikelihoodAccuracy
from steelyard.targets.likelihood import Likelihood, letter_probabilities, text_likelihood

SAMPLE = Sample("1", "Capital of France?", "B", ("Rome", "Paris, the city of light", "Oslo"))


def tops(*pairs):
    return [{"token": token, "logprob": log(p)} for token, p in pairs]


def chat(*pairs):
    logprobs = {"content": [{"token": pairs[0][0], "logprob": log(pairs[0][1]), "top_logprobs": tops(*pairs)}]}
    message = {"role": "assistant", "content": pairs[0][0]}
    return http(200, completion(choices=[{"message": message, "finish_reason": "length", "logprobs": logprobs}]))


def run(answer, model, samples=(SAMPLE,), **options):
    """One stored run against a real server; `model` makes the model from its address."""

    async def go():
        async with peer(answer) as server:
            target = Likelihood(model(server.url), **options)
            found = await aevaluate(target, samples, [Choice(), LikelihoodAccuracy()], store="s.db")
            return found, server.asked

    found, asked = asyncio.run(go())
    return list(found.records()), asked


def scores(record):
    return {score.name: score.value for score in record.scores}


def test_the_letter_with_the_most_probability_in_all_its_spellings_is_the_answer():
    def answer(_n, _asked):
        return chat(("A", 0.4), (" B", 0.3), ("B", 0.2), ("（B", 0.05), ("The", 0.01))

    (record,), asked = run(answer, lambda url: OpenAICompatible("m", url))
    body = json.loads(asked[0].body)
    assert (body["logprobs"], body["top_logprobs"], body["max_tokens"]) == (True, 20, 1)
    assert "A, B or C" in body["messages"][0]["content"]
    assert record.output.value == "B"
    assert scores(record) == {"solve_rate": 1, "acc": 1, "acc_norm": 1, "acc_bytes": 1}
    detail = next(score.detail for score in record.scores if score.name == "acc")
    assert detail["probabilities"]["B"] == pytest.approx(0.55 / 0.95, abs=1e-5)
    assert detail["missing"] == "C"
    assert detail["rest"] == pytest.approx(0.04, abs=1e-5)


def test_a_letter_that_is_not_listed_is_said_with_what_it_may_have_at_most():
    (record,), _ = run(lambda _n, _a: chat(("B", 0.9), ("x", 0.05)), lambda url: OpenAICompatible("m", url))
    reason = next(score.reason for score in record.scores if score.name == "acc")
    assert reason == "B is the most probable; A, C not listed, with at most 0.05 together"


def test_a_reply_that_begins_with_anything_else_is_unparsed_and_no_letter_is_guessed():
    (record,), _ = run(lambda _n, _a: chat(("<think>", 0.9), ("a", 0.05)), lambda url: OpenAICompatible("m", url))
    acc = next(score for score in record.scores if score.name == "acc")
    assert (acc.value, acc.outcome) == (None, "unparsed")
    assert "'<think>'" in acc.reason
    assert record.output.value == ""


@pytest.mark.parametrize("refuses", [False, True])
@pytest.mark.parametrize("by", ["letters", "texts"])
def test_an_endpoint_without_logprobs_costs_one_call_and_ends_the_run_with_what_to_do(by, refuses):
    def answer(_n, _asked):
        if refuses:
            return http(400, {"error": {"message": "logprobs is not supported for this model"}})
        if by == "letters":
            return http(200, completion("B"))
        return http(200, {"choices": [{"text": "B", "finish_reason": "stop"}]})

    async def work():
        async with peer(answer) as server:
            model = OpenAICompatible("m", server.url) if by == "letters" else Completions("m", server.url)
            samples = [Sample(f"q{n}", f"question {n}", "B", choices=("red", "blue")) for n in range(30)]
            run = await aevaluate(
                Likelihood(model, by=by), samples, [LikelihoodAccuracy()], concurrency=16, on_broken="return"
            )
            return run, len(server.asked)

    run, asked = asyncio.run(work())
    assert (asked, run.state, run.done) == (1, "broken", 0)
    assert "gave no log probabilities" in run.reason
    assert "use a prompt target" in run.reason


def split(text, rule=r" ?\w+|[^\w ]| +"):
    return re.findall(rule, text)


def echoing(costs, *, tokens=split, first=()):
    """A server that echoes: each word costs what `costs` says, else one nat; it goes on with one token more."""

    def answer(_n, asked):
        body = json.loads(asked.body)
        parts = [*first, *tokens(body["prompt"])]
        values = [None, *(-costs.get(one.strip(), 1.0) for one in parts[1:])]
        places = [sum(map(len, parts[:no])) for no in range(len(parts) + 1)]
        logprobs = {"tokens": [*parts, " and"], "token_logprobs": [*values, -9.0], "text_offset": places}
        choice = {"text": f"{body['prompt']} and", "finish_reason": "length", "logprobs": logprobs}
        return http(200, {"choices": [choice]})

    return answer


COSTS = {"Rome": 2.0, "Oslo": 3.0, "Paris": 0.5, "the": 0.5, "city": 0.5, "of": 0.1, "light": 0.4, ",": 0.5}


def test_the_text_of_each_option_is_summed_over_its_own_tokens():
    (record,), asked = run(echoing(COSTS), lambda url: Completions("m", url), by="texts")
    bodies = [json.loads(one.body) for one in asked]
    assert [one["prompt"].rsplit("Answer:", 1)[1] for one in bodies] == [f" {text}" for text in SAMPLE.choices]
    assert all((one["echo"], one["logprobs"], one["max_tokens"]) == (True, 1, 1) for one in bodies)
    found = record.output.metadata["likelihood"]
    assert found["logprobs"] == pytest.approx({"A": -2.0, "B": -2.5, "C": -3.0})
    assert found["tokens"] == [1, 6, 1]
    assert found["probabilities"]["A"] == pytest.approx(exp(-2) / (exp(-2) + exp(-2.5) + exp(-3)), abs=1e-6)
    assert scores(record) == {"solve_rate": 0, "acc": 0, "acc_norm": 1, "acc_bytes": 1}


def test_characters_and_bytes_may_choose_differently():
    sample = Sample("1", "?", "A", ("天地玄黄", "abcdefgh"))
    found = {"by": "texts", "logprobs": {"A": -4.0, "B": -7.0}}
    by_name = {one.name: one.detail["letters"] for one in LikelihoodAccuracy()(sample, output_of(found))}
    assert by_name == {"acc": "A", "acc_norm": "B", "acc_bytes": "A"}


def output_of(found):
    from steelyard.types import Output

    return Output("A", (), {"likelihood": found})


def test_the_beginning_of_a_text_that_some_servers_echo_moves_nothing():
    odd = echoing(COSTS, first=("<|begin_of_text|>",))
    (record,), _ = run(odd, lambda url: Completions("m", url), by="texts")
    assert record.output.metadata["likelihood"]["logprobs"] == pytest.approx({"A": -2.0, "B": -2.5, "C": -3.0})


def test_a_chinese_prompt_has_no_blank_before_the_option():
    sample = Sample("1", "乾为何？", "A", ("天", "地"))
    (record,), asked = run(echoing({"天": 0.5}, tokens=list), lambda url: Completions("m", url), (sample,), by="texts")
    assert json.loads(asked[0].body)["prompt"] == "题目：乾为何？\n答案：天"
    assert record.output.metadata["likelihood"]["logprobs"] == {"A": -0.5, "B": -1.0}


def test_vllms_prompt_logprobs_do_without_an_echo():
    def answer(_n, asked):
        body = json.loads(asked.body)
        assert "echo" not in body
        assert body["prompt_logprobs"] == 0
        parts = split(body["prompt"])
        listed = [None, *({"7": {"logprob": -COSTS.get(one.strip(), 1.0), "decoded_token": one}} for one in parts[1:])]
        return http(200, {"choices": [{"text": " and", "finish_reason": "length", "prompt_logprobs": listed}]})

    (record,), _ = run(answer, lambda url: Completions("m", url), by="texts", prompt_logprobs=True)
    assert record.output.metadata["likelihood"]["logprobs"] == pytest.approx({"A": -2.0, "B": -2.5, "C": -3.0})


def test_of_equal_options_the_first_is_taken_and_that_is_said():
    (record,), _ = run(echoing({"Rome": 1.0, "Oslo": 1.0}), lambda url: Completions("m", url), by="texts")
    assert record.output.metadata["likelihood"]["tie"] == "AC"
    assert "equal: A, C" in next(score.reason for score in record.scores if score.name == "acc")


def test_several_right_options_are_not_applicable():
    several = Sample("1", "?", "AC", ("a", "b", "c"))
    assert {one.outcome for one in LikelihoodAccuracy()(several, output_of({"logprobs": {"A": -1.0}}))} == {
        "not_applicable"
    }


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"by": "texts"}, "take the model completions"),
        ({"template": "{{question}}"}, "lacks {{options}}"),
        ({"parameters": {"max_tokens": 5}}, "must not contain 'max_tokens'"),
        ({"parameters": {"max_completion_tokens": 5}}, "must not contain 'max_completion_tokens'"),
        ({"top_logprobs": 0}, "top_logprobs"),
    ],
)
def test_a_mistake_is_found_before_anything_is_sent(options, said):
    with pytest.raises(ConfigError, match=said.replace("{", r"\{")):
        check_options(Likelihood(Scripted(), **options))


def test_a_sample_without_options_fails_alone():
    records, asked = run(echoing(COSTS), lambda url: Completions("m", url), (SAMPLE, Sample("2", "?")), by="texts")
    assert [one.failure is None for one in records] == [True, False]
    assert "needs 2 to 26 options" in records[1].failure.message
    assert len(asked) == 3


# -- tokens along a text


@given(
    st.text("乾坤震abc ,:", min_size=1, max_size=20),
    st.text("天地x y,", min_size=1, max_size=12),
    st.lists(st.integers(1, 5), max_size=40),
    st.booleans(),
)
def test_whatever_the_tokens_are_the_options_sum_is_right_or_refused(before, option, sizes, generated):
    """Each byte costs one nat, so the sum is known; tokens over the border are the option's whole."""
    text, start = before + option, len(before)
    data, at, tokens, wanted = text.encode(), 0, [], 0
    border = len(before.encode())
    for size in [*sizes, len(data)]:
        part = data[at : at + size]
        if part:
            tokens.append([part.decode("utf-8", "replace"), -float(len(part)), None])
            wanted += len(part) if at + len(part) > border else 0
        at += size
    tokens += [[" and", -99.0, None]] if generated else []
    try:
        found = text_likelihood(text, start, tokens, generated=generated)
    except ValueError:
        assert any("�" in one[0] for one in tokens)  # whole characters are never refused
        return
    assert found.logprob == -wanted


def test_characters_of_several_tokens_are_counted_with_all_of_them():
    tokens = [["答案：", None, 0], ["�", -1.0, 3], ["�", -2.0, 4], ["�", -4.0, 5], [" and", -9.0, 6]]
    assert text_likelihood("答案：坤", 3, tokens).logprob == -7.0


def test_where_the_option_begins_inside_shared_tokens_nothing_is_summed():
    tokens = [["�", None, 0], ["�", -1.0, 0], ["�", -2.0, 0], ["�", -4.0, 0]]
    with pytest.raises(ValueError, match="may share tokens"):
        text_likelihood("乾坤", 1, tokens, generated=False)
    with pytest.raises(ValueError, match="or what was generated behind it"):
        text_likelihood("答：坤", 2, [["答：", None, 0], ["�", -1.0, 2], ["�", -1.0, 3]])


def test_tokens_that_fit_in_countless_ways_are_given_up():
    text = "这是提示" * times(200, 500)
    with pytest.raises(ValueError, match="fit in too many ways"):
        text_likelihood(text, len(text) - 10, [["�", -1.0, None]] * len(text.encode()), generated=False)


def test_an_end_of_the_text_that_is_echoed_as_an_empty_token_is_no_part_of_the_option():
    tokens = [["Q:", None, 0], [" x", -1.0, 2], ["", -9.0, 4]]
    assert text_likelihood("Q: x", 2, tokens).logprob == -1.0


def test_bytes_that_are_written_out_are_known():
    for one, other in (("bytes:\\xe5\\x9d", "bytes:\\xa4"), ("<0xE5>", "<0x9D>")):
        tokens = [["答：", None, 0], [one, -1.0, 2], [other, -2.0, 2], *([["<0xA4>", -3.0, 2]] if "0x" in one else [])]
        assert text_likelihood("答：坤", 2, tokens, generated=False).tokens == len(tokens) - 1


def test_pieces_of_other_vocabularies_are_known():
    assert text_likelihood("Q: a b", 4, [["▁Q:", None, None], ["▁a", -1.0, None], ["▁b", -2.0, None]]).logprob == -2.0
    assert text_likelihood("Q: a\nb", 4, [["Q:", None, None], ["Ġa", -1.0, None], ["Ċb", -2.0, None]]).logprob == -2.0


def test_a_token_over_the_border_counts_and_is_told():
    found = text_likelihood("so: yes", 3, [["so", None, 0], [": ", -1.0, 2], ["yes", -2.0, 4]])
    assert (found.logprob, found.shared) == (-3.0, True)


@pytest.mark.parametrize(
    "tokens",
    [
        [],
        [["Q:", None, None], [" other", -1.0, None]],
        [["Q:", None, None]],
        [["Q:", None, 0], [" x", None, 2]],
        [["Q:", None, 0], [" x", float("nan"), 2]],
        [["zz", None, 0], [" x", -1.0, 2]],
    ],
)
def test_tokens_that_do_not_make_up_the_text_are_refused(tokens):
    with pytest.raises(ValueError, match=r"tokens?"):
        text_likelihood("Q: x", 2, tokens)


def test_an_endpoints_own_offsets_are_used_where_its_tokens_are_no_text():
    tokens = [["Q:", None, 0], ["åľ¤", -1.0, 2], ["ä¸Ģ", -2.0, 3]]
    assert text_likelihood("Q:在一", 2, tokens).logprob == -3.0


@given(st.lists(st.tuples(st.text(max_size=4), st.floats(-20, 2)), max_size=8))
def test_letters_never_have_more_than_all_and_are_those_of_the_options(listed):
    entries = [{"token": token, "logprob": value} for token, value in listed]
    found = letter_probabilities(entries, "ABC")
    if found is None:
        assert not listed
        return
    assert all(0 <= p <= 1 for p in found.found.values())
    assert set(found.found) | set(found.missing) == set("ABC")
    assert not set(found.found) & set(found.missing)
    assert 0 <= found.rest <= 1


def test_the_target_refuses_nothing_listed():
    with pytest.raises(TargetError, match="gave no log probabilities"):
        raise_of(chat_reply=[])


def raise_of(chat_reply):
    async def ask(_model, _messages, **_parameters):
        from steelyard import Reply

        return Reply("", "B", metadata={"logprobs": chat_reply})

    asyncio.run(Likelihood(Scripted())(SAMPLE, ask))


def test_mutual_information_takes_the_option_that_the_question_makes_more_likely():
    plain = echoing(COSTS)

    def answer(number, asked):
        # Without the question "Rome" is the commonest word of all, so that its likelihood says least.
        alone = json.loads(asked.body)["prompt"].startswith("Answer:")
        return (echoing({**COSTS, "Rome": 0.1, "Paris": 2.0}) if alone else plain)(number, asked)

    samples = (SAMPLE, Sample("2", "Capital of Italy?", "A", SAMPLE.choices))

    async def go():
        async with peer(answer) as server:
            target = Likelihood(Completions("m", server.url), by="texts", unconditional="Answer:")
            found = await aevaluate(target, samples, [LikelihoodAccuracy(mutual_info=True)], store="s.db")
            return found, server.asked

    found, asked = asyncio.run(go())
    first, second = found.records()
    alone = [body["prompt"] for one in asked if (body := json.loads(one.body))["prompt"].startswith("Answer:")]
    assert sorted(alone) == sorted(f"Answer: {text}" for text in SAMPLE.choices), "asked once for both questions"
    assert first.output.metadata["likelihood"]["unconditional"] == pytest.approx({"A": -0.1, "B": -4.0, "C": -3.0})
    # log P(option | question) - log P(option): A -2.0 + 0.1, B -2.5 + 4.0, C -3.0 + 3.0
    assert scores(first)["acc_mutual_info"] == 1
    assert scores(second)["acc_mutual_info"] == 0
    reason = next(score.reason for score in second.scores if score.name == "acc_mutual_info")
    assert reason == "B gains most by the question · correct A"


def test_without_unconditional_likelihoods_there_is_no_mutual_information():
    found = {"by": "texts", "logprobs": {"A": -4.0, "B": -7.0, "C": -9.0}}
    (score,) = LikelihoodAccuracy(mutual_info=True)(SAMPLE, output_of(found))[3:]
    assert (score.name, score.outcome) == ("acc_mutual_info", "not_applicable")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"by": "letters", "unconditional": "Answer:"}, "belongs to by: texts"),
        ({"by": "texts", "unconditional": "{{question}}"}, "has no placeholder"),
    ],
)
def test_an_unconditional_text_belongs_to_texts_and_is_the_same_for_all(options, said):
    with pytest.raises(ConfigError, match=said):
        check_options(Likelihood(Completions("m", "http://localhost:1/v1"), **options))
