"""Which way a call takes: what the environment says, what a model says, and what neither may give away."""

from base64 import b64decode
from pathlib import Path

import pytest

from steelyard import ConfigError, OpenAICompatible
from steelyard.session.routes import Routes, goes_directly
from steelyard.session.secrets import Secrets

PROXY = "http://proxy.example:3128"


def route(url, environ, secrets=None, **fields):
    request = OpenAICompatible("m", url, **fields).request("q", {})
    return Routes(Secrets([], {}) if secrets is None else secrets, environ).of(request)


@pytest.mark.parametrize(
    ("endpoint", "no_proxy", "directly"),
    [
        ("https://api.example", "", False),
        ("https://api.example", "*", True),
        ("https://api.example", "API.example", True),
        ("https://v2.api.example", "api.example", True),
        ("https://v2.api.example", ".api.example", True),
        ("https://v2.api.example", "*.api.example", True),
        ("https://myapi.example", "api.example", False),
        ("https://api.example", "other.example api.example", True),
        ("https://api.example", "other.example,api.example:443", True),
        ("https://api.example:8443", "api.example:443", False),
        ("http://10.1.2.3:8000", "10.0.0.0/8", True),
        ("http://11.1.2.3:8000", "10.0.0.0/8", False),
        ("http://10.1.2.3:8000", "10.1.2.3", True),
        ("http://[::1]:8000", "::1", True),
        ("http://[::1]:8000", "[::1]:8000", True),
        ("http://[::1]:8000", "[::1]:9000", False),
        ("http://localhost:8000", "127.0.0.1", False),
    ],
)
def test_no_proxy_lists_hosts_domains_networks_and_ports(endpoint, no_proxy, directly):
    assert goes_directly(endpoint, no_proxy) is directly


@pytest.mark.parametrize(
    ("url", "environ", "proxy", "source"),
    [
        ("https://a.example", {"HTTPS_PROXY": PROXY}, PROXY, "HTTPS_PROXY"),
        ("http://a.example", {"HTTPS_PROXY": PROXY}, "", ""),
        ("http://a.example", {"HTTP_PROXY": "proxy.example:3128"}, PROXY, "HTTP_PROXY"),
        ("https://a.example", {"HTTPS_PROXY": "http://upper.example", "https_proxy": PROXY}, PROXY, "https_proxy"),
        ("https://a.example", {"ALL_PROXY": PROXY}, PROXY, "ALL_PROXY"),
        ("https://a.example", {"HTTPS_PROXY": PROXY, "no_proxy": "a.example"}, "", ""),
        ("http://127.0.0.1:80", {"HTTP_PROXY": PROXY}, PROXY, "HTTP_PROXY"),
    ],
)
def test_the_environment_names_the_proxy_of_a_scheme(url, environ, proxy, source):
    found = route(url, environ)
    assert (found.proxy, found.source) == (proxy, source)
    assert found.options.get("proxy", "") == proxy


def test_a_models_proxy_wins_over_the_environment():
    environ = {"HTTPS_PROXY": "http://other.example", "NO_PROXY": "*"}
    assert route("https://a.example", environ, proxy=PROXY).proxy == PROXY
    for none in ("none", "None", "NONE"):
        assert route("https://a.example", environ | {"NO_PROXY": ""}, proxy=none).proxy == ""


def sent_by(found):
    return b64decode(found.options["proxy_headers"]["Authorization"].removeprefix("Basic ")).decode()


def test_a_password_is_resolved_behind_the_address_and_may_hold_any_character():
    secrets = Secrets(["PW"], {"PW": "a@b/c:d#e%41"})
    found = route("https://a.example", {}, secrets, proxy="http://me:${PW}@proxy.example:3128")
    assert (found.options["proxy"], found.proxy) == (PROXY, PROXY)
    assert sent_by(found) == "me:a@b/c:d#e%41"
    assert "a@b" not in str(found)


def test_a_password_of_the_environment_is_decoded_and_hidden():
    secrets = Secrets([], {})
    found = route("https://a.example", {"HTTPS_PROXY": "http://me:pass%40word-12@proxy.example:3128"}, secrets)
    assert sent_by(found) == "me:pass@word-12"
    assert secrets.redact_text("pass@word-12 pass%40word-12 bWU6cGFzc0B3b3JkLTEy").count("[secret HTTPS_PROXY]") == 3


def test_a_socks_proxy_is_refused_with_the_way_out():
    with pytest.raises(ConfigError, match=r"ALL_PROXY names a SOCKS proxy.*proxy: none"):
        route("https://a.example", {"ALL_PROXY": "socks5://127.0.0.1:1080"})


def test_a_file_of_the_environment_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"SSL_CERT_FILE: .*missing.pem cannot be read"):
        route("https://a.example", {"SSL_CERT_FILE": str(tmp_path / "missing.pem")})


def test_neither_proxy_nor_authorities_are_part_of_what_is_asked():
    plain = OpenAICompatible("m", "https://a.example").request("q", {})
    routed = OpenAICompatible("m", "https://a.example", proxy=PROXY, ca_file=Path("ca.pem")).request("q", {})
    assert plain.digest == routed.digest
