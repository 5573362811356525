"""A folder of data files, as a dataset is often copied: `test/biology.csv`, `data/test-00000-of-00002.parquet`.

The part that a file belongs to is the last word of its path that names one (train, dev, validation, test ...), as the
Hugging Face hub has it; a file without such a word belongs to the only part. A subset is a folder inside, or the
beginning of files' names.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Final

from steelyard.errors import ConfigError, did_you_mean

MOST_FILES: Final = 10_000
MOST_ENTRIES: Final = 100_000
"""Files and folders of any kind that are looked at: a part of a dataset must not pass for the whole."""

_PARTS: Final[Mapping[str, str]] = MappingProxyType(
    {"train": "train", "training": "train"}
    | {"validation": "validation", "valid": "validation", "val": "validation", "dev": "validation"}
    | {"test": "test", "testing": "test", "eval": "test", "evaluation": "test"}
)
_WORD: Final = re.compile(r"[a-z]+")


def files_in(folder: Path, suffixes: Collection[str], *, split: str = "", subset: str = "") -> list[Path]:
    """The data files of a folder that are meant, in order of their paths; hidden ones are left out.

    Args:
        folder: searched with the folders in it.
        suffixes: of the files that are data.
        split: a part, by any of its names; needed where there are several.
        subset: needed where files of one part lie in several folders.

    Raises:
        ConfigError: there is none, or it is not said which.
    """
    walked = list(islice(folder.rglob("*"), MOST_ENTRIES + 1))
    if len(walked) > MOST_ENTRIES:
        raise ConfigError(
            f"samples: {folder} holds more than {MOST_ENTRIES:,} files; name a folder with the data alone"
        )
    found = sorted(one.relative_to(folder) for one in walked if one.suffix.lower() in suffixes and one.is_file())
    found = [one for one in found if not any(part.startswith((".", "_")) for part in one.parts)]
    if not found:
        raise ConfigError(f"samples: {folder} holds no data files ({', '.join(sorted(suffixes))})")
    if len(found) > MOST_FILES:
        raise ConfigError(f"samples: {folder} holds {len(found):,} data files; at most {MOST_FILES:,} are read")
    chosen = _of_split(folder, _of_subset(folder, found, subset), split)
    return [folder / one for one in chosen]


def part_of(path: PurePath) -> str:
    """Which part of a dataset a file belongs to; empty where its path does not say.

    >>> part_of(PurePath("data/test-00000-of-00001.parquet")), part_of(PurePath("dev/law_dev.csv"))
    ('test', 'validation')
    """
    words = [word for word in _WORD.findall(path.as_posix().lower()) if word in _PARTS]
    return _PARTS[words[-1]] if words else ""


def _of_subset(folder: Path, found: Sequence[Path], subset: str) -> Sequence[Path]:
    folders = sorted({part for one in found for part in one.parts[:-1] if part.lower() not in _PARTS})
    if subset:
        chosen = [one for one in found if subset in one.parts[:-1]] or [
            one for one in found if re.match(rf"{re.escape(subset)}(?![^\W_])", one.name)
        ]
        if not chosen:
            raise ConfigError(
                f"subset: {folder} has no folder and no file called {subset!r}{did_you_mean(subset, folders)}"
            )
        return chosen
    tops = {next((part for part in one.parts[:-1] if part.lower() not in _PARTS), "") for one in found}
    if len(tops) > 1:
        named = ", ".join(sorted(top for top in tops if top))
        raise ConfigError(f"subset: the data of {folder} lies in several folders ({named}); name one")
    return found


def _of_split(folder: Path, found: Sequence[Path], split: str) -> Sequence[Path]:
    parts = {one: part_of(one) for one in found}
    known = sorted({part for part in parts.values() if part})
    wanted = _PARTS.get(split.lower(), split)
    if not wanted and len(known) > 1:
        raise ConfigError(f"split: {folder} has the splits {', '.join(known)}; name one, as split: {known[0]}")
    if not wanted:
        return found
    chosen = [one for one in found if parts[one] == wanted or (parts[one] == "" and wanted in one.as_posix())]
    if not chosen:
        raise ConfigError(f"split: {folder} has no split {split!r}{did_you_mean(split, known)}")
    return chosen
