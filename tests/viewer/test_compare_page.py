"""The page of a comparison: conclusion, rates, changed samples, the cloud, what is left out, what it refuses."""

from __future__ import annotations

import html
import re
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.viewer.conftest import exam, first, rows_of, serving

from steelyard import Options, Output, Sample, Score, ScoreInfo, Suite, compare, evaluate_suite
from steelyard.errors import StoreError
from steelyard.evaluation.evaluate import RunConfig
from steelyard.scorers.choice import Choice


@pytest.fixture(scope="module")
def runs(viewer):
    """The runs of the served store by target."""
    return {run.target: run for run in viewer.store.runs()}


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """compared("base", "near"): the text of the page of these runs, without markup."""

    def right(sample, output):
        said, outcome = output.value.split()[0], {"hm": "unparsed", "none": "not_applicable", "cannot": "refused"}
        return Score("right", None, outcome=outcome[said]) if said in outcome else Score("right", float(said == "yes"))

    right.score_infos = (ScoreInfo("right", (0, 1), threshold=1, denominator="all"),)
    answers = {
        "base": lambda no: "yes" if no % 3 == 0 else "no",
        "same": lambda no: "yes" if no % 3 == 0 else "no",
        "near": lambda no: "yes" if no % 3 == 0 or no == 1 else "no",
        "far": lambda no: "yes",
        "bad": lambda no: "no",
        "mumbling": lambda no: "hm" if no % 2 else "yes" if no % 3 == 0 else "no",
        "once": lambda no: "hm" if no == 1 else "yes" if no % 3 == 0 else "no",
        "refusing": lambda no: "cannot" if no < 2 else "no",
        "partly": lambda no: "none" if no >= 20 else "no",
    }
    store = tmp_path_factory.mktemp("compared") / "c.db"
    for target, answer in answers.items():
        samples = [Sample(f"q{no}", f"{no}?") for no in range(30)]
        said = {target: lambda sample, answer=answer: answer(int(sample.input[:-1]))}
        evaluate_suite(Suite("R", "custom", samples, said, (right,)), how=RunConfig(store=store))
    apart = Suite(
        "R", "custom", [Sample(f"z{no}", f"other {no}") for no in range(9)], {"apart": lambda _: "no"}, (right,)
    )
    evaluate_suite(apart, how=RunConfig(store=store))
    with serving(store) as served:
        ids = {run.target: run.id for run in served.store.runs()}

        def page(baseline, *others, as_markup=False):
            status, _, text = served.ask(f"/compare?a={ids[baseline]}" + "".join(f"&b={ids[name]}" for name in others))
            assert status == 200
            if as_markup:
                return text
            return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text.partition("<main")[2])).split())

        yield page


@pytest.mark.parametrize(
    ("other", "claim", "explanation"),
    [
        ("far", "+66.7 points better", "far scores 66.7 points more on right than base"),
        ("near", "Not decided +3.3 points", "No clear difference in right: near 11 of 30, base 10 of 30"),
        ("same", "Not decided 0.0 points", "No clear difference in right: same 10 of 30, base 10 of 30"),
        (
            "mumbling",
            "Not decided −16.7 points",
            "15 of 60 replies have no verdict, so it is open which run is better",
        ),
        (
            "apart",
            "Not comparable",
            "base and apart share no sample with a value of right in both, so they cannot be compared.",
        ),
    ],
)
def test_the_claim_stands_before_its_explanation_and_neither_is_repeated(compared, other, claim, explanation):
    text = compared("base", other)
    conclusion = text.partition("Download page")[2].partition("Sample by sample")[0]
    assert f"{claim} {explanation}" in conclusion
    assert conclusion.lower().count("not decided") == claim.lower().count("not decided")
    assert conclusion.count(explanation) == 1


@pytest.mark.parametrize(("other", "what"), [("mumbling", "15 unreadable replies"), ("once", "1 unreadable reply")])
def test_unreadable_replies_that_leave_the_verdict_open_are_the_next_step(compared, other, what):
    assert f"See the {what}" in compared("base", other)


@pytest.mark.parametrize(("baseline", "other", "is_first"), [("base", "bad", True), ("near", "base", False)])
def test_what_became_worse_is_the_first_step_only_of_a_run_that_is_worse(compared, baseline, other, is_first):
    [attributes] = re.findall(r"<a([^>]*)>See the \d+ that became worse", compared(baseline, other, as_markup=True))
    assert ('class="btn first"' in attributes) == is_first


def test_refused_replies_are_counted_beside_the_rates(compared):
    assert "Refused" not in compared("base", "near").partition("Sample by sample")[0]
    page = compared("base", "refusing").partition("Sample by sample")[0]
    assert "Count Refused base baseline" in page
    assert "0 of 30 2" in page


def test_three_runs_and_more_are_named_by_their_claims(compared):
    text = compared("base", "far", "near", "bad")
    lead = "Against base, better: far (+66.7 points); worse: bad (−33.3 points); not decided: near (+3.3 points)."
    assert lead in text


def test_samples_without_a_pair_are_named_with_the_reason(compared):
    text = compared("base", "partly")
    assert (
        "10 samples have this score in base alone (not applicable in partly); a difference may come from leaving them "
        "out." in text
    )
    table = text.partition("Samples without a pair")[2]
    assert "scored not applicable 10 q20, q21, q22, q23, q24, q25, q26, q27, q28, q29" in table
    assert "Samples without a pair" not in compared("base", "near")


def test_two_runs_are_compared_with_regressions_first(viewer, runs):
    older, newer = runs["first"], runs["second"]
    status, _, text = viewer.ask(f"/compare?a={older.id}&b={newer.id}")
    assert status == 200
    changed = text.partition('id="changed"')[2]
    changes = re.findall(r"<span>(worse|better)</span>", changed.partition("<tbody")[2])
    assert changes == sorted(changes, reverse=True)
    _, _, listed = viewer.ask(f"/run/{newer.id}?where=regression&against={older.id}")
    count = int(re.search(r"<span>Worse</span></span> <b>(\d+)</b>", changed)[1])
    assert len(rows_of(listed)) == count > 0


def test_the_changed_samples_of_a_comparison_have_the_columns_that_were_chosen(viewer, runs):
    path = f"/compare?a={runs['first'].id}&b={runs['second'].id}"

    def heads(query=""):
        table = viewer.ask(path + query)[2].partition('aria-label="Table of changed samples"')[2]
        cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", table.partition("</tr>\n</tbody>")[0], flags=re.DOTALL)
        return [" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in cells]

    assert heads()[:6] == ["Sample", "Change", "first baseline", "second", "Expected", "Input"]
    chosen = heads("&columns=group&columns=reference&columns=score.solve_rate&columns=nothing")
    assert chosen[:6] == ["Sample", "Change", "first baseline", "second", "Expected", "Group"]
    assert re.fullmatch(r"(correct|wrong|unreadable) Solve rate (0|1|–)", chosen[8])
    assert chosen[10:12] == ["C", "g2"]
    assert heads("&columns=nothing")[:4] == heads()[:4]


def test_each_cell_of_the_table_of_outcomes_leads_to_as_many_samples_as_it_counts(viewer, runs):
    older, newer = runs["first"], runs["second"]
    _, _, text = viewer.ask(f"/compare?a={older.id}&b={newer.id}")
    table = re.search(r'<table class="data outcomes">.*?</table>', text, re.DOTALL)[0]
    cells = re.findall(r'<a href="([^"]+)">(\d+)</a> <span class="soft p2">([a-z]+)</span>', table)
    assert [name for _, _, name in cells] == ["both", "worse", "better", "neither"]
    listed = [rows_of(viewer.ask(html.unescape(link))[2]) for link, _, _ in cells]
    assert [len(ids) for ids in listed] == [int(count) for _, count, _ in cells]
    assert sorted(ident for ids in listed for ident in ids) == [f"q{no:04d}" for no in range(40)]
    assert "exact McNemar" in text.partition("How this is computed")[2]


@pytest.fixture
def graded(tmp_path):
    """Two runs with two graded scores; the second is better on one sample and worse on another."""

    def lengths(sample, output):
        return [Score("length", len(output.value) / 10), Score("words", float(len(output.value.split())))]

    lengths.score_infos = (ScoreInfo("length", (0, 10)), ScoreInfo("words", (0, 100)))
    samples = [Sample(f"s/{no}", f"Say {no}", group="g") for no in range(6)]
    targets = {
        "short": lambda sample: "a " * (int(sample.id[2:]) + 1),
        "long": lambda sample: "a " * {"s/0": 9, "s/5": 2}.get(sample.id, int(sample.id[2:]) + 1),
    }
    evaluate_suite(Suite("G", "custom", samples, targets, (lengths,)), how=RunConfig(store=tmp_path / "g.db"))
    with serving(tmp_path / "g.db") as served:
        yield served


def marks_of(text):
    """Label and class of every mark of the wide drawing of a cloud, with its link."""
    wide = re.search(r'<div class="wide".*?</div>', text, re.DOTALL)[0]
    found = []
    for layer in re.finditer(r'<g class="(\w+)"(.*?)</g>', wide, re.DOTALL):
        found += [(layer[1], *mark) for mark in re.findall(r'<a href="([^"]+)"[^>]*aria-label="([^"]+)"', layer[2])]
    return found


def test_the_cloud_of_a_graded_score_shows_every_sample_and_leads_to_it(graded):
    first_run, second_run = sorted(graded.store.runs(), key=lambda run: run.num)
    _, _, text = graded.ask(f"/compare?a={first_run.id}&b={second_run.id}&score=length")
    marks = marks_of(text)
    assert sorted(label for *_, label in marks) == [
        *("s/0: 0.2, 1.8", "s/1: 0.4, 0.4", "s/2: 0.6, 0.6", "s/3: 0.8, 0.8", "s/4: 1, 1", "s/5: 1.2, 0.4"),
    ]
    kinds = {label[:3]: kind for kind, _, label in marks}
    assert (kinds["s/0"], kinds["s/5"], kinds["s/1"]) == ("s2", "s1", "s5")  # up, down, level
    link = next(link for _, link, label in marks if label.startswith("s/0"))
    status, _, sample = graded.ask(html.unescape(link))
    assert status == 200
    assert "Say 0" in sample


def test_the_cloud_counts_a_repeat_without_a_verdict_as_the_mean_does(tmp_path):
    asked = Counter()

    def half_unread(sample):
        asked[sample.id] += 1
        return Output("Hm." if asked[sample.id] == 1 else f"The answer is {'ABCD'[int(sample.id[1:]) % 4]}.")

    suite = Suite("E", "choice", exam(4), {"a": first, "b": half_unread}, (Choice(),), Options(repeats=2))
    evaluate_suite(suite, how=RunConfig(store=tmp_path / "e.db"))
    with serving(tmp_path / "e.db") as served:
        one, other = sorted(served.store.runs(), key=lambda run: run.num)
        text = served.ask(f"/compare?a={one.id}&b={other.id}")[2]
    assert sorted(label for *_, label in marks_of(text)) == [
        *("q0000: 1, 0.5", "q0001: 0, 0.5", "q0002: 1, 0.5", "q0003: 0, 0.5"),
    ]


def test_a_comparison_counts_unreadable_replies_only_where_there_are_some(viewer, runs, tmp_path):
    head = '<th scope="col" class="num">Unreadable</th>'
    assert head in viewer.ask(f"/compare?a={runs['first'].id}&b={runs['second'].id}")[2]
    suite = Suite("E", "choice", exam(8), {"a": first, "b": first}, (Choice(),))
    evaluate_suite(suite, how=RunConfig(store=tmp_path / "e.db"))
    with serving(tmp_path / "e.db") as served:
        one, other = served.store.runs()
        status, _, page = served.ask(f"/compare?a={one.id}&b={other.id}")
    assert (status, head in page) == (200, False)
    rows = re.findall(
        r"<tr(?: class=\"sub\")?>(.*?)</tr>", page.partition("Rates of the runs")[2].partition("</table>")[0]
    )
    assert len({row.count("<t") for row in rows}) == 1, "each row has a cell for each column"


def test_the_chosen_runs_are_compared_with_the_oldest(viewer, runs):
    first_run, second_run = sorted(runs.values(), key=lambda run: run.num)
    status, headers, _ = viewer.ask(f"/compare/chosen?run={second_run.id}&run={first_run.id}")
    assert (status, headers["location"]) == (303, f"/compare?a={first_run.id}&b={second_run.id}")


def test_runs_of_two_suites_are_not_compared(tmp_path):
    where = tmp_path / "two.db"
    for name in ("One", "Two"):
        evaluate_suite(Suite(name, "choice", exam(4), {"t": first}, (Choice(),)), how=RunConfig(store=where))
    with serving(where) as served:
        one, two = served.store.runs()
        status, _, text = served.ask(f"/compare?a={one.id}&b={two.id}")
        assert (status, "runs of different suites cannot be compared" in text) == (404, True)


def test_a_comparison_that_two_ask_for_is_computed_once(viewer, runs, monkeypatch):
    computed = []

    def slow(*compared, **options):
        computed.append(compared)
        begun.set()
        assert going_on.wait(20)
        return compare(*compared, **options)

    begun, going_on = threading.Event(), threading.Event()
    monkeypatch.setattr("steelyard.viewer.pages.compare", slow)
    path = f"/compare?a={runs['second'].id}&b={runs['first'].id}"
    with ThreadPoolExecutor(2) as asking:
        answers = [asking.submit(viewer.ask, path) for _ in range(2)]
        assert begun.wait(20)
        going_on.set()
        assert all('outcomes"' in answer.result()[2] for answer in answers)
    assert 'outcomes"' in viewer.ask(path)[2]
    assert len(computed) == 1


def test_a_comparison_that_failed_is_computed_again(viewer, runs, monkeypatch):
    def failing(*_, **__):
        raise StoreError("the database is busy")

    path = f"/compare?a={runs['second'].id}&b={runs['first'].id}&score=solve_rate"
    with monkeypatch.context() as patched:
        patched.setattr("steelyard.viewer.pages.compare", failing)
        status, _, text = viewer.ask(path)
        assert (status, "the database is busy" in text) == (500, True)
    assert viewer.ask(path)[0] == 200
