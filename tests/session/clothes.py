"""What servers, gateways, loggers and attackers make of a key: each of these maps a text to another one."""

import codecs
import html
import json
from base64 import b16encode, b32encode, b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus

from yarl import URL


def each(template, encoding="utf-8"):
    return lambda text: "".join(template.format(byte) for byte in text.encode(encoding))


def between(separator, size=1):
    return lambda text: separator.join(text[at : at + size] for at in range(0, len(text), size))


def compat(first_capital, first_small, first_digit):
    """Letters and digits of another block of Unicode."""
    starts = {"A": first_capital, "a": first_small, "0": first_digit}

    def dress(text):
        blocks = [
            next((start for start in "Aa0" if ord(start) <= ord(mark) < ord(start) + 26 and mark.isalnum()), "")
            for mark in text
        ]
        return "".join(chr(starts[start] + ord(mark) - ord(start)) if start and mark.isascii() else mark
                       for start, mark in zip(blocks, text, strict=True))  # fmt: skip

    return dress


def base64(text):
    return b64encode(text.encode()).decode()


def mixed(text):
    """Every third character escaped, each in another way."""
    ways = [str, str, "%{:02x}".format, str, "\\u{:04x}".format, "&#{};".format, "%25{:02X}".format]
    return "".join(ways[no % len(ways)](mark if ways[no % len(ways)] is str else ord(mark))
                   for no, mark in enumerate(text))  # fmt: skip


CLOTHES = {
    "plain": str,
    "upper": str.upper,
    "lower": str.lower,
    "swapped case": str.swapcase,
    "reversed": lambda text: text[::-1],
    "rot13": lambda text: codecs.encode(text, "rot13"),
    "blanks": between(" "),
    "lines": between("\n", 5),
    "crlf": between("\r\n", 3),
    "dashes": between("-", 4),
    "colons": between(":", 2),
    "stars": between("***", 3),
    "dots": between("…"),
    "zero width": between("\u200b"),
    "soft hyphens": between("\xad", 2),
    "word joiners": between("\u2060", 3),
    "zeros": between("\0"),
    "tags of html": between("</b><b class='x'>"),
    "list": lambda text: json.dumps(list(text)),
    "halves": lambda text: json.dumps([text[:5], text[5:]]),
    "escaped lines": lambda text: json.dumps(between("\n", 3)(text)),
    "json": json.dumps,
    "json twice": lambda text: json.dumps(json.dumps(text)),
    "json of all": each("\\u{:04x}", "latin-1"),
    "json of all, capitals": each("\\u{:04X}", "latin-1"),
    "json of all twice": each("\\\\u{:04x}", "latin-1"),
    "python bytes": each("\\x{:02x}"),
    "javascript": each("\\u{{{:x}}}"),
    "python": lambda text: "+".join(f"chr({byte})" for byte in text.encode()),
    "binary": each("{:08b} "),
    "octal": each("\\{:03o}"),
    "hexadecimal numbers": lambda text: ", ".join(f"0x{byte:02x}" for byte in text.encode()),
    "numbers": lambda text: json.dumps(list(text.encode())),
    "quote": lambda text: quote(text, safe=""),
    "quote with /": quote,
    "quote_plus": quote_plus,
    "yarl": lambda text: str(URL("http://h/").with_query({"key": text})).partition("=")[2],
    "yarl path": lambda text: str(URL("http://h/") / text.replace("/", "%2F"))[9:],
    "yarl as given": lambda text: str(URL(f"http://h/?key={text}"))[14:],
    "quote of all": each("%{:02x}"),
    "quote of all, capitals": each("%{:02X}"),
    "quote twice": lambda text: quote(quote(text, safe=""), safe=""),
    "quote of all twice": lambda text: quote(each("%{:02x}")(text), safe=""),
    "quote of all and of that": lambda text: each("%{:02x}")(each("%{:02x}")(text)),
    "%u": each("%u{:04x}", "latin-1"),
    "html": html.escape,
    "html numbers": each("&#{};", "latin-1"),
    "html hexadecimal": each("&#x{:x};", "latin-1"),
    "html padded": each("&#{:07}", "latin-1"),
    "mixed": mixed,
    "hex": lambda text: text.encode().hex(),
    "hex capitals": lambda text: b16encode(text.encode()).decode(),
    "hex blanks": lambda text: text.encode().hex(" "),
    "hex colons": lambda text: text.encode().hex(":"),
    "hex in pairs": lambda text: text.encode().hex(" ", 2),
    "hex reversed": lambda text: text[::-1].encode().hex(),
    "hex utf-16": lambda text: text.encode("utf-16-le").hex(),
    "hex utf-16 be": lambda text: text.encode("utf-16-be").hex(),
    "base64": base64,
    "base64 1": lambda text: base64("u" + text + "tail"),
    "base64 2": lambda text: base64("u:" + text + "x"),
    "base64 url": lambda text: urlsafe_b64encode(text.encode()).decode(),
    "base64 lines": lambda text: between("\n", 7)(base64(text)),
    "base64 blanks": lambda text: between(" ")(base64(text)),
    "base64 lower": lambda text: base64(text).lower(),
    "base64 quoted": lambda text: quote(base64(text), safe=""),
    "base64 utf-16": lambda text: b64encode(text.encode("utf-16")).decode(),
    "base64 reversed": lambda text: base64(text[::-1]),
    "base64 backwards": lambda text: base64(text)[::-1],
    "hex backwards": lambda text: text.encode().hex()[::-1],
    "base64 of hex": lambda text: base64(text.encode().hex()),
    "hex of base64": lambda text: base64(text).encode().hex(),
    "base64 twice": lambda text: base64(base64(text)),
    "base64 twice 1": lambda text: base64("a" + base64("bc" + text)),
    "base64 twice 2": lambda text: base64("ab" + base64("b" + text)),
    "base64 url twice": lambda text: urlsafe_b64encode(urlsafe_b64encode(text.encode())).decode(),
    **{f"base32 {n}": lambda text, n=n: b32encode(b"u" * n + text.encode() + b"x").decode() for n in range(5)},
    "base32 lower": lambda text: b32encode(text.encode()).decode().lower().rstrip("="),
    "full-width": lambda text: "".join(chr(ord(mark) + 0xFEE0) if "!" <= mark <= "~" else mark for mark in text),
    "bold": compat(0x1D400, 0x1D41A, 0x1D7CE),
    "monospace": compat(0x1D670, 0x1D68A, 0x1D7F6),
    "circled": compat(0x24B6, 0x24D0, 0x30),
    "tags": lambda text: "".join(chr(0xE0000 + ord(mark)) if mark.isascii() else mark for mark in text),
    "full-width in JSON": lambda text: json.dumps(CLOTHES["full-width"](text)),
    "zero width in JSON": lambda text: json.dumps(between("\u200b")(text)),
    "zero width in JSON in JSON": lambda text: json.dumps(json.dumps(between("\u200b")(text))),
    "letters of Chinese in JSON": lambda text: json.dumps(between("\u4e2d")(text)),
    "accents in JSON": lambda text: json.dumps(between("\u0301")(text)),
    "bold in JSON": lambda text: json.dumps(CLOTHES["bold"](text)),
    "utf-16 as text": lambda text: text.encode("utf-16-le").decode("latin-1"),
    "middle starred": lambda text: text if len(text) < 20 else f"{text[:8]}********{text[-8:]}",
}
