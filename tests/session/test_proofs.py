"""What is known of an endpoint's optional features is kept, and a missing one is tried again in a later run."""

import asyncio

import pytest

from steelyard.errors import ModelError
from steelyard.session.session import Proofs

MISSING = ModelError("no such feature", kind="unsupported", ends_run=True)


async def prove(proofs, what, error=None):
    async with proofs.of(what) as known:
        if error and not known:
            raise error
        return known


def test_only_missing_features_are_forgotten():
    async def main():
        proofs = Proofs()
        assert await prove(proofs, "there") is False
        for _ in range(2):
            with pytest.raises(ModelError, match="no such feature"):
                await prove(proofs, "missing", MISSING)
        proofs.forget_failures()
        return await prove(proofs, "there"), await prove(proofs, "missing")

    assert asyncio.run(main()) == (True, False)
