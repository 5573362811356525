"""Rules on scores -> a verdict and an exit code: every rule on every run.

    solve_rate: ">= 0.6"                 the headline value of the score, for every run
    solve_rate.answered: "> 0.7"         over what was answered; `.with_errors` counts errors as not solved
    "solve_rate[hexagrams]": ">= 0.5"    one group
    solve_rate.macro: ">= 0.6"           the mean of its groups' means; `[category]` names a level, `[STEM]` a group
    correct.corrected: ">= 0.8"          what people would say on average, from their labels and all verdicts
    correct_jury: ">= 0.8"               what several judges say together; `.corrected` likewise
    faithfulness_per_turn: ">= 0.9"      over all turns of the conversations; `[turn 1]` over their first turns
    solve_rate: ">=! 0.6"                the whole 95 % CI: holds if all of it does, fails if none of it does, else
                                         the data cannot decide
    checks.each: ">= 0.8"                every sample, over its repeats; pass^3, latency.p95, cost: see `gate_figures`
    min_scored: 0.9                      the least share of the records that have the score; see below
    no_regression: {solve_rate: 0.02}    against `baseline`, sample by sample: the score has not lost 0.02 or more
    baseline: baseline.json              a file that `steelyard baseline` wrote, a run's id, a target, or `latest`

A corrected score without enough labels is an error: its value is not known, and a rule that waits for labels must not
pass. A score or group that a run does not have (none of its samples was of that group) leaves the rule undecided.

`no_regression` compares the interval of the difference (run - baseline) with the margin:

    holds       the lower limit lies above -margin: a loss of that size is ruled out (even if there is a smaller one)
    fails       otherwise, and the upper limit lies below 0: there is a loss
    undecided   otherwise

Of a score where lower is better the loss is an increase, and both limits change places. Replies without a verdict
count at their worst and at their best: where these bounds lead to another decision, the rule is undecided.

A rule is decided on records that could be scored. A record to which the score does not apply because of its question
(no source, no reference) is none of them; one that has no verdict because of its output (no passages, unparsed, an
error) is one without the score. Where fewer than `min_scored` have it, no rule holds: it fails if it would fail with
every missing one at the best value of the scale, and is else `unscored`.

Source: a test of non-inferiority by a two-sided interval, as in G. Piaggio et al., "Reporting of noninferiority and
equivalence randomized trials", JAMA 308, 2594-2604, 2012.

Exit codes: 0 every rule holds; 1 a rule fails; 3 no rule fails, but one cannot be decided; 4 a run is broken or
unfinished, too few of its records have the score, or a rule lacks labels of people.
"""

# Why it is so, and what was rejected: docs/decisions/analysis-gates.md

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any, Final, Literal

from steelyard.analysis.comparison.comparison_values import PairComparison, PairedDifference
from steelyard.analysis.gate.gate_figures import RuleFigure
from steelyard.analysis.gate.gate_rules import ALONE, USUAL_SCORED, Margin, Rule, parse_gate
from steelyard.analysis.intervals import Mean
from steelyard.analysis.judges.rater_findings_values import FEWEST, JudgeAgreement
from steelyard.analysis.numbers import count_text, level_text
from steelyard.analysis.scores.score_infos import JURY
from steelyard.analysis.scores.score_summary import UNIT
from steelyard.analysis.scores.score_summary_values import ScoreSummary
from steelyard.analysis.summary.run_summary_values import RunSummary
from steelyard.errors import did_you_mean
from steelyard.stats.intervals import Interval

Decision = Literal["holds", "fails", "undecided"]
RuleState = Decision | Literal["broken", "unlabelled", "unscored"]

_EXIT_CODES: Final[Mapping[RuleState, int]] = {
    "broken": 4,
    "unlabelled": 4,
    "unscored": 4,
    "fails": 1,
    "undecided": 3,
    "holds": 0,
}
"""In the order in which they take precedence."""
_VERBS: Final[Mapping[RuleState, str]] = {
    "holds": "holds",
    "fails": "does not hold",
    "undecided": "cannot be decided",
    "unscored": "cannot be decided",
}
_SEEN: Final = 0.0005
"""The least distance of a share from a limit at which one decimal of a percentage shows the right side."""

Figures = Mapping[tuple[str, str], RuleFigure]
"""(run's id, text of a rule) -> the figure that it compares, where that is no score's mean."""
Compared = Mapping[tuple[str, str], PairComparison | str | None]
"""(run's id, score) -> that run against its baseline, why there is no comparison, or None: it is the baseline."""


@dataclass(frozen=True, slots=True)
class RuleResult:
    """The outcome of one rule on one run.

    Args:
        rule: as it was written.
        run: the run's id; `target` its target.
        state: whether the rule holds; `broken` where the run is not finished, `unlabelled` where a corrected value
            needs more labels, `unscored` where too few records have the score.
        value: what was compared with the limit: a mean, or the difference from the baseline.
        interval: of that value.
        sentence: for a person.
        baseline: id of the run it was compared with; "" where the rule compares nothing.
        notes: what a reader must know about the two runs before believing a comparison.
    """

    rule: str
    run: str
    target: str
    state: RuleState
    value: float | None
    interval: Interval | None
    sentence: str
    baseline: str = ""
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, rule: str, summary: RunSummary, state: RuleState, said: str, **further: Any) -> RuleResult:
        """A result whose sentence names the target and the rule before what is said of them.

        Args:
            rule: as it was written.
            summary: of the run.
            state: whether the rule holds.
            said: the rest of the sentence.
            further: other fields; without them there is no value.
        """
        values = {"value": None, "interval": None} | further
        return cls(rule, summary.run, summary.target, state, sentence=f"{summary.target}: {rule} {said}", **values)


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """The results of all rules on all runs, and the exit code: 4 takes precedence over 1, 1 over 3, 3 over 0."""

    results: tuple[RuleResult, ...]

    @property
    def exit_code(self) -> int:
        """0 holds, 1 fails, 3 cannot be decided, 4 a run is broken or unfinished, or labels or scores are missing."""
        states = {result.state for result in self.results}
        return next((code for state, code in _EXIT_CODES.items() if state in states), 0)

    def json_fields(self) -> dict[str, Any]:
        """With the exit code."""
        return {"exit_code": self.exit_code, "results": self.results}


def judge_gate(
    rules: Mapping[str, Any],
    summaries: Sequence[RunSummary],
    *,
    compared: Compared | None = None,
    announced: Mapping[str, Collection[str]] | None = None,
    figures: Figures | None = None,
) -> GateVerdict:
    """Apply every rule to every run that has its score.

    Args:
        rules: the mapping under `gate:`.
        summaries: of the runs.
        compared: each run against its baseline, for `no_regression`.
        announced: run's id -> the scores that its scorers announce. A rule on a score that other runs announce does
            not apply to a run that does not: in a pairwise evaluation only judging runs have a preference.
        figures: of the rules that compare no score's mean, see `gate_figures.rule_figure`.

    Raises:
        ConfigError: a rule cannot be read.
    """
    parsed = parse_gate(rules)
    known = announced or {}
    results = [
        _judge_figure(rule, summary, (figures or {}).get((summary.run, rule.text)), parsed.min_scored)
        if compares_figure(rule, summary)
        else _judge_rule(rule, summary, parsed.min_scored)
        for rule in parsed.rules
        for summary in _scored_runs(rule.score, summaries, known)
    ]
    for margin in parsed.margins:
        for summary in _scored_runs(margin.score, summaries, known):
            pair = (compared or {}).get((summary.run, margin.score), "it was not compared with a baseline")
            if pair is not None:
                results.append(judge_margin(margin, summary, pair, min_scored=parsed.min_scored))
    return GateVerdict(tuple(results))


def _scored_runs(
    score: str, summaries: Sequence[RunSummary], announced: Mapping[str, Collection[str]]
) -> Sequence[RunSummary]:
    """The runs whose scorers announce a score; all runs where none does, so that a misspelt rule is reported."""
    scored = [summary for summary in summaries if score in announced.get(summary.run, (score,))]
    return scored or summaries


def _judge_rule(rule: Rule, summary: RunSummary, min_scored: float) -> RuleResult:
    if summary.state != "finished":
        return _unfinished(rule.text, summary)
    score = _rated(rule, summary)
    if score is None:
        return _undecided(rule.text, summary, _missing(rule, summary))
    if rule.rate == "macro" and score.macro is None:
        return _undecided(rule.text, summary, "fewer than two groups have a value")
    if rule.rate == "corrected":
        return _judge_corrected(rule, summary, _Coverage.of(summary, score, score.headline, min_scored))
    mean: Mean = getattr(score, "headline" if rule.is_figure else rule.rate)
    interval, interval_name = _interval(rule, summary, mean)
    coverage = _Coverage.of(summary, score, score.headline if rule.rate == "macro" else mean, min_scored)
    state = coverage.state(rule, mean.value, _state(rule, mean.value, interval, score.missing_bounds))
    evidence = _evidence(rule, mean, _limits(rule, interval, interval_name, share=score.is_share), score)
    said = f"{_VERBS[state]} ({evidence}{_of_turns(summary, score)}{coverage.remark})."
    notes = _notes(summary, rule.score)
    return RuleResult.of(rule.text, summary, state, said, value=mean.value, interval=interval, notes=notes)


def _rated(rule: Rule, summary: RunSummary) -> ScoreSummary | None:
    """The score that a rule is on; for a macro average over a level, with the average over that level."""
    levels = summary.details.levels.get(rule.score, ()) if rule.rate == "macro" else ()
    of_level = (level.score for level in levels if level.level == rule.group)
    found = next(of_level, None) or summary.rate(rule.score, rule.group)
    # The bounds by missing verdicts are those of the mean over samples.
    return replace(found, bounds=None) if found is not None and rule.rate == "macro" else found


def compares_figure(rule: Rule, summary: RunSummary) -> bool:
    """Whether a rule compares a figure that is no score's mean; `cost` is the score of that name where a run has it."""
    is_named = rule.rate in ALONE and summary.score(rule.score) is not None
    return rule.is_figure and not is_named


def _judge_figure(rule: Rule, summary: RunSummary, figure: RuleFigure | None, min_scored: float) -> RuleResult:
    """Apply a rule to a figure that is no score's mean."""
    if summary.state != "finished":
        return _unfinished(rule.text, summary)
    if figure is None or figure.value is None:
        return _undecided(rule.text, summary, figure.evidence if figure else "the run's records are not stored")
    state: RuleState = _state(rule, figure.value, figure.interval, None)
    remark = ""
    score = summary.score(figure.score, rule.group) if figure.score else None
    if score is not None:
        coverage = _Coverage.of(summary, score, score.headline, min_scored)
        remark = coverage.remark
        state = "unscored" if state == "holds" and not coverage.enough else state
    said = f"{_VERBS[state]} ({figure.evidence}{remark})."
    return RuleResult.of(rule.text, summary, state, said, value=figure.value, interval=figure.interval)


@dataclass(frozen=True, slots=True)
class _Coverage:
    """How many of the records that could have a score have it.

    Args:
        n: records with a value that counts.
        possible: all but those to which the score does not apply because of their question.
        ends: lowest and highest value of the score; None where unknown.
        enough: whether `n` is the share that a gate asks for.
    """

    n: int
    possible: int
    ends: Interval | None
    enough: bool

    @classmethod
    def of(cls, summary: RunSummary, score: ScoreSummary, mean: Mean, min_scored: float) -> _Coverage:
        names = {score.name, *(judge.score for panel in summary.raters.panels if panel.votes.score == score.name
                               for judge in panel.judges)}  # fmt: skip
        # Judges of one thing lack the same outputs; over turns, what is lacking is not counted apart.
        lacking = max(summary.records.lacking_records(name, score.group) for name in names)
        possible = max(mean.n, score.total - score.not_applicable + min(lacking, score.not_applicable))
        ends = score.scale or (UNIT if score.is_share else None)
        return cls(mean.n, possible, ends, mean.n >= min_scored * possible)

    @property
    def remark(self) -> str:
        """What a sentence says of it; "" where it is enough."""
        return "" if self.enough else f"; {self.n:,} of {self.possible:,} records have a value that counts"

    def state(self, rule: Rule, value: float | None, state: RuleState) -> RuleState:
        """The state of a rule: with too few records it fails with all others at their best, or is `unscored`."""
        if self.enough:
            return state
        if state != "fails" or value is None or self.ends is None:
            return "unscored"
        best = self.ends.high if rule.operator.startswith(">") else self.ends.low
        with_all = (value * self.n + best * (self.possible - self.n)) / self.possible
        return "unscored" if rule.holds(with_all) else "fails"


def _judge_corrected(rule: Rule, summary: RunSummary, coverage: _Coverage) -> RuleResult:
    """Apply a rule to a score's mean as corrected by people's labels."""
    if summary.stopped_early:
        reason = "a rule ended the run early, and a mean of such a run is not corrected"
        return _undecided(rule.text, summary, reason)
    agreement = summary.raters.agreement_with_people(rule.score)
    corrected = agreement.corrected if agreement is not None else None
    if agreement is None or corrected is None or corrected.value is None:
        return _unlabelled(rule, summary, agreement)
    if agreement.scale is not None and not agreement.scale[0] <= rule.limit <= agreement.scale[1]:
        # Pass and fail labels of a rating give a share of passes, to which a limit on the rating does not apply.
        low, high = agreement.scale
        return _undecided(rule.text, summary, f"its labels are values from {low:g} to {high:g}")
    state = coverage.state(rule, corrected.value, _state(rule, corrected.value, corrected.interval, None))
    score = summary.score(rule.score)
    share = score is not None and score.is_share
    limits = _limits(rule, corrected.interval, f"{level_text(corrected.level)} CI", share=share)
    evidence = (
        f"{_text(rule, corrected.value, share=share)}, {limits}, {corrected.method} from labels of {corrected.n:,} of "
        f"{count_text(corrected.total, 'record')}"
    )
    judged = f"; the judge says {_text(rule, corrected.raw, share=share)}" if corrected.raw is not None else ""
    said = f"{_VERBS[state]} ({evidence}{judged}{coverage.remark})."
    notes = (*agreement.warnings, *_jury_notes(summary, rule.score))
    value, interval = corrected.value, corrected.interval
    return RuleResult.of(rule.text, summary, state, said, value=value, interval=interval, notes=notes)


def _unlabelled(rule: Rule, summary: RunSummary, agreement: JudgeAgreement | None) -> RuleResult:
    """The result where a corrected value cannot be computed: why, and what to do."""
    reason = "nobody labelled it"
    if agreement is not None:
        problem = agreement.corrected.reason if agreement.corrected is not None else ""
        reason = (
            agreement.problem
            or problem
            or f"{count_text(agreement.counts.labelled, 'labelled record')}; it needs {FEWEST}"
        )
    said = (
        f"is not evaluated: {reason}. Let people label records (steelyard queue create {summary.run} --score "
        f"{quote(_labelled_name(rule.score, summary))} --draw 100 --title TEXT --author NAME), then evaluate the gate "
        f"again with steelyard resume {summary.run}."
    )
    return RuleResult.of(rule.text, summary, "unlabelled", said)


def _labelled_name(score: str, summary: RunSummary) -> str:
    """The name of the labels that a score is compared with: of the thing it rates, if several judges rate it."""
    for panel in summary.raters.panels:
        if len(panel.judges) > 1 and score in {panel.votes.score, *(judge.score for judge in panel.judges)}:
            return panel.thing
    return score


def _jury_notes(summary: RunSummary, score: str) -> tuple[str, ...]:
    """What to know of a jury's verdicts, see `JuryVotes.notes`; nothing for other scores."""
    return tuple(note for panel in summary.raters.panels if panel.votes.score == score for note in panel.votes.notes)


def _interval(rule: Rule, summary: RunSummary, mean: Mean) -> tuple[Interval | None, str]:
    """The interval that a rule uses, and its name.

    Where a rule could end the run at any moment, an interval for a number of samples that was fixed beforehand is too
    narrow; the confidence sequence holds whenever one stops. Other means of such a run have no interval that holds.
    """
    stopping, headline = summary.stopping, (rule.score, "", "", "headline")
    if stopping is not None and (stopping.score, stopping.against, rule.group, rule.rate) == headline:
        return stopping.interval, f"{level_text(stopping.level)} confidence sequence"
    return (None, "") if summary.stopped_early else (mean.interval, "95 % CI")


def _missing(rule: Rule, summary: RunSummary) -> str:
    known = [score.name for score in (*summary.scores, *summary.raters.jury_scores)]
    if rule.score not in known and rule.score.endswith(f"_{JURY}") and summary.stopped_early:
        return "a rule ended the run early, and the jury of such a run has no verdict"
    if rule.score not in known:
        return f"the run has no score {rule.score!r}{did_you_mean(rule.score, known)}"
    of_juries = (score for score in summary.raters.jury_scores if score.name == rule.score and score.group)
    groups = [group.group for group in (*summary.groups.get(rule.score, ()), *of_juries)]
    return f"the run has no group {rule.group!r}{did_you_mean(rule.group, groups)}"


def _state(rule: Rule, value: float | None, interval: Interval | None, bounds: Interval | None) -> Decision:
    if value is None:
        return "undecided"
    if not rule.whole_interval:
        # A rule on the value takes the value as it is defined, unparsed replies as not solved.
        return "holds" if rule.holds(value) else "fails"
    if interval is None:
        return "undecided"
    # Every operator is monotone, so an interval satisfies or violates it as a whole when both its ends do.
    ends = [rule.holds(end) for end in (*interval, *(bounds or ()))]
    if all(ends):
        return "holds"
    return "undecided" if any(ends) else "fails"


def _evidence(rule: Rule, mean: Mean, limits: str, score: ScoreSummary) -> str:
    if mean.value is None:
        return "nothing was scored"
    missing = ""
    if score.missing_bounds:
        bounds = _text(rule, *score.missing_bounds, share=score.is_share)
        missing = f", {bounds} with {count_text(score.missing_verdicts, 'reply')} without a verdict"
    return f"{_text(rule, mean.value, share=score.is_share)}, {limits}{missing}, n={mean.n}"


def _of_turns(summary: RunSummary, score: ScoreSummary) -> str:
    """The conversations that a rate over turns covers; "" for other scores."""
    turns = next((entry for entry in summary.details.turns if score is entry.score and score.scored), None)
    return "" if turns is None else f" turns of {count_text(turns.conversations, 'conversation')}"


def _limits(rule: Rule, interval: Interval | None, name: str, *, share: bool) -> str:
    return "no interval" if interval is None else f"{name} {_text(rule, *interval, share=share)}"


def _text(rule: Rule, *values: float, share: bool) -> str:
    """A mean, or the ends of an interval, as pages show them."""
    numbers = " to ".join(_number(value, rule.limit, share=share) for value in values)
    return f"{numbers} %" if share else numbers


def _number(value: float, limit: float, *, share: bool) -> str:
    """A value as pages show it, in percent where it is a share; with more digits where one would hide its side.

    >>> _number(1 / 6, 0.6, share=True), _number(0.5996, 0.6, share=True), _number(3.456, 3, share=False)
    ('16.7', '59.96', '3.456')
    """
    if not share:
        return f"{value:.4g}"
    hides = 0 < abs(value - limit) < _SEEN
    return f"{100 * value:.6g}" if hides else f"{100 * value:.1f}"


def judge_margin(
    margin: Margin, summary: RunSummary, pair: PairComparison | str, *, min_scored: float = USUAL_SCORED
) -> RuleResult:
    """Apply one margin of `no_regression` to one run.

    Args:
        margin: the largest loss that is tolerated.
        summary: of the run.
        pair: the run against its baseline, or why there is no comparison.
        min_scored: the least share of the run's records that have the score.
    """
    if summary.state != "finished":
        return _unfinished(margin.text, summary)
    if isinstance(pair, str):
        return _undecided(margin.text, summary, pair.rstrip("."))
    difference = _difference(margin, pair)
    reason = _incomparable(summary, pair) or (difference if isinstance(difference, str) else "")
    if reason or isinstance(difference, str):
        return _margin_result(margin, summary, pair, "undecided", reason)
    decision, remark = _margin_state(margin.margin, difference)
    state: RuleState = decision
    score = summary.rate(margin.score, margin.group)
    if score is not None:
        coverage = _Coverage.of(summary, score, score.answered if margin.answered else score.headline, min_scored)
        remark += coverage.remark
        if not coverage.enough and not _lost_with_all(difference, coverage):
            state = "unscored"
    evidence = f"{_difference_text(difference, pair.level)}{remark}{_left_out(pair)}"
    return _margin_result(margin, summary, pair, state, evidence, difference)


def unfit_baseline(summary: RunSummary) -> str:
    """Why a run cannot be a baseline; "" where it can."""
    if summary.state != "finished":
        counts = f"{summary.counts.done} of {summary.counts.planned} records are done"
        return f"the baseline {summary.target} ({summary.run}) is {summary.state}: {counts}"
    if summary.stopped_early:
        return f"the baseline {summary.target} ({summary.run}) was stopped early, so runs cannot be compared with it"
    return ""


def _difference(margin: Margin, pair: PairComparison) -> PairedDifference | str:
    """The difference that a margin limits (whole run, group or answered pairs), or why there is none."""
    if margin.group:
        groups = {group.group: group for group in pair.further.groups}
        return groups.get(margin.group) or f"no pair is of group {margin.group!r}{did_you_mean(margin.group, groups)}"
    if margin.answered:
        return pair.further.answered_both
    return next((score.difference for score in pair.further.turns if score.score == margin.score), pair.headline)


def _incomparable(summary: RunSummary, pair: PairComparison) -> str:
    """Why the two runs cannot be compared; "" where they can be."""
    if pair.overlap.n_paired == 0:
        return "the two share no sample on which both have this score"
    if pair.overlap.changed_content:
        samples = f"{pair.overlap.changed_content} sample{'' if pair.overlap.changed_content == 1 else 's'}"
        return f"{samples} in both runs changed content between them, so the runs answered different questions"
    if summary.stopped_early:
        return "the run was stopped early, so the interval of a difference, which is for a fixed set, does not hold"
    return ""


def _margin_state(margin: float, difference: PairedDifference) -> tuple[Decision, str]:
    """The decision that follows from the interval, and a remark where it needs an explanation."""
    if difference.difference is None or difference.interval is None:
        return "undecided", ""
    missing = difference.missing
    if missing is not None and missing.bounds is None and missing.leaves_sign_open:
        return "undecided", f"; of {count_text(missing.replies, 'reply')} {missing.n:,} without a verdict"
    low, high = _gain(difference.interval, difference)
    least, most = _gain(missing.bounds, difference) if missing and missing.bounds else (low, high)
    with_missing = f"; with {count_text(missing.n, 'reply')} without a verdict" if missing else ""
    if low > -margin:
        if least <= -margin:
            return "undecided", f"{with_missing} the loss may be {_size(-least, difference)}"
        return "holds", "; there is a loss, and it is within the margin" if high < 0 else ""
    if high < 0:
        return ("undecided", f"{with_missing} there may be no loss") if most >= 0 else ("fails", "")
    return "undecided", f"; these data are compatible with a loss of {_size(margin, difference)}, and with none"


def _lost_with_all(difference: PairedDifference, coverage: _Coverage) -> bool:
    """Whether there is a loss even if each record without the score gained all that the scale allows."""
    if difference.interval is None or coverage.ends is None:
        return False
    _, high = _gain(difference.interval, difference)
    most = coverage.ends.high - coverage.ends.low
    return high * coverage.n + most * (coverage.possible - coverage.n) < 0


def _gain(interval: Interval, difference: PairedDifference) -> Interval:
    """An interval of the difference in the score's direction: below 0 the run has lost."""
    return Interval(-interval.high, -interval.low) if difference.lower_is_better else interval


def _difference_text(difference: PairedDifference, level: float) -> str:
    if difference.difference is None:
        return "no pair"
    limits = "no interval, as these pairs say nothing about the spread"
    if difference.interval:
        low, high = (_signed(end, share=difference.unit) for end in difference.interval)
        limits = f"{level_text(level)} CI {low} to {high}"
    pairs = f"{difference.n} pair{'' if difference.n == 1 else 's'}"
    size = f"{_signed(difference.difference, share=difference.unit)}{' points' if difference.unit else ''}"
    return f"difference {size}, {limits}, {pairs}"


def _left_out(pair: PairComparison) -> str:
    alone = pair.overlap.n_unpaired(baseline="absent") + pair.overlap.n_unpaired(other="absent")
    return f"; {alone} sample{' is' if alone == 1 else 's are'} in only one of the two" if alone else ""


def _signed(value: float, *, share: bool) -> str:
    if not value:
        return "0"
    return f"{100 * value:+.3g}" if share else f"{value:+.4g}"


def _size(loss: float, difference: PairedDifference) -> str:
    """How large a loss is, in points where the score is a share."""
    size = _signed(loss, share=difference.unit).lstrip("+")
    return f"{size} {'point' if size == '1' else 'points'}" if difference.unit else size


def _margin_result(
    margin: Margin,
    summary: RunSummary,
    pair: PairComparison,
    state: RuleState,
    evidence: str,
    difference: PairedDifference | None = None,
) -> RuleResult:
    return RuleResult.of(
        margin.text,
        summary,
        state,
        f"{_VERBS[state]} against {pair.baseline_target} ({pair.baseline}): {evidence}.",
        value=difference.difference if difference else None,
        interval=difference.interval if difference else None,
        baseline=pair.baseline,
        notes=(*_notes(summary, margin.score), *pair.warnings),
    )


def _unfinished(rule: str, summary: RunSummary) -> RuleResult:
    """The result of a rule on an unfinished run: it is not evaluated."""
    counts = f"{summary.counts.done} of {summary.counts.planned} records, {summary.counts.errors} errors"
    return RuleResult.of(rule, summary, "broken", f"is not evaluated, as the run is {summary.state} ({counts}).")


def _undecided(rule: str, summary: RunSummary, reason: str) -> RuleResult:
    return RuleResult.of(rule, summary, "undecided", f"cannot be decided: {reason}.")


def _notes(summary: RunSummary, score: str) -> tuple[str, ...]:
    """Why a retrieval score is likely wrong, or one about passages has no value; what to know of a jury's verdicts."""
    warning = summary.matching_warning(score)
    return (*([warning] if warning else []), *_jury_notes(summary, score))
