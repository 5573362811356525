"""rescore by another rule of reading."""


def test_rescore_reads_stored_replies_by_another_rule_without_a_call(steelyard, write, says):
    steelyard("run", write({"chatty": says("The answer is B, as Ada said.")}), code=0)
    found = steelyard("rescore", "latest", "--rule", "strict_only_letter", "--json", code=0).json()
    ours, strict = found["before"]["scores"][0], found["after"]["scores"][0]
    assert (ours["name"], ours["unparsed"], strict["name"], strict["unparsed"]) == ("solve_rate", 0, "solve_rate", 20)
    back = steelyard("rescore", "latest", "--rule", "steelyard", "--json", code=0).json()
    assert back["after"]["scores"][0] == ours


def test_an_unknown_rule_is_the_users_mistake(steelyard, write, says):
    steelyard("run", write({"chatty": says("B")}), code=0)
    result = steelyard("rescore", "latest", "--rule", "last_leter", code=2)
    assert "rule: there is no 'last_leter': did you mean 'last_letter'?" in result.err
