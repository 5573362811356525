"""The summary of a run: its scores and counts, and what its details, records, calls and raters say; values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from steelyard.analysis.judges.rater_findings_values import RaterFindings
from steelyard.analysis.model_calls import FrameworkUsage, StageCost
from steelyard.analysis.notebook import notebook_html
from steelyard.analysis.numbers import percent_text
from steelyard.analysis.retrieval_matches import RETRIEVAL_SCORES, SourceMatchCounts
from steelyard.analysis.run_data import RunCounts
from steelyard.analysis.scores.score_summary import Histogram
from steelyard.analysis.scores.score_summary_values import (
    NO_GROUP,
    Consistency,
    GroupLevel,
    RunState,
    ScoreSummary,
    TurnSummary,
)
from steelyard.analysis.stopping import Stopping
from steelyard.analysis.summary.classification import Classification, ScoreCalibration
from steelyard.analysis.summary.contingency import ContingencyTable
from steelyard.analysis.summary.exam_values import Exam
from steelyard.analysis.summary.repeats_and_turns import PassRate
from steelyard.plain_json import field_values
from steelyard.types import COMPARISON, PASSAGES

RIGHT_BY_RULE: Final[Mapping[str, str]] = MappingProxyType(
    {"within tolerance": "only within the tolerance of numbers", "equal by type rule": "only by a type rule"}
)
"""Labels of verdicts on results that are right only by a special rule, and their words in a note."""


@dataclass(frozen=True, slots=True)
class ScoreDetails:
    """What the values of a run's scores say beyond their means.

    Args:
        labels: per score whose verdicts have names ("SQL incorrect"), each name -> how many records; most frequent
            first.
        spreads: per score with a histogram, how often it took each value.
        contingency_tables: of pairs of 0/1 scores.
        breakdowns: key of the samples' metadata -> score -> a summary per value of that key, in order of first
            appearance; no entry for a key that no sample has.
        levels: score -> its averages by the levels of its groups, the coarsest first; empty where these have one level.
        consistency: per score whose judge was asked repeatedly, how far it agreed with itself.
        exams: details of each exam score.
        classifications: a report of each score with a closed set of classes.
        calibrations: of each score with confidences, how well these agree with being right.
        also_scored: scores of the same replies by the rules of other tools; shown separately from the run's own.
        turns: each score of single turns, over all turns of the run's conversations.
        pass_rates: pass@k and pass^k of the headline score, where samples were asked several times.
    """

    labels: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    spreads: Mapping[str, Histogram] = field(default_factory=dict)
    contingency_tables: tuple[ContingencyTable, ...] = ()
    breakdowns: Mapping[str, Mapping[str, tuple[ScoreSummary, ...]]] = field(default_factory=dict)
    levels: Mapping[str, tuple[GroupLevel, ...]] = field(default_factory=dict)
    consistency: Mapping[str, Consistency] = field(default_factory=dict)
    exams: tuple[Exam, ...] = ()
    classifications: tuple[Classification, ...] = ()
    calibrations: tuple[ScoreCalibration, ...] = ()
    also_scored: tuple[str, ...] = ()
    turns: tuple[TurnSummary, ...] = ()
    pass_rates: tuple[PassRate, ...] = ()

    @property
    def right_by_rule(self) -> dict[str, dict[str, int]]:
        """Score -> verdict -> how many results are right only within the tolerance of numbers, or by a type rule."""
        counts = {
            name: {label: labels[label] for label in RIGHT_BY_RULE if labels.get(label)}
            for name, labels in self.labels.items()
        }
        return {name: by_label for name, by_label in counts.items() if by_label}


@dataclass(frozen=True, slots=True)
class RecordFindings:
    """Why records of a run have no value, or one to be doubted.

    Args:
        unparsed_kinds: why replies could not be parsed -> how many.
        lacking: score -> what the outputs lack to which it does not apply (`passages`, `a comparison`) -> group ->
            records; none of those to which it does not apply because of the question.
        open_references: score -> how many records have a reference query whose result is not unique.
        matched: by what retrieved passages matched the expected sources; None where retrieval was not scored.
        damaged: a line for each record that cannot be read whole: run, sample and part. Its score's value is counted
            where that can be read; figures on letters, labels and kinds leave the damaged part out.
    """

    unparsed_kinds: Mapping[str, int] = field(default_factory=dict)
    lacking: Mapping[str, Mapping[str, Mapping[str, int]]] = field(default_factory=dict)
    open_references: Mapping[str, int] = field(default_factory=dict)
    matched: SourceMatchCounts | None = None
    damaged: tuple[str, ...] = ()

    def lacking_records(self, score: str, group: str = "") -> int:
        """The records to which a score does not apply because of what their outputs lack.

        Args:
            score: its name.
            group: "" is the whole run.
        """
        by_group = self.lacking.get(score, {}).values()
        if group:
            return sum(counts.get("" if group == NO_GROUP else group, 0) for counts in by_group)
        return sum(sum(counts.values()) for counts in by_group)

    @property
    def not_compared(self) -> dict[str, int]:
        """Score -> records whose results were too large to be compared, or took too long."""
        counts = {name: sum(what.get(COMPARISON, {}).values()) for name, what in self.lacking.items()}
        return {name: count for name, count in counts.items() if count}

    def json_fields(self) -> dict[str, Any]:
        """With what is derived; what outputs lack without its groups."""
        lacking = {
            score: {what: sum(groups.values()) for what, groups in by_what.items()}
            for score, by_what in self.lacking.items()
        }
        return field_values(self) | {"lacking": lacking, "not_compared": self.not_compared}


@dataclass(frozen=True, slots=True)
class ModelCalls:
    """What a run's calls of models cost, and what they showed.

    Args:
        stages: calls and tokens of each stage, the target first; empty where they were not counted from the first
            record on.
        framework: tokens of models that the target called itself, where its framework reports them; else None.
        asks_itself: whether the target is code of the user's or of a framework, which asked nothing through the
            journal: its tokens are those of `framework`, or unknown.
        reply_forms: score -> in which form its judge was asked to reply (`JSON schema`, or `free text:` and why) ->
            records; only of judges whose verdicts are structured.
        endpoints: what the calls showed of these: `cut_inputs` and `changed_parameters`, as the manifest has it.
    """

    stages: tuple[StageCost, ...] = ()
    framework: FrameworkUsage | None = None
    asks_itself: bool = False
    reply_forms: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    endpoints: Mapping[str, Any] = field(default_factory=dict)

    @property
    def judged_stages(self) -> tuple[StageCost, ...]:
        """`stages` where they say more than the run's own counts: a scorer asked, a cost or cached tokens are known."""
        has_more = any(
            (stage.calls and stage.stage != "target") or stage.money is not None or stage.cached_tokens
            for stage in self.stages
        )
        return self.stages if has_more else ()


@dataclass(frozen=True, slots=True)
class RunSummary:
    """The summary of one run.

    Args:
        run: the run's id.
        suite: the suite's title.
        target: the target's name.
        tags: the target's report columns.
        state: `finished`, `running`, `interrupted` or `broken`.
        created: ISO 8601.
        counts: its records, replies, tokens and time.
        scores: each score over the whole run, in order of first appearance.
        groups: per score, its groups in order of first appearance; no entry for a score without groups.
        primary: the headline score's name; "" when nothing was scored.
        stopping: where a rule could end the run before all samples were asked, what it decided; all figures of scores
            are over the samples that it used.
        details: spreads, verdicts, breakdowns, exams and turns of the scores.
        records: why records have no value, or one to be doubted.
        calls: what the calls of models cost and showed.
        raters: what judges and people say.
        reason: why it did not finish; "" where it did.
    """

    run: str
    suite: str
    target: str
    tags: Mapping[str, str]
    state: RunState
    created: str
    counts: RunCounts
    scores: tuple[ScoreSummary, ...]
    groups: Mapping[str, tuple[ScoreSummary, ...]]
    primary: str
    stopping: Stopping | None = None
    details: ScoreDetails = field(default_factory=ScoreDetails)
    records: RecordFindings = field(default_factory=RecordFindings)
    calls: ModelCalls = field(default_factory=ModelCalls)
    raters: RaterFindings = field(default_factory=RaterFindings)
    reason: str = ""

    @property
    def is_without_verdict(self) -> bool:
        """Whether no score has a value: nothing applied, or no reply of a judge could be read."""
        missing = (not score.scored and (score.over == "scored" or not score.n) for score in self.scores)
        return bool(self.scores) and all(missing)

    @property
    def stopped_early(self) -> bool:
        """Whether a stopping rule ended the run, so that intervals for a fixed number of samples do not hold."""
        return self.stopping is not None and self.stopping.used < self.stopping.planned

    @property
    def tokens_text(self) -> str:
        """Tokens in and out: of the journal's replies, and of models that the target called itself."""
        counts, framework = self.counts, self.calls.framework
        in_journal = f"{counts.input_tokens:,} / {counts.output_tokens:,}"
        counted = [in_journal] if counts.input_tokens + counts.output_tokens else []
        if framework is not None:
            in_part = "at least " if framework.in_part or framework.records < counts.done - counts.errors else ""
            usage = f"{in_part}{framework.input_tokens:,} / {framework.output_tokens:,}"
            counted.insert(0, f"{usage} (framework)")
        elif self.calls.asks_itself:
            counted.insert(0, "unknown")
        return " + ".join(counted) or "0 / 0"

    @property
    def calls_saved(self) -> int:
        """About how many calls a stopping rule saved: the mean number of calls per record, for each record not run."""
        calls, done = sum(stage.calls for stage in self.calls.stages), self.counts.done
        left = self.counts.planned - done
        return round(calls * left / done) if self.state == "finished" and done and left > 0 else 0

    def score(self, name: str = "", group: str = "") -> ScoreSummary | None:
        """The summary of one score (by default the primary one) or of a jury, or of one group; None if there is none.

        Args:
            name: of the score; that of a jury is what it rates, followed by `_jury`.
            group: "" is the whole run; a group of a coarser level is one too.
        """
        name = name or self.primary
        coarser = (part for level in self.details.levels.get(name, ()) for part in level.groups)
        among = (*((*self.groups.get(name, ()), *coarser) if group else self.scores), *self.raters.jury_scores)
        return next((score for score in among if score.name == name and score.group == group), None)

    def rate(self, name: str = "", group: str = "") -> ScoreSummary | None:
        """As `score`, but for a score of single turns over all turns of the run, as reports show it.

        The mean over conversations, which have equal weight whatever their length, is used where a rule may have ended
        the run, as it decided on that mean, and for a group of samples.

        Args:
            name: of the score.
            group: "" is the whole run; "turn 1" is the first turn of each conversation.
        """
        turns = next((entry for entry in self.details.turns if entry.score.name == (name or self.primary)), None)
        if turns is None or self.stopping is not None:
            return self.score(name, group)
        among = (turns.score, *turns.by_turn)
        return next((score for score in among if score.group == group), None) or self.score(name, group)

    @property
    def exam(self) -> Exam | None:
        """The exam of the primary score, or else of the first exam score."""
        return next(
            (exam for exam in self.details.exams if exam.score == self.primary),
            self.details.exams[0] if self.details.exams else None,
        )

    @property
    def own_scores(self) -> tuple[ScoreSummary, ...]:
        """All scores but those of `also_scored`."""
        return tuple(score for score in self.scores if score.name not in self.details.also_scored)

    def matching_warning(self, score: str = "") -> str:
        """Why a retrieval score is likely wrong, or why one about passages has no value; "" for any other score.

        Args:
            score: its name; "" is any of them.
        """
        if (
            self.records.matched is not None
            and (not score or score in RETRIEVAL_SCORES)
            and self.records.matched.warning
        ):
            return self.records.matched.warning
        return next(
            (text for name in self.records.lacking if score in {"", name} and (text := self._no_passages(name))), ""
        )

    def _no_passages(self, name: str) -> str:
        """A warning that no record has the passages that a score is about; "" where some have."""
        score, missing = self.score(name), sum(self.records.lacking[name].get(PASSAGES, {}).values())
        if score is None or not missing or missing < score.total - score.errors:
            return ""
        return (
            f"{self.target}: no passages came back in any of {missing:,} records, so {name} does not apply: either the "
            "target returns its answer alone (name where its passages are: contexts, contexts_from), or its search "
            "finds nothing"
        )

    @property
    def size_warning(self) -> str:
        """A warning that records were left out because of the size of their results; "" where none was."""
        if not self.records.not_compared:
            return ""
        records = f"{max(self.records.not_compared.values()):,} of {self.counts.done:,} records"
        why = "too large a reference, or too long a comparison"
        limits = "limits.max_cells and limits.compare_timeout_s"
        return (
            f"{self.target}: {records} were not compared ({next(iter(self.records.not_compared))}): {why}; see {limits}"
        )

    def result_notes(self) -> tuple[str, ...]:
        """What to know of compared results: right by a rule alone, and references that have no unique result."""
        notes = []
        for name, by_label in self.details.right_by_rule.items():
            score = self.score(name)
            right = round((score.answered.value or 0) * score.scored) if score is not None else 0
            for label, count in by_label.items():
                share = f" ({percent_text(count / right)})" if right else ""
                notes.append(
                    f"{self.target}: {name}: {count:,} of {right:,} right{share} {'is' if count == 1 else 'are'} right "
                    f"{RIGHT_BY_RULE[label]}"
                )
        for name, count in self.records.open_references.items():
            notes.append(
                f"{self.target}: {name}: {count:,} of {self.counts.done:,} references have no unique result (ties at "
                "a LIMIT, a LIMIT without ORDER BY, ...); steelyard check lists them"
            )
        return tuple(notes)

    def json_fields(self) -> dict[str, Any]:
        """The fields of its parts as its own, with what is derived."""
        own = field_values(self, **dict.fromkeys(("counts", "details", "records", "calls", "raters"), ""))
        for part in (self.counts, self.details, self.calls, self.raters):
            own |= field_values(part)
        derived = {"right_by_rule": self.details.right_by_rule, "calls_saved": self.calls_saved}
        return own | self.records.json_fields() | derived

    def __str__(self) -> str:
        lines = [str(score) for score in self.own_scores] or [f"no scores, {self.counts.errors} errors"]
        if self.state != "finished":
            lines.insert(0, f"{self.state}: {self.counts.done} of {self.counts.planned} done")
        if warning := self.matching_warning():
            lines.append(f"warning: {warning}")
        if self.size_warning:
            lines.append(f"warning: {self.size_warning}")
        lines += [f"note: {note}" for note in self.result_notes()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return notebook_html(self)
