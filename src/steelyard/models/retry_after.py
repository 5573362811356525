"""How long an endpoint asks to wait: in Retry-After, in its rate limits, or in the error's body.

| who | where |
|---|---|
| most | `retry-after-ms`, `retry-after`: seconds or a date |
| OpenAI, Azure, vLLM gateways | `x-ratelimit-remaining-tokens: 0` and `x-ratelimit-reset-tokens: 6m0s` |
| Anthropic | `anthropic-ratelimit-input-tokens-remaining: 0` and `-reset: 2026-01-01T00:00:10Z` |
| OpenRouter | `x-ratelimit-remaining: 0` and `x-ratelimit-reset`: milliseconds since 1970 |
| Gemini | `retryDelay: "13s"` in the error's details |

Sources: the references of these providers on rate limits; google.rpc.RetryInfo.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from steelyard.models.base import Answer

_LIMIT: Final = re.compile(r"(?:x|anthropic)-ratelimit-(?:(?P<kind>[a-z-]+)-)?remaining(?:-(?P<after>[a-z-]+))?")
_SPAN: Final = re.compile(r"(?:(?P<h>\d+)h)?(?:(?P<m>\d+)m(?!s))?(?:(?P<s>\d+(?:\.\d+)?)s)?(?:(?P<ms>\d+)ms)?")
_IN_BODY: Final = re.compile(rb'"retryDelay"\s*:\s*"(\d{1,6}(?:\.\d{1,9})?)s"')
_SINCE_1970: Final = 1e9
"""From so many seconds on, a number is a time and not a span."""
_LONGEST_S: Final = 86_400.0


def wait_asked_s(answer: Answer) -> float | None:
    """Seconds to wait before the next attempt; None where the answer does not say."""
    if (seconds := retry_after_s(answer.headers)) is not None:
        return seconds
    if answer.status == 429 and (waits := [*_resets(answer.headers)]):
        return max(waits)
    found = _IN_BODY.search(answer.body)
    return float(found[1]) if found else None


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
