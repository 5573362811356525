"""Converts promptfoo's configuration to one of the general suite: prompts, models, and a dataset with checks.

A test with one set of values is a row. The assertions of `defaultTest` that are the same for every row become scorers,
those of a test become the checks of its row; what is said in promptfoo by a list of values, a CSV file or a scenario
stands in the rows. Nothing of it is run: JavaScript is read in a few forms, everything else is named in a comment.

Source: the behaviour of promptfoo 0.121.20 (MIT), https://www.promptfoo.dev/docs/configuration/reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from steelyard.building.nodes import Node, plain
from steelyard.config.conversion.foreign_files import ForeignFiles
from steelyard.config.conversion.javascript import NotReadError, Term, term_of
from steelyard.config.conversion.promptfoo_assertions import Check, UnconvertedError, check_of, threshold_of
from steelyard.config.conversion.promptfoo_targets import (
    Prompt,
    Provider,
    as_json,
    provider_of,
    read_prompts,
    read_providers,
)
from steelyard.config.conversion.promptfoo_tests import Test, Tests, entry, settings
from steelyard.config.conversion.result import Converted, Notes
from steelyard.config.conversion.templates import as_ours, as_text, filled, names_in
from steelyard.data.headers import normalized
from steelyard.errors import ConfigError

_TOP: Final = frozenset(
    {
        "description",
        "prompts",
        "providers",
        "targets",
        "tests",
        "defaultTest",
        "scenarios",
        "evaluateOptions",
        "assertionTemplates",
        "$schema",
        "tags",
        "sharing",
        "outputPath",
        "commandLineOptions",
        "metadata",
        "env",
    }
)
_INSTEAD: Final = {
    "derivedMetrics": "derivedMetrics; compute them from steelyard show --json",
    "extensions": "extensions, which are code",
    "nunjucksFilters": "nunjucksFilters, which are code; give the dataset a column with the value",
    "redteam": "redteam; red teaming is not offered",
    "tracing": "tracing; agent_steps and tool_calls read an agent's messages",
}
_JUDGED: Final = frozenset(
    {
        "guideline",
        "g_eval",
        "correctness",
        "claim_faithfulness",
        "answer_relevancy",
        "context_relevance",
        "goal_reached",
    }
)
_RESERVED: Final = frozenset(
    {
        "expected",
        "expected output",
        "reference",
        "answer",
        "ideal",
        "target",
        "label",
        "id",
        "group",
        "cluster",
        "context",
        "contexts",
        "checks",
    }
)
"""Headers with a meaning of their own: a variable that a prompt shows takes another name in the dataset."""
_INPUT: Final = frozenset(
    {"input", "prompt", "question", "query", "text", "document", "article", "content", "messages"}
)
_ASSERTION: Final = frozenset({"type", "value", "threshold", "weight", "metric", "transform", "assert", "description"})


def convert_promptfoo(root: Node, foreign: ForeignFiles) -> Converted:
    """Convert a configuration of promptfoo.

    Args:
        root: the configuration.
        foreign: the files that it names.

    Raises:
        ConfigError: with the place: it is malformed, or names a file that is not read.
    """
    notes = Notes()
    for key, found in root.entries.items():
        if key not in _TOP:
            notes.add(_INSTEAD.get(key, key), found.key)
    prompts = read_prompts(root, foreign)
    providers = read_providers(root, foreign, notes)
    tests = Tests(root, foreign, notes).read()
    return _Conversion(root, foreign, notes, prompts, providers, tests).converted()


@dataclass(frozen=True)
class _Conversion:
    root: Node
    foreign: ForeignFiles
    notes: Notes
    prompts: Sequence[Prompt]
    providers: Sequence[Provider]
    tests: Sequence[Test]

    def converted(self) -> Converted:
        shared = self._shared()
        rows = [self._row(test, shared) for test in self.tests]
        scorers = [
            *({} if not any("checks" in row for row in rows) else ["checks"]),
            *(check.scorer for check in shared.values()),
        ]
        single = self.prompts[0] if len(self.prompts) == 1 else None
        if single is not None and (single.messages or not single.names):
            self._ask_alone(single, rows)
        for row in rows:
            row.setdefault(self.columns["input"], "")
        if not scorers:
            raise ConfigError("no assertion has a scorer, so there is nothing to score", self.root.location)
        configuration = {
            **({"name": as_text(plain(found))} if (found := entry(self.root, "description")) else {}),
            **self._targets(single),
            **self._judge(as_json([rows, scorers])),
            "scorers": scorers,
            **self._options(),
        }
        return Converted(configuration, rows, self.columns, self.notes)

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Variable -> column, for those that prompts show and whose header would have another meaning."""
        shown = dict.fromkeys(name for prompt in self.prompts for name in prompt.names)
        return {name: f"{name}_value" if normalized(name) in _RESERVED else name for name in shown}

    @cached_property
    def columns(self) -> Mapping[str, str]:
        """The role input: the variable that prompts show whose name says so, else the one with the longest texts."""
        sizes = {name: sum(len(as_text(test.values.get(name))) for test in self.tests) for name in self.names}
        longest = max(sizes, key=lambda name: (normalized(name) in _INPUT, sizes[name]), default="")
        return {"input": self.names.get(longest, "input")}

    def _shared(self) -> dict[int, Check]:
        """Position in `defaultTest.assert` -> its scorer, for those that hold for every row alike."""
        first = self.tests[0].defaults
        if any(test.defaults != first or test.threshold is not None for test in self.tests):
            return {}
        common = set.intersection(*(set(test.values) for test in self.tests))
        shared = {}
        for number, assertion in enumerate(first):
            value = entry(assertion, "value")
            text = str(plain(value)) if value is not None else ""
            names = names_in(text) if "{" in text else []
            if not set(names) <= common or (
                names and plain(assertion).get("type", "").removeprefix("not-") in {"javascript", "word-count", "regex"}
            ):
                continue
            places = {name: as_ours(f"{{{{{name}}}}}", self.names) for name in common}
            if (check := self._check(assertion, places, self.tests[0])) is not None:
                shared[number] = check
        return shared

    def _row(self, test: Test, shared: Mapping[int, Check]) -> dict[str, Any]:
        texts = {
            self.names.get(name, name): as_text(value)
            if name in self.names and not isinstance(value, Mapping)
            else value
            for name, value in test.values.items()
        }
        row: dict[str, Any] = {
            **dict.fromkeys(self.names.values(), ""),
            **{key: value for key, value in test.notes.items() if key not in texts},
            **texts,
        }
        defaults = [one for number, one in enumerate(test.defaults) if number not in shared]
        assertions = [*defaults, *test.own]
        checks = [(one, check) for one in assertions if (check := self._check(one, test.values, test))]
        for one, check in checks:
            if check.needs_code:
                self.notes.add("code for single tests; a function can stand among the scorers, for all of them", one)
            elif not check.counts:
                self.notes.add("an assertion of weight 0 for single tests, which decides nothing", one)
        scorers = [check.scorer for _, check in checks if check.counts and not check.needs_code]
        if test.threshold is not None and scorers:
            scorers = self._by_threshold(test, scorers, [plain(one).get("weight", 1) for one, _ in checks])
        if scorers:
            row["checks"] = _distinct(scorers)
        if (
            any(str(plain(one).get("type", "")).startswith("context-") for one in (*test.defaults, *test.own))
            and "context" in test.values
        ):
            context = test.values["context"]
            row["contexts"] = context if isinstance(context, list) else [as_text(context)]
            row.pop("context", None)
        return row

    def _by_threshold(self, test: Test, scorers: list[Any], weights: list[Any]) -> list[Any]:
        try:
            return [threshold_of(scorers, test.threshold, weights)]
        except UnconvertedError as error:
            self.notes.add(f"threshold: {error}", test.at)
            return scorers

    def _check(self, assertion: Node, values: Mapping[str, Any], test: Test) -> Check | None:
        """The scorer of an assertion; None, with a note, where there is none."""
        kind = plain(entry(assertion, "type")) if entry(assertion, "type") is not None else "assertion"
        try:
            code = {test.transform, *(provider.transform for provider in self.providers)} - {""}
            if len(code) > 1 or (code and not test.transform and any(not one.transform for one in self.providers)):
                raise UnconvertedError("transforms that differ between providers and tests")
            output = term_of(code.pop()) if code else Term()
            check = check_of(assertion, values, self.foreign, output)
        except (UnconvertedError, NotReadError) as error:
            self.notes.add(f"{kind}: {error}", assertion)
            return None
        except ConfigError as error:
            raise ConfigError(error.message, error.location or assertion.location) from error
        for key in sorted(assertion.entries.keys() - _ASSERTION):
            self.notes.add(f"{key} of {kind}", assertion)
        if check.deviation:
            self.notes.add(f"{kind} as promptfoo measures it: {check.deviation}", assertion)
        return check

    def _ask_alone(self, prompt: Prompt, rows: Sequence[dict[str, Any]]) -> None:
        """Put what is sent into the rows, for a prompt with several turns or without a variable."""
        for row, test in zip(rows, self.tests, strict=True):
            row[self.columns["input"]] = [
                {key: filled(value, test.values) if isinstance(value, str) else value for key, value in message.items()}
                for message in prompt.messages
            ] or filled(prompt.text, test.values)

    def _targets(self, single: Prompt | None) -> dict[str, Any]:
        alone = single is not None and (single.messages or not single.names)
        plain_models = all(one.kind != "http" and one.prompts is None for one in self.providers)
        if plain_models and (alone or not any(prompt.system or prompt.messages for prompt in self.prompts)):
            texts = {prompt.name: self._template(prompt, prompt.text, self.names) for prompt in self.prompts}
            named: Any = next(iter(texts.values())) if single else texts
            return {**({} if alone else {"prompts": named}), **self._models()}
        pairs = [(prompt, one) for prompt in self.prompts for one in self.providers if _is_asked(one, prompt)]
        for prompt in {prompt.name: prompt for prompt, _ in pairs if prompt.messages and not alone}.values():
            raise ConfigError(
                "a prompt with several turns among others; convert it alone, its messages become the input",
                prompt.at.location,
            )
        return {
            "targets": {
                self._pair_name(prompt, one): self._target(prompt, one, alone=bool(alone)) for prompt, one in pairs
            }
        }

    def _pair_name(self, prompt: Prompt, provider: Provider) -> str:
        parts = [prompt.name] * (len(self.prompts) > 1) + [provider.name] * (len(self.providers) > 1)
        return "@".join(parts) or provider.name

    def _target(self, prompt: Prompt, provider: Provider, *, alone: bool) -> dict[str, Any]:
        places = {name: f"metadata.{column}" for name, column in self.names.items()}
        places |= {name: "question" for name, column in self.names.items() if column == self.columns["input"]}
        template = "{{question}}" if alone else self._template(prompt, prompt.text, places)
        tags = {"tags": {"prompt": prompt.name, "model": provider.name}}
        if provider.kind == "http":
            if prompt.system:
                raise ConfigError("messages for an HTTP endpoint; write its body with the turns", prompt.at.location)
            return {"http": {**provider.keys, "template": template}, **tags}
        system = {"system": self._template(prompt, prompt.system, places)} if prompt.system else {}
        return {"prompt": {**system, "template": template, "model": {provider.kind: dict(provider.keys)}}, **tags}

    def _template(self, prompt: Prompt, text: str, places: Mapping[str, str]) -> str:
        try:
            return as_ours(text, places)
        except ConfigError as error:
            raise ConfigError(f"prompt {prompt.name}: {error.message}", prompt.at.location) from error

    def _models(self) -> dict[str, Any]:
        """The models, by their names alone where all of them are at one endpoint with the same settings."""
        settings = [{key: value for key, value in one.keys.items() if key != "name"} for one in self.providers]
        names = [one.keys["name"] for one in self.providers]
        if (
            all(one.kind == "openai_compatible" for one in self.providers)
            and all(one == settings[0] for one in settings)
            and len(set(names)) == len(names)
        ):
            endpoint = settings[0] if settings[0].keys() > {"base_url"} else settings[0]["base_url"]
            labels = {one.name: one.keys["name"] for one in self.providers}
            return {"models": names if [*labels] == names else labels, "endpoint": endpoint}
        return {"models": {one.name: {one.kind: dict(one.keys)} for one in self.providers}}

    def _judge(self, written: str) -> dict[str, Any]:
        if not any(f'"{name}"' in written for name in _JUDGED):
            return {}
        options = entry(entry(self.root, "defaultTest"), "options")
        if entry(options, "rubricPrompt") is not None:
            self.notes.add(
                "rubricPrompt; the judge's own prompt is used, a template of yours can replace it", self.root
            )
        given = entry(options, "provider")
        given = entry(given, "text") or given if given is not None else None
        provider = provider_of(given, self.notes, ()) if given is not None else None
        if provider is None or provider.kind == "http":
            self.notes.add("promptfoo's own grader; name a judge", self.root)
            return {"judge": {"model": {"openai_compatible": {"name": "gpt-5", "api_key": "${OPENAI_API_KEY}"}}}}
        return {"judge": {"model": {provider.kind: dict(provider.keys)}}}

    def _options(self) -> dict[str, Any]:
        options = settings(entry(self.root, "commandLineOptions"), entry(self.root, "evaluateOptions"))
        ours = {"repeats": options.get("repeat"), "concurrency": options.get("maxConcurrency")}
        kept = {key: value for key, value in ours.items() if isinstance(value, int) and value > 0}
        return {"options": kept} if kept else {}


def _is_asked(provider: Provider, prompt: Prompt) -> bool:
    """Whether a provider is asked with a prompt: it may name labels, or groups of them."""
    allowed = provider.prompts
    return allowed is None or any(
        prompt.label == one
        or prompt.label.startswith(f"{one}:")
        or one.removeprefix("file://") == prompt.label.split(":")[0]
        for one in allowed
    )


def _distinct(scorers: Sequence[Any]) -> list[Any]:
    """The scorers without those that are said twice."""
    return [scorer for number, scorer in enumerate(scorers) if scorer not in scorers[:number]]
