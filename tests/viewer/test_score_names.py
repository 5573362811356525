"""Scores and groups of any name: every page of a run is shown, and its links lead to what they count."""

from __future__ import annotations

import html
import re
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from tests.viewer.conftest import serving

from steelyard import Sample, Score, evaluate
from steelyard.types import ScoreInfo

NAMES = (
    *(
        "latency<5s",
        "p=1",
        "a and b",
        "precision@5",
        'x"y',
        "it's",
        "both \" and '",
        "back\\slash",
        "or",
        "and",
        "wrong",
    ),
    *(
        "group",
        "id",
        "label:cause",
        "regression",
        "-f1",
        " f1 ",
        "准确率 ≥ 1",
        "a%20b",
        "a/b?c#d",
        "<b>",
        "errors and wrong",
    ),
)


MEANING_SOMETHING_IN_A_LINK = (
    "p=1",
    "both \" and '",
    "back\\slash",
    " f1 ",
    "准确率 ≥ 1",
    "a%20b",
    "a/b?c#d",
    "<b>",
    "wrong",
)
"""Each page has twenty links; what any name means in a condition or an order is asked once of the cards."""


class Named:
    """A score of a name: 1 for the first sample alone; of the name "other" for the rest alone."""

    def __init__(self, name):
        self.score_infos = [ScoreInfo(name, (0, 1), threshold=0.5)]

    def __call__(self, sample, _):
        name = self.score_infos[0].name
        return Score(name, float((sample.id == "1") == (name != "other")))


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """A viewer of a run for each name, and the run of each."""
    where = tmp_path_factory.mktemp("names") / "store.db"
    samples = [Sample("1", "q"), Sample("2", "r"), Sample("3", "r")]
    runs = {
        name: evaluate(lambda _: "x", samples, [Named(name), Named("other")], name=f"suite {name}", store=where).id
        for name in NAMES
    }
    groups = [Sample(str(no), "q", group=name) for no, name in enumerate(NAMES)]
    runs["groups"] = evaluate(lambda _: "x", groups, [Named("f1")], name="groups", store=where).id
    with serving(where) as viewer:
        yield viewer, runs


def links_of(text):
    return {html.unescape(link) for link in re.findall(r'href="(/[^"#]*)', text)}


def faults(page):
    """What a page says of a condition or an order that it does not understand."""
    return re.findall(r'<p[^>]* role="alert">(.*?)</p>', page)


@pytest.mark.parametrize("name", [*MEANING_SOMETHING_IN_A_LINK, "groups"])
def test_every_link_of_the_page_of_a_run_leads_somewhere(shown, name):
    viewer, runs = shown
    status, _, text = viewer.ask(f"/run/{runs[name]}")
    assert (status, faults(text)) == (200, [])
    links = {
        link for link in links_of(text) if re.search(r"[?&](?:where|score|sort|columns)=|^/(?:history|save)", link)
    }
    answers = {link: viewer.ask(link) for link in links}
    assert {link: status for link, (status, _, _) in answers.items() if status != 200} == {}
    assert {link: faults(page) for link, (_, _, page) in answers.items() if faults(page)} == {}
    conditions = {parse_qs(urlsplit(link).query).get("where", [""])[0] for link in links} - {""}
    if name == "groups":
        counts = [viewer.store.run(runs[name]).page(where=where).total for where in conditions if "group" in where]
        assert counts == [1] * len(NAMES)
    else:
        (failing,) = (where for where in conditions if where.rstrip("0123456789. ").endswith("<"))
        (passing,) = conditions - {"wrong", failing}
        run = viewer.store.run(runs[name])
        assert (run.page(where=failing).total, run.page(where=passing).total) == (2, run.done - 2)


@pytest.mark.parametrize("name", NAMES)
def test_cards_sorting_and_completions_name_the_score(shown, name):
    viewer, runs = shown
    run = viewer.store.run(runs[name])
    text = viewer.ask(f"/run/{run.id}")[2]
    completions = {html.unescape(value) for value in re.findall(r'<option value="([^"]*)"', text)}
    (below,) = [value for value in completions if value.endswith(" < ") and value != "other < "]
    assert run.page(where=f"{below}0.5").total == 2
    assert run.page(where=f"wrong and {below}0.5 and {below}1").total == 2
    for sort, at in ((f"-{name}", 0), (name, -1)):
        status, _, page = viewer.ask(f"/run/{run.id}?{urlencode({'sort': sort})}")
        assert status == 200
        if name not in {"group", "id"}:  # these are fields, too, by which it sorts
            assert faults(page) == []
            records = run.page(n=50, sort=sort).records
            assert records[at].sample.id == "1"
