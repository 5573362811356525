"""Samples and suites of any name have a page, and every link leads there: also for names that no path can hold."""

from __future__ import annotations

import html
import re
from urllib.parse import quote, urljoin, urlsplit

import pytest
from tests.browser.conftest import address
from tests.viewer.conftest import TOKEN, serving

from steelyard import Options, Output, Sample, Suite, evaluate_suite
from steelyard.evaluation.evaluate import RunConfig
from steelyard.people import codings
from steelyard.report.section import RecordLink
from steelyard.scorers.choice import Choice
from steelyard.viewer.named_address import sample_address
from steelyard.viewer.pages import linked_page

NAMES = (
    *(".", "..", "...", "../x", "./x", "a/b", "/a", "a/", "a//b", "a/../b", "a\\b", "..\\b"),
    *("a?b", "a#b", "a%b", "a%2Fb", "%2e%2e", "a&b=c", "a+b", "a b", " a", "a ", "  ", "a;b", "a:b", "id", "?id=x"),
    *("two\nlines", "line\r\nend", "tab\there", "a\u202eb", "😀 emoji", "易经：乾卦", "<b>", '"quoted"', "'"),
    *("x" * 3000, "易" * 3000, "😀" * 3000),
)
SENT = "document.querySelector('[aria-labelledby=sent-title] > .turn > .text')"
"""Where a sample's page has the question."""
TARGETS = {"first": "The answer is A.", "second": "The answer is B.", "third": "The answer is {}."}


def samples():
    return [
        Sample(name, f"Question {no}?", "AB"[no % 2], choices=("one", "two"), group=f"g{no % 3}")
        for no, name in enumerate(NAMES)
    ]


def answering(text):
    """A target that says the same every time, or of a `{}` what every third sample fails for."""

    def target(sample):
        no = NAMES.index(sample.id)
        if "{}" in text and no % 3 == 2:
            raise RuntimeError(f"no answer to {no}")
        return Output(text.format("AB"[no % 2]))

    return target


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    """A viewer of three runs of a suite that is called `..`."""
    where = tmp_path_factory.mktemp("names") / "store.db"
    targets = {name: answering(text) for name, text in TARGETS.items()}
    suite = Suite("..", "choice", samples(), targets, (Choice(),), Options(max_errors=1.0))
    evaluate_suite(suite, how=RunConfig(store=where))
    with serving(where) as served:
        served.pages = {}
        yield served


def runs_of(viewer):
    return sorted(viewer.store.runs(), key=lambda run: run.num)


def as_browsers_do(link):
    """The path and query that a browser asks a server for: dots are resolved, also those that are percent-encoded."""
    parts = urlsplit(html.unescape(link))
    path = re.sub(r"%2e", ".", parts.path, flags=re.IGNORECASE)
    resolved = urljoin("http://h/", path)
    return urlsplit(resolved).path + (f"?{parts.query}" if parts.query else "")


def asked(viewer, link):
    """The page that a link leads to, asked for once, as the store does not change and many links lead there."""
    path = as_browsers_do(link)
    if path not in viewer.pages:
        viewer.pages[path] = viewer.ask(path)
    return viewer.pages[path]


def shown(viewer, link):
    """Status and number of the question of the page that a link leads to."""
    status, _, text = asked(viewer, link)
    found = re.search(r'class="text">(?:<span class="ph">)?Question (\d+)\?', text)
    return status, int(found[1]) if found else None


def test_every_name_has_a_page_of_its_own(named):
    run = runs_of(named)[0]
    links = [sample_address(named_page, run.id, name) for name in NAMES]
    assert [shown(named, link) for link in links] == [(200, no) for no in range(len(NAMES))]


def named_page(path, **query):
    """An address as the viewer makes it."""
    return path + "".join(f"{'&' if at else '?'}{name}={quote(text)}" for at, (name, text) in enumerate(query.items()))


def test_a_plain_name_stays_readable_in_the_address():
    assert sample_address(named_page, "r", "q0001") == "/run/r/s/q0001"
    assert sample_address(named_page, "r", "a?b#c d") == "/run/r/s/a%3Fb%23c%20d"
    assert sample_address(named_page, "r", "..") == "/run/r/s/?id=.."
    assert linked_page(named_page, RecordLink("r", "exam/1")) == "/run/r/s/?id=exam/1"


def test_the_table_of_a_run_leads_to_every_sample(named):
    run = runs_of(named)[0]
    links = re.findall(r'<th scope="row"[^>]*><a [^>]*href="([^"]+)">', named.ask(f"/run/{run.id}")[2])
    assert [shown(named, link) for link in links] == [(200, no) for no in range(len(NAMES))]


@pytest.mark.parametrize("rel", ["next", "prev"])
def test_samples_are_walked_whatever_their_names_are(named, rel):
    run = runs_of(named)[0]
    walked, link = [], sample_address(named_page, run.id, NAMES[0 if rel == "next" else -1])
    while link:
        text = asked(named, link)[2]
        walked.append(int(re.search(r'class="text">(?:<span class="ph">)?Question (\d+)\?', text)[1]))
        found = re.search(rf'rel="{rel}" href="([^"]+)"', text)
        link = found[1] if found else ""
    assert walked == sorted(range(len(NAMES)), reverse=rel == "prev")


def test_a_page_of_any_name_can_be_saved_and_leads_on(named):
    run = runs_of(named)[0]
    for no, name in enumerate(NAMES):
        text = asked(named, sample_address(named_page, run.id, name))[2]
        saved = re.search(r'<a download href="([^"]+)"', text)[1]
        assert shown(named, saved) == (200, no), name
        beside = [as_browsers_do(link) for link in re.findall(r'<h3><a href="([^"]+)"', text)]
        assert [shown(named, link) for link in beside] == [(200, no)] * len(beside), name
        assert len(beside) == 2, "the outputs of the two other runs"


@pytest.mark.parametrize("runs", [(0, 1), (0, 1, 2)])
def test_a_comparison_leads_to_its_samples(named, runs):
    first, *others = (runs_of(named)[at].id for at in runs)
    text = named.ask(f"/compare?a={first}" + "".join(f"&b={other}" for other in others))[2]
    rows = re.findall(
        r'<th scope="row"[^>]*><a [^>]*href="([^"]+)">.*?Question (\d+)\?', text.partition('id="changed"')[2], re.DOTALL
    )
    assert len(rows) == 20
    assert [shown(named, link) for link, _ in rows] == [(200, int(no)) for _, no in rows]


def test_the_last_failures_of_a_live_page_lead_to_their_samples(named):
    run = runs_of(named)[2]
    text = named.ask(f"/live/{run.id}")[2]
    failures = re.findall(r'<li>third, <a href="([^"]+)">[^<]*</a>: [^<]*?no answer to (\d+)', text)
    assert len(failures) == 5
    assert [shown(named, link) for link, _ in failures] == [(200, int(no)) for _, no in failures]


def test_a_record_of_an_error_analysis_leads_to_its_sample(named):
    run = runs_of(named)[0]
    coding = codings.draw_coding(named.store, [run], n=len(NAMES), seed=1, author="ann")
    cookies = f"{named.cookie(named.host)}; steelyard_author=ann"
    for item in coding.items:
        text = named.ask(f"/codes/{coding.id}/i/{item.num}", cookie=False, headers=[("Cookie", cookies)])[2]
        link = re.search(r'<p class="quiet"><a href="([^"]+)">first</a>', text)[1]
        assert shown(named, link) == (200, NAMES.index(item.sample))


def test_an_address_with_the_token_leads_to_the_page_that_it_names(named):
    run = runs_of(named)[0]
    for no, name in enumerate(NAMES[:-3]):
        link = sample_address(named_page, run.id, name)
        status, headers, _ = named.ask(f"{link}{'&' if '?' in link else '?'}token={TOKEN}", cookie=False)
        assert (status, shown(named, headers["location"])) == (303, (200, no)), name


def test_a_suite_of_any_name_has_a_history(named):
    text = named.ask("/")[2]
    link = re.search(r'<a href="([^"]+)">over time</a>', text)[1]
    page = named.ask(as_browsers_do(link))[2]
    assert "Over time" in page
    assert named.ask(as_browsers_do(re.search(r'<a download href="([^"]+)"', page)[1]))[0] == 200
    form = re.search(r'action="([^"]+)">\n<input type="hidden" name="id" value="([^"]+)">', page)
    assert "Over time" in named.ask(f"{form[1]}?id={form[2]}&score=solve_rate&target=first")[2]


def test_long_and_empty_looking_names_are_shown_short(named):
    text = named.ask(f"/run/{runs_of(named)[0].id}")[2]
    names = re.findall(r'<th scope="row"[^>]*><a [^>]*href="[^"]+">(.*?)</a></th>', text, re.DOTALL)
    assert max(map(len, map(html.unescape, names))) <= 20
    assert "“  ”" in names
    assert "two\\x0alines" in names
    assert all(name.strip() for name in names)


def test_a_person_clicks_through_all_samples_in_a_browser(named, browse):
    run = runs_of(named)[0]
    question = f"{SENT}?.textContent"

    async def visit(page):
        seen = []
        for no in range(len(NAMES)):
            await page.until(
                f"document.readyState === 'complete' && document.querySelectorAll('[data-row]').length > {no}"
            )
            await page.run(f"document.querySelectorAll('[data-row] th a')[{no}].click()")
            await page.until(f"document.readyState === 'complete' && /Question \\d+/.test({question})")
            seen.append(await page.run(question))
            await page.tab.go_back()
        return seen, page.complaints

    seen, complaints = browse(address(named, f"/run/{run.id}"), visit)
    assert seen == [f"Question {no}?" for no in range(len(NAMES))]
    assert complaints == []


def test_a_person_walks_from_sample_to_sample_in_a_browser(named, browse):
    run = runs_of(named)[0]

    async def visit(page):
        for no in range(len(NAMES)):
            await page.until(
                "document.readyState === 'complete' && typeof htmx === 'object'"
                f" && {SENT}?.textContent === 'Question {no}?'"
            )
            await page.press("j")
        await page.press("Escape")
        await page.until(f"location.pathname === '/run/{run.id}'")
        return page.complaints

    assert browse(address(named, sample_address(named_page, run.id, NAMES[0])), visit) == []
