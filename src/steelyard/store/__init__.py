"""Runs on disk: the schema, the journal with its writer, and the handle that reads them."""

from steelyard.store.journal import RunWriter
from steelyard.store.run import Run
from steelyard.store.run_rows import NewRun
from steelyard.store.store import Store

__all__ = ["NewRun", "Run", "RunWriter", "Store"]
