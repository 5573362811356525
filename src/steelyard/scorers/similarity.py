"""Similarity of meaning by an embeddings model: the cosine of two vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from steelyard.constraints import Within
from steelyard.errors import ConfigError
from steelyard.models.base import Model
from steelyard.models.embeddings import Embeddings, embed
from steelyard.replies.answer_text import text_of
from steelyard.scorers.lexical import references_of, unscored, which_reference
from steelyard.types import Asks, Output, Sample, Score, ScoreInfo


@dataclass(frozen=True, slots=True)
class Similarity:
    """Cosine of the output's vector and the expected text's, by an embeddings model; of several the nearest counts.

    It says how far two texts are about the same thing, not whether one is right: "It is open" and "It is not open" are
    close. What a value means depends on the model.

    Args:
        model: an embeddings model.
        threshold: value from which a sample passes; None: none is set.
    """

    model: Model | None = None
    threshold: Annotated[float | None, Within(-1, 1)] = None

    @property
    def score_infos(self) -> tuple[ScoreInfo, ...]:
        """A cosine."""
        return (ScoreInfo("similarity", (-1.0, 1.0), threshold=self.threshold),)

    def check(self) -> None:
        """Validate the options.

        Raises:
            ConfigError: no embeddings model.
        """
        if not isinstance(self.model, Embeddings):
            raise ConfigError("model: name an embeddings model, as model: {embeddings: {name: ..., base_url: ...}}")

    async def __call__(self, sample: Sample, output: Output, ask: Asks) -> Score:
        """Compare one output."""
        texts, problem = references_of(sample)
        answer = text_of(output).strip()
        if (score := unscored("similarity", problem, output)) is not None:
            return score
        if not answer:
            return Score("similarity", None, outcome="unparsed", reason="the output is empty", detail={"kind": "empty"})
        model: Any = self.model
        vectors = (await embed(ask, model, [answer, *texts])).astype(float)
        lengths = np.linalg.norm(vectors, axis=1)
        values = (vectors[1:] @ vectors[0] / np.maximum(lengths[1:] * lengths[0], 1e-12)).clip(-1, 1).tolist()
        best = values.index(max(values))
        reason = which_reference(best, len(texts)).removeprefix("; ")
        return Score("similarity", values[best], reason=reason)
