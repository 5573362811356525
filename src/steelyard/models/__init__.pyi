# Public names, each imported on first use (steelyard.lazy). They are listed here alone.

from steelyard.models.base import Answer as Answer
from steelyard.models.base import Model as Model
from steelyard.models.base import Request as Request
from steelyard.models.budget import Budget as Budget
from steelyard.models.completions import Completions as Completions
from steelyard.models.embeddings import Embeddings as Embeddings
from steelyard.models.http import HttpModel as HttpModel
from steelyard.models.limits import Retry as Retry
from steelyard.models.litellm import LiteLLM as LiteLLM
from steelyard.models.openai_compatible import OpenAICompatible as OpenAICompatible
from steelyard.models.prices import PriceTable as PriceTable
from steelyard.models.scripted import Scripted as Scripted
