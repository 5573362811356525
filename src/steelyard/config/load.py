"""From a file to a Suite: read, expand the matrix, look up references, build; everything checked, nothing sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from steelyard.config.build import Site, build
from steelyard.config.environment import Environment, environment
from steelyard.config.gate import check_gate, match_gate, with_baseline
from steelyard.config.leaves import described
from steelyard.config.matrix import expanded
from steelyard.config.overrides import limited, without_bad
from steelyard.config.positions import Node, from_plain, plain, read, texts
from steelyard.config.problems import Problems
from steelyard.config.targets import check_names, without_tags
from steelyard.errors import ConfigError, Place, boundary, did_you_mean
from steelyard.registry import find, names
from steelyard.suite import Suite
from steelyard.suite.survey import announced, check_suite, scorer_stages

SUFFIXES: Final = frozenset({".yaml", ".yml", ".json", ".toml"})
_ABOUT_THE_FILE: Final = frozenset({"suite", "$schema"})


@dataclass(frozen=True, slots=True)
class Loaded:
    """A configuration that is sound.

    Args:
        suite: what is to be run.
        text: of the file; empty where it came from the store.
        path: of the file, or of the folder that a stored configuration is resolved against.
        plain: the configuration as written, as JSON, `--limit` and `--skip-bad` applied; secrets are still references.
            `load_plain` makes the same suite of it.
        environment: the values behind the references; its repr shows names only.
        described: what the file describes, the object that the suite was built from.
        tree: the keys that it was described by, each with its place.
    """

    suite: Suite
    text: str
    path: Path
    plain: Mapping[str, Any]
    environment: Environment
    described: Any
    tree: Node


def load(
    path: Path,
    *,
    environ: Mapping[str, str],
    use_dotenv: bool = True,
    limit: int | None = None,
    skip_bad: bool = False,
) -> Loaded:
    """The suite that a configuration file describes.

    Args:
        path: a `.yaml`, `.yml`, `.toml` or `.json` file.
        environ: where references are looked up first.
        use_dotenv: whether the `.env` beside the file is looked at next.
        limit: at most so many samples, the first of those that the file selects.
        skip_bad: leave out rows with a defect, and count them, whatever the file says.

    Raises:
        ConfigError: every mistake with its place.
        DataError: the dataset cannot be read as asked.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(
            f"a configuration ends in {', '.join(sorted(SUFFIXES))}. For a dataset: steelyard check looks at it, and "
            "steelyard init writes a configuration to name it in",
            Place(str(path)),
        )
    if not path.exists():
        beside = [one.name for one in path.parent.glob("*") if one.suffix.lower() in SUFFIXES]
        raise ConfigError(f"there is no such file{did_you_mean(path.name, beside)}", Place(str(path)))
    text, root = read(path)
    root = limited(root, limit)
    if skip_bad:
        root = without_bad(root)
    made = _loaded(root, path.parent, environ, use_dotenv=use_dotenv)
    return Loaded(made.suite, text, path, plain(root), made.environment, made.described, made.tree)


def load_plain(stored: Mapping[str, Any], base: Path, *, environ: Mapping[str, str], use_dotenv: bool = True) -> Loaded:
    """The suite of a stored `Loaded.plain`, for when its file is gone.

    Args:
        stored: as `Loaded.plain` gave it.
        base: the folder that paths are resolved against.
        environ: where references are looked up first.
        use_dotenv: whether the `.env` in `base` is looked at next.

    Raises:
        ConfigError: as `load`; places name the key instead of a line.
        DataError: as `load`.
    """
    root = from_plain(stored, "stored configuration")
    made = _loaded(root, base, environ, use_dotenv=use_dotenv)
    return Loaded(made.suite, "", base, plain(root), made.environment, made.described, made.tree)


class _Made(NamedTuple):
    """What reading a tree gives."""

    environment: Environment
    suite: Suite
    described: Any
    tree: Node


def _loaded(root: Node, folder: Path, environ: Mapping[str, str], *, use_dotenv: bool) -> _Made:
    """Two passes tell the most at once: what is written in the file, then what it makes together."""
    cls = _suite_class(root)
    problems = Problems()
    values = Environment({})
    with problems.gathered(root):
        values = environment(root, environ, folder / ".env" if use_dotenv else None)
    check_gate(root, folder, problems)
    described_suite: Any = None
    tree = root
    with problems.gathered(root):
        tree = _prepared(root)
        described_suite = build(cls, tree, Site(folder))
    problems.raise_any()
    suite = with_baseline(_made(described_suite, root), folder)
    _check_whole(root, suite, problems)
    match_gate(root, suite, problems, scores=lambda: _scores(suite))
    problems.raise_any()
    return _Made(values, suite, described_suite, tree)


def _suite_class(root: Node) -> type:
    if not isinstance(root.value, Mapping):
        raise ConfigError(f"expected a mapping with the key 'suite', but got {described(root)}", root.place)
    if "suite" not in root.entries:
        near = did_you_mean("suite", root.entries)
        hint = f" ({near[2:]})" if near[:1] == ":" else f"; known suites: {', '.join(names('suite'))}"
        raise ConfigError(f"the key 'suite' is missing{hint}", root.place)
    node = root.entries["suite"].node
    if not isinstance(node.value, str):
        raise ConfigError(f"suite: expected one of {', '.join(names('suite'))}, but got {described(node)}", node.place)
    try:
        with boundary("config", node.value):
            return find("suite", node.value)
    except ConfigError as error:
        raise ConfigError(error.message, node.place) from error


def _prepared(root: Node) -> Node:
    """The tree with the suite's own keys only: matrix expanded, tags gathered, names checked."""
    own = root.with_value({key: entry for key, entry in root.entries.items() if key not in _ABOUT_THE_FILE})
    bare, tags = expanded(own)
    if "targets" in bare.entries:
        targets = bare.entries["targets"].node
        if targets.value is None or targets.value == {}:
            raise ConfigError("targets: nothing is to be run; name at least one target", targets.place)
        check_names(targets)
    return without_tags(bare, tags)


def _check_whole(root: Node, suite: Suite, problems: Problems) -> None:
    """Refuse what no part shows alone: a scorer that asks and has no judge, a headline that no scorer gives."""
    scorers = root.entries.get("scorers")
    with problems.gathered(root if scorers is None else scorers.node):
        check_suite(suite)
    primary = root.entries.get("primary")
    if primary is not None and suite.primary and suite.primary not in (scores := _scores(suite)):
        with problems.gathered(primary.node):
            raise ConfigError(f"primary: there is no score {suite.primary!r}{did_you_mean(suite.primary, scores)}")


def _scores(suite: Suite) -> list[str]:
    """Every score that the suite's scorers announce."""
    return [one for target in suite.targets for one in announced(scorer_stages(suite.scorers_for(target)))]


def _made(described_suite: Any, root: Node) -> Suite:
    try:
        with boundary("config"):
            suite: Suite = described_suite.build()
    except ConfigError as error:
        raise ConfigError(error.message, error.place or _meant(root, error.message).place) from error
    return suite


def _meant(root: Node, message: str) -> Node:
    """The text that a message quotes below the key that it begins with, else below `samples`, which building reads.

    Where it quotes none, the key itself.
    """
    entry = root.entries.get(message.partition(":")[0]) or root.entries.get("samples")
    if entry is None:
        return root
    quoted = (node for node in texts(entry.node) if len(node.value) > 1 and repr(node.value) in message)
    return next(quoted, entry.key)
