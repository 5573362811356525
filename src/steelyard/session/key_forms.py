"""The forms in which a part of a key may come back: what eight characters of it look like in each encoding.

A server that echoes a key seldom echoes it as it was sent: it shortens, wraps, quotes or encodes it. So the unit is a
run of eight characters, not the key. `KeyWindows` holds each run in each encoding, as it looks in a text that
`key_search` has normalised: escapes decoded, in small letters, and without the characters that a view leaves out.
"""

# Why it is so, and what was rejected: docs/decisions/session-secrets.md

from __future__ import annotations

import json
import re
import string
import unicodedata
from base64 import b32encode, b64encode
from codecs import encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

__all__ = ["EXACT", "FOLDED", "LETTERS", "SHORTEST", "SYMBOLS", "KeyWindows", "View"]

RUN: Final = 8
"""So many characters of a key are masked wherever they stand: fewer occur by chance."""
_FEWEST: Final = 6
_FEWEST_IN_WORDS: Final = 7
"""Letters and digits that a run must have left to be recognised without the characters between them; more where it has
neither a digit nor capitals inside: `sk-no-key` would be in "risk no key" otherwise."""
SHORTEST: Final = 6
"""Redacting a shorter value everywhere would damage replies that contain the same word. Local servers are often given
keys such as EMPTY or none: these are redacted only after "Bearer", as they occur in a header."""
_LONG: Final = 12
_DISTINCT: Final = re.compile(r"\d|[^\w\s.:-]|[a-z][A-Z].*[a-z][A-Z]")
"""A value under 12 characters is more than a word if it has a digit, a symbol, or capitals inside: `not-needed` and
`LM-Studio` in a reply are most likely no keys, and are redacted only as they are written."""
_PUBLIC: Final = ("sk-ant-api03-", "sk-ant-admin01-", "sk-svcacct-", "sk-proj-", "sk-or-v1-", "github_pat_")
"""Beginnings that all keys of a provider share, of eight characters and more. They tell nothing of one key, and replies
that explain keys hold them."""
_OWN: Final = 4
"""A run that begins in a public beginning is searched for in any clothes if it has so many characters of the key's own,
and as it is written otherwise."""
_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")
_NUMBERS: Final = (
    "{}", "{:03o}", "{:08b}", "chr{}", "0x{:02x}", "u{:x}", "u{:04x}", "u{:08x}"
)  # fmt: skip
"""A byte by its number, as programs write it; what stands between is left out of the text."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class View:
    """What of a text is compared: bytes are mapped by `table`, and those in `left_out` dropped."""

    table: bytes | None
    left_out: bytes

    def of(self, data: bytes) -> bytes:
        """The compared part of `data`."""
        return data.translate(self.table, self.left_out)

    @property
    def kept(self) -> bytes:
        """For each byte, 1 where it is compared and 0 where it is left out."""
        return bytes(byte not in self.left_out for byte in range(256))


_LOWER: Final = bytes(range(256)).lower()
_ALPHANUMERIC: Final = frozenset((string.ascii_letters + string.digits).encode())
LETTERS: Final = View(_LOWER, bytes(set(range(256)) - _ALPHANUMERIC))
"""Letters and digits alone: whatever a server puts between the characters of a key is no part of it."""
SYMBOLS: Final = View(_LOWER, bytes({*range(256)} - _ALPHANUMERIC - set(b"!#$%&+/=?@^~`<>")))
"""Symbols too, for a run that has few letters and digits; not those that servers put between characters."""
FOLDED: Final = View(_LOWER, b"\0")
EXACT: Final = View(None, b"\0")


@dataclass(frozen=True, slots=True)
class KeyWindows:
    """What to search for, in each view of a text.

    Args:
        letters: in `LETTERS`, each at least six bytes.
        symbols: in `SYMBOLS`.
        folded: in `FOLDED`.
        exact: in `EXACT`.
    """

    letters: set[bytes] = field(default_factory=set)
    symbols: set[bytes] = field(default_factory=set)
    folded: set[bytes] = field(default_factory=set)
    exact: set[bytes] = field(default_factory=set)

    @classmethod
    def of(cls, value: str) -> KeyWindows:
        """The windows of a key, of each spelling of its characters."""
        windows = cls()
        if len(value) < SHORTEST:
            windows.exact.add(f"Bearer {value}".encode())
            return windows
        for spelling in {value, unicodedata.normalize("NFKC", value), unicodedata.normalize("NFD", value)}:
            runs = _runs(spelling)
            if is_distinct(value):
                public = max((len(start) for start in _PUBLIC if spelling.startswith(start)), default=0)
                windows._add_plain(spelling, runs, public)
            else:
                windows.exact.update(run for start, end in runs for run in _spellings(spelling[start:end]))
            for other in (spelling[::-1], encode(spelling, "rot13")):
                windows._add_plain(other, runs, 0)
            for form in _encoded_forms(spelling, runs):
                windows._add_encoded(form)
        return windows

    def _add_plain(self, text: str, runs: list[Span], public: int) -> None:
        for start, end in runs:
            if end <= public:
                continue
            run = text[start:end]
            if start < public and end < public + _OWN:
                self.folded.add(FOLDED.of(run.encode("utf-8", "surrogatepass")))
            else:
                self._add_run(text, start, run)

    def _add_run(self, text: str, start: int, run: str) -> None:
        letters = LETTERS.of(run.encode("utf-8", "surrogatepass"))
        if len(letters) >= (_FEWEST_IN_WORDS if _is_wordy(run) else _FEWEST):
            self.letters.add(letters)
            return
        symbols = SYMBOLS.of(run.encode("utf-8", "surrogatepass"))
        if len(symbols) > len(letters) and len(symbols) >= _FEWEST:
            self.symbols.add(symbols)
        else:
            self.folded.update(FOLDED.of(spelling) for spelling in _spellings(run))
        longer = LETTERS.of(text[start:].encode("utf-8", "surrogatepass"))[:RUN]
        if len(longer) == RUN:
            self.letters.add(longer)

    def _add_encoded(self, form: EncodedKey) -> None:
        for start, end in form.spans:
            window = LETTERS.of(form.text[start:end])
            if len(window) >= _FEWEST:
                self.letters.add(window)


def is_distinct(value: str) -> bool:
    """Whether a value is unlikely to occur by chance, so that it is redacted in upper and lower case alike."""
    return len(value) >= _LONG or (len(value) > SHORTEST and _DISTINCT.search(value) is not None)


def _is_wordy(run: str) -> bool:
    """Whether a run may be parts of words."""
    return not any(mark.isdigit() for mark in run) and run in {run.lower(), run.upper()}


def _spellings(run: str) -> set[bytes]:
    """A run as it is and as JSON writes it."""
    return {run.encode("utf-8", "surrogatepass"), json.dumps(run)[1:-1].encode()}


def _runs(text: str) -> list[Span]:
    length = min(RUN, len(text))
    return [(start, start + length) for start in range(len(text) - length + 1)]


@dataclass(frozen=True, slots=True)
class EncodedKey:
    """A key in an encoding; `spans` are the bytes that each run certainly takes, whatever stands around it."""

    text: bytes
    spans: list[Span]


def _encoded_forms(value: str, runs: list[Span]) -> Iterator[EncodedKey]:
    utf8 = _of_characters([mark.encode("utf-8", "surrogatepass") for mark in value], runs)
    # The last zero is left out: what remains is in the text whichever byte of a character comes first.
    wide = _of_characters([mark.encode("utf-16-le", "surrogatepass") for mark in value], runs)
    wide = EncodedKey(wide.text, [(start, end - 1) for start, end in wide.spans])
    backwards = _of_characters([mark.encode("utf-8", "surrogatepass") for mark in reversed(value)], runs)
    for template in _NUMBERS:
        numbers = ["".join(map(template.format, mark.encode("utf-8", "surrogatepass"))) for mark in value]
        yield _of_characters([number.encode() for number in numbers], runs)
    yield from _in_digits(utf8, b32encode, 5)
    yield _in_hex(utf8)
    yield from _in_digits(_in_hex(utf8), b64encode, 6)
    for form in (_in_hex(utf8), *_in_digits(utf8, b64encode, 6)):
        size = len(form.text)
        yield EncodedKey(form.text[::-1], [(size - end, size - start) for start, end in form.spans])
    for form in (wide, backwards):
        yield _in_hex(form)
        yield from _in_digits(form, b64encode, 6)
    for inner in _in_digits(utf8, b64encode, 6):
        yield inner
        for alphabet in {inner.text, inner.text.translate(_URL_SAFE)}:
            again = EncodedKey(alphabet, inner.spans)
            yield _in_hex(again)
            yield from _in_digits(again, b64encode, 6)


def _of_characters(pieces: list[bytes], runs: list[Span]) -> EncodedKey:
    ends = [0, *accumulate(map(len, pieces))]
    return EncodedKey(b"".join(pieces), [(ends[start], ends[end]) for start, end in runs])


def _in_hex(form: EncodedKey) -> EncodedKey:
    return EncodedKey(form.text.hex().encode(), [(2 * start, 2 * end) for start, end in form.spans])


def _in_digits(form: EncodedKey, to_digits: Callable[[bytes], bytes], bits: int) -> Iterator[EncodedKey]:
    """A form in base64 or base32 digits of so many bits, at each place where it may begin inside a longer text.

    Digits that also encode bits of a neighbouring byte are in no span.
    """
    for before in range(bits if bits == 5 else 3):
        spans = [(-(-8 * (start + before) // bits), 8 * (end + before) // bits) for start, end in form.spans]
        yield EncodedKey(to_digits(b"\0" * before + form.text + b"\0"), spans)
