"""Classifies HTTP statuses, error codes and bodies as faults, for all HTTP models.

| answer | kind | sent again? |
|---|---|---|
| 429 | rate_limit | yes, after what Retry-After says |
| 5xx but 501, 408, 409, 425 | server | yes |
| 2xx with HTML (2) or broken JSON | malformed | yes |
| 2xx with JSON that has nothing at the mapped place (2) | empty | yes |
| any other 4xx with a code of a passing fault, such as `overloaded_error` | rate_limit or server | yes |
| 401, 407, or a code that says the key is wrong | auth | no, the run ends (1) |
| 402, or a code that says the account is out of money or quota (also under 429) | quota | no, the run ends (1) |
| a code that says there is no such model | unknown_model | no, the run ends (1) |
| 4xx or 500 whose text or code names the reason (`models.refusals`) | auth, unknown_model, quota | no; a second \
ends the run |
| 4xx or 500 about the region or the version of the API | bad_request | no; a second ends the run |
| 404, 405, 410 that name no reason (2) | bad_request | no |
| 1xx, 3xx: a redirect would carry the key elsewhere | bad_request | no; a second ends the run |
| any other 4xx, 501 (not implemented) | bad_request | no; the next sample may fare better |
| 4xx because of a content filter | no fault | it is an outcome of the sample |
| 2xx with an error inside | that of the status that its code stands for (`models.refusals`) | likewise; an unknown \
code as 500 |

(1) After the endpoint's first good reply only if a second sample is refused in the same words: see `models.limits`.
(2) Until the first readable reply of the model an equal answer to a second sample ends the run: see
`models.mismatches`.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import responses
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from steelyard.escaping import printable
from steelyard.models.base import Answer, Fault, Refused
from steelyard.models.mismatches import is_page, mismatch, without_mapped_form
from steelyard.models.references import without_query
from steelyard.models.refusals import (
    ENDING,
    MISMATCH,
    NAMED,
    PASSING,
    concerns_sample,
    is_passing,
    kind_of,
    refusal_kind,
    setting_named,
    status_of,
)
from steelyard.models.refused_parameters import refused_parameters
from steelyard.plain_json import mapping_or_empty, parsed_or, text_or_json
from steelyard.types import Json, Reply

_QUOTED: Final = 200
_SERVER_ERROR: Final = 500
_NOT_IMPLEMENTED: Final = 501
"""The server does not support what the request needs, so it is not sent again (RFC 9110, section 15.6.2)."""
_KIND_OF_STATUS: Final[Mapping[int, str]] = MappingProxyType(
    {
        401: "auth",
        402: "quota",
        407: "auth",
        408: "server",
        409: "server",
        425: "server",
        429: "rate_limit",
        _NOT_IMPLEMENTED: "bad_request",
    }
)
_NOTHING_THERE: Final = frozenset({404, 405, 410})
"""Answers of a wrong address to every call; at a correct address they concern a single call."""
_RETRIED: Final = frozenset({"rate_limit", "server"})
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_MESSAGES: Final = ("message", "msg", "detail", "error_msg", "Message", "status_msg")
"""Keys of an error's text; the last are Baidu's, Bedrock's and MiniMax's."""
_USUAL_FINISHES: Final = frozenset({"stop", "length", "tool_calls"})
_BROKEN_OFF: Final = frozenset({"error", "abort"})


class ErrorBody(NamedTuple):
    """The error in a body: its `message`, and its codes and types in lower case."""

    message: str = ""
    codes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Message and codes in one text, for `refusal_kind`."""
        return " ".join((self.message, *(code.replace("_", " ") for code in self.codes))).strip()


def error_body(value: Json) -> ErrorBody:
    """The error in a JSON value of a usual shape: `error` as a mapping or text, or `code` with `msg` or `message`.

    Codes come from `code`, `type`, `error_code`, `error_type`, `status` and `status_code`, the most specific first.
    Cloudflare lists `errors`, of which the first counts; MiniMax says in `base_resp` how a call went.

    >>> error_body({"error": {"message": "no money", "code": "1113"}})
    ErrorBody(message='no money', codes=('1113',))
    >>> error_body({"code": 404, "msg": "no such knowledge base"})
    ErrorBody(message='no such knowledge base', codes=('404',))
    >>> error_body([{"error": {"code": 400, "message": "API key not valid"}}]).message
    'API key not valid'
    """
    if isinstance(value, str):
        return ErrorBody(value)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]  # as Gemini's OpenAI-compatible endpoint writes it
    if not isinstance(value, Mapping):
        return ErrorBody()
    inner = _stated(value) or value
    if isinstance(inner, Mapping) and not _said(inner) and (errors := inner.get("errors")):
        inner = errors[0] if isinstance(errors, list) else errors
    if not isinstance(inner, Mapping):
        return ErrorBody(text_or_json(inner), _codes_of(value))
    return ErrorBody(text_or_json(_said(inner)), _codes_of(inner))


def _said(error: Mapping[str, Any]) -> Any:
    keys = (*_MESSAGES, "text") if "error_code" in error else _MESSAGES
    return next((error[key] for key in keys if error.get(key)), "")


def _stated(value: Mapping[str, Any]) -> Any:
    """The error under `error`, MiniMax's status of a failed call, or FastChat's event with `error_code` and `text`."""
    status = mapping_or_empty(value.get("base_resp"))
    coded = "choices" not in value and value.get("error_code") and value
    return value.get("error") or (status if status.get("status_code") else coded)


def _codes_of(error: Mapping[str, Any]) -> tuple[str, ...]:
    details = (mapping for name in ("innererror", "details") if isinstance(mapping := error.get(name), Mapping))
    codes = [
        *(error.get(name) for name in ("code", "type", "error_code", "error_type", "status", "status_code")),
        *(detail.get(name) for detail in details for name in ("code", "error_code")),
    ]
    if isinstance(about := error.get("metadata"), Mapping) and "flagged_input" in about:
        codes.append("content_filter")  # OpenRouter's moderation, which has the code 403 alone
    return tuple(str(code).lower() for code in codes if isinstance(code, str | int) and code)


def filtered_reply(answer: Answer) -> Reply | None:
    """The empty reply of a call that a content filter stopped; None for a success.

    Raises:
        Fault: the status is not a success, and for another reason.
    """
    if 200 <= answer.status < 300:
        return None
    error = error_of(answer)
    kind = _kind(answer.status, error)
    if kind == "content_filter":
        return Reply("", "", "content_filter", metadata={"message": error.message or quoted(answer.body)})
    raise _fault_of(answer, error, kind)


def _fault_of(answer: Answer, error: ErrorBody, kind: str) -> Fault:
    refused = refused_parameters(answer.body) if kind == "bad_request" or answer.status == _SERVER_ERROR else Refused()
    # Gateways pass the refusal of a parameter on as a 500, in which a bare name may be part of a stack trace.
    if kind != "bad_request" and not refused.clear:
        refused = Refused()
    if refused.names:
        return _refusal_of_parameters(_message(answer, error), refused)
    if (refusal := _refusal(answer, error, kind)) is not None:
        named_kind, basis = refusal
        fault = _refused(named_kind or "bad_request", _message(answer, error), basis)
        return mismatch(fault, answer) if basis == MISMATCH else fault
    if answer.status < 400:
        fault = _refused(kind, _message(answer, error), NAMED)
        fault.likeness = f"status {answer.status}"  # the address of a redirect may contain values of the sample
        return fault
    fault = Fault(
        kind,
        _message(answer, error),
        retry=_is_retried(kind, answer),
        wait_asked_s=wait_asked_s(answer) if kind in _RETRIED else None,
        ends_run=kind in ENDING,
    )
    fault.refused = refused
    return fault


def _is_retried(kind: str, answer: Answer) -> bool:
    """Whether a refused call is sent again; OpenAI and its like say so in a header, which counts where one does."""
    if kind in ENDING or (said := answer.headers.get("x-should-retry", "").lower()) not in {"true", "false"}:
        return kind in _RETRIED
    return said == "true"


def fault_in_body(error: ErrorBody, answer: Answer) -> Fault | None:
    """The fault for an error inside a 2xx body; None where a content filter stopped the call.

    A code is read as the status that it stands for, except that 404 does not end the run: such a service lacks one
    thing (a knowledge base), and its address is right. An error without a known code counts as a 500, whose text is
    read: the service began a reply and failed, so it may have been billed.
    """
    kind, status = kind_of(error.codes), 0
    if not kind:
        status = status_of(error.codes)
        kind = "bad_request" if status == 404 else _kind(status or _SERVER_ERROR, error)
    if kind == "content_filter":
        return None
    message = f"an error came with status {answer.status}: {_worded(error) or quoted(answer.body)}"
    refused = refused_parameters(answer.body)
    if refused.names and refused.clear and kind in {"bad_request", "server"}:
        return _refusal_of_parameters(message, refused)
    if kind in {"bad_request", "server"} and status not in PASSING:
        if named_kind := refusal_kind(error.text, passing=True):
            return _refused(named_kind, message, NAMED)
        if setting_named(error.text) == "path":
            return mismatch(_refused("bad_request", message, MISMATCH), answer)
        if not status and concerns_sample(error.text):
            kind = "bad_request"
    return Fault(
        kind,
        message,
        retry=kind in _RETRIED,
        wait_asked_s=wait_asked_s(answer) if kind in _RETRIED else None,
        billed=kind == "server",
        ends_run=kind in ENDING,
    )


def fault_of_error(value: Mapping[str, Any], answer: Answer) -> Fault | None:
    """The fault for a JSON value that `is_error`; None where a content filter stopped the call.

    One that has only a `message`, `msg` or `detail` and no sign that it passes is what other services answer.
    """
    error = error_body(value)
    fault = fault_in_body(error, answer)
    is_named = _stated(value) or value.get("errors") or names_error(value) or error.codes
    if fault is not None and fault.retry and not is_named and not is_passing(error.text):
        mismatch(fault, answer)
    return fault


def is_error(value: Mapping[str, Any]) -> bool:
    """Whether a JSON value is an error: it has `error`, or is an error's body itself, as vLLM and gateways send it."""
    if _stated(value) or "choices" in value:
        return bool(_stated(value))
    is_said = any(isinstance(value.get(name), str) for name in _MESSAGES)
    return names_error(value) or bool(value.get("errors")) or is_said


def names_error(value: Mapping[str, Any]) -> bool:
    """Whether a JSON value says that it is an error."""
    return value.get("object") == "error" or value.get("type") == "error"


def check_finish(reason: Any, answer: Answer) -> None:
    """Refuse a reply that the service broke off by a fault of its own: what came is only a part of it.

    Args:
        reason: the finish reason: OpenRouter's and Mistral's `error`, ZhipuAI's `network_error`, DeepSeek's
            `insufficient_system_resource`, vLLM's and SGLang's `abort` and the like are refused.
        answer: the whole answer, for messages.

    Raises:
        Fault: the reason is a fault; sent again.
    """
    if not isinstance(reason, str) or reason in _USUAL_FINISHES:
        return
    code = reason.lower()
    if (code in _BROKEN_OFF or code.endswith("_error") or status_of([code]) in PASSING) and (
        fault := fault_in_body(ErrorBody("the service ended the reply", (code,)), answer)
    ):
        raise fault


def _refusal(answer: Answer, error: ErrorBody, kind: str) -> tuple[str, str] | None:
    """The kind that text or code name where the status alone is ambiguous, with the basis for `Fault.refusal`.

    None where the status or a code is clear, or the text names no reason.
    """
    status = answer.status
    if status < 400 or (kind != "bad_request" and status != _SERVER_ERROR):
        return None
    named_kind = kind_of(error.codes)
    if named_kind not in ENDING:
        text = error.text or answer.body.decode("utf-8", "replace")
        named_kind = refusal_kind(text, passing=status == _SERVER_ERROR)
    setting = setting_named(error.text)
    if named_kind or setting not in {"", "path"}:
        return named_kind, NAMED
    return ("", MISMATCH) if setting or status in _NOTHING_THERE else None


def _refusal_of_parameters(message: str, refused: Refused) -> Fault:
    fault = Fault("bad_request", message, retry=False)
    fault.refused = refused
    return fault


def _refused(kind: str, message: str, basis: str) -> Fault:
    fault = Fault(kind, message, retry=False)
    fault.refusal = basis
    return fault


def error_of(answer: Answer) -> ErrorBody:
    """The error in the body of `answer`; empty if it is not JSON."""
    return error_body(parsed_or(answer.body))


def parse_json(answer: Answer) -> Any:
    """The JSON value in `answer`.

    Raises:
        Fault: `malformed`, sent again: HTML, a truncated body, anything else that is not JSON. It may have been billed.
    """
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError) as error:
        form, content = "an HTML page" if is_page(answer) else "no JSON", quoted(answer.body) or "an empty body"
        fault = Fault("malformed", f"status {answer.status}, but {form}: {content}", billed=True)
        raise without_mapped_form(fault, answer) from error


def quoted(body: bytes | str) -> str:
    r"""The first 200 characters of `body`, with control and direction characters made visible.

    >>> quoted(b"<b>\x1b[31m\n")
    '<b>\\x1b[31m\\n'
    """
    # A character of UTF-8 has at most four bytes; the rest of a long body need not be decoded.
    text = body if isinstance(body, str) else body[: _QUOTED * 4].decode("utf-8", "replace")
    return printable(text[:_QUOTED]) + ("…" if len(text) > _QUOTED else "")


def _kind(status: int, error: ErrorBody) -> str:
    if status >= 500 and status != _NOT_IMPLEMENTED:
        return "server"
    if (kind := kind_of(error.codes)) and (kind != "rate_limit" or status not in _KIND_OF_STATUS):
        return kind
    if status not in _KIND_OF_STATUS and (named_status := status_of(error.codes)) in PASSING:
        return _KIND_OF_STATUS.get(named_status, "server")
    return _KIND_OF_STATUS.get(status, "bad_request")


def _message(answer: Answer, error: ErrorBody) -> str:
    if answer.status in _REDIRECTS:
        location = quoted(without_query(answer.headers.get("location", "an address that it does not name")))
        return (
            f"status {answer.status}: redirects to {location}, and redirects are not followed: give the final address"
        )
    if answer.status < 400:
        phrase = responses.get(answer.status, "unknown to HTTP")
        return f"status {answer.status} ({phrase}): not an answer to this call, which expects 200"
    return f"status {answer.status}: {_worded(error) or quoted(answer.body) or 'an empty body'}"


def _worded(error: ErrorBody) -> str:
    code = error.codes[0] if error.codes else ""
    return quoted(error.message) + (f" ({quoted(code)})" if code else "") if error.message else ""


_LIMIT: Final = re.compile(r"(?:(?:x|anthropic)-)?ratelimit-(?:(?P<kind>[a-z-]+)-)?remaining(?:-(?P<after>[a-z-]+))?")
_SPAN: Final = re.compile(r"(?:(?P<h>\d+)h)?(?:(?P<m>\d+)m(?!s))?(?:(?P<s>\d+(?:\.\d+)?)s)?(?:(?P<ms>\d+)ms)?")
_IN_BODY: Final = re.compile(rb'"retryDelay"\s*:\s*"(\d{1,6}(?:\.\d{1,9})?)s"')
_IN_TEXT: Final = re.compile(
    rb"(?:try again|retry) (?:in|after) ((?:\d{1,4}h)?(?:\d{1,4}m)?\d{1,6}(?:\.\d{1,9})? ?m?s)(?:econds?)?\b",
    re.IGNORECASE,
)
"""LiteLLM's proxy and other gateways pass on the text of a refusal, but not its header fields."""
_SINCE_1970: Final = 1e9
"""From so many seconds on, a number is a time and not a span."""
_LONGEST_S: Final = 86_400.0


def wait_asked_s(answer: Answer) -> float | None:
    """Seconds to wait before the next attempt; None where the answer does not say.

    | who | where |
    |---|---|
    | most | `retry-after-ms`, `retry-after`: seconds or a date |
    | OpenAI, Azure, vLLM gateways | `x-ratelimit-remaining-tokens: 0` and `x-ratelimit-reset-tokens: 6m0s` |
    | Anthropic | `anthropic-ratelimit-input-tokens-remaining: 0` and `-reset: 2026-01-01T00:00:10Z` |
    | OpenRouter | `x-ratelimit-remaining: 0` and `x-ratelimit-reset`: milliseconds since 1970 |
    | Gemini | `retryDelay: "13s"` in the error's details |
    | OpenAI, Azure, LiteLLM | `try again in 7m12.5s`, `retry after 26 seconds` in the error's text |

    Sources: the references of these providers on rate limits; google.rpc.RetryInfo.
    """
    if (seconds := retry_after_s(answer.headers)) is not None:
        return seconds
    if answer.status == 429 and (waits := [*_resets(answer.headers)]):
        return max(waits)
    if delay := _IN_BODY.search(answer.body):
        return float(delay[1])
    asked = _IN_TEXT.search(answer.body)
    return _until(asked[1].decode().lower().replace(" ", ""), {}) if asked else None


def _resets(headers: Mapping[str, str]) -> Iterator[float]:
    """Seconds until each rate limit of which nothing is left has room again."""
    for name, left in headers.items():
        limit = _LIMIT.fullmatch(name.lower())
        if limit is None or _number(left) != 0:
            continue
        reset = headers.get(re.sub("remaining", "reset", name.lower()))
        if reset is not None and (seconds := _until(reset, headers)) is not None and seconds <= _LONGEST_S:
            yield seconds


def _until(text: str, headers: Mapping[str, str]) -> float | None:
    """Seconds until a time, or of a span: `6m0s`, `20ms`, `1.5`, a date, seconds or milliseconds since 1970.

    >>> _until("6m0s", {}), _until("20ms", {}), _until("1.5", {}), _until("soon", {})
    (360.0, 0.02, 1.5, None)
    """
    if (number := _number(text)) is not None:
        if number < _SINCE_1970:
            return number
        return max(0.0, (number / 1000 if number > _SINCE_1970 * 1000 else number) - _now(headers, None))
    if text and (span := _SPAN.fullmatch(text)):
        hours, minutes, seconds, millis = (float(part or 0) for part in span.groups())
        return hours * 3600 + minutes * 60 + seconds + millis / 1000
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return max(0.0, (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() - _now(headers, None))


def _now(headers: Mapping[str, str], now: float | None) -> float:
    """The time by the answer's own Date, so that a wrong clock here does no harm; else by the clock."""
    since = _http_date(headers.get("date", ""))
    return since if since is not None else time.time() if now is None else now


def retry_after_s(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """Seconds to wait before the next attempt, from the header fields; None where they give no valid value.

    Args:
        headers: names in lower case. `retry-after-ms` wins over `retry-after`, which is a number of seconds (a
            fraction is accepted), a span (`2s`) or an HTTP date.
        now: seconds since 1970, for a date in an answer without a Date of its own; None is the clock. A date is
            otherwise measured from the answer's own Date, so that a wrong clock here does no harm.

    >>> retry_after_s({"retry-after": "1.5"}), retry_after_s({"retry-after-ms": "250", "retry-after": "9"})
    (1.5, 0.25)
    """
    if (seconds := _number(headers.get("retry-after-ms"))) is not None:
        return seconds / 1000
    header = headers.get("retry-after")
    if header is None or (seconds := _number(header)) is not None:
        return seconds
    if (seconds := _until(header, headers)) is not None:
        return seconds
    until = _http_date(header)
    if until is None:
        return None
    return float(max(0, math.ceil(until - _now(headers, now))))


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _http_date(text: str) -> float | None:
    try:
        when = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
