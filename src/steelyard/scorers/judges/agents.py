"""Judges of what an agent did: was the goal reached, were its steps justified, did it follow its plan?

They see the messages stored in the output, within a window (see `prompts.trajectory`); the prompt and the score's
detail say what was left out. An output without messages is not applicable: an answer alone does not show what was done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, NamedTuple

from steelyard.constraints import Share, Within
from steelyard.prompts.conversation import transcript_of
from steelyard.prompts.language import Language
from steelyard.prompts.template import OwnWords
from steelyard.prompts.trajectory import (
    Trajectory,
    WindowedTranscript,
    call_text,
    read_trajectory,
    shorten,
    windowed_transcript,
)
from steelyard.replies.answer_text import answer_of
from steelyard.replies.judge_reply import Verdict
from steelyard.scorers.judges.declared import (
    REASON_TOKENS,
    TOKENS_EACH,
    Case,
    CaseScorer,
    PromptForm,
    Repeats,
    at_least,
    is_most,
    no_answer,
    not_applicable,
    numbered,
    reference_of,
    scored,
    yes_or_no,
)
from steelyard.scorers.judges.judge import Judge, takes_model
from steelyard.session.replies import refused_before
from steelyard.types import Output, Sample, Score, ScoreInfo, StageInfo

WINDOW_TOKENS: Final = 6000
_MOST_STEPS: Final = 30
"""Limit of calls that one reply judges: more verdicts would not fit."""
_SHOWN_STEP: Final = 60
"""Estimated tokens of a call in the list of steps; the transcript shows it whole."""

_WindowTokens = Annotated[int, Within(200, 1_000_000)]


def _goal_or_plan(value: Any) -> str:
    """A goal or plan as text; a list has one line for each entry."""
    if isinstance(value, list | tuple):
        return "\n".join(f"{no}. {text}" for no, text in enumerate(value, start=1) if str(text).strip())
    return "" if value is None else str(value).strip()


class _ShownTrajectory(NamedTuple):
    """A trajectory, and what every prompt of this module may show of it."""

    trajectory: Trajectory
    language: Language
    transcript: WindowedTranscript
    values: dict[str, str]


def _shown(name: str, sample: Sample, output: Output, judge: Judge, tokens: int) -> _ShownTrajectory | Score:
    """The trajectory to judge, or the score of an output that has none."""
    if refused_before(output):
        return no_answer(name)
    trajectory = read_trajectory(output)
    if isinstance(trajectory, str):
        return not_applicable(name, trajectory, lacks="a trajectory")
    question, answer = transcript_of(sample.input), answer_of(output)
    language = judge.language_for(question, answer)
    transcript = windowed_transcript(trajectory.messages, tokens, language)
    budget = tokens / 4
    values = {
        "question": shorten(question, budget),
        "transcript": transcript.text,
        "answer": shorten(answer, budget),
        "left_out": transcript.note,
    }
    return _ShownTrajectory(trajectory, language, transcript, values)


def _whole_run(name: str, shown: _ShownTrajectory, values: Mapping[str, str]) -> Case:
    """One verdict on all that an agent did."""
    detail = {"transcript": shown.transcript.detail()}
    return Case(name, shown.language, {**shown.values, **values}, yes_or_no(REASON_TOKENS), is_most, detail)


@takes_model
@dataclass(frozen=True, slots=True)
class GoalReached(CaseScorer):
    """Whether an agent, or a conversation, reached the goal, by a judge: 1 or 0.

    Args:
        goal: of every sample. Empty: the key `goal` of the sample's metadata, else what the sample asks.
        window_tokens: estimated tokens of the transcript that is shown; of a longer one the middle is left out.
        template: a prompt of your own; may use `{{question}}`, `{{goal}}`, `{{reference}}`, `{{transcript}}`,
            `{{answer}}` (all fenced; what is not there is empty), `{{left_out}}` and `{{mark}}`.
    """

    score_infos: ClassVar[tuple[ScoreInfo, ...]] = (
        ScoreInfo("goal_reached", (0.0, 1.0), threshold=1.0, labels=("reached", "not reached")),
    )
    stage_info: ClassVar[StageInfo] = StageInfo(mock_reply="Verdict: YES")

    asks: ClassVar[Mapping[str, PromptForm]] = {
        "goal_reached": PromptForm(
            ("question", "goal", "reference", "transcript", "answer"), ("left_out",), needed=("transcript",)
        )
    }

    goal: OwnWords = ""
    window_tokens: _WindowTokens = WINDOW_TOKENS
    template: Path | str = ""

    def case(self, sample: Sample, output: Output) -> Case | Score:
        """A trajectory and the goal."""
        name = "goal_reached"
        shown = _shown(name, sample, output, self.judge, self.window_tokens)
        if isinstance(shown, Score):
            return shown
        goal = self.goal.strip() or _goal_or_plan(sample.metadata.get("goal")) or shown.values["question"]
        return _whole_run(name, shown, {"goal": goal, "reference": reference_of(sample)})


@takes_model
@dataclass(frozen=True, slots=True)
class PlanFollowed(CaseScorer):
    """Whether an agent did what its plan says, by a judge: 1 or 0; not applicable without a plan.

    Args:
        plan: of every sample. Empty: the key `plan` of the sample's metadata, a text or a list of steps.
        window_tokens: as of `goal_reached`.
        template: a prompt of your own; may use `{{question}}`, `{{plan}}`, `{{transcript}}`, `{{answer}}` (all
            fenced), `{{left_out}}` and `{{mark}}`.
    """

    score_infos: ClassVar[tuple[ScoreInfo, ...]] = (
        ScoreInfo("plan_followed", (0.0, 1.0), threshold=1.0, labels=("followed", "not followed")),
    )
    stage_info: ClassVar[StageInfo] = StageInfo(mock_reply="Verdict: YES")

    asks: ClassVar[Mapping[str, PromptForm]] = {
        "plan_followed": PromptForm(("question", "plan", "transcript", "answer"), ("left_out",), needed=("transcript",))
    }

    plan: OwnWords = ""
    window_tokens: _WindowTokens = WINDOW_TOKENS
    template: Path | str = ""

    def case(self, sample: Sample, output: Output) -> Case | Score:
        """A trajectory and the plan."""
        name = "plan_followed"
        plan = self.plan.strip() or _goal_or_plan(sample.metadata.get("plan"))
        if not plan:
            return not_applicable(name, "there is no plan: set plan, or the key 'plan' of the sample's metadata")
        shown = _shown(name, sample, output, self.judge, self.window_tokens)
        return shown if isinstance(shown, Score) else _whole_run(name, shown, {"plan": plan})


@takes_model
@dataclass(frozen=True, slots=True)
class StepsJustified(CaseScorer):
    """The share of an agent's calls of tools that were justified by what it knew then, by a judge; one call judges all.

    At most 30 calls are judged, those of messages that the window shows; the score's detail says how many there were.
    Where the verdict on one of them cannot be read the score is unparsed: no share is computed over fewer steps.

    Args:
        window_tokens: as of `goal_reached`.
        threshold: the lowest share that passes; null: nothing passes or fails.
        template: a prompt of your own; may use `{{question}}`, `{{transcript}}`, `{{steps}}` (all fenced),
            `{{count}}`, `{{left_out}}` and `{{mark}}`.
    """

    stage_info: ClassVar[StageInfo] = StageInfo(
        mock_reply="\n".join(f"{no}. Needed. Verdict: YES" for no in range(1, _MOST_STEPS + 1))
    )
    asks: ClassVar[Mapping[str, PromptForm]] = {
        "steps_justified": PromptForm(
            ("question", "transcript", "steps"), ("count", "left_out"), needed=("transcript", "steps")
        )
    }

    window_tokens: _WindowTokens = WINDOW_TOKENS
    threshold: Share | None = None
    template: Path | str = ""

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """A share."""
        return (ScoreInfo("steps_justified", (0.0, 1.0), threshold=self.threshold),)

    def case(self, sample: Sample, output: Output) -> Case | Score:
        """A trajectory and its calls of tools."""
        name = "steps_justified"
        shown = _shown(name, sample, output, self.judge, self.window_tokens)
        if isinstance(shown, Score):
            return shown
        trajectory, language, transcript, values = shown
        calls = [call for call in trajectory.calls if call.message in set(transcript.shown)][:_MOST_STEPS]
        if not calls:
            return not_applicable(name, "no tool was called", lacks="calls of tools")
        steps = "\n".join(
            f"{no}. [{call.message + 1}] "
            + " ".join(shorten(call_text({"name": call.name, "arguments": call.arguments}), _SHOWN_STEP).split())
            for no, call in enumerate(calls, start=1)
        )
        values |= {"steps": steps, "count": str(len(calls))}
        detail = {
            "transcript": transcript.detail(),
            "calls": len(trajectory.calls),
            "judged": len(calls),
            "steps": [call.name for call in calls],
        }
        form = numbered(len(calls), TOKENS_EACH * len(calls))
        return Case(name, language, values, form, at_least(self.threshold), detail)

    def scores(self, case: Case, repeats: Repeats) -> Score:
        """The share of steps that are justified, with the verdict on each."""
        steps = [_step(name, verdict) for name, verdict in zip(case.detail["steps"], repeats[0], strict=True)]
        return scored(case, repeats, {"steps": steps})


def _step(name: str, verdict: Verdict) -> Mapping[str, Any]:
    return {"tool": name, "verdict": verdict.label or verdict.kind or verdict.outcome, "reason": verdict.reason}
