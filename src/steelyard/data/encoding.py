"""Reads text files line by line: detects their encoding, and rejects files that are not text.

Order: a byte order mark, then strict UTF-8, then GB18030 (which includes GBK and GB2312). Frequencies are not used:
this order was right for every file of a set of UTF-8, UTF-8 with mark, GBK, GB18030 and UTF-16. One trap is avoided:
damaged UTF-8 is often valid GB18030 and would be read as nonsense, so a file whose first eight non-ASCII characters are
valid UTF-8 counts as damaged UTF-8 (GBK text meets this condition by chance less than once in a million). Text of one
byte a letter is another: `wöche` in Windows-1252, as Excel saves it, would become a Chinese character behind the w. It
is read as Windows-1252 if its letters are those of one language (`_LANGUAGES`), else refused. And so are Shift-JIS,
Big5, EUC-JP and EUC-KR, whose usual characters have bytes that are rare in Chinese (`_east_asian`).
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from steelyard.data.paths import require_file
from steelyard.errors import DataError

MAX_LINE: Final = 4_000_000
"""Maximum characters of a line; a file with a longer one is not a dataset, but damaged or hostile."""

_CHUNK: Final = 1 << 20
_SURE: Final = 8
"""Non-ASCII characters in valid UTF-8 before the first bad byte that make a file damaged UTF-8, not GB18030.

Of 1,147 Chinese replies of models, written in GB18030, none had more than 3."""
_PAIR: Final = re.compile(rb"([\x81-\xfe][\x40-\x7e]|(?<=[a-z \n])[\xdf-\xfe]{2}(?=[a-z]))|[\x81-\xfe][\x80-\xfe]")
"""A character of two bytes in GB18030; in the group those that are rare in Chinese and usual in Western text: the
second byte is an ASCII letter, or two accented small letters stand before a plain one."""
_TWO_BYTES: Final = re.compile(rb"[\x81-\xfe][\x40-\xfe]")
_COMMON_KOREAN: Final = frozenset(
    "이다는을의은에가고한를지로기하것중서사인".encode("euc_kr")[i : i + 2] for i in range(0, 40, 2)
)
"""The most frequent syllables. Some have the bytes of usual Chinese characters (肺, 巴), so many must occur."""
_CHINESE_SIGNS: Final = frozenset({b"\xa3\xac", b"\xa3\xba", b"\xa3\xbf"})
"""The comma, the colon and the question mark of Chinese, whose bytes EUC-JP does not use."""
_HANGUL: Final = range(0xB0, 0xC9)
"""First bytes of all Korean syllables in EUC-KR, and of half of the usual Chinese characters."""
_SURELY_KOREAN: Final = 16
_PRIVATE: Final = re.compile("[\ue000-\uf8ff]")
_LANGUAGES: Final = tuple(
    frozenset(f"{letters}{letters.upper().replace('SS', '')}".encode("cp1252"))
    for letters in ("äöüßéèà", "àâçéèêëîïôùûü", "áéíóúüñ", "áâãàçéêíóôõú", "àèéìòù", "åäöæøé", "ëïéèöü")
)
"""German, French, Spanish, Portuguese, Italian, the Nordic ones and Dutch. Polish, Czech or Hungarian in Windows-1250
have letters that no single one of them has: `ê³¿`, `øìù`, `õö`."""
_TELLING: Final = frozenset("äöüßéàçôáíóúñìòùåæøëï".encode("cp1252"))
"""Letters of which one is needed: the others are frequent ones of Romanian, Polish or Croatian in Windows-1250."""
_SIGNS: Final = frozenset("€„“”‘’‚…–—•«»°§·×¿¡ºª²œŒ\xa0".encode("cp1252"))
_ASCII: Final = bytes(range(128))
_DOUBLED: Final = re.compile(rb"[\xc2\xc3][\x80-\xbf]|\xe2[\x80-\x82]")
"""A Western letter or sign in UTF-8."""
_MANY_PAIRS: Final = 100
_DIFFERENT: Final = 5
_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MAGIC: Final = (
    (b"PK\x03\x04", "a zip archive (a workbook?)"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook"),
    (b"%PDF", "a PDF"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\x00", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstandard data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a rar archive"),
    (b"PAR1", "a parquet file"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"\x7fELF", "a program"),
)
_PAGES: Final = ("a web page (HTML)", "XML")
_PAGE: Final = (b"<!doctype html", b"<html", b"<table", b"<head", b"<body")


def kind_of(head: bytes) -> str:
    """Recognize a binary file by its first bytes; empty if unknown.

    >>> kind_of(b"%PDF-1.7"), kind_of(b"<HTML><body>"), kind_of("题目,A".encode())
    ('a PDF', 'a web page (HTML)', '')
    """
    for magic, what in _MAGIC:
        if head.startswith(magic):
            return what
    start = head.removeprefix(codecs.BOM_UTF8).lstrip().lower()
    if start.startswith(_PAGE):
        return _PAGES[0]
    return _PAGES[1] if start.startswith(b"<?xml") else ""


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text file whose encoding is known.

    Args:
        path: the file.
        encoding: as Python names it.
        stamp: its size and time of change, to detect later changes.
        line_ends: how many it has.
    """

    path: Path
    encoding: str
    stamp: tuple[int, int]
    line_ends: int

    @property
    def notes(self) -> tuple[str, ...]:
        """The encoding, where it was told by the text alone and may be another."""
        name = {"gb18030": "GB18030", "cp1252": "Windows-1252"}.get(self.encoding)
        return (f"{self.path.name}: read as {name}",) if name else ()

    def lines(self, newline: str = "") -> Iterator[str]:
        """Iterate over its lines, including line ends; `newline` as for `open`.

        Raises:
            DataError: a line is longer than `MAX_LINE`, or the file changed since it was examined.
        """
        if stamp_of(self.path) != self.stamp:
            raise DataError(f"{self.path.name} changed while it was being read; start again")
        with convert_read_errors(self.path), self.path.open(encoding=self.encoding, newline=newline) as stream:
            number = 0
            while line := stream.readline(MAX_LINE + 1):
                number += 1
                if len(line) > MAX_LINE:
                    raise DataError(f"{self.path.name}:{number}: the line is longer than {MAX_LINE:,} characters")
                yield line

    def read_all(self) -> str:
        """The whole text.

        Raises:
            DataError: it can no longer be read.
        """
        with convert_read_errors(self.path):
            return self.path.read_text(self.encoding)


@contextmanager
def convert_read_errors(path: Path) -> Iterator[None]:
    """Convert errors of the operating system and of decoding to DataErrors that name the file.

    Raises:
        DataError: there is no permission, a disk failed, or the text is no longer in its encoding.
    """
    try:
        yield
    except OSError as error:
        raise DataError(f"{path.name} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path.name} changed while it was being read; start again") from error


def stamp_of(path: Path) -> tuple[int, int]:
    """Size in bytes and time of the last change in nanoseconds."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def examine_text(path: Path) -> TextFile:
    """Detect the encoding of a whole file without keeping it in memory.

    Raises:
        ConfigError: there is no such file.
        DataError: it is empty, is not text, has NUL characters, or has another encoding.
    """
    require_file(path)
    with convert_read_errors(path):
        return _examine(path, stamp_of(path))


def examine_rows(path: Path) -> TextFile:
    """As `examine_text`, for a file of rows, which must not be HTML or XML.

    Raises:
        ConfigError: there is no such file.
        DataError: as `examine_text`, or it is HTML or XML.
    """
    text = examine_text(path)
    with convert_read_errors(path):
        what = kind_of(_head(path))
    if what:
        raise DataError(f"{path.name} is {what}, not a table; open it in a spreadsheet program and save it as .xlsx")
    return text


def _examine(path: Path, stamp: tuple[int, int]) -> TextFile:
    head = _head(path) if stamp[0] else b""
    if not head:
        raise DataError(f"{path.name} is empty")
    if head.startswith(b"version https://git-lfs.github.com/spec/"):
        raise DataError(f"{path.name} is a pointer of Git LFS, not the file itself, which `git lfs pull` brings")
    what = kind_of(head)
    if what and what not in _PAGES:
        raise DataError(f"{path.name} has the extension of a text file, but is {what}; give it the right extension")
    marked = next((name for mark, name in _MARKS if head.startswith(mark)), None)
    encoding = marked or "utf-8"
    damage, other = _damage(path, encoding), ""
    if damage and not marked and _good_characters(path, damage[0]) < _SURE:
        is_western, chinese = _is_western(path), _damage(path, "gb18030")
        if (is_western or chinese) and _is_one_language(path):
            return TextFile(path, "cp1252", stamp, _line_ends(path))
        encoding = "gb18030"
        other = "Windows-1252" if is_western else _east_asian(path)
        damage = chinese or (damage if other else None)
    if damage:
        what = {"utf-8": "damaged UTF-8", "gb18030": "neither UTF-8 nor GB18030"}.get(encoding, f"damaged {encoding}")
        what += f" but perhaps {other}" if other else ""
        raise DataError(f"{_location(path, damage[0])}: {what} (byte 0x{damage[1]:02x}); save the file as UTF-8")
    return TextFile(path, encoding, stamp, _line_ends(path))


def _head(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(512)


def _damage(path: Path, encoding: str) -> tuple[int, int] | None:
    """Offset and value of the first byte that is not valid in `encoding`; None if all bytes are valid."""
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    offset = lines = 0
    with path.open("rb") as stream:
        while True:
            chunk = stream.read(_CHUNK)
            pending = len(decoder.getstate()[0])
            try:
                text = decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                return max(0, offset - pending) + error.start, error.object[error.start]
            if "\0" in text:
                line = lines + text.count("\n", 0, text.index("\0")) + 1
                raise DataError(f"{path.name}:{line}: a NUL character; is it UTF-16 without its mark? Save it as UTF-8")
            if not chunk:
                return None
            lines += text.count("\n")
            offset += len(chunk)


def _is_western(path: Path) -> bool:
    """Whether most characters of two bytes are rather one or two accented letters beside plain ones."""
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            if pairs := _PAIR.findall(chunk):
                return 2 * sum(map(bool, pairs)) > len(pairs)
    return False


def _is_one_language(path: Path) -> bool:
    """Whether the bytes above 127 are letters of one Western language in Windows-1252, and signs beside them."""
    used: set[int] = set()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            if _DOUBLED.search(chunk):
                return False
            used.update(chunk.translate(None, _ASCII))
    letters = used - _SIGNS
    return bool(letters & _TELLING) and any(letters <= language for language in _LANGUAGES)


def _east_asian(path: Path) -> str:
    """The East Asian encoding that the pairs of bytes fit better than Chinese; "" if none.

    First bytes 81 to 9F begin the kana and the common kanji of Shift-JIS, A4 and A5 the kana of EUC-JP. Two of five
    characters of Big5 end with a byte below 7F, but only 10 of 298,831 in Chinese replies; traditional ones in GB18030
    do as well, but some of them begin with 81 to A0 or end with 7F to A0. Of a short file, characters of private use
    are a sign of it, and first bytes of Korean syllables alone, of 16 different ones, one of EUC-KR; another is read as
    Chinese.
    """
    with path.open("rb") as stream:
        content = stream.read(_CHUNK)
    pairs = _TWO_BYTES.findall(content)
    if len(pairs) < _SURE:
        return ""

    def share(of: Callable[[bytes], bool]) -> float:
        return sum(map(of, pairs)) / len(pairs)

    if share(lambda pair: pair[0] <= 0x9F) > 0.9:
        return "Shift-JIS"
    different = set(pairs)
    low = {pair for pair in different if pair[1] < 0x7F}
    is_few = len(pairs) < _MANY_PAIRS
    if is_few and _PRIVATE.search(content.decode("gb18030", "ignore")):
        return "" if "\ufffd" in content.decode("big5", "replace") else "Big5"
    if not is_few and share(low.__contains__) > 0.1 and len(low) >= _DIFFERENT:
        return "" if share(lambda pair: pair[0] < 0xA1 or 0x7F <= pair[1] < 0xA1) else "Big5"
    if share(lambda pair: pair[0] in {0xA4, 0xA5}) > 0.2 and not different & _CHINESE_SIGNS:
        return "EUC-JP"
    is_korean = share(_COMMON_KOREAN.__contains__) > 0.1 and len(different & _COMMON_KOREAN) > _DIFFERENT
    if is_few:
        words = {pair for pair in different if pair[0] > 0xA9}
        is_korean = len(words) >= _SURELY_KOREAN and all(pair[0] in _HANGUL and pair[1] > 0xA0 for pair in words)
    return "EUC-KR" if is_korean else ""


def _line_ends(path: Path) -> int:
    """The number of line feeds, or of carriage returns if there are more; some more where they are bytes of others."""
    feeds = returns = 0
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            feeds += chunk.count(b"\n")
            returns += chunk.count(b"\r")
    return max(feeds, returns)


def _location(path: Path, offset: int) -> str:
    line, seen = 1, 0
    with path.open("rb") as stream:
        while seen < offset and (chunk := stream.read(min(_CHUNK, offset - seen))):
            seen += len(chunk)
            line += chunk.count(b"\n")
    return f"{path.name}:{line}"


def _good_characters(path: Path, before: int) -> int:
    """Number of valid non-ASCII UTF-8 characters before an offset, counted up to `_SURE`."""
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    good = seen = 0
    with path.open("rb") as stream:
        while seen < before and good < _SURE and (chunk := stream.read(min(_CHUNK, before - seen))):
            seen += len(chunk)
            text = decoder.decode(chunk)
            good += len(text) - len(text.encode("ascii", "ignore"))
    return good
