"""What is served as it is: the vendored scripts are the published ones, and the keys are those of the documentation."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import steelyard.viewer
from steelyard.viewer.keys import KEYS

HTMX = {
    "htmx.min.js": "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130",
    "hx-csp.min.js": "a7e1e6711ae6c3e50ad300fba7936cbe8d07599cdae313414a179ddd6b26e143",
    "hx-sse.min.js": "18ef2761356ec1fe0bb6d92612315b37517a7c1e9856b661c5ae81fef239d103",
}
"""SHA-256 of the files of htmx.org 4.0.1 as its registry has them."""
FOLDER = Path(steelyard.viewer.__path__[0])
DOCS = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "viewer.md"


def test_the_vendored_scripts_are_the_published_ones():
    vendored = {path.name: path for path in (FOLDER / "static" / "htmx").glob("*.js")}
    assert {name: sha256(path.read_bytes()).hexdigest() for name, path in vendored.items()} == HTMX
    assert "Zero-Clause BSD" in (FOLDER / "static" / "htmx" / "LICENSE").read_text(encoding="utf-8")


def test_htmx_comes_with_its_extensions_in_one_script(viewer):
    # Scripts of their own may arrive after htmx has looked at the page, which then follows no events.
    page = viewer.ask("/")[2]
    [address] = [part.split('"')[0] for part in page.split('src="')[1:] if "htmx" in part.split('"')[0]]
    script = viewer.ask(address)[2]
    assert [script.count(f'registerExtension("{name}"') for name in ("hx-csp", "sse")] == [1, 1]


def test_the_documentation_has_every_key():
    rows = [line.split(" | ") for line in DOCS.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    documented = {row[0].strip("| `"): row[1].rstrip(" |") for row in rows if len(row) == 2}
    assert {key.name: key.does for key in KEYS}.items() <= documented.items()


def test_templates_hold_no_inline_script_style_or_handler():
    for template in (FOLDER / "templates").glob("*.j2"):
        text = template.read_text(encoding="utf-8")
        for forbidden in (" style=", "hx-on", "js:", " onclick", "javascript:", "| safe }}{"):
            assert forbidden not in text, (template.name, forbidden)
