"""A server of the standard library in a thread, which ends as soon as it is told to."""

from __future__ import annotations

import contextlib
import threading
from http.server import ThreadingHTTPServer


@contextlib.contextmanager
def serving(handler):
    """The address of a server on loopback; by itself it would look only twice a second for the order to end."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
