"""Builds objects from nodes: annotations give the expected types, and all errors of a file are reported together.

A class with options is a frozen dataclass and its fields are its keys. A model, target or scorer is written in one of
three forms: `{name: {fields}}`; `{name: scalar, other: ...}`, where the scalar is the value of the field with that
name, or else of the first field; or the bare name if there is nothing to set. Scorers are also built from plain values:
from Python dicts, and from cells of a dataset, which are not trusted.
"""

# Why it is so, and what was rejected: docs/decisions/config-dataclasses.md

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Final, get_origin

from steelyard.building.keys import (
    LEAVES,
    Key,
    described,
    element_of,
    is_class,
    is_json,
    is_literal,
    is_path,
    keys_of,
    keys_of_kind,
    kind_of,
    leaf,
    members,
    scalar_key,
    suits,
    value_of,
    words,
)
from steelyard.building.nodes import MappingEntry, Node, Problems, from_plain, plain, read_each
from steelyard.building.row_values import WithRowValues, columns_in, refusal, refuse_columns, with_stand_ins
from steelyard.building.wrapped import WRAPPER_KEYS, Adapted
from steelyard.constraints import check_options, option_of
from steelyard.errors import ConfigError, SteelyardError, boundary, did_you_mean
from steelyard.prompts.template import looks_like_file, names_in, no_such_file, packaged_prompts
from steelyard.registry import Kind, built_in_classes, find, name_of, names
from steelyard.sql.results import SqlLimits
from steelyard.types import Scorer

_MAY_BE_FOLDERS: Final = frozenset({"dataset", "databases"})
"""Keys that take a folder or a text. For other keys, a folder must not hide a packaged prompt of the same name."""

_MAY_BE_NO_FILES: Final = frozenset({"dataset", "store", "prices", "databases"})
"""Keys whose text may name something other than a file, or a file whose reader reports its errors."""
_LIMITS: Final = frozenset(field.name for field in fields(SqlLimits))
"""Of time, rows and memory; patterns have one of time, by the same name as queries."""


@dataclass(frozen=True, slots=True)
class Site:
    """Context of a value: the folder for relative paths, and the key it belongs to.

    Args:
        folder: of the configuration.
        what: the key, for messages.
        stored: whether the values come from a store and not from this person; then nothing is built that names a file,
            a model, a target, code or a class of another package.
        in_scorer: whether it belongs to a scorer, where no column may name a model.
        unchecked: whether the object's own `check` is left to the caller.
    """

    folder: Path
    what: str = ""
    stored: bool = False
    in_scorer: bool = False
    unchecked: bool = False

    def at(self, what: str) -> Site:
        """The site of another key, with the same folder."""
        return replace(self, what=what)

    def wrong(self, node: Node, message: str) -> ConfigError:
        """The error to raise about `node`; its message begins with the key."""
        return ConfigError(f"{self.what}: {message}" if self.what else message, node.location)


def build(hint: Any, node: Node, site: Site) -> Any:
    """Build the object that `node` describes.

    Args:
        hint: a dataclass, or any annotation that its fields may have.
        node: the tree.
        site: the key and folder that it is built for.

    Raises:
        ConfigError: one mistake with its position, or several as `ConfigErrors`.
    """
    if site.stored and Path in members(hint) and _names_file(node.value):
        raise site.wrong(node, "names a file")
    if len(members(hint)) > 1:
        return _one_of(hint, node, site)
    kind = kind_of(hint)
    if kind is not None:
        return node.value if kind == "scorer" and callable(node.value) else named(kind, node, site)
    return plain(node) if is_json(hint) else _structure(hint, node, site)


def _names_file(value: Any) -> bool:
    """Whether a stored value may stand for a file: a text, or what `registry.describe` writes for a path."""
    return value not in (None, "") and (not isinstance(value, Mapping) or set(value) == {"file", "digest"})


def _structure(hint: Any, node: Node, site: Site) -> Any:
    if is_class(hint):
        return instance(hint, node, site)
    if element_of(hint) is not None:
        return _list(hint, node, site)
    if value_of(hint) is not None:
        return _mapping(hint, node, site)
    if not is_literal(hint) and hint not in LEAVES:
        raise site.wrong(node, f"this key takes {words(hint)}, which cannot be written in a configuration")
    try:
        return leaf(hint, node, site.folder)
    except ConfigError as error:
        raise site.wrong(node, error.message) from error


def _one_of(hint: Any, node: Node, site: Site) -> Any:
    fitting = [member for member in members(hint) if _fits(member, node)]
    # If several classes fit a mapping, the one that has all its keys is chosen.
    if len(fitting) > 1 and isinstance(node.value, Mapping):
        fitting = [
            member for member in fitting if not is_class(member) or set(node.value) <= set(keys_of(member))
        ] or fitting
    # A mapping that names no registered class is one of names that the user gives.
    if len(fitting) > 1 and isinstance(node.value, Mapping):
        fitting = [m for m in fitting if not (kind := kind_of(m)) or set(names(kind)) & set(node.value)][:1] or fitting
    alternatives = [member for member in members(hint) if member is not type(None)]
    # A number where a text is expected is accepted if it is written the same way as a text; else the error asks for
    # quotes.
    if not fitting and str in alternatives and isinstance(node.value, bool | int | float):
        fitting = [str]
    # With a single alternative, its own error is more precise than "expected a or b".
    if not fitting and len(alternatives) == 1:
        fitting = alternatives
    if Path in fitting and str in fitting:
        fitting = [Path if is_path(node.value, site.folder, or_folder=site.what in _MAY_BE_FOLDERS) else str]
        _refuse_file_name(fitting[0], node, site)
    if not fitting:
        raise site.wrong(node, f"expected {words(hint)}, but got {described(node)}")
    return build(fitting[0], node, site)


def _refuse_file_name(chosen: type, node: Node, site: Site) -> None:
    """Reject a text that looks like the name of a missing file: otherwise the name itself would be sent as a prompt.

    Raises:
        ConfigError: the message suggests the nearest existing file.
    """
    text = node.value
    if chosen is Path or site.what in _MAY_BE_NO_FILES or not isinstance(text, str):
        return
    if not looks_like_file(text) and not _is_in_folder(text, site.folder):
        return
    path = site.folder / text.strip()
    neighbours = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    suggestion = did_you_mean(path.name, neighbours)
    raise site.wrong(node, no_such_file("", text).removeprefix(": ") + (suggestion if suggestion[:1] == ":" else ""))


def _is_in_folder(text: str, folder: Path) -> bool:
    """Whether a text without spaces is a path into an existing folder, so that it can only be a file name."""
    parent = text.strip().replace("\\", "/").rpartition("/")[0]
    if not parent or "{{" in text or "://" in text or any(character.isspace() for character in text.strip()):
        return False
    if text in packaged_prompts() or Path(parent).is_absolute():
        return False
    try:
        return (folder / parent).is_dir()
    except (OSError, ValueError):
        return False


def _fits(hint: Any, node: Node) -> bool:
    if is_json(hint):
        return True
    if kind_of(hint):
        return isinstance(node.value, str | Mapping)
    if is_class(hint) or value_of(hint) is not None:
        return isinstance(node.value, Mapping)
    return isinstance(node.value, tuple) if element_of(hint) is not None else suits(hint, node)


def _list(hint: Any, node: Node, site: Site) -> Any:
    if not isinstance(node.value, tuple):
        raise site.wrong(node, f"expected {words(hint)}, but got {described(node)}{_into_list(node)}")
    built = read_each(enumerate(node.value), lambda _, element: build(element_of(hint), element, site)).values()
    origin = get_origin(hint) or hint
    return origin(built) if origin in {list, set, frozenset} else tuple(built)


def _into_list(node: Node) -> str:
    """Advice for a mapping where a list is expected; "" for anything else."""
    if not node.entries:
        return ""
    key = next(iter(node.entries))
    return f"; write each entry with a dash before it, as in - {key}: ..."


def _into_mapping(node: Node) -> str:
    """Advice for a list where a mapping is expected; "" for anything else."""
    if not isinstance(node.value, tuple) or not node.value:
        return ""
    entries = node.value[0].entries
    if isinstance(name := entries["name"].node.value if "name" in entries else None, str):
        return f"; write the name of each as its key, without a dash or brackets: {name}: ..."
    key = next(iter(entries), "NAME")
    return f"; write each as a key and its value, without a dash or brackets: {key}: ..."


def _mapping(hint: Any, node: Node, site: Site) -> Any:
    if not isinstance(node.value, Mapping):
        raise site.wrong(node, f"expected {words(hint)}, but got {described(node)}{_into_mapping(node)}")
    nodes = ((key, entry.node) for key, entry in node.entries.items())
    return read_each(nodes, lambda key, value: build(value_of(hint), value, site.at(key)))


def instance(cls: type, node: Node, site: Site) -> Any:
    """Build a dataclass from a mapping of its fields, and check its options.

    Raises:
        ConfigError: as `build`; errors of `cls` and its options get the position of `node`.
    """
    if not isinstance(node.value, Mapping):
        expected = _as_mapping(cls, node) or words(cls)
        raise site.wrong(node, f"expected {expected}, but got {described(node)}{_into_mapping(node)}")
    within = f"{site.what}." if site.what else ""
    return _filled(cls, node.entries, node, site, within=within)


def _as_mapping(cls: type, node: Node) -> str:
    """The mapping that was probably meant by a text, with the first key that takes a text; "" without such a key."""
    takes_text = (key.name for key in keys_of(cls).values() if any(_fits(hint, node) for hint in members(key.hint)))
    key = next(takes_text, "") if isinstance(node.value, str) else ""
    return f"a mapping such as {{{key}: {node.value}}}" if key else ""


def _filled(cls: type, entries: Mapping[str, MappingEntry], node: Node, site: Site, *, within: str = "") -> Any:
    keys = keys_of(cls)
    problems = Problems()
    values = {}
    for name, entry in entries.items():
        if name in keys:
            with problems.gathered(entry.node):
                values[name] = build(keys[name].hint, entry.node, replace(site, what=name, unchecked=False))
        else:
            problems.add(f"unknown key {name!r}{_meant(name, keys, cls)}", entry.key)
    for key in keys.values():
        if key.required and key.name not in entries:
            problems.note(site.wrong(node, f"the key {key.name!r} is missing ({words(key.hint)})"), node)
    problems.raise_any()
    return _checked(lambda: cls(**values), node, site, entries, within=within)


_SURELY_MEANT: Final = 0.85
"""Similarity from which an unknown key is a misspelling of a key of this suite, even if another suite has that key."""
_PARAMETERS: Final = "parameters"
_OF_A_CALL: Final = frozenset(
    {
        "frequency_penalty", "logprobs", "max_completion_tokens", "max_tokens", "n", "presence_penalty",
        "reasoning_effort", "repetition_penalty", "response_format", "seed", "stop", "temperature", "top_k",
        "top_logprobs", "top_p",
    }
)  # fmt: skip
"""Parameters of a call that people often write next to the model's name; the endpoint may know further ones."""


def _meant(name: str, keys: Collection[str], cls: type) -> str:
    """Advice for an unknown key: the nearest known key, the suites that have it, or that it is a call parameter."""
    own = name_of("suite", cls)
    others = [suite for suite in built_in_classes()["suite"] if name in keys_of(find("suite", suite))] if own else []
    if others and max(SequenceMatcher(None, name, key).ratio() for key in keys) < _SURELY_MEANT:
        return f": suites that have it: {', '.join(others)}; keys of {own}: {', '.join(sorted(keys))}"
    if not keys:
        return "; no keys are allowed here"
    if name in _OF_A_CALL and _PARAMETERS in keys:
        return f": it is a parameter of the calls; write {_PARAMETERS}: {{{name}: ...}}"
    return did_you_mean(name, keys)


def _checked(
    make: Callable[[], Any],
    node: Node,
    site: Site,
    entries: Mapping[str, MappingEntry] | None = None,
    *,
    within: str = "",
) -> Any:
    problems = Problems()
    built: Any = None
    try:
        with boundary("config", site.what):
            built = make()
            if not site.unchecked:
                check_options(built, within=within)
    except SteelyardError as error:
        problems.note(error, _named_by(error, entries or {}) or node)
    problems.raise_any()
    return built


def _named_by(error: SteelyardError, entries: Mapping[str, MappingEntry]) -> Node | None:
    """The value of the key that a message begins with; None if it does not begin with a key."""
    name = option_of(error.message if isinstance(error, ConfigError) else str(error), entries)
    return entries[name].node if name else None


def named(kind: Kind, node: Node, site: Site) -> Any:
    """A registered model, target or scorer, in one of its three forms.

    Raises:
        ConfigError: as `build`; for an unknown name the message suggests the nearest registered one.
    """
    if isinstance(node.value, str):
        if kind == "model" and site.in_scorer and (columns := list(names_in(node.value))):
            raise site.wrong(node, refusal("model", columns[0]))
        if node.value not in names(kind):
            raise site.wrong(node, _unknown(kind, node.value, node.value))
        return _of_class(_class_of(kind, node.value, node, site), {}, node, site.at(node.value))
    if not isinstance(node.value, Mapping):
        actual = f"{described(node)}{_into_mapping(node)}"
        raise site.wrong(node, f"expected a {kind}, as {{name: {{...}}}}, but got {actual}")
    key = _name(kind, node, site)
    registered = _class_of(kind, key.value, key, site)
    keys = keys_of_kind(kind, registered)
    entries = own_entries(key.value, node, keys, registered)
    if kind == "scorer":
        return _scorer(registered, entries, key, site.at(key.value))
    if site.in_scorer and kind == "model":
        refuse_columns(entries, keys)
    return _of_class(registered, entries, key, site.at(key.value))


def _scorer(registered: Any, entries: Mapping[str, MappingEntry], node: Node, site: Site) -> Any:
    """A scorer with the keys that every scorer takes and with values of columns in its options."""
    site = replace(site, in_scorer=True)
    own = keys_of(registered) if is_class(registered) else {}
    shared = {name: entry for name, entry in entries.items() if name in WRAPPER_KEYS and name not in own}
    problems = Problems()
    built: Any = None
    with problems.gathered(node):
        built = _with_columns(registered, {n: entry for n, entry in entries.items() if n not in shared}, node, site)
    problems.raise_any()
    if not shared:
        return built
    scorer = MappingEntry(node, node.with_value(built))
    with problems.gathered(node):
        built = _with_columns(Adapted, {"scorer": scorer, **shared}, node, site)
    problems.raise_any()
    return built


def _with_columns(cls: Any, entries: Mapping[str, MappingEntry], node: Node, site: Site) -> Any:
    keys = keys_of(cls) if is_class(cls) else {}
    options = columns_in(cls, entries, keys)
    if not options:
        return _of_class(cls, entries, node, site)
    scorer = _of_class(cls, with_stand_ins(entries, keys, options), node, replace(site, unchecked=True))
    return _checked(lambda: WithRowValues(scorer, options, _option), node, site, entries)


def _option(hint: Any, value: Any, name: str) -> Any:
    """An option of a scorer from a value of a row, which names no file, model or code."""
    return build(hint, from_plain(value, ""), Site(Path(), name, stored=True))


_OPENAI_PROTOCOL: Final = frozenset(
    {"openai", "azure", "deepseek", "groq", "llamacpp", "mistral", "moonshot", "openrouter", "qwen", "vllm"}
)
"""Words that people write for a model whose endpoint speaks OpenAI's protocol."""
_OWN_API: Final[Mapping[str, str]] = {
    "anthropic": "anthropic",
    "claude": "anthropic",
    "gemini": "gemini",
    "google": "gemini",
    "ollama": "ollama",
}
"""The same for a model whose provider has an API of its own."""


def _unknown(kind: Kind, name: str, written: str = "") -> str:
    """The message for an unknown name, with advice on what was probably meant.

    Args:
        kind: the expected kind.
        name: the name as it was written.
        written: the whole text if only a text was written, or the value of the key `name` if that is a text; else "".
    """
    hint = did_you_mean(name, names(kind))
    # Other tools write a model as "openai:gpt-4o" or "ollama/llama3".
    provider, _, model_part = name.replace("/", ":", 1).partition(":")
    model = model_part or (written if written and written != name else "NAME")
    registered = "openai_compatible" if provider.lower() in _OPENAI_PROTOCOL else _OWN_API.get(provider.lower(), "")
    if registered:
        example = f"{{{registered}: {{name: {model}}}}}"
        hint = f"; write {example if kind == 'model' else f'{{prompt: {{template: ..., model: {example}}}}}'}"
    elif kind == "target" and ":" in name:
        hint = f"; for a Python function write {{function: {name!r}}}"
    elif kind == "model" and "{{" in name:
        hint = "; a prompt is written as {template: ..., model: ...}"
    elif kind == "model" and written == name:
        hint = f"{hint}; a model behind an endpoint is written as {{openai_compatible: {{name: {name}}}}}"
    return f"there is no {kind} {name!r}{hint}"


def _name(kind: Kind, node: Node, site: Site) -> Node:
    """The key that names the class: the first one that is registered."""
    keys = [entry.key for entry in node.entries.values()]
    if not keys:
        raise site.wrong(node, f"expected a {kind}; known: {', '.join(names(kind))}")
    registered = next((key for key in keys if key.value in names(kind)), None)
    if registered is None:
        value = node.entries[keys[0].value].node.value
        raise site.wrong(keys[0], _unknown(kind, keys[0].value, value if isinstance(value, str) else ""))
    return registered


def _class_of(kind: Kind, name: str, node: Node, site: Site) -> Any:
    if site.stored and (kind != "scorer" or name not in built_in_classes()[kind]):
        raise site.wrong(node, f"needs the {kind} {name!r}")
    problems = Problems()
    registered: Any = None
    with problems.gathered(node), boundary("config", f"the {kind} {name!r} cannot be loaded"):
        registered = find(kind, name)
    problems.raise_any()
    if site.stored and getattr(registered, "runs_code", False):
        raise site.wrong(node, f"the {kind} {name!r} runs code")
    return registered


def own_entries(name: str, node: Node, keys: Mapping[str, Key], registered: Any = None) -> Mapping[str, MappingEntry]:
    """The entries with the fields of the class registered as `name`: from the mapping below the name or next to it."""
    inner = node.entries[name]
    siblings = {key: entry for key, entry in node.entries.items() if key != name}
    scalar = scalar_key(name, keys, registered)
    if isinstance(inner.node.value, Mapping) and not _is_part(inner.node.entries, scalar, keys):
        return {**inner.node.entries, **_siblings_of_mapping(name, inner.node.entries, siblings, keys)}
    if inner.node.value is None:
        return siblings  # `- correctness:` with its options in the lines below, no deeper than the name
    if scalar is None:
        return {name: inner, **siblings}
    if scalar.name in siblings:
        key = siblings[scalar.name].key
        short = f"{name}: VALUE is short for {name}: {{{scalar.name}: VALUE}}"
        raise ConfigError(f"{scalar.name!r} is given twice: {short}; put all keys inside the braces", key.location)
    option = next((key for key in keys.values() if is_literal(key.hint)), None)
    if scalar.name == "value" and option is not None and suits(option.hint, inner.node):
        word = f"{option.name}: {inner.node.value}"
        raise ConfigError(f"{name}: write {word} for the option, or value: for this text", inner.node.location)
    if (
        element_of(scalar.hint) is not None
        and scalar.name == getattr(registered, "short_key", "")
        and isinstance(inner.node.value, str)
    ):
        inner = MappingEntry(inner.key, inner.node.with_value((inner.node,)))  # one text of a list
    return {scalar.name: inner, **siblings}


def _is_part(inside: Mapping[str, MappingEntry], scalar: Key | None, keys: Collection[str]) -> bool:
    """Whether below a name stands the scorer or model itself, as in `not: {contains: ..., of: answer}`."""
    kind = kind_of(scalar.hint) if scalar else None
    known = set(inside) & set(keys)
    taken_by_all = set(WRAPPER_KEYS) if kind == "scorer" else set()
    return kind is not None and known <= taken_by_all and known != set(inside)


def _siblings_of_mapping(
    name: str, inside: Collection[str], siblings: Mapping[str, MappingEntry], keys: Collection[str]
) -> Mapping[str, MappingEntry]:
    """The keys next to a mapping of options: only those that every scorer takes may stand there."""
    problems = Problems()
    for key, entry in siblings.items():
        if key in inside:
            problems.add(f"{key!r} is given twice", entry.key)
        elif key not in WRAPPER_KEYS or key not in keys:
            problems.add(
                f"{entry.key.value!r} is next to {name!r}; the options of {name!r} belong inside it", entry.key
            )
    problems.raise_any()
    return siblings


def _of_class(registered: Any, entries: Mapping[str, MappingEntry], node: Node, site: Site) -> Any:
    if is_class(registered):
        return _filled(registered, entries, node, site)
    problems = Problems()
    for entry in entries.values():
        problems.add("no keys are allowed here", entry.key)
    problems.raise_any()
    return _checked(registered, node, site) if isinstance(registered, type) else registered


def build_scorer(given: Any, where: str) -> Scorer:
    """A scorer from a name, a mapping as in a configuration, or a node of one; a function or object is one already.

    Args:
        given: what is written.
        where: for messages: the argument, or the file.

    Raises:
        ConfigError: one mistake with its place, or several as `ConfigErrors`.

    >>> build_scorer({"regex": "a+", "name": "letters"}, "scorers[0]").score_infos[0].name
    'letters'
    """
    if callable(given) and not isinstance(given, type):
        scorer: Scorer = given
        return scorer
    node = given if isinstance(given, Node) else from_plain(given, where)
    built: Scorer = build(Scorer, node, Site(Path()))
    return built


def build_row_scorer(given: Any, where: str) -> Scorer:
    """A scorer from a row of a dataset: without code, models, endpoints and files, and with limits as by default.

    A judge among them has no model; the caller gives it the configuration's own.

    Args:
        given: a name, a mapping, or a node of it.
        where: the row, for messages: `rows.jsonl, row 7`.

    Raises:
        ConfigError: a mistake, or something that a row may not hold.
    """
    node = given if isinstance(given, Node) else from_plain(given, where)
    scorer: Scorer = build(Scorer, node, Site(Path(), stored=True))
    check_limits(scorer)
    return scorer


def check_limits(described: Any) -> None:
    """Refuse limits above the default ones in a scorer that strangers wrote: scoring would never end.

    Raises:
        ConfigError: which limit.
    """
    for field in fields(described):
        value = getattr(described, field.name)
        for part in value if isinstance(value, tuple) else (value,):
            if is_dataclass(part):
                check_limits(part)
        if field.name in _LIMITS and value > field.default:
            raise ConfigError(f"{field.name} is {value:g}, and a store may set {field.default:g} at most")
