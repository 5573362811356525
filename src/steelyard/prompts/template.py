r"""Templates: texts with placeholders such as `{{name}}`, how they are loaded, and how they are filled from values.

    {{question}}            the value of that name; spaces inside the braces are allowed
    {{metadata.author}}     a value inside a mapping (never an attribute of an object)
    {"a": 1} \frac{1}{2}    single braces are text, and so are double ones without a name in them
    {{{{question}}}}        four braces around a name are the text {{question}}

There are no expressions, attributes or code. Values are data too: braces in a value are never read as placeholders.

The text of a template is packaged, in a file, or written directly. The name of a missing file must not be sent as a
prompt, and a short prompt must not be taken for a file. So only the form of a text decides whether it is a name, and
a text that looks like the name of a missing file is an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Final

from steelyard.errors import ConfigError, did_you_mean
from steelyard.files import read_regular_text
from steelyard.plain_json import texts_in, with_texts
from steelyard.types import Json

_TEXT_SUFFIXES: Final = frozenset(
    f".{suffix}"
    for suffix in (
        *("txt", "text", "md", "markdown", "mdx", "rst", "tex", "log", "docx", "pdf", "html", "htm", "xml"),
        *("prompt", "prompty", "system", "j2", "jinja", "jinja2", "tmpl", "tpl", "template", "mustache", "hbs"),
        "liquid",
        *("yaml", "yml", "json", "jsonl", "toml", "ini", "cfg", "csv", "tsv"),
    )
)
_SUFFIX: Final = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,9}")
_LONGEST_NAME: Final = 255
_MOST_BYTES: Final = 5_000_000
_MOST_WORDS: Final = 3
"""Maximum words of a file name with spaces: a longer text that ends in `.txt` may be a sentence without a full stop."""
_NAME: Final = r"[ \t]*+(?P<{}>metadata\.[^{{}}\n]++|\w[\w.\- \t]*+)"
"""A key of metadata may be the header of any column: `{{metadata.备注（可选）}}`."""
_PLACEHOLDER: Final = re.compile(
    r"\{\{\{\{" + _NAME.format("literal") + r"\}\}\}\}|\{\{" + _NAME.format("name") + r"\}\}"
)


def load_template(given: Path | str) -> str:
    """The text of a template.

    Args:
        given: a path is a UTF-8 text file. A text with a line break or `{{` in it is the template itself; any other
            text is the name of a packaged prompt (`zh/four_options`) or else the path of a file.

    Raises:
        ConfigError: there is no such prompt and no such file.
    """
    if isinstance(given, str) and not is_template_file(given):
        return _packaged(given) if given in packaged_prompts() else given
    try:
        return text_of_file(Path(given))
    except (OSError, ValueError) as error:
        hint = "" if isinstance(given, Path) else did_you_mean(given, packaged_prompts())
        if hint.startswith("; known"):  # the names of all prompts would hide the reason
            hint = "" if Path(given).suffix else "; steelyard prompts lists the packaged ones"
        what = f"{str(given)!r} is neither a prompt nor a text file ({getattr(error, 'strerror', None) or error})"
        raise ConfigError(f"{what}; one written directly shows a value, such as {{{{question}}}}{hint}") from error


def is_template_file(given: Path | str) -> bool:
    """Whether `load_template` opens a file for it.

    >>> is_template_file("Q: {{question}}"), is_template_file("zh/four_options"), is_template_file("a.txt")
    (False, False, True)
    """
    return isinstance(given, Path) or not ("\n" in given or "{{" in given or given in packaged_prompts())


@lru_cache(maxsize=1)
def packaged_prompts() -> tuple[str, ...]:
    """The names of the prompts that come with Steelyard, sorted."""
    folders = [entry for entry in files("steelyard").joinpath("prompts").iterdir() if entry.is_dir()]
    return tuple(
        sorted(
            f"{folder.name}/{entry.name.removesuffix('.txt')}"
            for folder in folders
            for entry in folder.iterdir()
            if entry.name.endswith(".txt")
        )
    )


@lru_cache(maxsize=64)
def _packaged(name: str) -> str:
    return files("steelyard").joinpath(f"prompts/{name}.txt").read_text(encoding="utf-8").rstrip("\n")


def load_words(given: Path | str, what: str, *, files: bool = True) -> str:
    """The words of a prompt, which are written in a configuration directly or in a file.

    Args:
        given: a path is a UTF-8 text file, and so is a text that looks like a file name; any other text is the words
            themselves.
        what: the key, for messages.
        files: whether the key may name a file.

    Raises:
        ConfigError: it looks like a file name, and there is no such file or the key takes no file; or the file is
            empty.

    >>> load_words("Be brief.", "system")
    'Be brief.'
    """
    if isinstance(given, str) and not looks_like_file(given):
        return given
    if not files:
        raise ConfigError(
            f"{what}: {str(given)!r} looks like the name of a file, but this key takes only the words themselves; if "
            "these are the words, end them with a full stop"
        )
    try:
        text = text_of_file(Path(given).expanduser())
    except (OSError, ValueError, RuntimeError) as error:
        raise ConfigError(no_such_file(what, str(given), getattr(error, "strerror", None) or str(error))) from error
    if not text.strip():
        raise ConfigError(f"{what}: the file {str(given)!r} is empty: write the words into it, or leave {what} out")
    return text


def refuse_file_names(**words: Any) -> None:
    """Reject words that look like the name of a file, for keys that take only the words themselves.

    Args:
        words: by their key: a text, a list of texts, or a mapping to texts; anything else is ignored.

    Raises:
        ConfigError: the message names the key.
    """
    for key, value in words.items():
        texts = value.values() if isinstance(value, Mapping) else [value] if isinstance(value, str) else value
        for text in texts if isinstance(texts, Iterable) else ():
            if isinstance(text, str):
                load_words(text, key, files=False)


def own_words(name: str, value: Any) -> None:
    """Require words that are not the name of a file: the constraint of an option that holds the words themselves."""
    refuse_file_names(**{name: value})


OwnWords = Annotated[str, own_words]


def words_of_file(given: Path | str, what: str) -> dict[str, str]:
    """The manifest entry of words from a file: the words under their key; empty for words that are written directly."""
    words = load_words(given, what)
    return {} if words == given else {what: words}


def no_such_file(what: str, given: str, reason: str = "No such file or directory") -> str:
    """The message for a text that looks like the name of a file that does not exist."""
    return (
        f"{what}: {given!r} looks like the name of a file, and cannot be read as one ({reason}). Correct the name "
        "(paths count from the configuration's folder); if these are the words to send, end them with a full stop"
    )


def looks_like_file(text: str) -> bool:
    """Whether a text looks like the name of a file and not like words for a model.

    Such a text is one line without placeholders. Without spaces, it ends in the suffix of a text file, or is a path
    with any suffix, or begins with `./`, `../` or `~/`. With spaces, it ends in the suffix of a text file and has at
    most three words, or is a path whose first folder has no space.

    >>> [looks_like_file(text) for text in ("v1.txt", "prompts/v2.md", "my prompts/system v2.txt", "system v2.txt")]
    [True, True, True, True]
    >>> [looks_like_file(text) for text in ("Be brief.", "Answer in C/C++.", "/no_think", "Write it to a.txt")]
    [False, False, False, False]
    """
    name = text.strip()
    if not name or len(name) > _LONGEST_NAME or "{{" in name or "://" in name or not name.isprintable():
        return False
    base = re.split(r"[/\\]", name)[-1]
    suffix = base[base.rfind(".") :] if "." in base[1:] else ""
    is_path = len(base) < len(name)
    is_text = suffix.lower() in _TEXT_SUFFIXES
    if any(character.isspace() for character in name):
        first = re.split(r"[/\\]", name)[0]
        is_short = len(name.split()) <= _MOST_WORDS
        return is_text and (is_short or (is_path and not any(character.isspace() for character in first)))
    if name.startswith(("./", "../", "~/", ".\\", "..\\")):
        return True
    return is_text or (is_path and _SUFFIX.fullmatch(suffix) is not None)


def text_of_file(path: Path) -> str:
    """The text of a UTF-8 file, without line ends at its end.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not UTF-8.
    """
    stamp = path.stat()
    return _of_file(path, stamp.st_mtime_ns, stamp.st_size)


@lru_cache(maxsize=64)
def _of_file(path: Path, _mtime_ns: int, _size: int) -> str:
    """Cached by what `stat` says, so that a prompt edited between two runs of a notebook is read again."""
    return read_regular_text(path, _MOST_BYTES).rstrip("\n")


def render(template: str, values: Mapping[str, Any]) -> str:
    r"""`template` with every placeholder replaced by its value.

    Args:
        template: any text.
        values: a text is filled in unchanged; numbers, booleans, lists and mappings as compact JSON.

    Raises:
        ConfigError: no value has that name (the nearest one is suggested), or the value is None: an unintended gap
            would change the question.

    >>> render(r"\boxed{{{n}}} {{ meta.by }}", {"n": 3, "meta": {"by": "Zhu Xi {{n}}"}})
    '\\boxed{3} Zhu Xi {{n}}'
    """

    def replacement(match: re.Match[str]) -> str:
        if match["name"] is None:
            return match[0][2:-2]
        return _as_text(match["name"].strip(), values)

    return _PLACEHOLDER.sub(replacement, template)


def renamed(template: str, names: Mapping[str, str]) -> str:
    """`template` with other names in its placeholders; those that `names` lacks are kept.

    >>> renamed("{{ text }} ({{channel}}, {{id}}) {{{{text}}}}", {"text": "question", "channel": "metadata.channel"})
    '{{question}} ({{metadata.channel}}, {{id}}) {{{{text}}}}'
    """

    def replacement(match: re.Match[str]) -> str:
        name = None if match["name"] is None else names.get(match["name"].strip())
        return match[0] if name is None else f"{{{{{name}}}}}"

    return _PLACEHOLDER.sub(replacement, template) if names else template


@lru_cache(maxsize=64)
def placeholders(template: str) -> tuple[tuple[str, int], ...]:
    """Every placeholder in `template`, in order: its name and the offset of its first brace.

    >>> placeholders("{a} {{b}} {{{{c}}}} {{ d.e }}")
    (('b', 4), ('d.e', 20))
    """
    matches = _PLACEHOLDER.finditer(template)
    return tuple((match["name"].strip(), match.start()) for match in matches if match["name"] is not None)


def bare(template: str) -> str:
    """The template's own words, without its placeholders.

    >>> bare("Q: {{question}} {{{{x}}}}")
    'Q:  {{{{x}}}}'
    """
    return _PLACEHOLDER.sub(lambda match: match[0] if match["name"] is None else "", template)


def fill(value: Json, values: Mapping[str, Any]) -> Json:
    """Fill the placeholders of every string in a JSON value; keys are not changed.

    A string that is only a placeholder becomes the value itself and so keeps its JSON type (including None); any other
    string is rendered.

    >>> fill({"k": "{{k}}", "ask": ["Q: {{q}}"]}, {"k": 5, "q": "why?"})
    {'k': 5, 'ask': ['Q: why?']}
    """

    def filled(text: str) -> Any:
        match = _PLACEHOLDER.fullmatch(text)
        if match is None or match["name"] is None:
            return render(text, values)
        return value_at(match["name"].strip(), values)

    json_value: Json = with_texts(value, filled)
    return json_value


def names_in(value: Json) -> Iterator[str]:
    """The name of every placeholder in the strings of `value`, as `fill` looks it up."""
    return (name for text in texts_in(value) for name, _ in placeholders(text))


def has_escapes(value: Json) -> bool:
    """Whether a string in `value` writes braces that stand for themselves, as `{{{{name}}}}`."""
    matches = (match for text in texts_in(value) for match in _PLACEHOLDER.finditer(text))
    return any(match["name"] is None for match in matches)


def names_of(*texts: str) -> frozenset[str]:
    """The names of all placeholders in some templates."""
    return frozenset(name for text in texts for name, _ in placeholders(text))


def check_names(value: Json, known: Collection[str]) -> None:
    """Reject a template with a placeholder that will have no value.

    Args:
        value: a template, or a JSON value with templates in it.
        known: the names that will have a value; for a dotted name the first part is enough.

    Raises:
        ConfigError: the message suggests the nearest known name.
    """
    for name in names_in(value):
        if name not in known and name.partition(".")[0] not in known:
            raise _unknown(name, known)


def value_at(name: str, values: Mapping[str, Any]) -> Any:
    """The value called `name`; a dot leads into a mapping.

    Raises:
        ConfigError: there is no such value.
    """
    if name in values:
        return values[name]
    value: Any = values
    prefix, rest = "", name
    while True:
        key = _key_at(value, rest)
        if key is None:
            raise _unknown(name, [prefix + str(key) for key in value] if isinstance(value, Mapping) else list(values))
        value = value[key]
        if key == rest:
            return value
        prefix, rest = f"{prefix}{key}.", rest[len(key) + 1 :]


def _key_at(value: Any, rest: str) -> str | None:
    """The key of a mapping that a dotted name begins with; a key may have dots of its own, as the header "No. 1"."""
    if not isinstance(value, Mapping):
        return None
    first = rest.partition(".")[0]
    if rest in value or first in value:
        return rest if rest in value else first
    return next((key for key in value if isinstance(key, str) and rest.startswith(f"{key}.")), None)


def _as_text(name: str, values: Mapping[str, Any]) -> str:
    value = value_at(name, values)
    if isinstance(value, str):
        return value
    if value is None:
        raise ConfigError(f"{{{{{name}}}}} has no value here, and leaving it empty would change the question")
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _unknown(name: str, known: Collection[str]) -> ConfigError:
    escaped = f"{{{{{{{{{name}}}}}}}}}"
    return ConfigError(
        f"unknown placeholder {{{{{name}}}}} (write {escaped} for the text itself){did_you_mean(name, known)}"
    )
