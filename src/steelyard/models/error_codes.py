"""The meaning of codes and types in error bodies: a kind of fault, or the HTTP status that such an error usually has.

A server that has begun its reply cannot change its status any more: OpenAI, Anthropic, Gemini, OpenRouter, vLLM and
others then report an error inside a body with status 200, or in a stream, by a word such as `overloaded_error`. Such a
word stands for the status that the same server sends with it when nothing has been sent yet.

Sources: the lists of errors of OpenAI, Anthropic, Gemini (google.rpc.Code), Azure, Bedrock, Mistral, Moonshot,
ZhipuAI, DashScope, Volcengine and OpenRouter; the sources of vLLM, TGI and llama.cpp.
"""

# Why it is so, and what was rejected: docs/decisions/models-faults.md

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

_CODES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "quota": (
            "insufficient_quota", "insufficient_user_quota", "insufficient_balance", "insufficient_credits",
            "billing_hard_limit_reached", "billing_not_active", "billing_error", "credit_balance_exhausted",
            "exceeded_current_quota_error", "contract_spend_limit_reached", "enforced_spend_limit_reached",
            "servicequotaexceededexception", "arrearage", "accountoverdueerror", "budget_exceeded",
            "1113", "1304", "1308", "1309", "1310",
        ),
        "auth": ("invalid_api_key", "invalidapikey", "1110", "1111", "1112", "1121", "1220"),
        "unknown_model": (
            "model_not_found", "modelnotopen", "deploymentnotfound", "invalidendpointormodel.notfound", "1211", "1222",
        ),
        "rate_limit": ("1302", "1303", "1305", "1312", "ramp_limit_exceeded"),
        "content_filter": (
            "content_filter", "content_policy_violation", "responsibleaipolicyviolation", "data_inspection_failed",
            "datainspectionfailed", "sensitive_words_detected", "1301",
        ),
    }
)  # fmt: skip
"""Codes of error bodies, in lower case; the numbers are ZhipuAI's, from its public list of business error codes."""
_KIND_OF_CODE: Final = MappingProxyType({code: kind for kind, codes in _CODES.items() for code in codes})

_STATUS_OF_WORD: Final[tuple[tuple[int, str], ...]] = (
    # About what a gateway got from the model's server, not about the request.
    (500, r"^(?:invalid|unexpected|malformed|bad|empty)(?:upstream|model)?(?:respon|output|reply|completion)"),
    (400, r"^(?:invalid|unsupported|unknown(?:param|arg|field))"),
    (429, r"ratelimit|ratequota|toomanyrequest|throttl|slowdown|resource(?:hasbeen)?exhausted|allocationquota"),
    (429, r"(?:rpm|tpm|qpm|qps)(?:limit|exceeded)|requestlimit|burst|concurren|(?:request|token)quotaexceeded"),
    (503, r"overload|unavailab|capacity|busy|notready|notyetready|temporar|tryagain|insufficientsystemresource"),
    (503, r"timeout|timedout|deadline|queue(?:full|exceeded)|(?<!n)(?<!p)loading"),  # not downloading or uploading
    (401, r"authenti(?:cation|cated)|unauthori[sz]ed|expiredtoken"),
    (403, r"permission|forbidden|accessdenied"),
    (404, r"notfound|doesnotexist"),
    (501, r"unimplemented|not(?:implemented|supported)"),
    (400, r"badrequest|validation|unprocessable|toolarge|toolong|context(?:length|size|window)|maxtokens|maxlength"),
    (400, r"missing(?:required|param|field)|failedprecondition|outofrange|policy|contentfilter|safety|moderation"),
    (400, r"^12(?:10|1[2-5]|61)$"),
    (500, r"server|internal|apierror|engine|upstream|gateway|provider"),
)
"""Parts of words without their separators -> status; the first that matches counts. The numbers are ZhipuAI's."""
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
    return next((_KIND_OF_CODE[code] for code in codes if code in _KIND_OF_CODE), "")


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
    return next((status for status, pattern in _STATUS_OF_WORD if re.search(pattern, word)), 0)
