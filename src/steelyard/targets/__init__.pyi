# Public names, each imported on first use (steelyard.lazy). They are listed here alone.

from steelyard.suites.text2sql.self_correction import SelfCorrection as SelfCorrection
from steelyard.targets.adapters import Function as Function
from steelyard.targets.baseline import Baseline as Baseline
from steelyard.targets.http import HttpEndpoint as HttpEndpoint
from steelyard.targets.langchain import LangChainRunnable as LangChainRunnable
from steelyard.targets.likelihood import Likelihood as Likelihood
from steelyard.targets.llama_index import LlamaIndexEngine as LlamaIndexEngine
from steelyard.targets.prompt import Prompt as Prompt
from steelyard.targets.replay import Pair as Pair
from steelyard.targets.replay import Replay as Replay
from steelyard.targets.retrieval import QueryEngine as QueryEngine
from steelyard.targets.simulated_user import SimulatedUser as SimulatedUser
