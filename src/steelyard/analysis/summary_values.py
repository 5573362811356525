"""The summary of a run: scores, groups, counts and costs; values only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

from steelyard.analysis.intervals import Mean
from steelyard.analysis.notebook import table_html
from steelyard.analysis.numbers import MISSING, interval_text, percent_text, value_text
from steelyard.analysis.retrieval_matches import RETRIEVAL_SCORES, SourceMatchCounts
from steelyard.plain_json import field_values
from steelyard.stats.intervals import Interval
from steelyard.types import COMPARISON, PASSAGES

if TYPE_CHECKING:
    # Not at run time: most summaries hold none of these, and the modules that make them import them.
    from steelyard.analysis.contingency import ContingencyTable
    from steelyard.analysis.exam_values import Exam
    from steelyard.analysis.histograms import Histogram
    from steelyard.analysis.judge_agreement_values import JudgeAgreement
    from steelyard.analysis.judge_panel_values import JudgeCheck, JudgePanel
    from steelyard.analysis.rater_agreement_values import Agreement
    from steelyard.analysis.stopping import Stopping
    from steelyard.analysis.usage import FrameworkUsage, StageCost


@dataclass(frozen=True, slots=True)
class Consistency:
    """How consistent a judge is over the repeats of a score.

    Args:
        n: scores with two or more parsed repeats.
        sd: mean of their standard deviations (n - 1 in the denominator), in the score's unit.
        flip_rate: mean share of a score's repeats that differ from its most frequent verdict, in [0, 1].
    """

    n: int
    sd: float
    flip_rate: float

    @classmethod
    def of(cls, repeats: Iterable[tuple[float, float]]) -> Consistency | None:
        """The mean of (standard deviation, flip rate) of several scores; None of no score.

        >>> Consistency.of([(0.0, 0.0), (1.0, 0.5)])
        Consistency(n=2, sd=0.5, flip_rate=0.25)
        """
        scores = list(repeats)
        if not scores:
            return None
        return cls(len(scores), fmean(sd for sd, _ in scores), fmean(flip for _, flip in scores))


@dataclass(frozen=True, slots=True)
class LabelEffect:
    """How people's labels changed a score, where a summary counts them in place of the parsed replies.

    Args:
        score: the score that they are about; "" where no score of the run takes labels.
        decided: author, or authors who agree, -> records that they decided; most first.
        changed: of these, records whose score the labels changed.
        conflicting: records on which people disagree: they count as they were scored.
        unseen: records of the review list that nobody labelled.
        before: the headline without labels; likewise `after` with them.
        uncounted: name -> people's labels that enter no score.
        share: whether the score is a share, whose difference is in percentage points.
        exam: whether the labels are letters that replies of an exam give.
    """

    score: str
    decided: Mapping[str, int]
    changed: int
    conflicting: int
    unseen: int
    before: float | None
    after: float | None
    uncounted: Mapping[str, int] = field(default_factory=dict)
    share: bool = True
    exam: bool = True

    @property
    def total(self) -> int:
        """Records that people decided."""
        return sum(self.decided.values())

    @property
    def moved(self) -> float:
        """The change of the headline by people's labels; 0 where there is no headline."""
        return 0.0 if self.before is None or self.after is None else self.after - self.before

    def json_fields(self) -> dict[str, Any]:
        """With the number of changed values."""
        return field_values(self) | {"moved": self.moved}


Over = Literal["all", "scored"]
RunState = Literal["finished", "running", "interrupted", "broken"]

RIGHT_BY_RULE: Final[Mapping[str, str]] = MappingProxyType(
    {"within tolerance": "only within the tolerance of numbers", "equal by type rule": "only by a type rule"}
)
"""Labels of verdicts on results that are right only by a special rule, and their words in a note."""
NO_GROUP: Final = "(no group)"
"""The name of the group of samples without one, where others have one."""


@dataclass(frozen=True, slots=True)
class ScoreSummary:
    """One score over a run, or over one group of it.

    Args:
        name: the score's name.
        group: the group it covers; "" is the whole run.
        scored: rows with a value, and so on for `not_applicable`, `unparsed`, `refused`, `errors`.
        n: rows that count: all but not applicable ones and errors.
        total: all rows.
        binary: every value is 0 or 1.
        answered: mean over what was scored.
        overall: mean with unparsed and refused counted as 0; errors left out. Where `over` is `scored` and the score
            has a scale, they count as its lowest value: 0 is not on it.
        with_errors: the same with errors counted like that too.
        bounds: between which the mean lies, whatever values the missing verdicts have: the mean with all of them at
            the lowest and at the highest value of the scale. Where `over` is `all`, a refusal is an answer and stays 0.
            None for a score that is not on [0, 1] and names no scale.
        over: which mean is the headline: `all` is `overall`, `scored` is `answered`.
        note: how the interval was made, where it is not the plain Wilson interval.
        scale: lowest and highest value, where the scorer names a scale other than [0, 1].
        macro: the headline with every group weighing the same, whatever its size: the mean of its groups' means. Its
            `n` is the number of groups. None where fewer than two groups have a value.
    """

    name: str
    group: str
    scored: int
    not_applicable: int
    unparsed: int
    refused: int
    errors: int
    n: int
    total: int
    binary: bool
    answered: Mean
    overall: Mean
    with_errors: Mean
    bounds: Interval | None = None
    over: Over = "all"
    note: str = ""
    scale: Interval | None = None
    macro: Mean | None = None

    @property
    def is_share(self) -> bool:
        """Whether every value lies in [0, 1], so that means are shown in percent and differences in points."""
        return self.scale is None and (self.binary or self.bounds is not None)

    @property
    def missing_verdicts(self) -> int:
        """How many replies have no known value: unparsed ones, and refused ones where they do not count as 0."""
        return self.unparsed + (self.refused if self.over == "scored" else 0)

    @property
    def missing_bounds(self) -> Interval | None:
        """`bounds` where some verdicts are missing; None where none is, and the bounds equal the mean."""
        return self.bounds if self.missing_verdicts else None

    @property
    def headline(self) -> Mean:
        """The mean that titles and charts show."""
        return self.overall if self.over == "all" else self.answered

    def json_fields(self) -> dict[str, Any]:
        """With the mean that stands for the score."""
        return field_values(self) | {"headline": self.headline}

    def __str__(self) -> str:
        mean = self.headline
        parts = [self.name + (f" [{self.group}]" if self.group else "")]
        parts.append("-" if mean.value is None else f"{mean.value:.2f}")
        if mean.interval:
            parts.append("[{:.2f}, {:.2f}]".format(*mean.interval))
        others = {"unparsed": self.unparsed, "refused": self.refused, "not applicable": self.not_applicable}
        counts = [f"n={mean.n}", f"{self.errors} error{'' if self.errors == 1 else 's'}"]
        counts += [f"{count} {name}" for name, count in others.items() if count]
        if self.missing_bounds:
            counts.append("{:.2f} to {:.2f} whatever values the missing verdicts have".format(*self.missing_bounds))
        return " ".join([*parts, ", ".join(counts)])


@dataclass(frozen=True, slots=True)
class TurnSummary:
    """One score over the turns of all conversations of a run.

    Args:
        score: over all turns; its interval treats those of one conversation as dependent. A conversation without
            turns counts once, as an error or as not applicable.
        conversations: with a turn.
        by_turn: the same for the first turn of each conversation, the second, and so on; groups are named "turn 1".
    """

    score: ScoreSummary
    conversations: int
    by_turn: tuple[ScoreSummary, ...]


@dataclass(frozen=True, slots=True)
class RunSummary:
    """The summary of one run.

    Args:
        run: the run's id.
        suite: the suite's title.
        target: the target's name.
        tags: the target's report columns.
        state: `finished`, `running`, `interrupted` or `broken`.
        planned: records that a complete run has (samples times repeats).
        done: records stored, failed ones included.
        errors: records that failed.
        from_journal: replies that were taken from the journal instead of a new call.
        input_tokens: of all replies in the journal; likewise `output_tokens`.
        seconds: wall time.
        created: ISO 8601.
        scores: each score over the whole run, in order of first appearance.
        groups: per score, its groups in order of first appearance; no entry for a score without groups.
        primary: the headline score's name; "" when nothing was scored.
        unparsed_kinds: why replies could not be parsed -> how many.
        lacking: score -> what the outputs lack to which it does not apply (`passages`, `a comparison`) -> group ->
            records; none of those to which it does not apply because of the question.
        open_references: score -> how many records have a reference query whose result is not unique.
        labels: per score whose verdicts have names ("SQL incorrect"), each name -> how many records; most frequent
            first.
        stages: calls and tokens of each stage, the target first; empty where they were not counted from the first
            record on.
        spreads: per score with a histogram, how often it took each value.
        contingency_tables: of pairs of 0/1 scores.
        breakdowns: key of the samples' metadata -> score -> a summary per value of that key, in order of first
            appearance; no entry for a key that no sample has.
        consistency: per score whose judge was asked repeatedly, how far it agreed with itself.
        stopping: where a rule could end the run before all samples were asked, what it decided; all figures of scores
            are over the samples that it used.
        exams: details of each exam score.
        also_scored: scores of the same replies by the rules of other tools; shown separately from the run's own.
        labelled: where people's verdicts on replies are counted, what they changed; None where only the scores are.
        matched: by what retrieved passages matched the expected sources; None where retrieval was not scored.
        framework: tokens of models that the target called itself, where its framework reports them; else None.
        asks_itself: whether the target is code of the user's or of a framework, which asked nothing through the
            journal: its tokens are those of `framework`, or unknown.
        damaged: a line for each record that cannot be read whole: run, sample and part. Its score's value is counted
            where that can be read; figures on letters, labels and kinds leave the damaged part out.
        agreement: of judges and people, for each thing that two or more of them rated.
        held_to_people: each score that people labelled, compared with their labels; none if a rule ended the run.
        panels: several judges of one thing, compared with the same labels; likewise.
        checks: whether something else than the answer influences the verdicts of judges; likewise.
        jury_scores: of each panel with a jury, the mean of its verdicts, then that of each group; likewise.
        reply_forms: score -> in which form its judge was asked to reply (`JSON schema`, or `free text:` and why) ->
            records; only of judges whose verdicts are structured.
        turns: each score of single turns, over all turns of the run's conversations.
        calls: what the calls showed of the endpoints: `cut_inputs` and `changed_parameters`, as the manifest has it.
    """

    run: str
    suite: str
    target: str
    tags: Mapping[str, str]
    state: RunState
    planned: int
    done: int
    errors: int
    from_journal: int
    input_tokens: int
    output_tokens: int
    seconds: float
    created: str
    scores: tuple[ScoreSummary, ...]
    groups: Mapping[str, tuple[ScoreSummary, ...]]
    primary: str
    unparsed_kinds: Mapping[str, int] = field(default_factory=dict)
    lacking: Mapping[str, Mapping[str, Mapping[str, int]]] = field(default_factory=dict)
    open_references: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    stages: tuple[StageCost, ...] = ()
    spreads: Mapping[str, Histogram] = field(default_factory=dict)
    contingency_tables: tuple[ContingencyTable, ...] = ()
    breakdowns: Mapping[str, Mapping[str, tuple[ScoreSummary, ...]]] = field(default_factory=dict)
    consistency: Mapping[str, Consistency] = field(default_factory=dict)
    stopping: Stopping | None = None
    exams: tuple[Exam, ...] = ()
    also_scored: tuple[str, ...] = ()
    labelled: LabelEffect | None = None
    matched: SourceMatchCounts | None = None
    framework: FrameworkUsage | None = None
    asks_itself: bool = False
    damaged: tuple[str, ...] = ()
    agreement: tuple[Agreement, ...] = ()
    held_to_people: tuple[JudgeAgreement, ...] = ()
    panels: tuple[JudgePanel, ...] = ()
    checks: tuple[JudgeCheck, ...] = ()
    jury_scores: tuple[ScoreSummary, ...] = ()
    turns: tuple[TurnSummary, ...] = ()
    reply_forms: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    calls: Mapping[str, Any] = field(default_factory=dict)

    @property
    def stopped_early(self) -> bool:
        """Whether a stopping rule ended the run, so that intervals for a fixed number of samples do not hold."""
        return self.stopping is not None and self.stopping.used < self.stopping.planned

    @property
    def tokens_text(self) -> str:
        """Tokens in and out: of the journal's replies, and of models that the target called itself."""
        counted = [f"{self.input_tokens:,} / {self.output_tokens:,}"] if self.input_tokens + self.output_tokens else []
        if self.framework is not None:
            in_part = "at least " if self.framework.in_part or self.framework.records < self.done - self.errors else ""
            usage = f"{in_part}{self.framework.input_tokens:,} / {self.framework.output_tokens:,}"
            counted.insert(0, f"{usage} (framework)")
        elif self.asks_itself:
            counted.insert(0, "unknown")
        return " + ".join(counted) or "0 / 0"

    @property
    def judged_stages(self) -> tuple[StageCost, ...]:
        """`stages` where they say more than the run's own counts: a scorer asked, a cost or cached tokens are known."""
        has_more = any(
            (stage.calls and stage.stage != "target") or stage.money is not None or stage.cached_tokens
            for stage in self.stages
        )
        return self.stages if has_more else ()

    @property
    def calls_saved(self) -> int:
        """About how many calls a stopping rule saved: the mean number of calls per record, for each record not run."""
        calls = sum(stage.calls for stage in self.stages)
        left = self.planned - self.done
        return round(calls * left / self.done) if self.state == "finished" and self.done and left > 0 else 0

    def score(self, name: str = "", group: str = "") -> ScoreSummary | None:
        """The summary of one score (by default the primary one) or of a jury, or of one group; None if there is none.

        Args:
            name: of the score; that of a jury is what it rates, followed by `_jury`.
            group: "" is the whole run.
        """
        name = name or self.primary
        among = (*(self.groups.get(name, ()) if group else self.scores), *self.jury_scores)
        return next((score for score in among if score.name == name and score.group == group), None)

    def rate(self, name: str = "", group: str = "") -> ScoreSummary | None:
        """As `score`, but for a score of single turns over all turns of the run, as reports show it.

        The mean over conversations, which have equal weight whatever their length, is used where a rule may have ended
        the run, as it decided on that mean, and for a group of samples.

        Args:
            name: of the score.
            group: "" is the whole run; "turn 1" is the first turn of each conversation.
        """
        turns = next((entry for entry in self.turns if entry.score.name == (name or self.primary)), None)
        if turns is None or self.stopping is not None:
            return self.score(name, group)
        among = (turns.score, *turns.by_turn)
        return next((score for score in among if score.group == group), None) or self.score(name, group)

    def agreement_with_people(self, name: str) -> JudgeAgreement | None:
        """A score or a jury compared with people's labels; None where nobody labelled it."""
        juries = {panel.jury_score: panel.jury.agreement for panel in self.panels if panel.jury is not None}
        by_score = {agreement.score: agreement for agreement in self.held_to_people} | juries
        return by_score.get(name)

    @property
    def exam(self) -> Exam | None:
        """The exam of the primary score, or else of the first exam score."""
        return next((exam for exam in self.exams if exam.score == self.primary), self.exams[0] if self.exams else None)

    @property
    def own_scores(self) -> tuple[ScoreSummary, ...]:
        """All scores but those of `also_scored`."""
        return tuple(score for score in self.scores if score.name not in self.also_scored)

    def matching_warning(self, score: str = "") -> str:
        """Why a retrieval score is likely wrong, or why one about passages has no value; "" for any other score.

        Args:
            score: its name; "" is any of them.
        """
        if self.matched is not None and (not score or score in RETRIEVAL_SCORES) and self.matched.warning:
            return self.matched.warning
        return next((text for name in self.lacking if score in {"", name} and (text := self._no_passages(name))), "")

    def _no_passages(self, name: str) -> str:
        """A warning that no record has the passages that a score is about; "" where some have."""
        score, missing = self.score(name), sum(self.lacking[name].get(PASSAGES, {}).values())
        if score is None or not missing or missing < score.total - score.errors:
            return ""
        return (
            f"{self.target}: no passages came back in any of {missing:,} records, so {name} does not apply: either the "
            "target returns its answer alone (name where its passages are: contexts, contexts_from), or its search "
            "finds nothing"
        )

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

    @property
    def size_warning(self) -> str:
        """A warning that records were left out because of the size of their results; "" where none was."""
        if not self.not_compared:
            return ""
        records = f"{max(self.not_compared.values()):,} of {self.done:,} records"
        why = "too large a reference, or too long a comparison"
        limits = "limits.max_cells and limits.compare_timeout_s"
        return f"{self.target}: {records} were not compared ({next(iter(self.not_compared))}): {why}; see {limits}"

    @property
    def right_by_rule(self) -> dict[str, dict[str, int]]:
        """Score -> verdict -> how many results are right only within the tolerance of numbers, or by a type rule."""
        counts = {
            name: {label: labels[label] for label in RIGHT_BY_RULE if labels.get(label)}
            for name, labels in self.labels.items()
        }
        return {name: by_label for name, by_label in counts.items() if by_label}

    def result_notes(self) -> tuple[str, ...]:
        """What to know of compared results: right by a rule alone, and references that have no unique result."""
        notes = []
        for name, by_label in self.right_by_rule.items():
            score = self.score(name)
            right = round((score.answered.value or 0) * score.scored) if score is not None else 0
            for label, count in by_label.items():
                share = f" ({percent_text(count / right)})" if right else ""
                notes.append(
                    f"{self.target}: {name}: {count:,} of {right:,} right{share} {'is' if count == 1 else 'are'} right "
                    f"{RIGHT_BY_RULE[label]}"
                )
        for name, count in self.open_references.items():
            notes.append(
                f"{self.target}: {name}: {count:,} of {self.done:,} references have no unique result (ties at a LIMIT, "
                "a LIMIT without ORDER BY, ...); steelyard check lists them"
            )
        return tuple(notes)

    def json_fields(self) -> dict[str, Any]:
        """With what is derived; three fields have the names of earlier versions."""
        lacking = {
            score: {what: sum(groups.values()) for what, groups in by_what.items()}
            for score, by_what in self.lacking.items()
        }
        derived = {name: getattr(self, name) for name in ("not_compared", "right_by_rule", "calls_saved")}
        names = {"contingency_tables": "crosses", "also_scored": "beside", "framework": "framework_usage"}
        return field_values(self, **names, asks_itself="") | derived | {"lacking": lacking}

    def __str__(self) -> str:
        lines = [str(score) for score in self.own_scores] or [f"no scores, {self.errors} errors"]
        if self.state != "finished":
            lines.insert(0, f"{self.state}: {self.done} of {self.planned} done")
        if warning := self.matching_warning():
            lines.append(f"warning: {warning}")
        if self.size_warning:
            lines.append(f"warning: {self.size_warning}")
        lines += [f"note: {note}" for note in self.result_notes()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """A small table, for notebooks."""
        doubted = any(score.missing_bounds for score in self.scores)
        counts = f"{self.done} of {self.planned} records, {self.errors} error{'s' * (self.errors != 1)}"
        warning = f"; warning: {text}" if (text := self.matching_warning()) else ""
        caption = f"{self.suite}: {self.target}, run {self.run}, {self.state}; {counts}{warning}"
        head = ["score", "mean", "95 % CI", *(["bounds by unparsed"] if doubted else []), "n"]
        head += ["unparsed", "refused", "not applicable", "errors"]
        return table_html(caption, head, (_notebook_row(score, doubted=doubted) for score in self.scores))


def _notebook_row(score: ScoreSummary, *, doubted: bool) -> list[str]:
    mean = score.headline
    intervals = [mean.interval, *([score.missing_bounds] if doubted else [])]
    counts = (mean.n, score.unparsed, score.refused, score.not_applicable, score.errors)
    limits = (interval_text(interval, share=score.is_share) or MISSING for interval in intervals)
    return [score.name, value_text(mean.value, share=score.is_share), *limits, *map(str, counts)]
