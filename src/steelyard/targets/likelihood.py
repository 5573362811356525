"""Which option does a model find likeliest? Nothing is read from a reply: the endpoint's probabilities are the answer.

What a model would say and what it finds likeliest differ: Wang et al., "'My Answer is C': First-Token Probabilities Do
Not Match Text Answers in Instruction-Tuned Language Models" (ACL 2024 Findings), find over 60 % mismatch. So this is a
target of its own next to `prompt`, for base models and for figures that were published this way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, fsum, log
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from steelyard.errors import ConfigError, ModelError, TargetError, expect_number
from steelyard.models.base import Model, ModelInfo, check_parameters
from steelyard.models.completions import prompt_of
from steelyard.prompts.conversation import conversation_asked, question_of, with_system
from steelyard.prompts.language import language_of
from steelyard.prompts.sample_values import (
    SHOW_OPTIONS,
    Draw,
    Form,
    asks_the_question,
    check_placeholders,
    has_transcript,
    option_label,
    shows_metadata,
    shows_passage,
    template_language,
    values_with_examples,
    wants_examples,
)
from steelyard.prompts.template import load_template, load_words, names_of, placeholders, render, words_of_file
from steelyard.session.session import proving
from steelyard.targets.option_probabilities import TextLikelihood, letter_probabilities, text_likelihood
from steelyard.types import Asks, Message, Output, Reply, Sample

_MOST: Final = 26
_MOST_TOP: Final = 100
_DIGITS: Final = 6
_WITHOUT: Final = (
    "the endpoint gave no log probabilities, so no option has one: ask a model whose endpoint gives them, or use a "
    "prompt target"
)
_ABOUT_THEM: Final = re.compile(r"log_?prob|\becho\b", re.IGNORECASE)
"""Words of a refusal that concern log probabilities, not the sample."""


class _WithoutError(TargetError):
    """A reply without log probabilities."""


@dataclass(frozen=True, slots=True)
class Likelihood:
    """The likeliest option by a model's token probabilities; the scorer `likelihood` makes `acc` and `acc_norm` of it.

    The output is the letter of the likeliest option, the first of several that are equal; the values of all options are
    in its metadata.

    Args:
        model: what is asked. `letters` takes any model whose endpoint gives `logprobs`, `texts` a `completions` model.
        by: `letters` asks for one token and adds up the ways to write each option's letter; `texts` sums the log
            probabilities of each option's text behind the prompt, one call per option.
        template: as of a `prompt`; empty is a packaged one in the question's language: `choice` for letters,
            `choice_likelihood` for texts.
        system: a system message as a text or a file, or none.
        parameters: of every call, over those of the model.
        top_logprobs: how many tokens the endpoint is asked to list for `letters`; many allow 20, some 5.
        prompt_logprobs: ask for `texts` with vLLM's `prompt_logprobs` in place of `echo`.
        unconditional: a text without the question, such as `Answer:`; each option's text is then also asked behind it,
            once for all samples, for the score `acc_mutual_info`. Empty: not asked. lm-evaluation-harness has the mark
            of a text's beginning here: `<|endoftext|>` for GPT-2, `<s>` for Llama.
        delimiter: between prompt and option; the option's tokens begin with it. Empty is a blank, and in Chinese none.
        examples: solved questions for `{{examples}}`; a suite sets it.
    """

    likelihood: ClassVar[bool] = True

    model: Model
    by: Literal["letters", "texts"] = "letters"
    template: Path | str = ""
    system: Path | str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    top_logprobs: int = 20
    prompt_logprobs: bool = False
    unconditional: str = ""
    delimiter: str = ""
    examples: Draw | None = None

    def check(self) -> None:
        """Find what is wrong before anything is sent.

        Raises:
            ConfigError: a model that gives no tokens of a prompt, a template without options, or a parameter that is
                set here.
        """
        if not hasattr(self.model, "request"):
            raise ConfigError(f"{type(self.model).__name__} is not a model")
        if self.by == "texts" and not self._completes:
            raise ConfigError(
                "by: texts needs the log probabilities of a prompt, which chat endpoints do not give: take the model "
                "completions, or by: letters"
            )
        if self.unconditional and self.by != "texts":
            raise ConfigError("unconditional belongs to by: texts, as letters have no text of their own")
        if "{{" in self.unconditional:
            raise ConfigError("unconditional is the same for all questions: it has no placeholder")
        for text in self._texts:
            check_placeholders(text)
        self._check_template()
        check_parameters(self.parameters)
        expect_number("top_logprobs", self.top_logprobs, 1, _MOST_TOP, whole=True)
        for name in ("logprobs", "top_logprobs", "echo", "prompt_logprobs", "max_tokens", "n", "response_format"):
            if name in {**ModelInfo.of(self.model).parameters, **self.parameters}:
                raise ConfigError(f"parameters must not contain {name!r}: a likelihood target sets it")

    def _check_template(self) -> None:
        if not self.template:
            return
        text = load_template(self.template)
        used_names = {name for name, _ in placeholders(text)}
        if self.by == "letters" and not SHOW_OPTIONS & used_names:
            raise ConfigError("the template lacks {{options}}, so the letters would mean nothing")

    def manifest(self) -> dict[str, Any]:
        """The words that are sent, so that two versions of a prompt can be told apart."""
        system = words_of_file(self.system, "system")
        if self.template:
            return {"text": load_template(self.template), **system}
        packaged = [load_template(f"{language}/{self._packaged}") for language in ("en", "zh")]
        return {"text": packaged, **system}

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

    @property
    def _texts(self) -> tuple[str, str]:
        """The words of the template and of the system message."""
        template = load_template(self.template) if self.template else "{{question}}{{options}}"
        return template, load_words(self.system, "system")

    async def __call__(self, sample: Sample, ask: Asks) -> Output:
        """Ask once for letters, once per option for texts.

        Raises:
            TargetError: the sample has no options, or the reply lacks the log probabilities of some of them.
            ModelError: the endpoint gives no log probabilities, which ends the run; or a call failed for good.
        """
        if not 2 <= len(sample.choices) <= _MOST:
            raise TargetError(
                f"a likelihood needs 2 to {_MOST} options, sample {sample.id!r} has {len(sample.choices)}"
            )
        by = self._by_letters if self.by == "letters" else self._by_texts
        # One call proves it: an endpoint without log probabilities would else be called in vain for every sample.
        async with proving(ask, self.model, "log probabilities") as shown:
            try:
                return await by(sample, ask)
            except _WithoutError as error:
                if shown:
                    raise
                raise ModelError(str(error), kind="bad_request", ends_run=True) from error
            except ModelError as error:
                if error.ends_run or error.kind != "bad_request" or not _ABOUT_THEM.search(str(error)):
                    raise
                message = f"{_WITHOUT} (it says: {error})"
                raise ModelError(message, kind=error.kind, attempts=error.attempts, ends_run=not shown) from error

    @property
    def _completes(self) -> bool:
        return ModelInfo.of(self.model).completes

    @property
    def _packaged(self) -> str:
        name = "choice" if self.by == "letters" else "choice_likelihood"
        if self.examples is None:
            return name
        return f"{name}_examples"

    def messages(self, sample: Sample) -> list[Message]:
        """What is sent for a sample; options in the place of texts come behind it."""
        form: Form = "text" if self.by == "texts" else "letters"
        template = self._template(sample)
        apart = shows_passage(*self._texts)
        values = values_with_examples(sample, template, self.examples, form, passage_apart=apart)
        prompt = render(template, values)
        conversation = conversation_asked(sample.input, prompt, has_transcript=has_transcript(*self._texts))
        if not self.system:
            return conversation
        words = load_words(self.system, "system")
        values = values_with_examples(sample, words, self.examples, form, passage_apart=apart)
        return with_system(render(words, values), conversation)

    @property
    def shows_examples(self) -> bool:
        """Whether examples have a place: in the packaged template they always do."""
        return not self.template or wants_examples(load_template(self.template))

    def _template(self, sample: Sample) -> str:
        return load_template(self.template or f"{language_of(question_of(sample.input))}/{self._packaged}")

    async def _by_letters(self, sample: Sample, ask: Asks) -> Output:
        letters = "".join(option_label(no) for no in range(len(sample.choices)))
        listing = (
            {"logprobs": self.top_logprobs}
            if self._completes
            else {"logprobs": True, "top_logprobs": self.top_logprobs}
        )
        reply = await ask(self.model, self.messages(sample), **self.parameters, **listing, max_tokens=1)
        listed = _listed(reply)
        letter_values = letter_probabilities(listed, letters)
        if letter_values is None or len(listed) < 2:
            raise _WithoutError(_WITHOUT)
        detail = {"by": "letters", "missing": letter_values.missing, "rest": round(letter_values.rest, _DIGITS)}
        if not letter_values.found:
            reason = f"no letter of an option is among the {len(listed)} likeliest first tokens; the likeliest is "
            return Output("", (), {"likelihood": {**detail, "problem": f"{reason}{letter_values.likeliest[:20]!r}"}})
        # exp(-745) is the smallest positive float; log(0) is undefined.
        logprobs = {letter: log(p) if p > 0 else -745.0 for letter, p in letter_values.found.items()}
        return _output(logprobs, detail)

    async def _by_texts(self, sample: Sample, ask: Asks) -> Output:
        template = self._template(sample)
        chinese = (template_language(template) or language_of(question_of(sample.input))) == "zh"
        delimiter = self.delimiter or ("" if chinese else " ")
        # The model joins messages itself; one text makes plain where the option begins.
        before = prompt_of(self.messages(sample))
        listing: dict[str, Any] = {"prompt_logprobs": 0} if self.prompt_logprobs else {"logprobs": 1, "echo": True}
        texts = [f"{before}{delimiter}{choice}" for choice in sample.choices]
        # max_tokens is 1, as several servers refuse 0; the token is left out.
        parameters = {"temperature": 0} | dict(self.parameters)
        likelihoods = [
            _of_text(text, len(before), await ask(self.model, text, **parameters, **listing, max_tokens=1))
            for text in texts
        ]
        logprobs = {option_label(no): likelihood.logprob for no, likelihood in enumerate(likelihoods)}
        basis: dict[str, Any] = {
            "by": "texts",
            "tokens": [likelihood.tokens for likelihood in likelihoods],
            "shared": likelihoods[0].shared,
        }
        if self.unconditional:
            # The same for every question with this option, so that "True" and "False" are asked once a run.
            start = len(self.unconditional)
            alone = [f"{self.unconditional}{delimiter}{choice}" for choice in sample.choices]
            replies = [await ask.once(self.model, text, **parameters, **listing, max_tokens=1) for text in alone]
            found = [_of_text(text, start, reply).logprob for text, reply in zip(alone, replies, strict=True)]
            basis["unconditional"] = {option_label(no): logprob for no, logprob in enumerate(found)}
        return _output(logprobs, basis)


def _listed(reply: Reply) -> Sequence[Any]:
    """The tokens that might have come first, of a chat or a completions endpoint."""
    top = reply.metadata.get("top")
    if isinstance(top, list):
        return top
    tokens = reply.metadata.get("logprobs")
    first = tokens[0] if isinstance(tokens, list) and tokens else None
    listed = first.get("top_logprobs") if isinstance(first, Mapping) else None
    return listed if isinstance(listed, list) else ()


def _of_text(text: str, start: int, reply: Reply) -> TextLikelihood:
    echoed = reply.metadata.get("tokens")
    tokens = echoed or reply.metadata.get("prompt_tokens")
    if not tokens:
        raise _WithoutError(_WITHOUT)
    if echoed and sum(len(str(token[0] or "")) for token in tokens) < start:
        raise _WithoutError(f"{_WITHOUT} (it does not echo the prompt)")
    try:
        return text_likelihood(text, start, tokens, generated=bool(echoed))
    except ValueError as error:
        raise TargetError(f"{error}; does the endpoint echo the prompt with its log probabilities?") from error


def _output(logprobs: Mapping[str, float], basis: Mapping[str, Any]) -> Output:
    """The likeliest letter, with what each option has and its share among those that have anything."""
    highest = max(logprobs.values())
    best = [letter for letter, value in logprobs.items() if value == highest]
    weights = {letter: exp(value - highest) for letter, value in logprobs.items()}
    total = fsum(weights.values())
    detail = {
        **basis,
        "logprobs": dict(logprobs),
        "probabilities": {letter: round(weight / total, _DIGITS) for letter, weight in weights.items()},
        **({"tie": "".join(best)} if len(best) > 1 else {}),
    }
    return Output(best[0], (), {"likelihood": detail})
