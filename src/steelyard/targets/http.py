"""Any JSON endpoint as a target: a knowledge-base chat, an agent, an application's own address."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from steelyard.models.http import HttpModel, shows_messages
from steelyard.prompts.agent_messages import MESSAGES, steps_of_reply
from steelyard.prompts.conversation import conversation_asked, is_messages
from steelyard.prompts.sample_values import (
    SAMPLE_NAMES,
    Draw,
    SampleView,
    asks_the_question,
    check_placeholders,
    has_transcript,
    sample_values,
    shows_metadata,
    shows_passage,
    values_with_examples,
)
from steelyard.prompts.template import load_template, names_in, names_of, render
from steelyard.types import Asks, Message, Output, Sample

_CHINESE: Final = re.compile(r"[\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class HttpEndpoint(HttpModel):
    """An endpoint that is itself the system under test; its keys are those of the `http` model and one more.

    The body may also use what a template may: `{{question}}`, `{{passage}}`, `{{transcript}}`, `{{options}}`,
    `{{options_as_list}}`, `{{choices}}`, `{{letters}}`, `{{contexts}}`, `{{id}}`, `{{group}}` and
    `{{metadata.NAME}}`; a template `{{examples}}` too. A conversation needs a place for its earlier turns in the body:
    `{{history}}`, `{{messages}}` or `{{transcript}}`.

    Args:
        template: what becomes `{{prompt}}`: a packaged prompt (`zh/four_options`), a file, or the text itself. Where
            none is given, a sample with options is asked with the packaged prompt of its language, and any other
            with its input as it is.
        examples: solved questions for `{{examples}}`; a suite sets it.
        view: how a sample is shown, such as its schema; a suite sets it.
    """

    template: Path | str = ""
    examples: Draw | None = None
    view: SampleView | None = None

    def placeholders(self) -> tuple[str, ...]:
        """The names that will have a value."""
        return (*HttpModel.placeholders(self), *SAMPLE_NAMES)

    def check(self) -> None:
        """Find what is wrong before anything is sent.

        Raises:
            ConfigError: as for the model, or in the template.
        """
        HttpModel.check(self)
        if self.template:
            check_placeholders(load_template(self.template))

    def manifest(self) -> dict[str, Any]:
        """The words that are sent, so that two versions of a prompt can be told apart."""
        return {"text": load_template(self.template)} if self.template else {}

    @property
    def without_question(self) -> str:
        """Why every sample would be sent the same; empty where the question has a place."""
        if asks_the_question(*self._own_places):
            return ""
        if not shows_messages([self.url, self.body]):
            return "the body has none of {{prompt}}, {{messages}}, {{question}} and {{transcript}}"
        asks = not self.template or asks_the_question(load_template(self.template))
        return "" if asks else "the template has no {{question}}"

    @property
    def _own_places(self) -> list[str]:
        """The placeholders of the address and the body."""
        return [f"{{{{{name}}}}}" for name in names_in([self.url, self.body])]

    def shows(self, key: str) -> bool:
        """Whether the endpoint is shown a key of the samples' metadata."""
        return shows_metadata(key, *self._texts)

    @property
    def filled_names(self) -> frozenset[str]:
        """The placeholders in what is sent; messages without a template of their own are the question."""
        own = names_of(*self._own_places)
        if self.template:
            return own | names_of(load_template(self.template))
        return own | {"question"} if shows_messages([self.url, self.body]) else own

    @property
    def _texts(self) -> list[str]:
        """The placeholders of the address and the body, and the template."""
        return [*self._own_places, *([load_template(self.template)] if self.template else [])]

    async def __call__(self, sample: Sample, ask: Asks) -> Output:
        """Ask the endpoint once; the output has the passages that it retrieved, and the messages of an agent."""
        shown: Mapping[str, Any] = {}
        if self.view is not None:
            sample, shown = await self.view(sample, ask)
        reply = await ask(
            self, self.messages(sample), **sample_values(sample, passage_apart=shows_passage(*self._texts))
        )
        metadata: dict[str, Any] = {**shown, **({} if reply.finish == "stop" else {"finish": reply.finish})}
        metadata |= {key: reply.metadata[key] for key in ("kb_miss", "sources") if reply.metadata.get(key)}
        if MESSAGES in reply.metadata:
            metadata |= steps_of_reply(reply)
        return Output(reply.text, tuple(reply.metadata.get("contexts", ())), metadata)

    def messages(self, sample: Sample) -> str | list[Message]:
        """The prompt or messages to send for a sample; messages are sent as they are where no template is given."""
        template = self.template or default_template(sample)
        if template:
            text = load_template(template)
            apart = shows_passage(*self._texts)
            filled = render(text, values_with_examples(sample, text, self.examples, passage_apart=apart))
            conversation = conversation_asked(sample.input, filled, has_transcript=has_transcript(text))
            return filled if len(conversation) == 1 and conversation[0]["content"] == filled else conversation
        if is_messages(sample.input):
            return list(sample.input)
        question: str = sample_values(sample, passage_apart=shows_passage(*self._texts))["question"]
        return question


def default_template(sample: Sample) -> str:
    """The packaged prompt for a sample with options, in the language of its question; else "".

    >>> default_template(Sample("1", "Who?", choices=("a", "b"))), default_template(Sample("2", "Who?"))
    ('en/four_options', '')
    """
    if not sample.choices:
        return ""
    language = "zh" if _CHINESE.search(f"{sample.input} {sample.choices}") else "en"
    return f"{language}/{'with_contexts' if sample.contexts else 'four_options'}"
