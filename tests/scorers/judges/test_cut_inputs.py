"""A judge whose endpoint reads only the end of a long prompt: the run says so, and counts the verdicts apart."""

import json

import pytest
from tests.loopback import http
from tests.scorers.judges.judge_server import judged, sample

from steelyard.cli.outcome import evaluate_runs, print_outcome
from steelyard.plain_json import json_value
from steelyard.report.render.html import html_report
from steelyard.report.render.markdown import markdown_report
from steelyard.scorers import Faithfulness
from steelyard.store import Store
from steelyard.store.repair import verify

LIMIT = 512
PASSAGE = "The fee for a guest card is nineteen euros, as the notice at the door says. " * 60


def read_by_the_endpoint(asked, limit):
    """A reply that counts a token for four characters, up to the limit."""
    tokens = min(len(asked.prompt) // 4, limit)
    choice = {"message": {"role": "assistant", "content": "NO"}, "finish_reason": "stop"}
    usage = {"prompt_tokens": tokens, "completion_tokens": 1}
    return http(200, {"model": "llama3", "choices": [choice], "usage": usage})


def run_of(limit):
    samples = [
        sample(no=f"q{no}", question=f"Fee {no}?", answer="19 euros", found=[PASSAGE[: 3_000 + 200 * no]])
        for no in range(8)
    ]
    return judged(Faithfulness, samples, lambda asked: read_by_the_endpoint(asked, limit)).run


def test_a_cut_context_is_told_with_its_figures_on_every_page():
    run = run_of(LIMIT)
    [cut] = run.summary().calls.endpoints["cut_inputs"]
    assert (cut["stage"], cut["read"], cut["calls"], cut["of"], cut["records"]) == ("faithfulness", LIMIT, 8, 8, 8)
    assert 1_000 < cut["sent"] < 1_600
    words = "the endpoint read 512 of about"
    assert words in markdown_report([run])
    assert words in html_report([run])
    assert json.loads(json.dumps(json_value(run.summary())))["endpoints"]["cut_inputs"] == [cut]
    with Store() as store:
        assert verify(store).is_sound


@pytest.mark.parametrize("others", [0, 9])
def test_a_cut_context_is_told_at_the_end_of_a_run_in_fifteen_lines(others, capsys):
    run = run_of(LIMIT)
    print_outcome(evaluate_runs([run] * (others + 1)), as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 15
    text = " ".join(" ".join(lines).split())
    assert text.count("faithfulness: the endpoint read 512 of about") == 1
    assert "tokens in 8 of 8 calls: its context is probably too small" in text
    assert ("So too in 9 other runs: --full." in text) is bool(others)


def test_an_endpoint_that_reads_everything_is_not_suspected(capsys):
    run = run_of(100_000)
    assert run.summary().calls.endpoints == {}
    assert "num_ctx" not in markdown_report([run])
    print_outcome(evaluate_runs([run]), as_json=False)
    assert "num_ctx" not in capsys.readouterr().out
