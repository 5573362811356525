"""The pages of the viewer: what they say, what they refuse, and that text of models stays text."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from tests.report.conftest import HOSTILE
from tests.viewer.conftest import exam, first, serving

from steelyard import Options, Output, Sample, Suite, evaluate_suite
from steelyard.scorers.choice import Choice
from steelyard.store import Store
from steelyard.suite.evaluate import RunConfig


@pytest.fixture(scope="module")
def runs(viewer):
    """The runs of the served store by target."""
    return {run.target: run for run in viewer.store.runs()}


def rows_of(text):
    """Ids of the samples that a page lists."""
    return re.findall(r"/s/(q\d{4})", text)


def test_the_list_is_complete_in_the_first_answer(viewer, runs):
    status, _, text = viewer.ask("/")
    assert status == 200
    for run in runs.values():
        assert f"/run/{run.id}" in text
    assert "50.0 %" in text  # the even ones
    assert "40 of 40" in text


def test_the_list_is_filtered_by_every_word(viewer):
    assert "1 of 2 runs" in viewer.ask("/?filter=exam+FIRST")[2]
    assert "0 of 2 runs" in viewer.ask("/?filter=first+second")[2]


def test_a_run_shows_its_conclusion_and_its_samples(viewer, runs):
    status, _, text = viewer.ask(f"/run/{runs['second'].id}")
    assert status == 200
    assert "second solves" in text
    assert "5 unparsed" in text
    assert rows_of(text) == [f"q{no:04d}" for no in range(40)]


def test_samples_are_filtered_and_sorted_by_the_address(viewer, runs):
    run = runs["second"]
    _, _, text = viewer.ask(f"/run/{run.id}?where=unparsed")
    assert rows_of(text) == ["q0006", "q0013", "q0020", "q0027", "q0034"]
    _, _, text = viewer.ask(f"/run/{run.id}?{'where=' + quote('unparsed and group = g1')}&sort=-id")
    assert rows_of(text) == ["q0034", "q0013"]


def test_a_condition_that_cannot_be_meant_is_said_with_the_nearest_word(viewer, runs):
    status, _, text = viewer.ask(f"/run/{runs['second'].id}?where=unparsd")
    assert status == 200
    assert "unparsed" in text
    assert rows_of(text) == []
    headers = [("HX-Request", "true"), ("HX-Target", "div#samples")]
    status, _, part = viewer.ask(f"/run/{runs['second'].id}?where=unparsd", headers=headers)
    assert (status, "<html" in part) == (422, False)


def test_a_sample_leads_back_to_the_list_that_it_was_opened_from(viewer, runs):
    run = runs["second"]
    _, _, text = viewer.ask(f"/run/{run.id}?where=wrong")
    link = re.search(r'href="(/run/\w+/s/q\d+\?where=wrong)"', text)[1]
    status, _, sample = viewer.ask(link)
    assert status == 200
    assert f'href="/run/{run.id}?where=wrong"' in sample


def test_a_sample_shows_what_was_read_and_where(viewer, runs):
    _, _, text = viewer.ask(f"/run/{runs['first'].id}/s/q0001")
    assert "Question 1?" in text
    assert re.search(r"<mark>.*A</mark>", text)
    assert "✗ failed" in text
    assert "✓ key" in text


def test_two_runs_are_compared_with_regressions_first(viewer, runs):
    older, newer = runs["first"], runs["second"]
    status, _, text = viewer.ask(f"/compare?a={older.id}&b={newer.id}")
    assert status == 200
    assert "regressions" in text
    changes = re.findall(r'class="change (\w+)"', text)
    assert changes == sorted(changes, reverse=True)
    _, _, listed = viewer.ask(f"/run/{newer.id}?where=regression&against={older.id}")
    count = int(re.search(r"(\d+) regressions", text)[1])
    assert len(rows_of(listed)) == count > 0


def test_the_chosen_runs_are_compared_with_the_oldest(viewer, runs):
    first_run, second_run = sorted(runs.values(), key=lambda run: run.num)
    status, headers, _ = viewer.ask(f"/compare/chosen?run={second_run.id}&run={first_run.id}")
    assert (status, headers["location"]) == (303, f"/compare?a={first_run.id}&b={second_run.id}")


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/run/nothere", "no run with the id"),
        ("/run/{first}/s/q9999", "no record of a sample"),
        ("/compare?a={first}", "at least one other run"),
        ("/compare?a={first}&b={first}", "with itself"),
        ("/compare/chosen?run={first}", "at least two runs"),
        ("/history/nothing", "no run of a suite"),
        ("/live/nothere", "no run with the id"),
        ("/nowhere", "no such page"),
        ("/static/0/..%2F..%2Fserver.py", ""),
        ("/run/{first}?after=1%00", ""),
        ("/run/{first}?after=-1&where=wrong", "no place in a run"),
        ("/run/{first}?against=nothere", "no run with the id"),
    ],
)
def test_a_wrong_address_is_answered_in_a_sentence(viewer, runs, path, says):
    status, _, text = viewer.ask(path.format(first=runs["first"].id))
    assert status in {200, 404}
    assert says in text
    assert "Traceback" not in text
    assert not rows_of(text)


def test_runs_of_two_suites_are_not_compared(tmp_path):
    where = tmp_path / "two.db"
    for name in ("One", "Two"):
        evaluate_suite(Suite(name, "choice", exam(4), {"t": first}, (Choice(),)), how=RunConfig(store=where))
    with serving(where) as served:
        one, two = served.store.runs()
        status, _, text = served.ask(f"/compare?a={one.id}&b={two.id}")
        assert (status, "runs of different suites cannot be compared" in text) == (404, True)


def test_a_note_is_added_and_never_where_the_viewer_only_reads(tmp_path):
    where = tmp_path / "notes.db"
    evaluate_suite(Suite("Exam", "choice", exam(4), {"t": first}, (Choice(),)), how=RunConfig(store=where))
    with serving(where) as served:
        (run,) = served.store.runs()
        status, headers, _ = served.post(f"/run/{run.id}/notes", "text=Looks+%3Cb%3Eright%3C%2Fb%3E&author=Ann")
        assert (status, headers["location"]) == (303, f"/run/{run.id}#notes")
        _, _, text = served.ask(f"/run/{run.id}", headers=[("Cookie", headers["set-cookie"].split(";")[0])])
        assert "Looks &lt;b&gt;right&lt;/b&gt;" in text
        assert served.post(f"/run/{run.id}/notes", "text=+&author=Ann")[0] == 404
        assert served.post(f"/run/{run.id}/notes", "text=x&author=A", origin="http://evil.example")[0] == 403
    with serving(where, read_only=True) as served:
        assert served.post(f"/run/{run.id}/notes", "text=no&author=Ann")[0] == 403
        assert "Add the note" not in served.ask(f"/run/{run.id}")[2]
    with Store(where) as store:
        assert [note.text for note in store.runs()[0].remarks().notes] == ["Looks <b>right</b>"]


def test_text_of_models_and_datasets_stays_text(tmp_path):
    where = tmp_path / "hostile.db"
    samples = [
        Sample(
            f"q<{no}>&'\"/..",
            f"{text} <i>",
            "A",
            choices=(text, "b", "c", "d"),
            group=f"<{no}>\u202e",
            metadata={text[:20]: text},
        )
        for no, text in enumerate(HOSTILE)
    ]

    def target(sample):
        return Output(f"{sample.input} The answer is A.", contexts=(sample.input,), metadata={"<k>": sample.input})

    suite = Suite("<b>Exam</b>", "choice", samples, {"<script>": target}, (Choice(),), Options(max_errors=1.0))
    evaluate_suite(suite, how=RunConfig(store=where))
    with serving(where) as served:
        (run,) = served.store.runs()
        pages = ["/", f"/run/{run.id}", f"/live/{run.id}", "/history/" + quote(run.suite)]
        pages += [f"/run/{run.id}/s/{quote(sample.id)}" for sample in samples]
        for page in pages:
            status, _, text = served.ask(page)
            assert status == 200, page
            assert not re.search(
                r"<(script|img|b|i)(?![^>]*nonce)[ >]", text.replace("<input", "").replace("<link", "")
            ), page
            assert "\x1b" not in text
            assert "\u202e" not in text
