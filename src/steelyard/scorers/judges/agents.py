"""Judges of what an agent did: was the goal reached, were its steps justified, did it follow its plan?

They see the messages stored in the output, within a window (see `prompts.agent_transcript`); the prompt and the score's
detail say what was left out. An output without messages is not applicable: an answer alone does not show what was done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

from steelyard.errors import expect_number
from steelyard.prompts.agent_transcript import WindowedTranscript, call_text, shorten, windowed_transcript
from steelyard.prompts.conversation import transcript_of
from steelyard.prompts.fenced_prompt import FencedPrompt, prompts_manifest
from steelyard.prompts.language import Language
from steelyard.prompts.template import refuse_file_names
from steelyard.prompts.trajectory import Trajectory, read_trajectory
from steelyard.replies.answer_text import answer_of
from steelyard.replies.verdict import Verdict
from steelyard.replies.yes_no import read_yes_no
from steelyard.scorers.judges.judge import (
    Judge,
    combined_verdict,
    no_answer,
    not_applicable,
    read_numbered,
    reference_of,
    score_of,
    takes_model,
    unless_stopped,
)
from steelyard.session.replies import refused_before
from steelyard.types import Asks, Message, Output, Reply, Sample, Score, ScoreInfo, StageInfo

WINDOW_TOKENS: Final = 6000
_LEAST_WINDOW: Final = 200
_MOST_WINDOW: Final = 1_000_000
_REASON_TOKENS: Final = 512
_TOKENS_EACH: Final = 150
_MOST_STEPS: Final = 30
"""Limit of calls that one reply judges: more verdicts would not fit."""
_SHOWN_STEP: Final = 60
"""Estimated tokens of a call in the list of steps; the transcript shows it whole."""


def _check_window(tokens: int) -> None:
    expect_number("window_tokens", tokens, _LEAST_WINDOW, _MOST_WINDOW, whole=True)


def _read(reply: Reply) -> Verdict:
    return unless_stopped(read_yes_no(reply.text, finish=reply.finish), reply)


def _goal_or_plan(value: Any) -> str:
    """A goal or plan as text; a list has one line for each entry."""
    if isinstance(value, list | tuple):
        return "\n".join(f"{no}. {text}" for no, text in enumerate(value, start=1) if str(text).strip())
    return "" if value is None else str(value).strip()


def _trajectory(name: str, output: Output) -> Trajectory | Score:
    """The trajectory to judge, or the score of an output that has none."""
    if refused_before(output):
        return no_answer(name)
    trajectory = read_trajectory(output)
    return not_applicable(name, trajectory, lacks="a trajectory") if isinstance(trajectory, str) else trajectory


def _shown(
    trajectory: Trajectory, sample: Sample, output: Output, judge: Judge, tokens: int
) -> tuple[Language, WindowedTranscript, dict[str, str]]:
    """The language, the transcript, and the values that every prompt of this module may show."""
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
    return language, transcript, values


async def _yes_no_score(
    name: str,
    judge: Judge,
    ask: Asks,
    messages: list[Message],
    *,
    answer: str,
    transcript: WindowedTranscript,
) -> Score:
    """The score of one question about the whole trajectory, which the judge answers with yes or no."""
    verdicts = await judge.verdicts(ask, messages, _read, schema=judge.yes_no_schema(), max_tokens=_REASON_TOKENS)
    detail = {"transcript": transcript.detail()}
    return score_of(name, verdicts, candidate=answer, passes=lambda value: value > 1 / 2, detail=detail)


@takes_model
@dataclass(frozen=True, slots=True)
class GoalReached:
    """Whether an agent, or a conversation, reached the goal, by a judge: 1 or 0.

    Args:
        judge: the model that judges.
        goal: of every sample. Empty: the key `goal` of the sample's metadata, else what the sample asks.
        window_tokens: estimated tokens of the transcript that is shown; of a longer one the middle is left out.
        template: a prompt of your own; may use `{{question}}`, `{{goal}}`, `{{reference}}`, `{{transcript}}`,
            `{{answer}}` (all fenced; what is not there is empty), `{{left_out}}` and `{{mark}}`.
        system: a system message before it, as a text or a file, which may name the same values.
    """

    score_infos: ClassVar[tuple[ScoreInfo, ...]] = (
        ScoreInfo("goal_reached", (0.0, 1.0), threshold=1.0, labels=("reached", "not reached")),
    )
    stage_info: ClassVar[StageInfo] = StageInfo(mock_reply="Verdict: YES")

    judge: Judge = Judge()
    goal: str = ""
    window_tokens: int = WINDOW_TOKENS
    template: Path | str = ""
    system: Path | str = ""

    def check(self) -> None:
        """Check the settings.

        Raises:
            ConfigError: a window out of range, a goal that is a file's name, or a prompt that cannot be trusted.
        """
        _check_window(self.window_tokens)
        refuse_file_names(goal=self.goal)
        self._prompt.check()

    @property
    def prompts(self) -> dict[str, FencedPrompt]:
        """The prompts that are sent, by their names in the manifest."""
        return {"goal_reached": self._prompt}

    def manifest(self) -> dict[str, Any]:
        """The prompts and their hashes."""
        return prompts_manifest(**self.prompts)

    async def __call__(self, sample: Sample, output: Output, ask: Asks) -> Score:
        """Judge one trajectory."""
        name = "goal_reached"
        trajectory = _trajectory(name, output)
        if isinstance(trajectory, Score):
            return trajectory
        language, transcript, values = _shown(trajectory, sample, output, self.judge, self.window_tokens)
        goal = self.goal.strip() or _goal_or_plan(sample.metadata.get("goal")) or values["question"]
        messages = self._prompt.messages(language, {**values, "goal": goal, "reference": reference_of(sample)})
        return await _yes_no_score(name, self.judge, ask, messages, answer=values["answer"], transcript=transcript)

    @property
    def _prompt(self) -> FencedPrompt:
        fenced = ("question", "goal", "reference", "transcript", "answer")
        return self.judge.prompt(
            "goal_reached", self.template, fenced, ("left_out",), needed=("transcript",), system=self.system
        )


@takes_model
@dataclass(frozen=True, slots=True)
class PlanFollowed:
    """Whether an agent did what its plan says, by a judge: 1 or 0; not applicable without a plan.

    Args:
        judge: the model that judges.
        plan: of every sample. Empty: the key `plan` of the sample's metadata, a text or a list of steps.
        window_tokens: as of `goal_reached`.
        template: a prompt of your own; may use `{{question}}`, `{{plan}}`, `{{transcript}}`, `{{answer}}` (all
            fenced), `{{left_out}}` and `{{mark}}`.
        system: a system message before it, as a text or a file, which may name the same values.
    """

    score_infos: ClassVar[tuple[ScoreInfo, ...]] = (
        ScoreInfo("plan_followed", (0.0, 1.0), threshold=1.0, labels=("followed", "not followed")),
    )
    stage_info: ClassVar[StageInfo] = StageInfo(mock_reply="Verdict: YES")

    judge: Judge = Judge()
    plan: str = ""
    window_tokens: int = WINDOW_TOKENS
    template: Path | str = ""
    system: Path | str = ""

    def check(self) -> None:
        """Check the settings.

        Raises:
            ConfigError: a window out of range, a plan that is a file's name, or a prompt that cannot be trusted.
        """
        _check_window(self.window_tokens)
        refuse_file_names(plan=self.plan)
        self._prompt.check()

    @property
    def prompts(self) -> dict[str, FencedPrompt]:
        """The prompts that are sent, by their names in the manifest."""
        return {"plan_followed": self._prompt}

    def manifest(self) -> dict[str, Any]:
        """The prompts and their hashes."""
        return prompts_manifest(**self.prompts)

    async def __call__(self, sample: Sample, output: Output, ask: Asks) -> Score:
        """Judge one trajectory."""
        name = "plan_followed"
        plan = self.plan.strip() or _goal_or_plan(sample.metadata.get("plan"))
        if not plan:
            return not_applicable(name, "there is no plan: set plan, or the key 'plan' of the sample's metadata")
        trajectory = _trajectory(name, output)
        if isinstance(trajectory, Score):
            return trajectory
        language, transcript, values = _shown(trajectory, sample, output, self.judge, self.window_tokens)
        messages = self._prompt.messages(language, {**values, "plan": plan})
        return await _yes_no_score(name, self.judge, ask, messages, answer=values["answer"], transcript=transcript)

    @property
    def _prompt(self) -> FencedPrompt:
        fenced = ("question", "plan", "transcript", "answer")
        return self.judge.prompt(
            "plan_followed", self.template, fenced, ("left_out",), needed=("transcript",), system=self.system
        )


@takes_model
@dataclass(frozen=True, slots=True)
class StepsJustified:
    """The share of an agent's calls of tools that were justified by what it knew then, by a judge; one call judges all.

    At most 30 calls are judged, those of messages that the window shows; the score's detail says how many there were.
    Where the verdict on one of them cannot be read the score is unparsed: no share is computed over fewer steps.

    Args:
        judge: the model that judges.
        window_tokens: as of `goal_reached`.
        threshold: the lowest share that passes; null: nothing passes or fails.
        template: a prompt of your own; may use `{{question}}`, `{{transcript}}`, `{{steps}}` (all fenced),
            `{{count}}`, `{{left_out}}` and `{{mark}}`.
        system: a system message before it, as a text or a file, which may name the same values.
    """

    judge: Judge = Judge()
    window_tokens: int = WINDOW_TOKENS
    threshold: float | None = None
    template: Path | str = ""
    system: Path | str = ""

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """A share."""
        return (ScoreInfo("steps_justified", (0.0, 1.0), threshold=self.threshold),)

    @property
    def stage_info(self) -> StageInfo:
        """The mock reply of a dry run: every step is justified."""
        return StageInfo(mock_reply="\n".join(f"{no}. Needed. Verdict: YES" for no in range(1, _MOST_STEPS + 1)))

    def check(self) -> None:
        """Check the settings.

        Raises:
            ConfigError: a window or threshold out of range, or a prompt that cannot be trusted.
        """
        _check_window(self.window_tokens)
        if self.threshold is not None:
            expect_number("threshold", self.threshold, 0, 1)
        self._prompt.check()

    @property
    def prompts(self) -> dict[str, FencedPrompt]:
        """The prompts that are sent, by their names in the manifest."""
        return {"steps_justified": self._prompt}

    def manifest(self) -> dict[str, Any]:
        """The prompts and their hashes."""
        return prompts_manifest(**self.prompts)

    async def __call__(self, sample: Sample, output: Output, ask: Asks) -> Score:
        """Judge one trajectory."""
        name = "steps_justified"
        trajectory = _trajectory(name, output)
        if isinstance(trajectory, Score):
            return trajectory
        language, transcript, values = _shown(trajectory, sample, output, self.judge, self.window_tokens)
        calls = [call for call in trajectory.calls if call.message in set(transcript.shown)][:_MOST_STEPS]
        if not calls:
            return not_applicable(name, "no tool was called", lacks="calls of tools")
        steps = "\n".join(
            f"{no}. [{call.message + 1}] "
            + " ".join(shorten(call_text({"name": call.name, "arguments": call.arguments}), _SHOWN_STEP).split())
            for no, call in enumerate(calls, start=1)
        )
        messages = self._prompt.messages(language, {**values, "steps": steps, "count": str(len(calls))})
        read = partial(read_numbered, n=len(calls))
        schema, tokens = self.judge.numbered_schema(), _TOKENS_EACH * len(calls)
        repeats = await self.judge.verdicts(ask, messages, read, schema=schema, max_tokens=tokens)
        threshold = self.threshold
        return score_of(
            name,
            [combined_verdict(verdicts, _share(verdicts)) for verdicts in repeats],
            candidate=values["answer"],
            passes=None if threshold is None else lambda value: value >= threshold,
            detail={
                "transcript": transcript.detail(),
                "calls": len(trajectory.calls),
                "judged": len(calls),
                "steps": [_step(call.name, verdict) for call, verdict in zip(calls, repeats[0], strict=True)],
            },
        )

    @property
    def _prompt(self) -> FencedPrompt:
        fenced = ("question", "transcript", "steps")
        plain = ("count", "left_out")
        return self.judge.prompt(
            "steps_justified", self.template, fenced, plain, needed=("transcript", "steps"), system=self.system
        )


def _share(verdicts: Sequence[Verdict]) -> float:
    return sum(verdict.value == 1 for verdict in verdicts) / len(verdicts)


def _step(name: str, verdict: Verdict) -> Mapping[str, Any]:
    return {"tool": name, "verdict": verdict.label or verdict.kind or verdict.outcome, "reason": verdict.reason}
