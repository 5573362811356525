"""Who may use the viewer: hosts, tokens, origins, sizes, and the headers of every answer."""

from __future__ import annotations

import re
import shutil
import socket
from contextlib import ExitStack, suppress
from urllib.parse import quote, unquote

import pytest
from tests.viewer.conftest import TOKEN, serving

from steelyard.errors import ConfigError
from steelyard.viewer.guard import MOST_BYTES, Access, host_name
from steelyard.viewer.server import ViewerOptions, bound, viewer_app

LOOPBACK = ["localhost", "127.0.0.1", "[::1]", "LOCALHOST:1", "127.0.0.1:65535", "[::1]:8080"]


@pytest.mark.parametrize("host", LOOPBACK)
def test_the_token_leads_from_loopback_to_a_host_name_of_the_viewer_at_the_same_port(viewer, host):
    status, headers, _ = viewer.ask(f"/run/x?at=1.1&token={TOKEN}", host=host, cookie=False)
    port = host[len(host_name(host)) :]
    assert (status, headers["location"]) == (
        303,
        f"http://{viewer.access.own_host}{port}/run/x?at=1.1&token={TOKEN}",
    )
    assert "set-cookie" not in headers
    assert viewer.ask("/", host=f"{viewer.access.own_host.upper()}{port}")[0] == 200


@pytest.mark.parametrize("host", LOOPBACK)
def test_on_loopback_itself_there_is_no_page_and_no_cookie_is_worth_anything(viewer, host):
    name = host_name(host)
    values = (TOKEN, *map(viewer.access.cookie_value, (name, viewer.access.own_host)))
    for path in ("/", "/static/0/style.css", "/run/x?token=T"):
        for value in values:
            cookie = ("Cookie", f"{viewer.access.cookie}={value}")
            status, headers, text = viewer.ask(path, host=host, cookie=False, headers=[cookie])
            assert status == 401
            assert not {"location", "set-cookie", "refresh"} & {header.lower() for header in headers}
            assert viewer.access.own_host not in text + str(headers)


def test_the_token_itself_and_the_cookie_of_another_host_are_no_cookie(stored):
    with serving(stored, hosts=("box.example",)) as served:
        for value in (TOKEN, served.access.cookie_value("box.example"), served.access.cookie_value("localhost")):
            cookie = ("Cookie", f"{served.access.cookie}={value}")
            assert served.ask("/", cookie=False, headers=[cookie])[0] == 401
        assert TOKEN not in served.cookie(served.host) + served.cookie("box.example") + served.host


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:1", ""])
def test_a_script_sends_the_token_in_a_header(viewer, host):
    for sent, status in ((f"Bearer {TOKEN}", 200), (f"Bearer {TOKEN[1:]}", 401), (TOKEN, 401), ("Bearer ", 401)):
        headers = [("Authorization", sent)]
        assert viewer.ask("/", host=host, cookie=False, headers=headers)[0] == status
        assert viewer.ask("/", "POST", host=host, cookie=False, headers=headers)[0] == 403, "it has no origin"


def test_the_host_name_cannot_be_guessed_and_stays_as_long_as_the_token():
    hosts = {Access().own_host for _ in range(50)}
    assert len(hosts) == 50
    assert Access(TOKEN).own_host == Access(TOKEN).own_host
    assert all(re.fullmatch(r"steelyard-[0-9a-f]{32}\.localhost", host) for host in hosts)


@pytest.mark.parametrize("host", ["steelyard-0.localhost", "a.localhost:7533", "a.b.localhost"])
def test_under_the_host_name_of_another_token_a_page_says_what_to_do(viewer, host):
    status, _, text = viewer.ask(f"/?token={TOKEN}", host=host)
    assert (status, "Open the address" in text) == (401, True)


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


def test_a_refusal_is_short_however_long_the_host_is(viewer):
    _, _, text = viewer.ask("/", host="é" * 20_000)
    assert len(text) < 2_000


def test_a_second_host_header_is_refused(viewer):
    with socket.create_connection(("127.0.0.1", viewer.port), timeout=10) as raw:
        raw.sendall(
            f"GET / HTTP/1.1\r\nHost: {viewer.host}\r\nHost: evil.example\r\n"
            f"Cookie: {viewer.cookie(viewer.host)}\r\nConnection: close\r\n\r\n".encode()
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
    for path in ("/", "/run/x", "/?token=", "/?token=" + "T" * 42, "/?token=" + "U" * 43, "/static/0/style.css"):
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


@pytest.mark.parametrize("foreign", ['view={"a": 1}', "filters[x]=1", "a b=1,2", "=;;", "noname", 'q="', "a@b={}"])
def test_cookies_of_other_servers_of_the_host_lock_nobody_out(viewer, foreign):
    ours = viewer.cookie(viewer.host)
    for cookies in (f"{foreign}; {ours}", f"{ours}; {foreign}"):
        assert viewer.ask("/", cookie=False, headers=[("Cookie", cookies)])[0] == 200
    assert viewer.ask("/", cookie=False, headers=[("Cookie", f"{foreign}; {ours[:-1]}")])[0] == 401


def test_an_address_that_another_site_links_to_is_loaded_anew_by_our_own_page(viewer):
    headers = [("Sec-Fetch-Site", "cross-site")]
    status, answered, _ = viewer.ask(f"/?token={TOKEN}", cookie=False, headers=headers)
    assert (status, answered["refresh"]) == (200, "0; url=/")


@pytest.mark.parametrize("site", ["none", "cross-site"])
@pytest.mark.parametrize("ident", ["a?b=1", "a#b", "100%", "%41", "易", "é", "two\r\nlines", "a/b", '"<b>'])
def test_an_address_of_a_sample_with_a_token_leads_to_that_sample(viewer, site, ident):
    headers = [("Sec-Fetch-Site", site)]
    path = f"/run/x/s/{quote(ident, safe='')}"
    status, answered, _ = viewer.ask(f"{path}?at=1.1&token={TOKEN}", cookie=False, headers=headers)
    assert status == (200 if site == "cross-site" else 303)
    to = answered["refresh"].partition("url=")[2] if site == "cross-site" else answered["location"]
    led, _, query = to.partition("?")
    assert (unquote(led), query) == (unquote(path), "at=1.1")


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
        ("http://127.0.0.1", None),
        ("http://a.localhost", "cross-site"),
        ("https://a.localhost", None),
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
    origin = ("Origin", f"http://{viewer.host}")
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


def test_a_token_is_kept_in_a_file_that_nobody_else_can_read(tmp_path):
    file = tmp_path / "token"
    first = ViewerOptions(token_file=file).access
    assert file.stat().st_mode & 0o777 == 0o600
    assert ViewerOptions(token_file=file).access.token == first.token == file.read_text().strip()
    assert first.token not in repr(first)


@pytest.mark.parametrize(
    ("content", "mode", "says"),
    [
        ("T" * 43, 0o640, "others can read"),
        ("T" * 43, 0o604, "others can read"),
        ("", 0o600, "no token"),
        ("short", 0o600, "no token"),
        ("T" * 42 + ";", 0o600, "no token"),
        ("T" * 43 + "\n" + "T" * 43, 0o600, "no token"),
    ],
)
def test_a_file_that_is_no_token_of_ours_is_refused_and_kept(tmp_path, content, mode, says):
    file = tmp_path / "token"
    file.write_text(content)
    file.chmod(mode)
    with pytest.raises(ConfigError, match=says):
        _ = ViewerOptions(token_file=file).access
    assert file.read_text() == content


def test_a_token_file_that_cannot_be_made_or_is_none_is_refused(tmp_path):
    for file in (tmp_path, tmp_path / "missing" / "token"):
        with pytest.raises(ConfigError, match="--token-file"):
            _ = ViewerOptions(token_file=file).access


def test_an_address_is_answered_as_soon_as_it_is_known():
    with ExitStack() as closing:  # no server runs yet
        for listening in bound(ViewerOptions(port=0)):
            socket.create_connection(closing.enter_context(listening).getsockname()[:2], timeout=10).close()


def test_a_token_is_new_each_time_and_long():
    tokens = {Access().token for _ in range(50)}
    assert len(tokens) == 50
    assert min(map(len, tokens)) == 43


def test_no_get_writes(tmp_path, stored):
    copied = tmp_path / "store.db"
    shutil.copy(stored, copied)
    with serving(copied) as served:
        runs = served.store.runs()
        content = copied.read_bytes()
        one, two = (run.id for run in runs)
        pages = ["/", f"/run/{one}?where=wrong&search=a", f"/run/{one}?where=regression&against={two}", "/history/Exam"]
        pages += [f"/run/{one}/s/q0001", f"/compare?a={one}&b={two}", f"/live/{one}", f"/live/{one}/events"]
        for path in (*pages, f"/run/{one}/notes?text=x&author=y"):
            assert served.ask(path)[0] == (405 if "notes" in path else 200)
        assert served.store._writer is None
        assert copied.read_bytes() == content
        assert not copied.with_name("store.db-wal").exists() or not copied.with_name("store.db-wal").stat().st_size


def test_a_body_without_a_length_is_cut_off_where_it_grows_too_large(viewer):
    head = (
        f"POST /run/x/notes HTTP/1.1\r\nHost: {viewer.host}\r\nOrigin: http://{viewer.host}\r\n"
        f"Cookie: {viewer.cookie(viewer.host)}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )
    run = viewer.store.runs()[0].id
    with socket.create_connection(("127.0.0.1", viewer.port), timeout=10) as raw:
        raw.sendall(head.replace("/run/x/", f"/run/{run}/").encode())
        chunk = b"x" * 65_536
        with suppress(BrokenPipeError, ConnectionResetError):  # it does not read what it refuses
            for _ in range(MOST_BYTES // len(chunk) + 2):
                raw.sendall(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            raw.sendall(b"0\r\n\r\n")
        assert raw.recv(65536).split()[1] == b"413"
    assert not viewer.store.runs()[0].remarks().notes


@pytest.mark.parametrize(
    "path",
    [
        "/static/x/../../viewer/server.py",
        "/static/x/..%2f..%2fserver.py",
        "/static/%2e%2e/style.css%00.py",
        "/static/x//etc/passwd",
        "/static/x/%2fetc%2fpasswd",
        "/static/x/htmx/htmx.min.js",
        "/static/x/__init__.py",
        "/static/../../../../etc/passwd",
        "/../../etc/passwd",
        "//etc/passwd",
        "/run/..%2f..%2fetc%2fpasswd",
        "/live/..%5c..%5cetc",
    ],
)
def test_an_address_is_no_path_of_a_file(viewer, path):
    status, headers, text = viewer.ask(path)
    assert status in {400, 404}
    assert "root:" not in text
    assert "def " not in text
    assert headers["content-type"].startswith("text/")


def has_both_kinds_of_loopback():
    with suppress(OSError), socket.socket(socket.AF_INET6) as other:
        other.bind(("::1", 0))
        return True
    return False


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
@pytest.mark.skipif(not has_both_kinds_of_loopback(), reason="this machine has no IPv6")
def test_both_kinds_of_loopback_are_listened_on_at_one_port_and_no_other_interface(host):
    with ExitStack() as closing:
        names = [closing.enter_context(each).getsockname()[:2] for each in bound(ViewerOptions(port=0, host=host))]
        assert {name for name, _ in names} == {"127.0.0.1", "::1"}
        assert len({port for _, port in names}) == 1
        with socket.socket() as other, pytest.raises(OSError, match=r"refused|assign"):
            other.connect(("127.0.0.2", names[0][1]))


@pytest.mark.skipif(not has_both_kinds_of_loopback(), reason="this machine has no IPv6")
def test_a_port_that_somebody_else_has_on_the_other_kind_of_loopback_is_taken():
    with socket.socket(socket.AF_INET6) as other:
        other.bind(("::1", 0))
        other.listen()
        with pytest.raises(ConfigError, match=r"127\.0\.0\.1 and ::1 port \d+: Address already in use; --port 0"):
            bound(ViewerOptions(port=other.getsockname()[1]))


@pytest.mark.parametrize("host", ["eval.example.org:8080", "https://eval.example.org", "eval.example.org/", ""])
def test_an_allowed_host_that_no_request_could_name_is_refused_at_the_start(host):
    with pytest.raises(ConfigError, match="every port is allowed"):
        ViewerOptions(hosts=(host,))
    assert ViewerOptions(hosts=("Eval.example.org", "[::2]")).access.is_host("eval.example.org:8080")


@pytest.mark.parametrize(
    "prefix",
    ["eval", "/", "/eval/", "//evil.example", "/a//b", "/a?b", "/a#b", "/a;b", "/a b", "/..", "/a/../b", "/a\n"],
)
def test_a_prefix_that_no_address_could_begin_with_is_refused_at_the_start(prefix):
    with pytest.raises(ConfigError, match="a path such as /steelyard is expected"):
        ViewerOptions(root_path=prefix)


@pytest.mark.parametrize("prefix", ["", "/steelyard", "/tools/eval-2_a.b~c", "/a/run", "/..."])
def test_other_prefixes_are_served(prefix):
    assert ViewerOptions(root_path=prefix).access.within(f"{prefix}/run/x") == "/run/x"


def test_a_prefix_that_is_a_path_of_the_viewer_is_refused(viewer):
    with serving(viewer.store.path) as served:
        app = viewer_app(served.store, served.access)._app
    firsts = {route.path.strip("/").partition("/")[0].partition("{")[0] for route in app.routes} - {""}
    assert len(firsts) > 10
    for first in firsts:
        with pytest.raises(ConfigError, match="the viewer has pages of its own at this path"):
            ViewerOptions(root_path=f"/{first}")
