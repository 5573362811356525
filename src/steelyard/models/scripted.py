"""A model with scripted replies, for tests without a network."""

from __future__ import annotations

import json
import marshal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from steelyard.models.base import Answer, Fault, Request, Wire, as_messages
from steelyard.plain_json import digest_of
from steelyard.prompts.conversation import content_text, question_turn
from steelyard.types import Message, Reply, Usage, estimate_tokens


@dataclass(frozen=True, slots=True)
class Scripted:
    """Replies from a mapping or a function: deterministic, offline and free.

    Args:
        replies: maps the text of the last user message, or a part of it, to the reply. An equal entry wins, else the
            first that occurs in the message, else `default`.
        default: the reply to anything else.
        function: from Python only: gets the messages, returns the reply's text; used where it is given.
        echo: reply to anything else with the text of the last user message, not with `default`.

    >>> model = Scripted({"France": "Paris"}, default="no idea")
    >>> model.read(model.answer("Capital of France?")).text
    'Paris'
    """

    inline: ClassVar[bool] = True
    replies: Mapping[str, str] = field(default_factory=dict)
    default: str = ""
    function: Callable[[list[Message]], str] | None = None
    echo: bool = False

    def request(self, messages: str | list[Message], parameters: Mapping[str, Any]) -> Request:
        """The call; nothing is sent."""
        body = {"messages": as_messages(messages), **parameters}
        payload = json.dumps(body, ensure_ascii=True, default=str).encode()
        return Request(endpoint="scripted:", url=f"scripted:{self._version()}", payload=payload)

    async def send(self, request: Request, wire: Wire) -> Answer:  # noqa: ARG002  # every model is sent over a wire
        """Answer from the script."""
        return self.answer(json.loads(request.payload)["messages"])

    def answer(self, messages: str | list[Message]) -> Answer:
        """The scripted answer to these messages."""
        turns = as_messages(messages)
        if self.function:
            text = self.function(turns)
        else:
            asks = question_turn(turns)
            text = self._look_up("" if asks is None else content_text(turns[asks].get("content")))
        if not isinstance(text, str):
            raise TypeError(f"a scripted reply is a text, not {text!r:.80}")
        return Answer(200, {}, text.encode("utf-8", "surrogatepass"))

    def read(self, answer: Answer) -> Reply:
        """The reply; a status other than 200 is a fault.

        Raises:
            Fault: `server`.
        """
        if answer.status != 200:
            raise Fault("server", f"status {answer.status}")
        text = answer.body.decode("utf-8", "surrogatepass")
        return Reply("", text, usage=Usage(0, estimate_tokens(text), estimated=True))

    def _version(self) -> str:
        """A hash of the script, so that the journal does not return replies of another script."""
        return digest_of([dict(self.replies), self.default, _source_of(self.function), *["echo"] * self.echo])

    def _look_up(self, question: str) -> str:
        if question in self.replies:
            return self.replies[question]
        for excerpt, reply in self.replies.items():
            if excerpt in question:
                return reply
        return question if self.echo else self.default


def _source_of(function: Any) -> list[str]:
    """What identifies a function's behaviour: its code with its constants, its defaults and its closure."""
    code = getattr(function, "__code__", None)
    if code is None:
        return [repr(function)]
    cells = [repr(cell.cell_contents) for cell in function.__closure__ or ()]
    return [marshal.dumps(code, 2).hex(), repr(function.__defaults__), repr(function.__kwdefaults__), *cells]
