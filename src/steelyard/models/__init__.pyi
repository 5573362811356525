# Public names, each imported on first use (steelyard.lazy). They are listed here alone.

from steelyard.models.anthropic import Anthropic as Anthropic
from steelyard.models.base import Answer as Answer
from steelyard.models.base import Model as Model
from steelyard.models.base import Request as Request
from steelyard.models.budget import Budget as Budget
from steelyard.models.embeddings import Embeddings as Embeddings
from steelyard.models.embeddings import Rerank as Rerank
from steelyard.models.gemini import Gemini as Gemini
from steelyard.models.http import HttpModel as HttpModel
from steelyard.models.limits import Retry as Retry
from steelyard.models.litellm import LiteLLM as LiteLLM
from steelyard.models.ollama import Ollama as Ollama
from steelyard.models.openai_compatible import Completions as Completions
from steelyard.models.openai_compatible import OpenAICompatible as OpenAICompatible
from steelyard.models.openai_responses import OpenAIResponses as OpenAIResponses
from steelyard.models.prices import PriceTable as PriceTable
from steelyard.models.scripted import Scripted as Scripted
