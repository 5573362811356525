"""Verdicts on outputs."""
