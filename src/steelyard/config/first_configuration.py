"""A first configuration for a dataset of one's own: a prompt that fits its columns, and what is asked and scored."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from steelyard.data.sample_files import SampleFiles
from steelyard.errors import ConfigError
from steelyard.prompts.conversation import transcript_of
from steelyard.prompts.template import language_of, value_at
from steelyard.suites.general.defaults import default_name
from steelyard.suites.general.rows import GeneralRows, load_general
from steelyard.types import Sample

_WIDTH: Final = 60
_PROMPT: Final = "prompt.txt"
CONFIGURATION: Final = "general.yaml"
_ASKS: Final[Mapping[str, Mapping[str, str]]] = {
    "en": {
        "label": "Answer with only one of these labels: {known}.",
        "json_fields": "Answer with only a JSON object that has these keys: {known}.",
        "exact_match": "Answer with only the answer itself, without a sentence around it.",
    },
    "zh": {
        "label": "只回答下列标签之一：{known}。",
        "json_fields": "只回答一个 JSON 对象，它有这些键：{known}。",
        "exact_match": "只写答案本身，不要写成句子。",
    },
}
"""What a prompt asks for, by the scorer that reads the answer."""


@dataclass(frozen=True, slots=True)
class FirstConfiguration:
    """The files of a first configuration, and what to know of the dataset.

    Args:
        files: name -> text.
        columns: one line per column: its role, its header and its first value.
        notes: on the dataset, and how it is scored.
    """

    files: Mapping[str, str]
    columns: tuple[str, ...]
    notes: tuple[str, ...]


def first_configuration(
    samples: SampleFiles, folder: Path, *, models: Sequence[str] = (), endpoint: str = ""
) -> FirstConfiguration:
    """Write the files for a dataset; nothing is stored or sent.

    Args:
        samples: the dataset; its `columns` are written into the configuration.
        folder: where the files will be; paths are relative to it.
        models: names at the endpoint; without any a stand-in answers, so that the configuration runs at once.
        endpoint: base address of an OpenAI-compatible endpoint.

    Raises:
        ConfigError: models without an endpoint, or an endpoint without models; no column for the input.
        DataError: rows with defects.
    """
    if bool(models) != bool(endpoint):
        raise ConfigError("name both the endpoint and the models that it serves: --endpoint URL --model NAME")
    rows = load_general(samples)
    scorer, reason = default_name(rows.data.samples)
    scored = f"scored by {scorer}, since {reason}" if scorer else "no expected output and no checks: see scorers"
    known = _known(scorer, rows.data.samples)
    return FirstConfiguration(
        {
            _PROMPT: _prompt(rows, scorer, known),
            CONFIGURATION: _configuration(samples, folder, (models, endpoint), (scorer, scored, known)),
        },
        tuple(_column_lines(rows)),
        (*rows.data.notes, scored),
    )


def _known(scorer: str, samples: Sequence[Sample]) -> list[str]:
    """The labels, the most frequent first, or the keys of the expected objects."""
    references = [sample.reference for sample in samples]
    if scorer == "label":
        return sorted(dict.fromkeys(references), key=references.count, reverse=True)
    if scorer == "json_fields":
        return list(dict.fromkeys(key for reference in references if reference for key in reference))
    return []


def _prompt(rows: GeneralRows, scorer: str, known: Sequence[str]) -> str:
    column = next(header for header, place in rows.places.items() if place == "question")
    language = language_of(*(transcript_of(sample.input) for sample in rows.data.samples[:100]))
    asked = _ASKS[language].get(scorer, "").format(known=("、" if language == "zh" else ", ").join(known))
    return f"{asked}\n\n{{{{{column}}}}}\n" if asked else f"{{{{{column}}}}}\n"


def _configuration(
    samples: SampleFiles,
    folder: Path,
    asked: tuple[Sequence[str], str],
    scoring: tuple[str, str, Sequence[str]],
) -> str:
    models, endpoint = asked
    scorer, scored, known = scoring
    files = [os.path.relpath(path, folder) for path in samples.paths]
    keys: dict[str, Any] = {"file": files[0] if len(files) == 1 else files}
    keys |= {"columns": dict(samples.columns)} if samples.columns else {}
    lines = ["# Every column is a value that the prompt may use, as {{column}}; several prompts: {name: file or text}."]
    lines += [f"samples: {_written(keys['file'] if len(keys) == 1 else keys)}", f"prompts: {_PROMPT}"]
    if models:
        lines += [f"models: {_written(list(models))}", f"endpoint: {_written(endpoint)}"]
    else:
        answer = known[0] if scorer == "label" else "I do not know."
        lines += [
            "# A stand-in that always says the same. A real model: its name, and the endpoint that serves it.",
            f"models: {{stand-in: {{scripted: {{default: {_written(answer)}}}}}}}",
            "# models: [small, large]",
            '# endpoint: {base_url: "http://127.0.0.1:8000/v1", api_key: "${MY_KEY}"}',
        ]
    lines.append(f"# {scored}" if scorer else "# Nothing is expected, so say what an answer is scored by:")
    lines.append("# scorers: [...]" if scorer else "scorers: [{length: 100}]")
    return "\n".join([*lines, ""])


def _written(value: Any) -> str:
    """A value as YAML on one line; JSON is YAML."""
    return json.dumps(value, ensure_ascii=False)


def _column_lines(rows: GeneralRows) -> Iterator[str]:
    first = rows.data.samples[0]
    values = {"question": transcript_of(first.input), "id": first.id, "group": first.group, "metadata": first.metadata}
    shown = {role: _first_value(role, first, values) for role in rows.data.mapping}
    for role, column in rows.data.mapping.items():
        yield f"{role}: {column} = {_short(shown[role])}"
    for header, place in rows.places.items():
        if place.startswith("metadata."):
            yield f"value: {header} = {_short(value_at(place, values))}"


def _first_value(role: str, sample: Sample, values: Mapping[str, Any]) -> Any:
    if role == "input":
        return values["question"]
    return sample.reference if role == "expected" else getattr(sample, role, sample.metadata.get(role))


def _short(value: Any) -> str:
    text = " ".join((value if isinstance(value, str) else _written(value)).split())
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"
