"""The model protocol: turns messages into a request, sends it, and parses the answer.

A model is a frozen dataclass and holds no connection: all connections belong to the `Wire` that the session
owns. `request` and `read` are pure, so that a request can be hashed for the journal before anything is sent and a
stored answer can be read again.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from types import MappingProxyType
from typing import Annotated, Any, Final, NamedTuple, Protocol
from urllib.parse import urlsplit

from steelyard.errors import ConfigError, bounded
from steelyard.models.references import check_sent
from steelyard.types import Message, Reply, Usage, estimate_tokens

_METHODS: Final = ("request", "send", "read")
_ENCODE: Final = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
_MOST_TOKENS: Final = 1 << 40
"""A count beyond this is not a count; added up, it must still fit into the store's 64 bits."""
Watch = Callable[[bytes], bool]
"""Called with each chunk of a body; returns whether the reply's first token was in the chunks so far."""
_FINISHES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "sensitive": "content_filter",
        "safety": "content_filter",
        "recitation": "content_filter",
        "blocklist": "content_filter",
        "prohibited_content": "content_filter",
        "spii": "content_filter",
        "guardrail_intervened": "content_filter",
        "content_filtered": "content_filter",
        "max_tokens": "length",
        "model_length": "length",
        "model_context_window_exceeded": "length",
        "repetition": "length",
        "end_turn": "stop",
        "stop_sequence": "stop",
        "eos": "stop",
        "eos_token": "stop",
        "complete": "stop",
        "tool_use": "tool_calls",
        "function_call": "tool_calls",
    }
)
"""Finish reasons of ZhipuAI (`sensitive`), Anthropic, Bedrock, Gemini, Cohere, Mistral (`model_length`), TGI and vLLM
(`repetition`: cut off, as it repeated itself), which gateways pass on unchanged, also in capitals -> OpenAI's."""
KEPT: Final = "kept"
"""Key of a reply's metadata, in the journal alone: digest of the mapping, status and body, see `session.readings`."""
SENT: Final = "sent"
"""Key of a reply's metadata, in the journal alone: the request that it answers, see `session.kept_requests`."""
READ_AGAIN: Final = "read_again"
"""Key of a reply's metadata: it was read from a kept body under another response mapping than at first."""
WITHOUT_TEXT: Final = frozenset({"content_filter", "length", "refusal", "tool_calls"})
"""A reply that ended with one of these may have no text; another attempt would cost money and end the same way."""


@dataclass(frozen=True, slots=True)
class Request:
    """One call, ready to be hashed and sent.

    Args:
        endpoint: calls with the same one share a gate; scheme, host and port of the address for HTTP.
        url: where it goes; without secrets.
        payload: the body without its options of transport, such as `stream`, which a model adds when it sends.
        method: the HTTP method.
        headers: sent as they are except for `${NAME}`, which the wire resolves; not part of the digest.
        timeout_s: limit of one attempt from first byte sent to last byte read, in seconds.
        input_tokens: an estimate, for budgets, rates and `--dry-run`.
        output_tokens: the most that the reply may have; 0 where no limit is set.
        watch: makes a `Watch` for the body; None where the first token is not measured.
        idle_s: limit between two chunks of a body that is watched, in seconds; 0 is none.
        proxy: of the model, see `models.endpoint`; like `ca_file`, not part of the digest.
        ca_file: path of certificates that are trusted as well; "" for none.
        reading: digest of how the answer will be read, where the user configures that; "" where it is fixed. Not part
            of `digest`.
        total_s: the least time for the whole call, retries included, in seconds, where a slower service was ordered.
        is_kept: whether the journal keeps it with its reply, as nobody can build it again; not part of `digest`.
    """

    endpoint: str
    url: str
    payload: bytes
    method: str = "POST"
    headers: tuple[tuple[str, str], ...] = ()
    timeout_s: float = 120.0
    input_tokens: int = 0
    output_tokens: int = 0
    watch: Callable[[], Watch] | None = None
    idle_s: float = 0.0
    proxy: str = ""
    ca_file: str = ""
    reading: str = ""
    total_s: float = 0.0
    is_kept: bool = False

    @property
    def digest(self) -> bytes:
        """16 bytes that are equal for calls with the same method, address and payload."""
        head = f"{self.method} {self.url}\0".encode("utf-8", "surrogatepass")
        return blake2b(head + self.payload, digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP response: status, headers by lower-case name, and body.

    Args:
        status: of HTTP.
        headers: by lower-case name.
        body: all of it, whether it came at once or as a stream.
        first_s: seconds from sending to the first token; None where it was not measured.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    first_s: float | None = None


SLOW_S: Final[Mapping[str, float]] = MappingProxyType({"flex": 900.0, "batch": 3_600.0, "2h": 7_200.0, "8h": 28_800.0})
"""Tier or window of a slower and cheaper service -> the longest time that an attempt may take, in seconds."""


class Refused(NamedTuple):
    """The parameters that a refusal names.

    Args:
        names: as this package names them; limits of tokens as the text spells them.
        exclusive: whether the text says that they cannot be sent together.
        clear: whether the text says that something is not supported, and not only which value is expected.
        text: of the refusal, without what it repeats of the call.
    """

    names: tuple[str, ...] = ()
    exclusive: bool = False
    clear: bool = False
    text: str = ""


class Fault(Exception):
    """One attempt that gave no reply; `models.limits` decides whether there is another.

    Args:
        kind: `rate_limit`, `server`, `connection`, `timeout`, `malformed`, `empty`, `bad_request`, `quota`,
            `auth` or `unknown_model`.
        message: what went wrong, with at most 200 characters of the answer.
        retry: whether a later attempt may succeed.
        wait_asked_s: how long the endpoint told us to wait, by Retry-After or in another way; None where it did not.
        billed: whether the endpoint may have charged for it.
        ends_run: whether every other call to this endpoint must fail the same way.

    Attributes:
        refusal: "", or `NAMED` or `MISMATCH`: the condition under which the same answer to another sample ends the
            run, see `models.refusals` and `models.mismatches`.
        likeness: the text by which two refusals are the same; the message unless it contains values of the sample, and
            "" where equal ones mean no more than others do.
        answer: of an endpoint with a mapping, where nothing could be read in it.
        refused: the parameters of the call that the refusal names, see `models.refused_parameters`.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        retry: bool = True,
        wait_asked_s: float | None = None,
        billed: bool = False,
        ends_run: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = bounded(message)
        self.retry = retry
        self.wait_asked_s = wait_asked_s
        self.billed = billed
        self.ends_run = ends_run
        self.refusal = ""
        self.likeness = self.message
        self.answer: Answer | None = None
        self.refused = Refused()

    def redact(self, redact: Callable[[str], str]) -> None:
        """Remove secrets from the message, before it is counted, stored or shown anywhere."""
        self.message = redact(self.message)
        self.args = (self.message,)


def check_parameters(name: str, parameters: Mapping[str, Any]) -> None:
    """Refuse parameters of a call that hold a key, or ask for several replies, of which one alone would be read.

    Raises:
        ConfigError: which, and what to write instead.
    """
    check_sent(name, parameters)
    if (several := parameters.get("n")) not in {None, 1}:
        raise ConfigError(
            f"parameters must not contain 'n': of several replies to a call one alone is read. Write "
            f"`repeats: {several}`, each a call of its own: under options for a target, beside the model for a judge"
        )


CallParameters = Annotated[Mapping[str, Any], check_parameters]
"""Parameters of every call of a model."""


class Wire(Protocol):
    """The open connections and secrets of a session, as models see them.

    Attributes:
        learned: features of endpoints that the session has found out, by keys that each model chooses.
        closers: close the clients of packages that models send with, by name; awaited when the session ends.
    """

    learned: dict[str, bool]
    closers: dict[str, Callable[[], Awaitable[None]]]

    def resolve(self, text: str) -> str:
        """`text` with every `${NAME}` replaced by its value: for a model that sends with a client of its own."""

    def redact(self, text: str) -> str:
        """`text` with the value of every reference replaced by the reference's name."""

    async def exchange(self, request: Request) -> Answer:
        """Send `request`, resolve its secrets, read the whole body.

        Raises:
            Fault: `connection` or `timeout`; a status is not a fault here.
        """


class Model(Protocol):
    """Something that answers messages."""

    def request(self, messages: str | list[Message], parameters: Mapping[str, Any]) -> Request:
        """The call for these messages; `parameters` are those of this call and override the model's own."""

    async def send(self, request: Request, wire: Wire) -> Answer:
        """Send it once."""

    def read(self, answer: Answer) -> Reply:
        """The reply in `answer`, with empty `key`, `latency` and `attempts`.

        Raises:
            Fault: there is no reply in it.
        """


def is_model(value: Any) -> bool:
    """Whether an object has the methods of a `Model`."""
    return not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in _METHODS)


def _is_asked(name: str, value: Any) -> None:
    if not hasattr(value, "request"):
        raise ConfigError(f"{name}: {type(value).__name__} is not a model")


AskedModel = Annotated[Model, _is_asked]
"""A model among the options of what asks it."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """Facts about a model besides its calls, read from attributes that a model may have.

    `Model` requires three methods only, so that a user's own model is short; these attributes are optional.

    Args:
        name: its name at the endpoint; "" without one.
        address: base or full address of the endpoint; "" without one.
        body: template of the request's body, of a generic JSON endpoint; None for others.
        parameters: sent with every call.
        inline: whether it sends nothing and is free.
        completes: whether it continues a text, so that the log probabilities of a prompt can be had.
        without_question: why every call would be the same; "" where the messages have a place.
        tier: of a slower and cheaper service that it orders, one of `SLOW_S`; "" for the usual one.
    """

    name: str = ""
    address: str = ""
    body: Any = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    inline: bool = False
    completes: bool = False
    without_question: str = ""
    tier: str = ""

    @classmethod
    def of(cls, model: Any) -> ModelInfo:
        """Read the attributes of any object that is used as a model.

        >>> ModelInfo.of(object()) == ModelInfo()
        True
        """
        name, parameters = getattr(model, "name", ""), getattr(model, "parameters", None)
        return cls(
            name=name if isinstance(name, str) else "",
            address=str(getattr(model, "base_url", "") or getattr(model, "url", "")),
            body=getattr(model, "body", None),
            parameters=parameters if isinstance(parameters, Mapping) else {},
            inline=bool(getattr(model, "inline", False)),
            completes=bool(getattr(model, "completes", False)),
            without_question=str(getattr(model, "without_question", "")),
            tier=str(getattr(model, "tier", "")),
        )


def as_messages(messages: str | list[Message]) -> list[Message]:
    """Convert a plain text to one user message; a list of messages is copied."""
    return [{"role": "user", "content": messages}] if isinstance(messages, str) else list(messages)


def endpoint_of(url: str) -> str:
    """Scheme, host and port of an address; calls to one endpoint share one gate.

    >>> endpoint_of("https://user:pass@api.example:8443/v1?x=1")
    'https://api.example:8443'
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def usage_of(
    input_tokens: Any,
    output_tokens: Any,
    text: str,
    *,
    cache_read: Any = 0,
    cache_write: Any = 0,
    reasoning: Any = 0,
) -> Usage:
    """Token counts from an endpoint, or an estimate from the text if it gave none.

    Args:
        input_tokens: as the endpoint counted all of the input.
        output_tokens: as the endpoint counted all of the output.
        text: the reply's text, for the estimate.
        cache_read: of the input, as the endpoint counted it; anything that is not a count is 0.
        cache_write: of the input, likewise.
        reasoning: of the output, likewise.

    >>> usage_of(20, 3, "Paris"), usage_of(20, -3, "Paris")
    (Usage(input_tokens=20, output_tokens=3, estimated=False), Usage(input_tokens=0, output_tokens=1, estimated=True))
    """
    if _is_count(input_tokens) and _is_count(output_tokens):
        # No endpoint can have had more in its cache than it was sent.
        read = min(count_or_zero(cache_read), input_tokens)
        written = min(count_or_zero(cache_write), input_tokens - read)
        thought = min(count_or_zero(reasoning), output_tokens)
        return Usage(input_tokens, output_tokens, cache_read=read, cache_write=written, reasoning=thought)
    return Usage(0, estimate_tokens(text), estimated=True)


def count_or_zero(value: Any) -> int:
    """A token count from an endpoint, or 0 for anything else.

    >>> count_or_zero(7), count_or_zero(None), count_or_zero(-1), count_or_zero(True)
    (7, 0, 0, 0)
    """
    return value if _is_count(value) else 0


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _MOST_TOKENS


def finish_named(reason: str) -> str:
    """Map a finish reason to OpenAI's terms; unknown ones are unchanged.

    >>> finish_named("sensitive"), finish_named("MAX_TOKENS"), finish_named("Unheard_of")
    ('content_filter', 'length', 'Unheard_of')
    >>> finish_named("content_filter: RECITATION")  # of Gemini's OpenAI-compatible endpoint
    'content_filter'
    """
    word = reason.lower().partition(":")[0]
    named = _FINISHES.get(word, word)
    return named if named in _FINISHES.values() else reason


def encode_body(body: Any) -> bytes:
    r"""Compact JSON in ASCII, so that half of a surrogate pair can be sent too; the journal's key is a hash of it.

    Raises:
        TypeError: a value has no JSON form.

    >>> encode_body({"a": ["易", 1e-7, 0.5]})
    b'{"a":["\\u6613",1e-07,0.5]}'
    """
    return _ENCODE(body).encode()
