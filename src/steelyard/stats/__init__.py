"""Intervals and paired tests: pure functions, each with its source."""
