"""Whatever can be pressed, opened, typed into or chosen on a page works under the page's own policy."""

from __future__ import annotations

import json

import pytest
from tests.browser.conftest import address

CONTROLS = "button, summary, select, input:not([type=hidden]), textarea, [data-row]"
KIND = """
(each => [each.localName, each.name, each.type, each.dataset.key,
  each.value && each.localName === "button" ? each.value : "", each.className,
  each.closest("[id], [class]")?.className].join(" "))
"""
"""What a control is, but for the row that it stands in."""
KINDS = f"""[...document.querySelectorAll("{CONTROLS}")].map({KIND.strip()})"""
THERE = f"""
document.querySelectorAll("details").forEach(each => {{ each.open = true; }}),
{KINDS}.includes({{0}})
"""
"""Whether a page that was opened anew has come as far as a control: some are put in by the page's script."""
FIRE = f"""
(kind => {{
  window.violations = [];
  document.addEventListener("securitypolicyviolation", each => violations.push(each.violatedDirective));
  const control = [...document.querySelectorAll("{CONTROLS}")].find(each => {KIND.strip()}(each) === kind);
  if (control.matches("select")) {{
    control.selectedIndex = control.options.length - 1;
    control.dispatchEvent(new Event("change", {{ bubbles: true }}));
  }} else if (control.matches("input:not([type=checkbox]), textarea")) {{
    control.focus();
    control.value = "errors";
    control.dispatchEvent(new Event("input", {{ bubbles: true }}));
    control.dispatchEvent(new Event("change", {{ bubbles: true }}));
  }}
  if (!control.matches("select, input:not([type=checkbox]), textarea")) control.click();
  return violations;
}})({{0}})
"""


async def open_anew(page, url, control):
    """Open an address until a control is there: where what was fired last goes may take the address's place."""
    for _ in range(50):
        try:
            await page.tab.goto(url)
        except Exception as error:
            if "ERR_ABORTED" not in str(error) and "interrupted by another" not in str(error):
                raise
            continue
        there, here = THERE.replace("{0}", json.dumps(control)), json.dumps(url)
        if await page.until(f"({there}) ? 'there' : location.href === {here} ? '' : 'elsewhere'") == "there":
            return
    raise AssertionError(f"never opened: {url}")


@pytest.mark.parametrize("kind", ["exam", "judged"])
def test_every_control_of_every_page_works_under_the_policy(shown, browse, kind):
    there = shown[kind]

    async def visit(page):
        url = page.tab.url
        kinds = await page.run(KINDS)
        violations = []
        for control in dict.fromkeys(kinds):
            await open_anew(page, url, control)
            violations += [(control, each) for each in await page.run(FIRE.replace("{0}", json.dumps(control)))]
        refused = ("status of 404", "status of 422", "status of 405")  # what a form says of nothing that was chosen
        return len(kinds), violations, [each for each in page.complaints if not any(one in each for one in refused)]

    found = {name: browse(address(there.viewer, path), visit) for name, path in there.pages().items()}
    assert min(fired for fired, _, _ in found.values()) > 1
    assert {name: each for name, (_, *each) in found.items() if each != [[], []]} == {}


def test_a_violation_would_be_seen(shown, browse):
    async def visit(page):
        await page.run("document.querySelector('h1').setAttribute('style', 'color: red')")
        return page.complaints

    complaints = browse(address(shown["exam"].viewer, "/"), visit)
    assert any("Content Security Policy" in each for each in complaints)
