"""Systems under test: a prompt, an endpoint, a function, a baseline, an agent, stored outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.lazy import lazy_names

if TYPE_CHECKING:
    from steelyard.targets.baseline import Baseline
    from steelyard.targets.function import Function
    from steelyard.targets.http import HttpEndpoint
    from steelyard.targets.langchain import LangChainRunnable
    from steelyard.targets.likelihood import Likelihood
    from steelyard.targets.llama_index import LlamaIndexEngine
    from steelyard.targets.pair import Pair
    from steelyard.targets.prompt import Prompt
    from steelyard.targets.replay import Replay
    from steelyard.targets.retrieval import QueryEngine
    from steelyard.targets.simulated_user import SimulatedUser
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        "steelyard.targets.baseline:Baseline",
        "steelyard.targets.function:Function",
        "steelyard.targets.http:HttpEndpoint",
        "steelyard.targets.langchain:LangChainRunnable",
        "steelyard.targets.likelihood:Likelihood",
        "steelyard.targets.llama_index:LlamaIndexEngine",
        "steelyard.targets.pair:Pair",
        "steelyard.targets.prompt:Prompt",
        "steelyard.targets.retrieval:QueryEngine",
        "steelyard.targets.replay:Replay",
        "steelyard.targets.simulated_user:SimulatedUser",
    )

__all__ = [
    "Baseline",
    "Function",
    "HttpEndpoint",
    "LangChainRunnable",
    "Likelihood",
    "LlamaIndexEngine",
    "Pair",
    "Prompt",
    "QueryEngine",
    "Replay",
    "SimulatedUser",
]
