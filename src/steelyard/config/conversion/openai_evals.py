"""Converts OpenAI's hosted Evals and evals of its registry; the first by way of the shape of a promptfoo configuration.

The hosted product closes on 30 November 2026. What it keeps is three things: the eval (`data_source_config`,
`testing_criteria`), its runs (`data_source` with the messages, the model and `sampling_params`), and the items, which
are exported as JSON lines. Each is a file; the items may also stand in the run.

Source: https://platform.openai.com/docs/api-reference/evals; https://github.com/openai/evals (registry, MIT).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from steelyard.building.nodes import Node, from_plain, plain
from steelyard.config.conversion.foreign_files import ForeignFiles
from steelyard.config.conversion.promptfoo import convert_promptfoo
from steelyard.config.conversion.result import Converted, Notes
from steelyard.errors import ConfigError
from steelyard.scorers.judges.rating import MOST_VALUES

_OUTPUT: Final = re.compile(r"\{\{\s*sample\.output_text\s*\}\}")
_OUTPUT_JSON: Final = re.compile(
    r"\{\{\s*sample\.output_json((?:\.[A-Za-z_]\w*|\[(?:\d+|'[^'{}]*'|\"[^\"{}]*\")\])+)\s*\}\}"
)
_SAMPLE: Final = re.compile(r"\{\{\s*sample\b[^{}]*\}\}")
_ITEM: Final = re.compile(r"\{\{\s*item\.")
_OPERATIONS: Final = {"eq": "equals", "ne": "not-equals", "like": "contains", "ilike": "icontains"}
_MEASURES: Final = {"cosine": "similar", **{f"rouge_{n}": "rouge-n" for n in "12345l"}}
_INSTEAD: Final = {
    "fuzzy_match": "levenshtein, with most_share",
    "score_model": "g_eval; its range is two numbers, and pass_threshold is within it",
    "label_model": "guideline; it has no passing_labels",
    "multi": "its graders, each as a scorer, with all_of or any_of",
    "sample.output_tools": "tool_calls",
    "item.": "the target replay, for outputs that stand in a column",
}
"""What to write for a criterion, or a part of the sample, that no scorer stands for."""
_CLASSES: Final = {
    "Match": {"starts_with": {"literal": True}},
    "Includes": {"contains": {"ignore_case": False, "literal": True}},
    "FuzzyMatch": {"any_of": [{"exact_match": {"normalise": True}}, "contains"], "name": "fuzzy_match"},
    "JsonMatch": {"json_fields": {"extra": "fail"}},
    "JsonValidator": {"json_schema": {"schema": {"type": ["object", "array"]}}},
}
_GRADED: Final = {"fact": "correctness", "closedqa": {"guideline": "{{criteria}}"}}
DEFAULT_MODEL: Final = "gpt-5"
_MOST: Final = 100
"""The widest range that a judge is asked to choose a whole number from."""


def is_hosted(root: Node) -> bool:
    """Whether a file is an eval, a run or both of OpenAI's hosted product."""
    return bool({"testing_criteria", "data_source_config"} & root.entries.keys())


def convert_hosted(root: Node, others: Sequence[Node], foreign: ForeignFiles) -> Converted:
    """Convert an eval.

    Args:
        root: the eval.
        others: a run, and items (a list of them), in any order.
        foreign: files that the result may name; none is.

    Raises:
        ConfigError: there are no items, or a part is malformed.
    """
    notes = Notes()
    files = [plain(node) for node in others]
    parts = [plain(root), *(part for file in files for part in _parts(file))]
    runs = [part for part in parts if isinstance(part, Mapping) and isinstance(part.get("data_source"), Mapping)]
    source = runs[0]["data_source"] if runs else {}
    lists = [part for part in parts[1:] if part not in runs]
    content = source.get("source", {}).get("content", []) if isinstance(source.get("source"), Mapping) else []
    items = [_item(node) for node in (lists or content)]
    if not items:
        raise ConfigError(
            'there are no items: export them as JSON lines ({"item": {...}} each) and name that file too',
            root.location,
        )
    if any(isinstance(node, Mapping) and node.get("sample") for node in (lists or content)):
        notes.add("the items' outputs; stored outputs are read by the target replay", root)
    pages = [file for file in files if isinstance(file, Mapping) and file.get("object") == "list"]
    items_end = [not page.get("has_more") for page in pages if not any(part in runs for part in _parts(page))]
    if items_end and not any(items_end):
        notes.add("the items of further pages, as the list says has_more; name the file of each page", root)
    given = plain(root).get("testing_criteria") or []
    criteria = [criterion for criterion in given if isinstance(criterion, Mapping)] if isinstance(given, list) else []
    for note in (*_notes_on_runs(runs), *_notes_on_thresholds(criteria)):
        notes.add(note, root)
    assertions = [_assertion(criterion) for criterion in criteria]
    prompt, messages = _prompt(source, items[0])
    if messages:  # a list as it stands in an item is a text in a cell
        items = [{**item, messages: json.dumps(item.get(messages), ensure_ascii=False)} for item in items]
    shape = {
        "description": str(plain(root).get("name") or ""),
        "prompts": [prompt],
        "providers": [_provider(str(source.get("model") or DEFAULT_MODEL), source.get("sampling_params"))],
        "defaultTest": {"assert": assertions},
        "tests": [{"vars": item} for item in items],
    }
    converted = convert_promptfoo(from_plain(shape, root.source.file), foreign, literal=True)
    converted.notes.rename(r"defaultTest\.assert", "testing_criteria")
    converted.notes.places.update(notes.places)
    return converted


def _provider(model: str, sampling: Any = None) -> dict[str, Any]:
    names = {"max_completions_tokens": "max_completion_tokens", "max_completion_tokens": "max_completion_tokens"}
    given = sampling if isinstance(sampling, Mapping) else {}
    return {
        "id": f"openai:chat:{model}",
        "config": {names.get(key, key): value for key, value in given.items() if value is not None},
    }


def _notes_on_runs(runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What the first run lacks, or has and is not taken over, and that there are others."""
    if not runs:
        yield f"the prompt and the model, which are in a run: convert EVAL RUN ITEMS; here {DEFAULT_MODEL}"
        return
    if len(runs) > 1:
        yield f"all runs but the first of {len(runs)}; convert each to compare them"
    messages = runs[0]["data_source"].get("input_messages")
    if not messages:
        yield "the prompt, which the run has not, as its outputs exist already. Instead: the target replay"
    for kind in sorted(_kinds_left_out(messages)):
        yield f"{kind} in the messages of the run"


def _notes_on_thresholds(criteria: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for criterion in criteria:
        if criterion.get("type") in {"score_model", "text_similarity"} and criterion.get("pass_threshold") is None:
            yield f"a pass_threshold of {criterion.get('name')}, which has none; choose the threshold here"


def _parts(content: Any) -> list[Any]:
    """The lines of a file, or what a list of the API holds; a file of one run is that run."""
    inner = content.get("data") if isinstance(content, Mapping) and content.get("object") == "list" else content
    return inner if isinstance(inner, list) else [inner]


def _item(line: Any) -> dict[str, Any]:
    item = line
    if isinstance(line, Mapping):
        item = next((line[key] for key in ("item", "datasource_item") if isinstance(line.get(key), Mapping)), line)
    if not isinstance(item, Mapping):
        raise ConfigError(f"an item is an object, not {json.dumps(line)[:60]}")
    return dict(item)


def _prompt(source: Mapping[str, Any], first: Mapping[str, Any]) -> tuple[str, str]:
    """The prompt, and the name in items under which its messages stand, "" where none do."""
    given = source.get("input_messages")
    turns = given.get("template") if isinstance(given, Mapping) else None
    if not isinstance(turns, list):
        reference = str(given.get("item_reference", "")) if isinstance(given, Mapping) else ""
        name = reference.removeprefix("item.") or next(iter(first), "input")
        return f"{{{{{name}}}}}", name if isinstance(first.get(name), list) else ""
    messages = [{"role": turn.get("role", "user"), "content": _text(turn.get("content"))} for turn in turns]
    return json.dumps(messages, ensure_ascii=False), ""


def _text(content: Any) -> str:
    """The text of a message in our columns, without the prefix of items."""
    if isinstance(content, list):
        return "\n".join(filter(None, map(_text, content)))
    text = content.get("text", "") if isinstance(content, Mapping) else content
    return _ITEM.sub("{{", str(text or ""))


def _kinds_left_out(part: Any) -> set[str]:
    """The kinds of content in messages that are no text: `input_image`, `input_audio`."""
    if isinstance(part, list):
        return {kind for member in part for kind in _kinds_left_out(member)}
    if not isinstance(part, Mapping):
        return set()
    kind = str(part.get("type", ""))
    own = {kind} if re.search("image|audio|file", kind) else set()
    return own | _kinds_left_out(part.get("template")) | _kinds_left_out(part.get("content"))


def _assertion(criterion: Mapping[str, Any]) -> dict[str, Any]:
    """A testing criterion as an assertion; what has none keeps its type, and is named as not converted."""
    kind, name = str(criterion.get("type")), {"metric": " ".join(str(criterion.get("name") or "").split())}
    if kind in {"string_check", "text_similarity"}:
        given, reference = str(criterion.get("input", "")), str(criterion.get("reference", ""))
        if "sample." in reference and criterion.get("operation", "eq") in {"eq", "ne"}:
            given, reference = reference, given
        part = _OUTPUT_JSON.fullmatch(given)
        if (not part and not _OUTPUT.fullmatch(given)) or "sample." in reference:
            about = next((key for key in ("sample.output_tools", "item.") if key in given), "")
            nearby = {"instead": _INSTEAD[about]} if about else {}
            return {"type": f"{kind} of {given}", **nearby, **name}
        measure = str(criterion.get("evaluation_metric", ""))
        operation = _OPERATIONS.get(str(criterion.get("operation")), kind)
        type_ = operation if kind == "string_check" else _MEASURES.get(measure, measure)
        threshold = {"threshold": criterion["pass_threshold"]} if "pass_threshold" in criterion else {}
        transform = {"transform": f"JSON.parse(output){part[1]}"} if part else {}
        size = {"n": int(measure[-1]) if measure[-1].isdigit() else "l"} if type_ == "rouge-n" else {}
        nearby = {"instead": _INSTEAD[measure]} if measure in _INSTEAD else {}
        value = _ITEM.sub("{{", reference)
        return {"type": type_, "value": value, **threshold, **transform, **size, **nearby, **name}
    left = {"type": kind, "value": "", **({"instead": _INSTEAD[kind]} if kind in _INSTEAD else {})}
    return {**(_judged(kind, criterion) or left), **name}


def _judged(kind: str, criterion: Mapping[str, Any]) -> dict[str, Any] | None:
    """A criterion that asks a model; None for other kinds, and where the part that decides is missing or malformed."""
    turns, decides = criterion.get("input") or [], _decides(kind, criterion)
    if decides is None:
        return None
    if media := sorted(_kinds_left_out(turns)):
        return {"type": f"{kind} with {media[0]}"}
    if _ITEM.search(str(turns)) and not _SAMPLE.search(str(turns)):
        return {"type": f"{kind} of items alone", "instead": _INSTEAD["item."]}
    parts = turns if isinstance(turns, list) else [turns]
    words = "\n".join(_text(part.get("content") if isinstance(part, Mapping) else part) for part in parts)
    words = _OUTPUT.sub("(the answer)", words).strip()
    words = _OUTPUT_JSON.sub(lambda part: f"({part[1].removeprefix('.')} of the answer)", words)
    if (unread := _SAMPLE.search(words)) is not None:
        return {"type": f"{kind} with {unread[0]}"}
    provider = _provider(str(criterion.get("model") or DEFAULT_MODEL), criterion.get("sampling_params"))
    return {**decides, "value": f"{decides.get('value', '')}{words}", "provider": provider}


def _decides(kind: str, criterion: Mapping[str, Any]) -> dict[str, Any] | None:
    """The assertion without its instructions: the labels that pass, or scale and threshold."""
    if kind == "score_model":
        return {"type": "g-eval", **scale} if (scale := _scale(criterion)) else None
    labels = criterion.get("passing_labels")
    if kind != "label_model" or not isinstance(labels, list) or not labels:
        return None
    passing = ", ".join(map(str, labels))
    return {"type": "llm-rubric", "value": f"By these instructions the answer gets a label of: {passing}.\n"}


def _scale(criterion: Mapping[str, Any]) -> dict[str, Any]:
    """The threshold as a share of the range, with a range that has whole numbers; {} if malformed."""
    ends, least = criterion.get("range") or [0, 1], criterion.get("pass_threshold")
    match [*ends, least] if isinstance(ends, list) else []:
        case [int() | float() as low, int() | float() as high, int() | float() | None as least] if low < high:
            least = high if least is None else least
            fits = {low % 1, high % 1} == {0} and 1 < high - low <= _MOST and abs(low) < MOST_VALUES
            whole = {"range": [int(low), int(high)]} if fits else {}
            return {"threshold": (least - low) / (high - low), **whole} if low <= least <= high else {}
    return {}


def is_registry(root: Node) -> bool:
    """Whether a file is a YAML file of the registry: names with `class: evals...`."""
    return any("class" in entry.node.entries for entry in root.entries.values())


def convert_registry(root: Node) -> Converted:
    """Convert the first eval of a file of the registry; its samples are used as they are.

    Raises:
        ConfigError: its class has no scorer.
    """
    notes = Notes()
    evals = {name: entry.node for name, entry in root.entries.items() if "class" in entry.node.entries}
    for name, node in [*evals.items()][1:]:
        notes.add(f"the eval {name}; one configuration has one dataset", node)
    name, node = next(iter(evals.items()))
    given = plain(node)
    arguments = given.get("args") or {}
    kind = str(given["class"]).rpartition(":")[2]
    scorer = _GRADED.get(str(arguments.get("modelgraded_spec"))) if kind == "ModelBasedClassify" else _CLASSES.get(kind)
    if scorer is None:
        named = f"{kind} {arguments.get('modelgraded_spec', '')}".strip()
        raise ConfigError(
            f"{named}: no scorer stands for it; write the criteria as guideline, rubric or g_eval, or a function",
            node.entries["class"].node.location,
        )
    values = dict(arguments.get("modelgraded_spec_args") or {})
    criteria = values.pop("criteria", "")
    judges_alone = scorer == _GRADED["closedqa"]
    scorers = [scorer]
    if criteria and judges_alone:
        several = criteria if isinstance(criteria, dict) else {}
        scorers = [{"guideline": str(text), "name": name} for name, text in several.items()]
        scorers = scorers or [{"guideline": str(criteria)}]
    known = {"samples_jsonl", "modelgraded_spec", "eval_type", "max_tokens"}
    if kind == "Includes" and arguments.get("ignore_case") is True:
        known.add("ignore_case")
        scorers = [{"contains": {"literal": True}}]
    for key in sorted(arguments.keys() - known - ({"modelgraded_spec_args"} if not values else set())):
        notes.add(f"args.{key}", node)
    if kind == "FuzzyMatch":
        notes.add("that an expected answer which contains the output counts too", node)
    judge = {"judge": DEFAULT_MODEL} if kind == "ModelBasedClassify" else {}
    notes.add(f"a model, which the command line names there; here {DEFAULT_MODEL}", node)
    columns = {"input": "input", **({} if judges_alone or kind == "JsonValidator" else {"expected": "ideal"})}
    samples = {"file": str(arguments.get("samples_jsonl", "samples.jsonl")), "columns": columns}
    endpoint = {"base_url": "https://api.openai.com/v1", "api_key": "${OPENAI_API_KEY}"}
    return Converted(
        {"name": name, "samples": samples, "models": DEFAULT_MODEL, "endpoint": endpoint, **judge, "scorers": scorers},
        notes=notes,
    )
