"""The `general` suite: a table of inputs, prompts x models or any targets, any scorers; one run per target.

Each pair of a prompt and a model is a target, with the names of both as tags. What is scored where a configuration
names no scorer is decided by what the rows expect, and always said.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Final

from steelyard.constraints import check_options
from steelyard.data.headers import normalized
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import origin_keys
from steelyard.errors import ConfigError, Location, did_you_mean
from steelyard.evaluation.objects import JudgedSuiteKeys, Suite, bind_references
from steelyard.files import NOT_IN_FILE_NAMES
from steelyard.models.base import Model, ModelInfo
from steelyard.models.openai_compatible import OpenAICompatible
from steelyard.prompts.conversation import transcript_of
from steelyard.prompts.language import language_of
from steelyard.prompts.sample_values import SAMPLE_NAMES
from steelyard.prompts.template import is_template_file, load_template, names_of, placeholders
from steelyard.registry import find
from steelyard.replies.label import plain_label
from steelyard.scorers.combined import CHECKS, Checks
from steelyard.scorers.judges.judge import Judge, takes_model
from steelyard.suites.general.checks import try_on_rows, with_columns, with_kinds, with_names
from steelyard.suites.general.rows import GeneralRows, load_general
from steelyard.targets.prompt import Prompt
from steelyard.types import INLINE, LACKS, Output, Sample, Scorer, Target

Prompts = Path | str | tuple[Path | str, ...] | Mapping[str, Path | str]
"""One prompt, several, or several by name; each is a text or a file."""
Models = str | Model | tuple[str | Model, ...] | Mapping[str, str | Model]
"""One model, several, or several by name; a bare name is a model of the suite's endpoint."""
_SHOWN: Final = "{{question}}"


@dataclass(frozen=True, slots=True)
class ModelEndpoint(OpenAICompatible):
    """An endpoint that serves several models by their names; its keys are those of the model `openai_compatible`.

    Args:
        name: is not given here: the models are named beside it.
    """

    name: str = ""

    def check(self) -> None:
        """Validate the fields before anything is sent.

        Raises:
            ConfigError: a name, or what the model `openai_compatible` refuses.
        """
        if self.name:
            raise ConfigError("name: an endpoint serves every model that models names; leave it out here")
        OpenAICompatible.check(self)

    def model(self, name: str) -> OpenAICompatible:
        """The model of that name at this endpoint."""
        settings = {field.name: getattr(self, field.name) for field in fields(OpenAICompatible)}
        return OpenAICompatible(**{**settings, "name": name})


def endpoint_given(endpoint: str | ModelEndpoint) -> ModelEndpoint | None:
    """The endpoint that a suite names, by its address alone or with settings; None where it names none.

    Raises:
        ConfigError: it is no address.
    """
    if not endpoint:
        return None
    served = ModelEndpoint(base_url=endpoint) if isinstance(endpoint, str) else endpoint
    try:
        check_options(served)
    except ConfigError as error:
        raise ConfigError(f"endpoint: {error.message}") from error
    return served


def served_model(given: str | Model, endpoint: ModelEndpoint | None, key: str) -> Model:
    """A model as it is, or the endpoint's model of that name.

    Args:
        given: a model, or a bare name.
        endpoint: of the suite.
        key: that names it, for the message.

    Raises:
        ConfigError: a bare name, and no endpoint.
    """
    if not isinstance(given, str):
        return given
    if not given.strip():
        raise ConfigError(f"{key}: expected the name of a model, but got an empty text")
    if endpoint is None:
        raise ConfigError(
            f"{key}: {given!r} is only a name, and there is no endpoint that serves it: write endpoint: "
            f'"http://127.0.0.1:8000/v1" beside {key}, or the whole model: {{openai_compatible: {{name: {given}, '
            "base_url: ...}}}"
        )
    return endpoint.model(given)


def prompts_by_name(prompts: Prompts) -> dict[str, Path | str]:
    """Name -> prompt; one prompt has no name, those of a list are named after their files or numbered.

    >>> prompts_by_name(("Why? {{text}}", Path("prompts/terse.txt"))), prompts_by_name("{{text}}")
    ({'1': 'Why? {{text}}', 'terse': PosixPath('prompts/terse.txt')}, {'': '{{text}}'})
    """
    if isinstance(prompts, Mapping):
        return dict(prompts)
    if isinstance(prompts, str | Path):
        return {"": prompts} if prompts != "" else {}
    named: dict[str, Path | str] = {}
    for number, prompt in enumerate(prompts, start=1):
        stem = prompt.stem if isinstance(prompt, Path) else str(number)
        named[stem if stem not in named else f"{stem}-{number}"] = prompt
    return named


def placeholders_of(prompts: Mapping[str, Path | str]) -> tuple[str, ...]:
    """The placeholders of all prompts, in order.

    Raises:
        ConfigError: a prompt that cannot be read.
    """
    names: dict[str, None] = {}
    for prompt, template in prompts.items():
        try:
            names |= dict.fromkeys(name for name, _ in placeholders(load_template(template)))
        except ConfigError as error:
            raise ConfigError(f"{_key(prompt)}: {error.message}") from error
    return tuple(names)


def _key(prompt: str) -> str:
    return f"prompts: {prompt}" if prompt else "prompts"


def models_by_name(models: Models, endpoint: ModelEndpoint | None) -> dict[str, Model]:
    """Name -> model; the name is that of the model at its endpoint, unless a mapping gives another.

    Raises:
        ConfigError: a bare name without an endpoint, a model without a name, or two of one name.
    """
    if isinstance(models, Mapping):
        return {name: served_model(model, endpoint, "models") for name, model in models.items()}
    named: dict[str, Model] = {}
    for given in models if isinstance(models, tuple | list) else [models] if models else []:
        model = served_model(given, endpoint, "models")
        name = ModelInfo.of(model).name or type(model).__name__.lower()
        if name in named:
            raise ConfigError(f"models: two are called {name!r}; give each a name of its own: models: {{NAME: ...}}")
        named[name] = model
    return named


@dataclass(frozen=True, slots=True)
class Grid:
    """Every prompt with every model.

    Args:
        prompts: by name.
        models: by name.
        constant: whether a prompt may send the same words for every row.
    """

    prompts: Mapping[str, Path | str]
    models: Mapping[str, Model]
    constant: bool = False

    def check(self) -> None:
        """Refuse prompts without models.

        Raises:
            ConfigError: there are prompts, and nothing that answers them.
        """
        if self.prompts and not self.models:
            raise ConfigError("prompts: name the models that answer them: models: [NAME, ...], and their endpoint")

    def targets(self, places: Mapping[str, str], source: str) -> Iterator[tuple[str, Prompt, dict[str, str]]]:
        """Yield (name, target, tags); of the name the part that does not vary is left out.

        Args:
            places: column -> where a sample has its value.
            source: what the samples were read from, for messages.

        Raises:
            ConfigError: a placeholder that no column fills, or a prompt without any.
        """
        prompts = self.prompts or {"": _SHOWN}
        for prompt, template in prompts.items():
            columns = _columns(prompt, template, places, source)
            for name, model in self.models.items():
                parts = [prompt] if len(prompts) > 1 else []
                parts += [name] if len(self.models) > 1 or not parts else []
                tags = {"prompt": prompt} if prompt else {}
                target = Prompt(model, template, columns=columns)
                if target.without_question and not self.constant:
                    column = next(iter(places), "input")
                    raise ConfigError(
                        f"{_key(prompt)}: no column is named in it, so every row would be asked the same: write "
                        f"{{{{{column}}}}} where the input belongs; where it is meant so, write options: "
                        "{allow_constant_prompt: true}"
                    )
                yield NOT_IN_FILE_NAMES.sub("-", "@".join(parts)), target, {**tags, "model": name}


def _columns(prompt: str, template: Path | str, places: Mapping[str, str], source: str) -> dict[str, str]:
    """The placeholders of a prompt that name columns -> where a sample has their values."""
    columns: dict[str, str] = {}
    text = load_template(template)
    for name in names_of(text):
        place = place_of(name, places)
        if place is None:
            raise ConfigError(
                f"{_key(prompt)}: {{{{{name}}}}}: {source} has no filled column of that name"
                f"{did_you_mean(name, places)} (for the braces themselves write {{{{{{{{{name}}}}}}}}})",
                _location(template, text, name),
            )
        if place != name:
            columns[name] = place
    return columns


def _location(template: Path | str, text: str, name: str) -> Location | None:
    """Where a file has a placeholder; None where the configuration itself has the text."""
    if not is_template_file(template):
        return None
    before = text[: next(start for written, start in placeholders(text) if written == name)].split("\n")
    line = text.split("\n")[len(before) - 1]
    return Location(os.path.relpath(template), len(before), len(before[-1]) + 1, line)


def place_of(name: str, places: Mapping[str, str]) -> str | None:
    """Where a sample has the value of a placeholder; None where no column and no part of a sample has that name.

    >>> places = {"text": "question", "meta": "metadata.meta"}
    >>> place_of("text", places), place_of("meta.year", places), place_of("input", places), place_of("txt", places)
    ('question', 'metadata.meta.year', 'question', None)
    """
    first, dot, rest = name.partition(".")
    for candidate, tail in ((name, ""), (first, dot + rest)):
        place = places.get(candidate) or next(
            (place for header, place in places.items() if normalized(header) == normalized(candidate) != ""), None
        )
        if place is not None and (not tail or place.startswith("metadata.")):
            return place + tail
    if name == "input":
        return "question"
    return name if first in SAMPLE_NAMES else None


_MOST_LABELS: Final = 20
_ROWS_EACH: Final = 3
_ANSWERS: Final = ("output", "response", "completion", "solution", "canonical_solution", "chosen")
"""Headers of answers that other tools write, which may as well be those of a system: never taken unasked."""
_FINAL_NUMBER: Final = re.compile(r"####[ \t]*[-$]{0,2}\d[\d,.]*\s*\Z")
"""The end of a solution in GSM8K."""
_OPTIONS: Final[Mapping[str, Mapping[str, Any]]] = {"number_match": {"mode": "final"}}
_LONGEST_LABEL: Final = 40
"""Characters; a longer answer is a text and no label."""


def default_scorers(samples: Sequence[Sample]) -> tuple[tuple[Scorer, ...], tuple[str, ...]]:
    """The scorers for these samples, and a sentence that says so.

    Raises:
        ConfigError: nothing can be scored.
    """
    name, reason = default_name(samples)
    if not name:
        likely = next((key for sample in samples for key in _ANSWERS if sample.metadata.get(key)), "")
        column = (
            f"Name a column, as columns: {{expected: {likely}}} under samples" if likely else "Add a column expected"
        )
        raise ConfigError(
            "scorers: there is nothing to score: no row has an expected output or checks, and no scorer is named. "
            f"{column}, or name scorers, as scorers: [{{contains: [...]}}]"
        )
    scorer: Scorer = find("scorer", name)(**_OPTIONS.get(name, {}))
    return (scorer,), (f"no scorer is named: {name}, since {reason}",)


def default_name(samples: Sequence[Sample]) -> tuple[str, str]:
    """The default scorer of these samples and the reason; two empty texts where nothing can be scored.

    >>> default_name([Sample(str(no), "?", ("yes", "no")[no % 2]) for no in range(6)])
    ('label', 'the expected outputs are 2 short texts, each of 3 rows or more')
    >>> default_name([Sample("1", "?", "Rome")])
    ('exact_match', 'rows have an expected output')
    """
    if any(sample.metadata.get(CHECKS) for sample in samples):
        return CHECKS, "rows have checks of their own"
    expected = [sample.reference for sample in samples if sample.reference is not None]
    if not expected:
        return "", ""
    if all(isinstance(reference, dict) for reference in expected):
        return "json_fields", "the expected outputs are JSON objects"
    texts = [reference if isinstance(reference, str) else "" for reference in expected]
    is_short = all(0 < len(label) <= _LONGEST_LABEL and "\n" not in label for label in set(texts))
    counts = Counter(map(plain_label, texts))
    if is_short and 2 <= len(counts) <= _MOST_LABELS and min(counts.values()) >= _ROWS_EACH:
        return "label", f"the expected outputs are {len(counts)} short texts, each of {_ROWS_EACH} rows or more"
    if all(map(_FINAL_NUMBER.search, texts)):
        return "number_match", "the expected outputs end with #### and a number; the last number of a reply counts"
    unequal = sum(isinstance(reference, dict) or not _is_of_scalars(reference) for reference in expected)
    others = f", in {unequal} of {len(expected)} an object or several, which no text equals"
    return "exact_match", f"rows have an expected output{others if unequal else ''}"


def _is_of_scalars(reference: Any) -> bool:
    return not isinstance(reference, list) or not any(isinstance(part, list | dict) for part in reference)


def refuse_nothing(scorers: Sequence[Scorer], samples: Sequence[Sample]) -> None:
    """Refuse scorers none of which applies to any sample, such as equality where no row has an expected output.

    Only scorers that call nothing are tried; of any other it is not known.

    Raises:
        ConfigError: nothing would be scored; the message has the reason that the first scorer gives.
    """
    reasons = [_reason(scorer, samples) for scorer in scorers]
    if reasons and all(reasons):
        raise ConfigError(f"scorers: there is nothing to score: {reasons[0]}, in every row")


def _reason(scorer: Any, samples: Sequence[Sample]) -> str:
    """Why a scorer applies to no sample; empty where it applies to one, or that is not known."""
    if getattr(scorer, "stage_info", None) != INLINE:
        return ""
    reason = ""
    for sample in samples:
        try:
            given = scorer(sample, Output(""))
        except Exception:  # noqa: BLE001 - a run would say so; here nothing has been answered yet
            return ""
        scores = given if isinstance(given, list | tuple) else [given]
        # What an output lacks, such as the messages of an agent, a target may give: only the sample is known here.
        if any(score.outcome != "not_applicable" or LACKS in score.detail for score in scores):
            return ""
        reason = reason or next((f"{score.name}: {score.reason}" for score in scores), "")
    return reason


@takes_model
@dataclass(frozen=True, slots=True)
class GeneralSuite(JudgedSuiteKeys):
    """Any task: a table of inputs, what is asked with them, and what is scored.

    A configuration without the key `suite` is one of this suite.

    Args:
        samples: the files with the inputs, and where there are any expected outputs, checks, groups, ids and further
            values.
        prompts: what is sent, as a text or a file with `{{column}}` for the values of a row: one, a list, or several by
            name. None: the input alone.
        models: what answers: names of models of the `endpoint`, or whole models; one, a list, or several by name. Every
            prompt is asked of every model.
        endpoint: the base address of an OpenAI-compatible endpoint that serves the models which are only named, or its
            settings (`base_url`, `api_key`, `parameters` ...).
        targets: other systems to evaluate, by name: HTTP endpoints, functions, agents, simulated users, stored outputs.
        judge: the model that judges, of every scorer that has none of its own: a name at the `endpoint`, or a judge's
            settings.
        scorers: what is scored. By default the rows' checks; else the fields of JSON where expected outputs are
            objects; else labels, where there are few and short ones; else equality with the expected output.
        primary: the score that headlines show; by default that of the first scorer.
        gate: rules on the scores that decide the exit code, `{accuracy: ">= 0.8"}`; `no_regression` compares runs with
            a `baseline`.
    """

    samples: SampleFiles
    prompts: Prompts = ""
    models: Models = ""
    endpoint: str | ModelEndpoint = ""
    targets: Mapping[str, Target] = field(default_factory=dict)
    judge: str | Judge = Judge()
    scorers: tuple[Scorer, ...] = ()
    primary: str = ""

    def build(self) -> Suite:
        """Read and check the whole dataset; no model is called.

        Raises:
            ConfigError: a file or column that does not exist, no target, a model that nothing serves, a placeholder
                that no column fills, or nothing to score.
            DataError: rows with defects, named with file, sheet and cell.
        """
        endpoint = endpoint_given(self.endpoint)
        models = models_by_name(self.models, endpoint)
        grid = Grid(prompts_by_name(self.prompts), models, self.options.allow_constant_prompt)
        grid.check()
        if not grid.models and not self.targets:
            raise ConfigError("there is no target: name models and their endpoint, with prompts or without, or targets")
        # The names in prompts, and in what other targets send.
        names = dict.fromkeys(placeholders_of(grid.prompts))
        for target in self.targets.values():
            filled: frozenset[str] = getattr(target, "filled_names", frozenset())
            names |= dict.fromkeys(sorted(filled))
        rows = load_general(self.samples, named=tuple(names))
        targets, tags = self._targets(grid, rows)
        judges = self.judges_with(self._judge(endpoint))
        # One language for all records: prompts in two would measure the judge differently within one run.
        language = language_of(*(transcript_of(sample.input) for sample in rows.data.samples))
        scorers, about = self._scorers(rows)
        return Suite(
            name=self.name or self.samples.title,
            kind="general",
            samples=rows.data.samples,
            targets=targets,
            scorers=judges.in_language(language).given_to(scorers),
            options=self.options,
            tags=tags,
            gate=self.gate,
            primary=self.primary,
            source=self.samples,
            notes=(*rows.data.notes, *_on_contexts(grid, rows), *about),
            jury=judges.jury,
            breakdowns=origin_keys(key for sample in rows.data.samples for key in sample.metadata),
        )

    def _scorers(self, rows: GeneralRows) -> tuple[tuple[Scorer, ...], tuple[str, ...]]:
        """The scorers with what the rows bring for them, and notes."""
        data = rows.data
        scorers, about = default_scorers(data.samples) if not self.scorers else (self.scorers, ())
        references = [(place or sample.id, sample.reference) for place, sample in data.located()]
        scorers = bind_references(with_kinds(with_columns(scorers, rows.names), data.samples), references)
        try_on_rows(scorers, data)
        refuse_nothing(scorers, data.samples)
        has_checks = any(sample.metadata.get(CHECKS) for sample in data.samples)
        if has_checks and not any(isinstance(scorer, Checks) for scorer in scorers):
            about = (*about, "rows have checks, which are not scored: no scorer is named checks")
        return scorers, about

    def _judge(self, endpoint: ModelEndpoint | None) -> Judge:
        if not isinstance(self.judge, str):
            return self.judge
        return Judge(served_model(self.judge, endpoint, "judge"))

    def _targets(self, grid: Grid, rows: GeneralRows) -> tuple[dict[str, Target], dict[str, Mapping[str, str]]]:
        targets: dict[str, Any] = {}
        tags = dict(self.tags)
        for name, target, of_grid in grid.targets(rows.places, self.samples.names):
            if name in targets or name in self.targets:
                raise ConfigError(f"models: two targets are called {name!r}; rename a prompt, a model or a target")
            targets[name], tags[name] = target, of_grid
        own = {name: _with_places(target, rows.places) for name, target in self.targets.items()}
        return targets | own, tags


def _on_contexts(grid: Grid, rows: GeneralRows) -> Iterator[str]:
    """A note on contexts of the rows that no prompt shows."""
    headers = {"contexts", *(normalized(header) for header, place in rows.places.items() if place == "contexts")}
    count = sum(bool(sample.contexts) for sample in rows.data.samples)
    if count and grid.models and not headers & {*map(normalized, placeholders_of(grid.prompts))}:
        yield f"the contexts of {count} rows are not sent: a prompt may show them, as {{{{contexts}}}}"


def _with_places(target: Any, places: Mapping[str, str]) -> Any:
    """A target whose prompts and texts name columns as samples know them: that of the input is `question`."""
    names = {f"metadata.{column}": place for column, place in places.items() if place != f"metadata.{column}"}
    changes: dict[str, Any] = {}
    for key in ("template", "system", "goal", "persona", "body"):
        value = getattr(target, key, None)
        named = value if isinstance(value, Path) else with_names(value, names)
        changes |= {key: named} if named != value else {}
    inner = getattr(target, "target", None)
    if is_dataclass(inner) and (bound := _with_places(inner, places)) is not inner:
        changes["target"] = bound
    return replace(target, **changes) if changes else target
