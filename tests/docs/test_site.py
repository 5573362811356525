"""The documentation as `make docs` builds it: complete, and nothing that a page loads comes from elsewhere."""

import os
import re
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "site"
FOREIGN = re.compile(r"(?:[a-z]+:)?//", re.IGNORECASE)
LOADS = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data"}
API = sorted((ROOT / "docs/reference/api").glob("*.md"))


class Assets(HTMLParser):
    """Collects what a page loads; a link that somebody has to click loads nothing."""

    def __init__(self, page):
        super().__init__()
        self.loaded = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag == "link" and "canonical" in (values.get("rel") or ""):
            return
        if values.get(LOADS.get(tag, "")):
            self.loaded.append(values[LOADS[tag]])


@pytest.fixture(scope="module")
def site():
    if not (SITE / "index.html").exists():
        assert os.environ.get("STEELYARD_TEST_SITE") != "required", "there is no site/: run make docs"
        pytest.skip("there is no site/: run make docs")
    return SITE


def foreign(page):
    return [address for address in Assets(page).loaded if FOREIGN.match(address)]


def test_a_font_from_elsewhere_would_be_seen():
    page = '<a href="https://x.org"></a><link rel="stylesheet" href="//fonts.org/a.css"><script src="b.js"></script>'
    assert Assets(page).loaded == ["//fonts.org/a.css", "b.js"]
    assert foreign(page) == ["//fonts.org/a.css"]


def test_pages_load_nothing_from_elsewhere(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 100
    found = {path.name: foreign(path.read_text("utf-8")) for path in pages}
    assert {name: addresses for name, addresses in found.items() if addresses} == {}


def test_styles_load_nothing_from_elsewhere(site):
    styles = sorted(site.rglob("*.css"))
    assert styles
    for path in styles:
        addresses = re.findall(r"(?:url\(|@import )[\s\"']*([^\"')\s]+)", path.read_text("utf-8"))
        assert [address for address in addresses if FOREIGN.match(address)] == []


def test_every_page_of_the_documents_is_in_the_site(site):
    pages = [path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")]
    assert [path for path in pages if not (site / path).exists()] == []


@pytest.mark.parametrize("source", API, ids=lambda path: path.stem)
def test_the_api_page_of_a_namespace_shows_every_public_name(source, site):
    name = source.read_text("utf-8").splitlines()[0].removeprefix("# ")
    page = (site / "reference/api" / f"{source.stem}.html").read_text("utf-8")
    missing = [public for public in import_module(name).__all__ if not re.search(rf'id="[\w.]+\.{public}"', page)]
    assert missing == []
    assert "&gt;&gt;&gt; " not in re.sub(r"<pre.*?</pre>", "", page, flags=re.DOTALL), "a doctest outside of code"
