from __future__ import annotations

import re
from itertools import pairwise

from steelyard import compare
from steelyard.analysis.gate.gate_results import judge_gate
from steelyard.report.render.markdown import markdown_report


def test_the_report_says_the_verdict_the_gate_the_figures_and_the_changes(pair):
    comparison = compare(*pair)
    gate = judge_gate({"solve_rate": ">= 0.99"}, [run.summary() for run in pair])
    text = markdown_report(pair, comparison, gate)
    pair_ = comparison.pairs[0]
    score = pair[1].summary().score()
    assert text.startswith("## Exam &lt;&amp;&gt; \\\\u202e\n")
    assert f"{100 * score.overall.value:.1f} %" in text
    rules = [line for line in text.splitlines() if "does not hold" in line]
    assert [line.partition(":")[0] for line in rules] == ["- ❌ base &lt;script&gt;", "- ❌ better 知识库"]
    assert f"{len(pair_.changed.regressions)} regressions, {len(pair_.changed.improvements)} improvements" in text
    assert all(ident in text for ident in pair_.changed.improvements[:5])


def test_a_single_run_has_its_rate_in_a_sentence(make_runs):
    def half(sample):
        return sample.reference if int(sample.id[1:]) % 2 else "ABCDA"["ABCD".index(sample.reference) + 1]

    [run] = make_runs({"half": half}, 40)
    text = markdown_report([run])
    assert "half: 50.0 % (95 % CI 35.2 to 64.8). Solve rate: 20 of 40 replies." in text
    assert "improvement" not in text


def test_it_fits_a_comment_however_much_there_is_to_say(make_runs):
    def target(shift):
        return lambda sample: "ABCD"[(int(sample.id[1:]) * shift) % 4]

    names = [f"a target with quite a long name, and Chinese too 知识库 number {no}" for no in range(14)]
    runs = make_runs({name: target(no) for no, name in enumerate(names)}, 20)
    text = markdown_report(runs, compare(*runs), judge_gate({"solve_rate": ">= 0.9"}, [run.summary() for run in runs]))
    assert text.count("\n") < 60
    assert len(text) < 6000
    assert "and 2 more" in text
    assert "left out; the HTML report has everything" in text


def test_nothing_that_a_model_wrote_is_markup(pair):
    text = markdown_report(pair, compare(*pair))
    outside = re.sub(r"</?(details|summary)>", "", text)
    assert "<" not in outside
    assert "@team" not in text
    assert "http://" not in text
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e]", text)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    for before, after in pairwise(rows):
        if after.startswith("| ---"):
            assert len(re.findall(r"(?<!\\)\|", before)) == len(re.findall(r"(?<!\\)\|", after))
