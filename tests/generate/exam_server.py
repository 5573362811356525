"""A model on loopback that sets exams, in a thread of its own: each reply is made from the prompt by a function.

    with exam_server(Exam()) as server: ...; server.asked

`Exam` tells the three prompts apart as a reader would: by what they ask for. Its fields say how each is answered; a
text, or one of `said(...)`, `failed(500)`.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from tests.threaded_server import serving


def said(text, *, finish="stop"):
    """A whole answer's status and body."""
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": finish}
    return 200, {"model": "exam", "choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 20}}


def failed(status=400, message="on purpose"):
    return status, {"error": {"message": message}}


def step_of(prompt):
    """`questions`, `check` or `answer`: what a prompt asks for."""
    if re.search(r"Reply with a numbered list|带编号的列表", prompt):
        return "questions"
    return "check" if re.search(r'alone on the last line, "Verdict: YES"|单独写“结论：是”', prompt) else "answer"


def fenced(prompt, name):
    """What stands between the marks called `name`."""
    return re.search(rf"^<{name} (\w+)>\n(.*?)\n</{name} \1>$", prompt, re.DOTALL | re.MULTILINE)[2]


@dataclass
class Exam:
    """What the model says: `questions(text, count)`, `answer(text, question)` and `check(text, question)`."""

    questions: object = lambda text, count: numbered(
        f"What does {text.split()[1]} fact {no} say?" for no in range(count)
    )
    answer: object = lambda text, question: f"The answer to: {question}"
    check: object = lambda text, question: "YES\nIt does."

    def __call__(self, prompt):
        text, step = fenced(prompt, "text"), step_of(prompt)
        if step == "questions":
            return self.questions(text, int(re.search(r"(?:exactly|恰好) (\d+) ", prompt)[1]))
        return getattr(self, step)(text, fenced(prompt, "question"))


def numbered(questions):
    return "\n".join(f"{no}. {one}" for no, one in enumerate(questions, start=1))


@dataclass
class Server:
    url: str = ""
    asked: list[str] = field(default_factory=list)
    hold: threading.Event = field(default_factory=threading.Event)

    def steps(self, name):
        return [request for request in self.asked if step_of(request) == name]


@contextlib.contextmanager
def exam_server(exam, *, held_after=None):
    """Answers until the block ends; after `held_after` requests it answers nobody before `server.hold` is set."""
    server = Server()
    counting = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            prompt = body["messages"][-1]["content"]
            with counting:
                server.asked.append(prompt)
                waits = held_after is not None and len(server.asked) > held_after
            if waits:
                server.hold.wait(30)
            given = exam(prompt)
            status, answer = said(given) if isinstance(given, str) else given
            data = json.dumps(answer).encode()
            with contextlib.suppress(ConnectionError):
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, *args):
            pass

    with serving(Handler) as address:
        server.url = f"{address}/v1"
        try:
            yield server
        finally:
            server.hold.set()
