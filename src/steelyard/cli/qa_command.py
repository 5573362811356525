"""What was typed behind `generate qa`: kept with its run, so that `resume` can go on with it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from steelyard.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from steelyard.config.environment import Environment
    from steelyard.config.positions import Node
    from steelyard.models.base import Model
    from steelyard.suite import Suite

_VARIABLE: Final = re.compile(r"[A-Z_][A-Z0-9_]*")


@dataclass(frozen=True, slots=True)
class QaCommand:
    """What was typed, as far as it decides what is made.

    Args:
        documents: absolute paths.
        out: an absolute path.
        per_chunk: questions asked for of each chunk.
        chunks: how many are drawn; None takes all.
        settings: fields of `QaSettings`.
        model: what stands under the key `model` of a configuration; empty with a model's file, or without a model.
        model_config: absolute path of the model's file, or "".
        budget_calls: calls that may be sent, or None.
    """

    documents: tuple[str, ...]
    out: str
    per_chunk: int
    chunks: int | None
    settings: Mapping[str, Any]
    model: Mapping[str, Any]
    model_config: str
    budget_calls: int | None

    def suite(self, *, use_dotenv: bool) -> tuple[Suite, Environment]:
        """The suite that makes the set, and the values behind its references.

        Raises:
            ConfigError: what cannot be meant.
            DataError: a document cannot be read.
        """
        from steelyard.generate.qa import CHUNK_TIMEOUT_S, QaSettings, qa_suite, writer_of
        from steelyard.models.budget import Budget
        from steelyard.suite import Options

        model, values = described_model(self.model, self.model_config, use_dotenv=use_dotenv)
        settings = QaSettings(**self.settings)
        writer = writer_of(model, self.per_chunk, settings)
        budget = Budget(calls=self.budget_calls)
        options = Options(seed=settings.seed, budget=budget, sample_timeout_s=CHUNK_TIMEOUT_S)
        paths = [Path(one) for one in self.documents]
        return qa_suite(paths, writer, chunks=self.chunks, settings=settings, options=options), values


def described_model(
    model: Mapping[str, Any], model_config: str, *, use_dotenv: bool
) -> tuple[Model | None, Environment]:
    """The model that flags or a file describe, and the values behind its references; None where neither does.

    Args:
        model: as `model_of_flags` gives it.
        model_config: absolute path of a model's file, or "".
        use_dotenv: whether the `.env` beside that file, or here, is read.

    Raises:
        ConfigError: what cannot be meant, with the place.
    """
    from steelyard.cli.running import known_environment
    from steelyard.config.build import Site, build
    from steelyard.config.environment import Environment
    from steelyard.config.positions import from_plain
    from steelyard.models.base import Model

    if not model and not model_config:
        return None, Environment({})
    root = _model_file(Path(model_config)) if model_config else from_plain(model, "--model")
    folder = Path(model_config).parent if model_config else Path.cwd()
    values = known_environment(root, folder, use_dotenv=use_dotenv)
    return build(Model, root.entries["model"].node, Site(folder, "model")), values


def model_of_flags(model: str, base_url: str, api_key_env: str) -> dict[str, Any]:
    """The model that flags describe, as a configuration would; empty without one.

    Raises:
        ConfigError: options without the model that they are about, or a key where its variable's name is wanted.
    """
    if not model:
        if base_url or api_key_env:
            raise ConfigError("--base-url and --api-key-env belong to --model NAME")
        return {}
    if api_key_env and not _VARIABLE.fullmatch(api_key_env):
        # What was given is not repeated: it may be the key itself.
        raise ConfigError("--api-key-env takes the name of an environment variable, such as OPENAI_API_KEY")
    given = {"name": model, "base_url": base_url, "api_key": f"${{{api_key_env}}}" if api_key_env else ""}
    return {"model": {"openai_compatible": {key: value for key, value in given.items() if value}}}


def check_writer(command: QaCommand, baseline: str) -> None:
    """Refuse what leaves open who writes, and what cannot be meant together.

    Raises:
        ConfigError: which options.
    """
    if not command.documents:
        raise ConfigError("name the documents: --documents PATH")
    if baseline and baseline != "cloze":
        raise ConfigError(f"there is no baseline {baseline!r} that makes questions{did_you_mean(baseline, ['cloze'])}")
    given = [bool(command.model), bool(command.model_config), bool(baseline)]
    if sum(given) != 1:
        what = "give one of them" if sum(given) else "nobody writes the questions"
        raise ConfigError(f"--model NAME, --model-config FILE or --baseline cloze: {what}")
    if baseline and (command.settings["check_answerable"] or command.settings["show_metadata"]):
        raise ConfigError("--check-answerable and --metadata belong to a model; --baseline cloze asks none")


def _model_file(path: Path) -> Node:
    """A file with the key `model` and nothing else.

    Raises:
        ConfigError: with the place.
    """
    from steelyard.config.load import SUFFIXES
    from steelyard.config.positions import read

    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"{path}: a model's file ends in {', '.join(sorted(SUFFIXES))}")
    _, root = read(path)
    for name, entry in root.entries.items():
        if name != "model":
            raise ConfigError(f"the file of --model-config has one key, model, not {name!r}", entry.key.place)
    if "model" not in root.entries:
        raise ConfigError("the key 'model' is missing", root.place)
    return root
