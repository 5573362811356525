"""Scorers whose options name columns of the dataset, `{{max_words}}`: each sample is scored with its own row's values.

Only options that hold texts, numbers and lists or mappings of them take a column. No value of a dataset ever reaches
code, a command, an import path, a file, an address, a model's name, a key, a score's name or a limit of resources:
such options are refused when the configuration is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from steelyard.building.keys import Key, element_of, is_class, is_json, keys_of, kind_of, members, value_of
from steelyard.building.nodes import MappingEntry, Node, Problems, from_plain, plain
from steelyard.building.wrapped import WrapsOne, infos_of_part, stage_of_part
from steelyard.constraints import check_options, option_of
from steelyard.errors import ConfigError, DataError
from steelyard.prompts.template import fill, has_escapes, names_in, value_at
from steelyard.registry import describe
from steelyard.types import Asks, Output, Sample, Score, ScoreInfo, Scorer, StageInfo

_FIXED: Final = frozenset({"name", "of", "timeout_s", "memory_mib"})
"""Options that take no column though they are texts or numbers: names of scores, and limits that protect this machine.
A class adds its own in `fixed_options`."""
_INPUT: Final = (
    *("input", "prompt", "question", "query", "text", "document", "article", "content", "instruction", "inputs"),
    "messages",
)
_EXPECTED: Final = ("expected", "expected_output", "reference", "answer", "ideal", "target", "label")


def values_of_row(sample: Sample) -> dict[str, Any]:
    """Column -> value, as options name them: the columns without a role, and the others under each name of their role.

    >>> values_of_row(Sample("1", "2 + 2?", "4", metadata={"max": 3}))["expected"]
    '4'
    """
    roles = {"id": sample.id, "group": sample.group, "cluster": sample.cluster, "contexts": list(sample.contexts)}
    return {
        **dict.fromkeys(_INPUT, sample.input),
        **dict.fromkeys(_EXPECTED, sample.reference),
        **roles,
        "metadata": sample.metadata,
        **sample.metadata,
    }


@dataclass(frozen=True, slots=True)
class WithRowValues(WrapsOne):
    """A scorer with options that take values of columns; a sample without one of these values is not applicable.

    Args:
        scorer: with placeholders where texts stand, and some number where a number does.
        options: the options that name columns, as they were written.
        build_option: `(type, plain value, name) -> value`, as options of a configuration are built.
    """

    options: Mapping[str, Any]
    build_option: Callable[[Any, Any, str], Any] = field(compare=False, repr=False)

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """Those of the scorer; what differs from row to row, such as a threshold, is not declared."""
        scorer: Any = self.scorer
        numbers = {key: getattr(scorer, key) for key in self.options}
        raised = {key: value + 1 for key, value in numbers.items() if type(value) in {int, float}}
        infos = infos_of_part(scorer)
        others = infos_of_part(replace(scorer, **raised)) if raised else infos
        return tuple(
            info if info == other else replace(info, threshold=None, range=None)
            for info, other in zip(infos, others, strict=True)
        )

    @property
    def stage_info(self) -> StageInfo:
        """That of the scorer."""
        return stage_of_part(self.scorer)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that its options name."""
        return tuple(dict.fromkeys(names_in(dict(self.options))))

    def described(self) -> Any:
        """The scorer as it is written in a configuration."""
        ((name, fields),) = describe(self.scorer).items()
        return {name: {**fields, **self.options}}

    def check(self) -> None:
        """Check the options that do not come from rows.

        Raises:
            ConfigError: what is wrong with one of them.
        """
        try:
            check_options(self.scorer, but=self.options)
        except ConfigError as error:
            # An error about a text that stands for a column, or about an option that comes from one, is the row's.
            if "{{" not in error.message and not option_of(error.message, self.options):
                raise

    def for_sample(self, sample: Sample) -> Scorer | str:
        """The scorer with the values of one row; the reason where the row has a blank in place of one.

        Raises:
            DataError: there is no such column, or the scorer refuses the value.
        """
        values = values_of_row(sample)
        try:
            for column in self.columns:
                if value_at(column, values) in (None, ""):
                    return f"the row has no value for {{{{{column}}}}}"
            return self._filled(values)
        except ConfigError as error:
            raise DataError(f"sample {sample.id!r}: {error.message}") from error

    def _filled(self, values: Mapping[str, Any]) -> Scorer:
        scorer: Any = self.scorer
        cls: Any = type(scorer)
        keys = keys_of(cls)
        for key in self.options:
            # Written out, a list is a set of characters in a regular expression: nearly every text has one of them.
            columns = names_in(self.options[key]) if key.endswith("pattern") else ()
            if any(isinstance(value_at(column, values), list | tuple | Mapping) for column in columns):
                raise ConfigError(f"{key}: a list cannot stand in a pattern; write its texts as one, a|b")
        filled = {key: _as_number(keys[key].hint, fill(value, values)) for key, value in self.options.items()}
        built = {key: self.build_option(keys[key].hint, value, key) for key, value in filled.items()}
        scorer = replace(scorer, **built)
        check_options(scorer)
        checked: Scorer = scorer
        return checked

    async def __call__(self, sample: Sample, output: Output, ask: Asks, call_scorer: Any) -> list[Score]:
        """Score one output; `call_scorer` is as for `PerTurn`."""
        scorer = self.for_sample(sample)
        names = [info.name for info in infos_of_part(self.scorer)]
        if isinstance(scorer, str):
            return [Score(name, None, outcome="not_applicable", reason=scorer) for name in names]
        scores: list[Score] = await call_scorer(scorer, names[0], sample, output, ask)
        return scores


def _as_number(hint: Any, value: Any) -> Any:
    """A number that stands as text in a cell, where the option is a number."""
    if not isinstance(value, str) or str in members(hint) or not {int, float} & set(members(hint)):
        return value
    number = float if float in members(hint) else int
    try:
        return number(value.strip())
    except ValueError:
        return value  # which the option refuses, with its name


def columns_in(cls: Any, entries: Mapping[str, MappingEntry], keys: Mapping[str, Key]) -> dict[str, Any]:
    """The options of a scorer that name columns, or write braces as `{{{{name}}}}`, as they were written.

    Args:
        cls: of the scorer.
        entries: its options.
        keys: those that it has.

    Raises:
        ConfigError: an option that takes no column names one.
    """
    problems = Problems()
    options = {}
    for name, entry in entries.items():
        if name not in keys or _has_own_names(keys[name].hint):
            continue
        written = plain(entry.node)
        columns = list(names_in(written))
        if not columns or _takes_columns(cls, keys[name]):
            if columns or has_escapes(written):
                options[name] = written
        else:
            problems.add(refusal(name, columns[0]), entry.node)
    problems.raise_any()
    return options


def refusal(option: str, column: str, reached: str = "texts and numbers that outputs are compared with") -> str:
    """Says that an option takes no column."""
    return (
        f"{option}: {{{{{column}}}}} cannot stand here: values of a dataset reach {reached}, never code, commands, "
        f"files, addresses, models, names and limits; write the {option} itself"
    )


def refuse_columns(entries: Mapping[str, MappingEntry], keys: Mapping[str, Key]) -> None:
    """Refuse columns in the texts of a model inside of a scorer: its name, address and keys.

    Raises:
        ConfigError: which option names one.
    """
    problems = Problems()
    for name, entry in entries.items():
        if name in keys and str in members(keys[name].hint) and (columns := list(names_in(plain(entry.node)))):
            problems.add(refusal(name, columns[0]), entry.node)
    problems.raise_any()


def stand_in(key: Key, written: Any) -> Any:
    """What stands for an option while no row is known: the text itself, or some number."""
    hints = members(key.hint)
    if str in hints or is_json(key.hint) or not isinstance(written, str):
        return written
    if any(element_of(hint) is not None for hint in hints):
        return [written]
    number = next((hint for hint in (int, float) if hint in hints), None)
    if number is None:
        return written
    return key.default if type(key.default) in {int, float} else number(1)


def _has_own_names(hint: Any) -> bool:
    """Whether an option is a scorer or model, which is built by itself, or a template, whose names are its own."""
    inner = {element_of(member) or member for member in members(hint)}
    return any(kind_of(member) or is_class(member) for member in inner) or set(members(hint)) == {Path, str}


def _takes_columns(cls: Any, key: Key) -> bool:
    if key.name in _FIXED or key.name in getattr(cls, "fixed_options", ()):
        return False
    if not cls.__module__.startswith("steelyard.") and key.name not in getattr(cls, "column_options", ()):
        return False  # what a scorer of another package does with a text is not known here
    return _is_plain(key.hint)


def _is_plain(hint: Any) -> bool:
    if is_json(hint):
        return True
    if len(members(hint)) > 1:
        return Path not in members(hint) and any(map(_is_plain, members(hint)))
    inner = element_of(hint) if element_of(hint) is not None else value_of(hint)
    return _is_plain(inner) if inner is not None else hint in {str, int, float}


def with_stand_ins(
    entries: Mapping[str, MappingEntry], keys: Mapping[str, Key], options: Mapping[str, Any]
) -> dict[str, MappingEntry]:
    """The entries with a stand-in for each option that names columns."""

    def standing(name: str, node: Node) -> Node:
        return replace(
            from_plain(stand_in(keys[name], options[name]), ""), source=node.source, line=node.line, column=node.column
        )

    return {
        name: MappingEntry(entry.key, standing(name, entry.node)) if name in options else entry
        for name, entry in entries.items()
    }
