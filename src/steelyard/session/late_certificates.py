"""Contexts of TLS that read the system's certificates when they are first used, not when they are made.

aiohttp makes two contexts when it is imported and reads all authorities of the system into each: 45 ms, a tenth of what
a small run takes, and unused where every endpoint is `http://` or has a context of its own.
"""

# Why it is so, and what was rejected: docs/decisions/cli-light-start.md

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class LateContext(ssl.SSLContext):
    """A context without the system's certificates; with the first connection it becomes a usual one that has them."""

    def wrap_bio(self, *arguments: Any, **options: Any) -> ssl.SSLObject:
        """As in a usual context; asyncio calls it for each connection."""
        return _completed(self).wrap_bio(*arguments, **options)

    def wrap_socket(self, *arguments: Any, **options: Any) -> ssl.SSLSocket:
        """As in a usual context."""
        return _completed(self).wrap_socket(*arguments, **options)

    def get_ca_certs(self, *arguments: Any, **options: Any) -> Any:
        """As in a usual context; `cert_store_stats` too."""
        return _completed(self).get_ca_certs(*arguments, **options)

    def cert_store_stats(self) -> dict[str, int]:
        """As in a usual context."""
        return _completed(self).cert_store_stats()


def _completed(context: ssl.SSLContext) -> ssl.SSLContext:
    ssl.SSLContext.set_default_verify_paths(context)
    context.__class__ = ssl.SSLContext  # last: another thread must not take it for a usual one before
    return context


@contextmanager
def late_certificates() -> Iterator[None]:
    """Inside the block, contexts that this thread makes read the system's certificates late.

    Other threads are not affected, nor is a program that has replaced Python's context class by its own.
    """
    usual, thread = ssl.SSLContext, threading.get_ident()
    if usual.__module__ != "ssl" or "set_default_verify_paths" in vars(usual):
        yield
        return

    def later(context: ssl.SSLContext) -> None:
        if type(context) is usual and threading.get_ident() == thread:
            context.__class__ = LateContext
        else:
            super(usual, context).set_default_verify_paths()

    usual.set_default_verify_paths = later  # type: ignore[method-assign, assignment]  # inherited, and so again at the end
    try:
        yield
    finally:
        del usual.set_default_verify_paths
