"""Reads question sets of BEIR: a folder with queries, passages and judgements in three files.

They become rows of `id`, `question` and `source`: the passages that a query should retrieve, each with its id and text.

Source: N. Thakur et al., "BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of Information Retrieval Models",
NeurIPS 2021 (corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from steelyard.data.table import Row, Table, cell_at
from steelyard.data.text_tables import judged_row, read_delimited, read_json_lines
from steelyard.errors import ConfigError, DataError, did_you_mean

_CORPUS, _QUERIES, _QRELS = "corpus.jsonl", "queries.jsonl", "qrels"


def is_beir(folder: Path) -> bool:
    """Whether a folder is a BEIR dataset."""
    return (folder / _CORPUS).is_file() and (folder / _QUERIES).is_file() and (folder / _QRELS).is_dir()


def read_beir(folder: Path, split: str = "") -> Table:
    """Read the judged queries of a BEIR dataset; passages with a score of 0 are not among their sources.

    Args:
        folder: with corpus.jsonl, queries.jsonl and qrels; of the corpus the judged passages are kept in memory.
        split: the file under qrels; "" takes `test`, or the only one.

    Raises:
        ConfigError: there is no such split.
        DataError: a file cannot be read, or a judgement names a query or passage that there is not.
    """
    qrels = _qrels(folder, split)
    judged: dict[str, dict[str, str]] = {}
    for row in qrels:
        location, cells = qrels.location(row.number), [str(cell_at(row.cells, at) or "").strip() for at in range(3)]
        if cells == ["query-id", "corpus-id", "score"]:
            continue
        try:
            relevant = int(cells[2]) > 0
        except ValueError:
            message = f"{location}: the score is {cells[2][:40]!r}, expected a whole number in the third column"
            raise DataError(message) from None
        judged.setdefault(cells[0], {})
        if relevant:
            judged[cells[0]][cells[1]] = location
    passages = _texts(
        folder / _CORPUS, {passage for locations in judged.values() for passage in locations}.__contains__
    )
    queries = _texts(folder / _QUERIES, judged.__contains__)
    dangling = [
        (location, *((query, _QUERIES) if query not in queries else (passage, _CORPUS)))
        for query, locations in judged.items()
        for passage, location in locations.items()
        if query not in queries or passage not in passages
    ]
    if dangling:
        location, missing, file = dangling[0]
        of = f" (the first of {len(dangling)} such lines)" if len(dangling) > 1 else ""
        raise DataError(f"{location}: {missing[:60]!r} is no _id of {file}: add it to {file} or delete the line{of}")
    rows = [
        Row(number, judged_row(query, text, {passage: passages[passage] for passage in judged[query]}))
        for number, (query, text) in enumerate(queries.items(), start=1)
    ]
    return Table(folder.name, lambda: iter(rows), "entry", keyed=True)


def _qrels(folder: Path, split: str) -> Table:
    splits = sorted(path.stem for path in (folder / _QRELS).glob("*.tsv"))
    chosen = split or ("test" if "test" in splits else splits[0] if len(splits) == 1 else "")
    if chosen not in splits:
        what = f"no split {split!r}{did_you_mean(split, splits)}" if split else f"several splits: {', '.join(splits)}"
        raise ConfigError(f"{folder.name}/{_QRELS} has {what}; name one under split")
    return read_delimited(folder / _QRELS / f"{chosen}.tsv")


def _texts(path: Path, wanted: Callable[[str], bool]) -> dict[str, str]:
    """Id -> text, with the title above it, of the wanted lines of a file."""
    return {ident: text for ident, text in _lines(path) if wanted(ident)}


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    table = read_json_lines(path)
    for row in table:
        ident, text, title = (cell_at(row.cells, key) for key in ("_id", "text", "title"))
        if not isinstance(ident, str) or not isinstance(text, str):
            raise DataError(f"{table.location(row.number)}: expected _id and text, both texts")
        yield ident, f"{title}\n{text}" if isinstance(title, str) and title.strip() else text
