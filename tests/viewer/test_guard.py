"""Who may use the viewer: hosts, tokens, origins, sizes, and the headers of every answer."""

from __future__ import annotations

import socket

import pytest
from tests.viewer.conftest import TOKEN, serving

from steelyard.errors import ConfigError
from steelyard.viewer.guard import MOST_BYTES, Access, host_name
from steelyard.viewer.server import ViewerOptions


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "LOCALHOST:1", "127.0.0.1:65535", "[::1]:8080"])
def test_loopback_is_served_on_any_port(viewer, host):
    assert viewer.ask("/", host=host)[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        *(
            "evil.example",
            "evil.example:7533",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "localhost@evil.example",
        ),
        *(
            "evil.example@localhost",
            "127.0.0.2",
            "0.0.0.0",
            "[::]",
            "localhost:port",
            "local host",
            "localhost/",
            "::1",
        ),
        *(
            "localhost#",
            "localhost?",
            "127.1",
            "2130706433",
            "[::ffff:127.0.0.1]",
            "localhost.",
            "ⓛocalhost".encode().decode("latin-1"),
        ),
    ],
)
def test_any_other_host_is_refused(viewer, host):
    status, _, text = viewer.ask("/", host=host)
    assert status in {400, 403}
    assert "Exam" not in text


def test_a_second_host_header_is_refused(viewer):
    with socket.create_connection(("127.0.0.1", viewer.port), timeout=10) as raw:
        raw.sendall(
            f"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n"
            f"Cookie: {viewer.access.cookie}={TOKEN}\r\nConnection: close\r\n\r\n".encode()
        )
        answer = b""
        while more := raw.recv(65536):
            answer += more
    assert answer.split()[1] in {b"400", b"403"}
    assert b"Exam" not in answer


def test_a_host_that_was_named_is_served(stored):
    with serving(stored, hosts=("Box.Example",)) as served:
        assert served.ask("/", host="box.example:80")[0] == 200
        assert served.ask("/", host="other.example")[0] == 403


def test_nothing_is_shown_without_the_token(viewer):
    for path in ("/", "/run/x", "/?token=", "/?token=" + "T" * 42, "/?token=" + "U" * 43, "/static/0/viewer.css"):
        status, headers, text = viewer.ask(path, cookie=False)
        assert status == 401
        assert "set-cookie" not in headers
        assert "Exam" not in text


def test_the_token_of_the_address_becomes_a_strict_cookie(viewer):
    status, headers, _ = viewer.ask(f"/?suite=Exam&token={TOKEN}", cookie=False)
    assert (status, headers["location"]) == (303, "/?suite=Exam")
    cookie = headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert viewer.ask("/", cookie=False, headers=[("Cookie", headers["set-cookie"].split(";")[0])])[0] == 200


def test_an_address_that_another_site_links_to_is_loaded_anew_by_our_own_page(viewer):
    headers = [("Sec-Fetch-Site", "cross-site")]
    status, answered, _ = viewer.ask(f"/?token={TOKEN}", cookie=False, headers=headers)
    assert (status, answered["refresh"]) == (200, "0; url=/")


def test_the_token_leads_to_no_other_site(viewer):
    for path in (f"//evil.example/?token={TOKEN}", f"/\\evil.example?token={TOKEN}", f"///evil.example?token={TOKEN}"):
        status, headers, _ = viewer.ask(path, cookie=False)
        assert status != 303 or headers["location"].startswith("/evil.example")


def test_a_token_in_a_form_is_none(viewer):
    assert viewer.post(f"/?token={TOKEN}", cookie=False)[0] == 401


@pytest.mark.parametrize(
    ("origin", "site"),
    [
        ("http://evil.example", "cross-site"),
        ("http://evil.example", "same-origin"),
        ("http://localhost", None),
        ("https://127.0.0.1", None),
        ("null", "same-origin"),
        ("", None),
        (None, "cross-site"),
        (None, "same-site"),
        (None, "none"),
    ],
)
def test_only_our_own_pages_may_change_something(viewer, origin, site):
    status, _, text = viewer.post("/", origin=origin, site=site)
    assert (status, "only pages of this viewer" in text) == (403, True)


def test_our_own_pages_may(viewer):
    assert viewer.post("/", site=None)[0] == 405  # there is nothing to change, but the guard lets it pass
    assert viewer.post("/")[0] == 405


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "QUERY"])
def test_other_methods_are_refused(viewer, method):
    assert viewer.ask("/", method)[0] == 405


def test_a_large_body_is_refused(viewer):
    origin = ("Origin", f"http://127.0.0.1:{viewer.port}")
    assert viewer.ask("/", "POST", headers=[origin, ("Content-Length", str(MOST_BYTES + 1))])[0] == 413
    assert viewer.ask("/", "POST", headers=[origin, ("Content-Length", "many")])[0] in {400, 413}


def test_every_answer_has_the_headers(viewer):
    nonces = set()
    for path, cookie in (
        ("/", True),
        ("/", False),
        ("/nowhere", True),
        (f"/?token={TOKEN}", False),
        ("/static/0/x", True),
    ):
        _, headers, _ = viewer.ask(path, cookie=cookie)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        nonces.add(policy.split("'nonce-")[1].split("'")[0])
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers or "steelyard" not in headers["server"].lower()
    assert len(nonces) == 5


def test_an_address_below_a_prefix_keeps_it(stored):
    with serving(stored, root_path="/tools/eval") as served:
        status, headers, _ = served.ask(f"/tools/eval/?token={TOKEN}", cookie=False)
        assert (status, headers["location"]) == (303, "/tools/eval/")
        assert "Path=/tools/eval" in headers["set-cookie"]
        for path in ("/tools/eval/", "/tools/eval", "/"):  # some proxies remove the prefix
            status, _, text = served.ask(path)
            assert (status, 'href="/tools/eval/run/' in text) == (200, True)
        assert served.ask("/tools/evaluation")[0] == 404


@pytest.mark.parametrize(("header", "name"), [("A:1", "a"), ("[::1]:2", "[::1]"), ("a:b", ""), ("", ""), ("a@b", "")])
def test_a_host_header_has_a_name_or_is_malformed(header, name):
    assert host_name(header) == name


def test_all_interfaces_need_a_name():
    with pytest.raises(ConfigError, match="--allow-host"):
        ViewerOptions(host="0.0.0.0")  # it is refused
    assert ViewerOptions(host="0.0.0.0", hosts=("box",)).access.is_host("box:7533")  # nothing is bound


def test_a_token_is_new_each_time_and_long():
    tokens = {Access().token for _ in range(50)}
    assert len(tokens) == 50
    assert min(map(len, tokens)) == 43
