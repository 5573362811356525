"""Runs on disk: the schema, the journal with its writer, the handle that reads them, and marks of runs."""

from steelyard.store.journal import RunWriter
from steelyard.store.marks import MarkChange, RunMarks, mark_run, read_marks
from steelyard.store.run import Run
from steelyard.store.run_rows import NewRun
from steelyard.store.store import Store

__all__ = ["MarkChange", "NewRun", "Run", "RunMarks", "RunWriter", "Store", "mark_run", "read_marks"]
