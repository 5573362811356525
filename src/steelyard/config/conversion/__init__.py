"""Configurations and datasets of other tools become ours; nothing of them is dropped without being named.

Foreign files are hostile input: they are read as data within limits, no code of them runs, and files that they name are
read only below one folder.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from steelyard.building.nodes import Node, plain
from steelyard.building.read import read
from steelyard.config.conversion import exam_script
from steelyard.config.conversion.foreign_files import ForeignFiles
from steelyard.config.conversion.openai_evals import convert_hosted, convert_registry, is_hosted, is_registry
from steelyard.config.conversion.promptfoo import convert_promptfoo
from steelyard.config.conversion.pydantic_evals import convert_pydantic_evals
from steelyard.config.conversion.result import Converted
from steelyard.errors import ConfigError

__all__ = ["Converted", "converted"]

_DATA: Final = frozenset({".csv", ".tsv", ".jsonl", ".xlsx", ".xls", ".ods", ".parquet"})
_WITH_OUTPUTS: Final = frozenset({"actual_output", "actualOutput", "output", "response", "results", "samples"})


def converted(file: Path, more: Sequence[Path] = (), *, root: Path | None = None) -> Converted | str:
    """Convert a configuration of another tool, which is recognized by its keys.

    Args:
        file: of promptfoo, OpenAI's Evals or its registry, pydantic-evals, or the older exam script.
        more: the run and the items of an eval of OpenAI.
        root: files that the configuration names are read only below it; None: below its own folder.

    Returns:
        The configuration with its dataset; of the exam script, which has none, the configuration's text.

    Raises:
        ConfigError: it is data, none of these, malformed, or names a file that is not read.
    """
    if file.suffix.lower() in _DATA:
        raise ConfigError(f"{file.name} is data and no configuration: write samples: {file.name}{_outputs(())}")
    _, tree = read(file)
    foreign = ForeignFiles(file.parent, root)
    keys = tree.entries.keys()
    if "test_args" in keys:
        return exam_script.convert(plain(tree), file.stem)
    if is_hosted(tree):
        return convert_hosted(tree, [foreign.tree(path, tree) for path in more], foreign)
    if more:
        raise ConfigError("several files are only read for an eval of OpenAI, with its run and its items")
    if "prompts" in keys or ({"providers", "targets"} & keys and {"tests", "scenarios"} & keys):
        return convert_promptfoo(tree, foreign)
    if "cases" in keys:
        return convert_pydantic_evals(tree, foreign)
    if is_registry(tree):
        return convert_registry(tree)
    raise ConfigError(_unknown(file, tree), tree.location)


def _unknown(file: Path, tree: Node) -> str:
    rows = tree.value if isinstance(tree.value, tuple) else ()
    if rows and isinstance(rows[0].value, Mapping):
        return f"{file.name} is data and no configuration: write samples: {file.name}{_outputs(rows[0].value)}"
    return (
        "this is no configuration of promptfoo (prompts, providers, tests), OpenAI's Evals (testing_criteria), its "
        "registry (class: evals...), pydantic-evals (cases) or the older exam script (sources, test_args)"
    )


def _outputs(keys: Collection[str]) -> str:
    if not keys:
        return "; outputs that exist already are read by the target replay"
    with_outputs = next((key for key in keys if key in _WITH_OUTPUTS), "")
    return f"; outputs in {with_outputs!r} that exist already are read by the target replay" if with_outputs else ""
