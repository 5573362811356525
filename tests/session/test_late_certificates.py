"""The system's certificates are read when a connection needs them, and then every connection has them."""

import os
import shutil
import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from steelyard.session.late_certificates import LateContext, late_certificates

NEW_KEY = ("-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
GET = """
import asyncio, sys
from steelyard.session.late_certificates import LateContext
import steelyard.session.wire, aiohttp, aiohttp.connector

async def get():
    async with aiohttp.ClientSession() as client:
        return (await client.get(sys.argv[1])).status

made = [value for value in vars(aiohttp.connector).values() if isinstance(value, LateContext)]
print(len(made), asyncio.run(get()), sum(type(context) is LateContext for context in made))
"""
"""Any other code of a process that uses aiohttp: a context of its own it does not give."""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    names = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", path, "-out", path)
    subprocess.run(["openssl", "req", *NEW_KEY, *names], check=True, capture_output=True)
    return path


@pytest.fixture(scope="module")
def url(certificate):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"https://localhost:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def get(url, **environ):
    command = [sys.executable, "-c", GET, url]
    return subprocess.run(command, env=os.environ | environ, capture_output=True, text=True, check=False)


def test_other_code_that_uses_aiohttp_trusts_the_system_and_nobody_else(certificate, url):
    trusting = get(url, SSL_CERT_FILE=str(certificate))
    # Two contexts were made late, the one that was used is a usual one now.
    assert trusting.stdout.split() == ["2", "204", "1"], trusting.stderr
    assert "CERTIFICATE_VERIFY_FAILED" in get(url).stderr


def test_a_late_context_holds_what_a_usual_one_does():
    with late_certificates():
        late = ssl.create_default_context()
    assert type(late) is LateContext
    assert late.cert_store_stats() == ssl.create_default_context().cert_store_stats()
    assert type(late) is ssl.SSLContext


def test_only_contexts_of_this_thread_and_this_moment_are_late():
    made = []
    with late_certificates():
        thread = threading.Thread(target=lambda: made.append(ssl.create_default_context()))
        thread.start()
        thread.join()
    made.append(ssl.create_default_context())
    assert [type(context) for context in made] == [ssl.SSLContext, ssl.SSLContext]
    assert "set_default_verify_paths" not in vars(ssl.SSLContext)


def test_a_context_class_that_a_program_put_in_place_of_pythons_is_left_alone(monkeypatch):
    class OfKeychain(ssl.SSLContext):
        pass

    monkeypatch.setattr(ssl, "SSLContext", OfKeychain)
    with late_certificates():
        assert type(OfKeychain(ssl.PROTOCOL_TLS_CLIENT)) is OfKeychain
        assert "set_default_verify_paths" not in vars(OfKeychain)
