"""The list of runs: figures, the pinned baseline, filters, marks, deletion, and what is refused."""

import re
import shutil
import time
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import quote

import pytest
from tests.report.judging_suite import pairwise_runs
from tests.store.conftest import on_server, schema, server  # noqa: F401  # fixtures
from tests.store.outside import execute
from tests.store.test_store import new
from tests.viewer.conftest import exam, first, second, serving

from steelyard import Options, Prompt, Sample, Store, Suite, evaluate, evaluate_suite
from steelyard.analysis.model_calls import StageCost
from steelyard.analysis.numbers import cost_text, seconds_text
from steelyard.analysis.summary.run_summary_values import ModelCalls
from steelyard.evaluation.evaluate import RunConfig
from steelyard.models.scripted import Scripted
from steelyard.people.labels import add_labels
from steelyard.people.marks import MarkChange, mark_run, read_marks
from steelyard.report.template import with_minus
from steelyard.scorers import ErrorJudge, Judge
from steelyard.scorers.choice import Choice
from steelyard.store.ended_runs import ListFigures
from steelyard.store.repair import verify
from steelyard.types import Label
from steelyard.viewer.run_figures import FigureCache


def filled(where, suites=("Exam",)):
    """A store with two runs a suite."""
    for name in suites:
        suite = Suite(
            name, "choice", exam(40), {"first": first, "second": second}, (Choice(),), Options(max_errors=0.5)
        )
        evaluate_suite(suite, how=RunConfig(store=where))
    return where


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return filled(tmp_path_factory.mktemp("runs") / "runs.db")


@pytest.fixture
def served(file, tmp_path):
    with serving(shutil.copy(file, tmp_path)) as viewer:
        yield viewer


def by_target(viewer):
    return {run.target: run for run in viewer.store.runs()}


def listed(viewer, query=""):
    """Ids in the order of the rows."""
    return re.findall(r'name="run" value="(\w+)"', viewer.ask(f"/{query}")[2])


def row_of(viewer, run, query=""):
    """The row of a run as text."""
    text = viewer.ask(f"/{query}")[2]
    [row] = [part for part in text.split("<tr data-row")[1:] if f'value="{run.id}"' in part]
    return " ".join(re.sub(r"<[^>]+>", " ", row.split("</tr>")[0]).split())


def row_links(viewer, run):
    """The addresses in the row of a run."""
    [row] = [part for part in viewer.ask("/")[2].split("<tr data-row")[1:] if f'value="{run}"' in part]
    return " ".join(re.findall(r'href="([^"]+)"', row.split("</tr>")[0]))


def test_a_row_says_what_it_is_what_it_found_and_how_long_it_took(served):
    runs = by_target(served)
    row = row_of(served, runs["first"])
    assert "50.0 % 35.2 to 64.8" in row
    assert re.search(r"[<\d.]+ m?s \d\d \w{3} \d\d:\d\d$", row)


def test_replies_that_could_not_be_read_are_counted_in_the_row_and_listed_behind_it(served):
    runs = by_target(served)
    assert "unreadable" not in row_of(served, runs["first"])
    assert "second 5 unreadable" in row_of(served, runs["second"])
    [link] = re.findall(r"\S*unparsed\S*", row_links(served, runs["second"].id))
    assert served.ask(link)[2].count("Hm.") == 5


def test_a_difference_to_the_pinned_baseline_is_shown_and_leads_to_the_comparison(served):
    runs = by_target(served)
    second = by_target(served)["second"].id
    assert f"b={second}" not in row_links(served, second), "nothing is compared without a baseline"
    status, headers, _ = served.post("/marks", f"run={runs['first'].id}&do=pin&back=suite%3DExam")
    assert (status, headers["location"]) == (303, "/?suite=Exam")
    assert "baseline" in row_of(served, runs["first"])
    served.ask("/?save=page")  # a file waits for what a page shows when it is there
    row = row_of(served, runs["second"])
    _, _, compared = served.ask(f"/compare?a={runs['first'].id}&b={runs['second'].id}")
    figure = with_minus(re.search(r'aria-label="([+-][\d.]+) points, interval', compared)[1])
    assert figure in row, "the list and the comparison agree"
    assert re.search(r"not decided|better|worse", row)
    assert f"/compare?a={runs['first'].id}&amp;b={second}" in row_links(served, second)


def test_chosen_runs_are_compared_with_the_pinned_baseline_and_one_run_with_that_of_its_suite(served):
    older, newer = sorted(by_target(served).values(), key=lambda run: run.num)
    both = f"/compare/chosen?run={older.id}&run={newer.id}"
    assert served.ask(both)[1]["location"] == f"/compare?a={older.id}&b={newer.id}"
    assert "choose at least two" in served.ask(f"/compare/chosen?run={older.id}")[2]
    mark_run(served.store, newer, MarkChange(baseline=True))
    for query in (both, f"/compare/chosen?run={older.id}"):
        assert served.ask(query)[1]["location"] == f"/compare?a={newer.id}&b={older.id}"
    assert "choose at least two" in served.ask(f"/compare/chosen?run={newer.id}")[2]


def test_the_baseline_of_another_suite_changes_nothing(tmp_path):
    with serving(filled(tmp_path / "two.db", ("One", "Two"))) as viewer:
        one = next(run for run in viewer.store.runs() if run.suite == "One" and run.target == "first")
        mark_run(viewer.store, one, MarkChange(baseline=True))
        of_two = [run for run in viewer.store.runs() if run.suite == "Two"]
        assert not any("not decided" in row_of(viewer, run) for run in of_two)
        assert re.findall(r'<tr class="grp">.*?<b>(One|Two)</b>', viewer.ask("/")[2]) == ["Two", "One"], "newest first"


def test_a_cost_is_shown_only_where_every_stage_that_asked_has_a_price(tmp_path):
    with Store(filled(tmp_path / "s.db")) as store:
        summary = store.runs()[0].summary()
    target = StageCost("target", 2, 0, 10, 2, money=1.5, currency="USD")

    def shown(stages):
        return cost_text(ListFigures.of(replace(summary, calls=ModelCalls(stages)), None).money)

    assert shown((target, StageCost("choice", 0, 0, 0, 0))) == "1.50 USD"
    assert shown((target, replace(target, stage="judge", money=0.25))) == "1.75 USD"
    assert shown((target, replace(target, stage="judge", money=None))) == ""
    assert shown(()) == ""


FILTERS = [
    ("?filter=exam+FIRST", ["first"]),
    ("?filter=" + quote("target = first"), ["first"]),
    ("?filter=" + quote("finished and target != first"), ["second"]),
    ("?filter=" + quote("errors > 0"), []),
    ("?filter=" + quote("age < 1 and done >= 40"), ["second", "first"]),
    ("?state=running", []),
    ("?suite=Exam", ["second", "first"]),
    ("?filter=" + quote("tag = v2/zh"), ["first"]),
    ("?filter=" + quote("archived"), ["second"]),
    ("?archived=1", ["second", "first"]),
    ("", ["first"]),
]


def test_filters_mean_what_they_say(served):
    runs = by_target(served)

    def is_of_marks(query):
        return query in {"", "?archived=1"} or "tag" in query or "archived" in query

    for query, targets in sorted(FILTERS, key=lambda row: is_of_marks(row[0])):
        if is_of_marks(query) and not read_marks(served.store):
            mark_run(served.store, runs["first"], MarkChange(add=("v2/zh",)))
            mark_run(served.store, runs["second"], MarkChange(archived=True))
        assert listed(served, query) == [runs[target].id for target in targets], query


MISTAKES = [
    ("sute = Exam", "runs have no &#39;sute&#39;: did you mean &#39;suite&#39;?"),
    ("age < yesterday", "is not a number (in days)"),
    ("target > a", "compared by = or !="),
    ('a "b', "is not a condition"),
    ("x" * 2001, "at most 2,000 characters"),
]


def test_a_filter_that_cannot_be_meant_is_said_in_a_sentence(served):
    for text, says in MISTAKES:
        status, _, page = served.ask(f"/?filter={quote(text)}")
        assert (status, says in page) == (200, True), (text, re.findall(r'role="alert">.*', page))
        assert listed(served, f"?filter={quote(text)}") == [], text


def test_a_filter_with_an_or_finds_nothing_and_says_that_there_is_none(served):
    hint = "there is no or."
    assert hint in served.ask("/?filter=finished%20or%20running")[2]
    assert hint not in served.ask("/?filter=nothing-like-it")[2]


def test_500_runs_come_50_a_page_and_every_one_is_on_one_page(tmp_path):
    where = tmp_path / "many.db"
    with Store(where, create_missing=True) as store:
        for begun in store.begin_evaluation([new() for _ in range(120)])[1]:
            begun.finish("finished", "", 1.0)
    with serving(where) as viewer:
        pages = [listed(viewer, f"?page={page}") for page in (1, 2, 3)]
        assert [len(page) for page in pages] == [50, 50, 20]
        assert len({ident for page in pages for ident in page}) == 120
        for odd in ("0", "-1", "99", "x", "1e9", "٣"):
            assert listed(viewer, f"?page={quote(odd)}") in pages


def test_a_page_does_not_wait_for_figures_that_take_long(tmp_path):
    with Store(filled(tmp_path / "s.db")) as store:
        execute(store.path, "DELETE FROM computed")
        cache, runs = FigureCache(), store.runs()
        assert cache.of(runs, {}, patience_s=0) == ({}, {})
        until = time.monotonic() + 60
        while len(cache.of(runs, {}, patience_s=0)[0]) < 2 and time.monotonic() < until:
            time.sleep(0.02)
        assert {figures.headline for figures in cache.of(runs, {})[0].values()} == {"50.0 %", "45.0 %"}
        cache.close()


def test_marks_of_chosen_runs_are_changed_and_the_list_stays_as_it_was(served):
    runs = by_target(served)
    both = "&".join(f"run={run.id}" for run in runs.values())
    back = quote("filter=finished&archived=1")
    _, headers, _ = served.post("/marks", f"{both}&do=tag&tag=checked&back={back}")
    assert headers["location"] == "/?filter=finished&archived=1"
    served.post("/marks", f"run={runs['first'].id}&do=archive&back=")
    served.post("/marks", f"run={runs['second'].id}&do=untag&tag=checked&page=run")
    marks = read_marks(served.store)
    assert marks == {runs["first"].num: marks[runs["first"].num]}
    assert (marks[runs["first"].num].archived, marks[runs["first"].num].tags) == (True, ("checked",))


NO_MARKS = [
    ("do=archive", 422, "no run is chosen"),
    ("run=nothere&do=archive", 422, "it may have been deleted"),
    ("run={first}&do=tag&tag=two+words", 422, "holds a blank"),
    ("run={first}&do=tag&tag=", 422, "at least one character"),
    ("run={first}&do=explode", 400, "not an action"),
    ("run={first}&run={second}&do=pin", 422, "a suite has one baseline"),
]


def test_what_cannot_be_marked_is_refused_in_a_sentence(served):
    ids = {target: run.id for target, run in by_target(served).items()}
    for fields, status, says in NO_MARKS:
        got, _, text = served.post("/marks", fields.format(**ids))
        assert (got, says in text) == (status, True), (fields, text)
        assert read_marks(served.store) == {}, fields


def test_an_address_to_go_back_to_is_one_of_ours(served):
    run = by_target(served)["first"]
    for back in ("//evil.example", "https://evil.example/?a=1", "a=1\r\nSet-Cookie: x=1"):
        _, headers, _ = served.post("/marks", f"run={run.id}&do=archive&back={quote(back)}")
        assert headers["location"].startswith("/?") or headers["location"] == "/"
        assert "\n" not in headers["location"]


def test_a_run_is_deleted_when_its_name_is_typed(served):
    runs = by_target(served)
    address = f"/run/{runs['first'].id}/delete"
    _, _, text = served.ask(address)
    assert "40 records" in text
    status, _, text = served.post(address, "name=second")
    assert (status, "nothing was deleted" in text) == (422, True)
    assert len(served.store.runs()) == 2
    status, headers, _ = served.post(address, "name=first")
    assert (status, headers["location"]) == (303, "/?suite=Exam")
    assert [run.target for run in served.store.runs()] == ["second"]
    assert verify(served.store).is_sound
    for path in (f"/run/{runs['first'].id}", address):
        status, _, text = served.ask(path)
        assert (status, "it may have been deleted" in text) == (404, True)
    assert served.post(address, "name=first")[0] == 422


def test_deleting_keeps_the_paid_replies_unless_they_are_named(tmp_path):
    samples = [Sample(f"q{no}", "?", "A") for no in range(4)]

    def asked(where):
        return evaluate(Prompt(Scripted({}, "A"), "{{question}}"), samples, [Choice()], store=where)

    for fields, cached in (("", 4), ("&replies=1", 0)):
        where = tmp_path / f"{cached}.db"
        run = asked(where)
        with serving(where) as viewer:
            assert "4 replies in the journal" in viewer.ask(f"/run/{run.id}/delete")[2]
            assert viewer.post(f"/run/{run.id}/delete", f"name={run.id}{fields}")[0] == 303
            assert viewer.store.runs() == []
        assert asked(where).from_journal == cached


def test_columns_that_no_run_of_the_list_fills_are_left_out(served):
    def heads(query=""):
        return re.findall(r'<th scope="col"[^>]*>([\w ]+)', served.ask(f"/{query}")[2])

    before = heads()
    run = by_target(served)["first"]
    mark_run(served.store, run, MarkChange(baseline=True, add=("v2",)))
    filled = heads()
    mark_run(served.store, run, MarkChange(baseline=False, remove=("v2",)))
    assert {*filled} - {*before} == {"To baseline"}
    assert {"Run", "Score", "Started"} <= {*before}
    assert "Cost" not in before, "no run of the list has a price"


def test_a_running_run_is_neither_deleted_nor_pinned_and_compared_with_nothing(served):
    run = by_target(served)["first"]
    mark_run(served.store, run, MarkChange(baseline=True))
    with Store(served.store.path) as other:
        writer = other.begin_evaluation([replace(new(), suite=run.suite, kind=run.kind)])[1][0]
        address = f"/run/{writer.run.id}/delete"
        offered = served.ask(f"/run/{writer.run.id}")[2]
        assert address not in offered
        assert 'value="pin"' not in offered
        assert f"It cannot be pinned as a baseline: run {writer.run.id} is running" in offered
        assert "It can be deleted when it has ended." in offered
        assert 'class="ongoing" role="status"' in offered
        assert "No sample is done yet" in offered
        assert "No sample matches" not in offered
        assert "is running" in served.ask(address)[2]
        status, _, text = served.post(address, f"name={writer.run.id}")
        assert (status, "is deleted when it has ended" in text) == (422, True)
        status, _, text = served.post("/marks", f"run={writer.run.id}&do=pin")
        assert (status, "a baseline is a finished run" in text) == (422, True)
        assert "running" in row_of(served, writer.run)
        writer.abandon()
    assert len(served.store.runs()) == 3


def test_a_viewer_that_only_reads_offers_and_does_nothing(tmp_path):
    with serving(filled(tmp_path / "s.db"), read_only=True) as viewer:
        run = viewer.store.runs()[0]
        text = viewer.ask("/")[2] + viewer.ask(f"/run/{run.id}")[2]
        assert "Archive" not in text
        assert "/delete" not in text
        for path, fields in (("/marks", f"run={run.id}&do=archive"), (f"/run/{run.id}/delete", f"name={run.id}")):
            status, _, text = viewer.post(path, fields)
            assert (status, "--read-only" in text) == (403, True)
        assert viewer.ask(f"/run/{run.id}/delete")[0] == 403
        assert read_marks(viewer.store) == {}
        assert len(viewer.store.runs()) == 2


@pytest.mark.parametrize("seconds", [0.001, 0.0094, 0.0834, 0.949, 1.26, 9.94, 75])
def test_a_short_duration_is_shown_with_the_digits_that_count(seconds):
    number, unit = seconds_text(seconds).split()
    assert float(number) / (1000 if unit == "ms" else 1) == pytest.approx(seconds, rel=0.06)


def test_a_user_who_may_only_read_is_told_so_and_writes_once_they_may(on_server, server, schema):  # noqa: F811  # fixtures
    filled(on_server)
    reader = f"reader_{schema}"
    server.execute(f'CREATE ROLE "{reader}" LOGIN')
    try:
        server.execute(f'GRANT USAGE ON SCHEMA "{schema}" TO "{reader}"')
        server.execute(f'GRANT SELECT ON ALL TABLES IN SCHEMA "{schema}" TO "{reader}"')
        with serving(on_server.replace("postgres@", f"{reader}@")) as viewer:
            run = viewer.store.runs()[0]
            for path, fields in (
                ("/marks", f"run={run.id}&do=archive"),
                (f"/run/{run.id}/delete", f"name={run.id}"),
                (f"/run/{run.id}/notes", "text=x&author=Ann"),
            ):
                status, _, text = viewer.post(path, fields)
                assert (status, "cannot be written: permission denied" in text) == (500, True), path
            assert viewer.ask("/")[0] == 200
            server.execute(f'GRANT ALL ON ALL TABLES IN SCHEMA "{schema}" TO "{reader}"')
            server.execute(f'GRANT ALL ON ALL SEQUENCES IN SCHEMA "{schema}" TO "{reader}"')
            assert viewer.post("/marks", f"run={run.id}&do=archive")[0] == 303
            assert read_marks(viewer.store)[run.num].archived
    finally:
        server.execute(f'DROP OWNED BY "{reader}"')
        server.execute(f'DROP ROLE "{reader}"')


def test_a_run_of_pairs_says_whose_share_its_figure_is(tmp_path):
    *_, run = pairwise_runs(tmp_path)
    with serving(tmp_path / "pairs.db") as viewer:
        assert "share won by ours &lt;b&gt; " in row_of(viewer, run)


def test_no_link_compares_answers_that_were_only_judged(tmp_path):
    *_, run = pairwise_runs(tmp_path)
    with serving(run.store.path) as viewer:
        assert "/compare?" not in viewer.ask("/")[2]


def test_what_people_say_stands_beside_what_the_judge_says(tmp_path):
    samples = [Sample(f"{at}", "?") for at in range(60)]
    scorer = ErrorJudge(Judge(Scripted(default="Verdict: NO")), "tone", "It is rude.")
    (run,) = evaluate_suite(
        Suite("S", "custom", samples, {"t": lambda _: "x"}, (scorer,)), how=RunConfig(store=tmp_path / "s.db")
    )
    with serving(tmp_path / "s.db") as viewer:
        assert "people say" not in row_of(viewer, run)
        at = datetime(2026, 1, 1, tzinfo=UTC)
        said = [Label(sample.id, "tone", "fail" if no % 3 else "pass", "ann", at) for no, sample in enumerate(samples)]
        add_labels(viewer.store, run, said)
        deadline = time.monotonic() + 20
        while "computing" in (row := row_of(viewer, run)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert "people say 33.3 %" in row
        assert "100.0 %" in row
