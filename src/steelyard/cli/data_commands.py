"""The commands for datasets: list them, compare versions, save a draft as a new file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from steelyard.cli import options
from steelyard.config.dataset_versions import draft_difference, open_version, save_draft
from steelyard.data.dataset_file import DatasetDifference, DatasetFile, dataset_difference
from steelyard.people.dataset_drafts import DatasetDraft, read_draft
from steelyard.people.named_datasets import DatasetVersion, NamedDataset, dataset_named, named_datasets
from steelyard.report.render.terminal import console, print_json, say
from steelyard.store import Store

_DatasetArgument = Annotated[
    str, typer.Argument(metavar="DATASET", help="Its name or id (steelyard data list).", show_default=False)
]
_VersionOption = Annotated[
    str, typer.Option("--version", metavar="HASH", help="The beginning of a version's hash; the newest by default.")
]


def data_list(store: options.StoreOption = None, as_json: options.JsonOption = False) -> None:
    """List the datasets of a store's runs, with their versions."""
    with Store(store) as opened:
        datasets = named_datasets(opened)
        if as_json:
            print_json([_plain(dataset) for dataset in datasets])
            return
        for dataset in datasets:
            say(console(), f"{dataset.id}  {dataset.name}  {dataset.folder or ''}".rstrip())
            for version in dataset.versions:
                runs = ", ".join(run.id for run in version.runs[:5]) or "no run yet"
                say(console(), f"    {version.digest[:8]}  {version.name}  {runs}{_saved(version)}")
        if not datasets:
            say(console(), "no run of this store names a dataset file")


def data_diff(
    dataset: _DatasetArgument,
    *,
    a: Annotated[str, typer.Option("-a", metavar="HASH", help="The earlier version.")] = "",
    b: Annotated[str, typer.Option("-b", metavar="HASH", help="The later version.")] = "",
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Show what changed between two versions; by default what the draft, else the newest version, changed."""
    with Store(store) as opened:
        named, later, file, draft = _opened(opened, dataset, b)
        if draft.rows and not a and not b:
            title, difference = f"draft of {later.name}", draft_difference(file, draft.edits)
        else:
            earlier = named.version(a) if a else named.parent(later)
            title = f"{earlier.name} ({earlier.digest[:8]}) to {later.name} ({later.digest[:8]})"
            difference = dataset_difference(open_version(earlier), file)
    if as_json:
        print_json(difference)
        return
    counts = ", ".join(f"{n:,} {name}" for name, n in difference.counts.items())
    say(console(), f"{title}: {counts}, {difference.same:,} the same")
    for line in _lines(difference):
        say(console(), line)


def data_save(
    dataset: _DatasetArgument,
    *,
    author: options.AuthorOption,
    version: _VersionOption = "",
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Save the draft as a new file next to its version; no file is overwritten."""
    with Store(store) as opened:
        named, base = _named(opened, dataset, version)
        seen = read_draft(opened, named.id, base.digest).last
        saved = save_draft(opened, named, base, author=author, seen=seen)
    if as_json:
        print_json({"file": f"{named.folder}/{saved.name}", "digest": saved.digest, **saved.counts})
        return
    counts = ", ".join(f"{n:,} {name}" for name, n in saved.counts.items() if n)
    say(console(), f"saved {saved.name} in {named.folder}: {counts}")


def _named(store: Store, name: str, digest: str) -> tuple[NamedDataset, DatasetVersion]:
    dataset = dataset_named(named_datasets(store), name)
    return dataset, dataset.version(digest)


def _opened(store: Store, name: str, digest: str) -> tuple[NamedDataset, DatasetVersion, DatasetFile, DatasetDraft]:
    dataset, version = _named(store, name, digest)
    return dataset, version, open_version(version), read_draft(store, dataset.id, version.digest)


def _lines(difference: DatasetDifference) -> Iterator[str]:
    marks = (("+", difference.added), ("~", difference.changed), ("-", difference.retired))
    for mark, rows in marks:
        for row in rows:
            yield f"{mark} {row.id}"
            for cell in row.cells:
                text = f"{cell.before} → {cell.after}" if mark == "~" else cell.before or cell.after
                yield f"    {cell.column}: {text}"


def _saved(version: DatasetVersion) -> str:
    saved = version.saved
    return f", saved by {saved.author} from {saved.parent} ({saved.base[:8]})" if saved else ""


def _plain(dataset: NamedDataset) -> dict[str, Any]:
    versions = [
        {
            "digest": version.digest,
            "file": version.name,
            "runs": [run.id for run in version.runs],
            "parent": version.saved.base if version.saved else "",
            "author": version.saved.author if version.saved else "",
        }
        for version in dataset.versions
    ]
    return {"id": dataset.id, "name": dataset.name, "folder": str(dataset.folder or ""), "versions": versions}
