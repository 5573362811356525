"""The browser that `steelyard view` starts is given a private file, not the token."""

from __future__ import annotations

import contextlib
import http.client
import os
import select
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest
from tests.browser.processes import ROOT
from tests.viewer.conftest import TOKEN

from steelyard.viewer import browser_start

NOTING = """#!/bin/sh
umask 077
printf '%s' "$*" > {noted}.partial
mv {noted}.partial {noted}
sleep 60
"""


def awaited(path):
    deadline = time.monotonic() + 60
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return path.read_text()


@pytest.fixture
def view(tmp_path, stored):
    """Start a viewer whose browser notes its arguments and stays open; gives the process, its address and them."""
    started = []

    def start(home):
        noted, program = tmp_path / "noted", tmp_path / "program"
        program.write_text(NOTING.format(noted=noted))
        program.chmod(0o755)
        process = subprocess.Popen(
            [sys.executable, "-c", "from steelyard.cli import main; main()", "view", "--port=0", "--store", stored],
            cwd=ROOT,
            env={**os.environ, "BROWSER": str(program), "HOME": str(home), "TMPDIR": str(tmp_path / "temporary")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        assert select.select([process.stdout], [], [], 60)[0]
        return process, process.stdout.readline().split()[-1], awaited(noted)

    (tmp_path / "temporary").mkdir()
    yield start
    for process in started:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.parametrize(("has_snap", "end"), [(False, signal.SIGTERM), (True, signal.SIGINT)])
def test_no_argument_holds_the_token_and_the_viewer_answers_until_it_goes_with_the_file(tmp_path, view, has_snap, end):
    home = tmp_path / "home"
    (home / "snap" if has_snap else home).mkdir(parents=True)
    process, address, argument = view(home)
    token = urlsplit(address).query.removeprefix("token=")
    assert len(token) == 43
    assert token not in argument
    page = Path(url2pathname(urlsplit(argument).path))
    assert f'url={address}"' in page.read_text()
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
    assert page.parent.parent == (home if has_snap else tmp_path / "temporary")
    with contextlib.closing(http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)) as connection:
        connection.request("GET", f"/?{urlsplit(address).query}")
        assert connection.getresponse().status == 303
    os.kill(process.pid, end)
    process.wait(60)
    assert not page.parent.exists()


def test_the_file_leads_a_browser_to_the_runs(tmp_path, monkeypatch, viewer, browse):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BROWSER", "true")
    browser_start.start_browser(f"http://127.0.0.1:{viewer.port}/?token={TOKEN}", failed=lambda: None)
    (page,) = tmp_path.glob("*/viewer.html")

    async def visit(page):
        await page.until("document.title === 'Runs · Steelyard'")
        return await page.run("location.href")

    assert browse(page.as_uri(), visit) == f"http://{viewer.host}/"


def test_where_no_browser_starts_or_no_file_can_be_made_the_viewer_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BROWSER", "false")
    monkeypatch.setattr("webbrowser._tryorder", None)  # it reads $BROWSER once, and another test may have come before
    for folder in (tmp_path, tmp_path / "missing"):
        monkeypatch.setattr("tempfile.tempdir", str(folder))
        told = threading.Event()
        browser_start.start_browser("http://127.0.0.1:1/", failed=told.set)
        assert told.wait(60)


def test_the_file_is_deleted_once_the_browser_had_time_to_read_it(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(browser_start, "_OPEN_S", 0.1)
    monkeypatch.setenv("BROWSER", "false")
    browser_start.start_browser(f"http://127.0.0.1:1/?token={TOKEN}", failed=lambda: None)
    deadline = time.monotonic() + 60
    while list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list(tmp_path.iterdir()) == []
