"""The files that a foreign file names: read as data, within limits, and only below one folder."""

from __future__ import annotations

import glob
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from steelyard.building.nodes import Node, from_plain, plain
from steelyard.building.read import parse
from steelyard.errors import ConfigError
from steelyard.files import read_regular_text, require_within

MOST_BYTES: Final = 5_000_000
_MOST_IN_ALL: Final = 100_000_000
_MOST_FILES: Final = 10_000
_CODE: Final = frozenset(
    {".py", ".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".rb", ".sh", ".bash", ".exe", ".bat", ".ps1", ".pl", ".go"}
)


@dataclass(slots=True)
class ForeignFiles:
    """Reads the files that a configuration names, relative to its folder.

    Args:
        folder: of the configuration.
        root: nothing outside of it is read; by default the folder.
        left: bytes that may still be read.
    """

    folder: Path
    root: Path | None = None
    left: int = field(default=_MOST_IN_ALL)

    def paths(self, name: str, at: Node) -> list[Path]:
        """The files of a name, which may be a pattern such as `cases/*.yaml`.

        Raises:
            ConfigError: there is none, it is code, it is hidden or outside of the root.
        """
        bare = name.removeprefix("file://")
        if Path(bare.split(":")[0]).suffix.lower() in _CODE:
            raise ConfigError(f"{bare} is code, which is not run: write what it gives into a data file", at.location)
        is_pattern = any(sign in bare for sign in "*?[")
        # `Path.glob` takes no pattern that leads upwards, which `--root` allows.
        names = sorted(glob.glob(bare, root_dir=self.folder, recursive=True)) if is_pattern else [bare]  # noqa: PTH207
        if not names or len(names) > _MOST_FILES:
            raise ConfigError(f"{bare} names {len(names) or 'no'} files; at most {_MOST_FILES:,} are read", at.location)
        paths = [self.folder / file for file in names]
        for path in paths:
            if path.name.startswith("."):
                raise ConfigError(f"{path.name} is a hidden file, which is not read", at.location)
            root = self.root or self.folder
            try:
                require_within(root, path)
            except (ConfigError, ValueError) as error:
                message = f"{path} leads out of the folder {root}: name one that holds both, --root FOLDER"
                raise ConfigError(message, at.location) from error
        return paths

    def text(self, path: Path, at: Node) -> str:
        """The text of a file.

        Raises:
            ConfigError: it cannot be read, or too much was read already.
        """
        try:
            text = read_regular_text(path, min(MOST_BYTES, self.left))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8"
            raise ConfigError(f"{path} cannot be read: {reason}", at.location) from error
        self.left -= len(text)
        return text

    def tree(self, path: Path, at: Node) -> Node:
        """The tree of a YAML or JSON file; of a file with JSON on each line, a list."""
        text = self.text(path, at)
        if path.suffix.lower() != ".jsonl":
            return parse(text, str(path))
        nodes = []
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                try:
                    nodes.append(from_plain(plain(parse(line, "line.json")), f"{path}:{number}"))
                except ConfigError as error:
                    raise ConfigError(f"{path}:{number}: {error.message}", at.location) from error
        return at.with_value(tuple(nodes))

    def value(self, name: str, at: Node) -> Any:
        """What a value `file://...` stands for: the data of YAML and JSON, the text of any other file."""
        path = self.paths(name, at)[0]
        is_data = path.suffix.lower() in {".yaml", ".yml", ".json"}
        return plain(self.tree(path, at)) if is_data else self.text(path, at).strip()

    @staticmethod
    def parsed(text: str, at: Node) -> Any:
        """The data in a text of YAML or JSON within a configuration."""
        try:
            return plain(parse(text, "value.yaml"))
        except ConfigError as error:
            raise ConfigError(error.message, at.location) from error
