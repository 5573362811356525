"""A company's network: a real forward proxy (proxy.py), and a server whose certificate a private authority signed."""

from __future__ import annotations

import json
import os
import socket
import ssl
import subprocess
import sys
import threading
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

PASSWORD = "p@ss/w:rd-9f3c1e77"
MAKE_CERTIFICATES = """
import sys, trustme
authority = trustme.CA()
server = authority.issue_cert("localhost")
authority.cert_pem.write_to_path(sys.argv[1] + "/ca.pem")
server.private_key_and_cert_chain_pem.write_to_path(sys.argv[1] + "/server.pem")
"""


class Target:
    """A chat-completions server on loopback: who was connected to it, and what it was sent."""

    def __init__(self, certificate=None):
        self.peers, self.headers = [], []
        target = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                target.peers.append(self.client_address[1])
                target.headers.append(dict(self.headers))
                message = {"role": "assistant", "content": "A"}
                body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.scheme = "https" if certificate else "http"
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.server_close()

    def url(self, host="localhost"):
        return f"{self.scheme}://{host}:{self.port}/v1"


class Proxy:
    """proxy.py in a process of its own; its log names each connection that went through it."""

    def __init__(self, program, folder, *options):
        self.log = folder / f"proxy{len(options)}.log"
        port = folder / f"port{len(options)}"
        self.process = subprocess.Popen(
            [
                program,
                "--port",
                "0",
                "--port-file",
                port,
                "--num-acceptors",
                "1",
                "--num-workers",
                "1",
                "--threadless",
                "--log-file",
                self.log,
                "--data-dir",
                folder / "data",
                *options,
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.url = f"http://127.0.0.1:{_port_in(port, self.process)}"

    def connections(self, port):
        """Lines of the log about connections to `port`; written when a connection is closed."""
        text = self.log.read_text() if self.log.exists() else ""
        return [line for line in text.splitlines() if f":{port}" in line and "127.0.0.1" in line]

    def close(self):
        self.process.terminate()
        self.process.wait(20)


def _port_in(path, process):
    wait = threading.Event()
    for _ in range(600):
        if path.exists() and (text := path.read_text().strip()):
            port = int(text.splitlines()[0])
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return port
        assert process.poll() is None, "the proxy ended"
        wait.wait(0.05)  # another process has no event to wait for
    raise AssertionError("the proxy did not start")


@pytest.fixture(scope="module")
def network(foreign_bin, tmp_path_factory):
    """The proxy, one that wants a password, one that refuses localhost, and the targets behind them."""
    folder = tmp_path_factory.mktemp("network")
    programs = foreign_bin("proxy")
    subprocess.run([programs / "python", "-c", MAKE_CERTIFICATES, folder], check=True)
    refuses = [
        "--plugins",
        "proxy.plugin.FilterByUpstreamHostPlugin",
        "--filtered-upstream-hosts",
        "localhost,127.0.0.1",
    ]
    proxies = {
        "open": Proxy(programs / "proxy", folder),
        "locked": Proxy(programs / "proxy", folder, "--basic-auth", f"me:{PASSWORD}"),
        "refuses": Proxy(programs / "proxy", folder, *refuses),
    }
    targets = []
    yield {"ca": folder / "ca.pem", "certificate": folder / "server.pem", "targets": targets, **proxies}
    for opened in (*targets, *proxies.values()):
        opened.close()


def _target(network, certificate=None):
    """A target whose port no later one gets: the proxies' logs name connections by port, of all tests."""
    target = Target(certificate)
    network["targets"].append(target)
    yield target
    target.server.shutdown()


@pytest.fixture
def tls(network):
    yield from _target(network, network["certificate"])


@pytest.fixture
def plain(network):
    yield from _target(network)


def run(folder, url, model=None, command="run", **environment):
    """The command line on a configuration of two samples, with no proxy and no certificate but those that are given."""
    given = {"name": "m", "base_url": url, "timeout_s": 20, **(model or {})}
    config = {
        "suite": "choice",
        "samples": {"file": "exam.csv", "columns": {"question": "q", "options": ["a", "b"], "answer": "k"}},
        "targets": {"t": {"prompt": {"model": {"openai_compatible": given}}}},
    }
    (folder / "exam.csv").write_text("q,a,b,k\nOne?,x,y,A\nTwo?,x,y,A\n")
    (folder / "exam.yaml").write_text(yaml.safe_dump(config))
    names = ("proxy", "ssl_cert", "ca_bundle")
    kept = {name: value for name, value in os.environ.items() if not any(one in name.lower() for one in names)}
    done = subprocess.run(
        [Path(sys.executable).with_name("steelyard"), command, "exam.yaml"],
        cwd=folder,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"])
def test_https_goes_through_the_proxy_of_the_environment(network, tls, tmp_path, variable):
    given = {variable: network["open"].url, "SSL_CERT_FILE": str(network["ca"])}
    code, text = run(tmp_path, tls.url(), **given)
    assert (code, len(tls.peers)) == (0, 2), text
    assert network["open"].connections(tls.port)


def test_http_goes_through_the_proxy_of_the_environment(network, plain, tmp_path):
    code, text = run(tmp_path, plain.url(), HTTP_PROXY=network["open"].url)
    assert (code, len(plain.peers)) == (0, 2), text
    assert network["open"].connections(plain.port)


@pytest.mark.parametrize("exempt", ["localhost", "*", "example.com, localhost:{port}"])
def test_a_host_in_no_proxy_is_reached_directly(network, tls, tmp_path, exempt):
    environment = {
        "HTTPS_PROXY": network["open"].url,
        "NO_PROXY": exempt.format(port=tls.port),
        "SSL_CERT_FILE": str(network["ca"]),
    }
    code, text = run(tmp_path, tls.url(), **environment)
    assert (code, len(tls.peers)) == (0, 2), text
    assert not network["open"].connections(tls.port)


def test_a_model_names_its_own_proxy_and_authority(network, tls, tmp_path):
    model = {"proxy": network["open"].url, "ca_file": str(network["ca"])}
    code, text = run(tmp_path, tls.url(), model, HTTPS_PROXY="http://127.0.0.1:9", NO_PROXY="*")
    assert (code, len(tls.peers)) == (0, 2), text
    assert network["open"].connections(tls.port)


def test_a_model_may_go_directly_whatever_the_environment_says(network, tls, tmp_path):
    model = {"proxy": "none", "ca_file": str(network["ca"])}
    code, text = run(tmp_path, tls.url(), model, HTTPS_PROXY="http://127.0.0.1:9")
    assert (code, len(tls.peers)) == (0, 2), text


@pytest.mark.parametrize("where", ["model", "environment"])
def test_a_proxy_that_wants_a_password_gets_it_and_nobody_else(network, tls, tmp_path, where):
    address = network["locked"].url.removeprefix("http://")
    model, given = {"ca_file": str(network["ca"])}, {"PROXY_PASSWORD": PASSWORD}
    if where == "model":
        model["proxy"] = f"http://me:${{PROXY_PASSWORD}}@{address}"
    else:
        given = {"HTTPS_PROXY": f"http://me:p%40ss%2Fw%3Ard-9f3c1e77@{address}"}
    code, text = run(tmp_path, tls.url(), model, **given)
    assert (code, len(tls.peers)) == (0, 2), text
    assert network["locked"].connections(tls.port)
    assert all("proxy-authorization" not in {name.lower() for name in headers} for headers in tls.headers)
    _, diagnosed = run(tmp_path, tls.url(), model, "diagnose", **given)
    assert f"through the proxy http://{address}" in diagnosed
    stored = b"".join(path.read_bytes() for path in (tmp_path / ".steelyard").rglob("*") if path.is_file())
    for secret in (PASSWORD, "p%40ss%2Fw%3Ard-9f3c1e77", b64encode(f"me:{PASSWORD}".encode()).decode()):
        assert secret not in text + diagnosed
        assert secret.encode() not in stored


def test_http_through_a_proxy_that_wants_a_password(network, plain, tmp_path):
    address = network["locked"].url.removeprefix("http://")
    model = {"proxy": f"http://me:${{PROXY_PASSWORD}}@{address}", "api_key": "${KEY}"}
    code, text = run(tmp_path, plain.url(), model, PROXY_PASSWORD=PASSWORD, KEY="sk-of-the-endpoint-1")
    assert (code, len(plain.peers)) == (0, 2), text
    assert {headers["Authorization"] for headers in plain.headers} == {"Bearer sk-of-the-endpoint-1"}
    assert network["locked"].connections(plain.port)


def test_a_proxy_without_its_password_ends_the_run_at_once_and_says_so(network, tls, tmp_path):
    code, text = run(tmp_path, tls.url(), {"proxy": network["locked"].url})
    assert (code, tls.peers) == (4, [])
    assert "407" in text
    assert "requires a user and a password" in " ".join(text.split())


def test_a_proxy_that_refuses_the_host_ends_the_run_and_names_the_way_out(network, tls, tmp_path):
    code, text = run(tmp_path, tls.url(), {"proxy": network["refuses"].url})
    assert (code, tls.peers) == (4, [])
    assert "NO_PROXY" in text


def test_a_proxy_that_is_not_there_is_named(tls, tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        code, text = run(tmp_path, tls.url(), {"proxy": address})
    assert (code, tls.peers) == (4, [])
    assert f"the proxy {address} cannot be reached" in " ".join(text.split())


def test_an_authority_that_nobody_trusts_ends_the_run_at_once_and_names_ca_file(tls, tmp_path):
    code, text = run(tmp_path, tls.url())
    assert (code, tls.peers) == (4, [])
    assert "ca_file" in text
    assert "SSL_CERT_FILE" in text


def test_a_certificate_for_another_name_is_not_accepted(network, tls, tmp_path):
    code, text = run(tmp_path, tls.url("127.0.0.1"), {"ca_file": str(network["ca"])})
    assert (code, tls.peers) == (4, [])
    assert "the host name in the address must be the one in the certificate" in " ".join(text.split())


def test_a_file_without_certificates_is_found_with_its_place_before_anything_is_sent(plain, tmp_path):
    (tmp_path / "empty.pem").write_text("nothing\n")
    code, text = run(tmp_path, plain.url(), {"ca_file": "empty.pem"})
    assert (code, plain.peers) == (2, [])
    assert "exam.yaml:" in text
    assert "holds no certificate" in " ".join(text.split())


@pytest.mark.parametrize("proxy", ["http://me:hunter2secret@127.0.0.1:1", "socks5://127.0.0.1:1", "127.0.0.1:port"])
def test_what_is_no_proxy_is_refused_with_its_place_and_without_its_password(plain, tmp_path, proxy):
    code, text = run(tmp_path, plain.url(), {"proxy": proxy})
    assert (code, plain.peers) == (2, [])
    assert "exam.yaml:" in text
    assert "hunter2secret" not in text


def test_keys_of_netrc_are_not_sent(plain, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine localhost login me password from-netrc\n")
    netrc.chmod(0o600)
    code, text = run(tmp_path, plain.url(), NETRC=str(netrc))
    assert (code, len(plain.peers)) == (0, 2), text
    assert all("Authorization" not in headers for headers in plain.headers)
