"""A conversation as target: a model plays a user and talks to a target, turn by turn.

Every turn is journalled by itself, the user's and the target's: a run that was killed pays again only for the turn that
was in flight. The user's calls are counted under a stage of their own, so that the cost of the system under test can be
told apart. What the user's model refuses to say, or says in a form that cannot be read, is an error of the record and
never an end of the conversation: the target has no part in it.

Source: the design follows tau-bench (Yao et al. 2024, arXiv 2406.12045), where the user is a model with a scenario.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal

from steelyard.constraints import Seed, Within
from steelyard.errors import ConfigError, DataError, ModelError
from steelyard.models.base import AskedModel, CallParameters, ModelInfo
from steelyard.models.refused_parameters import without_second_limit
from steelyard.prompts.agent_messages import (
    CONTEXTS,
    CONVERSATION,
    MESSAGES,
    USAGE,
    last_answer,
    summed_usage,
    tokens_in,
)
from steelyard.prompts.conversation import is_messages, question_of
from steelyard.prompts.fenced_prompt import FencedPrompt, prompts_manifest
from steelyard.prompts.language import LanguageSetting, prompt_language
from steelyard.prompts.message_parts import shown_content
from steelyard.prompts.sample_values import check_placeholders, sample_values
from steelyard.prompts.template import OwnWords, names_of, render
from steelyard.prompts.trajectory import windowed_transcript
from steelyard.replies.answer_text import answer_of
from steelyard.replies.user_turn import UserTurn, read_user_turn
from steelyard.session.replies import refused_before
from steelyard.session.session import ask_of_stage
from steelyard.types import Asks, Message, Output, Sample, StageInfo, Target

STAGE: Final = "simulated_user"
_STOP: Final = {
    "en": "you have what you want, or it is clear that you will not get it.",
    "zh": "目标已经达到，或者显然无法达到。",
}
_TRIES: Final = 2
"""How often a user's turn is asked for; each try is a call of its own in the journal."""
_MOST_TURNS: Final = 100
_REPLY_TOKENS: Final = 512
_USERS: Final = frozenset({"user", "human"})

Ended = Literal["done", "most_turns", "no_more_turns", "target_refused"]


@dataclass(frozen=True, slots=True)
class SimulatedUser:
    """A user, played by a model, who talks to a target until the goal is reached; the whole conversation is the output.

    The first words are the sample's input: a text, or messages. Messages of the user alone are said one after the
    other, each after the target's answer; of a conversation with answers in it, the last message of the user is the
    first turn, behind the others. Then the model goes on, or the conversation ends where there is no model. The target
    is given the conversation so far as messages: what was said, without the calls of tools.

    `metadata["messages"]` has all messages, with the target's calls of tools; `metadata["conversation"]` has `turns`
    and how it `ended`: `done` (the user says so), `most_turns`, `no_more_turns` (no model goes on) or `target_refused`.
    The output's value is the last answer.

    Args:
        target: who is talked to: a prompt, an endpoint, a function, an agent.
        model: what plays the user; null: only what the samples say is said.
        goal: what the user wants; `{{question}}` and `{{metadata.NAME}}` are filled in. Empty: the key `goal` of the
            sample's metadata, else its input.
        persona: who the user is; filled likewise. Empty: the key `persona` of the sample's metadata, or nobody special.
        stop: when the user is done, in words. Empty: when it has what it wants, or clearly will not get it.
        most_turns: the most messages of the user.
        opens: `sample`: the sample's input is said first; `user`: the model writes the first message from the goal.
        seed: sent with each call of the user's model, another one for each sample, repeat and turn; null: none.
        parameters: of every call of the user's model.
        language: of the user's prompt; `auto` is that of goal and conversation.
        window_tokens: estimated tokens of the conversation that the user's model is shown; the middle is left out.
        template: a prompt of your own; may use `{{goal}}`, `{{persona}}`, `{{transcript}}` (all fenced), `{{stop}}`,
            `{{left_out}}` and `{{mark}}`, and asks for `{"message": ..., "done": ...}`.
    """

    stage_info: ClassVar[StageInfo] = StageInfo(mock_reply='{"message": "...", "done": false}')
    other_stages: ClassVar[tuple[str, ...]] = (STAGE,)

    target: Target
    model: AskedModel | None = None
    goal: OwnWords = ""
    persona: OwnWords = ""
    stop: OwnWords = ""
    most_turns: Annotated[int, Within(1, _MOST_TURNS)] = 8
    opens: Literal["sample", "user"] = "sample"
    seed: Seed | None = 0
    parameters: CallParameters = field(default_factory=dict)
    language: LanguageSetting = "auto"
    window_tokens: Annotated[int, Within(200, 1_000_000)] = 4000
    template: Path | str = ""

    def check(self) -> None:
        """Check the settings.

        Raises:
            ConfigError: no target to talk to, no model where the user opens, an unknown placeholder, or a prompt
                that cannot be trusted.
        """
        if isinstance(self.target, SimulatedUser) or hasattr(self.target, "sides"):
            raise ConfigError(f"target: a simulated user cannot talk to a {type(self.target).__name__}")
        if self.opens == "user" and self.model is None:
            raise ConfigError("opens: user needs a model that plays the user")
        for text in (self.goal, self.persona):
            check_placeholders(text)
        self._prompt.check()

    def manifest(self) -> dict[str, Any]:
        """The prompt of the user and its hash."""
        return prompts_manifest(simulated_user=self._prompt) if self.model is not None else {}

    @property
    def without_question(self) -> str:
        """Why every sample would be sent the same, as reported by the target that is talked to."""
        return str(getattr(self.target, "without_question", ""))

    @property
    def filled_names(self) -> frozenset[str]:
        """The placeholders in what is sent, by the target that is talked to as well."""
        return names_of(self.goal, self.persona) | getattr(self.target, "filled_names", frozenset())

    async def __call__(self, sample: Sample, ask: Asks, call_target: Any) -> Output:
        """Hold one conversation.

        Args:
            sample: what it is about.
            ask: calls models.
            call_target: `(target, sample, ask, turn) -> Output`; keeps what a target returns that asks by itself.

        Raises:
            ModelError: a call failed for good, or the user's model refused or said nothing that can be read.
            DataError: the sample has nothing to say first.
        """
        history, turns = self._opening(sample)
        if self.opens == "sample" and not (history or turns):
            raise DataError(f"sample {sample.id!r}: its input holds no message of the user, so nothing is said first")
        if any(not shown_content(words).strip() for words in turns):
            raise DataError(f"sample {sample.id!r}: a message of the user in its input is blank")
        spoken: list[Message] = list(history)
        messages: list[Mapping[str, Any]] = []
        outputs: list[Output] = []
        ended: Ended = "most_turns"
        while len(outputs) < self.most_turns:
            words = turns.pop(0) if turns else await self._next(sample, ask, spoken, len(outputs))
            if words is None:
                ended = "no_more_turns" if self.model is None else "done"
                break
            turn: Message = {"role": "user", "content": words}
            spoken.append(turn)
            output = await call_target(self.target, replace(sample, input=list(spoken)), ask, len(outputs))
            outputs.append(output)
            messages += [turn, *_messages_of(output)]
            spoken.append({"role": "assistant", "content": answer_of(output)})
            if refused_before(output):
                ended = "target_refused"
                break
        return self._output(outputs, messages, ended)

    def _output(self, outputs: list[Output], messages: list[Mapping[str, Any]], ended: Ended) -> Output:
        if not outputs:
            if self.model is None:
                raise DataError("the sample's input holds nothing that the target could answer, and no model goes on")
            raise ModelError("the simulated user ended the conversation before it began", kind="user_unparsed")
        last = outputs[-1]
        metadata: dict[str, Any] = {
            MESSAGES: messages,
            CONVERSATION: {
                "turns": len(outputs),
                "ended": ended,
                **({"opens": "user"} if self.opens == "user" else {}),
            },
        }
        usages = [output.metadata.get(USAGE) for output in outputs]
        if all(usage is not None for usage in usages) and (usage := summed_usage(map(tokens_in, usages))):
            metadata[USAGE] = usage
        if finish := last.metadata.get("finish"):
            metadata["finish"] = finish
        contexts = list(dict.fromkeys(passage for output in outputs for passage in output.contexts))
        if contexts:
            number = {passage: at for at, passage in enumerate(contexts)}
            metadata[CONVERSATION][CONTEXTS] = [[number[context] for context in output.contexts] for output in outputs]
        return Output(last.value, tuple(contexts), metadata)

    def _opening(self, sample: Sample) -> tuple[list[Message], list[Any]]:
        """The earlier messages of the sample's input, and the user's turns that it gives."""
        if self.opens == "user":
            return [], []
        value = sample.input
        if not is_messages(value):
            return [], [] if value is None or value == [] else [question_of(value)]
        roles = [str(message["role"]).lower() for message in value]
        before = [message for message, role in zip(value, roles, strict=True) if role in {"system", "developer"}]
        if not any(role == "assistant" for role in roles):
            return before, [message.get("content") for message in value if str(message["role"]).lower() in _USERS]
        last = max((at for at, role in enumerate(roles) if role in _USERS), default=-1)
        if last < len(value) - 1:
            return list(value), []
        return list(value[:last]), [value[last].get("content")]

    async def _next(self, sample: Sample, ask: Asks, spoken: list[Message], turn: int) -> str | None:
        """What the user says next; None where the conversation is over.

        Raises:
            ModelError: the model refused, or nothing can be read in its replies.
        """
        if self.model is None:
            return None
        asking = ask_of_stage(ask, STAGE)
        messages = self._messages(sample, spoken)
        own = {**ModelInfo.of(self.model).parameters, **self.parameters}
        ours = {"max_tokens": _REPLY_TOKENS, "seed": self._seed(sample, ask.repeat, turn)}
        merged = {**without_second_limit(ours, own), **self.parameters}
        parameters = {name: value for name, value in merged.items() if value is not None}
        read = UserTurn()
        for _ in range(_TRIES):
            read = read_user_turn(await asking(self.model, messages, **parameters))
            if read.kind in {"", "refused"}:
                break
        if read.kind == "refused":
            raise ModelError(f"turn {turn + 1}: the model that plays the user refused", kind="user_refused")
        if read.kind:
            message = f"turn {turn + 1}: nothing can be read in what the simulated user says ({read.kind})"
            raise ModelError(message, kind="user_unparsed")
        return None if read.done else read.message

    def _messages(self, sample: Sample, spoken: list[Message]) -> list[Message]:
        shown = [{"role": _role(message), "content": shown_content(message.get("content"))} for message in spoken]
        shown = [message for message in shown if message["role"] in {"user", "assistant"}]
        values = sample_values(sample)
        goal = self._words(self.goal, "goal", sample, values) or values["transcript"]
        persona = self._words(self.persona, "persona", sample, values)
        language = prompt_language(self.language, goal, *(message["content"] for message in shown))
        window = windowed_transcript(shown, self.window_tokens, language)
        parts = {"goal": goal, "persona": persona, "transcript": window.text}
        stop = self.stop.strip() or _STOP[language]
        return self._prompt.messages(language, {**parts, "stop": stop, "left_out": window.note})

    @staticmethod
    def _words(setting: str, key: str, sample: Sample, values: Mapping[str, Any]) -> str:
        value = sample.metadata.get(key)
        return render(setting, values) if setting.strip() else "" if value is None else str(value).strip()

    def _seed(self, sample: Sample, repeat: int, turn: int) -> int | None:
        if self.seed is None:
            return None
        drawn = f"{self.seed}\0{sample.id}\0{repeat}\0{turn}".encode("utf-8", "surrogatepass")
        return int.from_bytes(blake2b(drawn, digest_size=4).digest(), "big") >> 1

    @property
    def _prompt(self) -> FencedPrompt:
        fenced = ("goal", "persona", "transcript")
        return FencedPrompt(STAGE, self.template, fenced, ("stop", "left_out"), needed=("transcript",))


def _role(message: Message) -> str:
    role = str(message["role"]).lower()
    return "user" if role in _USERS else role


def _messages_of(output: Output) -> list[Mapping[str, Any]]:
    """The target's own messages of one turn: those that it kept, ended by its answer."""
    answer = {"role": "assistant", "content": answer_of(output)}
    stored = output.metadata.get(MESSAGES)
    if not isinstance(stored, list) or not stored:
        return [answer]
    return stored if last_answer(stored) == answer["content"] else [*stored, answer]
