r"""Templates: text with `{{name}}` in it, where it comes from, and how it is filled from values.

    {{question}}            the value of that name; blanks inside the braces are allowed
    {{metadata.author}}     a value inside a mapping (never an attribute of an object)
    {"a": 1} \frac{1}{2}    single braces are text, and so are double ones that hold no name
    {{{{question}}}}        four braces around a name are the text {{question}}

Data only: no expression, no attribute, no code. What is filled in is data as well: braces that come with a value are
never looked at again.

The text of a template is packaged, a file, or written out. A file that is not there must not be sent as its name, and
short words must not be taken for a file. So a text is taken for a name by its form alone, and one that is taken so in
error is refused and never sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from steelyard.errors import ConfigError, did_you_mean
from steelyard.types import Json

_TEXT_SUFFIXES: Final = frozenset(
    f".{one}"
    for one in (
        *("txt", "text", "md", "markdown", "mdx", "rst", "tex", "log", "docx", "pdf", "html", "htm", "xml"),
        *("prompt", "prompty", "system", "j2", "jinja", "jinja2", "tmpl", "tpl", "template", "mustache", "hbs"),
        "liquid",
        *("yaml", "yml", "json", "jsonl", "toml", "ini", "cfg", "csv", "tsv"),
    )
)
_SUFFIX: Final = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,9}")
_LONGEST_NAME: Final = 255
_MOST_WORDS: Final = 3
"""Words of a file's name with blanks in it: what is longer and ends in `.txt` may be a sentence without its stop."""
_NAME: Final = r"[ \t]*+(?P<{}>\w[\w.\- \t]*+)"
_PLACEHOLDER: Final = re.compile(
    r"\{\{\{\{" + _NAME.format("literal") + r"\}\}\}\}|\{\{" + _NAME.format("name") + r"\}\}"
)


def load_template(given: Path | str) -> str:
    """The text of a template.

    Args:
        given: a path is a UTF-8 text file. A text with a line break or `{{` in it is the template itself; else it is a
            packaged prompt (`zh/four_options`), else the path of a file.

    Raises:
        ConfigError: there is no such prompt and no such file.
    """
    if isinstance(given, str):
        if "\n" in given or "{{" in given:
            return given
        if given in packaged_prompts():
            return _packaged(given)
    try:
        return text_of_file(Path(given))
    except (OSError, ValueError) as error:
        hint = "" if isinstance(given, Path) else did_you_mean(given, packaged_prompts())
        if Path(given).suffix and hint.startswith("; known"):
            hint = ""  # meant as a file: the names of all prompts would hide the reason
        what = f"{str(given)!r} is neither a prompt nor a text file ({getattr(error, 'strerror', None) or error})"
        raise ConfigError(f"{what}; a template written out holds {{{{question}}}}{hint}") from error


@lru_cache(maxsize=1)
def packaged_prompts() -> tuple[str, ...]:
    """The names of the prompts that come with Steelyard, sorted."""
    from importlib.resources import files

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
    from importlib.resources import files

    return files("steelyard").joinpath(f"prompts/{name}.txt").read_text(encoding="utf-8").rstrip("\n")


def load_words(given: Path | str, what: str, *, files: bool = True) -> str:
    """The words of a prompt that stand in a configuration themselves, or in a file.

    Args:
        given: a path is a UTF-8 text file, and so is a text that is written like a file's name; any other text is the
            words themselves.
        what: the key, for messages.
        files: whether it may be a file at all.

    Raises:
        ConfigError: it looks like a file's name, and there is none or none is taken; or the file is empty.

    >>> load_words("Be brief.", "system")
    'Be brief.'
    """
    if isinstance(given, str) and not looks_like_file(given):
        return given
    if not files:
        raise ConfigError(
            f"{what}: {str(given)!r} looks like the name of a file, but the words themselves are to stand here; if "
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
    """Refuse words that look like the name of a file where only the words themselves are taken.

    Args:
        words: by their key: a text, a list of texts, or a mapping to texts; anything else is left alone.

    Raises:
        ConfigError: which key.
    """
    for key, given in words.items():
        texts = given.values() if isinstance(given, Mapping) else [given] if isinstance(given, str) else given
        for text in texts if isinstance(texts, Iterable) else ():
            if isinstance(text, str):
                load_words(text, key, files=False)


def words_of_file(given: Path | str, what: str) -> dict[str, str]:
    """The manifest entry of words that come from a file: the words under their key; empty for words written out."""
    words = load_words(given, what)
    return {} if words == given else {what: words}


def no_such_file(what: str, given: str, reason: str = "No such file or directory") -> str:
    """The message for a text that is written like the name of a file that does not exist."""
    return (
        f"{what}: {given!r} looks like the name of a file, and cannot be read as one ({reason}). Correct the name "
        "(paths count from the configuration's folder); if these are the words to send, end them with a full stop"
    )


def looks_like_file(text: str) -> bool:
    """Whether a text is written like the name of a file and not like words for a model.

    It is on one line, without placeholders, and without blanks; it ends in the suffix of a text file, or is a path
    with any suffix, or begins with `./`, `../` or `~/`. With blanks it ends in the suffix of a text file and is at most
    three words, or a path whose first folder has no blank.

    >>> [looks_like_file(one) for one in ("v1.txt", "prompts/v2.md", "my prompts/system v2.txt", "system v2.txt")]
    [True, True, True, True]
    >>> [looks_like_file(one) for one in ("Be brief.", "Answer in C/C++.", "/no_think", "Write it to a.txt")]
    [False, False, False, False]
    """
    name = text.strip()
    if not name or len(name) > _LONGEST_NAME or "{{" in name or "://" in name or not name.isprintable():
        return False
    base = re.split(r"[/\\]", name)[-1]
    suffix = base[base.rfind(".") :] if "." in base[1:] else ""
    is_path = len(base) < len(name)
    is_text = suffix.lower() in _TEXT_SUFFIXES
    if any(one.isspace() for one in name):
        first = re.split(r"[/\\]", name)[0]
        is_short = len(name.split()) <= _MOST_WORDS
        return is_text and (is_short or (is_path and not any(one.isspace() for one in first)))
    if name.startswith(("./", "../", "~/", ".\\", "..\\")):
        return True
    return is_text or (is_path and _SUFFIX.fullmatch(suffix) is not None)


def text_of_file(path: Path) -> str:
    """The text of a UTF-8 file, without line ends behind it.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not UTF-8.
    """
    stamp = path.stat()
    return _of_file(path, stamp.st_mtime_ns, stamp.st_size)


@lru_cache(maxsize=64)
def _of_file(path: Path, _mtime_ns: int, _size: int) -> str:
    """Cached by what `stat` says, so that a prompt edited between two runs of a notebook is read again."""
    return path.read_text(encoding="utf-8-sig").rstrip("\n")


def render(template: str, values: Mapping[str, Any]) -> str:
    r"""`template` with every placeholder replaced by its value.

    Args:
        template: any text.
        values: a text is filled in as it is; numbers, truth values, lists and mappings as compact JSON.

    Raises:
        ConfigError: no value has that name (the nearest one is suggested), or the value is None: a blank that nobody
            meant would change the question.

    >>> render(r"\boxed{{{n}}} {{ meta.by }}", {"n": 3, "meta": {"by": "Zhu Xi {{n}}"}})
    '\\boxed{3} Zhu Xi {{n}}'
    """

    def replacement(match: re.Match[str]) -> str:
        if match["name"] is None:
            return match[0][2:-2]
        return _as_text(match["name"].strip(), values)

    return _PLACEHOLDER.sub(replacement, template)


@lru_cache(maxsize=64)
def placeholders(template: str) -> tuple[tuple[str, int], ...]:
    """Every placeholder in `template`, in order: its name and the offset of its first brace.

    >>> placeholders("{a} {{b}} {{{{c}}}} {{ d.e }}")
    (('b', 4), ('d.e', 20))
    """
    matches = _PLACEHOLDER.finditer(template)
    return tuple((match["name"].strip(), match.start()) for match in matches if match["name"] is not None)


def bare(template: str) -> str:
    """`template` without its placeholders: the words that are its own.

    >>> bare("Q: {{question}} {{{{x}}}}")
    'Q:  {{{{x}}}}'
    """
    return _PLACEHOLDER.sub(lambda match: match[0] if match["name"] is None else "", template)


def fill(value: Json, values: Mapping[str, Any]) -> Json:
    """Fill the placeholders of every string in a JSON value; keys are left as they are.

    A string that is nothing but one placeholder becomes the value itself and so keeps its JSON type (None included);
    any other string is rendered.

    >>> fill({"k": "{{k}}", "ask": ["Q: {{q}}"]}, {"k": 5, "q": "why?"})
    {'k': 5, 'ask': ['Q: why?']}
    """
    if isinstance(value, str):
        match = _PLACEHOLDER.fullmatch(value)
        if match is None or match["name"] is None:
            return render(value, values)
        filled: Json = value_at(match["name"].strip(), values)
        return filled
    if isinstance(value, Mapping):
        return {key: fill(item, values) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [fill(item, values) for item in value]
    return value


def names_in(value: Json) -> Iterator[str]:
    """The name of every placeholder in the strings of `value`, as `fill` will look it up."""
    if isinstance(value, str):
        yield from (name for name, _ in placeholders(value))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from names_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from names_in(item)


def check_names(value: Json, known: Collection[str]) -> None:
    """Refuse a template with a placeholder that will have no value.

    Args:
        value: a template, or a JSON value with templates in it.
        known: the names that will have a value; of a dotted name the first part is enough.

    Raises:
        ConfigError: with the nearest known name.
    """
    for name in names_in(value):
        if name not in known and name.partition(".")[0] not in known:
            raise _unknown(name, known)


def value_at(name: str, values: Mapping[str, Any]) -> Any:
    """The value called `name`; a dot steps into a mapping.

    Raises:
        ConfigError: there is none.
    """
    if name in values:
        return values[name]
    value: Any = values
    prefix = ""
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise _unknown(name, [prefix + str(key) for key in value] if isinstance(value, Mapping) else list(values))
        value = value[part]
        prefix += f"{part}."
    return value


def _as_text(name: str, values: Mapping[str, Any]) -> str:
    value = value_at(name, values)
    if isinstance(value, str):
        return value
    if value is None:
        raise ConfigError(f"{{{{{name}}}}} has no value here, and a blank would change the question")
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _unknown(name: str, known: Collection[str]) -> ConfigError:
    itself = f"{{{{{{{{{name}}}}}}}}}"
    return ConfigError(
        f"nothing is called {{{{{name}}}}} here (the text itself is {itself}){did_you_mean(name, known)}"
    )
