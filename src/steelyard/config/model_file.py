"""A model or judges without a suite: described by command-line flags or by a file of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from steelyard.building.build import Site, build
from steelyard.building.nodes import Node, from_plain
from steelyard.building.read import read
from steelyard.config.environment import Environment, environment
from steelyard.config.load import SUFFIXES
from steelyard.errors import ConfigError
from steelyard.evaluation.judge_panel import JudgesFile
from steelyard.models.base import Model

_VARIABLE: Final = re.compile(r"[A-Z_][A-Z0-9_]*")


def model_of_flags(name: str, base_url: str, api_key_env: str) -> dict[str, Any]:
    """The configuration of the model that command-line flags describe; {} without `name`.

    Raises:
        ConfigError: the other flags without a model, or a key instead of the name of its variable.

    >>> model_of_flags("gpt-4o", "", "OPENAI_API_KEY")
    {'model': {'openai_compatible': {'name': 'gpt-4o', 'api_key': '${OPENAI_API_KEY}'}}}
    """
    if not name:
        if base_url or api_key_env:
            raise ConfigError("--base-url and --api-key-env belong to --model NAME")
        return {}
    if api_key_env and not _VARIABLE.fullmatch(api_key_env):
        # The value is not repeated in the message: it may be the key itself.
        raise ConfigError("--api-key-env takes the name of an environment variable, such as OPENAI_API_KEY")
    fields = {"name": name, "base_url": base_url, "api_key": f"${{{api_key_env}}}" if api_key_env else ""}
    return {"model": {"openai_compatible": {key: value for key, value in fields.items() if value}}}


def build_model(
    flags: Mapping[str, Any], file: Path | None, *, environ: Mapping[str, str], use_dotenv: bool
) -> tuple[Model | None, Environment]:
    """Build the model from flags or a file, with the values of its references; None if neither is given.

    Args:
        flags: as `model_of_flags` returns it.
        file: absolute path of a file with `model` as its only key; None for no file.
        environ: where references are looked up first.
        use_dotenv: whether the `.env` next to the file, or in the current folder, is read.

    Raises:
        ConfigError: every mistake with its position.
    """
    if not flags and file is None:
        return None, Environment({})
    root = _model_file(file) if file else from_plain(flags, "--model")
    folder = file.parent if file else Path.cwd()
    values = environment(root, environ, folder / ".env" if use_dotenv else None)
    return build(Model, root.entries["model"].node, Site(folder, "model")), values


def _model_file(path: Path) -> Node:
    """Read a file whose only key is `model`.

    Raises:
        ConfigError: with the position.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"{path}: a model's file ends in {', '.join(sorted(SUFFIXES))}")
    _, root = read(path)
    for name, entry in root.entries.items():
        if name != "model":
            raise ConfigError(f"the file of --model-config has one key, model, not {name!r}", entry.key.location)
    if "model" not in root.entries:
        raise ConfigError("the key 'model' is missing", root.location)
    return root


def load_judges(path: Path, *, environ: Mapping[str, str], use_dotenv: bool = True) -> tuple[JudgesFile, Environment]:
    """Build the judges that a file names, with the values of its references.

    Args:
        path: a `.yaml`, `.yml`, `.toml` or `.json` file.
        environ: where references are looked up first.
        use_dotenv: whether the `.env` next to the file is read next.

    Raises:
        ConfigError: every mistake with its position.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"{path}: a file of judges ends in {', '.join(sorted(SUFFIXES))}")
    if not path.is_file():
        raise ConfigError(f"{path}: there is no such file")
    _, root = read(path)
    values = environment(root, environ, path.parent / ".env" if use_dotenv else None)
    judges: JudgesFile = build(JudgesFile, root, Site(path.parent))
    return judges, values
