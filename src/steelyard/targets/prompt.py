"""A prompt sent to a model: the template is rendered from the sample, the reply's text is the output."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.errors import ConfigError
from steelyard.models.base import AskedModel, CallParameters, ModelInfo
from steelyard.prompts.agent_messages import MESSAGES, steps_of_reply
from steelyard.prompts.conversation import conversation_asked, is_messages, with_system
from steelyard.prompts.reply_schema import load_reply_schema, response_format
from steelyard.prompts.sample_values import (
    Draw,
    Form,
    SampleView,
    asks_the_question,
    check_placeholders,
    has_transcript,
    option_label,
    shows_metadata,
    shows_passage,
    values_with_examples,
)
from steelyard.prompts.template import load_template, load_words, names_of, renamed, render, words_of_file
from steelyard.types import Asks, Message, Output, Sample, StageInfo


@dataclass(frozen=True, slots=True)
class TemplateTarget(ABC):
    """A target that sends a template and a system message, both filled from the sample."""

    @property
    @abstractmethod
    def _texts(self) -> tuple[str, str]:
        """The words of the template and of the system message."""

    @property
    def without_question(self) -> str:
        """Why every sample would be sent the same; empty where the question has a place."""
        return "" if asks_the_question(*self._texts) else "the template has no {{question}}"

    def shows(self, key: str) -> bool:
        """Whether the model is shown a key of the samples' metadata."""
        return shows_metadata(key, *self._texts)

    @property
    def filled_names(self) -> frozenset[str]:
        """The placeholders in what is sent."""
        return names_of(*self._texts)


@dataclass(frozen=True, slots=True)
class Prompt(TemplateTarget):
    """One model with one prompt.

    Args:
        model: what answers.
        template: a packaged prompt (`zh/choice`), a file, or the text itself; `{{question}}`, `{{options}}`,
            `{{letters}}`, `{{contexts}}`, `{{id}}`, `{{group}}` and `{{metadata.NAME}}` are filled from the sample,
            `{{examples}}` from the solved questions that the suite draws. `{{question}}` begins with the question's
            passage, unless the prompt has a place for `{{passage}}`. Of a conversation it is put in the place of
            the user's last message, whose question `{{question}}` is, and the other messages are sent around it; a
            template with `{{transcript}}` shows all turns itself and is sent alone.
        system: a system message as a text or a file, or none; filled likewise. It is put before one that a
            conversation begins with, in the same message.
        parameters: of every call, over those of the model.
        reply: the JSON schema that the reply is to follow, sent as `response_format`: `choice` (one letter of the
            sample's options), `choice_reasoned` (with the reasoning first), `choices` (several letters), `sql` (one
            text of that name), `create_select` (two), the path of a .json file, or the schema itself. Empty: none.
        examples: solved questions for `{{examples}}`; a suite sets it.
        view: how a sample is shown, such as its schema; a suite sets it.
        columns: what names of your own stand for in template and system message, such as
            `{ticket: question, channel: metadata.channel}`; the general suite sets it from the dataset's columns.
    """

    model: AskedModel
    template: Path | str = "{{question}}"
    system: Path | str = ""
    parameters: CallParameters = field(default_factory=dict)
    reply: Path | str | Mapping[str, Any] = ""
    examples: Draw | None = None
    view: SampleView | None = None
    columns: Mapping[str, str] = field(default_factory=dict)

    def check(self) -> None:
        """Find an unknown placeholder, or a missing file or schema, before anything is sent.

        Raises:
            ConfigError: which of these, and the allowed values.
        """
        for text in self._texts:
            check_placeholders(text)
        if self.reply:
            load_reply_schema(self.reply)
            if "response_format" in {**ModelInfo.of(self.model).parameters, **self.parameters}:
                raise ConfigError("reply and a response_format among the parameters: give one of them")

    def manifest(self) -> dict[str, Any]:
        """The words that are sent, so that two versions of a prompt can be told apart."""
        schema = {"reply_schema": load_reply_schema(self.reply)} if self.reply else {}
        return {"text": load_template(self.template), **words_of_file(self.system, "system"), **schema}

    @property
    def stage_info(self) -> StageInfo:
        """What is sent can be built again, except with examples that were drawn."""
        return StageInfo(is_rebuilt=self.examples is None)

    @property
    def without_question(self) -> str:
        """Why every sample would be sent the same; empty where the question has a place."""
        if not asks_the_question(*self._texts):
            return "the template has no {{question}}"
        return ModelInfo.of(self.model).without_question

    async def __call__(self, sample: Sample, ask: Asks) -> Output:
        """Ask the model once."""
        metadata: dict[str, Any] = {}
        if self.view is not None:
            sample, shown = await self.view(sample, ask)
            metadata |= shown
        letters = [option_label(no) for no in range(len(sample.choices))]
        format_parameters = {"response_format": response_format(self.reply, letters)} if self.reply else {}
        reply = await ask(self.model, self.messages(sample), **self.parameters, **format_parameters)
        metadata |= {} if reply.finish == "stop" else {"finish": reply.finish}
        # A model that was offered tools and called none has made a step too, and is scored for it.
        if self._offers_tools or not reply.metadata.keys().isdisjoint(("tool_calls", MESSAGES)):
            metadata |= steps_of_reply(reply)
        return Output(reply.text, tuple(reply.metadata.get("contexts", ())), metadata)

    def messages(self, sample: Sample) -> list[Message]:
        """What is sent for a sample; an input that is a list of messages already is sent as it is."""
        texts = self._texts
        apart = shows_passage(*texts)
        if is_messages(sample.input) and texts[0] == "{{question}}":
            conversation: list[Message] = list(sample.input)
        else:
            asked = self._filled(texts[0], sample, passage_apart=apart)
            conversation = conversation_asked(sample.input, asked, has_transcript=has_transcript(*texts))
        if not self.system:
            return conversation
        return with_system(self._filled(texts[1], sample, passage_apart=apart), conversation)

    @property
    def _offers_tools(self) -> bool:
        return "tools" in self.parameters or "tools" in getattr(self.model, "parameters", ())

    @property
    def _texts(self) -> tuple[str, str]:
        """The words of the template and of the system message, with the names that samples have."""
        words = load_template(self.template), load_words(self.system, "system")
        return (renamed(words[0], self.columns), renamed(words[1], self.columns)) if self.columns else words

    def _filled(self, template: str, sample: Sample, *, passage_apart: bool) -> str:
        values = values_with_examples(sample, template, self.examples, self._form, passage_apart=passage_apart)
        return render(template, values)

    @property
    def _form(self) -> Form:
        """How examples are answered: as the reply is to be, where that is a packaged one."""
        packaged: tuple[Form, ...] = ("choice", "choice_reasoned", "choices", "sql")
        asks_json = '{"sql"' in self._texts[0]
        return next((name for name in packaged if name == self.reply), "sql" if asks_json else "letters")
