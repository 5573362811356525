"""References: a secret is written `${NAME}` and its value comes from the environment or a `.env` beside the file.

Values are looked up here so that a missing one is found before the first call; they go to the session and nowhere
else. No error of this module shows a line of a `.env` file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from steelyard.config.positions import Node, decoded, texts
from steelyard.config.problems import Problems
from steelyard.errors import ConfigError, Place
from steelyard.session.secrets import REFERENCE

_LINE: Final = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")
_SECRET_KEYS: Final = frozenset(
    {"api_key", "apikey", "api-key", "x-api-key", "authorization", "password", "secret", "access_token"}
)
_SHORTEST_KEY: Final = 8  # local servers are given "EMPTY" or "none"; those are no secrets
_USER_AND_PASSWORD: Final = re.compile(r"://[^/@\s:]+:[^/@\s${]+@")
_ESCAPES: Final[Mapping[str, str]] = {"n": "\n", "t": "\t", "r": "\r"}
_MAX_BYTES: Final = 1_000_000


class Environment(Mapping[str, str]):
    """The values behind the references of one configuration, by name; shown without them."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Environment({', '.join(self._values)})"


def environment(root: Node, environ: Mapping[str, str], dotenv: Path | None) -> Environment:
    """The value of every `${NAME}` in the texts of `root`.

    Args:
        root: the configuration.
        environ: looked at first.
        dotenv: a file looked at next; need not exist; None looks nowhere.

    Raises:
        ConfigError: a name without a value, a secret that is written out, or a malformed `.env`.
    """
    problems = Problems()
    _refuse_literals(root, problems)
    wanted: dict[str, Node] = {}
    for node in texts(root):
        for name in REFERENCE.findall(node.value):
            wanted.setdefault(name, node)
    beside: Mapping[str, str] = {}
    if wanted and dotenv is not None:
        with problems.gathered(root):
            beside = read_dotenv(dotenv)
    values = {name: environ.get(name) or beside.get(name, "") for name in wanted}
    for name, node in wanted.items():
        if not values[name]:
            place = f"put it into {dotenv}" if dotenv is not None else "drop the option that leaves .env out"
            problems.add(f"set {name} or {place}: ${{{name}}} has no value", node)
    problems.raise_any()
    return Environment(values)


def _refuse_literals(node: Node, problems: Problems) -> None:
    for key, entry in node.entries.items():
        text = entry.node.value
        if key.lower() in _SECRET_KEYS and isinstance(text, str) and len(text) >= _SHORTEST_KEY and "${" not in text:
            name = re.sub(r"\W", "_", key).upper()
            message = f'a secret is not written out here: put {name}=... into .env and write "${{{name}}}"'
            problems.add(f"{key}: {message}", entry.key)
        _refuse_literals(entry.node, problems)
    if isinstance(node.value, tuple):
        for one in node.value:
            _refuse_literals(one, problems)
    if isinstance(node.value, str) and _USER_AND_PASSWORD.search(node.value):
        place = Place(node.place.file, node.line, node.column)  # without the line: it holds the password
        problems.note(ConfigError('a password is not written into an address: write "${NAME}" instead', place), node)


def read_dotenv(path: Path) -> dict[str, str]:
    """The names and values of a `.env` file: `NAME=value`, quotes, `# comments`, `export`; no expansion.

    Raises:
        ConfigError: not UTF-8, too large, or a line that is no assignment; the line itself is not shown.
    """
    if not path.is_file():
        return {}
    try:
        data = path.read_bytes() if path.stat().st_size <= _MAX_BYTES else None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", Place(str(path))) from error
    if data is None:
        raise ConfigError("too large for a .env file", Place(str(path)))
    values = {}
    for number, line in enumerate(decoded(data, str(path)).splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        value = None if found is None else _unquoted(found[2].strip())
        if found is None or value is None:
            raise ConfigError('expected NAME=value, or NAME="value"', Place(str(path), number))
        values[found[1]] = value
    return values


def _unquoted(text: str) -> str | None:
    r"""The value as written: double quotes know `\n`, single quotes nothing, bare text ends at ` #`.

    >>> _unquoted('"a # b" # c'), _unquoted("a # b"), _unquoted('"open')
    ('a # b', 'a', None)
    """
    quote = text[:1]
    if quote not in {'"', "'"}:
        return re.split(r"(?:^|\s+)#", text, maxsplit=1)[0].rstrip()
    inside = r'((?:[^"\\]|\\.)*)"' if quote == '"' else r"([^']*)'"
    found = re.fullmatch(f"{quote}{inside}\\s*(?:#.*)?", text)
    if found is None:
        return None
    if quote == "'":
        return found[1]
    return re.sub(r"\\(.)", lambda one: _ESCAPES.get(one[1], one[1]), found[1])
