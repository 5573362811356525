"""What the parts of a suite read of the samples' metadata: checked before the first call, and part of the manifest.

A placeholder such as `{{metadata.year}}` names a column of the dataset. If no sample has a value there, the column was
renamed or the name is wrong, and every call would fail or be asked without it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from steelyard.errors import ConfigError, bounded, did_you_mean
from steelyard.evaluation.objects import Suite, system_under_test
from steelyard.evaluation.sides import CommonSamples
from steelyard.prompts.sample_values import PASSAGE, passage_of
from steelyard.prompts.template import value_at
from steelyard.types import Sample

_METADATA: Final = "metadata."
_SHOW_PASSAGE: Final = frozenset({"question", "transcript", PASSAGE, _METADATA + PASSAGE, "metadata"})


class CheckedNames(NamedTuple):
    """A suite with notes on placeholders that some samples leave blank; (target, message) for those that all do."""

    suite: Suite
    unfilled: Sequence[tuple[str, str]]


def check_filled_names(suite: Suite) -> CheckedNames:
    """Look up the placeholders of prompts in the samples, which are read only if a prompt names their metadata."""
    names = {name: _names_of(target) for name, target in suite.targets.items()}
    every_name = {name for of_target in names.values() for name in of_target or ()}
    wanted = {name for name in every_name if name == PASSAGE or name.startswith(_METADATA)}
    unasked = [target for target, shown in names.items() if shown is not None and not shown & _SHOW_PASSAGE]
    if isinstance(suite.samples, CommonSamples) or not (wanted or unasked):
        return CheckedNames(suite, ())
    fills = _Fills({name: _Fill() for name in sorted(wanted)})
    for sample in suite.samples:
        fills.add(sample)
    source = str(getattr(suite.source, "names", "") or suite.name)
    unfilled = [
        (target, _about_unfilled(name, source, fills))
        for name, fill in fills.by_name.items()
        for target, shown in names.items()
        if fills.n and not fill.filled and name in (shown or ())
    ]
    notes = [*_about_gaps(fills), *(_about_passages(unasked, fills) if fills.passages else ())]
    return CheckedNames(replace(suite, notes=tuple(dict.fromkeys((*suite.notes, *notes)))), unfilled)


def with_checked_names(suite: Suite) -> Suite:
    """The suite with notes on placeholders that some samples leave blank; a second time nothing is added.

    Raises:
        ConfigError: no sample has a value for a placeholder; the message names it, the file and the known keys.
    """
    checked = check_filled_names(suite)
    for target, message in checked.unfilled:
        raise ConfigError(f"targets: {target}: {message}")
    return checked.suite


def columns_read(suite: Suite) -> tuple[str, ...]:
    """The columns without a role that the parts of a suite may read: those in prompts, or all where code may do so."""
    if any(_is_code(part) for part in suite.parts):
        return suite.columns
    names = [name for target in suite.targets.values() for name in _names_of(target) or ()]
    if "metadata" in names:
        return suite.columns
    read = [name.removeprefix(_METADATA) for name in names if name.startswith(_METADATA)]
    return tuple(
        column for column in suite.columns if any(name == column or name.startswith(f"{column}.") for name in read)
    )


def _is_code(part: Any) -> bool:
    """Whether a target or scorer is not ours, so that nobody knows what it reads."""
    tested = system_under_test(part)
    return hasattr(tested, "unwrap") or type(tested).__module__.partition(".")[0] != "steelyard"


def _names_of(target: Any) -> frozenset[str] | None:
    """The placeholders of a target; None for one without templates."""
    names: frozenset[str] | None = getattr(system_under_test(target), "filled_names", None)
    return names


@dataclass(slots=True)
class _Fill:
    """How many samples have a value for a placeholder, and how many have it blank."""

    filled: int = 0
    blank: int = 0


@dataclass(slots=True)
class _Fills:
    """Counts over all samples."""

    by_name: dict[str, _Fill]
    n: int = 0
    passages: int = 0
    keys: Counter[str] = field(default_factory=Counter)

    def add(self, sample: Any) -> None:
        if not isinstance(sample, Sample) or not isinstance(sample.metadata, Mapping):
            return  # which the survey of the samples refuses
        passage = passage_of(sample)
        self.n += 1
        self.passages += bool(passage)
        self.keys.update(iter(sample.metadata))
        values: Mapping[str, Any] = {PASSAGE: passage, "metadata": sample.metadata}
        for name, fill in self.by_name.items():
            try:
                value = value_at(name, values)
            except ConfigError:
                continue
            fill.filled += value not in (None, "", [], {})
            fill.blank += value == ""


def _about_unfilled(name: str, source: str, fills: _Fills) -> str:
    keys = sorted(fills.keys)
    if name == PASSAGE:
        known = f"; the role passage has no column, or a blank one; columns without a role: {', '.join(keys) or 'none'}"
    else:
        known = did_you_mean(name, [_METADATA + key for key in keys])
        if not known.startswith("; known"):
            known += f" The samples' metadata: {', '.join(keys) or 'none'}"
    return bounded(f"{{{{{name}}}}}: no sample of {source} has a value for it{known}")


def _about_gaps(fills: _Fills) -> Iterator[str]:
    for name, fill in fills.by_name.items():
        if fill.blank:
            yield f"{{{{{name}}}}} is blank for {fill.blank} of {fills.n} samples, which are asked without it"
        if missing := fills.n - fill.filled - fill.blank:
            yield f"{missing} of {fills.n} samples have no {{{{{name}}}}}, and will fail"


def _about_passages(targets: list[str], fills: _Fills) -> Iterator[str]:
    for target in targets:
        yield (
            f"{target} is not shown the passages of {fills.passages} questions: its template has neither "
            "{{question}} nor {{passage}}"
        )
