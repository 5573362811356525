"""Loads a file of judges: `judges` by name, and the settings of their run (`jury`, `margin`, `options`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from steelyard.building.build import Site, build
from steelyard.building.read import read
from steelyard.config.environment import Environment, environment
from steelyard.config.load import SUFFIXES
from steelyard.errors import ConfigError
from steelyard.evaluation.judge_panel import JudgesFile


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
