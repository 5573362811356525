"""Scores each turn of a conversation with any other scorer: each answer with what was said before it.

The score of a record is that of its whole conversation, the mean over its turns. The verdicts of the turns are in its
detail, from which `steelyard.analysis.summary.repeats_and_turns` computes the rate over all turns of a run, with the
conversations as clusters.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from steelyard.building.wrapped import WrapsOne, infos_of_part, stage_of_part
from steelyard.errors import ConfigError, DataError
from steelyard.prompts.agent_messages import (
    CONTEXTS,
    CONVERSATION,
    LEFT_OUT,
    MESSAGES,
    is_answered_conversation,
    plain_message,
)
from steelyard.prompts.conversation import is_messages
from steelyard.prompts.trajectory import TURNS
from steelyard.types import LACKS, Asks, Message, Output, Sample, Score, ScoreInfo, StageInfo

_END: Final = "_per_turn"
_MOST_REASON: Final = 300
_WORST: Final = ("unparsed", "refused")
"""Outcomes of a turn that leave the conversation without a score: a mean is never one of fewer turns."""


class ConversationTurn(NamedTuple):
    """One turn: the sample with the conversation up to the user's words, and the answer to them."""

    sample: Sample
    output: Output


@dataclass(frozen=True, slots=True)
class PerTurn(WrapsOne):
    """Scores each turn of a conversation by another scorer; the score is the mean over the turns of the conversation.

    A turn is what the target answered to one message of the user: an answer to the conversation so far, with the calls
    of tools on the way to it. An output that keeps no conversation has one turn. The references of turns are those of
    `key`; the sample's own reference is about the whole conversation, and is not used for single turns. A turn to which
    the scorer does not apply is left out; a verdict that is unparsed or refused leaves the conversation without a
    score, and counts as such in the rate over all turns that reports show.

    Args:
        scorer: scores a turn as it would score a sample; its scores are named `..._per_turn` here.
        key: of the samples' metadata with the references of their turns, as a list or its JSON text; null for a turn
            without one.

    >>> from steelyard.scorers import ExactMatch
    >>> PerTurn(ExactMatch()).score_infos[0].name
    'exact_match_per_turn'
    """

    key: str = "turn_references"

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """Those of the scorer; a conversation passes where its mean does, a 0/1 score where every turn passes."""
        return tuple(
            replace(
                info, name=f"{info.name}{_END}", rates="", labels=None, named_verdicts=False, exam=False, per_turn=True
            )
            for info in self._infos
        )

    @property
    def stage_info(self) -> StageInfo:
        """That of the scorer; its name is that of its only score, or of the scorer."""
        inner = stage_of_part(self.scorer)
        return replace(inner, name=f"{inner.name}{_END}")

    @property
    def _infos(self) -> Sequence[ScoreInfo]:
        return infos_of_part(self.scorer)

    def check(self) -> None:
        """Check the settings.

        Raises:
            ConfigError: a scorer that cannot score one turn.
        """
        if isinstance(self.scorer, PerTurn) or stage_of_part(self.scorer).compares_pairs:
            raise ConfigError(f"scorer: {type(self.scorer).__name__} cannot score a turn")
        if not callable(self.scorer) or isinstance(self.scorer, type):
            raise ConfigError(f"scorer: expected a scorer, but got {self.scorer!r:.80}")

    async def __call__(self, sample: Sample, output: Output, ask: Asks, call_scorer: Any) -> list[Score]:
        """Score one conversation.

        Args:
            sample: of the conversation.
            output: with its messages.
            ask: calls models.
            call_scorer: `(scorer, name, turn's sample, its output, ask) -> scores`, each kind of scorer as the runner
                calls it; `name` is that of a score that is a bare number.

        Raises:
            DataError: references of turns that are not a list.
        """
        names = [info.name for info in self._infos]
        turns = conversation_turns(sample, output, self._references(sample))
        if isinstance(turns, str):
            return [
                Score(f"{name}{_END}", None, outcome="not_applicable", reason=turns, detail={LACKS: "turns"})
                for name in names
            ]
        by_name: dict[str, list[Score | None]] = {name: [None] * len(turns) for name in names}
        for at, turn in enumerate(turns):  # one after the other, so that equal calls keep their order in the journal
            for score in await call_scorer(self.scorer, names[0], turn.sample, turn.output, ask):
                by_name.setdefault(score.name, [None] * len(turns))[at] = score
        return [_of_conversation(name, scores) for name, scores in by_name.items()]

    def _references(self, sample: Sample) -> Sequence[Any]:
        references = sample.metadata.get(self.key)
        if isinstance(references, str) and references.strip():
            try:
                references = json.loads(references)
            except (ValueError, RecursionError) as error:
                raise DataError(f"sample {sample.id!r}: {self.key}: expected a JSON list: {error}") from error
        if references is None or references == "":
            return ()
        if not isinstance(references, list | tuple):
            raise DataError(
                f"sample {sample.id!r}: {self.key}: expected a list with an entry per turn, not {references!r:.80}"
            )
        return references


def conversation_turns(sample: Sample, output: Output, references: Sequence[Any] = ()) -> list[ConversationTurn] | str:
    """The turns of a conversation, or the reason why there are none to score.

    >>> lines = [("user", "Hi"), ("assistant", "Hello"), ("user", "Bye"), ("assistant", "See you")]
    >>> messages = [{"role": role, "content": text} for role, text in lines]
    >>> talk = Output("See you", metadata={"messages": messages, "conversation": {"turns": 2}})
    >>> [turn.output.value for turn in conversation_turns(Sample("1", "Hi"), talk)]
    ['Hello', 'See you']
    """
    about = output.metadata.get(CONVERSATION)
    if not isinstance(about, Mapping):
        reference = references[0] if references else sample.reference
        return [ConversationTurn(replace(sample, reference=reference), output)]
    if left_out := output.metadata.get(LEFT_OUT):
        return f"{left_out} messages of the conversation were too many to be stored"
    messages = output.metadata.get(MESSAGES)
    if not is_answered_conversation(messages):
        return "the output's messages are not a list of chat messages with one of the assistant"
    try:
        parts = _parts([plain_message(message) for message in messages])
    except (TypeError, ValueError, RecursionError, AttributeError) as error:
        return f"the messages of the conversation cannot be read: {type(error).__name__}: {error}"[:_MOST_REASON]
    history: list[Message] = [] if about.get("opens") == "user" else _before(sample.input)
    turns = []
    for at, (questions, replies) in enumerate(parts):
        history = [*history, *questions]
        reference = references[at] if at < len(references) else None
        answer = next((message["content"] for message in reversed(replies) if message["role"] == "assistant"), "")
        metadata = {key: value for key, value in output.metadata.items() if key == "finish" and at == len(parts) - 1}
        turn = replace(sample, input=list(history), reference=reference)
        contexts = _contexts_of(output, about.get(CONTEXTS), at)
        turns.append(ConversationTurn(turn, Output(answer, contexts, {**metadata, MESSAGES: replies})))
        history.append({"role": "assistant", "content": answer})
    return turns


def _contexts_of(output: Output, by_turn: Any, at: int) -> tuple[str, ...]:
    """The passages of one turn; those of the whole conversation where an output does not tell its turns apart."""
    if by_turn is None:
        return output.contexts
    try:
        return tuple(output.contexts[number] for number in by_turn[at])
    except (TypeError, IndexError, KeyError):
        return output.contexts


def _parts(messages: Sequence[Mapping[str, Any]]) -> list[tuple[list[Any], list[Any]]]:
    """Turns of a conversation, each with question and answer; a last question without an answer is not a turn."""
    parts: list[tuple[list[Any], list[Any]]] = [([], [])]
    for message in messages:
        if message["role"] == "user" and parts[-1][1]:
            parts.append(([], []))
        parts[-1][message["role"] != "user"].append(message)
    return [part for part in parts if any(message["role"] == "assistant" for message in part[1])]


def _before(sample_input: Any) -> list[Message]:
    """The messages of a sample's input that come before the first turn, as `SimulatedUser` opens a conversation."""
    if not is_messages(sample_input):
        return []
    roles = [str(message["role"]).lower() for message in sample_input]
    if "assistant" not in roles:
        return [message for message, role in zip(sample_input, roles, strict=True) if role in {"system", "developer"}]
    return list(sample_input[:-1]) if roles[-1] in {"user", "human"} else list(sample_input)


def _of_conversation(name: str, scores: Sequence[Score | None]) -> Score:
    """The score of a conversation, from those of its turns."""
    name = f"{name}{_END}"
    turns = [
        {"outcome": "not_applicable", "value": None}
        if score is None
        else {"outcome": score.outcome, "value": score.value, "reason": score.reason[:_MOST_REASON]}
        for score in scores
    ]
    for turn in turns:
        if turn["value"] is not None:
            turn["verdict"] = f"{turn['value']:g}"  # as pages show it
    detail: dict[str, Any] = {TURNS: turns}
    for outcome in _WORST:
        if missing := [no for no, score in enumerate(scores, start=1) if score and score.outcome == outcome]:
            kind = next((score.detail.get("kind") for score in scores if score and score.outcome == outcome), None)
            reason = f"{outcome} in turn {', '.join(map(str, missing))} of {len(scores)}"[:_MOST_REASON]
            kind_detail = {"kind": kind} if isinstance(kind, str) else {}
            return Score(name, None, outcome=outcome, reason=reason, detail={**detail, **kind_detail})
    values = [score.value for score in scores if score is not None and score.value is not None]
    if not values:
        why = next((score.reason for score in scores if score is not None), "") or "no turn was scored"
        if lacks := next((score.detail[LACKS] for score in scores if score and LACKS in score.detail), ""):
            detail[LACKS] = lacks
        return Score(name, None, outcome="not_applicable", reason=why, detail=detail)
    shown = ", ".join("-" if score is None or score.value is None else f"{score.value:g}" for score in scores)
    return Score(name, sum(values) / len(values), reason=f"turns: {shown}"[:_MOST_REASON], detail=detail)
