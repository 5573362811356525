"""Queues in the viewer: blind pages, verdicts by keyboard, two raters at once, and what is refused."""

from __future__ import annotations

import re
import shutil
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pytest
from tests.browser.processes import viewer_process
from tests.viewer.conftest import Served, exam, first, second, serving

from steelyard import Options, Output, Sample, Score, Suite, evaluate, evaluate_suite
from steelyard.analysis.label_forms import LabelForm
from steelyard.evaluation.evaluate import RunConfig
from steelyard.people.draw import draw_records, drawn_items
from steelyard.people.queue_values import QueueDesign, RaterVerdict
from steelyard.people.queues import create_queue, label_item, queues, read_progress, reserve_item
from steelyard.scorers.choice import Choice
from steelyard.store import Store
from steelyard.store.delete import delete_runs
from steelyard.viewer.guard import Access

FORM = LabelForm("pass_fail", "verdict")
SECRETS = ("target-name-xyz", "judge-reason-xyz", "reference-xyz", "rater-two-xyz", "score_name_xyz")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    where = tmp_path_factory.mktemp("queues") / "store.db"
    suite = Suite("Exam", "choice", exam(12), {"first": first, "second": second}, (Choice(),), Options(max_errors=0.5))
    evaluate_suite(suite, how=RunConfig(store=where))
    return where


@pytest.fixture
def where(file, tmp_path):
    """A store with two runs of one exam."""
    return shutil.copy(file, tmp_path)


@pytest.fixture
def viewer(where):
    with serving(where) as served:
        yield served


def queue_in(store, form=FORM, **design):
    items, how = draw_records(store.runs())
    return create_queue(store, QueueDesign("Right?", form, drawn=how, **design), items, author="lead")


def named(viewer, rater):
    """Requests of a browser that keeps this name."""

    def ask(path, method="GET", **fields):
        cookies = f"{viewer.cookie(viewer.host)}; steelyard_author={quote(rater)}"
        headers = [("Cookie", cookies)]
        if method == "POST":
            headers += [
                ("Content-Type", "application/x-www-form-urlencoded"),
                ("Origin", f"http://{viewer.host}"),
            ]
            return viewer.ask(path, "POST", cookie=False, headers=headers, body=urlencode(fields).encode())
        return viewer.ask(path, cookie=False, headers=headers)

    return ask


def test_the_page_of_a_record_holds_nothing_that_would_sway(tmp_path):
    where = tmp_path / "blind.db"
    samples = [Sample("q1", "What is the capital?", "reference-xyz")]

    def scorer(sample, output):
        return Score("score_name_xyz", 0.0, reason="judge-reason-xyz", passed=False)

    def target(sample):
        return Output("Lyon", metadata={"note": "judge-reason-xyz"})

    target.__name__ = "target-name-xyz"
    evaluate(target, samples, [scorer], store=where)
    with serving(where) as viewer:
        queue = queue_in(viewer.store, raters=3, overlap=1.0)
        item = reserve_item(viewer.store, queue, "rater-two-xyz")
        label_item(viewer.store, queue, item, RaterVerdict("rater-two-xyz", "fail", "judge-reason-xyz"))
        status, _, page = named(viewer, "ann")(f"/queue/{queue.id}/i/{item.num}")
        assert status == 200
        assert "Lyon" in page
        assert [secret for secret in SECRETS if secret in page] == []
        shown = queue_in(viewer.store, show_reference=True, raters=3, overlap=1.0)
        item = reserve_item(viewer.store, shown, "ann")
        assert "reference-xyz" in named(viewer, "ann")(f"/queue/{shown.id}/i/{item.num}")[2]


def test_looking_reserves_nothing(viewer):
    queue = queue_in(viewer.store)
    ann = named(viewer, "ann")
    items = [f"/queue/{queue.id}/i/{at}" for at in (1, 2)]
    for path in ("/queue", f"/queue/{queue.id}", *items):
        assert ann(path)[0] == 200
    assert read_progress(viewer.store, queue)[0].reserved == 0


def test_verdicts_go_from_one_record_to_the_next(viewer):
    queue = queue_in(viewer.store, overlap=0.0)
    ann = named(viewer, "ann")
    for verdict in ("pass", "fail"):
        status, headers, _ = ann(f"/queue/{queue.id}/next", "POST")
        assert status == 303
        place = headers["location"]
        assert ann(f"{place}/label", "POST", verdict=verdict)[0] == 303
        assert f"Your verdict “{verdict}” is stored" in ann(place)[2]
    assert sorted(value["ann"] for value in read_progress(viewer.store, queue)[1].values()) == ["fail", "pass"]
    assert ann(f"/queue/{queue.id}/undo", "POST")[1]["location"] == place
    assert "Choose a verdict" in ann(place)[2]


def test_a_comment_is_kept_where_no_verdict_is_given(viewer):
    queue = queue_in(viewer.store)
    ann = named(viewer, "ann")
    place = ann(f"/queue/{queue.id}/next", "POST")[1]["location"]
    item = place.rpartition("/")[2]
    onward = ann(f"/queue/{queue.id}/next", "POST", item=item, comment="two readings")[1]["location"]
    assert onward != place
    labels = [label for run in viewer.store.runs() for label in run.labels()]
    assert [(label.name, label.value, label.author) for label in labels] == [("comment", "two readings", "ann")]


def test_a_verdict_that_is_none_says_what_may_be_typed(viewer):
    queue = queue_in(viewer.store, LabelForm("scale", "rating", scale=(1.0, 5.0)))
    ann = named(viewer, "ann")
    place = ann(f"/queue/{queue.id}/next", "POST")[1]["location"]
    status, _, page = ann(f"{place}/label", "POST", verdict="9")
    assert status == 422
    assert "a number from 1 to 5" in page
    assert read_progress(viewer.store, queue)[1] == {}


def test_a_name_is_asked_for_and_kept(viewer):
    queue = queue_in(viewer.store)
    assert "It is not checked" in viewer.ask(f"/queue/{queue.id}")[2]
    # A link that somebody was sent leads to the page that asks for a name.
    assert viewer.ask(f"/queue/{queue.id}/i/1")[0] == 303
    status, headers, _ = viewer.post(f"/queue/{queue.id}/name", urlencode({"name": "Zoë"}))
    assert status == 303
    assert re.search(rf"steelyard_author={re.escape(quote(quote('Zoë')))}|Zo%C3%AB", headers["set-cookie"])
    assert viewer.post(f"/queue/{queue.id}/name", "name=+")[0] == 422
    assert "names that begin with model:" in viewer.post(f"/queue/{queue.id}/name", "name=model:x")[2]


def test_nothing_is_written_where_the_viewer_is_to_read_only(where):
    with serving(where, read_only=True) as viewer:
        with Store(where) as store:
            queue = queue_in(store)
        ann = named(viewer, "ann")
        for path in ("name", "next", "undo", "i/1/label"):
            assert ann(f"/queue/{queue.id}/{path}", "POST", name="ann", verdict="pass")[0] == 403
        assert 'data-key="1"' not in ann(f"/queue/{queue.id}/i/1")[2]


def test_queues_and_items_that_are_gone_say_so(viewer):
    queue = queue_in(viewer.store)
    ann = named(viewer, "ann")
    place = ann(f"/queue/{queue.id}/next", "POST")[1]["location"]
    assert "did you mean" in ann(f"/queue/{queue.id}x")[2]
    delete_runs(viewer.store, viewer.store.runs())
    for method, path in (("GET", place), ("POST", f"{place}/label")):
        status, _, page = ann(path, method, verdict="pass")
        assert status == (404 if method == "GET" else 422)
        assert "may have been deleted" in page
    assert "0 of 0 records done" in ann(f"/queue/{queue.id}")[2]


@pytest.mark.parametrize("number", ["9" * 30, "9" * 5000, "²", "-1"])
def test_a_number_that_no_item_has_says_so_and_keeps_the_comment(viewer, number):
    queue = queue_in(viewer.store)
    ann = named(viewer, "ann")
    assert ann(f"/queue/{queue.id}/i/{quote(number)}")[0] == 404
    assert ann(f"/queue/{queue.id}/i/{quote(number)}/label", "POST", verdict="pass")[0] == 404
    status, _, page = ann(f"/queue/{queue.id}/next", "POST", item=number, comment="kept-xyz")
    assert status == 422
    assert "may have been deleted" in page
    assert "kept-xyz" in page


def test_hostile_texts_stay_text(viewer):
    queue = queue_in(viewer.store, question="<img src=x onerror=alert(1)>")
    ann = named(viewer, "<script>alert(2)</script>")
    place = ann(f"/queue/{queue.id}/next", "POST")[1]["location"]
    ann(f"{place}/label", "POST", verdict="pass")
    for path in ("/queue", f"/queue/{queue.id}", place):
        page = ann(path)[2]
        assert "<img" not in page
        assert "<script>alert" not in page


def test_ten_records_are_labelled_by_keyboard_alone(viewer, browse):
    queue = queue_in(viewer.store, overlap=0.0)

    async def visit(page):
        ready = "document.readyState === 'complete' && typeof htmx === 'object'"
        await page.until(ready)
        await page.run("document.querySelector('input[name=name]').focus()")
        await page.tab.keyboard.type("ann")
        await page.press("Control+Enter")
        for at in range(10):
            await page.until(
                f"location.pathname.includes('/i/') && {ready} && document.body?.innerText.includes('Choose a verdict')"
            )
            await page.press("c")
            assert await page.run("document.activeElement.name") == "comment"
            await page.press("Escape")
            await page.press("0" if at == 9 else "12"[at % 2])
            await page.until(f"document.body?.innerText.includes('is stored') && {ready}")
            await page.press("Control+Enter")
        await page.until(f"{ready} && document.body?.innerText.includes('ann: 10 labelled')")
        await page.press("u")
        await page.until(f"{ready} && document.body?.innerText.includes('ann: 9 labelled')")
        return page.complaints

    path = f"http://{viewer.host}/queue/{queue.id}?token={viewer.access.token}"
    assert browse(path, visit) == []
    progress = read_progress(viewer.store, queue)[0]
    assert (progress.labels, progress.unsure) == (9, 0)


def asked_of(process):
    """Requests of one rater's browser to a viewer in a process of its own."""
    address = urlsplit(process.address)
    access = Access(parse_qs(address.query)["token"][0], frozenset(), "")
    return named(Served(address.port, access, None), "ann")


def test_a_verdict_survives_the_viewer_that_took_it(tmp_path):
    where = tmp_path / "s.db"
    evaluate_suite(Suite("Exam", "choice", exam(4), {"first": first}, (Choice(),)), how=RunConfig(store=where))
    with Store(where) as store:
        queue = queue_in(store)
        with viewer_process(where, "--port", "0") as viewer:
            ann = asked_of(viewer)
            place = ann(f"/queue/{queue.id}/next", "POST")[1]["location"]
            assert ann(f"{place}/label", "POST", verdict="pass")[0] == 303
            screen = ann(f"/queue/{queue.id}/next", "POST")[1]["location"]
            viewer.kill()
        assert [value["ann"] for value in read_progress(store, queue)[1].values()] == ["pass"]
        with viewer_process(where, "--port", "0") as viewer:
            ann = asked_of(viewer)
            assert ann(f"/queue/{queue.id}/next", "POST")[1]["location"] == screen != place
            assert ann(f"{screen}/label", "POST", verdict="fail")[0] == 303
        assert sorted(value["ann"] for value in read_progress(store, queue)[1].values()) == ["fail", "pass"]


def test_the_page_of_a_queue_says_how_many_people_label_a_record(viewer):
    several = queue_in(viewer.store, raters=3, overlap=0.25)
    alone = queue_in(viewer.store, raters=1, overlap=0.0)
    assert "3 for 25 % of the records, one for each of the others" in viewer.ask(f"/queue/{several.id}")[2]
    assert "<dd>one for each record</dd>" in viewer.ask(f"/queue/{alone.id}")[2]


def making(drawn_from, **fields):
    """The form that makes a queue, as a page sends it."""
    texts = {"title": "Is it right?", "question": " Pass: the letter is right. ", "records": "5", "author": "ann"}
    return urlencode({"run": drawn_from.id, **texts, **fields})


def test_a_queue_is_made_and_begun_from_the_page(viewer):
    run, other = viewer.store.runs()
    page = viewer.ask(f"/queue?run={other.id}")[2]
    assert f'<option value="{other.id}" selected>' in page
    status, headers, _ = viewer.post("/queue", making(run))
    (queue,) = queues(viewer.store)
    assert (status, headers["location"]) == (303, f"/queue/{queue.id}")
    assert (queue.author, queue.design.title, queue.design.question) == (
        "ann",
        "Is it right?",
        "Pass: the letter is right.",
    )
    assert read_progress(viewer.store, queue)[0].items == 5
    with viewer.store.reading() as connection:
        assert {item.key[0] for item in drawn_items(connection, queue.num)} == {run.num}, "of the chosen run alone"
    ann = named(viewer, "ann")
    assert "Start: record 1 of 5" in ann(headers["location"])[2]
    place = ann(f"/queue/{queue.id}/next", "POST")[1]["location"]
    assert "Pass: the letter is right." in ann(place)[2]
    ann(f"{place}/label", "POST", verdict="A")
    assert "Continue: record" in ann(headers["location"])[2]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"records": "0"}, "1 record or more"),
        ({"records": "many"}, "many"),
        ({"title": "  "}, "title"),
        ({"author": ""}, "name"),
        ({"author": "model:x"}, "model:"),
        ({"run": "nosuch"}, "nosuch"),
    ],
)
def test_a_queue_that_cannot_be_made_says_why_and_is_not_stored(viewer, fields, message):
    status, _, page = viewer.post("/queue", making(viewer.store.runs()[0], **fields))
    assert (status in {404, 422}, message in page) == (True, True), page[:2000]
    assert queues(viewer.store) == []


def test_disagreements_go_to_another_person_by_a_button(viewer):
    queue = queue_in(viewer.store, raters=2, overlap=1.0)
    with viewer.store.reading() as connection:
        items = drawn_items(connection, queue.num)
    for at, item in enumerate(items[:6]):
        label_item(viewer.store, queue, item, RaterVerdict("ann", "pass"))
        label_item(viewer.store, queue, item, RaterVerdict("bob", "fail" if at < 4 else "pass"))
    page = viewer.ask(f"/queue/{queue.id}")[2]
    assert "Make a queue of the 4 disagreements for another person" in page
    assert re.search(r'<label>made by <input name="author"[^>]*placeholder="your name"', page)
    status, headers, _ = viewer.post(f"/queue/{queue.id}/disagreements", "author=lead")
    made = queues(viewer.store)[0]
    assert (status, headers["location"]) == (303, f"/queue/{made.id}")
    assert (made.design.title, made.design.raters, made.author) == ("Right?: disagreements", 1, "lead")
    with viewer.store.reading() as connection:
        assert {item.key for item in drawn_items(connection, made.num)} == {item.key for item in items[:4]}
    assert viewer.post(f"/queue/{queue.id}/disagreements", "author=+")[0] == 422


def test_the_page_of_a_queue_leads_to_its_run_and_to_the_records_that_could_be_drawn(viewer):
    queue = queue_in(viewer.store)
    with viewer.store.reading() as connection:
        drawn = {item.run for item in drawn_items(connection, queue.num)}
    runs = {run.id for run in viewer.store.runs() if run.num in drawn}
    page = viewer.ask(f"/queue/{queue.id}")[2]
    assert runs
    assert set(re.findall(r'<dd><a href="/run/(\w+)">[^<]+ · \w+</a>', page)) == runs
    lists = re.findall(r'<a href="(/run/\w+[^"]*)#samples">its records</a>', page)
    assert len(lists) == len(runs)
    assert all(viewer.ask(address)[0] == 200 for address in lists)


def test_a_queue_without_disagreements_has_no_button_and_makes_no_queue(viewer):
    queue = queue_in(viewer.store)
    assert "for another person" not in viewer.ask(f"/queue/{queue.id}")[2]
    status, _, page = viewer.post(f"/queue/{queue.id}/disagreements", "author=lead")
    assert (status, "disagree on no record" in page) == (422, True)
    assert len(queues(viewer.store)) == 1


def test_a_read_only_viewer_makes_no_queue(where):
    with serving(where, read_only=True) as viewer:
        (run, *_) = viewer.store.runs()
        assert viewer.post("/queue", making(run))[0] == 403
        assert "Make the queue" not in viewer.ask("/queue")[2]
        assert queues(viewer.store) == []
