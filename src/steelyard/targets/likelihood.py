"""Which option does a model find likeliest? Nothing is read from a reply: the endpoint's probabilities are the answer.

What a model would say and what it finds likeliest differ: Wang et al., "'My Answer is C': First-Token Probabilities Do
Not Match Text Answers in Instruction-Tuned Language Models" (ACL 2024 Findings), find over 60 % mismatch. So this is a
target of its own next to `prompt`, for base models and for figures that were published this way.

By letter: from the likeliest first tokens of a reply. A letter is written in many ways (`B`, ` B`, `（B`, `Ｂ`, `**B`,
`B.`); all that are listed are added up. Small letters do not count: `a` is a word. What is not listed has a probability
that nobody knows: all of it together has at most what the listed ones leave over, and no single token of it more than
the least that is listed.

By text: the log probability of an option's text after a prompt, from the tokens that an endpoint returns. Which tokens
belong to the option follows from their position in the text. An endpoint's own offsets are counted in its own
way (a character of several tokens, a sign for the beginning of the text), so the tokens are laid along the bytes of the
text that was sent, in every way that they fit. Where these ways disagree about the option's tokens, nothing is summed.
The endpoint's offsets are used only where the tokens are not text at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, fsum, isfinite, log
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal

from steelyard.constraints import Within
from steelyard.errors import ConfigError, ModelError, TargetError
from steelyard.models.base import AskedModel, CallParameters, ModelInfo
from steelyard.models.openai_compatible import prompt_of, token_probabilities
from steelyard.models.refused_parameters import LIMITS
from steelyard.prompts.conversation import conversation_asked, question_of, with_system
from steelyard.prompts.language import language_of
from steelyard.prompts.sample_values import (
    SHOW_OPTIONS,
    Draw,
    Form,
    check_placeholders,
    has_transcript,
    option_label,
    shows_passage,
    template_language,
    values_with_examples,
    wants_examples,
)
from steelyard.prompts.template import load_template, load_words, placeholders, render, words_of_file
from steelyard.replies.clean import fold
from steelyard.session.session import proving
from steelyard.targets.prompt import TemplateTarget
from steelyard.types import Asks, Message, Output, Reply, Sample

_BEFORE: Final = " \t\r\n*_`~\"'“”‘’([【<{:：#▁Ġ"
_AFTER: Final = " \t\r\n*_`~\"'“”‘’)]】>}:.,、。:：<"


@dataclass(frozen=True, slots=True)
class LetterProbabilities:
    """Probabilities of the letters of a question.

    Args:
        found: letter -> probability, of those that are listed.
        missing: letters that are not.
        rest: what the listed tokens leave over; all that is missing has at most so much together.
        likeliest: the text of the likeliest token.
    """

    found: Mapping[str, float]
    missing: str
    rest: float
    likeliest: str


def letter_probabilities(listed: Sequence[Any], letters: str) -> LetterProbabilities | None:
    """Add up the listed ways to write each letter; None where nothing is listed.

    Args:
        listed: entries with `token` and `logprob`, as `top_logprobs` of the first token has them.
        letters: of the options.

    >>> from math import log
    >>> listed = (("B", 0.5), (" B", 0.25), ("（A", 0.125), ("I", 0.1))
    >>> result = letter_probabilities([{"token": text, "logprob": log(p)} for text, p in listed], "ABC")
    >>> {letter: round(p, 6) for letter, p in result.found.items()}, result.missing, round(result.rest, 6)
    ({'A': 0.125, 'B': 0.75}, 'C', 0.025)
    """
    readable: dict[str, float] = {}
    for text, p in token_probabilities(listed):
        readable.setdefault(text, p)  # endpoints list the chosen one twice now and then
    if not readable:
        return None
    by_letter: dict[str, float] = {}
    for text, p in readable.items():
        letter = fold(text).lstrip(_BEFORE).rstrip(_AFTER)
        if len(letter) == 1 and letter in letters:
            by_letter[letter] = by_letter.get(letter, 0.0) + p
    ordered = {letter: min(1.0, by_letter[letter]) for letter in letters if letter in by_letter}
    missing = "".join(letter for letter in letters if letter not in by_letter)
    remainder = max(0.0, 1.0 - sum(readable.values()))
    return LetterProbabilities(ordered, missing, remainder, max(readable, key=readable.__getitem__))


_HIGH: Final = 0x80
_PART: Final = "�"
"""The replacement character: it is shown for up to three bytes that are not a character of their own."""
_MOST_PART: Final = 3
_MOST_EMPTY: Final = 4
"""Bytes that an empty token may stand for: those of one character of UTF-8."""
_MOST_FIRST: Final = 256
"""Bytes that a first token of which nothing is known may have at most."""
_MOST_WAYS: Final = 600
"""Limit of positions where a token may end: fitting tokens that are all parts of characters would take minutes."""
_ESCAPED: Final = re.compile(r"bytes:((?:\\x[0-9a-fA-F]{2})+)|<0x([0-9a-fA-F]{2})>")
_PIECES: Final = (("▁", " "), ("Ġ", " "), ("Ċ", "\n"))
"""What SentencePiece and byte-level vocabularies write for a blank and the end of a line."""


@dataclass(frozen=True, slots=True)
class TextLikelihood:
    """Likelihood of an option's text.

    Args:
        logprob: sum over its tokens, in nats.
        tokens: how many there are.
        shared: whether the first of them begins in the prompt before it.
    """

    logprob: float
    tokens: int
    shared: bool


def text_likelihood(text: str, start: int, tokens: Sequence[Any], *, generated: bool = True) -> TextLikelihood:
    """Sum the log probabilities of the tokens after `start`.

    A token that begins before `start` and ends behind it counts as the option's: it holds the option's first letters.

    Args:
        text: what was sent: prompt and option.
        start: where the option begins in it, in characters.
        tokens: (text, log probability, offset) of each, in order.
        generated: whether there may be one behind them that was generated, which is left out.

    Raises:
        ValueError: the tokens do not make up the text, or do so in ways that disagree about the option's tokens; or
            one of these has no log probability.

    >>> text_likelihood("Q: who? Bo", 7, [["Q:", None, 0], [" who?", -2.0, 2], [" B", -0.5, 7], ["o", -0.25, 9]])
    TextLikelihood(logprob=-0.75, tokens=2, shared=False)
    """
    entries = [token for token in tokens if isinstance(token, list | tuple) and len(token) == 3]
    data, border = text.encode("utf-8", "surrogatepass"), len(text[:start].encode("utf-8", "surrogatepass"))
    ends = _laid(data, [token[0] if isinstance(token[0], str) else None for token in entries], generated=generated)
    first, last, shared = _own(ends, border) if ends else _by_offsets(text, start, entries)
    values = [token[1] for token in entries[first:last]]
    if not values:
        raise ValueError("none of the tokens that the endpoint gave is at the position of the option")
    if not all(type(value) in {int, float} and isfinite(value) for value in values):
        raise ValueError("one of the option's tokens has no log probability")
    return TextLikelihood(fsum(values), len(values), shared)


def _own(ends: Sequence[frozenset[int]], border: int) -> tuple[int, int, bool]:
    """The range of the option's tokens (first, end), and whether the first one begins before the border."""
    behind = [{end > border for end in several} for several in ends]
    if any(len(inside) > 1 for inside in behind):
        raise ValueError("the option's first character may share tokens with the prompt's last one")
    first = next((no for no, inside in enumerate(behind) if True in inside), len(ends))
    begins = ends[first - 1] if first else frozenset({0})
    return first, len(ends), max(begins) < border


def _laid(data: bytes, tokens: Sequence[str | None], *, generated: bool) -> list[frozenset[int]]:
    """The positions where each token may end, over all ways to fit the tokens to `data`; empty where none fits.

    Raises:
        ValueError: the last token may be of the text, or the one that was generated behind it; or there are too many
            ways.
    """
    steps: list[dict[int, frozenset[int]]] = []
    at = frozenset({0})
    reached = 0
    for no, token in enumerate(tokens):
        step = {start: _ends(data, start, token, first=no == 0) for start in at}
        at = frozenset[int]().union(*step.values())
        if len(at) > _MOST_WAYS:
            raise ValueError("the tokens that the endpoint gave are parts of characters, and fit in too many ways")
        if not at:
            break
        steps.append(step)
        reached = len(steps) if len(data) in at else reached
    if not reached or (not generated and reached < len(tokens)):
        return []
    if generated and reached == len(tokens) and tokens[-1] == "" and _ends_at(steps[reached - 2], data):
        reached -= 1
    elif generated and reached == len(tokens) > 1 and _PART in str(tokens[-1]) and _ends_at(steps[reached - 2], data):
        raise ValueError("the last of the tokens may be the option's, or what was generated behind it")
    return _that_arrive(steps[:reached], len(data))


def _ends_at(step: dict[int, frozenset[int]], data: bytes) -> bool:
    return any(len(data) in ends for ends in step.values())


def _that_arrive(steps: Sequence[dict[int, frozenset[int]]], end: int) -> list[frozenset[int]]:
    """Drop end positions from which the remaining tokens cannot reach the end."""
    starts: list[frozenset[int]] = []
    good = frozenset({end})
    for step in reversed(steps):
        starts.append(good)
        good = frozenset(start for start, ends in step.items() if ends & good)
    return starts[::-1]


def _ends(data: bytes, at: int, token: str | None, *, first: bool) -> frozenset[int]:
    """Where `token` may end that begins at `at`."""
    if token is None:
        return frozenset(range(at, min(len(data), at + _MOST_FIRST) + 1))
    if not token:
        return frozenset({at}) | _parts(data, frozenset({at}), _MOST_EMPTY)
    ends = frozenset[int]().union(*(_matches(data, at, writing) for writing in _writings(token, first=first)))
    # A sign for the beginning of a text is not part of it.
    return ends or (frozenset({at}) if first else ends)


def _writings(token: str, *, first: bool) -> set[str | bytes]:
    plain = token
    for piece, meant in _PIECES:
        plain = plain.replace(piece, meant)
    escaped = _ESCAPED.fullmatch(token)
    raw = bytes.fromhex((escaped[1] or escaped[2]).replace("\\x", "")) if escaped else b""
    return {writing for writing in (token, plain, plain.lstrip(" ") if first else "", raw) if writing}


def _matches(data: bytes, at: int, written: str | bytes) -> frozenset[int]:
    if isinstance(written, bytes):
        return frozenset({at + len(written)}) if data.startswith(written, at) else frozenset()
    ends = frozenset({at})
    for no, clean in enumerate(written.split(_PART)):
        if no:
            ends = _parts(data, ends, _MOST_PART)
        part = clean.encode("utf-8", "surrogatepass")
        ends = frozenset(end + len(part) for end in ends if data.startswith(part, end))
    return ends


def _parts(data: bytes, starts: frozenset[int], most: int) -> frozenset[int]:
    """The positions 1 to `most` bytes further, as long as the bytes are of multi-byte characters."""
    ends: set[int] = set()
    for start in starts:
        for end in range(start + 1, min(start + most, len(data)) + 1):
            if data[end - 1] < _HIGH:
                break
            ends.add(end)
    return frozenset(ends)


def _by_offsets(text: str, start: int, tokens: Sequence[Any]) -> tuple[int, int, bool]:
    """What `_own` gives, by the endpoint's own offsets; tokens behind `text` were generated."""
    offsets = [token[2] for token in tokens]
    if not offsets or not all(type(offset) is int and offset >= 0 for offset in offsets) or sorted(offsets) != offsets:
        raise ValueError("the tokens that the endpoint gave do not make up the text that was sent")
    plain = [(str(token[0]), token[2]) for token in tokens if str(token[0]).isascii() and token[2] < len(text)]
    if not all(text.startswith((token, token.strip()), offset) for token, offset in plain):
        raise ValueError("the endpoint's tokens are not at the offsets that it reports")
    if offsets[-1] < len(text) - len(str(tokens[-1][0])):
        raise ValueError("the tokens that the endpoint gave end before the text that was sent")
    last = sum(offset < len(text) for offset in offsets)
    ends = [*offsets[1:], len(text)]
    first = next((no for no in range(last) if ends[no] > start), last)
    return first, last, first < last and offsets[first] < start


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
class Likelihood(TemplateTarget):
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

    model: AskedModel
    by: Literal["letters", "texts"] = "letters"
    template: Path | str = ""
    system: Path | str = ""
    parameters: CallParameters = field(default_factory=dict)
    top_logprobs: Annotated[int, Within(1, _MOST_TOP)] = 20
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
        for name in ("logprobs", "top_logprobs", "echo", "prompt_logprobs", *LIMITS, "n", "response_format"):
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
        listing = {"logprobs": True, "top_logprobs": self.top_logprobs}
        if self._completes:
            listing = {"logprobs": self.top_logprobs}
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
