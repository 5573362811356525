"""Converts promptfoo's configuration to one of the general suite: prompts, models, and a dataset with checks.

A test with one set of values is a row. The assertions of `defaultTest` that are the same for every row are checks of
every row, those of a test are checks of its own, so that `checks` is what promptfoo calls a pass. What is said there by
a list of values, a CSV file or a scenario stands in the rows. Nothing is run: JavaScript is read in a few forms,
everything else is named in a comment.

Source: the behaviour of promptfoo 0.121.20 (MIT), https://www.promptfoo.dev/docs/configuration/reference.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from steelyard.building.nodes import Node, plain
from steelyard.config.conversion.foreign_files import ForeignFiles
from steelyard.config.conversion.javascript import Term
from steelyard.config.conversion.promptfoo_assertions import (
    Check,
    UnconvertedError,
    check_of,
    kind_of_scorer,
    similarity_in,
    threshold_of,
    transformed,
)
from steelyard.config.conversion.promptfoo_targets import (
    ForeignPrompt,
    Provider,
    embeddings_of,
    provider_of,
    read_prompts,
    read_providers,
    slug,
)
from steelyard.config.conversion.promptfoo_tests import Test, Tests, entry, settings
from steelyard.config.conversion.result import Converted, Notes, escaped
from steelyard.config.conversion.templates import (
    as_ours,
    as_text,
    filled,
    is_computed,
    names_in,
    without_computed,
    without_names,
)
from steelyard.data.headers import normalized
from steelyard.errors import ConfigError
from steelyard.plain_json import with_texts

_READ: Final = frozenset(
    (
        *("description", "prompts", "providers", "targets", "tests", "defaultTest", "scenarios", "evaluateOptions"),
        *("commandLineOptions", "assertionTemplates", "$schema", "tags", "sharing", "outputPath", "metadata", "env"),
    )
)
_INSTEAD: Final = {
    "derivedMetrics": "derivedMetrics. Instead: compute them from steelyard show --json",
    "nunjucksFilters": "nunjucksFilters, which are code. Instead: a column with the value",
    "redteam": "redteam: red teaming is not offered",
    "tracing": "tracing. Instead: agent_steps and tool_calls, which read an agent's messages",
}
_JUDGES: Final = (
    "guideline",
    "g_eval",
    "correctness",
    "claim_faithfulness",
    "answer_relevancy",
    "context_recall",
    "context_relevance",
)
_INPUT: Final = frozenset(
    ("input", "prompt", "question", "query", "text", "document", "article", "content", "messages")
)
_RESERVED: Final = frozenset(
    (
        *("expected", "expected output", "reference", "answer", "ideal", "target", "label", "id", "group", "cluster"),
        *("context", "contexts", "checks"),
    )
)
"""Headers with a meaning of their own: a variable that a prompt shows takes another name in the dataset."""
_ASSERTION: Final = frozenset(
    ("type", "value", "threshold", "weight", "metric", "transform", "assert", "n", "range", "instead")
)
_BY_ROW: Final = frozenset(("javascript", "word-count", "regex"))
"""Assertions whose value is read, so that a placeholder cannot stay in it."""
_ANSWERED: Final = {"length": {"min": 1}, "name": "answered"}
DEFAULT_JUDGE: Final = "gpt-5"


def convert_promptfoo(root: Node, foreign: ForeignFiles, *, literal: bool = False) -> Converted:
    """Convert a configuration of promptfoo.

    Args:
        root: the configuration.
        foreign: the files that it names.
        literal: the values of tests are another tool's: lists, `file://` and `{{name}}` mean nothing in them.

    Raises:
        ConfigError: with the place: it is malformed, or names a file that is not read.
    """
    notes = Notes()
    for key, value in root.entries.items():
        if key not in _READ:
            notes.add(_INSTEAD.get(key, key), value.key)
    prompts, providers = read_prompts(root, foreign, notes), read_providers(root, foreign, notes)
    if any(provider.kind == "scripted" for provider in providers):
        for prompt in prompts:
            if prompt.system or prompt.messages or prompt.label.endswith((".json", ".yaml", ".yml")):
                notes.add("echo of messages; here the text of the last one alone", prompt.at)
    for name, value in settings(entry(root, "env")).items():
        if not (name.endswith("_BASE_URL") and str(value).rstrip("/") in repr(providers)):  # no model has this address
            notes.add(f"env.{name}. Instead: set it in the environment or in .env", root.entries["env"].key)
    prompts, tests = _with_values_computed(prompts, Tests(root, foreign, notes, literal).read())
    return _Conversion(root, foreign, notes, prompts, providers, tests).converted()


def _with_values_computed(
    prompts: Sequence[ForeignPrompt], tests: Sequence[Test]
) -> tuple[list[ForeignPrompt], list[Test]]:
    """The same prompts and tests, where what a prompt computes of values is a value of each test, which it names."""
    taken = {name for test in tests for name in test.values}
    parts: dict[str, str] = {}

    def name_of(part: str) -> str:
        if part not in parts:
            word = re.sub(r"\W+", "_", part)[:40].strip("_")
            words = [word, *(f"{word}_{number}" for number in range(2, len(taken) + 3))]
            parts[part] = next(name for name in words if name not in taken)
            taken.add(parts[part])
        return parts[part]

    def named(text: Any) -> Any:
        return without_computed(text, name_of) if isinstance(text, str) else text

    before, after = ({test.around[side] for test in tests} for side in (0, 1))
    prefix = "{{prefix_of_prompt}}" if len(before) > 1 else before.pop()
    suffix = "{{suffix_of_prompt}}" if len(after) > 1 else after.pop()
    changed = []
    for prompt in prompts:
        try:
            messages = [{**turn, "content": named(turn.get("content"))} for turn in prompt.messages]
            text = named(prompt.text) if prompt.messages else named(prefix + prompt.text + suffix)
            changed.append(replace(prompt, text=text, system=named(prompt.system), messages=messages))
            for part in parts:
                names_in(part)
        except ConfigError as error:
            raise ConfigError(f"prompt {prompt.name}: {error.message}", prompt.at.location) from error
    tests = [replace(test, computed=_computed(test, parts)) for test in tests]
    return [_without_blank(prompt, tests) for prompt in changed], tests


def _without_blank(prompt: ForeignPrompt, tests: Sequence[Test]) -> ForeignPrompt:
    """A prompt without the names that have no value in any test, as a column that is blank everywhere is none."""
    blank = {
        name
        for name in prompt.names
        if not any(as_text({**test.values, **test.computed}.get(name)).strip() for test in tests)
    }

    def shown(text: Any) -> Any:
        return without_names(text, blank) if isinstance(text, str) else text

    messages = [{**turn, "content": shown(turn.get("content"))} for turn in prompt.messages]
    return replace(prompt, text=shown(prompt.text), system=shown(prompt.system), messages=messages)


def _computed(test: Test, parts: Mapping[str, str]) -> dict[str, str]:
    try:
        values = {name: filled(part, test.values) for part, name in parts.items()}
    except ConfigError as error:
        raise ConfigError(error.message, test.at.location) from error
    around = zip(("prefix_of_prompt", "suffix_of_prompt"), test.around, strict=True)
    return values | {name: filled(text, test.values) for name, text in around if text}


@dataclass(frozen=True)
class _Conversion:
    root: Node
    foreign: ForeignFiles
    notes: Notes
    prompts: Sequence[ForeignPrompt]
    providers: Sequence[Provider]
    tests: Sequence[Test]
    similar: dict[str, Any] = field(default_factory=dict)
    graders: dict[str, Node] = field(default_factory=dict)

    def converted(self) -> Converted:
        shared = self._shared()
        rows = [self._row(test, shared) for test in self.tests]
        if any(test.defaults or test.own for test in self.tests):
            for row, test in zip(rows, self.tests, strict=True):
                if not (test.defaults or test.own):  # which passes there
                    row["checks"] = [_ANSWERED]
        for row in rows:
            row |= {f"similar_{no}": None for no in range(1, len(self.similar) + 1) if f"similar_{no}" not in row}
        every = [*shared.values(), *(Check(scorer, True, False, "") for scorer in self.similar.values())]
        scorers = _scorers(every, rows)
        if not scorers:
            self.notes.add("a score: no assertion has a scorer. Here: whether there is an answer", self.root)
            scorers = [_ANSWERED]
        description = settings(self.root).get("description")
        given = settings(entry(self.root, "commandLineOptions"), entry(self.root, "evaluateOptions"))
        ours = {"repeats": given.get("repeat"), "concurrency": given.get("maxConcurrency")}
        kept = {key: value for key, value in ours.items() if isinstance(value, int) and value > 0}
        return Converted(
            {
                **({"name": as_text(description)} if description else {}),
                **(self._grid() if self._is_grid else self._targets()),
                **self._judge(json.dumps([rows, scorers])),
                "scorers": scorers,
                **({"options": kept} if kept else {}),
            },
            rows,
            {"input": self.input},
            self.notes,
        )

    @cached_property
    def columns(self) -> Mapping[str, str]:
        """Variable that prompts show -> column; a name that would have another meaning as a header is changed."""
        shown = dict.fromkeys(name for prompt in self.prompts for name in prompt.names)
        return {name: f"{name}_value" if normalized(name) in _RESERVED else name for name in shown}

    @cached_property
    def input(self) -> str:
        """The column of the input: one that is blank in no row, if any is; called so; with the longest texts."""

        def merits(name: str) -> tuple[bool, bool, bool, int]:
            sizes = [len(as_text({**test.values, **test.computed}.get(name)).strip()) for test in self.tests]
            return min(sizes) > 0, name not in self.tests[0].computed, normalized(name) in _INPUT, sum(sizes)

        if self.alone and self.alone.messages:  # which take no value's place: a check may name it
            taken = {self.columns.get(name, name) for test in self.tests for name in (*test.values, *test.about)}
            names = ("messages", "input", *(f"messages_{number}" for number in range(2, len(taken) + 3)))
            return next(name for name in names if name not in taken)
        longest = max(self.columns, key=merits, default="")
        return self.columns.get(longest, "input")

    @cached_property
    def alone(self) -> ForeignPrompt | None:
        """The only prompt, where it is the input of the rows as it is: several turns, or no variable."""
        prompt = self.prompts[0]
        return prompt if len(self.prompts) == 1 and (prompt.messages or not prompt.names) else None

    def _shared(self) -> dict[int, Check]:
        """Position in `defaultTest.assert` -> its scorer, for those that are the same for every row."""
        first = max((test.defaults for test in self.tests), key=len)
        if len({test.transform for test in self.tests}) > 1:  # a scorer of every row sees one output
            return {}
        is_alike = all(test.defaults == first and test.threshold is None for test in self.tests)
        common = set.intersection(*(set(test.values) for test in self.tests))
        places = {name: f"{{{{{self.columns.get(name, name)}}}}}" for name in common}
        shared = {}
        for number, assertion in enumerate(first):
            given = settings(assertion)
            names = [name for name in places if name in names_in(as_text(given.get("value")))]
            is_same = set(names_in(as_text(given.get("value")))) <= common
            is_read = str(given.get("type")).removeprefix("not-") in _BY_ROW or is_computed(as_text(given.get("value")))
            # `context.vars.label` in code is the value of each row.
            is_raw = "endraw" in as_text(given.get("value"))  # braces in it are text, and escaped in a row
            if not is_same or (names and is_read) or is_raw or "context.vars" in as_text(given.get("value")):
                continue
            # What decides nothing may be scored where it was switched off.
            is_scored = is_alike or given.get("weight") == 0
            if is_scored and (check := self._check(assertion, places, self.tests[0])):
                shared[number] = check
        return shared

    def _row(self, test: Test, shared: Mapping[int, Check]) -> dict[str, Any]:
        row = {key: value for key, value in test.about.items() if key not in test.values}
        row |= dict.fromkeys(self.columns.values(), "") | {self.input: ""}
        for name, value in {**test.values, **test.computed}.items():
            is_text = name in self.columns and not isinstance(value, Mapping)
            row[self.columns.get(name, name)] = as_text(value) if is_text else value
        if self.alone:
            messages = [{**turn, "content": self._filled(turn.get("content"), test)} for turn in self.alone.messages]
            row[self.input] = messages or self._filled(self.alone.text, test)
        assertions = [assertion for number, assertion in enumerate(test.defaults) if number not in shared] + [*test.own]
        if checks := self._checks(assertions, test, row):
            row["checks"] = checks
        if any(
            str(settings(assertion).get("type")).startswith("context-") for assertion in (*test.defaults, *test.own)
        ):
            context = row.pop("context", test.values.get("context", ""))
            row["contexts"] = context if isinstance(context, list) else [as_text(context)]
        return row

    @staticmethod
    def _filled(value: Any, test: Test) -> Any:
        return filled(value, {**test.values, **test.computed}) if isinstance(value, str) else value

    def _checks(self, assertions: Sequence[Node], test: Test, row: dict[str, Any]) -> list[Any]:
        """The checks of a row, each once."""
        scorers, weights = [], []
        for assertion in assertions:
            check = self._check(assertion, test.values, test)
            if check is None or with_texts(check.scorer, escaped) in scorers:
                continue
            if check.counts and (similarity := similarity_in(check.scorer)):
                self._compare(check.scorer, similarity, row)
                continue
            if check.is_code or not check.counts:
                what = "code" if check.is_code else "an assertion of weight 0, which decides nothing,"
                self.notes.add(f"{what} for single tests. Instead: a scorer, for all of them", assertion)
                continue
            scorers.append(with_texts(check.scorer, escaped))
            weights.append(settings(assertion).get("weight", 1))
        if test.threshold is None or not scorers:
            return scorers
        try:
            return [threshold_of(scorers, test.threshold, weights)]
        except UnconvertedError as error:
            self.notes.add(f"threshold: {error}. Here all assertions must hold", test.at)
            return scorers

    def _compare(self, scorer: Any, similarity: dict[str, Any], row: dict[str, Any]) -> None:
        """Score a row's similarity by a scorer of the configuration, since no row names a model."""
        value = similarity.pop("value")
        number = next(number for number in range(1, len(row) + 2) if f"similar_{number}" not in row)
        key = json.dumps([scorer, number], sort_keys=True)
        known = [*self.similar].index(key) + 1 if key in self.similar else len(self.similar) + 1
        row[f"similar_{known}"] = value
        similarity["value"] = f"{{{{similar_{known}}}}}"
        self.similar.setdefault(key, scorer)

    def _embeddings(self, assertion: Node) -> dict[str, Any]:
        options = entry(entry(self.root, "defaultTest"), "options")
        given = entry(assertion, "provider") or entry(options, "provider")
        return embeddings_of(entry(given, "embedding") or given, self.notes, self.root)

    def _check(self, assertion: Node, values: Mapping[str, Any], test: Test) -> Check | None:
        """The scorer of an assertion; None, with a note, where there is none."""
        kind = settings(assertion).get("type", "an assertion")
        try:
            outputs = {_output(test, provider) for provider in self.providers}
            check = check_of(assertion, values, self.foreign, outputs.pop()) if len(outputs) == 1 else None
        except UnconvertedError as error:
            self.notes.add(f"{kind}: {error}", assertion)
            return None
        except ConfigError as error:
            raise ConfigError(error.message, error.location or assertion.location) from error
        if check is None:
            self.notes.add(f"{kind}: providers with different transforms", assertion)
            return None
        read = _ASSERTION | {"provider"} if self._is_asked(assertion, check.scorer) else _ASSERTION
        for key in sorted(assertion.entries.keys() - read):
            self.notes.add(f"{key} of {kind}", assertion)
        if check.deviation:
            self.notes.add(f"{kind} as promptfoo measures it: {check.deviation}", assertion)
        return check

    def _is_asked(self, assertion: Node, scorer: Any) -> bool:
        """Whether a scorer asks a model, which is kept: that of the assertion or the one of all."""
        if similarity := similarity_in(scorer):
            similarity["model"] = self._embeddings(assertion)
            return True
        grader = entry(assertion, "provider")
        if is_judged := _is_judged(json.dumps([scorer])) and grader is not None:
            self.graders.setdefault(json.dumps(plain(grader), default=str), grader)
        return is_judged

    @property
    def _is_grid(self) -> bool:
        plain_models = all(
            provider.kind not in {"http", "function"} and provider.prompts is None for provider in self.providers
        )
        return plain_models and (
            bool(self.alone) or not any(prompt.system or prompt.messages for prompt in self.prompts)
        )

    def _grid(self) -> dict[str, Any]:
        """Prompts and models; the models by their names alone where one endpoint serves all with the same settings."""
        texts = {prompt.name: _template(prompt, prompt.text, self.columns) for prompt in self.prompts}
        prompts: Any = texts if len(texts) > 1 else next(iter(texts.values()))
        asked = {} if self.alone else {"prompts": prompts}
        common = [{key: value for key, value in provider.keys.items() if key != "name"} for provider in self.providers]
        if {provider.kind for provider in self.providers} != {"openai_compatible"} or any(
            keys != common[0] for keys in common
        ):
            return {
                **asked,
                "models": {provider.name: {provider.kind: dict(provider.keys)} for provider in self.providers},
            }
        names = {provider.name: provider.keys["name"] for provider in self.providers}
        models: Any = [*names] if [*names] == [*names.values()] else names
        return {**asked, "models": models, "endpoint": common[0] if len(common[0]) > 1 else common[0]["base_url"]}

    def _targets(self) -> dict[str, Any]:
        """Each prompt with each provider that is asked with it, as a target of its own."""
        if self.providers[0].kind == "function":
            return {"targets": {provider.name: dict(provider.keys) for provider in self.providers}}
        targets = {}
        for prompt in self.prompts:
            for provider in self.providers:
                parts = [prompt.name] * (len(self.prompts) > 1) + [provider.name] * (len(self.providers) > 1)
                if provider.takes(prompt):
                    targets["@".join(parts) or provider.name] = self._target(prompt, provider)
        return {"targets": targets}

    def _target(self, prompt: ForeignPrompt, provider: Provider) -> dict[str, Any]:
        if (prompt.messages and not self.alone) or (provider.kind == "http" and prompt.system):
            reason = "messages with several turns among other prompts, or for an HTTP endpoint"
            raise ConfigError(
                f"{reason}: convert the prompt alone, then its messages become the input", prompt.at.location
            )
        places = {name: f"metadata.{column}" for name, column in self.columns.items()}
        places |= {name: "question" for name, column in self.columns.items() if column == self.input}
        template = "{{question}}" if self.alone else _template(prompt, prompt.text, places)
        tags = {"tags": {"prompt": prompt.name, "model": provider.name}}
        if provider.kind == "http":
            return {"http": {**provider.keys, "template": template}, **tags}
        system = {"system": _template(prompt, prompt.system, places)} if prompt.system else {}
        return {"prompt": {**system, "template": template, "model": {provider.kind: dict(provider.keys)}}, **tags}

    def _judge(self, written: str) -> dict[str, Any]:
        """The grader of `defaultTest` or else of the first assertion with one, where there is something to judge."""
        if not _is_judged(written):
            return {}
        options = entry(entry(self.root, "defaultTest"), "options")
        own = [*self.graders.values()]
        given = entry(options, "provider") or (own.pop(0) if own else None)
        for node in own:
            self.notes.add("another grader of single assertions. Instead: a judge at their scorers", node)
        grader = provider_of(entry(given, "text") or given, self.root, self.notes, ()) if given is not None else None
        if entry(options, "rubricPrompt") is not None:
            self.notes.add("rubricPrompt. Instead: a template of the judge", self.root)
        if grader is None or grader.kind == "http":
            self.notes.add(f"the tool's own choice of a grader; here {DEFAULT_JUDGE}", self.root)
            model = {"openai_compatible": {"name": DEFAULT_JUDGE, "api_key": "${OPENAI_API_KEY}"}}
            return {"judge": {"model": model}}
        keys = dict(grader.keys)
        parameters = keys.pop("parameters", None)  # the judge's: what judges send of themselves is over the model's
        return {"judge": {"model": {grader.kind: keys}, **({"parameters": parameters} if parameters else {})}}


def _is_judged(written: str) -> bool:
    """Whether scorers, which are written so, ask a judge."""
    return any(f'"{name}"' in written for name in _JUDGES)


def _output(test: Test, provider: Provider) -> Term:
    """What `output` means in the assertions of a test: a provider's transformation comes before that of the test."""
    output = Term(is_json=provider.gives_json)
    for code in (provider.transform, test.transform):
        output = transformed(code, output)
    return output


def _scorers(shared: Sequence[Check], rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    """What is scored: first the score that is promptfoo's pass, then what it does not depend on, under other names."""
    every = [check.scorer for check in shared if check.counts]
    own = [check for row in rows for check in row.get("checks", ())]
    names = [_score_name(scorer) for scorer in (*every, *own)]
    apart = []
    for scorer in (check.scorer for check in shared if not check.counts):
        name = _score_name(scorer)
        names.append(name if name not in names else slug(f"{name} weight 0", names, name))
        apart.append({**(scorer if isinstance(scorer, dict) else {scorer: {}}), "name": names[-1]})
    if len(every) + bool(own) < 2:
        return every + ["checks"] * bool(own) + apart
    return [{"checks": {"every": every}} if every else "checks", *apart]


def _score_name(scorer: Any) -> str:
    kind = kind_of_scorer(scorer)
    named = scorer.get("name") if isinstance(scorer, dict) else None
    return str(named or (f"not_{kind_of_scorer(scorer['not'])}" if kind == "not" else kind))


def _template(prompt: ForeignPrompt, text: str, places: Mapping[str, str]) -> str:
    try:
        return as_ours(text, places)
    except ConfigError as error:
        raise ConfigError(f"prompt {prompt.name}: {error.message}", prompt.at.location) from error
