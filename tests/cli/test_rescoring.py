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
    assert "rule: there is no 'last_leter': did you mean 'last_letter'?" in result.err
