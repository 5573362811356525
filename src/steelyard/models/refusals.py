"""Recognizes refusals that every further call would meet too (key, quota, unknown model).

Servers do not agree on a status for a wrong key, an unknown model, an empty account or a missing permission: LiteLLM's
proxy answers 400 to the first two, others answer 500. So the text decides: a 4xx or a 500 that names the key, the
model, the quota or the permission is a refusal of its kind. A text can be misread, so one refusal fails its sample
alone; the run stops when another sample gets an equal one.

Sources of the wordings: the error texts of LiteLLM's proxy, vLLM, TGI, `transformers serve`, llama.cpp, Ollama, LM
Studio, OpenAI, Azure, Anthropic, Gemini, Bedrock, Mistral, Cohere, Groq, OpenRouter, DeepSeek, Moonshot, ZhipuAI,
DashScope, one-api and new-api; tests/models/refusals.toml lists them with the kind that each must get.
"""

# Why it is so, and what was rejected: docs/decisions/models-faults.md

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Final

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

_KEY: Final = (
    r"(?:api|access|secret|subscription|account|virtual|proxy|auth|authentication|authorization)[ _-]?keys?"
    r"|(?:api|access|auth|authentication|authorization|bearer|iam|security|session|proxy server|virtual key)"
    r"[ _-]?tokens?"
    r"|x-api-key|credentials?|bearer|authorization header|request signature"
)
_WRONG: Final = (
    r"invalid|incorrect|wrong|not valid|missing|expired|revoked|disabled|deactivated|malformed|unknown|suspended"
    r"|not found|not provided|not supplied|no longer|required|unrecogni[sz]ed|could not be (?:found|verified)"
    r"|(?:did not|didn't|does not|doesn't|do not|don't) (?:match|exist|provide)|must (?:be provided|provide)|failed"
    r"|\bno\b|without|unable to find|\bbad\b|inactive|(?:could not|cannot|unable to) (?:validate|verify)"
    r"|not from a valid|must be set|is not set|not match"
)
_KEY_ZH: Final = r"api[ _-]?key|密钥|令牌|秘钥|鉴权|认证|身份验证|授权码|签名|登录|authorization|token"
_WRONG_ZH: Final = (
    r"无效|错误|不正确|有误|过期|失效|不存在|缺少|缺失|未提供|失败|不合法|非法|禁用|不匹配|为空|未找到|未通过|未携带"
)
_NAME: Final = r"(?:[:=]?\s*[`'\"“「\[(]?[\w./:@+-]+[`'\"”」\])]?)"
"""The name of a model, quoted or not."""
_UNKNOWN: Final = (
    r"(?:(?:is|are|was|has|have|could|can) ?)?(?:not|n't)(?: been| be|(?: a)? currently)? "
    r"(?:found|exists?|supported|recogni[sz]ed|valid|known|registered|deployed|installed|enabled|available|loaded"
    r"|accessible|resolved|opened|activated|served|configured)"
    r"|does ?(?:not|n['’]?t) (?:exist|match)|doesn['’]t exist|not (?:found|exists?)|notfound|nonexistent"
    r"|(?:is|was) (?:unknown|invalid|deprecated|decommissioned|retired|disabled)|has been (?:deprecated"
    r"|decommissioned"
    r"|retired|removed|shut ?down|discontinued)|is no longer (?:available|supported)|cannot be found|no longer exists"
)
_WORDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "quota": (
            r"(?<![a-z])quotas?(?![a-z])|insufficient[ _-](?:\w+[ _-])?(?:balance|funds?|credits?|quota)",
            (
                r"credit balance|(?:balance|credits?)\b.{0,30}\b(?:too low|insufficient|exhausted|not enough"
                r"|used up|depleted"
                r"|negative|empty)"
            ),
            r"(?:not enough|out of|no|run out of|requires more) (?:\w+ )?(?:credits?|balance|funds)\b",
            r"\bbilling\b|payment required|overdue|in arrears|arrearage",
            r"budget (?:has been )?exceeded|exceeded(?: your| the)?(?: \w+)? budget|exceededbudget|over budget",
            (
                r"(?:key|spend(?:ing)?|usage|credit|monthly|daily|account) limit (?:has been |was )?(?:exceeded"
                r"|reached|hit)"
            ),
            r"free (?:trial|tier|quota)\b.{0,60}\b(?:ended|expired|exhausted|used up|over)\b|\bhard limit\b",
            r"exceeded (?:your|the) (?:\w+ ){0,3}(?:credits|usage limit|spend\w* limit)",
            r"余额|欠费|配额|额度|账户.{0,10}(?:不足|欠)|充值|资源包|套餐.{0,12}(?:到期|过期|用尽|用完|不足)",
        ),
        "unknown_model": (
            (
                rf"\b(?:models?|deployments?|engine)\b(?:[ _-](?:name|id|group|identifier"
                rf"|alias)s?)?{_NAME}?(?:\s+{_NAME}){{0,3}}?"
                rf"[\s,]+(?:{_UNKNOWN})\b"
            ),
            (
                r"(?:no such|unknown|invalid|unsupported|unrecogni[sz]ed|not a valid|nonexistent|wrong|incorrect"
                r"|non-existing)"
                r" (?:\w+ )?(?:models?|deployment|engine)(?:[ _-](?:name|id|identifier|group"
                r"|alias))?\b(?! (?:output|response|reply"
                r"|configuration|parameters?|settings?|state|input|inputs|weights|options?|arguments?))"
            ),
            r"\bno (?:models?|deployments?)\b.{0,60}\b(?:found|named|called|available|matching|with|for|loaded)\b",
            (
                r"(?:could not|couldn't|cannot|can't|unable to|failed to) (?:find|locate|resolve|load)"
                r"(?: the| a| any)?(?: requested)? models?\b"
            ),
            (
                r"no healthy deployments?|no endpoints found for|repository not found"
                r"|not a (?:local folder|valid (?:hugging face )?model|supported model|chat model)"
                r"|not found in (?:the )?(?:model list|list of models)|non-serverless model"
            ),
            # Anthropic sends only the model's name and the type of the error.
            r"^model: ?[\w./:@+-]+(?: not[ _]found[ _]error)?$",
            # Bedrock, of a model that was retired.
            r"model version has reached the end of its life",
            r"\bmodels? you requested\b.{0,80}\bnot (?:found|served|available|supported)",
            (
                r"not a valid model|model[ _-]?not[ _-]?(?:found|exist|open)|模型.{0,60}(?:不存在|未找到|找不到"
                r"|不支持|无效|未开通|未授权"
                r"|已下线|已下架|停用|没有部署|未部署|无可用|错误)|(?:不存在|未知|无效|找不到|没有|不支持)的?.{0,12}模型"
            ),
        ),
        "auth": (
            rf"(?:{_KEY})\b.{{0,60}}?(?:{_WRONG})",
            rf"(?:{_WRONG})\b.{{0,40}}?\b(?:{_KEY})",
            rf"(?:{_KEY_ZH}).{{0,20}}?(?:{_WRONG_ZH})|(?:{_WRONG_ZH})的?.{{0,10}}?(?:{_KEY_ZH})",
            # LiteLLM's proxy without a database of keys, for a key that is not its master key.
            r"no connected db|no[ _]db[ _]connection",
            (
                r"\bunauthori[sz]ed\b|authentication (?:error|failed|fails|failure|required)|not authenticated"
                r"|unauthenticated"
                r"|invalid[ _]authentication|login required|(?:please|must) (?:log|sign) ?in"
            ),
            (
                r"permission[ _]?denied|(?:insufficient|missing|no|not enough|lacks?"
                r"|without)(?: \w+)? (?:permissions?|privileges?"
                r"|access rights?|scopes?)\b"
            ),
            (
                r"(?:do|does|did|don't|doesn't)(?: not)? have(?: the)?(?: \w+)?(?: \w+)? (?:permissions?|access"
                r"|privileges?)\b"
            ),
            r"not (?:authori[sz]ed|permitted|allowed|entitled|eligible|granted) (?:to|for|access)\b",
            r"\bforbidden\b|access[ _]?(?:is |was )?denied|accessdenied|unauthorizedaccess",
            (
                r"(?:account|organi[sz]ation|user|project|workspace|key)\b.{0,40}\b(?:deactivated|suspended"
                r"|disabled|banned"
                r"|blocked|not active|inactive|terminated|restricted)"
            ),
            r"\btoken (?:is|has) (?:not valid|invalid|expired|been revoked|inactive|revoked)\b(?! (?:at|in|for))",
            r"\bip\b(?: address)?.{0,40}(?:white ?list|allow ?list|not allowed)|no such organi[sz]ation",
            r"must be a member of an organi[sz]ation|country, region, or territory not supported",
            r"organi[sz]ation must be verified|unregistered callers",
            r"无权|没有权限|权限不足|未授权|没有访问|无访问权限|权限|账号.{0,10}(?:禁用|封禁|冻结|停用)|实名",
        ),
    }
)
"""By kind; the order matters: "does not have access to model x" with "insufficient balance" is about money."""
_NEVER: Final = (
    (
        r"context[ _-]?(?:length|window|size)|max(?:imum)?[ _-](?:\w+[ _-])?(?:tokens?|length|context)"
        r"|too (?:long|many tokens"
        r"|large)|token limit|input length|(?:prompt|input|request|text) (?:is |was )?(?:too |longer)"
        r"|sequence length|上下文"
        r"|(?:长度|字数|token数?).{0,10}(?:超|过|限制)|过长|超长"
    ),
    (
        r"content[ _-]?(?:filter|policy|polic|management|moderation|safety|violat|review)|moderation|\bsafety\b"
        r"|flagged|harmful"
        r"|inappropriate|(?:usage|acceptable use|responsible ai) polic|violat\w+ .{0,40}(?:polic|terms|guideline)"
        r"|request (?:was |has been )?blocked|prohibited|敏感|违规|不当内容|内容安全|安全审|审核|拦截|不安全"
    ),
    (
        r"log_?probs?|does(?: not|n't) (?:support|accept|allow(?! unregistered))|doesn['’]t support"
        r"|unsupported (?:parameter|value|field|media|image|content|file|format|mime)"
    ),
    (
        r"unknown (?:parameter|field|argument)|unrecogni[sz]ed (?:parameter|field|argument|request argument)"
        r"|(?:parameter|field|argument|property|properties|inputs?)\b.{0,40}(?:not (?:supported|allowed|permitted))"
    ),
    r"knowledge ?base|知识库",
    # A file that a sample names by its address: the refusal comes from the file's server.
    (
        r"(?:download|fetch|retriev)(?!.{0,40}\bmodel).{0,40}\b(?:image|audio|video|media|attachment|document|file|url)"
        r"|\b(?:image|audio|video|media|attachment|document|image_url|file_url)s?\b(?!.{0,60}\b(?:billing|quota))"
        r".{0,60}(?:download|fetch|retriev|access(?:ed|ible| is| was)? ?(?:denied|refused)?|forbidden)"
        r"|(?:图片|音频|视频|文件|附件).{0,20}(?:下载|访问|读取)|下载.{0,20}(?:图片|音频|视频|文件|附件)"
    ),
)
"""Texts about the sample or a parameter, whatever else they name: they never stop a run by themselves."""
_PASSING: Final = (
    r"temporar|try(?:ing)? (?:it )?again|\bretry|overload|\bloading\b|is (?:still )?(?:starting|initiali[sz]ing"
    r"|warming)"
    r"|\bbusy\b|tim(?:ed?|ing)[ -]?out|unavailable|not (?:yet )?(?:available|loaded|ready)|capacity"
    r"|out of memory|\bcuda\b"
    r"|traceback|stack ?trace|稍后|重试|繁忙|过载|加载中|超时|负载|不可用"
    # A limit of a rate passes, whatever the text says of quotas and of billing.
    r"|rate[ -]limit(?:s|ed|ing)?\b.{0,40}(?:reached|exceeded|\bhit\b)"
    r"|(?:reached|exceeded|\bhit\b).{0,40}\brate[ -]limit"
    r"|rate[ -]limited|too many requests|\bper[ -](?:sec(?:ond)?|min(?:ute)?|hour)\b|throttl|slow down|concurren"
    r"|限流|限速|并发|频率|频繁"
)
"""Texts in a 500 that show a passing fault, or an error in the server's code."""


@cache
def _patterns() -> tuple[tuple[tuple[str, re.Pattern[str]], ...], re.Pattern[str], re.Pattern[str]]:
    """Compiled at the first refusal: most runs never see one."""
    words = tuple((kind, re.compile("|".join(several))) for kind, several in _WORDS.items())
    return words, re.compile("|".join(_NEVER)), re.compile(_PASSING)


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
    words, never, brief = _patterns()
    folded = text[:_MOST_READ].casefold().replace("’", "'")
    # Longer quotations are from the sample, not the server's own text. A quoted model's name may contain any word.
    without_quotations = _QUOTED_WORDS.sub(lambda match: match[0] if _QUOTED_NAME.fullmatch(match[0]) else " ", folded)
    without_names = _QUOTED_NAME.sub("x", without_quotations)
    if never.search(without_names) or (passing and brief.search(without_names)):
        return ""
    return next((kind for kind, pattern in words if pattern.search(without_quotations)), "")


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
    """The setting of every call that a refusal is about: `version`, `region`, or "" for none.

    >>> setting_named('anthropic-version: "2029-01-01" is not a valid version'), setting_named("Invalid version of x")
    ('version', '')
    >>> setting_named("User location is not supported for the API use."), setting_named("The region is France.")
    ('region', '')
    """
    text = text[:_MOST_READ]
    if _REGION.search(text):
        return "region"
    return "version" if _VERSION.search(text) and _WRONG_VERSION.search(text) else ""


def concerns_sample(text: str) -> bool:
    """Whether the text of an error is about its sample or a parameter, such as a context that is too long.

    >>> concerns_sample("input is too long for the context window"), concerns_sample("too many tokens, try again")
    (True, False)
    """
    _, never, brief = _patterns()
    folded = text[:_MOST_READ].casefold()
    return never.search(folded) is not None and brief.search(folded) is None


_UUID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_CHANGING: Final = re.compile(
    rf"{_UUID}|\b(?=[a-z_-]*\d)[a-z0-9_-]{{16,}}\b|\b(?:mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul"
    rf"|aug|sep|oct"
    r"|nov|dec)\b|\d+",
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
    _, _, brief = _patterns()
    return brief.search(text[:_MOST_READ].casefold()) is not None


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
