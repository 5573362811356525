"""Models that answer messages, and what limits the calls to them: retries, budgets, prices.

To call an API that none of them speaks, describe it to `HttpModel`, or write a class that satisfies `Model`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.lazy import lazy_names

if TYPE_CHECKING:
    from steelyard.models.anthropic import Anthropic
    from steelyard.models.base import Answer, Model, Request
    from steelyard.models.budget import Budget
    from steelyard.models.completions import Completions
    from steelyard.models.embeddings import Embeddings
    from steelyard.models.gemini import Gemini
    from steelyard.models.http import HttpModel
    from steelyard.models.limits import Retry
    from steelyard.models.litellm import LiteLLM
    from steelyard.models.ollama import Ollama
    from steelyard.models.openai_compatible import OpenAICompatible
    from steelyard.models.openai_responses import OpenAIResponses
    from steelyard.models.prices import PriceTable
    from steelyard.models.scripted import Scripted
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        "steelyard.models.base:Answer",
        "steelyard.models.anthropic:Anthropic",
        "steelyard.models.budget:Budget",
        "steelyard.models.completions:Completions",
        "steelyard.models.embeddings:Embeddings",
        "steelyard.models.gemini:Gemini",
        "steelyard.models.http:HttpModel",
        "steelyard.models.litellm:LiteLLM",
        "steelyard.models.base:Model",
        "steelyard.models.ollama:Ollama",
        "steelyard.models.openai_compatible:OpenAICompatible",
        "steelyard.models.openai_responses:OpenAIResponses",
        "steelyard.models.prices:PriceTable",
        "steelyard.models.base:Request",
        "steelyard.models.limits:Retry",
        "steelyard.models.scripted:Scripted",
    )

__all__ = [
    "Answer",
    "Anthropic",
    "Budget",
    "Completions",
    "Embeddings",
    "Gemini",
    "HttpModel",
    "LiteLLM",
    "Model",
    "Ollama",
    "OpenAICompatible",
    "OpenAIResponses",
    "PriceTable",
    "Request",
    "Retry",
    "Scripted",
]
