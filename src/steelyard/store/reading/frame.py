"""A run for notebooks: a data frame of its records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Final, Literal

from steelyard.analysis.run_data import RunData
from steelyard.analysis.scores.score_fields import ScoreField, score_cells, score_fields
from steelyard.analysis.scores.score_infos import names_where
from steelyard.data.table import SHEET, SOURCE, origin_keys
from steelyard.errors import ConfigError
from steelyard.escaping import cell_text
from steelyard.types import Label, Record

BACKENDS: Final[tuple[Literal["pandas", "polars", "pyarrow"], ...]] = ("pandas", "polars", "pyarrow")
"""What a frame is made of: the first of these that is installed."""

_BEFORE: Final = ("id", "group", SOURCE, SHEET, "repeat", "question", "reference", "output", "response")
_AFTER: Final = ("seconds", "target", "model", "run")
_TAKEN: Final = frozenset({*_BEFORE, *_AFTER, "label", "failure"})


def to_frame(run: RunData, records: Iterable[Record], labels: Sequence[Label]) -> Any:
    """One row per record, in order of samples and repeats.

    Columns: id, group, source and sheet (where the dataset has several files or sheets), repeat, question, reference,
    output (what the target made of the reply), response (the text of its last reply, or the output where none was asked
    for), what scorers add (`sql`), per score the columns of `steelyard.analysis.scores.score_fields` (its value,
    `<score>_outcome`, `<score>_passed`, `<score>_label`, `<score>_reason`), label (that of the first score with named
    verdicts), seconds, target, model (as the endpoint calls it), run, `tag_<name>` for every tag, failure,
    `label_<name>` for every label that a person or a review gave (the newest, where several did). A score that was not
    given is null, never 0; a score with the name of another column becomes `score_<name>`.

    Args:
        run: settings and scores.
        records: of the run, in order.
        labels: of them, that count.

    Returns:
        a pandas data frame; where pandas is not installed a polars one, else a pyarrow table.

    Raises:
        ConfigError: none of the three is installed.
    """
    backend = next((name for name in BACKENDS if find_spec(name) is not None), None)
    if backend is None:
        raise ConfigError("a data frame needs pandas, polars or pyarrow: install one of them (pip install pandas)")
    import narwhals as nw

    order = {name: position for position, name in enumerate(run.manifest.get("scores", ()))}
    names = sorted(run.scores.scores, key=lambda name: order.get(name, len(order)))
    fields = score_fields(names, run.score_infos, _column_of)
    columns = _columns(run, records, labels, fields)
    # Null is not an integer in a pandas frame, so whether a score passed is 1.0, 0.0 or null.
    floats = {*(field.column for field in fields if field.kind != "text"), "seconds"}
    schema = {
        name: nw.Int64() if name == "repeat" else nw.Float64() if name in floats else nw.String() for name in columns
    }
    return nw.from_dict(columns, schema=schema, backend=backend).to_native()


def _columns(
    run: RunData, records: Iterable[Record], labels: Sequence[Label], fields: Sequence[ScoreField]
) -> dict[str, list[Any]]:
    tags = {f"tag_{tag}": value for tag, value in run.tags.items()}
    scores = [field.column for field in fields]
    label_columns = dict.fromkeys(f"label_{label.name}" for label in labels)
    by_record: dict[tuple[str, int], dict[str, Any]] = {}
    for label in labels:
        by_record.setdefault((label.sample, label.repeat), {})[f"label_{label.name}"] = cell_text(label.value)
    verdict_score = next(iter(names_where(run.score_infos, lambda info: info.named_verdicts)), "")
    first_label = f"{_column_of(verdict_score)}_label" if verdict_score else ""
    order = list(
        dict.fromkeys(
            [*_BEFORE, *scores, *(["label"] if first_label else []), *_AFTER, *tags, "failure", *label_columns]
        )
    )
    columns: dict[str, list[Any]] = {name: [] for name in order}
    added: dict[str, list[Any]] = {}
    of_run = {"target": run.target, "run": run.id, "model": _model_of(run.manifest.get("target"))} | tags
    for n, record in enumerate(records):
        own_labels = by_record.get((record.sample.id, record.repeat), {})
        cells = dict(zip(scores, score_cells(fields, record.scores), strict=True))
        verdict = {"label": cells.get(first_label)} if first_label else {}
        row = dict.fromkeys(label_columns) | of_run | _row(record) | cells | verdict | own_labels
        for name, value in row.items():
            columns[name].append(_plain(value))
        for name, value in _added(record).items():
            column = added.setdefault(name, [])
            column += [None] * (n - len(column)) + [_plain(cell_text(value))]
    n = len(columns["id"])
    extra = {name: column + [None] * (n - len(column)) for name, column in added.items() if name not in columns}
    at = len(_BEFORE)
    # A dataset of one file and sheet needs no column that names them.
    absent = {SOURCE, SHEET} - set(origin_keys(run.manifest.get("breakdowns", ())))
    return {name: (columns | extra)[name] for name in [*order[:at], *extra, *order[at:]] if name not in absent}


def _added(record: Record) -> dict[str, Any]:
    """Extra columns that scorers return in `detail["columns"]`."""
    extras = [score.detail.get("columns") for score in record.scores]
    return {str(name): value for columns in extras if isinstance(columns, Mapping) for name, value in columns.items()}


def _model_of(target: Any) -> str | None:
    """The model's name in a prompt target's manifest."""
    prompt = target.get("prompt") if isinstance(target, Mapping) else None
    model = prompt.get("model") if isinstance(prompt, Mapping) else None
    fields = next(iter(model.values()), None) if isinstance(model, Mapping) else None
    return fields.get("name") if isinstance(fields, Mapping) else None


def _row(record: Record) -> dict[str, Any]:
    replies = record.replies.get("target", ())
    sample, failure, reply = record.sample, record.failure, (replies[-1] if replies else None)
    output = None if record.output is None else cell_text(record.output.value)
    return {
        "id": sample.id,
        "group": sample.group,
        **{key: sample.metadata.get(key) for key in (SOURCE, SHEET)},
        "repeat": record.repeat,
        "question": cell_text(sample.input),
        "reference": None if sample.reference is None else cell_text(sample.reference),
        "output": output,
        "response": reply.text if reply else output,
        "seconds": record.seconds,
        **({"model": reply.metadata["model"]} if reply and "model" in reply.metadata else {}),
        "failure": f"{failure.stage} ({failure.kind}): {failure.message}" if failure else None,
    }


def _column_of(score: str) -> str:
    return f"score_{score}" if score in _TAKEN or score.startswith(("tag_", "label_")) else score


def _plain(value: Any) -> Any:
    """Lone surrogates as escapes: a frame keeps its texts in UTF-8, which has none."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
