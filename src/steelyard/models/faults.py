"""Classifies HTTP statuses, error codes and bodies as faults, for all HTTP models.

| answer | kind | sent again? |
|---|---|---|
| 429 | rate_limit | yes, after what Retry-After says |
| 5xx but 501, 408, 409, 425 | server | yes |
| 2xx with HTML or broken JSON | malformed | yes |
| 401, 407, or a code that says the key is wrong | auth | no, the run ends (1) |
| 402, or a code that says the account is out of money or quota (also under 429) | quota | no, the run ends (1) |
| a code that says there is no such model | unknown_model | no, the run ends (1) |
| 4xx or 500 whose text names the reason (`models.refusals`) | auth, unknown_model, quota | no; a second ends the run |
| 404, 405 that name no reason | bad_request | no; a second ends the run before the endpoint's first good reply |
| 3xx | bad_request | no, the run ends: a redirect would carry the key elsewhere |
| any other 4xx, 501 (not implemented) | bad_request | no; the next sample may fare better |
| 4xx because of a content filter | no fault | it is an outcome of the sample: `is_content_filter` |

(1) After the endpoint's first good reply only if a second sample is refused in the same words: see `models.limits`.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from steelyard.models.base import Answer, Fault
from steelyard.models.json_bodies import parse_body
from steelyard.models.refusals import ENDING, NAMED, UNPROVEN, refusal_kind
from steelyard.types import Json, Reply

_QUOTED: Final = 200
_CODES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "quota": (
            "insufficient_quota", "insufficient_user_quota", "insufficient_balance", "billing_hard_limit_reached",
            "billing_not_active", "exceeded_current_quota_error", "arrearage", "accountoverdueerror", "budget_exceeded",
            "1113", "1304", "1308", "1309", "1310",
        ),
        "auth": ("invalid_api_key", "1110", "1111", "1112", "1121", "1220"),
        "unknown_model": (
            "model_not_found", "modelnotopen", "deploymentnotfound", "invalidendpointormodel.notfound", "1211", "1222",
        ),
        "rate_limit": ("1302", "1303", "1305", "1312"),
        "content_filter": (
            "content_filter", "content_policy_violation", "responsibleaipolicyviolation", "data_inspection_failed",
            "datainspectionfailed", "sensitive_words_detected", "1301",
        ),
    }
)  # fmt: skip
"""Codes of error bodies, in lower case; the numbers are ZhipuAI's, from its public list of business error codes."""
_KIND_OF_CODE: Final = MappingProxyType({code: kind for kind, codes in _CODES.items() for code in codes})
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
_NOTHING_THERE: Final = frozenset({404, 405})
"""Answers of a wrong address to every call; at a correct address they concern a single call."""
_PASSING_STATUSES: Final = frozenset({408, 409, 425, 429, 502, 503, 504, 529})
"""Sent again whatever their text says; 529 is Anthropic's "overloaded". 500 is not one of them: some servers answer it
to a wrong key, so its text decides."""
_RETRIED: Final = frozenset({"rate_limit", "server"})


class ErrorBody(NamedTuple):
    """The error in a body: its `message`, and its codes and types in lower case."""

    message: str = ""
    codes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Message and codes in one text, for `refusal_kind`."""
        return " ".join((self.message, *self.codes)).strip()

    def kind(self) -> str:
        """The kind that a known code stands for, `content_filter` included; "" where there is none."""
        return next((_KIND_OF_CODE[code] for code in self.codes if code in _KIND_OF_CODE), "")


def error_body(value: Json) -> ErrorBody:
    """The error in a JSON value of a usual shape: `error` as a mapping or text, or `code` with `msg` or `message`.

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
    inner = value.get("error") or value
    if not isinstance(inner, Mapping):
        return ErrorBody(_plain(inner))
    message = next((inner[key] for key in ("message", "msg", "detail", "error_msg") if inner.get(key)), "")
    codes = [inner.get("code"), inner.get("type"), inner.get("error_code")]
    if isinstance(nested := inner.get("innererror"), Mapping):
        codes.append(nested.get("code"))
    return ErrorBody(
        _plain(message), tuple(str(code).lower() for code in codes if isinstance(code, str | int) and code)
    )


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
    if (refusal := _refusal(answer.status, kind, error.text or answer.body.decode("utf-8", "replace"))) is not None:
        named_kind, basis = refusal
        return _refused(named_kind or "bad_request", _message(answer, error), basis)
    return Fault(
        kind,
        _message(answer, error),
        retry=kind in _RETRIED,
        retry_after_s=retry_after_s(answer.headers) if kind in _RETRIED else None,
        ends_run=kind in ENDING or answer.status < 400,
    )


def fault_in_body(error: ErrorBody, answer: Answer) -> Fault | None:
    """The fault for an error inside a 2xx body; None where a content filter stopped the call.

    A code is read as a name or as an HTTP status, except that 404 does not end the run: such a service lacks one thing
    (a knowledge base), and its address is right. A call with a code that is neither is not sent again. An error without
    any code is an exception that the service caught, so it counts as a 500 and may have been billed.
    """
    kind, named_kind, status = error.kind(), "", 0
    if not kind:
        statuses = [int(code) for code in error.codes if code.isascii() and code.isdigit() and len(code) == 3]
        status = statuses[0] if statuses else 400 if error.codes else 500
        kind = "bad_request" if status == 404 else _kind(status, error)
        named_kind = refusal_kind(error.text, passing=True) if kind in {"bad_request", "server"} else ""
    if kind == "content_filter":
        return None
    message = f"an error came with status {answer.status}: {_worded(error) or quoted(answer.body)}"
    if named_kind and status not in _PASSING_STATUSES:
        return _refused(named_kind, message, NAMED)
    return Fault(
        kind,
        message,
        retry=kind in _RETRIED,
        retry_after_s=retry_after_s(answer.headers) if kind in _RETRIED else None,
        billed=kind == "server",
        ends_run=kind in ENDING,
    )


def _refusal(status: int, kind: str, text: str) -> tuple[str, str] | None:
    """The kind that the text names where the status alone is ambiguous, with the basis for `Fault.refusal`.

    None where the status or a code is clear, or the text names no reason.
    """
    if kind != "bad_request" and status != _SERVER_ERROR:
        return None
    named_kind = refusal_kind(text, passing=status == _SERVER_ERROR) if status >= 400 else ""
    if named_kind:
        return named_kind, NAMED
    return ("", UNPROVEN) if status in _NOTHING_THERE else None


def _refused(kind: str, message: str, basis: str) -> Fault:
    fault = Fault(kind, message, retry=False)
    fault.refusal = basis
    return fault


def error_of(answer: Answer) -> ErrorBody:
    """The error in the body of `answer`; empty if it is not JSON."""
    try:
        return error_body(json.loads(answer.body))
    except (ValueError, RecursionError):
        return ErrorBody()


def parse_json(answer: Answer) -> Any:
    """The JSON value in `answer`.

    Raises:
        Fault: `malformed`, sent again: HTML, a truncated body, anything else that is not JSON. It may have been billed.
    """
    try:
        return parse_body(answer.body)
    except (ValueError, RecursionError) as error:
        content = quoted(answer.body) or "an empty body"
        raise Fault("malformed", f"status {answer.status}, but no JSON: {content}", billed=True) from error


def retry_after_s(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """Seconds to wait before the next attempt, from the header fields; None where they give no valid value.

    Args:
        headers: names in lower case. `retry-after-ms` wins over `retry-after`, which is a number of seconds (a
            fraction is accepted) or an HTTP date.
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
    until = _http_date(header)
    if until is None:
        return None
    since = _http_date(headers.get("date", ""))
    if since is None:
        since = time.time() if now is None else now
    return float(max(0, math.ceil(until - since)))


def quoted(body: bytes | str) -> str:
    r"""The first 200 characters of `body`, with control and direction characters made visible.

    >>> quoted(b"<b>\x1b[31m\n")
    '<b>\\x1b[31m\\n'
    """
    # A character of UTF-8 has at most four bytes; the rest of a long body need not be decoded.
    text = body if isinstance(body, str) else body[: _QUOTED * 4].decode("utf-8", "replace")
    visible_text = "".join(_visible(mark) for mark in text[:_QUOTED])
    return visible_text + "…" if len(text) > _QUOTED else visible_text


def _kind(status: int, error: ErrorBody) -> str:
    if status >= 500 and status != _NOT_IMPLEMENTED:
        return "server"
    if (kind := error.kind()) and (kind != "rate_limit" or status not in _KIND_OF_STATUS):
        return kind
    return _KIND_OF_STATUS.get(status, "bad_request")


def _message(answer: Answer, error: ErrorBody) -> str:
    if answer.status < 400:
        location = quoted(answer.headers.get("location", "elsewhere"))
        return (
            f"status {answer.status}: redirects to {location}, and redirects are not followed: give the final address"
        )
    return f"status {answer.status}: {_worded(error) or quoted(answer.body) or 'an empty body'}"


def _worded(error: ErrorBody) -> str:
    code = error.codes[0] if error.codes else ""
    return quoted(error.message) + (f" ({quoted(code)})" if code else "") if error.message else ""


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _visible(mark: str) -> str:
    return mark if mark.isprintable() else mark.encode("unicode_escape").decode("ascii")


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
