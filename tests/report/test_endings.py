"""What a rule that ended runs decided and saved, as pages and the terminal say it."""

import random

from steelyard import ExactMatch, Options, Prompt, Sample, Scripted, Suite, compare, evaluate_suite
from steelyard.evaluation.objects import StopWhen
from steelyard.report.render.html import html_report
from steelyard.report.render.markdown import markdown_report
from steelyard.report.sections.conclusion import own_decisions
from steelyard.report.sections.costs import saved_calls


def model(share, seed):
    def answer(messages):
        return "yes" if random.Random(f"{seed}{messages[-1]['content']}").random() < share else "no"

    return Prompt(Scripted(function=answer))


def stopped(rule, **targets):
    samples = [Sample(f"s{n}", f"Question {n}?", "yes") for n in range(200)]
    options = Options(concurrency=4, stop_when_decided=rule)
    return evaluate_suite(Suite("s", "custom", samples, targets, (ExactMatch(),), options))


def test_saved_calls_are_those_of_the_samples_that_were_not_asked():
    runs = stopped(StopWhen("full", threshold=0.5), good=model(0.9, 1), bad=model(0.1, 2))
    summaries = [run.summary() for run in runs]
    assert [summary.calls_saved for summary in summaries] == [200 - run.done for run in runs]
    both = sum(200 - run.done for run in runs)
    counts = ", ".join(f"{200 - run.done} of {run.target}" for run in runs)
    assert saved_calls(summaries) == f"Ending early saved about {both} calls ({counts})."
    assert saved_calls(summaries[:1]) == f"Ending early saved about {200 - runs[0].done} calls."
    for page in (html_report(runs, compare(*runs)), markdown_report(runs, compare(*runs))):
        assert f"saved about {both} calls" in page


def test_nothing_is_saved_where_nothing_ended_early():
    runs = stopped(StopWhen(), whole=model(0.9, 1))
    assert saved_calls([run.summary() for run in runs]) == ""
    assert own_decisions([run.summary() for run in runs], None) == []


def test_a_decided_difference_is_told_once_where_its_runs_are_compared():
    runs = stopped(StopWhen("full"), old=model(0.2, 1), new=model(0.9, 2))
    summaries = [run.summary() for run in runs]
    assert len(own_decisions(summaries, None)) == 2
    comparison = compare(*runs)
    assert own_decisions(summaries, comparison) == []
    assert markdown_report(runs, comparison).count("Stopping early gives another answer") == 1
