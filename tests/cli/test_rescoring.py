"""rescore by another rule of reading."""


def test_rescore_reads_stored_replies_by_another_rule_without_a_call(steelyard, write, says):
    steelyard("run", write({"chatty": says("The answer is B, as Ada said.")}), code=0)
    found = steelyard("rescore", "latest", "--rule", "strict_only_letter", "--json", code=0).json()
    ours, strict = found["before"]["scores"][0], found["after"]["scores"][0]
    assert (ours["name"], ours["unparsed"], strict["name"], strict["unparsed"]) == ("solve_rate", 0, "solve_rate", 20)
    back = steelyard("rescore", "latest", "--rule", "steelyard", "--json", code=0).json()
    assert back["after"]["scores"][0] == ours


def test_rescore_says_how_many_readings_changed_and_by_which_rules(steelyard, write, says):
    steelyard("run", write({"chatty": says("The answer is B, as Ada said.")}), code=0)
    found = steelyard("rescore", "latest", "--rule", "last_letter", "--json", code=0).json()
    assert found["readings"] == [
        {"score": "solve_rate", "before": "declared", "now": "last_letter", "records": found["changed"]["solve_rate"]}
    ]
    strict = steelyard("rescore", "latest", "--rule", "strict_only_letter", code=0).out
    assert "read before by" in strict
    assert "last_letter" in strict
    assert "read before by" not in steelyard("rescore", "latest", "--rule", "strict_only_letter", code=0).out


def test_an_unknown_rule_is_the_users_mistake(steelyard, write, says):
    steelyard("run", write({"chatty": says("B")}), code=0)
    result = steelyard("rescore", "latest", "--rule", "last_leter", code=2)
    assert "but got 'last_leter': did you mean 'last_letter'?" in result.err


def test_rescore_by_an_own_pattern_costs_no_call_and_shows_both_rates(steelyard, write, says):
    steelyard("run", write({"quiet": says("B ist richtig; Kennwort=C")}), code=0)
    found = steelyard("rescore", "latest", "--pattern", "Kennwort=(?P<answer>[A-D])", "--json", code=0).json()
    rates = {score["name"]: score["n"] for score in found["after"]["scores"]}
    assert list(rates) == ["solve_rate", "built_in_rule"]
    assert found["readings"][0]["now"] == "pattern"
    shown = steelyard("show", "latest", code=0).out
    assert "by the built-in rule alone" in shown
    assert "20 rules differ" in shown
    listed = steelyard("review", "latest", "--reason", "rules_differ", "--json", code=0).out
    assert listed.count('"rules differ"') or listed.count("rules_differ")
    back = steelyard("rescore", "latest", "--pattern", "", "--json", code=0).json()
    assert [score["name"] for score in back["after"]["scores"]] == ["solve_rate"]


def test_a_pattern_without_the_group_is_the_users_mistake(steelyard, write, says):
    steelyard("run", write({"chatty": says("B")}), code=0)
    assert "no group named answer" in steelyard("rescore", "latest", "--pattern", "[A-D]", code=2).err
