"""Any JSON endpoint as a target: a knowledge-base chat, an agent, an application's own address."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from steelyard.models.http import HttpModel
from steelyard.text.examples import Draw, values_with_examples
from steelyard.text.prompt_files import (
    SAMPLE_NAMES,
    check_placeholders,
    is_messages,
    load_template,
    sample_values,
)
from steelyard.text.template import render
from steelyard.types import Asks, Message, Output, Sample

_CHINESE: Final = re.compile(r"[\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class HttpEndpoint(HttpModel):
    """An endpoint that is itself the system under test; its keys are those of the `http` model and one more.

    The body may also use what a template may: `{{question}}`, `{{options}}`, `{{choices}}`, `{{letters}}`,
    `{{contexts}}`, `{{id}}`, `{{group}}` and `{{metadata.NAME}}`; a template `{{examples}}` too.

    Args:
        template: what becomes `{{prompt}}`: a packaged prompt (`zh/four_options`), a file, or the text itself. Where
            none is given, a sample with options is asked with the packaged prompt of its language, and any other
            with its input as it is.
        examples: solved questions for `{{examples}}`; a suite sets it.
    """

    template: Path | str = ""
    examples: Draw | None = None

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

    async def __call__(self, sample: Sample, ask: Asks) -> Output:
        """Ask the endpoint once; passages that it retrieved become the output's contexts, with their sources."""
        reply = await ask(self, self.messages(sample), **sample_values(sample))
        metadata: dict[str, Any] = {} if reply.finish == "stop" else {"finish": reply.finish}
        metadata |= {key: reply.metadata[key] for key in ("kb_miss", "sources") if reply.metadata.get(key)}
        return Output(reply.text, tuple(reply.metadata.get("contexts", ())), metadata)

    def messages(self, sample: Sample) -> str | list[Message]:
        """What is asked for a sample; messages are sent as they are where no template is given."""
        template = self.template or default_template(sample)
        if template:
            text = load_template(template)
            return render(text, values_with_examples(sample, text, self.examples))
        if is_messages(sample.input):
            return list(sample.input)
        question: str = sample_values(sample)["question"]
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
