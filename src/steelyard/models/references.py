"""References `${NAME}` to secrets in the environment, and detection of secrets written out.

A key that is written out would be stored with the run, so it is refused before anything is sent. References are for
addresses, headers and keys. The texts of a question are data: a template may contain `${price}` literally, so nothing
is looked up there.

This module alone decides what is a secret, for refusing and for masking: by the name of a value, or by the value. A
name is a secret's where one of its words is `auth`, `token`, `secret`, `password`, `passcode`, `credential`, `cookie`,
`jwt` or `bearer`, or where `key` follows `api`, `access`, `private` and the like; `max_tokens`, `prompt_tokens` and
`author` are not. `pass`, `session_id` and `signature`, which may also name a setting, are masked, not refused. A value
is a secret where it begins as the keys of well-known services do, or is `Bearer` and a long word; in a header or an
address also where it is 32 or more hexadecimal or base64 digits that look random.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from math import log2
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from steelyard.errors import ConfigError
from steelyard.plain_json import texts_in

REFERENCE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
TEXT_KEYS: Final = frozenset(
    {"template", "system", "text", "default", "task", "criteria", "question", "pattern", "definition"}
)
"""Keys whose text is data, such as a question or an answer, and may contain `${...}` literally."""
BODY_KEYS: Final = frozenset(
    {"samples", "parameters", "body", "replies", "steps", "guidelines", "levels", "schema", "criteria", "examples"}
)
"""Keys below which every text is data."""
HTTP_TOKEN: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
"""A method or the name of a header, RFC 9110, section 5.6.2."""
_NOT_IN_HEADERS: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters, which end a header or are refused by servers; a tab is allowed."""
SHORTEST: Final = 8
"""A shorter value is not a secret: local servers are given "EMPTY" or "none", and `auth: basic` is a setting."""
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+[0-9]*|[0-9]+")
_SECRET: Final = re.compile(
    r"auth|authori[sz]ation|\w*token\d*|\w*apikeys?|\w*secrets?|\w*passw(?:or)?ds?|pwd?|passphrase|passcodes?|credentials?"
    r"|\w*cookies?|bearer|jwts?"
)
_MASKED: Final = re.compile(r"(?:.* )?(?:pass|signature|session ids?|\w*sess(?:ion)?id)", re.DOTALL)
_IN_ADDRESS: Final = frozenset({"sig", "code"})
_BEFORE_KEY: Final = re.compile(
    r"api|access|account|auth|client|encryption|functions?|license|master|private|secret|service|shared|signing"
    r"|subscription|x"
)
_COUNTED: Final = re.compile(
    r"max|min|num|n|counts?|limit|budget|rate|per|length|type|f1|overlap|recall|precision"
    r"|eos|bos|pad|stop|start|end|sep|unk|mask|new|next"
)
"""Words that, in a name with `token`, show that tokens of a text are meant."""
_KEY: Final = re.compile(
    r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))(?:sk-[A-Za-z0-9_-]{8,}|(?:gsk|hf)_[A-Za-z0-9]{20,}|gh[opsu]_[A-Za-z0-9]{30,}"
    r"|github_pat_\w{30,}|glpat-[\w-]{16,}|xox[abp]-[\w-]{16,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}"
    r"|(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*|[0-9a-f]{32}\.[A-Za-z0-9]{12,})|(?<=(?i:bearer) )[\w.~+/=-]{12,}"
)
_DIGITS: Final = re.compile(r"[A-Za-z0-9+/_=-]{32,}")
_UUID: Final = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_LEAST_BITS: Final = 3.0  # 32 random hexadecimal digits have 3.6 bits each on average and hardly ever below 3.2
_ADDRESS: Final = re.compile(
    r"""(?<!\w)(\w+://)(?:[^\s/?#'"<>]*@)?((?:\[secret\ \w*\]|[^\s?#'"<>])*)(?:[?#](?:\[secret\ \w*\]|[^\s'"<>])*)?"""
)
_PASSWORD: Final = re.compile(
    r"""(?<=://)(?:
    [^/?#@\s:\["'<>]*:(?!\{+\w*\}+@)(?:(?P<password>[^/?#\s"'<>]+)@|(?!\d+[/?#])(?P<unescaped>[^\s"'<>]{1,256})@)
    |(?!\{+\w*\}+:?@)(?P<alone>[^/?#@\s:\["'<>]+):?@)""",
    re.VERBOSE,
)
"""What stands before the host: a password, also with `/`, `?` or `#` in it where no port is meant, or a key alone."""
# A run of word characters is read once, from its start: in linear time whatever the text, as a request's may be long.
_NAMED: Final = re.compile(
    r"""(?<![\w.-])(?P<name>[\w.-]++)(?P<closing>\\*+["']?+)\s*+(?P<sign>[:=])[^\S\n]*+\n?+[^\S\n]*+
    (?:(?P<opening>\\*+["'])|(?=[^\s"',}\]&#\[{]))""",
    re.VERBOSE,
)
_TO_QUOTE: Final = re.compile(rf'(?:[^"\\$]|\\.|(?!{REFERENCE.pattern})\$)*+', re.DOTALL)
_BARE_END: Final = re.compile(rf"""{REFERENCE.pattern}|["',}}\]&\n]|\Z""")
_PARAMETER_END: Final = re.compile(rf"""{REFERENCE.pattern}|["',}}\]&\#\s]|\Z""")


def check_key(key: str, name: str = "api_key") -> None:
    """Refuse a key that is not a reference; an empty one is allowed.

    Args:
        key: as configured.
        name: its name in the configuration.

    Raises:
        ConfigError: it is written out.
    """
    if key and not REFERENCE.fullmatch(key):
        raise ConfigError(
            f"{name}: a key is not written out here, as it would be stored: put {name.upper()}=... into .env and write "
            f'"${{{name.upper()}}}"'
        )


def check_secrets(url: str, headers: Mapping[str, str]) -> None:
    """Refuse a key that is written out where a reference to it belongs, and a header that HTTP cannot carry.

    Args:
        url: the address of calls; may hold a reference.
        headers: sent with every call; may hold references.

    Raises:
        ConfigError: a key is written out, the name of a header is none, or its value has a control character; the
            message names it and says what to write instead.
    """
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise ConfigError("the address holds a user name or password, which would be stored; use a header with ${NAME}")
    query = parse_qsl(parts.query, keep_blank_values=True)
    if looks_secret(parts.path) or any(is_written_out(name, value, outside=True) for name, value in query):
        raise ConfigError('the address holds a key, which would be stored; write it as a reference, "${NAME}"')
    for name, value in headers.items():
        if not HTTP_TOKEN.fullmatch(name):
            raise ConfigError(f"headers: {name!r} is not a header's name: letters, digits and - are expected")
        if control := _NOT_IN_HEADERS.search(value):
            raise ConfigError(f"headers: the value of {name} holds the control character {control[0]!r}: remove it")
        if is_written_out(name, value, outside=True):
            raise ConfigError(f'header {name} must hold a reference such as "${{NAME}}": a key itself would be stored')


def check_sent(where: str, sent: Mapping[str, Any]) -> None:
    """Refuse a key in a body or in parameters, written out or as a reference, which is not resolved there.

    Args:
        where: `body` or `parameters`.
        sent: a plain value.

    Raises:
        ConfigError: it holds a key; the message names it and says where it belongs.
    """
    name = written_out(sent)
    if name is not None:
        raise ConfigError(
            f'{where}: {name} holds a key, which would be stored; send it in a header, as a reference "${{NAME}}"'
        )
    for text in texts_in(sent):
        if match := REFERENCE.search(text):
            raise ConfigError(f"{match[0]} in {where} is not resolved: a key belongs in a header or the address")


def is_data(key: str, *, is_text: bool) -> bool:
    """Whether the value of `key` is data, in which `${...}` is not a reference.

    >>> is_data("refine_template", is_text=True), is_data("body", is_text=False), is_data("api_key", is_text=True)
    (True, True, False)
    """
    return key in BODY_KEYS or (is_text and (key in TEXT_KEYS or key.endswith("_template")))


def references(value: Any) -> Iterator[str]:
    """Every NAME of a `${NAME}` in the strings of a plain value, except in data.

    >>> list(references({"headers": ["Bearer ${KEY}"], "template": "It costs ${price}."}))
    ['KEY']
    """
    if isinstance(value, str):
        yield from REFERENCE.findall(value)
    elif isinstance(value, Mapping):
        for key, element in value.items():
            if not is_data(key, is_text=isinstance(element, str)):
                yield from references(element)
    elif isinstance(value, list | tuple):
        for element in value:
            yield from references(element)


def names_secret(name: str, *, bare_key: bool = False) -> bool:
    """Whether a value under `name` is a secret.

    Args:
        name: of a key, a header or a parameter of an address.
        bare_key: whether `key` alone names a secret, as in an address or a header.

    >>> [names_secret(name) for name in ("X-Auth", "apiKey", "max_tokens", "author", "token_count", "key")]
    [True, True, False, False, False, False]
    """
    words = [word.lower() for word in _WORD.findall(name)]
    is_count = any(map(_COUNTED.fullmatch, words))
    for previous, word in zip(["", *words], words, strict=False):
        if word in {"key", "keys"} and (_BEFORE_KEY.fullmatch(previous) or (bare_key and word == words[-1])):
            return True
        if _SECRET.fullmatch(word) and not (is_count and "token" in word):
            return True
    return False


def names_masked(name: str, *, bare_key: bool = False, in_address: bool = False) -> bool:
    """Whether a value under `name` is masked: more than is refused, as a short or harmless one may be hidden.

    Args:
        name: of a key, a header or a parameter of an address.
        bare_key: whether `key` alone names a secret.
        in_address: whether it is a parameter of an address, where `sig` and `code` are secrets.

    >>> [names_masked(name) for name in ("password", "db_pass", "sessionId", "pass_rate", "code")]
    [True, True, True, False, False]
    """
    words = " ".join(_WORD.findall(name)).lower()
    if in_address and words in _IN_ADDRESS:
        return True
    return _MASKED.fullmatch(words) is not None or names_secret(name, bare_key=bare_key)


def looks_secret(text: str, *, digits: bool = False) -> bool:
    """Whether `text` contains a secret, whatever its name.

    Args:
        text: any text; references in it are not secrets.
        digits: whether long random hexadecimal or base64 digits count, as in a header or an address.

    >>> looks_secret("sk-3f9a0c1e"), looks_secret("Bearer ${KEY}"), looks_secret("0c1e" * 10, digits=True)
    (True, False, False)
    """
    return next(_spans(REFERENCE.sub(" ", text), digits=digits), None) is not None


def is_written_out(name: str, value: Any, *, outside: bool = False) -> bool:
    """Whether `value` is a secret and no reference to one.

    Args:
        name: of the value.
        value: a text or a number; anything else is not a secret.
        outside: whether it is in a header or an address, where a short value counts too.
    """
    if isinstance(value, bool) or not isinstance(value, str | int):
        return False
    text = str(value)
    if looks_secret(text, digits=outside):
        return True
    has_secret_name = names_secret(name, bare_key=outside) and not REFERENCE.search(text)
    return has_secret_name and len(text.strip()) >= (1 if outside else SHORTEST)


def written_out(value: Any, name: str = "") -> str | None:
    """The name under which the first secret is written out in a plain value; None where there is none.

    >>> written_out({"a": [{"token": "abcdefgh"}]}), written_out({"max_tokens": 12345678})
    ('token', None)
    """
    if isinstance(value, Mapping):
        return next(
            (secret for key, element in value.items() if (secret := written_out(element, str(key))) is not None), None
        )
    if isinstance(value, list | tuple):
        return next((secret for element in value if (secret := written_out(element, name)) is not None), None)
    return name if is_written_out(name, value) else None


def without_query(text: str) -> str:
    """`text` with scheme, host, port and path alone of every address in it: keys stand in the other parts.

    >>> without_query("url='http://me:abc@h:80/v1?key=abc' and /v1")
    "url='http://h:80/v1' and /v1"
    """
    return _ADDRESS.sub(r"\1\2", text)


def masked(line: str) -> str:
    """`line` with every secret replaced by as many stars; references stay.

    >>> masked('{X-Auth: abc, model: m, api_key: "${KEY}"}')
    '{X-Auth: ***, model: m, api_key: "${KEY}"}'
    """
    spans = [*_spans(line, digits=True), *_passwords(line), *_named(line)]
    marks = [*line]
    for start, end in spans:
        marks[start:end] = "*" * (end - start)
    return "".join(marks)


def _passwords(line: str) -> Iterator[tuple[int, int]]:
    for match in _PASSWORD.finditer(line):
        group = match.lastgroup or 0
        if not REFERENCE.search(match[group]):
            yield match.span(group)


def _named(line: str) -> Iterator[tuple[int, int]]:
    """The spans of values whose names are a secret's; another value may itself contain a name and a value."""
    position = 0
    while match := _NAMED.search(line, position):
        position = match.end()
        equal = match["sign"] == "="
        in_address = equal and line[max(match.start() - 1, 0)] in "?&"
        name, bare_key = match["name"], equal or "-" in match["name"]
        is_variable = equal and name.isupper()
        if in_address or is_variable or match["closing"]:  # in prose, `pass` and `signature` are words as others
            is_secret = names_masked(name, bare_key=bare_key, in_address=in_address)
        else:
            is_secret = names_secret(name, bare_key=bare_key)
        if not is_secret:
            continue
        position = _end_of_value(line, position, match["opening"] or "", in_address=in_address)
        if reference := REFERENCE.match(line, position):
            position = reference.end()
        else:
            yield match.end(), match.end() + len(line[match.end() : position].rstrip())


def _end_of_value(line: str, start: int, opening: str, *, in_address: bool) -> int:
    """Where a value ends, or the first reference in it begins."""
    if opening == '"':
        text = _TO_QUOTE.match(line, start)
        return text.end() if text else start
    if not opening:
        border = (_PARAMETER_END if in_address else _BARE_END).search(line, start)
        return border.start() if border else len(line)
    end = line.find(opening, start)
    end = len(line) if end < 0 else end
    reference = REFERENCE.search(line, start, end)
    return reference.start() if reference else end


def _spans(text: str, *, digits: bool) -> Iterator[tuple[int, int]]:
    yield from (match.span() for match in _KEY.finditer(text))
    if digits:
        yield from (match.span() for match in _DIGITS.finditer(text) if _is_random(match[0]))


def _is_random(word: str) -> bool:
    """Whether a long word is random digits: letters and figures mixed, and not a UUID.

    >>> _is_random("0123456789abcdef" * 2), _is_random("vnd-openxmlformats-officedocument-sheet")
    (True, False)
    """
    if _UUID.fullmatch(word) or sum(mark.isdigit() for mark in word) < 4 or not any(mark.isalpha() for mark in word):
        return False
    shares = [count / len(word) for count in Counter(word).values()]
    return -sum(share * log2(share) for share in shares) >= _LEAST_BITS
