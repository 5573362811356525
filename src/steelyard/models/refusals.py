"""Recognizes what an error says by its codes, and refusals that every further call would meet too by their text.

A server that has begun its reply cannot change its status any more: OpenAI, Anthropic, Gemini, OpenRouter, vLLM and
others then report an error inside a body with status 200, or in a stream, by a word such as `overloaded_error`. Such a
word stands for the status that the same server sends with it when nothing has been sent yet.

Servers do not agree on a status for a wrong key, an unknown model, an empty account or a missing permission: LiteLLM's
proxy answers 400 to the first two, others answer 500. So the text decides: a 4xx or a 500 that names the key, the
model, the quota or the permission is a refusal of its kind. A text can be misread, so one refusal fails its sample
alone; the run stops when another sample gets an equal one.

Sources of the codes: the lists of errors of OpenAI, Anthropic, Gemini (google.rpc.Code), Azure, Bedrock, Mistral,
Moonshot, ZhipuAI, DashScope, Volcengine and OpenRouter; the sources of vLLM, TGI and llama.cpp. Of the wordings: the
error texts of LiteLLM's proxy, vLLM, TGI, `transformers serve`, llama.cpp, Ollama, LM Studio, OpenAI, Azure, Anthropic,
Gemini, Bedrock, Mistral, Cohere, Groq, OpenRouter, DeepSeek, Moonshot, ZhipuAI, DashScope, one-api and new-api;
tests/models/refusals.toml lists them with the kind that each must get.
"""

# Why it is so, and what was rejected: docs/decisions/models-faults.md

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

_SEPARATORS: Final = re.compile(r"[\W_]+")
_LONGEST: Final = 100
PASSING: Final = frozenset({408, 409, 425, 429, 502, 503, 504, 529})
"""Statuses that are sent again whatever their text says; 529 is Anthropic's "overloaded". 500 is not one of them: some
servers answer it to a wrong key, so its text decides."""


def kind_of(codes: Iterable[str]) -> str:
    """The kind that a known code stands for, `content_filter` included; "" where there is none.

    >>> kind_of(["insufficient_quota"]), kind_of(["server_error"])
    ('quota', '')
    """
    kinds = _wordings().kind_of_code
    return next((kinds[code] for code in codes if code in kinds), "")


def status_of(codes: Iterable[str]) -> int:
    """The HTTP status that the codes and types of an error stand for; 0 where none is known.

    A word for a passing fault precedes all others: gateways write "invalid_request_error" beside any code. Then a
    number counts, which is a status itself, then the first known word.

    Args:
        codes: in lower case, the most specific first.

    >>> status_of(["overloaded_error"]), status_of(["rate_limit_exceeded", "invalid_request_error"])
    (503, 429)
    >>> status_of(["400", "api_error"]), status_of(["badrequesterror"]), status_of(["no_such_word"])
    (400, 400, 0)
    """
    given = [*codes]
    statuses = [
        *(
            int(code)
            for code in given
            if code.isascii() and code.isdigit() and len(code) == 3 and "400" <= code < "600"
        ),
        *(status for status in map(_status_of_word, given) if status),
    ]
    return next((status for status in statuses if status in PASSING), statuses[0] if statuses else 0)


def _status_of_word(code: str) -> int:
    word = _SEPARATORS.sub("", code[:_LONGEST])
    return next((status for status, pattern in _wordings().statuses if pattern.search(word)), 0)


NAMED: Final = "named"
"""A refusal whose text names key, model, quota or permission: the second one stops the run."""
MISMATCH: Final = "mismatch"
"""A complete answer that is not what was configured, such as the 404 of a wrong address: see `models.mismatches`."""
NEVER_READ: Final = "no reply could be read so far"
"""In the reason of a run that an endpoint ended which never was right, as its address or mapping is wrong."""
ENDING: Final = frozenset({"auth", "quota", "unknown_model"})
"""Kinds of refusals that every call with the same key and model meets."""
_MOST_READ: Final = 2000
_MOST_KEPT: Final = 1000
"""The most different texts kept for an endpoint: one that never repeats a text must not fill the memory."""


class _Wordings(NamedTuple):
    """What errors say, from `refusals.toml`.

    Args:
        kind_of_code: code in lower case -> its kind.
        statuses: status and the codes that stand for it; the first that matches counts.
        refusals: kind and the texts that name it, likewise.
        of_sample: texts about the sample or a parameter, which never stop a run by themselves.
        passing: texts in a 500 that show a passing fault, or an error in the server's code.
    """

    kind_of_code: Mapping[str, str]
    statuses: Sequence[tuple[int, re.Pattern[str]]]
    refusals: Sequence[tuple[str, re.Pattern[str]]]
    of_sample: re.Pattern[str]
    passing: re.Pattern[str]


@cache
def _wordings() -> _Wordings:
    """Read and compiled at the first error: most runs never see one."""
    table = tomllib.loads(files("steelyard.models").joinpath("refusals.toml").read_text("utf-8"))
    parts = {name: "|".join(patterns) for name, patterns in table["parts"].items()}

    def any_of(patterns: Sequence[str]) -> re.Pattern[str]:
        joined = "|".join(patterns)
        for name, part in parts.items():
            joined = joined.replace(f"<{name}>", part)
        return re.compile(joined)

    return _Wordings(
        {code: kind for kind, codes in table["codes"].items() for code in codes},
        [(status, re.compile(pattern)) for status, pattern in table["statuses"]["in_order"]],
        [(kind, any_of(patterns)) for kind, patterns in table["refusals"].items()],
        any_of(table["texts"]["of_sample"]),
        any_of(table["texts"]["passing"]),
    )


_QUOTED_NAME: Final = re.compile(r"[`'\"“]([\w./:@+-]{1,120})[`'\"”]")
_QUOTED_WORDS: Final = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”|(?<!\w)'[^'\n]*'(?!\w)")
_HTML: Final = re.compile(r"\s*<(?:!doctype|html|head|body|\?xml)", re.IGNORECASE)


def is_html(text: str) -> bool:
    """Whether `text` is an HTML page: it comes from a proxy or a firewall, not from the service."""
    return _HTML.match(text) is not None


def refusal_kind(text: str, *, passing: bool = False) -> str:
    """`auth`, `quota` or `unknown_model` where the text of an error names such a reason; else "".

    Args:
        text: the server's error text, codes included.
        passing: whether the status may be that of a passing fault, so that a text such as "try again" decides.

    >>> refusal_kind("Invalid model name passed in model=gpt-9"), refusal_kind("the model crashed", passing=True)
    ('unknown_model', '')
    >>> refusal_kind("This model's maximum context length is 4096 tokens"), refusal_kind("key 'question' is required")
    ('', '')
    """
    if is_html(text):
        return ""
    wordings = _wordings()
    folded = text[:_MOST_READ].casefold().replace("’", "'")
    # Longer quotations are from the sample, not the server's own text. A quoted model's name may contain any word.
    without_quotations = _QUOTED_WORDS.sub(lambda match: match[0] if _QUOTED_NAME.fullmatch(match[0]) else " ", folded)
    without_names = _QUOTED_NAME.sub("x", without_quotations)
    if wordings.of_sample.search(without_names) or (passing and wordings.passing.search(without_names)):
        return ""
    return next((kind for kind, pattern in wordings.refusals if pattern.search(without_quotations)), "")


_VERSION: Final = re.compile(r"\bapi[-_ ]?version\b|anthropic-version", re.IGNORECASE)
_WRONG_VERSION: Final = re.compile(
    r"not (?:a )?(?:valid|supported)|invalid|unsupported|unknown|required|missing|deprecated|retired|no longer",
    re.IGNORECASE,
)
_REGION: Final = re.compile(
    r"\b(?:region|location|territory)s? (?:is |was )?(?:not |un|in)(?:supported|available|valid|allowed)"
    r"|not (?:supported|available|allowed|enabled)\b.{0,30}\bregion\b|incorrect regional hostname",
    re.IGNORECASE,
)


def setting_named(text: str) -> str:
    """The setting of every call that a refusal is about: `version`, `region`, `path`, or "" for none.

    >>> setting_named('anthropic-version: "2029-01-01" is not a valid version'), setting_named("Invalid version of x")
    ('version', '')
    >>> setting_named("User location is not supported for the API use."), setting_named("The region is France.")
    ('region', '')
    """
    text = text[:_MOST_READ]
    if _REGION.search(text):
        return "region"
    if "Unexpected endpoint or method" in text:  # LM Studio, with status 200
        return "path"
    return "version" if _VERSION.search(text) and _WRONG_VERSION.search(text) else ""


def concerns_sample(text: str) -> bool:
    """Whether the text of an error is about its sample or a parameter, such as a context that is too long.

    >>> concerns_sample("input is too long for the context window"), concerns_sample("too many tokens, try again")
    (True, False)
    """
    folded = text[:_MOST_READ].casefold()
    return _wordings().of_sample.search(folded) is not None and not is_passing(text)


_CHANGING: Final = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b(?=[a-z_-]*\d)[a-z0-9_-]{16,}\b"
    r"|\b(?:mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\b|\d+",
)


def alike(text: str) -> str:
    """Normalize an error text: remove digits, dates and request ids, which change per call.

    >>> alike("No quota (request 9f8e7d6c5b4a3f2e1d, 12:01:59)")
    'no quota (request #, #:#:#)'
    """
    return " ".join(_CHANGING.sub("#", text[:_MOST_READ].casefold()).split())


def is_passing(text: str) -> bool:
    """Whether the text of an error is that of a fault that passes.

    >>> is_passing("The model is loading, try again later"), is_passing("Welcome")
    (True, False)
    """
    return _wordings().passing.search(text[:_MOST_READ].casefold()) is not None


@dataclass(slots=True)
class Refusals:
    """The refusals of one endpoint so far: the first sample for each text."""

    _first: dict[tuple[str, str], str] = field(default_factory=dict)
    _repeated: set[tuple[str, str]] = field(default_factory=set)

    def repeats(self, model: str, text: str, sample: str) -> bool:
        """Note a refusal; whether a different sample got an equal one before.

        Args:
            model: the name of the model that was asked: a host may serve several.
            text: the server's error text.
            sample: the id of the sample.
        """
        key = (model, alike(text))
        if key in self._repeated:
            return True
        if len(self._first) >= _MOST_KEPT and key not in self._first:
            self._first.clear()
        if self._first.setdefault(key, sample) == sample:
            return False
        self._repeated.add(key)
        return True
