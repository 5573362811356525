"""A viewer that is really served on loopback, and requests of any shape to it."""

from __future__ import annotations

import http.client
import re
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from steelyard import Options, Output, Sample, Suite, evaluate_suite
from steelyard.evaluation.evaluate import RunConfig
from steelyard.scorers.choice import Choice
from steelyard.store import Store
from steelyard.viewer.guard import host_name
from steelyard.viewer.server import ViewerOptions, bound, server_of, viewer_app

TOKEN = "T" * 43


@dataclass
class Served:
    """A viewer that answers on `port`."""

    port: int
    access: object
    store: object

    @property
    def host(self):
        """Where its pages are: its own host name with the port."""
        return f"{self.access.own_host}:{self.port}"

    def cookie(self, host):
        """The cookie that a browser has for a host, once it had the token."""
        return f"{self.access.cookie}={self.access.cookie_value(host_name(host))}"

    def ask(self, path, method="GET", *, host="", cookie=True, headers=(), body=None):
        """Status, headers and body of one request, whose headers are sent as they are given."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        host = host or self.host
        connection.putheader("Host", host)
        if cookie:
            connection.putheader("Cookie", self.cookie(host))
        for name, value in headers:
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        content = answer.read().decode()
        connection.close()
        return answer.status, answer.headers, content

    def post(self, path, fields="", *, origin=None, site="same-origin", **more):
        """A form that a page of the viewer, or with another `origin` of somebody else, sends."""
        origin = f"http://{self.host}" if origin is None else origin
        headers = [("Content-Type", "application/x-www-form-urlencoded")]
        headers += [("Origin", origin)] if origin else []
        headers += [("Sec-Fetch-Site", site)] if site else []
        return self.ask(path, "POST", headers=headers, body=fields.encode(), **more)


@contextmanager
def serving(where, **options):
    """A viewer of the store at `where`."""
    chosen = ViewerOptions(port=0, token=TOKEN, **options)
    access = chosen.access
    with Store(where) as store:
        listening = bound(chosen)
        app = viewer_app(store, access, read_only=chosen.read_only)
        server = server_of(app, lifespan="off")
        thread = threading.Thread(target=server.run, kwargs={"sockets": listening})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield Served(listening[0].getsockname()[1], access, store)
        finally:
            server.should_exit = True
            thread.join()


def exam(n):
    """n questions with four options; the key goes A B C D A ..."""
    return [
        Sample(
            f"q{no:04d}", f"Question {no}?", "ABCD"[no % 4], choices=("one", "two", "three", "four"), group=f"g{no % 3}"
        )
        for no in range(n)
    ]


def rows_of(text):
    """Ids of the samples that a page lists."""
    return re.findall(r"/s/(q\d{4})", text)


def first(sample):
    """Right on even numbers."""
    no = int(sample.id[1:])
    return Output(f"The answer is {'ABCD'[no % 4] if no % 2 == 0 else 'A'}.")


def second(sample):
    """Right on every number that 3 divides; every 7th reply cannot be read."""
    no = int(sample.id[1:])
    return Output("Hm." if no % 7 == 6 else f"The answer is {'ABCD'[no % 4] if no % 3 == 0 else 'B'}.")


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A store with two runs over the same 40 questions."""
    where = tmp_path_factory.mktemp("viewer") / "store.db"
    suite = Suite("Exam", "choice", exam(40), {"first": first, "second": second}, (Choice(),), Options(max_errors=0.5))
    evaluate_suite(suite, how=RunConfig(store=where))
    return where


@pytest.fixture(scope="module")
def viewer(stored):
    """A viewer of that store."""
    with serving(stored) as served:
        yield served
