"""The datasets that the runs of a store name, with their versions: the files that runs used, and those that were saved.

A dataset is a file's name without its version in one folder: `questions.jsonl` and `questions.v2.jsonl` beside it are
two versions of one, and so is `questions.jsonl` before and after somebody edited it. A version is named by the hash of
the file's content, as the manifests of runs have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from steelyard.data.paths import base_name
from steelyard.data.sample_files import SampleFiles
from steelyard.errors import ConfigError, boundary, did_you_mean
from steelyard.people.dataset_drafts import SavedVersion, saved_versions
from steelyard.plain_json import check_types, to_json
from steelyard.store.run import Run
from steelyard.store.store import Store

_READING: Final = ("sheets", "columns", "header", "skip_bad")
"""Settings of `samples:` that say how a file is read, not which rows of it."""


@dataclass(frozen=True, slots=True)
class RunDataset:
    """The dataset of a run, as its manifest names it.

    Args:
        id: of the dataset.
        name: of the file, or of the dataset of a hub, or of the frame.
        digest: hash of the file's content; "" where it is not a file.
        folder: of the file; None where the manifest does not name it.
        kind: the suite's registered name.
        source: how it was read.
        reason: why it cannot be opened; "" where it may.
    """

    id: str
    name: str
    digest: str
    folder: Path | None
    kind: str
    source: Mapping[str, Any]
    reason: str = ""


@dataclass(slots=True)
class DatasetVersion:
    """One content of a dataset.

    Args:
        digest: hash of the file's content.
        name: of the file.
        about: how it is read, by the newest run of it or of its parent.
        runs: that used it, newest first.
        saved: how it was saved here; None where the file was made elsewhere.
    """

    digest: str
    name: str
    about: RunDataset
    runs: list[Run] = field(default_factory=list)
    saved: SavedVersion | None = None

    @property
    def first(self) -> datetime:
        """When it was saved or used first."""
        times = [run.created for run in self.runs] + ([self.saved.at] if self.saved else [])
        return min(times)

    @property
    def files(self) -> SampleFiles:
        """The file, and how its columns are found.

        Raises:
            ConfigError: it is not a single file in a known folder.
        """
        if self.about.reason or self.about.folder is None:
            raise ConfigError(f"{self.name} cannot be opened: {self.about.reason}")
        settings = {key: value for key in _READING if (value := self.about.source.get(key)) is not None}
        if isinstance(settings.get("sheets"), list):
            settings["sheets"] = tuple(settings["sheets"])
        with boundary("store", f"the store does not say how {self.name} is read"):
            kinds = {"sheets": str | tuple, "columns": Mapping, "header": str | int, "skip_bad": bool}
            check_types(*((value, kinds[key]) for key, value in settings.items()))
            return SampleFiles(self.about.folder / self.name, **settings)


@dataclass(frozen=True, slots=True)
class NamedDataset:
    """A dataset with its versions, newest first."""

    id: str
    name: str
    folder: Path | None
    versions: tuple[DatasetVersion, ...]

    def version(self, digest: str) -> DatasetVersion:
        """The version whose hash begins so; the newest for "".

        Raises:
            ConfigError: there is none.
        """
        matches = [version for version in self.versions if version.digest.startswith(digest)]
        if not matches:
            raise ConfigError(f"{self.name} has no version {digest!r}; known: {', '.join(self.labels)}")
        return matches[0]

    def parent(self, version: DatasetVersion) -> DatasetVersion:
        """The version to compare with: the file it was saved from, else the version before it, if any."""
        saved = version.saved
        at = self.versions.index(version)
        before = self.versions[min(at + 1, len(self.versions) - 1)]
        return next((candidate for candidate in self.versions if saved and candidate.digest == saved.base), before)

    @property
    def labels(self) -> list[str]:
        """Of each version, the file's name and the beginning of its hash."""
        return [f"{version.name} ({version.digest[:8]})" for version in self.versions]


def run_dataset(run: Run) -> RunDataset | None:
    """The dataset of a run; None for a run without one, such as a run that judges others."""
    samples = run.manifest.get("samples")
    source = samples.get("source") if isinstance(samples, Mapping) else None
    if not isinstance(source, Mapping) or "file" not in source:
        return None
    file = source["file"]
    if not isinstance(file, Mapping):
        source_name = str(source.get("dataset") or source.get("frame") or "")
        if isinstance(file, list) and file:
            names = ", ".join(str(entry.get("file")) for entry in file if isinstance(entry, Mapping))
            return _apart(run, names[:200], source, f"it is made of {len(file)} files; one file can be edited")
        return (
            _apart(run, source_name[:200], source, "it is not a file, but a dataset of a hub or a frame of Python")
            if source_name
            else None
        )
    name, digest = str(file.get("file", "")), str(file.get("digest", ""))
    folder = _folder(run, name)
    if not digest:
        return _apart(run, name, source, "it is a folder; one file can be edited")
    if folder is None:
        return _apart(run, name, source, "its run was started from Python, which does not say the folder", digest)
    return RunDataset(_id(folder, name), name, digest, folder, run.kind, source)


def _apart(run: Run, name: str, source: Mapping[str, Any], reason: str, digest: str = "") -> RunDataset:
    """A dataset that cannot be opened; where its file has no hash, that of the samples tells its versions apart."""
    version_digest = digest or str(run.manifest["samples"].get("digest", ""))
    return RunDataset(_id(None, f"{run.suite}/{name}"), name, version_digest, None, run.kind, source, reason)


def _id(folder: Path | None, name: str) -> str:
    """The same for all versions of a file."""
    family = [str(folder or ""), base_name(name)[0] if folder else name, Path(name).suffix.lower()]
    return blake2b(to_json(family), digest_size=6).hexdigest()


def _folder(run: Run, name: str) -> Path | None:
    """The folder of a run's file: its configuration names it, the manifest holds its name alone."""
    config = run.manifest.get("config")
    plain = config.get("plain") if isinstance(config, Mapping) else None
    samples = plain.get("samples") if isinstance(plain, Mapping) else None
    file = samples.get("file") if isinstance(samples, Mapping) else None
    if isinstance(file, list) and len(file) == 1:
        (file,) = file
    if not isinstance(file, str) or not isinstance(config, Mapping) or not config.get("path"):
        return None
    path = Path(str(config["path"])).parent / file
    return path.parent.absolute() if path.name == name else None


def named_datasets(
    store: Store, known: MutableMapping[tuple[str, str], RunDataset | None] | None = None
) -> list[NamedDataset]:
    """Every dataset that a run of the store names, the one that was used last first.

    Args:
        store: the open store.
        known: results of earlier calls, by id and state of the run; new ones are added. Reading 500 manifests is slow.
    """
    memory = {} if known is None else known
    by_dataset: dict[str, dict[str, DatasetVersion]] = {}
    for run in store.runs():
        key = run.id, run.state
        if key not in memory:
            memory[key] = run_dataset(run)
        if about := memory[key]:
            versions = by_dataset.setdefault(about.id, {})
            versions.setdefault(about.digest, DatasetVersion(about.digest, about.name, about)).runs.append(run)
    for saved in saved_versions(store):
        _add_saved(by_dataset.get(saved.dataset), saved)
    return [_named(ident, versions.values()) for ident, versions in by_dataset.items()]


def _add_saved(versions: dict[str, DatasetVersion] | None, saved: SavedVersion) -> None:
    """Add a version that was saved here; it is read like its parent."""
    if not versions:  # every run of it was deleted: nothing says any more how it is read
        return
    parent = versions.get(saved.base) or next(iter(versions.values()))
    version = versions.setdefault(saved.digest, DatasetVersion(saved.digest, saved.name, parent.about))
    version.saved = saved


def _named(ident: str, versions: Iterable[DatasetVersion]) -> NamedDataset:
    newest = tuple(sorted(versions, key=lambda version: version.first, reverse=True))
    about = newest[0].about
    stem, suffix = base_name(about.name)[0], Path(about.name).suffix
    name = about.name if about.folder is None else f"{stem}{suffix}"
    return NamedDataset(ident, name, about.folder, newest)


def dataset_named(datasets: Iterable[NamedDataset], name: str) -> NamedDataset:
    """The dataset of an id, or of a name that only one has.

    Raises:
        ConfigError: there is none, or several have the name.
    """
    listed = list(datasets)
    matches = [dataset for dataset in listed if dataset.id == name] or [
        dataset for dataset in listed if dataset.name == name
    ]
    if len(matches) == 1:
        return matches[0]
    if matches:
        places = ", ".join(f"{dataset.id} in {dataset.folder or 'no known folder'}" for dataset in matches)
        raise ConfigError(f"several datasets are named {name}: {places}. Name one by its id")
    raise ConfigError(
        f"no run of this store names a dataset file {name!r}{did_you_mean(name, [dataset.name for dataset in listed])}"
    )
