"""Services that many people call, as the keys that an `http` model or target would have to be given otherwise.

Sources: the request models of Langchain-Chatchat v0.2.10 and v0.3.1 (`server/chat/knowledge_base_chat.py`,
`server/chat/kb_chat.py`); the chat-completions references of OpenAI and ZhipuAI.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

_OPENAI_TEXT: Final = "not_null(choices[0].delta.content, choices[0].message.content)"
_OPENAI_END: Final = "choices[0].finish_reason"
_OPENAI_BODY: Final = MappingProxyType({"messages": "{{messages}}", "stream": False})
_CHATCHAT_ERROR: Final = "error || (code && code != `200` && (msg || message || to_string(code)))"


@dataclass(frozen=True, slots=True)
class Preset:
    """What a service is asked with and how its answer is read; each may be overridden.

    Args:
        url: used where none is given.
        path: put behind a given address that has none.
        body: what is not given.
        response: likewise; the keys of `ResponseMap`.
        needs: keys that only the user knows and that must be in `body`.
        key: what the reference to its key is usually called. The header stands in the user's file, where every
            reference can be seen and looked up; without one, `url` is refused.
    """

    body: Mapping[str, Any]
    response: Mapping[str, str]
    url: str = ""
    path: str = ""
    needs: tuple[str, ...] = ()
    key: str = ""


PRESETS: Final[Mapping[str, Preset]] = MappingProxyType(
    {
        "chatchat-0.2": Preset(
            path="/chat/knowledge_base_chat",
            body={"query": "{{prompt}}", "history": "{{history}}", "stream": False},
            response={
                "text": "not_null(answer, choices[0].delta.content, choices[0].message.content)",
                "contexts": "docs",
                "context_clean": "chatchat",
                "error": _CHATCHAT_ERROR,
            },
            needs=("knowledge_base_name",),
        ),
        # Only its stream carries the passages, in the first chunk.
        "chatchat-0.3": Preset(
            path="/chat/kb_chat",
            body={"query": "{{prompt}}", "history": "{{history}}", "mode": "local_kb", "stream": True},
            response={
                "text": f"not_null(answer, {_OPENAI_TEXT})",
                "contexts": "docs",
                "context_clean": "chatchat",
                "error": _CHATCHAT_ERROR,
            },
            needs=("kb_name",),
        ),
        "openai": Preset(
            url="https://api.openai.com/v1/chat/completions",
            path="/v1/chat/completions",
            key="OPENAI_API_KEY",
            body=_OPENAI_BODY,
            response={"text": _OPENAI_TEXT, "complete": _OPENAI_END},
            needs=("model",),
        ),
        "zhipu": Preset(
            url="https://open.bigmodel.cn/api/paas/v4/chat/completions",
            path="/api/paas/v4/chat/completions",
            key="ZHIPU_API_KEY",
            body=_OPENAI_BODY,
            response={"text": _OPENAI_TEXT, "complete": _OPENAI_END},
            needs=("model",),
        ),
    }
)
