"""Calls every provider that LiteLLM supports (Anthropic, Gemini, Bedrock, Cohere, ...), through its package.

LiteLLM translates and sends; retries and budgets stay ours: its own retries, fallbacks, cache and callbacks are off,
and its errors are converted back to HTTP answers, which `models.faults` classifies like any other. Importing it takes
seconds and would download a list of prices: it is imported before the first call of a run, with the download off. A
call costs several ms of CPU, twenty times one of `openai_compatible`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from importlib.util import find_spec
from typing import Any, Final

from steelyard.constraints import Timeout
from steelyard.errors import ConfigError, install_command
from steelyard.models.base import Answer, CallParameters, Fault, Request, Wire, as_messages, encode_body, endpoint_of
from steelyard.models.endpoint import most_tokens
from steelyard.models.openai_compatible import read_completion
from steelyard.models.prices import PER, Price, PriceTable
from steelyard.models.references import check_key, check_secrets, masked
from steelyard.prompts.conversation import content_text
from steelyard.types import Message, Reply, estimate_tokens

_OURS: Final = (
    *("messages", "model", "stream", "api_key", "api_base", "base_url", "timeout", "num_retries", "max_retries"),
    *("fallbacks", "callbacks", "success_callback", "failure_callback", "caching", "client"),
)
"""Arguments that parameters may not set: they have fields of their own, or the session controls them."""
_FLAGS: Final = ("LITELLM_LOCAL_MODEL_COST_MAP", "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS")
"""Variables that make LiteLLM take its lists from its own package and not from the network."""
_UNREACHED: Final = frozenset({"ConnectError", "ConnectTimeout", "ClientConnectorError", "ClientConnectorDNSError"})
_MOST_CAUSES: Final = 10


@dataclass(frozen=True, slots=True)
class LiteLLM:
    """A model of any provider that LiteLLM supports.

    Args:
        name: provider and model as LiteLLM writes them: `anthropic/claude-sonnet-4-5`, `gemini/gemini-2.5-pro`.
        api_key: a reference, `"${NAME}"`. Without one, LiteLLM takes a key from the environment by itself, and that
            key cannot be redacted from messages.
        api_base: the address, where it is not the provider's own.
        parameters: sent with every call; those of a single call win. Data: no `${NAME}` is resolved in it.
        credentials: further arguments of LiteLLM that are secret, each a reference:
            `{aws_secret_access_key: "${AWS_SECRET}"}`.
        headers: sent with every call; values may hold `${NAME}`.
        timeout_s: limit of one attempt, in seconds.
    """

    name: str
    api_key: str = ""
    api_base: str = ""
    parameters: CallParameters = field(default_factory=dict)
    credentials: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout_s: Timeout = 120.0

    def check(self) -> None:
        """Validate the fields before anything is sent.

        Raises:
            ConfigError: the package is missing, a key is written out, or a parameter is not one.
        """
        if find_spec("litellm") is None:
            raise ConfigError(f"the model litellm needs a package that is not installed: {install_command('litellm')}")
        if not self.name:
            raise ConfigError("name is missing: provider and model, as in anthropic/claude-sonnet-4-5")
        check_key(self.api_key)
        for name, value in self.credentials.items():
            check_key(value, name)
        check_secrets(self.api_base, self.headers)
        for name in (*self.parameters, *self.credentials):
            if name in _OURS:
                raise ConfigError(f"parameters must not contain {name!r}")

    def load(self) -> None:
        """Import the package, which takes seconds, and look up the model's provider.

        Raises:
            ConfigError: LiteLLM does not know the provider.
        """
        package = _package()
        try:
            package.get_llm_provider(model=self.name, api_base=self.api_base or None, api_key="none")
        except Exception as error:
            raise ConfigError(
                f"LiteLLM knows no provider of {self.name!r}: write provider/model, as in anthropic/claude-sonnet-4-5"
            ) from error

    def request(self, messages: str | list[Message], parameters: Mapping[str, Any]) -> Request:
        """The call; its payload is the arguments for LiteLLM, without any secret."""
        turns = as_messages(messages)
        body = {"model": self.name, "messages": turns, **self.parameters, **parameters}
        provider, _, model = self.name.partition("/")
        return Request(
            endpoint=endpoint_of(self.api_base) if self.api_base else f"litellm:{provider if model else ''}",
            url=f"litellm:{self.api_base}",
            payload=encode_body(body),
            timeout_s=self.timeout_s,
            input_tokens=sum(estimate_tokens(content_text(turn.get("content"))) for turn in turns),
            output_tokens=most_tokens(body),
        )

    async def send(self, request: Request, wire: Wire) -> Answer:
        """Send it once, through LiteLLM.

        Raises:
            Fault: no answer came.
        """
        package = _package()
        wire.closers["litellm"] = _close
        arguments = json.loads(request.payload)
        arguments |= {name: wire.resolve(value) for name, value in self.credentials.items()}
        arguments |= {"api_key": wire.resolve(self.api_key)} if self.api_key else {}
        arguments |= {"api_base": wire.resolve(self.api_base)} if self.api_base else {}
        if self.headers:
            arguments["extra_headers"] = {name: wire.resolve(value) for name, value in self.headers.items()}
        arguments |= {"timeout": request.timeout_s, "num_retries": 0, "max_retries": 0}
        try:
            async with asyncio.timeout(request.timeout_s):
                completion = await package.acompletion(**arguments)
            return Answer(200, {}, wire.redact(completion.model_dump_json()).encode("utf-8", "replace"))
        except TimeoutError as error:
            raise Fault("timeout", f"no complete answer within {request.timeout_s:g} s", billed=True) from error
        except Exception as error:  # noqa: BLE001  # providers' clients may raise anything; each is one failed attempt
            # Raised without its cause: the chain holds the arguments of the call, and with them the key.
            raise_or_answer = _outcome(error, package, wire)
        if isinstance(raise_or_answer, Fault):
            raise raise_or_answer
        return raise_or_answer

    def read(self, answer: Answer) -> Reply:
        """The reply in `answer`, which LiteLLM gives in OpenAI's form.

        Raises:
            Fault: a status that says so, or no choice and no content.
        """
        return read_completion(answer)


@cache
def _package() -> Any:
    """The package, with its downloads, retries, callbacks and log messages off.

    Raises:
        ConfigError: it is not installed.
    """
    os.environ.update(dict.fromkeys(_FLAGS, "True"))
    mode = os.environ.get("LITELLM_MODE")
    os.environ["LITELLM_MODE"] = "PRODUCTION"  # else it reads a .env file into the environment
    try:
        import litellm
    except ImportError as error:
        raise ConfigError(f"litellm cannot be imported: {install_command('litellm')}") from error
    finally:
        os.environ.pop("LITELLM_MODE")
        if mode is not None:
            os.environ["LITELLM_MODE"] = mode
    settings: dict[str, Any] = {"suppress_debug_info": True, "telemetry": False, "num_retries": 0, "cache": None}
    settings |= {"disable_hf_tokenizer_download": True, "drop_params": False, "modify_params": False}
    settings |= {name: [] for name in ("callbacks", "success_callback", "failure_callback")}
    for name, value in settings.items():
        setattr(litellm, name, value)
    logging.getLogger("LiteLLM").setLevel(logging.ERROR)
    return litellm


async def _close() -> None:
    """Close the connections of this session's event loop and clear LiteLLM's cache, which would reuse them."""
    package = _package()
    with contextlib.suppress(Exception):  # each provider's client raises errors of its own
        await package.close_litellm_async_clients()
    package.in_memory_llm_clients_cache.flush_cache()


def _outcome(error: Exception, package: Any, wire: Wire) -> Answer | Fault:
    """Map a LiteLLM exception to the HTTP answer behind it, or to a fault if none arrived."""
    message = masked(wire.redact(" ".join(str(error).split())))[:600]
    causes = {type(cause).__name__ for cause in _causes(error)}
    if isinstance(error, package.Timeout) or "ReadTimeout" in causes:
        return Fault("timeout", message, billed=True)
    if causes & _UNREACHED:
        return Fault("connection", message)
    status = getattr(error, "status_code", None)
    if type(status) is not int or not 100 <= status <= 599:
        return Fault("bad_request", f"LiteLLM failed with {type(error).__name__}: {message}", retry=False)
    if isinstance(error, package.APIConnectionError):
        return Fault("connection", message, billed=True)
    body = {"error": {"message": message, **_codes(error, package)}}
    # A status below 400 is that of an answer with an error inside.
    return Answer(status if status >= 400 else 200, _headers(error), json.dumps(body).encode())


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(_MOST_CAUSES):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _codes(error: Exception, package: Any) -> dict[str, str]:
    """The provider's own code and type, or `content_filter` where LiteLLM's class says so."""
    if isinstance(error, package.ContentPolicyViolationError):
        return {"code": "content_filter"}
    body = getattr(error, "body", None)
    details = body if isinstance(body, Mapping) else {}
    return {name: str(details[name]) for name in ("code", "type") if isinstance(details.get(name), str | int)}


def _headers(error: Exception) -> dict[str, str]:
    """The answer's header fields by lower-case name, from whichever attribute of the error has them."""
    response = getattr(error, "response", None)
    for headers in (getattr(error, "litellm_response_headers", None), getattr(response, "headers", None)):
        if headers:
            return {str(name).lower(): str(value) for name, value in dict(headers).items()}
    return {}


def cost_map() -> PriceTable:
    """The prices in the installed LiteLLM package, in USD; nothing is downloaded.

    Raises:
        ConfigError: it is not installed.
    """
    table: dict[str, Price] = {}
    for name, entry in _package().model_cost.items():
        prices = [entry.get(f"{direction}_cost_per_token") for direction in ("input", "output")]
        if all(_is_price(price) for price in prices):
            cached = entry.get("cache_read_input_token_cost")
            input_price, output_price = map(_per_million, prices)
            table[name] = Price(input_price, output_price, _per_million(cached) if _is_price(cached) else None)
    return PriceTable(table, "USD")


def _is_price(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and 0 <= value <= 1


def _per_million(price: float) -> float:
    return float(Decimal(str(price)) * PER)
