"""Names in a configuration file -> classes, without importing any of them before it is asked for.

A class of another package is added by an entry point in the group `steelyard.targets`, `steelyard.scorers`,
`steelyard.models` or `steelyard.suites`; its own name wins over nothing: a name that exists already is refused.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

from steelyard.errors import ConfigError, did_you_mean

Kind = Literal["model", "target", "scorer", "suite"]

BUILT_IN: Final[Mapping[Kind, Mapping[str, str]]] = MappingProxyType(
    {
        "model": MappingProxyType(
            {
                "completions": "steelyard.models.completions:Completions",
                "embeddings": "steelyard.models.embeddings:Embeddings",
                "http": "steelyard.models.http:HttpModel",
                "litellm": "steelyard.models.litellm:LiteLLM",
                "openai_compatible": "steelyard.models.openai_compatible:OpenAICompatible",
                "scripted": "steelyard.models.scripted:Scripted",
            }
        ),
        "target": MappingProxyType(
            {
                "baseline": "steelyard.targets.baseline:Baseline",
                "function": "steelyard.targets.function:Function",
                "http": "steelyard.targets.http:HttpEndpoint",
                "langchain": "steelyard.targets.langchain:LangChainRunnable",
                "likelihood": "steelyard.targets.likelihood:Likelihood",
                "llama_index": "steelyard.targets.llama_index:LlamaIndexEngine",
                "pair": "steelyard.targets.pair:Pair",
                "prompt": "steelyard.targets.prompt:Prompt",
                "replay": "steelyard.targets.replay:Replay",
                "retrieval": "steelyard.targets.retrieval:QueryEngine",
            }
        ),
        "scorer": MappingProxyType(
            {
                "answer_relevancy": "steelyard.scorers.judges.answer_relevancy:AnswerRelevancy",
                "choice": "steelyard.scorers.choice:Choice",
                "chrf": "steelyard.scorers.lexical:ChrF",
                "claim_faithfulness": "steelyard.scorers.judges.claims:ClaimFaithfulness",
                "contains": "steelyard.scorers.lexical:Contains",
                "context_relevance": "steelyard.scorers.judges.context_relevance:ContextRelevance",
                "correctness": "steelyard.scorers.judges.correctness:Correctness",
                "exact_match": "steelyard.scorers.match:ExactMatch",
                "faithfulness": "steelyard.scorers.judges.faithfulness:Faithfulness",
                "g_eval": "steelyard.scorers.judges.g_eval:GEval",
                "guideline": "steelyard.scorers.judges.guideline:Guideline",
                "human_preference": "steelyard.scorers.preference_people:HumanPreference",
                "json_schema": "steelyard.scorers.lexical_schema:JsonSchema",
                "lexical_preference": "steelyard.scorers.preference_lexical:LexicalPreference",
                "likelihood": "steelyard.scorers.likelihood:LikelihoodAccuracy",
                "number_match": "steelyard.scorers.lexical_numbers:NumberMatch",
                "preference": "steelyard.scorers.judges.preference:Preference",
                "regex": "steelyard.scorers.lexical_patterns:Regex",
                "relevance": "steelyard.scorers.judges.relevance:Relevance",
                "retrieval": "steelyard.scorers.retrieval:Retrieval",
                "rouge_l": "steelyard.scorers.lexical:RougeL",
                "rubric": "steelyard.scorers.judges.rubric:Rubric",
                "sql": "steelyard.scorers.sql:SqlResult",
                "tables": "steelyard.scorers.tables:TableMetrics",
                "token_f1": "steelyard.scorers.lexical:TokenF1",
            }
        ),
        "suite": MappingProxyType(
            {
                "choice": "steelyard.suites.choice.suite:ChoiceSuite",
                "pairwise": "steelyard.suites.pairwise.suite:PairwiseSuite",
                "rag": "steelyard.suites.rag.suite:RagSuite",
                "tables": "steelyard.suites.tables.suite:TablesSuite",
                "text2sql": "steelyard.suites.text2sql.suite:Text2SqlSuite",
            }
        ),
    }
)


@cache
def _places(kind: Kind) -> Mapping[str, str]:
    from importlib.metadata import entry_points

    places = dict(BUILT_IN[kind])
    for point in entry_points(group=f"steelyard.{kind}s"):
        if point.name in places:
            raise ConfigError(f"{point.value} calls itself {point.name!r}, but that {kind} exists already")
        places[point.name] = point.value
    return places


def names(kind: Kind) -> tuple[str, ...]:
    """Every name of that kind, sorted."""
    return tuple(sorted(_places(kind)))


def find(kind: Kind, name: str) -> type:
    """The class behind `name`.

    Raises:
        ConfigError: there is none; the message suggests the nearest name.
    """
    places = _places(kind)
    if name not in places:
        raise ConfigError(f"there is no {kind} {name!r}{did_you_mean(name, places)}")
    module, _, attribute = places[name].partition(":")
    found: type = getattr(import_module(module), attribute)
    return found


def name_of(kind: Kind, cls: type) -> str | None:
    """The name under which `cls` is registered, or None."""
    place = f"{cls.__module__}:{cls.__qualname__}"
    # Only a class of another package can be an entry point, and finding those reads the files of every package.
    places = BUILT_IN[kind] if place.startswith("steelyard.") else _places(kind)
    return next((name for name, home in places.items() if home == place), None)


def describe(value: Any) -> Any:
    """`value` as plain JSON for a manifest: a registered dataclass becomes `{name: {fields}}`.

    Secrets are references (`${NAME}`) in the fields themselves, so they stay references here. A function becomes
    its import path, a file its name and a digest of its content; what a class says of itself in `manifest()` is added.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _describe_fields(value)
    if isinstance(value, Mapping):
        return {str(key): describe(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [describe(one) for one in (sorted(value) if isinstance(value, set | frozenset) else value)]
    if isinstance(value, Path):
        digest = blake2b(value.read_bytes(), digest_size=16).hexdigest() if value.is_file() else ""
        return {"file": value.name, "digest": digest}
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}:{value.__qualname__}"
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _describe_fields(value: Any) -> Any:
    fields = {one.name: describe(getattr(value, one.name)) for one in dataclasses.fields(value)}
    if hasattr(value, "manifest"):
        fields.update(value.manifest())
    name = next((found for kind in BUILT_IN if (found := name_of(kind, type(value)))), None)
    return {name: fields} if name else fields
