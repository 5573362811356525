"""Loads a Suite from a configuration file: read, expand the matrix, look up references, build; nothing is sent."""

# Why it is so, and what was rejected: docs/decisions/config-dataclasses.md

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Any, Final

from steelyard.analysis.comparison.baseline import is_baseline_file
from steelyard.analysis.gate.gate_rules import BASELINE
from steelyard.building.build import Site, build
from steelyard.building.keys import described
from steelyard.building.nodes import MappingEntry, Node, Problems, from_plain, plain, texts
from steelyard.building.read import read
from steelyard.config.environment import Environment, environment
from steelyard.config.gate import check_gate, match_gate, with_baseline
from steelyard.config.targets import check_names, expanded, with_columns, without_tags
from steelyard.data.sample_files import SampleFiles
from steelyard.errors import ConfigError, Location, boundary, did_you_mean
from steelyard.evaluation import Suite
from steelyard.evaluation.objects import constant_prompts
from steelyard.evaluation.sample_columns import check_filled_names
from steelyard.evaluation.scorer_infos import announced, scorer_stages
from steelyard.evaluation.survey import check_suite
from steelyard.registry import DEFAULT_SUITE, find, names

SUFFIXES: Final = frozenset({".yaml", ".yml", ".json", ".toml"})
_ABOUT_THE_FILE: Final = frozenset({"suite", "$schema"})


@dataclass(frozen=True, slots=True)
class Loaded:
    """A loaded and checked configuration.

    Args:
        suite: the suite to run.
        text: of the file; empty if the configuration came from the store.
        path: of the file, or of the folder that a stored configuration is resolved against.
        plain: the configuration as written, as JSON, with `--limit` and `--skip-bad` applied; secrets are still
            references. `load_plain` builds the same suite from it.
        environment: the values of the references; its repr shows names only.
        described: the object that the file describes and that the suite was built from.
        tree: the keys of that object, each with its position.
    """

    suite: Suite
    text: str
    path: Path
    plain: Mapping[str, Any]
    environment: Environment
    described: Any
    tree: Node

    @property
    def files(self) -> list[Path]:
        """The files of the samples and the baseline, which later commands may open where a store names them."""
        samples = getattr(self.described, "samples", None)
        files = list(samples.paths) if isinstance(samples, SampleFiles) else []
        baseline = self.suite.gate.get(BASELINE, "")
        return [*files, Path(baseline)] if isinstance(baseline, str) and is_baseline_file(baseline) else files


def load(
    path: Path | str,
    *,
    environ: Mapping[str, str],
    use_dotenv: bool = True,
    limit: int | None = None,
    skip_bad: bool = False,
    sends: bool = True,
) -> Loaded:
    """Load the suite from a configuration file.

    Args:
        path: a `.yaml`, `.yml`, `.toml` or `.json` file.
        environ: where references are looked up first.
        use_dotenv: whether the `.env` next to the file is read next.
        limit: at most so many samples, the first of those that the file selects.
        skip_bad: skip rows with a defect and count them, whatever the file says.
        sends: whether calls will be made, for which every reference needs a value.

    Raises:
        ConfigError: every mistake with its position.
        DataError: the dataset cannot be read as requested.
    """
    path = Path(path)  # a text is what a person types
    if not path.exists():
        neighbours = [entry.name for entry in path.parent.glob("*") if entry.suffix.lower() in SUFFIXES]
        raise ConfigError(f"there is no such file{did_you_mean(path.name, neighbours)}", Location(str(path)))
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(
            f"a configuration ends in {', '.join(sorted(SUFFIXES))}. For a dataset: steelyard check checks it, and "
            "steelyard init writes a configuration that can name it",
            Location(str(path)),
        )
    text, root = read(path)
    root = limited(with_sample_file(root), limit)
    if skip_bad:
        root = without_bad(root)
    return replace(_loaded(root, path.parent, environ, use_dotenv=use_dotenv, sends=sends), text=text, path=path)


def load_plain(stored: Mapping[str, Any], base: Path, *, environ: Mapping[str, str], sends: bool = True) -> Loaded:
    """Load the suite from a stored `Loaded.plain`, when the file no longer exists; no `.env` is read.

    Args:
        stored: a stored `Loaded.plain`.
        base: the folder that paths are resolved against.
        environ: where references are looked up.
        sends: as `load`.

    Raises:
        ConfigError: as `load`; positions name the key instead of a line.
        DataError: as `load`.
    """
    root = with_sample_file(from_plain(stored, "stored configuration"))
    return _loaded(root, base, environ, use_dotenv=False, sends=sends)


def _loaded(root: Node, folder: Path, environ: Mapping[str, str], *, use_dotenv: bool, sends: bool) -> Loaded:
    """Load in two passes, to report as many errors at once as possible: each key first, then the suite as a whole."""
    cls = _suite_class(root)
    problems = Problems()
    values = Environment({})
    with problems.gathered(root):
        values = environment(root, environ, folder / ".env" if use_dotenv else None, sends=sends)
    check_gate(root, folder, problems)
    described_suite: Any = None
    tree = root
    with problems.gathered(root):
        tree = _prepared(root)
        described_suite = build(cls, tree, Site(folder))
    problems.raise_any()
    suite = with_baseline(_build(described_suite, root, values), folder)
    _check_whole(root, tree, suite, problems)
    checked = check_filled_names(suite)
    for target, message in checked.unfilled:
        problems.add(f"{target}: {message}", _prompt_node(root, tree, target))
    suite = checked.suite
    match_gate(root, suite, problems, scores=lambda: _scores(suite))
    problems.raise_any()
    return Loaded(suite, "", folder, plain(root), values, described_suite, tree)


def _suite_class(root: Node) -> type:
    if not isinstance(root.value, Mapping):
        raise ConfigError(f"expected a mapping with the key 'samples', but got {described(root)}", root.location)
    if "suite" not in root.entries:
        suggestion = did_you_mean("suite", (key for key in root.entries if key[:2].lower() == "su"))
        if suggestion[:1] == ":":
            raise ConfigError(f"the key 'suite' is missing ({suggestion[2:]})", root.location)
        return find("suite", DEFAULT_SUITE)
    node = root.entries["suite"].node
    if not isinstance(node.value, str):
        raise ConfigError(
            f"suite: expected one of {', '.join(names('suite'))}, but got {described(node)}", node.location
        )
    try:
        with boundary("config", node.value):
            return find("suite", node.value)
    except ConfigError as error:
        raise ConfigError(error.message, node.location) from error


def _prepared(root: Node) -> Node:
    """The tree with the suite's own keys only: matrix expanded, tags gathered, names checked."""
    own = root.with_value({key: entry for key, entry in root.entries.items() if key not in _ABOUT_THE_FILE})
    bare, tags = expanded(own)
    if "targets" in bare.entries:
        targets = bare.entries["targets"].node
        if targets.value is None or targets.value == {}:
            raise ConfigError("targets: there is no target; name at least one", targets.location)
        check_names(targets)
        if "suite" not in root.entries or root.entries["suite"].node.value == DEFAULT_SUITE:
            bare = bare.with_value(
                {**bare.entries, "targets": MappingEntry(bare.entries["targets"].key, with_columns(targets))}
            )
    return without_tags(bare, tags)


def _prompt_node(root: Node, tree: Node, target: str) -> Node:
    """Where to report a prompt's error: template, body or url of a target, else its name; for "" the judges."""
    if not target:
        judges = next((root.entries[key] for key in ("judge", "scorers") if key in root.entries), None)
        return judges.node if judges else root
    entry = tree.entries["targets"].node.entries.get(target) if "targets" in tree.entries else None
    if entry is None:
        return root.entries["prompts"].node if "prompts" in root.entries else root
    nodes = [entry.node, *(child.node for child in entry.node.entries.values())]
    keys = ("template", "body", "url")
    return next((node.entries[key].node for key in keys for node in nodes if key in node.entries), entry.key)


def _check_whole(root: Node, tree: Node, suite: Suite, problems: Problems) -> None:
    """Check the suite as a whole: prompts contain the sample, scorers have the judge they need, `primary` exists."""
    scorers = root.entries.get("scorers")
    constant = list(constant_prompts(suite))
    for name, message in constant:
        problems.add(f"{name}: {message}" if name else message, _prompt_node(root, tree, name))
    if not constant:
        with problems.gathered(root if scorers is None else scorers.node):
            check_suite(suite)
    primary = root.entries.get("primary")
    if primary is not None and suite.primary and suite.primary not in (scores := _scores(suite)):
        with problems.gathered(primary.node):
            raise ConfigError(f"primary: there is no score {suite.primary!r}{did_you_mean(suite.primary, scores)}")


def _scores(suite: Suite) -> list[str]:
    """Every score that the suite's scorers announce."""
    return [score for target in suite.targets for score in announced(scorer_stages(suite.scorers_for(target)))]


def _build(described_suite: Any, root: Node, environment: Mapping[str, str]) -> Suite:
    # A suite whose data are on a server connects to it to read them.
    given = {"environment": environment} if "environment" in signature(described_suite.build).parameters else {}
    try:
        with boundary("config"):
            suite: Suite = described_suite.build(**given)
    except ConfigError as error:
        raise ConfigError(error.message, error.location or _quoted_node(root, error.message).location) from error
    return suite


def _quoted_node(root: Node, message: str) -> Node:
    """The text below the first key of a message, or below `samples`, that the message quotes; else the key itself."""
    entry = root.entries.get(message.partition(":")[0]) or root.entries.get("samples")
    if entry is None:
        return root
    quoted = (node for node in texts(entry.node) if len(node.value) > 1 and repr(node.value) in message)
    return next(quoted, entry.key)


def with_sample_file(root: Node) -> Node:
    """`root` with `samples: FILE`, or a list of files, written out as `samples: {file: FILE}`.

    >>> from steelyard.building.nodes import from_plain, plain
    >>> plain(with_sample_file(from_plain({"samples": "a.csv"}, "")))
    {'samples': {'file': 'a.csv'}}
    """
    samples = root.entries.get("samples")
    if samples is None or not isinstance(samples.node.value, str | tuple):
        return root
    written_out = samples.node.with_value({"file": MappingEntry(samples.key.with_value("file"), samples.node)})
    return root.with_value({**root.entries, "samples": MappingEntry(samples.key, written_out)})


def limited(root: Node, limit: int | None) -> Node:
    """`root` with at most `limit` samples: the first, or fewer of the last or random ones that the file selects.

    >>> from steelyard.building.nodes import from_plain, plain
    >>> plain(limited(from_plain({"samples": {"file": "a.csv", "last": 30}}, ""), 5))
    {'samples': {'file': 'a.csv', 'last': 5}}

    Raises:
        ConfigError: the limit is below 1, or the samples do not come from a file.
    """
    if limit is None:
        return root
    if limit < 1:
        raise ConfigError(f"--limit is {limit}; expected a number of samples, 1 or more")
    samples = root.entries.get("samples")
    if samples is None and "runs" in root.entries:
        raise ConfigError(
            "--limit takes the first samples of a file, but these samples come from stored runs", root.location
        )
    if samples is None or not isinstance(samples.node.value, Mapping):
        return root
    entries = samples.node.entries
    key = next((name for name in ("first", "last", "random") if name in entries), "first")
    current = entries[key].node.value if key in entries else None
    if current is not None and type(current) is not int:
        return root  # building reports what is wrong with it
    count = limit if current is None else min(limit, current)
    return _with_sample_key(root, samples, key, replace(samples.node, value=count, raw=str(count)))


def without_bad(root: Node) -> Node:
    """`root` with `skip_bad: true` under `samples`.

    >>> from steelyard.building.nodes import from_plain, plain
    >>> plain(without_bad(from_plain({"samples": {"file": "a.csv"}}, "")))
    {'samples': {'file': 'a.csv', 'skip_bad': True}}

    Raises:
        ConfigError: the samples do not come from files.
    """
    samples = root.entries.get("samples")
    if samples is None or not isinstance(samples.node.value, Mapping):
        raise ConfigError("--skip-bad leaves out rows of a file, but samples names no file", root.location)
    return _with_sample_key(root, samples, "skip_bad", replace(samples.node, value=True, raw="true"))


def _with_sample_key(root: Node, samples: MappingEntry, key: str, node: Node) -> Node:
    entries = {**samples.node.entries, key: MappingEntry(samples.key.with_value(key), node)}
    return root.with_value({**root.entries, "samples": MappingEntry(samples.key, samples.node.with_value(entries))})
