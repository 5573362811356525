"""What a model, a dataset or a person wrote stays text: on every page, in a real browser, wherever it can stand.

A page of hostile texts must hold no element and no attribute that the same page of harmless ones does not hold.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from datetime import UTC, datetime
from itertools import count
from urllib.parse import quote

import pytest
from tests.browser.conftest import address
from tests.browser.hostile_texts import HARMLESS, TEXTS, inside_sql
from tests.viewer.conftest import serving

from steelyard import Options, Output, Sample, Score, ScoreInfo, Suite, compare, evaluate_suite
from steelyard.analysis.label_forms import LabelForm
from steelyard.errors import ConfigError
from steelyard.evaluation.evaluate import RunConfig
from steelyard.people import codings
from steelyard.people.code_scorer import judge_config, score_name
from steelyard.people.draw import draw_records, drawn_items
from steelyard.people.labels import add_note
from steelyard.people.marks import MarkChange, mark_run
from steelyard.people.queue_values import QueueDesign, RaterVerdict
from steelyard.people.queues import create_queue, label_item, queues, reserve_item
from steelyard.report.render.html import html_report
from steelyard.scorers import SqlResult
from steelyard.store import Store

SHAPE = """
[...document.querySelectorAll('*')].map(each =>
  `${each.localName} ${[...each.attributes].map(({name}) => name).sort().join(' ')}`)
"""
LEADS = """
[...document.querySelectorAll('[href], [src], [action], [formaction]')]
  .filter(each => each.getAttribute('href') !== 'data:,')
  .map(each => ['href', 'src', 'action', 'formaction'].map(name => each.getAttribute(name)).find(Boolean))
  .map(path => new URL(path, location).origin)
"""
DIFFERING = {"del ", "ins ", "mark "}
"""Which words of two texts differ depends on the texts."""
PWNED = "typeof pwned !== 'undefined'"


def name_of(text):
    """A text as an id or a group, which no half of a surrogate pair may be in."""
    return text.encode(errors="replace").decode()


class Texts:
    """The scorer and the targets of a suite in which every text is one of the list."""

    score_infos = (ScoreInfo("match", (0, 1), threshold=1.0),)

    def __init__(self, texts):
        self._texts = {name_of(text): text for text in texts}
        self._numbers = dict(zip(self._texts, count()))

    def samples(self):
        return [
            Sample(
                name,
                [{"role": "user", "content": text}, {"role": text, "content": text}] if no % 4 == 3 else text,
                f"{text} {text[::-1]}",
                contexts=(text,),
                group=name,
                metadata={text: text, "sources": [{"document": text, "start": 0, "end": 9, "text": text}]},
            )
            for no, (name, text) in enumerate(self._texts.items())
        ]

    def says(self, sample):
        """Fails with the text for every fifth sample; else says it, with passages and calls of tools."""
        text = self._texts[sample.id]
        if self._numbers[sample.id] % 5 == 4:
            raise RuntimeError(text)
        call = {"id": text, "function": {"name": text, "arguments": text}}
        messages = [
            {"role": "assistant", "content": text, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": text, "name": text, "content": text},
            {"role": "assistant", "content": text},
        ]
        sources = [{"id": text, "document": text, "start": 0, "end": 9, "page": 3}]
        return Output(text, contexts=(text, text), metadata={"sources": sources, "messages": messages, text: text})

    def says_less(self, sample):
        return f"{self._texts[sample.id]} less"

    def __call__(self, sample, output):
        text = self._texts[sample.id]
        passed = isinstance(output.value, str) and output.value == text
        trace = [{"contexts": [1], "verdict": text, "reason": text}]
        claims = [{"claim": text, "verdict": text}]
        detail = {"trace": trace, "claims": claims, text: text, "how": text, "verdict_like": text, "rule": text}
        return Score("match", float(passed), passed, reason=text, detail=detail)


def store_texts(where, texts):
    """Runs whose every text is of the list; also their names, tags and notes."""
    of_texts = Texts(texts)
    names = [" ".join(filter(str.isprintable, texts[start::2]))[:3000] for start in (0, 1)]
    targets = dict(zip(names, (of_texts.says, of_texts.says_less), strict=True))
    suite = Suite(names[0][:300], "custom", of_texts.samples(), targets, (of_texts,), Options(max_errors=1.0))
    runs = evaluate_suite(suite, how=RunConfig(store=where))
    at = datetime(2026, 1, 2, tzinfo=UTC)
    with Store(where) as store:
        run = store.run(runs[0].id)
        for text in texts:
            with contextlib.suppress(ConfigError):  # of a tag that nobody may give
                mark_run(store, run, MarkChange(add=(text,)))
            add_note(store, run, text, author=text[:100], at=at)
        store_coding(store, run, texts)
        store_queues(store, run, texts)


def store_queues(store, run, texts):
    """Queues whose titles and questions are the texts, with verdicts and comments of raters of such names."""
    for no, text in enumerate(texts):
        items, how = draw_records([run], n=2)
        question = name_of(text).strip()[:300]
        design = QueueDesign(f"T {question}"[:100], LabelForm("text", f"remark {no}"), question, drawn=how)
        queue = create_queue(store, design, items, author=f"L {question}"[:100])
        item = reserve_item(store, queue, rater := f"R {question}"[:100])
        label_item(store, queue, item, RaterVerdict(rater, question or "x"))


def store_coding(store, run, texts):
    """An error analysis whose notes, codes, definitions and names of people are the texts."""
    coding = codings.draw_coding(store, [run], n=len(texts), seed=1, author=name_of(texts[0])[:100])
    for item, text in zip(coding.items, texts, strict=False):
        author = name_of(text).strip()[:100]
        codings.write_note(store, coding, item.num, text[:2000], author=author)
        code = codings.new_code(store, coding, text[:100], author=author, definition=text[:2000], items=[item.num])
        config = judge_config(score_name(name_of(text)), name_of(text), [name_of(text)])
        codings.write_scorer(store, coding, code, config, [item.num], author=author)
    codings.propose_codes(store, coding, [(f"{text[:90]} too", text, [item.num]) for text in texts], author="judge")


def store_queries(where, texts):
    """Queries that say the texts, in results, in names of columns, and in what cannot be run."""
    samples = [
        Sample(f"s{no}", text, f"SELECT '{inside_sql(text)}' AS a, 1 AS b", metadata={"schema": "CREATE TABLE t (a)"})
        for no, text in enumerate(texts)
    ]

    def target(sample):
        text = sample.input
        if int(sample.id[1:]) % 3 == 0:
            return text
        name = inside_sql(text[:100]).replace('"', '""')
        return f"SELECT '{inside_sql(text)}' || 'x' AS \"{name}\", 1 AS b UNION SELECT '{inside_sql(text)}', 2"

    suite = Suite("queries", "text2sql", samples, {"t": target}, (SqlResult(),), Options(max_errors=1.0))
    evaluate_suite(suite, how=RunConfig(store=where))


MAKERS = {"texts": store_texts, "queries": store_queries}


def pages_of(viewer):
    runs = sorted(viewer.store.runs(), key=lambda run: run.num)
    yield "/"
    yield f"/history/{quote(runs[0].suite, safe='')}"
    if len(runs) > 1:
        yield f"/compare?a={runs[0].id}&b={runs[1].id}"
    for run in runs:
        yield f"/run/{run.id}"
        yield f"/live/{run.id}"
    yield "/queue"
    for queue in queues(viewer.store):
        yield f"/queue/{queue.id}"
        with viewer.store.reading() as connection:
            item, *_ = drawn_items(connection, queue.num)
        yield f"/queue/{queue.id}/i/{item.num}"
    yield "/search?q=plain"
    yield f"/run/{runs[0].id}/what"
    for coding in codings.codings(viewer.store):
        yield "/codes"
        yield f"/codes/{coding.id}"
        yield from (f"/codes/{coding.id}/i/{item.num}" for item in coding.items)
        yield from (f"/codes/{coding.id}/c/{code}" for code in codings.read_coding(viewer.store, coding).codes)
    for sample in dict.fromkeys(record.sample.id for record in runs[0].page("", 200).records):
        yield f"/run/{runs[0].id}/s/{quote(sample, safe='')}"


@pytest.fixture(scope="module", params=MAKERS)
def looked_at(request, tmp_path_factory, chromium):
    """Of harmless and of hostile texts: page -> its shape, where it leads, and what the browser said.

    A page of harmless texts looks the same for each of them: ten of a kind are enough.
    """
    found = []
    for texts, most in ((HARMLESS, 10), (TEXTS, 1000)):
        where = tmp_path_factory.mktemp("texts") / "store.db"
        MAKERS[request.param](where, texts)
        with serving(where) as viewer:

            async def visit(page, viewer=viewer, most=most):
                shapes, leads, kinds = {}, set(), Counter()
                reader = {"name": "steelyard_author", "value": "ann", "url": f"http://{viewer.host}/"}
                await page.tab.context.add_cookies([reader])
                for path in pages_of(viewer):
                    kinds[kind := tuple(path.split("/")[1::2])] += 1
                    if kinds[kind] > most:
                        continue
                    response = await page.tab.goto(f"http://{viewer.host}{path}")
                    assert response.status == 200, (path, await response.text())
                    shapes[path] = await page.run(SHAPE)
                    leads |= {*await page.run(LEADS)}
                    assert not await page.run(PWNED), path
                own = f"http://{viewer.host}"
                foreign = [url for url in page.requests if not url.startswith((f"{own}/", "data:"))]
                return shapes, leads - {own}, foreign, page.complaints

            found.append(chromium.visit(address(viewer, "/"), visit))
    return found


def test_there_are_forty_texts_that_are_hostile():
    assert len(set(TEXTS)) >= 40
    assert len(set(TEXTS)) == len(set(HARMLESS)) == len(TEXTS)


def test_no_page_of_hostile_texts_has_another_shape(looked_at):
    (harmless, *_), (hostile, *_) = looked_at
    assert len(hostile) > len(TEXTS)
    known = {element for shape in harmless.values() for element in shape} | DIFFERING
    assert len(known) > 50
    assert {path: {*shape} - known for path, shape in hostile.items() if not {*shape} <= known} == {}


def test_no_page_of_hostile_texts_leads_or_asks_elsewhere_or_makes_the_browser_complain(looked_at):
    for _, leads, foreign, complaints in looked_at:
        assert (leads, foreign, complaints) == (set(), [], [])


def test_the_one_file_report_keeps_them_as_text_too(tmp_path, in_browser):
    shapes = []
    for texts in (HARMLESS, TEXTS):
        where = tmp_path / f"{len(shapes)}.db"
        store_texts(where, texts)
        with Store(where) as store:
            runs = sorted(store.runs(), key=lambda run: run.num)
            html = html_report(runs, compare(*runs))

        async def visit(page):
            await page.run("document.querySelectorAll('.open').forEach(each => each.click())")
            await page.run("document.querySelectorAll('details').forEach(each => { each.open = true; })")
            assert not await page.run(PWNED)
            return await page.run(SHAPE), page.requests, page.complaints

        shape, requests, complaints = in_browser(html, visit)
        assert (len(requests), complaints) == (1, [])
        shapes.append({*shape})
    assert shapes[1] - shapes[0] == set()
