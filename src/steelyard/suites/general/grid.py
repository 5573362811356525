"""Prompts x models: each pair is a target, with the names of both as tags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from steelyard.constraints import check_options
from steelyard.data.headers import normalized
from steelyard.errors import ConfigError, did_you_mean
from steelyard.files import NOT_IN_FILE_NAMES
from steelyard.models.base import Model, ModelInfo
from steelyard.models.openai_compatible import OpenAICompatible
from steelyard.prompts.sample_values import SAMPLE_NAMES
from steelyard.prompts.template import load_template, names_of, placeholders
from steelyard.targets.prompt import Prompt

Prompts = Path | str | tuple[Path | str, ...] | Mapping[str, Path | str]
"""One prompt, several, or several by name; each is a text or a file."""
Models = str | Model | tuple[str | Model, ...] | Mapping[str, str | Model]
"""One model, several, or several by name; a bare name is a model of the suite's endpoint."""
_SHOWN: str = "{{question}}"


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
    for name in names_of(load_template(template)):
        place = place_of(name, places)
        if place is None:
            raise ConfigError(
                f"{_key(prompt)}: {{{{{name}}}}}: {source} has no column of that name{did_you_mean(name, places)} (for "
                f"the braces themselves write {{{{{{{{{name}}}}}}}}})"
            )
        if place != name:
            columns[name] = place
    return columns


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
