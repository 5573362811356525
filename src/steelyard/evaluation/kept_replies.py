"""Finds a response mapping that fits none of the replies that are kept of its endpoint, before anything is asked.

Only targets are looked at whose first call is known without an answer: a prompt, and an endpoint that is a target
itself. A mapping that fits some of the kept replies is left to the run, which reads each again (`session.readings`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn

from steelyard.errors import ConfigError, ModelError, SteelyardError
from steelyard.evaluation.objects import Suite
from steelyard.models.base import Model, Request
from steelyard.session.replies import Kept, Keys, read_again, read_again_key, unpack_reply
from steelyard.store import Store
from steelyard.store.journal import find_body
from steelyard.targets.replay import Pair
from steelyard.types import Sample

_MOST_UNKNOWN: Final = 200
"""Samples in a row without a kept reply after which none is expected."""


def check_kept_replies(suite: Suite, store: Store, draws: Mapping[str, str]) -> None:
    """Refuse a target whose mapping finds nothing in any of the replies that are kept.

    Args:
        suite: what is to be run.
        store: with the journal.
        draws: name of a target -> draw of its run.

    Raises:
        ConfigError: which target, how many replies, and what they hold.
    """
    with store.reading() as connection:
        if connection.execute("SELECT 1 FROM reply LIMIT 1").scalar() is None:
            return
    for name, target in suite.targets.items():
        if name in draws and not isinstance(target, Pair) and _has_mapping(target):
            _check_target(name, target, suite, store, draws[name])


def _has_mapping(target: Any) -> bool:
    return any(hasattr(part, "with_body") for part in (target, getattr(target, "model", None)))


def _check_target(name: str, target: Any, suite: Suite, store: Store, draw: str) -> None:
    unfit, unknown, last = 0, 0, ""
    for sample in suite.samples:
        fits = _fits(target, sample, store, draw)
        if fits is None:
            unknown += 1
            if unknown > _MOST_UNKNOWN:
                break
            continue
        if not isinstance(fits, ModelError):
            return
        unfit, unknown, last = unfit + 1, 0, str(fits)
    if unfit:
        replies = "the one kept reply" if unfit == 1 else f"each of {unfit} kept replies"
        raise ConfigError(
            f"target {name!r} cannot read {replies} under its present mapping, so nothing was asked: {last}"
        )


def _fits(target: Any, sample: Sample, store: Store, draw: str) -> bool | ModelError | None:
    """Whether the kept reply to a sample's first call can be read; the error if not, None where none is kept."""
    try:
        model, request = _first_call(target, sample)
    except SteelyardError:
        return None  # the run says what is wrong with this sample
    key = Keys(sample.id, 0, draw).next(request.digest)
    stored = find_body(store, key)
    kept = None if stored is None else Kept.of(stored)
    if stored is None or kept is None or kept.body is None:
        return None
    if kept.reading != request.reading:
        again = read_again_key(key, request.reading)
        try:
            read_again(model, request, again, unpack_reply(key.hex(), stored), kept)
        except ModelError as error:
            return error
    return True


class _Called(Exception):  # not an error
    def __init__(self, model: Model, request: Request) -> None:
        super().__init__()
        self.call = model, request


class _FirstCall:
    """An Ask that ends its target at the first call."""

    repeat = 0

    async def __call__(self, model: Model, messages: Any, /, **parameters: Any) -> NoReturn:
        raise _Called(model, model.request(messages, parameters))


def _first_call(target: Any, sample: Sample) -> tuple[Model, Request]:
    step: Iterator[Any] = target(sample, _FirstCall()).__await__()
    try:
        next(step, None)
    except _Called as called:
        return called.call
    raise ConfigError("the target waits for something before its first call")
