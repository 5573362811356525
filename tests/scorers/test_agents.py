"""Scorers of agents: expected and forbidden calls, steps, repeated calls, errors that were recovered from, tokens."""

from __future__ import annotations

import json
import math

import pytest

from steelyard import Output, Sample, compare, evaluate
from steelyard.constraints import check_options
from steelyard.errors import ConfigError, DataError
from steelyard.models.prices import Price, PriceTable
from steelyard.prompts.trajectory import read_trajectory
from steelyard.report.render.html import html_report
from steelyard.scorers import AgentSteps, ForbiddenTools, ToolCalls, patterns
from steelyard.scorers.agents import expected_calls, largest_matching, longest_in_order

ALONE = Sample("1", "?")


def call(name, ident="", **arguments):
    return {"id": ident, "name": name, "arguments": arguments}


def agent(*calls, results=(), usage=None, answer="done"):
    """An output whose agent made each call in a step of its own; `results` are (text, is error) in their order."""
    messages = []
    for no, made in enumerate(calls):
        messages.append({"role": "assistant", "content": "", "tool_calls": [{**made, "id": f"c{no}"}]})
        if no < len(results):
            text, is_error = results[no]
            status = {"status": "error"} if is_error else {}
            messages.append({"role": "tool", "content": text, "tool_call_id": f"c{no}", "name": made["name"], **status})
    messages.append({"role": "assistant", "content": answer})
    return Output(answer, metadata={"messages": messages, **({"usage": usage} if usage else {})})


def scores(scorer, output, sample=ALONE):
    given = scorer(sample, output)
    return {score.name: score for score in (given if isinstance(given, list) else [given])}


def values(scorer, output, **metadata):
    return [score.value for score in scores(scorer, output, Sample("1", "?", metadata=metadata)).values()]


SEARCH, READ, MAIL = call("search", query="tide"), call("read", page=2), call("mail", to="ann")


@pytest.mark.parametrize(
    ("match", "made", "wanted"),
    [
        ("contains", (READ, SEARCH), [1, 1, 1]),
        ("contains", (READ, MAIL, SEARCH), [1, 1, 2 / 3]),
        ("contains", (SEARCH, SEARCH), [0, 0.5, 0.5]),
        ("in_order", (SEARCH, MAIL, READ), [1, 1, 2 / 3]),
        ("in_order", (READ, SEARCH), [0, 0.5, 0.5]),
        ("same", (READ, SEARCH), [1, 1, 1]),
        ("same", (READ, SEARCH, MAIL), [0, 1, 2 / 3]),
        ("exact", (SEARCH, READ), [1, 1, 1]),
        ("exact", (READ, SEARCH), [0, 0.5, 0.5]),
        ("exact", (SEARCH, READ, READ), [0, 1, 2 / 3]),
    ],
)
def test_calls_are_compared_as_a_set_or_in_order_with_or_without_others(match, made, wanted):
    assert values(ToolCalls(("search", "read"), match=match), agent(*made)) == wanted


def test_arguments_are_compared_by_equality_by_inclusion_or_by_a_schema():
    made = agent(call("book", day="monday", seats=2))
    equal = [{"name": "book", "arguments": {"day": "monday"}}]
    assert values(ToolCalls(tuple(equal)), made)[0] == 0
    assert values(ToolCalls(tuple(equal), arguments="contain"), made)[0] == 1
    schema = {"type": "object", "properties": {"seats": {"maximum": 4}}, "required": ["seats"]}
    assert values(ToolCalls(({"name": "book", "schema": schema},)), made)[0] == 1
    verdict = scores(ToolCalls(({"name": "book", "schema": schema},)), agent(call("book", seats=9)))["tool_calls"]
    assert (verdict.value, verdict.reason) == (
        0,
        "not called: book ($.seats: 9 is greater than the maximum of 4); also called: book",
    )


@pytest.mark.parametrize("rule", ["equal", "contain"])
def test_arguments_are_equal_as_json_has_it_where_true_is_not_1(rule):
    expected = ({"name": "pay", "arguments": {"confirmed": True, "sum": 1, "items": [{"n": 0}]}},)
    scorer = ToolCalls(expected, arguments=rule)
    assert values(scorer, agent(call("pay", confirmed=True, sum=1.0, items=[{"n": 0}])))[0] == 1
    assert values(scorer, agent(call("pay", confirmed=1, sum=1, items=[{"n": 0}])))[0] == 0
    assert values(scorer, agent(call("pay", confirmed=True, sum=True, items=[{"n": 0}])))[0] == 0
    assert values(scorer, agent(call("pay", confirmed=True, sum=1, items=[{"n": False}])))[0] == 0
    assert values(scorer, agent(call("pay", confirmed=True, sum=1, items=[{"n": 0}, {}])))[0] == 0


def test_arguments_that_are_nested_deeply_are_compared_too():
    deep, deeper = (json.loads('{"a":' * depth + "1" + "}" * depth) for depth in (700, 701))
    scorer = ToolCalls(({"name": "pay", "arguments": deep},))
    assert [values(scorer, agent({"name": "pay", "arguments": given}))[0] for given in (deep, deeper)] == [1, 0]


def test_a_general_expectation_does_not_take_the_call_of_a_special_one():
    made = agent(call("search", query="a"), call("search", query="b"))
    expected = ("search", {"name": "search", "arguments": {"query": "a"}})
    assert values(ToolCalls(expected, match="same"), made) == [1, 1, 1]


def test_each_sample_may_bring_its_calls_as_a_list_or_as_json_text():
    made = agent(SEARCH)
    for given in (["search"], '["search"]', "search", [{"name": "search", "arguments": {"query": "tide"}}]):
        assert values(ToolCalls(), made, tools=given)[0] == 1
    with pytest.raises(DataError, match="expected a list of tool calls"):
        values(ToolCalls(), made, tools="[search(query='tide')]")
    assert values(ToolCalls(match="same"), made, tools=[]) == [0, None, 0]
    assert values(ToolCalls(match="same"), agent(), tools="[]") == [1, None, None]
    without = scores(ToolCalls(), made)
    assert {score.outcome for score in without.values()} == {"not_applicable"}
    assert without["tool_calls"].reason == "the sample's metadata have no 'tools'"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (7, "expected a list"),
        ([7], "call 1: expected a tool's name"),
        ([{"arguments": {}}], "call 1: expected a tool's name"),
        ([{"name": "a", "parms": {}}], "there is no key 'parms'"),
        ([{"name": "a", "arguments": [1]}], "arguments: expected a mapping"),
        ([{"name": "a", "schema": {"type": "nothing"}}], "schema"),
        ([{"name": "a", "schema": {}, "arguments": {}}], "not both"),
    ],
)
def test_a_dataset_with_unreadable_calls_is_an_error_and_no_score(given, message):
    with pytest.raises(DataError, match=message):
        ToolCalls()(Sample("1", "?", metadata={"tools": given}), agent(SEARCH))
    with pytest.raises(ConfigError):
        check_options(ToolCalls(expected=given if isinstance(given, list) else (given,)))


def test_what_a_verdict_rests_on_is_its_reason():
    score = scores(ToolCalls(("search", "read"), match="exact"), agent(READ, MAIL))["tool_calls"]
    assert score.reason == "not called in that order: search; also called: mail"
    assert score.detail == {"match": "exact", "expected": 2, "made": 2, "matched": 1}
    often = scores(ToolCalls(("read",)), agent(READ, *[SEARCH] * 3, MAIL))["tool_calls"]
    assert often.reason == "also called: search 3 times, mail"


def test_a_pattern_of_a_schema_that_backtracks_is_undecided_and_not_wrong(monkeypatch):
    monkeypatch.setattr(patterns, "TIMEOUT_S", 0.05)
    schema = {"properties": {"query": {"pattern": "^(a|aa)+$"}}}
    made = agent(call("search", query="a" * 60 + "!"))
    assert scores(ToolCalls(({"name": "search", "schema": schema},)), made)["tool_calls"].outcome == "unparsed"


def test_forbidden_tools_are_counted_and_a_star_stands_for_any_end():
    scorer = ForbiddenTools(("delete_*", "mail"))
    found = scores(scorer, agent(call("delete_row"), MAIL, MAIL, call("undelete_row")))["forbidden_tools"]
    assert (found.value, found.reason) == (3.0, "called delete_row, mail 2 times")
    assert values(scorer, agent(SEARCH)) == [0.0]
    assert scorer.score_infos[0].passes(0) is True
    assert scorer.score_infos[0].passes(1) is False
    for tools in ((), "mail", ("",)):
        with pytest.raises(ConfigError):
            check_options(ForbiddenTools(tools))


def test_steps_and_repeated_calls_are_counted():
    by_name = scores(AgentSteps(most_steps=3, most_repeated=0), agent(SEARCH, call("search", query="tide"), READ))
    assert [by_name[name].value for name in ("agent_steps", "agent_calls", "repeated_calls")] == [4, 3, 1]
    infos = {info.name: info for info in AgentSteps(most_steps=3, most_repeated=0).score_infos}
    assert infos["agent_steps"].passes(4) is False
    assert infos["repeated_calls"].passes(1) is False
    assert AgentSteps().score_infos[0].threshold is None


@pytest.mark.parametrize(
    ("results", "wanted"),
    [
        ([("no such page", True), ("text", False), ("text", False)], 1.0),
        ([("Error: no such page", False), ("text", False), ("text", False)], 1.0),
        ([("text", False), ("no", True), ("no", True)], 0.0),
        ([("no", True), ("text", False), ("no", True)], 0.5),
        ([("text about an Error: none", False)] * 3, None),
    ],
)
def test_an_error_is_recovered_from_where_the_tool_succeeds_later(results, wanted):
    assert scores(AgentSteps(), agent(READ, READ, READ, results=results))["errors_recovered"].value == wanted


def test_a_call_without_a_result_recovers_nothing():
    assert scores(AgentSteps(), agent(READ, READ, results=[("no", True)]))["errors_recovered"].value == 0


def test_tokens_and_their_cost_are_those_that_the_output_reports():
    usage = {"input_tokens": 2_000_000, "output_tokens": 500_000, "calls": 2}
    by_name = scores(AgentSteps(input_price=3, output_price=10), agent(SEARCH, usage=usage))
    assert (by_name["agent_tokens"].value, by_name["agent_cost"].value) == (2_500_000, 11)
    in_part = {**usage, "calls_without_tokens": 1}
    for output in (agent(SEARCH), agent(SEARCH, usage=in_part)):
        by_name = scores(AgentSteps(input_price=3, output_price=10), output)
        assert by_name["agent_cost"].outcome == by_name["agent_tokens"].outcome == "not_applicable"
    with pytest.raises(ConfigError, match="give both or none"):
        check_options(AgentSteps(input_price=3))


def billed(sample):
    usage = {"input_tokens": 1_000_000, "output_tokens": 500_000, "cached_input_tokens": 400_000, "calls": 2}
    return {"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "x"}], "usage": usage}


def test_what_an_agent_reports_costs_what_the_prices_of_the_run_say():
    prices = PriceTable({"glm-*": Price(3, 10, 0.5), "other": Price(1, 1)}, "CNY")
    run = evaluate(billed, [ALONE], [AgentSteps(model="glm-4")], prices=prices)
    assert run.summary().score("agent_cost").headline.value == pytest.approx(0.6 * 3 + 0.4 * 0.5 + 0.5 * 10)
    assert run.manifest["scorers"]["agent_steps"]["agent_steps"]["cached_price"] == 0.5, "as the run was priced"
    own = evaluate(billed, [ALONE], [AgentSteps(model="glm-4", input_price=1, output_price=1)], prices=prices)
    assert own.summary().score("agent_cost").headline.value == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("prices", "message"),
    [
        ("", "glm-4 has no price, as options.prices is not set"),
        (PriceTable({"glm-5": Price(1, 1)}), "no price of 'glm-4': did you mean 'glm-5'"),
    ],
)
def test_a_model_without_a_price_is_refused_before_the_first_call(prices, message):
    def never(sample):
        raise AssertionError("no call is made")

    with pytest.raises(ConfigError, match=message):
        evaluate(never, [ALONE], [AgentSteps(model="glm-4")], prices=prices)


def cyclic():
    arguments = {}
    arguments["self"] = arguments
    return [{"role": "assistant", "content": "", "tool_calls": [{"name": "a", "arguments": arguments}]}]


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        (None, "keeps no messages"),
        ("a text", "not a list of chat messages"),
        ([], "not a list of chat messages"),
        ([{"role": "user", "content": "x"}], "not a list of chat messages"),
        ([{"role": "assistant"}], "not a list of chat messages"),
        (7, "not a list of chat messages"),
        (cyclic(), "cannot be read: ValueError"),
    ],
)
def test_a_shape_that_is_not_known_is_not_applicable_with_the_reason(messages, reason):
    output = Output("x", metadata={} if messages is None else {"messages": messages})
    for scorer in (ToolCalls(("a",)), ForbiddenTools(("a",)), AgentSteps()):
        for score in scores(scorer, output).values():
            assert (score.value, score.outcome) == (None, "not_applicable")
            assert reason in score.reason or score.name == "agent_tokens"


@pytest.mark.parametrize("given", [None, 7, "x", [7], {"name": None}, [[]], [{"function": {"name": 3}}]])
def test_tool_calls_of_wrong_types_are_read_as_far_as_they_go(given):
    messages = [{"role": "assistant", "content": ["x", 3, None, {"type": 7}], "tool_calls": given}]
    trajectory = read_trajectory(Output("x", metadata={"messages": messages}))
    assert trajectory.steps == 1
    assert all(isinstance(use.name, str) for use in trajectory.calls)


def test_messages_that_were_left_out_or_cut_are_not_counted_as_if_they_were_all():
    def long(sample):
        tool = {"role": "assistant", "content": "", "tool_calls": [call("search", "c", query="x" * 30_000)]}
        return {"messages": [tool] * (1_100 if sample.id == "many" else 1), "answer": "y"}

    samples = [Sample("many", "?"), Sample("cut", "?")]
    expected = ({"name": "search", "arguments": {"query": "x" * 30_000}},)
    records = {
        record.sample.id: record for record in evaluate(long, samples, [ToolCalls(expected), AgentSteps()]).records()
    }
    many = {score.name: score for score in records["many"].scores}
    assert many["agent_steps"].outcome == "not_applicable"
    assert many["agent_steps"].reason == "100 messages of the agent were too many to be stored"
    cut = {score.name: score for score in records["cut"].scores}
    assert cut["tool_calls"].reason.startswith("arguments of a call were too long")
    assert cut["agent_steps"].value == 1


def test_calls_get_the_results_with_their_ids_and_else_those_of_their_tool_in_order():
    two = {"role": "assistant", "content": "", "tool_calls": [call("a", "1"), call("b", "2"), call("b", "3")]}
    results = [
        {"role": "tool", "content": "third", "tool_call_id": "3"},
        {"role": "tool", "content": "first", "tool_call_id": "1"},
    ]
    trajectory = read_trajectory(Output("x", metadata={"messages": [two, *results]}))
    assert [use.result for use in trajectory.calls] == ["first", None, "third"]
    without = {"role": "assistant", "content": "", "tool_calls": [call("a"), call("b"), call("a")]}
    named = [{"role": "tool", "content": text, "name": text[0]} for text in ("a1", "b1", "a2")]
    trajectory = read_trajectory(Output("x", metadata={"messages": [without, *named]}))
    assert [use.result for use in trajectory.calls] == ["a1", "b1", "a2"]


def brute_force(fits, *, in_order):
    """The most pairs, by trying everything."""

    def best(no, used):
        if no == len(fits):
            return 0
        allowed = [at for at in fits[no] if at not in used and (not in_order or at > max(used, default=-1))]
        return max([best(no + 1, used), *(1 + best(no + 1, {*used, at}) for at in allowed)])

    return best(0, set())


def test_both_matchings_find_as_many_pairs_as_there_can_be():
    import itertools
    import random

    draw = random.Random(5)
    for _ in itertools.repeat(None, 300):
        fits = [sorted(draw.sample(range(5), draw.randint(0, 4))) for _ in range(draw.randint(0, 5))]
        for function, in_order in ((largest_matching, False), (longest_in_order, True)):
            pairs = function(fits)
            assert len(pairs) == brute_force(fits, in_order=in_order)
            assert all(at in fits[no] for no, at in pairs.items())
            assert len(set(pairs.values())) == len(pairs)
            places = [at for _, at in sorted(pairs.items())]
            assert not in_order or places == sorted(places)


ODD_CALLS = {
    "no name": {"id": "1", "arguments": {"query": "tide"}},
    "arguments cut off": {"id": "1", "name": "search", "arguments": '{"query": '},
    "arguments of a list": {"id": "1", "name": "search", "arguments": "[1, 2]"},
    "not a number": {"id": "1", "name": "search", "arguments": '{"query": NaN}'},
    "infinity": {"id": "1", "name": "search", "arguments": {"query": float("inf")}},
    "nul and half pairs": {"id": "1", "name": "s\x00\udfff", "arguments": {"k\ud800": "v\x00"}},
    "deep": {"id": "1", "name": "search", "arguments": {"query": json.loads("[" * 90 + "]" * 90)}},
}


@pytest.mark.parametrize("odd", ODD_CALLS)
def test_an_odd_call_is_a_call_with_a_clear_reason_and_never_nan(odd):
    def play(sample):
        made = {"role": "assistant", "content": "", "tool_calls": [ODD_CALLS[odd]]}
        result = {"role": "tool", "tool_call_id": "1", "content": "\ud83d \x00 \u202e"}
        return [made, result, {"role": "assistant", "content": "done"}]

    run = evaluate(play, [ALONE], [ToolCalls(("read",)), AgentSteps(input_price=1, output_price=1)])
    [record] = run.records()
    assert record.failure is None
    found = {score.name: score for score in record.scores}
    assert (found["tool_calls"].value, found["agent_calls"].value, found["agent_steps"].value) == (0, 1, 2)
    assert all(score.value is None or math.isfinite(score.value) for score in record.scores)
    assert "nan" not in repr(run.summary())
    assert html_report([run]).encode("utf-8")


def test_the_reason_names_a_call_without_a_name_and_arguments_that_are_no_json():
    def reason(odd):
        output = Output(
            "x", metadata={"messages": [{"role": "assistant", "content": "", "tool_calls": [ODD_CALLS[odd]]}]}
        )
        return scores(ToolCalls(("read",)), output)["tool_calls"].reason

    assert reason("no name") == "not called: read; also called: (no name)"
    cut = "not called: read; also called: search; arguments that are not a JSON object: search"
    assert reason("arguments cut off") == reason("arguments of a list") == cut


def test_ten_thousand_steps_are_too_many_and_said_to_be():
    step = {"role": "assistant", "content": "", "tool_calls": [call("search", query="tide")]}
    run = evaluate(lambda sample: [step] * 9_999 + [{"role": "assistant", "content": "x"}], [ALONE], [AgentSteps()])
    [record] = run.records()
    assert {score.outcome for score in record.scores} == {"not_applicable"}
    assert record.scores[0].reason == "9000 messages of the agent were too many to be stored"


def test_counts_and_money_are_never_shown_as_a_rate_also_where_all_are_0_or_1():
    usage = {"input_tokens": 200, "output_tokens": 0}

    def play(sample):
        return agent(*[SEARCH] * (sample.id < "5"), usage=usage)

    scorers = [AgentSteps(input_price=1, output_price=1), ForbiddenTools(("search",)), ToolCalls(("search",))]
    runs = [evaluate(play, [Sample(str(no), "?") for no in range(10)], scorers, name=name) for name in ("one", "two")]
    summary = runs[0].summary()
    shown = {name: summary.score(name) for name in ("agent_calls", "repeated_calls", "agent_cost", "forbidden_tools")}
    assert not any(score.is_share for score in shown.values())
    assert shown["agent_calls"].answered.value == 0.5
    assert shown["agent_cost"].answered.value == pytest.approx(0.0002)
    assert summary.score("tool_calls").is_share
    pair = compare(*runs).pairs[0]
    differences = {each.score: each.difference for each in pair.further.scores}
    assert not differences["agent_calls"].unit
    assert not differences["forbidden_tools"].unit
    assert differences["tool_calls"].unit


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("reference_tool_calls", '[{"name": "add", "args": {"a": 1}}]'),
        ("reference_tool_calls", "[{'name': 'add', 'args': {'a': 1}}]"),
        ("expected_tools", [{"name": "add", "description": None, "input_parameters": {"a": 1}}]),
        ("expected_tools", '[{"name": "add", "type": "FUNCTION", "inputParameters": {"a": 1}}]'),
    ],
)
def test_expected_calls_are_read_as_other_tools_write_them(header, expected):
    sample = Sample("1", "?", metadata={header: expected})
    assert [ToolCalls()(sample, agent(call("add", a=made)))[0].value for made in (1, 2)] == [1.0, 0.0]


def test_a_list_of_names_is_read_as_numpy_prints_it():
    names = [call.name for call in expected_calls("['search' 'add']", "tools")]  # Python reads one, 'searchadd'
    assert names == ["search", "add"]
