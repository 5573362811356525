"""A real server on loopback in a thread, for commands that run in the test's own thread: it keeps what it was sent."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from tests.threaded_server import serving


@dataclass
class Log:
    """What came: (path, body) in the order of arrival."""

    url: str = ""
    asked: list[tuple[str, dict]] = field(default_factory=list)

    @property
    def messages(self):
        return [body["messages"] for _, body in self.asked if "messages" in body]

    def of(self, model):
        """The messages that one model was sent."""
        return [body["messages"] for _, body in self.asked if body.get("model") == model]


def completion(text):
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 20, "completion_tokens": 1}
    return {"model": "m", "choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}


def vectors(body):
    data = [{"index": no, "embedding": [1.0, float(no)]} for no in range(len(body["input"]))]
    return {"model": "e", "data": data, "usage": {"prompt_tokens": 5}}


@contextlib.contextmanager
def logging_server(answer):
    """Serve: `answer(path, body)` gives a text, which is a completion's, or a JSON object."""
    log = Log()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            log.asked.append((self.path, body))
            given = vectors(body) if self.path.endswith("/embeddings") else answer(self.path, body)
            sent = json.dumps(completion(given) if isinstance(given, str) else given).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_):
            pass

    with serving(Handler) as address:
        log.url = f"{address}/v1"
        yield log
