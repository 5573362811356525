"""The `pairwise` suite: targets answer, each as a run of its own, then a judging run for each pair of them.

The pairs are each with each, each against one, or those that are named. All defects of a dataset are reported in one
pass, before any call.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Final, Literal

from steelyard.analysis.judging_manifest import DIFFICULTY
from steelyard.data.headers import Role
from steelyard.data.rows import OpenTable, RowDataset, read_rows
from steelyard.data.sample_files import SampleFiles
from steelyard.data.table import Defect, Row, origin_keys
from steelyard.errors import ConfigError, did_you_mean
from steelyard.evaluation.objects import JudgedSuiteKeys, Suite
from steelyard.evaluation.sides import CommonSamples
from steelyard.prompts.template import refuse_file_names
from steelyard.runner import stage_info
from steelyard.scorers.judges.judge import Judge, SuiteJudges, takes_model
from steelyard.scorers.judges.preference import Preference
from steelyard.scorers.preference import HumanPreference
from steelyard.targets.replay import Pair
from steelyard.types import Sample, Scorer, Target

ROLES: Final = (
    Role("question", words="rag_question", by_position=False, joins=True),
    Role("answer", required=False, words="rag_answer", by_position=False),
    Role("group", required=False, by_position=False),
    Role("cluster", required=False, by_position=False),
    Role("id", required=False, by_position=False),
    Role("difficulty", required=False, words="instruction_difficulty", by_position=False),
)


def load_pairwise(files: SampleFiles) -> RowDataset:
    """Read and check a whole dataset of questions.

    Of a sample, `input` is the question's text or a list of messages, and `reference` the expected answer, a list of
    texts where several are right, or None.

    Raises:
        ConfigError: a file, sheet or column does not exist.
        DataError: a file cannot be read, rows have defects and `skip_bad` is off, or no sound row is left.
    """
    data = read_rows(files, ROLES, _sample)
    return replace(data, notes=(*data.notes, *_notes_on(data.samples)))


def _sample(table: OpenTable, row: Row, sample: Sample, defects: list[Defect]) -> Sample:
    question = table.required_question(row, defects)
    reference = table.answers(row, "answer", defects)
    metadata = sample.metadata
    if "difficulty" in table.layout.columns:
        metadata = {**metadata, DIFFICULTY: _difficulty(table, row, defects)}
    return replace(sample, input=question, reference=reference, metadata=metadata)


def _difficulty(table: OpenTable, row: Row, defects: list[Defect]) -> float:
    """How hard the instruction of a row is; a defect if that is no finite number."""
    text = table.text(row, "difficulty")
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        problem = f"{text[:40]!r} is not a number" if text else "it is blank"
        message = f"{problem}; write how hard the instruction is, as a number for every row, or leave the column out"
        defects.append(table.defect("bad difficulty", row, "difficulty", message))
    return number


def _notes_on(samples: tuple[Sample, ...]) -> Iterator[str]:
    missing = sum(sample.reference is None for sample in samples)
    if missing:
        yield f"{missing} of {len(samples)} questions have no reference answer"


_NOBODY: Final = (
    "no judge is named: name one (judge: {model: ...}), a file of people's votes (preferences: votes.csv), or a scorer "
    "that asks no model (scorers: [lexical_preference])"
)


@takes_model
@dataclass(frozen=True, slots=True)
class PairwiseSuite(JudgedSuiteKeys):
    """Preferences between two or more targets, judged on their answers to the same questions.

    Args:
        samples: the files with the question, and where there are any the reference answer, group, cluster (equal for
            questions that depend on each other) and id. Without them the samples are those that all `runs` answered.
        targets: the systems to evaluate, by name; each produces one run, and takes part.
        runs: stored runs that take part, by a name of your own: `{old: 20260801-1}`; nothing is asked of them again.
        store: where the stored runs are; empty is where the results go. Only with `runs` and without `samples`.
        judge: the model that judges, and how.
        criteria: what makes an answer better, as a text or a list of texts. Empty: helpfulness, correctness, relevance
            and depth.
        reference: whether the judge sees the reference: `auto` where there is one, true (a sample without one is not
            judged), or false.
        orders: `both` shows each pair in both orders, `random` in one that is drawn by the options' seed.
        pairs: `round_robin` is each with each; else a list of pairs of names, side A first.
        against: the name that each of the others is compared with, in place of `pairs`; it is side B.
        preferences: people's votes in place of a judge, see the scorer `human_preference`.
        transcript_tokens: where it is above 0, the judge is shown what both agents did, each within so many estimated
            tokens, see the scorer `preference`.
        style: whether reports also control for headings, list items and bold passages, beside length.
        scorers: scorers of preferences (`preference`, `lexical_preference`, `human_preference`) judge each pair in
            place of the keys above; all others score the answers.
        primary: the score that headlines show; empty is that of the first scorer.
        gate: rules on the scores that decide the exit code, `{preference: ">= 0.5"}`.
        judges: several of them, by name, in place of `judge`: each gives a preference of its own
            (`preference_<name>`), and each scorer that has no judge is asked of each.
    """

    samples: SampleFiles | None = None
    targets: Mapping[str, Target] = field(default_factory=dict)
    runs: Mapping[str, str] = field(default_factory=dict)
    store: Path | str = ""
    judge: Judge = Judge()
    criteria: str | tuple[str, ...] = ""
    reference: Literal["auto"] | bool = "auto"
    orders: Literal["both", "random"] = "both"
    pairs: Literal["round_robin"] | tuple[tuple[str, ...], ...] = "round_robin"
    against: str = ""
    preferences: Path | None = None
    transcript_tokens: int = 0
    style: bool = False
    scorers: tuple[Scorer, ...] = ()
    primary: str = ""

    def build(self) -> Suite:
        """Read and check the whole dataset; no model is called.

        Raises:
            ConfigError: fewer than two sides, an unknown name, no judge, or a file, sheet or column that does not
                exist.
            DataError: rows with defects, named with file, sheet and cell.
        """
        refuse_file_names(criteria=self.criteria)
        sides = self._sides()
        pairs = pairs_of(list(sides), self.pairs, self.against)
        names = pair_names(pairs, list(sides))
        judges = self.judges_with(self.judge)
        scorers = (*self._judging(judges), *(scorer for scorer in self.scorers if not _compares_pairs(scorer)))
        all_scorers = judges.given_to(scorers)
        judging = tuple(scorer for scorer in all_scorers if _compares_pairs(scorer))
        samples, notes, columns = self._samples()
        return Suite(
            name=self.name or (self.samples.title if self.samples else names[0]),
            kind="pairwise",
            columns=columns,
            samples=samples,
            # Pairs come last: a target that reads the answers of others runs after them.
            targets={
                **self.targets,
                **{name: _pair(sides, pair, judging) for name, pair in zip(names, pairs, strict=True)},
            },
            scorers=tuple(scorer for scorer in all_scorers if not _compares_pairs(scorer)),
            options=self.options,
            tags=self.tags,
            gate=self.gate,
            primary=self.primary,
            source=self.samples or {"runs": dict(self.runs)},
            notes=notes,
            jury=judges.jury,
            breakdowns=origin_keys(key for sample in samples for key in sample.metadata) if self.samples else (),
            scorers_of={
                name: tuple(_between(scorer, pair) for scorer in judging)
                for name, pair in zip(names, pairs, strict=True)
            },
        )

    def _sides(self) -> dict[str, str]:
        """Map each side's name to how a pair refers to it: the target's name, or the id of a stored run."""
        twice = next((name for name in self.runs if name in self.targets), "")
        if twice:
            raise ConfigError(f"{twice!r} is the name of a target and of a run")
        pair = next((name for name, target in self.targets.items() if isinstance(target, Pair)), "")
        if pair:
            raise ConfigError(
                f"{pair}: the suite makes the pairs; choose them with pairs: [[new, old]] or against: old"
            )
        ids = list(self.runs.values())
        for name, run in self.runs.items():
            if not isinstance(run, str) or not run.strip():
                raise ConfigError(f"runs: {name} names no run")
            if ids.count(run) > 1:
                raise ConfigError(f"runs: {run} is named twice")
        return {**{name: name for name in self.targets}, **self.runs}

    def _samples(self) -> tuple[Iterable[Sample], tuple[str, ...], tuple[str, ...]]:
        """The samples, notes on them, and their columns without a role."""
        if self.store and not self.runs:
            raise ConfigError("store: there are no stored runs to look for; name them under runs")
        if self.samples is not None:
            if self.store:
                raise ConfigError("store: a suite with its own samples takes runs only from the store of its results")
            data = load_pairwise(self.samples)
            return data.samples, data.notes, data.columns
        if not self.runs:
            raise ConfigError("samples: the questions are missing; name a file")
        return CommonSamples(tuple(self.runs.values()), self.store or None), (), ()

    def _judging(self, judges: SuiteJudges) -> Sequence[Scorer]:
        """The scorers of every pair, before they are given the judges.

        Raises:
            ConfigError: there is none, or settings of the judge would have no effect.
        """
        pair_scorers = [scorer for scorer in self.scorers if _compares_pairs(scorer)]
        changed = [key for key in _DEFAULTS if getattr(self, key) != _DEFAULTS[key]]
        if pair_scorers:
            if changed or self.preferences is not None or self.style:
                key = "preferences" if self.preferences is not None else [*changed, "style"][0]
                raise ConfigError(f"{key}: the scorers decide how pairs are judged; set it inside the scorer")
            return pair_scorers
        if self.preferences is not None:
            if judges.can_ask or changed:
                raise ConfigError(
                    "preferences: votes replace the judge. For both, write scorers: [preference, "
                    "{human_preference: {file: ..., name: people}}]"
                )
            return [HumanPreference(self.preferences, style=self.style)]
        if not judges.can_ask:
            raise ConfigError(_NOBODY)
        return [
            Preference(
                criteria=self.criteria,
                reference=self.reference,
                orders=self.orders,
                seed=self.options.seed,
                transcript_tokens=self.transcript_tokens,
                style=self.style,
            )
        ]


_DEFAULTS: Final[Mapping[str, Any]] = {
    "criteria": "",
    "reference": "auto",
    "orders": "both",
    "transcript_tokens": 0,
}


def _compares_pairs(scorer: Scorer) -> bool:
    return stage_info(scorer).compares_pairs


def _pair(sides: Mapping[str, str], pair: tuple[str, str], judging: Sequence[Scorer]) -> Pair:
    """The target of a judging run; with the names of its sides where one of them is a stored run's id."""
    side_a, side_b = (sides[name] for name in pair)
    transcripts = any(getattr(scorer, "transcript_tokens", 0) for scorer in judging)
    return Pair(side_a, side_b, () if (side_a, side_b) == pair else pair, transcripts)


def _between(scorer: Any, pair: tuple[str, str]) -> Any:
    """Bind a scorer to one pair: a file of votes names the sides, so its scorer must know their names."""
    return replace(scorer, sides=pair) if isinstance(scorer, HumanPreference) and not scorer.sides else scorer


Pairs = Literal["round_robin"] | Sequence[Sequence[str]]

_MOST_BYTES: Final = 150
"""As for other targets: the name of a run becomes that of a file."""


def pairs_of(sides: Sequence[str], pairs: Pairs, against: str) -> list[tuple[str, str]]:
    """List every pair of names, side A first.

    Args:
        sides: the names of those that answered, in order.
        pairs: `round_robin` is each with each, the earlier one first; else a list of two names each.
        against: the one that every other is compared with; it is side B then. "" is none.

    Raises:
        ConfigError: fewer than two sides, a name that is none of them, a pair twice, or both `pairs` and `against`.

    >>> pairs_of(["a", "b", "c"], "round_robin", "")
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    >>> pairs_of(["base", "new", "newer"], "round_robin", "base")
    [('new', 'base'), ('newer', 'base')]
    """
    if len(sides) < 2:
        raise ConfigError(f"a preference needs two or more targets or runs, not {len(sides)}")
    if not isinstance(pairs, str):
        if against:
            raise ConfigError("give pairs or against, not both")
        return _named(sides, pairs)
    if pairs != "round_robin":
        raise ConfigError(f"pairs: expected 'round_robin' or a list of pairs of names, but got {pairs!r}")
    if not against:
        return list(combinations(sides, 2))
    if against not in sides:
        raise ConfigError(f"against: there is no target or run {against!r}{did_you_mean(against, sides)}")
    return [(side, against) for side in sides if side != against]


def _named(sides: Sequence[str], pairs: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    listed: list[tuple[str, str]] = []
    for pair in pairs:
        if isinstance(pair, str) or len(pair) != 2 or pair[0] == pair[1]:
            raise ConfigError(f"pairs: each is two different names, as [new, old], not {pair!r}")
        for name in pair:
            if name not in sides:
                raise ConfigError(f"pairs: there is no target or run {name!r}{did_you_mean(str(name), sides)}")
        # [new, old] and [old, new] are one comparison: the judge sees both orders anyway.
        if any(set(pair) == set(other) for other in listed):
            raise ConfigError(f"pairs: {pair[0]} and {pair[1]} are named twice")
        listed.append((pair[0], pair[1]))
    if not listed:
        raise ConfigError("pairs: the list is empty")
    return listed


def pair_names(pairs: Sequence[tuple[str, str]], sides: Sequence[str]) -> list[str]:
    """Name the judging runs, such as "a vs b".

    Raises:
        ConfigError: two would have one name, one has that of a target, or it is too long for a file's name.

    >>> pair_names([("a", "b")], ["a", "b"])
    ['a vs b']
    """
    names = [f"{first} vs {second}" for first, second in pairs]
    for name in names:
        if names.count(name) > 1 or name in sides:
            raise ConfigError(f"two runs would be named {name!r}: rename a target")
        if len(name.encode("utf-8", "surrogatepass")) > _MOST_BYTES:
            raise ConfigError(f"the name {name[:60]!r}... is longer than {_MOST_BYTES} bytes: rename a target")
    return names
