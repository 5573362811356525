"""References: a secret is written `${NAME}` and its value comes from the environment or a `.env` next to the file.

Values are looked up here so that a missing one is found before the first call; they are passed only to the session.
No error of this module shows a line of a `.env` file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from steelyard.building.nodes import Node, Problems
from steelyard.building.read import decoded
from steelyard.config.targets import expanded
from steelyard.errors import ConfigError, Location
from steelyard.files import read_regular
from steelyard.models.references import BODY_KEYS, REFERENCE, is_data, is_written_out

_LINE: Final = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")
_WORDS: Final = frozenset({"template", "system", "text", "default", "replies"})
_CHECKED_BY_MODELS: Final = frozenset({"api_key"})
"""Keys in which every model rejects a secret itself; they are not checked here, so that there is a single message."""
_NO_SECRETS: Final = frozenset({"gate", "samples"})
"""Keys of a configuration below which names are those of scores and columns: `token_f1: ">= 0.75"`."""
_USER_AND_PASSWORD: Final = re.compile(r"://[^/@\s:]+:[^/@\s${]+@")
_ESCAPES: Final[Mapping[str, str]] = {"n": "\n", "t": "\t", "r": "\r"}
_MAX_BYTES: Final = 1_000_000


class Environment(dict[str, str]):
    """The values of a configuration's references, by name; its repr hides the values."""

    def __repr__(self) -> str:
        return f"Environment({', '.join(self)})"


def environment(root: Node, environ: Mapping[str, str], dotenv: Path | None, *, sends: bool = True) -> Environment:
    """Look up every `${NAME}` in `root` where references are resolved; prompts are not changed.

    Args:
        root: the configuration.
        environ: searched first.
        dotenv: a `.env` file that is searched next and need not exist; None for no file.
        sends: whether calls will be made; otherwise names without a value are left out.

    Raises:
        ConfigError: a name without a value where calls will be made, a control character in one, a secret that is
            written out, or a malformed `.env`.
    """
    problems = Problems()
    _refuse_literals(root, problems)
    references: dict[str, Node] = {}
    for node in _resolved(_each_target(root)):
        for name in REFERENCE.findall(node.value):
            references.setdefault(name, node)
    in_file: Mapping[str, str] = {}
    if references and dotenv is not None:
        with problems.gathered(root):
            in_file = read_dotenv(dotenv)
    values = {name: environ.get(name) or in_file.get(name, "") for name in references}
    for name, node in references.items():
        if sends and not values[name]:
            or_file, no_file = (f" or put it into {dotenv}", "") if dotenv else ("", ", and no .env file is read")
            problems.add(f"set {name}{or_file}: ${{{name}}} has no value{no_file}", node)
        elif not values[name].isprintable():
            problems.add(f"the value of {name} holds a line break or another control character: remove it", node)
    problems.raise_any()
    return Environment({name: value for name, value in values.items() if value})


def _each_target(root: Node) -> Node:
    """`root` with its matrix expanded, so that each value is at the key that uses it."""
    try:
        return expanded(root)[0]
    except ConfigError:  # building the targets reports what is wrong with the matrix
        return root


def _resolved(node: Node, key: str = "") -> Iterator[Node]:
    """Every text below `node` in which references are resolved; a target's name does not make its content data."""
    if isinstance(node.value, str):
        yield node
    for name, entry in node.entries.items():
        if key == "targets" or not is_data(name, is_text=isinstance(entry.node.value, str)):
            yield from _resolved(entry.node, name)
    if isinstance(node.value, tuple):
        for element in node.value:
            yield from _resolved(element, key)


def _refuse_literals(node: Node, problems: Problems, above: tuple[str, ...] = ()) -> None:
    """Report every secret that is written out below `node`, whose path is `above`."""
    for key, entry in node.entries.items():
        if above or key not in _NO_SECRETS:
            _refuse_literal(key, entry.node, entry.key, problems, above)
            _refuse_literals(entry.node, problems, (*above, key))
    if isinstance(node.value, tuple):
        for element in node.value:
            if above:
                _refuse_literal(above[-1], element, element, problems, above)
            _refuse_literals(element, problems, above)
    if isinstance(node.value, str) and _USER_AND_PASSWORD.search(node.value):
        location = Location(node.location.file, node.line, node.column)  # without the line's text, with the password
        problems.note(ConfigError('a password is not allowed in an address: write "${NAME}" instead', location), node)


def _refuse_literal(key: str, node: Node, at: Node, problems: Problems, above: tuple[str, ...]) -> None:
    value = node.value
    if key in _WORDS or (key in _CHECKED_BY_MODELS and not BODY_KEYS & {*above}):
        return
    if not is_written_out(key, value, outside=above[-1:] == ("headers",)):
        return
    if BODY_KEYS & {*above}:
        message = (
            f"a secret is not allowed here, and a reference is not resolved in {above[-1]}: "
            'send it in a header as "${NAME}"'
        )
    else:
        name = re.sub(r"\W", "_", key).upper()
        message = f'a secret is not allowed here: put {name}=... into .env and write "${{{name}}}"'
    problems.add(f"{key}: {message}", at)


def read_dotenv(path: Path) -> dict[str, str]:
    """The names and values of a `.env` file: `NAME=value`, quotes, `# comments`, `export`; no expansion.

    Raises:
        ConfigError: not UTF-8, too large, or a line that is not an assignment; the line itself is not shown.
    """
    if not path.is_file():
        return {}
    try:
        data = read_regular(path, _MAX_BYTES)
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", Location(str(path))) from error
    values = {}
    for number, line in enumerate(decoded(data, str(path)).splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        value = None if match is None else _unquoted(match[2].strip())
        if match is None or value is None:
            raise ConfigError('expected NAME=value, or NAME="value"', Location(str(path), number))
        values[match[1]] = value
    return values


def _unquoted(text: str) -> str | None:
    r"""The value without its quotes: escapes count in double quotes only, and text without quotes ends at ` #`.

    >>> _unquoted('"a # b" # c'), _unquoted("a # b"), _unquoted('"open')
    ('a # b', 'a', None)
    """
    quote = text[:1]
    if quote not in {'"', "'"}:
        return re.split(r"(?:^|\s+)#", text, maxsplit=1)[0].rstrip()
    inside = r'((?:[^"\\]|\\.)*)"' if quote == '"' else r"([^']*)'"
    match = re.fullmatch(f"{quote}{inside}\\s*(?:#.*)?", text)
    if match is None:
        return None
    if quote == "'":
        return match[1]
    return re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), match[1])
