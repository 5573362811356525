"""The pages of the viewer: what they say, what they refuse, and that text of models stays text."""

from __future__ import annotations

import html
import json
import re
import shutil
from itertools import pairwise
from urllib.parse import quote

import pytest
from tests.report.conftest import HOSTILE
from tests.store.outside import execute
from tests.thorough import times
from tests.viewer.conftest import exam, first, rows_of, serving

from steelyard import (
    ExactMatch,
    Options,
    Output,
    Sample,
    Scripted,
    Suite,
    evaluate,
    evaluate_suite,
)
from steelyard.errors import Attempt
from steelyard.evaluation.evaluate import RunConfig
from steelyard.evaluation.judge_prompts import judge_prompts
from steelyard.scorers.choice import Choice
from steelyard.scorers.judges.criteria import Correctness
from steelyard.scorers.judges.judge import Judge
from steelyard.scorers.retrieval import Retrieval
from steelyard.store import Store
from steelyard.store.delete import delete_runs
from steelyard.types import Record, Reply
from steelyard.viewer.sample_page import shown_calls


@pytest.fixture(scope="module")
def runs(viewer):
    """The runs of the served store by target."""
    return {run.target: run for run in viewer.store.runs()}


def test_the_list_is_complete_in_the_first_answer(viewer, runs):
    status, _, text = viewer.ask("/")
    assert status == 200
    for run in runs.values():
        assert f"/run/{run.id}" in text
    assert "50.0 %" in text  # the even ones
    assert "2 of 2 runs" in text


def test_the_list_is_filtered_by_every_word(viewer):
    assert "1 of 2 runs" in viewer.ask("/?filter=exam+FIRST")[2]
    assert "No run matches" in viewer.ask("/?filter=first+second")[2]


def test_a_run_shows_its_conclusion_and_its_samples(viewer, runs):
    status, _, text = viewer.ask(f"/run/{runs['second'].id}")
    assert status == 200
    assert " of 40 replies." in text
    assert "Unreadable</span></span> <b>5</b>" in text
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
    link = html.unescape(re.search(r'href="(/run/\w+/s/q\d+\?where=wrong[^"]*)"', text)[1])
    status, _, sample = viewer.ask(link)
    assert status == 200
    assert f'href="/run/{run.id}?where=wrong"' in sample


@pytest.mark.parametrize("query", ["where=wrong", "sort=-id", "search=Question", "where=wrong&sort=-solve_rate", ""])
def test_next_and_previous_walk_the_list_that_a_sample_was_opened_from(viewer, runs, query):
    run = runs["second"]
    listed = rows_of(viewer.ask(f"/run/{run.id}?{query}")[2])
    assert 'rel="prev"' not in viewer.ask(f"/run/{run.id}/s/{listed[0]}?{query}")[2]
    steps = times(5, len(listed))
    for start in (0, len(listed) // 2, len(listed) - 4):
        walked, page = [listed[start]], viewer.ask(f"/run/{run.id}/s/{listed[start]}?{query}")[2]
        while len(walked) < steps and (link := re.search(r'rel="next" href="([^"]+)"', page)):
            address = html.unescape(link[1])
            walked.append(re.search(r"/s/(\w+)", address)[1])
            page = viewer.ask(address)[2]
            assert f"/s/{walked[-2]}?" in html.unescape(re.search(r'rel="prev" href="([^"]+)"', page)[1])
        assert walked == listed[start : start + steps]


def test_repeats_of_a_sample_are_passed_over_by_next_and_all_shown(tmp_path):
    suite = Suite("R", "choice", exam(3), {"t": first}, (Choice(),), Options(repeats=3))
    [run] = evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    with serving(tmp_path / "s.db") as served:
        _, _, text = served.ask(f"/run/{run.id}/s/q0001")
        assert [f'id="repeat-{repeat}"' in text for repeat in range(4)] == [True, True, True, False]
        assert "/s/q0002?" in re.search(r'rel="next" href="([^"]+)"', text)[1]
        assert "/s/q0000?" in re.search(r'rel="prev" href="([^"]+)"', text)[1]


@pytest.mark.parametrize(("steps", "outlined"), [(4, False), (9, True)])
def test_a_long_transcript_has_an_outline_that_leads_to_each_message(tmp_path, steps, outlined):
    messages = [{"role": "assistant", "content": f"Step {no}: <b>look</b> {'far ' * 40}"} for no in range(steps)]
    run = evaluate(lambda _: {"messages": messages}, [Sample("q", "Where?")], [ExactMatch()], store=tmp_path / "s.db")
    with serving(tmp_path / "s.db") as served:
        text = served.ask(f"/run/{run.id}/s/q")[2]
    links = re.findall(r'<li><a href="#(message-0-\d+)">assistant</a> <span class="soft">(Step \d: [^<]+)</span>', text)
    assert len(links) == (steps if outlined else 0)
    assert all(
        f'<div class="turn" id="{anchor}">' in text and len(html.unescape(begin)) <= 80 for anchor, begin in links
    )


def test_a_judged_sample_shows_the_prompt_that_was_sent_and_no_other(tmp_path):
    """Of two judges one has another prompt by now: its description is changed as another version would have it."""
    sample = Sample("a", "Capital of France?", "Paris")
    judge = Judge(model=Scripted(default="All is right.\nRating: 5"), repeats=2)
    suite = Suite("J", "rag", [sample], {"t": lambda _: "It is Paris."}, (Correctness(judge=judge),), Options())
    [run] = evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    [record] = run.records()
    prompts = judge_prompts(run, record)
    assert {reply.key for reply in record.replies["correctness"]} == set(prompts)
    assert len(prompts) == 2
    with serving(tmp_path / "s.db") as served:
        text = html.unescape(served.ask(f"/run/{run.id}/s/a")[2])
        assert text.count("Prompt, as it was sent") == 2
        assert "You mark an answer to a question." in text
        assert re.search(r"<answer [0-9a-f]{12}>\nIt is Paris\.", text)
    described = json.loads(json.dumps(dict(run.manifest)))
    described["scorers"]["correctness"]["correctness"]["judge"]["parameters"] = {"seed": 1}
    assert judge_prompts(_WithManifest(run, described), record) == {}


def test_a_judges_prompt_is_not_read_from_a_file_that_the_store_names(tmp_path):
    template = tmp_path / "prompt.txt"
    template.write_text("Rate this: {{answer}}. From 1 to 5.", encoding="utf-8")
    judge = Judge(model=Scripted(default="Rating: 5"))
    suite = Suite(
        "J", "rag", [Sample("a", "?", "Paris")], {"t": lambda _: "Paris."}, (Correctness(judge, template=template),)
    )
    [run] = evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    [record] = run.records()
    assert len(judge_prompts(run, record)) == 1, "the text of the template is in the manifest"
    described = json.loads(json.dumps(dict(run.manifest)))
    described["scorers"]["correctness"]["correctness"]["template"] = str(template)
    assert judge_prompts(_WithManifest(run, described), record) == {}


def test_a_call_says_which_attempt_failed_and_why():
    tried = (Attempt("rate_limit", 0.1), Attempt("timeout", 60.0, 1.0), Attempt("", 0.5, 2.0))
    replies = {"target": (Reply("00", "Paris", latency=0.5, attempts=tried),)}
    [call] = shown_calls(Record(Sample("a", "?"), Output("Paris"), (), replies=replies), "Paris", {})
    assert call.faults == ("attempt 1: 429 too many requests", "attempt 2: timeout")
    assert "3 attempts" in call.figures


class _WithManifest:
    """A run whose manifest says something else."""

    def __init__(self, run, manifest):
        self.store, self.manifest = run.store, manifest


def test_what_was_expected_is_marked_in_the_passages_and_nothing_else_is_called_expected(tmp_path):
    expected = [{"document": "b.pdf", "start": 104, "end": 110}, {"document": "b.pdf", "text": "over there"}]
    sample = Sample("a", "Where?", "Here", metadata={"sources": expected})
    passages = ("0123456789abc", "It lies over there, far away.", "Nothing of interest.")
    places = [{"document": "b.pdf", "start": 100, "end": 113}, {"document": "b.pdf"}, {"document": "b.pdf"}]
    suite = Suite(
        "P",
        "rag",
        [sample],
        {"t": lambda _: Output("Here", contexts=passages, metadata={"sources": places})},
        (Retrieval(),),
    )
    [run] = evaluate_suite(suite, how=RunConfig(store=tmp_path / "s.db"))
    with serving(tmp_path / "s.db") as served:
        text = served.ask(f"/run/{run.id}/s/a")[2]
    marked = re.findall(r"<mark><span[^>]*>expected here: </span>([^<]*)</mark>", text)
    assert marked == ["456789", "over there"]
    third = text[text.index("Nothing of interest.") - 200 : text.index("Nothing of interest.")]
    assert "expected, by" not in third


def test_images_of_an_input_are_shown_in_the_page_itself(tmp_path):
    uri = "data:image/png;base64,iVBORw0KGgo="
    shown = [{"type": "image_url", "image_url": {"url": url}} for url in (uri, "http://example.org/a.png")]
    asked = [{"role": "user", "content": [{"type": "text", "text": "What is this?"}, *shown]}]
    sample, path = Sample("a", asked, "dot"), tmp_path / "s.db"
    evaluate_suite(Suite("J", "general", [sample], {"t": lambda _: "dot"}, (ExactMatch(),), Options()), store=path)
    with serving(path) as viewer:
        (run,) = viewer.store.runs()
        text = viewer.ask(f"/run/{run.id}/s/a")[2]
    assert f'<img class="picture" src="{uri}" alt="Image 1 of the message">' in text
    assert 'src="http://example.org' not in text


def test_a_sample_shows_what_was_read_and_where(viewer, runs):
    _, _, text = viewer.ask(f"/run/{runs['first'].id}/s/q0001")
    assert "Question 1?" in text
    assert re.search(r'<mark class="bad">.*A</mark>', text)
    assert "<span>wrong</span>" in text
    assert "✓ correct" in text


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
        ("/run/{first}?after=-1&where=wrong", "not a place in a run"),
        ("/run/{first}?against=nothere", "no run with the id"),
    ],
)
def test_a_wrong_address_is_answered_in_a_sentence(viewer, runs, path, says):
    status, _, text = viewer.ask(path.format(first=runs["first"].id))
    assert status in {200, 404}
    assert says in text
    assert "Traceback" not in text
    assert not rows_of(text)


def test_a_value_that_no_version_writes_is_told_on_the_page_without_a_traceback(stored, tmp_path, capfd):
    where = shutil.copyfile(stored, tmp_path / "s.db")
    execute(where, "UPDATE run SET manifest = json_set(manifest, '$.scorers.solve_rate', 5)")
    with Store(where) as store:
        run = store.runs()[0].id
    with serving(where) as served:
        status, _, page = served.ask(f"/run/{run}")
    assert status == 500
    assert "this is a defect, or the store is damaged" in page
    assert "steelyard verify" in page
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_run_whose_manifest_is_damaged_is_not_saved_and_a_page_says_why(stored, tmp_path, capfd, form):
    where = shutil.copyfile(stored, tmp_path / "s.db")
    execute(where, "UPDATE run SET manifest = 'x'")
    with Store(where) as store:
        run = store.runs()[0].id
    with serving(where) as served:
        status, headers, page = served.ask(f"/export/{run}/{form}")
    assert (status, "content-disposition" in headers) == (500, False)
    assert "is damaged" in page
    assert "Traceback" not in capfd.readouterr().err


def test_a_note_is_added_and_never_where_the_viewer_only_reads(tmp_path):
    where = tmp_path / "notes.db"
    evaluate_suite(Suite("Exam", "choice", exam(4), {"t": first}, (Choice(),)), how=RunConfig(store=where))
    with serving(where) as served:
        (run,) = served.store.runs()
        status, headers, _ = served.post(f"/run/{run.id}/notes", "text=Looks+%3Cb%3Eright%3C%2Fb%3E&author=Ann")
        assert (status, headers["location"]) == (303, f"/run/{run.id}#notes")
        _, _, text = served.ask(f"/run/{run.id}", headers=[("Cookie", headers["set-cookie"].split(";")[0])])
        assert "Looks &lt;b&gt;right&lt;/b&gt;" in text
        assert served.post(f"/run/{run.id}/notes", "text=+&author=Ann")[0] == 422
        assert served.post(f"/run/{run.id}/notes", "text=x&author=A", origin="http://evil.example")[0] == 403
    with serving(where, read_only=True) as served:
        assert served.post(f"/run/{run.id}/notes", "text=no&author=Ann")[0] == 403
        assert "Add the note" not in served.ask(f"/run/{run.id}")[2]
    with Store(where) as store:
        assert [note.text for note in store.runs()[0].remarks().notes] == ["Looks <b>right</b>"]


def test_a_note_that_cannot_be_stored_is_shown_to_be_copied(tmp_path):
    where = tmp_path / "notes.db"
    evaluate_suite(Suite("Exam", "choice", exam(4), {"t": first}, (Choice(),)), how=RunConfig(store=where))
    with serving(where) as served:
        (run,) = served.store.runs()
        address = f"/run/{run.id}/notes"
        lines = "\r\n".join(["a line of a long note"] * 454)  # 9,987 characters as a browser counts them
        assert served.post(address, f"author=Ann&text={quote(lines)}")[0] == 303
        assert [note.text for note in served.store.runs()[0].remarks().notes] == [lines.replace("\r\n", "\n")]
        status, _, page = served.post(address, f"author=Ann&text={quote('Too <b>long. ' * 1000)}")
        assert (status, "a note has at most 10,000 characters" in page) == (422, True)
        assert page.count("Too &lt;b&gt;long.") == 1000
        delete_runs(served.store, [run])
        status, _, page = served.post(address, "author=Ann&text=An+hour+of+thought")
        assert (status, "may have been deleted" in page, "An hour of thought" in page) == (422, True, True)


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
                r"<(script|img|i)(?![^>]*nonce)[ >]", text.replace("<input", "").replace("<link", "")
            ), page
            assert "<b>Exam" not in text
            assert "\x1b" not in text
            assert "\u202e" not in text


def test_points_and_changes_of_a_history_lead_to_the_comparison_with_the_run_before(tmp_path):
    suite = Suite("H", "choice", exam(12), {"t": first}, (Choice(),), Options())
    runs = [evaluate_suite(suite, how=RunConfig(store=tmp_path / "h.db"))[0] for _ in range(3)]
    with serving(tmp_path / "h.db") as served:
        text = html.unescape(served.ask("/history/H")[2])
        wide = re.search(r'<div class="wide".*?</div>', text, re.DOTALL)[0]
        links = re.findall(r'<a href="([^"]+)"', wide)
        comparisons = [f"/compare?a={a.id}&b={b.id}&score=solve_rate" for a, b in pairwise(runs)]
        assert links == [f"/run/{runs[0].id}", *comparisons]
        assert re.findall(r'<td class="num"><a href="([^"]+)"', text) == comparisons
        assert served.ask(comparisons[0])[0] == 200
