"""The viewer below a prefix, behind nginx: with and without the prefix, with and without TLS."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager

import pytest
from tests.browser.chromium import missing
from tests.browser.processes import free_port, gated_run
from tests.browser.test_following import DONE, finished
from tests.viewer.conftest import TOKEN, serving

PREFIX = "/tools/eval"
CONFIGURATION = """
daemon off;
pid {folder}/pid;
error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
    server {{
        listen 127.0.0.1:{port}{tls};
        {certificate}
        location {prefix}/ {{
            proxy_pass http://127.0.0.1:{viewer}{path};
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-Proto $scheme;
        }}
    }}
}}
"""


@contextmanager
def nginx(folder, viewer, *, strips, tls):
    """A proxy in front of a viewer's port; gives its address."""
    program = shutil.which("nginx", path=os.pathsep.join([os.environ["PATH"], "/usr/sbin"]))
    if program is None:
        missing("there is no nginx here: `sh tools/browser.sh` installs it")
    port, certificate = free_port(), ""
    if tls:
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "1"]
        subprocess.run(
            [*command, "-keyout", folder / "key", "-out", folder / "certificate"], check=True, capture_output=True
        )
        certificate = f"ssl_certificate {folder}/certificate; ssl_certificate_key {folder}/key;"
    configuration = folder / "nginx.conf"
    configuration.write_text(
        CONFIGURATION.format(
            folder=folder,
            port=port,
            viewer=viewer,
            prefix=PREFIX,
            path="/" if strips else "",
            tls=" ssl" if tls else "",
            certificate=certificate,
        )
    )
    process = subprocess.Popen([program, "-e", "stderr", "-c", configuration], stderr=subprocess.PIPE, text=True)
    try:
        _wait_for(port, process)
        yield f"{'https' if tls else 'http'}://localhost:{port}{PREFIX}"
    finally:
        process.terminate()
        process.communicate()


def _wait_for(port, process):
    for _ in range(200):
        with socket.socket() as attempt:
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.05)
    raise AssertionError("nginx does not answer")


@pytest.mark.parametrize(("strips", "tls"), [(True, False), (False, False), (True, True)])
def test_the_viewer_works_below_a_prefix(tmp_path, browse, strips, tls):
    store = tmp_path / "live.db"
    with (
        gated_run(store) as run,
        serving(store, root_path=PREFIX) as viewer,
        nginx(tmp_path, viewer.port, strips=strips, tls=tls) as address,
    ):

        async def visit(page):
            await page.until(f"{DONE} > 25", 30)
            done = await finished(page, run)  # events come through at once: nginx would keep them back
            await page.tab.click("tbody th a")
            await page.until("document.title.startsWith('gated') && document.readyState === 'complete'")
            await page.tab.fill("[name=where]", "wrong")
            await page.tab.press("[name=where]", "Enter")
            await page.until("location.search.includes('where=wrong')")
            await page.tab.fill("[name=text]", "through the proxy")
            await page.tab.fill("[name=author]", "Ann")
            await page.tab.click("form[action$='/notes'] [type=submit]")
            await page.until("location.hash === '#notes' && document.querySelector('.note') !== null")
            await page.tab.click("a.brand")
            await page.until("document.title === 'Runs · Steelyard'")
            # Only the first address is that of localhost: the pages have a host name of their own.
            own = address.replace("localhost", viewer.access.own_host)
            foreign = [url for url in page.requests[1:] if not url.startswith((own, "data:"))]
            return done, await page.run("location.pathname"), foreign, page.complaints

        found = browse(f"{address}/live/{run.id}?token={TOKEN}", visit, ignore_https_errors=tls)
        (stored,) = viewer.store.runs()
        assert [note.text for note in stored.remarks().notes] == ["through the proxy"]
    assert found == (100, f"{PREFIX}/", [], [])
