"""Other people's text between marks that it cannot know, so that no text can end its own fence in a prompt.

Marks are taken from a digest of everything that is sent with them: a text cannot hold its own digest, equal calls
have equal marks (so the journal answers them), and no other call has the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b


def mark_for(values: Mapping[str, str]) -> str:
    """12 hexadecimal digits that no text among `values` holds.

    >>> mark_for({"answer": "Paris"}) == mark_for({"answer": "Paris"}) != mark_for({"answer": "Rome"})
    True
    """
    digest = blake2b(digest_size=6)
    for name, text in values.items():
        digest.update(f"{name}\0{text}\0".encode("utf-8", "surrogatepass"))
    while any(digest.hexdigest() in text for text in values.values()):
        digest.update(b"again")
    return digest.hexdigest()


def fence(name: str, text: str, mark: str) -> str:
    r"""`text` between marks that say whose it is.

    >>> fence("answer", "Paris", "0f")
    '<answer 0f>\nParis\n</answer 0f>'
    """
    return f"<{name} {mark}>\n{text}\n</{name} {mark}>"
