"""Finds the data files in a folder of a dataset: `test/biology.csv`, `data/test-00000-of-00002.parquet`.

The split of a file is the last word in its path that names one (train, dev, validation, test ...), as on the Hugging
Face hub; a file without such a word belongs to the only split. A subset is a subfolder, or the beginning of file names.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Final

from steelyard.errors import ConfigError, did_you_mean
from steelyard.files import require_within

MOST_FILES: Final = 10_000
MOST_ENTRIES: Final = 100_000
"""Maximum number of files and folders of any kind; a larger folder is an error, so that no dataset is read in part."""

_PARTS: Final[Mapping[str, str]] = MappingProxyType(
    {"train": "train", "training": "train"}
    | {"validation": "validation", "valid": "validation", "val": "validation", "dev": "validation"}
    | {"test": "test", "testing": "test", "eval": "test", "evaluation": "test"}
)
_WORD: Final = re.compile(r"[a-z]+")
_VERSION: Final = re.compile(r"\.v(\d{1,4})$")


def files_in(folder: Path, suffixes: Collection[str], *, split: str = "", subset: str = "") -> list[Path]:
    """List the data files of a folder for one split, sorted by path, without hidden files.

    Args:
        folder: the folder; its subfolders are searched too.
        suffixes: suffixes of data files.
        split: the split, by any of its names; required if there are several.
        subset: required if files of one split are in several folders.

    Raises:
        ConfigError: there are no data files, or several splits or subsets and none is named; or as `files_below`.
    """
    data_files = [path.relative_to(folder) for path in files_below(folder, suffixes, hidden=(".", "_"))]
    if not data_files:
        raise ConfigError(f"samples: {folder} has no data files ({', '.join(sorted(suffixes))})")
    if len(data_files) > MOST_FILES:
        raise ConfigError(f"samples: {folder} has {len(data_files):,} data files; at most {MOST_FILES:,} are read")
    chosen = _of_split(folder, _of_subset(folder, data_files, subset), split)
    return [folder / path for path in chosen]


def files_below(
    folder: Path, suffixes: Collection[str], *, hidden: tuple[str, ...] = (".",), others: bool = False
) -> list[Path]:
    """List the files of a folder and its subfolders that have one of the suffixes, sorted.

    Folders that are links are not entered.

    Args:
        folder: the folder.
        suffixes: in lower case.
        hidden: beginnings of names of files and folders that are left out.
        others: list the files that have none of the suffixes instead; these are not opened, and may be anything.

    Raises:
        ConfigError: the folder has more than `MOST_ENTRIES`; or such a file is a pipe or another special file, or a
            link that leads out of the folder or nowhere.
    """
    matching: list[Path] = []
    entries = 0
    for parent, folders, names in os.walk(folder):
        entries += len(folders) + len(names)
        if entries > MOST_ENTRIES:
            raise ConfigError(f"{folder} has more than {MOST_ENTRIES:,} files; name a folder that has only the data")
        folders[:] = [name for name in folders if not name.startswith(hidden)]
        files = (Path(parent, name) for name in names if not name.startswith(hidden))
        matching += [file for file in files if (file.suffix.lower() in suffixes) != others]
    for file in () if others else matching:
        if file.is_symlink():
            require_within(folder, file)
        require_file(file)
    return sorted(matching)


def part_of(path: PurePath) -> str:
    """The dataset split that a file's path names; empty if it names none.

    >>> part_of(PurePath("data/test-00000-of-00001.parquet")), part_of(PurePath("dev/law_dev.csv"))
    ('test', 'validation')
    """
    words = [word for word in _WORD.findall(path.as_posix().lower()) if word in _PARTS]
    return _PARTS[words[-1]] if words else ""


def _of_subset(folder: Path, data_files: Sequence[Path], subset: str) -> Sequence[Path]:
    folders = sorted({part for path in data_files for part in path.parts[:-1] if part.lower() not in _PARTS})
    if subset:
        chosen = [path for path in data_files if subset in path.parts[:-1]] or [
            path for path in data_files if re.match(rf"{re.escape(subset)}(?![^\W_])", path.name)
        ]
        if not chosen:
            raise ConfigError(
                f"subset: {folder} has no folder and no file called {subset!r}{did_you_mean(subset, folders)}"
            )
        return chosen
    tops = {next((part for part in path.parts[:-1] if part.lower() not in _PARTS), "") for path in data_files}
    if len(tops) > 1:
        names = ", ".join(sorted(top for top in tops if top))
        raise ConfigError(f"subset: the data of {folder} is in several folders ({names}); name one")
    return data_files


def _of_split(folder: Path, data_files: Sequence[Path], split: str) -> Sequence[Path]:
    parts = {path: part_of(path) for path in data_files}
    known = sorted({part for part in parts.values() if part})
    requested = _PARTS.get(split.lower(), split)
    if not requested and len(known) > 1:
        raise ConfigError(f"split: {folder} has the splits {', '.join(known)}; name one, as split: {known[0]}")
    if not requested:
        return data_files
    chosen = [
        path for path in data_files if parts[path] == requested or (parts[path] == "" and requested in path.as_posix())
    ]
    if not chosen:
        raise ConfigError(f"split: {folder} has no split {split!r}{did_you_mean(split, known)}")
    return chosen


def distinct_names(paths: Sequence[PurePath]) -> list[str]:
    """The shortest distinct names of files: the file name, preceded by as many folders as needed.

    >>> distinct_names([PurePath("a/2022/exam.xlsx"), PurePath("a/2023/exam.xlsx"), PurePath("a/law.csv")])
    ['2022/exam.xlsx', '2023/exam.xlsx', 'law.csv']
    """
    unique_paths = list(dict.fromkeys(paths))
    names = {path: path.name for path in unique_paths}
    for depth in range(2, max((len(path.parts) for path in unique_paths), default=0) + 1):
        counts = Counter(names.values())
        names |= {path: "/".join(path.parts[-depth:]) for path in unique_paths if counts[names[path]] > 1}
    return [names[path] for path in paths]


def is_folder(path: Path) -> bool:
    """Whether the path is an existing folder; False for a name that the file system rejects."""
    try:
        return path.is_dir()
    except OSError:
        return False


def require_file(path: Path) -> None:
    """Reject anything but a regular file: opening a pipe or device could block forever.

    Raises:
        ConfigError: there is no such file; the message suggests one in the same folder.
    """
    try:
        if path.is_file():
            return
        if path.exists():
            raise ConfigError(f"{path} is not a file")
        if path.is_symlink():
            raise ConfigError(f"{path} is a symbolic link to {path.readlink()}, which cannot be found")
        neighbours = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    except OSError as error:
        raise ConfigError(f"{str(path)[:200]} cannot be opened: {error.strerror}") from error
    hint = did_you_mean(path.name, neighbours)
    raise ConfigError(f"there is no file {path}{hint if hint.startswith(':') else ''}")


def base_name(name: str) -> tuple[str, int]:
    """A file's name without suffix and version, and the number of the version.

    >>> base_name("questions.jsonl"), base_name("questions.v3.jsonl")
    (('questions', 1), ('questions', 3))
    """
    stem = Path(name).stem
    match = _VERSION.search(stem)
    return (stem[: match.start()], int(match[1])) if match else (stem, 1)
