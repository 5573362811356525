"""Reads what a model that plays a user says next: a message, or that the conversation is over.

The reply is one JSON object, `{"message": "...", "done": false}`. Words alone never end a conversation: "I am done with
the form, what now?" is a message. What holds no such object, or two that contradict each other, is unparsed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from steelyard.replies.clean import without_reasoning
from steelyard.replies.jsonlike import json_objects
from steelyard.types import STOPPED, Reply

Kind = Literal["", "refused", "empty", "truncated", "ambiguous", "none"]

_DONE: Final = {"true": True, "yes": True, "false": False, "no": False}


@dataclass(frozen=True, slots=True)
class UserTurn:
    """What a simulated user says next.

    Args:
        message: its words; may be empty where it is done.
        done: whether the conversation is over.
        kind: why nothing was read: `refused`, `empty`, `truncated`, `ambiguous` or `none`; "" where something was.
    """

    message: str = ""
    done: bool = False
    kind: Kind = ""


def read_user_turn(reply: Reply) -> UserTurn:
    """The user's turn in a reply.

    >>> read_user_turn(Reply("", 'Sure: {"message": "When?", "done": false}'))
    UserTurn(message='When?', done=False, kind='')
    >>> read_user_turn(Reply("", "I am done, thanks!")).kind
    'none'
    """
    if reply.finish in STOPPED:
        return UserTurn(kind="refused")
    if not reply.text.strip():
        return UserTurn(kind="truncated" if reply.finish == "length" else "empty")
    objects = [value.python() for value in json_objects(without_reasoning(reply.text)[0]) if value.closed]
    turns = {turn for value in objects if (turn := _turn(value)) is not None}
    if len(turns) > 1:
        return UserTurn(kind="ambiguous")
    if turns:
        return turns.pop()
    return UserTurn(kind="truncated" if reply.finish == "length" else "none")


def _turn(value: Any) -> UserTurn | None:
    """The turn in an object; None where it lacks a key, or says neither something nor that it is done."""
    if not isinstance(value, dict) or "done" not in value:
        return None
    done, message = value["done"], value.get("message", "")
    done = _DONE.get(done.strip().lower()) if isinstance(done, str) else done
    message = "" if message is None else message
    if not isinstance(done, bool) or not isinstance(message, str) or not (done or message.strip()):
        return None
    return UserTurn(message.strip(), done)
