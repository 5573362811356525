"""Runs to make pages of."""

from __future__ import annotations

import pytest

from steelyard import Options, Output, Sample, Suite, evaluate_suite
from steelyard.evaluation.evaluate import RunConfig
from steelyard.scorers.choice import Choice

HOSTILE = (
    "</script><script>document.title='pwned'</script> The answer is A.",
    "<img src=x onerror=\"document.title='pwned'\"> The answer is B.",
    "[click](javascript:document.title='pwned') The answer is C.",
    "\u202egnp.exe\u2066 The answer is D.\u200b",
    "\x1b]8;;http://evil.example\x07\x1b[31m The answer is A.",
    "nul \x00 byte. The answer is B.",
    "\ud800 alone 😀 The answer is C.",
    '=HYPERLINK("http://evil.example") | `x` @team The answer is D.',
)
"""Replies that try to act on whoever shows them; each can be read all the same."""

GROUPS = ("卦象", "爻辞 <b>", "易传 | 十翼")


def exam(n):
    """n questions with four options in three groups; the key goes A A B B C C D D A ..."""
    return [
        Sample(
            f"q{no:04d}",
            f"第{no}题：下列哪一项正确？<i>{no}</i>",
            "ABCD"[no // 2 % 4],
            choices=tuple(f"选项{letter}{no}" for letter in "甲乙丙丁"),
            group=GROUPS[no % 3],
        )
        for no in range(n)
    ]


def hostile(sample):
    """Every reply is hostile; every 11th sample fails, every 13th is refused, every 17th cannot be read."""
    no = int(sample.id[1:])
    if no % 11 == 10:
        raise RuntimeError("<script>document.title='pwned'</script>\x1b[2J")
    if no % 13 == 12:
        return "I'm sorry, but I can't help with that."
    if no % 17 == 16:
        return "Hm."
    return Output(HOSTILE[no % len(HOSTILE)], contexts=("</script><b>passage</b>",), metadata={"<k>": "\u202e"})


def better(sample):
    """As `hostile`, but right in the first half."""
    return f"答案：{sample.reference}" if int(sample.id[1:]) < 30 else hostile(sample)


CHOICE = (Choice(),)


def runs_in(folder):
    """Makes runs of the named targets over n samples, stored in a file of this folder."""

    def make(targets, n=60, *, name="Exam <&> \u202e", scorers=CHOICE, store="store.db", **options):
        suite = Suite(name, "choice", exam(n), targets, scorers, Options(max_errors=0.5, **options))
        return evaluate_suite(suite, how=RunConfig(store=folder / store, on_broken="return"))

    return make


@pytest.fixture
def make_runs(tmp_path):
    return runs_in(tmp_path)


@pytest.fixture(scope="session")
def pair(tmp_path_factory):
    """Two runs that tests only read."""
    return runs_in(tmp_path_factory.mktemp("pair"))({"base <script>": hostile, "better 知识库": better})
